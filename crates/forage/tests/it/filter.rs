//! The configurable forms of the filter. The model is a scripted server.

use std::fs;

use crate::peer::{Peer, Reply, content};
use crate::support::stable;
use crate::{Project, Run};

fn project() -> Project {
    Project::new(&[
        ("src/retry.rs", "//! Retries.\nfn retry_with_backoff() {}\n"),
        ("src/client.rs", "fn send() { retry_with_backoff() }\n"),
        ("docs/notes.md", "How a retry works, and its backoff.\n"),
    ])
}

fn says(text: &str) -> Reply {
    content(&serde_json::to_string(text).unwrap())
}

/// Runs a keyword search with these settings of the filter.
fn search(project: &Project, peer: &Peer, filter: &str, flags: &[&str]) -> Run {
    project.configure(&format!(
        "[filter]\n{filter}\n[[models]]\nprovider = \"acme\"\nmodel = \"small\"\nbase_url = \"{}\"\n",
        peer.url()
    ));
    project.run(&[&["keyword", "how are requests retried", "retry_with_backoff", "retry"], flags].concat())
}

/// Extracts the user's message from each request.
fn sent(peer: &Peer) -> Vec<String> {
    let user = |request: &String| {
        let body: serde_json::Value =
            serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["messages"][1]["content"].as_str().unwrap().to_owned()
    };
    peer.requests().iter().map(user).collect()
}

const IDS: &str = "{\"files\":[{\"id\":\"F1\",\"grade\":2,\"ranges\":[[1,1]],\"why\":\"first\"},\
                   {\"id\":\"F2\",\"grade\":3,\"ranges\":[],\"why\":\"second\"}]}";

#[test]
fn compact_evidence_and_ids_are_switched_by_the_configuration() {
    let project = project();
    let peer = Peer::start([says(IDS)]);
    let run = search(&project, &peer, "evidence = \"compact\"\nanswer = \"ids\"", &[]);
    assert_eq!(run.status, 0, "{run:?}");
    let sent = &sent(&peer)[0];
    let heading = |id: &str| {
        let line = sent.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    };
    let root = project.root.display();
    let expected = format!(
        "2 relevant files of 3 that matched below {root}, most relevant first:\n\n{}: second\n",
        heading("F2")
    );
    assert!(run.stdout.starts_with(&expected), "{run:?}\n{sent}");
    let mut lines = run.stdout.lines().skip_while(|line| *line != format!("{}: first", heading("F1")));
    assert_eq!(lines.nth(1), Some("  read lines 1"), "{run:?}");

    // The other two combinations. Lists of paths must stay the default.
    for (filter, heading) in [
        ("answer = \"ids\"", format!("\nFILE F1 {root}/docs/notes.md\n")),
        ("evidence = \"compact\"", "\nFILE src/retry.rs (".to_owned()),
        ("", format!("\nFILE {root}/docs/notes.md\n")),
    ] {
        let peer = Peer::start([says(if filter.contains("ids") { IDS } else { "src/retry.rs: it is" })]);
        let run = search(&project, &peer, filter, &[]);
        assert_eq!(run.status, 0, "{run:?}");
        assert!(self::sent(&peer)[0].contains(&heading), "{}", self::sent(&peer)[0]);
    }
}

#[test]
fn mistakes_in_the_table_are_named() {
    let project = project();
    let errors = [
        "evidence = \"short\"",
        "cache = true\nanswer = \"path\"",
        "evidence_tokens = 10",
        "evidences = \"compact\"",
        "cache = \"yes\"",
    ]
    .map(|filter| {
        project.configure(&format!("[filter]\n{filter}\n"));
        project.run(&["keyword", "q", "t"]).shown()
    });
    insta::assert_snapshot!(errors.join("\n"));
    for filter in ["filter = \"lexical\"", "[filter]\nmode = \"lexical\""] {
        project.configure(filter);
        let run = project.run(&["keyword", "q", "retry"]);
        assert!(run.stdout.lines().any(|line| line == "[ranked without a model]"), "{run:?}");
        assert_eq!(project.run(&["config", "--json"]).json()["filter.mode"]["value"], "lexical");
    }
    let settings = project.run(&["config", "--json"]).json();
    assert_eq!(
        ["evidence", "answer", "evidence_tokens", "cache"]
            .map(|name| settings[format!("filter.{name}")]["value"].to_string()),
        ["\"requirement\"", "\"paths\"", "12000", "false"]
    );
}

#[test]
fn a_repository_can_not_switch_the_filter() {
    let project = project();
    project.write(".forage.toml", "[filter]\ncache = true\nevidence = \"compact\"\n");
    let peer = Peer::start([says("src/retry.rs: it is")]);
    let run = search(&project, &peer, "", &[]);
    insta::assert_snapshot!(stable(&run.stderr));
    assert!(sent(&peer)[0].contains("\nFILE /"), "{run:?}");
}

#[test]
fn answers_are_cached_only_on_request() {
    let project = project();
    let cache = project.home.join(".cache");
    let twice = || Peer::start([says("src/retry.rs: it is"), says("src/retry.rs: it is")]);
    let peer = twice();
    search(&project, &peer, "", &[]);
    search(&project, &peer, "", &[]);
    assert_eq!((peer.requests().len(), cache.exists()), (2, false), "off by default");

    let peer = twice();
    let before = files(&project.root);
    let first = search(&project, &peer, "cache = true", &[]);
    let second = search(&project, &peer, "cache = true", &[]);
    assert_eq!(peer.requests().len(), 1, "{second:?}");
    assert!(
        second.stdout.contains("[answer from the cache, ") && !first.stdout.contains("from the cache"),
        "{second:?}"
    );
    let list = |text: &str| text.split("\n\n[").next().unwrap().to_owned();
    assert_eq!(list(&first.stdout), list(&second.stdout));
    assert_eq!(files(&project.root), before, "nothing is written into the repository");
    assert_eq!(files(&cache).len(), 1);

    // Another address is another model, even under the same name.
    let peer = twice();
    search(&project, &peer, "cache = true", &[]);
    assert_eq!(peer.requests().len(), 1);
}

#[cfg(unix)]
#[test]
fn a_cache_directory_within_the_root_is_not_used() {
    let project = project();
    let inside = project.root.join("cache");
    let link = project.home.join("link");
    std::os::unix::fs::symlink(&project.root, &link).unwrap();
    let mut all = String::new();
    for directory in [inside, link.join("cache")] {
        let peer = Peer::start([says("src/retry.rs: it is")]);
        let settings =
            format!("[filter]\ncache = true\n[[models]]\nmodel = \"small\"\nbase_url = \"{}\"\n", peer.url());
        project.configure(&settings);
        let before = files(&project.root);
        let environment = [("XDG_CACHE_HOME", directory.to_str().unwrap())];
        let run = project.run_in(&project.root, &["keyword", "q", "retry"], &environment);
        assert_eq!(run.status, 0, "{run:?}");
        all += &stable(&run.stderr);
        assert_eq!(files(&project.root), before);
    }
    insta::assert_snapshot!(all);
}

/// Lists all files in a directory, recursively.
fn files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
