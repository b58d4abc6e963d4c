//! Generates files from the program, so that they always match it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cargo::{self, Workspace};
use crate::{front_page, picture};

/// Writes all generated files that are not up to date.
pub(crate) fn write(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        let path = workspace.path(&name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            println!("{name} is up to date");
            continue;
        }
        cargo::write(&path, text)?;
        println!("{name} was written");
    }
    Ok(())
}

/// Checks that every generated file is up to date.
pub(crate) fn compare(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        // Note that a missing file is not up to date either.
        if std::fs::read_to_string(workspace.path(&name)).unwrap_or_default() != text {
            return Err(format!("{name} is not up to date; run `cargo xtask generate`"));
        }
    }
    Ok(())
}

/// Generates all files. Returns their paths and texts.
fn generated(workspace: &Workspace) -> Result<Vec<(String, String)>, String> {
    let tools = |more: &[&str]| {
        // We use the default configuration instead of the developer's own.
        let command = ["tools", "--format", "mcp", "--config", "/dev/null"];
        workspace.forage_json(&[&command[..], more].concat())
    };
    let setup = ["setup", "--command", "forage", "--config", "/dev/null"];
    let clients = workspace.forage_json(&[&setup[..], &["--json"]].concat())?;
    let schema = workspace.forage_json(&["config", "--schema"])?;
    let mut files = vec![
        ("docs/configuration.md".to_owned(), crate::configuration::page(&schema)?),
        (
            "docs/tools.md".to_owned(),
            tools_page(&tools(&["--all", "--every-argument"])?, &tools(&["--all"])?, &tools(&[])?)?,
        ),
        ("docs/clients.md".to_owned(), clients_page(&clients)?),
        ("docs/commands.md".to_owned(), crate::commands::page(workspace)?),
        ("docs/terminal.svg".to_owned(), picture::render(workspace)?),
    ];
    files.extend(crate::records::files(&workspace.forage_json(&["schema", "--json"])?)?);
    files.extend(crate::bindings::files(workspace)?);
    files.extend(front_page::readmes(workspace)?);
    let plugin = workspace.forage_json(&[&setup[..], &["--plugin-files"]].concat())?;
    for (path, text) in plugin.as_object().ok_or("`forage setup --plugin-files` does not print an object")? {
        let text = text.as_str().ok_or_else(|| format!("the text of {path} is not a string"))?;
        files.push((path.clone(), text.to_owned()));
    }
    Ok(files)
}

/// Generates the page on setting up each client, from the table in the program.
fn clients_page(clients: &Value) -> Result<String, String> {
    let mut page = String::from(CLIENTS);
    let clients = clients.as_array().ok_or("`forage setup --json` does not print an array")?;
    let lacks = |client: &Value| format!("a client lacks a field: {client}");
    for client in clients {
        let row = client_row(client).ok_or_else(|| lacks(client))?;
        page.push_str(&row);
    }
    // We show each form of an entry only once.
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for client in clients {
        client_section(&mut page, client, &mut shown).ok_or_else(|| lacks(client))?;
    }
    Ok(page)
}

/// The part of the page that applies to all clients.
const CLIENTS: &str = "\
# Clients

<!-- Written by `cargo xtask generate` from the table in the program; don't edit. -->

`forage setup` adds Forage to the configuration of a client as an MCP server, or for pi as a skill:

```sh
forage setup                        # the clients on this machine
forage setup claude-code            # shows the changes
forage setup claude-code --write    # writes the entry, and tests it
forage setup claude-code --remove   # removes it at once; add --dry-run to see the change first
```

Use `--detected` instead of a name for all clients on this machine. `--scope project` changes the file of the project, so
that everyone who opens the project gets the entry. `forage setup other` prints entries for other clients.

- **Your file stays yours.** Comments, layout and other entries are kept, and `--remove` restores the file byte by byte,
  unless the client has rewritten it. If Forage can't parse a file, it does not change it.
- **The entry is tested.** Forage starts the command as the client starts it, and calls a tool. Then it asks the client for
  its servers (`claude mcp list`). This happens in an empty home, because clients rewrite their files when they list them.
  \"Works\" means that the entry is on that list; if the client can't be asked, the entry is \"written, not tried\". The
  exit status is 2 if the server does not answer or the client does not list it. `--no-check` skips the test.
- `forage doctor` runs this test for every client, and reports whether the model can't see the tools. From a project's file, it
  only starts entries that run this very program.
- **The command** is `forage mcp`, with the absolute path if `forage` on your `PATH` is another program. In a project's
  file it must be the bare name. `--command` sets another command.

## Additions to the entry

`--with` adds more, for example `--with permission,skill`; `all` selects everything that the client supports. Each
client's table below names the files. `--remove` removes these additions, too, and `--remove --with WHAT` only the named
ones.

| `--with` | addition |
|---|---|
| `permission` | permission to call Forage's tools without asking each time; all of them only read |
| `variables` | names of variables that the client passes on, such as those of keys; never their values |
| `instructions` | a few lines for the model, between marks in its Markdown file. Your own lines there always stay |
| `skill` | the same lines as a skill |
| `agent` | a sub-agent `forage-search`, which searches and returns files and lines |
| `hooks` | `forage hook`, which advises at the start of a session and before the client's own searches. If the client searches for one name, the hook adds its definition and the number of uses; for several words, the best files. It never blocks, and returns nothing after 1.5 seconds. Codex runs it only after you have trusted it (`/hooks`) |

## As a plugin

Forage's repository is a marketplace of plugins for Claude Code, Codex and Copilot CLI, and an extension for Gemini CLI.
The plugin has the server, the skill, the sub-agent and the hooks. `forage` must be on the `PATH`. `REPOSITORY` is the
address of the repository, or a clone.

```text
claude plugin marketplace add REPOSITORY && claude plugin install forage@forage
codex plugin marketplace add REPOSITORY && codex plugin add forage@forage
copilot plugin marketplace add REPOSITORY && copilot plugin install forage@forage
gemini extensions install REPOSITORY
```

## All clients

| client | name | tried with |
|---|---|---|
";

fn client_row(client: &Value) -> Option<String> {
    let (title, name) = (client["title"].as_str()?, client["client"].as_str()?);
    let tried = client["tried"].as_str().unwrap_or("not tried; written from its documentation");
    Some(format!("| {title} | `{name}` | {tried} |\n"))
}

fn client_section<'a>(
    page: &mut String,
    client: &'a Value,
    shown: &mut Vec<(&'a str, &'a str)>,
) -> Option<()> {
    let text = |key: &str| client[key].as_str();
    let (title, name, user) = (text("title")?, text("client")?, text("user_file")?);
    let (format, snippet) = (text("format")?, text("snippet")?);
    let project = match text("project_file") {
        Some(project) => format!("`{user}`, or `{project}` in a project"),
        None => format!("`{user}`"),
    };
    let _ = write!(page, "\n## {title}\n\n`forage setup {name} --write` writes to {project}.");
    match shown.iter().find(|(_, other)| *other == snippet) {
        Some((other, _)) => {
            let _ = writeln!(page, " It uses the same entry as {other}.");
        }
        None => {
            let _ = write!(page, "\n\n```{format}\n{snippet}```\n");
            shown.push((title, snippet));
        }
    }
    let list = |values: &Value| {
        let texts: Option<Vec<&str>> = values.as_array()?.iter().map(Value::as_str).collect();
        Some(texts?.join(", "))
    };
    let _ = write!(page, "\nDetected by {}.\n", list(&client["traces"])?);
    let with = client["with"].as_array()?;
    if !with.is_empty() {
        page.push_str("\n| `--with` | your file | a project's | where |\n|---|---|---|---|\n");
    }
    for extra in with {
        let entry = extra["about"].as_str()?.ends_with("in the entry");
        let place = |key: &str, has_file: bool| match (extra[key].as_str(), entry && has_file) {
            (Some(file), _) => format!("`{file}`"),
            (None, true) => "that of the entry".to_owned(),
            (None, false) => "–".to_owned(),
        };
        let (user, project) =
            (place("user_file", true), place("project_file", client["project_file"].is_string()));
        let _ = writeln!(
            page,
            "| `{}` | {user} | {project} | {} |",
            extra["name"].as_str()?,
            extra["about"].as_str()?
        );
    }
    if let Some(remark) = text("remark") {
        let _ = write!(page, "\n{remark}\n");
    }
    Some(())
}

/// Generates the reference of the tools. `tools` must be the definitions with all arguments. The second
/// argument must be those that models see, and `on` those of the tools that are enabled by default.
fn tools_page(tools: &Value, advertised: &Value, on: &Value) -> Result<String, String> {
    let array = |tools: &Value| {
        tools.as_array().cloned().ok_or("`forage tools --format mcp` does not print an array")
    };
    let (tools, advertised, on) = (array(tools)?, array(advertised)?, array(on)?);
    let mut page = String::from(
        "# Tools\n\n<!-- Written by `cargo xtask generate` from the definitions in the program; don't edit. -->\n\n\
         This page has the descriptions that models read, word for word, and the arguments. Models do not see *hidden*\n\
         arguments, but the tools accept them. Some defaults differ from those of [the commands](commands.md). A ranking has\n\
         4,000 tokens of code (at a terminal none, or 8,000 with `--code`). A line search has two lines of context if it has up\n\
         to ten matches (at a terminal none).\n\n\
         ```sh\nforage call grep_search '{\"pattern\": \"fn main\"}'     # a call, as an agent makes it\nforage tools --format openai                          # the definitions for a provider\n```\n",
    );
    for tool in &tools {
        let is_on = on.iter().any(|other| other["name"] == tool["name"]);
        let advertised = advertised.iter().find(|other| other["name"] == tool["name"]);
        let advertised =
            advertised.map_or(&Value::Null, |advertised| &advertised["inputSchema"]["properties"]);
        section(&mut page, tool, advertised, is_on)
            .ok_or_else(|| format!("a tool lacks a field that its page needs: {tool}"))?;
    }
    Ok(page)
}

fn section(page: &mut String, tool: &Value, advertised: &Value, is_on: bool) -> Option<()> {
    let (name, title) = (tool["name"].as_str()?, tool["title"].as_str()?);
    let _ = write!(page, "\n## `{name}`\n\n{title}.\n\n");
    if !is_on {
        page.push_str("Off by default. Enable it in the configuration.\n\n");
    }
    let _ = write!(page, "```text\n{}```\n", wrapped(tool["description"].as_str()?));
    let schema = &tool["inputSchema"];
    let arguments = schema["properties"].as_object()?;
    if arguments.is_empty() {
        page.push_str("\nNo arguments.\n");
        return Some(());
    }
    page.push_str("\n| argument | type | | meaning |\n|---|---|---|---|\n");
    for (argument, property) in arguments {
        let required =
            schema["required"].as_array().is_some_and(|names| names.contains(&argument.as_str().into()));
        let need = match (required, advertised[argument].is_null()) {
            (true, _) => "required",
            (false, false) => "",
            (false, true) => "hidden",
        };
        let meaning = meaning(property).replace('|', "\\|");
        let _ = writeln!(page, "| `{argument}` | {} | {need} | {meaning} |", kind(property)?);
    }
    Some(())
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
fn kind(property: &Value) -> Option<String> {
    let name = property["type"].as_str()?;
    Some(match name {
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
pub(crate) fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        0 => part.replace('<', "&lt;").replace('*', "\\*"),
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
        let mut advertised = tools.clone();
        advertised[0]["inputSchema"]["properties"].as_object_mut().unwrap().remove("mode");
        let page = tools_page(&tools, &advertised, &tools).unwrap();
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
        let page = clients_page(&json!([client, other])).unwrap();
        let rest = "Detected by `edit` on the `PATH`, `~/.edit`.\n\n\
            | `--with` | your file | a project's | where |\n|---|---|---|---|\n\
            | `permission` | that of the entry | – | `trust` in the entry |\n| `skill` | `~/s.md` | – | a file |\n\nMind it.\n";
        let expected = format!(
            "| Edit | `edit` | 1.2 |\n| Same | `edit` | not tried; written from its documentation |\n\
            \n## Edit\n\n`forage setup edit --write` writes to `~/edit.json`.\n\n```json\n{{}}\n```\n\n{rest}\
            \n## Same\n\n`forage setup edit --write` writes to `~/edit.json`. It uses the same entry as Edit.\n\n{rest}"
        );
        assert!(page.ends_with(&expected), "{page}");
        assert!(clients_page(&json!([{ "client": "edit" }])).is_err());
    }

    #[test]
    fn a_tool_without_a_field_is_an_error() {
        let error = tools_page(&json!([{ "name": "x" }]), &json!([]), &json!([])).unwrap_err();
        assert!(error.contains("lacks a field"), "{error}");
        assert!(tools_page(&json!({}), &json!([]), &json!([])).is_err());
    }
}
