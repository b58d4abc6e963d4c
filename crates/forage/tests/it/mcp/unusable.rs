//! A server whose settings can't be used. The client sees the server, its tools and the reason, but nothing
//! is searched.

use serde_json::json;

use super::wire::Pipes;
use super::{REVISIONS, call, error, first_line, initialize, is_stateless, project, request, shown, text};
use crate::Project;
use crate::support::stable;

const KEY: &str = "planted-key-of-the-user-alone";

/// Returns the server's instructions.
fn instructions(pipes: &mut Pipes, revision: &str) -> String {
    let answer = match is_stateless(revision) {
        true => pipes.ask(&request(revision, 100, "server/discover", json!({}))),
        false => pipes.handshake(initialize(revision, 100)),
    };
    answer["result"]["instructions"].as_str().unwrap().to_owned()
}

/// Lists the names of the tools.
fn tools(pipes: &mut Pipes, revision: &str) -> Vec<String> {
    let answer = pipes.ask(&request(revision, 101, "tools/list", json!({})));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Settings that can't be used, with their arguments.
fn broken() -> Vec<(String, &'static [&'static str])> {
    vec![
        (format!("[[models]]\napi_key = \"{KEY}\"\n"), &[]),
        (format!("roots = [\n# {KEY}\n"), &[]),
        (format!("[limits]\ntimeout_ms = \"{KEY}\"\n"), &[]),
        ("[limits]\ntext_bytes = 3\n".to_owned(), &[]),
        ("[mcp]\nprefix = \"a b\"\n".to_owned(), &[]),
        ("roots = [\"/nonexistent/root\"]\n".to_owned(), &[]),
        (String::new(), &["--root", "/nonexistent/root"]),
        (String::new(), &["--config", "/nonexistent/config.toml"]),
        ("[tools.keyword_lookup]\nenabled = true\nname = \"keyword_search\"\n".to_owned(), &[]),
    ]
}

#[test]
fn settings_that_cant_be_used_show_in_the_client() {
    let mut all = String::new();
    for (settings, arguments) in broken() {
        let project = project();
        project.configure(&settings);
        let reports = REVISIONS.map(|revision| {
            let mut pipes = Pipes::start(&project, arguments);
            let said = instructions(&mut pipes, revision);
            let mut reported = vec![said, tools(&mut pipes, revision).join(" ")];
            for message in [
                call(revision, 1, "grep_search", json!({ "pattern": "retry" })),
                call(revision, 2, "read_file", json!({ "path": "README.md" })),
                call(revision, 3, "my_grep_search", json!({ "pattern": "retry" })),
                call(revision, 4, "grep_search", json!({ "nothing": "that fits" })),
            ] {
                let answer = pipes.ask(&message);
                assert!(text(&answer).1, "{settings}: {answer}");
                reported.push(shown(&answer));
            }
            reported.push(pipes.server.log_line("error"));
            drop(pipes.stdin.take());
            assert_eq!(pipes.server.child.wait().unwrap().code(), Some(2));
            reported.dedup();
            stable(&reported.join("\n"))
        });
        assert!(reports.iter().all(|report| *report == reports[0] && !report.contains(KEY)), "{reports:?}");
        all += &format!("{}{}\n{}\n\n", settings.replace(KEY, "KEY"), arguments.join(" "), reports[0]);
    }
    insta::assert_snapshot!(all);
}

/// Control: the same requests with valid settings.
#[test]
fn settings_that_can_be_used_are_no_reason_to_complain() {
    let project = project();
    project.configure("[limits]\ntimeout_ms = 5000\n");
    for revision in REVISIONS {
        let mut pipes = Pipes::start(&project, &[]);
        let said = instructions(&mut pipes, revision);
        assert!(said.starts_with("Forage is code intelligence"), "{said}");
        assert_eq!(
            tools(&mut pipes, revision),
            ["search_index", "grep_search", "list_project_directory", "read_project_file"]
        );
        let answer = pipes.ask(&call(revision, 1, "grep_search", json!({ "pattern": "retry" })));
        assert_eq!(first_line(&answer), "Found 2 matches in 2 files:");
        drop(pipes.stdin.take());
        assert_eq!(pipes.server.child.wait().unwrap().code(), Some(0));
    }
}

/// The list of tools may change after a restart, so clients must not cache it.
#[test]
fn the_list_of_a_broken_server_is_not_kept() {
    let lifetime = |settings: &str| {
        let project = project();
        project.configure(settings);
        let mut pipes = Pipes::start(&project, &[]);
        // Use the second list, because only then is it certain if a model exists.
        let list = || request("2026-07-28", 1, "tools/list", json!({}));
        pipes.ask(&list());
        pipes.ask(&list())["result"]["ttlMs"].as_u64()
    };
    assert_eq!(lifetime("filter = \"lexical\"\n"), Some(forage_mcp::limits::LIST_TTL_MS));
    assert_eq!(lifetime("filter = \"lexical\"\nunknown = 1\n"), Some(0));
}

#[test]
fn a_broken_server_answers_in_the_form_that_was_asked_for() {
    let project = project();
    project.configure("unknown = 1\n");
    for (arguments, has_records) in
        [(&["--output", "structured"][..], true), (&["--output", "text"], false), (&[], false)]
    {
        let mut pipes = Pipes::connect(&project, arguments, "2025-11-25");
        let list = pipes.ask(&request("2025-11-25", 1, "tools/list", json!({})));
        assert_eq!(list["result"]["tools"][0]["outputSchema"].is_object(), has_records, "{list}");
        let answer = pipes.ask(&call("2025-11-25", 2, "grep_search", json!({ "pattern": "retry" })));
        assert_eq!(answer["result"]["structuredContent"]["type"] == "error", has_records, "{answer}");
    }
}

/// An HTTP server is started by a person at a terminal.
#[test]
fn a_server_on_http_ends_with_the_error() {
    let project = Project::new(&[]);
    project.configure("unknown = 1\n");
    let run = project.run(&["mcp", "--http", "127.0.0.1:0"]);
    assert_eq!(run.status, 2);
    insta::assert_snapshot!(error(&run));
}
