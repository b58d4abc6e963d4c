//! Follows the running processes that publish their calls.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use forage_fs::PrivatePlace;

use super::call_history::{CallHistory, CallSource};
use super::{limits, socket};

/// Sockets that we are reading or were reading a moment ago.
#[derive(Clone, Default)]
struct ReadSockets(Arc<Mutex<HashSet<PathBuf>>>);

impl ReadSockets {
    fn all(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for processes for as long as this process runs, and reads their calls.
pub(crate) fn watch(gathered: &Arc<CallHistory>, place: PrivatePlace) {
    let (inner, read) = (Arc::clone(gathered), ReadSockets::default());
    let look = move || {
        let mut has_complained = false;
        loop {
            // As long as the directory does not exist, no process has kept calls.
            match place.open() {
                Ok(Some(directory)) => {
                    for path in socket::all(&directory) {
                        if read.all().insert(path.clone()) {
                            begin(&inner, path, &read);
                        }
                    }
                }
                Ok(None) => {}
                Err(error) if !has_complained => {
                    has_complained = true;
                    inner.note(format!("the calls of running processes can't be read: {error}"));
                }
                Err(_) => {}
            }
            thread::sleep(limits::LOOK_INTERVAL);
        }
    };
    if let Err(error) = thread::Builder::new().name("processes".to_owned()).spawn(look) {
        gathered.note(format!("the calls of running processes can't be read: {error}"));
    }
}

fn begin(gathered: &Arc<CallHistory>, path: PathBuf, read: &ReadSockets) {
    let (gathered, reading, own) = (Arc::clone(gathered), read.clone(), path.clone());
    let follow = move || {
        follow(&gathered, &own);
        // A process that was busy may answer at the next attempt.
        thread::sleep(limits::SOCKET_PAUSE);
        reading.all().remove(&own);
    };
    if thread::Builder::new().name("process".to_owned()).spawn(follow).is_err() {
        read.all().remove(&path);
    }
}

/// Reads the calls of one process until it ends.
fn follow(gathered: &CallHistory, path: &Path) {
    let mut process = None;
    let _ = socket::read(path, |line| {
        process = gathered.take_line(line, CallSource::Socket).or(process.take());
    });
    if let Some(process) = process {
        gathered.ended(&process);
    }
}
