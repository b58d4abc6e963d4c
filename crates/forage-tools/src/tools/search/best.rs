//! Results in order of distance. All files are searched; only the best are held.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use forage_fs::RelPath;
use forage_search::{Event, FileEvents};

use super::page::{Show, Taken};
use super::record::{Record, least_distance};
use crate::cursor::Cursor;

/// A match with its context, or several that touch.
struct Group {
    /// The least distance of its lines; those that have none come last.
    distance: u8,
    path: RelPath,
    first_line: u64,
    events: Vec<Event>,
}

impl Group {
    fn place(&self) -> (u8, &RelPath, u64) {
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

/// Keeps the best groups of a search: as many as hold the wanted number of events.
pub(super) struct BestPage<'a> {
    limit: u64,
    has_context: bool,
    after: Option<&'a Cursor>,
    heap: BinaryHeap<Group>,
    /// Events in the heap.
    events: u64,
    /// Something was left out for the limit.
    more: bool,
    by_bytes: bool,
}

impl<'a> BestPage<'a> {
    pub(super) fn new(limit: u64, has_context: bool, after: Option<&'a Cursor>) -> Self {
        Self { limit, has_context, after, heap: BinaryHeap::new(), events: 0, more: false, by_bytes: false }
    }

    pub(super) fn add(&mut self, file: FileEvents) -> ControlFlow<()> {
        let path = file.path.clone();
        self.by_bytes |= file.more;
        for events in groups(file, self.has_context) {
            let Some(first_line) = events.first().map(|event| event.line_number) else { continue };
            let distance = events.iter().filter_map(least_distance).min().unwrap_or(u8::MAX);
            let mut group = Group { distance, path: path.clone(), first_line, events };
            if let Some(after) = self.after
                && group.place() <= (after.distance, &after.path, after.line)
            {
                // The last group of the earlier answer may have been cut in the middle.
                let same = group.distance == after.distance && group.path == after.path;
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

    pub(super) fn finish(self, show: &mut Show<'_>) -> Taken {
        let mut taken = Taken { full: self.more, ..Taken::default() };
        for group in self.heap.into_sorted_vec() {
            let room = usize::try_from(self.limit - taken.count).unwrap_or(usize::MAX);
            let events = &group.events[..group.events.len().min(room)];
            taken.full |= events.len() < group.events.len();
            let Some(last) = events.last() else { break };
            taken.last =
                Some(Cursor { distance: group.distance, path: group.path.clone(), line: last.line_number });
            let records = events.iter().map(|event| Record::new(&group.path, event, true)).collect();
            if !taken.take(records, true, show) {
                break;
            }
        }
        if self.by_bytes && !taken.full {
            // What a file has beyond its bound can't be ordered: there is no place to go on from.
            (taken.full, taken.by_bytes, taken.last) = (true, true, None);
        }
        taken
    }
}

/// The runs of neighbouring lines of a file, which grep separates by `--`; without context, every line.
fn groups(file: FileEvents, has_context: bool) -> impl Iterator<Item = Vec<Event>> {
    let mut events = file.events.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = events.next()?;
        let mut next_line = first.line_number + 1;
        let mut group = vec![first];
        while let Some(event) = events.next_if(|event| has_context && event.line_number == next_line) {
            next_line += 1;
            group.push(event);
        }
        Some(group)
    })
}
