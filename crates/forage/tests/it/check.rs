//! Checks of clients' entries. They start the server as the client would, report the result and any
//! obstacles, and leave no process.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{line_with, stable};
use crate::ui::Page;
use crate::{Project, Run};

const FORAGE: &str = env!("CARGO_BIN_EXE_forage");
const KEY: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Writes a program that has Forage's name but does something else.
fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("forage");
    put(&path, &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Writes the user's Codex configuration with an entry that runs a command.
fn codex(project: &Project, command: &Path, more: &str) {
    let command = command.display();
    let entry = format!("[mcp_servers.forage]\ncommand = \"{command}\"\nargs = [\"mcp\"]\n{more}");
    put(&project.home.join(".codex/config.toml"), &entry);
}

fn doctor(project: &Project, environment: &[(&str, &str)]) -> (i32, Value) {
    let run = project.run_in(&project.root, &["doctor", "--json"], environment);
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains(KEY), "{all}");
    (run.status, run.json())
}

/// Finds a client's entry in a report.
fn entry<'a>(record: &'a Value, client: &str, scope: &str) -> &'a Value {
    let sites = record["clients"].as_array().unwrap();
    sites.iter().find(|site| site["client"] == client && site["scope"] == scope).unwrap()
}

/// Finds the check of a client's entry in a report.
fn client_check<'a>(record: &'a Value, client: &str, scope: &str) -> &'a Value {
    &entry(record, client, scope)["check"]
}

/// Formats the problems of a report for a snapshot.
fn problems(record: &Value) -> String {
    let problems = record["problems"].as_array().unwrap().iter();
    problems.map(|problem| stable(problem.as_str().unwrap()) + "\n").collect()
}

fn write(project: &Project, client: &str, command: &str) -> Run {
    project.run(&["setup", client, "--write", "--command", command])
}

#[test]
fn check_reports_a_working_entry_with_client_permissions() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let clients = ["codex", "claude-code", "gemini-cli", "opencode"];
    let shown = clients.map(|client| write(&project, client, FORAGE).shown());
    insta::assert_snapshot!(shown.join("\n"));
    let (status, record) = doctor(&project, &[]);
    assert_eq!(status, 0, "{record}");
    for (client, tool) in [
        ("codex", "mcp__forage__grep_search"),
        ("claude-code", "mcp__forage__grep_search"),
        ("gemini-cli", "mcp_forage_grep_search"),
        ("opencode", "forage_grep_search"),
    ] {
        let check = client_check(&record, client, "user");
        assert_eq!((&check["serves"], &check["call"]["error"]), (&json!(true), &Value::Null), "{check}");
        // Only the client itself could show that it works there.
        assert_eq!(check["works"], Value::Null, "{check}");
        assert!(check["tools"].as_array().unwrap().contains(&json!(tool)), "{check}");
        assert_eq!(check["missing_variables"], json!([]), "{check}");
    }
    let deferred = |client: &str| client_check(&record, client, "user")["deferred"].clone();
    assert_eq!(clients.map(deferred), [json!(true), json!(false), Value::Null, Value::Null]);

    // A required permission is reported until the user grants it.
    assert_eq!(client_check(&record, "claude-code", "user")["needs"], json!(["permission"]));
    let trust = format!("trust in {}", project.root.display());
    assert_eq!(client_check(&record, "gemini-cli", "user")["needs"], json!(["permission", trust]));
    put(
        &project.home.join(".claude/settings.json"),
        "{\"permissions\": {\"allow\": [\"mcp__forage\"]}} // mine",
    );
    let folders = json!({ project.home.parent().unwrap().to_str().unwrap(): "TRUST_FOLDER" });
    put(&project.home.join(".gemini/trustedFolders.json"), &folders.to_string());
    let (_, record) = doctor(&project, &[]);
    assert_eq!(client_check(&record, "claude-code", "user")["asks"], json!([]));
    assert_eq!(client_check(&record, "gemini-cli", "user")["warnings"], json!([]));
}

/// Regression test: `forage` without a command and the health page started the servers of all clients.
#[test]
fn only_doctor_starts_the_servers_of_clients() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let bin = tempfile::tempdir().unwrap();
    let ran = bin.path().join("ran");
    let server = script(bin.path(), &format!("echo run >> {}", ran.display()));
    codex(&project, &server, "");
    let start = project.run(&[]);
    assert_eq!(
        line_with(&start.stdout, "not tried"),
        "  not tried here; `forage doctor` starts each server to check it"
    );
    let record = project.run(&["--json"]).json();
    assert_eq!(client_check(&record, "codex", "user"), &Value::Null);
    let page = Page::start(&project, &[]);
    assert_eq!(entry(&page.ask("/api/health"), "codex", "user")["state"], "set_up");
    drop(page);
    assert!(!ran.exists());
    // Positive control.
    doctor(&project, &[]);
    assert!(ran.exists());
}

#[test]
fn a_command_that_is_missing_is_a_problem_and_its_entry_stays() {
    let project = Project::new(&[]);
    insta::assert_snapshot!(write(&project, "codex", "/nonexistent/forage").shown());
    assert!(project.home.join(".codex/config.toml").exists());
    let run = project.run(&["doctor"]);
    assert_eq!(run.status, 2, "{}", run.stdout);
    assert_eq!(
        line_with(&run.stdout, "Codex (user): "),
        "  Codex (user): started as Codex starts it, there is no program /nonexistent/forage; \
         `forage setup codex --write` replaces it with this program"
    );
    // Control: the user can write the entry without a test.
    let run = project.run(&["setup", "codex", "--write", "--command", "/nonexistent/forage", "--no-check"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    // A bare name is looked up where the client would look.
    let run = write(&project, "codex", "forage");
    assert_eq!(run.status, 2, "{}", run.stdout);
    assert_eq!(
        line_with(&run.stdout, "It does not work yet"),
        "It does not work yet: started as Codex starts it, there is no program `forage` on its PATH; \
         `forage setup codex --write` replaces it with this program."
    );
    let path = Path::new(FORAGE).parent().unwrap().to_str().unwrap();
    assert_eq!(doctor(&project, &[("PATH", path)]).0, 0);
    // A relative command must not be run.
    codex(&project, Path::new("./forage"), "");
    script(&project.root, "echo run > ran");
    let (status, record) = doctor(&project, &[]);
    let problem = "Codex (user): started as Codex starts it, `./forage` is a relative path, which depends on \
                   the working directory; `forage setup codex --write` replaces it with this program";
    assert_eq!((status, &record["problems"]), (2, &json!([problem])));
    assert!(!project.root.join("ran").exists());
}

#[test]
fn check_describes_a_server_that_is_not_forage() {
    let hello = "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{\\\"serverInfo\\\":{\\\"name\\\":\\\"other\\\"}}}";
    let error = hello
        .replace("result", "error")
        .replace("\\\"serverInfo\\\":{\\\"name\\\"", "\\\"message\\\":\\\"go away\\\",\\\"x\\\":{\\\"y\\\"");
    let mut all = String::new();
    for text in [
        "echo 'Welcome!'",
        &format!("echo 'starting' >&2; echo 'error: no luck, {KEY}' >&2; exit 3"),
        &format!("read line; echo \"{hello}\"; cat > /dev/null"),
        &format!("read line; echo \"{error}\"; cat > /dev/null"),
        "kill -9 $$",
        "yes",
    ] {
        let project = Project::new(&[]);
        let bin = project.home.join("bin");
        codex(&project, &script(&bin, text), "");
        let (status, record) = doctor(&project, &[("PATH", "/usr/bin:/bin")]);
        assert_eq!((status, &client_check(&record, "codex", "user")["works"]), (2, &json!(false)), "{text}");
        all += &problems(&record);
    }
    let project = Project::new(&[]);
    let path = script(&project.home.join("bin"), "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    codex(&project, &path, "");
    all += &problems(&doctor(&project, &[]).1);
    insta::assert_snapshot!(all);
}

/// Returns true if a process exists and is not a zombie.
#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[test]
#[cfg(target_os = "linux")]
fn silent_server_is_killed_with_its_children() {
    let project = Project::new(&[]);
    let pids = project.home.join("pids");
    let text = format!("echo $$ > {0}; sleep 600 & echo $! >> {0}; wait", pids.display());
    codex(&project, &script(&project.home.join("bin"), &text), "");
    // Both entries are tested, and the working one is not delayed.
    assert_eq!(write(&project, "claude-code", FORAGE).status, 0);
    let began = Instant::now();
    let (status, record) = doctor(&project, &[("PATH", "/usr/bin:/bin")]);
    let took = began.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(30)).contains(&took), "{took:?}");
    assert_eq!(status, 2, "{record}");
    insta::assert_snapshot!(problems(&record));
    assert_eq!(client_check(&record, "claude-code", "user")["serves"], true);
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    let until = Instant::now() + Duration::from_secs(5);
    while pids.lines().any(is_alive) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!pids.lines().any(is_alive), "{pids}");
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_leaves_nothing_of_what_is_tried() {
    // This server has started a child, and keeps running after its input is closed.
    let project = Project::new(&[]);
    let pids = project.home.join("pids");
    let text = format!("echo $$ > {0}; sleep 600 & echo $! >> {0}; wait", pids.display());
    let program = script(&project.home.join("bin"), &text);
    codex(&project, &program, "");
    let setup = ["setup", "codex", "--write", "--command", program.to_str().unwrap()];
    for (arguments, signal) in [(&["doctor"][..], "INT"), (&setup, "INT"), (&["doctor"], "TERM")] {
        let _ = std::fs::remove_file(&pids);
        let mut child = std::process::Command::new(FORAGE)
            .args(arguments)
            .current_dir(&project.root)
            .env_clear()
            .env("HOME", &project.home)
            .env("PATH", "/usr/bin:/bin")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(9);
        let started = || std::fs::read_to_string(&pids).unwrap_or_default();
        while started().lines().count() < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pids = started();
        // Positive control: there are processes that must be ended.
        assert!(pids.lines().count() == 2 && pids.lines().all(is_alive), "{arguments:?}: {pids}");
        let id = child.id().to_string();
        let sent = Instant::now();
        assert!(
            std::process::Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success()
        );
        let status = child.wait().unwrap();
        assert!(!status.success() && sent.elapsed() < Duration::from_secs(5), "{status}");
        let until = Instant::now() + Duration::from_secs(5);
        while pids.lines().any(is_alive) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!pids.lines().any(is_alive), "{arguments:?}: {pids}");
    }
}

/// A repository's files may come from a stranger. We report permissions in them as such, but they must not
/// count.
#[test]
fn project_files_grant_no_permission() {
    let project = Project::new(&[]);
    assert_eq!(write(&project, "claude-code", FORAGE).status, 0);
    assert_eq!(write(&project, "gemini-cli", FORAGE).status, 0);
    let settings = "{\"permissions\": {\"allow\": [\"mcp__forage\"]}}";
    for file in [".claude/settings.json", ".claude/settings.local.json"] {
        project.write(file, settings);
    }
    project.write(".gemini/settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}}");
    let (_, record) = doctor(&project, &[]);
    let asks = "a file of the project, which may come from a stranger, permits its tools; Claude Code uses it \
                only in trusted folders";
    assert_eq!(client_check(&record, "claude-code", "user")["asks"], json!([asks]));
    let warning = format!(
        "Gemini CLI does not start servers in {}, which is not a trusted folder",
        project.root.display()
    );
    assert_eq!(client_check(&record, "gemini-cli", "user")["warnings"], json!([warning]));
    // Positive control: the user's own file grants the permission.
    put(&project.home.join(".claude/settings.json"), settings);
    assert_eq!(client_check(&doctor(&project, &[]).1, "claude-code", "user")["asks"], json!([]));
}

#[test]
fn variables_that_do_not_arrive_are_named_with_what_to_do() {
    let project = Project::new(&[]);
    project.configure(
        "[[models]]\nmodel = \"m\"\nbase_url = \"https://model.invalid/v1\"\nkey_env = \"MY_KEY\"\n",
    );
    let environment = [("MY_KEY", KEY)];
    let lexical = json!(["mcp__forage__search_index", "mcp__forage__grep_search"]);
    let all = json!(["mcp__forage__search_index", "mcp__forage__grep_search", "mcp__forage__keyword_search"]);
    let warnings = json!([
        "Codex (user): set here, but not passed on by Codex: MY_KEY; name them in `env_vars` of the entry",
        "Codex (user): `keyword_search` is not offered there: the key of its model (MY_KEY) does not arrive",
    ]);
    for (more, missing, tools, warnings) in [
        ("", json!(["MY_KEY"]), &lexical, warnings),
        ("env_vars = [\"MY_KEY\"]\n", json!([]), &all, json!([])),
        ("env_vars = [{ name = \"MY_KEY\", source = \"local\" }]\n", json!([]), &all, json!([])),
        (&format!("env = {{ MY_KEY = \"{KEY}\" }}\n"), json!([]), &all, json!([])),
    ] {
        codex(&project, Path::new(FORAGE), more);
        let (status, record) = doctor(&project, &environment);
        let check = client_check(&record, "codex", "user");
        assert_eq!((status, &check["missing_variables"], &check["tools"]), (0, &missing, tools), "{check}");
        assert_eq!(record["warnings"], warnings, "{more}");
    }
    // Another client passes all variables on.
    assert_eq!(write(&project, "qwen", FORAGE).status, 0);
    let (_, record) = doctor(&project, &environment);
    let check = client_check(&record, "qwen", "user");
    assert_eq!((&check["missing_variables"], &check["tools"]), (&json!([]), &all), "{check}");

    // A provider's key matters only if the user has let agents use it.
    codex(&project, Path::new(FORAGE), "");
    for (settings, expected) in [
        ("", json!(["FORAGE_TIMEOUT_MS"])),
        (
            "[roles.filter]\nprefer = [{ provider = \"openai\", match = [\"*\"] }]\n",
            json!(["FORAGE_TIMEOUT_MS", "OPENAI_API_KEY"]),
        ),
    ] {
        project.configure(settings);
        let (_, record) = doctor(&project, &[("OPENAI_API_KEY", KEY), ("FORAGE_TIMEOUT_MS", "5000")]);
        assert_eq!(client_check(&record, "codex", "user")["missing_variables"], expected, "{record}");
    }
    project.configure("");
    codex(&project, Path::new(FORAGE), "env_vras = [\"OPENAI_API_KEY\"]\n");
    let warning = "Codex (user): unknown field `env_vras` in the entry; did you mean `env_vars`?";
    assert_eq!(doctor(&project, &[]).1["warnings"], json!([warning]));
}

#[test]
fn check_shows_a_config_typo_as_the_client_sees_it() {
    let project = Project::new(&[]);
    project.configure(&format!("unknown = \"{KEY}\"\n"));
    insta::assert_snapshot!("typo_in_setup", write(&project, "codex", FORAGE).shown());
    let (status, record) = doctor(&project, &[]);
    assert_eq!(status, 2, "{record}");
    insta::assert_snapshot!("typo_in_doctor", problems(&record));
    project.configure("");
    assert_eq!(doctor(&project, &[]).0, 0);
}

/// A repository's files may come from a stranger, so programs that they name must not run.
#[test]
fn a_program_that_a_projects_file_names_is_not_run() {
    let project = Project::new(&[]);
    let program = script(&project.root.join("bin"), "echo run > ran; exit 1");
    let ran = project.root.join("ran");
    let entry = |command: &Path, more: &str| {
        let command = command.display();
        format!(
            "{{\"mcpServers\": {{\"forage\": {{\"type\": \"stdio\", \"command\": \"{command}\", \"args\": [\"mcp\"]{more}}}}}}}"
        )
    };
    for text in [
        entry(&program, ""),
        entry(Path::new(FORAGE), ", \"env\": {\"LD_PRELOAD\": \"./evil.so\"}"),
        entry(Path::new(FORAGE), ", \"cwd\": \"/\""),
    ] {
        project.write(".mcp.json", &text);
        let (status, record) = doctor(&project, &[]);
        let check = client_check(&record, "claude-code", "project");
        assert!(status == 0 && check["tried"] == false && !ran.exists(), "{check}");
    }
    // This program may run, since the entry has the form that Forage writes.
    project.write(".mcp.json", &entry(Path::new(FORAGE), ""));
    let (_, record) = doctor(&project, &[]);
    let check = client_check(&record, "claude-code", "project");
    assert_eq!(check["serves"], true, "{check}");
    assert_eq!(check["asks"][1], "it asks once whether it may start the servers in this project's file");
    // Positive control: the same program runs if the user's own file names it.
    put(&project.home.join(".claude.json"), &entry(&program, ""));
    assert_eq!(doctor(&project, &[]).0, 2);
    assert!(ran.exists());
}

/// Writes a program that takes the place of a client's. It prints `list` and stores its environment.
fn client(directory: &Path, name: &str, list: &str) {
    let path = directory.join(name);
    put(&path, &format!("#!/bin/sh\nenv > \"$0.env\"; pwd >> \"$0.env\"; ls -a >> \"$0.env\"\n{list}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Only the client itself can show if it reads the entry.
#[test]
fn an_entry_works_if_its_client_lists_it() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let bin = project.home.join("bin");
    let mut shown = String::new();
    for list in [
        "test \"$1 $2\" = 'mcp list' || exit 1; \
         grep -q forage \"$HOME/.claude.json\" && echo 'forage: x mcp - ✔ Connected'",
        "echo 'No MCP servers configured.'",
        "echo 'forage: x mcp - ✘ Failed to connect'",
        "echo broken; exit 3",
        "rm \"$0\"",
        "",
    ] {
        match list.is_empty() {
            true => assert!(!bin.join("claude").exists()),
            false => client(&bin, "claude", list),
        }
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let arguments = ["setup", "claude-code", "--write", "--command", FORAGE];
        let environment = [("PATH", path.as_str()), ("ANTHROPIC_API_KEY", KEY)];
        let run = project.run_in(&project.root, &arguments, &environment);
        shown += &format!("$ claude mcp list: {list}\n{}\n", run.shown());
    }
    insta::assert_snapshot!(shown);
    // The client saw a home of its own, no key, and no project.
    let seen = std::fs::read_to_string(bin.join("claude.env")).unwrap();
    assert!(!seen.contains(KEY) && !seen.contains(project.root.to_str().unwrap()), "{seen}");
    assert!(!seen.contains(&format!("HOME={}\n", project.home.display())), "{seen}");
    // A client that is a program of the project must not run.
    std::fs::remove_file(bin.join("claude.env")).unwrap();
    let own = project.root.join("node_modules/.bin");
    client(&own, "claude", "echo 'forage: x mcp - ✔ Connected'");
    let path = own.to_str().unwrap();
    let arguments = ["setup", "claude-code", "--write", "--command", FORAGE];
    let run = project.run_in(&project.root, &arguments, &[("PATH", path)]);
    assert_eq!(
        line_with(&run.stdout, "Written"),
        "Written, not tried: `claude` is not on the PATH, so it can't be asked"
    );
    assert!(!own.join("claude.env").exists(), "{run:?}");
    // We ask no client about a project's file, because the client would start whatever else the project
    // names.
    let run = project.run_in(
        &project.root,
        &["setup", "claude-code", "--scope", "project", "--write", "--command", FORAGE],
        &[("PATH", bin.to_str().unwrap())],
    );
    assert_eq!(
        line_with(&run.stdout, "Written"),
        "Written, not tried: Claude Code would start everything that the project's files name"
    );
    assert!(!bin.join("claude.env").exists(), "{run:?}");
}

#[test]
fn a_table_says_what_clients_still_need() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let bin = project.home.join("bin");
    client(&bin, "claude", "echo 'forage: x mcp - ✔ Connected'");
    client(&bin, "codex", "echo 'forage  x  mcp  enabled'");
    client(&bin, "kilo", "echo 'No MCP servers configured'");
    client(&bin, "pi", "");
    put(&project.home.join(".cursor/mcp.json"), "{ not JSON");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let environment = [("PATH", path.as_str()), ("FORAGE_TIMEOUT_MS", "9000")];
    let run =
        project.run_in(&project.root, &["setup", "--detected", "--write", "--command", FORAGE], &environment);
    assert_eq!(run.status, 2, "{run:?}");
    let table = run.stdout.split_once("client       state").unwrap().1;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect())
        .collect();
    assert_eq!(
        rows[..5],
        [
            vec!["Claude Code", "works", "permission"],
            vec!["Cursor", "refused, see below", "-"],
            vec!["Codex", "works", "variables"],
            vec!["Kilo Code", "does not work", "-"],
            vec!["pi", "written, not tried", "-"],
        ],
        "{}",
        run.stdout
    );
}

/// A key is for the program that the user has set it for, and its account pays for each call.
#[test]
fn a_key_alone_lets_agents_use_no_model() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let key = [("ANTHROPIC_API_KEY", KEY)];
    let tools = |environment: &[(&str, &str)]| {
        let (_, record) = doctor(&project, environment);
        client_check(&record, "claude-code", "user")["tools"].clone()
    };
    let setup = |environment: &[(&str, &str)]| {
        let arguments = ["setup", "claude-code", "--write", "--command", FORAGE];
        project.run_in(&project.root, &arguments, environment).stdout
    };
    let said = setup(&key);
    insta::assert_snapshot!(stable(line_with(&said, "`keyword_search`")));
    let offered = json!(["mcp__forage__search_index", "mcp__forage__grep_search"]);
    assert_eq!(tools(&key), offered);
    assert!(!setup(&[]).contains("keyword_search"), "{}", setup(&[]));
    let named = [key[0], ("FORAGE_MODEL", "anthropic/some-model")];
    let said = setup(&named);
    assert_eq!(
        line_with(&said, "`keyword_search`"),
        "`keyword_search` sends redacted code to some-model at anthropic"
    );
    assert_eq!(tools(&named)[2], "mcp__forage__keyword_search");
    project.configure("[roles.filter]\nprefer = [{ provider = \"anthropic\", match = [\"*\"] }]\n");
    assert_eq!(
        line_with(&setup(&key), "`keyword_search`"),
        "`keyword_search` sends redacted code to the first usable model of anthropic (key in \
         ANTHROPIC_API_KEY); `forage models` shows which"
    );
}

/// P2: a project contains programs with Forage's name, and `PATH` may lead to them. Setup and doctor must
/// start none of them.
#[test]
fn no_program_of_a_project_is_started() {
    let project = Project::new(&[("a.rs", "fn main() {}\n")]);
    let started = project.home.join("started");
    let outside = project.home.join("elsewhere");
    script(&outside, &format!("touch {}", started.display()));
    let own = project.root.join("node_modules/.bin");
    script(&own, &format!("touch {}", started.display()));
    // A link inside the project counts as the project's choice too, even if it leads to a program outside.
    let links = project.root.join("bin");
    std::fs::create_dir_all(&links).unwrap();
    std::os::unix::fs::symlink(outside.join("forage"), links.join("forage")).unwrap();
    for directory in [&own, &links] {
        let path = [("PATH", directory.to_str().unwrap())];
        for arguments in [
            &["setup", "claude-code", "--scope", "project", "--write"][..],
            &["setup", "claude-code", "--scope", "project", "--write", "--command", "forage"],
            &["setup", "codex", "--write", "--command", "forage"],
            &[
                "setup",
                "cursor",
                "--scope",
                "project",
                "--write",
                "--command",
                directory.join("forage").to_str().unwrap(),
            ],
            &["doctor"],
        ] {
            let run = project.run_in(&project.root, arguments, &path);
            assert!(!started.exists(), "{arguments:?}: {run:?}");
            let expected = format!(
                "{}/forage is inside the project or another root, which may come from a stranger; \
                 remove its directory from PATH, or give --command with a program outside",
                directory.display()
            );
            let refused: Vec<&str> =
                run.stdout.lines().filter_map(|line| Some(line.split_once("not tried: ")?.1)).collect();
            let count = if arguments == ["doctor"] { 3 } else { 1 };
            assert_eq!(refused, vec![expected.as_str(); count], "{arguments:?}");
        }
    }
    // Positive control: a program that the user names elsewhere is started.
    let command = outside.join("forage");
    let run = project.run(&["setup", "codex", "--write", "--command", command.to_str().unwrap()]);
    assert!(started.exists(), "{run:?}");
}
