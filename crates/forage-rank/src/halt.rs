//! Why a search ends before it has an answer.

use std::cell::Cell;

use tantivy::TantivyError;

use crate::error::IndexError;
use crate::limits;

/// The end of a search without an answer.
#[derive(Debug)]
pub(crate) enum HaltReason {
    /// Whoever asked said so.
    Stopped,
    /// The index can't be read.
    Failed(IndexError),
}

impl From<IndexError> for HaltReason {
    fn from(error: IndexError) -> Self {
        Self::Failed(error)
    }
}

impl From<TantivyError> for HaltReason {
    fn from(error: TantivyError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<std::io::Error> for HaltReason {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Steps that it takes to look at a path with filters, of which it has thousands.
pub(crate) const PATH_STEPS: usize = limits::STOP_STEPS / 4;

/// Asks whether to stop, after pieces of work and not at each of their steps.
pub(crate) struct HaltPace<'a> {
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Steps since it was asked last.
    steps: Cell<usize>,
}

impl<'a> HaltPace<'a> {
    pub(crate) fn new(stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { stop, steps: Cell::new(0) }
    }

    /// Asks now.
    pub(crate) fn check(&self) -> Result<(), HaltReason> {
        self.steps.set(0);
        if (self.stop)() { Err(HaltReason::Stopped) } else { Ok(()) }
    }

    /// Counts steps of about the work of a posting, and asks when they are many.
    pub(crate) fn step(&self, steps: usize) -> Result<(), HaltReason> {
        let steps = self.steps.get() + steps;
        if steps >= limits::STOP_STEPS {
            return self.check();
        }
        self.steps.set(steps);
        Ok(())
    }
}
