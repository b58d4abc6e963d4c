//! All there is, piece by piece.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use forage_bindings::{BindingError, Toolbox};
use forage_tools::Answer;
use pyo3::prelude::*;
use serde_json::Value;

use crate::{PyAnswer, calls, raised, workers};

/// Pieces that were found and not asked for yet: a reader that is slow holds the search up.
const AHEAD: usize = 64;

enum Told {
    Piece(String),
    End(Result<Answer, BindingError>),
}

/// How far a stream has come.
enum Stream {
    Open(Receiver<Told>),
    /// The error behind what was handed out.
    Failed(BindingError),
    /// All was handed out.
    Over,
    /// Whoever read it has ended it.
    Closed,
}

/// What a search finds, which goes on while it is read, and ends with this.
#[pyclass(frozen, name = "Pieces", module = "forage._forage")]
pub(crate) struct Pieces {
    stop: Stop,
    stream: Mutex<Stream>,
    /// The process that began it: its search does not live on in one that was forked off.
    process: u32,
}

impl Pieces {
    pub(crate) fn begin(
        toolbox: &Arc<Toolbox>,
        tool: String,
        arguments: Value,
        stop: Stop,
    ) -> std::io::Result<Self> {
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
        })?;
        Ok(Self { stop, stream: Mutex::new(Stream::Open(told)), process: std::process::id() })
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a little for pieces, and takes all that are there; the answer, where it comes behind them.
    fn read(&self) -> Result<(Vec<String>, Option<Answer>, bool), BindingError> {
        let mut stream = self.stream();
        let mut pieces = Vec::new();
        let told = match std::mem::replace(&mut *stream, Stream::Over) {
            Stream::Open(told) => told,
            Stream::Failed(error) => return Err(error),
            Stream::Over => return Ok((pieces, None, false)),
            Stream::Closed => {
                *stream = Stream::Closed;
                return Err(BindingError::closed_early());
            }
        };
        let (mut wait, mut failed) = (calls::LOOK, None);
        while pieces.len() < AHEAD {
            match told.recv_timeout(wait) {
                Ok(Told::Piece(piece)) => pieces.push(piece),
                Ok(Told::End(Ok(answer))) => return Ok((pieces, Some(answer), false)),
                Ok(Told::End(Err(error))) => failed = Some(error),
                Err(RecvTimeoutError::Timeout) => break,
                // It ends with its answer, unless it has panicked outside of the call.
                Err(RecvTimeoutError::Disconnected) => failed = Some(BindingError::panicked()),
            }
            if failed.is_some() {
                break;
            }
            wait = Duration::ZERO;
        }
        match failed {
            Some(error) if pieces.is_empty() => Err(error),
            Some(error) => {
                *stream = Stream::Failed(error);
                Ok((pieces, None, true))
            }
            None => {
                *stream = Stream::Open(told);
                Ok((pieces, None, true))
            }
        }
    }
}

#[pymethods]
impl Pieces {
    /// Waits for the next pieces, in JSON, and returns all that are there; behind the last of them comes the answer. `None`
    /// behind that.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, Option<PyAnswer>)>> {
        if self.process != std::process::id() {
            return Err(raised(py, &BindingError::forked()));
        }
        loop {
            let (pieces, answer, goes_on) = py.detach(|| self.read()).map_err(|error| raised(py, &error))?;
            match (pieces.is_empty(), answer) {
                (_, Some(answer)) => return Ok(Some((pieces, Some(PyAnswer { answer })))),
                (false, None) => return Ok(Some((pieces, None))),
                (true, None) if goes_on => py.check_signals().inspect_err(|_| self.close())?,
                (true, None) => return Ok(None),
            }
        }
    }

    /// Ends the search.
    fn close(&self) {
        self.stop.cancel();
        if self.process == std::process::id() {
            let mut stream = self.stream();
            if matches!(*stream, Stream::Open(_)) {
                *stream = Stream::Closed;
            }
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
