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

impl SeenProcess {
    fn new(process: ProcessRecord, from: CallSource) -> Self {
        Self {
            process,
            client: None,
            task: None,
            roots: Vec::new(),
            live: from == CallSource::Socket,
            from,
            forgotten: 0,
            last: 0,
            known: 0,
        }
    }

    fn add_call(&mut self, call: &CallRecord) {
        self.client = call.head.client.clone().or(self.client.take());
        for root in &call.head.head.roots {
            if !self.roots.contains(root) {
                self.roots.push(root.clone());
            }
        }
        (self.last, self.known) = (self.last.max(call.sequence), self.known + 1);
        self.forgotten = self.last.saturating_sub(self.known);
    }
}

impl Known {
    fn process(&mut self, name: &str) -> Option<&mut SeenProcess> {
        self.processes.iter_mut().find(|seen| seen.process.process == name)
    }

    /// Adds a call unless it is known. Returns true if something has changed.
    fn add_call(&mut self, call: CallRecord, from: CallSource) -> bool {
        if self.by_id.contains_key(&call.id) {
            return false;
        }
        if self.calls.len() >= ALL_CALLS {
            let was_full = std::mem::replace(&mut self.is_full, true);
            let note =
                format!("only the first {ALL_CALLS} calls are shown; restart the page to see later ones");
            self.notes.extend((!was_full).then_some(note));
            return !was_full;
        }
        match self.process(&call.process) {
            Some(seen) => seen.add_call(&call),
            None => {
                let process = ProcessRecord::new(&call.process, &call.head.surface, call.began.clone());
                let mut seen = SeenProcess::new(process, from);
                seen.add_call(&call);
                self.processes.push(seen);
            }
        }
        self.by_id.insert(call.id.clone(), self.calls.len());
        self.calls.push(Arc::new(call));
        true
    }
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
        let live = from == CallSource::Socket;
        let mut known = self.known();
        match known.process(&process.process) {
            Some(seen) => (seen.process, seen.live) = (process, seen.live || live),
            None => known.processes.push(SeenProcess::new(process, from)),
        }
        drop(known);
        self.notify();
    }

    pub(crate) fn add_call(&self, call: CallRecord, from: CallSource) {
        if self.known().add_call(call, from) {
            self.notify();
        }
    }

    /// Sets the task of a process.
    pub(crate) fn set_task(&self, process: &str, task: &str) {
        if let Some(seen) = self.known().process(process) {
            seen.task = Some(task.to_owned());
        }
        self.notify();
    }

    /// Marks a process as ended.
    #[cfg(unix)]
    pub(crate) fn ended(&self, process: &str) {
        if let Some(seen) = self.known().process(process) {
            seen.live = false;
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use forage_tools::{CallHead, CallStatus};

    use super::*;

    /// Regression test: a call that came from a socket and a journal at once was shown twice.
    #[test]
    fn call_from_two_sources_at_once_is_shown_once() {
        let call = CallRecord::new("process", 1, CallHead::new("mcp", "grep_search", CallStatus::Found));
        for round in 0..2_000 {
            let (history, both) = (CallHistory::new(), Barrier::new(2));
            std::thread::scope(|scope| {
                for from in [CallSource::Socket, CallSource::Journal] {
                    let (history, both, call) = (&history, &both, call.clone());
                    scope.spawn(move || {
                        both.wait();
                        history.add_call(call, from);
                    });
                }
            });
            assert_eq!(history.calls().len(), 1, "round {round}");
            assert_eq!(history.known().processes.len(), 1, "round {round}");
        }
    }
}
