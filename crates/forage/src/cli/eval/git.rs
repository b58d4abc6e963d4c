//! Runs git. No other module does. `forage eval` uses this one only if the user asks for queries from the
//! history, or for the files of a revision.
//!
//! A repository's configuration comes from its author and can name programs to run. So we ask git only for
//! data from its own database (`rev-list`, `log` without patches, `ls-tree`, `cat-file`), which needs no
//! other program. In addition, we disable every program that git could start, using the command line and the
//! environment.
//!
//! No command-line option covers files that exist only on a remote. Git fetches these automatically from the
//! address that the repository gives, and a transport is a program. `GIT_NO_LAZY_FETCH` forbids this since
//! the git of May 2024. `GIT_ALLOW_PROTOCOL` forbids all transports since git 2.3. It overrides every
//! configuration, whereas a repository's `protocol.ext.allow` would override our own `protocol.allow`.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::limits;
use crate::config;

/// Options that override the repository's settings. Note that `core.fsmonitor` must be empty: older versions
/// of git treat any other value as a program.
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

/// Variables that we set for git. There is no protocol named `none`, so this allows no protocol at all.
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", ""),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Prefixes of the git variables that we keep: they locate the user's configuration and git's own programs.
/// All others could make git read another repository, run a program or write a file.
const KEPT: [&str; 2] = ["GIT_CONFIG", "GIT_EXEC_PATH"];

/// Variables that stop git from reading the configuration of the user and the system. These files and their
/// includes are not accessible inside the sandbox. Note that git before 2.32 only respects `HOME`.
const NO_CONFIGURATION: [(&str, &str); 4] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("HOME", "/dev/null"),
    ("XDG_CONFIG_HOME", "/dev/null"),
];

/// Advice to append to git's error if the sandbox denied access to a file.
const SANDBOX_ADVICE: &str = "\nthe sandbox lets git read only the repository; if git's configuration names \
                              other files, `sandbox = \"off\"` in Forage's configuration allows them";

/// The user's `safe.directory` entries, in order. They name directories of other users that git may read.
/// Inside the sandbox, we need nothing else from the user's configuration.
#[derive(Debug)]
pub(super) struct SafeDirectories(Vec<String>);

impl SafeDirectories {
    /// Asks git for the entries. This must run outside of the sandbox, and it runs outside of any repository.
    pub(super) fn from_user_config(roots: &[&Path]) -> anyhow::Result<Self> {
        let (program, path) = config::git_program(roots)?;
        let git = Git { program, directory: PathBuf::from("/"), path, safe: None };
        let asked = git
            .command(&["config", "--type=path", "-z", "--get-all", "safe.directory"], false)
            .output()
            .with_context(|| format!("{} can't be run", git.program.display()))?;
        // Git exits with 1 if there are no entries.
        if !asked.status.success() && asked.status.code() != Some(1) {
            bail!("git config failed: {}", String::from_utf8_lossy(&asked.stderr).trim());
        }
        let listed = String::from_utf8_lossy(&asked.stdout);
        Ok(Self(listed.split_terminator('\0').map(str::to_owned).collect()))
    }
}

/// A git program that runs in a certain directory.
#[derive(Debug)]
pub(super) struct Git<'a> {
    program: PathBuf,
    directory: PathBuf,
    /// The safe directories, if git runs inside the sandbox.
    safe: Option<&'a SafeDirectories>,
    /// The `PATH` for git. None of its directories may be inside the repository, and neither may git itself.
    path: OsString,
}

impl<'a> Git<'a> {
    /// Finds the user's git, for use in an absolute directory. With `safe`, git will read no configuration
    /// except the repository's own.
    pub(super) fn new(directory: &Path, safe: Option<&'a SafeDirectories>) -> anyhow::Result<Self> {
        let (program, path) = config::git_program(&[directory])?;
        Ok(Self { program, directory: directory.to_owned(), path, safe })
    }

    /// Runs a command and lets `read` consume its output, up to `max` bytes. Any output that `read` leaves
    /// is discarded.
    pub(super) fn run<T>(
        &self,
        arguments: &[&str],
        input: Option<&[u8]>,
        max: u64,
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
                // If git has exited, this write fails, but git's own error will explain why.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            let reported = scope.spawn(move || stderr.map(first_bytes).unwrap_or_default());
            let (result, is_flooded) = match stdout {
                Some(stdout) => {
                    let mut limited = BufReader::new(stdout.take(max));
                    let result = read(&mut limited);
                    let is_flooded = limited.buffer().is_empty() && limited.get_ref().limit() == 0;
                    (result, is_flooded)
                }
                None => (Err(anyhow::anyhow!("{name}: there is nothing to read from")), false),
            };
            drop(done);
            let join = "a thread that follows git has ended";
            let (status, is_late) = watching.join().map_err(|_| anyhow::anyhow!(join))??;
            let reported = reported.join().map_err(|_| anyhow::anyhow!(join))?;
            if is_late {
                bail!("{name} did not finish within {} s and was stopped", limits::GIT_TIME.as_secs());
            }
            if is_flooded {
                bail!("{name} printed more than {max} bytes and was stopped; look at fewer commits");
            }
            // If git was stopped because we had read enough, its status does not mean an error.
            if !status.success() && (result.is_err() || !reported.trim().is_empty()) {
                // For example, an `include.path` may point into the user's home directory.
                let is_refused = self.safe.is_some() && reported.contains("Permission denied");
                let advice = if is_refused { SANDBOX_ADVICE } else { "" };
                bail!("{name} failed in {}: {}{advice}", self.directory.display(), reported.trim());
            }
            result
        })
    }

    /// Runs a command and returns its whole output.
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

/// Waits until we have read git's output, then until git exits. This kills git if it does not exit, or if its
/// time is up before that. Returns the exit status, and whether the time was up.
fn watch(mut child: Child, is_done: &Receiver<()>) -> io::Result<(ExitStatus, bool)> {
    let deadline = Instant::now() + limits::GIT_TIME;
    while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(limits::GIT_TICK) {
        if Instant::now() >= deadline {
            child.kill()?;
            return Ok((child.wait()?, true));
        }
    }
    // We no longer read the output, so git should exit immediately.
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

/// Returns the beginning of a stream. We must read all of it, or git would block on a full pipe.
fn first_bytes(mut stderr: impl io::Read) -> String {
    let mut first = Vec::new();
    let _ = stderr.by_ref().take(limits::GIT_STDERR_BYTES).read_to_end(&mut first);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&first).into_owned()
}
