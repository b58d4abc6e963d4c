//! What has to be done in front of the wall, by a thread that does nothing else.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A thread that was started before the wall, for the one thing that it was given to do: to write a file that the user
/// named, say, in a directory that is closed to everything else. It ends with this.
#[derive(Clone, Debug)]
pub struct Outside<T, R = ()>(Sender<(T, Sender<R>)>);

impl<T: Send + 'static, R: Send + 'static> Outside<T, R> {
    /// Starts the thread. `work` is run by it for each request, one after the other.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(name: &str, mut work: impl FnMut(T) -> R + Send + 'static) -> io::Result<Self> {
        let (sender, requests): (_, Receiver<(T, Sender<R>)>) = channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            for (request, answer) in requests {
                // Nobody waits for every answer.
                let _ = answer.send(work(request));
            }
        })?;
        Ok(Self(sender))
    }

    /// Has it done and waits for that; `None` when it panicked.
    pub fn ask(&self, request: T) -> Option<R> {
        self.begin(request).recv().ok()
    }

    /// Has it done and waits for nothing. What is given back tells when it is done.
    pub fn begin(&self, request: T) -> Receiver<R> {
        let (answer, answered) = channel();
        // A thread that has ended by a panic is told by the answer that never comes.
        let _ = self.0.send((request, answer));
        answered
    }
}

/// Starts threads with the rights of the one that it is itself: those that calls run on, each of which then restricts
/// itself to what its call may reach.
pub type Starter = Outside<Box<dyn FnOnce() + Send>>;

impl Starter {
    /// Starts the thread that starts threads.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn of_threads() -> io::Result<Self> {
        Self::start("starter", |work| {
            // Work that can't be started is dropped, which whoever waits for it is told by.
            let _ = std::thread::Builder::new().name("call".to_owned()).spawn(work);
        })
    }
}
