//! An answer in JSON: a list of objects, of names, a map from names to reasons, or an object on each line, with ids or with
//! paths. Taken apart by a JSON parser alone, so that nothing within a string passes for structure, and each entry speaks for
//! the one file that it names.

// fuzz: forage-tools/src/tools/keyword_search/answer.rs fuzz_no_answer_names_a_file_that_was_not_sent
// fuzz: forage-tools/src/tools/keyword_search/ids.rs fuzz_no_answer_yields_what_was_not_shown
// fuzz: forage/src/answer_cache.rs fuzz_an_entry_is_a_miss_or_speaks_of_what_was_asked

use std::ops::Range;

use serde_json::{Map, Value};

use super::answer::{KeptAnswerFile, ParsedAnswer};
use super::names::FileNames;
use super::{exclusion, fences, ids, lines, nothing};
use crate::limits;

/// Keys that the list may have.
const LISTS: [&str; 18] = [
    "files",
    "relevant_files",
    "results",
    "relevant",
    "answer",
    "matches",
    "most_relevant_files",
    "ranked_files",
    "ids",
    "file_ids",
    "relevant_ids",
    "relevant_file_ids",
    "result",
    "output",
    "response",
    "data",
    "items",
    "ranking",
];
/// Keys that an id may have.
const IDS: [&str; 3] = ["id", "file_id", "fileId"];
/// Keys that a path may have.
const PATHS: [&str; 8] =
    ["path", "file", "file_path", "filepath", "filename", "file_name", "absolute_path", "name"];
/// Keys that a reason may have.
const REASONS: [&str; 12] = [
    "why",
    "explanation",
    "reason",
    "relevance_explanation",
    "reasoning",
    "description",
    "summary",
    "rationale",
    "justification",
    "relevance",
    "comment",
    "note",
];

/// Letters and digits of JSON that stands in a file by no chance.
const QUOTATION_LETTERS: usize = 8;

/// What JSON in a text says.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Where it stands.
    pub(super) place: Range<usize>,
    pub(super) parsed: ParsedAnswer,
    /// It says that nothing is relevant, or of each file that it is not.
    pub(super) says_nothing: bool,
    /// It is one entry without a list around it.
    is_single: bool,
}

/// What JSON is in a text.
pub(super) enum JsonInText {
    /// None that says something of files that were sent. The places of JSON that says something of others, or that is a
    /// quotation, and how much that is.
    Nothing(Vec<Range<usize>>, usize),
    One(Records),
    /// Two that differ: there is no telling which is the answer.
    Several,
}

/// Reads the JSON of a text. What begins a line counts for more than what stands within one, which is mostly a quotation;
/// where there is lines' text to read, that comes between them.
pub(super) fn read(text: &str, names: &FileNames<'_>) -> JsonInText {
    let (mut at, mut begins) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let begin = line.find(['{', '[']).filter(|begin| is_label(&line[..*begin]));
        begins.extend(begin.map(|begin| at + begin));
        at += line.len();
    }
    found(text, &begins, names)
}

/// Reads JSON that begins within a line, and of which the words before do not say that a file has it.
pub(super) fn read_within_lines(text: &str, names: &FileNames<'_>) -> JsonInText {
    let (mut at, mut begins) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let begin = line.find(['{', '[']).filter(|begin| {
            let before = line[..*begin].trim_end_matches([':', ' ', '`']);
            !is_label(&line[..*begin]) && !fences::attributes(&format!("{before}:"))
        });
        begins.extend(begin.map(|begin| at + begin));
        at += line.len();
    }
    found(text, &begins, names)
}

/// Whether nothing stands before JSON in its line, or a word such as `Answer:`.
fn is_label(before: &str) -> bool {
    let before = before.trim();
    before.is_empty()
        || before.ends_with(':') && before.len() <= limits::ANSWER_LABEL_BYTES && !fences::attributes(before)
}

/// What begins at these places.
fn found(text: &str, begins: &[usize], names: &FileNames<'_>) -> JsonInText {
    let (mut from, mut found) = (0, None::<Records>);
    let (mut empty, mut dropped) = (Vec::new(), 0);
    // The last ones: the answer comes behind the talk.
    for &begin in &begins[begins.len().saturating_sub(limits::ANSWER_BEGINNINGS)..] {
        // Nothing within an object is another answer.
        if begin < from {
            continue;
        }
        let Some(records) = read_from(text, begin, names) else { continue };
        from = records.place.end;
        if !records.says_something() {
            dropped += records.parsed.dropped;
            empty.push(records.place);
            continue;
        }
        match &mut found {
            None => found = Some(records),
            Some(known) if known.is_single && records.is_single => known.append(records),
            Some(known) if known.is_repeated_by(&records) => {}
            Some(_) => return JsonInText::Several,
        }
    }
    found.map_or(JsonInText::Nothing(empty, dropped), JsonInText::One)
}

impl Records {
    fn append(&mut self, other: Self) {
        self.place.end = other.place.end;
        self.parsed.dropped += other.parsed.dropped;
        self.says_nothing |= other.says_nothing;
        other.parsed.kept.into_iter().for_each(|kept| self.parsed.keep(kept));
    }

    fn is_repeated_by(&self, other: &Self) -> bool {
        let (known, new) = (&self.parsed.kept, &other.parsed.kept);
        known == new || other.parsed.cut && known.starts_with(new)
    }

    fn says_something(&self) -> bool {
        self.says_nothing || !self.parsed.kept.is_empty()
    }
}

/// Records that begin here, one value behind the other; `None` for other JSON, or none. What stands in a file so is a
/// quotation, of which nothing is taken.
fn read_from(text: &str, at: usize, names: &FileNames<'_>) -> Option<Records> {
    let rest = &text[at..];
    let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let mut records = Records { place: at..at, ..Records::default() };
    let mut is_cut = false;
    loop {
        let begin = stream.byte_offset();
        let value = match stream.next() {
            Some(Ok(value)) => value,
            end => {
                is_cut = matches!(end, Some(Err(error)) if error.is_eof());
                break;
            }
        };
        let end = stream.byte_offset();
        // `[1] src/a.rs` is a mark.
        let is_whole = value.is_object() || has_objects(&value) || ends_line(&rest[end..]);
        let mut next = Records { place: at..at + end, ..Records::default() };
        if is_whole && value.is_object() && is_said(&rest[begin..end], names) {
            next.parsed.dropped = 1;
        } else if !is_whole || !next.take(value, names) {
            break;
        }
        match (records.place.is_empty(), next.is_single) {
            (true, _) => records = next,
            (false, true) => records.append(next),
            (false, false) => break,
        }
        // Entries on lines of their own belong together, lists do not.
        if !records.is_single {
            break;
        }
    }
    if records.place.is_empty() {
        // A list that is cut, or has an error in it: its whole entries count.
        let list = rest.find('[').filter(|list| *list < limits::ANSWER_LIST_BYTES)?;
        let (entries, length) = whole_entries(&rest[list + 1..], is_cut);
        if entries.is_empty() || !records.take_list(&entries, names) {
            return None;
        }
        let is_answer = !records.parsed.kept.is_empty();
        records.place.end = if is_answer { text.len() } else { at + list + 1 + length };
        (records.parsed.cut, records.says_nothing) = (true, false);
    }
    (!records.place.is_empty()).then_some(records)
}

/// Whether a file says this, which is more than an id or an empty list.
fn is_said(json: &str, names: &FileNames<'_>) -> bool {
    let value = json.chars().filter(|c| c.is_alphanumeric()).count();
    value >= QUOTATION_LETTERS && names.is_said(json)
}

/// Whether nothing but white space and marks of code stands before the next line.
fn ends_line(rest: &str) -> bool {
    rest.trim_start_matches([' ', '\t', ',', ';', '`', '\r']).chars().next().is_none_or(|c| c == '\n')
}

fn has_objects(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_object))
}

/// The entries up to the first that is not whole, and where they end; names alone only where the text ends behind them.
fn whole_entries(text: &str, is_cut: bool) -> (Vec<Value>, usize) {
    let (mut rest, mut items) = (text, Vec::new());
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(item)) if item.is_object() || is_cut && item.is_string() => items.push(item),
            _ => return (items, text.len() - rest.len()),
        }
        rest = &rest[stream.byte_offset()..];
    }
}

impl Records {
    /// Takes a value; false when it is no list of files.
    fn take(&mut self, value: Value, names: &FileNames<'_>) -> bool {
        match value {
            Value::Array(items) => self.take_list(&items, names),
            Value::Object(mut fields) => {
                for is_list in [Value::is_array, Value::is_object] {
                    let key = LISTS.iter().find(|key| fields.get(**key).is_some_and(is_list));
                    if let Some(list) = key.and_then(|key| fields.remove(*key)) {
                        return self.take(list, names);
                    }
                }
                if is_entry(&fields) {
                    self.is_single = true;
                    self.take_entry(&fields, names);
                    return true;
                }
                self.take_map(&fields, names)
            }
            _ => false,
        }
    }

    fn take_list(&mut self, items: &[Value], names: &FileNames<'_>) -> bool {
        let is_name = |item: &Value| match item {
            Value::Object(fields) => is_entry(fields),
            Value::Number(_) => names.by_id(),
            item => item.is_string(),
        };
        let named = items.iter().filter(|item| is_name(item)).count();
        if named < items.len() && named * 2 <= items.len() {
            return false;
        }
        self.says_nothing |= items.is_empty();
        for item in items {
            match item {
                Value::Object(fields) => self.take_entry(fields, names),
                Value::String(text) if nothing::says_nothing(text) => self.says_nothing = true,
                Value::String(text) => self.take_text(text, names),
                item => {
                    let file = item.as_u64().and_then(|id| names.of_id(id));
                    self.keep(file.map(|file| KeptAnswerFile::new(file, "", None, names)));
                }
            }
        }
        true
    }

    /// A name, or a name with its reason behind it.
    fn take_text(&mut self, text: &str, names: &FileNames<'_>) {
        let Some(named) = lines::named(text, names) else {
            return self.keep(of_text(text, names).map(|file| KeptAnswerFile::new(file, "", None, names)));
        };
        if exclusion::says_not(named.words) || named.grade == Some(0) {
            self.says_nothing = true;
        } else if named.words.is_empty() || !names.is_said(text) {
            let kept = |&file: &usize| KeptAnswerFile::new(file, named.words, named.grade, names);
            named.files.iter().for_each(|file| self.keep(Some(kept(file))));
        } else {
            self.keep(None);
        }
    }

    fn take_entry(&mut self, fields: &Map<String, Value>, names: &FileNames<'_>) {
        let text = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)?.as_str());
        let Some(file) = file_of(fields, names) else { return self.keep(None) };
        let why = one_line(text(&REASONS).unwrap_or_default());
        let grade = ["grade", "score"].iter().find_map(|key| ids::grade(fields.get(*key)?));
        let says_no =
            ["relevant", "is_relevant"].iter().any(|key| fields.get(*key) == Some(&Value::Bool(false)));
        let is_graded_out = fields.get("grade").and_then(ids::grade) == Some(0);
        if says_no || is_graded_out || exclusion::says_not(&why) {
            self.says_nothing = true;
        } else if !why.is_empty() && names.is_said(&Value::Object(fields.clone()).to_string()) {
            // What stands so in a file is the file's word.
            self.keep(None);
        } else {
            let kept = KeptAnswerFile::new(file, &why, grade, names);
            let shown = names.block(file).map(|block| &*block.shown).unwrap_or_default();
            let ranges = if names.by_id() { ids::ranges(fields.get("ranges"), shown) } else { Vec::new() };
            self.keep(Some(KeptAnswerFile { ranges, ..kept }));
        }
    }

    /// `{"/path": "why"}`, `{"F7": 3}`, `{"F7": {…}}`, or words that say that nothing is relevant.
    fn take_map(&mut self, fields: &Map<String, Value>, names: &FileNames<'_>) -> bool {
        let is_name = |key: &String| key.contains(['/', '.']) || names.by_id() && ids::number(key).is_some();
        if fields.is_empty() {
            return false;
        }
        if !fields.keys().all(is_name) {
            let texts = || fields.values().filter_map(Value::as_str);
            self.says_nothing |= texts().any(nothing::says_nothing);
            return self.says_nothing;
        }
        for (key, value) in fields {
            let mut entry = match value {
                Value::Object(fields) => fields.clone(),
                Value::Number(_) => Map::from_iter([("grade".to_owned(), value.clone())]),
                Value::Bool(_) => Map::from_iter([("relevant".to_owned(), value.clone())]),
                value => Map::from_iter([("why".to_owned(), value.clone())]),
            };
            let name = if names.by_id() { "id" } else { "path" };
            entry.shift_insert(0, name.to_owned(), Value::String(key.clone()));
            self.take_entry(&entry, names);
        }
        true
    }

    fn keep(&mut self, kept: Option<KeptAnswerFile>) {
        match kept {
            Some(kept) => self.parsed.keep(kept),
            None => self.parsed.dropped += 1,
        }
    }
}

/// Whether an object is about a file.
fn is_entry(fields: &Map<String, Value>) -> bool {
    let is_name = |key: &&str| fields.get(*key).is_some_and(|value| value.is_string() || value.is_u64());
    IDS.iter().chain(&PATHS).any(is_name)
}

/// The file of an entry, by its id and by its path, which must not be of two files.
fn file_of(fields: &Map<String, Value>, names: &FileNames<'_>) -> Option<usize> {
    let id = IDS.iter().find_map(|key| fields.get(*key).filter(|id| !id.is_null()));
    let path = PATHS.iter().find_map(|key| fields.get(*key)?.as_str());
    let by_path = path.and_then(|path| of_text(path, names));
    let by_id = match id {
        Some(Value::String(id)) => of_text(id, names),
        Some(id) => id.as_u64().and_then(|id| names.of_id(id)),
        None => return by_path,
    };
    match (by_id, by_path) {
        (Some(by_id), Some(by_path)) => (by_id == by_path).then_some(by_id),
        // Where ids were not asked for, one is a number in a list.
        (None, by_path) if !names.by_id() => by_path,
        (by_id, _) => by_id,
    }
}

/// The file of a name alone.
fn of_text(name: &str, names: &FileNames<'_>) -> Option<usize> {
    let by_id = ids::number(name).and_then(|id| names.of_id(id));
    by_id.or_else(|| lines::of_path(name, names))
}

/// A text of JSON, in which line feeds are easily written, in one line.
fn one_line(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
