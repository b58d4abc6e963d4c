//! Roots: the directories beneath which files may be read.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{NoStates, OpenError, RootError};
use crate::file::OpenedFile;
use crate::limits;
use crate::quoting::path_bytes;
use crate::rel_path::{RelPath, RelPathError, os_bytes};
use crate::secrets::SecretPolicy;
use crate::sys::{self, Directory, NodeKind};

/// The limits on which directories may be a root.
#[derive(Clone, Debug, Default)]
pub struct RootPolicy {
    /// The user's home directory: it and its parents are too broad.
    pub home: Option<PathBuf>,
    /// Allow `/`, the home directory and its parents.
    pub allow_broad: bool,
}

/// Directories of `/` whose files are the kernel's: environments with keys in them, devices.
const KERNEL_DIRECTORIES: [&str; 3] = ["proc", "sys", "dev"];

/// A directory beneath which files may be read, held open.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    directory: Directory,
    /// It is the root of the whole file system.
    is_whole_system: bool,
    inside_git: bool,
    /// What lies on it lies on the root's own file system.
    device: Option<u64>,
    device_with_states: Result<u64, NoStates>,
    /// Whether the state of a directory changes with its names.
    directories_have_states: bool,
    secrets: SecretPolicy,
}

impl Root {
    /// Opens `path` as a root. Links in `path` itself are followed: the user names it.
    pub fn open(path: &Path, policy: &RootPolicy, secrets: SecretPolicy) -> Result<Arc<Self>, RootError> {
        let open = |source| RootError::Open { path: path.to_owned(), source };
        let path = canonical(path).map_err(open)?;
        if !policy.allow_broad && is_too_broad(&path, policy.home.as_deref()) {
            return Err(RootError::TooBroad { path });
        }
        if KERNEL_DIRECTORIES.iter().any(|kernel| path.starts_with(Path::new("/").join(kernel))) {
            return Err(RootError::KernelFileSystem { path });
        }
        let directory = sys::open_root(&path).map_err(open)?;
        if !policy.allow_broad && sys::kernel_file_system(&directory).is_some() {
            return Err(RootError::KernelFileSystem { path });
        }
        let device = sys::identity(&directory).map(|(device, _)| device);
        let inside_git = path.ancestors().skip(1).any(has_git);
        let device_with_states = sys::device_with_states(&directory);
        let directories_have_states = sys::directories_have_states(&directory);
        let secrets = secrets.beneath(&path);
        let is_whole_system = path.parent().is_none();
        Ok(Arc::new(Self {
            path,
            directory,
            inside_git,
            is_whole_system,
            device,
            device_with_states,
            directories_have_states,
            secrets,
        }))
    }

    /// Opens the project around a directory as a root; returns it with the directory below it. See [`project_around`].
    ///
    /// # Errors
    /// As of [`Root::open`].
    pub fn open_project(
        directory: &Path,
        policy: &RootPolicy,
        secrets: SecretPolicy,
    ) -> Result<(Arc<Self>, RelPath), RootError> {
        let directory =
            canonical(directory).map_err(|source| RootError::Open { path: directory.to_owned(), source })?;
        let root = Self::open(&project_around(&directory, policy.home.as_deref()), policy, secrets)?;
        let below = os_bytes(directory.as_os_str()).and_then(|directory| root.strip_absolute(&directory));
        Ok((root, below.unwrap_or_else(RelPath::root)))
    }

    /// Returns the repository of which the root is the main worktree or a linked one, as its own `.git` names it: worktrees of
    /// one repository have the same. Nothing outside of the root is looked at.
    pub fn repository(&self) -> Option<PathBuf> {
        crate::walk::repository_of(self)
    }

    /// Returns whether files can be told from what they were before without reading them: on some file systems, and
    /// some operating systems, they can't.
    pub fn knows_states(&self) -> bool {
        self.device_with_states.is_ok()
    }

    /// Returns why they can't, if so.
    pub fn no_states(&self) -> Option<NoStates> {
        self.device_with_states.err()
    }

    /// The device of the root's files that have a state.
    pub(crate) fn device_with_states(&self) -> Option<u64> {
        self.device_with_states.ok()
    }

    /// The same if a directory's state tells whether its names have changed.
    pub(crate) fn device_with_directory_states(&self) -> Option<u64> {
        self.device_with_states().filter(|_| self.directories_have_states)
    }

    /// Returns whether both are the same directory under the same path, and what may be read of it is the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let rest = |root: &Self| (root.inside_git, root.device_with_states);
        let identity = sys::identity(&self.directory);
        identity.is_some()
            && identity == sys::identity(&other.directory)
            && rest(self) == rest(other)
            && (&self.path, &self.secrets) == (&other.path, &other.secrets)
    }

    /// The root's absolute path, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The policy that keeps secret files closed.
    pub fn secrets(&self) -> &SecretPolicy {
        &self.secrets
    }

    /// Whether a directory above the root is a git work tree, so that `.gitignore` files apply.
    pub(crate) fn inside_git(&self) -> bool {
        self.inside_git
    }

    /// Whether the kernel's file systems may lie in the root.
    pub(crate) fn holds_kernels(&self) -> bool {
        self.is_whole_system
    }

    /// Whether a path belongs to the kernel's file systems, which a root as broad as `/` holds.
    pub(crate) fn is_kernels(&self, path: &RelPath) -> bool {
        self.holds_kernels()
            && path
                .names()
                .next()
                .is_some_and(|first| KERNEL_DIRECTORIES.iter().any(|name| name.as_bytes() == first))
    }

    /// The name of the kernel's file system that an open directory lies on, unless it is the root's own: that one the
    /// user named, and allowed.
    pub(crate) fn kernel_file_system(&self, directory: &Directory) -> Option<&'static str> {
        let device = sys::identity(directory).map(|(device, _)| device);
        // Only another device has to be asked what it is. While the root is open, no other gets its number.
        if device.is_some() && device == self.device { None } else { sys::kernel_file_system(directory) }
    }

    /// The same of an open file, which can be mounted alone.
    pub(crate) fn kernel_file_system_of(&self, file: &OpenedFile) -> Option<&'static str> {
        file.kernel_file_system(self.device)
    }

    pub(crate) fn handle(&self) -> &Directory {
        &self.directory
    }

    /// An absolute path that lies beneath this root, as a path below it.
    pub(crate) fn strip_absolute(&self, absolute: &[u8]) -> Option<RelPath> {
        let root = os_bytes(self.path.as_os_str())?;
        #[cfg(windows)]
        let absolute = &*plain(absolute, &root);
        let rest = absolute.strip_prefix(&*root)?;
        if !(rest.is_empty() || rest.first() == Some(&b'/') || root.ends_with(b"/")) {
            return None;
        }
        let rest = &rest[rest.iter().take_while(|&&b| b == b'/').count()..];
        RelPath::from_bytes(rest, &RelPath::root()).ok()
    }

    /// Opens a file for reading, links followed within the root, unless the secret-file policy keeps it closed.
    pub fn open_file(&self, path: &RelPath) -> Result<OpenedFile, OpenError> {
        let shown = || path.display().into_owned();
        for _ in 0..limits::OPEN_RETRIES {
            let real = match self.resolve(path)? {
                (_, NodeKind::Directory) => return Err(OpenError::IsDirectory { path: shown() }),
                (_, NodeKind::Special) => return Err(OpenError::NotRegular { path: shown() }),
                (real, _) => real,
            };
            match self.open_resolved(&real) {
                // A link stands where there was none a moment ago: resolve once more.
                Err(OpenError::Io { source, .. }) if sys::is_link_error(&source) => {}
                Err(OpenError::Io { source, .. }) => return Err(OpenError::Io { path: shown(), source }),
                result => return result,
            }
        }
        Err(OpenError::Io { path: shown(), source: io::Error::other("it keeps changing while it is opened") })
    }

    /// Returns the system's reason why a file that a walk came to could not be opened or read, in words.
    pub(crate) fn why_unreadable(&self, path: &RelPath) -> String {
        let read = |mut file: OpenedFile| file.reader().read(&mut [0]);
        match self.open_file(path) {
            Err(error) => error.to_string(),
            Ok(file) => match read(file) {
                Err(source) => format!("can't read {}: {source}", path.display()),
                Ok(_) => format!("can't read {}: it changed while it was read", path.display()),
            },
        }
    }

    /// Opens a file by the path of the file itself, without following a link.
    pub(crate) fn open_resolved(&self, real: &RelPath) -> Result<OpenedFile, OpenError> {
        let io = |source| OpenError::Io { path: real.display().into_owned(), source };
        if self.is_kernels(real) {
            return Err(OpenError::NotRegular { path: real.display().into_owned() });
        }
        if let Some(rule) = self.secrets.denies(real) {
            return Err(OpenError::Secret { path: real.display().into_owned(), rule: rule.to_owned() });
        }
        let directory =
            sys::open_directory(&self.directory, &real.parent().unwrap_or_else(RelPath::root)).map_err(io)?;
        let kernels = |system| OpenError::KernelFileSystem { path: real.display().into_owned(), system };
        // Before anything in it is opened, which may have effects there.
        if let Some(system) = self.kernel_file_system(&directory) {
            return Err(kernels(system));
        }
        let file = OpenedFile::new(sys::open_leaf(&directory, real.file_name()).map_err(io)?)
            .map_err(io)?
            .ok_or_else(|| OpenError::NotRegular { path: real.display().into_owned() })?;
        self.kernel_file_system_of(&file).map_or(Ok(file), |system| Err(kernels(system)))
    }

    /// Returns the names in a directory, links followed within the root, in no order, the first `most` of them.
    pub fn names(&self, path: &RelPath, most: usize) -> Result<Vec<Vec<u8>>, OpenError> {
        let shown = || path.display().into_owned();
        let (real, NodeKind::Directory) = self.resolve(path)? else {
            return Err(OpenError::NotDirectory { path: shown() });
        };
        let io = |source| OpenError::Io { path: shown(), source };
        let directory = sys::open_directory(&self.directory, &real).map_err(io)?;
        if let Some(system) = self.kernel_file_system(&directory) {
            return Err(OpenError::KernelFileSystem { path: shown(), system });
        }
        let mut nodes = sys::list_while(&directory, &mut |names| names < most).map_err(io)?;
        nodes.truncate(most);
        Ok(nodes.into_iter().map(|node| node.name.into_vec()).collect())
    }

    /// The path of the thing itself, links resolved within the root, and whether it is a directory.
    pub fn locate(&self, path: &RelPath) -> Result<(RelPath, bool), OpenError> {
        self.resolve(path).map(|(path, kind)| (path, kind == NodeKind::Directory))
    }

    pub(crate) fn resolve(&self, path: &RelPath) -> Result<(RelPath, NodeKind), OpenError> {
        self.resolve_by(path, &mut |_| {})
    }

    /// As [`Root::resolve`]; `consulted` is given every directory on which the answer depends.
    pub(crate) fn resolve_by(
        &self,
        path: &RelPath,
        consulted: &mut dyn FnMut(&RelPath),
    ) -> Result<(RelPath, NodeKind), OpenError> {
        let shown = path.display().into_owned();
        match resolve(self, path, consulted) {
            Ok(resolved) => Ok((resolved.path, resolved.kind)),
            Err(RootPathError::Outside) => {
                Err(OpenError::OutsideRoot { path: shown, root: self.path.display().to_string() })
            }
            Err(RootPathError::Kernels(path, system)) => {
                Err(OpenError::KernelFileSystem { path: path.display().into_owned(), system })
            }
            Err(RootPathError::Io(source)) => Err(match source.kind() {
                io::ErrorKind::NotFound => OpenError::NotFound { path: shown },
                io::ErrorKind::NotADirectory => OpenError::NotDirectory { path: shown },
                _ => OpenError::Io { path: shown, source },
            }),
        }
    }
}

fn is_too_broad(path: &Path, home: Option<&Path>) -> bool {
    let holds =
        |home: &Path| home.starts_with(path) || canonical(home).is_ok_and(|home| home.starts_with(path));
    path.parent().is_none() || home.is_some_and(holds)
}

/// Whether a directory holds `.git` (a directory, or a file in a worktree or submodule).
#[expect(clippy::disallowed_methods, reason = "asks only whether the name exists, above or at the root")]
fn has_git(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// The nearest directory at or above `from` that holds `.git`. Git itself is never run: its configuration
/// belongs to the repository and can name programs.
pub fn find_git_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|directory| has_git(directory)).map(Path::to_owned)
}

/// Returns the project around a directory: the git root that holds it, unless that is the user's home directory or wider; else
/// the directory itself.
pub fn project_around(directory: &Path, home: Option<&Path>) -> PathBuf {
    let git = find_git_root(directory).filter(|git| !is_too_broad(git, home));
    git.unwrap_or_else(|| directory.to_owned())
}

/// The roots of a session and the directory in which it stands.
#[derive(Clone, Debug)]
pub struct Roots {
    roots: Vec<Arc<Root>>,
    base: RelPath,
    standing: RelPath,
}

impl Roots {
    /// `base` is the working directory below the first root.
    pub fn new(roots: Vec<Arc<Root>>, base: RelPath) -> Result<Self, RootError> {
        if roots.is_empty() {
            return Err(RootError::NoRoot);
        }
        // One that is named twice is one.
        let mut once: Vec<Arc<Root>> = Vec::with_capacity(roots.len());
        for root in roots {
            if !once.iter().any(|known| known.path == root.path) {
                once.push(root);
            }
        }
        let roots = once;
        Ok(Self { roots, standing: base.clone(), base })
    }

    /// No roots, for calls that are about no files.
    pub fn none() -> Self {
        Self { roots: Vec::new(), base: RelPath::root(), standing: RelPath::root() }
    }

    /// The same for a caller who stands in a directory below the first root, and searches all of it all the same.
    pub fn standing_in(self, standing: RelPath) -> Self {
        Self { standing, ..self }
    }

    /// Returns the directory in which the caller stands, below the first root: what is relative and not there may be
    /// below this.
    pub fn standing(&self) -> &RelPath {
        &self.standing
    }

    /// The first root, which relative paths are below. It panics for [`Roots::none`].
    pub fn main(&self) -> &Arc<Root> {
        &self.roots[0]
    }

    /// All roots, the main one first.
    pub fn all(&self) -> &[Arc<Root>] {
        &self.roots
    }

    /// The same with one of them alone.
    pub fn only(&self, root: &Arc<Root>) -> Self {
        let below = |directory: &RelPath| match Arc::ptr_eq(root, self.main()) {
            true => directory.clone(),
            false => RelPath::root(),
        };
        Self { roots: vec![Arc::clone(root)], base: below(&self.base), standing: below(&self.standing) }
    }

    /// The roots that lie below one of them, as paths there.
    pub fn below(&self, root: &Root) -> Vec<RelPath> {
        let path = |other: &Arc<Root>| root.strip_absolute(&os_bytes(other.path().as_os_str())?);
        self.roots.iter().filter_map(path).filter(|path| !path.is_root()).collect()
    }

    /// The working directory below the first root.
    pub fn base(&self) -> &RelPath {
        &self.base
    }

    /// Finds the root and the path below it that `text` names: absolute within any root, or relative to the
    /// first, as all paths in answers are. Only names are looked at here; links are resolved when it is opened.
    pub fn find(&self, text: &str) -> Result<(Arc<Root>, RelPath), OpenError> {
        let outside = || OpenError::OutsideRoot {
            path: text.escape_debug().to_string(),
            root: self
                .roots
                .iter()
                .map(|root| root.path.display().to_string())
                .collect::<Vec<_>>()
                .join(", "),
        };
        let malformed = |error: RelPathError| OpenError::Io {
            path: text.escape_debug().to_string(),
            source: io::Error::other(error),
        };
        let bytes = path_bytes(text).map_err(malformed)?;
        match RelPath::from_bytes(&bytes, &RelPath::root()) {
            Ok(path) => Ok((Arc::clone(self.main()), path)),
            Err(RelPathError::Absolute) => {
                let below = |root: &Arc<Root>| Some((Arc::clone(root), root.strip_absolute(&bytes)?));
                // Of two roots of which one is in the other, the inner one.
                let found = self.roots.iter().filter_map(below);
                found.min_by_key(|(_, path)| path.depth()).ok_or_else(outside)
            }
            Err(RelPathError::AboveRoot) => Err(outside()),
            Err(error) => Err(malformed(error)),
        }
    }
}

/// An absolute path as this system has it: without links, and on Windows in the form that people and programs write, with `/`
/// between the names as all paths in answers have. `\\?\C:\`, which the system itself gives, few of them know.
#[expect(clippy::disallowed_methods, reason = "a path of the user's own, not of a repository")]
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    #[cfg(not(windows))]
    return std::fs::canonicalize(path);
    #[cfg(windows)]
    {
        let path = dunce::canonicalize(path)?;
        // What is too long for the common form takes no other sign between its names.
        let plain = path.to_str().filter(|path| !path.starts_with(r"\\?\"));
        Ok(plain.map_or_else(|| path.clone(), |plain| plain.replace('\\', "/").into()))
    }
}

/// An absolute path of Windows in the form of [`canonical`], its beginning in the case of a root that is the same but for that.
#[cfg(windows)]
fn plain(absolute: &[u8], root: &[u8]) -> Vec<u8> {
    let mut path: Vec<u8> = absolute.iter().map(|&b| if b == b'\\' { b'/' } else { b }).collect();
    if path.starts_with(b"//?/") && !root.starts_with(br"\\?\") {
        path.drain(..4);
    }
    if path.get(..root.len()).is_some_and(|start| start.eq_ignore_ascii_case(root)) {
        path[..root.len()].copy_from_slice(root);
    }
    path
}

/// Whether a byte stands between the names of a path on this system.
pub(crate) fn is_separator(byte: u8) -> bool {
    byte == b'/' || cfg!(windows) && byte == b'\\'
}

/// The end of a resolution.
#[derive(Debug)]
struct ResolvedPath {
    /// Path of the thing itself: no name in it was a link a moment ago.
    path: RelPath,
    kind: NodeKind,
}

/// Why a path could not be resolved.
#[derive(Debug)]
enum RootPathError {
    Outside,
    /// It leads to this directory, on this file system of the kernel's.
    Kernels(RelPath, &'static str),
    Io(io::Error),
}

impl From<io::Error> for RootPathError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Follows the links in `path`, each within the root. The answer is a name, not a permission: whoever opens it
/// does so without links, and fails if the tree changed in between. `consulted` is given every directory in which a name
/// was looked up: the answer is the same as long as these have the same names.
fn resolve(
    root: &Root,
    path: &RelPath,
    consulted: &mut dyn FnMut(&RelPath),
) -> Result<ResolvedPath, RootPathError> {
    let (mut links, mut names_seen) = (0, 0);
    let mut pending: Vec<Vec<u8>> = path.names().map(<[u8]>::to_vec).collect();
    pending.reverse();
    let mut resolved = RelPath::root();
    let mut kind = NodeKind::Directory;
    let mut directory = sys::open_directory(root.handle(), &resolved)?;
    while let Some(name) = pending.pop() {
        names_seen += 1;
        if names_seen > limits::NAMES_PER_PATH {
            return Err(io::Error::other("its links make a path of too many names").into());
        }
        if kind != NodeKind::Directory {
            return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
        }
        if name == b".." {
            resolved = resolved.parent().ok_or(RootPathError::Outside)?;
            directory = sys::open_directory(root.handle(), &resolved)?;
            continue;
        }
        consulted(&resolved);
        // Reading it as a link tells a link from everything else without a race between two questions.
        match sys::link_target(&directory, &name) {
            Ok(target) => {
                links += 1;
                if links > limits::LINKS_PER_PATH {
                    return Err(io::Error::other("too many links").into());
                }
                let names = match (root.strip_absolute(&target), target.first()) {
                    (Some(inside), _) => {
                        resolved = RelPath::root();
                        directory = sys::open_directory(root.handle(), &resolved)?;
                        inside.as_bytes().to_vec()
                    }
                    (None, Some(b'/')) => return Err(RootPathError::Outside),
                    (None, Some(b'\\')) if cfg!(windows) => return Err(RootPathError::Outside),
                    (None, _) if cfg!(windows) && target.contains(&b':') => {
                        return Err(RootPathError::Outside);
                    }
                    (None, _) => target,
                };
                let names = names.split(|&b| is_separator(b)).filter(|name| !matches!(name, &(b"" | b".")));
                pending.extend(names.map(<[u8]>::to_vec).rev());
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                kind = sys::node_kind(&directory, &name)?;
                resolved = resolved.join(&name);
                if kind == NodeKind::Directory {
                    directory = sys::open_child(&directory, &name)?;
                    // Its links lead anywhere, and no name in it is looked up.
                    if let Some(system) = root.kernel_file_system(&directory) {
                        return Err(RootPathError::Kernels(resolved, system));
                    }
                }
                // It could be reached name by name, but not be opened by its path.
                if resolved.as_bytes().len() >= limits::PATH_BYTES {
                    return Err(io::Error::from(io::ErrorKind::InvalidFilename).into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ResolvedPath { path: resolved, kind })
}
