//! `forage ui`: the calls that servers and agents keep, who may read them, and the answers to the page's
//! requests.
#![cfg(unix)]
#![expect(clippy::panic, reason = "an answer that does not come, or is none, is a failed test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::call;
use crate::mcp::wire::Pipes;
use crate::peer::Peer;
use crate::{Project, ask};

/// How long we wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

const REVISION: &str = "2025-11-25";

/// A file name in a hostile repository.
const HOSTILE: &str = "src/<img src=x onerror=alert(1)>.rs";
/// The same name, but as answers show it.
const HOSTILE_SHOWN: &str = r#""src/\x3cimg src=x onerror=alert(1)\x3e.rs""#;

fn project() -> Project {
    Project::new(&[
        ("src/main.rs", "fn main() {\n    retry(3);\n}\n"),
        ("src/retry.rs", "/// Tries again.\npub fn retry(times: u32) {\n    let _ = times;\n}\n"),
        (HOSTILE, "fn hostile() {}\n"),
        (".gitignore", "target/\n"),
        ("target/out.rs", "fn only_in_target() {}\n"),
    ])
}

/// The page's server. It ends with the test.
pub(crate) struct Page {
    child: Child,
    host: String,
    token: String,
}

impl Page {
    pub(crate) fn start(project: &Project, arguments: &[&str]) -> Self {
        Self::start_with(project, arguments, &[])
    }

    fn start_with(project: &Project, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments = [&["ui"], arguments].concat();
        let mut command = project.command(&project.root, &arguments, environment);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{address:?}"));
        let (host, token) = address.split_once("/?token=").unwrap();
        Self { child, host: host.to_owned(), token: token.to_owned() }
    }

    /// Ends the server as Ctrl-C does, and waits for it to exit.
    fn interrupt(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    /// Returns the status, the header and the body of the response.
    fn send(&self, request: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn request(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
        let mut request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
        let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("host") {
            request += &format!("Host: {}\r\n", self.host);
        }
        if !has("authorization") {
            request += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.send(&(request + "\r\n"))
    }

    pub(crate) fn ask(&self, path: &str) -> Value {
        let (status, _, body) = self.request(path, &[]);
        let value: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status}: {body}"));
        value
    }

    /// Returns all calls, as soon as there are at least `at_least`.
    fn calls(&self, at_least: usize) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let reported = self.ask("/api/calls?after=0");
            let calls = reported["calls"].as_array().unwrap();
            if calls.len() >= at_least {
                return calls.clone();
            }
            assert!(Instant::now() < until, "{reported}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket(project: &Project) -> Option<PathBuf> {
    let entries = std::fs::read_dir(project.home.join(".cache/forage/run")).ok()?;
    entries.map(|entry| entry.unwrap().path()).next()
}

/// Makes the calls that the tests inspect. Returns the texts of their answers.
fn make_calls(pipes: &mut Pipes) -> Vec<String> {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let calls = [
        ("grep_search", json!({ "pattern": "retry" })),
        ("read_file", json!({ "path": "src/retry.rs", "start_line": 2, "end_line": 3 })),
        ("grep_search", json!({ "pattern": "nowhere_at_all" })),
        ("grep_search", json!({ "pattern": "only_in_target" })),
        ("grep_search", json!({ "pattern": "(unclosed", "path": "nowhere" })),
        ("no_such_tool", json!({ "anything": 1 })),
        ("grep_search", json!({ "pattern": "hostile|ghp_0123456789abcdefABCDEF0123456789abcd" })),
    ];
    let mut texts = Vec::new();
    for (index, (tool, arguments)) in calls.into_iter().enumerate() {
        let mut message = call(REVISION, index as u64 + 1, tool, arguments);
        message["params"]["_meta"] = json!({ "traceparent": trace });
        let answer = pipes.ask(&message);
        texts.push(answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned());
    }
    texts
}

#[test]
fn calls_of_a_server_are_shown_as_they_were() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    let page = Page::start(&project, &[]);
    let texts = make_calls(&mut pipes);
    let calls = page.calls(7);
    let of = |index: usize, fields: &[&str]| {
        json!(fields.iter().map(|field| calls[index][*field].clone()).collect::<Vec<_>>())
    };
    let verdict = ["tool", "status", "results", "files", "absent", "code"];
    let refused = calls[4]["code"].clone();
    assert_eq!(of(0, &verdict), json!(["grep_search", "found", 2, 2, null, null]));
    assert_eq!(of(1, &verdict), json!(["read_file", "found", 2, 1, null, null]));
    assert_eq!(of(2, &verdict), json!(["grep_search", "nothing", 0, 0, true, null]));
    assert_eq!(of(3, &verdict), json!(["grep_search", "nothing", 0, 0, false, null]));
    assert_eq!(of(4, &["status"]), json!(["error"]));
    assert!(refused.is_string(), "{refused}");
    assert_eq!(of(5, &["tool", "status"]), json!(["unknown", "error"]));
    insta::assert_snapshot!(calls[3]["hidden_matches"][0].as_str().unwrap());
    // These are exactly the lines in the text.
    let shown = |index: usize| calls[index]["shown"].clone();
    assert_eq!(
        shown(1),
        json!([{ "root": 0, "path": "src/retry.rs", "kind": "read", "ranges": [[2, 3]], "matches": 0 }])
    );
    for file in shown(0).as_array().unwrap() {
        let (path, ranges) = (file["path"].as_str().unwrap(), file["ranges"].as_array().unwrap());
        let lines = ranges.iter().map(|range| range[1].as_u64().unwrap() - range[0].as_u64().unwrap() + 1);
        let listed = texts[0].split(&format!("\n{path}:\n")).nth(1).unwrap();
        let listed = listed.lines().take_while(|line| line.starts_with("  "));
        assert_eq!(
            lines.sum::<u64>() as usize,
            listed.filter(|line| !line.starts_with("  ---")).count(),
            "{}",
            texts[0]
        );
    }
    assert_eq!(calls[0]["bytes"], texts[0].len());
    assert_eq!(
        calls[0]["trace"],
        json!({ "trace_id": "0af7651916cd43dd8448eb211c80319c", "parent_id": "b7ad6b7169203331" })
    );
    // A secret in a request must not be stored.
    let whole = page.ask("/api/calls?after=0").to_string();
    assert!(whole.contains("hostile|[redacted:") && !whole.contains("ghp_0123"), "{}", calls[6]);
    assert_eq!(calls[6]["shown"][0]["path"], HOSTILE_SHOWN);
    let processes = page.ask("/api/calls?after=7")["processes"].clone();
    assert_eq!((&processes[0]["live"], &processes[0]["surface"]), (&json!(true), &json!("mcp")));
    // The record disappears with its process.
    drop(pipes);
    let until = Instant::now() + PATIENCE;
    while page.ask("/api/calls?after=7")["processes"][0]["live"] == true {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn repeated_answer_reports_whether_it_is_the_same() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    let page = Page::start(&project, &[]);
    let texts = make_calls(&mut pipes);
    let calls = page.calls(7);
    let again = |index: usize| page.ask(&format!("/api/text?id={}", calls[index]["id"].as_str().unwrap()));
    for index in [0, 1, 2, 3] {
        let made = again(index);
        assert_eq!((&made["text"], &made["same"]), (&json!(texts[index]), &json!(true)));
    }
    project.write("src/more.rs", "fn more() { retry(1) }\n");
    assert_eq!(again(0)["same"], false);
    assert_eq!(again(1)["same"], true);
    assert_eq!(page.ask("/api/text?id=nobody")["type"], "error");
}

#[test]
fn the_page_answers_what_it_asks() {
    let project = project();
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    let page = Page::start(&project, &[]);
    make_calls(&mut pipes);
    let calls = page.calls(7);
    let root = project.root.display().to_string();
    let map = page.ask(&format!("/api/map?root={root}"));
    assert_eq!(map["paths"], json!([HOSTILE_SHOWN, "src/main.rs", "src/retry.rs"]));
    assert_eq!((&map["lines"], &map["complete"]), (&json!([1, 3, 4]), &json!(true)));
    let unsearched = map["unsearched"].as_array().unwrap();
    assert!(unsearched.iter().any(|it| it["path"] == "target" && it["directory"] == true), "{map}");
    let rank = page.ask(&format!("/api/rank?root={root}&query=retry&expected=src/main.rs"));
    assert_eq!(rank["answer"]["files"][0]["path"], "src/retry.rs");
    assert_eq!(rank["expected"]["rank"], 2);
    assert_eq!(rank["keep"], r#"{"query":"retry","relevant":["src/main.rs"]}"#);
    let id = |index: usize| calls[index]["id"].as_str().unwrap();
    let cost = page.ask(&format!("/api/cost?ids={},{}", id(0), id(1)));
    let size = |path: &Value| std::fs::metadata(project.root.join(path.as_str().unwrap())).unwrap().len();
    for index in [0, 1] {
        let files = calls[index]["shown"].as_array().unwrap().iter();
        assert_eq!(
            cost["calls"][index]["file_bytes"],
            json!(files.map(|it| size(&it["path"])).collect::<Vec<_>>())
        );
    }
    let lines = "src/main.rs:2:    retry(3);\nsrc/retry.rs:2:pub fn retry(times: u32) {\n";
    assert_eq!(cost["calls"][0]["grep_bytes"], lines.len());
    assert!(cost["calls"][0]["context_bytes"].as_u64().unwrap() > lines.len() as u64);
    assert!(cost["calls"][1]["grep_bytes"].is_null() && cost["calls"][1]["context_bytes"].is_null());
    assert!(page.ask("/api/health")["roots"].is_object());
    let read =
        page.ask(&format!("/api/tools/read_file?arguments=%7B%22path%22:%22src/main.rs%22%7D&root={root}"));
    assert_eq!(read["lines"][0], "fn main() {");
    assert!(page.ask("/api/schemas/grep-uses")["$schema"].is_string());
    // Only roots of recorded calls are accessible, and no model is called.
    for path in
        ["/api/map?root=/", "/api/tools/keyword_search?arguments=%7B%7D", "/api/tools/none", "/api/none"]
    {
        assert_eq!(page.ask(path)["type"], "error", "{path}");
    }
}

/// A search with `rg` has the options of the call, and `grep_search` regards case where `rg -S` does not.
#[test]
fn cost_compares_with_the_same_search() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("src/more.rs", "// Retry, or not.\n// retrying\nfn more() { retry(1) }\n");
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    let page = Page::start(&project, &[]);
    // Each call, and the arguments of `rg` for the same search, if it is a line search that `rg` can make.
    let searches: [(Value, Option<&[&str]>); 9] = [
        (json!({ "pattern": "retr" }), Some(&["retr"])),
        (json!({ "pattern": "RETRY", "ignore_case": true }), Some(&["-i", "RETRY"])),
        (json!({ "pattern": "retry", "-w": true }), Some(&["-w", "retry"])),
        (json!({ "pattern": "retry(1", "fixed_strings": true }), Some(&["-F", "retry(1"])),
        (
            json!({ "pattern": "retry", "glob": "m*.rs,!main.rs" }),
            Some(&["-g", "m*.rs", "-g", "!main.rs", "retry"]),
        ),
        (json!({ "pattern": "retry", "path": "src/retry.rs" }), Some(&["-H", "retry", "src/retry.rs"])),
        (json!({ "pattern": "only_in_target", "include_ignored": true }), Some(&["-uu", "only_in_target"])),
        (json!({ "pattern": "retry", "multiline": true }), None),
        (json!({ "pattern": "retry", "output": "files" }), None),
    ];
    for (index, (arguments, _)) in searches.iter().enumerate() {
        pipes.ask(&call(REVISION, index as u64, "grep_search", arguments.clone()));
    }
    pipes.ask(&call(REVISION, 20, "read_file", json!({ "path": "src/main.rs" })));
    let calls = page.calls(10);
    std::fs::remove_file(project.root.join("src/main.rs")).unwrap();
    let ids: Vec<&str> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    let cost = page.ask(&format!("/api/cost?ids={}", ids.join(",")));
    let field =
        |name: &str| json!(cost["calls"].as_array().unwrap().iter().map(|it| &it[name]).collect::<Vec<_>>());
    assert_eq!(field("line_search"), json!([true, true, true, true, true, true, true, true, false, false]));
    assert_eq!(field("grep_bytes"), json!([105, 137, 79, 37, 63, 42, 39, null, null, null]));
    assert_eq!(cost["calls"][9]["file_bytes"], json!([null]), "the file is gone");
    let rg = forage_fuzz::peers::program("rg");
    for (index, (arguments, options)) in searches.iter().enumerate() {
        let Some(options) = options else { continue };
        let mut command = Command::new(&rg);
        command.args(["--no-config", "--no-require-git", "--no-heading", "-n"]).args(*options);
        let output = command.current_dir(&project.root).stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(cost["calls"][index]["grep_bytes"], printed.len(), "{arguments}: {printed}");
    }
}

/// Paths in any root but the first are relative to their own root.
#[test]
fn files_of_several_roots_are_told_from_their_roots() {
    let (project, other) = (project(), project());
    let roots = [&project, &other].map(|it| it.root.display().to_string());
    let mut pipes = Pipes::connect(&project, &["--root", &roots[0], "--root", &roots[1]], REVISION);
    let page = Page::start(&project, &[]);
    pipes.ask(&call(REVISION, 1, "grep_search", json!({ "pattern": "retry" })));
    pipes.ask(&call(REVISION, 2, "search_index", json!({ "query": "retry" })));
    for seen in page.calls(2) {
        assert_eq!(seen["roots"], json!(roots), "{seen}");
        let mut places: Vec<(u64, &str)> = seen["shown"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| (file["root"].as_u64().unwrap(), file["path"].as_str().unwrap()))
            .collect();
        places.sort_unstable();
        let both = [(0, "src/main.rs"), (0, "src/retry.rs"), (1, "src/main.rs"), (1, "src/retry.rs")];
        assert!(both.iter().all(|place| places.contains(place)), "{places:?}");
        let again = page.ask(&format!("/api/text?id={}", seen["id"].as_str().unwrap()));
        assert_eq!(again["same"], true, "{again}");
    }
}

#[test]
fn strangers_get_nothing() {
    let project = project();
    let page = Page::start(&project, &[]);
    let status = |path: &str, headers: &[(&str, &str)]| page.request(path, headers).0;
    let calls = "/api/calls?after=0";
    assert_eq!(status(calls, &[]), 200);
    assert_eq!(status(calls, &[("Authorization", "Bearer wrong")]), 401);
    assert_eq!(status(calls, &[("Authorization", "")]), 401);
    assert_eq!(status(&format!("{calls}&token={}", page.token), &[("Authorization", "")]), 401);
    assert_eq!(status("/?token=wrong", &[("Authorization", "")]), 401);
    assert_eq!(status(&format!("/?token={}", page.token), &[("Authorization", "")]), 200);
    let port = page.host.rsplit(':').next().unwrap();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", ""] {
        assert_eq!(status(calls, &[("Host", host)]), 421, "{host}");
    }
    assert_eq!(status(calls, &[("Host", &format!("localhost:{port}"))]), 200);
    for origin in
        ["http://evil.example", "null", "https://127.0.0.1", &format!("http://127.0.0.1:{port}.evil.example")]
    {
        assert_eq!(status(calls, &[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(status(calls, &[("Origin", &format!("http://{}", page.host))]), 200);
    assert_eq!(status(calls, &[("Sec-Fetch-Site", "cross-site")]), 403);
    let post = page.send(&format!(
        "POST {calls} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        page.host, page.token
    ));
    assert_eq!(post.0, 405);
    let (_, head, body) = page.request(&format!("/?token={}", page.token), &[]);
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'sha256-"), "{head}");
    for header in ["referrer-policy: no-referrer", "x-content-type-options: nosniff"] {
        assert!(head.lines().any(|line| line == header), "{head}");
    }
    assert!(!body.contains("/*css*/") && !body.contains("/*js*/") && !body.contains(&page.token));
    assert!(body.len() < 120_000, "{}", body.len());
}

/// Regression: 64 connections that sent nothing locked the user out. They were renewed every ten seconds.
#[test]
fn silent_connections_lock_no_client_out() {
    let project = project();
    let page = Page::start(&project, &[]);
    let request = format!(
        "GET /api/calls?after=0 HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        page.host, page.token
    );
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    };
    let connect = || {
        let stream = TcpStream::connect(&page.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut kept = connect();
    ask(&mut kept);
    // We must read the rest of the answer before the next one.
    let _ = kept.read(&mut [0; 1 << 16]).unwrap();
    let silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    let began = Instant::now();
    ask(&mut connect());
    // To make room, the server closed the oldest connection without the token, but none with it.
    ask(&mut kept);
    assert_eq!((&silent[0]).read(&mut [0]).unwrap_or_default(), 0);
    // Without this, a silent connection would only end after ten seconds.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Any user of a machine can read the arguments of every process.
#[test]
fn open_puts_the_token_into_no_argument_list() {
    let project = project();
    let programs = project.home.join("programs");
    let seen = project.home.join("seen");
    std::fs::create_dir_all(&programs).unwrap();
    for opener in ["xdg-open", "open"] {
        let script =
            format!("#!/bin/sh\nprintf '%s' \"$*\" > '{0}.part' && mv '{0}.part' '{0}'\n", seen.display());
        std::fs::write(programs.join(opener), script).unwrap();
        std::fs::set_permissions(programs.join(opener), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let page = Page::start_with(&project, &["--open"], &[("PATH", &path)]);
    let until = Instant::now() + PATIENCE;
    let arguments = loop {
        if let Ok(arguments) = std::fs::read_to_string(&seen) {
            break arguments;
        }
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(!arguments.contains(&page.token), "{arguments}");
    let file = PathBuf::from(arguments);
    let metadata = std::fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("url=http://{}/?token={}\"", page.host, page.token)), "{text}");
    // A browser reports that this request comes from another site. Only the page itself may be opened in this
    // way.
    let opened = [("Authorization", ""), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
    let status = |path: &str, destination: &str| {
        page.request(path, &[&opened[..], &[("Sec-Fetch-Dest", destination)]].concat()).0
    };
    assert_eq!(status(&format!("/?token={}", page.token), "document"), 200);
    assert_eq!(status(&format!("/?token={}", page.token), "iframe"), 403);
    assert_eq!(status("/?token=wrong", "document"), 401);
    assert_eq!(status(&format!("/api/calls?after=0&token={}", page.token), "document"), 403);
    page.interrupt();
    assert!(!file.exists());
}

#[test]
fn the_socket_is_the_users_alone_and_can_be_turned_off() {
    let project = project();
    let pipes = Pipes::connect(&project, &[], REVISION);
    let path = socket(&project).expect("a socket");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(std::fs::metadata(&path).unwrap().file_type().is_socket());
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    drop(pipes);
    // A killed process can't remove its socket's name, so the next reader does it.
    let page = Page::start(&project, &[]);
    let until = Instant::now() + PATIENCE;
    while socket(&project).is_some() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(page);
    project.configure("[journal]\nlive = false\n");
    let _pipes = Pipes::connect(&project, &[], REVISION);
    assert_eq!(socket(&project), None);
}

/// A process that is killed at any moment must leave complete lines, without secrets and file content.
#[test]
fn a_journal_survives_a_kill() {
    let project = project();
    let path = project.home.join("logs/calls.jsonl");
    project.configure(&format!("[journal]\npath = {:?}\nlive = false\n", path.display().to_string()));
    for calls in [1, 7, 30] {
        let mut pipes = Pipes::connect(&project, &[], REVISION);
        for index in 0..calls {
            pipes.ask(&call(
                REVISION,
                100 + index,
                "grep_search",
                json!({ "pattern": "retry|ghp_0123456789abcdefABCDEF0123456789abcd" }),
            ));
        }
        // Dropping the client kills the server.
        drop(pipes);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with('\n') && !text.contains("ghp_0123") && !text.contains("let _ = times"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(of("process"), 3);
    assert!(of("call") >= 30, "{}", of("call"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // The page shows the journal, and `forage ui` refuses a file of another kind.
    let page = Page::start(&project, &[]);
    assert_eq!(page.calls(of("call")).len(), of("call"));
    let page = Page::start(&project, &[path.to_str().unwrap()]);
    assert_eq!(page.calls(of("call")).len(), of("call"));
    project.write("none.json", "{\"a\": 1}");
    let refused = project.run(&["ui", "none.json"]);
    insta::assert_snapshot!(refused.shown());
}

/// Returns the journal lines of a session with all kinds of answers.
pub(crate) fn journal_lines() -> Vec<Value> {
    let project = project();
    let path = project.home.join("calls.jsonl");
    project.configure(&format!("[journal]\npath = {:?}\n", path.display().to_string()));
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    make_calls(&mut pipes);
    pipes.close();
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn calls_are_written_as_spans() {
    let project = project();
    let path = project.home.join("spans.jsonl");
    project.configure(&format!("[journal]\npath = {:?}\nformat = \"otlp\"\n", path.display().to_string()));
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    make_calls(&mut pipes);
    let exported = project.run(&["ui", "--export", "export.json"]);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    pipes.close();
    let journal: Vec<Value> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
                .clone()
        })
        .collect();
    let text = std::fs::read_to_string(project.root.join("export.json")).unwrap();
    let export: Value = serde_json::from_str(&text).unwrap();
    let spans = export["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans, &journal);
    let value = |span: &Value, key: &str| {
        let attributes = span["attributes"].as_array().unwrap();
        attributes.iter().find(|it| it["key"] == key).map(|it| it["value"].clone())
    };
    for (span, failed) in spans.iter().zip([false, false, false, false, true, true, false]) {
        assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
        assert_eq!((span["kind"].clone(), span["spanId"].as_str().unwrap().len()), (json!(2), 16));
        assert_eq!(value(span, "gen_ai.operation.name"), Some(json!({ "stringValue": "execute_tool" })));
        assert_eq!(value(span, "mcp.method.name"), Some(json!({ "stringValue": "tools/call" })));
        assert_eq!(value(span, "error.type").is_some(), failed, "{span}");
        assert_eq!(span["status"]["code"] == 2, failed);
    }
    assert_eq!(spans[0]["name"], "tools/call grep_search");

    // Calls without a trace: one of a server, and two of the agent. One of the latter fails.
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    pipes.ask(&call(REVISION, 1, "list_directory", json!({})));
    pipes.close();
    let calls =
        [("read_file", json!({ "path": "src/main.rs" })), ("read_file", json!({ "path": "nowhere" }))];
    let peer = Peer::start([ask::calls(&calls), ask::say("It is Rust.")]);
    let journal = format!("[journal]\npath = {:?}\nformat = \"otlp\"\n", path.display().to_string());
    ask::configure(&project, &[&peer], &journal);
    let run = project.run(&["ask", "q"]);
    assert_eq!(run.status, 0, "{run:?}");
    if let Some(peers) = crate::mcp_clients::Peers::find() {
        peers.read_spans(&[&path, &project.root.join("export.json")], spans.len() * 2 + 3);
    }
}

/// Tests the page in Debian's Chromium. `FORAGE_TEST_PAGE` names the browser driver and is set by
/// `cargo xtask ui`. Without it the browser tests are skipped.
mod browser {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use serde_json::{Value, json};

    use super::{HOSTILE, PATIENCE, Page, REVISION, project};
    use crate::Project;
    use crate::mcp::call;
    use crate::mcp::wire::Pipes;

    /// The script with the checks. It needs the driver's modules.
    const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../forage-ui/tests/page/check.mjs");

    fn driver() -> Option<PathBuf> {
        std::env::var_os("FORAGE_TEST_PAGE").map(PathBuf::from)
    }

    /// Runs the checks, which print a line each. They report times, but we do not limit them because the
    /// machine may be busy.
    fn check(driver: &Path, page: &Page, arguments: &[&str]) {
        let script = driver.join("check.mjs");
        fs::copy(CHECK, &script).unwrap();
        let address = format!("http://{}/?token={}", page.host, page.token);
        let slow = ["first", "switch", "typing", "map", "live"].map(|what| format!("--{what}-ms=60000"));
        let output = Command::new("node")
            .arg(&script)
            .arg(address)
            .args(slow)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.lines().count() > 20, "{said}{complaint}");
    }

    /// Makes the calls of an agent with hostile requests in a hostile repository.
    fn hostile_calls(pipes: &mut Pipes, rounds: u64) {
        let long = "x".repeat(4_000);
        let calls = [
            ("grep_search", json!({ "pattern": "retry" })),
            ("read_file", json!({ "path": "src/retry.rs", "start_line": 2 })),
            ("search_index", json!({ "query": "retry </script><script>alert(1)</script>" })),
            ("grep_search", json!({ "pattern": "hostile" })),
            ("read_file", json!({ "path": HOSTILE })),
            ("grep_search", json!({ "pattern": "only_in_target" })),
            ("grep_search", json!({ "pattern": "\u{202e}gnp.exe\u{0}<img src=x onerror=alert(1)>" })),
            ("grep_search", json!({ "pattern": long })),
            ("grep_search", json!({ "pattern": "retry" })),
            ("read_file", json!({ "path": "../<svg onload=alert(1)>" })),
            ("list_directory", json!({})),
            // Another pattern than above, as the case of letters counts.
            ("grep_search", json!({ "pattern": "RETRY" })),
            ("search_index", json!({ "query": "how often does it retry" })),
            ("search_index", json!({ "query": "How often it does retry" })),
            ("grep_search", json!({ "pattern": "fn ", "max_results": 2 })),
            (
                "grep_search",
                json!({ "pattern": "only_in_target", "include_ignored": true, "output": "files" }),
            ),
            ("read_file", json!({ "path": "src/long.rs" })),
        ];
        for round in 0..rounds {
            for (index, (tool, arguments)) in calls.iter().enumerate() {
                pipes.ask(&call(REVISION, round * 100 + index as u64 + 1, tool, arguments.clone()));
            }
        }
    }

    fn session() -> Project {
        let project = project();
        project.write("src/\u{202e}evil\u{2066}.rs", "fn retry_hidden() {}\n");
        project.write("binary.bin", "a\0b");
        project.write("src/long.rs", &"fn long() {}\n".repeat(900));
        project
    }

    #[test]
    fn every_view_of_a_hostile_session_is_as_the_calls_were() {
        let Some(driver) = driver() else { return };
        let project = session();
        let mut pipes = Pipes::connect(&project, &[], REVISION);
        let page = Page::start(&project, &[]);
        hostile_calls(&mut pipes, 1);
        page.calls(17);
        // Another server that makes one call and exits.
        let messages: [Value; 3] = [
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": REVISION, "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call(REVISION, 1, "grep_search", json!({ "pattern": "fn main" })),
        ];
        let mut input = String::new();
        messages.iter().for_each(|message| writeln!(input, "{message}").unwrap());
        let file = project.home.join("messages");
        fs::write(&file, input).unwrap();
        let live = format!(
            "(cat '{}'; sleep 2) | HOME='{}' '{}' mcp --root '{}'",
            file.display(),
            project.home.display(),
            env!("CARGO_BIN_EXE_forage"),
            project.root.display()
        );
        let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots/page");
        fs::create_dir_all(&pictures).unwrap();
        check(&driver, &page, &["--live", &live, "--screenshots", pictures.to_str().unwrap()]);
    }

    #[test]
    fn five_hundred_calls_are_shown() {
        let Some(driver) = driver() else { return };
        let project = session();
        let mut pipes = Pipes::connect(&project, &[], REVISION);
        let page = Page::start(&project, &[]);
        hostile_calls(&mut pipes, 30);
        let until = std::time::Instant::now() + PATIENCE;
        while page.calls(500).len() < 510 {
            assert!(std::time::Instant::now() < until);
        }
        check(&driver, &page, &["--calls", "4"]);
    }

    #[test]
    fn a_page_without_calls_says_what_to_do() {
        let Some(driver) = driver() else { return };
        let project = session();
        let page = Page::start(&project, &[]);
        check(&driver, &page, &[]);
    }
}
