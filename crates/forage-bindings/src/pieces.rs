//! All there is, piece by piece.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use forage_tools::Answer;
use serde_json::Value;

use crate::error::BindingError;
use crate::toolbox::Toolbox;
use crate::workers::{guarded, run_apart};

/// Pieces that were found and not asked for yet: a reader that is slow holds the search up.
const AHEAD: usize = 64;

/// Time between two looks for whether the search was closed.
const LOOK: Duration = Duration::from_millis(20);

enum Told {
    Piece(String),
    End(Result<Answer, BindingError>),
}

/// How far a search was read.
enum Progress {
    Open(Receiver<Told>),
    /// Somebody waits for pieces.
    Reading,
    /// The error behind what was handed out.
    Failed(BindingError),
    /// All was handed out.
    Over,
    /// It was ended before that.
    Closed,
}

/// What a search finds, which goes on while it is read, and ends with this.
pub struct Pieces {
    stop: Stop,
    progress: Mutex<Progress>,
    /// Held by the reader: others wait for their turn.
    turn: Mutex<()>,
    /// The process that began it: its search does not live on in one that was forked off.
    process: u32,
}

/// What was read of a search at once.
#[derive(Default)]
pub struct PieceBatch {
    /// Pieces in JSON.
    pub pieces: Vec<String>,
    /// The answer behind the last of them.
    pub answer: Option<Answer>,
    /// Whether more is to come.
    pub goes_on: bool,
}

impl Pieces {
    /// Begins a call of [`Toolbox::each`] on another thread.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn begin(
        toolbox: &Arc<Toolbox>,
        tool: String,
        arguments: Value,
        stop: Stop,
    ) -> Result<Self, BindingError> {
        let (sender, told) = sync_channel(AHEAD);
        let (toolbox, ends) = (Arc::clone(toolbox), stop.clone());
        run_apart(move || {
            let pieces = sender.clone();
            let mut receive = |piece: Value| match pieces.send(Told::Piece(piece.to_string())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            let answer = guarded(|| toolbox.each(&tool, arguments, &ends, &mut receive));
            let _ = sender.send(Told::End(answer));
        })?;
        let progress = Mutex::new(Progress::Open(told));
        Ok(Self { stop, progress, turn: Mutex::default(), process: std::process::id() })
    }

    /// Waits so long for pieces, and takes all that are there; the answer, where it comes behind them.
    ///
    /// # Errors
    /// That of the call, behind all that it found; or the search was closed, or is one of another process.
    pub fn read(&self, wait: Duration) -> Result<PieceBatch, BindingError> {
        if self.process != std::process::id() {
            return Err(BindingError::forked());
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut progress = self.progress();
        let told = match std::mem::replace(&mut *progress, Progress::Over) {
            Progress::Open(told) => told,
            Progress::Failed(error) => return Err(error),
            Progress::Over | Progress::Reading => return Ok(PieceBatch::default()),
            Progress::Closed => {
                *progress = Progress::Closed;
                return Err(BindingError::closed_early());
            }
        };
        *progress = Progress::Reading;
        drop(progress);
        let (batch, next) = take(told, wait);
        let mut progress = self.progress();
        if matches!(*progress, Progress::Closed) {
            return Err(BindingError::closed_early());
        }
        *progress = next;
        batch
    }

    /// Waits until there are some, or the end: `None` behind that.
    ///
    /// # Errors
    /// As of [`Pieces::read`].
    pub fn wait(&self) -> Result<Option<PieceBatch>, BindingError> {
        loop {
            let batch = self.read(LOOK)?;
            match batch.pieces.is_empty() && batch.answer.is_none() {
                false => return Ok(Some(batch)),
                true if batch.goes_on => {}
                true => return Ok(None),
            }
        }
    }

    /// Ends the search, without waiting for a reader: that of another thread is told so within the time that it waits.
    pub fn close(&self) {
        if self.process != std::process::id() {
            return;
        }
        let mut progress = self.progress();
        if matches!(*progress, Progress::Open(_) | Progress::Reading) {
            // The search may wait for room in what is dropped here, or by its reader.
            *progress = Progress::Closed;
            self.stop.cancel();
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits so long for pieces, and takes all that are there; returns them, and how far the search is read then.
fn take(told: Receiver<Told>, mut wait: Duration) -> (Result<PieceBatch, BindingError>, Progress) {
    let mut pieces = Vec::new();
    while pieces.len() < AHEAD {
        let error = match told.recv_timeout(wait) {
            Ok(Told::Piece(piece)) => {
                pieces.push(piece);
                wait = Duration::ZERO;
                continue;
            }
            Ok(Told::End(Ok(answer))) => {
                let batch = PieceBatch { pieces, answer: Some(answer), goes_on: false };
                return (Ok(batch), Progress::Over);
            }
            Err(RecvTimeoutError::Timeout) => break,
            Ok(Told::End(Err(error))) => error,
            // It ends with its answer, unless it has panicked outside of the call.
            Err(RecvTimeoutError::Disconnected) => BindingError::panicked(),
        };
        return match pieces.is_empty() {
            true => (Err(error), Progress::Over),
            false => (Ok(PieceBatch { pieces, answer: None, goes_on: true }), Progress::Failed(error)),
        };
    }
    (Ok(PieceBatch { pieces, answer: None, goes_on: true }), Progress::Open(told))
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
