//! A thread beside some work, which ends with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that goes on until this is dropped, which waits for its end.
pub struct Background(Option<(Sender<()>, JoinHandle<()>)>);

/// What the thread is told of the work.
pub struct BackgroundWork(Receiver<()>);

impl BackgroundWork {
    /// Waits; whether the work still goes on then.
    pub fn goes_on_after(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}

impl Background {
    /// Where there is no thread to be had, nothing is done.
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
