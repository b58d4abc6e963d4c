//! Results in order of distance. We must search all files for this, but keep only the best results in memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use forage_fs::RelPath;
use forage_search::{EventKind, FileEvents, ScanOptions, SearchEvent};

use super::{FoundFile, LineSearch, LinesFound, Receive};
use crate::cursor::{self, Cursor};
use crate::limits;
use crate::outcome::Limit;
use crate::output_redactor::OutputRedactor;

/// A match with its context, or several matches whose contexts touch.
struct Group {
    /// The smallest distance of the group's lines. Lines without a distance come last.
    distance: cursor::Group,
    path: RelPath,
    first_line: u64,
    events: Vec<SearchEvent>,
    /// The surrounding lines of the file, which redaction needs.
    around: Vec<SearchEvent>,
}

impl Group {
    fn place(&self) -> (cursor::Group, &RelPath, u64) {
        (self.distance, &self.path, self.first_line)
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Group {}

impl PartialOrd for Group {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Group {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// The best groups of a search, just enough for the requested number of events.
pub(super) struct BestPage<'a> {
    limit: u64,
    has_context: bool,
    /// True if the events include surrounding lines that were not requested.
    has_margin: bool,
    after: Option<&'a Cursor>,
    heap: BinaryHeap<Group>,
    /// Number of events in the heap.
    events: u64,
    /// True if we dropped a result because of the limit.
    more: bool,
    /// True if a file had more results than we keep of one file.
    by_bytes: bool,
}

impl<'a> BestPage<'a> {
    pub(super) fn new(limit: u64, scan: &ScanOptions, after: Option<&'a Cursor>) -> Self {
        let (has_context, has_margin) = (scan.before_context > 0, scan.margin.is_some());
        Self {
            limit,
            has_context,
            has_margin,
            after,
            heap: BinaryHeap::new(),
            events: 0,
            more: false,
            by_bytes: false,
        }
    }

    pub(super) fn add(&mut self, file: FileEvents) -> ControlFlow<()> {
        let path = file.path.clone();
        self.by_bytes |= file.more;
        for (events, around) in groups(file.events, self.has_context, self.has_margin) {
            let Some(first_line) = events.first().map(|event| event.line_number) else { continue };
            let distance = events.iter().filter_map(SearchEvent::least_distance).min().unwrap_or(u8::MAX);
            let distance = cursor::Group::Distance(distance);
            let mut group = Group { distance, path: path.clone(), first_line, events, around };
            if let Some(after) = self.after
                && group.place() <= (after.group, &after.path, after.line)
            {
                // The earlier answer may have cut its last group in the middle.
                let same = group.distance == after.group && group.path == after.path;
                group.events.retain(|event| same && event.line_number > after.line);
            }
            self.events += group.events.len() as u64;
            if !group.events.is_empty() {
                self.heap.push(group);
            }
            self.drop_worst();
        }
        ControlFlow::Continue(())
    }

    fn drop_worst(&mut self) {
        while let Some(worst) = self.heap.peek() {
            let size = worst.events.len() as u64;
            if self.events - size < self.limit {
                return;
            }
            self.events -= size;
            self.more = true;
            self.heap.pop();
        }
    }

    /// Passes on the groups of this page, the best one first.
    pub(super) fn finish(
        self,
        redactor: &mut OutputRedactor<'_>,
        line_search: &LineSearch<'_>,
        found: &mut LinesFound,
        receive: &mut Receive<'_>,
    ) {
        found.limit = self.more.then_some(Limit::MaxResults);
        for mut group in self.heap.into_sorted_vec() {
            let room = usize::try_from(self.limit - found.lines).unwrap_or(usize::MAX);
            if group.events.len() > room {
                found.limit = Some(Limit::MaxResults);
                redactor.truncate(&mut group.events, room);
            }
            group.events.append(&mut group.around);
            group.events.sort_by_key(|event| event.line_number);
            let (path, events) = (group.path, group.events);
            let (matches, more, hidden_by, detected, is_stored_notebook) = (0, false, None, None, false);
            let file = FileEvents { path, events, matches, more, hidden_by, detected, is_stored_notebook };
            let file = FoundFile::new(file, redactor, line_search.asked.characters, line_search.asked.spans)
                .counted();
            let Some(last) = file.events.last() else { break };
            found.last =
                Some(Cursor { group: group.distance, path: file.place.clone(), line: last.line_number });
            found.lines += file.events.len() as u64;
            found.matches += file.matches;
            if receive(file).is_break() {
                break;
            }
        }
        if self.by_bytes && found.limit.is_none() {
            // A file with more results than we keep can't be sorted as a whole, so this answer has no next
            // page.
            (found.limit, found.last) = (Some(Limit::FileBytes), None);
        }
    }
}

/// Splits the lines of a file into runs of adjacent lines, which grep separates by `--`. Without context,
/// every line is a run. If redaction needs the lines around a run, they come with it.
fn groups(
    events: Vec<SearchEvent>,
    has_context: bool,
    has_margin: bool,
) -> impl Iterator<Item = (Vec<SearchEvent>, Vec<SearchEvent>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_asked_for = |event: &SearchEvent| event.kind != EventKind::Margin;
        let start = at + events[at..].iter().position(is_asked_for)?;
        let mut end = start + 1;
        let follows = |end: usize| events[end].line_number == events[end - 1].line_number + 1;
        while has_context && end < events.len() && is_asked_for(&events[end]) && follows(end) {
            end += 1;
        }
        at = end;
        let around = (start.saturating_sub(limits::REDACTION_CONTEXT_LINES)..start)
            .chain(end..events.len().min(end + limits::REDACTION_CONTEXT_LINES))
            .filter(|_| has_margin)
            .map(|other| SearchEvent { kind: EventKind::Margin, ..events[other].clone() });
        Some((events[start..end].to_vec(), around.collect()))
    })
}
