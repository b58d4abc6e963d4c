//! `forage setup` on real files: its output, the files that it writes and restores, and those that it leaves
//! alone.

mod extras_and_entry;

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{line_with, stable};
use crate::{Project, Run};

const CLIENTS: [(&str, &str, Option<&str>); 22] = [
    ("claude-code", ".claude.json", Some(".mcp.json")),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json")),
    ("vscode", ".config/Code/User/mcp.json", Some(".vscode/mcp.json")),
    ("codex", ".codex/config.toml", Some(".codex/config.toml")),
    ("zed", ".config/zed/settings.json", Some(".zed/settings.json")),
    ("goose", ".config/goose/config.yaml", None),
    ("gemini-cli", ".gemini/settings.json", Some(".gemini/settings.json")),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", None),
    ("copilot", ".copilot/mcp-config.json", None),
    ("qwen", ".qwen/settings.json", Some(".qwen/settings.json")),
    ("opencode", ".config/opencode/opencode.json", Some("opencode.json")),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", None),
    ("continue", ".continue/mcpServers/forage.json", Some(".continue/mcpServers/forage.json")),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None),
    ("kilo", ".config/kilo/kilo.json", Some("kilo.json")),
    ("kimi", ".kimi-code/mcp.json", Some(".kimi-code/mcp.json")),
    ("kiro", ".kiro/settings/mcp.json", Some(".kiro/settings/mcp.json")),
    ("junie", ".junie/mcp/mcp.json", Some(".junie/mcp/mcp.json")),
    ("antigravity", ".gemini/antigravity/mcp_config.json", None),
    ("amp", ".config/amp/settings.json", Some(".amp/settings.json")),
    ("pi", ".pi/agent/skills/forage/SKILL.md", Some(".pi/skills/forage/SKILL.md")),
    ("crush", ".config/crush/crush.json", Some("crush.json")),
];

/// Runs setup without testing the entry, since these tests are about files. `check.rs` covers the test of an
/// entry.
fn setup(project: &Project, arguments: &[&str]) -> Run {
    let unchecked: &[&str] = if arguments.contains(&"--write") { &["--no-check"] } else { &[] };
    project.run(&[&["setup"], arguments, unchecked].concat())
}

fn ok(project: &Project, arguments: &[&str]) -> Run {
    let run = setup(project, arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
    run
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns every file in a directory with its text.
fn tree(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(tree(&path)),
            false => files.push((path.clone(), std::fs::read_to_string(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn nothing_is_written_unless_it_is_asked_for() {
    let project = Project::new(&[]);
    let before = (tree(&project.home), tree(&project.root));
    for (client, file, _) in CLIENTS {
        let run = ok(&project, &[client]);
        let change = run.stdout.lines().next().unwrap().split_once(": would create ").unwrap().1;
        assert_eq!(Path::new(change), project.home.join(file));
        let command = format!("forage setup {client} --write");
        assert_eq!(
            line_with(&run.stdout, "Nothing has been written"),
            format!("Nothing has been written. To apply the changes, run `{command}`.")
        );
    }
    ok(&project, &[]);
    assert_eq!((tree(&project.home), tree(&project.root)), before);
}

#[test]
fn every_client_is_set_up_once_and_the_file_goes_again() {
    let project = Project::new(&[]);
    let before = (tree(&project.home), tree(&project.root));
    for (client, user, shared) in CLIENTS {
        let scopes =
            [("user", Some(project.home.join(user))), ("project", shared.map(|it| project.root.join(it)))];
        for (scope, file) in scopes {
            let Some(file) = file else { continue };
            let arguments = [client, "--scope", scope, "--command", "forage"];
            let shown = ok(&project, &arguments).stdout;
            let added = shown.lines().filter_map(|line| line.strip_prefix("+ "));
            let run = ok(&project, &[&arguments[..], &["--write", "--json"]].concat());
            assert_eq!((&run.json()["change"], &run.json()["written"]), (&json!("create"), &json!(true)));
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(added.eq(text.lines().filter(|line| !line.starts_with("# "))), "{shown}: {text}");
            let again = ok(&project, &[&arguments[..], &["--write", "--json"]].concat());
            assert_eq!((&again.json()["change"], &again.json()["written"]), (&json!("none"), &json!(false)));
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            let removed = ok(&project, &[client, "--scope", scope, "--remove", "--json"]);
            assert_eq!(removed.json()["change"], "delete");
            assert!(!file.exists());
            let nothing = ok(&project, &[client, "--scope", scope, "--remove", "--json"]);
            assert_eq!(nothing.json()["change"], "none");
        }
    }
    assert_eq!((tree(&project.home), tree(&project.root)), before);
    assert!(!project.root.join(".cursor").exists() && !project.root.join(".vscode").exists());
}

#[test]
fn a_users_file_comes_back_byte_by_byte() {
    let files = [
        (
            "zed",
            ".config/zed/settings.json",
            "\u{feff}// mine\r\n{\r\n\t\"theme\": \"One\", // dark\r\n\t\"context_servers\": {\r\n\t\t\"a\": {\"command\": \"x\",},\r\n\t},\r\n}",
        ),
        ("claude-code", ".claude.json", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {}\n}"),
        ("codex", ".codex/config.toml", "model = 'm' # mine\n\n[mcp_servers.x]\ncommand = \"y\""),
        (
            "goose",
            ".config/goose/config.yaml",
            "# mine\nextensions:\n  developer:\n    type: builtin\nGOOSE_MODE: auto\n",
        ),
    ];
    for (client, file, text) in files {
        let project = Project::new(&[]);
        let path = project.home.join(file);
        put(&path, text);
        ok(&project, &[client, "--write"]);
        let with = std::fs::read_to_string(&path).unwrap();
        assert!(with.len() > text.len() && with.contains(" mine") == text.contains(" mine"), "{with}");
        ok(&project, &[client, "--remove"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{client}");
        let litter: Vec<_> =
            std::fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(litter.iter().filter(|path| path.is_file()).count(), 1, "{litter:?}");
    }
}

/// After removal, an empty section must be empty in the same way as before.
#[test]
fn an_empty_section_comes_back_as_it_was() {
    for (client, file, text) in [
        ("claude-code", ".claude.json", "{\"mcpServers\": {}}"),
        ("claude-code", ".claude.json", "{\n  \"mcpServers\": {\n  },\n  \"a\": 1\n}\n"),
        ("opencode", ".config/opencode/opencode.json", "{\n\t\"mcp\": { } // none\n}\n"),
        ("codex", ".codex/config.toml", "[mcp_servers]\n"),
        ("codex", ".codex/config.toml", "# mine\n[mcp_servers] # none yet\n\n[tui]\nx = 1"),
        ("goose", ".config/goose/config.yaml", "extensions:\nGOOSE_MODE: auto\n"),
        ("continue", ".continue/config.yaml", "mcpServers:\nname: mine\n"),
    ] {
        let project = Project::new(&[]);
        let path = project.home.join(file);
        put(&path, text);
        ok(&project, &[client, "--write", "--with", "all"]);
        assert!(std::fs::read_to_string(&path).unwrap().contains("forage"), "{client}");
        ok(&project, &[client, "--remove"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{client}");
    }
}

/// Continue's program only reads its own configuration.
#[test]
fn continue_is_set_up_in_its_configuration_where_there_is_one() {
    let texts = [
        "name: \"mine\" # kept\nmodels:\n  - name: a\n    apiKey: ${{ secrets.KEY }}\n",
        "mcpServers:\n  # a note\n  - name: 'other'\n    command: npx\n    env:\n      A: \"b\"\n  -   command: x\n      name: third\nrules:\n  - uses: a/b\n",
        "mcpServers:\r\n- name: other\r\n  args:\r\n  - '-y'\r\nmodels: []",
        "mcpServers:\n  - uses: a/b",
        "mcpServers:\n  - {a: [1,\n      2]}\n",
    ];
    for text in texts {
        let project = Project::new(&[]);
        let path = project.home.join(".continue/config.yaml");
        put(&path, text);
        let before = tree(&project.home);
        ok(&project, &["continue", "--write", "--command", "forage"]);
        let with = std::fs::read_to_string(&path).unwrap();
        let read: Value = serde_yaml_ng::from_str(&with).unwrap();
        let mut expected: Value = serde_yaml_ng::from_str(text).unwrap();
        let entry = json!({ "name": "forage", "command": "forage", "args": ["mcp"] });
        match expected["mcpServers"].as_array_mut() {
            Some(servers) => servers.push(entry),
            None => expected["mcpServers"] = json!([entry]),
        }
        assert_eq!(read, expected, "{with}");
        let listed = ok(&project, &["--json"]).json();
        let client = listed.as_array().unwrap().iter().find(|it| it["client"] == "continue").unwrap();
        assert_eq!(client["files"][0]["state"], "set_up", "{client}");
        let again = ok(&project, &["continue", "--write", "--command", "forage", "--json"]).json();
        assert_eq!(again["change"], "none");
        ok(&project, &["continue", "--write", "--command", "/opt/a b/forage"]);
        ok(&project, &["continue", "--remove"]);
        assert_eq!(tree(&project.home), before, "{text}");
    }
    let mut errors = String::new();
    for text in ["mcpServers: []\n", "mcpServers:\n  a:\n    command: x\n", "mcpServers:\n  - {a: [1,\n"] {
        let project = Project::new(&[]);
        put(&project.home.join(".continue/config.yaml"), text);
        let run = setup(&project, &["continue", "--write"]);
        assert_eq!(run.status, 2, "{}", run.stderr);
        errors += &run.stderr;
    }
    insta::assert_snapshot!(stable(&errors));
    // An entry that is already in the other file stays there, and it can be removed from there.
    let project = Project::new(&[]);
    ok(&project, &["continue", "--write"]);
    put(&project.home.join(".continue/config.yaml"), "name: mine\n");
    ok(&project, &["continue", "--remove"]);
    assert!(!project.home.join(".continue/mcpServers/forage.json").exists());
}

/// A user's additions to Forage's entry, including comments, stay when Forage changes the entry.
#[test]
fn comments_in_the_entry_stay_when_it_is_changed() {
    let project = Project::new(&[]);
    let claude = "{\n  \"mcpServers\": {\n    \"forage\": {\n      // why I have it\n      \"type\": \"stdio\",\n      \"command\": \"/old/forage\", // old\n      \"args\": [\"mcp\", /* all */ \"--root\", \"/x\"]\n    }\n  }\n}\n";
    let codex = "# >>> forage\n[mcp_servers.forage]\n# why I have it\ncommand = \"/old/forage\"\nargs = [\"mcp\"] # all\nstartup_timeout_sec = 9\n# <<< forage\n";
    let gemini = "{\n  \"mcpServers\": {\"forage\": {\"command\": \"/old/forage\", \"args\": [\"mcp\"] /* all */}} // mine\n}\n";
    for (client, file, text) in [
        ("claude-code", ".claude.json", claude),
        ("codex", ".codex/config.toml", codex),
        ("gemini-cli", ".gemini/settings.json", gemini),
    ] {
        let path = project.home.join(file);
        put(&path, text);
        ok(&project, &[client, "--write", "--command", "/new/forage"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text.replace("/old/forage", "/new/forage"));
        // Add a field and remove it again.
        let environment = [("OPENAI_API_KEY", "x")];
        if client != "claude-code" {
            let with = ["--command", "/new/forage", "--with", "variables", "--no-check"];
            let run = |flags: &[&str]| {
                project.run_in(&project.root, &[&["setup", client], flags].concat(), &environment)
            };
            assert_eq!(run(&[&with[..], &["--write"]].concat()).status, 0);
            let more = std::fs::read_to_string(&path).unwrap();
            insta::assert_snapshot!(format!("variables-{client}"), more);
            assert_eq!(run(&["--with", "variables", "--remove"]).status, 0);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text.replace("/old/forage", "/new/forage"));
        }
    }
    // This hook has the user's own settings.
    let settings = project.home.join(".claude/settings.json");
    let hook = "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        // mine\n        \"matcher\": \"startup\",\n        \"hooks\": [{\"type\": \"command\", \"command\": \"forage hook session-start --client claude-code\", \"timeout\": 5}]\n      }\n    ]\n  }\n}\n";
    put(&settings, hook);
    ok(&project, &["claude-code", "--write", "--command", "forage", "--with", "hooks"]);
    let text = std::fs::read_to_string(&settings).unwrap();
    let updated = hook.replace("--client claude-code", "--client claude-code || exit 0");
    // All other hooks are new, so only the list of this event is compared.
    let list = |text: &str| text[text.find("\"SessionStart\"").unwrap()..].to_owned();
    assert_eq!(list(&text), list(&updated));
}

/// A path on this machine is meaningless on other people's machines.
#[test]
fn a_file_that_others_read_names_no_path_of_this_machine() {
    let project = Project::new(&[]);
    let all = ["--scope", "project", "--with", "all", "--write"];
    let run = ok(&project, &[&["claude-code"], &all[..]].concat());
    assert_eq!(
        line_with(&run.stdout, "everyone's PATH"),
        "Everyone who opens the project shares this file, so `forage` must be on everyone's PATH; on yours, it \
         is missing or is another program."
    );
    for (path, text) in tree(&project.root) {
        assert!(!text.contains(env!("CARGO_BIN_EXE_forage")), "{}: {text}", path.display());
    }
    let entry: Value =
        serde_json::from_str(&std::fs::read_to_string(project.root.join(".mcp.json")).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["forage"]["command"], "forage");
    // The output reports the effect on this machine, and gives advice that works for everyone.
    let tried = project.run(&["setup", "claude-code", "--scope", "project", "--write"]);
    insta::assert_snapshot!(tried.shown());
    let doctor = project.run(&["doctor"]);
    assert_eq!(
        line_with(&doctor.stdout, "not tried: "),
        "    not tried: there is no program `forage` on its PATH, which the project's file names"
    );
    // Control: the user's own file contains the path, and there is no such note.
    let own = ok(&project, &["claude-code", "--write"]);
    assert!(!own.stdout.contains("everyone's PATH"), "{}", own.stdout);
    let text = std::fs::read_to_string(project.home.join(".claude.json")).unwrap();
    let entry: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(entry["mcpServers"]["forage"]["command"], env!("CARGO_BIN_EXE_forage"));
}

#[test]
fn a_key_in_the_file_is_never_printed() {
    let project = Project::new(&[]);
    let secret = "s3cr3t-of-the-user";
    let text = format!(
        "{{\"mcpServers\": {{\"github\": {{\"command\": \"gh\", \"env\": {{\"TOKEN\": \"{secret}\"}}}}}}, \"key\": \"{secret}\"}}"
    );
    let path = project.home.join(".claude.json");
    put(&path, &text);
    put(&project.home.join(".cursor/mcp.json"), &format!("{{\"mcpServers\": {{\"forage\": \"{secret}\"}}}}"));
    put(&project.home.join(".codex/config.toml"), &format!("key = \"{secret}\"\nkey = \"{secret}\"\n"));
    for options in [&["--write"][..], &["--remove", "--dry-run"], &["--remove"], &["--json"], &[]] {
        for client in ["claude-code", "cursor", "codex"] {
            let run = setup(&project, &[&[client], options].concat());
            assert!(!format!("{}{}", run.stdout, run.stderr).contains(secret), "{run:?}");
        }
    }
    let shown = ok(&project, &["claude-code"]).stdout;
    assert_eq!(line_with(&shown, "github"), "      \"github\": …");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn foreign_entry_is_left_alone() {
    let project = Project::new(&[]);
    let mut errors = String::new();
    for (client, file, text) in [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"forage\": {\"url\": \"http://example.com\"}}}"),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.forage]\ncommand = \"forage\"\nargs = [\"mcp\", \"--root\", \"/x\"]\n",
        ),
        ("goose", ".config/goose/config.yaml", "extensions:\n  forage:\n    type: builtin\n"),
    ] {
        let path = project.home.join(file);
        put(&path, text);
        for option in ["--write", "--remove"] {
            let run = setup(&project, &[client, option]);
            assert_eq!(run.status, 2, "{client} {option}");
            errors += &run.stderr;
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
    // The errors have instructions for a manual change.
    insta::assert_snapshot!(stable(&errors));
}

#[test]
fn an_entry_follows_the_program_to_its_new_place() {
    let project = Project::new(&[]);
    for (client, file, _) in CLIENTS {
        let path = project.home.join(file);
        ok(&project, &[client, "--write", "--command", "/old place/forage"]);
        let run = ok(&project, &[client, "--write", "--command", "forage", "--json"]);
        assert_eq!(run.json()["change"], "update", "{client}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("/old place"), "{text}");
        ok(&project, &[client, "--remove"]);
        assert!(!path.exists(), "{client}");
    }
}

#[test]
fn bare_command_name_only_if_it_is_this_program() {
    let project = Project::new(&[]);
    let command = |path: &str| {
        let run = project.run_in(&project.root, &["setup", "codex", "--json"], &[("PATH", path)]);
        run.json()["entry"]["command"].as_str().unwrap().to_owned()
    };
    let program = Path::new(env!("CARGO_BIN_EXE_forage"));
    assert_eq!(command(program.parent().unwrap().to_str().unwrap()), "forage");
    assert!(Path::new(&command("/nonexistent")).is_absolute());
    // Now another program of that name comes first.
    let other = project.home.join("bin");
    put(&other.join("forage"), "#!/bin/sh\n");
    let path = format!("{}:{}", other.display(), program.parent().unwrap().display());
    assert!(Path::new(&command(&path)).is_absolute());
}

#[test]
fn links_and_permissions_stay_as_they_are() {
    let project = Project::new(&[]);
    let (dotfiles, link) = (project.home.join("dotfiles/claude.json"), project.home.join(".claude.json"));
    put(&dotfiles, "{\n  \"a\": 1\n}\n");
    std::fs::set_permissions(&dotfiles, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&dotfiles, &link).unwrap();
    for option in ["--write", "--remove"] {
        ok(&project, &["claude-code", option]);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::metadata(&dotfiles).unwrap().permissions().mode() & 0o777, 0o640);
    }
    assert_eq!(std::fs::read_to_string(&dotfiles).unwrap(), "{\n  \"a\": 1\n}\n");
    // Only the user may read a new file of the user's.
    ok(&project, &["gemini-cli", "--write"]);
    let mode = std::fs::metadata(project.home.join(".gemini/settings.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_projects_file_does_not_lead_out_of_the_project() {
    let project = Project::new(&[]);
    let outside = project.home.join("outside.json");
    put(&outside, "{}");
    symlink(&outside, project.root.join(".mcp.json")).unwrap();
    symlink(&project.home, project.root.join(".cursor")).unwrap();
    symlink(project.home.join("nothing"), project.root.join(".vscode")).unwrap();
    for client in ["claude-code", "cursor", "vscode"] {
        let run = setup(&project, &[client, "--scope", "project", "--write"]);
        assert_eq!(run.status, 2, "{client}: {}", run.stdout);
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
    assert!(!project.home.join("mcp.json").exists());
    // Positive control: the user's own link is followed.
    symlink(&outside, project.home.join(".claude.json")).unwrap();
    ok(&project, &["claude-code", "--write"]);
    let entry: Value = serde_json::from_str(&std::fs::read_to_string(&outside).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["forage"]["args"], json!(["mcp"]));
}

#[test]
fn what_is_no_file_of_text_is_refused() {
    let project = Project::new(&[]);
    std::fs::create_dir_all(project.home.join(".claude.json")).unwrap();
    std::fs::create_dir_all(project.home.join(".cursor")).unwrap();
    std::fs::write(project.home.join(".cursor/mcp.json"), b"{\"a\": \"\xff\"}").unwrap();
    symlink("/nowhere/at/all", project.home.join(".gemini")).unwrap();
    let pipe = project.home.join(".config/zed/settings.json");
    std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let errors = ["claude-code", "cursor", "gemini-cli", "zed"].map(|client| {
        let run = setup(&project, &[client, "--write"]);
        assert_eq!(run.status, 2, "{client}: {}", run.stdout);
        stable(line_with(&run.stderr, " is left unchanged: "))
    });
    insta::assert_snapshot!(errors.join("\n"));
    // All of them are listed nevertheless.
    let listed = ok(&project, &["--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), CLIENTS.len());
}

#[test]
fn client_without_a_project_file_is_reported() {
    let project = Project::new(&[]);
    let run = setup(&project, &["goose", "--scope", "project", "--write"]);
    let error = "forage: error: Goose has no configuration file for a project; leave --scope out\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, error));
    assert_eq!(setup(&project, &["--write"]).status, 2);
    assert_eq!(setup(&project, &["emacs", "--write"]).status, 2);
}

#[test]
fn the_snippets_of_the_documentation_are_what_is_written() {
    let project = Project::new(&[]);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(workspace.join("docs/clients.md")).unwrap();
    let readme = std::fs::read_to_string(workspace.join("README.md")).unwrap();
    for (client, file, _) in CLIENTS {
        ok(&project, &[client, "--write", "--command", "forage"]);
        let text = std::fs::read_to_string(project.home.join(file)).unwrap();
        let snippet: String =
            text.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
        assert!(page.contains(&format!("\n{snippet}```\n")), "docs/clients.md lacks:\n{snippet}");
        if client == "claude-code" {
            assert!(readme.contains(&format!("```json\n{snippet}```\n")), "README.md lacks:\n{snippet}");
            let _: Value = serde_json::from_str(&text).unwrap();
        }
    }
}

#[test]
fn clients_that_are_there_are_found_and_all_set_up_at_once() {
    let project = Project::new(&[]);
    let bin = project.home.join("bin");
    put(&bin.join("gemini"), "");
    put(&project.home.join(".codex/config.toml"), "");
    put(&project.home.join(".cursor/mcp.json"), "{ not JSON");
    let run = |arguments: &[&str]| {
        let path = [("PATH", bin.to_str().unwrap())];
        project.run_in(&project.root, &[&["setup", "--command", "forage"], arguments].concat(), &path)
    };
    let listed = run(&["--json"]).json();
    let found: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["found"] != json!([]))
        .map(|it| it["client"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["cursor", "codex", "gemini-cli"]);
    insta::assert_snapshot!("found", run(&[]).shown());
    let shown = run(&["--detected"]);
    assert!(!project.home.join(".gemini").exists(), "{}", shown.stdout);
    // A refusal for one client must not stop the others.
    insta::assert_snapshot!("detected", run(&["--detected", "--write"]).shown());
    assert!(
        project.home.join(".gemini/settings.json").exists() && !project.home.join(".claude.json").exists()
    );
    let codex = std::fs::read_to_string(project.home.join(".codex/config.toml")).unwrap();
    assert_eq!(
        codex,
        "\n# >>> forage\n[mcp_servers.forage]\ncommand = \"forage\"\nargs = [\"mcp\"]\n# <<< forage\n"
    );
    run(&["--detected", "--remove"]);
    assert!(!project.home.join(".gemini/settings.json").exists());
    assert_eq!(std::fs::read_to_string(project.home.join(".codex/config.toml")).unwrap(), "");
}

#[test]
fn any_other_client_gets_something_to_paste() {
    let project = Project::new(&[]);
    let other = setup(&project, &["other", "--command", "forage"]);
    insta::assert_snapshot!(other.shown());
    // A name that Forage does not know may be a typing error.
    let emacs = setup(&project, &["emacs", "--command", "forage"]);
    let error = format!("forage: error: `emacs` is not a client that Forage knows.\n{}", other.stdout);
    assert_eq!((emacs.status, emacs.stderr), (2, error));
    for name in ["other", "emacs"] {
        assert_eq!(setup(&project, &[name, "--remove"]).status, 2);
    }
    assert_eq!(
        setup(&project, &["claude"]).stderr.lines().next().unwrap(),
        "forage: error: `claude` is not a client that Forage knows; did you mean claude-code or claude-desktop?"
    );
    let record = setup(&project, &["emacs", "--json", "--command", "forage"]).json();
    assert_eq!((&record["known"], &record["args"]), (&json!(false), &json!(["mcp"])));
}
