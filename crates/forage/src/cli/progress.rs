//! A line on the terminal for whatever takes longer than half a second.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_millis(500);
const BETWEEN: Duration = Duration::from_millis(200);

/// Shows progress until it is dropped. Nothing is shown when stderr is no terminal.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(count: &Arc<AtomicU64>, what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self { thread: None };
        }
        let (end, ended) = channel();
        let count = Arc::clone(count);
        let show = move || {
            let started = Instant::now();
            let mut wait = QUIET;
            let mut shown = false;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
                let (count, seconds) = (count.load(Ordering::Relaxed), started.elapsed().as_secs_f32());
                let _ = write!(io::stderr(), "\r\x1b[K{count} {what}, {seconds:.1} s …");
                (wait, shown) = (BETWEEN, true);
            }
            if shown {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        };
        Self { thread: Some((end, std::thread::spawn(show))) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}
