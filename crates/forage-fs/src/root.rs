//! Roots: the directories beneath which files may be read.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{NoStates, OpenError, RootError};
use crate::file::OpenedFile;
use crate::limits;
use crate::quoting::path_bytes;
use crate::rel_path::{RelPath, RelPathError, os_bytes};
use crate::secrets::SecretPolicy;
use crate::state::NameStatus;
use crate::sys::{self, Directory, NodeKind};

/// Rules about which directories may be a root.
#[derive(Clone, Debug, Default)]
pub struct RootPolicy {
    /// The user's home directory; it and its parents are too broad.
    pub home: Option<PathBuf>,
    /// Allow `/`, the home directory and its parents.
    pub allow_broad: bool,
}

/// Directories of `/` whose files belong to the kernel, for example environments that contain keys, and
/// devices.
const KERNEL_DIRECTORIES: [&str; 3] = ["proc", "sys", "dev"];

/// A directory beneath which files may be read, held open.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// The name that answers use in place of the path.
    name: Option<String>,
    directory: Directory,
    /// True if this is the root of the whole file system.
    is_whole_system: bool,
    inside_git: bool,
    /// The device of the root's own file system.
    device: Option<u64>,
    device_with_states: Result<u64, NoStates>,
    /// True if the state of a directory changes when its names change.
    directories_have_states: bool,
    secrets: SecretPolicy,
}

impl Root {
    /// Opens `path` as a root. This follows links in `path` itself, because the user chose it.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be opened, is too broad, or belongs to the kernel.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy};
    ///
    /// let root = Root::open("src".as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[]))?;
    /// let path = RelPath::parse("lib.rs", &RelPath::root())?;
    /// assert!(root.open_file(&path)?.size() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
        Ok(Arc::new(Self::new(path, directory, secrets, None)))
    }

    /// Opens a directory below this root as a root of its own, which answers call `name`. Links on the way to
    /// it are followed within this root.
    ///
    /// # Errors
    ///
    /// Fails if the path leads outside of this root, or is not a directory that may be read.
    pub fn open_below(&self, directory: &RelPath, name: String) -> Result<Arc<Self>, OpenError> {
        let shown = || directory.display().into_owned();
        let (real, NodeKind::Directory) = self.resolve(directory)? else {
            return Err(OpenError::NotDirectory { path: shown() });
        };
        let opened = sys::open_directory(&self.directory, &real)
            .map_err(|source| OpenError::Io { path: shown(), source })?;
        if let Some(system) = self.kernel_file_system(&opened) {
            return Err(OpenError::KernelFileSystem { path: shown(), system });
        }
        let path = match real.to_os_string() {
            _ if real.is_root() => self.path.clone(),
            Some(below) => self.path.join(below),
            None => return Err(OpenError::NotFound { path: shown() }),
        };
        Ok(Arc::new(Self::new(path, opened, self.secrets.clone(), Some(name))))
    }

    fn new(path: PathBuf, directory: Directory, secrets: SecretPolicy, name: Option<String>) -> Self {
        Self {
            name,
            inside_git: path.ancestors().skip(1).any(has_git),
            is_whole_system: path.parent().is_none(),
            device: sys::identity(&directory).map(|(device, _)| device),
            device_with_states: sys::device_with_states(&directory),
            directories_have_states: sys::directories_have_states(&directory),
            secrets: secrets.relative_to(&path),
            directory,
            path,
        }
    }

    /// Opens the project that contains a directory as a root, and returns it with the path of the directory
    /// below it. See [`project_around`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Root::open`].
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

    /// Finds the repository of the root: its own `.git`, or that of the main worktree if the root is a linked
    /// one. All worktrees of a repository have the same one. This does not access anything outside of the
    /// root.
    pub fn repository(&self) -> Option<PathBuf> {
        crate::walk::repository_of(self)
    }

    /// Returns true if we can detect changes of files without reading them. Some file systems and operating
    /// systems do not support this.
    pub fn knows_states(&self) -> bool {
        self.device_with_states.is_ok()
    }

    /// Returns the reason why changes of files can't be detected, or `None` if they can.
    pub fn no_states(&self) -> Option<NoStates> {
        self.device_with_states.err()
    }

    /// Returns the device of the root's files, provided that they have a state.
    pub(crate) fn device_with_states(&self) -> Option<u64> {
        self.device_with_states.ok()
    }

    /// Returns the same device, provided that the state of a directory also reflects changes of its names.
    pub(crate) fn device_with_directory_states(&self) -> Option<u64> {
        self.device_with_states().filter(|_| self.directories_have_states)
    }

    /// Returns true if both are the same directory, with the same path and the same access rules.
    pub fn is_same(&self, other: &Self) -> bool {
        let rest = |root: &Self| (root.inside_git, root.device_with_states);
        let identity = sys::identity(&self.directory);
        identity.is_some()
            && identity == sys::identity(&other.directory)
            && rest(self) == rest(other)
            && (&self.path, &self.secrets) == (&other.path, &other.secrets)
    }

    /// Returns the root's absolute path, for display.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name that answers use for this root: that of [`Root::open_below`], or the absolute path.
    pub fn shown_path(&self) -> &OsStr {
        self.name.as_ref().map_or(self.path.as_os_str(), OsStr::new)
    }

    /// Returns the policy that denies access to secret files.
    pub fn secrets(&self) -> &SecretPolicy {
        &self.secrets
    }

    /// Returns true if a directory above the root is a git work tree, so that `.gitignore` files apply.
    pub(crate) fn inside_git(&self) -> bool {
        self.inside_git
    }

    /// Returns true if the root is broad enough to contain the kernel's file systems.
    pub(crate) fn holds_kernels(&self) -> bool {
        self.is_whole_system
    }

    /// Returns true if a path belongs to the kernel's file systems, which a root as broad as `/` contains.
    pub(crate) fn is_kernels(&self, path: &RelPath) -> bool {
        self.holds_kernels()
            && path
                .names()
                .next()
                .is_some_and(|first| KERNEL_DIRECTORIES.iter().any(|name| name.as_bytes() == first))
    }

    /// Returns the name of the kernel file system that contains an open directory. The root's own file system
    /// does not count: the user was allowed to choose it.
    pub(crate) fn kernel_file_system(&self, directory: &Directory) -> Option<&'static str> {
        let device = sys::identity(directory).map(|(device, _)| device);
        // Only a different device must be queried. While the root is open, its device number can't be reused.
        if device.is_some() && device == self.device { None } else { sys::kernel_file_system(directory) }
    }

    /// Like [`Root::kernel_file_system`] for an open file. Note that a file can be a mount point too.
    pub(crate) fn kernel_file_system_of(&self, file: &OpenedFile) -> Option<&'static str> {
        file.kernel_file_system(self.device)
    }

    pub(crate) fn handle(&self) -> &Directory {
        &self.directory
    }

    /// Converts an absolute path beneath this root to a path relative to it.
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

    /// Opens a file for reading. Follows links within the root, and applies the secret-file policy.
    ///
    /// # Errors
    ///
    /// Fails if the path leads outside of the root, or is not a regular file that may be read.
    pub fn open_file(&self, path: &RelPath) -> Result<OpenedFile, OpenError> {
        let shown = || path.display().into_owned();
        for _ in 0..limits::OPEN_RETRIES {
            let real = match self.resolve(path)? {
                (_, NodeKind::Directory) => return Err(OpenError::IsDirectory { path: shown() }),
                (_, NodeKind::Special) => return Err(OpenError::NotRegular { path: shown() }),
                (real, _) => real,
            };
            match self.open_resolved(&real) {
                // A link has appeared where there was none a moment ago, so we must resolve the path again.
                Err(OpenError::Io { source, .. }) if sys::is_link_error(&source) => {}
                Err(OpenError::Io { source, .. }) => return Err(OpenError::Io { path: shown(), source }),
                result => return result,
            }
        }
        Err(OpenError::Io { path: shown(), source: io::Error::other("it keeps changing while it is opened") })
    }

    /// Describes the system error for a file that a walk could not open or read.
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

    /// Opens a file by its resolved path, without following a link.
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
        // We must check this before opening anything inside, which may have side effects.
        if let Some(system) = self.kernel_file_system(&directory) {
            return Err(kernels(system));
        }
        let file = OpenedFile::new(sys::open_leaf(&directory, real.file_name()).map_err(io)?)
            .map_err(io)?
            .ok_or_else(|| OpenError::NotRegular { path: real.display().into_owned() })?;
        self.kernel_file_system_of(&file).map_or(Ok(file), |system| Err(kernels(system)))
    }

    /// Lists the first `max` names in a directory, in arbitrary order. Follows links within the root.
    pub fn names(&self, path: &RelPath, max: usize) -> Result<Vec<Vec<u8>>, OpenError> {
        let shown = || path.display().into_owned();
        let (real, NodeKind::Directory) = self.resolve(path)? else {
            return Err(OpenError::NotDirectory { path: shown() });
        };
        let io = |source| OpenError::Io { path: shown(), source };
        let directory = sys::open_directory(&self.directory, &real).map_err(io)?;
        if let Some(system) = self.kernel_file_system(&directory) {
            return Err(OpenError::KernelFileSystem { path: shown(), system });
        }
        let mut nodes = sys::list_while(&directory, &mut |names| names < max).map_err(io)?;
        nodes.truncate(max);
        Ok(nodes.into_iter().map(|node| node.name.into_vec()).collect())
    }

    /// Opens a directory so that its names can be examined. No link is followed anywhere on the way.
    ///
    /// # Errors
    ///
    /// Fails if the path is not a directory, or leads through a link.
    pub fn look_into(&self, directory: &RelPath) -> io::Result<Names<'_>> {
        let opened = sys::open_for_names(&self.directory, directory)?;
        let is_kernels = self.is_kernels(directory) || self.kernel_file_system(&opened).is_some();
        if is_kernels {
            Err(io::ErrorKind::Unsupported.into())
        } else {
            Ok(Names { root: self, path: directory.clone(), directory: opened })
        }
    }

    /// Resolves the links of a path within the root. The second value is true for a directory.
    pub fn locate(&self, path: &RelPath) -> Result<(RelPath, bool), OpenError> {
        self.resolve(path).map(|(path, kind)| (path, kind == NodeKind::Directory))
    }

    pub(crate) fn resolve(&self, path: &RelPath) -> Result<(RelPath, NodeKind), OpenError> {
        self.resolve_by(path, &mut |_| {})
    }

    /// Like [`Root::resolve`]. `consulted` is called with every directory on which the result depends.
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

/// A directory beneath a root, opened to examine its names one by one. Links are not followed.
#[derive(Debug)]
pub struct Names<'a> {
    root: &'a Root,
    path: RelPath,
    directory: Directory,
}

impl Names<'_> {
    /// Looks up the metadata of a name. Returns `None` if there is no such name.
    ///
    /// # Errors
    ///
    /// Fails if the name can't be examined.
    pub fn status(&self, name: &[u8]) -> io::Result<Option<NameStatus>> {
        match sys::name_status(&self.directory, name) {
            Ok(status) => Ok(Some(status)),
            Err(error) if sys::is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading, if the secret-file policy permits it.
    ///
    /// # Errors
    ///
    /// Fails if the name is not a file that may be read.
    pub fn open(&self, name: &[u8]) -> Result<OpenedFile, OpenError> {
        self.root.open_resolved(&self.path.join(name))
    }

    /// Reads the target of a link as it is stored. The target must not be opened.
    ///
    /// # Errors
    ///
    /// Fails if the name is not a link.
    pub fn link_target(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        sys::link_target(&self.directory, name)
    }
}

fn is_too_broad(path: &Path, home: Option<&Path>) -> bool {
    let holds =
        |home: &Path| home.starts_with(path) || canonical(home).is_ok_and(|home| home.starts_with(path));
    path.parent().is_none() || home.is_some_and(holds)
}

/// Returns true if a directory contains `.git` (a directory, or a file in a worktree or submodule).
#[expect(clippy::disallowed_methods, reason = "asks only whether the name exists, above or at the root")]
fn has_git(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// Finds the nearest directory at or above `from` that contains `.git`. We never run git itself, because its
/// configuration belongs to the repository and can name programs.
pub fn find_git_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|directory| has_git(directory)).map(Path::to_owned)
}

/// Finds the project that contains a directory. This is the enclosing git root, unless that is the user's
/// home directory or a parent of it. Otherwise it is the directory itself.
pub fn project_around(directory: &Path, home: Option<&Path>) -> PathBuf {
    let git = find_git_root(directory).filter(|git| !is_too_broad(git, home));
    git.unwrap_or_else(|| directory.to_owned())
}

/// The roots of a session and its working directory.
#[derive(Clone, Debug)]
pub struct Roots {
    roots: Vec<Arc<Root>>,
    base: RelPath,
    standing: RelPath,
}

impl Roots {
    /// Creates the roots. `base` is the working directory relative to the first root.
    pub fn new(roots: Vec<Arc<Root>>, base: RelPath) -> Result<Self, RootError> {
        if roots.is_empty() {
            return Err(RootError::NoRoot);
        }
        // Keep only one of several roots with the same path.
        let mut once: Vec<Arc<Root>> = Vec::with_capacity(roots.len());
        for root in roots {
            if !once.iter().any(|known| known.path == root.path) {
                once.push(root);
            }
        }
        let roots = once;
        Ok(Self { roots, standing: base.clone(), base })
    }

    /// Creates an empty set of roots, for calls without files.
    pub fn none() -> Self {
        Self { roots: Vec::new(), base: RelPath::root(), standing: RelPath::root() }
    }

    /// Sets the caller's directory below the first root. Searches still cover the whole root.
    pub fn with_working_directory(self, standing: RelPath) -> Self {
        Self { standing, ..self }
    }

    /// Returns the caller's directory below the first root. If a relative path does not exist, it may be
    /// meant relative to this directory.
    pub fn working_directory(&self) -> &RelPath {
        &self.standing
    }

    /// Returns the first root, to which relative paths refer.
    ///
    /// # Panics
    ///
    /// Panics if there are no roots, as for [`Roots::none`].
    pub fn main(&self) -> &Arc<Root> {
        &self.roots[0]
    }

    /// Returns all roots, the main one first.
    pub fn all(&self) -> &[Arc<Root>] {
        &self.roots
    }

    /// Creates a copy with one more root.
    #[must_use]
    pub fn with(mut self, root: Arc<Root>) -> Self {
        if !self.roots.iter().any(|known| known.path == root.path) {
            self.roots.push(root);
        }
        self
    }

    /// Creates a copy with only this root.
    pub fn only(&self, root: &Arc<Root>) -> Self {
        let below = |directory: &RelPath| match Arc::ptr_eq(root, self.main()) {
            true => directory.clone(),
            false => RelPath::root(),
        };
        Self { roots: vec![Arc::clone(root)], base: below(&self.base), standing: below(&self.standing) }
    }

    /// Returns the other roots that are nested in `root`, as paths relative to it.
    pub fn below(&self, root: &Root) -> Vec<RelPath> {
        let path = |other: &Arc<Root>| root.strip_absolute(&os_bytes(other.path().as_os_str())?);
        self.roots.iter().filter_map(path).filter(|path| !path.is_root()).collect()
    }

    /// Returns the working directory, relative to the first root.
    pub fn base(&self) -> &RelPath {
        &self.base
    }

    /// Finds the root of a path, and the path relative to that root. `text` is either absolute within any
    /// root or relative to the first one, like all paths in answers. This looks only at names; links are
    /// resolved when the file is opened.
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
                // If roots are nested, we choose the inner one.
                let found = self.roots.iter().filter_map(below);
                found.min_by_key(|(_, path)| path.depth()).ok_or_else(outside)
            }
            Err(RelPathError::AboveRoot) => Err(outside()),
            Err(error) => Err(malformed(error)),
        }
    }
}

/// Makes a path absolute and resolves its links. On Windows the result has the common form with `/` between
/// the names, like all paths in answers, because few programs know the system's own form `\\?\C:\`.
#[expect(clippy::disallowed_methods, reason = "a path of the user's own, not of a repository")]
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    #[cfg(not(windows))]
    return std::fs::canonicalize(path);
    #[cfg(windows)]
    {
        let path = dunce::canonicalize(path)?;
        // A path that is too long for the common form does not accept other separators.
        let plain = path.to_str().filter(|path| !path.starts_with(r"\\?\"));
        Ok(plain.map_or_else(|| path.clone(), |plain| plain.replace('\\', "/").into()))
    }
}

/// Converts an absolute Windows path to the form of [`canonical`]. If its beginning equals `root` except for
/// case, it gets the case of `root`.
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

/// Returns true if a byte separates names on this system.
pub(crate) fn is_separator(byte: u8) -> bool {
    byte == b'/' || cfg!(windows) && byte == b'\\'
}

/// The result of resolving a path.
#[derive(Debug)]
struct ResolvedPath {
    /// The resolved path: no name in it was a link a moment ago.
    path: RelPath,
    kind: NodeKind,
}

/// Reasons why a path can't be resolved.
#[derive(Debug)]
enum RootPathError {
    Outside,
    /// The path leads to this directory on this kernel file system.
    Kernels(RelPath, &'static str),
    Io(io::Error),
}

impl From<io::Error> for RootPathError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Follows the links in `path`, each within the root.
///
/// The result is a name, not a permission: it must be opened without following links, which fails if the tree
/// has changed since. `consulted` is called with every directory in which a name was looked up. As long as
/// these directories keep their names, the result will stay the same.
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
            return Err(io::Error::other("its links expand to too many names").into());
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
        // Reading a name as a link distinguishes links from everything else in one call, without a race.
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
                    // Its links may lead anywhere, so we must not look up any name in it.
                    if let Some(system) = root.kernel_file_system(&directory) {
                        return Err(RootPathError::Kernels(resolved, system));
                    }
                }
                // We could reach this path name by name, but we could not open it as a whole.
                if resolved.as_bytes().len() >= limits::PATH_BYTES {
                    return Err(io::Error::from(io::ErrorKind::InvalidFilename).into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ResolvedPath { path: resolved, kind })
}
