//! Attacks an HTTP server with connections that have no valid token and, if no token is required, with
//! connections that stay open.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::wire::{Http, Server, read};
use super::{PATIENCE, README, call, first_line, hanging_project, project, request, slow_call};
use crate::support::stable;

const TOKEN: (&str, &str) = ("FORAGE_MCP_TOKEN", "s3cret-token");

/// Number of attackers of each kind. Even those of one kind exceed the number of connections.
const STRANGERS: usize = 80;

/// Minimum duration of the attack.
const WHILE: Duration = Duration::from_secs(5);

/// A client that is locked out waits for ten seconds, until the server closes the connections of silent
/// attackers. A call within this limit was therefore not locked out.
const LOCKED_OUT: Duration = Duration::from_secs(5);

fn with_token(mut http: Http) -> Http {
    http.token = Some(TOKEN.1);
    http
}

/// Makes a call that must be answered. Returns its duration.
fn read_file(http: &Http) -> Duration {
    let started = Instant::now();
    let answer = http.ask("2026-07-28", &call("2026-07-28", 1, "read_file", json!({ "path": "README.md" })));
    assert_eq!(first_line(&answer), README);
    started.elapsed()
}

/// Builds a request for a connection that stays open.
fn kept(http: &Http, path: &str, host: &str, token: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nAuthorization: Bearer {token}\r\nContent-Length: \
         {}\r\n\r\n{body}",
        body.len()
    )
    .replace("HOST", &http.address)
}

fn list() -> String {
    request("2025-11-25", 1, "tools/list", json!({})).to_string()
}

/// Reads one answer with a content length, and leaves the connection open.
fn one_answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(count > 0, "no answer: {text}");
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        if body.len() >= length.parse().unwrap() {
            return head;
        }
        assert!(count > 0, "half an answer: {text}");
    }
}

/// Uses a connection as one kind of attacker would, until it is closed. Returns the number of answers.
fn attack(kind: usize, http: &Http, is_over: &AtomicBool) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(&http.address)?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut answers = 0;
    let mut piece = [0; 4096];
    let goes_on = |read: std::io::Result<usize>| match read {
        Ok(count) => count > 0,
        Err(error) => matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
    };
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer wrong\r\n", http.address);
    match kind {
        // Sends nothing.
        0 => while goes_on(stream.read(&mut piece)) && !is_over.load(Ordering::Relaxed) {},
        // Sends one byte at a time.
        1 => {
            for byte in head.as_bytes().iter().cycle() {
                stream.write_all(&[*byte])?;
                if !goes_on(stream.read(&mut piece)) || is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        // Sends half of a header, and keeps its side open when the server closes the connection.
        2 => {
            stream.write_all(head.as_bytes())?;
            while goes_on(stream.read(&mut piece)) && !is_over.load(Ordering::Relaxed) {}
            std::thread::sleep(Duration::from_millis(300));
        }
        // Repeatedly requests a missing path, or sends a wrong token. The former happens at intervals, the
        // latter immediately.
        kind => {
            let request = match kind {
                3 => format!("GET /x HTTP/1.1\r\nHost: {}\r\n\r\n", http.address),
                _ => format!("{head}Content-Length: 2\r\n\r\n{{}}"),
            };
            while !is_over.load(Ordering::Relaxed) {
                stream.write_all(request.as_bytes())?;
                if !goes_on(stream.read(&mut piece)) {
                    break;
                }
                answers += u64::from(piece.starts_with(b"HTTP/1.1 40"));
                piece[0] = 0;
                if kind == 3 {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        }
    }
    Ok(answers)
}

/// Regression: three hundred connections locked everyone else out by requesting a missing path every few
/// seconds.
#[test]
fn five_kinds_of_attackers_lock_no_client_out() {
    let project = project();
    let http = with_token(Http::start_with(&project, &[], &[TOKEN]));
    let (is_over, answers, ended) =
        (AtomicBool::new(false), AtomicU64::new(0), [const { AtomicU64::new(0) }; 5]);
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..5 * STRANGERS {
            let (http, is_over, answers, ended) = (&http, &is_over, &answers, &ended);
            let stranger = move || {
                while !is_over.load(Ordering::Relaxed) {
                    // An attacker that is rejected while it sends counts as ended.
                    let got = attack(number % 5, http, is_over).unwrap_or_default();
                    answers.fetch_add(got, Ordering::Relaxed);
                    ended[number % 5]
                        .fetch_add(u64::from(!is_over.load(Ordering::Relaxed)), Ordering::Relaxed);
                }
            };
            std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, stranger).unwrap();
        }
        let began = Instant::now();
        // The number of events per second depends on the machine.
        let is_enough = |calls: usize| {
            let were_refused = answers.load(Ordering::Relaxed) > 200;
            calls > 20 && were_refused && ended.iter().all(|ended| ended.load(Ordering::Relaxed) > 0)
        };
        while began.elapsed() < WHILE || !is_enough(times.len()) && began.elapsed() < PATIENCE {
            times.push(read_file(&http));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    times.sort_unstable();
    let late = times[times.len() * 99 / 100];
    // Normally this takes milliseconds, but in this test the attackers compete with the server for the
    // processors.
    assert!(times.len() > 20 && late < LOCKED_OUT, "{} calls, p99 {late:?}", times.len());
    // The attackers were active, since they were refused repeatedly and closed to make room.
    assert!(answers.load(Ordering::Relaxed) > 200, "{answers:?}");
    assert!(ended.iter().all(|ended| ended.load(Ordering::Relaxed) > 0), "{ended:?}");
}

/// Health checks, and opening the address in a browser, need no token.
#[test]
fn what_is_asked_of_the_server_itself_is_answered() {
    let project = project();
    let http = Http::start_with(&project, &[], &[TOKEN]);
    let good = kept(&http, "/mcp", "HOST", TOKEN.1, &list());
    let mut all = String::new();
    for asked in [
        "GET / HTTP/1.1\r\nHost: any.example\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: any.example\r\n\r\n",
        "HEAD /healthz HTTP/1.1\r\nHost: any.example\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nHost: any.example\r\nContent-Length: 0\r\n\r\n",
        "GET /healthz/x HTTP/1.1\r\nHost: any.example\r\n\r\n",
    ] {
        // Send it as the first request of a connection, and after an authorized one.
        let [first, second] = [true, false].map(|is_first| {
            let mut stream = http.connect();
            if !is_first {
                stream.write_all(good.as_bytes()).unwrap();
                assert!(one_answer(&mut stream).starts_with("http/1.1 200"));
            }
            stream.write_all(asked.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
            let answer = read(&mut stream);
            let [kind, allowed] = ["content-type", "allow"].map(|name| answer.header(name));
            format!("{} {kind:?} {allowed:?}\n{}\n", answer.status, answer.body)
        });
        assert_eq!(first, second, "{asked}");
        all += &format!("{}\n{first}\n", asked.lines().next().unwrap());
    }
    insta::assert_snapshot!(stable(&all));
}

/// A connection without access is closed. A client that makes a mistake can connect again.
#[test]
fn refused_request_closes_the_connection() {
    let project = project();
    let http = Http::start_with(&project, &[], &[TOKEN]);
    let (right, wrong, list) = (TOKEN.1, "wrong", list());
    let good = kept(&http, "/mcp", "HOST", right, &list);
    for (refused, status) in [
        (kept(&http, "/mcp", "HOST", wrong, &list), 401),
        (kept(&http, "/mcp", "HOST", "", &list), 401),
        (kept(&http, "/mcp", "evil.example", right, &list), 403),
        (kept(&http, "/mcp", "evil.example", wrong, &list), 403),
        (kept(&http, "/mcp", "HOST\r\nOrigin: http://evil.example", right, &list), 403),
        (kept(&http, "/other", "HOST", right, &list), 404),
        (kept(&http, "/other", "HOST", wrong, &list), 404),
        (good.replace("POST /mcp", "OPTIONS *"), 404),
        (good.replace("HTTP/1.1", "HTTP/3.0"), 400),
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}".to_owned(), 400),
        (good.replace("\r\n\r\n", &format!("\r\nX: {}\r\n\r\n", "x".repeat(20_000))), 431),
        (good.replace("\r\n\r\n", &format!("\r\n{}\r\n", "X: x\r\n".repeat(150))), 431),
    ] {
        // Send it as the first request of a connection, and after an authorized one. Later requests are not
        // answered.
        for is_first in [true, false] {
            let mut stream = http.connect();
            if !is_first {
                stream.write_all(good.as_bytes()).unwrap();
                let head = one_answer(&mut stream);
                assert!(head.starts_with("http/1.1 200"), "{head}");
                assert_eq!(head.lines().find(|line| *line == "connection: close"), None);
            }
            let _ = stream.write_all((refused.clone() + &good).as_bytes());
            let answer = read(&mut stream);
            let shown = refused.get(..40).unwrap_or(&refused);
            assert_eq!(answer.status, status, "{shown} {is_first} {answer:?}");
            assert!(!answer.body.contains("HTTP/1.1 200"), "{answer:?}");
            let closes = answer.header("connection") == Some("close");
            assert!(closes || !matches!(status, 401 | 403 | 404), "{answer:?}");
        }
    }
    // An authorized client calls an unknown method.
    let http = with_token(http);
    let unknown = http.post("2026-07-28", &request("2026-07-28", 1, "no/such", json!({})));
    assert_eq!((unknown.status, unknown.header("connection")), (404, Some("close")), "{unknown:?}");
}

/// A large request may be refused because of its header. The client must get this answer while it is still
/// sending.
#[test]
fn a_refusal_is_read_by_who_still_sends() {
    let project = project();
    let http = Http::start_with(&project, &[], &[TOKEN]);
    let expected = http.raw(kept(&http, "/mcp", "HOST", "wrong", "x").as_bytes());
    insta::assert_snapshot!(expected.body.as_str());
    for _ in 0..10 {
        let answer = http.raw(kept(&http, "/mcp", "HOST", "wrong", &"x".repeat(900 << 10)).as_bytes());
        assert_eq!((answer.status, &answer.body), (401, &expected.body));
    }
}

/// Open connections must use few of the file descriptors that calls need.
#[test]
fn few_file_descriptors_are_enough() {
    let project = project();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_forage")]);
    let arguments = ["--http", "127.0.0.1:0"];
    let http = with_token(Http::from_server(Server::start_by(limited, &project, &arguments, &[TOKEN])));
    let _silent: Vec<_> = (0..300).map(|_| http.connect()).collect();
    let _clients: Vec<_> = (0..300).map(|_| idle_client(&http, TOKEN.1)).collect();
    for _ in 0..20 {
        read_file(&http);
        let found =
            http.ask("2026-07-28", &call("2026-07-28", 1, "grep_search", json!({ "pattern": "retry" })));
        assert_eq!(first_line(&found), "Found 2 matches in 2 files:");
    }
}

/// Opens a connection that has received an answer and stays idle.
fn idle_client(http: &Http, token: &str) -> TcpStream {
    let mut stream = http.connect();
    stream.write_all(kept(http, "/mcp", "HOST", token, &list()).as_bytes()).unwrap();
    assert!(one_answer(&mut stream).starts_with("http/1.1 200"));
    stream
}

/// Without a token everyone is a client. We close the longest idle connection to make room, but never a
/// running call.
#[test]
fn without_a_token_the_longest_idle_makes_room() {
    let (project, model) = hanging_project();
    let http = Http::start(&project, &[]);
    let _running = http.begin("2026-07-28", &slow_call("2026-07-28", 5));
    model.next_event();
    let mut idle: Vec<_> = (0..300).map(|_| idle_client(&http, "")).collect();
    // The first connections were closed, and the last ones still get answers.
    for stream in &mut idle[..20] {
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    for stream in &mut idle[280..] {
        stream.write_all(kept(&http, "/mcp", "HOST", "", &list()).as_bytes()).unwrap();
        assert!(one_answer(stream).starts_with("http/1.1 200"));
    }
    // Incomplete requests do not count as calls.
    let half = kept(&http, "/mcp", "HOST", "", &list());
    let half = &half[..half.len() - 1];
    let mut begun: Vec<_> = (0..300).map(|_| http.connect()).collect();
    for stream in &mut begun {
        stream.write_all(half.as_bytes()).unwrap();
    }
    assert!(read_file(&http) < PATIENCE);
    assert!(model.events.try_recv().is_err(), "the call that ran was ended");
}
