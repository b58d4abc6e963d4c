//! One search: a walk that reads files, workers that run the engine, and the caller's thread that delivers
//! results.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use forage_base::Stop;
use forage_fs::{
    Encoding, Entry, RelPath, Root, SkipReason, Skipped, WalkOptions, WalkReport, WalkStep, walk,
};

use super::batch::{BatchMatches, BatchOutcome, FileBatch};
use super::engine::ExternalEngine;
use super::large::search_large;
use super::process::ProcessHalt;
use super::{ExternalError, ExternalReport, ExternalRequest, Program};
use crate::event::FileEvents;
use crate::limits;
use crate::lines::LineFinder;
use crate::notebook::{SearchedNotebook, is_notebook};
use crate::options::ScanOptions;
use crate::scan::{ScanText, ScanWorker, TextSearch, with_text};

struct ExternalSession<'a> {
    engine: ExternalEngine<'a>,
    scan: &'a ScanOptions,
    halt: ProcessHalt<'a>,
}

/// Searches the files below `start` with an external engine.
///
/// `receive` gets the files in path order, and can end the search by returning a break. An error ends the
/// search too, after the results found before it have been delivered.
#[expect(clippy::too_many_arguments, reason = "the embedded engine's parameters plus the engine")]
pub fn search(
    program: &Program,
    request: &ExternalRequest<'_>,
    root: &Arc<Root>,
    start: &RelPath,
    options: &WalkOptions,
    scan: &ScanOptions,
    stop: &Stop,
    mut receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
) -> Result<ExternalReport, ExternalError> {
    let ended = AtomicBool::new(false);
    let halt = ProcessHalt { stop, ended: &ended };
    let session = &ExternalSession { engine: ExternalEngine::new(program, request, stop)?, scan, halt };
    let mut found = BatchMatches::default();
    if session.engine.pattern().is_none() {
        // Only the engine can validate this pattern, so we run it even if there is no file to search.
        session.engine.search(b"", halt, &mut found.notes)?;
    }
    let mut broke_off = false;
    let (mut walk, sent) = std::thread::scope(|scope| {
        let end = EndOnDrop(&ended);
        let threads = options.thread_count();
        // These capacities limit the batches that wait to be searched, and the outcomes that wait for earlier
        // ones.
        let (work, batches) = sync_channel(threads);
        let (sender, outcomes) = sync_channel(2 * threads);
        let walker = scope.spawn(move || session.walk(&work, &sender, root, start, options));
        let batches = Arc::new(Mutex::new(batches));
        let workers = Vec::from_iter((0..threads).map(|_| {
            let batches = Arc::clone(&batches);
            scope.spawn(move || session.work(&batches))
        }));
        // If all workers panic, sending a batch must fail instead of waiting for room in the channel.
        drop(batches);
        for outcome in outcomes {
            // Only a worker that panicked sends no outcome.
            let Ok(outcome) = outcome.recv() else { break };
            let files = found.add(outcome?);
            broke_off = files.into_iter().any(|file| receive(file).is_break());
            if broke_off || found.cut {
                break;
            }
        }
        drop(end);
        workers.into_iter().for_each(join);
        join(walker)
    })?;
    // Only this function ends the walk early.
    walk.broke_off = broke_off;
    if broke_off {
        walk.stopped = None;
    } else if found.cut {
        walk.stopped = walk.stopped.or_else(|| stop.check());
    }
    walk.skipped.merge(&found.skipped);
    // We do not count files that were read for an engine that did not answer.
    walk.visited = walk.visited.saturating_sub(sent.saturating_sub(found.searched));
    let notes = found.notes;
    // The exit code that one run over all files would have had: 1 only if nothing was found.
    let exit_code = notes.code.map(|code| if code == 1 && notes.found { 0 } else { code });
    let stderr = String::from_utf8_lossy(&notes.stderr).into_owned();
    Ok(ExternalReport { walk, notes: notes.warnings, incomplete: notes.incomplete, exit_code, stderr })
}

fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Ends the walk and all processes on drop, including when the receiver of the results panics.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A batch and the channel for its outcome.
type BatchWork = (FileBatch, SyncSender<BatchOutcome>);

impl TextSearch for Option<LineFinder<'_>> {
    fn encoding(&self, head: &[u8]) -> Encoding {
        self.as_ref().map_or_else(|| Encoding::detect(head), |finder| finder.encoding(head))
    }
}

impl ExternalSession<'_> {
    /// Searches batches until the channel is closed.
    fn work(&self, batches: &Mutex<Receiver<BatchWork>>) {
        let finder = self.finder();
        loop {
            let next = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((batch, outcome)) = next else { return };
            // After the end of a search the receiver is gone.
            let _ = outcome.send(batch.search(&self.engine, finder.as_ref(), self.scan, self.halt));
        }
    }

    /// Reads the files in path order and groups their texts into batches. Sends the receivers of their
    /// outcomes to `outcomes` in the same order. Also returns the number of files sent to the engine.
    fn walk(
        &self,
        work: &SyncSender<BatchWork>,
        outcomes: &SyncSender<Receiver<BatchOutcome>>,
        root: &Arc<Root>,
        start: &RelPath,
        options: &WalkOptions,
    ) -> Result<(WalkReport, u64), ExternalError> {
        let mut queue = BatchQueue {
            work,
            outcomes,
            batch: FileBatch::default(),
            enough: limits::EXTERNAL_FIRST_BATCH_BYTES,
            sent: 0,
        };
        let worker = || ScanWorker::new(self.finder());
        let visit =
            |worker: &mut ScanWorker<Option<LineFinder<'_>>>, entry: &Entry<'_>, skipped: &mut Skipped| {
                self.read(worker, entry, skipped).map_or(WalkStep::Nothing, |piece| {
                    let weight = piece.weight();
                    WalkStep::Item(piece, weight)
                })
            };
        let report = walk(root, start, options, self.halt.stop, worker, visit, |piece| queue.add(piece))?;
        let _ = queue.flush();
        Ok((report, queue.sent))
    }

    /// Reads a file. Searches it at once if it is large.
    fn read(
        &self,
        worker: &mut ScanWorker<'_, Option<LineFinder<'_>>>,
        entry: &Entry<'_>,
        skipped: &mut Skipped,
    ) -> Option<OutputPiece> {
        with_text(worker, entry, 0, self.scan.max_file_bytes, skipped, |finder, text, skipped| {
            let (path, hidden_by) = (entry.path.clone(), entry.hidden_by.clone());
            let is_notebook = is_notebook(path.as_bytes());
            match text {
                ScanText::Whole([], _) => None,
                ScanText::Whole(text, encoding) => {
                    let (detected, mut is_stored_notebook) = (encoding.detected(), false);
                    let text = match is_notebook {
                        true => {
                            let notebook = SearchedNotebook::new(text);
                            if notebook.leaves_out {
                                skipped.add(SkipReason::NotebookOutputs);
                            }
                            is_stored_notebook = notebook.is_stored;
                            notebook.text.into_owned()
                        }
                        false => text.to_vec(),
                    };
                    Some(OutputPiece::Text { path, hidden_by, detected, is_stored_notebook, text })
                }
                ScanText::Pieces(reader, encoding) => {
                    let finder = finder.as_ref();
                    let mut outcome =
                        search_large(&self.engine, finder, entry, reader, self.scan, self.halt, skipped);
                    let files = outcome.iter_mut().flat_map(|outcome| &mut outcome.files);
                    files.for_each(|file| {
                        (file.detected, file.is_stored_notebook) = (encoding.detected(), is_notebook);
                    });
                    Some(OutputPiece::Searched(Box::new(outcome)))
                }
            }
        })
    }

    /// Creates a finder that locates matches within a line, if our engine can compile the pattern.
    fn finder(&self) -> Option<LineFinder<'_>> {
        self.engine.pattern().map(|pattern| LineFinder::new(pattern, self.halt.stop))
    }
}

/// Groups texts into batches for the workers.
struct BatchQueue<'a> {
    work: &'a SyncSender<BatchWork>,
    /// Gets the receivers of the outcomes in path order.
    outcomes: &'a SyncSender<Receiver<BatchOutcome>>,
    batch: FileBatch,
    /// Bytes of a batch that is sent.
    enough: usize,
    /// Number of files sent so far.
    sent: u64,
}

impl BatchQueue<'_> {
    /// Adds a file. Breaks if the search has ended.
    fn add(&mut self, piece: OutputPiece) -> ControlFlow<()> {
        self.sent += 1;
        match piece {
            OutputPiece::Text { path, hidden_by, detected, is_stored_notebook, text } => {
                self.batch.push(path, (hidden_by, detected, is_stored_notebook), &text);
                if self.batch.bytes() < self.enough {
                    return ControlFlow::Continue(());
                }
                self.enough = (self.enough * limits::EXTERNAL_BATCH_GROWTH).min(limits::EXTERNAL_BATCH_BYTES);
                self.flush()
            }
            OutputPiece::Searched(outcome) => {
                self.flush()?;
                let (sender, place) = sync_channel(1);
                let _ = sender.send(*outcome);
                self.put(place)
            }
        }
    }

    /// Sends the batch to the workers.
    fn flush(&mut self) -> ControlFlow<()> {
        // The engine is never started without a file to search.
        if self.batch.is_empty() {
            return ControlFlow::Continue(());
        }
        let (sender, outcome) = sync_channel(1);
        self.put(outcome)?;
        match self.work.send((std::mem::take(&mut self.batch), sender)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn put(&self, outcome: Receiver<BatchOutcome>) -> ControlFlow<()> {
        match self.outcomes.send(outcome) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// A file that the walk has read, in path order.
enum OutputPiece {
    Text {
        path: RelPath,
        hidden_by: Option<Arc<str>>,
        detected: Option<&'static str>,
        is_stored_notebook: bool,
        text: Vec<u8>,
    },
    Searched(Box<BatchOutcome>),
}

impl OutputPiece {
    /// Estimates the memory size in bytes.
    fn weight(&self) -> usize {
        let held = match self {
            Self::Text { text, .. } => text.len(),
            Self::Searched(outcome) => {
                outcome.iter().flat_map(|found| &found.files).map(FileEvents::weight).sum()
            }
        };
        held + size_of::<Self>()
    }
}
