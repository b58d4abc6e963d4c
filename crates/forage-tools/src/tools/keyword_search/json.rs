//! Parses an answer in JSON. We accept the requested schema and similar ones: an object with the list, the
//! list alone, a map from names to reasons, or an object on each line.
//!
//! This uses a JSON parser, so that nothing within a string can be mistaken for structure.

use std::ops::RangeInclusive;

use serde_json::{Deserializer, Map, Value};

use super::answer::{Ambiguous, LineRange, PartialParse, SelectedFile};
use super::list;
use super::names::FileNames;
use crate::limits;

/// Keys under which the list may be.
const LISTS: [&str; 6] = ["files", "relevant_files", "relevant", "results", "result", "answer"];
/// The start of the object that the prompts ask for.
const ASKED: &str = "{\"files\":";
/// Keys of a file's id or path.
const NAMES: [&str; 8] = ["id", "file_id", "path", "file", "file_path", "filename", "file_name", "name"];
/// Keys of a reason.
const REASONS: [&str; 5] = ["why", "reason", "explanation", "relevance_explanation", "relevance"];

/// The files that a JSON value names.
#[derive(Default)]
struct Records {
    kept: Vec<SelectedFile>,
    dropped: usize,
    /// True if the list is empty or marks files as not relevant.
    leaves_out: bool,
    /// True for the object of a single file, without a list around it.
    is_single: bool,
}

/// Parses the JSON values at the start or the end of a line. Also returns the text around them.
pub(super) fn read(text: &str, names: &FileNames<'_>) -> Result<(PartialParse, String), Ambiguous> {
    let (mut reading, mut found) = (PartialParse::default(), None::<Records>);
    let (mut rest, mut from, mut at, mut failed) = (String::with_capacity(text.len()), 0, 0, 0);
    for line in text.split_inclusive('\n') {
        let column = line.find(['{', '[']).filter(|column| list::untagged(&line[..*column]).is_empty());
        // Words may precede the requested object, but they must not name a file.
        let asked = || line.find(ASKED).filter(|column| names.mentioned(&line[..*column]).is_empty());
        let begin = column.or_else(asked).map(|column| at + column);
        at += line.len();
        let is_tried = |begin: &usize| *begin >= from && failed < limits::ANSWER_BEGINNINGS;
        let Some(begin) = begin.filter(is_tried) else { continue };
        let json = &text[begin..];
        let Some((value, length, is_cut)) = value_at(json, column.is_none()) else {
            failed += 1;
            continue;
        };
        let Some(records) = records(&value, names) else {
            // Unknown keys may say anything about the files, so we must not read these lines as a list.
            if !names.mentioned(&json[..length]).is_empty() {
                return Err(Ambiguous);
            }
            continue;
        };
        rest.push_str(&text[from..begin]);
        from = begin + length;
        // A value that one of the files contains is a quotation, not an answer.
        let is_quoted = !records.kept.is_empty() && names.contains_text(&json[..length]);
        if is_quoted || records.kept.is_empty() && !records.leaves_out {
            continue;
        }
        reading.cut |= is_cut;
        match &mut found {
            None => found = Some(records),
            // An answer may have an object for each file, without a list.
            Some(known) if known.is_single && records.is_single => {
                known.kept.extend(records.kept);
                known.leaves_out |= records.leaves_out;
            }
            Some(known) if known.kept == records.kept => {}
            Some(_) => return Err(Ambiguous),
        }
    }
    rest.push_str(&text[from..]);
    reading.dropped = found.as_ref().map_or(0, |records| records.dropped);
    reading.kept = found.map(|records| records.kept);
    Ok((reading, rest))
}

/// Parses the value at the start of a text. Returns the value, its length, and true if it was truncated, so
/// that we had to close it. A list must end its line, because `[1] src/a.rs` begins with a list marker. A
/// value after words must end its line, too, because a sentence that continues may be about this value.
fn value_at(text: &str, after_words: bool) -> Option<(Value, usize, bool)> {
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    match stream.next()? {
        Ok(value) => {
            let length = stream.byte_offset();
            let after = text[length..].lines().next().unwrap_or_default();
            (value.is_object() && !after_words || list::untagged(after).is_empty())
                .then_some((value, length, false))
        }
        Err(error) if error.is_eof() => {
            // All entries before the truncated one are complete.
            let ends = text.rmatch_indices('}').take(limits::ANSWER_REPAIRS);
            let closed = |(end, _): (usize, &str)| {
                let close = |marks: &str| serde_json::from_str(&format!("{}{marks}", &text[..=end])).ok();
                close("]}").or_else(|| close("]"))
            };
            ends.filter_map(closed).next().map(|value| (value, text.len(), true))
        }
        Err(_) => None,
    }
}

/// Collects the files of a value. Returns `None` if it has no list of files.
fn records(value: &Value, names: &FileNames<'_>) -> Option<Records> {
    let mut records = Records::default();
    match value {
        Value::Array(items) => {
            records.leaves_out = items.is_empty();
            items.iter().for_each(|item| records.take(item, names));
        }
        Value::Object(fields) => {
            let list = LISTS.iter().find_map(|key| fields.get(*key));
            if let Some(list @ (Value::Array(_) | Value::Object(_))) = list {
                return self::records(list, names);
            }
            if NAMES.iter().any(|key| fields.contains_key(*key)) {
                records.is_single = true;
                records.take_entry(fields, names);
            } else {
                for (name, about) in fields {
                    records.take_entry(&named(name, about)?, names);
                }
            }
        }
        _ => return None,
    }
    Some(records)
}

/// Builds the entry for a name in a map. The map's value is a reason, or has the other fields.
fn named(name: &str, about: &Value) -> Option<Map<String, Value>> {
    let reason = || Some(Map::from_iter([("why".to_owned(), about.as_str()?.into())]));
    let mut entry = about.as_object().cloned().or_else(reason)?;
    entry.insert("name".to_owned(), name.into());
    Some(entry)
}

impl Records {
    fn take(&mut self, item: &Value, names: &FileNames<'_>) {
        let entry = item.as_str().and_then(|text| list::entry(text, names));
        match (item, entry.filter(|entry| !entry.is_quotation(names))) {
            (Value::Object(fields), _) => self.take_entry(fields, names),
            (_, Some(entry)) if entry.grade == Some(0) => self.leaves_out = true,
            (_, Some(entry)) => {
                self.kept.push(SelectedFile::new(entry.file, entry.words, entry.grade, names));
            }
            (name, None) => match file_of(name, names) {
                Some(file) => self.kept.push(SelectedFile::new(file, "", None, names)),
                None => self.dropped += 1,
            },
        }
    }

    fn take_entry(&mut self, fields: &Map<String, Value>, names: &FileNames<'_>) {
        let files: Vec<usize> = NAMES.iter().filter_map(|key| file_of(fields.get(*key)?, names)).collect();
        // If there are an id and a path, both must belong to the same file.
        let Some(&file) = files.first().filter(|file| files.iter().all(|other| other == *file)) else {
            self.dropped += 1;
            return;
        };
        let grade = fields.get("grade").and_then(amount).map(|grade| grade.min(list::MAX_GRADE.into()) as u8);
        let why = REASONS.iter().find_map(|key| fields.get(*key)?.as_str()).unwrap_or_default();
        let why = why.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if grade == Some(0) || fields.get("relevant") == Some(&Value::Bool(false)) {
            self.leaves_out = true;
        } else if !why.is_empty() && names.contains_text(&Value::Object(fields.clone()).to_string()) {
            self.dropped += 1;
        } else {
            let kept = SelectedFile::new(file, &why, grade, names);
            let shown = names.block(file).map(|block| &*block.shown).unwrap_or_default();
            let ranges = if names.by_id() { ranges(fields.get("ranges"), shown) } else { Vec::new() };
            self.kept.push(SelectedFile { ranges, ..kept });
        }
    }
}

/// Finds the file with a name or an id.
fn file_of(name: &Value, names: &FileNames<'_>) -> Option<usize> {
    let Some(name) = name.as_str() else { return names.file_by_id(name.as_u64()?) };
    let entry = list::entry(name, names).filter(|entry| entry.words.is_empty());
    entry.map(|entry| entry.file).or_else(|| names.file_by_id(name.trim().parse().ok()?))
}

/// Parses a whole number. Some models write it as a string.
fn amount(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Parses the ranges of an entry. We keep the parts within displayed lines. A range that has no such part is
/// kept whole, and marked as not shown.
fn ranges(value: Option<&Value>, shown: &[RangeInclusive<u64>]) -> Vec<LineRange> {
    let Some(Value::Array(items)) = value else { return Vec::new() };
    let pair = |item: &Value| {
        let ends = item.as_array()?;
        let first = amount(ends.first()?)?;
        Some((first, ends.get(1).and_then(amount).unwrap_or(first)))
    };
    let mut found: Vec<LineRange> = Vec::new();
    for (first, last) in items.iter().filter_map(pair).take(limits::ANSWER_RANGES) {
        let (first, last) = (first.min(last).max(1), first.max(last));
        let parts = shown.iter().filter_map(|shown| {
            let (first, last) = (first.max(*shown.start()), last.min(*shown.end()));
            (first <= last).then_some(LineRange { first, last, shown: true })
        });
        let before = found.len();
        found.extend(parts);
        if found.len() == before && last > 0 {
            found.push(LineRange { first, last, shown: false });
        }
    }
    joined(found)
}

/// Sorts ranges and merges those that touch.
fn joined(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
    ranges.sort_by_key(|range| (!range.shown, range.first, range.last));
    let mut joined: Vec<LineRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.shown == range.shown && range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => joined.push(range),
        }
    }
    joined.truncate(limits::ANSWER_RANGES);
    joined
}
