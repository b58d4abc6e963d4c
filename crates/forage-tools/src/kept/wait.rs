//! Waiting for another call or process.

use std::time::Duration;

use forage_base::{Stop, Stopped};
use forage_rank::tree::UpdateError;

/// How often it is looked whether another call or process has done with an index.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Asks again and again until there is an answer or no time.
pub(super) fn wait_for<T>(stop: &Stop, ask: impl Fn() -> Option<T>) -> Result<T, UpdateError> {
    loop {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        match stop.check() {
            Some(Stopped::Cancelled) => return Err(UpdateError::Cancelled),
            Some(Stopped::Deadline) => return Err(UpdateError::Busy),
            None => std::thread::sleep(BETWEEN_LOOKS),
        }
    }
}
