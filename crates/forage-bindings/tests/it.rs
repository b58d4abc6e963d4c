//! Tests the toolbox as packages of other languages use it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make files of their own, and fail by panicking"
)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forage_bindings::{
    BindingError, MethodCalls, Pieces, Toolbox, ToolboxSettings, error_classes, methods, run,
};
use forage_lookup::{Creation, EmbeddedStore, Encoder as _, FastEmbedBm25, Point, PointId, PointStore as _};
use forage_tools::{Answer, CallSink, ErrorCode, Phrasing, Stop, TelemetryEvent};
use serde_json::{Value, json};

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let lines: String = (0..300).map(|index| format!("needle {index}\n")).collect();
    for (name, text) in [("a.txt", lines.as_str()), ("b.rs", "fn main() {}\n")] {
        std::fs::write(tree.path().join(name), text).unwrap();
    }
    tree
}

fn open(directory: &Path, settings: &Value) -> Result<Toolbox, BindingError> {
    let settings: ToolboxSettings = serde_json::from_value(settings.clone()).unwrap();
    Toolbox::open(&[directory.to_owned()], settings)
}

#[test]
fn every_tool_has_a_method_of_its_own() {
    let methods = methods();
    let names: BTreeSet<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    let expected = ["grep", "history", "keyword_search", "list", "lookup", "rank", "read", "search"];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
    for method in &methods {
        assert!(method.answer["properties"]["elapsed_ms"].is_object(), "{}", method.name);
    }
}

#[test]
fn methods_are_documented_for_people() {
    for method in methods() {
        let name = &method.name;
        assert!(
            method.summary.ends_with('.') && !method.summary.contains('\n'),
            "{name}: {}",
            method.summary
        );
        assert!(
            method.python.starts_with(">>> ") && method.typescript.contains("await workspace."),
            "{name}"
        );
        assert_eq!(method.answer["properties"][&method.items]["type"], "array", "{name}: {}", method.items);
        let each = method.each.as_ref().map(|each| &each.arguments);
        for schema in [Some(&method.arguments), each].into_iter().flatten() {
            for (parameter, field) in schema["properties"].as_object().unwrap() {
                let description = field["description"].as_str().unwrap_or_default();
                assert!(description.len() > 10, "{name}({parameter}): {description:?}");
            }
        }
    }
}

/// Parameters that mean the same must have the same name and type in all methods.
#[test]
fn methods_agree_on_the_names_of_parameters() {
    let methods = methods();
    let method = |name: &str| methods.iter().find(|method| method.name == name).unwrap();
    let takes = |name: &str, parameter: &str| &method(name).arguments["properties"][parameter];
    for (parameter, of) in [
        ("path", &["grep", "rank", "list", "read", "search", "lookup"][..]),
        ("file_pattern", &["grep", "rank", "search"]),
        ("context_lines", &["grep", "read", "search"]),
        ("max_results", &["grep", "rank", "search", "lookup"]),
        ("cursor", &["grep", "rank", "search"]),
        ("fixed_strings", &["grep", "search"]),
        ("word_regexp", &["grep", "search"]),
        ("include_ignored", &["grep", "list"]),
    ] {
        let types: BTreeSet<String> = of
            .iter()
            .map(|name| {
                let field = takes(name, parameter);
                format!("{} {}", field["type"], field["anyOf"])
            })
            .collect();
        assert!(types.len() == 1 && !types.contains("null null"), "{parameter}: {types:?}");
    }
    for (parameter, of) in
        [("limit", &["rank", "lookup"][..]), ("glob", &["search"]), ("context", &["search"])]
    {
        for name in of {
            assert!(takes(name, parameter).is_null(), "{name}({parameter})");
        }
    }
}

#[test]
fn parameters_are_those_of_the_package() {
    let tree = tree();
    for (calls, parameter, limit) in [
        (&MethodCalls::Python, "`file_pattern`", "`max_results`"),
        (&MethodCalls::JavaScript, "`filePattern`", "`maxResults`"),
    ] {
        let toolbox = open(tree.path(), &json!({ "index": false })).unwrap().naming(calls);
        let search = json!({ "pattern": "needle 1$|main", "file_pattern": ["*.rs"], "context_lines": 1 });
        let answer = toolbox.call_method("search", search, &Stop::never()).unwrap();
        assert_eq!(
            (answer.records()["count"].clone(), answer.records()["warnings"].clone()),
            (json!(1), json!([]))
        );
        let ranked =
            toolbox.call_method("rank", json!({ "query": "needle", "max_results": 1 }), &Stop::never());
        assert_eq!(ranked.unwrap().records()["files"].as_array().map(Vec::len), Some(1));
        let refused = json!({ "pattern": "x", "file_pattern": "a[" });
        let refused = toolbox.call_method("search", refused, &Stop::never()).unwrap_err();
        assert!(refused.message.contains(parameter), "{}", refused.message);
        let refused = json!({ "query": "needle", "max_results": "many" });
        let refused = toolbox.call_method("rank", refused, &Stop::never()).unwrap_err();
        assert!(refused.message.contains(limit), "{}", refused.message);
    }
}

#[test]
fn a_tool_is_found_by_its_name_and_a_method_by_its_own() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    let given = json!({ "pattern": "needle 29.$" });
    let tool = toolbox.call("grep_search", given.clone(), &Stop::never()).unwrap();
    let method = toolbox.call_method("grep", given.clone(), &Stop::never()).unwrap();
    assert_eq!(tool.text, method.text);
    assert_eq!(method.records()["match_count"], 10);
    let unknown = toolbox.call_method("grep_search", given, &Stop::never()).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownTool);
}

#[test]
fn an_answer_names_methods_as_the_package_calls_them() {
    let tree = tree();
    std::fs::write(tree.path().join("long.txt"), "line\n".repeat(100_000)).unwrap();
    for (calls, by_method) in [
        (&MethodCalls::Python, "read(path=\"long.txt\", start_line="),
        (&MethodCalls::JavaScript, "read({ path: \"long.txt\", startLine: "),
    ] {
        let toolbox = open(tree.path(), &json!({ "index": false })).unwrap().naming(calls);
        let given = json!({ "path": "long.txt" });
        let method = toolbox.call_method("read", given.clone(), &Stop::never()).unwrap().text;
        assert!(method.contains(by_method), "{method}");
        let tool = toolbox.call("read_file", given, &Stop::never()).unwrap().text;
        assert!(tool.contains("read_file(path="), "a model calls tools: {tool}");
    }
    let phrasing: &dyn Phrasing = &MethodCalls::JavaScript;
    assert_eq!(phrasing.tool("keyword_search", "keyword_search"), "keywordSearch()");
}

#[test]
fn stream_yields_all_items_until_the_reader_stops() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    let each = |max: usize| {
        let mut pieces = Vec::new();
        let mut receive = |piece: Value| {
            pieces.push(piece);
            if pieces.len() == max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let answer = toolbox.each("search", json!({ "pattern": "needle" }), &Stop::never(), &mut receive);
        answer.unwrap();
        pieces
    };
    let all = each(usize::MAX);
    assert_eq!(all.iter().filter(|piece| piece["type"] == "match").count(), 300);
    assert_eq!(each(5), all[..5]);
    let mut nothing = |_: Value| ControlFlow::Continue(());
    let refused = toolbox.each("grep", json!({ "pattern": "(" }), &Stop::never(), &mut nothing).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Pattern);
}

/// Reads all results, with a pause after the first one.
fn all_with_pause(toolbox: &Toolbox, tool: &str, pause: Duration) -> Result<Answer, BindingError> {
    let mut pause = Some(pause);
    let mut receive = |_: Value| {
        pause.take().into_iter().for_each(std::thread::sleep);
        ControlFlow::Continue(())
    };
    toolbox.each(tool, json!({ "pattern": "needle|main" }), &Stop::never(), &mut receive)
}

#[test]
fn all_there_is_takes_more_time_than_a_call_has() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    std::thread::scope(|scope| {
        for tool in ["search", "grep"] {
            let toolbox = &toolbox;
            scope.spawn(move || {
                // An ordinary call would time out after 20 s.
                let answer = all_with_pause(toolbox, tool, Duration::from_secs(21)).unwrap();
                assert_eq!(answer.records()["match_count"], 301, "{tool}");
                assert_eq!(answer.text.lines().next(), Some("Found 301 matches in 2 files."), "{tool}");
            });
        }
    });
}

#[test]
fn the_time_of_a_workspace_is_that_of_every_tool() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false, "timeout_ms": 100 })).unwrap();
    for tool in ["search", "grep"] {
        let error = all_with_pause(&toolbox, tool, Duration::from_millis(300)).err();
        assert_eq!(error.map(|error| error.code), Some(ErrorCode::Unfinished), "{tool}");
    }
}

#[test]
fn what_is_refused_says_why() {
    let tree = tree();
    let refused = |settings: Value| open(tree.path(), &settings).err().map(|error| error.to_string());
    let model = |model: Value| refused(json!({ "index": false, "models": [model] })).unwrap_or_default();
    assert!(model(json!({ "model": "x" })).contains("`provider` (anthropic, "));
    let without_key = model(json!({ "model": "x", "base_url": "https://example.com/v1" }));
    assert_eq!(without_key, "can't use the model `x`: `api_key` is missing");
    let without_model = model(json!({ "provider": "openai" }));
    assert_eq!(without_model, "can't use the model ``: `model` must be the provider's id of the model");
    assert_eq!(model(json!({ "model": "x", "base_url": "http://127.0.0.1:1/v1" })), "");
    assert_eq!(model(json!({ "provider": "openai", "model": "x", "api_key": "k" })), "");
    assert!(refused(json!({ "exclude": ["["] })).unwrap().starts_with("`exclude`: "));
    for (setting, range) in
        [("timeout_ms", "100 to 300000"), ("text_bytes", "2000 to 100000"), ("threads", "0 to 256")]
    {
        let why = refused(json!({ "index": false, setting: 1_000_000 })).unwrap();
        assert_eq!(why, format!("`{setting}` 1000000 is out of range; give {range}"));
    }
    assert!(refused(json!({ "index": tree.path() })).unwrap().contains("is inside the workspace"));

    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    let code = |name: &str, given: Value| toolbox.call_method(name, given, &Stop::never()).unwrap_err().code;
    assert_eq!(code("no_such_method", json!({})), ErrorCode::UnknownTool);
    let unknown = toolbox.call("no_such_tool", json!({}), &Stop::never()).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownTool);
    assert_eq!(code("read", json!({ "path": "../outside" })), ErrorCode::Path);
    let no_model =
        toolbox.call("keyword_search", json!({ "query": "q", "search_terms": ["n"] }), &Stop::never());
    assert_eq!(no_model.unwrap_err().code, ErrorCode::NoModel);
    assert_eq!(toolbox.ask("where?", &Stop::never(), &|_| ()).err().unwrap().code, ErrorCode::NoModel);
    assert_eq!(toolbox.definitions("nonsense", None).unwrap_err().code, ErrorCode::Argument);
    let stopped = Stop::never();
    stopped.cancel();
    let cancelled = toolbox.call_method("grep", json!({ "pattern": "x" }), &stopped).unwrap_err();
    assert_eq!(cancelled.code, ErrorCode::Cancelled);
    toolbox.close();
    assert_eq!(code("grep", json!({ "pattern": "x" })), ErrorCode::Failed);
}

#[test]
fn every_code_is_described() {
    let classes = error_classes();
    assert!(classes.len() > 15);
    for class in &classes {
        assert!(!class.code.is_empty() && !class.description.is_empty(), "{class:?}");
        // Python has a built-in class `IndexError`.
        assert!(class.name.ends_with("Error") && class.name != "IndexError", "{class:?}");
    }
    let error = Toolbox::open(&["/no/such/directory".into()], ToolboxSettings::default()).err().unwrap();
    assert!(classes.iter().any(|class| class.code == error.code_name()), "{error}");
}

#[test]
fn so_many_calls_are_worked_on_at_once_and_all_end() {
    let (working, max) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (sender, ended) = channel();
    for index in 0..300 {
        let (working, max, sender) = (Arc::clone(&working), Arc::clone(&max), sender.clone());
        run(move || {
            max.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            working.fetch_sub(1, Ordering::SeqCst);
            sender.send(index).unwrap();
            assert!(index % 7 != 0, "a job that panics frees its place, too");
        })
        .unwrap();
    }
    let mut all: Vec<i32> = (0..300).map(|_| ended.recv_timeout(Duration::from_secs(30)).unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..300).collect::<Vec<_>>());
    // We can't expect all 64 because other tests use some of the threads.
    assert!((32..=64).contains(&max.load(Ordering::SeqCst)), "{max:?}");
}

#[test]
fn unread_streams_block_no_call() {
    let tree = tree();
    let toolbox = Arc::new(open(tree.path(), &json!({ "index": false })).unwrap());
    let request = json!({ "pattern": "needle", "context_lines": 0 });
    let begin = |_| Pieces::begin(&toolbox, "search".to_owned(), request.clone(), Stop::never()).unwrap();
    let streams: Vec<_> = (0..80).map(begin).collect();
    let (sender, answer) = channel();
    run(move || sender.send(1).unwrap()).unwrap();
    assert_eq!(answer.recv_timeout(Duration::from_secs(30)), Ok(1));
    let mut read = 0;
    loop {
        let batch = streams[79].read(Duration::from_secs(30)).unwrap();
        read += batch.pieces.len();
        if !batch.goes_on {
            assert!(batch.answer.is_some());
            break;
        }
    }
    assert_eq!(read, 300);
    streams[0].close();
    assert_eq!(streams[0].read(Duration::ZERO).err().map(|error| error.code), Some(ErrorCode::Cancelled));
}

#[test]
fn a_collection_is_asked_when_something_is_looked_up() {
    let tree = tree();
    let refused =
        |collection: Value| open(tree.path(), &json!({ "index": false, "collection": collection })).err();
    for collection in [
        json!({}),
        json!({ "url": "http://127.0.0.1:1", "directory": "here" }),
        json!({ "url": "nonsense" }),
        json!({ "url": "http://example.com:6333", "api_key": "secret" }),
        json!({ "url": "http://127.0.0.1:1", "encoder": "nonsense" }),
        json!({ "url": "http://127.0.0.1:1", "language": "klingon" }),
        json!({ "url": "http://127.0.0.1:1", "language": "klingon", "disable_stemmer": true }),
        json!({ "url": "http://127.0.0.1:1", "name": "a/b" }),
        json!({ "url": "http://127.0.0.1:1", "vector": "" }),
        json!({ "url": "http://127.0.0.1:1", "top_k": 101 }),
        json!({ "url": "http://127.0.0.1:1", "timeout_ms": 99 }),
    ] {
        let error = refused(collection.clone()).unwrap();
        assert_eq!(error.code, ErrorCode::Argument, "{collection}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[derive(Default)]
struct Events(Mutex<Vec<Value>>);

impl CallSink<TelemetryEvent> for Events {
    fn ended(&self, event: TelemetryEvent) {
        self.0.lock().unwrap().push(event.into());
    }
}

/// Opening a subdirectory of a repository opens the whole repository. Paths may then be relative to either.
#[test]
fn a_part_of_a_repository_is_opened_as_the_whole() {
    let tree = tree();
    std::fs::create_dir_all(tree.path().join("src/deep")).unwrap();
    std::fs::write(tree.path().join("src/deep/c.txt"), "needle c\n").unwrap();
    let count = |directory: &str, request: Value| {
        let toolbox = open(&tree.path().join(directory), &json!({ "index": false })).unwrap();
        let answer = toolbox.call_method("grep", request, &Stop::never()).unwrap();
        (toolbox.roots(), answer.records()["match_count"].as_u64().unwrap())
    };
    let path =
        |below: &str| vec![forage_fs::canonical(&tree.path().join(below)).unwrap().display().to_string()];
    // Without a repository, the directory itself is opened.
    assert_eq!(count("src", json!({ "pattern": "needle" })), (path("src"), 1));
    std::fs::create_dir(tree.path().join(".git")).unwrap();
    assert_eq!(count("src/deep", json!({ "pattern": "needle" })), (path("."), 301));
    assert_eq!(count("src", json!({ "pattern": "needle", "path": "src" })), (path("."), 1));
    assert_eq!(count("src", json!({ "pattern": "needle", "path": "deep" })), (path("."), 1));
}

/// An invalid pattern should be corrected if it can have only one meaning, as everywhere else.
#[test]
fn a_pattern_is_taken_as_it_is_meant() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    let call = |name: &str, pattern: &str| toolbox.call(name, json!({ "pattern": pattern }), &Stop::never());
    for name in ["grep_search", "forage_grep_search", "mcp__forage__grep_search"] {
        assert!(call(name, "main(").unwrap().text.contains("searched for this instead: main"), "{name}");
    }
    let refused = call("grep_search", "(a|").err().unwrap();
    assert_eq!(refused.code, ErrorCode::Pattern);
}

/// The `filter` setting must accept the keys of `[filter]` in the configuration.
#[test]
fn the_filter_is_set() {
    let tree = tree();
    let lines: String = (0..2000).map(|index| format!("hay {index}\n")).collect();
    std::fs::write(tree.path().join("hay.txt"), lines).unwrap();
    let prompt = tree.path().join("prompt.md");
    std::fs::write(&prompt, "Keep what is about needles.").unwrap();
    let request = json!({ "query": "q", "search_terms": ["hay"] });
    let search = |settings: Value| {
        open(tree.path(), &settings).and_then(|it| it.call("keyword_search", request.clone(), &Stop::never()))
    };
    let broad =
        search(json!({ "without_model": true, "filter": { "breadth": "requirement", "term_bytes": 4096 } }));
    assert_eq!(broad.err().unwrap().code, ErrorCode::TooBroad);
    assert!(search(json!({ "without_model": true })).unwrap().found);
    for (filter, said) in [
        (json!({ "term_bytes": 1 }), "`term_bytes` 1 is out of range; give 4096 to 1048576"),
        (json!({ "shards": 2 }), "`shards` need `answer` \"ids\""),
    ] {
        let error = search(json!({ "without_model": true, "filter": filter })).err().unwrap();
        assert_eq!((error.code, error.message), (ErrorCode::Argument, format!("`filter`: {said}")));
    }
    let missing = json!({ "without_model": true, "filter": { "prompt_file": "/no/such/file" } });
    assert_eq!(search(missing).err().unwrap().code, ErrorCode::Argument);
    // The request to a model must contain the prompt.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut sent, mut bytes) = (Vec::new(), [0; 1 << 16]);
        while !String::from_utf8_lossy(&sent).contains("Keep what is about needles.") {
            let read = std::io::Read::read(&mut stream, &mut bytes).unwrap();
            assert!(read > 0, "the prompt was not sent: {}", String::from_utf8_lossy(&sent));
            sent.extend_from_slice(&bytes[..read]);
        }
    });
    let models = json!([{ "model": "m", "base_url": url }]);
    let failed = search(json!({ "models": models, "filter": { "prompt_file": prompt } }));
    assert_eq!(failed.err().unwrap().code, ErrorCode::ModelsFailed);
    asked.join().unwrap();
}

/// Opens only a collection, without any directory of files.
fn open_collection(collection: Value, events: &Arc<Events>) -> Toolbox {
    let settings = serde_json::from_value(json!({ "collection": collection })).unwrap();
    Toolbox::open(&[], settings).unwrap().with_telemetry(Arc::clone(events) as _, "test")
}

#[test]
fn what_can_not_be_looked_up_is_an_answer_and_one_event() {
    for encoder in ["auto", "bm42"] {
        let events = Arc::<Events>::default();
        let toolbox = open_collection(json!({ "url": "http://127.0.0.1:1", "encoder": encoder }), &events);
        let answer = toolbox.call_method("lookup", json!({ "query": "needle" }), &Stop::never()).unwrap();
        let records = answer.records();
        assert_eq!((&records["status"], &records["hits"]), (&json!("store_unavailable"), &json!([])));
        let reason = records["reason"].as_str().unwrap();
        assert!(reason.contains("can't reach Qdrant at http://127.0.0.1:1"), "{reason}");
        let events = events.0.lock().unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(
            (&events[0]["retrieval.status"], &events[0]["surface"]),
            (&json!("store_unavailable"), &json!("test"))
        );
        assert!(!events[0].to_string().contains("needle"));
    }
}

#[test]
fn collection_without_files_returns_raw_payloads() {
    const KEY: &str = "AKIAQ7ZJ4RWTNVXK2M5H";
    let directory = tempfile::tempdir().unwrap();
    let encoder = FastEmbedBm25::new();
    let text = format!("needle {}\u{200b}.", "hay ".repeat(3_000));
    let node = json!({ "text": format!("needle\nkey = \"{KEY}\"\nend"), "metadata": { "note": KEY } });
    let store = EmbeddedStore::new(directory.path(), "docs").unwrap();
    let creation = Creation {
        using: "text-sparse".to_owned(),
        contract: encoder.contract(),
        indexed_fields: Vec::new(),
        sharding: Default::default(),
    };
    store.create(&creation, &Stop::never()).unwrap();
    let payloads =
        [json!({ "text": text, "page": 7 }), json!({ "text": "needle", "_node_content": node.to_string() })];
    let point = |(number, payload): (u64, Value)| Point {
        id: PointId::Number(number),
        vector: encoder.document(payload["text"].as_str().unwrap()).unwrap(),
        payload: payload.as_object().unwrap().clone(),
    };
    store.upsert((1..).zip(payloads).map(point).collect(), "text-sparse", &Stop::never()).unwrap();
    store.finish(&Stop::never()).unwrap();

    let events = Arc::<Events>::default();
    let collection = json!({ "directory": directory.path(), "name": "docs", "payload": ["*"] });
    let toolbox = open_collection(collection, &events);
    let answer =
        toolbox.call_method("lookup", json!({ "query": "needle", "filter": ["page=7"] }), &Stop::never());
    let records = answer.unwrap().records().clone();
    assert_eq!(records["hits"][0]["payload"], json!({ "text": text, "page": 7 }));
    let answer = toolbox.call_method("lookup", json!({ "query": "needle" }), &Stop::never()).unwrap();
    let records = answer.records();
    let hit = records["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == "2").unwrap();
    let shown: Value = serde_json::from_str(hit["payload"]["_node_content"].as_str().unwrap()).unwrap();
    let shown_text = shown["text"].as_str().unwrap();
    assert!(shown_text.starts_with("needle\n") && shown_text.ends_with("\nend"), "{shown_text}");
    assert!(shown_text.contains("[redacted:") && !shown.to_string().contains(KEY), "{shown}");
    assert_eq!(events.0.lock().unwrap().len(), 2);

    let names = |only: Option<&[String]>| {
        let definitions = toolbox.definitions("mcp", only).map_err(|error| error.code)?;
        Ok(definitions.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(names(None), Ok(vec!["keyword_lookup".to_owned()]));
    assert_eq!(names(Some(&["grep_search".to_owned()])), Err(ErrorCode::Argument));
    for (tool, request) in [("grep", json!({ "pattern": "needle" })), ("list", json!({}))] {
        assert_eq!(toolbox.call_method(tool, request, &Stop::never()).err().unwrap().code, ErrorCode::Path);
    }
    assert_eq!(toolbox.ask("where?", &Stop::never(), &|_| ()).err().unwrap().code, ErrorCode::Path);
    assert_eq!(Toolbox::open(&[], ToolboxSettings::default()).err().unwrap().code, ErrorCode::Path);
}

#[test]
fn definitions_are_of_all_tools_or_of_those_that_are_named() {
    let tree = tree();
    let toolbox = open(tree.path(), &json!({ "index": false })).unwrap();
    let names = |only: Option<&[&str]>| {
        let only: Option<Vec<String>> = only.map(|only| only.iter().map(|&name| name.to_owned()).collect());
        let definitions = toolbox.definitions("mcp", only.as_deref()).map_err(|error| error.message)?;
        Ok::<_, String>(definitions.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect())
    };
    let all: Vec<String> = names(None).unwrap();
    assert!(all.contains(&"grep_search".to_owned()) && !all.contains(&"Search".to_owned()), "{all:?}");
    assert_eq!(names(Some(&["read_file", "Search"])).unwrap(), ["read_file", "Search"]);
    let unknown = names(Some(&["readfile"])).unwrap_err();
    assert!(unknown.starts_with("`only` names readfile, which is not one of search_index, "), "{unknown}");
}
