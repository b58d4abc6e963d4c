//! All there is, piece by piece.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
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
    /// The error behind what was handed out.
    Failed(BindingError),
    /// All was handed out.
    Over,
}

/// What a search finds, which goes on while it is read, and ends with this.
pub struct Pieces {
    stop: Stop,
    progress: Mutex<Progress>,
    is_closed: AtomicBool,
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
        let (progress, is_closed) = (Mutex::new(Progress::Open(told)), AtomicBool::new(false));
        Ok(Self { stop, progress, is_closed, process: std::process::id() })
    }

    /// Waits so long for pieces, and takes all that are there; the answer, where it comes behind them.
    ///
    /// # Errors
    /// That of the call, behind all that it found; or the search was closed, or is one of another process.
    pub fn read(&self, wait: Duration) -> Result<PieceBatch, BindingError> {
        if self.process != std::process::id() {
            return Err(BindingError::forked());
        }
        let mut progress = self.progress();
        let told = match std::mem::replace(&mut *progress, Progress::Over) {
            Progress::Over if !self.is_closed() => return Ok(PieceBatch::default()),
            Progress::Open(told) if !self.is_closed() => told,
            Progress::Failed(error) => return Err(error),
            Progress::Open(_) | Progress::Over => return Err(BindingError::closed_early()),
        };
        let (mut wait, mut pieces) = (wait, Vec::new());
        while pieces.len() < AHEAD {
            let error = match told.recv_timeout(wait) {
                Ok(Told::Piece(piece)) => {
                    pieces.push(piece);
                    wait = Duration::ZERO;
                    continue;
                }
                Ok(Told::End(Ok(answer))) => {
                    return Ok(PieceBatch { pieces, answer: Some(answer), goes_on: false });
                }
                Err(RecvTimeoutError::Timeout) => break,
                Ok(Told::End(Err(error))) => error,
                // It ends with its answer, unless it has panicked outside of the call.
                Err(RecvTimeoutError::Disconnected) => BindingError::panicked(),
            };
            if pieces.is_empty() {
                return Err(error);
            }
            *progress = Progress::Failed(error);
            return Ok(PieceBatch { pieces, answer: None, goes_on: true });
        }
        *progress = Progress::Open(told);
        Ok(PieceBatch { pieces, answer: None, goes_on: true })
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
        if matches!(self.try_progress().as_deref(), Some(Progress::Over | Progress::Failed(_))) {
            return;
        }
        self.is_closed.store(true, Ordering::Release);
        self.stop.cancel();
        // The search may wait for room in what is dropped here.
        if let Some(mut progress) = self.try_progress() {
            *progress = Progress::Over;
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same where nobody reads.
    fn try_progress(&self) -> Option<MutexGuard<'_, Progress>> {
        match self.progress.try_lock() {
            Ok(progress) => Some(progress),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
