//! One run of an engine. The process gets nothing from us except the text, and we never block on its output.
//! However the run ends, we kill its process group, and with it the children that stayed in the group.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forage_base::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open,
    set_parent_process_death_signal, waitid,
};

use crate::limits;

/// The conditions that end a run before the engine finishes.
#[derive(Clone, Copy)]
pub(super) struct ProcessHalt<'a> {
    pub(super) stop: &'a Stop,
    /// Set when no result is needed any more.
    pub(super) ended: &'a AtomicBool,
}

impl ProcessHalt<'_> {
    pub(super) fn is_due(&self) -> bool {
        self.stop.check().is_some() || self.ended.load(Ordering::Relaxed)
    }
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub(super) struct ProcessEnd {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// The beginning of the engine's stderr output.
    pub(super) stderr: Vec<u8>,
    /// True if the engine was killed because the search must end.
    pub(super) halted: bool,
    /// True if the engine was killed because it wrote more than a search of this text can produce.
    pub(super) flooded: bool,
}

/// Reads the version output of a program, at most `max` bytes.
pub(super) fn version(program: &Path, halt: ProcessHalt<'_>, max: usize) -> io::Result<Vec<u8>> {
    let text = memfd_create("forage-nothing", MemfdFlags::CLOEXEC)?;
    let mut printed = Vec::new();
    let take = |piece: &[u8]| printed.extend_from_slice(&piece[..piece.len().min(max - printed.len())]);
    run(program, &["--version".to_owned()], &text, max as u64, halt, take)?;
    Ok(printed)
}

/// Runs an engine over `text` and passes on its output as it arrives.
pub(super) fn run(
    program: &Path,
    arguments: &[String],
    text: &OwnedFd,
    output_limit: u64,
    halt: ProcessHalt<'_>,
    mut take: impl FnMut(&[u8]),
) -> io::Result<ProcessEnd> {
    let mut running = RunningProcess(command(program, arguments, text).spawn()?);
    let mut stdout = Pipe::new(running.0.stdout.take());
    let mut stderr = Pipe::new(running.0.stderr.take());
    let exit = pidfd_open(Pid::from_child(&running.0), PidfdFlags::empty()).ok();
    let mut ended = ProcessEnd::default();
    let mut buffer = vec![0; limits::EXTERNAL_READ_BYTES];
    let mut read_bytes = 0;
    loop {
        if halt.is_due() {
            ended.halted = true;
            break;
        }
        wait_for_something(&stdout, &stderr, exit.as_ref());
        let exited = running.has_exited();
        if exited {
            // We kill the group, as children of the engine can hold the pipes open. The engine's own output
            // has been written by now.
            running.kill_group();
        }
        let max = if exited { limits::EXTERNAL_LEFT_BYTES } else { limits::EXTERNAL_READ_BYTES };
        read_bytes += stdout.read(&mut buffer, max, &mut take) as u64;
        stderr.read(&mut buffer, max, |piece| {
            let room = limits::EXTERNAL_STDERR_BYTES - ended.stderr.len();
            ended.stderr.extend_from_slice(&piece[..piece.len().min(room)]);
        });
        if read_bytes > output_limit {
            ended.flooded = true;
            break;
        }
        if exited {
            break;
        }
    }
    let status = running.end()?;
    if !(ended.halted || ended.flooded) {
        ended.code = status.code();
        ended.signal = status.signal();
    }
    Ok(ended)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that starts programs; see the module `external`"
)]
fn command(program: &Path, arguments: &[String], text: &OwnedFd) -> Command {
    let handle = text.as_raw_fd();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["--", &format!("/proc/self/fd/{handle}")])
        // Neither a variable nor a file of the working directory may change the search.
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // We kill this group, so that processes that the engine starts don't outlive it.
        .process_group(0);
    let inherit = move || {
        // SAFETY: the handle is open: it is borrowed from its owner until the child has started, and no
        // handle is closed between `fork` and `exec`.
        #[expect(unsafe_code, reason = "a closure between `fork` and `exec` can't hold a borrow")]
        let handle = unsafe { BorrowedFd::borrow_raw(handle) };
        // This must happen in the child. If the parent did it, a child that another thread starts at this
        // moment would inherit the handle too.
        fcntl_setfd(handle, FdFlags::empty())?;
        // Its own process group shields the engine from signals of the terminal, so it must not outlive us
        // when we are interrupted or killed. The signal is sent when the parent thread ends; that thread
        // waits for the engine, so it ends only with us.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)
    };
    // SAFETY: the closure makes two system calls and touches neither memory nor locks of the parent.
    #[expect(
        unsafe_code,
        reason = "only between `fork` and `exec` can a handle be passed to this child alone"
    )]
    unsafe {
        command.pre_exec(inherit);
    }
    command
}

/// Sleeps until there is output to read, the engine exits, or the next deadline check is due.
fn wait_for_something(stdout: &Pipe, stderr: &Pipe, exit: Option<&OwnedFd>) {
    let open =
        [stdout.0.as_ref().map(AsFd::as_fd), stderr.0.as_ref().map(AsFd::as_fd), exit.map(AsFd::as_fd)];
    let mut handles: Vec<PollFd<'_>> =
        open.into_iter().flatten().map(|handle| PollFd::from_borrowed_fd(handle, PollFlags::IN)).collect();
    // Without a handle for the process, nothing wakes us when the engine exits, so we poll more often.
    let tick = if exit.is_some() { limits::EXTERNAL_TICK } else { Duration::from_millis(1) };
    let timeout = Timespec { tv_sec: 0, tv_nsec: tick.subsec_nanos().into() };
    // An interrupted call only shortens the wait.
    let _ = poll(&mut handles, Some(&timeout));
}

/// The read end of a pipe in non-blocking mode.
struct Pipe(Option<File>);

impl Pipe {
    fn new(end: Option<impl Into<OwnedFd>>) -> Self {
        let reader = end.map(|end| File::from(end.into()));
        // We do not read a pipe that can't be made non-blocking, because it could block forever.
        Self(reader.filter(|reader| fcntl_setfl(reader, OFlags::NONBLOCK).is_ok()))
    }

    /// Reads available data, at most about `max` bytes, and returns the number of bytes read.
    fn read(&mut self, buffer: &mut [u8], max: usize, mut take: impl FnMut(&[u8])) -> usize {
        let mut total = 0;
        while total < max {
            let Some(reader) = &mut self.0 else { break };
            match reader.read(buffer) {
                Ok(0) => self.0 = None,
                Ok(read) => {
                    take(&buffer[..read]);
                    total += read;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.0 = None,
            }
        }
        total
    }
}

/// A running engine. Dropping it kills its process group and reaps the process.
struct RunningProcess(Child);

impl RunningProcess {
    /// Returns true if the engine has exited. We do not reap it, so that its process and group ids can't be
    /// reused yet.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // If the system reaps children automatically, an exited child no longer exists.
        matches!(waitid(WaitId::Pid(Pid::from_child(&self.0)), options), Ok(Some(_)) | Err(Errno::CHILD))
    }

    fn kill_group(&self) {
        // This fails only if the group has no processes left.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
    }

    fn end(mut self) -> io::Result<std::process::ExitStatus> {
        self.kill_group();
        self.0.wait()
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // After `end` the process is reaped, so its id may belong to another process, which we must not kill.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.kill_group();
            let _ = self.0.wait();
        }
    }
}
