//! Resolves the program to run: once, to an absolute path, and never to a location that a repository can
//! write to.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The supported engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// `ugrep`.
    Ugrep,
    /// `rg`.
    Ripgrep,
}

impl ProgramKind {
    /// The display name, which records also use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ugrep => "ugrep",
            Self::Ripgrep => "rg",
        }
    }
}

/// An external engine that was found and may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    kind: ProgramKind,
}

/// Reasons why we reject a program as an engine. Each message says what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program is `ug`, which loads `.ugrep` files.
    #[error(
        "`{name}` can't be used as a search engine: under this name it loads the options of a `.ugrep` file, \
         which can name programs to run; use `ugrep`, which is the same program without that"
    )]
    UgRefused {
        /// The requested name.
        name: String,
    },
    /// The name belongs to neither engine.
    #[error(
        "`{name}` is not a known search engine; use `ugrep`, `rg` or `ripgrep` (a version may follow, as in \
         `rg-15.2`), by name or by absolute path, or the embedded engine"
    )]
    UnknownName {
        /// The requested name.
        name: String,
    },
    /// The path is relative.
    #[error("`{name}` is a relative path; write the program's absolute path or its bare name")]
    Relative {
        /// The requested name.
        name: String,
    },
    /// The program is not in the search path.
    #[error("`{name}` was not found in the absolute directories of the search path ({searched} of them)")]
    NotFound {
        /// The requested name.
        name: String,
        /// The number of directories searched.
        searched: usize,
    },
    /// The file's metadata can't be read.
    #[error("`{}` can't be used: {source}; write the path of an installed program", path.display())]
    Io {
        /// The program.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// The path is a directory, a device, or a file without execute permission.
    #[error("`{}` is not an executable file; write the path of an installed program", path.display())]
    NotExecutable {
        /// The program.
        path: PathBuf,
    },
    /// The program is inside a directory that will be searched.
    #[error(
        "`{}` is inside the root `{}` and is not run, because a repository must not provide the programs \
         that search it; install the program elsewhere", path.display(), root.display()
    )]
    InsideRoot {
        /// The program.
        path: PathBuf,
        /// The root that contains it.
        root: PathBuf,
    },
    /// The system is neither Linux nor Android.
    #[error("external engines need Linux")]
    Unsupported,
}

impl Program {
    /// Finds an engine.
    ///
    /// `name` must be an absolute path, or a bare name that is looked up in the absolute directories of
    /// `search_path` (relative ones are ignored). `roots` must be the canonical paths of the directories that
    /// will be searched; we reject programs inside them.
    pub fn resolve(name: &Path, search_path: &[PathBuf], roots: &[&Path]) -> Result<Self, ProgramError> {
        if !cfg!(any(target_os = "linux", target_os = "android")) {
            return Err(ProgramError::Unsupported);
        }
        let kind = kind_of(name)?;
        if name.is_absolute() {
            return check(name, roots).map(|path| Self { path, kind });
        }
        if name.components().count() != 1 || !matches!(name.components().next(), Some(Component::Normal(_))) {
            return Err(ProgramError::Relative { name: name.display().to_string() });
        }
        let (mut refused, mut searched) = (None, 0);
        for directory in search_path.iter().filter(|directory| directory.is_absolute()) {
            searched += 1;
            match check(&directory.join(name), roots) {
                Ok(path) => return Ok(Self { path, kind }),
                Err(ProgramError::Io { source, .. })
                    if matches!(
                        source.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) => {}
                // A later directory may contain an acceptable program.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| ProgramError::NotFound { name: name.display().to_string(), searched }))
    }

    /// The absolute path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the program to read the first line of its version output. Returns `None` if it prints nothing by
    /// the deadline. The program runs under the same restrictions as for a search, with an empty text.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn version(&self, stop: &forage_base::Stop) -> Option<String> {
        let halt = super::process::ProcessHalt { stop, ended: &false.into() };
        let printed =
            super::process::version(&self.path, halt, crate::limits::EXTERNAL_VERSION_BYTES).ok()?;
        let text = String::from_utf8_lossy(&printed);
        Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// Returns `None`, because external engines are not supported on this system.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn version(&self, _: &forage_base::Stop) -> Option<String> {
        None
    }

    /// The kind of engine.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }
}

/// Determines the engine from a program's name. Note that `ugrep-indexer`, `ugrep+` and `rga` are different
/// programs; the last two run filters over files.
fn kind_of(name: &Path) -> Result<ProgramKind, ProgramError> {
    let shown = || name.display().to_string();
    let file = name.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let file = file.strip_suffix(".exe").unwrap_or(file);
    let is = |known: &str| {
        file.strip_prefix(known).is_some_and(|version| {
            version.is_empty() || version.bytes().all(|b| b.is_ascii_digit() || b".-_".contains(&b))
        })
    };
    match () {
        () if is("ugrep") => Ok(ProgramKind::Ugrep),
        () if is("rg") || is("ripgrep") => Ok(ProgramKind::Ripgrep),
        () if is("ug") => Err(ProgramError::UgRefused { name: shown() }),
        () => Err(ProgramError::UnknownName { name: shown() }),
    }
}

/// Returns `path` if it is an executable file, and neither it nor the target of its links is inside a root.
/// We run the path itself, not its target, because ugrep's behavior depends on the name under which it is
/// invoked. For example, a link to `ug` must not run as `ug`.
#[expect(
    clippy::disallowed_methods,
    reason = "the program comes from the user's configuration, not a repository"
)]
fn check(path: &Path, roots: &[&Path]) -> Result<PathBuf, ProgramError> {
    let io = |source| ProgramError::Io { path: path.to_owned(), source };
    let target = std::fs::canonicalize(path).map_err(io)?;
    // A linked directory can lead into a root even if the program itself is a link out of it.
    let parent = path.parent().map(std::fs::canonicalize).transpose().map_err(io)?.unwrap_or_default();
    for place in [path, &target, &parent] {
        if let Some(root) = roots.iter().find(|root| place.starts_with(root)) {
            return Err(ProgramError::InsideRoot { path: path.to_owned(), root: root.to_path_buf() });
        }
    }
    let metadata = std::fs::metadata(&target).map_err(io)?;
    if !(metadata.is_file() && is_executable(&metadata)) {
        return Err(ProgramError::NotExecutable { path: path.to_owned() });
    }
    Ok(path.to_owned())
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_the_engine() {
        let kind = |name: &str| kind_of(Path::new(name)).ok();
        for name in ["ugrep", "/usr/bin/ugrep", "/opt/ugrep-7.1", "ugrep3", "ugrep.exe"] {
            assert_eq!(kind(name), Some(ProgramKind::Ugrep), "{name}");
        }
        for name in ["rg", "/usr/bin/rg", "rg-15.2.0", "ripgrep", "rg.exe"] {
            assert_eq!(kind(name), Some(ProgramKind::Ripgrep), "{name}");
        }
        for name in ["ug", "/usr/bin/ug", "ug+", "ugrep+", "ugrep-indexer", "rga", "grep", "", "/", "sh"] {
            assert_eq!(kind(name), None, "{name}");
        }
        assert!(kind_of(Path::new("/usr/bin/ug")).unwrap_err().to_string().contains(".ugrep"));
        assert!(kind_of(Path::new("grep")).unwrap_err().to_string().contains("`ugrep`, `rg`"));
    }
}
