//! Readiness checks, which load balancers and orchestrators send all the time.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::limits;

/// Checks whether calls can be answered. An error is a reason for the server's operator. The check may block.
#[derive(Clone)]
pub struct ReadyCheck(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl ReadyCheck {
    /// Creates a check. It runs at most once every [`limits::READINESS_KEPT`].
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }
}

impl fmt::Debug for ReadyCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReadyCheck")
    }
}

/// The cached result of the check. Anyone may ask, so one check must answer all requests.
pub(super) struct Readiness {
    check: Option<ReadyCheck>,
    ending: CancellationToken,
    found: Arc<Mutex<CachedCheck>>,
}

#[derive(Default)]
struct CachedCheck {
    found: Option<(Instant, Result<(), String>)>,
    /// The running check; it may continue after its request has gone.
    running: Option<JoinHandle<Result<(), String>>>,
}

impl CachedCheck {
    async fn state(&mut self, check: ReadyCheck) -> Result<(), String> {
        if let Some((asked, state)) = &self.found
            && asked.elapsed() < limits::READINESS_KEPT
        {
            return state.clone();
        }
        let running = self.running.get_or_insert_with(|| tokio::task::spawn_blocking(move || (check.0)()));
        let state = match tokio::time::timeout(limits::READINESS_TIME, &mut *running).await {
            Ok(state) => {
                self.running = None;
                state.unwrap_or_else(|_| Err("the check panicked; please report it".to_owned()))
            }
            Err(_) => Err("the check timed out".to_owned()),
        };
        self.found = Some((Instant::now(), state.clone()));
        state
    }
}

impl Readiness {
    /// Creates the readiness state. Once `ending` is cancelled, the server is not ready.
    pub(super) fn new(check: Option<ReadyCheck>, ending: CancellationToken) -> Self {
        Self { check, ending, found: Arc::default() }
    }

    pub(super) async fn state(&self) -> Result<(), String> {
        if self.ending.is_cancelled() {
            return Err("the server is shutting down".to_owned());
        }
        let Some(check) = self.check.clone() else { return Ok(()) };
        let mut found = Arc::clone(&self.found).lock_owned().await;
        // A separate task continues if the request is dropped, so that the next request does not start
        // another check.
        let asked = tokio::spawn(async move { found.state(check).await });
        asked.await.unwrap_or_else(|_| Err("the check panicked; please report it".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn one_asks_for_all_and_the_end_is_told_at_once() {
        let (asked, ending) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let counted = Arc::clone(&asked);
        let check = ReadyCheck::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Err("no store".to_owned())
        });
        let readiness = Readiness::new(Some(check), ending.clone());
        for _ in 0..100 {
            assert_eq!(readiness.state().await, Err("no store".to_owned()));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        ending.cancel();
        assert!(readiness.state().await.is_err_and(|why| why.contains("shutting down")));
        assert_eq!(Readiness::new(None, CancellationToken::new()).state().await, Ok(()));
    }
}
