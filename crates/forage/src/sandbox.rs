//! The second wall: on Linux, Landlock keeps the process itself from files that no call may touch, whatever goes wrong
//! above it.
//!
//! The first wall, which holds everywhere, is `forage_fs`: every file is opened beneath a root's handle. This one is
//! the kernel's. It binds the calling thread and the threads and processes that it starts afterwards, so that it has to
//! stand before any of them, and it can't be taken down again. Connections are not restricted.

use std::fmt;
use std::path::PathBuf;

/// What the process may still do with files. Everything else is refused; what does not exist is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Files and directories to read.
    pub read: Vec<PathBuf>,
    /// Directories to read and write, and devices.
    pub write: Vec<PathBuf>,
    /// Programs to run; with any, those of [`LIBRARIES`] may be loaded as their interpreters.
    pub execute: Vec<PathBuf>,
}

impl Access {
    /// What any process needs: shared libraries, certificates, name resolution, itself, the usual devices.
    pub fn of_the_system() -> Self {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Self { read: paths(&[LIBRARIES, READABLE].concat()), write: paths(DEVICES), execute: Vec::new() }
    }
}

/// Where shared libraries and the programs that load them are.
pub const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
];

const READABLE: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    // Certificates.
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    // Names of hosts. The directories are those into which /etc/resolv.conf usually leads.
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    // How many threads make sense.
    "/proc/self",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    "/dev/urandom",
    "/dev/random",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero"];

/// How far the wall stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not at all, and why.
    None {
        /// A clause that can stand behind a colon.
        reason: String,
    },
    /// The kernel knows some of the rights only: older ones of Landlock can't refuse truncating or moving files.
    Partial {
        /// The version of the kernel's Landlock.
        abi: i32,
    },
    /// Every right to files is refused that was not given.
    Full {
        /// The version of the kernel's Landlock.
        abi: i32,
    },
}

impl Level {
    /// One word for records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None { .. } => "none",
            Self::Partial { .. } => "partial",
            Self::Full { .. } => "full",
        }
    }

    /// Whether everything is enforced.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None { reason } => write!(formatter, "none: {reason}"),
            Self::Partial { abi } => write!(formatter, "partial (Landlock ABI {abi})"),
            Self::Full { abi } => write!(formatter, "full (Landlock ABI {abi})"),
        }
    }
}

/// Restricts the calling thread, and what it starts from now on, to `access`, for good.
pub fn restrict(access: &Access) -> Level {
    system::restrict(access)
}

/// What [`restrict`] would give here: a thread of its own tries it.
pub fn probe() -> Level {
    let access = Access::of_the_system();
    std::thread::spawn(move || restrict(&access))
        .join()
        .unwrap_or_else(|_| Level::None { reason: "the attempt failed".to_owned() })
}

#[cfg(target_os = "linux")]
mod system {
    use landlock::{
        ABI, Access as _, AccessFs, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
    };

    use super::{Access, LIBRARIES, Level};

    /// The last version that brought a right to files.
    const RIGHTS: ABI = ABI::V5;

    pub(super) fn restrict(access: &Access) -> Level {
        match try_restrict(access) {
            Ok(status) => level(&status),
            Err(error) => Level::None { reason: format!("Landlock failed: {error}") },
        }
    }

    fn try_restrict(access: &Access) -> Result<RestrictionStatus, RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let execute = AccessFs::Execute | AccessFs::ReadFile;
        // All but running what was written.
        let write: BitFlags<AccessFs> = AccessFs::from_all(RIGHTS) & !BitFlags::from(AccessFs::Execute);
        let libraries = LIBRARIES.iter().filter(|_| !access.execute.is_empty());
        Ruleset::default()
            .handle_access(AccessFs::from_all(RIGHTS))?
            .create()?
            .add_rules(path_beneath_rules(&access.read, read))?
            .add_rules(path_beneath_rules(&access.write, write))?
            .add_rules(path_beneath_rules(&access.execute, execute))?
            .add_rules(path_beneath_rules(libraries, execute))?
            .restrict_self()
    }

    fn level(status: &RestrictionStatus) -> Level {
        let abi = match status.landlock {
            LandlockStatus::Available { effective_abi, kernel_abi } => {
                kernel_abi.unwrap_or(effective_abi as i32)
            }
            LandlockStatus::NotEnabled => {
                return Level::None {
                    reason: "Landlock is not enabled in this kernel (boot option `lsm=`)".to_owned(),
                };
            }
            _ => {
                return Level::None {
                    reason: "this kernel has no Landlock, which came with Linux 5.13".to_owned(),
                };
            }
        };
        match status.ruleset {
            RulesetStatus::FullyEnforced if status.no_new_privs => Level::Full { abi },
            RulesetStatus::NotEnforced => Level::None { reason: "Landlock enforces nothing here".to_owned() },
            _ => Level::Partial { abi },
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Access, Level};

    pub(super) fn restrict(_: &Access) -> Level {
        Level::None { reason: "not available on this system; Landlock is Linux's".to_owned() }
    }
}
