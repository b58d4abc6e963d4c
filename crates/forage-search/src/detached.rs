//! Runs uninterruptible work on a helper thread so that the caller can time out.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use forage_base::Stop;

use crate::limits;

/// Runs `work` on a helper thread and returns its result, or `None` if the call has to end first. The
/// abandoned work then runs to completion, so it must be short.
pub(crate) fn run_with_timeout<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    run_on(stop, work, |worker| std::thread::Builder::new().name("pattern".to_owned()).spawn(worker))
}

type DetachedWork = Box<dyn FnOnce() + Send>;

fn run_on<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
    spawn: impl FnOnce(DetachedWork) -> io::Result<JoinHandle<()>>,
) -> Option<T> {
    let (done, result) = channel();
    // If no thread can be spawned, we must get `work` back to run it here.
    let shared = Arc::new(Mutex::new(Some((work, done))));
    let taken = {
        let shared = Arc::clone(&shared);
        move || shared.lock().unwrap_or_else(PoisonError::into_inner).take()
    };
    let worker = Box::new(move || {
        if let Some((work, done)) = taken() {
            send(&done, work());
        }
    });
    let Ok(thread) = spawn(worker) else {
        // Running the work here may overshoot the deadline, but it is short, and a late answer is better than
        // a false timeout.
        let (work, _) = shared.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        return Some(work());
    };
    loop {
        match result.recv_timeout(limits::RESULT_POLL_INTERVAL) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Timeout) if stop.check().is_some() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Ok(()) => return None,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

/// Sends the result. If the call has ended, the receiver is gone and nothing needs the result any more.
fn send<T>(done: &Sender<T>, value: T) {
    let _ = done.send(value);
}

/// Runs `work` directly, or with [`run_with_timeout`] if this may take long.
pub(crate) fn run_if_slow<T: Send + 'static>(
    is_slow: bool,
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if is_slow { run_with_timeout(stop, work) } else { Some(work()) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn call_ends_before_slow_work() {
        let (go_on, held) = channel::<()>();
        let stop = Stop::after(Duration::from_millis(30));
        let began = Instant::now();
        assert_eq!(run_with_timeout(&stop, move || held.recv().is_ok()), None);
        assert!(began.elapsed() >= Duration::from_millis(30));
        // The worker was blocked all this time, so we only get here if the call did not wait for it.
        drop(go_on);
        assert_eq!(run_with_timeout(&Stop::never(), || 7), Some(7));
    }

    #[test]
    fn runs_inline_without_a_thread() {
        let caller = std::thread::current().id();
        let refused =
            run_on(&Stop::never(), || std::thread::current().id(), |_| Err(io::ErrorKind::WouldBlock.into()));
        assert_eq!(refused, Some(caller));
        assert_ne!(run_with_timeout(&Stop::never(), || std::thread::current().id()), Some(caller));
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn panic_reaches_the_caller() {
        run_with_timeout(&Stop::never(), || panic!("a panic of the work"));
    }
}
