//! The roots that clients name.

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{README, REVISIONS, call, first_line, initialize, is_stateless, project, shown, text};
use crate::support::stable;

#[test]
fn the_clients_roots_are_asked_for_and_bounded() {
    let project = project();
    let other = project.home.join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("here.txt"), "the other root\n").unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("here.txt"), "outside\n").unwrap();
    let mut all = String::new();
    for revision in REVISIONS {
        for root in [
            other.to_str().unwrap(),
            outside.path().to_str().unwrap(),
            project.home.to_str().unwrap(),
            "/nonexistent",
        ] {
            let uri = format!("file://{root}");
            let mut pipes = Pipes::start(&project, &[]);
            let read = json!({ "path": "here.txt" });
            let answer = if is_stateless(revision) {
                let mut message = call(revision, 1, "read_file", read);
                message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                    json!({ "roots": {} });
                let asked = pipes.ask(&message);
                let result = &asked["result"];
                assert_eq!(result["resultType"], "input_required", "{asked}");
                assert_eq!(result["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
                message["params"]["inputResponses"] = json!({ "roots": { "roots": [{ "uri": uri }] } });
                message["id"] = json!(2);
                pipes.ask(&message)
            } else {
                let mut hello = initialize(revision, 0);
                hello["params"]["capabilities"] = json!({ "roots": { "listChanged": true } });
                pipes.handshake(hello);
                pipes.send(&call(revision, 1, "read_file", read));
                let asked = pipes.receive();
                assert_eq!(asked["method"], "roots/list", "{asked}");
                let result = json!({ "roots": [{ "uri": uri, "name": "other" }] });
                pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
                pipes.receive()
            };
            all += &format!("{revision} {}:\n{}\n\n", stable(root), shown(&answer));
        }
    }
    insta::assert_snapshot!(all);
    // A client must not override the user's own choice.
    let root = project.root.to_str().unwrap();
    let mut pipes = Pipes::start(&project, &["--root", root]);
    let mut hello = initialize("2025-11-25", 0);
    hello["params"]["capabilities"] = json!({ "roots": {} });
    pipes.handshake(hello);
    let answer = pipes.ask(&call("2025-11-25", 1, "read_file", json!({ "path": "README.md" })));
    assert_eq!(first_line(&answer), README);
}

#[test]
fn the_root_is_the_one_that_the_client_was_started_for() {
    let project = project();
    let other = project.home.join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("here.txt"), "the other root\n").unwrap();
    let environment = [("CLAUDE_PROJECT_DIR", other.to_str().unwrap())];
    let mut pipes = Pipes::start_with(&project, &[], &environment);
    let line = pipes.server.log_line("root:");
    assert_eq!(
        stable(&line),
        "forage: root: TMP/home/other (from CLAUDE_PROJECT_DIR, unless a client names others)"
    );
    pipes.handshake(initialize("2025-11-25", 0));
    let answer = pipes.ask(&call("2025-11-25", 1, "read_file", json!({ "path": "here.txt" })));
    assert_eq!(shown(&answer), "     1\tthe other root\n\n[root: TMP/home/other]\n");
}

/// Clients start a plugin's server in the plugin's directory. This must never become the root.
#[test]
#[cfg(unix)]
fn plugin_is_never_the_root() {
    let project = project();
    let plugin = project.root.to_str().unwrap();
    let inside = project.root.join("src");
    std::fs::create_dir_all(&inside).unwrap();
    let other = project.home.join("other");
    std::fs::create_dir_all(other.join(".git")).unwrap();
    std::fs::create_dir_all(other.join("src")).unwrap();
    std::fs::write(other.join("here.txt"), "the other root\n").unwrap();
    let (src, inside) = (other.join("src"), inside.to_str().unwrap());
    let src = src.to_str().unwrap();
    // A link to the plugin's directory counts as the plugin too.
    let link = project.home.join("link");
    std::os::unix::fs::symlink(&project.root, &link).unwrap();
    let link = link.to_str().unwrap();
    let read = || call("2025-11-25", 1, "read_file", json!({ "path": "here.txt" }));
    let answer = |environment: &[(&str, &str)]| {
        let mut pipes = Pipes::start_with(&project, &[], environment);
        pipes.handshake(initialize("2025-11-25", 0));
        shown(&pipes.ask(&read()))
    };
    let expected = "     1\tthe other root\n\n[root: TMP/home/other]\n";
    for variable in ["PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "SOME_EXTENSION_PATH"] {
        assert_eq!(answer(&[(variable, plugin), ("PWD", src)]), expected, "{variable}");
    }
    for environment in [
        &[("PLUGIN_ROOT", plugin), ("CLAUDE_PROJECT_DIR", src)][..],
        &[("PLUGIN_ROOT", plugin), ("COPILOT_PROJECT_DIR", src), ("PWD", plugin)],
        &[("PLUGIN_ROOT", link), ("CLAUDE_PROJECT_DIR", plugin), ("PWD", src)],
    ] {
        assert_eq!(answer(environment), expected, "{environment:?}");
    }
    for environment in [
        &[("PLUGIN_ROOT", plugin)][..],
        &[("PLUGIN_ROOT", plugin), ("PWD", plugin)],
        &[("PLUGIN_ROOT", plugin), ("PWD", inside), ("CLAUDE_PROJECT_DIR", inside)],
        &[("PLUGIN_ROOT", plugin), ("PWD", link)],
        &[("PLUGIN_ROOT", plugin), ("PWD", "/nonexistent")],
    ] {
        assert_eq!(
            answer(environment),
            "error: Forage doesn't know the project: the client started this server in the directory of a plugin and \
             named no project. Ask the user to start the client in the project's directory, or to give the server \
             `--root DIR`",
            "{environment:?}"
        );
    }
    // Positive controls: outside of any plugin, in another plugin, and with a root that the user chose.
    for environment in [&[("PWD", src)][..], &[("PLUGIN_ROOT", src), ("PWD", src)]] {
        assert_eq!(answer(environment), "error: `path`: here.txt does not exist", "{environment:?}");
    }
    let mut pipes = Pipes::start_with(&project, &["--root", "."], &[("PLUGIN_ROOT", plugin)]);
    pipes.handshake(initialize("2025-11-25", 0));
    let readme = call("2025-11-25", 1, "read_file", json!({ "path": "README.md" }));
    assert_eq!(first_line(&pipes.ask(&readme)), README);
    // The client's own roots take effect.
    let mut pipes = Pipes::start_with(&project, &[], &[("PLUGIN_ROOT", plugin)]);
    let mut hello = initialize("2025-11-25", 0);
    hello["params"]["capabilities"] = json!({ "roots": {} });
    pipes.handshake(hello);
    pipes.send(&read());
    let asked = pipes.receive();
    let result = json!({ "roots": [{ "uri": format!("file://{src}") }] });
    pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
    assert_eq!(shown(&pipes.receive()), expected);
}

/// If a root is deleted and created again, or replaced, it is another directory. The next call reads it,
/// whether the server has a sandbox or not.
#[test]
fn a_replaced_root_works_in_the_next_call() {
    for sandbox in ["off", "auto"] {
        let project = project();
        project.configure(&format!("sandbox = \"{sandbox}\"\n"));
        let mut pipes = Pipes::connect(&project, &["--root", "."], "2025-11-25");
        let log = pipes.server.log_line("sandbox:");
        let mut grep = |id: u64, pattern: &str| {
            let answer = pipes.ask(&call("2025-11-25", id, "grep_search", json!({ "pattern": pattern })));
            let (text, is_error) = text(&answer);
            (text.to_owned(), is_error)
        };
        assert!(grep(1, "freshly").0.starts_with("No matches"));
        std::fs::rename(&project.root, project.home.join("moved")).unwrap();
        let (problem, is_error) = grep(2, "freshly");
        assert!(is_error, "{problem}");
        std::fs::create_dir_all(project.root.join(".git")).unwrap();
        std::fs::write(project.root.join("new.txt"), "freshly cloned\n").unwrap();
        let (text, is_error) = grep(3, "freshly");
        assert_eq!((is_error, text.lines().nth(2)), (false, Some("new.txt:")), "{log}: {text}");
        // Now the first directory is back. The server must not use anything that it kept about the second
        // one.
        std::fs::remove_dir_all(&project.root).unwrap();
        std::fs::rename(project.home.join("moved"), &project.root).unwrap();
        assert!(grep(4, "freshly").0.starts_with("No matches"));
        let (text, is_error) = grep(5, "Example");
        assert_eq!((is_error, text.lines().nth(2)), (false, Some("README.md:")), "{log}: {text}");
    }
}

/// Git removes and creates the repository's files about a worktree, too.
#[cfg(unix)]
#[test]
fn a_worktree_that_was_added_again_works_in_the_next_call() {
    let project = project();
    let git = |arguments: &[&str]| {
        let output = forage_fuzz::peers::git(&project.root).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    std::fs::remove_dir_all(project.root.join(".git")).unwrap();
    assert!(git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-qm", "first"]));
    let worktree = project.home.join("worktree");
    let shown = worktree.to_str().unwrap();
    assert!(git(&["worktree", "add", "-q", shown]));
    let mut pipes = Pipes::connect(&project, &["--root", shown], "2025-11-25");
    // `info/exclude` of the repository applies in its worktrees.
    std::fs::write(project.root.join(".git/info/exclude"), "hidden.txt\n").unwrap();
    for id in 1..4 {
        std::fs::write(worktree.join("hidden.txt"), "a needle\n").unwrap();
        std::fs::write(worktree.join("seen.txt"), "a needle\n").unwrap();
        let answer = pipes.ask(&call("2025-11-25", id, "grep_search", json!({ "pattern": "needle" })));
        let found = text(&answer).0.split("\n\n[").next();
        assert_eq!(found, Some("Found 1 match in 1 file:\n\nseen.txt:\n  1: a needle"), "{id}: {answer}");
        assert!(git(&["worktree", "remove", "--force", shown]) && git(&["worktree", "add", "-q", shown]));
    }
}

/// The project becomes the root, whichever part of it is the client's directory, and wherever the project is.
#[test]
fn a_clients_root_leads_to_its_project() {
    let project = project();
    let elsewhere = tempfile::tempdir().unwrap();
    let root = forage_fs::canonical(elsewhere.path()).unwrap().join("workspaces/app");
    std::fs::create_dir_all(root.join(".git")).unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/a.rs"), "fn elsewhere_in_src() {}\n").unwrap();
    std::fs::create_dir_all(root.join("tests")).unwrap();
    std::fs::write(root.join("tests/b.rs"), "fn elsewhere_in_tests() {}\n").unwrap();
    let mut all = String::new();
    for revision in ["2025-06-18", "2026-07-28"] {
        for directory in [root.join("src"), root.clone(), project.root.join("src")] {
            let mut pipes = Pipes::start(&project, &[]);
            if !is_stateless(revision) {
                let mut hello = initialize(revision, 0);
                hello["params"]["capabilities"] = json!({ "roots": {} });
                pipes.handshake(hello);
            }
            let roots = json!({ "roots": [{ "uri": format!("file://{}", directory.display()) }] });
            let mut ask = |id: u64, tool: &str, arguments: serde_json::Value| {
                let mut message = call(revision, id, tool, arguments);
                if is_stateless(revision) {
                    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                        json!({ "roots": {} });
                    let asked = pipes.ask(&message);
                    message["params"]["inputResponses"] = json!({ "roots": roots });
                    message["params"]["requestState"] = asked["result"]["requestState"].clone();
                    return pipes.ask(&message);
                }
                pipes.send(&message);
                let asked = pipes.receive();
                pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }));
                pipes.receive()
            };
            let is_here = directory.starts_with(&project.root);
            let pattern = if is_here { "Example" } else { "elsewhere_in_tests" };
            let answer = ask(1, "grep_search", json!({ "pattern": pattern }));
            let name = stable(directory.to_str().unwrap());
            all += &format!("{revision} {name}:\n{}\n", shown(&answer));
            let answer = ask(2, "grep_search", json!({ "pattern": pattern }));
            assert!(!text(&answer).0.contains("[root:"), "{answer}");
            if directory == root.join("src") {
                // Paths are relative to the client's directory, as in its own shell.
                for path in ["a.rs", "src/a.rs", "../src/a.rs"] {
                    let answer = ask(3, "read_file", json!({ "path": path }));
                    assert_eq!(first_line(&answer), "     1\tfn elsewhere_in_src() {}", "{path}: {answer}");
                }
            }
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn missing_roots_answer_is_awaited_once() {
    let project = project();
    let mut pipes = Pipes::start(&project, &[]);
    let mut hello = initialize("2025-11-25", 0);
    hello["params"]["capabilities"] = json!({ "roots": {} });
    pipes.handshake(hello);
    pipes.send(&call("2025-11-25", 1, "read_file", json!({ "path": "README.md" })));
    let asked = pipes.receive();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let answer = pipes.receive();
    // The server asks nothing before this answer.
    let second = pipes.ask(&call("2025-11-25", 2, "read_file", json!({ "path": "README.md" })));
    insta::assert_snapshot!([shown(&answer), shown(&second)].join("\n"));
    // The roots are not requested again until the client announces a change.
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    // The server handles the notification concurrently with calls.
    let is_asked = (3..100).any(|id| {
        pipes.send(&call("2025-11-25", id, "read_file", json!({ "path": "README.md" })));
        pipes.receive()["method"] == "roots/list"
    });
    assert!(is_asked);
}

#[test]
fn all_roots_are_one_question() {
    let project = project();
    let other = project.home.join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("here.txt"), "fn main is only mentioned here\n").unwrap();
    let (first, second) = (other.to_str().unwrap(), project.root.to_str().unwrap());
    let mut pipes = Pipes::connect(&project, &["--root", first, "--root", second], "2025-11-25");
    let grep = json!({ "pattern": "fn main\\(" });
    let answer = pipes.ask(&call("2025-11-25", 1, "grep_search", grep));
    let grep = json!({ "pattern": "fn main\\(", "path": second });
    let of_second = pipes.ask(&call("2025-11-25", 2, "grep_search", grep));

    // This root of the client can't be searched.
    let mut pipes = Pipes::start(&project, &[]);
    let mut hello = initialize("2025-11-25", 0);
    hello["params"]["capabilities"] = json!({ "roots": {} });
    pipes.handshake(hello);
    pipes.send(&call("2025-11-25", 1, "grep_search", json!({ "pattern": "main" })));
    let asked = pipes.receive();
    let uris = [format!("file://{first}"), "file:///gone".to_owned(), "vscode-remote://x/y".to_owned()];
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    pipes.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } }));
    let all = [answer, of_second, pipes.receive()];
    insta::assert_snapshot!(all.each_ref().map(shown).join("\n---\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_reads_dependencies_in_the_sandbox() {
    let project = crate::sandbox::dependent();
    let mut pipes = Pipes::start(&project, &[]);
    pipes.handshake(initialize(REVISIONS[0], 0));
    let read = json!({ "path": "dep:http/src/lib.rs", "symbol": "HeaderMap" });
    let answer = pipes.ask(&call(REVISIONS[0], 1, "read_file", read));
    assert_eq!(first_line(&answer), "     1\tpub struct HeaderMap;");
}
