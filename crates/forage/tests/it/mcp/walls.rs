//! The sandbox of a server. If the roots are fixed, one sandbox surrounds the server. If clients choose them,
//! each call has its own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{call, initialize, text};
use crate::Project;
use crate::sandbox::commands::{Probe, check, modes};

/// Creates a project, and two others in the user's home directory.
fn projects() -> (Project, [PathBuf; 2]) {
    let project = Project::new(&[("src/a.rs", "fn needle_of_the_server() {}\n")]);
    let others = ["one", "two"].map(|name| {
        let root = project.home.join(name);
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), format!("fn needle_of_{name}() {{}}\n")).unwrap();
        root
    });
    (project, others)
}

/// Searches in the client's root and returns the line that it found.
fn search(pipes: &mut Pipes, id: u64, root: &Path) -> String {
    pipes.send(&call("2025-11-25", id, "grep_search", json!({ "pattern": "needle_of_" })));
    let asked = pipes.receive();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let uri = format!("file://{}", root.display());
    pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": uri }] } }));
    let answer = pipes.receive();
    found(&answer)
}

/// Returns the first line of the file in an answer.
fn found(answer: &Value) -> String {
    text(answer).0.lines().nth(3).unwrap_or_default().to_owned()
}

#[test]
fn each_call_of_a_server_may_read_its_own_roots_alone() {
    let (project, [one, two]) = projects();
    for (mode, abi) in modes() {
        let probe = Probe::new(&project, &one);
        let is_walled = abi > 0;
        project.configure(&format!("sandbox = \"{mode}\"\n"));
        let mut pipes = Pipes::start_with(&project, &[], &probe.environment());
        let mut hello = initialize("2025-11-25", 0);
        hello["params"]["capabilities"] = json!({ "roots": {} });
        pipes.handshake(hello);
        // If each call has its own sandbox, the threads of calls have this name.
        let is_theirs = |thread: &str| !is_walled || thread == "call";
        assert_eq!(search(&mut pipes, 1, &one), "  1: fn needle_of_one() {}");
        check(&probe.attempts_of(is_theirs), abi, is_theirs, "the first call");
        // Another root has another sandbox, in which the first root is inaccessible.
        assert_eq!(search(&mut pipes, 2, &two), "  1: fn needle_of_two() {}");
        if is_walled {
            // Threads of the first call may outlive its answer and may still read its root.
            let attempts = probe.attempts_until(|line| line == "call root 13");
            let mut home = attempts.iter().filter(|attempt| attempt.what == "home");
            assert!(home.all(|attempt| attempt.error == 13), "{attempts:?}");
        }
        assert_eq!(search(&mut pipes, 3, &one), "  1: fn needle_of_one() {}");
    }
}

#[test]
fn a_server_with_roots_of_its_own_may_read_nothing_else() {
    let (project, [one, _]) = projects();
    for (mode, abi) in modes() {
        let probe = Probe::new(&project, &one);
        project.configure(&format!("sandbox = \"{mode}\"\n"));
        let arguments = ["--root", one.to_str().unwrap()];
        let mut pipes = Pipes::start_with(&project, &arguments, &probe.environment());
        pipes.handshake(initialize("2025-11-25", 0));
        let answer = pipes.ask(&call("2025-11-25", 1, "grep_search", json!({ "pattern": "needle_of_" })));
        assert_eq!(found(&answer), "  1: fn needle_of_one() {}", "{answer}");
        check(&probe.attempts_of(|_| true), abi, |_| true, "a call");
    }
}
