//! Finds the definitions of a directory that most files use.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocSet as _, InvertedIndexReader, TERMINATED, TantivyDocument, Term};

use super::{MapDefinition, MappedFile};
use crate::error::IndexError;
use crate::index::{Fields, IndexState, RankIndex, RankedSegment, RecordSymbol, StoredFile};
use crate::languages::DefinitionKind;
use crate::limits;
use crate::stop_checker::{SearchError, StopChecker};
use crate::tokens::{TokenParts, stem, words};

/// File names without extensions in which programs start.
const ENTRIES: &[&str] = &["main", "__main__", "cli", "server", "app", "Main", "Program", "App"];

/// The number of uses that the start of a program counts as.
const ENTRY_USES: f64 = 30.0;

/// The share of its uses that a function with a name of one word is credited with.
const SINGLE_WORD_FUNCTION: f64 = 0.1;

/// Looks up definitions and the files that use them.
pub(super) struct DefinitionFinder<'a> {
    segments: Vec<SegmentTerms<'a>>,
    fields: &'a Fields,
    pace: &'a StopChecker<'a>,
    /// Numbers of files that contain a name and that define it, by the name's token.
    counted: HashMap<String, (u32, u32)>,
    parts: TokenParts,
}

struct SegmentTerms<'a> {
    segment: &'a RankedSegment,
    store: StoreReader,
    body: Arc<InvertedIndexReader>,
    definitions: Arc<InvertedIndexReader>,
}

impl<'a> DefinitionFinder<'a> {
    pub(super) fn new(
        index: &'a RankIndex,
        state: &'a IndexState,
        pace: &'a StopChecker<'a>,
    ) -> Result<Self, SearchError> {
        let fields = index.fields();
        let terms = |segment: &'a Arc<RankedSegment>| {
            let store = segment.reader.get_store_reader(limits::MAP_STORE_BLOCKS)?;
            let body = segment.reader.inverted_index(fields.body)?;
            let definitions = segment.reader.inverted_index(fields.definitions)?;
            Ok(SegmentTerms { segment, store, body, definitions })
        };
        let segments = state.segments.iter().map(terms).collect::<Result<_, SearchError>>()?;
        Ok(Self { segments, fields, pace, counted: HashMap::new(), parts: TokenParts::default() })
    }

    /// Finds the most used definitions in `max` files of a directory, with their uses, in the order in which
    /// they should be named.
    pub(super) fn find(
        &mut self,
        files: &[MappedFile],
        max: usize,
    ) -> Result<Vec<(f64, MapDefinition)>, SearchError> {
        let mut largest: Vec<&MappedFile> = files.iter().collect();
        // Files in which programs start come first, then the longest, which define most.
        largest.sort_by_key(|file| (!is_entry(file), std::cmp::Reverse(file.words)));
        let mut by_file: Vec<Vec<(f64, MapDefinition)>> = Vec::new();
        for file in largest.into_iter().take(max) {
            self.pace.check()?;
            let mut found = self.definitions(file)?;
            found.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.line.cmp(&b.line)));
            // Further definitions of a file count less than those of others.
            for (rank, (uses, _)) in found.iter_mut().enumerate() {
                *uses /= (rank + 1) as f64;
            }
            by_file.push(found);
        }
        let mut all: Vec<(f64, MapDefinition)> = by_file.into_iter().flatten().collect();
        all.sort_by(|(one, a), (other, b)| {
            other.total_cmp(one).then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
        });
        Ok(all)
    }

    /// Reads the definitions of a file that other files use.
    fn definitions(&mut self, file: &MappedFile) -> Result<Vec<(f64, MapDefinition)>, SearchError> {
        let record = self.record(file)?;
        let (types, functions): (Vec<&RecordSymbol>, Vec<&RecordSymbol>) =
            outer(&record).partition(|symbol| symbol.kind != DefinitionKind::Function);
        let is_start = is_entry(file);
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for symbol in types.into_iter().chain(functions).take(limits::MAP_FILE_DEFINITIONS) {
            let name = record.name(symbol);
            if name.len() < limits::MAP_NAME_BYTES || name.starts_with('_') || !seen.insert(name) {
                continue;
            }
            let (used_by, value) = match is_start && name == "main" {
                true => (0, ENTRY_USES),
                false => {
                    let (having, defining) = self.count(name)?;
                    let used_by = having.saturating_sub(defining);
                    (used_by, value(symbol.kind, self.parts.is_compound(), used_by, defining))
                }
            };
            if value > 0.0 {
                let (path, name) = (file.path.clone(), Some(name.to_owned()));
                let (kind, line) = (symbol.kind, symbol.line + 1);
                found.push((value, MapDefinition { path, name, kind, line, used_by }));
            }
        }
        if is_start && !found.iter().any(|(_, it)| it.name.as_deref() == Some("main")) {
            let (path, kind) = (file.path.clone(), DefinitionKind::Module);
            found.push((ENTRY_USES, MapDefinition { path, name: None, kind, line: 1, used_by: 0 }));
        }
        Ok(found)
    }

    fn record(&self, file: &MappedFile) -> Result<StoredFile, SearchError> {
        let stored: TantivyDocument = self.segments[file.segment].store.get(file.document)?;
        let text = stored.get_first(self.fields.record).and_then(|value| value.as_str());
        Ok(text.and_then(StoredFile::from_text).ok_or(IndexError::Damaged)?)
    }

    /// Counts the files whose code contains a name, and those that define it.
    fn count(&mut self, name: &str) -> Result<(u32, u32), SearchError> {
        let word = words(name).last().map_or("", |(_, word)| word);
        self.parts.split(word);
        let token = match self.parts.is_compound() {
            true => self.parts.whole().to_owned(),
            false => self.parts.iter().next().map(|part| stem(part).into_owned()).unwrap_or_default(),
        };
        if let Some(known) = self.counted.get(&token) {
            return Ok(*known);
        }
        let (mut having, mut defining) = (0, 0);
        let term = Term::from_field_text(self.fields.body, &token);
        for SegmentTerms { segment, body, .. } in &self.segments {
            having += self.count_living(segment, body, &term)?;
        }
        // Most names are in one file only, and are of no further interest.
        if having > 1 {
            let term = Term::from_field_text(self.fields.definitions, &token);
            for SegmentTerms { segment, definitions, .. } in &self.segments {
                defining += self.count_living(segment, definitions, &term)?;
            }
        }
        defining = defining.max(1);
        self.counted.insert(token, (having, defining));
        Ok((having, defining))
    }

    fn count_living(
        &self,
        segment: &RankedSegment,
        inverted: &InvertedIndexReader,
        term: &Term,
    ) -> Result<u32, SearchError> {
        let Some(info) = inverted.get_term_info(term)? else { return Ok(0) };
        if segment.reader.num_deleted_docs() == 0 {
            return Ok(info.doc_freq);
        }
        let mut postings = inverted.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
        let mut count = 0;
        while postings.doc() != TERMINATED {
            count += u32::from(!segment.reader.is_deleted(postings.doc()));
            self.pace.step(1)?;
            postings.advance();
        }
        Ok(count)
    }
}

/// Returns the types of a file, and its functions that are not members: those with the least indentation.
fn outer(record: &StoredFile) -> impl Iterator<Item = &RecordSymbol> {
    let functions = || record.symbols.iter().filter(|it| it.kind == DefinitionKind::Function);
    let least = functions().map(|symbol| symbol.indent).min();
    let has_type = record.symbols.iter().any(|it| it.kind == DefinitionKind::Type);
    record.symbols.iter().filter(move |symbol| match symbol.kind {
        DefinitionKind::Type => true,
        DefinitionKind::Function => Some(symbol.indent) == least && (symbol.indent == 0 || !has_type),
        DefinitionKind::Module => symbol.indent == 0 && !has_type && least.is_none(),
        _ => false,
    })
}

/// Values a definition by its uses. A name in many files means less if many files define it. This is measured
/// by words: a single word is also a part of other names, and as a function it may be a method of any type.
fn value(kind: DefinitionKind, is_compound: bool, used_by: u32, defining: u32) -> f64 {
    let (used_by, defining) = (f64::from(used_by), f64::from(defining));
    match (kind, is_compound) {
        (_, true) => used_by / defining,
        (DefinitionKind::Function, false) => used_by / defining * SINGLE_WORD_FUNCTION,
        (_, false) => used_by / defining.sqrt(),
    }
}

fn is_entry(file: &MappedFile) -> bool {
    let name = file.path.file_name();
    let bare = name.split(|&byte| byte == b'.').next().unwrap_or(name);
    ENTRIES.iter().any(|entry| str::as_bytes(entry) == bare)
}
