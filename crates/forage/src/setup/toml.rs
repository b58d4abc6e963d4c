//! TOML: a table between marks at the end of the file. The parser of `toml` says before and after what the file means.
//! What is between the marks is written as lines, without `toml_edit`: a block goes in and out whole, so that no other
//! byte of the file is touched.

use serde_json::Value;
use toml::Table;

use super::jsonc::{JsoncContents, Spot};
use super::{SetupRefusal, marked};

fn parse(text: &str) -> Result<Table, SetupRefusal> {
    text.trim_start_matches('\u{feff}').parse().map_err(|error: toml::de::Error| {
        SetupRefusal::new(format!("it is not valid TOML: {}", error.message()))
    })
}

pub(super) fn inspect(text: &str, spot: Spot<'_>) -> Result<JsoncContents, SetupRefusal> {
    let table = parse(text)?;
    let Some(section) = table.get(spot.section) else { return Ok(JsoncContents::default()) };
    let section = section
        .as_table()
        .ok_or_else(|| SetupRefusal::new(format!("`{}` in it is not a table", spot.section)))?;
    let entry = section.get(spot.name).map(|entry| serde_json::to_value(entry).unwrap_or_default());
    let neighbours = section.keys().filter(|key| *key != spot.name).cloned().collect();
    Ok(JsoncContents { entry, neighbours, has_section: true })
}

/// The lines of the table.
pub(super) fn lines(spot: Spot<'_>, value: &Value) -> Vec<String> {
    [head(spot)].into_iter().chain(value.as_object().into_iter().flatten().map(field)).collect()
}

fn head(spot: Spot<'_>) -> String {
    format!("[{}.{}]", key(spot.section), key(spot.name))
}

fn field((name, value): (&String, &Value)) -> String {
    format!("{} = {}", key(name), literal(value))
}

/// A key as it has to be written: what is no bare key is quoted, as JSON quotes a text.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

/// The lines between the marks with another entry in them: those that say what is to be said stay as they are, and what is
/// no line `key = value` does.
fn updated(present: &[String], spot: Spot<'_>, value: &Value) -> Vec<String> {
    let Some(fields) = value.as_object() else { return present.to_vec() };
    let mut said = Vec::new();
    let mut lines = Vec::new();
    // A table within the entry is a field of its own, which comes behind all others.
    let is_inner = |line: &&String| line.starts_with('[') && **line != head(spot);
    let inner = present.iter().position(|line| is_inner(&line)).unwrap_or(present.len());
    for line in &present[..inner] {
        let parsed = parse(line).ok().filter(|table| table.len() == 1);
        let Some((name, old)) = parsed.and_then(|table| table.into_iter().next()) else {
            lines.push(line.clone());
            continue;
        };
        if old.is_table() && line.starts_with('[') {
            lines.push(line.clone());
            continue;
        }
        let Some(new) = fields.get(&name) else { continue };
        let is_said = serde_json::to_value(&old).is_ok_and(|old| old == *new);
        lines.push(if is_said { line.clone() } else { field((&name, new)) });
        said.push(name);
    }
    let is_missing = |(name, _): &(&String, &Value)| !said.contains(name);
    lines.extend(fields.iter().filter(is_missing).map(field));
    lines.extend(present[inner..].iter().cloned());
    lines
}

/// JSON's texts, numbers and truth values are TOML's, too.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

pub(super) fn add(text: &str, spot: Spot<'_>, value: &Value) -> Result<String, SetupRefusal> {
    let before = parse(text)?;
    let lines = lines(spot, value);
    let added = match marked::find(text)? {
        Some(block) => {
            let has_entry = before.get(spot.section).is_some_and(|section| section.get(spot.name).is_some());
            if !has_entry && block.lines.iter().any(|line| !line.trim().is_empty()) {
                return Err(SetupRefusal::new(
                    "between its marks is something else than Forage wrote".to_owned(),
                ));
            }
            let newline = super::newline(text);
            let end = if text[block.range.clone()].ends_with('\n') { newline } else { "" };
            let with = |lines: &[String]| {
                let new = marked::marked(lines, "", newline) + end;
                format!("{}{new}{}", &text[..block.range.start], &text[block.range.end..])
            };
            // What its user wrote into it, comments too, stays; where that can't be, all of it is written anew.
            let added = with(&updated(&block.lines, spot, value));
            if has_entry && is_right(&before, &added, spot, value) {
                return Ok(added);
            }
            with(&lines)
        }
        None => marked::append(text, &lines),
    };
    if is_right(&before, &added, spot, value) { Ok(added) } else { Err(layout(spot)) }
}

/// Whether a text says the entry, and else what was there before.
fn is_right(before: &Table, added: &str, spot: Spot<'_>, value: &Value) -> bool {
    let Ok(mut after) = parse(added) else { return false };
    let is_right = take(&mut after, spot) == toml::Value::try_from(value).ok();
    let mut before = before.clone();
    take(&mut before, spot);
    is_right && after == before
}

pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, SetupRefusal> {
    let mut expected = parse(text)?;
    let Some(block) = marked::find(text)? else {
        return Err(SetupRefusal::new(format!(
            "its table `[{}.{}]` has no marks `{}`, so it was not written by `forage setup`",
            spot.section,
            spot.name,
            marked::BEGIN
        )));
    };
    let Some(removed) = marked::take_out(text, &block) else { return Ok(None) };
    take(&mut expected, spot);
    let after = parse(&removed).map(|mut after| {
        // A section without entries may have been there before, and says as much as none.
        take(&mut after, spot);
        after
    });
    match after {
        Ok(after) if after == expected => Ok(Some(removed)),
        _ => Err(SetupRefusal::new("between the marks there is more than Forage wrote".to_owned())),
    }
}

/// Takes the entry, and a section that it leaves empty.
fn take(table: &mut Table, spot: Spot<'_>) -> Option<toml::Value> {
    let section = table.get_mut(spot.section)?.as_table_mut()?;
    let entry = section.remove(spot.name);
    if section.is_empty() {
        table.remove(spot.section);
    }
    entry
}

fn layout(spot: Spot<'_>) -> SetupRefusal {
    SetupRefusal::new(format!("a table `[{}.{}]` can't be put at its end", spot.section, spot.name))
}
