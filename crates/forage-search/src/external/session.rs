//! One search: a walk that reads, workers that run the engine, and the caller's thread that hands over.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forage_base::Stop;
use forage_fs::{Entry, RelPath, Root, Skipped, WalkOptions, WalkReport, WalkStep, walk};

use super::batch::{BatchMatches, FileBatch};
use super::engine::{ExternalEngine, Notes};
use super::large::LargeFile;
use super::process::ProcessHalt;
use super::queue::{EndOnDrop, JobOutcome, Queue, QueuedWork};
use super::{ExternalError, ExternalReport, ExternalRequest, Program};
use crate::event::FileEvents;
use crate::limits;
use crate::lines::LineFinder;
use crate::options::ScanOptions;
use crate::pattern::{Pattern, PatternOptions};
use crate::scan::{ScanText, ScanWorker, with_text};

struct ExternalSession<'a> {
    engine: ExternalEngine<'a>,
    every_line: Pattern,
    scan: &'a ScanOptions,
    stop: &'a Stop,
    queue: Queue,
    /// Files that the engine has to search.
    sent: AtomicU64,
}

/// What the walk finds, in path order.
enum OutputPiece {
    Text { path: RelPath, hidden_by: Option<Arc<str>>, text: Vec<u8> },
    Searched(Box<JobOutcome>),
}

#[expect(clippy::too_many_arguments, reason = "those of the public function")]
pub(super) fn search(
    program: &Program,
    request: &ExternalRequest<'_>,
    root: &Arc<Root>,
    start: &RelPath,
    options: &WalkOptions,
    scan: &ScanOptions,
    stop: &Stop,
    mut receive: impl FnMut(FileEvents) -> ControlFlow<()>,
) -> Result<ExternalReport, ExternalError> {
    let threads = options.thread_count();
    let engine = ExternalEngine::new(program, request, stop)?;
    let every_line = Pattern::new("^", &PatternOptions::default())?;
    let session = ExternalSession {
        engine,
        every_line,
        scan,
        stop,
        queue: Queue::new(threads),
        sent: AtomicU64::new(0),
    };
    let mut notes = Notes::default();
    if session.engine.pattern().is_none() {
        // Only the engine can say whether the pattern is one, even where there is no file to search.
        session.engine.search(b"", session.halt(&|| false), &mut notes)?;
    }
    let mut collected = CollectedOutput { notes, ..CollectedOutput::default() };
    let mut walked = std::thread::scope(|scope| {
        let end = EndOnDrop(&session.queue);
        let walker = scope.spawn(|| session.walk(root, start, options));
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| session.work())).collect();
        while let Some(outcome) = session.queue.next(stop) {
            if collected.take(*outcome, &mut receive)?.is_break() {
                break;
            }
        }
        drop(end);
        let walked = walker.join();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        let mut walked = walked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        // What was found before the first batch that did not end, and what is known of that one.
        while !(collected.broke_off || collected.cut) {
            let Some(outcome) = session.queue.next_ready() else { break };
            let _ = collected.take(*outcome, &mut receive)?;
        }
        // The walk is broken off by us only.
        walked.broke_off = collected.broke_off;
        if collected.broke_off {
            walked.stopped = None;
        } else if collected.cut || !session.queue.is_handed_over() {
            walked.stopped = walked.stopped.or_else(|| stop.check());
        }
        Ok::<_, ExternalError>(walked)
    })?;
    walked.skipped.merge(&collected.skipped);
    // What was read for an engine that did not answer is not searched.
    let unanswered = session.sent.into_inner().saturating_sub(collected.searched);
    walked.visited = walked.visited.saturating_sub(unanswered);
    Ok(collected.report(walked))
}

/// What was handed over so far.
#[derive(Default)]
struct CollectedOutput {
    notes: Notes,
    skipped: Skipped,
    /// The last outcome is cut: what lies behind it must not be handed over.
    cut: bool,
    broke_off: bool,
    /// Files that the engine has searched.
    searched: u64,
}

impl CollectedOutput {
    fn take(
        &mut self,
        outcome: JobOutcome,
        receive: &mut impl FnMut(FileEvents) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ExternalError> {
        let BatchMatches { files, skipped, notes, cut, searched } = outcome?;
        self.searched += searched;
        self.skipped.merge(&skipped);
        self.notes.merge(notes);
        self.cut = cut;
        for file in files {
            if receive(file).is_break() {
                self.broke_off = true;
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(if cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn report(self, walk: WalkReport) -> ExternalReport {
        // As one run over everything would have ended: 1 only if nothing was found.
        let exit_code = self.notes.code.map(|code| if code == 1 && self.notes.found { 0 } else { code });
        let stderr = String::from_utf8_lossy(&self.notes.stderr).into_owned();
        let Notes { warnings: notes, incomplete, .. } = self.notes;
        ExternalReport { walk, notes, incomplete, exit_code, stderr }
    }
}

impl ExternalSession<'_> {
    fn halt<'h>(&'h self, ended: &'h (dyn Fn() -> bool + Sync)) -> ProcessHalt<'h> {
        ProcessHalt { stop: self.stop, ended }
    }

    /// Reads the files in path order and fills batches with their texts.
    fn walk(
        &self,
        root: &Arc<Root>,
        start: &RelPath,
        options: &WalkOptions,
    ) -> Result<WalkReport, ExternalError> {
        let _close = CloseOnDrop(&self.queue);
        let mut filling = FillingBatch::default();
        let visit = |worker: &mut ScanWorker<Option<LineFinder<'_>>>,
                     entry: &Entry<'_>,
                     skipped: &mut Skipped| {
            with_text(worker, entry, 0, self.scan.max_file_bytes, skipped, |finder, text, skipped| {
                let (path, hidden_by) = (entry.path.clone(), entry.hidden_by.clone());
                match text {
                    ScanText::Whole([]) => None,
                    ScanText::Whole(text) => Some(OutputPiece::Text { path, hidden_by, text: text.to_vec() }),
                    ScanText::Pieces(reader) => {
                        let ended = || self.queue.has_ended();
                        let file = LargeFile { path: &path, hidden_by, every_line: &self.every_line };
                        let halt = self.halt(&ended);
                        let outcome =
                            file.search(&self.engine, finder.as_ref(), reader, self.scan, halt, skipped);
                        Some(OutputPiece::Searched(Box::new(outcome)))
                    }
                }
            })
            .map_or(WalkStep::Nothing, |piece| {
                let weight = piece.weight();
                WalkStep::Item(piece, weight)
            })
        };
        let receive = |piece: OutputPiece| {
            self.sent.fetch_add(1, Ordering::Relaxed);
            let goes_on = match piece {
                OutputPiece::Text { path, hidden_by, text } => {
                    filling.batch.push(path, hidden_by, &text);
                    !filling.is_full() || filling.flush(&self.queue, self.stop)
                }
                OutputPiece::Searched(outcome) => {
                    filling.flush(&self.queue, self.stop)
                        && self.queue.put(QueuedWork::Done(outcome), self.stop)
                }
            };
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let worker = || ScanWorker::new(self.finder());
        let report = walk(root, start, options, self.stop, worker, visit, receive)?;
        filling.flush(&self.queue, self.stop);
        Ok(report)
    }

    /// Tells where in a line the matches are, where our own engine can read the pattern.
    fn finder(&self) -> Option<LineFinder<'_>> {
        self.engine.pattern().map(|pattern| LineFinder::new(pattern, self.stop))
    }

    /// Searches batches until there are no more.
    fn work(&self) {
        let _end = EndOnPanic(&self.queue);
        let finder = self.finder();
        let ended = || self.queue.has_ended();
        while let Some((number, batch)) = self.queue.take(self.stop) {
            let outcome = batch.search(&self.engine, finder.as_ref(), self.scan, self.halt(&ended));
            self.queue.finish(number, outcome);
        }
    }
}

/// The batch that is being filled.
struct FillingBatch {
    batch: FileBatch,
    /// Bytes from which on it is full.
    enough: usize,
}

impl Default for FillingBatch {
    fn default() -> Self {
        Self { batch: FileBatch::default(), enough: limits::EXTERNAL_FIRST_BATCH_BYTES }
    }
}

impl FillingBatch {
    fn is_full(&self) -> bool {
        self.batch.bytes() >= self.enough
    }

    /// Puts what there is into the queue; false when the search must end.
    fn flush(&mut self, queue: &Queue, stop: &Stop) -> bool {
        // An engine is never started without a file to search.
        if self.batch.is_empty() {
            return true;
        }
        self.enough = (self.enough * limits::EXTERNAL_BATCH_GROWTH).min(limits::EXTERNAL_BATCH_BYTES);
        queue.put(QueuedWork::Search(std::mem::take(&mut self.batch)), stop)
    }
}

impl OutputPiece {
    /// Bytes that this holds, about.
    fn weight(&self) -> usize {
        let held = match self {
            Self::Text { text, .. } => text.len(),
            Self::Searched(outcome) => match &**outcome {
                Ok(found) => found.files.iter().map(FileEvents::weight).sum(),
                Err(_) => 0,
            },
        };
        held + size_of::<Self>()
    }
}

/// Says that no more comes, even when the walk panics.
struct CloseOnDrop<'a>(&'a Queue);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
        self.0.close();
    }
}

/// Ends the search when a worker panics: nobody may wait for its batch.
struct EndOnPanic<'a>(&'a Queue);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}
