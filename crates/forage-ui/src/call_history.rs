//! The page's data: calls of running processes and of files, without duplicates, and notifications of
//! changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use super::limits::ALL_CALLS;
use super::record::{CallRecord, ProcessRecord};

/// The source of a process's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallSource {
    /// The socket of a process that is running, or that was running when the page started.
    Socket,
    /// A journal on disk.
    Journal,
    /// A transcript or a recording.
    File,
}

/// A process and a summary of its calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SeenProcess {
    #[serde(flatten)]
    process: ProcessRecord,
    /// The client of the most recent call with a client.
    client: Option<String>,
    /// The task that was given to the process's agent, if known.
    task: Option<String>,
    /// The roots that its calls were about.
    roots: Vec<String>,
    /// True while the process runs.
    live: bool,
    /// The source of its calls.
    from: CallSource,
    /// Number of calls that are no longer kept anywhere.
    forgotten: u64,
    #[serde(skip)]
    last: u64,
    #[serde(skip)]
    known: u64,
}

/// All known calls and processes.
pub(crate) struct CallHistory {
    known: Mutex<Known>,
    /// A version number that increases with every change.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct Known {
    processes: Vec<SeenProcess>,
    calls: Vec<Arc<CallRecord>>,
    by_id: HashMap<String, usize>,
    notes: Vec<String>,
    /// True if more calls arrived than we can show.
    is_full: bool,
}

/// The page's answer to a request for new calls.
#[derive(Serialize)]
pub(crate) struct NewCalls {
    /// The value that the page must send as `after` in its next request.
    next: usize,
    processes: Vec<SeenProcess>,
    calls: Vec<Arc<CallRecord>>,
    notes: Vec<String>,
}

impl NewCalls {
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }
}

impl CallHistory {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), news: watch::Sender::new(0) }
    }

    /// Creates a receiver that is notified of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Returns the calls after the first `after`.
    pub(crate) fn after(&self, after: usize) -> NewCalls {
        let known = self.known();
        let calls: Vec<_> = known.calls.iter().skip(after).cloned().collect();
        NewCalls {
            next: known.calls.len(),
            processes: known.processes.clone(),
            calls,
            notes: known.notes.clone(),
        }
    }

    pub(crate) fn call(&self, id: &str) -> Option<Arc<CallRecord>> {
        let known = self.known();
        known.by_id.get(id).map(|at| Arc::clone(&known.calls[*at]))
    }

    /// Returns all calls in order of arrival.
    pub(crate) fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.known().calls.clone()
    }

    /// Returns true if any call was about this root.
    pub(crate) fn has_root(&self, root: &str) -> bool {
        self.known().processes.iter().any(|process| process.roots.iter().any(|known| known == root))
    }

    pub(crate) fn note(&self, note: String) {
        self.known().notes.push(note);
        self.notify();
    }

    /// Adds or updates a process. A process that we read from a socket is running.
    pub(crate) fn add_process(&self, process: ProcessRecord, from: CallSource) {
        {
            let mut known = self.known();
            let live = from == CallSource::Socket;
            match known.processes.iter_mut().find(|seen| seen.process.process == process.process) {
                Some(seen) => (seen.process, seen.live) = (process, seen.live || live),
                None => known.processes.push(SeenProcess {
                    process,
                    client: None,
                    task: None,
                    roots: Vec::new(),
                    live,
                    from,
                    forgotten: 0,
                    last: 0,
                    known: 0,
                }),
            }
        }
        self.notify();
    }

    pub(crate) fn add_call(&self, call: CallRecord, from: CallSource) {
        {
            let mut known = self.known();
            if known.by_id.contains_key(&call.id) {
                return;
            }
            if known.calls.len() >= ALL_CALLS {
                if !known.is_full {
                    known.is_full = true;
                    known.notes.push(format!(
                        "only the first {ALL_CALLS} calls are shown; restart the page to see later ones"
                    ));
                }
                return;
            }
            if !known.processes.iter().any(|seen| seen.process.process == call.process) {
                let process = ProcessRecord::new(&call.process, &call.head.surface, call.began.clone());
                // `add_process` takes the lock too.
                drop(known);
                self.add_process(process, from);
                known = self.known();
            }
            let seen = known.processes.iter_mut().find(|seen| seen.process.process == call.process);
            if let Some(seen) = seen {
                seen.client = call.head.client.clone().or(seen.client.take());
                for root in &call.head.head.roots {
                    if !seen.roots.contains(root) {
                        seen.roots.push(root.clone());
                    }
                }
                (seen.last, seen.known) = (seen.last.max(call.sequence), seen.known + 1);
                seen.forgotten = seen.last.saturating_sub(seen.known);
            }
            let at = known.calls.len();
            known.by_id.insert(call.id.clone(), at);
            known.calls.push(Arc::new(call));
        }
        self.notify();
    }

    /// Sets the task of a process.
    pub(crate) fn set_task(&self, process: &str, task: &str) {
        for seen in &mut self.known().processes {
            if seen.process.process == process {
                seen.task = Some(task.to_owned());
            }
        }
        self.notify();
    }

    /// Marks a process as ended.
    #[cfg(unix)]
    pub(crate) fn ended(&self, process: &str) {
        for seen in &mut self.known().processes {
            if seen.process.process == process {
                seen.live = false;
            }
        }
        self.notify();
    }

    fn notify(&self) {
        self.news.send_modify(|version| *version += 1);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line of a socket or a journal. Returns the name of its process, or `None` if the line has an
    /// unknown format.
    pub(crate) fn take_line(&self, line: &str, from: CallSource) -> Option<String> {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        match value["type"].as_str()? {
            ProcessRecord::KIND => {
                let process: ProcessRecord = serde_json::from_value(value).ok()?;
                let name = process.process.clone();
                self.add_process(process, from);
                Some(name)
            }
            CallRecord::KIND => {
                let call: CallRecord = serde_json::from_value(value).ok()?;
                let name = call.process.clone();
                self.add_call(call, from);
                Some(name)
            }
            _ => None,
        }
    }
}
