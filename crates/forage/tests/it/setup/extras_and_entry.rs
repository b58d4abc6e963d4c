//! The extras of `forage setup`: permissions, hooks, texts.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{CLIENTS, ok, put, setup, tree};
use crate::Project;
use crate::support::{line_with, stable};

/// Collects the strings in these fields, at any depth.
fn commands(value: &Value, keys: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| commands(item, keys, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, field)| match field.as_str() {
            Some(text) if keys.contains(&key.as_str()) => found.push(text.to_owned()),
            _ => commands(field, keys, found),
        }),
        _ => {}
    }
}

#[test]
fn every_extra_is_shown_added_and_removed() {
    let project = Project::new(&[("AGENTS.md", "# Rules\n\n- mine"), ("src/a.rs", "fn a() {}\n")]);
    let files = [
        (
            ".claude/settings.json",
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\" // mine\n    ]\n  }\n}",
        ),
        (".gemini/settings.json", "{\"theme\": \"dark\", \"hooks\": {}}"),
        (".codex/config.toml", "model = 'm' # mine\n"),
        (".codex/AGENTS.md", "Mine.\r\n"),
        (".config/opencode/opencode.json", "{\"permission\": {\"bash\": \"ask\"},}"),
        (".config/crush/crush.json", "{\"permissions\": {\"allowed_tools\": [\"view\"]}}"),
        (".config/amp/settings.json", "{\n\t\"amp.permissions\": []\n}\n"),
    ];
    for (file, text) in files {
        put(&project.home.join(file), text);
    }
    let before = (tree(&project.home), tree(&project.root));
    let environment = [
        ("OPENAI_API_KEY", "sk-never-to-be-seen-1234567890"),
        ("OPENAI_BASE_URL", "http://hidden.example/v1"),
    ];
    let run = |arguments: &[&str]| {
        let unchecked: &[&str] = if arguments.contains(&"--write") { &["--no-check"] } else { &[] };
        let run = project.run_in(&project.root, &[&["setup"], arguments, unchecked].concat(), &environment);
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
        assert!(
            !format!("{run:?}").contains("never-to-be-seen")
                && !format!("{run:?}").contains("hidden.example")
        );
        run
    };
    let all = ["--command", "forage", "--with", "all"];
    for (client, _, shared) in CLIENTS {
        for scope in ["user", "project"] {
            if scope == "project" && shared.is_none() {
                continue;
            }
            let arguments = [&[client, "--scope", scope][..], &all].concat();
            run(&arguments);
            assert_eq!((tree(&project.home), tree(&project.root)), before, "{client}: shown is not written");
            let shown = run(&arguments).stdout;
            let scoped = if scope == "user" { "" } else { " --scope project" };
            let command = format!("forage setup {client}{scoped} --command forage --with all --write");
            assert_eq!(
                line_with(&shown, "Nothing has been written"),
                format!("Nothing has been written. To apply the changes, run `{command}`.")
            );
            let written = run(&[&arguments[..], &["--write", "--json"]].concat()).json();
            for addition in written["with"].as_array().unwrap() {
                assert_eq!(addition["written"], true, "{client}: {addition}");
                let text = std::fs::read_to_string(addition["file"].as_str().unwrap()).unwrap();
                assert!(text.contains("forage"), "{text}");
            }
            let again = run(&[&arguments[..], &["--write", "--json"]].concat()).json();
            assert_eq!((&again["change"], &again["written"]), (&json!("none"), &json!(false)), "{client}");
            let changes = again["with"].as_array().unwrap().iter().filter(|it| it["change"] != "none");
            assert_eq!(changes.count(), 0, "{client}: {again}");
            let names: Vec<&str> =
                written["with"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
            let overview = run(&[]).stdout;
            assert!(names.is_empty() || overview.contains("; with "), "{overview}");
            run(&[client, "--scope", scope, "--remove"]);
            assert_eq!((tree(&project.home), tree(&project.root)), before, "{client} {scope}");
        }
    }
    // Positive control: this adds and removes many extras.
    let codex = run(&[&["codex"], &all[..], &["--write"]].concat()).stdout;
    assert_eq!(line_with(&codex, "OPENAI"), "+ env_vars = [\"OPENAI_API_KEY\", \"OPENAI_BASE_URL\"]");
    let claude = run(&[&["claude-code"], &all[..], &["--write", "--json"]].concat()).json();
    assert_eq!(claude["with"].as_array().unwrap().len(), 5);
    let settings = std::fs::read_to_string(project.home.join(".claude/settings.json")).unwrap();
    insta::assert_snapshot!(settings);
}

#[test]
fn each_extra_is_added_and_removed_separately() {
    let project = Project::new(&[]);
    ok(&project, &["claude-code", "--write", "--command", "forage", "--with", "permission,hooks"]);
    let settings = project.home.join(".claude/settings.json");
    let both = std::fs::read_to_string(&settings).unwrap();
    ok(&project, &["claude-code", "--remove", "--with", "hooks"]);
    let rest = std::fs::read_to_string(&settings).unwrap();
    let [mut both, rest] = [both, rest].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(rest, json!({ "permissions": { "allow": ["mcp__forage"] } }));
    let hooks = both.as_object_mut().unwrap().remove("hooks").unwrap();
    assert_eq!((both, hooks.as_object().unwrap().len()), (rest, 2));
    // The entry stays until its own removal is requested.
    assert!(project.home.join(".claude.json").exists());
    ok(&project, &["claude-code", "--remove"]);
    assert!(!settings.exists() && !project.home.join(".claude.json").exists());
    // Now a field of the entry, next to one that the user has added.
    ok(&project, &["gemini-cli", "--write", "--command", "forage", "--with", "permission"]);
    let file = project.home.join(".gemini/settings.json");
    let text =
        std::fs::read_to_string(&file).unwrap().replace("\"trust\": true", "\"trust\": true, \"timeout\": 5");
    put(&file, &text);
    ok(&project, &["gemini-cli", "--remove", "--with", "permission"]);
    let entry: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["forage"], json!({ "command": "forage", "args": ["mcp"], "timeout": 5 }));
    ok(&project, &["gemini-cli", "--remove"]);
    assert!(!std::fs::read_to_string(&file).is_ok_and(|text| text.contains("forage")));
}

#[test]
fn unsupported_extra_is_reported() {
    let project = Project::new(&[]);
    let run = setup(&project, &["zed", "--with", "hooks", "--write"]);
    let error = "forage: error: Zed does not support hooks that can advise; leave `hooks` out\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, error));
    assert!(!project.home.join(".config/zed/settings.json").exists());
    let all = ok(&project, &["claude-desktop", "--with", "all"]);
    insta::assert_snapshot!(all.shown());
    // Another scope may support it.
    let skill = setup(&project, &["vscode", "--with", "skill"]);
    let error = "forage: error: VS Code does not support skills for a user, only in a project (--scope project); \
                 leave `skill` out\n";
    assert_eq!((skill.status, skill.stderr.as_str()), (2, error));
    assert_eq!(ok(&project, &["vscode", "--with", "skill", "--scope", "project"]).status, 0);
}

#[test]
fn changed_or_foreign_extras_are_kept() {
    let project = Project::new(&[]);
    let skill = project.home.join(".claude/skills/forage/SKILL.md");
    put(&skill, "mine\n");
    let run = setup(&project, &["claude-code", "--write", "--with", "skill"]);
    let unchanged = "forage: error: TMP/home/.claude/skills/forage/SKILL.md is left unchanged (skill)";
    let error = format!("{unchanged}: there is such a file already, which Forage did not write\n");
    assert_eq!((run.status, stable(&run.stderr)), (2, error));
    assert_eq!(std::fs::read_to_string(&skill).unwrap(), "mine\n");
    std::fs::remove_file(&skill).unwrap();
    ok(&project, &["claude-code", "--write", "--with", "skill"]);
    let text = std::fs::read_to_string(&skill).unwrap();
    put(&skill, &text.replace("Searching", "Mine"));
    let run = setup(&project, &["claude-code", "--remove"]);
    let reason = "it was changed after Forage wrote it; move your changes elsewhere, and remove it";
    assert_eq!((run.status, stable(&run.stderr)), (2, format!("{unchanged}: {reason}\n")));
    assert!(skill.exists() && !project.home.join(".claude.json").exists());
    put(&skill, &text);
    ok(&project, &["claude-code", "--remove"]);
    assert!(!skill.exists() && !skill.parent().unwrap().exists());
}

#[test]
fn shared_file_is_removed_with_its_last_client() {
    let project = Project::new(&[("AGENTS.md", "# Rules\n")]);
    let text = || std::fs::read_to_string(project.root.join("AGENTS.md")).unwrap();
    for client in ["codex", "opencode"] {
        ok(&project, &[client, "--scope", "project", "--with", "instructions", "--write"]);
    }
    // The names have no prefix, because clients add different ones.
    insta::assert_snapshot!(stable(&text()));
    ok(&project, &["codex", "--scope", "project", "--remove"]);
    assert_eq!(line_with(&stable(&text()), "begin"), "<!-- forage: begin opencode; FENCE -->");
    ok(&project, &["opencode", "--scope", "project", "--remove"]);
    assert_eq!(text(), "# Rules\n");
}

/// An older `forage` exits with 2 for an unknown command, which clients would take as "block".
#[test]
fn a_hooks_command_never_fails() {
    let project = Project::new(&[]);
    let program = project.home.join("a b/forage");
    put(&program, "#!/bin/sh\necho old; exit 2\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (client, keys) in [
        ("claude-code", &["command"][..]),
        ("codex", &["command"]),
        ("gemini-cli", &["command"]),
        ("qwen", &["command"]),
        ("copilot", &["bash"]),
        ("cursor", &["command"]),
    ] {
        for scope in ["user", "project"] {
            let command = ["--command", program.to_str().unwrap()];
            let arguments = [&[client, "--scope", scope, "--with", "hooks", "--json"], &command[..]].concat();
            let run = setup(&project, &arguments);
            if run.status != 0 {
                assert_eq!((client, scope), ("copilot", "project"), "{}", run.stderr);
                continue;
            }
            let written = ok(&project, &[&arguments[..], &["--write"]].concat()).json();
            let file = written["with"][0]["file"].as_str().unwrap();
            let settings: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            let mut lines = Vec::new();
            commands(&settings["hooks"], keys, &mut lines);
            assert_eq!(lines.len(), 2, "{settings}");
            for line in lines {
                for shell in ["sh", "bash"] {
                    let output = std::process::Command::new(shell).args(["-c", &line]).output().unwrap();
                    assert_eq!(
                        (output.status.code(), &output.stdout[..]),
                        (Some(0), &b"old\n"[..]),
                        "{line}"
                    );
                }
                // PowerShell before 7 does not understand `||`, and cmd does not understand `;`.
                assert_eq!(line.ends_with("; exit 0"), ["gemini-cli", "cursor"].contains(&client), "{line}");
            }
        }
    }
    let copilot = std::fs::read_to_string(project.home.join(".copilot/hooks/forage.json")).unwrap();
    let copilot: Value = serde_json::from_str(&copilot).unwrap();
    let mut lines = Vec::new();
    commands(&copilot, &["powershell"], &mut lines);
    assert!(lines.len() == 2 && lines.iter().all(|line| line.ends_with("; exit 0")), "{lines:?}");
}

#[test]
fn lines_between_the_marks_are_not_lost() {
    let project = Project::new(&[("AGENTS.md", "# Rules\n")]);
    let file = project.root.join("AGENTS.md");
    let text = || std::fs::read_to_string(&file).unwrap();
    let with = ["codex", "--scope", "project", "--with", "instructions"];
    ok(&project, &[&with[..], &["--write"]].concat());
    let written = text();
    let added = written
        .replace("<!-- forage: end -->", "Ask Ann before you change the schema.\n<!-- forage: end -->");
    let shortened: String = written
        .split_inclusive('\n')
        .enumerate()
        .filter(|(index, _)| *index != 3)
        .map(|(_, line)| line)
        .collect();
    // A user's line stays where it is, even when the block is removed.
    put(&file, &added);
    ok(&project, &[&with[..], &["--write"]].concat());
    assert_eq!(text(), added);
    let other = ["opencode", "--scope", "project", "--with", "instructions"];
    ok(&project, &[&other[..], &["--write"]].concat());
    assert_eq!(line_with(&stable(&text()), "begin"), "<!-- forage: begin codex opencode; FENCE -->");
    assert_eq!(line_with(&text(), "Ask Ann"), "Ask Ann before you change the schema.");
    ok(&project, &["opencode", "--scope", "project", "--remove"]);
    assert_eq!(text(), added);
    ok(&project, &["codex", "--scope", "project", "--remove"]);
    assert_eq!(text(), "# Rules\n\nAsk Ann before you change the schema.\n");
    // If our lines were changed, we can't distinguish them from the user's.
    put(&file, &shortened);
    for arguments in [
        [&with[..], &["--write"]].concat(),
        [&other[..], &["--write"]].concat(),
        ["codex", "--scope", "project", "--remove"].to_vec(),
    ] {
        let run = setup(&project, &arguments);
        let error = "forage: error: TMP/project/AGENTS.md is left unchanged (instructions): the lines between its \
                     marks were changed after Forage wrote them; move your lines out of the marks and remove the \
                     rest\n";
        assert_eq!((run.status, stable(&run.stderr).as_str()), (2, error), "{arguments:?}");
        assert_eq!(text(), shortened, "{arguments:?}");
    }
    // Empty lines come from a formatter, so they belong to no user.
    put(&file, &written.replace("-->\n", "-->\n\n").replace("\n<!-- forage: end", "\n\n<!-- forage: end"));
    ok(&project, &["codex", "--scope", "project", "--remove"]);
    assert!(text().starts_with("# Rules\n") && text().trim() == "# Rules", "{}", text());
    // If the user moves the line out of the marks, it stays, and the rest is removed.
    put(&file, &(written + "Ask Ann before you change the schema.\n"));
    ok(&project, &["codex", "--scope", "project", "--write"]);
    ok(&project, &["codex", "--scope", "project", "--remove"]);
    assert_eq!(text(), "# Rules\nAsk Ann before you change the schema.\n");
}

/// Comments between the marks are the user's, because Forage writes none there.
#[test]
fn comments_between_the_marks_are_not_lost() {
    for (client, file, before) in [
        ("codex", ".codex/config.toml", "model = \"o\"\n"),
        ("goose", ".config/goose/config.yaml", "GOOSE_MODE: auto\n"),
        ("goose", ".config/goose/config.yaml", "extensions:\n  a:\n    type: builtin\n"),
        ("continue", ".continue/config.yaml", "name: mine\nmcpServers:\n  - name: a\n    command: b\n"),
    ] {
        let project = Project::new(&[]);
        let file = project.home.join(file);
        let text = || std::fs::read_to_string(&file).unwrap();
        put(&file, before);
        ok(&project, &[client, "--write", "--command", "/old/forage"]);
        let written = text();
        let at = written.find("# <<< forage").unwrap();
        let indent = at - written[..at].rfind('\n').unwrap() - 1;
        let note = format!("{}# Ask Ann first.\n", " ".repeat(indent));
        let mut added = written.clone();
        added.insert_str(at - indent, &note);
        put(&file, &added);
        ok(&project, &[client, "--write", "--command", "/new/forage"]);
        assert_eq!(text(), added.replace("/old/forage", "/new/forage"), "{client}");
        ok(&project, &[client, "--remove"]);
        assert_eq!(text(), format!("{before}\n{note}"), "{client}");
    }
}

#[test]
fn no_table_of_the_entry_is_left() {
    let project = Project::new(&[]);
    let file = project.home.join(".codex/config.toml");
    for before in ["", "model = \"o\"\n"] {
        put(&file, before);
        ok(&project, &["codex", "--write"]);
        let written = std::fs::read_to_string(&file).unwrap();
        let more = "\n[mcp_servers.forage.env]\nTOKEN = \"x\"\n# Lists, too.\nLIST = [\n  \"y\",\n]\n\n# Another server.\n\
                    [mcp_servers.other]\ncommand = \"z\"\n";
        put(&file, &(written + more));
        ok(&project, &["codex", "--remove"]);
        let text = std::fs::read_to_string(&file).unwrap();
        let rest = "\n# Another server.\n[mcp_servers.other]\ncommand = \"z\"\n";
        assert_eq!(text, format!("{before}{rest}"));
    }
}

/// A leftover directory would look like an installed client.
#[test]
fn no_directory_of_ours_is_left() {
    fn directories(below: &std::path::Path) -> Vec<std::path::PathBuf> {
        let all = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
        let own: Vec<_> = all.filter(|path| path.is_dir()).collect();
        let deeper: Vec<_> = own.iter().flat_map(|path| directories(path)).collect();
        own.into_iter().chain(deeper).collect()
    }
    for (client, ..) in super::CLIENTS {
        let project = Project::new(&[]);
        // A file of another program must stay.
        put(&project.home.join(".config/other/settings"), "x");
        let before = (directories(&project.home), directories(&project.root));
        for scope in ["user", "project"] {
            let written = setup(&project, &[client, "--scope", scope, "--with", "all", "--write"]);
            if written.status == 0 {
                ok(&project, &[client, "--scope", scope, "--remove"]);
            }
        }
        assert_eq!((directories(&project.home), directories(&project.root)), before, "{client}");
    }
}
