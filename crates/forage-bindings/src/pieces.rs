//! Streams all results of a search.

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

/// Maximum number of buffered pieces. When the buffer is full, the search must wait for the reader.
const AHEAD: usize = 64;

/// Interval at which a waiting reader checks whether the search was closed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

enum StreamItem {
    Piece(String),
    End(Result<Answer, BindingError>),
}

/// State of the reader.
enum Progress {
    Open(Receiver<StreamItem>),
    /// A reader is waiting for pieces.
    Reading,
    /// The search failed. The next read will return the error.
    Failed(BindingError),
    /// Everything was read.
    Over,
    /// Closed before everything was read.
    Closed,
}

/// Results of a search, which runs on another thread while we read them. Dropping this cancels the search.
pub struct Pieces {
    stop: Stop,
    progress: Mutex<Progress>,
    /// Held by the current reader so that other readers wait.
    turn: Mutex<()>,
    /// The process that began the search. A search does not survive a fork, so we must not wait for it in
    /// another process.
    process: u32,
}

/// A batch of pieces that were read together.
#[derive(Default)]
pub struct PieceBatch {
    /// The pieces as JSON.
    pub pieces: Vec<String>,
    /// The final answer, if this is the last batch.
    pub answer: Option<Answer>,
    /// True if more pieces may follow.
    pub goes_on: bool,
}

impl Pieces {
    /// Begins a call of [`Toolbox::each`] on another thread.
    ///
    /// # Errors
    ///
    /// Fails if the thread can't be started.
    pub fn begin(
        toolbox: &Arc<Toolbox>,
        method: String,
        parameters: Value,
        stop: Stop,
    ) -> Result<Self, BindingError> {
        let (sender, receiver) = sync_channel(AHEAD);
        let (toolbox, ends) = (Arc::clone(toolbox), stop.clone());
        run_apart(move || {
            let pieces = sender.clone();
            let mut receive = |piece: Value| match pieces.send(StreamItem::Piece(piece.to_string())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            let answer = guarded(|| toolbox.each(&method, parameters, &ends, &mut receive));
            let _ = sender.send(StreamItem::End(answer));
        })?;
        let progress = Mutex::new(Progress::Open(receiver));
        Ok(Self { stop, progress, turn: Mutex::default(), process: std::process::id() })
    }

    /// Waits up to `wait` for a piece, then takes the buffered pieces. If the answer follows them, the batch
    /// includes it. After the end, batches are empty.
    ///
    /// # Errors
    ///
    /// Fails with the error of the call (after its last piece), or if the search was closed or belongs to
    /// another process.
    pub fn read(&self, wait: Duration) -> Result<PieceBatch, BindingError> {
        if self.process != std::process::id() {
            return Err(BindingError::forked());
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut progress = self.progress();
        let receiver = match std::mem::replace(&mut *progress, Progress::Over) {
            Progress::Open(receiver) => receiver,
            Progress::Failed(error) => return Err(error),
            Progress::Over | Progress::Reading => return Ok(PieceBatch::default()),
            Progress::Closed => {
                *progress = Progress::Closed;
                return Err(BindingError::closed_early());
            }
        };
        *progress = Progress::Reading;
        drop(progress);
        let (batch, next) = take(receiver, wait);
        let mut progress = self.progress();
        if matches!(*progress, Progress::Closed) {
            return Err(BindingError::closed_early());
        }
        *progress = next;
        batch
    }

    /// Waits without a limit for pieces or the answer. Returns `None` after the end.
    ///
    /// # Errors
    ///
    /// Fails with the same errors as [`Pieces::read`].
    pub fn wait(&self) -> Result<Option<PieceBatch>, BindingError> {
        loop {
            let batch = self.read(POLL_INTERVAL)?;
            match batch.pieces.is_empty() && batch.answer.is_none() {
                false => return Ok(Some(batch)),
                true if batch.goes_on => {}
                true => return Ok(None),
            }
        }
    }

    /// Cancels the search without waiting for a reader. A concurrent read will fail within its own waiting
    /// time.
    pub fn close(&self) {
        if self.process != std::process::id() {
            return;
        }
        let mut progress = self.progress();
        if matches!(*progress, Progress::Open(_) | Progress::Reading) {
            // Dropping the receiver releases a search that is blocked on a full buffer.
            *progress = Progress::Closed;
            self.stop.cancel();
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits up to `wait` for a piece, then takes the buffered pieces, up to [`AHEAD`]. Also computes the new
/// state. An error that follows pieces is kept for the next read so that they are not lost.
fn take(receiver: Receiver<StreamItem>, mut wait: Duration) -> (Result<PieceBatch, BindingError>, Progress) {
    let mut pieces = Vec::new();
    while pieces.len() < AHEAD {
        let error = match receiver.recv_timeout(wait) {
            Ok(StreamItem::Piece(piece)) => {
                pieces.push(piece);
                wait = Duration::ZERO;
                continue;
            }
            Ok(StreamItem::End(Ok(answer))) => {
                let batch = PieceBatch { pieces, answer: Some(answer), goes_on: false };
                return (Ok(batch), Progress::Over);
            }
            Err(RecvTimeoutError::Timeout) => break,
            Ok(StreamItem::End(Err(error))) => error,
            // A thread that ends without an answer must have panicked outside of the call.
            Err(RecvTimeoutError::Disconnected) => BindingError::panicked(),
        };
        return match pieces.is_empty() {
            true => (Err(error), Progress::Over),
            false => (Ok(PieceBatch { pieces, answer: None, goes_on: true }), Progress::Failed(error)),
        };
    }
    (Ok(PieceBatch { pieces, answer: None, goes_on: true }), Progress::Open(receiver))
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
