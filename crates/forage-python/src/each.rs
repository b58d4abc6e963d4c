//! All there is, piece by piece.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use forage_bindings::{BindingError, Toolbox};
use forage_tools::Answer;
use pyo3::prelude::*;
use serde_json::Value;

use crate::{PyAnswer, calls, raised, workers};

/// Pieces that were found and not asked for yet: a reader that is slow holds the search up.
const AHEAD: usize = 64;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(20);

enum Told {
    Piece(String),
    End(Result<Answer, BindingError>),
}

/// What a search finds, which goes on while it is read, and ends with this.
#[pyclass(frozen, name = "Pieces", module = "forage._forage")]
pub(crate) struct Pieces {
    stop: Stop,
    told: Mutex<Option<Receiver<Told>>>,
}

impl Pieces {
    pub(crate) fn begin(toolbox: &Arc<Toolbox>, tool: String, arguments: Value, stop: Stop) -> Self {
        let (sender, told) = sync_channel(AHEAD);
        let (toolbox, ends) = (Arc::clone(toolbox), stop.clone());
        workers::run(move || {
            let pieces = sender.clone();
            let mut receive = |piece: Value| match pieces.send(Told::Piece(piece.to_string())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            let answer = calls::guarded(|| toolbox.each(&tool, arguments, &ends, &mut receive));
            let _ = sender.send(Told::End(answer));
        });
        Self { stop, told: Mutex::new(Some(told)) }
    }
}

#[pymethods]
impl Pieces {
    /// Waits for the next pieces, in JSON, and returns all that are there; behind the last of them comes the answer. `None`
    /// behind that.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, Option<PyAnswer>)>> {
        loop {
            let (pieces, end) = py.detach(|| {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                let (pieces, end) = told.as_ref().map_or((Vec::new(), Reading::Over), read);
                if !matches!(end, Reading::GoesOn) {
                    *told = None;
                }
                (pieces, end)
            });
            match end {
                Reading::Over if pieces.is_empty() => return Ok(None),
                Reading::Answered(Ok(answer)) => return Ok(Some((pieces, Some(PyAnswer { answer })))),
                Reading::Answered(Err(error)) => return Err(raised(py, &error)),
                Reading::GoesOn if pieces.is_empty() => py.check_signals().inspect_err(|_| self.close())?,
                Reading::GoesOn | Reading::Over => return Ok(Some((pieces, None))),
            }
        }
    }

    /// Ends the search.
    fn close(&self) {
        self.stop.cancel();
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// How far the reading has come.
enum Reading {
    GoesOn,
    Answered(Result<Answer, BindingError>),
    Over,
}

/// Waits a little for a piece, and takes what else is there.
fn read(told: &Receiver<Told>) -> (Vec<String>, Reading) {
    let mut pieces = Vec::new();
    let mut wait = LOOK;
    while pieces.len() < AHEAD {
        match told.recv_timeout(wait) {
            Ok(Told::Piece(piece)) => pieces.push(piece),
            Ok(Told::End(answer)) => return (pieces, Reading::Answered(answer)),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return (pieces, Reading::Over),
        }
        wait = Duration::ZERO;
    }
    (pieces, Reading::GoesOn)
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
