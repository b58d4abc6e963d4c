//! Early termination of a search.

use std::cell::Cell;

use tantivy::TantivyError;

use crate::error::IndexError;
use crate::limits;

/// The reason why a search ended without an answer.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// The caller's `stop` function returned true.
    Stopped,
    /// The index can't be read.
    Failed(IndexError),
}

impl From<IndexError> for SearchError {
    fn from(error: IndexError) -> Self {
        Self::Failed(error)
    }
}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The cost of checking a path against filters, in steps. We must count it because a query with filters
/// checks thousands of paths.
pub(crate) const PATH_STEPS: usize = limits::STOP_STEPS / 4;

/// Asks the caller every few thousand steps whether the search must stop. The callback may read a clock, so
/// asking at every step would be too slow.
pub(crate) struct StopChecker<'a> {
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Steps since the last check.
    steps: Cell<usize>,
}

impl<'a> StopChecker<'a> {
    pub(crate) fn new(stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { stop, steps: Cell::new(0) }
    }

    /// Checks immediately.
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        self.steps.set(0);
        if (self.stop)() { Err(SearchError::Stopped) } else { Ok(()) }
    }

    /// Counts steps, each about as expensive as reading a posting. This checks once there are
    /// [`limits::STOP_STEPS`].
    pub(crate) fn step(&self, steps: usize) -> Result<(), SearchError> {
        let steps = self.steps.get() + steps;
        if steps >= limits::STOP_STEPS {
            return self.check();
        }
        self.steps.set(steps);
        Ok(())
    }
}
