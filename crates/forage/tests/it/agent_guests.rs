//! A program's own tools next to ours, with the same sanitizing and the same limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_agent::TurnEnd;
use forage_llm::ToolChoice;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Call, ToolError, ToolSpec};
use serde_json::{Value, json};

use crate::scripted::{Bench, Scripted, ask, call, joined, say, says};
use crate::support::{line_with, stable};

const SECRET: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";
const GREP: (&str, &str) = ("grep_search", r#"{"pattern": "retry"}"#);

/// A tool whose name is created at run time.
struct Own<F> {
    spec: ToolSpec,
    run: F,
}

impl<F: Fn(&Call, &Value) -> Result<String, ToolError> + Send + Sync> AnyTool for Own<F> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
    }

    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        (self.run)(call, &request).map(Answer::from_text)
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name.to_owned(), "Search the web", "Searches the web. For files use {grep_search}.")
}

fn own<F>(run: F) -> Arc<dyn AnyTool>
where
    F: Fn(&Call, &Value) -> Result<String, ToolError> + Send + Sync + 'static,
{
    Arc::new(Own { spec: spec(&format!("{}_search", "web")), run })
}

fn bench() -> Bench {
    Bench::new(&[("a.rs", "fn retry() {}\n")])
}

#[test]
fn external_tool_is_called_and_its_output_redacted() {
    let model = Scripted::new("one", [call(&[("web_search", r#"{"query": "q"}"#), GREP]), say("done")]);
    let bench = bench();
    let mut agent = bench.agent(&[&model]);
    agent
        .add_tool(own(|_, request| {
            assert_eq!(request["query"], "q");
            Ok(format!("a page\u{1b}[2J\ntoken {SECRET}\n"))
        }))
        .unwrap();
    let transcript = ask(&agent);
    assert_eq!(transcript.stop_reason, TurnEnd::Answered);
    let seen = model.seen();
    let web = seen[0].tools.iter().find(|tool| tool.name == "web_search").unwrap();
    assert_eq!(web.description, "Searches the web. For files use grep_search.");
    let texts = model.last_texts();
    insta::assert_snapshot!(joined(&texts[1..]));
    assert_eq!(transcript.redacted.values().sum::<usize>(), 1);
}

#[test]
fn its_name_must_be_free_and_one_that_models_take() {
    let model = Scripted::new("one", []);
    let mut agent = bench().agent(&[&model]);
    let named = |name: &str| -> Arc<dyn AnyTool> {
        Arc::new(Own { spec: spec(name), run: |_: &Call, _: &Value| Ok(String::new()) })
    };
    let names = ["grep_search", "web search", ""];
    let errors = names.map(|name| agent.add_tool(named(name)).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
    agent.add_tool(named("web")).unwrap();
    assert!(agent.add_tool(named("web")).is_err());
}

#[test]
fn misbehaving_external_tool_does_not_end_the_run() {
    let calls = ["long", "slow", "error", "panic"].map(|query| format!("{{\"query\": \"{query}\"}}"));
    let calls: Vec<(&str, &str)> = calls.iter().map(|request| ("web_search", request.as_str())).collect();
    let model = Scripted::new("one", [call(&calls), say("done")]);
    let bench = bench();
    let mut agent = bench.agent(&[&model]);
    agent.limits.total = Duration::from_secs(4);
    agent.workspace.limits.text_bytes = 5_000;
    agent
        .add_tool(own(|_, request| match request["query"].as_str() {
            Some("long") => Ok("word ".repeat(100_000)),
            // Sleep for longer than the whole conversation may take.
            Some("slow") => {
                std::thread::sleep(Duration::from_secs(60));
                Ok(String::new())
            }
            Some("error") => Err(ToolError::Request(format!("the server said {SECRET}\u{7}"))),
            _ => panic!("planned"),
        }))
        .unwrap();
    let began = Instant::now();
    let transcript = ask(&agent);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(transcript.answer.as_deref(), Some("done"));
    let texts = model.last_texts();
    assert!(texts[1].len() < 6_000, "{}", texts[1].len());
    let words = ["too long", "did not answer", "the server said", "panicked"];
    let lines = words.iter().zip(&texts[1..]).map(|(word, text)| line_with(text, word)).collect::<Vec<_>>();
    insta::assert_snapshot!(stable(&lines.join("\n")));
}

#[test]
fn the_bound_of_turns_holds_whatever_the_model_does() {
    // The model still calls tools in the last turn. The text next to these calls is the answer, and no
    // further request is made.
    let model = Scripted::new(
        "one",
        [call(&[GREP]), says("as far as I know", &[("read_file", r#"{"path": "a.rs"}"#)])],
    );
    let mut agent = bench().agent(&[&model]);
    agent.limits.turns = 2;
    let transcript = ask(&agent);
    assert_eq!((transcript.turns.len(), transcript.answer.as_deref()), (2, Some("as far as I know")));
    assert!(transcript.turns[1].calls[0].error.is_some(), "not made");
    let seen = model.seen();
    let choices: Vec<ToolChoice> = seen.iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Free, ToolChoice::None]);
    assert!(!seen[1].tools.is_empty());
    // Without text next to the calls there is no answer and no further turn.
    let model = Scripted::new("one", [call(&[GREP]), call(&[GREP])]);
    let mut agent = bench().agent(&[&model]);
    agent.limits.turns = 2;
    let transcript = ask(&agent);
    assert_eq!((transcript.turns.len(), transcript.stop_reason), (2, TurnEnd::NoAnswer));
    // If more turns are allowed, the model is reminded once more.
    let model = Scripted::new("one", [call(&[GREP]), call(&[GREP]), say("done")]);
    let mut agent = bench().agent(&[&model]);
    agent.limits.calls = 1;
    assert_eq!(ask(&agent).answer.as_deref(), Some("done"));
}

#[test]
fn custom_prompt_is_the_system_prompt() {
    let model = Scripted::new("one", [say("done")]);
    let mut agent = bench().agent(&[&model]);
    agent.prompt = Some("Answer in rhymes, with {grep_search}.".into());
    ask(&agent);
    let seen = model.seen();
    let system = seen[0].texts().next().unwrap().to_owned();
    assert!(system.starts_with("Answer in rhymes, with grep_search.\n\nData and instructions:"), "{system}");
}
