//! Calls while Python goes on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_bindings::{BindingError, LONE, RunCall, guarded, receive, run};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::raised;

/// Time between two looks for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// Time that a call which was ended is waited for.
const ENDING: Duration = Duration::from_secs(1);

/// Makes a call and waits for it without Python's lock. Signals are handled on the main thread alone, which looks for them while
/// another thread works; an exception that a handler raises ends the call.
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
        let mut awake = LONE;
        loop {
            match receive(&answer, std::mem::take(&mut awake), LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(BindingError::panicked())),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupted) = Python::attach(|py| py.check_signals()) {
                        stop.cancel();
                        // Its work ends with it, unless it waits for its turn behind others.
                        let _ = answer.recv_timeout(ENDING);
                        return Err(interrupted);
                    }
                }
            }
        }
    })
}

/// Whether the interpreter ends: from then on nobody is told of anything.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Threads that tell somebody something.
static TELLING: AtomicUsize = AtomicUsize::new(0);

/// Waits until nobody is being told of something, after which nobody is: a thread that comes to an interpreter which ends is ended
/// by it, in the middle of what it does. Whoever does not return when told is not waited for without end.
pub(crate) fn end(py: Python<'_>) {
    const PATIENCE: Duration = Duration::from_secs(2);
    ENDED.store(true, Ordering::SeqCst);
    let began = Instant::now();
    py.detach(|| {
        while TELLING.load(Ordering::SeqCst) > 0 && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Begins anew in a process that was forked off: of its threads only the one that forked is there.
pub(crate) fn forked() {
    ENDED.store(false, Ordering::SeqCst);
    TELLING.store(0, Ordering::SeqCst);
}

/// Begins a call whose end is told, unless nobody will be told.
///
/// # Errors
/// The interpreter ends, or the system has no thread.
pub(crate) fn begin(run: RunCall, job: impl FnOnce() + Send + 'static) -> PyResult<()> {
    if ENDED.load(Ordering::SeqCst) {
        return Err(PyRuntimeError::new_err("the interpreter ends: a call can't be awaited any more"));
    }
    run(Box::new(job)).map_err(|error| Python::attach(|py| raised(py, &error)))
}

/// Calls Python from a thread of this package's, unless the interpreter ends.
fn told(call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
    TELLING.fetch_add(1, Ordering::SeqCst);
    if !ENDED.load(Ordering::SeqCst) {
        Python::try_attach(|py| {
            if let Err(error) = call(py) {
                error.write_unraisable(py, None);
            }
        });
    }
    TELLING.fetch_sub(1, Ordering::SeqCst);
}

/// Tells a Python function of an answer, or of an error as its second argument.
pub(crate) fn tell<T, A: for<'py> IntoPyObject<'py>>(
    done: Py<PyAny>,
    answer: Result<T, BindingError>,
    made: impl FnOnce(T) -> A,
) {
    told(|py| match answer {
        Ok(answer) => done.call1(py, (made(answer), py.None())),
        Err(error) => done.call1(py, (py.None(), raised(py, &error))),
    });
}

/// Tells a Python function of an event.
pub(crate) fn watch(watch: Option<&Py<PyAny>>, event: &Value) {
    if let Some(watch) = watch {
        told(|py| watch.call1(py, (event.to_string(),)));
    }
}
