//! The one place where git is run: by `forage eval`, when the person who runs that has asked for their history.
//!
//! The configuration of a repository belongs to whoever made it, and can name programs. So git is only asked for what
//! it reads from its own database (`rev-list`, `log` without patches, `ls-tree`, `cat-file`), which needs none of them,
//! and each that it could start on the way is turned off on the command line and in the environment.
//!
//! The one way that no command line closes is a file that only a remote has. Git fetches such a one by itself, from where
//! the repository says, and a transport is a program. `GIT_NO_LAZY_FETCH` forbids that to git of May 2024 or later;
//! `GIT_ALLOW_PROTOCOL` leaves no transport to any (2.3 or later), and goes over every configuration, whereas a
//! `protocol.ext.allow` of the repository goes over a `protocol.allow` of ours.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::limits;
use crate::config;

/// What goes over the repository's own settings. Older git takes any text of `core.fsmonitor` but none for a program.
const OPTIONS: [&str; 18] = [
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.askPass=",
    "-c",
    "credential.helper=",
    "-c",
    "fetch.bundleURI=",
    "-c",
    "log.mailmap=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
];

/// What git is told in the environment. There is no protocol of that name.
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", ""),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Beginnings of the names of git's variables that stay: where the user's own configuration and git's own programs are.
/// By the others git would look at another repository than the one it is given, run a program, or write a file.
const KEPT: [&str; 2] = ["GIT_CONFIG", "GIT_EXEC_PATH"];

/// What keeps git from the user's own configuration and that of the system, which are closed to it behind the kernel's
/// wall with all that they include. Git of before 2.32 goes by `HOME` alone.
const NO_CONFIGURATION: [(&str, &str); 4] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("HOME", "/dev/null"),
    ("XDG_CONFIG_HOME", "/dev/null"),
];

/// Behind what git says when the kernel's wall keeps it from a file.
const SANDBOX_ADVICE: &str = "\ngit reads nothing but the repository here; where its configuration names other files, `sandbox = \"off\"` in \
                              yours lets git read them";

/// The directories of other users whose repositories the user's configuration lets git read, in its order: all of that
/// configuration that is needed behind the kernel's wall.
#[derive(Debug)]
pub(super) struct SafeDirectories(Vec<String>);

impl SafeDirectories {
    /// Asks git for them, in front of the wall and in no repository.
    pub(super) fn of_the_user(roots: &[&Path]) -> anyhow::Result<Self> {
        let (program, path) = config::git_program(roots)?;
        let git = Git { program, directory: PathBuf::from("/"), path, safe: None };
        let asked = git
            .command(&["config", "--type=path", "-z", "--get-all", "safe.directory"], false)
            .output()
            .with_context(|| format!("{} can't be run", git.program.display()))?;
        // That is how it says that there are none.
        if !asked.status.success() && asked.status.code() != Some(1) {
            bail!("git config failed: {}", String::from_utf8_lossy(&asked.stderr).trim());
        }
        let listed = String::from_utf8_lossy(&asked.stdout);
        Ok(Self(listed.split_terminator('\0').map(str::to_owned).collect()))
    }
}

/// Git in a directory.
#[derive(Debug)]
pub(super) struct Git<'a> {
    program: PathBuf,
    directory: PathBuf,
    /// Where it is behind the kernel's wall.
    safe: Option<&'a SafeDirectories>,
    /// The directories in which git looks up programs: as for git itself, none that is the repository's.
    path: OsString,
}

impl<'a> Git<'a> {
    /// The user's git, for an absolute directory; with `safe`, it reads no configuration but the repository's.
    pub(super) fn new(directory: &Path, safe: Option<&'a SafeDirectories>) -> anyhow::Result<Self> {
        let (program, path) = config::git_program(&[directory])?;
        Ok(Self { program, directory: directory.to_owned(), path, safe })
    }

    /// Runs a command and hands what it prints to `read`, up to `most` bytes. What `read` leaves is not wanted.
    pub(super) fn run<T>(
        &self,
        arguments: &[&str],
        input: Option<&[u8]>,
        most: u64,
        read: impl FnOnce(&mut dyn BufRead) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let name = format!("git {}", arguments.first().copied().unwrap_or_default());
        let mut child = self
            .command(arguments, input.is_some())
            .spawn()
            .with_context(|| format!("{} can't be run", self.program.display()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (done, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            let watching = scope.spawn(move || watch(child, &is_done));
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // Git that has ended reads no more, and says itself why.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            let told = scope.spawn(move || stderr.map(first_bytes).unwrap_or_default());
            let (result, is_flooded) = match stdout {
                Some(stdout) => {
                    let mut limited = BufReader::new(stdout.take(most));
                    let result = read(&mut limited);
                    let is_flooded = limited.buffer().is_empty() && limited.get_ref().limit() == 0;
                    (result, is_flooded)
                }
                None => (Err(anyhow::anyhow!("{name}: there is nothing to read from")), false),
            };
            drop(done);
            let join = "a thread that follows git has ended";
            let (status, is_late) = watching.join().map_err(|_| anyhow::anyhow!(join))??;
            let told = told.join().map_err(|_| anyhow::anyhow!(join))?;
            if is_late {
                bail!("{name} did not end within {} s and was stopped", limits::GIT_TIME.as_secs());
            }
            if is_flooded {
                bail!("{name} printed more than {most} bytes and was stopped; look at fewer commits");
            }
            // One that was stopped because enough was read has nothing to say.
            if !status.success() && (result.is_err() || !told.trim().is_empty()) {
                // Such as an `include.path` that leads to the user's home.
                let is_refused = self.safe.is_some() && told.contains("Permission denied");
                let advice = if is_refused { SANDBOX_ADVICE } else { "" };
                bail!("{name} failed in {}: {}{advice}", self.directory.display(), told.trim());
            }
            result
        })
    }

    /// All that a command prints.
    pub(super) fn output(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        self.run(arguments, None, limits::GIT_BYTES, |stdout| {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where git is run, because its user asked for that"
    )]
    fn command(&self, arguments: &[&str], has_input: bool) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(&self.directory)
            .args(OPTIONS)
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in config::git_variables() {
            if !KEPT.iter().any(|kept| name.to_string_lossy().starts_with(kept)) {
                command.env_remove(name);
            }
        }
        command.envs(VARIABLES).env("PATH", &self.path);
        if let Some(SafeDirectories(directories)) = self.safe {
            command.envs(NO_CONFIGURATION);
            for directory in directories {
                command.arg("-c").arg(format!("safe.directory={directory}"));
            }
        }
        command.args(arguments);
        command
    }
}

/// Waits until what git prints is read, or its time is over; then git ends, by itself or not. Returns whether its time
/// was over.
fn watch(mut child: Child, is_done: &Receiver<()>) -> io::Result<(ExitStatus, bool)> {
    let deadline = Instant::now() + limits::GIT_TIME;
    while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(limits::GIT_TICK) {
        if Instant::now() >= deadline {
            child.kill()?;
            return Ok((child.wait()?, true));
        }
    }
    // Nobody reads any more: it ends at once, or has nothing to say.
    let end = Instant::now() + limits::GIT_TICK * 50;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        std::thread::sleep(limits::GIT_TICK / 10);
    }
    child.kill()?;
    Ok((child.wait()?, false))
}

/// The beginning of what is written; all of it is read.
fn first_bytes(mut stderr: impl io::Read) -> String {
    let mut first = Vec::new();
    let _ = stderr.by_ref().take(limits::GIT_STDERR_BYTES).read_to_end(&mut first);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&first).into_owned()
}
