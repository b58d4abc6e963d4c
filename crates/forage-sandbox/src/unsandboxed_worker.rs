//! Runs work outside of the sandbox, on a thread that does nothing else.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A thread that was started before the sandbox and does only one kind of work. For example, it may write a
/// file that the user named in a directory that is otherwise closed. The thread ends when this is dropped.
#[derive(Clone, Debug)]
pub struct UnsandboxedWorker<T, R = ()>(Sender<(T, Sender<R>)>);

impl<T: Send + 'static, R: Send + 'static> UnsandboxedWorker<T, R> {
    /// Starts the thread. It runs `work` for each request, one at a time.
    ///
    /// # Errors
    ///
    /// Fails if the thread can't be started.
    pub fn start(name: &str, mut work: impl FnMut(T) -> R + Send + 'static) -> io::Result<Self> {
        let (sender, requests): (_, Receiver<(T, Sender<R>)>) = channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            for (request, answer) in requests {
                // If the caller does not need the answer, the receiver is gone.
                let _ = answer.send(work(request));
            }
        })?;
        Ok(Self(sender))
    }

    /// Runs a request and waits for its result. Returns `None` if the work panicked.
    pub fn ask(&self, request: T) -> Option<R> {
        self.begin(request).recv().ok()
    }

    /// Starts a request without waiting. The returned receiver gets the result.
    pub fn begin(&self, request: T) -> Receiver<R> {
        let (answer, answered) = channel();
        // If the thread has panicked, this drops the sender of the answer, so the receiver gets an error.
        let _ = self.0.send((request, answer));
        answered
    }
}

/// Starts threads with the same rights as its own thread. They run calls, and each of them must then restrict
/// itself to what its call may access.
pub type Starter = UnsandboxedWorker<Box<dyn FnOnce() + Send>>;

impl Starter {
    /// Starts the thread that starts other threads.
    ///
    /// # Errors
    ///
    /// Fails if the thread can't be started.
    pub fn for_threads() -> io::Result<Self> {
        Self::start("starter", |work| {
            // If the thread can't be started, this drops the work, which ends the wait for its result.
            let _ = std::thread::Builder::new().name("call".to_owned()).spawn(work);
        })
    }
}
