//! Blocking calls over a client that does not block.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped, WAIT_SLICE};
use forage_lookup::StoreError;
use qdrant_client::config::QdrantConfig;
use qdrant_client::{Qdrant, QdrantError};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::ServerName;
use crate::limits;
use crate::settings::ServerSettings;

/// The connection, and the threads that wait for it.
///
/// A call hands its request to the store's own threads and waits for the answer like any thread, so that it may be made
/// from several threads at once and from those of another runtime, where blocking on a future panics.
pub(crate) struct Calls {
    pub(crate) server: ServerName,
    request_timeout: Duration,
    config: QdrantConfig,
    client: Mutex<Qdrant>,
    handle: Handle,
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl Calls {
    /// Starts the threads; connects to nothing.
    pub(crate) fn new(settings: &ServerSettings) -> Result<Self, StoreError> {
        let address = settings.address()?;
        let server = ServerName {
            place: format!("collection `{}` at {address}", crate::shown::clean(&settings.collection, None)),
            key: settings.api_key.clone(),
            connect_timeout: settings.connect_timeout,
            address,
        };
        // The client's own time limit ends later than ours: after its own it would ask once more.
        let mut config = Qdrant::from_url(&server.address.url)
            .timeout(settings.request_timeout.saturating_mul(2))
            .connect_timeout(settings.connect_timeout)
            .api_key(settings.api_key.as_ref().map(|key| key.expose()))
            // The check asks the server at once, and prints to stdout.
            .skip_compatibility_check();
        // Requests share a connection.
        config.set_pool_size(1);
        let client = config.clone().build().map_err(|error| server.error(error))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(limits::CONNECTION_THREADS)
            .thread_name("forage-qdrant")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| StoreError::Unavailable(format!("can't start threads for Qdrant: {error}")))?;
        Ok(Self {
            server,
            request_timeout: settings.request_timeout,
            config,
            client: Mutex::new(client),
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Asks, and waits for the answer, for the end of `stop` or for that of the time for a request. What is given up is
    /// taken back from the server.
    pub(crate) fn ask<Answer, Asking>(
        &self,
        stop: &Stop,
        request: impl FnOnce(Qdrant) -> Asking,
    ) -> Result<Answer, StoreError>
    where
        Answer: Send + 'static,
        Asking: Future<Output = Result<Answer, QdrantError>> + Send + 'static,
    {
        let begun = Instant::now();
        let stop = stop.within(self.request_timeout);
        match stop.check() {
            Some(Stopped::Cancelled) => return Err(StoreError::Cancelled),
            Some(Stopped::Deadline) => return Err(self.server.timeout(begun.elapsed())),
            None => {}
        }
        let asking = request(self.client().clone());
        let (sender, receiver) = sync_channel(1);
        let task = self.handle.spawn(async move {
            // Nobody listens any more after a timeout.
            let _ = sender.send(asking.await);
        });
        loop {
            let left = stop.deadline().map(|end| end.saturating_duration_since(Instant::now()));
            let nap = left.map_or(WAIT_SLICE, |left| left.min(WAIT_SLICE));
            match receiver.recv_timeout(nap) {
                Ok(answer) => return answer.map_err(|error| self.server.error(error)),
                Err(RecvTimeoutError::Disconnected) => {
                    let what = "the client of Qdrant failed inside; please report it";
                    return Err(StoreError::Unavailable(format!("{}: {what}", self.server.place)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            match stop.check() {
                None => {}
                Some(Stopped::Cancelled) => {
                    task.abort();
                    return Err(StoreError::Cancelled);
                }
                Some(Stopped::Deadline) => {
                    task.abort();
                    self.reconnect();
                    return Err(self.server.timeout(begun.elapsed()));
                }
            }
        }
    }

    fn client(&self) -> std::sync::MutexGuard<'_, Qdrant> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next call connects anew. A connection whose other end is gone without a word (a machine that slept, a
    /// firewall that forgot) would else keep every call waiting for its whole time. What is under way keeps the old one.
    fn reconnect(&self) {
        if let Ok(client) = self.config.clone().build() {
            *self.client() = client;
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // Waiting for the threads panics inside of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
