//! Generates the pages on `--json` output: the schemas as files, their fields, and the error codes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

const WRITTEN: &str = "<!-- Written by `cargo xtask generate` from the program; don't edit. -->";

/// Returns the path and text of each file, from the output of `forage schema --json`.
pub(crate) fn files(schemas: &Value) -> Result<Vec<(String, String)>, String> {
    let schemas = schemas.as_object().ok_or("`forage schema --json` prints no object")?;
    let mut files = vec![
        ("docs/records.md".to_owned(), records_page(schemas)?),
        ("docs/errors.md".to_owned(), errors_page(schemas)?),
    ];
    for (name, schema) in schemas {
        files.push((path(schema, name)?, format!("{schema:#}\n")));
    }
    Ok(files)
}

/// Returns the path of a schema. It contains the version, so that the address of a schema that a script uses
/// stays valid.
fn path(schema: &Value, name: &str) -> Result<String, String> {
    let version = schema["$id"].as_str().and_then(|id| id.rsplit(':').nth(1));
    Ok(format!("docs/schemas/{}/{name}.json", version.ok_or("a schema has no version")?))
}

fn records_page(schemas: &Map<String, Value>) -> Result<String, String> {
    let mut page = format!(
        "# Records\n\n{WRITTEN}\n\n\
         What `--json` prints is one document on one line. `forage grep` prints [ripgrep's lines](grep.md#output) instead, unless `--uses`\n\
         or `--fuzzy` is given. `forage schema NAME` prints its JSON Schema (draft 2020-12), which is also a file below. The version in a schema's\n\
         `$id` grows when a field goes or means something else; a field can be added at any time, so take no notice of one that you\n\
         do not know. Field by field:\n\n\
         ```sh\nforage schema                # the names\nforage schema grep-uses      # the schema of `forage grep --uses --json`\n```\n\n\
         A command that failed prints an [error](errors.md), or has `error` and `code` beside the answer that it came to. One that is\n\
         asked about several paths prints `{{\"answers\": […]}}`, as `forage setup --detected` does. Records of tools are the same over\n\
         MCP, as `structuredContent`, where a client gets them; `forage call TOOL` prints those of the tool's command.\n\n\
         Fields that hold sentences for people, such as `warnings` and `problems`, can be worded otherwise in any version.\n\
         `forage config --schema` prints the JSON Schema of the configuration file, `forage man` and `forage completions` print\n\
         `{{\"text\": \"…\"}}`.\n",
    );
    let (mut told, mut began) = (BTreeSet::new(), BTreeSet::new());
    for (name, schema) in schemas.iter().filter(|(name, _)| *name != "error") {
        let title = schema["title"].as_str().unwrap_or_default();
        // Documents that are written to a file are not printed with `--json`.
        let command =
            title.split('`').nth(1).map(|command| command.strip_suffix(" --json").unwrap_or(command));
        let command = command.ok_or_else(|| format!("the title of {name} names no command"))?;
        let file = path(schema, name)?;
        let file = file.trim_start_matches("docs/");
        let _ = write!(page, "\n## `{command}`\n\nSchema: [`{file}`]({file})\n");
        let parts = schema["$defs"].as_object().ok_or_else(|| format!("{name} has no parts"))?;
        // Each part is described where it first occurs.
        let is_frame = |part: &str| matches!(part, "Answers" | "ErrorRecord" | "ErrorCode");
        let main = if parts.contains_key("Answer") { "Answer" } else { "Line" };
        let mut left = vec![main];
        while let Some(part) = left.pop() {
            let schema = parts.get(part).ok_or_else(|| format!("{name} has no {part}"))?;
            let is_main = part == main;
            // An answer contains those of other roots, which have the same form.
            let is_told = if is_main { !began.insert(name) } else { !told.insert(part.to_owned()) };
            if is_frame(part) || is_told {
                continue;
            }
            describe(&mut page, (!is_main).then_some(part), schema);
            if schema.get("properties").is_none()
                && words(schema).is_none()
                && shapes(schema).next().is_none()
            {
                // For a list, a map, or a choice between parts, print what it consists of.
                let _ = write!(page, "\n{}.\n", capitalized(&kind(schema)));
            }
            let mut named = Vec::new();
            references(schema, &mut named);
            left.extend(named.into_iter().rev());
        }
    }
    Ok(page)
}

/// Writes the table of an object's fields, or the words of an enum.
fn describe(page: &mut String, name: Option<&str>, schema: &Value) {
    if let Some(name) = name {
        let _ = write!(page, "\n### {name}\n");
    }
    if let Some(text) = schema["description"].as_str() {
        let _ = write!(page, "\n{}\n", escaped(text));
    }
    if let Some(properties) = schema["properties"].as_object() {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        page.push_str("\n| field | | |\n|---|---|---|\n");
        for (field, schema) in properties {
            let kind = match required.contains(&field.as_str()) {
                true => kind(schema),
                // A field that may be absent is never null.
                false => format!("{}, or absent", kind(schema).trim_end_matches(" or null")),
            };
            let text = schema["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{field}` | {kind} | {} |", escaped(text));
        }
    }
    for shape in shapes(schema) {
        describe(page, None, shape);
    }
    if let Some(words) = words(schema) {
        page.push_str("\n| value | |\n|---|---|\n");
        for (word, text) in words {
            let _ = writeln!(page, "| `{word}` | {} |", escaped(text));
        }
    }
}

/// Returns the unnamed objects of a choice.
fn shapes(schema: &Value) -> impl Iterator<Item = &Value> {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.filter(|shape| shape.get("properties").is_some())
}

/// Returns the words of an enum with their descriptions.
fn words(schema: &Value) -> Option<Vec<(&str, &str)>> {
    let alternatives = schema["oneOf"].as_array()?;
    alternatives
        .iter()
        .map(|schema| Some((schema["const"].as_str()?, schema["description"].as_str().unwrap_or_default())))
        .collect()
}

/// Describes the type of a field in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        return match name {
            "ErrorCode" => "[code](errors.md)".to_owned(),
            "Answer" => "these records".to_owned(),
            name => format!("[{name}](#{})", name.to_lowercase()),
        };
    }
    if let Some(only) = schema["const"].as_str() {
        return format!("`{only}`");
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[list].as_array() {
            return alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or("null"))).collect();
        return values.join(", ");
    }
    let one = |name: &str| match name {
        "array" => match schema["items"].is_object() {
            true => format!("list of {}", kind(&schema["items"])),
            false => "list".to_owned(),
        },
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("{} by name", kind(&schema["additionalProperties"])),
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

/// Collects the parts that a schema refers to, in order.
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

fn errors_page(schemas: &Map<String, Value>) -> Result<String, String> {
    let schema = schemas.get("error").ok_or("there is no schema of errors")?;
    let codes = words(&schema["$defs"]["ErrorCode"]).ok_or("the codes of errors are no choice of words")?;
    let mut page = format!(
        "# Errors\n\n{WRITTEN}\n\n\
         An error is a sentence on stderr that says what is wrong, and what to do. With `--json` the same sentence is in a document on\n\
         stdout, with a `code` for programs, and the exit status is 2 (130 when the command was interrupted, 1 where a model gave no\n\
         answer):\n\n\
         ```console\n$ forage grep --json '('\n? 2\n\
         {{\"type\":\"error\",\"error\":\"regex parse error:\\n    (?:()\\n    ^\\nerror: unclosed group\\n-F takes the pattern as plain text.\",\"code\":\"pattern\"}}\n```\n\n\
         Where a call was ended before anything was found, or one of several paths failed, `error` and `code` stand in the answer that\n\
         there is; one that is cut and has found something says so by `truncated_by` alone. `error_type` of [telemetry](telemetry.md) is the same\n\
         code.\n\n| `code` | what happened | what to do |\n|---|---|---|\n"
    );
    for (code, text) in codes {
        let (what, to_do) = text.split_once(". ").unwrap_or((text.trim_end_matches('.'), ""));
        let _ = writeln!(page, "| `{code}` | {} | {} |", escaped(what), escaped(to_do));
    }
    Ok(page)
}

/// Capitalizes the first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Escapes text for a table cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
