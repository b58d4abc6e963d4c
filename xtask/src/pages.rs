//! Generates pages of `docs/` and other Markdown from the program's own description of itself. Each page begins
//! with a text in `pages/`.

mod commands;
mod configuration;
mod readmes;
mod records;

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cargo::{Workspace, json};

/// Generates all pages. Returns their paths and texts.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let print = |arguments: &str| json(&mut workspace.forage(arguments)?);
    // We use the default configuration instead of the developer's own.
    let tools = |more: &str| print(&format!("tools --format mcp --config /dev/null {more}"));
    let clients = print("setup --command forage --config /dev/null --json")?;
    let page = |name: &str, text: String| (format!("docs/{name}.md"), text);
    let mut files = vec![
        page("configuration", configuration::page(&print("config --schema")?)?),
        page("tools", tools_page(tools("--all --every-argument")?, tools("--all")?, tools("")?)?),
        page("clients", clients_page(clients)?),
        page("commands", commands::page(workspace)?),
    ];
    files.extend(records::files(&print("schema --json")?)?);
    files.extend(readmes::readmes(workspace)?);
    Ok(files)
}

/// A client in the output of `forage setup --json`.
#[derive(Deserialize)]
struct Client {
    title: String,
    client: String,
    /// The version with which we have tried it.
    tried: Option<String>,
    user_file: String,
    project_file: Option<String>,
    format: String,
    snippet: String,
    /// Signs that it is installed.
    traces: Vec<String>,
    with: Vec<Addition>,
    remark: Option<String>,
}

/// An addition to the entry of a client, and where it is written.
#[derive(Deserialize)]
struct Addition {
    name: String,
    about: String,
    user_file: Option<String>,
    project_file: Option<String>,
}

/// Generates the page on setting up each client, from the table in the program.
fn clients_page(clients: Value) -> Result<String> {
    let clients: Vec<Client> = serde_json::from_value(clients).context("`forage setup --json`")?;
    let mut page = include_str!("pages/clients.md").to_owned();
    for Client { title, client, tried, .. } in &clients {
        let tried = tried.as_deref().unwrap_or("not tried; written from its documentation");
        let _ = writeln!(page, "| {title} | `{client}` | {tried} |");
    }
    for (index, client) in clients.iter().enumerate() {
        // We show each form of an entry only once.
        let equal = clients[..index].iter().find(|other| other.snippet == client.snippet);
        client_section(&mut page, client, equal.map(|other| other.title.as_str()));
    }
    Ok(page)
}

fn client_section(page: &mut String, client: &Client, equal: Option<&str>) {
    let Client { title, client: name, user_file, project_file, format, snippet, .. } = client;
    let project = project_file.as_ref().map(|file| format!(", or `{file}` in a project")).unwrap_or_default();
    let _ = write!(page, "\n## {title}\n\n`forage setup {name} --write` writes to `{user_file}`{project}.");
    let _ = match equal {
        Some(other) => writeln!(page, " It uses the same entry as {other}."),
        None => write!(page, "\n\n```{format}\n{snippet}```\n"),
    };
    let _ = write!(page, "\nDetected by {}.\n", client.traces.join(", "));
    if !client.with.is_empty() {
        page.push_str("\n| `--with` | your file | a project's | where |\n|---|---|---|---|\n");
    }
    for Addition { name, about, user_file, project_file: in_project } in &client.with {
        let is_in_entry = about.ends_with("in the entry");
        let place = |file: &Option<String>, has_entry: bool| match file {
            Some(file) => format!("`{file}`"),
            None if is_in_entry && has_entry => "that of the entry".to_owned(),
            None => "–".to_owned(),
        };
        let (user, project) = (place(user_file, true), place(in_project, project_file.is_some()));
        let _ = writeln!(page, "| `{name}` | {user} | {project} | {about} |");
    }
    if let Some(remark) = &client.remark {
        let _ = write!(page, "\n{remark}\n");
    }
}

/// The definition of a tool in the format of MCP.
#[derive(Deserialize)]
struct Tool {
    name: String,
    title: String,
    description: String,
    #[serde(rename = "inputSchema")]
    schema: InputSchema,
}

/// The JSON Schema of a tool's arguments.
#[derive(Deserialize)]
struct InputSchema {
    properties: Map<String, Value>,
    #[serde(default)]
    required: Vec<String>,
}

/// Generates the reference of the tools. `tools` must be the definitions with all arguments. The second
/// argument must be those that models see, and `on` those of the tools that are enabled by default.
fn tools_page(tools: Value, advertised: Value, on: Value) -> Result<String> {
    let read = |tools| serde_json::from_value::<Vec<Tool>>(tools).context("`forage tools --format mcp`");
    let (tools, advertised, on) = (read(tools)?, read(advertised)?, read(on)?);
    let mut page = include_str!("pages/tools.md").to_owned();
    for Tool { name, title, description, schema } in &tools {
        let _ = write!(page, "\n## `{name}`\n\n{title}.\n\n");
        if !on.iter().any(|other| other.name == *name) {
            page.push_str("Off by default. Enable it in the configuration.\n\n");
        }
        let _ = write!(page, "```text\n{}```\n", wrapped(description));
        page.push_str(match schema.properties.is_empty() {
            true => "\nNo arguments.\n",
            false => "\n| argument | type | | meaning |\n|---|---|---|---|\n",
        });
        let advertised = advertised.iter().find(|other| other.name == *name);
        for (argument, property) in &schema.properties {
            let is_seen = advertised.is_some_and(|tool| tool.schema.properties.contains_key(argument));
            let need = match (schema.required.contains(argument), is_seen) {
                (true, _) => "required",
                (false, true) => "",
                (false, false) => "hidden",
            };
            let (kind, meaning) = (kind(property)?, cell(&meaning(property)));
            let _ = writeln!(page, "| `{argument}` | {kind} | {need} | {meaning} |");
        }
    }
    Ok(page)
}

/// Maximum width of a line in a description, in characters.
const WIDTH: usize = 110;

/// Wraps the lines of a text at blanks.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut width = 0;
        for word in line.split(' ') {
            let space = match width {
                0 => "",
                _ if width + 1 + word.len() > WIDTH => "\n",
                _ => " ",
            };
            width = if space == "\n" { word.len() } else { width + space.len() + word.len() };
            lines.push_str(space);
            lines.push_str(word);
        }
        lines.push('\n');
    }
    lines
}

/// Describes the type of a property in words.
fn kind(property: &Value) -> Result<String> {
    let name = property["type"].as_str().with_context(|| format!("{property} has no type"))?;
    Ok(match name {
        "array" => format!("array of {}", kind(&property["items"])?),
        _ => name.to_owned(),
    })
}

/// Formats the description of a property with its limits.
fn meaning(property: &Value) -> String {
    let mut parts: Vec<String> = property["description"].as_str().map(escaped).into_iter().collect();
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        parts.push(format!("One of {}.", values.join(", ")));
    }
    let bound = |key| property.get(key).filter(|bound: &&Value| !bound.is_null());
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(max)) => parts.push(format!("From {least} to {max}.")),
        (Some(least), None) => parts.push(format!("At least {least}.")),
        (None, Some(max)) => parts.push(format!("At most {max}.")),
        (None, None) => {}
    }
    parts.join(" ")
}

/// Escapes text that Markdown would treat as a tag or as emphasis. Text in backquotes is already literal.
fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        0 => part.replace('<', "&lt;").replace('*', "\\*"),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`").replace('\n', " ")
}

/// Escapes text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Converts the first letter to upper case.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_every_tool_and_argument() {
        let tools = json!([
            {
                "name": "find_it",
                "title": "Find it",
                "description": "Finds <it>.\n\nWith `a<b>`.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "terms": { "type": "array", "items": { "type": "string" }, "description": "One | many" },
                        "depth": { "type": "integer", "minimum": 0, "maximum": 9, "description": "Levels." },
                        "mode": { "type": "string", "enum": ["a", "b"] },
                    },
                    "required": ["terms"],
                },
            },
            { "name": "rest", "title": "Rest", "description": "Nothing.", "inputSchema": { "properties": {} } },
        ]);
        let mut advertised = tools.clone();
        advertised[0]["inputSchema"]["properties"].as_object_mut().unwrap().remove("mode");
        let page = tools_page(tools.clone(), advertised, tools).unwrap();
        let expected = "\n## `find_it`\n\nFind it.\n\n```text\nFinds <it>.\n\nWith `a<b>`.\n```\n\n\
            | argument | type | | meaning |\n|---|---|---|---|\n\
            | `terms` | array of string | required | One \\| many |\n\
            | `depth` | integer |  | Levels. From 0 to 9. |\n\
            | `mode` | string | hidden | One of `\"a\"`, `\"b\"`. |\n\
            \n## `rest`\n\nRest.\n\n```text\nNothing.\n```\n\nNo arguments.\n";
        assert!(page.ends_with(expected), "{page}");
    }

    #[test]
    fn long_lines_are_wrapped() {
        assert_eq!(wrapped("a b\n\nc"), "a b\n\nc\n");
        let word = "x".repeat(WIDTH / 2);
        assert_eq!(wrapped(&format!("{word} {word} y")), format!("{word}\n{word} y\n"));
    }

    #[test]
    fn a_page_has_every_client_with_its_snippet() {
        let client = json!({
            "client": "edit", "title": "Edit", "format": "json", "user_file": "~/edit.json", "project_file": null,
            "snippet": "{}\n", "remark": "Mind it.", "tried": "1.2", "traces": ["`edit` on the `PATH`", "`~/.edit`"],
            "with": [
                { "name": "permission", "about": "`trust` in the entry", "user_file": null, "project_file": null },
                { "name": "skill", "about": "a file", "user_file": "~/s.md", "project_file": null },
            ],
        });
        let mut other = client.clone();
        (other["tried"], other["title"]) = (Value::Null, json!("Same"));
        let page = clients_page(json!([client, other])).unwrap();
        let rest = "Detected by `edit` on the `PATH`, `~/.edit`.\n\n\
            | `--with` | your file | a project's | where |\n|---|---|---|---|\n\
            | `permission` | that of the entry | – | `trust` in the entry |\n| `skill` | `~/s.md` | – | a file |\n\nMind it.\n";
        let expected = format!(
            "| Edit | `edit` | 1.2 |\n| Same | `edit` | not tried; written from its documentation |\n\
            \n## Edit\n\n`forage setup edit --write` writes to `~/edit.json`.\n\n```json\n{{}}\n```\n\n{rest}\
            \n## Same\n\n`forage setup edit --write` writes to `~/edit.json`. It uses the same entry as Edit.\n\n{rest}"
        );
        assert!(page.ends_with(&expected), "{page}");
        assert!(clients_page(json!([{ "client": "edit" }])).is_err());
    }

    #[test]
    fn a_tool_without_a_field_is_an_error() {
        let error = tools_page(json!([{ "name": "x" }]), json!([]), json!([])).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("missing field"), "{error}");
        assert!(tools_page(json!({}), json!([]), json!([])).is_err());
    }
}
