//! Child programs that the user's own configuration names and that we talk to over standard streams. Each
//! runs in its own process group and sees only the variables that it is given.

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

pub(crate) use server::{ChildServer, NoAnswer};

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

/// Runs a program without input until it exits. Returns its status and the beginning of what it printed, or
/// `None` if it runs for longer than `time`.
pub(crate) fn output(command: Command, time: Duration) -> io::Result<Option<(ExitStatus, String)>> {
    let began = Instant::now();
    let mut child = spawn(command)?;
    drop(child.stdin.take());
    let (tell, told) = mpsc::channel();
    let mut streams = 0;
    let stdout = child.stdout.take().map(|it| Box::new(it) as Box<dyn Read + Send>);
    let stderr = child.stderr.take().map(|it| Box::new(it) as Box<dyn Read + Send>);
    for (nth, mut stream) in [stdout, stderr].into_iter().flatten().enumerate() {
        let tell = tell.clone();
        streams += 1;
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stream.by_ref().take(LISTING_BYTES).read_to_end(&mut text);
            let _ = tell.send((nth, text));
            // A program whose output nobody reads would wait forever.
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    let mut is_late = false;
    while !has_exited(&mut child) && !is_late {
        std::thread::sleep(TICK);
        is_late = began.elapsed() >= time;
    }
    let status = end(&mut child)?;
    // A process that has left the group may keep the pipes open.
    let mut texts: Vec<(usize, Vec<u8>)> =
        (0..streams).map_while(|_| told.recv_timeout(LAST_OUTPUT).ok()).collect();
    texts.sort_unstable();
    let text: Vec<u8> = texts.into_iter().flat_map(|(_, text)| text).collect();
    Ok((!is_late).then(|| (status, String::from_utf8_lossy(&text).into_owned())))
}

/// Pause between two polls of a program that runs to its end.
const TICK: Duration = Duration::from_millis(10);

/// Time in which the output of a program that has ended must arrive.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Opens a local page in the user's browser, at the user's request, and does not wait for it. Other users can
/// read the arguments of a process, so these must not contain an address with a token.
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
    // The opener exits once it has passed the page to the browser.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Returns true if the child has exited. It stays unreaped so that its process id and group id can't be
/// reused.
#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // A process that is already reaped is no longer our child.
    matches!(
        waitid(WaitId::Pid(Pid::from_child(child)), options),
        Ok(Some(_)) | Err(rustix::io::Errno::CHILD)
    )
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Spawns the child. From now on it ends when Forage ends, however that happens.
#[cfg(unix)]
fn spawn(mut command: Command) -> io::Result<Child> {
    groups::started(|| command.spawn())
}

#[cfg(not(unix))]
fn spawn(mut command: Command) -> io::Result<Child> {
    command.spawn()
}

/// Kills the child together with its process group, and waits for it.
#[cfg(unix)]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    groups::ended(child, Child::wait)
}

#[cfg(not(unix))]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let _ = child.kill();
    child.wait()
}

/// Kills all children before Forage itself ends. No child can be spawned afterwards.
pub(crate) fn end_all() {
    #[cfg(unix)]
    groups::end_all();
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // This fails only if no process is left in the group.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
