//! `forage lookup` and `forage sparse`.

use crate::Project;
use crate::support::{line_with, stable};

/// The reason why a store can't be used.
const PLAIN_KEY: &str = "the API key would go to http://192.0.2.1:6333 in plain text: use https://, or set \
                         `allow_plain_key` if you trust the network between";

fn project() -> Project {
    Project::new(&[
        ("src/db.rs", "fn open() {\n    // ORA-00942: no table\n    connect_or_fail();\n}\n"),
        ("src/http.py", "def parseHTTPHeader(line):\n    return line\n"),
        ("README.md", "# Shop\n\nSells things.\n"),
    ])
}

fn tool_names(project: &Project) -> Vec<String> {
    let tools = project.run(&["tools", "--format", "mcp"]).json();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn keyword_lookup_is_advertised_under_a_free_name() {
    let project = project();
    assert!(!tool_names(&project).contains(&"keyword_lookup".to_owned()));
    project.configure("[retrieval]\nenable_keyword_tool = true\n");
    assert_eq!(tool_names(&project)[5..], ["keyword_lookup"]);
    project.configure("[retrieval]\nenable_keyword_tool = true\n[tools.keyword_search]\nenabled = false\n");
    assert_eq!(
        tool_names(&project),
        ["search_index", "grep_search", "list_directory", "read_file", "keyword_search"]
    );
    project.configure("[tools.keyword_lookup]\nenabled = true\nname = \"keyword_search\"\n");
    let conflict = "the tools keyword_search and keyword_lookup are both called `keyword_search`; rename one \
                    (`tools.keyword_search.name`, `tools.keyword_lookup.name`), or turn one off";
    for command in [&["tools"][..], &["mcp"]] {
        let run = project.run(command);
        assert_eq!((run.status, run.stderr), (2, format!("forage: error: {conflict}\n")));
    }
    let doctor = project.run(&["doctor"]).stdout;
    assert_eq!(line_with(&doctor, "  problem: "), format!("  problem: {conflict}"));
}

/// The input is limited because its vector is printed. Reading an endless text stops in the middle, which is
/// an error.
#[test]
fn a_text_that_is_too_long_to_be_printed_as_a_vector_is_refused() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let project = project();
    let encode = |text: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_forage"))
            .args(["sparse", "encode", "-", "--json"])
            .current_dir(&project.root)
            .env_clear()
            .env("HOME", &project.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let text = text.to_owned();
        // The process closes the pipe when it exits.
        let writer = std::thread::spawn(move || {
            let mut taken = 0;
            while taken < 64 << 20 && stdin.write_all(&text).is_ok() {
                taken += text.len();
                if text.len() < 1 << 10 {
                    break;
                }
            }
            taken
        });
        let output = child.wait_with_output().unwrap();
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), record, writer.join().unwrap())
    };
    // These letters have two bytes, so that the limit falls inside one.
    let (status, record, taken) = encode("xü öä ".repeat(1 << 16).as_bytes());
    let error = "the text has more than 1048576 bytes; split it and encode the parts";
    assert_eq!((status, record["error"].as_str()), (Some(2), Some(error)));
    assert!(taken < 4 << 20, "it read {taken} bytes");
    let (status, record, _) = encode(b"\xff\xfe needle");
    let error = "the text on stdin is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0";
    assert_eq!((status, record["error"].as_str()), (Some(2), Some(error)));
    // Control: a text below the limit is encoded.
    let (status, record, _) = encode("needle ü".as_bytes());
    assert_eq!((status, record["indices"].as_array().map(Vec::len)), (Some(0), Some(8)));
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let project = project();
    let errors = [
        "collection = \"../x\"",
        "url = \"http://127.0.0.1:9\"\ndirectory = \"/tmp/x\"",
        "encoder = \"splade\"",
        "language = \"klingon\"",
        "encoder = \"bm42\"\ndisable_stemmer = true",
        "timeout_ms = 1",
        "unknown = 1",
    ]
    .map(|settings| {
        project.configure(&format!("[retrieval]\n{settings}\n"));
        let run = project.run(&["lookup", "x"]);
        assert_eq!(run.status, 2, "{settings}: {run:?}");
        run.stderr
    });
    insta::assert_snapshot!(stable(&errors.concat()));
    // A repository must not choose the location of collections.
    project.configure("");
    project.write(".forage.toml", "[retrieval]\nurl = \"http://127.0.0.1:9\"\n");
    let config = project.run(&["config"]).stderr;
    let ignored = stable(line_with(&config, " is ignored: ").split_once(" is ignored: ").unwrap().0);
    assert_eq!(ignored, "forage: TMP/project/.forage.toml:2: `retrieval.url`");
}

/// The expected vectors come from FastEmbed's own class. `golden/make_languages.py` explains how to run it.
#[test]
fn a_text_is_printed_as_the_vector_that_it_becomes() {
    let project = project();
    let encode =
        |arguments: &[&str]| project.run(&[&["sparse", "encode", "--json"], arguments].concat()).json();
    let bm25 = ["--encoder", "fastembed-bm25", "getUserName retries the E0308"];
    let document = encode(&bm25);
    assert_eq!(document["form"], "document");
    assert!(document["encoding"].as_str().unwrap().starts_with("fastembed-bm25/1 "), "{document}");
    assert_eq!(document["tokens"].as_array().unwrap().len(), 3);
    assert_eq!(document["indices"].as_array().unwrap().len(), 3);
    let at = |vector: &serde_json::Value, token: &str| {
        let place = vector["tokens"].as_array().unwrap().iter().position(|it| it == token).unwrap();
        (vector["indices"][place].as_u64().unwrap(), vector["values"][place].as_f64().unwrap())
    };
    assert_eq!(at(&document, "getusernam").0, 1_317_935_926);
    assert!((at(&document, "retri").1 - 1.678_688_525).abs() < 1e-6, "{document}");
    let query = encode(&[&["--as", "query"], &bm25[..]].concat());
    assert_eq!(
        (query["form"].as_str(), query["indices"].clone()),
        (Some("query"), document["indices"].clone())
    );
    assert!(query["values"].as_array().unwrap().iter().all(|value| *value == 1.0), "{query}");
    // Another language gives other words, and without a stemmer every word is kept.
    let german = encode(&["--encoder", "fastembed-bm25", "--language", "german", "die Fehlermeldungen"]);
    assert_eq!(german["tokens"], serde_json::json!(["fehlermeld"]));
    let plain = encode(&["--encoder", "fastembed-bm25", "--disable-stemmer", "the retries"]);
    let mut tokens: Vec<_> =
        plain["tokens"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, ["retries", "the"]);
    // By default this is the encoder that fills collections.
    let code = encode(&["retry_after"]);
    let mut tokens: Vec<_> =
        code["tokens"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    tokens.sort_unstable();
    let expected = [
        "exact:retry_after",
        "joined:retryafter",
        "pair:retry after",
        "part:after",
        "part:retry",
        "retry_aft",
    ];
    assert_eq!(tokens, expected);
    // BM42 encodes queries without model files. Only FastEmbed can encode documents.
    let query = encode(&["--encoder", "bm42", "--as", "query", "the E0308 retries"]);
    assert_eq!(
        (&query["values"], query["tokens"].as_array().unwrap().len()),
        (&serde_json::json!([1.0, 1.0]), 2)
    );
    let run = project.run(&["sparse", "encode", "--encoder", "bm42", "retries"]);
    let error = "forage: error: `bm42` encodes queries only: fill the collection with FastEmbed, or choose \
                 another encoder\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, error));
    // Now as text for people, from stdin, and then for input without a word.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_forage"));
    command
        .args(["sparse", "encode", "--encoder", "fastembed-bm25", "-"])
        .env_clear()
        .env("HOME", &project.home);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"E0308\n").unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    insta::assert_snapshot!(printed);
    assert_eq!(project.run(&["sparse", "encode", "--encoder", "fastembed-bm25", "the"]).status, 1);
    let run = project.run(&["sparse", "encode", "--language", "klingon", "x"]);
    let setting = run.stderr.split_once(": \"klingon\"").unwrap().0;
    assert_eq!((run.status, setting), (2, "forage: error: `retrieval.language` (command line)"));
}

#[test]
fn unusable_store_is_not_offered() {
    let project = project();
    let log = project.home.join("log.jsonl");
    project.configure(&format!(
        "[retrieval]\nenable_keyword_tool = true\nurl = \"http://192.0.2.1:6333\"\n\
         [tools.keyword_lookup]\nname = \"find_id\"\n[telemetry]\npath = \"{}\"\n",
        log.display()
    ));
    let run = |arguments: &[&str]| {
        project.run_in(&project.root, arguments, &[("QDRANT_API_KEY", "canary-of-a-key")])
    };
    assert!(!run(&["tools", "--format", "mcp"]).stdout.contains("find_id"));
    let cause = format!("`keyword_lookup` is enabled but not offered: {PLAIN_KEY}");
    let doctor = run(&["doctor"]).stdout;
    assert_eq!(line_with(&doctor, "not offered"), format!("  {cause}"));
    // The server ends because its input is empty.
    let server = run(&["mcp"]);
    assert_eq!(line_with(&server.stderr, "not offered"), format!("forage: {cause}"));
    assert!(!server.stderr.contains("canary"), "{server:?}");
    let lines = std::fs::read_to_string(&log).unwrap();
    let event: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&event["retrieval.sparse_fallback"], &event["retrieval.tool"]),
        (&true.into(), &"find_id".into())
    );
    // Control: without the key the tool is offered.
    assert!(tool_names(&project).contains(&"find_id".to_owned()));
    assert!(!project.run(&["mcp"]).stderr.contains("not offered"));
}

mod server {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn missing_server_is_an_empty_answer_with_a_reason() {
        let project = project();
        let log = project.home.join("log.jsonl");
        project.configure(&format!(
            "[retrieval]\nurl = \"http://127.0.0.1:9\"\nencoder = \"fastembed-bm25\"\n[telemetry]\npath = \"{}\"\n",
            log.display()
        ));
        insta::assert_snapshot!("no_server", project.run(&["lookup", "ORA-00942"]).shown());
        let records = project.run(&["lookup", "ORA-00942", "--json"]).json();
        assert_eq!((&records["status"], &records["hits"]), (&json!("store_unavailable"), &json!([])));
        // Without a word there is nothing to look up.
        insta::assert_snapshot!("no_word", project.run(&["lookup", "the"]).shown());
        let lines = std::fs::read_to_string(&log).unwrap();
        let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(events.len(), 3);
        assert_eq!(events[0]["retrieval.backend"], "qdrant");
        assert_eq!(events[0]["retrieval.error_type"], "unavailable");
        assert!(!lines.contains("ORA"), "{lines}");
    }

    #[test]
    fn a_key_does_not_go_to_another_machine_in_plain_text() {
        let project = project();
        let environment = [("QDRANT_URL", "http://192.0.2.1:6333"), ("QDRANT_API_KEY", "canary-of-a-key")];
        let run = project.run_in(&project.root, &["lookup", "x"], &environment);
        assert_eq!(run.shown(), format!("--- stderr\nforage: error: {PLAIN_KEY}\n--- status 2\n"));
    }
}

mod embedded {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    fn found(project: &Project, query: &str) -> Vec<String> {
        let run = project.run(&["lookup", "--json", query]);
        assert!(run.status == 0, "{run:?}");
        let hits = run.json()["hits"].as_array().unwrap().clone();
        hits.iter().map(|hit| hit["payload"]["path"].as_str().unwrap().to_owned()).collect()
    }

    fn index(project: &Project, arguments: &[&str]) -> Value {
        let run = project.run(&[&["sparse", "index", "--json"], arguments].concat());
        assert!(run.status == 0, "{run:?}");
        run.json()
    }

    #[test]
    fn collection_lifecycle_fill_lookup_update_remove() {
        let project = project();
        insta::assert_snapshot!("no_collection", project.run(&["lookup", "ORA-00942"]).shown());
        assert_eq!(project.run(&["sparse", "status"]).status, 1);

        let done = index(&project, &["."]);
        assert_eq!(
            (&done["repo"], &done["files_written"], &done["chunks_written"]),
            (&json!("project"), &json!(3), &json!(3))
        );
        assert_eq!(found(&project, "ORA-00942"), ["src/db.rs"]);
        for spelling in ["parse_http_header", "parseHttpHeader", "parsehttpheader", "parse http header"] {
            assert_eq!(found(&project, spelling), ["src/http.py"], "{spelling}");
        }
        insta::assert_snapshot!("hit", project.run(&["lookup", "connect_or_fail"]).shown());
        assert_eq!(project.run(&["lookup", "absent_word"]).status, 1);

        project.write("src/db.rs", "fn open() {}\n");
        std::fs::remove_file(project.root.join("README.md")).unwrap();
        let done = index(&project, &["."]);
        assert_eq!(
            (&done["files_written"], &done["files_unchanged"], &done["files_removed"]),
            (&json!(1), &json!(1), &json!(1))
        );
        assert_eq!(project.run(&["lookup", "ORA-00942"]).status, 1);
        let status = project.run(&["sparse", "status", "--json"]).json();
        assert_eq!(status["points"], 2);
        assert!(status["encoding"].as_str().unwrap().starts_with("code-superset/2 "), "{status}");

        // Another encoder produces other words, so we refuse it.
        project.configure("[retrieval]\nencoder = \"fastembed-bm25\"\n");
        insta::assert_snapshot!("other_encoder", project.run(&["sparse", "index", "."]).shown());
        project.configure("");
        assert_eq!(project.run(&["sparse", "drop"]).status, 0);
        assert_eq!(project.run(&["sparse", "drop"]).status, 1);
        assert_eq!(project.run(&["sparse", "status"]).status, 1);
    }

    #[test]
    fn lookup_reports_name_presence_and_filtered_counts() {
        let project = project();
        project.write("src/retry.rs", "// RETRY-5\nfn retry_after() {}\nfn backoff() {}\n");
        index(&project, &["."]);
        insta::assert_snapshot!("parts", project.run(&["lookup", "RETRY-99999"]).shown());
        let records = project.run(&["lookup", "--json", "RETRY-5"]).json();
        assert_eq!((&records["status"], &records["hits"][0]["has"]), (&json!("found"), &json!("whole")));
        insta::assert_snapshot!("filtered", project.run(&["lookup", "--repo", "nope", "backoff"]).shown());
        for condition in ["repo=nope", "language=python", "lines.start>1"] {
            let records = project.run(&["lookup", "--json", "--where", condition, "backoff"]).json();
            assert_eq!(records["status"], "no_match_under_filter", "{condition}");
        }
        for condition in ["repo=project", "language=rust|python", "lines.start<=1"] {
            let records = project.run(&["lookup", "--json", "--where", condition, "backoff"]).json();
            assert_eq!(records["status"], "found", "{condition}");
        }
        let run = project.run(&["lookup", "--where", "content=x", "backoff"]);
        insta::assert_snapshot!("no_field", run.shown());
    }

    #[test]
    fn a_collection_of_another_language_is_refused() {
        let project = Project::new(&[("a.txt", "Die Fehlermeldungen der Bibliotheken\n")]);
        project.configure("[retrieval]\nencoder = \"fastembed-bm25\"\nlanguage = \"german\"\n");
        index(&project, &["."]);
        assert_eq!(found(&project, "fehlermeldung"), ["a.txt"]);
        let mut errors = String::new();
        for settings in ["", "language = \"french\"\n", "disable_stemmer = true\n"] {
            project.configure(&format!("[retrieval]\nencoder = \"fastembed-bm25\"\n{settings}"));
            for command in [&["lookup", "fehlermeldung"][..], &["sparse", "index", "."]] {
                let run = project.run(command);
                assert_eq!(run.status, 2, "{settings}: {run:?}");
                errors += &run.stderr;
            }
        }
        // By default the collection's own language is used.
        project.configure("");
        assert_eq!(found(&project, "fehlermeldung"), ["a.txt"]);
        project.configure("[retrieval]\nlanguage = \"french\"\n");
        errors += &project.run(&["lookup", "fehlermeldung"]).stderr;
        insta::assert_snapshot!(stable(&errors));
    }

    #[test]
    fn excluded_and_large_files_are_not_indexed() {
        let project = project();
        project.write("big.txt", &"ORA-00942\n".repeat(1_000));
        project.write(".forage.toml", "[search]\nexclude = [\"*.py\"]\n");
        let done = index(&project, &["--max-file-bytes", "5000", "."]);
        assert_eq!((&done["files_written"], &done["skipped"]["too_large"]), (&json!(2), &json!(1)), "{done}");
        assert_eq!(found(&project, "ORA-00942"), ["src/db.rs"]);
        let run = project.run(&["lookup", "parseHTTPHeader"]);
        assert_eq!(run.status, 1, "{run:?}");
    }

    /// Takes a directory of clones and a list. Each repository has its own report, and an unusable one does
    /// not affect the others.
    #[test]
    fn many_repositories_fill_update_remove() {
        let project = super::project();
        for (repository, text) in [("acme/billing", "E-1001"), ("acme/shop", "E-2002"), ("lone", "E-3003")] {
            project.write(&format!("clones/{repository}/.git/HEAD"), "ref: refs/heads/main\n");
            project.write(&format!("clones/{repository}/src/main.rs"), &format!("// {text}\n"));
        }
        let run = |arguments: &[&str]| {
            let run = project.run(&[&["sparse"], arguments, &["--json"]].concat());
            (run.status, run.json())
        };
        let all = ["index", "--repositories", "clones", "--prune"];
        let (status, filled) = run(&all);
        assert_eq!(status, 0, "{filled}");
        let repositories = |filled: &Value| -> Vec<(String, u64)> {
            let answers = filled["answers"].as_array().unwrap().iter();
            let one = |answer: &Value| {
                (answer["repo"].as_str().unwrap().to_owned(), answer["files_written"].as_u64().unwrap())
            };
            let mut repositories: Vec<_> = answers.map(one).collect();
            repositories.sort();
            repositories
        };
        let names = ["acme/billing", "acme/shop", "lone"].map(str::to_owned);
        assert_eq!(repositories(&filled), names.clone().map(|name| (name, 1)));
        let found = project.run(&["lookup", "--json", "--repo", "acme/shop", "E-2002"]).json();
        assert_eq!(found["hits"][0]["payload"]["path"], "src/main.rs");
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        assert_eq!(repositories(&run(&all).1), names.clone().map(|name| (name, 0)));
        let (_, again) = run(&all);
        let as_before =
            again["answers"].as_array().unwrap().iter().filter(|answer| answer["as_before"] == true);
        // If the file system provides no reliable state, each file is compared.
        assert!(matches!(as_before.count(), 0 | 3), "{again}");

        // A deleted repository is removed. An unusable one is reported, and its points stay.
        std::fs::remove_dir_all(project.root.join("clones/lone")).unwrap();
        assert_eq!(run(&all).0, 0);
        let (status, _) = run(&["drop", "--repo", "lone"]);
        assert_eq!(status, 1, "nothing is left of it");
        project.write("list", "acme/shop\tclones/acme/shop\nacme/billing\tno/such/place\n");
        let (status, filled) = run(&["index", "--repositories", "list"]);
        let answers = filled["answers"].as_array().unwrap();
        assert_eq!((status, answers.len()), (2, 2), "{filled}");
        let failed = answers.iter().find(|answer| answer["repo"] == "acme/billing").unwrap();
        let reason = stable(failed["error"].as_str().unwrap().split_once(" as a root: ").unwrap().0);
        assert_eq!(reason, "acme/billing: can't open TMP/project/no/such/place");
        assert!(answers.iter().all(|answer| answer["repo"] == "acme/billing" || answer["error"].is_null()));
        assert_eq!(filled["error"], "1 of 2 repositories is not fully indexed");
        assert_eq!(project.run(&["lookup", "--repo", "acme/billing", "E-1001"]).status, 0);
        assert_eq!(run(&["drop", "--repo", "acme/billing"]).0, 0);
        assert_eq!(project.run(&["lookup", "--repo", "acme/billing", "E-1001"]).status, 1);
        assert_eq!(project.run(&["lookup", "--repo", "acme/shop", "E-2002"]).status, 0);
    }

    #[test]
    fn repositories_share_a_collection() {
        let project = project();
        let other = Project::new(&[("src/db.rs", "// ORA-00942 elsewhere\n")]);
        index(&project, &[".", "--repo", "shop"]);
        index(&project, &[other.root.to_str().unwrap(), "--repo", "bank"]);
        assert_eq!(found(&project, "ORA-00942").len(), 2);
        let run = project.run(&["lookup", "--json", "--repo", "bank", "ORA-00942"]).json();
        assert_eq!(run["hits"].as_array().unwrap().len(), 1);
        assert_eq!(run["hits"][0]["payload"]["repo"], "bank");
        let run = project.run(&["sparse", "index", ".", other.root.to_str().unwrap()]);
        let error = "forage: error: two of the paths are called project; index one of them separately with \
                     --repo NAME\n";
        assert_eq!((run.status, run.stderr.as_str()), (2, error));
    }

    fn start(project: &Project, arguments: &[&str]) -> std::process::Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forage"));
        command.args(arguments).current_dir(&project.root).env_clear().env("HOME", &project.home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn killed_fill_resumes_without_loss_or_duplicates() {
        let project = Project::new(&[]);
        for number in 0..200 {
            let line = |line: usize| format!("word{number} line {line} of many\n");
            project.write(&format!("d{}/f{number}.rs", number % 9), &(0..150).map(line).collect::<String>());
        }
        let whole = index(&project, &[".", "--collection", "whole"]);
        let chunks = whole["chunks_written"].as_u64().unwrap();
        let mut was_ended_early = 0;
        for wait in [30, 80, 150, 250, 400, 600] {
            let mut child = start(&project, &["sparse", "index", "."]);
            std::thread::sleep(Duration::from_millis(wait));
            was_ended_early += u32::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(was_ended_early > 0, "no filling was killed");
        index(&project, &["."]);
        assert_eq!(project.run(&["sparse", "status", "--json"]).json()["points"], chunks);
        assert_eq!(index(&project, &["."])["files_unchanged"], 200);
        let ask = |collection: &str| {
            let run =
                project.run(&["lookup", "--json", "-m", "100", "--collection", collection, "word17 line"]);
            run.json()["hits"].clone()
        };
        assert_eq!(ask("code"), ask("whole"));
    }

    #[test]
    fn a_server_and_commands_share_a_collection() {
        let project = project();
        index(&project, &["."]);
        project.configure("[retrieval]\nenable_keyword_tool = true\n");
        let mut server = Command::new(env!("CARGO_BIN_EXE_forage"));
        server.args(["mcp"]).current_dir(&project.root).env_clear().env("HOME", &project.home);
        let mut server =
            server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(server.stdout.take().unwrap()));
        let mut send = |message: Value| {
            use std::io::Write as _;
            writeln!(input, "{message}").unwrap();
        };
        send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}));
        lines.next().unwrap().unwrap();
        send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let mut ask = |id: u64, query: &str| {
            send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "keyword_lookup", "arguments": {"query": query}}}));
            let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            text.lines().find_map(|line| line.split_once(" (score ")).unwrap().0.to_owned()
        };
        assert_eq!(ask(2, "ORA-00942"), "src/db.rs:1-4");
        // Other processes can search and update the collection while the server has it open.
        assert_eq!(found(&project, "ORA-00942"), ["src/db.rs"]);
        project.write("src/new.rs", "// ORA-55555\n");
        index(&project, &["."]);
        assert_eq!(ask(3, "ORA-55555"), "src/new.rs:1-1");
        drop(input);
        assert!(server.wait().unwrap().success());
    }
}
