//! Runs the server in Python agent frameworks with a scripted model.
//!
//! We check which tools the model is offered, and that a call returns its whole result. Then we check both
//! again with the official filesystem server next to ours. `cargo xtask peers --all` installs the frameworks.
//! Without `FORAGE_TEST_FRAMEWORKS` these tests report that they are skipped.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]
#![expect(clippy::disallowed_macros, reason = "what is skipped is said, and what was run is worth showing")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Project;

/// Names the folder into which `cargo xtask peers --all` installs.
const VARIABLE: &str = "FORAGE_TEST_FRAMEWORKS";

/// The folder of this crate with the scripts of the frameworks and the lists of the installed packages.
const SCRIPTS: &str = "tests/clients/frameworks";

/// Time limit of a conversation. The first import of the slowest framework takes 40 s on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Number of lines that the search finds. The answer has 12 KB, which is below the limit of each framework,
/// so it must arrive completely.
const LINES: usize = 150;

struct Framework {
    /// The name of the framework and of its script.
    name: &'static str,
    /// The folder of its Python among the peers.
    python: &'static str,
    /// The names of Forage's tools as the model sees them.
    offered: &'static [&'static str],
    /// The prefix for tools of another server.
    beside: &'static str,
    /// True if the framework fails when two servers have a tool of the same name.
    refuses_one_name: bool,
}

/// The names that an unknown client gets.
const NAMES: &[&str] = &["grep_search", "list_project_directory", "read_project_file", "search_index"];

const PLAIN: Framework =
    Framework { name: "", python: "python", offered: NAMES, beside: "", refuses_one_name: false };

const OPENAI_AGENTS: Framework = Framework { name: "openai-agents", refuses_one_name: true, ..PLAIN };
const PYDANTIC_AI: Framework = Framework { name: "pydantic-ai", refuses_one_name: true, ..PLAIN };
/// Our script for it refuses two tools of the same name, because the provider would get both of them
/// otherwise.
const LANGCHAIN: Framework = Framework { name: "langchain-mcp-adapters", refuses_one_name: true, ..PLAIN };
/// Drops the second tool of the same name.
const MCP_USE: Framework = Framework { name: "mcp-use", ..PLAIN };
const FAST_AGENT: Framework = Framework {
    name: "fast-agent",
    python: "fast-agent",
    offered: &["forage__grep_search", "forage__list_directory", "forage__read_file", "forage__search_index"],
    beside: "files__",
    ..PLAIN
};
/// Claude Code has its own file tools, and its model sees the search tools from the start.
const CLAUDE_AGENT_SDK: Framework = Framework {
    name: "claude-agent-sdk",
    offered: &["mcp__forage__grep_search", "mcp__forage__search_index"],
    beside: "mcp__files__",
    ..PLAIN
};

/// Returns the folder of the frameworks, or `None` if these tests were not requested.
fn peers() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        println!("skipped: {VARIABLE} does not name what `cargo xtask peers --all` installs");
        return None;
    };
    // The lists are copied last, so their presence shows that everything else has been installed.
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).canonicalize().unwrap();
    for list in ["requirements.txt", "requirements-fast-agent.txt", "package.json"] {
        let (wanted, found) = (std::fs::read(lists.join(list)).unwrap(), std::fs::read(folder.join(list)));
        assert!(
            found.is_ok_and(|found| found == wanted),
            "{SCRIPTS}/{list}: run `cargo xtask peers --all` first"
        );
    }
    Some(folder)
}

/// A process that we kill when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a conversation.
struct Conversation {
    worked: bool,
    printed: String,
    /// The model's requests in order.
    requests: Vec<Value>,
}

impl Conversation {
    fn offered(&self) -> Vec<&str> {
        let offered = self.requests.first().and_then(|request| request["offered"].as_array());
        let offered = offered.unwrap_or_else(|| panic!("no model was asked:\n{}", self.printed));
        offered.iter().filter_map(Value::as_str).collect()
    }

    /// Returns the result of the call with this number.
    fn result(&self, number: usize) -> &str {
        let last = self.requests.last().and_then(|request| request["results"][number].as_str());
        last.unwrap_or_else(|| panic!("there is no result {number}:\n{}\n{:?}", self.printed, self.requests))
    }
}

fn project() -> Project {
    let line = |number: usize| {
        format!("fn needle_{number}() {{}} // a line of a size that code has, more or less\n")
    };
    let part = |part: usize| (0..LINES).filter(|number| number % 3 == part).map(line).collect::<String>();
    let files: Vec<_> = (0..3).map(|number| (format!("src/part{number}.rs"), part(number))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Project::new(&files)
}

impl Framework {
    /// Runs a conversation in which the model says `turns`, with the named servers.
    fn converse(&self, peers: &Path, project: &Project, servers: &Value, turns: &Value) -> Conversation {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let python = peers.join(self.python).join("bin/python");
        let log = project.home.join("model.jsonl");
        let mut model = Command::new(&python)
            .arg(clients.join("model.py"))
            .arg(turns.to_string())
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(model.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let _model = Running(model);
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
        let given = json!({
            "model": url,
            "servers": servers,
            "root": project.root,
            "scratch": project.home,
            "question": "Where is the needle?",
        });
        let printed = project.home.join("printed");
        let output = std::fs::File::create(&printed).unwrap();
        let process = Command::new(&python)
            .arg(clients.join("frameworks").join(self.name).with_extension("py"))
            .arg(given.to_string())
            .current_dir(&project.root)
            .env_clear()
            .envs(
                environment(project)
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(name, value)| (name, value.as_str().unwrap())),
            )
            // Disable the frameworks' telemetry.
            .envs([("MCP_USE_ANONYMIZED_TELEMETRY", "false"), ("DISABLE_TELEMETRY", "1"), ("NO_COLOR", "1")])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stderr(output.try_clone().unwrap())
            .stdout(output)
            .spawn()
            .unwrap();
        let mut process = Running(process);
        let began = Instant::now();
        let status = loop {
            match process.0.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if began.elapsed() > PATIENCE => break None,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let log = text(&log);
        let requests = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        Conversation {
            worked: status == Some(0),
            printed: format!("{} ends with {status:?}:\n{}", self.name, text(&printed)),
            // Requests outside of the conversation, e.g. for a title, have no turn.
            requests: requests.filter(|request| request["turn"].is_u64()).collect(),
        }
    }

    /// Checks that the model is offered Forage's tools and gets the whole result of a call.
    fn is_served(&self) {
        let Some(peers) = peers() else { return };
        let project = project();
        let servers = json!({ "forage": forage(&project) });
        let conversation = self.converse(&peers, &project, &servers, &json!([search(), last()]));
        self.check(&conversation);
        println!("{}: {:?}, {} bytes whole", self.name, conversation.offered(), conversation.result(0).len());
    }

    fn check(&self, conversation: &Conversation) {
        let printed = &conversation.printed;
        assert!(conversation.worked && printed.contains("all is said"), "{printed}");
        let mut ours: Vec<&str> = conversation.offered();
        ours.retain(|name| NAMES.contains(name) || name.contains("forage"));
        ours.sort_unstable();
        assert_eq!(ours, self.offered, "{printed}");
        let description = "Searches the contents of all files with a regular expression";
        assert!(conversation.requests[0]["body"].to_string().contains(description), "{printed}");
        let result = conversation.result(0);
        assert!(result.contains(&format!("Found {LINES} matches in 3 files")), "{result}");
        for number in 0..LINES {
            assert!(
                result.contains(&format!("fn needle_{number}() {{}} // a line of a size that code has")),
                "{result}"
            );
        }
    }

    /// Does the same with the official filesystem server, which must respond as well.
    fn starts_beside_the_filesystem_server(&self) {
        let Some(peers) = peers() else { return };
        let project = project();
        let files = filesystem(&peers, &project);
        let theirs = format!("{}list_allowed_directories", self.beside);
        let turns = json!([search(), { "calls": [{ "name": theirs, "arguments": {} }] }, last()]);
        let servers = json!({ "files": files, "forage": forage(&project) });
        let conversation = self.converse(&peers, &project, &servers, &turns);
        self.check(&conversation);
        let names = conversation.offered();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "two tools have one name: {names:?}");
        assert!(
            conversation.result(1).contains(project.root.to_str().unwrap()),
            "{}",
            conversation.result(1)
        );

        // Positive control: with two tools of the same name it does refuse.
        if self.refuses_one_name {
            let servers = json!({ "files": files, "other": files });
            let conversation = self.converse(&peers, &project, &servers, &turns);
            assert!(!conversation.worked && conversation.requests.is_empty(), "{}", conversation.printed);
            assert!(conversation.printed.contains("read_file"), "{}", conversation.printed);
        }
    }
}

/// Returns the environment variables of the framework and the servers.
fn environment(project: &Project) -> Value {
    json!({
        "HOME": project.home,
        "PATH": std::env::var("PATH").unwrap_or_default(),
    })
}

fn forage(project: &Project) -> Value {
    json!({ "command": env!("CARGO_BIN_EXE_forage"), "args": ["mcp"], "env": environment(project) })
}

fn filesystem(peers: &Path, project: &Project) -> Value {
    let modules = peers.join("node_modules");
    json!({
        "command": modules.join("node/bin/node"),
        "args": [modules.join("@modelcontextprotocol/server-filesystem/dist/index.js"), project.root],
        "env": environment(project),
    })
}

/// Builds the model's first turn, which is a search that finds everything.
fn search() -> Value {
    let arguments = json!({ "pattern": "fn needle_", "max_results": LINES, "context_lines": 0 });
    json!({ "calls": [{ "tool": "grep_search", "arguments": arguments }] })
}

fn last() -> Value {
    json!({ "text": "all is said" })
}

macro_rules! frameworks {
    ($($module:ident: $framework:ident),* $(,)?) => {$(
        mod $module {
            #[test]
            fn is_served() {
                super::$framework.is_served();
            }

            #[test]
            fn starts_beside_the_filesystem_server() {
                super::$framework.starts_beside_the_filesystem_server();
            }
        }
    )*};
}

frameworks! {
    claude_agent_sdk: CLAUDE_AGENT_SDK,
    fast_agent: FAST_AGENT,
    langchain_mcp_adapters: LANGCHAIN,
    mcp_use: MCP_USE,
    openai_agents: OPENAI_AGENTS,
    pydantic_ai: PYDANTIC_AI,
}
