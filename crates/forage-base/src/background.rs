//! A background thread that is joined on drop.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A background thread. Dropping this asks the thread to end and waits for it.
pub struct Background(Option<(Sender<()>, JoinHandle<()>)>);

/// The handle through which a [`Background`] thread learns that it should end.
pub struct BackgroundWork(Receiver<()>);

impl BackgroundWork {
    /// Sleeps for `time`, or until the thread should end. Returns true if the thread should continue.
    pub fn goes_on_after(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}

impl Background {
    /// Starts a named thread that runs `run`. Note that if the system can't create a thread, `run` is never
    /// called and no error is reported.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use forage_base::Background;
    ///
    /// let ticks = Background::start("ticks", |work| {
    ///     while work.goes_on_after(Duration::from_millis(10)) {
    ///         // Work that should happen now and then.
    ///     }
    /// });
    /// // This ends the loop and joins the thread.
    /// drop(ticks);
    /// ```
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
