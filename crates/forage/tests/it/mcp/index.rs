//! Compares a server that builds an index while it runs with one that has none.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::wire::Pipes;
use super::{PATIENCE, REVISIONS, call, is_stateless, project, text};
use crate::Project;
use crate::eval::git;
use crate::support::line_with;

const REVISION: &str = "2026-07-28";

#[test]
fn a_server_with_an_index_answers_as_one_without() {
    let project = Project::new(&[]);
    for number in 0..300 {
        let word = if number % 50 == 0 { "needle" } else { "nothing" };
        project.write(&format!("d{}/f{number}.txt", number % 7), &format!("{word} {number}\nretry\n"));
    }
    // Wait until the files are old enough to be indexed.
    std::thread::sleep(Duration::from_millis(2_100));
    let mut with = Pipes::start_with(&project, &[], &[("FORAGE_INDEX", "always")]);
    let mut without = Pipes::start_with(&project, &[], &[("FORAGE_INDEX", "off")]);
    // If the first build takes longer than a call waits, it continues in the background.
    let ask = call(REVISION, 0, "search_index", json!({ "query": "needle", "code_tokens": 0 }));
    let started = Instant::now();
    without.ask(&ask);
    while text(&with.ask(&ask)).0.contains("the ranked index is being built") {
        assert!(started.elapsed() < PATIENCE, "the server makes no ranked index");
    }
    let mut id = 0;
    let mut compare = |what: &str| {
        for (tool, arguments) in [
            ("grep_search", json!({ "pattern": "needle \\d+" })),
            ("grep_search", json!({ "pattern": "changed in round", "max_results": 3 })),
            ("list_directory", json!({ "path": "d1" })),
            ("search_index", json!({ "query": "needle changed in round", "limit": 50 })),
        ] {
            id += 1;
            let message = call(REVISION, id, tool, arguments);
            let answers = [&mut with, &mut without].map(|server| server.ask(&message));
            assert_eq!(text(&answers[0]), text(&answers[1]), "{what}");
        }
    };
    compare("at the start");
    let indexes = project.home.join(".cache/forage/index");
    let is_made = || {
        let mut directories = fs::read_dir(&indexes).into_iter().flatten().flatten();
        directories.any(|directory| directory.path().join("base").exists())
    };
    let started = Instant::now();
    while !is_made() {
        assert!(started.elapsed() < PATIENCE, "the server makes no index");
        std::thread::sleep(Duration::from_millis(20));
    }
    for round in 0..60 {
        let path = project.root.join(format!("d{}/f{}.txt", round % 7, round * 8));
        let old = fs::metadata(&path).and_then(|file| file.modified());
        match (round % 4, old) {
            (0, Ok(old)) => {
                // Only the content changes. The length and the modification time stay the same.
                let length = fs::metadata(&path).unwrap().len() as usize;
                fs::write(&path, format!("{:length$}", "needle 1").get(..length).unwrap()).unwrap();
                fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
            }
            (1, Ok(_)) => fs::remove_file(&path).unwrap(),
            (2, Ok(_)) => fs::rename(&path, project.root.join(format!("d0/moved{round}.txt"))).unwrap(),
            _ => fs::write(&path, format!("needle {round}\nchanged in round {round}\n")).unwrap(),
        }
        compare(&format!("round {round}"));
    }
    // The sandbox must not prevent the server from watching the tree.
    #[cfg(target_os = "linux")]
    {
        let watches = |file: std::io::Result<fs::DirEntry>| {
            fs::read_to_string(file.unwrap().path()).map_or(0, |text| text.matches("inotify wd:").count())
        };
        let files = fs::read_dir(format!("/proc/{}/fdinfo", with.server.child.id())).unwrap();
        let watches: usize = files.map(watches).sum();
        assert!(watches >= 8, "{watches} watches");
    }
}

/// A long-running server must know the same commits as an index that is built for each call, from its first
/// query on.
#[test]
fn server_history_ranking_equals_a_fresh_index() {
    let project = Project::new(&[]);
    let run = |arguments: &str| git(&project, &arguments.split(' ').collect::<Vec<_>>());
    let commit = |message: &str| {
        run("add -A");
        git(&project, &["commit", "-q", "--allow-empty", "-m", message]);
    };
    let write = |number: usize, body: usize| {
        let text = format!("pub fn parse_header_{number}() {{ session({body}); }}\n");
        project.write(&format!("d{}/f{number}.rs", number % 5), &text);
    };
    run("init -q -b main");
    (0..60).for_each(|number| write(number, 0));
    commit("All of it");
    for body in 1..6 {
        write(31, body);
        commit("The gateway does not answer when the dialtone is lost");
        write(5, body);
        commit("Count from one");
    }
    let mut with = Pipes::start_with(&project, &[], &[("FORAGE_INDEX", "always")]);
    let mut without = Pipes::start_with(&project, &[], &[("FORAGE_INDEX", "off")]);
    let mut id = 0;
    let mut firsts = Vec::new();
    let mut compare = |what: &str| {
        for query in ["parse header when the dialtone is lost", "header of the modem"] {
            id += 1;
            let arguments = json!({ "query": query, "limit": 20, "code_tokens": 0, "explain": true });
            let message = call(REVISION, id, "search_index", arguments);
            let answers = [&mut with, &mut without].map(|server| server.ask(&message));
            assert_eq!(text(&answers[0]), text(&answers[1]), "{what}: {query}");
            let is_path = |line: &&str| line.contains(".rs");
            firsts.push(text(&answers[0]).0.lines().find(is_path).unwrap_or_default().to_owned());
        }
    };
    let modem = |number: usize| {
        write(number, 100 + number);
        commit("Reset the modem where its header is cut");
    };
    let steps: [(&str, &dyn Fn()); 14] = [
        ("as made", &|| ()),
        ("a commit", &|| modem(17)),
        ("amended", &|| drop(run("commit -q --amend -m Renamed"))),
        ("a change that is not committed", &|| write(18, 7)),
        ("committed", &|| commit("Parse what the modem says")),
        ("an older one", &|| drop(run("checkout -q -b side HEAD~9"))),
        ("another branch", &|| modem(40)),
        ("merged", &|| drop(run("merge -q --no-edit main"))),
        ("back", &|| drop(run("checkout -q main"))),
        ("rebased", &|| drop(run("rebase -q --force-rebase HEAD~5"))),
        ("packed", &|| drop(run("gc -q --prune=now"))),
        ("reset", &|| drop(run("reset -q --hard HEAD~3"))),
        ("shallow", &|| project.write(".git/shallow", &(run("rev-parse HEAD~4") + "\n"))),
        ("none", &|| fs::rename(project.root.join(".git"), project.home.join("elsewhere")).unwrap()),
    ];
    for (what, step) in steps {
        step();
        compare(what);
    }
    // The history must decide the ranking, or equal answers would prove nothing. The relevant commits exist
    // at first, but not at the end.
    let of_dialtone: Vec<_> = firsts.iter().step_by(2).collect();
    assert!(of_dialtone[0].contains("f31.rs"), "{of_dialtone:?}");
    assert!(!of_dialtone[steps.len() - 1].contains("f31.rs"), "{of_dialtone:?}");
    let of_modem: Vec<_> = firsts.iter().skip(1).step_by(2).collect();
    assert!(of_modem[1].contains("f17.rs") && of_modem[6].contains("f40.rs"), "{of_modem:?}");
}

/// No event shows a server that a mapped file has changed.
#[cfg(target_os = "linux")]
#[test]
fn a_server_finds_at_once_what_is_stored_through_a_mapping() {
    let project = Project::new_in(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")), &[]);
    for number in 0..100 {
        project.write(&format!("d{}/f{number}.txt", number % 7), &format!("text {number}\n"));
    }
    let mut mapped = crate::mapped::MappedFile::new(project.root.join("d1/mapped.txt"));
    mapped.store("before the index");
    std::thread::sleep(Duration::from_millis(2_300));
    let mut server = Pipes::start_with(&project, &[], &[("FORAGE_INDEX", "always")]);
    let mut id = 0;
    let mut found = |pattern: &str| {
        id += 1;
        let answer = server.ask(&call(REVISION, id, "grep_search", json!({ "pattern": pattern })));
        text(&answer).0.lines().nth(2) == Some("d1/mapped.txt:")
    };
    assert!(found("before the index"));
    let indexes = project.home.join(".cache/forage/index");
    let is_made = || {
        let mut directories = fs::read_dir(&indexes).into_iter().flatten().flatten();
        directories.any(|directory| directory.path().join("directories").exists())
    };
    let started = Instant::now();
    while !is_made() {
        assert!(started.elapsed() < PATIENCE, "the server makes no index");
        std::thread::sleep(Duration::from_millis(20));
    }
    for round in 0..40 {
        let needle = format!("needle of round {round}.");
        mapped.store(&needle);
        assert!(found(&needle), "round {round}");
        // After this, some files are old enough for the index, and others are not.
        std::thread::sleep(Duration::from_millis(if round % 10 == 9 { 2_300 } else { 30 }));
    }
}

#[test]
fn code_is_shown_once_in_a_connection() {
    let project = project();
    for revision in REVISIONS {
        let mut pipes = Pipes::connect(&project, &[], revision);
        let mut ask = |id| {
            let message = call(revision, id, "search_index", json!({ "query": "retry", "code_tokens": 500 }));
            text(&pipes.ask(&message)).0.to_owned()
        };
        let (first, second) = (ask(1), ask(2));
        assert_eq!(line_with(&first, "src/retry.rs"), "@@ src/retry.rs 1-4");
        // Requests without a connection may come from several agents.
        let earlier = if is_stateless(revision) { "" } else { ": shown earlier, unchanged" };
        assert_eq!(line_with(&second, "src/retry.rs"), format!("@@ src/retry.rs 1-4{earlier}"), "{revision}");
    }
}
