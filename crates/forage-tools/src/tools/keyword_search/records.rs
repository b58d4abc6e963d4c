//! An answer in JSON where lines were asked for: a list of objects, of strings, a map from paths to reasons, or an object on
//! each line. Taken apart by a JSON parser alone, so that nothing within a string passes for structure.

use std::ops::Range;

use serde_json::{Map, Value};

use super::ids::whole_entries;
use super::nothing;
use crate::limits;

/// Keys that the list may have.
const LISTS: [&str; 8] = [
    "files",
    "relevant_files",
    "results",
    "relevant",
    "answer",
    "matches",
    "most_relevant_files",
    "ranked_files",
];
/// Keys that a path may have.
const PATHS: [&str; 9] =
    ["path", "file", "file_path", "filepath", "filename", "file_name", "absolute_path", "name", "id"];
/// Keys that a reason may have.
const REASONS: [&str; 10] = [
    "explanation",
    "why",
    "reason",
    "relevance_explanation",
    "description",
    "summary",
    "rationale",
    "relevance",
    "comment",
    "note",
];

/// What records say.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Where they stand in the text.
    pub(super) place: Range<usize>,
    pub(super) found: Vec<Record>,
    /// The text ends in the middle of them.
    pub(super) cut: bool,
    /// They say in words that nothing is relevant.
    pub(super) says_nothing: bool,
}

/// One file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) path: String,
    pub(super) why: String,
    /// It is named as one that is not relevant.
    pub(super) is_left_out: bool,
}

/// Reads the first records of a text; `None` when there are none. Those that stand in a file so, line by line, are a
/// quotation and passed over.
pub(super) fn read(text: &str, is_said: impl Fn(&str) -> bool) -> Option<Records> {
    let (mut at, mut from, mut tried) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        let begin = at + (line.len() - line.trim_start().len());
        at += line.len();
        if begin < from || !text[begin..].starts_with(['{', '[']) {
            continue;
        }
        tried += 1;
        if tried > limits::ANSWER_BEGINNINGS {
            break;
        }
        let Some(records) = read_from(text, begin) else { continue };
        let mut lines = text[records.place.clone()].lines().filter(|line| !line.trim().is_empty());
        if !lines.all(&is_said) {
            return Some(records);
        }
        from = records.place.end;
    }
    None
}

/// Records that begin here, one value behind the other.
fn read_from(text: &str, at: usize) -> Option<Records> {
    let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    let mut records = Records { place: at..at, ..Records::default() };
    while let Some(Ok(value)) = stream.next() {
        if !take(value, &mut records) {
            break;
        }
        records.place.end = at + stream.byte_offset();
    }
    if records.place.is_empty() {
        // A cut list: its whole entries count.
        let rest = &text[at..];
        let list = rest.find('[').filter(|list| *list < limits::ANSWER_LIST_BYTES)?;
        let entries = whole_entries(&rest[list + 1..]);
        if entries.is_empty() || !take(Value::Array(entries), &mut records) {
            return None;
        }
        (records.place.end, records.cut) = (text.len(), true);
    }
    Some(records)
}

/// Takes a value; false when it is no list of files.
fn take(value: Value, records: &mut Records) -> bool {
    match value {
        Value::Array(items) => {
            let found: Vec<Record> = items.iter().filter_map(record).collect();
            let is_list = found.len() == items.len() || found.len() * 2 > items.len();
            if is_list {
                records.found.extend(found);
            }
            is_list
        }
        Value::Object(mut fields) => {
            for is_list in [Value::is_array, Value::is_object] {
                let key = LISTS.iter().find(|key| fields.get(**key).is_some_and(is_list));
                if let Some(list) = key.and_then(|key| fields.remove(*key)) {
                    return take(list, records);
                }
            }
            if let Some(record) = of_fields(&fields) {
                records.found.push(record);
                return true;
            }
            take_map(&fields, records)
        }
        _ => false,
    }
}

/// `{"/path": "why"}`, or words that say that nothing is relevant.
fn take_map(fields: &Map<String, Value>, records: &mut Records) -> bool {
    if fields.is_empty() {
        return false;
    }
    let texts: Vec<(&String, &str)> =
        fields.iter().filter_map(|(key, value)| Some((key, value.as_str()?))).collect();
    let is_map = texts.len() == fields.len() && fields.keys().all(|key| key.contains(['/', '.']));
    if is_map {
        let record = |(path, why): (&String, &str)| Record {
            path: path.clone(),
            why: why.to_owned(),
            is_left_out: false,
        };
        records.found.extend(texts.into_iter().map(record));
        return true;
    }
    records.says_nothing = texts.iter().any(|(_, text)| nothing::says_nothing(text));
    records.says_nothing
}

fn record(item: &Value) -> Option<Record> {
    match item {
        Value::String(path) => Some(Record { path: path.clone(), why: String::new(), is_left_out: false }),
        Value::Object(fields) => of_fields(fields),
        _ => None,
    }
}

fn of_fields(fields: &Map<String, Value>) -> Option<Record> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)?.as_str());
    let says = |key: &str, no: &[Value]| fields.get(key).is_some_and(|value| no.contains(value));
    let is_left_out = says("relevant", &[Value::Bool(false)])
        || says("is_relevant", &[Value::Bool(false)])
        || says("grade", &[Value::from(0)]);
    Some(Record {
        path: text(&PATHS)?.to_owned(),
        why: one_line(text(&REASONS).unwrap_or_default()),
        is_left_out,
    })
}

/// A text of JSON, in which line feeds are easily written, in one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
