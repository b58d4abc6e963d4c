//! Generates the pages on `--json` output: the schemas as files, their fields, and the error codes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use super::{capitalized, cell};

/// Generates all files from the output of `forage schema --json`. Returns their paths and texts.
pub(crate) fn files(schemas: &Value) -> Result<Vec<(String, String)>> {
    let schemas = schemas.as_object().context("`forage schema --json` does not print an object")?;
    let mut files = vec![
        ("docs/records.md".to_owned(), records_page(schemas)?),
        ("docs/errors.md".to_owned(), errors_page(schemas)?),
    ];
    for (name, schema) in schemas {
        files.push((path(schema, name)?, format!("{schema:#}\n")));
    }
    Ok(files)
}

/// Returns the path of a schema. It contains the version, so that the URL of a schema in a script stays
/// valid.
fn path(schema: &Value, name: &str) -> Result<String> {
    let version = schema["$id"].as_str().and_then(|id| id.rsplit(':').nth(1));
    Ok(format!("docs/schemas/{}/{name}.json", version.context("a schema has no version")?))
}

/// Returns the command that prints a document. Some documents are written to a file, so their commands have
/// no `--json`.
fn command<'s>(name: &str, schema: &'s Value) -> Result<&'s str> {
    let title = schema["title"].as_str().unwrap_or_default();
    let command = title.split('`').nth(1).map(|command| command.strip_suffix(" --json").unwrap_or(command));
    command.with_context(|| format!("the title of {name} names no command"))
}

/// Builds the anchor of a heading in the same way as mdBook and GitHub.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// If at least this many answers have a field with the same description, we describe it once for all of them.
const COMMON: usize = 5;

fn records_page(schemas: &Map<String, Value>) -> Result<String> {
    let text = include_str!("records.md").to_owned();
    let mut page = RecordsPage { text, ..RecordsPage::default() };
    page.list(schemas)?;
    page.common(schemas)?;
    for (name, schema) in schemas.iter().filter(|(name, _)| *name != "error") {
        page.document(name, schema)?;
    }
    Ok(page.text)
}

#[derive(Default)]
struct RecordsPage<'a> {
    text: String,
    /// The fields that we have described for all answers, with their descriptions.
    common: BTreeSet<(&'a str, &'a str)>,
    /// The parts that we have described.
    parts: BTreeSet<&'a str>,
    /// The documents whose fields we have described, with their commands.
    documents: Vec<(&'a Value, String)>,
}

impl<'a> RecordsPage<'a> {
    /// Writes links to the documents that commands print.
    fn list(&mut self, schemas: &Map<String, Value>) -> Result<()> {
        let mut links = Vec::new();
        for (name, schema) in schemas.iter().filter(|(name, _)| *name != "error") {
            let command = command(name, schema)?;
            if command.starts_with("forage") {
                links.push(format!("[`{command}`](#{})", anchor(command)));
            }
        }
        let _ = write!(self.text, "\nThe documents by command:\n{}\n", links.join(",\n"));
        Ok(())
    }

    /// Writes the fields that the answers of most tools have.
    fn common(&mut self, schemas: &'a Map<String, Value>) -> Result<()> {
        let mains: Vec<&Value> =
            schemas.values().filter_map(main_part).filter(|main| is_of_tool(main)).collect();
        ensure!(!mains.is_empty(), "no schema belongs to a tool");
        self.text.push_str("\n## Common fields of the tools\n\n| field | type | |\n|---|---|---|\n");
        for main in &mains {
            for (field, schema) in main["properties"].as_object().into_iter().flatten() {
                let about = description(schema);
                let users = mains.iter().filter(|main| description(&main["properties"][field]) == about);
                if users.count() >= COMMON && self.common.insert((field, about)) {
                    row(&mut self.text, field, main, schema, true);
                }
            }
        }
        Ok(())
    }

    fn document(&mut self, name: &str, schema: &'a Value) -> Result<()> {
        let command = command(name, schema)?;
        let file = path(schema, name)?;
        let file = file.trim_start_matches("docs/");
        let _ = write!(self.text, "\n## [`{command}`]({file})\n");
        let parts = schema["$defs"].as_object().with_context(|| format!("{name} has no parts"))?;
        let Some(main) = main_part(schema) else { return Ok(()) };
        if let Some((_, equal)) = self.documents.iter().find(|(known, _)| *known == &main["properties"]) {
            let _ = write!(self.text, "\nThe same as `{equal}`.\n");
            return Ok(());
        }
        if main["properties"].is_object() {
            self.documents.push((&main["properties"], command.to_owned()));
        }
        // We describe the parts only for answers of tools. For other documents, readers can use the schema.
        let is_tool = is_of_tool(main);
        self.describe(main, is_tool);
        if main.get("properties").is_none() && words(main).is_none() && shapes(main).next().is_none() {
            // For a list or a map, we print its content.
            let _ = write!(self.text, "\n{}.\n", capitalized(&kind(main, is_tool)));
        }
        let mut left = Vec::new();
        if is_tool {
            references(main, &mut left);
            left.reverse();
        }
        while let Some(name) = left.pop() {
            let is_frame = matches!(name, "Answer" | "Answers" | "ErrorRecord" | "ErrorCode");
            if is_frame || !self.parts.insert(name) {
                continue;
            }
            let part = parts.get(name).with_context(|| format!("there is no {name}"))?;
            let _ = write!(self.text, "\n### {name}\n");
            self.describe(part, is_tool);
            let mut named = Vec::new();
            references(part, &mut named);
            left.extend(named.into_iter().rev());
        }
        Ok(())
    }

    /// Writes the table of an object's fields, or of the words of an enum.
    fn describe(&mut self, schema: &Value, is_linked: bool) {
        if let Some(text) = schema["description"].as_str() {
            let _ = write!(self.text, "\n{}\n", cell(text));
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        let own: Vec<_> = properties
            .filter(|(field, schema)| {
                let is_error = *field == "error" || *field == "code";
                !is_error && !self.common.contains(&(field.as_str(), description(schema)))
            })
            .collect();
        if !own.is_empty() {
            self.text.push_str("\n| field | type | |\n|---|---|---|\n");
        }
        own.into_iter().for_each(|(field, of_field)| row(&mut self.text, field, schema, of_field, is_linked));
        shapes(schema).for_each(|shape| self.describe(shape, is_linked));
        if let Some(words) = words(schema) {
            self.text.push_str("\n| value | |\n|---|---|\n");
            for (word, text) in words {
                let _ = writeln!(self.text, "| `{word}` | {} |", cell(text));
            }
        }
    }
}

/// Looks up the schema of the document that a command prints.
fn main_part(schema: &Value) -> Option<&Value> {
    schema["$defs"].get("Answer")
}

/// Returns true for the answer of a tool, which limits may cut.
fn is_of_tool(main: &Value) -> bool {
    main["properties"].get("truncated_by").is_some()
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Writes the row for a field of `object`.
fn row(text: &mut String, field: &str, object: &Value, schema: &Value, is_linked: bool) {
    let mut required = object["required"].as_array().into_iter().flatten();
    let kind = match required.any(|name| name == field) {
        true => kind(schema, is_linked),
        // A field that may be absent is never null.
        false => format!("{}, or absent", kind(schema, is_linked).trim_end_matches(" or null")),
    };
    let _ = writeln!(text, "| `{field}` | {kind} | {} |", cell(description(schema)));
}

/// Iterates over the unnamed objects of a choice.
fn shapes(schema: &Value) -> impl Iterator<Item = &Value> {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.filter(|shape| shape.get("properties").is_some())
}

/// Lists the words of an enum with their descriptions.
fn words(schema: &Value) -> Option<Vec<(&str, &str)>> {
    let alternatives = schema["oneOf"].as_array()?;
    alternatives
        .iter()
        .map(|schema| Some((schema["const"].as_str()?, schema["description"].as_str().unwrap_or_default())))
        .collect()
}

/// Describes the type of a field in words, with links to the parts that are on this page.
fn kind(schema: &Value, is_linked: bool) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        return match name {
            "ErrorCode" => "[code](errors.md)".to_owned(),
            "Answer" => "these records".to_owned(),
            name if is_linked => format!("[{name}](#{})", name.to_lowercase()),
            name => format!("`{name}`"),
        };
    }
    if let Some(only) = schema["const"].as_str() {
        return format!("`{only}`");
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[list].as_array() {
            return alternatives.iter().map(|it| kind(it, is_linked)).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or("null"))).collect();
        return values.join(", ");
    }
    let one = |name: &str| match name {
        "array" => match schema["items"].is_object() {
            true => format!("list of {}", kind(&schema["items"], is_linked)),
            false => "list".to_owned(),
        },
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("{} by name", kind(&schema["additionalProperties"], is_linked)),
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(kind) => one(kind),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "any JSON".to_owned(),
    }
}

/// Collects the parts to which a schema refers, in order.
fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(fields) => {
            for (field, value) in fields {
                match value.as_str().filter(|_| field == "$ref") {
                    Some(name) => found.extend(name.rsplit('/').next()),
                    None => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn errors_page(schemas: &Map<String, Value>) -> Result<String> {
    let schema = schemas.get("error").context("there is no schema for errors")?;
    let codes = words(&schema["$defs"]["ErrorCode"]).context("the error codes are not an enum")?;
    let mut page = include_str!("errors.md").to_owned();
    for (code, text) in codes {
        let (what, to_do) = text.split_once(". ").unwrap_or((text.trim_end_matches('.'), ""));
        let _ = writeln!(page, "| `{code}` | {} | {} |", cell(what), cell(to_do));
    }
    Ok(page)
}
