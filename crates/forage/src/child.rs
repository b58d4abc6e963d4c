//! Child programs that we talk to over their standard streams. Only the user's own configuration may name
//! them. Each runs in its own process group and sees only the environment variables that we pass to it.

#[cfg(unix)]
mod groups;
mod line;
mod server;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::limits::LISTING_BYTES;

pub(crate) use server::{ChildServer, RequestFailure};

/// Builds the command for a child program.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where what the user's own files name is run, because the user asked for that"
)]
pub(crate) fn command(
    program: &Path,
    arguments: &[String],
    variables: &[(OsString, OsString)],
    directory: &Path,
) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Runs a program with empty input until it exits. Returns its status and the beginning of its output, or
/// `None` if it was killed after running for longer than `time`.
pub(crate) fn output(command: Command, time: Duration) -> io::Result<Option<(ExitStatus, String)>> {
    let began = Instant::now();
    let mut child = spawn(command)?;
    drop(child.stdin.take());
    let (sender, receiver) = mpsc::channel();
    let mut streams = 0;
    let stdout = child.stdout.take().map(|it| Box::new(it) as Box<dyn Read + Send>);
    let stderr = child.stderr.take().map(|it| Box::new(it) as Box<dyn Read + Send>);
    for (index, mut stream) in [stdout, stderr].into_iter().flatten().enumerate() {
        let sender = sender.clone();
        streams += 1;
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stream.by_ref().take(LISTING_BYTES).read_to_end(&mut text);
            let _ = sender.send((index, text));
            // We must drain the rest, or the program would block forever on a full pipe.
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    let mut is_late = false;
    while !has_exited(&mut child) && !is_late {
        std::thread::sleep(TICK);
        is_late = began.elapsed() >= time;
    }
    let status = end(&mut child)?;
    // Don't wait forever here, since a process that has left the group may keep the pipes open.
    let mut texts: Vec<(usize, Vec<u8>)> =
        (0..streams).map_while(|_| receiver.recv_timeout(LAST_OUTPUT).ok()).collect();
    texts.sort_unstable();
    let text: Vec<u8> = texts.into_iter().flat_map(|(_, text)| text).collect();
    Ok((!is_late).then(|| (status, String::from_utf8_lossy(&text).into_owned())))
}

/// Pause between two checks whether a program has exited.
const TICK: Duration = Duration::from_millis(10);

/// How long to wait for the remaining output of a program that has exited.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Opens a local page in the user's browser without waiting for it. Other users can read the arguments of a
/// process, so `page` must not contain a secret such as a token.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a browser is started, because the user asked for that"
)]
pub(crate) fn open_in_browser(page: &Path) -> anyhow::Result<()> {
    let (opener, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let program = crate::config::program(opener).ok_or_else(|| anyhow::anyhow!("there is no {opener}"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // The opener exits once it has passed the page to the browser. This thread reaps it.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Returns true if the child has exited. This leaves the child unreaped, so that its process id and group id
/// can't be reused yet.
#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // `ECHILD` means that the process has already been reaped.
    matches!(
        waitid(WaitId::Pid(Pid::from_child(child)), options),
        Ok(Some(_)) | Err(rustix::io::Errno::CHILD)
    )
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Spawns the child and registers it, so that it will be killed when Forage ends, for whatever reason.
#[cfg(unix)]
fn spawn(mut command: Command) -> io::Result<Child> {
    groups::started(|| command.spawn())
}

#[cfg(not(unix))]
fn spawn(mut command: Command) -> io::Result<Child> {
    command.spawn()
}

/// Kills the child together with its process group, then reaps it.
#[cfg(unix)]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    groups::ended(child, Child::wait)
}

#[cfg(not(unix))]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let _ = child.kill();
    child.wait()
}

/// Kills all children. Call this just before Forage itself ends, because no child can be spawned afterwards.
pub(crate) fn end_all() {
    #[cfg(unix)]
    groups::end_all();
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // This can only fail if no process is left in the group.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
