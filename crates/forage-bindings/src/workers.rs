//! Thread pool for calls. We reuse threads because starting one takes longer than a small call.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::BindingError;

/// Maximum number of concurrent calls. Further calls are queued, since each call has its own search threads.
const AT_ONCE: usize = 64;

/// Maximum number of idle threads.
const WAITING: usize = 16;

/// Time after which an idle thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which an idle thread spins before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

/// Time for which a caller spins before it sleeps. A small call should be answered by then, and waking up
/// would double its time.
pub const SPIN_TIME: Duration = Duration::from_micros(300);

/// The type of [`run`] and [`run_apart`] for a boxed job.
pub type RunCall = fn(Box<dyn FnOnce() + Send>) -> Result<(), BindingError>;

struct CallJob {
    work: Box<dyn FnOnce() + Send>,
    /// True if the job counts towards [`AT_ONCE`].
    is_counted: bool,
}

struct Workers {
    /// The process to which the threads belong. They don't survive a fork.
    process: u32,
    /// Idle threads, by number.
    waiting: Vec<(u64, Sender<CallJob>)>,
    /// Number of counted jobs in progress.
    working: usize,
    queued: VecDeque<CallJob>,
}

impl Workers {
    const fn for_process(process: u32) -> Self {
        Self { process, waiting: Vec::new(), working: 0, queued: VecDeque::new() }
    }
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers::for_process(0));

/// Runs a job on an idle thread or a new one. If `AT_ONCE` jobs are in progress, this queues the job.
///
/// # Errors
///
/// Fails if a thread can't be started.
pub fn run(job: impl FnOnce() + Send + 'static) -> Result<(), BindingError> {
    hand(CallJob { work: Box::new(job), is_counted: true })
}

/// Runs a job that may have to wait for others, for example for the reader of its results. Such a job is not
/// counted or queued, so that it can't block calls.
///
/// # Errors
///
/// Fails with the same errors as [`run`].
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
                    // This thread has ended in the meantime.
                    Err(back) => job = back.0,
                }
            }
        }
        // A fork has left the lock held, so the job can't be counted.
        None => job.is_counted = false,
    }
    let is_counted = job.is_counted;
    let begun = thread::Builder::new().name("forage call".to_owned()).spawn(move || work(job));
    begun.map(drop).map_err(|error| {
        if is_counted {
            lock_own().working -= 1;
        }
        BindingError::no_thread(&error)
    })
}

/// Makes a call, and converts a panic to an error that packages can report.
///
/// # Errors
///
/// Fails with the error of the call, or an error for its panic.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, BindingError>) -> Result<T, BindingError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(BindingError::panicked()))
}

/// Receives from another thread: spins for `awake`, then sleeps for up to `wait`.
///
/// # Errors
///
/// Fails if the time is over or the sender is gone.
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

/// Locks a mutex that must never be held for long. If another thread held it during a fork, it stays locked
/// in the new process forever. In this case, we give up and return `None`.
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

/// Locks the workers where a fork can't have left the lock held: on one of their own threads, which don't
/// survive a fork, or after [`locked`] has succeeded.
fn lock_own() -> MutexGuard<'static, Workers> {
    renewed(WORKERS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn renewed(mut workers: MutexGuard<'_, Workers>) -> MutexGuard<'_, Workers> {
    let process = std::process::id();
    if workers.process != process {
        *workers = Workers::for_process(process);
    }
    workers
}

/// Runs jobs until the thread has been idle for [`IDLE_TIMEOUT`].
fn work(mut job: CallJob) {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let (own, (sender, jobs)) = (NUMBERS.fetch_add(1, Ordering::Relaxed), channel());
    loop {
        // We ignore panics here because jobs should report their own, see `guarded`.
        let _ = catch_unwind(AssertUnwindSafe(job.work));
        // `hand` also clears `is_counted` if the lock was held during a fork. We must not wait for the lock
        // in this case.
        let workers = if job.is_counted { Some(lock_own()) } else { locked() };
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

/// Waits for the next job. If another thread has already taken this one off the idle list, a job will follow,
/// so we must wait for it even after the time is over.
fn next(own: u64, jobs: &Receiver<CallJob>) -> Option<CallJob> {
    if let Ok(job) = receive(jobs, AWAKE, IDLE_TIMEOUT) {
        return Some(job);
    }
    let mut workers = lock_own();
    let waited = workers.waiting.len();
    workers.waiting.retain(|(number, _)| *number != own);
    let is_taken = workers.waiting.len() == waited;
    drop(workers);
    if is_taken { jobs.recv().ok() } else { None }
}
