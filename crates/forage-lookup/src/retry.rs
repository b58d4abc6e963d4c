//! Retries requests to a store that is busy or unavailable for a moment.

use std::time::Instant;

use forage_base::{Stop, Stopped};

use crate::limits;
use crate::store::StoreError;

/// Retries a request that may succeed in a moment, as long as there is time.
pub(crate) fn with_retries<T>(stop: &Stop, ask: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut tries = 0;
    loop {
        let error = match ask() {
            Err(error) if error.is_transient() && tries < limits::RETRIES => error,
            result => return result,
        };
        let wait = match &error {
            // If a server is busy for longer than this, we leave the retry to the caller.
            StoreError::RateLimited { retry_after: Some(wait), .. } if *wait > limits::RETRY_AFTER_MAX => {
                return Err(error);
            }
            StoreError::RateLimited { retry_after: Some(wait), .. } => *wait,
            _ => (limits::BACKOFF * 2_u32.pow(tries)).min(limits::BACKOFF_MAX).mul_f64(jitter()),
        };
        tries += 1;
        // A pause that would end after the deadline is useless.
        if stop.deadline().is_some_and(|deadline| Instant::now() + wait >= deadline) {
            return Err(error);
        }
        if stop.wait(wait) == Some(Stopped::Cancelled) {
            return Err(StoreError::Cancelled);
        }
    }
}

/// Returns a factor between one half and one, so that clients that were rejected together retry at different
/// times.
fn jitter() -> f64 {
    let nanoseconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    0.5 + f64::from(nanoseconds.subsec_nanos() % 1_000) / 2_000.0
}
