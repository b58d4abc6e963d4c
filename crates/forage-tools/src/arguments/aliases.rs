//! Unknown arguments: other tools' names for our arguments, and arguments that clients add.

use serde_json::{Map, Value};

use super::ArgumentDefinition;
use crate::error::ToolError;
use crate::text::{clip, words_of_name};

/// What another tool's argument corresponds to in this tool.
#[derive(Clone, Copy, Debug)]
pub enum ArgumentAlias {
    /// This argument, under another name.
    Rename(&'static str),
    /// The negation of this flag.
    Negate(&'static str),
    /// The argument affects the results, and this tool has no equivalent. Contains the alternative, as a
    /// template for [`ToolNames::fill`](crate::ToolNames::fill).
    Unsupported(&'static str),
}

/// Argument names of other tools, with their equivalent here.
pub type ArgumentAliases = (&'static [&'static str], ArgumentAlias);

/// Words in argument names that narrow the results or select where to search. We must not drop an unknown
/// argument with such a word, because the answer would be to another question.
const NARROWING: &[&str] = &[
    "branch",
    "case",
    "commit",
    "dir",
    "directory",
    "directories",
    "exclude",
    "ext",
    "extension",
    "file",
    "filename",
    "filter",
    "folder",
    "glob",
    "hidden",
    "ignore",
    "include",
    "invert",
    "lang",
    "language",
    "literal",
    "multiline",
    "offset",
    "only",
    "page",
    "path",
    "pattern",
    "query",
    "range",
    "regex",
    "regexp",
    "repo",
    "repository",
    "rev",
    "revision",
    "root",
    "scope",
    "since",
    "skip",
    "type",
    "until",
    "word",
];

/// Renames arguments to the tool's own names and removes all others. Adds notes about dropped arguments.
pub(super) fn translate(
    definition: &ArgumentDefinition<'_>,
    fields: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<(), ToolError> {
    let tool = definition.tool;
    let (mut left_out, mut taken) = (Vec::new(), Vec::new());
    let unknown: Vec<String> = fields.keys().filter(|name| !definition.has(name)).cloned().collect();
    for name in unknown {
        let Some(value) = fields.remove(&name) else { continue };
        let shown = clip(&name.escape_debug().to_string(), SHOWN_BYTES);
        let foreign = definition.foreign.iter().find(|(names, _)| names.contains(&&*name)).map(|(_, it)| *it);
        match foreign {
            // For an argument with the opposite meaning, `false` does say something.
            _ if !has_value(&value) && !matches!(foreign, Some(ArgumentAlias::Negate(_))) => {}
            Some(ArgumentAlias::Rename(right)) => {
                if rename(definition, fields, (&shown, right), value, &mut left_out)? {
                    taken.push(format!("`{shown}` as `{right}`"));
                }
            }
            Some(ArgumentAlias::Negate(right)) => match flag(&value) {
                Some(flag) => {
                    let value = Value::Bool(!flag);
                    if rename(definition, fields, (&shown, right), value, &mut left_out)? {
                        taken.push(format!("`{shown}` as the opposite of `{right}`"));
                    }
                }
                None if value.is_null() => {}
                None => {
                    let problem = format!("{tool}: `{shown}` must be a boolean; `{right}` is its opposite");
                    return Err(ToolError::Request(problem));
                }
            },
            Some(ArgumentAlias::Unsupported(advice)) => {
                let advice = definition.names.fill(advice);
                return Err(ToolError::Request(format!("{tool} has no argument `{shown}`: {advice}")));
            }
            None if narrows(&name) => {
                let names = definition.arguments();
                return Err(ToolError::Request(format!(
                    "{tool} has no argument `{shown}`. Its arguments: {names}"
                )));
            }
            None => left_out.push(shown),
        }
    }
    if !taken.is_empty() {
        taken.truncate(NAMES_SHOWN);
        notes.push(format!("arguments interpreted: {}", taken.join(", ")));
    }
    if !left_out.is_empty() {
        let more = left_out.len().saturating_sub(NAMES_SHOWN);
        left_out.truncate(NAMES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!("not an argument of {tool}, ignored: `{}`{more}", left_out.join("`, `")));
    }
    Ok(())
}

/// Maximum bytes of an argument's name in a note or an error.
const SHOWN_BYTES: usize = 60;

/// Maximum names in a note.
const NAMES_SHOWN: usize = 5;

/// Passes an argument's value on as another argument, unless both are given. Returns true if it was used.
fn rename(
    definition: &ArgumentDefinition<'_>,
    fields: &mut Map<String, Value>,
    (name, right): (&str, &'static str),
    value: Value,
    left_out: &mut Vec<String>,
) -> Result<bool, ToolError> {
    match fields.get(right).filter(|given| has_value(given)) {
        None => {
            fields.insert(right.to_owned(), value);
            return Ok(true);
        }
        Some(given) if *given == value => {}
        // If the search text is also given, this argument describes the purpose of the search.
        Some(_) if definition.is_required(right) => left_out.push(name.to_owned()),
        Some(_) => {
            let tool = definition.tool;
            let problem = format!("{tool}: `{name}` is another name for `{right}`; pass only one of them");
            return Err(ToolError::Request(problem));
        }
    }
    Ok(false)
}

/// Returns true if an argument with this name is probably meant to affect the results.
fn narrows(name: &str) -> bool {
    let words = words_of_name(name);
    let is_narrowing = |word: &str| NARROWING.contains(&word);
    words.iter().any(|word| is_narrowing(word) || word.strip_suffix('s').is_some_and(is_narrowing))
}

/// Returns false for values that mean "not given".
pub(crate) fn has_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Parses a flag, which may also be a word or a number, e.g. `"yes"` or 1.
pub(crate) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_i64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Removes and returns the first of these arguments that is a flag.
pub(crate) fn take_flag(fields: &mut Map<String, Value>, names: &[&str]) -> Option<bool> {
    let (name, flag) = names.iter().find_map(|name| Some((*name, flag(fields.get(*name)?)?)))?;
    fields.remove(name);
    Some(flag)
}

/// Removes and returns the first of these arguments that is a whole number.
pub(crate) fn take_number(fields: &mut Map<String, Value>, names: &[&str]) -> Option<i64> {
    let (name, number) =
        names.iter().find_map(|name| Some((*name, super::integer_of(fields.get(*name)?)?)))?;
    fields.remove(name);
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::narrows;

    #[test]
    fn narrowing_argument_names_are_recognized_by_words() {
        for name in [
            "exclude",
            "excludePatterns",
            "target_directories",
            "caseSensitive",
            "file-types",
            "--glob",
            "FILES",
        ] {
            assert!(narrows(name), "{name}");
        }
        for name in
            ["wait_for_previous", "explanation", "toolCallId", "profile", "reason", "verbose", "", "größe"]
        {
            assert!(!narrows(name), "{name}");
        }
    }
}
