//! Edits TOML and YAML. The entry is a block of lines between two marks, at the end of the file or of its
//! section.
//!
//! We never reformat existing lines. Each edit is checked with the format's own parser: the file is parsed
//! before and after, and the edit is refused if anything but the entry has changed. We can't use `toml_edit`
//! here, because the original bytes could not be restored. It rewrites `\r\n` as `\n` and ends every file
//! with a newline.

use std::ops::Range;

use serde_json::{Value, json};
use toml::de::DeTable;

use super::{EntryLocation, FileContents, FileFormat, SetupRefusal, contents, marked, newline};

const BOM: char = '\u{feff}';

/// Maximum product of a YAML file's bytes and its brackets. Since libyaml checks every open bracket for each
/// token, parsing time grows with this product. It takes about 2 s at this limit.
const MAX_YAML_WORK: usize = 1 << 30;

impl FileFormat {
    fn parse(self, text: &str) -> Result<Value, SetupRefusal> {
        let text = text.trim_start_matches(BOM);
        let refuse = |name: &str, problem: &str, line: usize| {
            SetupRefusal::new(format!("it is not valid {name}{problem}, line {line}"))
        };
        if self == Self::Toml {
            return toml::from_str(text).map_err(|error| {
                let start = error.span().map_or(0, |span| span.start);
                refuse("TOML", &format!(": {}", error.message()), text[..start].matches('\n').count() + 1)
            });
        }
        let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
        if text.len().saturating_mul(brackets) > MAX_YAML_WORK {
            return Err(SetupRefusal::new(format!("it has {brackets} brackets, too many to parse in time")));
        }
        // Don't show the parser's own message, which may contain a value.
        let parsed: Value = serde_yaml_ng::from_str(text)
            .map_err(|error| refuse("YAML", "", error.location().map_or(1, |place| place.line())))?;
        Ok(if parsed.is_null() { json!({}) } else { parsed })
    }

    /// Formats the entry as lines. For YAML, `with_section` puts the lines of a section around it.
    pub(super) fn lines(self, spot: EntryLocation<'_>, value: &Value, with_section: bool) -> Vec<String> {
        if self == Self::Toml {
            let text = toml::to_string(&json!({ spot.section: { spot.name: value } })).unwrap_or_default();
            return text.lines().map(str::to_owned).collect();
        }
        // Every JSON value is also valid YAML.
        let fields = value.as_object().into_iter().flatten().map(|(key, value)| format!("{key}: {value}"));
        let mut lines: Vec<String> = if spot.is_list {
            let mark = |index| if index == 0 { "- " } else { "  " };
            fields.enumerate().map(|(index, field)| mark(index).to_owned() + &field).collect()
        } else {
            [format!("{}:", spot.name)].into_iter().chain(fields.map(|it| format!("  {it}"))).collect()
        };
        if with_section {
            lines.iter_mut().for_each(|line| line.insert_str(0, "  "));
            lines.insert(0, section_line(spot));
        }
        lines
    }

    /// Reads the servers from a file without changing it.
    pub(super) fn inspect(self, text: &str, spot: EntryLocation<'_>) -> Result<FileContents, SetupRefusal> {
        contents(&self.parse(text)?, spot)
    }

    /// Adds the entry to the text, or updates it if there is one.
    pub(super) fn add(
        self,
        text: &str,
        spot: EntryLocation<'_>,
        value: &Value,
    ) -> Result<String, SetupRefusal> {
        let before = self.parse(text)?;
        let found = contents(&before, spot)?;
        let is_in_section = self == Self::Yaml && found.has_section;
        let added = match marked::find(text)? {
            Some(block) => {
                if found.entry.is_none() && block.lines.iter().any(|line| !line.trim().is_empty()) {
                    return Err(SetupRefusal::new(
                        "the lines between its marks were changed; move your own out of the marks".to_owned(),
                    ));
                }
                let with_section = !is_in_section || block.lines.contains(&section_line(spot));
                let lines = self.lines(spot, value, with_section);
                let new = |lines: &[String]| marked::marked(lines, &block.indent, newline(text));
                let whole = marked::replace(text, &block, &new(&lines));
                let updated = match (self, found.entry.as_ref()) {
                    (Self::Toml, _) => updated(text, spot, value),
                    (_, Some(entry)) => {
                        let old = self.lines(spot, entry, with_section);
                        merged(&block, &old, &lines).map(|lines| marked::replace(text, &block, &new(&lines)))
                    }
                    (_, None) => None,
                };
                [updated, Some(whole).filter(|_| notes(&block).is_empty())]
            }
            None if found.entry.is_some() => {
                return Err(SetupRefusal::new(format!(
                    "it already has an entry `{}` without the marks `{}`; rename or remove it",
                    spot.name,
                    marked::BEGIN
                )));
            }
            None if is_in_section => [in_section(text, spot, &self.lines(spot, value, false)), None],
            None => [Some(marked::append(text, &self.lines(spot, value, true), "")?), None],
        };
        let mut added = added.into_iter().flatten();
        added.find(|added| self.is_right(before.clone(), added, spot, Some(value))).ok_or_else(|| {
            let section = spot.section;
            SetupRefusal::new(format!("its `{section}` is written in a way that Forage can't add to"))
        })
    }

    /// Removes the entry from the text. Returns `None` if we created the file for it.
    pub(super) fn remove(self, text: &str, spot: EntryLocation<'_>) -> Result<Option<String>, SetupRefusal> {
        let before = self.parse(text)?;
        let Some(block) = marked::find(text)? else {
            return Err(SetupRefusal::new(format!(
                "its entry `{}` has no marks `{}`: another program wrote it, or removed the comments",
                spot.name,
                marked::BEGIN
            )));
        };
        // The section line must stay if other entries now follow the block.
        let section = section_line(spot);
        let notes = notes(&block).join(newline(text));
        let rests = match notes.is_empty() {
            true => [marked::take_out(text, &block.range), Some(marked::replace(text, &block, &section))],
            false => [
                Some(marked::replace(text, &block, &notes)),
                Some(marked::replace(text, &block, &format!("{section}{}{notes}", newline(text)))),
            ],
        };
        let is_right = |rest: &Option<String>| {
            self.is_right(before.clone(), rest.as_deref().unwrap_or_default(), spot, None)
        };
        // The user or the client may have added tables of the entry elsewhere. These must go too, or they
        // would form an entry without a command.
        let has_tables = self == Self::Toml;
        let without_tables: Vec<Option<String>> = match has_tables {
            true => rests.iter().flatten().map(|rest| Some(without_tables(rest, spot))).collect(),
            false => Vec::new(),
        };
        rests.into_iter().chain(without_tables).find(is_right).ok_or_else(|| {
            SetupRefusal::new(
                "the lines between its marks were changed; move your own out of the marks".to_owned(),
            )
        })
    }

    /// Returns true if `text` has this entry and otherwise means the same as before.
    fn is_right(self, mut before: Value, text: &str, spot: EntryLocation<'_>, value: Option<&Value>) -> bool {
        take(&mut before, spot);
        self.parse(text).is_ok_and(|mut after| take(&mut after, spot).as_ref() == value && after == before)
    }
}

/// Collects the comments between the marks. Forage writes none, so they are the user's.
fn notes(block: &marked::MarkedBlock) -> Vec<&str> {
    block.lines.iter().map(String::as_str).filter(|line| line.trim_start().starts_with('#')).collect()
}

/// Replaces the YAML fields `old` of a block with `new`, and keeps all other lines. Returns `None` if the
/// user has rewritten one of the old fields, so that it can't be found.
fn merged(block: &marked::MarkedBlock, old: &[String], new: &[String]) -> Option<Vec<String>> {
    let key = |line: &str| line.split(": ").next().unwrap_or_default().to_owned();
    let bare = |line: &String| line.strip_prefix(block.indent.as_str()).unwrap_or(line).to_owned();
    let lines: Vec<String> = block.lines.iter().map(bare).collect();
    marked::others(&lines, old)?;
    let (mut rest, mut merged, mut end) = (old.iter().peekable(), Vec::new(), 0);
    for line in lines {
        match rest.next_if_eq(&&line) {
            None => merged.push(line),
            Some(own) => {
                merged.extend(new.iter().find(|new| key(new) == key(own)).cloned());
                end = merged.len();
            }
        }
    }
    let added = new.iter().filter(|new| !old.iter().any(|old| key(old) == key(new)));
    merged.splice(end..end, added.cloned());
    Some(merged)
}

fn section_line(spot: EntryLocation<'_>) -> String {
    format!("{}:", spot.section)
}

/// Inserts the block at the end of its section in a YAML text.
fn in_section(text: &str, spot: EntryLocation<'_>, lines: &[String]) -> Option<String> {
    let (mut at, mut end, mut indent) = (0, None, None);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let code = line.trim();
        let depth = line.len() - line.trim_start_matches(' ').len();
        if end.is_none() {
            let rest = line.trim_start_matches(BOM).strip_prefix(&section_line(spot));
            end = rest.filter(|rest| rest.trim().is_empty() || rest.starts_with(" #")).map(|_| at);
        // In YAML, the elements of a list may have the same indentation as its key.
        } else if !code.is_empty() && (depth > 0 || spot.is_list && code.starts_with('-')) {
            end = Some(at);
            indent = indent.or((!code.starts_with('#')).then_some(depth));
        } else if !code.is_empty() && !code.starts_with('#') {
            break;
        }
    }
    let (before, after) = text.split_at(end?);
    let added = marked::append(before, lines, &" ".repeat(indent.unwrap_or(2))).ok()?;
    Some(added + after)
}

/// Updates the entry in a TOML text field by field, so that the user's comments stay.
fn updated(text: &str, spot: EntryLocation<'_>, value: &Value) -> Option<String> {
    let body = text.trim_start_matches(BOM);
    let file = DeTable::parse(body).ok()?;
    let [section, name] = [spot.section, spot.name];
    let entry = file.get_ref().get(section)?.get_ref().as_table()?.get(name)?.get_ref().as_table()?;
    let (old, new) = (&FileFormat::Toml.parse(body).ok()?[section][name], value.as_object()?);
    let line_end = |at: usize| body[at..].find('\n').map_or(body.len(), |length| at + length + 1);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut end = None;
    for (key, field) in entry {
        let (span, name) = (field.span(), key.get_ref().as_ref());
        if !field.get_ref().is_table() {
            end = end.max(Some(line_end(span.end)));
        }
        match new.get(name) {
            Some(value) if *value == old[name] => {}
            Some(value) => edits.push((span, toml::Value::try_from(value).ok()?.to_string())),
            None => {
                let start = body[..key.span().start].rfind('\n').map_or(0, |newline| newline + 1);
                edits.push((start..line_end(span.end), String::new()));
            }
        }
    }
    for (key, value) in new.iter().filter(|(key, _)| old.get(key).is_none()) {
        let line = toml::to_string(&json!({ key: value })).ok()?;
        edits.push((end?..end?, line.replace('\n', newline(text))));
    }
    // Apply the edits from the end of the text, so that the ranges of the others stay valid.
    edits.sort_by_key(|(range, _)| range.start);
    let mut edited = text.to_owned();
    let bom = text.len() - body.len();
    for (range, new) in edits.into_iter().rev() {
        edited.replace_range(range.start + bom..range.end + bom, &new);
    }
    Some(edited)
}

/// Removes all tables of the entry from a TOML text. Each one is cut from its header to its last line that is
/// neither blank nor a comment.
fn without_tables(text: &str, spot: EntryLocation<'_>) -> String {
    let is_of_entry = |line: &str| {
        let path = line.trim_start().trim_start_matches('[');
        let mut names = path.split(['.', ']']).map(|name| name.trim().trim_matches(['"', '\'']));
        names.next() == Some(spot.section) && names.next() == Some(spot.name)
    };
    let (mut kept, mut pending, mut is_left_out) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        if code.starts_with('[') {
            let was_left_out = is_left_out;
            is_left_out = is_of_entry(code);
            if is_left_out && !was_left_out {
                // The empty line before a table goes with it.
                kept.truncate(marked::without_empty_line(&kept).len());
            }
        }
        if !is_left_out {
            kept.push_str(&pending);
            pending.clear();
            kept.push_str(line);
        } else if code.is_empty() || code.starts_with('#') {
            // This line belongs to the next table, unless the current one continues after it.
            pending.push_str(line);
        } else {
            pending.clear();
        }
    }
    kept + &pending
}

/// Removes the entry from a parsed file, and also its section if that becomes empty.
fn take(file: &mut Value, spot: EntryLocation<'_>) -> Option<Value> {
    let section = file.get_mut(spot.section)?;
    let entry = match &mut *section {
        Value::Object(entries) => entries.shift_remove(spot.name),
        Value::Array(items) => {
            let index = items.iter().position(|item| item["name"] == spot.name);
            index.map(|index| items.remove(index))
        }
        _ => None,
    };
    if section.is_null() || *section == json!({}) || *section == json!([]) {
        file.as_object_mut()?.shift_remove(spot.section);
    }
    entry
}
