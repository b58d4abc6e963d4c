//! A path in the configuration.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::environment;

/// A path that the user gives. `~` at its start is the user's home directory, because no shell expands the
/// values of a configuration file or the arguments in a client's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct UserPath(PathBuf);

impl UserPath {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self::in_home(path, environment::home())
    }

    fn in_home(path: PathBuf, home: Option<PathBuf>) -> Self {
        match (path.strip_prefix("~"), home) {
            // Joining an empty path would add a separator.
            (Ok(below), Some(home)) if below.as_os_str().is_empty() => Self(home),
            (Ok(below), Some(home)) => Self(home.join(below)),
            _ => Self(path),
        }
    }
}

impl Deref for UserPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for UserPath {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl<'de> Deserialize<'de> for UserPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PathBuf::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tilde_is_the_home_directory() {
        let of = |path: &str| UserPath::in_home(path.into(), Some("/home/me".into())).to_path_buf();
        assert_eq!(of("~/logs/calls.jsonl"), Path::new("/home/me/logs/calls.jsonl"));
        assert_eq!(of("~"), Path::new("/home/me"));
        for other in ["~you/a", "a/~/b", "./~/a", "/~", ""] {
            assert_eq!(of(other), Path::new(other));
        }
        assert_eq!(&*UserPath::in_home("~/a".into(), None), Path::new("~/a"));
    }
}
