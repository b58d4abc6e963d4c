//! The agent as a library: how it handles everything that a model can say, and how it ends.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use forage_agent::{AgentEvent, LastTurn, Transcript, TurnEnd};
use forage_llm::{ChatError, Finish, Usage};
use forage_tools::{FilterMode, registry};

use crate::scripted::{Bench, Reply, Scripted, ask, call, fail, hang, joined, say, says};
use crate::support::{line_with, stable};

fn bench() -> Bench {
    Bench::new(&[
        ("src/retry.rs", "//! Retries.\nfn retry_with_backoff() {}\n"),
        ("src/client.rs", "fn send() { retry_with_backoff() }\n"),
        (".env", "KEY=canary-in-dotenv\n"),
    ])
}

/// Long enough for a busy machine. The models in these tests hang forever.
const SOON: Duration = Duration::from_secs(20);

const GREP: (&str, &str) = ("grep_search", r#"{"pattern": "retry_with_backoff"}"#);
const READ: (&str, &str) = ("read_file", r#"{"path": "src/retry.rs"}"#);

/// Returns the number, the `run` flag and the error of each call.
fn calls(transcript: &Transcript) -> Vec<(usize, bool, Option<String>)> {
    let calls = transcript.turns.iter().flat_map(|turn| &turn.calls);
    calls.map(|call| (call.number, call.run, call.error.clone())).collect()
}

/// Returns the lines of a tool's result without its heading and its fence.
fn result(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("===== BEGIN ")).skip(1);
    lines.take_while(|line| !line.starts_with("===== END ")).collect()
}

const FOUND: &str = "Found 2 matches in 2 files:";

#[test]
fn finds_reads_and_answers() {
    let model = Scripted::new(
        "one",
        [
            says("Let me look.", &[GREP, ("list_directory", "{}")]),
            call(&[READ]),
            say("It retries with backoff (`src/retry.rs:2`)."),
        ],
    );
    let transcript = bench().ask(&model);
    assert_eq!(transcript.stop_reason, TurnEnd::Answered);
    assert_eq!(transcript.answer.as_deref(), Some("It retries with backoff (`src/retry.rs:2`)."));
    assert_eq!(calls(&transcript), [(1, true, None), (2, true, None), (3, true, None)]);
    assert_eq!((transcript.usage.input_tokens, transcript.cost_usd), (300, Some(0.75)));
    assert_eq!((transcript.citations.len(), transcript.wrong_citations), (1, 0));
    let texts = model.last_texts();
    insta::assert_snapshot!(joined(&texts));
}

#[test]
fn every_request_says_what_is_left() {
    let model = Scripted::new("one", [call(&[GREP, READ]), call(&[("list_directory", "{}")]), say("done")]);
    bench().ask(&model);
    let remark = |index: usize| {
        let request = &model.seen()[index];
        request.texts().last().unwrap().lines().last().unwrap().to_owned()
    };
    insta::assert_snapshot!(stable(&[0, 1, 2].map(remark).join("\n")));
}

#[test]
fn invalid_calls_are_answered_without_affecting_others() {
    let model = Scripted::new(
        "one",
        [
            call(&[
                ("no_such_tool", "{}"),
                ("grep_search", "{\"pattern\": "),
                ("grep_search", "[1]"),
                ("grep_search", ""),
                ("grep_search", r#""{\"pattern\": \"retry_with\"}""#),
                ("grep_search", r#"{"pattern": "("}"#),
                ("forage_list_directory", "null"),
                ("Search", r#"{"pattern": "retry"}"#),
            ]),
            say("done"),
        ],
    );
    let transcript = bench().ask(&model);
    let calls = calls(&transcript);
    let run: Vec<bool> = calls.iter().map(|(_, run, _)| *run).collect();
    assert_eq!(run, [false, false, false, true, true, true, true, false]);
    let errors =
        calls.iter().map(|(number, _, error)| format!("{number}: {}\n", error.as_deref().unwrap_or("-")));
    insta::assert_snapshot!(errors.collect::<String>());
    assert_eq!(result(&model.last_texts()[5])[0], FOUND);
}

#[test]
fn calls_beyond_the_turn_limit_are_not_run() {
    let patterns: Vec<String> = (0..11).map(|index| format!("{{\"pattern\": \"x{index}\"}}")).collect();
    let many: Vec<(&str, &str)> = patterns.iter().map(|text| ("grep_search", text.as_str())).collect();
    let model = Scripted::new("one", [call(&many), say("done")]);
    let transcript = bench().ask(&model);
    let calls = calls(&transcript);
    assert_eq!(
        calls.iter().map(|(_, run, _)| *run).collect::<Vec<_>>(),
        [vec![true; 8], vec![false; 3]].concat()
    );
    assert!(calls[8].2.as_ref().unwrap().starts_with("not run: only the first 8 calls"), "{calls:?}");
}

#[test]
fn repeated_calls_are_answered_from_memory() {
    let model = Scripted::new(
        "one",
        [
            call(&[GREP, ("grep_search", r#"{"path": null, "pattern": "retry_with_backoff"}"#)]),
            call(&[("list_directory", "{}"), GREP]),
            call(&[GREP]),
            say("done"),
        ],
    );
    let transcript = bench().ask(&model);
    let same: Vec<Option<usize>> =
        transcript.turns.iter().flat_map(|turn| &turn.calls).map(|call| call.same_as).collect();
    assert_eq!(same, [None, Some(1), None, Some(1), Some(1)]);
    let texts = model.last_texts();
    assert_eq!(texts.iter().filter(|text| result(text).first() == Some(&FOUND)).count(), 1, "shown once");
    let lines = [line_with(&texts[2], "call 2: "), line_with(&texts[5], "this is the last turn")];
    insta::assert_snapshot!(stable(&lines.join("\n")));
    assert_eq!(
        (transcript.last_turn, transcript.stop_reason),
        (Some(LastTurn::Repetition), TurnEnd::Answered)
    );
}

#[test]
fn a_call_that_failed_is_made_again() {
    let missing = ("read_file", r#"{"path": "no/such/file"}"#);
    let model = Scripted::new("one", [call(&[missing]), call(&[missing]), say("done")]);
    let transcript = bench().ask(&model);
    assert!(calls(&transcript).iter().all(|(_, run, error)| *run && error.is_some()), "{transcript:?}");
}

#[test]
fn each_limit_makes_the_model_answer() {
    let list = |path: &'static str| call(&[("grep_search", path)]);
    let turns: Vec<Reply> = vec![list(r#"{"pattern": "a"}"#), list(r#"{"pattern": "b"}"#), say("answer")];
    let model = Scripted::new("one", turns);
    let bench = bench();
    let mut agent = bench.agent(&[&model]);
    agent.limits.turns = 3;
    let transcript = ask(&agent);
    assert_eq!((transcript.last_turn, transcript.answer.as_deref()), (Some(LastTurn::Turns), Some("answer")));
    assert!(!model.seen()[2].tools.is_empty(), "results of tools need their declarations");

    let model = Scripted::new(
        "one",
        [
            call(&[("grep_search", r#"{"pattern": "a"}"#), ("grep_search", r#"{"pattern": "b"}"#), READ]),
            say("answer"),
        ],
    );
    let mut agent = bench.agent(&[&model]);
    agent.limits.calls = 2;
    let transcript = ask(&agent);
    assert_eq!((transcript.last_turn, transcript.calls_run()), (Some(LastTurn::Calls), 2));
    assert_eq!(calls(&transcript)[2].2.as_deref(), Some("not run: no calls are left"));

    // The last quarter of the 600 ms is reserved for the answer.
    let slow: Reply = Box::new(|request, budget| {
        while budget.remaining() > Duration::from_millis(100) {
            std::thread::sleep(Duration::from_millis(5));
        }
        call(&[GREP])(request, budget)
    });
    let model = Scripted::new("one", [slow, say("answer")]);
    let mut agent = bench.agent(&[&model]);
    agent.limits.total = Duration::from_millis(600);
    let transcript = ask(&agent);
    assert_eq!((transcript.last_turn, transcript.answer.as_deref()), (Some(LastTurn::Time), Some("answer")));
}

#[test]
fn turn_limit_ends_a_model_that_keeps_calling() {
    let stubborn = || (0..5).map(|_| says("It is in src.", &[GREP, READ]));
    let model = Scripted::new("one", stubborn());
    let bench = bench();
    let mut agent = bench.agent(&[&model]);
    agent.limits.turns = 2;
    let transcript = ask(&agent);
    assert_eq!((transcript.answer.as_deref(), transcript.turns.len()), (Some("It is in src."), 2));
    assert!(calls(&transcript)[2..].iter().all(|(_, run, _)| !run), "{transcript:?}");
    let model = Scripted::new("one", (0..5).map(|_| call(&[GREP])));
    let mut agent = bench.agent(&[&model]);
    agent.limits.turns = 2;
    let transcript = ask(&agent);
    assert_eq!((transcript.stop_reason, transcript.turns.len()), (TurnEnd::NoAnswer, 2));
    insta::assert_snapshot!(stable(&transcript.text()));
}

fn empty() -> Reply {
    fail(|model| {
        let usage = Some(Usage { input_tokens: 100, cached_input_tokens: 20, output_tokens: 5 });
        ChatError::EmptyAnswer { model, finish: Finish::Length, usage, cost_usd: Some(0.25) }
    })
}

#[test]
fn a_model_that_says_nothing_gets_one_nudge() {
    let model = Scripted::new("one", [call(&[GREP]), empty(), say("here it is")]);
    let transcript = bench().ask(&model);
    assert_eq!(transcript.answer.as_deref(), Some("here it is"));
    insta::assert_snapshot!(joined(&model.last_texts()[1..]));
    let model = Scripted::new("one", [call(&[GREP]), empty(), empty()]);
    let transcript = bench().ask(&model);
    assert_eq!((transcript.stop_reason, &transcript.answer), (TurnEnd::NoAnswer, &None));
    // The totals include the discarded answers.
    let turns: u64 =
        transcript.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.input_tokens).sum();
    assert_eq!(transcript.usage.input_tokens, turns + 200);
}

#[test]
fn call_has_one_size_in_event_and_transcript() {
    let (model, bench) = (Scripted::new("one", [call(&[GREP]), say("found")]), bench());
    let sizes = Mutex::new(Vec::new());
    let watch = |event: &AgentEvent<'_>| {
        if let AgentEvent::CallEnded { bytes, .. } = event {
            sizes.lock().unwrap().push(*bytes);
        }
    };
    let transcript = bench.agent(&[&model]).ask("q", &watch).unwrap();
    assert_eq!(*sizes.lock().unwrap(), [transcript.turns[0].calls[0].bytes]);
}

fn server(model: String) -> ChatError {
    ChatError::Server { model, status: 500, retry_after: None }
}

/// Checks for each failure during a conversation if the same model is asked again, and if the next one
/// continues.
#[test]
fn failing_model_is_retried_once_then_replaced() {
    type Error = fn(String) -> ChatError;
    let momentary: [Error; 4] = [
        server,
        |model| ChatError::RateLimited { model, retry_after: Some(Duration::from_millis(10)) },
        |model| ChatError::ConnectionLost { model },
        |model| ChatError::BadAnswer { model, why: "it is not JSON".to_owned() },
    ];
    let lasting: [Error; 6] = [
        |model| ChatError::Unauthorized { model, status: 401 },
        |model| ChatError::BadRequest { model, status: 404, message: "no such model".to_owned() },
        |model| ChatError::Unreachable { model, why: "refused".to_owned() },
        |model| ChatError::AnswerTooLarge { model, limit: 1 },
        |model| ChatError::DeadlineExceeded { model },
        |model| ChatError::EmptyAnswer { model, finish: Finish::Refused, usage: None, cost_usd: None },
    ];
    let bench = bench();
    for error in momentary {
        let one = Scripted::new("one", [call(&[GREP]), fail(error), say("recovered")]);
        let transcript = bench.ask(&one);
        assert_eq!(transcript.answer.as_deref(), Some("recovered"), "{transcript:?}");
        assert!(transcript.warnings[0].ends_with("(retrying)"), "{transcript:?}");
    }
    for (error, asked) in momentary.map(|error| (error, 3)).into_iter().chain(lasting.map(|error| (error, 2)))
    {
        let one = Scripted::new("one", [call(&[GREP]), fail(error), fail(error)]);
        let two = Scripted::new("two", [call(&[READ]), say("from the second")]);
        let three = Scripted::new("three", []);
        let transcript = ask(&bench.agent(&[&one, &two, &three]));
        assert_eq!(transcript.answer.as_deref(), Some("from the second"), "{transcript:?}");
        assert_eq!((one.seen().len(), two.seen().len(), three.seen().len()), (asked, 2, 0));
        assert_eq!(transcript.models, ["test/one", "test/two"]);
        let seen = two.seen();
        assert!(
            seen[0].texts().any(|text| result(text).first() == Some(&FOUND)),
            "the conversation continues"
        );
        // The third failure follows the second. When all models have failed, the conversation ends with an
        // error.
        let failing = || {
            let one = Scripted::new("one", [call(&[GREP]), fail(error), fail(error)]);
            (one, Scripted::new("two", [fail(error), fail(error)]))
        };
        let (one, two) = failing();
        let three = Scripted::new("three", [say("from the third")]);
        let transcript = ask(&bench.agent(&[&one, &two, &three]));
        assert_eq!(transcript.answer.as_deref(), Some("from the third"), "{transcript:?}");
        let (one, two) = failing();
        let transcript = ask(&bench.agent(&[&one, &two]));
        assert!(matches!(transcript.stop_reason, TurnEnd::ModelsFailed | TurnEnd::Refused), "{transcript:?}");
        assert_eq!(line_with(&transcript.text(), "Calls made"), "Calls made:");
    }
}

#[test]
fn long_conversation_drops_oldest_results() {
    let too_long: fn(String) -> ChatError = |model| ChatError::ContextOverflow {
        model,
        status: 400,
        message: "maximum context length is 8192 tokens".to_owned(),
    };
    let model = Scripted::new(
        "one",
        [
            call(&[GREP]),
            call(&[READ]),
            call(&[("list_directory", "{}")]),
            fail(too_long),
            call(&[GREP]),
            say("done"),
        ],
    );
    let transcript = bench().ask(&model);
    assert_eq!(transcript.answer.as_deref(), Some("done"), "{transcript:?}");
    assert!(transcript.results_taken_out > 0);
    let texts = model.last_texts();
    assert_eq!(line_with(&texts[0], "Question: "), "Question: what is this?");
    assert!(texts[1].starts_with("[this result was removed"), "{}", texts[1]);
    assert_eq!(result(&texts[4])[0], FOUND, "a call whose result is gone is made again");
    // There is nothing left to remove, but the next model may have a larger context.
    let (one, two) = (Scripted::new("one", [fail(too_long)]), Scripted::new("two", [say("I can")]));
    let transcript = ask(&bench().agent(&[&one, &two]));
    assert_eq!(transcript.answer.as_deref(), Some("I can"));
    let one = Scripted::new("one", [fail(too_long)]);
    let transcript = bench().ask(&one);
    assert_eq!(transcript.stop_reason, TurnEnd::ModelsFailed);
    // The user should see the server's own message, and only once.
    let [warning] = &transcript.warnings[..] else { panic!("{transcript:?}") };
    insta::assert_snapshot!(warning.as_str());
}

#[test]
fn results_over_the_byte_budget_make_room() {
    let text: String = (0..400).map(|line| format!("line {line} of a long file, with words\n")).collect();
    let bench = Bench::new(&[("a.txt", &text), ("b.txt", &text), ("c.txt", &text)]);
    let read = |name: &str| call(&[("read_file", format!("{{\"path\": \"{name}.txt\"}}").as_str())]);
    let model = Scripted::new("one", [read("a"), read("b"), read("c"), say("done")]);
    let mut agent = bench.agent(&[&model]);
    agent.limits.bytes = 3_000;
    let transcript = ask(&agent);
    let results: usize = model.last_texts()[1..].iter().map(String::len).sum();
    assert!(transcript.results_taken_out >= 1 && results < 3_500, "{results}");
    let tenth = "    11\tline 10 of a long file, with words";
    assert_eq!(line_with(&model.last_texts()[3], "line 10 of"), tenth, "the newest stays");
    // A full turn must never evict itself.
    let all = [
        ("read_file", r#"{"path": "a.txt"}"#),
        ("read_file", r#"{"path": "b.txt"}"#),
        ("read_file", r#"{"path": "c.txt"}"#),
    ];
    let model = Scripted::new("one", [call(&all), say("done")]);
    let mut agent = bench.agent(&[&model]);
    agent.limits.bytes = 30_000;
    assert_eq!(ask(&agent).results_taken_out, 0);
    assert!(model.last_texts()[1..].iter().all(|text| line_with(text, "line 10 of") == tenth));
}

#[test]
fn citations_are_checked_against_the_disk() {
    let answer = "See `src/retry.rs:2`, `src/retry.rs:1-2`, src/retry.rs:2-9, src/gone.rs:1, `.env:1`, /etc/passwd:1, \
                  ../x.rs:1, src:1, src/retry.rs:0, src/client.rs:2-1; not at localhost:8080 or 10:30.";
    let model = Scripted::new("one", [say(answer)]);
    let transcript = bench().ask(&model);
    assert_eq!((transcript.citations.len(), transcript.wrong_citations), (9, 7), "{transcript:#?}");
    assert_eq!(
        transcript.answer.as_deref().unwrap(),
        "See `src/retry.rs:2`, `src/retry.rs:1-2`, src/retry.rs:2-9 [wrong: the file has 2 lines], src/gone.rs:1 \
         [wrong: no such file], `.env:1` [wrong: a secrets file, which is never read], /etc/passwd:1 [wrong: outside \
         of the root], ../x.rs:1 [wrong: outside of the root], src:1, src/retry.rs:0 [wrong: invalid line range], \
         src/client.rs:2-1 [wrong: invalid line range]; not at localhost:8080 or 10:30."
    );
    assert_eq!(
        line_with(&transcript.text(), "citations"),
        "[warning: 7 of 9 citations are wrong and marked as such]"
    );
}

#[test]
fn the_lines_of_a_file_are_counted_however_large_it_is() {
    let bench =
        Bench::new(&[("big.txt", &"x\n".repeat(9_000_000)), ("odd.txt", &"y\n\ny".repeat(6_000_000))]);
    let model =
        Scripted::new("one", [say("big.txt:9000000 big.txt:9000001 odd.txt:12000001 odd.txt:12000002")]);
    let transcript = bench.ask(&model);
    let wrong: Vec<Option<&str>> =
        transcript.citations.iter().map(|citation| citation.wrong.as_deref()).collect();
    let (nine, twelve) = ("the file has 9,000,000 lines", "the file has 12,000,001 lines");
    assert_eq!(wrong, [None, Some(nine), None, Some(twelve)]);
}

#[test]
fn model_text_cannot_control_the_terminal() {
    let escape = "done \u{1b}]52;c;aGk=\u{7}\u{202e}\r";
    let model = Scripted::new(
        "one",
        [
            says(escape, &[("grep\u{1b}[2J", escape), ("grep_search", "{\"pattern\": \"\u{202e}\"}")]),
            say(escape),
        ],
    );
    let transcript = bench().ask(&model);
    let unfinished =
        Scripted::new("one", [says(escape, &[("grep\u{1b}[2J", escape), GREP]), fail(server), fail(server)]);
    for text in [transcript.text(), bench().ask(&unfinished).text()] {
        assert!(text.contains("\\x1B"), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{text:?}");
    }
}

#[test]
fn the_deadline_ends_everything_with_what_is_known() {
    let model = Scripted::new("one", [call(&[GREP]), hang()]);
    let bench = bench();
    let mut agent = bench.agent(&[&model]);
    agent.limits.total = Duration::from_millis(400);
    let started = Instant::now();
    let transcript = ask(&agent);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_eq!(transcript.stop_reason, TurnEnd::Time);
    // Regression test: callers of the library were advised to use an option of the command line.
    assert_eq!(transcript.why_no_answer().as_deref(), Some("the time limit was reached"));
    insta::assert_snapshot!(line_with(&transcript.text(), "1. grep_search"));
    // A single hanging call must not end the conversation.
    let (one, two) = (Scripted::new("one", [hang()]), Scripted::new("two", [say("quick")]));
    let mut agent = bench.agent(&[&one, &two]);
    agent.limits.model_call = Duration::from_millis(100);
    assert_eq!(ask(&agent).answer.as_deref(), Some("quick"));
}

#[test]
fn cancelling_ends_a_model_that_hangs() {
    let model = Scripted::new("one", [call(&[GREP]), hang()]);
    let bench = bench();
    let agent = bench.agent(&[&model]);
    let stop = agent.workspace.stop.clone();
    let (started, cancelled) = std::sync::mpsc::channel();
    let transcript = agent.ask("q", &|event| {
        if let forage_agent::AgentEvent::Asking { turn: 2, .. } = event {
            let (stop, started) = (stop.clone(), started.clone());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                started.send(Instant::now()).unwrap();
                stop.cancel();
            });
        }
    });
    let took = cancelled.recv().unwrap().elapsed();
    assert!(took < SOON, "{took:?}");
    assert_eq!(transcript.unwrap().stop_reason, TurnEnd::Interrupted);
}

#[test]
fn nothing_is_asked_without_a_question_or_a_model() {
    let model = Scripted::new("one", []);
    let bench = bench();
    let errors = [
        (bench.agent(&[&model]), " \n"),
        (bench.agent(&[&model]), &*"x".repeat(20_000)),
        (bench.agent(&[]), "q"),
    ]
    .map(|(agent, question)| agent.ask(question, &|_| ()).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn keyword_search_is_offered_where_something_can_filter() {
    let model = Scripted::new("one", []);
    let names = |workspace: &forage_tools::Workspace| -> Vec<String> {
        let tools = forage_agent::usable_tools(workspace, registry::ToolSelection::all()).unwrap();
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    };
    let mut workspace = bench().agent(&[&model]).workspace;
    let without = ["search_index", "grep_search", "list_directory", "read_file", "Search"];
    assert_eq!(names(&workspace)[..5], without);
    // The name is free for the other tool, whose requirement uses it.
    assert_eq!(names(&workspace)[5..], ["keyword_search", "search_history"]);
    workspace.filter.mode = FilterMode::Lexical;
    assert_eq!((&*names(&workspace)[2], &*names(&workspace)[6]), ("keyword_search", "keyword_lookup"));
    assert_eq!(names(&workspace).len(), registry::TOOLS.len());
    workspace.filter.mode = FilterMode::Model;
    workspace.filter.models = vec![model as std::sync::Arc<dyn forage_llm::ChatModel>].into();
    assert_eq!(names(&workspace)[2], "keyword_search");
}
