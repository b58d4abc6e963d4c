//! The files that are made from the program, so that they can't say anything else than the program does.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cargo::Workspace;

/// Writes every generated file that is not up to date.
pub(crate) fn write(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        let path = workspace.path(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            println!("{name} is up to date");
            continue;
        }
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|error| format!("{} can't be made: {error}", workspace.shown(directory)))?;
        }
        std::fs::write(&path, text).map_err(|error| format!("{name} can't be written: {error}"))?;
        println!("{name} is written");
    }
    Ok(())
}

/// Compares every generated file with what would be written.
pub(crate) fn compare(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        // A file that is missing is not up to date either.
        if std::fs::read_to_string(workspace.path(name)).unwrap_or_default() != text {
            return Err(format!("{name} is not up to date; run `cargo xtask generate`"));
        }
    }
    Ok(())
}

/// Path and text of each generated file.
fn generated(workspace: &Workspace) -> Result<Vec<(&'static str, String)>, String> {
    let tools = |more: &[&str]| {
        // The default configuration, whatever the developer's own one says.
        let command = ["tools", "--format", "mcp", "--config", "/dev/null"];
        workspace.forage_json(&[&command[..], more].concat())
    };
    let clients = workspace.forage_json(&["setup", "--json", "--command", "forage"])?;
    Ok(vec![
        ("docs/tools.md", tools_page(&tools(&["--all"])?, &tools(&[])?)?),
        ("docs/clients.md", clients_page(&clients)?),
    ])
}

/// How each client is set up, from the table in the program.
fn clients_page(clients: &Value) -> Result<String, String> {
    let mut page = String::from(
        "# Clients\n\n<!-- Written by `cargo xtask generate` from the table in the program; don't edit. -->\n\n\
         `forage setup CLIENT` shows what it would write into the configuration of a client, `--write` writes it, and\n\
         `--remove` takes it out again, so that the file is byte by byte what it was. Comments, layout and all other\n\
         entries stay; a file that is not understood is left as it is. `--scope project` takes the file that a project\n\
         brings for everyone who opens it. `forage doctor` tells in which clients Forage is set up.\n\n\
         ```sh\nforage setup claude-code            # shows it\nforage setup claude-code --write    # writes it\n\
         forage setup claude-code --remove   # takes it out again\n```\n\n\
         The client runs `forage mcp`, by the bare name if that is the program on your `PATH`, else by its absolute\n\
         path; `--command` names another. By hand, this is what has to stand in the files:\n",
    );
    for client in clients.as_array().ok_or("`forage setup --json` prints no array")? {
        client_section(&mut page, client).ok_or_else(|| format!("a client lacks a field: {client}"))?;
    }
    Ok(page)
}

fn client_section(page: &mut String, client: &Value) -> Option<()> {
    let text = |key: &str| client[key].as_str();
    let (title, name, user) = (text("title")?, text("client")?, text("user_file")?);
    let (format, snippet) = (text("format")?, text("snippet")?);
    let project = match text("project_file") {
        Some(project) => format!("`{user}`, or `{project}` in a project"),
        None => format!("`{user}`"),
    };
    let _ = write!(page, "\n## {title}\n\n`forage setup {name} --write`; the file is {project}.\n\n");
    let _ = write!(page, "```{format}\n{snippet}```\n");
    if let Some(remark) = text("remark") {
        let _ = write!(page, "\n{remark}\n");
    }
    let _ = match text("tried") {
        Some(version) => write!(page, "\nTried with the real program, version {version}.\n"),
        None => write!(page, "\nWritten from documentation; not tried with the real program.\n"),
    };
    Some(())
}

/// The reference of the tools from their definitions; `on` are those that are on by default.
fn tools_page(tools: &Value, on: &Value) -> Result<String, String> {
    let array =
        |tools: &Value| tools.as_array().cloned().ok_or("`forage tools --format mcp` prints no array");
    let (tools, on) = (array(tools)?, array(on)?);
    let mut page = String::from(
        "# Tools\n\n<!-- Written by `cargo xtask generate` from the definitions in the program; don't edit. -->\n\n\
         What a model reads about each tool, word for word, and the arguments that it can give. A call by hand, as an\n\
         agent makes it, and the definitions in the form of a provider:\n\n\
         ```sh\nforage call grep_search '{\"pattern\": \"fn main\"}'\nforage tools --format openai\n```\n",
    );
    for tool in &tools {
        let is_on = on.iter().any(|other| other["name"] == tool["name"]);
        section(&mut page, tool, is_on)
            .ok_or_else(|| format!("a tool lacks a field that its page needs: {tool}"))?;
    }
    Ok(page)
}

fn section(page: &mut String, tool: &Value, is_on: bool) -> Option<()> {
    let (name, title) = (tool["name"].as_str()?, tool["title"].as_str()?);
    let _ = write!(page, "\n## `{name}`\n\n{title}.\n\n");
    if !is_on {
        page.push_str("Off by default: agents are told of it only if the configuration enables it.\n\n");
    }
    for line in tool["description"].as_str()?.lines() {
        page.push_str(format!("> {}", escaped(line)).trim_end());
        page.push('\n');
    }
    let schema = &tool["inputSchema"];
    let arguments = schema["properties"].as_object()?;
    if arguments.is_empty() {
        page.push_str("\nNo arguments.\n");
        return Some(());
    }
    page.push_str("\n| argument | type | required | meaning |\n|---|---|---|---|\n");
    for (argument, property) in arguments {
        let required =
            schema["required"].as_array().is_some_and(|names| names.contains(&argument.as_str().into()));
        let required = if required { "yes" } else { "no" };
        let meaning = meaning(property).replace('|', "\\|");
        let _ = writeln!(page, "| `{argument}` | {} | {required} | {meaning} |", kind(property)?);
    }
    Some(())
}

/// The type of a property in words.
fn kind(property: &Value) -> Option<String> {
    let name = property["type"].as_str()?;
    Some(match name {
        "array" => format!("array of {}", kind(&property["items"])?),
        _ => name.to_owned(),
    })
}

/// The description of a property with its bounds.
fn meaning(property: &Value) -> String {
    let mut parts: Vec<String> = property["description"].as_str().map(escaped).into_iter().collect();
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        parts.push(format!("One of {}.", values.join(", ")));
    }
    let bound = |key| property.get(key).filter(|bound: &&Value| !bound.is_null());
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => parts.push(format!("From {least} to {most}.")),
        (Some(least), None) => parts.push(format!("At least {least}.")),
        (None, Some(most)) => parts.push(format!("At most {most}.")),
        (None, None) => {}
    }
    parts.join(" ")
}

/// Text without what Markdown would take for a tag. What stands between backticks is literal already.
fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        0 => part.replace('<', "&lt;"),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`").replace('\n', " ")
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
        let page = tools_page(&tools, &tools).unwrap();
        let expected = "\n## `find_it`\n\nFind it.\n\n> Finds &lt;it>.\n>\n> With `a<b>`.\n\n\
            | argument | type | required | meaning |\n|---|---|---|---|\n\
            | `terms` | array of string | yes | One \\| many |\n\
            | `depth` | integer | no | Levels. From 0 to 9. |\n\
            | `mode` | string | no | One of `\"a\"`, `\"b\"`. |\n\
            \n## `rest`\n\nRest.\n\n> Nothing.\n\nNo arguments.\n";
        assert!(page.ends_with(expected), "{page}");
    }

    #[test]
    fn a_page_has_every_client_with_its_snippet() {
        let client = json!({
            "client": "edit", "title": "Edit", "format": "json", "user_file": "~/edit.json", "project_file": null,
            "snippet": "{}\n", "remark": "Mind it.", "tried": "1.2",
        });
        let mut other = client.clone();
        other["tried"] = Value::Null;
        let page = clients_page(&json!([other, client])).unwrap();
        let section = "\n## Edit\n\n`forage setup edit --write`; the file is `~/edit.json`.\n\n```json\n{}\n```\n\nMind it.\n";
        let (from, with) = ("Written from documentation; not tried", "Tried");
        let expected = format!(
            "{section}\n{from} with the real program.\n{section}\n{with} with the real program, version 1.2.\n"
        );
        assert!(page.ends_with(&expected), "{page}");
        assert!(clients_page(&json!([{ "client": "edit" }])).is_err());
    }

    #[test]
    fn a_tool_without_a_field_is_an_error() {
        let error = tools_page(&json!([{ "name": "x" }]), &json!([])).unwrap_err();
        assert!(error.contains("lacks a field"), "{error}");
        assert!(tools_page(&json!({}), &json!([])).is_err());
    }
}
