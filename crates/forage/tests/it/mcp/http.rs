//! HTTP: access control and limits.

use std::io::Write as _;
#[cfg(unix)]
use std::process::Command;
#[cfg(unix)]
use std::time::Duration;

use serde_json::json;

use super::wire::{Http, Response};
use super::{README, REVISIONS, call, error, first_line, initialize, project, request, shown, text};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

fn post(http: &Http, host: &str, more: &str, body: &str) -> u16 {
    answered(http, host, more, body).status
}

fn answered(http: &Http, host: &str, more: &str, body: &str) -> Response {
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: {length}\r\nConnection: \
         close\r\n{more}\r\n{body}"
    );
    http.raw(request.as_bytes())
}

#[test]
fn only_this_machines_names_and_pages_may_call() {
    let project = project();
    let http = Http::start(&project, &["--allow-host", "forage.example"]);
    let address = http.address.clone();
    let port = address.rsplit(':').next().unwrap();
    for (host, origin, expected) in [
        (address.as_str(), None, 200),
        (&format!("localhost:{port}"), None, 200),
        ("forage.example", None, 200),
        ("evil.example", None, 403),
        (&format!("evil.example:{port}"), None, 403),
        ("127.0.0.1.evil.example", None, 403),
        (&address, Some(format!("http://localhost:{port}")), 200),
        (&address, Some("https://good.example".to_owned()), 403),
        (&address, Some("http://evil.example".to_owned()), 403),
        (&address, Some("null".to_owned()), 403),
        (&address, Some("http://localhost:1".to_owned()), 403),
    ] {
        let more = origin.as_ref().map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
        assert_eq!(post(&http, host, &more, LIST), expected, "{host} {origin:?}");
    }
    // A proxy in front of the server may use the second header.
    for more in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: {address}\r\n"),
        format!("Origin: http://{address}\r\nOrigin: http://evil.example\r\n"),
    ] {
        assert_eq!(post(&http, &address, &more, LIST), 400, "{more}");
    }
    for host in ["localhost:evil", "a@127.0.0.1", "localhost:", "127.0.0.1, evil.example", ""] {
        let status = post(&http, host, "", LIST);
        assert!(matches!(status, 400 | 403), "{host}: {status}");
    }
    for (target, expected) in [(address.as_str(), 200), ("evil.example", 400)] {
        let length = LIST.len();
        let request = format!(
            "POST http://{target}/mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{LIST}"
        );
        assert_eq!(http.raw(request.as_bytes()).status, expected, "{target}");
    }
    let elsewhere =
        format!("POST /other HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    assert_eq!(http.raw(elsewhere.as_bytes()).status, 404);
}

#[test]
fn a_token_is_asked_for_where_one_is_set() {
    let project = project();
    let http = Http::start_with(&project, &[], &[("FORAGE_MCP_TOKEN", "s3cret-token")]);
    for (header, expected) in [
        ("", 401),
        ("Authorization: Bearer wrong\r\n", 401),
        ("Authorization: Basic s3cret-token\r\n", 401),
        ("Authorization: Bearer s3cret-tokens\r\n", 401),
        ("Authorization: Bearer s3cret-tokeX\r\n", 401),
        ("Authorization: bearer s3cret-token\r\n", 200),
    ] {
        assert_eq!(post(&http, &http.address, header, LIST), expected, "{header}");
    }
}

#[test]
fn other_machines_need_a_token() {
    let project = project();
    let run = project.run(&["mcp", "--http", "0.0.0.0:0"]);
    let taken = Http::start(&project, &[]);
    let refused = project.run(&["mcp", "--http", &taken.address]);
    assert_eq!((run.status, refused.status), (2, 2));
    insta::assert_snapshot!(error(&run));
    // The system words the rest.
    assert_eq!(error(&refused).split("PORT").next(), Some("can't listen on 127.0.0.1:"));
}

#[test]
fn what_is_no_request_is_refused() {
    let project = project();
    let http = Http::start(&project, &[]);
    for (body, code) in [
        ("no json", -32700),
        ("", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        (&"[".repeat(200_000), -32700),
        ("[]", -32600),
        ("3", -32600),
        ("{}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
    ] {
        let answer = answered(&http, &http.address, "", body);
        let begin = body.get(..50).unwrap_or(body);
        assert_eq!((answer.status, &answer.messages()[0]["error"]["code"]), (400, &json!(code)), "{begin}");
    }
    // A body that is not declared as JSON is refused for that reason, whatever it contains.
    for body in ["no json", LIST] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: text/plain\r\nAccept: application/json, \
             text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            http.address,
            body.len()
        );
        assert_eq!(http.raw(head.as_bytes()).status, 415);
    }
    let long =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"{}\"}}", "y".repeat(9 << 20));
    assert_eq!(post(&http, &http.address, "", &long), 413);
    // The header names another revision than the body.
    let mut message = request("2026-07-28", 1, "tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let mismatched = http.post("2026-07-28", &message);
    assert_eq!(mismatched.status, 400, "{mismatched:?}");
    assert_eq!(mismatched.messages()[0]["error"]["code"], -32020);
    // After all of this the server must still respond.
    assert_eq!(post(&http, &http.address, "", LIST), 200);
}

/// Over HTTP any program on the machine may be a client.
#[test]
fn clients_on_http_choose_no_roots_unless_the_user_lets_them() {
    let project = project();
    let other = project.home.join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("here.txt"), "the other root\n").unwrap();
    let mut read = call("2026-07-28", 1, "read_file", json!({ "path": "here.txt" }));
    read["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "roots": {} });
    let uri = format!("file://{}", other.display());
    read["params"]["inputResponses"] = json!({ "roots": { "roots": [{ "uri": uri }] } });
    assert!(text(&Http::start(&project, &[]).ask("2026-07-28", &read)).1);
    project.configure("[mcp]\nclient_roots = [\"~\"]\n");
    let answer = Http::start(&project, &[]).ask("2026-07-28", &read);
    assert_eq!(first_line(&answer), "     1\tthe other root");
    // A directory of secrets keeps its rules even if it is a root itself.
    let secrets = project.home.join(".aws");
    std::fs::create_dir_all(&secrets).unwrap();
    std::fs::write(secrets.join("credentials"), "key\n").unwrap();
    read["params"]["arguments"]["path"] = json!("credentials");
    let uri = format!("file://{}", secrets.display());
    read["params"]["inputResponses"] = json!({ "roots": { "roots": [{ "uri": uri }] } });
    let answer = Http::start(&project, &[]).ask("2026-07-28", &read);
    insta::assert_snapshot!(shown(&answer));
}

/// Clients that send one byte and then wait occupy a place each. Others must still be served.
#[test]
fn unfinished_request_blocks_no_other_client() {
    let project = project();
    let http = Http::start(&project, &[]);
    let _half: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = http.connect();
            stream.write_all(b"POST /mcp HT").unwrap();
            stream
        })
        .collect();
    assert_eq!(post(&http, &http.address, "", LIST), 200);
}

#[test]
fn sessions_are_kept_only_where_they_are_asked_for_and_bounded() {
    let project = project();
    let stateless = Http::start(&project, &[]);
    for revision in &REVISIONS[..2] {
        let answer = stateless.post(revision, &initialize(revision, 1));
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "{answer:?}");
    }
    let bounded = Http::start(&project, &["--sessions", "3"]);
    let statuses: Vec<u16> =
        (0..5).map(|id| bounded.post("2025-11-25", &initialize("2025-11-25", id)).status).collect();
    assert_eq!(statuses, [200, 200, 200, 503, 503]);
    // The same if all clients connect at once.
    let bounded_at_once = Http::start(&project, &["--sessions", "3"]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let open = |id| bounded_at_once.post("2025-11-25", &initialize("2025-11-25", id)).status;
        let clients: Vec<_> = (0..20).map(|id| scope.spawn(move || open(id))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 3, "{statuses:?}");
    // An unauthorized or malformed request gets its specific error, whether there is room or not.
    let message = initialize("2025-11-25", 9).to_string();
    for (host, more, body, expected) in [
        (bounded.address.as_str(), "", message.as_str(), 503),
        ("evil.example", "", &message, 403),
        (&bounded.address, "Origin: http://evil.example\r\n", &message, 403),
        (&bounded.address, "Origin: null\r\n", &message, 403),
        (&bounded.address, "", &message[..message.len() - 1], 400),
        (&bounded.address, "", "{\"method\":\"initialize\"", 400),
        (&bounded.address, "", "no json", 400),
    ] {
        assert_eq!(post(&bounded, host, more, body), expected, "{host} {more} {body}");
    }
    // Requests that need no session are still served.
    let answer =
        bounded.ask("2026-07-28", &call("2026-07-28", 1, "read_file", json!({ "path": "README.md" })));
    assert_eq!(first_line(&answer), README);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server() {
    let project = project();
    for signal in ["INT", "TERM"] {
        let mut http = Http::start(&project, &[]);
        let _idle = http.connect();
        let id = http.server.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
        let started = std::time::Instant::now();
        let status = http.server.child.wait().unwrap();
        // Calls get 25 seconds to finish, but an idle connection gets none.
        assert!(status.success() && started.elapsed() < Duration::from_secs(10), "{status}");
    }
}
