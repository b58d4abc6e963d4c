//! Threads that make calls, kept for the next one: to start one takes longer than a small call does.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::BindingError;

/// Calls that are worked on at the same time, at the most: each searches with threads of its own. Others wait for their turn.
const AT_ONCE: usize = 64;

/// Threads that wait, at the most.
const WAITING: usize = 16;

/// Time after which a thread that waits ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for which a thread looks for its next call before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

/// Time for which whoever makes a call looks for its answer before they sleep: a small one has it by then, and to be woken takes as
/// long again.
pub const LONE: Duration = Duration::from_micros(300);

/// [`run`] or [`run_apart`].
pub type RunCall = fn(Box<dyn FnOnce() + Send>) -> Result<(), BindingError>;

struct CallJob {
    work: Box<dyn FnOnce() + Send>,
    /// It is one of those at the same time.
    is_counted: bool,
}

struct Workers {
    /// The process that they are of: none of them lives on in one that is forked off.
    process: u32,
    /// Threads that wait, by their numbers.
    waiting: Vec<(u64, Sender<CallJob>)>,
    /// Jobs that are worked on and counted.
    working: usize,
    queued: VecDeque<CallJob>,
}

impl Workers {
    const fn of(process: u32) -> Self {
        Self { process, waiting: Vec::new(), working: 0, queued: VecDeque::new() }
    }
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers::of(0));

/// Runs a job on a thread that waits, or on a new one; where many are worked on, when one of them has ended.
///
/// # Errors
/// The system has no thread for it.
pub fn run(job: impl FnOnce() + Send + 'static) -> Result<(), BindingError> {
    hand(CallJob { work: Box::new(job), is_counted: true })
}

/// The same at once, for a job that waits for others: for whoever reads what it finds, or for what a search finds.
///
/// # Errors
/// As of [`run`].
pub fn run_apart(job: impl FnOnce() + Send + 'static) -> Result<(), BindingError> {
    hand(CallJob { work: Box::new(job), is_counted: false })
}

fn hand(mut job: CallJob) -> Result<(), BindingError> {
    match locked() {
        Some(mut workers) => {
            if job.is_counted && workers.working >= AT_ONCE {
                workers.queued.push_back(job);
                return Ok(());
            }
            workers.working += usize::from(job.is_counted);
            while let Some((_, worker)) = workers.waiting.pop() {
                match worker.send(job) {
                    Ok(()) => return Ok(()),
                    // It has ended meanwhile.
                    Err(back) => job = back.0,
                }
            }
        }
        None => job.is_counted = false,
    }
    let is_counted = job.is_counted;
    let begun = thread::Builder::new().name("forage call".to_owned()).spawn(move || work(job));
    begun.map(drop).map_err(|error| {
        if is_counted {
            of_this_process().working -= 1;
        }
        BindingError::no_thread(&error)
    })
}

/// Makes a call, whose panic is its error.
///
/// # Errors
/// That of the call.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, BindingError>) -> Result<T, BindingError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(BindingError::panicked()))
}

/// Waits for what another thread sends, at first without sleep.
///
/// # Errors
/// Nothing came in that time, or nothing will.
pub fn receive<T>(receiver: &Receiver<T>, awake: Duration, wait: Duration) -> Result<T, RecvTimeoutError> {
    let began = Instant::now();
    while began.elapsed() < awake {
        match receiver.try_recv() {
            Ok(received) => return Ok(received),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
        }
    }
    receiver.recv_timeout(wait)
}

/// Locks what nobody keeps for long, unless it was locked while the process was forked, in which it stays so.
pub(crate) fn lock_unless_forked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(locked) => return Some(locked),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    None
}

fn locked() -> Option<MutexGuard<'static, Workers>> {
    lock_unless_forked(&WORKERS).map(renewed)
}

/// The same in a thread of this process's workers.
fn of_this_process() -> MutexGuard<'static, Workers> {
    renewed(WORKERS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn renewed(mut workers: MutexGuard<'_, Workers>) -> MutexGuard<'_, Workers> {
    let process = std::process::id();
    if workers.process != process {
        *workers = Workers::of(process);
    }
    workers
}

/// Works for as long as somebody wants it.
fn work(mut job: CallJob) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let (own, (sender, jobs)) = (NUMBERS.fetch_add(1, Ordering::Relaxed), channel());
    loop {
        // What a job makes of a panic is told by itself.
        let _ = catch_unwind(AssertUnwindSafe(job.work));
        // One that is not counted may have begun with the lock held for ever.
        let workers = if job.is_counted { Some(of_this_process()) } else { locked() };
        let Some(mut workers) = workers else { return };
        if job.is_counted {
            if let Some(next) = workers.queued.pop_front() {
                job = next;
                continue;
            }
            workers.working -= 1;
        }
        if workers.waiting.len() >= WAITING {
            return;
        }
        workers.waiting.push((own, sender.clone()));
        drop(workers);
        match next(own, &jobs) {
            Some(next) => job = next,
            None => return,
        }
    }
}

/// Waits for a job, for a while. Whoever has taken this thread out of those that wait will send one, however late.
fn next(own: u64, jobs: &Receiver<CallJob>) -> Option<CallJob> {
    if let Ok(job) = receive(jobs, AWAKE, PATIENCE) {
        return Some(job);
    }
    let mut workers = of_this_process();
    let waited = workers.waiting.len();
    workers.waiting.retain(|(number, _)| *number != own);
    let is_taken = workers.waiting.len() == waited;
    drop(workers);
    if is_taken { jobs.recv().ok() } else { None }
}
