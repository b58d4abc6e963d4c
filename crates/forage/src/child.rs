//! Programs that the user's own configuration names, and that are spoken to over their streams: each in a group of its own,
//! with the variables that it is given alone.

#[cfg(unix)]
mod groups;
mod line;
mod server;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

pub(crate) use server::{ChildServer, NoAnswer};

/// The command of a program.
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

/// Opens an address of this program's own in the user's browser, because the user asked for that, and waits for nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a browser is started, because the user asked for that"
)]
pub(crate) fn open_in_browser(address: &str) -> anyhow::Result<()> {
    let (opener, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let program = crate::config::program(opener).ok_or_else(|| anyhow::anyhow!("there is no {opener}"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It ends when it has told the browser.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Whether it has exited; it is left unreaped, so that its number and its group's stay its own.
#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // What is reaped already is no child any more.
    matches!(
        waitid(WaitId::Pid(Pid::from_child(child)), options),
        Ok(Some(_)) | Err(rustix::io::Errno::CHILD)
    )
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Starts it; from here on it ends when Forage does, whatever ends that.
#[cfg(unix)]
fn spawn(mut command: Command) -> io::Result<Child> {
    groups::started(|| command.spawn())
}

#[cfg(not(unix))]
fn spawn(mut command: Command) -> io::Result<Child> {
    command.spawn()
}

/// Ends it with its group, and waits for it.
#[cfg(unix)]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    groups::ended(child, Child::wait)
}

#[cfg(not(unix))]
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let _ = child.kill();
    child.wait()
}

/// Ends all that were started, before Forage itself ends; none is started any more.
pub(crate) fn end_all() {
    #[cfg(unix)]
    groups::end_all();
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // Fails only when nothing is left in the group.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
