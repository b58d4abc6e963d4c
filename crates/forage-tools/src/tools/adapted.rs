//! Converts arguments that are known from other tools but have no direct equivalent here.
//!
//! Sources: `grep`'s own options and the search tools of Claude Code (`-A`, `-B`, `output_mode`, `type`),
//! Cursor (`include_pattern`, `exclude_pattern`), VS Code (`isRegexp`) and Gemini CLI (`include`,
//! `fixed_strings`).

use serde_json::{Map, Value, json};

use super::ReadFile;
use crate::arguments::{ArgumentAlias, has_value, integer_of, split, take_flag, take_number};
use crate::error::ToolError;
use crate::tool::Tool as _;

/// Argument names for globs that exclude files.
const EXCLUDES: [&str; 5] = ["exclude", "excludes", "exclude_pattern", "exclude_patterns", "ignore"];

/// Converts arguments to those of `grep_search`.
pub(super) fn to_grep(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    // Tools that page by offset send 0 for the first page.
    if fields.get("offset").is_some_and(|offset| *offset == json!(0)) {
        fields.remove("offset");
    }
    // In Claude Code's `Grep`, 0 means no limit.
    if fields.get("head_limit").is_some_and(|limit| *limit == json!(0)) {
        fields.remove("head_limit");
    }
    if fields.get("regex").is_some_and(Value::is_boolean)
        && let Some(is_regex) = fields.remove("regex")
    {
        fields.insert("is_regex".to_owned(), is_regex);
    }
    // The modes of Claude Code's `Grep`.
    for name in ["output", "output_mode", "mode"] {
        let output = match fields.get(name).and_then(Value::as_str) {
            Some("content") => "lines",
            Some("files_with_matches" | "paths" | "files_only") => "files",
            Some("count") => "counts",
            _ => continue,
        };
        fields.insert(name.to_owned(), json!(output));
    }
    if take_flag(fields, &["files_with_matches", "files_only", "-l"]) == Some(true) {
        fields.entry("output").or_insert(json!("files"));
    }
    if take_flag(fields, &["count", "count_only", "-c"]) == Some(true) {
        fields.entry("output").or_insert(json!("counts"));
    }
    globs(fields)
}

/// Converts arguments to those of `search_index`.
pub(super) fn to_ranking(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    globs(fields)
}

/// Converts arguments to those of `Search`.
pub(super) fn to_search(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    context_lines(fields, "context");
    if let Some(is_regex) = take_flag(fields, &["is_regex", "isRegexp", "use_regex", "regex"]) {
        fields.entry("fixed_strings").or_insert(json!(!is_regex));
    }
    let case = take_flag(fields, &["case_sensitive"])
        .map(|sensitive| if sensitive { "sensitive" } else { "insensitive" })
        .or_else(|| take_flag(fields, &["ignore_case", "case_insensitive", "-i"])?.then_some("insensitive"));
    if let Some(case) = case {
        fields.entry("case").or_insert(json!(case));
    }
    let excluded = excluded(fields)?;
    if !excluded.is_empty() {
        let given = fields.remove("glob").unwrap_or_default();
        let mut globs = texts("glob", &given)?;
        globs.extend(excluded);
        fields.insert("glob".to_owned(), json!(globs));
    }
    Ok(())
}

/// The last line of a range that ends with the file.
const END: i64 = -1;

/// Lists all names of an argument of `read_file`.
fn names_of(argument: &'static str) -> Vec<&'static str> {
    let is_other = |alias: ArgumentAlias| matches!(alias, ArgumentAlias::Rename(right) if right == argument);
    let others = ReadFile::FOREIGN.iter().filter(|(_, alias)| is_other(*alias));
    [argument].into_iter().chain(others.flat_map(|(names, _)| names.iter().copied())).collect()
}

/// Converts arguments to those of `read_file`. Other tools have various ways to give the first line and the
/// number of lines.
pub(super) fn to_lines(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    // Anthropic's editor tools use this.
    for name in ["view_range", "range", "lines", "line_range"] {
        let Some(range) = fields.get(name).filter(|range| has_value(range)) else { continue };
        let numbers: Option<Vec<i64>> = match range {
            Value::Array(items) => items.iter().map(Value::as_i64).collect(),
            Value::String(text) => text.split(['-', ',', ':']).map(|part| part.trim().parse().ok()).collect(),
            _ => None,
        };
        let Some((first, last)) = numbers.as_deref().and_then(|numbers| match numbers {
            [first] => Some((*first, *first)),
            [first, last] => Some((*first, *last)),
            _ => None,
        }) else {
            let problem = format!("`{name}` must be two line numbers; use start_line and end_line");
            return Err(ToolError::Request(problem));
        };
        fields.remove(name);
        fields.entry("start_line").or_insert(json!(first));
        if last != END {
            fields.entry("end_line").or_insert(json!(last));
        }
    }
    // Some tools count from 0, but it does no harm to start one line earlier.
    if let Some(offset) = take_number(fields, &["offset", "line_offset"]) {
        fields.entry("start_line").or_insert(json!(if offset == 0 { 1 } else { offset }));
    }
    for name in names_of("end_line") {
        if fields.get(name).and_then(integer_of) == Some(END) {
            fields.remove(name);
        }
    }
    let first = names_of("start_line").into_iter().find_map(|name| integer_of(fields.get(name)?));
    // A first line before the file is an error of the caller, and the answer will say so.
    let first = first.unwrap_or(1).max(1);
    if let Some(lines) =
        take_number(fields, &["limit", "line_count", "num_lines", "max_lines"]).filter(|lines| *lines > 0)
    {
        fields.entry("end_line").or_insert(json!(first.saturating_add(lines - 1)));
    }
    Ok(())
}

/// Converts separate numbers of lines before and after a match to a single number, the larger one.
fn context_lines(fields: &mut Map<String, Value>, name: &str) {
    let before = take_number(fields, &["-B", "before_context", "context_before", "before"]);
    let after = take_number(fields, &["-A", "after_context", "context_after", "after"]);
    if let Some(lines) = before.max(after) {
        fields.entry(name).or_insert(json!(lines));
    }
}

/// Converts excluding globs and file types to a `file_pattern`.
fn globs(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    let mut added = Vec::new();
    if let Some(kind) = fields.get("type").or_else(|| fields.get("file_type")).filter(|kind| has_value(kind))
    {
        let names = texts("type", kind)?;
        for name in &names {
            let Some(glob) = forage_fs::glob_of_type(name) else {
                let problem = format!("`type`: unknown file type {name}; use file_pattern");
                return Err(ToolError::Request(problem));
            };
            added.push(glob);
        }
        fields.remove("type");
        fields.remove("file_type");
    }
    added.extend(excluded(fields)?);
    if added.is_empty() {
        return Ok(());
    }
    let name = ["file_pattern", "glob", "include", "include_pattern"];
    let given = name.into_iter().find_map(|name| fields.remove(name)).unwrap_or_default();
    let mut globs = texts("file_pattern", &given)?;
    let chooses = |globs: &[String]| globs.iter().any(|glob| !glob.starts_with('!'));
    // A file needs to match only one of the globs, so one selection can't narrow another one.
    if chooses(&globs) && chooses(&added) {
        let problem = "`type` and globs that select files are both given; use one glob for both, such as \
                       \"src/**/*.rs\"";
        return Err(ToolError::Request(problem.to_owned()));
    }
    globs.extend(added);
    fields.insert("file_pattern".to_owned(), json!(globs.join(",")));
    Ok(())
}

/// Removes the excluding globs from the arguments and returns them, each with the prefix `!`.
fn excluded(fields: &mut Map<String, Value>) -> Result<Vec<String>, ToolError> {
    let mut globs = Vec::new();
    for name in EXCLUDES {
        let Some(value) = fields.remove(name) else { continue };
        for glob in texts(name, &value)? {
            let glob = glob.trim_start_matches('!').trim_end_matches('/');
            globs.push(format!("!{glob}"));
            // The glob may name a directory, so we must exclude the files below it, too.
            if !glob.ends_with("**") {
                globs.push(format!("!{glob}/**"));
            }
            if !glob.contains('/') {
                globs.push(format!("!**/{glob}/**"));
            }
        }
    }
    Ok(globs)
}

/// Reads a text or a list of texts. Each text may be a comma-separated list.
fn texts(name: &str, value: &Value) -> Result<Vec<String>, ToolError> {
    let own =
        |text: &str| split(text).into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect();
    match value {
        value if !has_value(value) => Ok(Vec::new()),
        Value::String(text) => Ok(own(text)),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts
                .map(|texts| texts.into_iter().flat_map(own as fn(&str) -> Vec<String>).collect())
                .ok_or_else(|| wrong(name))
        }
        _ => Err(wrong(name)),
    }
}

fn wrong(name: &str) -> ToolError {
    ToolError::Request(format!("`{name}` must be a string or a list of strings"))
}
