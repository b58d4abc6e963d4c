//! Waits for another call or process.

use std::time::Duration;

use forage_base::{Stop, Stopped};
use forage_rank::tree::UpdateError;

/// Polling interval while another call or process uses an index.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Calls `ask` repeatedly until it returns a value or `stop` ends the wait.
pub(super) fn wait_for<T>(stop: &Stop, ask: impl Fn() -> Option<T>) -> Result<T, UpdateError> {
    loop {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        match stop.check() {
            Some(Stopped::Cancelled) => return Err(UpdateError::Cancelled),
            Some(Stopped::Deadline) => return Err(UpdateError::Busy),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
}
