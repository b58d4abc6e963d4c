//! The second wall: on Linux, Landlock keeps the process itself from what no call may touch, whatever goes wrong above
//! it: files, TCP, abstract sockets, signals.
//!
//! The first wall, which holds everywhere, is `forage_fs`: every file is opened beneath a root's handle. This one is
//! the kernel's. It binds the calling thread and the threads and processes that it starts afterwards, so that it has to
//! stand before any of them, and it can't be taken down again. What a command has to do in front of it is given to a
//! thread that was started before ([`Outside`]).
//!
//! ```no_run
//! use forage_sandbox::{Access, restrict};
//!
//! let mut access = Access::of_the_system();
//! access.read.push("src".into());
//! let level = restrict(&access);
//! assert!(std::fs::read_dir("/home").is_err() || !level.stands());
//! ```

mod outside;
mod program;

use std::fmt;
use std::path::{Path, PathBuf};

pub use outside::{Outside, Starter};
use program::Loader;

/// The accesses that are left to the process. Everything else is refused; what does not exist is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Files and directories to read.
    pub read: Vec<PathBuf>,
    /// Directories to read and write, and devices.
    pub write: Vec<PathBuf>,
    /// Programs to run, and what loads them.
    execute: Vec<PathBuf>,
    /// TCP ports to connect to, whatever the address: the kernel knows no more.
    connect: Vec<u16>,
    /// Unix sockets to connect to, where the kernel can tell them (from Linux 7.1 on).
    sockets: Vec<PathBuf>,
    /// TCP ports to listen at; 0 for one that the kernel chooses.
    pub listen: Vec<u16>,
}

impl Access {
    /// Returns what any process needs, which is little: nothing is loaded or run any more.
    pub fn of_the_system() -> Self {
        Self { read: paths(PROCESSORS), write: paths(DEVICES), ..Self::default() }
    }

    /// Adds connections to these TCP ports, wherever they are: names of hosts and certificates with them.
    pub fn allow_ports(&mut self, ports: impl IntoIterator<Item = u16>) {
        let before = self.connect.len();
        self.connect.extend(ports);
        if self.connect.len() > before {
            // Name resolution loads modules.
            self.read.extend(paths(&[LOADER, LIBRARIES, HOSTS, CERTIFICATES].concat()));
            self.connect.push(DNS_PORT);
            self.sockets.extend(paths(NAME_SERVICES));
        }
    }

    /// Adds running a program: the file itself, what loads it, and libraries to read.
    pub fn allow_program(&mut self, program: &Path) {
        self.execute.push(program.to_owned());
        match program::loader(program) {
            Loader::None => return,
            Loader::At(loader) => self.execute.push(loader),
            // It is the user's own, and lies in no root.
            Loader::OfScript => self.execute.extend(paths(&[LIBRARIES, PROGRAMS].concat())),
        }
        self.read.extend(paths(&[LOADER, LIBRARIES].concat()));
        self.read.extend(program::libraries_beside(program));
    }
}

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

/// Where shared libraries are.
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

/// Where programs are that scripts run.
const PROGRAMS: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin"];

/// What the loader of libraries reads itself.
const LOADER: &[&str] = &["/etc/ld.so.cache", "/etc/ld.so.preload"];

/// Certificates of authorities in the bundles that systems have, and no directory in which private keys are kept, too.
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

/// Names of hosts. The directories are those into which /etc/resolv.conf usually leads.
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

/// Sockets of services that resolve names.
const NAME_SERVICES: &[&str] =
    &["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/avahi-daemon/socket"];

/// Answers of name servers that do not fit a datagram come over TCP.
const DNS_PORT: u16 = 53;

/// How many threads make sense, and how many directories may be watched. Single files of `/proc`: others hold the
/// environment, with keys in it.
const PROCESSORS: &[&str] = &[
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/sys/fs/inotify/max_user_watches",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
];

const DEVICES: &[&str] = &["/dev/null"];

/// What the wall refuses, and since which version of Landlock it can.
const REFUSALS: &[(i32, &str)] = &[
    (
        1,
        "files outside of the roots and of what the command itself needs: opening, listing, making, removing, running",
    ),
    (3, "cutting such files short"),
    (4, "TCP connections to other ports than those of configured models and stores, and listening"),
    (5, "commands to devices"),
    (6, "abstract Unix sockets of other programs"),
    (6, "signals to other programs"),
    (9, "Unix sockets by path"),
];

/// What no version refuses.
const NEVER_REFUSED: &[&str] = &[
    "UDP, and protocols other than TCP",
    "other machines at a port that is allowed",
    "names, sizes and times of files",
    "changing modes, owners, times and extended attributes of the user's own files",
];

/// The extent to which the wall stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not at all, and why.
    None {
        /// A clause that can stand behind a colon.
        reason: String,
    },
    /// The kernel knows some of the restrictions only: older ones can't refuse TCP, signals, or cutting files short.
    Partial {
        /// The version of the kernel's Landlock.
        abi: i32,
    },
    /// Everything that is promised is refused.
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

    /// Returns whether everything is enforced that is promised.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns whether there is a wall.
    pub fn stands(&self) -> bool {
        !matches!(self, Self::None { .. })
    }

    /// Returns what the wall refuses here.
    pub fn refuses(&self) -> Vec<&'static str> {
        REFUSALS.iter().filter(|(since, _)| *since <= self.abi()).map(|(_, what)| *what).collect()
    }

    /// Returns what it does not refuse here, of what a hostile process would try.
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

/// Restricts the calling thread, and what it starts from now on, to `access`, for good. Called again, it can only take
/// more away.
pub fn restrict(access: &Access) -> Level {
    system::restrict(access)
}

/// Returns what [`restrict`] would give here: a thread of its own tries it.
pub fn probe() -> Level {
    let access = Access::of_the_system();
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

    /// The last version whose restrictions are known here. Kernels with an older one enforce what they know of them.
    const RIGHTS: ABI = ABI::V9;

    /// The version from which on everything holds that is promised.
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
        // All but running what was written, and talking to what listens there.
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
        // The status of the rules is "in part" on every kernel that is older than the last version that is known here.
        match status.ruleset {
            RulesetStatus::NotEnforced => Level::None { reason: "Landlock enforces nothing here".to_owned() },
            _ if status.no_new_privs && abi >= WHOLE => Level::Full { abi },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_says_what_it_refuses_and_what_not() {
        let none = Level::None { reason: "none".to_owned() };
        assert!(none.refuses().is_empty());
        // Each has what the one before has: files first, TCP with Linux 6.7, signals with 6.12.
        let news = [(1, "files"), (3, "cutting"), (4, "TCP"), (5, "devices"), (6, "signals"), (9, "by path")];
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
