//! Work that can't be ended before it is done, beside the call that waits for it.

use std::sync::mpsc::{RecvTimeoutError, channel};

use forage_fs::Stop;

use crate::limits;

/// The work's result, or `None` if the call has to end before it is there. Then the work is done to its end by nobody's
/// wish, so that it has to be short.
pub(crate) fn run<T: Send + 'static>(stop: &Stop, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = channel();
    let worker = move || {
        // Nobody is there to take it when the call has ended.
        let _ = done.send(work());
    };
    // Where there is no thread to be had, a search has no workers either.
    let thread = std::thread::Builder::new().name("pattern".to_owned()).spawn(worker).ok()?;
    loop {
        match result.recv_timeout(limits::LOOK) {
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

/// Runs the work at once, or, if it may take long, as [`run`] does.
pub(crate) fn run_if<T: Send + 'static>(
    takes_long: bool,
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if takes_long { run(stop, work) } else { Some(work()) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_call_ends_before_work_that_does_not() {
        let (go_on, held) = channel::<()>();
        let stop = Stop::after(Duration::from_millis(30));
        let began = Instant::now();
        assert_eq!(run(&stop, move || held.recv().is_ok()), None);
        assert!(began.elapsed() >= Duration::from_millis(30));
        // It was held all the time: only a call that does not wait for it comes here.
        drop(go_on);
        assert_eq!(run(&Stop::never(), || 7), Some(7));
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_of_the_work_is_one_of_the_call() {
        run(&Stop::never(), || panic!("a panic of the work"));
    }
}
