//! Runs the plan's prompts for manual testing end to end: a recorded model, real tools, and a copy of the
//! project in `tests/data/plan`.
//!
//! We wrote the model's turns by hand, each after reading the tools' answers. So they show how the loop
//! works, but not the quality of a model. The requests contain the system prompt and the definitions of the
//! tools. If one of these changes, `FORAGE_TEST_RECORD=1 cargo test -p forage-cli --test it plan` records the
//! same turns with the new requests. Review the difference.

use std::path::{Path, PathBuf};

use serde_json::{Value, json as value};

use crate::ask::answered_calls;
use crate::peer::{Peer, json};
use crate::support::line_with;
use crate::{Project, Run};

/// The placeholder for the root in the recordings.
const ROOT: &str = "/home/user/pocket-agent";

const KEY: &str = "key-of-this-test-51c";

/// A prompt of the plan, with its recording and the expected result.
struct Prompt {
    question: &'static str,
    recording: &'static str,
    /// The calls of each turn. For each we check the tool and its most characteristic argument.
    turns: &'static [&'static [(&'static str, &'static str, &'static str)]],
    citations: usize,
    answer: &'static str,
}

const STRUCTURE: Prompt = Prompt {
    question: "What's the structure of this project?",
    recording: "structure",
    turns: &[
        &[
            ("list_directory", "path", "."),
            ("read_file", "path", "README.md"),
            ("grep_search", "pattern", "^class |^async def main|^def "),
        ],
        &[
            ("read_file", "path", "src/main.py"),
            ("read_file", "path", "src/agent.py"),
            ("read_file", "path", "src/tools/__init__.py"),
        ],
    ],
    citations: 11,
    answer: "A small terminal agent in Python: a loop that asks a model, and tools that the model can call.",
};

const ASYNC_FUNCTIONS: Prompt = Prompt {
    question: "Find all async functions in the codebase",
    recording: "async-functions",
    turns: &[&[("grep_search", "pattern", "async def")]],
    citations: 11,
    answer: "Ten functions are declared with `async def`, nine of them in `src/`, the last one in a test:",
};

const TOOL_EXECUTION: Prompt = Prompt {
    question: "How is tool execution implemented?",
    recording: "tool-execution",
    turns: &[
        &[
            ("grep_search", "pattern", "execute.*tool|tool.*execute"),
            ("grep_search", "pattern", r"class \w+\(Tool\)|class Tool"),
        ],
        &[
            ("read_file", "path", "src/agent.py"),
            ("read_file", "path", "src/tools/base.py"),
            ("read_file", "path", "src/tools/registry.py"),
            ("read_file", "path", "src/tools/implementations/grep_search.py"),
        ],
    ],
    citations: 13,
    answer: "`Agent._execute_tools` runs the calls of one response, one after the other (src/agent.py:33-48).",
};

const EDGE_CASES: Prompt = Prompt {
    question: "Search for TODO comments, list all files in src/tools, and read the agent.py file",
    recording: "edge-cases",
    turns: &[
        &[
            ("grep_search", "pattern", "TODO"),
            ("list_directory", "path", "src/tools"),
            ("read_file", "path", "agent.py"),
        ],
        &[("read_file", "path", "src/agent.py")],
    ],
    citations: 9,
    answer: "**TODO comments**, five:",
};

/// Returns the path of test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_files(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Creates a copy of the project that the recordings are about.
pub(crate) fn project() -> Project {
    let project = Project::new(&[]);
    copy_files(&data("plan/project"), &project.root);
    project
}

/// Returns the exchanges of a recording.
pub(crate) fn exchanges(file: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(file).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replays a recording in the project. Before this, `change` may edit the recording's text.
pub(crate) fn replay(
    project: &Project,
    file: &Path,
    change: impl Fn(String) -> String,
    arguments: &[&str],
) -> Run {
    let lines = std::fs::read_to_string(file).unwrap();
    let lines = change(lines.replace(ROOT, &project.root.display().to_string()));
    let tape = project.home.join("tape.jsonl");
    std::fs::write(&tape, lines).unwrap();
    project.run(&[arguments, &["--replay", &tape.display().to_string()]].concat())
}

/// Records the answers again with the current requests. This does nothing unless it was requested.
pub(crate) fn record_again(file: &Path, configuration: &str, arguments: &[&str]) {
    if std::env::var_os("FORAGE_TEST_RECORD").is_none() {
        return;
    }
    let exchanges = exchanges(file);
    let field = |name: &str| exchanges[0][name].as_str().unwrap();
    let peer =
        Peer::start(exchanges.iter().map(|exchange| json(200, "", exchange["body"].as_str().unwrap())));
    let url = if field("wire") == "openai-chat" { peer.url() } else { peer.root() };
    let project = project();
    project.configure(&format!(
        "{configuration}[[models]]\nprovider = \"{}\"\nmodel = \"{}\"\nwire = \"{}\"\nbase_url = \"{url}\"\n\
         key_env = \"ACME_KEY\"\n",
        field("provider"),
        field("model"),
        field("wire"),
    ));
    let tape = project.home.join("recorded.jsonl").display().to_string();
    let arguments = [arguments, &["--record", &tape]].concat();
    let run = project.run_in(&project.root, &arguments, &[("ACME_KEY", KEY)]);
    assert_eq!(run.status, 0, "{run:?}");
    let lines = std::fs::read_to_string(tape).unwrap();
    std::fs::write(file, lines.replace(&project.root.display().to_string(), ROOT)).unwrap();
}

impl Prompt {
    fn file(&self) -> PathBuf {
        data("plan").join(self.recording).with_extension("jsonl")
    }

    fn replay(&self, project: &Project, change: impl Fn(String) -> String, flags: &[&str]) -> Run {
        replay(project, &self.file(), change, &[&["ask", self.question], flags].concat())
    }

    /// Replays the recording with sequential and with parallel calls, and checks the properties that all
    /// prompts share. Returns the tools' answers in the order of the calls.
    fn check(&self) -> Vec<String> {
        record_again(&self.file(), "", &["ask", self.question]);
        for parallel in ["1", "8"] {
            let project = project();
            let run = self.replay(&project, |lines| lines, &["--parallel", parallel]);
            assert_eq!(run.status, 0, "{run:?}");
            assert!(run.stdout.starts_with(self.answer) && !run.stdout.contains("[wrong"), "{run:?}");

            let run = self.replay(&project, |lines| lines, &["--json", "--parallel", parallel]);
            let records = run.json();
            assert_eq!(records["stop_reason"], "answered", "{records}");
            let turns = records["turns"].as_array().unwrap();
            assert_eq!(turns.len(), self.turns.len() + 1, "{records}");
            for (turn, expected) in turns.iter().zip(self.turns) {
                let calls = turn["calls"].as_array().unwrap();
                assert_eq!(calls.len(), expected.len(), "{turn}");
                for (call, (tool, argument, is)) in calls.iter().zip(*expected) {
                    assert_eq!((&call["tool"], &call["arguments"][argument]), (&value!(tool), &value!(is)));
                    assert_eq!(call["run"], true, "{call}");
                }
            }
            assert_eq!(records["citations"].as_array().unwrap().len(), self.citations, "{records}");
            assert_eq!(records["wrong_citations"], 0, "{records}");
        }
        // A replay continues only if the tools answer exactly as in the recorded requests.
        let exchanges = exchanges(&self.file());
        let last = &exchanges.last().unwrap()["request"]["messages"];
        match exchanges[0]["wire"].as_str().unwrap() {
            "openai-chat" => answered_calls(last.as_array().unwrap()),
            _ => answered_blocks(last.as_array().unwrap()),
        }
    }
}

/// Like [`answered_calls`], but for Anthropic messages, where the next message answers all calls of a turn.
fn answered_blocks(messages: &[Value]) -> Vec<String> {
    let mut results = Vec::new();
    let blocks = |message: &Value, kind: &str, field: &str| -> Vec<Value> {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.iter().filter(|block| block["type"] == kind).map(|block| block[field].clone()).collect()
    };
    for pair in messages.windows(2) {
        let wanted = blocks(&pair[0], "tool_use", "id");
        assert_eq!(wanted, blocks(&pair[1], "tool_result", "tool_use_id"), "{pair:?}");
        let texts = blocks(&pair[1], "tool_result", "content");
        results.extend(texts.iter().map(|text| match text {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap().to_owned(),
        }));
    }
    results
}

#[test]
fn prompt_1_whats_the_structure_of_this_project() {
    let results = STRUCTURE.check();
    insta::assert_snapshot!([&*results[0], &results[2]].join("\n---\n"));
}

#[test]
fn prompt_2_find_all_async_functions_in_the_codebase() {
    let results = ASYNC_FUNCTIONS.check();
    insta::assert_snapshot!(results[0].as_str());
}

#[test]
fn prompt_3_how_is_tool_execution_implemented() {
    let results = TOOL_EXECUTION.check();
    insta::assert_snapshot!([&*results[0], &results[2]].join("\n---\n"));
}

#[test]
fn prompt_4_edge_cases() {
    let results = EDGE_CASES.check();
    // The model gave a wrong path, saw the error, and read the right file. The other calls of the turn
    // succeeded.
    insta::assert_snapshot!(results.join("\n---\n"));
}

#[test]
fn a_wrong_citation_in_a_recording_is_marked() {
    let wrong =
        |lines: String| lines.replace("asks one question (src/main.py:19-20)", "(src/main.py:190-200)");
    let run = STRUCTURE.replay(&project(), wrong, &[]);
    assert_eq!(run.status, 0, "{run:?}");
    let marked = line_with(&run.stdout, "[wrong").split_once(" [wrong: ").unwrap();
    assert_eq!(marked.1.split(']').next(), Some("the file has 24 lines"), "{run:?}");
    assert_eq!(marked.0.rsplit('(').next(), Some("src/main.py:190-200"), "{run:?}");
}

#[test]
fn a_changed_project_does_not_match_its_recording() {
    let project = project();
    project.write("src/transport.py", "async def send_all(): ...\n");
    let run = ASYNC_FUNCTIONS.replay(&project, |lines| lines, &[]);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn recordings_contain_no_keys_and_no_local_paths() {
    for prompt in [STRUCTURE, ASYNC_FUNCTIONS, TOOL_EXECUTION, EDGE_CASES] {
        let lines = std::fs::read_to_string(prompt.file()).unwrap();
        assert!(lines.contains(ROOT) && !lines.contains(KEY), "{}", prompt.recording);
        for part in ["authorization", "bearer", "/tmp/", "/root/", "/var/"] {
            assert!(!lines.to_lowercase().contains(part), "{part} in {}", prompt.recording);
        }
    }
}
