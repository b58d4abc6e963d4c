//! A thread beside some work, which ends with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that goes on until this is dropped, which waits for its end.
pub struct Background(Option<(Sender<()>, JoinHandle<()>)>);

/// The handle by which a [`Background`] thread learns whether the work beside it still goes on.
pub struct BackgroundWork(Receiver<()>);

impl BackgroundWork {
    /// Waits; whether the work still goes on then.
    pub fn goes_on_after(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}

impl Background {
    /// Starts a named thread that runs `run`. Where the system gives no thread, `run` is never called, and nothing is
    /// reported.
    pub fn start(name: &str, run: impl FnOnce(BackgroundWork) + Send + 'static) -> Self {
        let (end, ended) = channel();
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(move || run(BackgroundWork(ended)));
        Self(thread.ok().map(|thread| (end, thread)))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}
