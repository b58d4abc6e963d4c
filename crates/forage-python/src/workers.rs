//! Threads that make calls, kept for the next one: to start one takes longer than a small call does.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

type CallJob = Box<dyn FnOnce() + Send>;

/// Threads that wait, at the most.
const WAITING: usize = 16;

/// Time after which a thread that waits ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// Those that wait, of this process: none of them lives on in one that is forked off.
static IDLE: Mutex<(u32, Vec<Sender<CallJob>>)> = Mutex::new((0, Vec::new()));

/// Runs a job on a thread that waits, or on a new one.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) {
    let mut job: CallJob = Box::new(job);
    while let Some(worker) = waiting() {
        match worker.send(job) {
            Ok(()) => return,
            // It has ended meanwhile.
            Err(back) => job = back.0,
        }
    }
    thread::spawn(move || {
        job();
        let (sender, jobs) = channel();
        work(&sender, &jobs);
    });
}

fn waiting() -> Option<Sender<CallJob>> {
    // One that was locked while the process was forked stays so.
    let mut idle = IDLE.try_lock().ok()?;
    if idle.0 != std::process::id() {
        *idle = (std::process::id(), Vec::new());
    }
    idle.1.pop()
}

/// Works for as long as somebody wants it.
fn work(sender: &Sender<CallJob>, jobs: &Receiver<CallJob>) {
    loop {
        {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.0 != std::process::id() {
                *idle = (std::process::id(), Vec::new());
            }
            if idle.1.len() >= WAITING {
                return;
            }
            idle.1.push(sender.clone());
        }
        let Ok(job) = jobs.recv_timeout(PATIENCE) else {
            return;
        };
        job();
    }
}
