//! The sandbox: on Linux, Landlock restricts the process itself. With this restriction, even a bug in the
//! layers above can't reach files, TCP ports, abstract sockets or signals that no call may use.
//!
//! This is the second layer of defense. The first, which exists on all systems, is `forage_fs`: it opens
//! every file beneath a root's handle. The kernel enforces this second layer for the calling thread and for
//! all threads and processes that it starts afterwards. You must therefore set up the sandbox before any of
//! them starts, and you can't remove it again. If a command must do work outside of the sandbox, give it to a
//! thread that was started earlier ([`UnsandboxedWorker`]).
//!
//! ```no_run
//! use forage_sandbox::{Access, restrict};
//!
//! let mut access = Access::minimal();
//! access.read.push("src".into());
//! let level = restrict(&access);
//! assert!(std::fs::read_dir("/home").is_err() || !level.is_enforced());
//! ```

mod program;
mod unsandboxed_worker;

use std::fmt;
use std::path::{Path, PathBuf};

use program::Loader;
pub use unsandboxed_worker::{Starter, UnsandboxedWorker};

/// The accesses that the process keeps. Everything else is refused. Paths that don't exist are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Files and directories that may be read.
    pub read: Vec<PathBuf>,
    /// Directories that may be read and written, and devices.
    pub write: Vec<PathBuf>,
    /// Programs that may be run, and their loaders.
    execute: Vec<PathBuf>,
    /// TCP ports that may be connected to, on any address. The kernel can't restrict addresses.
    connect: Vec<u16>,
    /// Unix sockets that may be connected to. The kernel can restrict them only since Linux 7.1.
    sockets: Vec<PathBuf>,
    /// TCP ports that may be listened on; 0 for a port that the kernel chooses.
    pub listen: Vec<u16>,
}

impl Access {
    /// The minimal accesses of any process. They don't include loading libraries or running programs.
    pub fn minimal() -> Self {
        Self { read: paths(PROCESSORS), write: paths(DEVICES), ..Self::default() }
    }

    /// Allows connections to these TCP ports on any host, and the files that name resolution and certificates
    /// need.
    pub fn allow_ports(&mut self, ports: impl IntoIterator<Item = u16>) {
        let before = self.connect.len();
        self.connect.extend(ports);
        if self.connect.len() > before {
            // Name resolution loads modules, so it also needs the loader and libraries.
            self.read.extend(paths(&[LOADER, LIBRARIES, HOSTS, CERTIFICATES].concat()));
            self.connect.push(DNS_PORT);
            self.sockets.extend(paths(NAME_SERVICES));
        }
    }

    /// Allows running a program. This also allows running its loader and reading its libraries.
    pub fn allow_program(&mut self, program: &Path) {
        self.execute.push(program.to_owned());
        match program::loader(program) {
            Loader::None => return,
            Loader::At(loader) => self.execute.push(loader),
            // The script belongs to the user and is outside of every root.
            Loader::OfScript => self.execute.extend(paths(&[LIBRARIES, PROGRAMS].concat())),
        }
        self.read.extend(paths(&[LOADER, LIBRARIES].concat()));
        self.read.extend(program::libraries_beside(program));
    }
}

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

/// Directories of shared libraries.
const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
];

/// Directories of programs that scripts run.
const PROGRAMS: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin"];

/// Files that the loader of shared libraries reads.
const LOADER: &[&str] = &["/etc/ld.so.cache", "/etc/ld.so.preload"];

/// Bundles of authorities' certificates. We leave out directories that also contain private keys.
const CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];

/// Files for resolving host names. The directories are the usual targets of the link /etc/resolv.conf.
const HOSTS: &[&str] = &[
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
];

/// Sockets of name resolution services.
const NAME_SERVICES: &[&str] =
    &["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/avahi-daemon/socket"];

/// The DNS port. If the answer of a name server doesn't fit a datagram, it comes over TCP.
const DNS_PORT: u16 = 53;

/// Files that contain the useful number of threads and the maximum of watched directories. We must allow only
/// single files of `/proc`, because others contain the environment, which may include keys.
const PROCESSORS: &[&str] = &[
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/sys/fs/inotify/max_user_watches",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
];

const DEVICES: &[&str] = &["/dev/null"];

/// Accesses that the sandbox refuses, each with the Landlock version that introduced the restriction.
const REFUSALS: &[(i32, &str)] = &[
    (
        1,
        "files outside of the roots and of what the command itself needs: opening, listing, creating, removing, running",
    ),
    (3, "truncating such files"),
    (4, "TCP connections to ports other than those of configured models and stores, and listening"),
    (5, "ioctl on devices"),
    (6, "abstract Unix sockets of other programs"),
    (6, "signals to other programs"),
    (9, "Unix sockets by path"),
];

/// Accesses that no Landlock version refuses.
const NEVER_REFUSED: &[&str] = &[
    "UDP, and protocols other than TCP",
    "other machines at an allowed port",
    "names, sizes and times of files",
    "changing modes, owners, times and extended attributes of the user's own files",
];

/// How much of the sandbox is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is not in effect.
    None {
        /// The reason, as a clause that can follow a colon.
        reason: String,
    },
    /// The kernel supports only some of the restrictions. For example, older kernels can't refuse TCP,
    /// signals, or truncating files.
    Partial {
        /// The version of the kernel's Landlock.
        abi: i32,
    },
    /// Every promised restriction is in effect.
    Full {
        /// The version of the kernel's Landlock.
        abi: i32,
    },
}

impl Level {
    /// Returns the level as one word for records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None { .. } => "none",
            Self::Partial { .. } => "partial",
            Self::Full { .. } => "full",
        }
    }

    /// Returns true if every promised restriction is enforced.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns true if at least some restrictions are enforced.
    pub fn is_enforced(&self) -> bool {
        !matches!(self, Self::None { .. })
    }

    /// Lists the accesses that the sandbox refuses on this system.
    pub fn refuses(&self) -> Vec<&'static str> {
        REFUSALS.iter().filter(|(since, _)| *since <= self.abi()).map(|(_, what)| *what).collect()
    }

    /// Lists the accesses useful to a hostile process that the sandbox does not refuse on this system.
    pub fn leaves_open(&self) -> Vec<&'static str> {
        let newer = REFUSALS.iter().filter(|(since, _)| *since > self.abi()).map(|(_, what)| *what);
        newer.chain(NEVER_REFUSED.iter().copied()).collect()
    }

    fn abi(&self) -> i32 {
        match self {
            Self::None { .. } => 0,
            Self::Partial { abi } | Self::Full { abi } => *abi,
        }
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

/// Permanently restricts the calling thread, and everything that it starts afterwards, to `access`. A second
/// call can only restrict further.
pub fn restrict(access: &Access) -> Level {
    system::restrict(access)
}

/// Determines the level that [`restrict`] would reach on this system, by trying it on a temporary thread.
pub fn probe() -> Level {
    let access = Access::minimal();
    std::thread::spawn(move || restrict(&access))
        .join()
        .unwrap_or_else(|_| Level::None { reason: "the attempt failed".to_owned() })
}

#[cfg(target_os = "linux")]
mod system {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, RestrictionStatus, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };

    use super::{Access, Level};

    /// The latest Landlock version that we know. Older kernels enforce the restrictions that they support.
    const RIGHTS: ABI = ABI::V9;

    /// The first version that enforces every promised restriction. Refusing Unix sockets by path needs a
    /// later version and is not promised.
    const WHOLE: i32 = 6;

    pub(super) fn restrict(access: &Access) -> Level {
        match try_restrict(access) {
            Ok(status) => level(&status),
            Err(error) => Level::None { reason: format!("Landlock failed: {error}") },
        }
    }

    fn try_restrict(access: &Access) -> Result<RestrictionStatus, RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let execute = AccessFs::Execute | AccessFs::ReadFile;
        // Write access includes everything except running files that were written, and connecting to sockets
        // there.
        let others = AccessFs::Execute | AccessFs::ResolveUnix;
        let write: BitFlags<AccessFs> = AccessFs::from_all(RIGHTS) & !others;
        let ports = |ports: &[u16], right: AccessNet| {
            ports
                .iter()
                .map(move |port| Ok::<_, RulesetError>(NetPort::new(*port, right)))
                .collect::<Vec<_>>()
        };
        Ruleset::default()
            .handle_access(AccessFs::from_all(RIGHTS))?
            .handle_access(AccessNet::from_all(RIGHTS))?
            .scope(Scope::from_all(RIGHTS))?
            .create()?
            .add_rules(path_beneath_rules(&access.read, read))?
            .add_rules(path_beneath_rules(&access.write, write))?
            .add_rules(path_beneath_rules(&access.execute, execute))?
            .add_rules(path_beneath_rules(&access.sockets, AccessFs::ResolveUnix))?
            .add_rules(ports(&access.connect, AccessNet::ConnectTcp))?
            .add_rules(ports(&access.listen, AccessNet::BindTcp))?
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
        // The ruleset status is "partial" on every kernel older than the latest version that we know.
        match status.ruleset {
            RulesetStatus::NotEnforced => {
                Level::None { reason: "Landlock enforces none of the restrictions here".to_owned() }
            }
            _ if status.no_new_privs && abi >= WHOLE => Level::Full { abi },
            _ => Level::Partial { abi },
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Access, Level};

    pub(super) fn restrict(_: &Access) -> Level {
        Level::None { reason: "not available on this system; Landlock is a Linux feature".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_says_what_it_refuses_and_what_not() {
        let none = Level::None { reason: "none".to_owned() };
        assert!(none.refuses().is_empty());
        // Each version must add to the previous one: files first, TCP with Linux 6.7, signals with 6.12.
        let news =
            [(1, "files"), (3, "truncating"), (4, "TCP"), (5, "devices"), (6, "signals"), (9, "by path")];
        let all = none.leaves_open();
        for abi in 1..=9 {
            let level = Level::Partial { abi };
            let (refused, open) = (level.refuses(), level.leaves_open());
            assert_eq!(refused.len() + open.len(), all.len());
            for (since, what) in news {
                assert_eq!(refused.iter().any(|entry| entry.contains(what)), abi >= since, "{abi}: {what}");
            }
            assert!(NEVER_REFUSED.iter().all(|never| open.contains(never)), "{abi}");
        }
    }
}
