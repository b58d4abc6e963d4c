//! Iteration over all results of a search.

use std::sync::Arc;

use forage_base::Stop;
use forage_bindings::{Pieces, Toolbox, guarded, run_apart};
use pyo3::prelude::*;
use serde_json::Value;

use crate::{PyAnswer, calls, raised};

/// See [`Pieces`].
#[pyclass(frozen, name = "Pieces", module = "forage._forage")]
pub(crate) struct PyPieces(Arc<Pieces>);

impl PyPieces {
    pub(crate) fn begin(
        py: Python<'_>,
        toolbox: &Arc<Toolbox>,
        method: String,
        arguments: Value,
        stop: Stop,
    ) -> PyResult<Self> {
        Pieces::begin(toolbox, method, arguments, stop)
            .map(|pieces| Self(Arc::new(pieces)))
            .map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl PyPieces {
    /// Waits for pieces and returns all that are buffered, as JSON. The last batch also contains the answer.
    /// After that, this returns `None`.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, Option<PyAnswer>)>> {
        loop {
            let read = py.detach(|| self.0.read(calls::POLL_INTERVAL)).map_err(|error| raised(py, &error))?;
            match (read.pieces.is_empty(), read.answer) {
                (_, Some(answer)) => return Ok(Some((read.pieces, Some(PyAnswer { answer })))),
                (false, None) => return Ok(Some((read.pieces, None))),
                (true, None) if read.goes_on => py.check_signals().inspect_err(|_| self.0.close())?,
                (true, None) => return Ok(None),
            }
        }
    }

    /// Like `next`, but passes the result to `done` on another thread.
    fn start(&self, done: Py<PyAny>) -> PyResult<()> {
        let pieces = Arc::clone(&self.0);
        calls::begin(run_apart, move || {
            calls::call_back(done, guarded(|| pieces.wait()), |read| {
                read.map(|read| (read.pieces, read.answer.map(|answer| PyAnswer { answer })))
            });
        })
    }

    /// Cancels the search.
    fn close(&self) {
        self.0.close();
    }
}
