//! Runs calls without holding Python's lock, and reports results to Python from other threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_bindings::{BindingError, RunCall, SPIN_TIME, guarded, receive, run};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::raised;

/// Interval at which a waiting thread checks for signals.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum time to wait for a cancelled call to return.
const ENDING: Duration = Duration::from_secs(1);

/// Runs a call and waits for it without holding Python's lock. Python handles signals only on its main
/// thread, so this thread checks for them while another one runs the call. If a handler raises an exception,
/// for example on Ctrl-C, the call is cancelled.
///
/// # Errors
///
/// Fails with the exception of a signal handler.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    main: bool,
    call: impl FnOnce() -> Result<T, BindingError> + Send + 'static,
) -> PyResult<Result<T, BindingError>> {
    if !main {
        return Ok(py.detach(|| guarded(call)));
    }
    let (sender, answer) = sync_channel(1);
    let begun = run(move || {
        let _ = sender.send(guarded(call));
    });
    if let Err(error) = begun {
        return Ok(Err(error));
    }
    py.detach(move || {
        let mut awake = SPIN_TIME;
        loop {
            match receive(&answer, std::mem::take(&mut awake), POLL_INTERVAL) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(BindingError::panicked())),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupted) = Python::attach(|py| py.check_signals()) {
                        stop.cancel();
                        // The call should end soon, but we must not wait long because it may still be
                        // queued.
                        let _ = answer.recv_timeout(ENDING);
                        return Err(interrupted);
                    }
                }
            }
        }
    })
}

/// True once the interpreter is shutting down. After that, we must not call into Python.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Number of threads that are calling a Python function.
static CALLBACKS: AtomicUsize = AtomicUsize::new(0);

/// Prevents further callbacks and waits for those in progress. This is necessary because an interpreter that
/// shuts down terminates any thread that calls into it, even in the middle of its work. A callback that does
/// not return is abandoned after 2 seconds.
pub(crate) fn end(py: Python<'_>) {
    const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
    ENDED.store(true, Ordering::SeqCst);
    let began = Instant::now();
    py.detach(|| {
        while CALLBACKS.load(Ordering::SeqCst) > 0 && began.elapsed() < SHUTDOWN_TIMEOUT {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Resets the state in a forked process, where only the thread that called `fork` exists.
pub(crate) fn forked() {
    ENDED.store(false, Ordering::SeqCst);
    CALLBACKS.store(0, Ordering::SeqCst);
}

/// Starts a job that reports its result to a callback.
///
/// # Errors
///
/// Fails if the interpreter is shutting down or a thread can't be started.
pub(crate) fn begin(run: RunCall, job: impl FnOnce() + Send + 'static) -> PyResult<()> {
    if ENDED.load(Ordering::SeqCst) {
        return Err(PyRuntimeError::new_err(
            "the interpreter is shutting down, so this call can't be awaited",
        ));
    }
    run(Box::new(job)).map_err(|error| Python::attach(|py| raised(py, &error)))
}

/// Calls into Python from one of our threads, unless the interpreter is shutting down. There is no caller to
/// return an exception to, so it goes to `sys.unraisablehook`.
fn with_python(call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
    // We count first, then check the flag. `end` does it the other way round, so it misses no callback.
    CALLBACKS.fetch_add(1, Ordering::SeqCst);
    if !ENDED.load(Ordering::SeqCst) {
        Python::try_attach(|py| {
            if let Err(error) = call(py) {
                error.write_unraisable(py, None);
            }
        });
    }
    CALLBACKS.fetch_sub(1, Ordering::SeqCst);
}

/// Calls `done` with the answer and `None`, or with `None` and the error.
pub(crate) fn call_back<T, A: for<'py> IntoPyObject<'py>>(
    done: Py<PyAny>,
    answer: Result<T, BindingError>,
    made: impl FnOnce(T) -> A,
) {
    with_python(|py| match answer {
        Ok(answer) => done.call1(py, (made(answer), py.None())),
        Err(error) => done.call1(py, (py.None(), raised(py, &error))),
    });
}

/// Passes an event to `watch` as JSON.
pub(crate) fn watch(watch: Option<&Py<PyAny>>, event: &Value) {
    if let Some(watch) = watch {
        with_python(|py| watch.call1(py, (event.to_string(),)));
    }
}
