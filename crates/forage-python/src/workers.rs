//! Threads that make calls, kept for the next one: to start one takes longer than a small call does.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

type CallJob = Box<dyn FnOnce() + Send>;

/// Threads that wait, at the most.
const WAITING: usize = 16;

/// Time after which a thread that waits ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threads that wait, by their numbers.
struct IdleWorkers {
    /// The process that they are of: none of them lives on in one that is forked off.
    process: u32,
    waiting: Vec<(u64, Sender<CallJob>)>,
}

static IDLE: Mutex<IdleWorkers> = Mutex::new(IdleWorkers { process: 0, waiting: Vec::new() });

/// Runs a job on a thread that waits, or on a new one.
///
/// # Errors
/// The system has no thread for it.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut job: CallJob = Box::new(job);
    while let Some(worker) = waiting() {
        match worker.send(job) {
            Ok(()) => return Ok(()),
            // It has ended meanwhile.
            Err(back) => job = back.0,
        }
    }
    thread::Builder::new().name("forage call".to_owned()).spawn(move || work(job)).map(drop)
}

fn waiting() -> Option<Sender<CallJob>> {
    // One that was locked while the process was forked stays so.
    let idle = IDLE.try_lock().ok()?;
    of_this_process(idle).waiting.pop().map(|(_, worker)| worker)
}

fn of_this_process(mut idle: MutexGuard<'_, IdleWorkers>) -> MutexGuard<'_, IdleWorkers> {
    let process = std::process::id();
    if idle.process != process {
        *idle = IdleWorkers { process, waiting: Vec::new() };
    }
    idle
}

/// Works for as long as somebody wants it.
fn work(first: CallJob) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let (own, (sender, jobs)) = (NUMBERS.fetch_add(1, Ordering::Relaxed), channel());
    let mut job = first;
    loop {
        job();
        {
            let mut idle = of_this_process(IDLE.lock().unwrap_or_else(PoisonError::into_inner));
            if idle.waiting.len() >= WAITING {
                return;
            }
            idle.waiting.push((own, sender.clone()));
        }
        match next(own, &jobs) {
            Some(next) => job = next,
            None => return,
        }
    }
}

/// Waits for a job, for a while. Whoever has taken this thread out of those that wait will send one, however late.
fn next(own: u64, jobs: &Receiver<CallJob>) -> Option<CallJob> {
    if let Ok(job) = jobs.recv_timeout(PATIENCE) {
        return Some(job);
    }
    let mut idle = of_this_process(IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    let waited = idle.waiting.len();
    idle.waiting.retain(|(number, _)| *number != own);
    let is_taken = idle.waiting.len() == waited;
    drop(idle);
    if is_taken { jobs.recv().ok() } else { None }
}
