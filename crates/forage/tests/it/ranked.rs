//! `forage rank` and its stored index. It must rank like an index that was built for this one call, whatever
//! happens to the tree, the index files or the processes that write them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Project;
use crate::eval::git;
#[cfg(unix)]
use crate::support::{line_with, stable};

/// Time after which files are no longer compared by their content.
const SETTLED: Duration = Duration::from_millis(2_100);

const QUERIES: [&[&str]; 4] = [
    &["how", "is", "a", "session", "opened"],
    &["Router"],
    &["-g", "*.rs", "parse header"],
    &["\"route path\""],
];

fn project() -> Project {
    let project = Project::new(&[
        (".gitignore", "ignored\n"),
        ("ignored/router.rs", "struct Router;\n"),
        (
            "src/router.rs",
            "/// Routes.\npub struct Router;\n\nfn route(path: &str) {\n    // route path\n}\n",
        ),
        ("src/session.py", "class Session:\n    def open(self, router):\n        return Router(router)\n"),
        ("README.md", "# Router\n\nOpens a session, parses the header.\n"),
    ]);
    for number in 0..40 {
        project.write(
            &format!("d{}/parse_{number}.rs", number % 7),
            &format!("fn parse_header_{number}() {{ route(path); session({number}) }}\n"),
        );
    }
    project
}

/// Returns the directory of the engine's files.
fn directory(project: &Project) -> PathBuf {
    let indexes = project.home.join(".cache/forage/index");
    fs::read_dir(indexes).unwrap().next().unwrap().unwrap().path().join("ranked-forage_encoded_12")
}

/// Runs the queries. Returns the answers without times and notes.
fn ranked(project: &Project, environment: &[(&str, &str)]) -> Vec<Value> {
    let ask = |query: &&[&str]| {
        let arguments = [&["rank", "--json", "-m", "100"], *query].concat();
        let run = project.run_in(&project.root, &arguments, environment);
        assert_eq!(run.status, 0, "{run:?}");
        let mut records = run.json();
        let fields = records.as_object_mut().unwrap();
        fields.remove("elapsed_ms");
        fields.remove("warnings");
        records
    };
    QUERIES.iter().map(ask).collect()
}

fn assert_equal(project: &Project, what: &str) {
    assert_eq!(ranked(project, &[]), ranked(project, &[("FORAGE_INDEX", "off")]), "{what}");
}

fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forage"));
    command.args(arguments).current_dir(&project.root).env_clear().env("HOME", &project.home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn first_use_builds_the_index_and_later_ones_update_it() {
    let project = project();
    let run = project.run(&["rank", "Router"]);
    assert_eq!((run.status, run.stdout.lines().nth(2)), (0, Some("src/router.rs")), "{run:?}");
    let made = fs::metadata(directory(&project).join("manifest")).unwrap().modified().unwrap();
    assert_equal(&project, "as made");
    assert_eq!(fs::metadata(directory(&project).join("manifest")).unwrap().modified().unwrap(), made);

    project.write("src/session.py", "class Other:\n    pass\n");
    project.write("src/new_router.rs", "pub struct NewRouter;\n");
    fs::remove_file(project.root.join("d0/parse_0.rs")).unwrap();
    fs::rename(project.root.join("d1"), project.root.join("moved")).unwrap();
    assert_equal(&project, "changed");
    project.write(".gitignore", "ignored\nmoved\n");
    assert_equal(&project, "ignored");
    std::thread::sleep(SETTLED);
    assert_equal(&project, "settled");
    assert_equal(&project, "settled and written down");

    // Nothing may be written into the tree.
    let mut names: Vec<_> = fs::read_dir(&project.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [".git", ".gitignore", "README.md", "d0", "d2", "d3", "d4", "d5", "d6", "ignored", "moved", "src"]
    );
    let run = project.run(&["index", "drop", "--json"]);
    assert_eq!((run.status, run.json()["removed"].clone()), (0, json!(true)));
    assert!(!directory(&project).exists());
    assert_equal(&project, "removed");
}

#[test]
fn ranking_after_history_changes_equals_fresh_index() {
    let project = project();
    let git_with = |arguments: &[&str]| git(&project, arguments);
    let git = |arguments: &str| git_with(&arguments.split(' ').collect::<Vec<_>>());
    let commit = |message: &str| {
        git("add -A");
        git_with(&["commit", "-q", "--allow-empty", "-m", message])
    };
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    git("init -q -b main");
    commit("All of it");
    // This is one of forty similar files.
    for number in 0..8 {
        let text = format!("fn parse_header_31() {{ route(path); session({number}) }}\n");
        project.write("d3/parse_31.rs", &text);
        commit("The gateway does not answer when the dialtone is lost");
        project.write("d5/parse_5.rs", &text.replace("31", "5"));
        commit("Count from one");
    }
    assert_equal(&project, "as made");
    let first = |arguments: &[&str]| {
        let query = &["rank", "--json", "parse", "header", "dialtone", "lost"][..];
        project.run(&[query, arguments].concat()).json()["files"][0]["path"].clone()
    };
    assert_eq!(first(&[]), "d3/parse_31.rs");
    assert_ne!(first(&["--no-history"]), "d3/parse_31.rs");
    project.write("d1/parse_1.rs", "fn parse_header_1() { route(path); dial() }\n");
    commit("Parse what a session says of the dialtone");
    assert_equal(&project, "one more commit");
    git("checkout -q HEAD~9");
    assert_equal(&project, "an older one");
    git("checkout -q main");
    git("reset -q --hard HEAD~3");
    commit("Rewritten");
    assert_equal(&project, "a rewritten history");
    git("gc -q --prune=now");
    assert_equal(&project, "packed");
    project.write("src/router.rs", "pub struct Router(session);\n");
    assert_equal(&project, "a change that is not committed");
    fs::rename(project.root.join(".git"), project.root.join(".git-elsewhere")).unwrap();
    fs::create_dir(project.root.join(".git")).unwrap();
    assert_equal(&project, "no history");
    assert_ne!(first(&[]), "d3/parse_31.rs");
}

#[test]
fn no_result_and_low_confidence_are_reported() {
    let project = project();
    let cases = [
        &["rank", "xyzzy", "frobnicate"][..],
        &["rank", "router of quantum entanglement and photons"],
        &["rank", "-t", "klingon", "router"],
    ];
    insta::assert_snapshot!(cases.map(|arguments| project.run(arguments).shown()).join("\n"));
}

#[test]
fn paths_alone_lead_to_files_from_here() {
    let project = project();
    let run = project.run(&["rank", "-l", "router"]);
    let paths: Vec<&str> = run.stdout.lines().collect();
    assert!(paths.len() > 1 && paths.iter().all(|path| project.root.join(path).is_file()), "{run:?}");
}

#[test]
fn a_damaged_index_is_made_anew() {
    let project = project();
    ranked(&project, &[]);
    let files = |project: &Project| -> Vec<PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(directory(project)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    };
    for index in 0..files(&project).len() {
        for damage in 0..4 {
            // Take any file by its position, since the names change when the index is rebuilt.
            let Some(path) = files(&project).get(index).cloned() else { continue };
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                0 => bytes.clear(),
                1 => bytes.truncate(bytes.len() / 2),
                2 => bytes.extend(b"more"),
                _ => {
                    let middle = bytes.len() / 3;
                    bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 0x11);
                }
            }
            fs::write(&path, bytes).unwrap();
            let name = format!("{} {damage}", path.display());
            assert_eq!(
                ranked(&project, &[])[..2],
                ranked(&project, &[("FORAGE_INDEX", "off")])[..2],
                "{name}"
            );
        }
        if let Some(path) = files(&project).get(index).cloned() {
            fs::remove_file(&path).unwrap();
            assert_equal(&project, &format!("{} is gone", path.display()));
        }
    }
}

/// Tests updates that are killed at any time, and concurrent updates.
#[cfg(unix)]
#[test]
fn killed_and_simultaneous_updates_leave_no_wrong_index() {
    let project = project();
    let mut killed = 0;
    for round in 0..60_u32 {
        project.write(
            &format!("d{}/f{}.rs", round % 7, round % 9),
            &format!("fn route_{round}(session: Header) {{ parse(path) }}\n"),
        );
        if round % 20 == 19 {
            project.run(&["index", "drop"]);
        }
        let mut updates: Vec<_> =
            (0..1 + round % 3).map(|_| command(&project, &["rank", "Router"]).spawn().unwrap()).collect();
        std::thread::sleep(Duration::from_micros(u64::from(round * 7_919 % 60_000)));
        for update in updates.iter_mut().skip(usize::from(round % 2 == 0)) {
            update.kill().unwrap();
        }
        if round % 4 == 0 {
            assert_equal(&project, &format!("round {round}, meanwhile"));
        }
        for mut update in updates {
            killed += u32::from(!update.wait().unwrap().success());
        }
        if round % 4 == 1 {
            assert_equal(&project, &format!("round {round}, afterwards"));
        }
    }
    assert!(killed > 10, "{killed} updates were killed");
}

#[cfg(unix)]
#[test]
fn without_a_place_for_it_every_call_makes_its_own() {
    let project = project();
    let inside = project.root.join("cache");
    let inside = inside.to_str().unwrap();
    let off = ranked(&project, &[("FORAGE_INDEX", "off")]);
    for cache in ["/dev/null", inside] {
        assert_eq!(ranked(&project, &[("XDG_CACHE_HOME", cache)]), off, "{cache}");
    }
    let run = project.run_in(&project.root, &["rank", "Router"], &[("XDG_CACHE_HOME", "/dev/null")]);
    insta::assert_snapshot!(stable(line_with(&run.stdout, "can't be saved")));
    assert!(!project.root.join("cache").exists());
}

/// Simulates a full disk for one process. Its files can't grow beyond a few kilobytes.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_makes_no_answer_wrong() {
    let project = project();
    for number in 0..300 {
        project.write(&format!("more/{number}.rs"), &format!("fn text_{}_{number}() {{}}\n", number * 7919));
    }
    let rank = |kilobytes: u32| {
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" rank --json Router", kilobytes * 2);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_forage")]).current_dir(&project.root);
        let output = command.env_clear().env("HOME", &project.home).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let records: Value = serde_json::from_slice(&output.stdout).unwrap();
        (records["files"].clone(), records["warnings"].to_string())
    };
    let (files, warnings) = rank(4);
    assert!(warnings.contains("can't be saved"), "{warnings}");
    // Any file of the engine may be the one that does not fit. With some sizes the engine panics.
    for kilobytes in [1, 2, 8, 16, 24, 32, 48, 64, 96, 128] {
        assert_eq!(rank(kilobytes).0, files, "{kilobytes} KB");
    }
    assert_eq!(rank(1 << 20).0, files);
    project.write("src/router.rs", "pub struct Other;\n");
    let (changed, warnings) = rank(4);
    assert!(warnings.contains("can't be saved") || changed != files, "{warnings}");
    assert_equal(&project, "when there is room again");
}

/// Stdout has only paths, so the reason must be on stderr.
#[test]
fn paths_without_a_result_leave_a_note() {
    let project = project();
    project.write("vendor/router.rs", "struct Elsewhere;\n");
    project.configure("[search]\nexclude = [\"vendor\"]\n");
    let cases = [&["rank", "-l", "zzyzx"][..], &["rank", "-l", "-p", "vendor", "Elsewhere"]];
    insta::assert_snapshot!(cases.map(|arguments| project.run(arguments).shown()).join("\n"));
    let found = project.run(&["rank", "-l", "Router"]);
    assert!(found.status == 0 && found.stderr.is_empty(), "{found:?}");
}

#[test]
fn a_pasted_report_has_a_title_on_one_line() {
    let run = project().run_fed(&["rank", "-"], b"parse_header fails\r\nin the Router\n");
    assert_eq!(run.stdout.matches("for `parse_header fails in the Router`").count(), 1, "{run:?}");
}
