//! Calls while Python goes on.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use forage_base::Stop;
use forage_bindings::{BindingError, guarded, receive, run};
use pyo3::prelude::*;
use serde_json::Value;

use crate::raised;

/// Time between two looks for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

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
        loop {
            match receive(&answer, LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(BindingError::panicked())),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupted) = Python::attach(|py| py.check_signals()) {
                        stop.cancel();
                        let _ = answer.recv();
                        return Err(interrupted);
                    }
                }
            }
        }
    })
}

/// Whether the interpreter ends: from then on nobody is told of anything.
static ENDED: RwLock<bool> = RwLock::new(false);

/// Waits until nobody is being told of something, after which nobody is: a thread that comes to an interpreter which ends is ended
/// by it, in the middle of what it does.
pub(crate) fn end(py: Python<'_>) {
    py.detach(|| *ENDED.write().unwrap_or_else(PoisonError::into_inner) = true);
}

/// Calls Python from a thread of this package's, unless the interpreter ends.
fn told(call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
    let ended = ENDED.read().unwrap_or_else(PoisonError::into_inner);
    if !*ended {
        Python::try_attach(|py| {
            if let Err(error) = call(py) {
                error.write_unraisable(py, None);
            }
        });
    }
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
