//! Threads that make calls, kept for the next one: to start one takes longer than a small call does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::BindingError;

type CallJob = Box<dyn FnOnce() + Send>;

/// Threads that wait, at the most.
const WAITING: usize = 16;

/// Time after which a thread that waits ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for which a thread looks for what it waits for before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

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
pub fn run(job: impl FnOnce() + Send + 'static) -> Result<(), BindingError> {
    let mut job: CallJob = Box::new(job);
    while let Some(worker) = waiting() {
        match worker.send(job) {
            Ok(()) => return Ok(()),
            // It has ended meanwhile.
            Err(back) => job = back.0,
        }
    }
    let begun = thread::Builder::new().name("forage call".to_owned()).spawn(move || work(job));
    begun.map(drop).map_err(|error| BindingError::no_thread(&error))
}

/// Makes a call, whose panic is its error.
///
/// # Errors
/// That of the call.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, BindingError>) -> Result<T, BindingError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(BindingError::panicked()))
}

/// Waits for what another thread sends. It looks for it without sleep for as long as a small call takes: to be woken takes as long again.
///
/// # Errors
/// Nothing came in that time, or nothing will.
pub fn receive<T>(receiver: &Receiver<T>, wait: Duration) -> Result<T, RecvTimeoutError> {
    let began = Instant::now();
    while began.elapsed() < AWAKE {
        match receiver.try_recv() {
            Ok(received) => return Ok(received),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
        }
    }
    receiver.recv_timeout(wait)
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
    if let Ok(job) = receive(jobs, PATIENCE) {
        return Some(job);
    }
    let mut idle = of_this_process(IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    let waited = idle.waiting.len();
    idle.waiting.retain(|(number, _)| *number != own);
    let is_taken = idle.waiting.len() == waited;
    drop(idle);
    if is_taken { jobs.recv().ok() } else { None }
}
