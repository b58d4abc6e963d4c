//! Generates files from the program, so that they always match it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::cargo::{self, Workspace};
use crate::{front_page, picture};

/// Writes every generated file that is not up to date.
pub(crate) fn write(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        let path = workspace.path(&name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            println!("{name} is up to date");
            continue;
        }
        cargo::write(&path, text)?;
        println!("{name} is written");
    }
    Ok(())
}

/// Checks that every generated file is up to date.
pub(crate) fn compare(workspace: &Workspace) -> Result<(), String> {
    for (name, text) in generated(workspace)? {
        // A missing file is not up to date either.
        if std::fs::read_to_string(workspace.path(&name)).unwrap_or_default() != text {
            return Err(format!("{name} is not up to date; run `cargo xtask generate`"));
        }
    }
    Ok(())
}

/// Returns the path and text of each generated file.
fn generated(workspace: &Workspace) -> Result<Vec<(String, String)>, String> {
    let tools = |more: &[&str]| {
        // Use the default configuration instead of the developer's own.
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
        ("docs/commands.md".to_owned(), commands_page(workspace)?),
        ("docs/terminal.svg".to_owned(), picture::render(workspace)?),
    ];
    files.extend(crate::records::files(&workspace.forage_json(&["schema", "--json"])?)?);
    files.extend(crate::bindings::files(workspace)?);
    files.extend(front_page::readmes(workspace)?);
    let plugin = workspace.forage_json(&[&setup[..], &["--plugin-files"]].concat())?;
    for (path, text) in plugin.as_object().ok_or("`forage setup --plugin-files` prints no object")? {
        let text = text.as_str().ok_or_else(|| format!("the text of {path} is none"))?;
        files.push((path.clone(), text.to_owned()));
    }
    Ok(files)
}

/// Returns the page with the help of every command.
fn commands_page(workspace: &Workspace) -> Result<String, String> {
    let mut page = String::from(
        "# Commands\n\n<!-- Written by `cargo xtask generate` from the program; don't edit. -->\n\n\
         `forage help COMMAND` prints what stands here, `forage COMMAND -h` the options of that command alone. Exit status: 0 something was\n\
         found, 1 nothing was found, 2 an error, 130 interrupted.\n",
    );
    let names = workspace.forage_text(&["man", "--list"])?;
    for name in names.lines() {
        let help = workspace.forage_text(&[name, "--help"])?;
        // Options that all commands share are listed only once.
        let (own, of_all) = help.split_once("\nOptions of every command:").unwrap_or((&help, ""));
        let behind = of_all.find("\nExamples").map_or("", |at| &of_all[at..]);
        let _ = write!(page, "\n## `forage {name}`\n\n```text\n{}\n{behind}", own.trim_end());
        page.truncate(page.trim_end().len());
        page.push_str("\n```\n");
    }
    let help = workspace.forage_text(&["--help"])?;
    let of_all = help.split_once("\nOptions of every command:").map_or("", |(_, of_all)| of_all);
    let of_all = of_all.split("\nExit status").next().unwrap_or_default();
    let _ = write!(page, "\n## Options of every command\n\n```text\n{}\n```\n", of_all.trim_matches('\n'));
    Ok(page)
}

/// Returns the page on the setup of each client, from the table in the program.
fn clients_page(clients: &Value) -> Result<String, String> {
    let mut page = String::from(
        "# Clients\n\n<!-- Written by `cargo xtask generate` from the table in the program; don't edit. -->\n\n\
         `forage setup` lists the clients on this machine with their files, and the names of the other clients that it knows.\n\
         `forage setup CLIENT` shows the change to the client's configuration, `--write` makes it, and `--remove` restores\n\
         the file byte by byte. Comments, layout and all other entries stay, and a file that Forage does not understand is\n\
         left unchanged. Fields that you have added to the entry stay when Forage updates it, and go with it. Your own lines\n\
         between Forage's marks always stay. `--detected` in place of a name sets up all clients that were found and ends\n\
         with a table of what each still needs. `--scope project` writes the file that a project has for everyone.\n\n\
         `--write` also tries the entry. It starts the command as the client does, with the variables that the client passes\n\
         on, and asks it for its tools and one answer. Then it asks the client for its list of servers (`claude mcp list`,\n\
         `codex mcp list`, `gemini mcp list`, `copilot mcp list`, `qwen mcp list`, `opencode mcp list`, `kilo mcp list`,\n\
         `cline config mcp`), in an empty home with nothing but the entry, because clients rewrite their files when they list\n\
         servers. Forage says \"works\" only if the entry is on that list. If the client can't be asked, it says \"written, not\n\
         tried\"; that is always so for a project's file. The exit status is 2 if the server does not answer or the client\n\
         does not list it. `--no-check` skips this. `forage doctor` starts the server for every client in which Forage is set\n\
         up and reports obstacles: variables that do not arrive, permissions, trust, tools that the model must search for.\n\
         Anybody may have written a project's file. So `doctor` starts an entry of one only if it runs this very program and\n\
         has nothing that Forage did not write.\n\n\
         ```sh\nforage setup claude-code            # shows it\nforage setup claude-code --write    # writes it\n\
         forage setup claude-code --remove   # takes it out again\n```\n\n\
         The client runs `forage mcp`, by the bare name if that is the program on your `PATH`, else by its absolute\n\
         path; in a project's file, which others read, too, always by the bare name. `--command` names another. `forage setup other` shows what clients take that are not listed here.\n\n\
         ## Beside the entry\n\n\
         `--with` adds what it names, separated by commas, or `all` that the client takes. It is shown first as the entry is,\n\
         marked where the format has comments, and taken out again by `--remove`, or alone by `--remove --with WHAT`.\n\n\
         | `--with` | what it is |\n|---|---|\n\
         | `permission` | permission to call Forage's tools, all of which only read, without asking each time |\n\
         | `variables` | the names of the variables that are set and that Forage needs, such as those of keys; never their values |\n\
         | `instructions` | a few lines for the model: when to take Forage's tools. In Markdown between `<!-- forage: begin … -->` and `<!-- forage: end -->`; lines that you have added there stay |\n\
         | `skill` | the same as a skill, which clients load when it is wanted |\n\
         | `agent` | a sub-agent `forage-search` that searches and answers with files and lines |\n\
         | `hooks` | `forage hook`: a sentence at the start of a session, and before the client's own `grep`, `rg`, `find` or search: for one name its definition and the number of its uses, for several words the best files of an existing ranked index. It advises and never blocks, prints nothing if it has no answer within 1.5 seconds, and always exits with 0 |\n\n\
         Codex runs a hook only after you have looked at it and trusted it (`/hooks`).\n\n\
         ## As a plugin\n\n\
         Forage's repository is a marketplace of plugins for Claude Code, Codex and Copilot CLI, and an extension for Gemini CLI. The\n\
         plugin brings the server, the skill, the sub-agent and the hooks; `forage` has to be on the `PATH`.\n\n\
         ```text\n\
         claude plugin marketplace add REPOSITORY && claude plugin install forage@forage\n\
         codex plugin marketplace add REPOSITORY && codex plugin add forage@forage\n\
         copilot plugin marketplace add REPOSITORY && copilot plugin install forage@forage\n\
         gemini extensions install REPOSITORY\n\
         ```\n\n\
         `REPOSITORY` is its address or a clone of it.\n",
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
    let list = |values: &Value| {
        let texts: Option<Vec<&str>> = values.as_array()?.iter().map(Value::as_str).collect();
        Some(texts?.join(", "))
    };
    let _ = write!(page, "\nIt is found by {}.\n", list(&client["traces"])?);
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
    let _ = match text("tried") {
        Some(version) => write!(page, "\nTried with the real program, version {version}.\n"),
        None => write!(page, "\nWritten from documentation; not tried with the real program.\n"),
    };
    Some(())
}

/// Returns the reference of the tools from their definitions with every argument. `told` contains the
/// definitions that models see, and `on` those that are enabled by default.
fn tools_page(tools: &Value, told: &Value, on: &Value) -> Result<String, String> {
    let array =
        |tools: &Value| tools.as_array().cloned().ok_or("`forage tools --format mcp` prints no array");
    let (tools, told, on) = (array(tools)?, array(told)?, array(on)?);
    let mut page = String::from(
        "# Tools\n\n<!-- Written by `cargo xtask generate` from the definitions in the program; don't edit. -->\n\n\
         What a model reads about each tool, word for word, and the arguments that it can give. A call by hand, as an\n\
         agent makes it, and the definitions in the form of a provider:\n\n\
         ```sh\nforage call grep_search '{\"pattern\": \"fn main\"}'\nforage tools --format openai\n```\n",
    );
    for tool in &tools {
        let is_on = on.iter().any(|other| other["name"] == tool["name"]);
        let told = told.iter().find(|other| other["name"] == tool["name"]);
        let told = told.map_or(&Value::Null, |told| &told["inputSchema"]["properties"]);
        section(&mut page, tool, told, is_on)
            .ok_or_else(|| format!("a tool lacks a field that its page needs: {tool}"))?;
    }
    Ok(page)
}

fn section(page: &mut String, tool: &Value, told: &Value, is_on: bool) -> Option<()> {
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
        let meaning =
            if told[argument].is_null() { format!("{meaning} Models are not told of it.") } else { meaning };
        let _ = writeln!(page, "| `{argument}` | {} | {required} | {meaning} |", kind(property)?);
    }
    Some(())
}

/// Describes the type of a property in words.
fn kind(property: &Value) -> Option<String> {
    let name = property["type"].as_str()?;
    Some(match name {
        "array" => format!("array of {}", kind(&property["items"])?),
        _ => name.to_owned(),
    })
}

/// Returns the description of a property with its limits.
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

/// Escapes text that Markdown would take for a tag. Text between backticks is already literal.
pub(crate) fn escaped(text: &str) -> String {
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
        let mut told = tools.clone();
        told[0]["inputSchema"]["properties"].as_object_mut().unwrap().remove("mode");
        let page = tools_page(&tools, &told, &tools).unwrap();
        let expected = "\n## `find_it`\n\nFind it.\n\n> Finds &lt;it>.\n>\n> With `a<b>`.\n\n\
            | argument | type | required | meaning |\n|---|---|---|---|\n\
            | `terms` | array of string | yes | One \\| many |\n\
            | `depth` | integer | no | Levels. From 0 to 9. |\n\
            | `mode` | string | no | One of `\"a\"`, `\"b\"`. Models are not told of it. |\n\
            \n## `rest`\n\nRest.\n\n> Nothing.\n\nNo arguments.\n";
        assert!(page.ends_with(expected), "{page}");
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
        other["tried"] = Value::Null;
        let page = clients_page(&json!([other, client])).unwrap();
        let section = "\n## Edit\n\n`forage setup edit --write`; the file is `~/edit.json`.\n\n```json\n{}\n```\n\n\
            It is found by `edit` on the `PATH`, `~/.edit`.\n\n\
            | `--with` | your file | a project's | where |\n|---|---|---|---|\n\
            | `permission` | that of the entry | – | `trust` in the entry |\n| `skill` | `~/s.md` | – | a file |\n\nMind it.\n";
        let (from, with) = ("Written from documentation; not tried", "Tried");
        let expected = format!(
            "{section}\n{from} with the real program.\n{section}\n{with} with the real program, version 1.2.\n"
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
