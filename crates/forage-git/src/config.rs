//! The few settings of a repository that we need: the upstream of a branch, whether git records the
//! permission to execute, and whether it replaces objects, converts line ends or checks out only some files.
//! We do not read files that `.git/config` includes.

use forage_fs::{RelPath, Root};

use crate::limits;
use crate::repository::read_small;

/// The settings of `.git/config` in their order. A later value replaces an earlier one.
pub(crate) struct GitConfig {
    /// Sections in lower case with their subsection, keys in lower case, and values.
    values: Vec<(String, String, String)>,
}

impl GitConfig {
    /// Reads the settings. A file that can't be read has none.
    pub(crate) fn read(root: &Root, git: &RelPath) -> Self {
        let parsed = |name: &[u8]| match read_small(root, &git.join(name), limits::CONFIG_BYTES) {
            Ok(text) => Self::parse(&String::from_utf8_lossy(&text)),
            Err(_) => Self { values: Vec::new() },
        };
        let mut config = parsed(b"config");
        // `git sparse-checkout` writes its settings to a file of the worktree.
        if config.is_on("extensions", "worktreeconfig") {
            config.values.extend(parsed(b"config.worktree").values);
        }
        config
    }

    fn parse(text: &str) -> Self {
        let (mut section, mut values) = (String::new(), Vec::new());
        for line in text.lines().take(limits::CONFIG_LINES) {
            let line = line.trim();
            if let Some(head) = line.strip_prefix('[') {
                let Some(head) = head.split(']').next() else { continue };
                section = match head.split_once(char::is_whitespace) {
                    Some((name, below)) => {
                        format!("{}.{}", name.to_ascii_lowercase(), unquoted(below.trim()))
                    }
                    None => head.to_ascii_lowercase(),
                };
            } else if !line.starts_with(['#', ';']) && !line.is_empty() {
                // A key without a value means true.
                let (key, value) = line.split_once('=').unwrap_or((line, "true"));
                let key = key.trim().to_ascii_lowercase();
                values.push((section.clone(), key, unquoted(value.trim())));
            }
        }
        Self { values }
    }

    /// Iterates over the values of a key, the last one first.
    pub(crate) fn all<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.values.iter().rev();
        values.filter(move |it| it.0 == section && it.1 == key).map(|it| it.2.as_str())
    }

    /// Finds the upstream reference of a branch, e.g. of `main`.
    pub(crate) fn upstream(&self, branch: &str) -> Option<String> {
        let section = format!("branch.{branch}");
        let remote = self.all(&section, "remote").next()?;
        let merge = self.all(&section, "merge").next()?;
        if remote == "." {
            return Some(merge.to_owned());
        }
        let remote = format!("remote.{remote}");
        self.all(&remote, "fetch").find_map(|rule| {
            let (from, to) = rule.trim_start_matches('+').split_once(':')?;
            match (from.strip_suffix('*'), to.strip_suffix('*')) {
                (Some(from), Some(to)) => Some(format!("{to}{}", merge.strip_prefix(from)?)),
                _ => (from == merge).then(|| to.to_owned()),
            }
        })
    }

    /// Returns true unless this repository does not record the permission to execute.
    pub(crate) fn records_modes(&self) -> bool {
        !self.is_off("filemode")
    }

    /// Returns true unless replaced objects are read as they were.
    pub(crate) fn replaces_objects(&self) -> bool {
        !self.is_off("usereplacerefs")
    }

    /// Returns true if the working tree has only some of the files.
    pub(crate) fn is_sparse(&self) -> bool {
        self.is_on("core", "sparsecheckout")
    }

    /// Returns true if line ends are converted in all files that look like text.
    pub(crate) fn converts_line_ends(&self) -> bool {
        let is_input = |value: &str| value.eq_ignore_ascii_case("input");
        self.is_on("core", "autocrlf") || self.all("core", "autocrlf").next().is_some_and(is_input)
    }

    fn is_on(&self, section: &str, key: &str) -> bool {
        let value = self.all(section, key).next().map(str::to_ascii_lowercase);
        value.is_some_and(|value| matches!(value.as_str(), "true" | "yes" | "on" | "1"))
    }

    /// Returns true if a key of the section `core` is set to false.
    fn is_off(&self, key: &str) -> bool {
        let value = self.all("core", key).next().map(str::to_ascii_lowercase);
        value.is_some_and(|value| matches!(value.as_str(), "" | "false" | "no" | "off" | "0"))
    }
}

/// Removes quotes, escapes and a comment from a value.
fn unquoted(text: &str) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(rest.next()),
            '#' | ';' if !is_quoted => break,
            letter => value.push(letter),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[core]\n\tfilemode = false ; a comment\n[remote \"origin\"]\n\turl = x\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"a/b\"]\n\tremote = origin\n\
        \tmerge = refs/heads/next\n[branch \"own\"]\n\tremote = .\n\tmerge = refs/heads/main\n";

    #[test]
    fn config_names_upstreams_and_modes() {
        let config = GitConfig::parse(CONFIG);
        assert_eq!(config.upstream("a/b").as_deref(), Some("refs/remotes/origin/next"));
        assert_eq!(config.upstream("own").as_deref(), Some("refs/heads/main"));
        assert_eq!(config.upstream("main"), None);
        assert!(!config.records_modes());
        assert!(GitConfig::parse("").records_modes() && config.replaces_objects());
        assert!(!GitConfig::parse("[core]\nuseReplaceRefs = False\n").replaces_objects());
    }

    #[test]
    fn fuzz_any_config_has_an_upstream_or_none() {
        forage_fuzz::target!(&forage_fuzz::seeds([CONFIG]), |bytes| {
            let _ = GitConfig::parse(&String::from_utf8_lossy(bytes)).upstream("a/b");
        });
    }
}
