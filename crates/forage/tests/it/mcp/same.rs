//! The same call must get the same answer on every surface.

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{README, call, first_line, request, text};
use crate::Project;
use crate::support::line_with;

const REVISION: &str = "2025-11-25";

fn project() -> Project {
    Project::new(&[
        ("src/agent.py", "class Agent:\n    def execute(self, tool):\n        return tool.execute()\n"),
        ("src/tools/base.py", "class Tool:\n    pass\n"),
        ("README.md", "# Example\n"),
    ])
}

/// Requests as models write them, valid and invalid.
fn requests() -> Vec<(&'static str, Value)> {
    vec![
        ("grep_search", json!({"pattern": "execute"})),
        ("grep_search", json!({"pattern": "execute("})),
        ("grep_search", json!({"pattern": "(a|"})),
        ("grep_search", json!({"pattern": "class", "max_results": "1", "context": 0})),
        ("grep_search", json!({"query": "class", "include": "*.py", "unheard_of": 1})),
        ("grep_search", json!({})),
        ("grep_search", json!({"pattern": "x", "path": "../.."})),
        ("grep_search", json!({"pattern": "absent_from_everything", "file_pattern": "tools/*.py"})),
        ("read_project_file", json!({"path": "src/agent.py"})),
        ("read_project_file", json!({"path": "agents.py"})),
        ("read_file", json!({"path": "base.py", "start_line": "2"})),
        ("mcp__forage__read_file", json!({"file_path": "README.md"})),
        ("list_project_directory", json!({"path": "src", "recursive": "true"})),
        ("list_directory", json!({"path": "sr"})),
        ("search_index", json!({"query": "tool execute", "path": "src"})),
        ("search_index", json!({"query": ""})),
    ]
}

/// Compares the server's answers with the output of `forage call` in a directory of the project.
#[test]
fn a_command_answers_as_the_server_does() {
    let project = project();
    // Both must use the same state of the ranked index.
    assert_eq!(project.run(&["rank", "tool"]).status, 0);
    let standing = project.root.join("src");
    for (tool, arguments) in requests() {
        let mut agent = Pipes::connect(&project, &[], REVISION);
        let answer = agent.ask(&call(REVISION, 1, tool, arguments.clone()));
        agent.close();
        let (said, is_error) = text(&answer);
        let run = project.run_in(&standing, &["call", tool, &arguments.to_string()], &[]);
        assert_eq!(run.status == 2, is_error, "{tool} {arguments}: {answer} {run:?}");
        let shown = match is_error {
            true => run.stderr.trim_start_matches("forage: error: ").trim_end().to_owned(),
            false => run.stdout.trim_end().to_owned(),
        };
        // The first answer of a connection also names the root.
        let said: Vec<&str> = said.trim_end().lines().filter(|line| !line.starts_with("[root: ")).collect();
        assert_eq!(shown, said.join("\n").trim_end(), "{tool} {arguments}");
    }
}

/// Some clients and models send arguments that are not an object.
#[test]
fn arguments_are_read_in_whatever_form_they_come() {
    let project = project();
    for arguments in [
        r#"{"path": "README.md"}"#,
        r#""{\"path\": \"README.md\"}""#,
        "```json\n{\"path\": \"README.md\"}\n```",
    ] {
        let mut agent = Pipes::connect(&project, &[], REVISION);
        let answer = agent.ask(&call(REVISION, 1, "read_file", json!(arguments)));
        agent.close();
        let run = project.run(&["call", "read_file", arguments]);
        assert_eq!(run.stdout.lines().next(), Some(README), "{arguments}: {run:?}");
        assert_eq!(first_line(&answer), README, "{arguments}");
    }
}

/// A configured name is listed unchanged, whatever tools another server may have.
#[test]
fn a_chosen_name_is_listed_as_it_is() {
    let project = project();
    let listed = || {
        let mut agent = Pipes::connect(&project, &[], REVISION);
        let list = agent.ask(&request(REVISION, 1, "tools/list", json!({})));
        agent.close();
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed()[2..], ["list_project_directory", "read_project_file"]);
    project.configure("[tools.read_file]\nname = \"read_file\"\n");
    assert_eq!(listed()[2..], ["list_project_directory", "read_file"]);
    // A configured description does not fix the name, so we list the tool in the form for this client.
    project.configure("[tools.read_file]\ndescription = \"Reads.\"\n");
    assert_eq!(listed()[2..], ["list_project_directory", "read_project_file"]);
}

/// An unknown client must get up to 40 KB of a file in one answer, while its other answers are limited to 20
/// KB.
#[test]
fn a_file_of_forty_kilobytes_is_read_whole() {
    let project = project();
    let lines = "a line of text\n".repeat(1_600);
    assert!((24_000..30_000).contains(&lines.len()));
    project.write("long.txt", &lines);
    project.write("longer.txt", &lines.repeat(3));
    let mut agent = Pipes::connect(&project, &[], REVISION);
    let mut read = |path: &str| {
        let answer = agent.ask(&call(REVISION, 1, "read_file", json!({ "path": path })));
        text(&answer).0.to_owned()
    };
    let whole = read("long.txt");
    assert_eq!(whole.lines().nth(1_599), Some("  1600\ta line of text"));
    assert!(whole.len() < 40_000, "{}", whole.len());
    let part = read("longer.txt");
    assert!(part.len() <= 40_000, "{}", part.len());
    insta::assert_snapshot!(line_with(&part, "[lines 1 to "));
    let answer = agent.ask(&call(
        REVISION,
        2,
        "grep_search",
        json!({ "pattern": "line", "max_results": 10_000, "path": "long.txt" }),
    ));
    assert!(text(&answer).0.len() <= 20_000);
    agent.close();
}
