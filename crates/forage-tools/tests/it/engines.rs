//! `Search` with external engines: the same answers, and programs that misbehave. The tests whose names begin
//! with an id are listed in `crates/forage/tests/requirements/search.md`. Note that forage-search tests the
//! behaviour of the engines on random trees.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use forage_base::Hint;
use forage_fuzz::peers::program;
use forage_search::{Pattern, PatternOptions};
use forage_tools::{EngineSetting, Program, Workspace};
use serde_json::{Value, json};

use crate::support::{
    CANARY, NEEDLE, OUTSIDE_NAME, Tree, answer, assert_sealed, call, leaking, refusal, with_engine, within,
};

/// Writes a program next to the root that replaces `rg` or `ugrep`.
pub(crate) fn fake(tree: &Tree, name: &str, script: &str) -> PathBuf {
    let directory = tree.outside().join("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn all_three(tree: &Tree) -> [Workspace; 3] {
    let external = |name: &str| with_engine(tree.workspace(), &[&program(name)]);
    [tree.workspace(), external("ugrep"), external("rg")]
}

fn sample() -> Tree {
    let tree = Tree::new();
    tree.write("a.txt", "needle one\nother\nNeedle two\nneedle_three\n");
    tree.write("b/2026-01-08-notes.md", "x\r\nneedle:3:x\r\nlast needle");
    tree.write("nl\n3:forged", "needle\n");
    tree.write("latin.txt", b"caf\xe9 needle\n");
    tree.write("-f", "needle in a file that is named like an option\n");
    tree
}

/// All engines must give the same answer, except for their own fields.
#[test]
fn one_request_has_one_answer() {
    forage_fuzz::needs!("rg", "ugrep");
    let tree = sample();
    for request in [
        json!({"pattern": "needle"}),
        json!({"pattern": "Needle", "context": 1}),
        json!({"pattern": "needle", "word_regexp": true, "case": "sensitive"}),
        json!({"pattern": "needle", "fixed_strings": true}),
        json!({"pattern": "n[e]+dle|other", "glob": ["*.txt"], "hidden": true}),
        json!({"pattern": "absent"}),
        json!({"pattern": "needle", "path": "b"}),
    ] {
        let answers = all_three(&tree).map(|workspace| answer(&workspace, "Search", request.clone()));
        for (other, engine) in answers[1..].iter().zip(["ugrep", "rg"]) {
            assert_eq!(other.records()["engine"], engine);
            assert!(other.records()["exit_code"].is_i64(), "{request}: {}", other.records().clone());
            assert_eq!(other.text, answers[0].text, "{engine} {request}");
            for (field, value) in answers[0].records().as_object().unwrap() {
                if !["engine", "elapsed_ms"].contains(&field.as_str()) {
                    assert_eq!(&other.records()[field], value, "{engine} {request} {field}");
                }
            }
        }
    }
}

/// If the limit truncates an answer, it must contain the same records with every engine. The number of files
/// that were read by then depends on the engine.
#[test]
fn one_request_is_cut_at_one_place() {
    forage_fuzz::needs!("rg", "ugrep");
    let tree = sample();
    for limit in 1..8 {
        let request = json!({"pattern": "needle", "context": 1, "max_results": limit});
        let answers =
            all_three(&tree).map(|workspace| answer(&workspace, "Search", request.clone()).records().clone());
        for other in &answers[1..] {
            for field in ["matches", "count", "match_count", "truncated", "next_cursor"] {
                assert_eq!(other[field], answers[0][field], "{} {limit} {field}", other["engine"]);
            }
        }
    }
}

/// NFR-LS-SEC-01: no engine may see files outside of the root, and each must show files inside.
#[test]
fn nfr_ls_sec_01_no_engine_leads_out_of_the_root() {
    forage_fuzz::needs!("rg", "ugrep");
    for name in ["embedded", "ugrep", "rg"] {
        let tree = Tree::with_outside_secrets();
        tree.write("open.txt", format!("{NEEDLE} {CANARY}\n"));
        let workspace = |tree: &Tree| match name {
            "embedded" => tree.workspace(),
            engine => with_engine(tree.workspace(), &[&program(engine)]),
        };
        // Positive control: a file inside the root is found.
        assert!(leaking(&workspace(&tree), "open.txt").contains(&"Search"), "{name}");
        std::fs::remove_file(tree.root().join("open.txt")).unwrap();
        tree.link("../outside", "directory");
        tree.link("../outside/data.txt", "file.txt");
        let outside = tree.outside().display().to_string();
        for path in ["directory", "file.txt", "directory/data.txt", "../outside", outside.as_str(), "."] {
            assert_sealed(&workspace(&tree), path);
        }
        let followed = json!({"pattern": NEEDLE, "follow": true, "hidden": true, "no_ignore": true});
        let found = answer(&workspace(&tree), "Search", followed);
        assert!(!found.text.contains(CANARY) && !found.text.contains(OUTSIDE_NAME), "{name}: {}", found.text);
        assert_eq!(found.records()["skipped"]["outside_root"], 2, "{name}: {}", found.records()["skipped"]);
    }
}

/// NFR-LS-SEC-02 and FR-LS-03: for every engine, text that a shell or an option parser would act on must be
/// data.
#[test]
fn nfr_ls_sec_02_patterns_globs_and_paths_are_data() {
    forage_fuzz::needs!("rg", "ugrep");
    let tree = sample();
    let canary = tree.outside().join("canary");
    let script = fake(&tree, "run", &format!("touch {}; cat", canary.display()));
    let touch = format!("touch {}", canary.display());
    let hostile: Vec<String> = vec![
        format!("--pre={}", script.display()),
        format!("--filter=*:{}", script.display()),
        format!("$({touch})"),
        format!("`{touch}`"),
        format!("'; {touch}; '"),
        format!("x | {touch}"),
        "-f/etc/passwd".to_owned(),
        "--file=/etc/passwd".to_owned(),
        "--".to_owned(),
        "-".to_owned(),
        "-e".to_owned(),
        "--help".to_owned(),
        "--version".to_owned(),
        "@/etc/passwd".to_owned(),
    ];
    tree.write("data.txt", hostile.join("\n"));
    for workspace in all_three(&tree) {
        for text in &hostile {
            // As a pattern, this text matches itself, and nothing else happens.
            let request = json!({"pattern": text, "fixed_strings": true, "path": "data.txt"});
            let found = answer(&workspace, "Search", request);
            let lines = found.records()["matches"].as_array().unwrap();
            let texts: Vec<&str> =
                lines.iter().map(|record| record["data"]["lines"]["text"].as_str().unwrap()).collect();
            assert!(texts.contains(&text.as_str()), "{text}: {}", found.text);
            assert!(texts.iter().all(|line| line.contains(text.as_str())), "{text}: {}", found.text);
            // As a glob, it selects no file, and as a path, it names none.
            let found = answer(
                &workspace,
                "Search",
                json!({"pattern": "needle", "glob": [text.replace(['{', '['], "")]}),
            );
            assert_eq!(found.records()["count"], 0, "{text}");
            assert!(
                refusal(&workspace, "Search", json!({"pattern": "needle", "path": format!("{text}/none")}))
                    .contains("path")
            );
        }
        assert!(refusal(&workspace, "Search", json!({"pattern": ""})).contains("empty"));
        // A file whose name looks like an option is searched like any other.
        assert_eq!(
            answer(&workspace, "Search", json!({"pattern": "needle in", "path": "-f"})).records()["count"],
            1
        );
    }
    assert!(!canary.exists());
    // Positive control: ripgrep does run the program if a pattern can be taken for an option.
    std::process::Command::new(program("rg"))
        .args(["--no-config", &format!("--pre={}", script.display()), "needle", "."])
        .current_dir(tree.root())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(canary.exists(), "the attack does not work even without the defence");
}

/// Counts the children of this process.
fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of_task = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default()
    };
    tasks.map(of_task).map(|children| children.split_whitespace().count()).sum()
}

/// T-LS-TMO-01 and FR-LS-07. This runs in a child process, so that we count only this test's own programs.
#[test]
fn t_ls_tmo_01_a_timeout_kills_the_process_and_its_children() {
    crate::support::in_child("engines::t_ls_tmo_01_a_timeout_kills_the_process_and_its_children", || {
        let tree = sample();
        let pids = tree.outside().join("pids");
        let script = format!(
            "trap '' TERM\nsh -c 'trap \"\" TERM; echo $$ >> {0}; sleep 1000' &\necho $$ >> {0}\nsleep 1000",
            pids.display()
        );
        let workspace = with_engine(tree.workspace(), &[&fake(&tree, "rg", &script)]);
        let started = Instant::now();
        let found = within(Duration::from_secs(10), "Search", move || {
            answer(&workspace, "Search", json!({"pattern": "needle", "timeout_ms": 500}))
        });
        let took = started.elapsed();
        assert_eq!(found.records()["timed_out"], true, "{}", found.text);
        assert!(found.partial() && found.text.contains("stopped at the time limit"), "{}", found.text);
        assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(8), "{took:?}");
        let pids = std::fs::read_to_string(pids).unwrap();
        assert!(pids.lines().count() >= 2, "the programs did not start: {pids}");
        for pid in pids.lines() {
            // A killed grandchild is reaped by its new parent, which may take a moment.
            let gone = || {
                !std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
            };
            let end = Instant::now() + Duration::from_secs(5);
            while !gone() && Instant::now() < end {
                std::thread::yield_now();
            }
            assert!(gone(), "{pid} is still there");
        }
        assert_eq!(children(), 0);
    });
}

/// Files that an engine received but did not answer for count as not searched. Facts that we could not check
/// are reported as unknown.
#[test]
fn partial_search_marks_its_counts() {
    let tree = Tree::new();
    for i in 0..60 {
        tree.write(format!("{i:02}.txt"), "needle\nother\n");
    }
    let searched = |script: &str, request: &Value| {
        let workspace = with_engine(tree.workspace(), &[&fake(&tree, "rg", script)]);
        let found = answer(&workspace, "Search", request.clone());
        let count = found.records()["files_searched"].as_u64().unwrap();
        (count, found.records()["not_searched"]["complete"].clone(), found.records()["truncated_by"].clone())
    };
    let request = json!({"pattern": "needle", "timeout_ms": 2_000, "max_results": 1000});
    let lines = |files: u64| (0..files).map(|file| format!("echo {}:x\n", 2 * file + 1)).collect::<String>();
    let cases = [
        ("sleep 1000".to_owned(), 0..=0),
        // The file of the last line may have more lines, and this line itself may be incomplete.
        (format!("{}sleep 1000", lines(1)), 0..=0),
        (format!("{}sleep 1000", lines(21)), 1..=20),
    ];
    for (script, files) in cases {
        let (count, complete, cut) = searched(&script, &request);
        assert!(files.contains(&count), "{count} by {script}");
        assert_eq!((complete, cut), (json!(false), json!("timeout")), "{script}");
    }
    // Positive controls: an engine that answers, and one that finds nothing. In both cases everything was
    // searched.
    assert_eq!(searched(&lines(60), &request), (60, json!(false), json!(null)));
    assert_eq!(searched("exit 1", &request), (60, json!(true), json!(null)));

    // The embedded engine is stopped in the middle of the only file.
    let tree = Tree::new();
    tree.write("a.txt", vec![b'a'; 4 << 20]);
    let slow = format!("(?i){}b?c", "a".repeat(16_000));
    for tool in ["Search", "grep_search"] {
        // This is enough time to compile the pattern, however busy the machine is, but far less than the
        // search takes.
        let began = Instant::now();
        Pattern::new(&slow, &PatternOptions::default()).unwrap();
        let mut workspace = tree.workspace();
        workspace.limits.timeout = (5 * began.elapsed()).max(Duration::from_millis(300));
        let found = answer(&workspace, tool, json!({"pattern": slow}));
        let [searched, complete, cut, error] = ["files_searched", "not_searched", "truncated_by", "error"]
            .map(|field| found.records()[field].clone());
        assert_eq!((searched, cut), (json!(0), json!("timeout")), "{tool}");
        assert_eq!(complete["complete"], false, "{tool}");
        assert_eq!(error, "the search ended before anything was found; give it more time", "{tool}");
        assert_eq!(found.problem.as_ref().map(|problem| problem.text.as_str()), error.as_str());
    }
}

/// The embedded engine also ends by its deadline and returns its results.
#[test]
fn fr_ls_07_what_was_found_by_the_deadline_is_returned() {
    let tree = Tree::new();
    let line = format!("{}\n", "a".repeat(2_000));
    tree.write("a.txt", "needle\n");
    for i in 0..60 {
        tree.write(format!("b{i}.txt"), line.repeat(2_000));
    }
    let mut workspace = tree.workspace();
    workspace.limits.threads = 1;
    // This is slow on purpose: the pattern has no literal, and a match that fails late begins at every
    // position.
    let within = |ms: u64| {
        let request = json!({"pattern": "needle|(?:a.?){40}[bc]x", "timeout_ms": ms, "fuzzy": 2});
        call(&workspace, "Search", request).ok()
    };
    // On a busy machine, compiling the pattern can take longer than a short limit.
    let found = [100, 400, 1_600, 6_400, 25_600].into_iter().find_map(within).unwrap();
    assert_eq!(
        (&found.records()["timed_out"], &found.records()["truncated_by"]),
        (&json!(true), &json!("timeout")),
        "{}",
        found.text
    );
    // A search that did not finish can't know if there is more.
    assert_eq!(found.records()["truncated"], false);
    assert_eq!(found.records()["matches"][0]["data"]["path"]["text"], "a.txt");
}

/// The deadline must also end a search in the middle of a line. Here the line has several megabytes and is
/// one non-ASCII word, so that only the slowest method can tell that no whole word is near.
#[test]
fn fr_ls_07_a_deadline_ends_a_fuzzy_search_within_a_line() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\n");
    tree.write("b.txt", format!("é{}", "abcdef".repeat(1_300_000)));
    let workspace = tree.workspace();
    let request = json!({
        "pattern": "needle|abcdefabcdefabcdefabcdef", "timeout_ms": 2_000, "fuzzy": 4, "word_regexp": true
    });
    let started = Instant::now();
    let found = answer(&workspace, "Search", request);
    let took = started.elapsed();
    assert_eq!(found.records()["timed_out"], true, "{}", found.text);
    assert_eq!(found.records()["matches"][0]["data"]["path"]["text"], "a.txt");
    // This leaves room for a busy machine.
    assert!(took < Duration::from_secs(15), "{took:?}");
}

/// FR-LS-03: the program gets its arguments unchanged, an empty environment, no stdin and no file name.
#[test]
fn fr_ls_03_the_process_is_started_without_a_shell() {
    let tree = sample();
    let seen = tree.outside().join("seen");
    let script = format!(
        "{{ for a in \"$@\"; do printf '[%s]' \"$a\"; done; echo; env; pwd; readlink /proc/self/fd/0; }} > {}; exit 1",
        seen.display()
    );
    for (name, request, expected) in [
        ("rg", json!({"pattern": "a b'c\"$d", "fixed_strings": true}), "[--no-config]"),
        ("ugrep", json!({"pattern": "a b'c\"$d", "fixed_strings": true}), "[--fixed-strings]"),
    ] {
        let workspace = with_engine(tree.workspace(), &[&fake(&tree, name, &script)]);
        answer(&workspace, "Search", request);
        let seen = std::fs::read_to_string(&seen).unwrap();
        let mut lines = seen.lines();
        let arguments = lines.next().unwrap();
        assert!(arguments.contains(expected) || name == "ugrep", "{arguments}");
        assert!(arguments.contains("[-e][") && arguments.contains("][--][/proc/self/fd/"), "{arguments}");
        for hidden in ["a.txt", "notes", "HOME=", "FORAGE", "CARGO", "LD_"] {
            assert!(!seen.contains(hidden), "{hidden} in {seen}");
        }
        assert!(seen.lines().any(|line| line == "/dev/null"), "{seen}");
    }
}

#[test]
fn an_engine_that_fails_is_an_error_and_never_an_empty_answer() {
    let tree = sample();
    for (script, expected) in [
        ("exit 2", "exit code 2"),
        ("echo broken >&2; exit 101", "broken"),
        ("kill -SEGV $$", "signal"),
        ("echo 'error: regex parse error' >&2; exit 2", "`pattern`"),
    ] {
        let workspace = with_engine(tree.workspace(), &[&fake(&tree, "rg", script)]);
        let error = refusal(&workspace, "Search", json!({"pattern": "needle"}));
        assert!(error.contains(expected), "{script}: {error}");
    }
    // If there are results before the failure, the answer is partial and says so.
    let workspace = with_engine(tree.workspace(), &[&fake(&tree, "rg", "echo 2:x; echo odd >&2; exit 2")]);
    let found = answer(&workspace, "Search", json!({"pattern": "needle"}));
    assert!(found.records()["count"].as_u64().unwrap() >= 1, "{}", found.records().clone());
    assert_eq!(found.records()["exit_code"], 2);
    assert!(found.records()["stderr"].as_str().unwrap().contains("odd"), "{}", found.records().clone());
    assert!(found.partial() && found.records()["truncated_by"] == "engine", "{}", found.records().clone());
    // However many warnings a repository causes, this one comes first.
    for i in 0..40 {
        tree.write(format!("{i}/.ignore"), "{a\n");
    }
    let found = answer(&workspace, "Search", json!({"pattern": "needle"}));
    assert!(found.text.contains("some may be missing"), "{}", found.text);
    assert!(found.text.contains("the engine failed: the results are partial"), "{}", found.text);
}

#[test]
fn missing_engine_falls_back_to_the_other() {
    forage_fuzz::needs!("rg");
    let tree = sample();
    let roots = [tree.root()];
    let roots: Vec<&std::path::Path> = roots.iter().map(PathBuf::as_path).collect();
    let resolve = |name: &str| Program::resolve(name.as_ref(), &[PathBuf::from("/nowhere")], &roots);
    let missing = vec![resolve("ugrep").unwrap_err().to_string()];
    let rg = Program::resolve(&program("rg"), &[], &roots).unwrap();
    let mut workspace = tree.workspace();
    workspace.search.engine = EngineSetting::External { programs: vec![rg], missing: missing.clone() };
    let found = answer(&workspace, "Search", json!({"pattern": "needle"}));
    assert_eq!(found.records()["engine"], "rg");
    let warning = found.records()["warnings"][0].as_str().unwrap();
    assert!(warning.contains("`ugrep` was not found") && warning.ends_with("; rg searched"), "{warning}");
    // ripgrep can't replace ugrep for a fuzzy search.
    let error = call(&workspace, "Search", json!({"pattern": "needle", "fuzzy": 1}));
    let error = error.map(|answer| answer.text).unwrap_err();
    assert!(error.to_string().contains("rg has no fuzzy search"), "{error}");
    assert_eq!(error.hint(), Some(Hint::EmbeddedEngine));
    workspace.search.engine = EngineSetting::External { programs: Vec::new(), missing };
    let error =
        call(&workspace, "Search", json!({"pattern": "needle"})).map(|answer| answer.text).unwrap_err();
    // The hint gives the advice, so the message has none.
    assert_eq!(
        error.to_string(),
        "no external search engine can be used: `ugrep` was not found in the absolute directories of the search path \
         (1 of them)"
    );
    assert_eq!(error.hint(), Some(Hint::EmbeddedEngine));
    assert!(resolve("ug").unwrap_err().to_string().contains(".ugrep"));
}

/// IT-LS-FZ-01 with ugrep: its lines, our positions and distances.
#[test]
fn it_ls_fz_01_ugrep_finds_approximate_matches() {
    forage_fuzz::needs!("ugrep");
    let tree = Tree::new();
    tree.write("a.txt", "retry_count\nretry_cuont\nretri_count\nnothing\n");
    let workspace = with_engine(tree.workspace(), &[&program("ugrep")]);
    let found = answer(&workspace, "Search", json!({"pattern": "retry_count", "fuzzy": 1})).records().clone();
    let seen = |record: &Value| (record["data"]["line_number"].as_u64(), record["data"]["distance"].as_u64());
    let seen: Vec<_> = found["matches"].as_array().unwrap().iter().map(seen).collect();
    assert_eq!(seen, [(Some(1), Some(0)), (Some(3), Some(1))]);
}
