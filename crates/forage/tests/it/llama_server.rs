//! Runs the program against a real inference server: `llama-server` of llama.cpp, with a model of random
//! weights.
//!
//! The model's output is meaningless. We test how the server processes our requests and how we process its
//! responses: answer schemas that its grammar enforces, tool calls in complete and in streamed responses, and
//! its errors. CONTRIBUTING.md explains how to build both. The recordings in `tests/data/llama` come from
//! such runs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::plan::{data, exchanges, project, record_again, replay};
use crate::{Project, Run};

/// Names the program. Without this variable the live tests are skipped.
const PROGRAM: &str = "FORAGE_TEST_LLAMA_SERVER";

/// Names the model that `tests/data/llama/tiny_gguf.py` writes.
const MODEL: &str = "FORAGE_TEST_LLAMA_MODEL";

const KEY: &str = "test-key-0f9e8d7c6b5a";

/// Token biases that make the random model end its strings and lists: `"`, `{`, `]`, `}`, space, newline.
const ENDS_JSON: &str = "--logit-bias 265+6 --logit-bias 354+4 --logit-bias 324+2 --logit-bias 356+4 \
                         --logit-bias 263-4 --logit-bias 13-4";

/// The bias of the end-of-turn token. It lets the model stop after a few tokens of noise.
const ENDS_SOON: &str = "--logit-bias 260+2";

/// Token biases that make the model call `list_directory` without arguments. Once the conversation contains
/// this call, the model says `~`, because earlier tokens get a penalty. The tokens are `<tool_call>`, `}`,
/// `l`, the end of a turn, and `~`.
const CALLS_ONCE: &str = "--logit-bias 261+17 --logit-bias 356+14 --logit-bias 339+4 --logit-bias 260+21 \
                          --logit-bias 357+13 --presence-penalty 15 --repeat-last-n 65536";

/// A running server.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts a server. If none is configured, this prints a note on stderr and returns `None`.
    #[expect(
        clippy::disallowed_macros,
        clippy::panic,
        reason = "a test says that it is skipped, and fails by panicking"
    )]
    fn start(context: &str, flags: &str) -> Option<Self> {
        let (Some(program), Some(model)) = (std::env::var_os(PROGRAM), std::env::var_os(MODEL)) else {
            eprintln!("skipped: {PROGRAM} and {MODEL} do not name a server and a model");
            return None;
        };
        let mut child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", "0", "-c", context, "-np", "1", "-t", "1"])
            .args(["--api-key", KEY, "--jinja", "--seed", "1", "--no-warmup", "--alias", "tiny"])
            .args(flags.split_whitespace())
            .arg("-m")
            .arg(PathBuf::from(model))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{PROGRAM} can't be run: {error}"));
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 && !line.contains("listening on http://") {
            line.clear();
        }
        let address = line.split_once("listening on ").map(|(_, url)| url.trim().to_owned());
        let address = address.unwrap_or_else(|| panic!("the server ends without saying where it listens"));
        // Drain the log, since a server that can't write it would block.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Some(Self { child, address })
    }

    /// Runs the program with this server as its only model.
    fn run(&self, project: &Project, wire: &str, settings: &str, arguments: &[&str]) -> Run {
        self.run_with_key(project, wire, settings, arguments, KEY)
    }

    fn run_with_key(
        &self,
        project: &Project,
        wire: &str,
        settings: &str,
        arguments: &[&str],
        key: &str,
    ) -> Run {
        let path = if wire == "anthropic" { "" } else { "/v1" };
        project.configure(&format!(
            "{settings}[[models]]\nprovider = \"llama\"\nmodel = \"tiny\"\nwire = \"{wire}\"\n\
             base_url = \"{}{path}\"\nkey_env = \"LLAMA_KEY\"\n{SCHEMA}",
            self.address
        ));
        project.run_in(&project.root, arguments, &[("LLAMA_KEY", key)])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server enforces answer schemas, but our table can't know this about an unknown model.
const SCHEMA: &str = "[[model_facts]]\nmatch = [\"*\"]\nanswer_schema = true\n";

/// The timeout is long because no test here is about the speed of the machine.
const FILTER: &str = "model_timeout_ms = 120000\n";

const BY_ID: &str = "model_timeout_ms = 120000\n[filter]\nevidence = \"compact\"\nanswer = \"ids\"\n\
                     evidence_tokens = 1000\n";

const SEARCH: [&str; 5] = ["keyword", "how are tools executed", "execute", "ToolRegistry", "_execute_tools"];

const WIDE_SEARCH: [&str; 7] =
    ["keyword", "how are tools executed", "execute", "Tool", "_execute_tools", "async", "result"];

const ASK: [&str; 6] =
    ["ask", "how are tools executed", "--total-ms", "300000", "--model-timeout-ms", "120000"];

#[test]
fn it_is_listed_and_checked() {
    let Some(server) = Server::start("4096", ENDS_JSON) else { return };
    let project = project();
    let url = format!("{}/v1", server.address);
    let variables = [("FORAGE_BASE_URL", url.as_str()), ("FORAGE_API_KEY", KEY)];
    let run = project.run_in(&project.root, &["models", "--check"], &variables);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("1 model (read now)"), "{run:?}");
    assert!(run.stdout.contains("custom/tiny: answered in "), "{run:?}");
}

#[test]
fn llama_grammar_constrains_answers_to_the_schema() {
    let Some(server) = Server::start("32768", ENDS_JSON) else { return };
    let project = project();
    let tape = project.home.join("tape.jsonl");
    let flags = ["--json", "--record", tape.to_str().unwrap()];
    let run = server.run(&project, "openai-chat", BY_ID, &[&WIDE_SEARCH[..], &flags].concat());
    assert!(run.status == 0 || run.status == 1, "{run:?}");
    let records = run.json();
    assert_eq!(records["model"]["dropped_paths"], 0, "{records}");
    let recorded = exchanges(&tape);
    assert_eq!(recorded.len(), 1);
    let mut named = 0;
    for exchange in &recorded {
        let schema = &exchange["request"]["response_format"]["json_schema"]["schema"];
        let ids = schema["properties"]["files"]["items"]["properties"]["id"]["enum"].as_array().unwrap();
        for file in answer_of(exchange)["files"].as_array().unwrap() {
            assert!(ids.contains(&file["id"]) && file["grade"].is_i64(), "{file} of {ids:?}");
            named += usize::from(file["grade"].as_i64() > Some(0));
        }
    }
    assert_eq!(records["files"].as_array().unwrap().len(), named, "{records}");

    // Without a schema, random text names no file.
    drop(server);
    let Some(server) = Server::start("32768", ENDS_SOON) else { return };
    let without = format!("{FILTER}{}", SCHEMA.replace("true", "false"));
    let run = server.run(&project, "openai-chat", &without, &SEARCH);
    assert_eq!(run.status, 2, "{run:?}");
    let reasons = ["an answer that is not a list of files", "the answer is empty"];
    assert!(reasons.iter().any(|reason| run.stderr.contains(reason)), "{run:?}");
}

/// Parses the JSON in the text of a chat completion.
fn answer_of(exchange: &Value) -> Value {
    let body: Value = serde_json::from_str(exchange["body"].as_str().unwrap()).unwrap();
    serde_json::from_str(body["choices"][0]["message"]["content"].as_str().unwrap()).unwrap()
}

#[test]
fn its_refusals_are_told_apart() {
    let Some(server) = Server::start("2048", ENDS_JSON) else { return };
    for wire in ["openai-chat", "anthropic"] {
        let project = project();
        for arguments in [&SEARCH[..], &ASK] {
            let run = server.run_with_key(&project, wire, "", arguments, "another-key-1234");
            assert_eq!(run.status, 2, "{wire}: {run:?}");
            assert!(run.stderr.contains("the provider refused the key (HTTP 401)"), "{wire}: {run:?}");
            assert!(!format!("{run:?}").contains("another-key"), "{wire}");

            let run = server.run(&project, wire, "", arguments);
            assert_eq!(run.status, 2, "{wire}: {run:?}");
            let reason = "the request is larger than the model's context (HTTP 400)";
            assert!(run.stderr.contains(reason) && !run.stderr.contains("base_url"), "{wire}: {run:?}");
        }
    }
}

#[test]
fn llama_server_calls_a_tool_on_both_wires() {
    let Some(server) = Server::start("32768", CALLS_ONCE) else { return };
    for wire in ["openai-chat", "anthropic"] {
        let project = project();
        // Once as a stream, and once as a whole response.
        let run = server.run(&project, wire, "", &[&ASK[..], &["--json"]].concat());
        check_conversation(&run, wire);
        let tape = project.home.join("tape.jsonl").display().to_string();
        let run = server.run(&project, wire, "", &[&ASK[..], &["--json", "--record", &tape]].concat());
        check_conversation(&run, wire);
    }
}

fn check_conversation(run: &Run, wire: &str) {
    assert_eq!(run.status, 0, "{wire}: {run:?}");
    let records = run.json();
    let call = &records["turns"][0]["calls"][0];
    assert_eq!(
        (&call["tool"], &call["error"]),
        (&"list_directory".into(), &Value::Null),
        "{wire}: {records}"
    );
    assert_eq!(records["turns"].as_array().unwrap().len(), 2, "{wire}: {records}");
    assert_eq!((&records["stop_reason"], &records["answer"]), (&"answered".into(), &"~".into()), "{wire}");
    assert!(records["usage"]["input_tokens"].as_u64() > Some(10_000), "{wire}: {records}");
}

#[test]
fn what_it_said_is_replayed() {
    for (name, wire) in [("calls-openai", "openai-chat"), ("calls-anthropic", "anthropic")] {
        let file = data("llama").join(name).with_extension("jsonl");
        record_again(&file, "", &ASK[..2]);
        let run = replay(&project(), &file, |lines| lines, &[&ASK[..2], &["--json"]].concat());
        check_conversation(&run, wire);
    }
}

#[test]
fn an_answer_by_its_grammar_is_replayed() {
    let file = data("llama/ids.jsonl");
    let settings = format!("[filter]\nevidence = \"compact\"\nanswer = \"ids\"\n{SCHEMA}");
    record_again(&file, &settings, &SEARCH);
    let project = project();
    project.configure(&settings);
    let run = replay(&project, &file, |lines| lines, &[&SEARCH[..], &["--json"]].concat());
    assert_eq!(run.status, 0, "{run:?}");
    let records = run.json();
    let [named] = &records["files"].as_array().unwrap()[..] else { panic!("{records}") };
    assert!(named["path"].as_str().unwrap().ends_with("src/tools/registry.py"), "{named}");
    // The grammar allows any integer, and the random weights chose this one.
    assert!(answer_of(&exchanges(&file)[0])["files"][0]["grade"].as_i64() > Some(1 << 40));
    assert_eq!(named["grade"], 3, "{named}");
    // The random weights also gave no reason.
    let text = replay(&project, &file, |lines| lines, &SEARCH).stdout;
    assert!(text.contains("\nsrc/tools/registry.py\n  matching line: 6\n"), "{text}");
}
