//! Fuzzes untrusted files, and requests that any page might send.

use std::collections::HashSet;
use std::sync::Arc;

use forage_fuzz::target;
use forage_tools::{Call, CallHead};
use serde_json::{Value, json};

use crate::api::Api;
use crate::call_history::CallHistory;
use crate::files;
use crate::look::PageHost;
use crate::query::Query;

const JOURNAL: &str = r#"{"type":"process","process":"1f","surface":"mcp","pid":31,"version":"0.1.0","began":"2026-01-11T08:30:00.123Z"}
{"type":"call","id":"1f-1","process":"1f","sequence":1,"began":"2026-01-11T08:30:00.123Z","began_us":1,"elapsed_us":2,"surface":"mcp","client":null,"tool":"grep_search","arguments":{"pattern":"a"},"arguments_cut":false,"text_bytes":20000,"names_root":false,"base":".","status":"found","code":null,"error":null,"bytes":7,"digest":"0f","roots":["/p"],"results":1,"results_of":"matches","at_least":false,"files":1,"funnel":[{"step":"visited","files":1}],"skipped":{},"not_entered":[],"hidden_matches":[],"absent":null,"truncated_by":null,"text_cut":false,"has_more":false,"redacted":0,"shown":[{"root":0,"path":"a.rs","kind":"lines","ranges":[[1,2]],"matches":1}],"depends_on_session":false,"models":[],"trace":null}
"#;

const TRANSCRIPT: &str = r#"{"question":"q","root":"/p","turns":[{"model_ms":3,"tools_ms":4,"calls":[{"tool":"read_file","arguments":{"path":"a"},"bytes":9,"elapsed_ms":1,"error":null}]}]}"#;

const RECORDING: &str = r#"{"format":1,"request":{"body":{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"grep_search","arguments":"{\"pattern\":\"x\"}"}}]},{"role":"tool","tool_call_id":"a","content":"found"},{"type":"tool_use","id":"b","name":"read_file","input":{}},{"functionCall":{"name":"list_directory","args":{}}}]}}}
"#;

#[test]
fn any_file_is_shown_or_refused() {
    let seeds = forage_fuzz::seeds([JOURNAL, TRANSCRIPT, RECORDING]);
    for (seed, calls) in [(JOURNAL, 1), (TRANSCRIPT, 1), (RECORDING, 3)] {
        let gathered = CallHistory::new();
        files::add_text(&gathered, seed, "seed").unwrap();
        assert_eq!(gathered.calls().len(), calls, "{seed}");
        let task = (seed == TRANSCRIPT).then_some("q");
        assert_eq!(json!(gathered.after(0))["processes"][0]["task"], json!(task));
    }
    target!(&seeds, |bytes| {
        let gathered = CallHistory::new();
        let shown = files::add_text(&gathered, &String::from_utf8_lossy(bytes), "any");
        let news = json!(gathered.after(0));
        let calls = news["calls"].as_array().unwrap();
        assert!(shown.is_ok() || calls.len() < 2 || news["notes"].is_array());
        let ids: HashSet<&Value> = calls.iter().map(|call| &call["id"]).collect();
        assert_eq!((ids.len(), &news["next"]), (calls.len(), &json!(calls.len())));
        let processes = news["processes"].as_array().unwrap();
        for call in calls {
            assert!(processes.iter().any(|process| process["process"] == call["process"]), "{call}");
        }
    });
}

/// A host program that gives no access to files.
struct Blind;

impl PageHost for Blind {
    fn call_again(&self, _: &CallHead) -> Result<Call, String> {
        Err("blind".to_owned())
    }

    fn call_below(&self, _: &str) -> Result<Call, String> {
        Err("blind".to_owned())
    }

    fn own_root(&self) -> Option<String> {
        Some("/p".to_owned())
    }

    fn health(&self) -> Value {
        json!({})
    }

    fn schema(&self, _: &str) -> Option<Value> {
        None
    }
}

#[test]
fn any_question_is_answered() {
    let gathered = Arc::new(CallHistory::new());
    files::add_text(&gathered, JOURNAL, "seed").unwrap();
    let api = Api { gathered, look: Arc::new(Blind) };
    let seeds = forage_fuzz::seeds([
        "text?id=1f-1",
        "map?root=/p",
        "rank?root=/p&query=a+b&expected=a.rs",
        "cost?ids=1f-1,none",
        "tools/grep_search?arguments=%7B%22pattern%22:%22a%22%7D&root=/p",
        "schemas/grep-uses",
        "health",
    ]);
    target!(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let (path, query) = text.split_once('?').unwrap_or((&text, ""));
        match api.answer(path, &Query::parse(query)) {
            Ok(answer) => assert!(answer.is_object(), "{answer}"),
            Err(refusal) => {
                assert!(
                    !refusal.problem.is_empty() && [200, 400, 404].contains(&refusal.status),
                    "{refusal:?}"
                );
            }
        }
    });
}
