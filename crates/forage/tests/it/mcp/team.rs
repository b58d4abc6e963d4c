//! A team's server: tokens with names and rights, limits, the audit log, readiness, metrics, shutdown.

use serde_json::{Value, json};

use super::wire::{Http, Response};
use super::{call, error, project, text};
use crate::Project;
use crate::support::stable;

const REVISION: &str = "2026-07-28";
const ALICE: &str = "alice-secret";
const BOB: &str = "bob-secret";

/// Formats a token file. Alice sees everything, but Bob sees only repositories that match his globs.
fn tokens(of_alice: &str, of_bob: &str) -> String {
    format!(
        "[[tokens]]\nname = \"alice\"\nsha256 = \"0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376\"\n{of_alice}\n         [[tokens]]\nname = \"bob\"\nsha256 = \"9f03ef1533a68d2f506f81ef463c1183a82a6bd40e45613f36e6fe1889cf1b99\"\n{of_bob}\n"
    )
}

struct TeamServer {
    http: Http,
    project: Project,
}

impl TeamServer {
    fn start(project: Project, tokens: &str, arguments: &[&str]) -> Self {
        let file = project.home.join("tokens.toml");
        std::fs::write(&file, tokens).unwrap();
        let arguments = [&["--tokens", file.to_str().unwrap()], arguments].concat();
        Self { http: Http::start(&project, &arguments), project }
    }

    fn as_of(&mut self, token: &'static str) -> &Http {
        self.http.token = Some(token);
        &self.http
    }

    fn grep(&mut self, token: &'static str, pattern: &str) -> (String, bool) {
        let answer =
            self.as_of(token).ask(REVISION, &call(REVISION, 1, "grep_search", json!({ "pattern": pattern })));
        let (text, is_error) = text(&answer);
        (text.to_owned(), is_error)
    }

    fn get(&self, path: &str, token: Option<&str>) -> Response {
        let more = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let address = &self.http.address;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
        self.http.raw(head.as_bytes())
    }
}

/// Creates the project and another repository.
fn two_repositories() -> (Project, String) {
    let project = project();
    let other = project.home.join("clones/acme/billing");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("invoice.rs"), "fn retry_invoice() {}\n").unwrap();
    let other = other.to_str().unwrap().to_owned();
    (project, other)
}

#[test]
fn token_grants_search_of_its_repositories() {
    let (project, other) = two_repositories();
    let own = project.root.to_str().unwrap().to_owned();
    let tokens = tokens("", "repositories = [\"acme/*\"]");
    let mut team = TeamServer::start(project, &tokens, &["--root", &own, "--root", &other]);
    assert_eq!(team.http.post(REVISION, &call(REVISION, 1, "grep_search", json!({}))).status, 401);
    let (found, _) = team.grep(ALICE, "retry");
    let (of_bob, is_error) = team.grep(BOB, "retry");
    assert!(!is_error, "{of_bob}");
    insta::assert_snapshot!(stable(&format!("{found}\n---\n{of_bob}")));
    // No form of a path may lead out of the visible repositories.
    let file = format!("{own}/src/retry.rs");
    for path in [
        file.as_str(),
        "src/retry.rs",
        "root:project",
        "root:project/src/retry.rs",
        "../../../project/src/retry.rs",
    ] {
        for tool in ["read_file", "list_directory", "grep_search"] {
            let arguments = json!({ "path": path, "pattern": "retry" });
            let answer = team.as_of(BOB).ask(REVISION, &call(REVISION, 1, tool, arguments));
            let (reported, is_error) = text(&answer);
            assert!(is_error && !reported.contains("pub fn"), "{tool} {path}: {reported}");
        }
    }
}

#[test]
fn token_without_any_root_is_refused_with_a_reason() {
    let tokens = tokens("", "repositories = [\"elsewhere\"]");
    let mut team = TeamServer::start(project(), &tokens, &[]);
    let (reported, is_error) = team.grep(BOB, "retry");
    assert!(is_error, "{reported}");
    insta::assert_snapshot!(reported);
    assert!(!team.grep(ALICE, "retry").1);
}

#[test]
fn token_call_limit_does_not_affect_other_tokens() {
    let mut team =
        TeamServer::start(project(), &tokens("", "calls_per_minute = 2"), &["--output", "structured"]);
    for _ in 0..2 {
        assert!(!team.grep(BOB, "retry").1);
    }
    let arguments = json!({ "pattern": "retry" });
    let answer = team.as_of(BOB).ask(REVISION, &call(REVISION, 1, "grep_search", arguments));
    let (reported, is_error) = text(&answer);
    let limit = "this token has reached its limit of 2 requests per minute";
    assert_eq!((is_error, reported.split(';').next()), (true, Some(limit)), "{reported}");
    assert_eq!(answer["result"]["structuredContent"]["code"], "rate_limited", "{answer}");
    assert!(!team.grep(ALICE, "retry").1);
}

#[test]
fn every_request_counts_against_the_limits_of_its_token() {
    let mut team = TeamServer::start(project(), &tokens("", "calls_per_minute = 3"), &[]);
    let list = super::request(REVISION, 2, "tools/list", json!({}));
    let unknown = call(REVISION, 1, "no_such_tool", json!({}));
    assert_eq!(team.as_of(BOB).post(REVISION, &list).status, 200);
    assert_eq!(team.as_of(BOB).post(REVISION, &unknown).status, 200);
    assert!(!team.grep(BOB, "retry").1);
    // A rejected call has a message for the model. Any other rejected request is an HTTP error.
    let limit = "this token has reached its limit of 3 requests per minute";
    assert_eq!(team.grep(BOB, "retry").0.split(';').next(), Some(limit));
    for _ in 0..2 {
        let refused = team.as_of(BOB).post(REVISION, &list);
        assert!(refused.status == 429 && refused.header("retry-after").is_some(), "{refused:?}");
    }
    // After as many rejections its requests are no longer parsed. Other clients are not affected.
    assert_eq!(team.as_of(BOB).post(REVISION, &call(REVISION, 1, "list_directory", json!({}))).status, 429);
    assert_eq!(team.as_of(ALICE).post(REVISION, &list).status, 200);
    assert!(!team.grep(ALICE, "retry").1);
}

#[test]
fn a_token_has_a_part_of_the_sessions_and_its_own_alone() {
    const LEGACY: &str = "2025-11-25";
    let mut team = TeamServer::start(project(), &tokens("", ""), &["--sessions", "4"]);
    let mut open = |token| team.as_of(token).post(LEGACY, &super::initialize(LEGACY, 1));
    let opened: Vec<Response> = (0..4).map(|_| open(BOB)).collect();
    let statuses: Vec<u16> = opened.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 503, 503]);
    assert_eq!((open(ALICE).status, open(ALICE).status, open(ALICE).status), (200, 200, 503));
    // Another token can neither use nor end a session.
    let session = opened[0].header("mcp-session-id").unwrap();
    let end = |token: &str| {
        let head = format!(
            "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nMcp-Session-Id: {session}\r\n\
             MCP-Protocol-Version: {LEGACY}\r\nConnection: close\r\n\r\n",
            team.http.address
        );
        team.http.raw(head.as_bytes()).status
    };
    assert_eq!(end(ALICE), 404);
    assert_eq!(end(BOB), 204);
    assert_eq!(team.as_of(BOB).post(LEGACY, &super::initialize(LEGACY, 1)).status, 200);
}

/// Makes some calls. Returns the lines of their audit log, its path, and the server.
fn recorded() -> (Vec<Value>, String, TeamServer) {
    let project = project();
    let file = project.home.join("calls.jsonl");
    let audit = file.to_str().unwrap().to_owned();
    let mut team =
        TeamServer::start(project, &tokens("", "repositories = [\"elsewhere\"]"), &["--audit", &audit]);
    team.grep(ALICE, "secret_question");
    team.grep(BOB, "secret_question");
    team.as_of(ALICE).ask(REVISION, &call(REVISION, 1, "no_such_tool", json!({})));
    team.as_of(ALICE).ask(REVISION, &call(REVISION, 1, "read_file", json!({ "path": "secret/none.rs" })));
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(!lines.contains("secret"), "{lines}");
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), audit, team)
}

/// Returns the lines that a server writes for `--audit`.
pub(crate) fn audit_lines() -> Vec<Value> {
    recorded().0
}

#[test]
fn each_call_is_on_record_without_what_was_asked() {
    let (lines, file, _team) = recorded();
    let reported: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["token"].as_str().unwrap(),
                line["tool"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("alice", "grep_search", "answered"),
            ("bob", "grep_search", "failed"),
            ("alice", "unknown", "refused"),
            ("alice", "read_file", "path"),
        ]
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn metrics_need_permission_and_opt_in() {
    let mut team = TeamServer::start(project(), &tokens("metrics = true", ""), &["--metrics"]);
    team.grep(BOB, "retry");
    assert_eq!(team.get("/metrics", None).status, 401);
    assert_eq!(team.get("/metrics", Some("wrong")).status, 401);
    assert_eq!(team.get("/metrics", Some(BOB)).status, 403);
    let shown = team.get("/metrics", Some(ALICE));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((shown.status, shown.header("content-type")), (200, Some(kind)));
    let lines: Vec<&str> = shown.body.lines().collect();
    for line in [
        r#"forage_calls_total{tool="grep_search",outcome="answered",token="bob"} 1"#,
        r#"forage_call_seconds_count{tool="grep_search"} 1"#,
        "forage_calls_running 0",
        r#"forage_requests_refused_total{reason="token"} 2"#,
        r#"forage_requests_refused_total{reason="forbidden"} 1"#,
        "# EOF",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", shown.body);
    }
    let team = TeamServer::start(project(), &tokens("metrics = true", ""), &[]);
    assert_eq!(team.get("/metrics", Some(ALICE)).status, 404);
}

#[test]
fn readiness_is_public() {
    let (project, other) = two_repositories();
    let team = TeamServer::start(project, &tokens("", ""), &["--root", &other]);
    let ready = team.get("/readyz", None);
    assert_eq!((ready.status, ready.body.as_str()), (200, "ready\n"));
    std::fs::remove_dir_all(&other).unwrap();
    let began = std::time::Instant::now();
    let response = loop {
        let response = team.get("/readyz", None);
        if response.status != 200 || began.elapsed() > super::PATIENCE {
            break response;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert_eq!((response.status, response.body.as_str()), (503, "not ready: a root does not exist\n"));
    assert_eq!(team.get("/healthz", None).status, 200);
}

#[test]
fn files_that_can_not_be_used_keep_the_server_from_starting() {
    let project = project();
    let file = project.home.join("tokens.toml");
    let named = file.to_str().unwrap();
    let refused = |arguments: &[&str]| {
        let run = project.run(&[&["mcp", "--http", "127.0.0.1:0"], arguments].concat());
        assert_eq!(run.status, 2, "{run:?}");
        error(&run)
    };
    let mut all = refused(&["--tokens", named]);
    for text in ["[[tokens]]\nname = \"x\"\nsha256 = \"y\"\n", ""] {
        std::fs::write(&file, text).unwrap();
        all += &refused(&["--tokens", named]);
    }
    all += &refused(&["--audit", "/no/such/directory/calls.jsonl"]);
    all += &error(&project.run(&["mcp", "--tokens", named]));
    insta::assert_snapshot!(all);
}

/// Waits until a terminating server accepts no new clients.
#[cfg(unix)]
fn until_closed(address: &str) {
    let began = std::time::Instant::now();
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < super::PATIENCE, "it takes new clients");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(unix)]
#[test]
fn shutdown_answers_running_calls_and_refuses_new_ones() {
    let project = project();
    // A model that reports when it is called, and hangs up when `answering` is dropped.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let ((asks, asked), (answering, answer)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = asks.send(());
            let _ = answer.recv();
            drop(stream);
        }
    });
    project.configure(&format!("[[models]]\nmodel = \"m\"\nbase_url = \"{url}\"\n"));
    let mut team = TeamServer::start(project, &tokens("", ""), &["--metrics"]);
    let mut running = team.as_of(ALICE).begin(REVISION, &super::slow_call(REVISION, 1));
    // An idle connection must not delay the shutdown.
    let _idle = team.http.connect();
    asked.recv_timeout(super::PATIENCE).unwrap();
    let process = team.http.server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    until_closed(&team.http.address);
    drop(answering);
    let answer = super::wire::read(&mut running);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.messages().pop().unwrap()["result"].is_object(), "{answer:?}");
    let status = team.http.server.child.wait().unwrap();
    assert!(status.success(), "{status}");
    drop(team.project);
}

#[cfg(unix)]
#[test]
fn a_second_request_to_end_is_not_kept_by_calls() {
    use std::time::{Duration, Instant};

    let (project, model) = super::hanging_project();
    let mut team = TeamServer::start(project, &tokens("", ""), &[]);
    let _running = team.as_of(ALICE).begin(REVISION, &super::slow_call(REVISION, 1));
    model.next_event();
    let process = team.http.server.child.id().to_string();
    let end =
        || assert!(std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    end();
    until_closed(&team.http.address);
    assert!(team.http.server.child.try_wait().unwrap().is_none(), "it did not wait for the call");
    let asked = Instant::now();
    end();
    team.http.server.child.wait().unwrap();
    // The call would have 25 seconds.
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
}

#[test]
fn token_lookup_is_limited_to_its_repositories() {
    let (project, other) = two_repositories();
    project.configure("[retrieval]\nenable_keyword_tool = true\n");
    let filled = project.run(&["sparse", "index", ".", "--repo", "shop"]);
    assert_eq!(filled.status, 0, "{filled:?}");
    let filled = project.run(&["sparse", "index", &other, "--repo", "acme/billing"]);
    assert_eq!(filled.status, 0, "{filled:?}");
    // Bob can see no root, but he can still look words up.
    let tokens = tokens("", "repositories = [\"acme/*\"]");
    let mut team = TeamServer::start(project, &tokens, &[]);
    let mut look_up = |token, arguments: Value| {
        let answer = team.as_of(token).ask(REVISION, &call(REVISION, 1, "keyword_lookup", arguments));
        text(&answer).0.to_owned()
    };
    let all = look_up(ALICE, json!({ "query": "retry" }));
    let of_bob = look_up(BOB, json!({ "query": "retry" }));
    insta::assert_snapshot!(stable(&format!("{all}\n---\n{of_bob}")));
    for arguments in [
        json!({ "query": "times" }),
        json!({ "query": "retry", "filter": ["repo=shop"] }),
        json!({ "query": "main", "filter": ["language=rust"] }),
        json!({ "query": "fn_main_99", "filter": ["repo=shop"] }),
    ] {
        let reported = look_up(BOB, arguments.clone());
        let is_told = ["retry.rs", "main.rs", "README", "without the filter 1", "src/"]
            .iter()
            .any(|part| reported.contains(part));
        assert!(!is_told, "{arguments}: {reported}");
    }
}
