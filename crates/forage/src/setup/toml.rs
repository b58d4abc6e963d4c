//! TOML: a table between marks at the end of the file. The parser of `toml` says before and after what the file means.

use serde_json::Value;
use toml::Table;

use super::jsonc::{Found, Spot};
use super::{Refusal, marked};

fn parse(text: &str) -> Result<Table, Refusal> {
    text.trim_start_matches('\u{feff}')
        .parse()
        .map_err(|error: toml::de::Error| Refusal::new(format!("it is not valid TOML: {}", error.message())))
}

pub(super) fn inspect(text: &str, spot: Spot<'_>) -> Result<Found, Refusal> {
    let table = parse(text)?;
    let Some(section) = table.get(spot.section) else { return Ok(Found::default()) };
    let section =
        section.as_table().ok_or_else(|| Refusal::new(format!("`{}` in it is not a table", spot.section)))?;
    let entry = section.get(spot.name).map(|entry| serde_json::to_value(entry).unwrap_or_default());
    let neighbours = section.keys().filter(|key| *key != spot.name).cloned().collect();
    Ok(Found { entry, neighbours, has_section: true })
}

/// The lines of the table.
pub(super) fn lines(spot: Spot<'_>, value: &Value) -> Vec<String> {
    let field = |(key, value): (&String, &Value)| format!("{key} = {}", literal(value));
    let head = format!("[{}.{}]", spot.section, spot.name);
    [head].into_iter().chain(value.as_object().into_iter().flatten().map(field)).collect()
}

/// JSON's texts, numbers and truth values are TOML's, too.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        // Keys are our own words, bare as they are.
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key} = {}", literal(value));
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

pub(super) fn add(text: &str, spot: Spot<'_>, value: &Value) -> Result<String, Refusal> {
    let before = parse(text)?;
    let lines = lines(spot, value);
    let added = match marked::find(text)? {
        Some(block) => {
            let has_entry = before.get(spot.section).is_some_and(|section| section.get(spot.name).is_some());
            if !has_entry && block.lines.iter().any(|line| !line.trim().is_empty()) {
                return Err(Refusal::new("between its marks is something else than Forage wrote".to_owned()));
            }
            let newline = super::newline(text);
            let end = if text[block.range.clone()].ends_with('\n') { newline } else { "" };
            let new = marked::marked(&lines, "", newline) + end;
            format!("{}{new}{}", &text[..block.range.start], &text[block.range.end..])
        }
        None => marked::append(text, &lines),
    };
    let mut after = parse(&added).map_err(|_| layout(spot))?;
    let mut before = before;
    let is_right = take(&mut after, spot) == toml::Value::try_from(value).ok();
    take(&mut before, spot);
    match is_right && after == before {
        true => Ok(added),
        false => Err(layout(spot)),
    }
}

pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, Refusal> {
    let mut expected = parse(text)?;
    let Some(block) = marked::find(text)? else {
        return Err(Refusal::new(format!(
            "its table `[{}.{}]` has no marks `{}`, so it was not written by `forage setup`",
            spot.section,
            spot.name,
            marked::BEGIN
        )));
    };
    let Some(removed) = marked::take_out(text, &block) else { return Ok(None) };
    take(&mut expected, spot);
    match parse(&removed) {
        Ok(after) if after == expected => Ok(Some(removed)),
        _ => Err(Refusal::new("between the marks there is more than Forage wrote".to_owned())),
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

fn layout(spot: Spot<'_>) -> Refusal {
    Refusal::new(format!("a table `[{}.{}]` can't be put at its end", spot.section, spot.name))
}
