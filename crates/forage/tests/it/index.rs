//! `forage index`, and searches with the index that it builds.

use std::fs;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::{Command, Stdio};
use std::time::Duration;

use forage_search::index::{Content, IndexedFile, PartEnd, Segment, SegmentBuilder, SegmentPart, Trigrams};
use serde_json::{Value, json};

use crate::{Project, Run};

/// Time after which files are old enough to be indexed.
const SETTLED: Duration = Duration::from_millis(2_100);

fn project() -> Project {
    let project = Project::new(&[(".gitignore", "ignored\n"), ("ignored/a.txt", "needle\n")]);
    for number in 0..60 {
        let word = if number % 9 == 0 { "needle" } else { "nothing" };
        project.write(&format!("d{}/f{number}.txt", number % 7), &format!("first\n{word} {number}\nretry\n"));
    }
    project.write("d0/binary", "a\0b");
    std::thread::sleep(SETTLED);
    project
}

/// Finds the directory of the only index.
fn directory(project: &Project) -> PathBuf {
    let indexes = project.home.join(".cache/forage/index");
    fs::read_dir(indexes).unwrap().next().unwrap().unwrap().path()
}

/// Runs searches whose output must be the same with and without the index.
fn searched(project: &Project, environment: &[(&str, &str)]) -> Vec<(i32, String)> {
    let searches: [&[&str]; 7] = [
        &["grep", "-n", "needle [0-9]*"],
        &["call", "grep_search", "{\"pattern\": \"needle\"}"],
        &["grep", "NEEDLE [0-9]+", "-i", "-m", "3"],
        &["grep", "no such text"],
        &["search", "-Z", "1", "neddle"],
        &["keyword", "--filter", "lexical", "where is it", "needle", "retry"],
        &["list", "-d", "3"],
    ];
    let run = |arguments: &&[&str]| project.run_in(&project.root, arguments, environment);
    searches.iter().map(run).map(|Run { status, stdout, .. }| (status, stdout)).collect()
}

fn assert_equal(project: &Project, what: &str) {
    // A search of a small tree may end before the index is ready. This can't happen if the search must wait
    // for the index or lists all matches.
    let with = searched(project, &[("FORAGE_INDEX", "always")]);
    assert_eq!(with, searched(project, &[]), "{what}");
    assert_eq!(with, searched(project, &[("FORAGE_INDEX", "off")]), "{what}");
}

fn index(project: &Project, command: &str) -> Value {
    let run = project.run(&["index", command, "--json"]);
    assert_eq!(run.status, 0, "{run:?}");
    run.json()
}

#[test]
fn an_index_is_built_used_updated_checked_and_removed() {
    let project = project();
    assert_eq!(project.run(&["index", "status"]).status, 1);
    assert_eq!(project.run(&["index", "verify"]).status, 2);
    assert_eq!(index(&project, "build")["files_read"], 62);
    let status = index(&project, "status");
    assert_eq!(status["files"], json!({ "as_indexed": 61, "all": 61 }), "{status}");
    assert_equal(&project, "as built");
    assert_eq!(index(&project, "verify")["equal"], true);

    project.write("d1/f1.txt", "now a needle\n");
    fs::remove_file(project.root.join("d0/f0.txt")).unwrap();
    assert_equal(&project, "changed");
    assert_eq!(index(&project, "status")["files"], json!({ "as_indexed": 59, "all": 60 }));
    std::thread::sleep(SETTLED);
    assert_eq!(index(&project, "build")["files_read"], 1);
    assert_eq!(index(&project, "status")["files"], json!({ "as_indexed": 60, "all": 60 }));
    assert_equal(&project, "updated");
    // Only the user may read the index, and nothing may be written into the tree.
    #[cfg(unix)]
    for file in fs::read_dir(directory(&project)).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{file:?}");
    }
    let names: Vec<_> =
        fs::read_dir(&project.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 10, "{names:?}");

    assert_eq!(index(&project, "drop")["removed"], true);
    assert_eq!(project.run(&["index", "drop"]).status, 1);
    assert_equal(&project, "removed");
}

#[test]
fn a_damaged_index_costs_time_and_changes_nothing() {
    let project = project();
    for (round, name) in ["base", "changes", "directories", "root", "lock"].into_iter().enumerate() {
        index(&project, "build");
        project.write("d2/f2.txt", &format!("now {round} is a needle\n"));
        std::thread::sleep(SETTLED);
        index(&project, "build");
        let path = directory(&project).join(name);
        let whole = fs::read(&path).unwrap();
        for damaged in damages(&whole) {
            fs::write(&path, damaged).unwrap();
            assert_equal(&project, name);
        }
        // A build replaces the damaged index.
        index(&project, "build");
        assert_eq!(index(&project, "verify")["equal"], true, "{name}");
        fs::write(&path, &whole).unwrap();
    }
}

/// Tests a file that changes without a change of its state. We know of no real file that does so.
#[test]
fn index_verify_finds_a_wrong_index() {
    let project = project();
    index(&project, "build");
    assert_eq!(index(&project, "verify")["files"], 62);
    let base = directory(&project).join("base");
    let right = Segment::open(fs::read(&base).unwrap()).unwrap();
    let mut wrong = SegmentBuilder::default();
    for file in 0..right.len() {
        let ((state, content), path) = (right.state(file).unwrap(), right.path(file).unwrap());
        let name = str::from_utf8(path).unwrap();
        let text = fs::read(project.root.join(name)).unwrap();
        let checksum = crc32fast::hash(&text);
        let text = match name {
            "d2/f9.txt" => String::from_utf8(text).unwrap().replace("needle", "nothing").into_bytes(),
            _ => text,
        };
        let parts =
            [SegmentPart { trigrams: Trigrams::default().distinct(&text).into(), end: PartEnd::default() }];
        let lines = right.lines(file);
        let parts = if content == Content::Indexed { &parts[..] } else { &[] };
        assert!(wrong.add(&IndexedFile { path, state, content, lines, checksum, parts }));
    }
    let mut bytes = Vec::new();
    wrong.write(&mut bytes).unwrap();
    fs::write(&base, bytes).unwrap();
    // Control: searches trust this index, so they give the wrong answer.
    let found = |mode| project.run_in(&project.root, &["grep", "needle 9"], &[("FORAGE_INDEX", mode)]);
    let matching = "d2/f9.txt:needle 9\n";
    assert_eq!((found("off").stdout.as_str(), found("always").status), (matching, 1));
    assert_eq!(index(&project, "build")["files_read"], 0);

    let verify = project.run(&["index", "verify", "--json"]);
    assert_eq!(verify.status, 2, "{verify:?}");
    assert_eq!(verify.json()["first_different_files"], json!(["d2/f9.txt"]), "{verify:?}");
    assert_eq!((&verify.json()["different_files"], &verify.json()["equal"]), (&json!(1), &json!(false)));
    insta::assert_snapshot!(project.run(&["index", "verify"]).shown());
    index(&project, "drop");
    index(&project, "build");
    assert_eq!(index(&project, "verify")["equal"], true);
    assert_eq!(found("always").stdout, matching);
}

/// Damages a file in several ways: truncated, empty, longer, and with one changed byte at several positions.
fn damages(whole: &[u8]) -> Vec<Vec<u8>> {
    let mut damages = vec![Vec::new(), whole[..whole.len() / 2].to_vec(), [whole, b"more"].concat()];
    for part in 0..6 {
        let mut flipped = whole.to_vec();
        if let Some(byte) = flipped.get_mut(whole.len() * part / 6) {
            *byte ^= 0x11;
        }
        damages.push(flipped);
    }
    damages
}

/// Builds and updates that are killed at any time must leave a correct index, or none.
#[cfg(unix)]
#[test]
fn a_killed_build_leaves_no_wrong_index() {
    let project = project();
    let mut killed = 0;
    for round in 0..100_u32 {
        project.write(&format!("d{}/f{}.txt", round % 7, round % 60), &format!("needle of round {round}\n"));
        if round % 10 == 9 {
            index(&project, "drop");
        }
        let mut build = command(&project, &["index", "build"]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(round * 7919 % 20_000)));
        build.kill().unwrap();
        killed += u32::from(!build.wait().unwrap().success());
        if round % 5 == 0 {
            assert_equal(&project, &format!("round {round}"));
        } else {
            let found = |mode| {
                let search = ["grep", "needle of round"];
                project.run_in(&project.root, &search, &[("FORAGE_INDEX", mode)]).stdout
            };
            assert_eq!(found("always"), found("off"), "round {round}");
        }
    }
    assert!(killed > 20, "{killed} builds were killed");
    std::thread::sleep(SETTLED);
    index(&project, "build");
    assert_eq!(index(&project, "verify")["equal"], true);
    let left = fs::read_dir(directory(&project)).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| Path::new(name).extension().is_some()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forage"));
    command.args(arguments).current_dir(&project.root).env_clear().env("HOME", &project.home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs two builds at the same time, with searches in parallel.
#[cfg(unix)]
#[test]
fn builds_at_the_same_time_do_not_harm_each_other() {
    let project = project();
    let mut made = 0;
    for round in 0..10 {
        project.write("d3/f3.txt", &format!("needle of round {round}\n"));
        let builds: Vec<_> =
            (0..3).map(|_| command(&project, &["index", "build"]).spawn().unwrap()).collect();
        assert_equal(&project, &format!("round {round}"));
        let ended = builds.into_iter().map(|mut build| build.wait().unwrap().code());
        let ended: Vec<_> = ended.collect();
        // One process builds the index, and this may be a search. The others report that it is being built,
        // or run later.
        assert!(ended.iter().all(|code| matches!(code, Some(0 | 2))), "{ended:?}");
        made += ended.iter().filter(|code| **code == Some(0)).count();
    }
    assert!(made >= 5, "of ten times three builds {made} came to an end");
    std::thread::sleep(SETTLED);
    index(&project, "build");
    assert_eq!(index(&project, "verify")["equal"], true);
}

#[test]
fn always_mode_builds_the_index_on_the_first_search() {
    let project = project();
    project.configure("index = \"always\"\n");
    assert_equal(&project, "always");
    assert!(directory(&project).join("base").exists());
    project.configure("index = \"perhaps\"\n");
    insta::assert_snapshot!(project.run(&["grep", "needle"]).shown());
}

/// If the index can't be written, we report this, and searches still work.
#[cfg(unix)]
#[test]
fn without_a_place_for_it_there_is_no_index() {
    let project = project();
    let run = project.run_in(&project.root, &["index", "build"], &[("XDG_CACHE_HOME", "/dev/null")]);
    let mut all = run.shown();
    // Nothing may be written into a root.
    let inside = project.root.join("cache");
    let inside = inside.to_str().unwrap();
    let run = project.run_in(&project.root, &["index", "build"], &[("XDG_CACHE_HOME", inside)]);
    all += &run.shown();
    insta::assert_snapshot!(all);
    for cache in ["/dev/null", inside] {
        project.configure("index = \"always\"\n");
        assert_eq!(
            searched(&project, &[("XDG_CACHE_HOME", cache)]),
            searched(&project, &[("FORAGE_INDEX", "off")])
        );
    }
    assert!(!Path::new(inside).exists());
}

/// Simulates a full disk for one process. Its files can't grow beyond a few kilobytes.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_index_as_it_was() {
    let project = project();
    for number in 0..2_000 {
        project.write(&format!("more/{number}.txt"), &format!("text_{}_{number}\n", number * 7919));
    }
    std::thread::sleep(SETTLED);
    let build = |kilobytes: u32| {
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" index build", kilobytes * 2);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_forage")]).current_dir(&project.root);
        command.env_clear().env("HOME", &project.home).stdin(Stdio::null()).output().unwrap()
    };
    let full = build(4);
    assert_eq!(full.status.code(), Some(2), "{full:?}");
    assert!(String::from_utf8_lossy(&full.stderr).contains("can't write"), "{full:?}");
    assert_equal(&project, "no room for an index");
    assert_eq!(build(1 << 20).status.code(), Some(0));
    for number in 0..70 {
        project.write(&format!("more/{number}.txt"), &format!("needle_{}\n", "abcdefgh".repeat(number)));
    }
    std::thread::sleep(SETTLED);
    assert_eq!(build(4).status.code(), Some(2));
    assert_equal(&project, "no room for an update");
    assert_eq!(index(&project, "verify")["equal"], true);
    // The incomplete files must be gone.
    let files = fs::read_dir(directory(&project)).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert!(names.len() <= 5, "{names:?}");
}

#[test]
fn a_search_says_what_the_index_could_tell() {
    let project = project();
    let said = |arguments: &[&str], mode: &str| {
        let arguments = [arguments, &["--explain"]].concat();
        project.run_in(&project.root, &arguments, &[("FORAGE_INDEX", mode)]).stderr
    };
    let mut all = String::new();
    for (arguments, mode) in [
        (&["grep", "needle"][..], "auto"),
        (&["grep", "needle"], "always"),
        (&["call", "Search", "{\"pattern\": \"needle\"}"], "always"),
        // This search lists all matches, so it waits for the index.
        (&["grep", "needle"], "auto"),
        (&["grep", "-Z", "1", "nothing 12345"], "always"),
        (&["keyword", "--filter", "lexical", "q", "needle", "no_such"], "always"),
        (&["grep", "[a-z]+"], "always"),
    ] {
        all += &format!("{mode}: {}\n{}\n", arguments.join(" "), said(arguments, mode));
    }
    insta::assert_snapshot!(crate::support::stable(&all));
    assert_eq!(project.run_in(&project.root, &["grep", "needle"], &[("FORAGE_INDEX", "always")]).stderr, "");
}

/// Searching a file for every line opens no index, so `why` must wait for it.
#[test]
fn why_knows_an_index_that_was_just_built() {
    let project = project();
    index(&project, "build");
    for path in ["d0/f0.txt", "d3/f3.txt", "d6/f13.txt"] {
        let run = project.run(&["why", path]);
        let expected = format!("{path}: searched (3 lines)\n  The index has this version.\n");
        assert_eq!((run.status, run.stdout), (0, expected));
    }
    project.write("d3/f3.txt", "another text\n");
    let run = project.run(&["why", "d3/f3.txt", "--json"]);
    assert_eq!(run.json()["indexed"], false, "{run:?}");
}
