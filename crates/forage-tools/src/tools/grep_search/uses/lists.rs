//! Definitions of a name, and types that implement or extend it.

use std::sync::Arc;
use std::time::Duration;

use forage_base::map_in_threads;
use forage_fs::{RelPath, display_text};
use forage_rank::{Definition, DefinitionKind};

use super::qualifier::Fit;
use super::{GrepDefinition, OutlinedFile, UseReader, defines, is_called, narrow, within};
use crate::cursor::Group;
use crate::limits;
use crate::output_redactor::Excerpt;
use crate::sanitize::sanitize_line;
use crate::text::{around_place, count, quoted};
use crate::tools::grep_search::referencing_files::{ReferencingFile, ReferencingFiles, cached};

/// The first entries of a list.
#[derive(Debug, Default)]
pub(in super::super) struct Listing {
    entries: Vec<ListedDefinition>,
    /// Number of entries in the whole list.
    pub(super) total: u64,
    pub(super) notes: Vec<String>,
    is_complete: bool,
}

/// An entry without its text.
#[derive(Debug)]
struct ListedDefinition {
    path: RelPath,
    definition: Definition,
    /// The line that contains the name.
    line: u32,
    symbol: Option<String>,
    within: Option<String>,
}

/// How well a definition fits a qualifier, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DefinitionFit {
    Within,
    Unknown,
    Other,
}

impl From<Fit> for DefinitionFit {
    fn from(fit: Fit) -> Self {
        match fit {
            Fit::Within => Self::Within,
            Fit::Unknown => Self::Unknown,
            Fit::Other(_) => Self::Other,
        }
    }
}

/// Definitions with their sort keys, in the order of an answer.
type Ordered = Vec<((DefinitionFit, Group, bool), ListedDefinition)>;

impl UseReader<'_> {
    /// Lists the definitions of the name, and the types that implement or extend it.
    pub(super) fn lists(&self, gathered: &ReferencingFiles) -> [Arc<Listing>; 2] {
        let files = &gathered.files;
        let new = ReferencingFiles::default();
        // Both lists depend on the subtypes, so we must not cache them until these are complete.
        let cells = if self.subtypes.is_complete { gathered } else { &new };
        let is_complete = |list: &Listing| list.is_complete;
        let lists = [
            cached(&cells.definitions, is_complete, || self.definitions(files)),
            cached(&cells.implementations, is_complete, || self.implementations(files)),
        ];
        // The system does not report every change, so we must check that the listed files still have these
        // definitions.
        match lists.iter().all(|list| self.is_current(list)) {
            true => lists,
            false => [Arc::new(self.definitions(files)), Arc::new(self.implementations(files))],
        }
    }

    /// Lists the definitions of the name. Those in tests and those without a body come last.
    fn definitions(&self, files: &[ReferencingFile]) -> Listing {
        let chosen: Vec<&ReferencingFile> = files.iter().filter(|file| file.may_define).collect();
        let read = self.read_all(&chosen, limits::GREP_COUNT_TIME, |file, outlined| {
            (self.defined(file, outlined), outlined.outline.is_by_line)
        });
        let mut notes = Vec::new();
        let left = read.iter().filter(|found| found.is_none()).count() as u64;
        if left > 0 {
            let files = count(left, "file");
            let narrow = narrow(&self.call.workspace.names);
            notes.push(format!("there was no time to look for definitions in {files}; {narrow}"));
        }
        let too_large = read.iter().filter(|found| matches!(found, Some(None))).count() as u64;
        if too_large > 0 {
            let files = count(too_large, "file");
            notes.push(format!("{files} could not be parsed for definitions (too large, or not text)"));
        }
        let mut counts = [0_u64; 3];
        let mut found: Ordered = Vec::new();
        let mut by_line = 0_u64;
        for ((of_file, of_counts), is_by_line) in read.into_iter().flatten().flatten() {
            by_line += u64::from(is_by_line);
            counts.iter_mut().zip(of_counts).for_each(|(all, more)| *all += more);
            found.extend(of_file);
        }
        // This sort is stable, so paths and lines keep their order.
        found.sort_by_key(|(order, _)| *order);
        let mut listing = Listing { notes, is_complete: left == 0, ..Listing::default() };
        // We list only the definitions that fit best. Without a qualifier, all of them fit equally well.
        let Some(&((best, ..), _)) = found.first() else {
            let note =
                || format!("{} read without a parser: a definition may be missing", count(by_line, "file"));
            listing.notes.extend((by_line > 0).then(note));
            return listing;
        };
        listing.total = counts[best as usize];
        if let Some(qualifier) = self.qualified.qualifier {
            let qualifier = quoted(qualifier);
            // Those that may belong to the qualifier are among the lines.
            let others = if best == DefinitionFit::Other { 0 } else { counts[DefinitionFit::Other as usize] };
            if best != DefinitionFit::Within {
                listing.notes.push(format!("no definition was found in {qualifier}; others are listed"));
            }
            if others > 0 {
                let others = count(others, "definition");
                listing.notes.push(format!("{others} outside of {qualifier} left out"));
            }
        }
        let fitting = found.into_iter().filter(|((fit, ..), _)| *fit == best);
        listing.entries = fitting.take(limits::GREP_DEFINITIONS).map(|(_, entry)| entry).collect();
        listing
    }

    /// Finds the best definitions of the name in a file, and counts all of them by how well they fit.
    fn defined(&self, mentioning: &ReferencingFile, file: &OutlinedFile) -> (Ordered, [u64; 3]) {
        let narrowing = self.narrowing(&mentioning.path, file);
        let fit_of = |definition| match &narrowing {
            Some(narrowing) => DefinitionFit::from(narrowing.definition(definition)),
            None => DefinitionFit::Unknown,
        };
        let named = file.outline.definitions.iter().chain(&file.outline.fields);
        let own = named.filter(|it| is_called(it, self.qualified.name) && defines(it.kind));
        let mut own: Vec<(DefinitionFit, &Definition)> = own.map(|it| (fit_of(it), it)).collect();
        let mut counts = [0; 3];
        own.iter().for_each(|(fit, _)| counts[*fit as usize] += 1);
        own.sort_by_key(|(fit, definition)| (*fit, definition.kind == DefinitionKind::Declaration));
        own.truncate(limits::GREP_DEFINITIONS);
        let ordered = own.into_iter().map(|(fit, definition)| {
            let around = definition.parent.map(|at| within(&file.outline, at).symbol);
            let around = around.or_else(|| Some(display_text(definition.scope.as_deref()?).into_owned()));
            let entry = ListedDefinition {
                path: mentioning.path.clone(),
                definition: definition.clone(),
                line: definition.line,
                symbol: None,
                within: around,
            };
            ((fit, mentioning.group, definition.kind == DefinitionKind::Declaration), entry)
        });
        (ordered.collect(), counts)
    }

    /// Lists the types that implement or extend the name. Those in tests come last. This must search all
    /// files, because the current page may not contain any of these types.
    fn implementations(&self, files: &[ReferencingFile]) -> Listing {
        let mut chosen: Vec<&ReferencingFile> = files.iter().filter(|file| file.may_implement).collect();
        // `files` is sorted only if all files are known.
        chosen.sort();
        let read = self.read_all(&chosen, limits::GREP_IMPLEMENTATIONS_TIME, |file, outlined| {
            let lines = self.implementing_lines(&file.path, outlined);
            let total = lines.len() as u64;
            let entry = |(line, at): (u32, usize)| ListedDefinition {
                path: file.path.clone(),
                definition: outlined.outline.definitions[at].clone(),
                line,
                symbol: Some(within(&outlined.outline, at).symbol),
                within: None,
            };
            (lines.into_iter().take(limits::GREP_DEFINITIONS).map(entry).collect::<Vec<_>>(), total)
        });
        let left = read.iter().filter(|found| found.is_none()).count() as u64;
        let mut listing = Listing { is_complete: left == 0, ..Listing::default() };
        if left > 0 {
            let files = count(left, "file");
            let narrow = narrow(&self.call.workspace.names);
            let what = "implementations and subclasses";
            listing.notes.push(format!("there was no time to look for {what} in {files}; {narrow}"));
        }
        for (entries, total) in read.into_iter().flatten().flatten() {
            let room = limits::GREP_DEFINITIONS - listing.entries.len();
            listing.entries.extend(entries.into_iter().take(room));
            listing.total += total;
        }
        listing
    }

    /// Finds the lines of a file where a type implements or extends the name, each with the index of its
    /// definition.
    fn implementing_lines(&self, path: &RelPath, file: &OutlinedFile) -> Vec<(u32, usize)> {
        let narrowing = self.narrowing(path, file);
        let is_wanted = |line: u32| match &narrowing {
            Some(narrowing) => !matches!(narrowing.line(line).0, Fit::Other(_)),
            None => true,
        };
        let mut lines = file.implementing();
        lines.retain(|(line, _)| is_wanted(*line));
        lines
    }

    /// Parses files in parallel. The result is `None` for files that there was no time for, and `Some(None)`
    /// for files that can't be parsed.
    fn read_all<T: Send>(
        &self,
        files: &[&ReferencingFile],
        time: Duration,
        find: impl Fn(&ReferencingFile, &OutlinedFile) -> T + Sync,
    ) -> Vec<Option<Option<T>>> {
        let stop = self.stop.within(time);
        map_in_threads(files, self.walk_threads(), |file| {
            stop.check().is_none().then(|| Some(find(file, &*self.outlined(&file.path)?)))
        })
    }

    /// Checks whether the files of a list still have its definitions.
    fn is_current(&self, listing: &Listing) -> bool {
        listing.entries.iter().all(|entry| {
            self.outlined(&entry.path).is_some_and(|file| {
                let mut all = file.outline.definitions.iter().chain(&file.outline.fields);
                all.any(|definition| *definition == entry.definition)
            })
        })
    }

    /// Completes the entries of a list with their texts.
    pub(super) fn listed(&mut self, listing: &Listing) -> Vec<GrepDefinition> {
        let mut listed = Vec::new();
        for entries in listing.entries.chunk_by(|entry, next| entry.path == next.path) {
            let path = &entries[0].path;
            let Some(file) = self.outlined(path) else { continue };
            let excerpt = Excerpt::new(&file.text);
            // The file may have become shorter in the meantime.
            let is_there = |entry: &&ListedDefinition| entry.line as usize <= excerpt.lines.len();
            let entries: Vec<&ListedDefinition> = entries.iter().filter(is_there).collect();
            let lines: Vec<usize> = entries.iter().map(|entry| entry.line as usize - 1).collect();
            let texts = self.redactor.chosen(&excerpt, &lines);
            for (entry, text) in entries.into_iter().zip(texts) {
                listed.push(self.record(entry, &text));
            }
        }
        listed
    }

    fn record(&mut self, entry: &ListedDefinition, text: &str) -> GrepDefinition {
        let (path, path_bytes) = self.redactor.path(&entry.path);
        let text = sanitize_line(text.trim());
        let name = self.qualified.name;
        let place = text.find(name).map(|at| at..at + name.len());
        let Definition { word, start_line, end_line, .. } = entry.definition;
        GrepDefinition {
            path,
            path_bytes,
            kind: word,
            start_line,
            line: entry.line,
            end_line,
            symbol: entry.symbol.clone(),
            within: entry.within.clone(),
            text: around_place(&text, limits::GREP_LINE_CHARACTERS, place.as_ref()),
        }
    }
}
