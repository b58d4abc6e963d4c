//! Over the protocol, no answer and no error of a tool may contain a secret from a file, unless the user has
//! disabled redaction.

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{call, text};
use crate::Project;

const REVISION: &str = "2025-11-25";

/// Returns a token with a distinctive form. No file of this project contains it literally.
fn token() -> String {
    format!("ghp_{}", "R4nd0mT0kenF0rTh1sTest1234567890abcd")
}

fn project() -> Project {
    let token = token();
    let project = Project::new(&[
        ("src/main.rs", &format!("fn main() {{\n    connect(\"{token}\"); // needle\n}}\n")),
        (&format!("docs/{token}.md"), "# A needle\n"),
    ]);
    // Only the user's own file may disable this. The same setting in the repository is ignored.
    project.write(".forage.toml", "[secrets]\nredact = false\n");
    project
}

/// Lists a call of each tool, and calls that may fail.
fn calls(token: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("grep_search", json!({ "pattern": "needle" })),
        ("keyword_search", json!({ "query": "where is it?", "search_terms": ["needle"] })),
        ("list_directory", json!({ "path": "docs" })),
        ("read_file", json!({ "path": "src/main.rs" })),
        ("Search", json!({ "pattern": "neddle", "fuzzy": 1 })),
        ("search_index", json!({ "query": "needle" })),
        ("read_file", json!({ "path": format!("docs/{token}.md/none") })),
    ]
}

/// Makes each call. A flag is true if the token is in the answer.
fn leaks(project: &Project) -> Vec<bool> {
    let mut leaks = Vec::new();
    for form in ["text", "structured"] {
        let mut pipes = Pipes::connect(project, &["--output", form], REVISION);
        for (id, (tool, arguments)) in (1..).zip(calls(&token())) {
            let answer = pipes.ask(&call(REVISION, id, tool, arguments));
            let (text, is_error) = text(&answer);
            assert_eq!(is_error, id == 7, "{tool}: {answer}");
            let records = &answer["result"]["structuredContent"];
            assert_eq!(records.is_object(), form == "structured", "{tool}: {answer}");
            let leak = answer.to_string().contains(&token());
            assert!(leak || is_error || text.contains("[redacted:github-token]"), "{tool}: {answer}");
            assert!(leak || is_error || text.contains("never write a mark back into it"), "{tool}: {answer}");
            leaks.push(leak);
        }
    }
    leaks
}

#[test]
fn no_answer_over_the_protocol_shows_a_secret() {
    let project = project();
    project.configure("filter = \"lexical\"\n[tools.search]\nenabled = true\n");
    assert!(leaks(&project).iter().all(|leak| !leak), "{:?}", leaks(&project));
    // Positive control. This also tests the setting for users who trust the agent with secrets.
    project.configure("filter = \"lexical\"\n[tools.search]\nenabled = true\n[secrets]\nredact = false\n");
    assert!(leaks(&project).iter().all(|leak| *leak), "{:?}", leaks(&project));
}

/// We generate cursors ourselves, so they must work whatever the lines around them contain.
#[test]
fn cursors_lead_on_between_lines_with_secrets() {
    let project = Project::new(&[("a.txt", &format!("needle {}\n", token()).repeat(5))]);
    let mut pipes = Pipes::connect(&project, &[], REVISION);
    let (mut request, mut pages) = (json!({ "pattern": "needle", "max_results": 2 }), 0);
    loop {
        pages += 1;
        let answer = pipes.ask(&call(REVISION, pages, "grep_search", request.clone()));
        let (text, is_error) = text(&answer);
        assert!(
            !is_error && !text.contains(&token()) && text.contains("needle [redacted:github-token]"),
            "{text}"
        );
        let Some((_, cursor)) = text.split_once("cursor=\"") else { break };
        request["cursor"] = json!(cursor.split_once('"').unwrap().0);
    }
    assert_eq!(pages, 3);
}

/// A person at a terminal should see files as they are, in both output forms.
#[test]
fn a_person_sees_files_as_they_are() {
    let project = project();
    for form in [&[][..], &["--json"]] {
        for command in [
            &["grep", "needle"][..],
            &["read", "src/main.rs"],
            &["search", "needle"],
            &["list", "docs"],
            &["keyword", "q", "needle", "--filter", "lexical"],
            &["rank", "needle"],
        ] {
            let run = project.run(&[command, form].concat());
            assert!(run.status == 0 && run.stdout.contains(&token()), "{command:?} {form:?}: {run:?}");
        }
        // Commands that show an agent's view are redacted.
        let as_an_agent = [&["call", "grep_search", "{\"pattern\": \"needle\"}"], form].concat();
        let run = project.run(&as_an_agent);
        assert!(run.stdout.contains("[redacted:github-token]") && !run.stdout.contains(&token()), "{run:?}");
    }
}
