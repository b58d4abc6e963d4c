//! Asking a store again that is busy or away for a moment.

use std::time::Instant;

use forage_base::{Stop, Stopped};

use crate::limits;
use crate::store::StoreError;

/// Asks again what may succeed in a moment, as long as there is time for that.
pub(crate) fn again<T>(stop: &Stop, ask: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut tries = 0;
    loop {
        let error = match ask() {
            Err(error) if error.is_transient() && tries < limits::RETRIES => error,
            result => return result,
        };
        let wait = match &error {
            // A server that is busy for longer than that is asked again by the next call.
            StoreError::RateLimited { retry_after: Some(wait), .. } if *wait > limits::RETRY_AFTER_MOST => {
                return Err(error);
            }
            StoreError::RateLimited { retry_after: Some(wait), .. } => *wait,
            _ => (limits::BACKOFF * 2_u32.pow(tries)).min(limits::BACKOFF_MOST).mul_f64(jitter()),
        };
        tries += 1;
        // A wait that ends behind the deadline ends in nothing.
        if stop.deadline().is_some_and(|deadline| Instant::now() + wait >= deadline) {
            return Err(error);
        }
        if stop.wait(wait) == Some(Stopped::Cancelled) {
            return Err(StoreError::Cancelled);
        }
    }
}

/// Between a half and one: clients that were refused together come back one after the other.
fn jitter() -> f64 {
    let nanoseconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    0.5 + f64::from(nanoseconds.subsec_nanos() % 1_000) / 2_000.0
}
