//! Results in path order, up to a limit on events.

use std::ops::ControlFlow;

use forage_search::{EventKind, FileEvents};

use super::record::{SearchRecord, SearchText};
use crate::border::Border;
use crate::cursor::Cursor;
use crate::limits;

/// Gets records as they are found, those of a file together; false ends the search.
pub(super) type Show<'a> = dyn FnMut(&[SearchRecord]) -> bool + Send + 'a;

/// What a page holds at its end.
#[derive(Debug, Default)]
pub(super) struct TakenPage {
    /// The records, unless the page has no limit.
    pub(super) records: Vec<SearchRecord>,
    /// Events taken.
    pub(super) count: u64,
    /// Matching lines among them.
    pub(super) matches: u64,
    /// Files that they are in, of a page in path order.
    pub(super) files: u64,
    /// At least one more event exists.
    pub(super) full: bool,
    /// Not the number of events but the bytes of a file's lines filled it.
    pub(super) by_bytes: bool,
    /// The last event taken.
    pub(super) last: Option<Cursor>,
}

impl TakenPage {
    /// Takes records; false when nobody wants more.
    pub(super) fn take(&mut self, records: Vec<SearchRecord>, keep: bool, show: &mut Show<'_>) -> bool {
        if records.is_empty() {
            return true;
        }
        self.count += records.len() as u64;
        self.matches += records.iter().filter(|record| record.is_match()).count() as u64;
        let wanted = show(&records);
        if keep {
            self.records.extend(records);
        }
        wanted
    }
}

/// Collects files in path order until the page is full, and shows what it takes at once.
pub(super) struct PathPage<'a> {
    limit: Option<u64>,
    fuzzy: bool,
    show: &'a mut Show<'a>,
    taken: TakenPage,
}

impl<'a> PathPage<'a> {
    pub(super) fn new(limit: Option<u64>, fuzzy: bool, show: &'a mut Show<'a>) -> Self {
        Self { limit, fuzzy, show, taken: TakenPage::default() }
    }

    pub(super) fn add(&mut self, mut file: FileEvents, border: &mut Border<'_>) -> ControlFlow<()> {
        let room = self.limit.map_or(u64::MAX, |limit| limit - self.taken.count);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let mut asked_for =
            file.events.iter().enumerate().filter(|(_, event)| event.kind != EventKind::Margin);
        if let Some(end) = asked_for.nth(room).map(|(end, _)| end) {
            self.taken.full = true;
            border.truncate(&mut file.events, end);
        }
        let (line_bytes, spans) = match self.limit {
            Some(_) => (limits::SEARCH_LINE_CHARACTERS, limits::SEARCH_SPANS),
            None => (usize::MAX, forage_search::limits::LINE_SPANS),
        };
        border.events(&mut file.events, line_bytes, spans);
        if let Some(last) = file.events.last() {
            let goes_on = self.taken.last.as_ref().is_some_and(|last| last.path == file.path);
            self.taken.files += u64::from(!goes_on);
            self.taken.last = Some(Cursor { distance: 0, path: file.path.clone(), line: last.line_number });
        }
        if file.more && !self.taken.full {
            (self.taken.full, self.taken.by_bytes) = (true, true);
        }
        let path = SearchText::of(&file.path, border);
        let records = file.events.iter().map(|event| SearchRecord::new(&path, event, self.fuzzy)).collect();
        let wanted = self.taken.take(records, self.limit.is_some(), self.show);
        if !wanted {
            // Nobody reads the rest of the file either.
            self.taken.by_bytes = false;
        }
        if self.taken.full || !wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Without a limit: the place in the file to go on from, where the bound on what is held of it was met.
    pub(super) fn rest_of_file(&mut self) -> Option<Cursor> {
        if self.limit.is_some() || !self.taken.by_bytes {
            return None;
        }
        (self.taken.full, self.taken.by_bytes) = (false, false);
        self.taken.last.clone()
    }

    pub(super) fn finish(self) -> TakenPage {
        self.taken
    }
}
