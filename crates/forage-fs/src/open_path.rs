//! From a path that somebody wrote to the path of the thing itself, links resolved within the root.

use std::io;

use crate::limits;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::sys::{self, NodeKind};

/// The end of a resolution.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// Path of the thing itself: no name in it was a link a moment ago.
    pub(crate) path: RelPath,
    pub(crate) kind: NodeKind,
}

/// Why a path could not be resolved.
#[derive(Debug)]
pub(crate) enum ResolveError {
    Outside,
    /// It leads to this directory, on this file system of the kernel's.
    Kernels(RelPath, &'static str),
    Io(io::Error),
}

impl From<io::Error> for ResolveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Follows the links in `path`, each within the root. The answer is a name, not a permission: whoever opens it
/// does so without links, and fails if the tree changed in between. `consulted` is given every directory in which a name
/// was looked up: the answer is the same as long as these have the same names.
pub(crate) fn resolve(
    root: &Root,
    path: &RelPath,
    consulted: &mut dyn FnMut(&RelPath),
) -> Result<Resolved, ResolveError> {
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
            resolved = resolved.parent().ok_or(ResolveError::Outside)?;
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
                    (None, Some(b'/')) => return Err(ResolveError::Outside),
                    (None, _) => target,
                };
                let names = names.split(|&b| b == b'/').filter(|name| !matches!(name, &(b"" | b".")));
                pending.extend(names.map(<[u8]>::to_vec).rev());
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                kind = sys::node_kind(&directory, &name)?;
                resolved = resolved.join(&name);
                if kind == NodeKind::Directory {
                    directory = sys::open_child(&directory, &name)?;
                    // Its links lead anywhere, and no name in it is looked up.
                    if let Some(system) = root.kernel_file_system(&directory) {
                        return Err(ResolveError::Kernels(resolved, system));
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
    Ok(Resolved { path: resolved, kind })
}
