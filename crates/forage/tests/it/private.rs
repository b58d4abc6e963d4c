//! Other users could have planted data in the user's own directories. We must neither trust nor overwrite it.
//!
//! For every file that Forage keeps there, we plant a link, a pipe, a device, a directory, or a file of
//! another owner. Each command must then do the following within its memory limit: give the answer of a plain
//! search, report why, and leave the planted target unchanged.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::call;
use crate::mcp::wire::Pipes;
use crate::peer::{Peer, content, json as reply};
use crate::{Project, Run};

/// Far longer than any of the commands takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// KiB of address space. This is far more than any of the commands needs, and far less than `/dev/zero`
/// delivers.
const ADDRESS_SPACE: u64 = 4 << 20;

/// Time after which files are old enough to be indexed.
const SETTLED: Duration = Duration::from_millis(2_100);

const VICTIM: &str = "a file of the user's that is nobody's business\n";

/// The directories in the cache directory, each with patterns for its files.
const KEPT: &[(&str, &[&str])] = &[
    (
        "index/*",
        &[
            "base",
            "changes",
            "directories",
            "root",
            "repository",
            "lock",
            "ranked-lock",
            "ranked-begun",
            "reread",
        ],
    ),
    (
        "index/*/ranked-*",
        &[
            "manifest",
            "history",
            "*.meta",
            "*.gone",
            "*.term",
            "*.idx",
            "*.pos",
            "*.store",
            "*.fast",
            "*.fieldnorm",
            "*.del",
        ],
    ),
    ("answers", &["*.json"]),
    ("model-lists", &["*.json"]),
];

/// The kinds of objects that we plant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    Link,
    DanglingLink,
    HardLink,
    Pipe,
    Zero,
    Directory,
    Writable,
    Foreign,
}

const PLANTS: [Plant; 8] = [
    Plant::Link,
    Plant::DanglingLink,
    Plant::HardLink,
    Plant::Pipe,
    Plant::Zero,
    Plant::Directory,
    Plant::Writable,
    Plant::Foreign,
];

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Replaces the file at `path`. Returns false if this user lacks the permission.
fn plant(plant: Plant, path: &Path, victim: &Path) -> bool {
    fs::write(victim, VICTIM).unwrap();
    fs::set_permissions(victim, Permissions::from_mode(0o600)).unwrap();
    let bytes = fs::read(path).unwrap_or_default();
    remove(path);
    match plant {
        Plant::Link => symlink(victim, path).unwrap(),
        Plant::DanglingLink => symlink(victim.with_extension("made"), path).unwrap(),
        Plant::HardLink => fs::hard_link(victim, path).unwrap(),
        Plant::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        Plant::Zero => symlink("/dev/zero", path).unwrap(),
        Plant::Directory => fs::create_dir(path).unwrap(),
        Plant::Writable => {
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        }
        Plant::Foreign => {
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
            return is_root() && std::os::unix::fs::chown(path, Some(65_534), None).is_ok();
        }
    }
    true
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

fn assert_untouched(victim: &Path, what: &str) {
    assert_eq!(fs::read_to_string(victim).unwrap(), VICTIM, "{what}");
    assert!(!victim.with_extension("made").exists(), "{what}");
    assert_eq!(fs::metadata(victim).unwrap().mode() & 0o777, 0o600, "{what}");
}

/// Runs a command with limits on time and memory.
fn run(project: &Project, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let script = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_forage")]).args(arguments).current_dir(&project.root);
    command.env_clear().env("HOME", &project.home).envs(environment.iter().copied());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    // We need not read meanwhile, since the output of these commands fits into a pipe.
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let is_late = began.elapsed() > DEADLINE;
        if is_late {
            child.kill().unwrap();
        }
        assert!(!is_late, "{arguments:?} did not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn project() -> Project {
    let project = Project::new(&[]);
    for number in 0..40 {
        let word = if number % 9 == 0 { "needle" } else { "nothing" };
        project.write(&format!("d{}/f{number}.txt", number % 7), &format!("first\n{word} {number}\n"));
    }
    std::thread::sleep(SETTLED);
    for (arguments, text) in [(&["index", "build"][..], "needle 1\n"), (&["index", "build", "--ranked"], "")]
    {
        assert_eq!(project.run(arguments).status, 0);
        project.write("d1/f1.txt", text);
        std::thread::sleep(SETTLED);
    }
    assert_eq!(project.run(&["index", "build"]).status, 0);
    project
}

/// Finds the directory of the only index.
fn index(project: &Project) -> PathBuf {
    let indexes = project.home.join(".cache/forage/index");
    fs::read_dir(indexes).unwrap().next().unwrap().unwrap().path()
}

fn ranked(project: &Project) -> PathBuf {
    let entries = fs::read_dir(index(project)).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().find(|path| path.is_dir() && path.to_str().unwrap().contains("/ranked-")).unwrap()
}

/// Runs a search. Returns its result and the warnings.
fn found(project: &Project, mode: &str) -> (Value, String) {
    let run = run(
        project,
        &["call", "grep_search", "{\"pattern\": \"needle\"}", "--json"],
        &[("FORAGE_INDEX", mode)],
    );
    assert_eq!(run.status, 0, "{run:?}");
    let mut records = run.json();
    let warnings = records["warnings"].take().to_string();
    let fields = records.as_object_mut().unwrap();
    fields.remove("warnings");
    fields.remove("elapsed_ms");
    (records, warnings)
}

fn ranking(project: &Project, mode: &str) -> (Value, String) {
    let run = run(project, &["rank", "needle", "--json"], &[("FORAGE_INDEX", mode)]);
    assert_eq!(run.status, 0, "{run:?}");
    (run.json()["files"].clone(), run.json()["warnings"].to_string())
}

#[test]
fn planted_index_files_are_ignored() {
    let project = project();
    let victim = project.home.join("victim.txt");
    let (plain, warnings) = found(&project, "off");
    assert_eq!(warnings, "[]");
    for name in KEPT[0].1 {
        let path = index(&project).join(name);
        for planted in PLANTS {
            // Positive control: the file that we are about to replace is in use.
            assert_eq!(run(&project, &["index", "build"], &[]).status, 0, "{name} {planted:?}");
            assert_eq!(found(&project, "auto"), (plain.clone(), "[]".to_owned()), "{name} {planted:?}");
            assert_eq!(run(&project, &["index", "status"], &[]).status, 0, "{name} {planted:?}");
            if !plant(planted, &path, &victim) {
                remove(&path);
                continue;
            }
            let what = format!("{planted:?} at {name}");
            let (records, warnings) = found(&project, "auto");
            assert_eq!(records, plain, "{what}");
            assert!(warnings.contains("can't be trusted") && warnings.contains(name), "{what}: {warnings}");
            let status = run(&project, &["index", "status"], &[]);
            assert!(status.stdout.contains("can't be trusted"), "{what}: {status:?}");
            assert!(run(&project, &["doctor"], &[]).stdout.contains("can't be trusted"), "{what}");
            let all = run(&project, &["grep", "needle"], &[]);
            assert!(all.status == 0 && all.stderr.contains("can't be trusted"), "{what}: {all:?}");
            assert_eq!(ranking(&project, "auto").0, ranking(&project, "off").0, "{what}");
            for arguments in [&["index", "build"][..], &["index", "verify"], &["index", "drop"]] {
                let run = run(&project, arguments, &[]);
                assert!([0, 1, 2].contains(&run.status), "{what}: {run:?}");
            }
            assert_eq!(found(&project, "always").0, plain, "{what}");
            assert_untouched(&victim, &what);
            remove(&path);
        }
    }
}

#[test]
fn planted_ranked_index_files_are_ignored() {
    let project = project();
    let victim = project.home.join("victim.txt");
    let (plain, _) = ranking(&project, "off");
    assert_eq!(ranking(&project, "auto"), (plain.clone(), "[]".to_owned()));
    let mut names: Vec<_> =
        fs::read_dir(ranked(&project)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() > 6, "{names:?}");
    for index in 0..names.len() {
        for planted in PLANTS {
            // The names change when the index is rebuilt.
            let mut names: Vec<_> =
                fs::read_dir(ranked(&project)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            let Some(name) = names.get(index) else { continue };
            let what = format!("{planted:?} at {}", name.display());
            // The engine creates files with default permissions, but no other user can enter the directory.
            if planted == Plant::Writable || !plant(planted, &ranked(&project).join(name), &victim) {
                continue;
            }
            assert_eq!(ranking(&project, "auto").0, plain, "{what}");
            assert_untouched(&victim, &what);
        }
    }
    let (again, warnings) = ranking(&project, "auto");
    assert_eq!((again, warnings.as_str()), (plain, "[]"));
}

/// If other users own a directory or can write to it, they may have put anything there.
#[test]
fn a_directory_that_others_may_write_is_not_used() {
    let project = project();
    let (plain, _) = found(&project, "off");
    let (plain_ranking, _) = ranking(&project, "off");
    let cache = project.home.join(".cache");
    let (own, all) = (index(&project), ranked(&project));
    let elsewhere = project.home.join("elsewhere");
    let snapshot = |directory: &Path| {
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for directory in [&cache, &cache.join("forage"), &cache.join("forage/index"), &own, &all] {
        let before = fs::metadata(directory).unwrap();
        let is_ranked = *directory == all;
        let check = |what: &str, is_followed: bool| {
            let what = format!("{what}: {}", directory.display());
            for mode in ["auto", "always"] {
                let (records, warnings) = found(&project, mode);
                assert_eq!(records, plain, "{what}");
                assert_eq!(warnings.contains("can't be trusted"), !is_followed, "{what}: {warnings}");
            }
            let (files, warnings) = ranking(&project, "auto");
            assert_eq!(files, plain_ranking, "{what}");
            assert_eq!(warnings.contains("can't be trusted"), !is_followed, "{what}: {warnings}");
        };
        for mode in [0o777, 0o772] {
            fs::set_permissions(directory, Permissions::from_mode(mode)).unwrap();
            check("mode", false);
            let build = run(&project, &["index", "build"], &[]);
            assert!(is_ranked || build.status == 2 && build.stderr.contains("can't be trusted"), "{build:?}");
        }
        fs::set_permissions(directory, before.permissions()).unwrap();
        if is_root() {
            std::os::unix::fs::chown(directory, Some(65_534), None).unwrap();
            check("owner", false);
            std::os::unix::fs::chown(directory, Some(0), None).unwrap();
        }
        // The user may link to the cache directory as a whole, but not to a directory inside it.
        fs::rename(directory, &elsewhere).unwrap();
        symlink(&elsewhere, directory).unwrap();
        let names = snapshot(&elsewhere);
        check("link", *directory == cache);
        assert_eq!(snapshot(&elsewhere), names);
        fs::remove_file(directory).unwrap();
        fs::rename(&elsewhere, directory).unwrap();
        // Positive control: the directory is used again.
        check("as before", true);
    }
}

/// The cache directory may be inside a world-writable directory such as `/tmp`. The sticky bit keeps users
/// from replacing the files of others there.
#[test]
fn shared_directory_checks_who_may_replace_components() {
    let project = project();
    let (plain, _) = found(&project, "off");
    let shared = project.home.join("shared");
    let cache = shared.join("cache");
    fs::create_dir(&shared).unwrap();
    let environment = [("XDG_CACHE_HOME", cache.to_str().unwrap()), ("FORAGE_INDEX", "always")];
    for (mode, is_used) in [(0o1777, true), (0o777, false), (0o1777, true), (0o775, is_root()), (0o755, true)]
    {
        fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
        let run =
            run(&project, &["call", "grep_search", "{\"pattern\": \"needle\"}", "--json"], &environment);
        let mut records = run.json();
        let warnings = records["warnings"].take().to_string();
        assert_eq!(warnings.contains("can't be trusted"), !is_used, "{mode:o}: {warnings}");
        assert_eq!((run.status, &records["files"]), (0, &plain["files"]), "{mode:o}");
    }
    // Another user's link that leads to a directory of the user.
    if is_root() {
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        fs::rename(&cache, shared.join("own")).unwrap();
        for (owner, is_used) in [(65_534, false), (0, true)] {
            symlink("own", &cache).unwrap();
            std::os::unix::fs::lchown(&cache, Some(owner), None).unwrap();
            let run =
                run(&project, &["call", "grep_search", "{\"pattern\": \"needle\"}", "--json"], &environment);
            let warnings = run.json()["warnings"].to_string();
            assert_eq!(warnings.contains("another user (uid 65534"), !is_used, "{warnings}");
            fs::remove_file(&cache).unwrap();
        }
    }
}

/// Simulates `sudo forage` with the user's home.
#[test]
fn root_ignores_files_in_other_users_homes() {
    if !is_root() {
        return;
    }
    let project = project();
    let (plain, _) = found(&project, "off");
    let status = Command::new("chown").args(["-R", "65534"]).arg(&project.home).status().unwrap();
    assert!(status.success());
    for mode in ["auto", "always"] {
        let (records, warnings) = found(&project, mode);
        assert_eq!(records, plain);
        assert!(warnings.contains("another user (uid 65534; this process runs as 0)"), "{warnings}");
    }
    let build = run(&project, &["index", "build"], &[]);
    assert!(build.status == 2 && build.stderr.contains("can't be trusted"), "{build:?}");
}

#[test]
fn planted_answer_caches_and_model_lists_are_ignored() {
    let project = Project::new(&[("src/retry.rs", "fn retry() {}\n")]);
    let victim = project.home.join("victim.txt");
    let cache = project.home.join(".cache/forage");
    let only = |directory: &str| {
        let mut entries = fs::read_dir(cache.join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let first = entries.next().unwrap();
        assert_eq!(entries.next(), None);
        first
    };
    let asks = |settings: &str, arguments: &[&str], peer: &Peer| {
        project.configure(settings);
        let before = peer.requests().len();
        let run = run(&project, arguments, &[("ACME_KEY", "key")]);
        assert_eq!(run.status, 0, "{run:?}");
        peer.requests().len() - before
    };
    let answers = Peer::start((0..40).map(|_| content("\"src/retry.rs: it is\"")));
    let url = answers.url();
    let settings = format!("[filter]\ncache = true\n[[models]]\nmodel = \"small\"\nbase_url = \"{url}\"\n");
    let keyword = ["keyword", "how are requests retried", "retry"];
    let list = json!({ "object": "list", "data": [{ "id": "a-coder", "created": 5 }] }).to_string();
    let lists = Peer::start((0..40).map(|_| reply(200, "", &list)));
    let provider = format!(
        "[providers.acme]\nbase_url = \"{}\"\nkey_env = [\"ACME_KEY\"]\nlocal = false\n\
         [roles.filter]\nprefer = [{{ provider = \"acme\", match = [\"*coder*\"] }}]\n",
        lists.url()
    );
    type Ask<'a> = Box<dyn Fn() -> usize + 'a>;
    let kinds: [(&str, Ask<'_>); 2] = [
        ("answers", Box::new(|| asks(&settings, &keyword, &answers))),
        ("model-lists", Box::new(|| asks(&provider, &["models"], &lists))),
    ];
    for (directory, ask) in kinds {
        assert_eq!(ask(), 1);
        for planted in PLANTS {
            // Positive control: the cached answer saves a request.
            assert_eq!(ask(), 0, "{planted:?} in {directory}");
            let path = only(directory);
            if plant(planted, &path, &victim) {
                assert_eq!(ask(), 1, "{planted:?} in {directory}");
                assert_untouched(&victim, &format!("{planted:?} in {directory}"));
            }
            remove(&path);
            ask();
        }
        assert_eq!(ask(), 0);
        let kept = cache.join(directory);
        fs::set_permissions(&kept, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(ask(), 1, "{directory} that all may write");
    }
}

/// Tests files that the user names. Telemetry must not be written to a link or a pipe, and a recording must
/// be a regular file.
#[test]
fn named_fifos_and_symlink_targets_are_refused() {
    let project = project();
    let victim = project.home.join("victim.txt");
    let log = project.home.join("log.jsonl");
    project.configure(&format!("[telemetry]\npath = \"{}\"\n", log.display()));
    for planted in PLANTS {
        if plant(planted, &log, &victim) {
            let run = run(&project, &["doctor"], &[]);
            assert!(run.stdout.contains("`telemetry.path` has no effect"), "{planted:?}: {run:?}");
            let recorded =
                self::run(&project, &["keyword", "q", "t", "--record", log.to_str().unwrap()], &[]);
            assert!(recorded.status == 2 && recorded.stderr.contains("can't record to"), "{recorded:?}");
        }
        assert_untouched(&victim, &format!("{planted:?}"));
        if matches!(planted, Plant::Pipe | Plant::Zero | Plant::Directory) {
            let replayed = run(&project, &["keyword", "q", "t", "--replay", log.to_str().unwrap()], &[]);
            assert!(replayed.status == 2 && replayed.stderr.contains("not a regular file"), "{replayed:?}");
        }
        remove(&log);
    }
    assert!(!run(&project, &["doctor"], &[]).stdout.contains("has no effect"));
}

/// Tests the audit log of a server, which opens this file once.
#[test]
fn the_audit_follows_no_link_and_is_private() {
    let project = project();
    let victim = project.home.join("victim.txt");
    let log = project.home.join("calls.jsonl");
    let audit = ["mcp", "--http", "127.0.0.1:0", "--audit", log.to_str().unwrap()];
    for planted in PLANTS {
        if plant(planted, &log, &victim) {
            let run = run(&project, &audit, &[]);
            assert!(
                run.status == 2 && run.stderr.contains("the audit log can't be written"),
                "{planted:?}: {run:?}"
            );
        }
        assert_untouched(&victim, &format!("{planted:?}"));
        remove(&log);
    }
    fs::write(&log, "{}\n").unwrap();
    fs::set_permissions(&log, Permissions::from_mode(0o644)).unwrap();
    // `--http` with an address that can't be used ends the server after it has opened the file.
    let run = run(
        &project,
        &["mcp", "--http", "192.0.2.1:9", "--audit", log.to_str().unwrap()],
        &[("FORAGE_MCP_TOKEN", "x")],
    );
    assert!(run.status == 2 && run.stderr.contains("192.0.2.1"), "{run:?}");
    assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
}

/// Tests the journal of a server. `~` in its path is the home directory.
#[test]
fn the_journal_follows_no_link_and_is_private() {
    let project = project();
    let victim = project.home.join("victim.txt");
    let log = project.home.join("logs/calls.jsonl");
    project.configure("[journal]\npath = \"~/logs/calls.jsonl\"\nlive = false\n");
    let serve = || {
        let mut pipes = Pipes::connect(&project, &[], "2025-11-25");
        pipes.ask(&call("2025-11-25", 1, "list_directory", json!({})));
        pipes.close();
    };
    for planted in PLANTS {
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        if plant(planted, &log, &victim) {
            serve();
        }
        assert_untouched(&victim, &format!("{planted:?}"));
        remove(&log);
    }
    for mode in [0o600, 0o644] {
        fs::write(&log, "").unwrap();
        fs::set_permissions(&log, Permissions::from_mode(mode)).unwrap();
        serve();
        assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
        let lines = fs::read_to_string(&log).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert_eq!(lines.filter(|line| line["tool"] == "list_directory").count(), 1);
    }
    assert!(!project.root.join("~").exists());
}

/// If you add a kind of file to the cache directory, add it to [`KEPT`] too, so that the tests above cover
/// it. Its directory must be in `docs/environment.md`.
#[test]
fn every_file_below_the_cache_directory_is_known_to_these_tests() {
    let project = project();
    let peer = Peer::start([content("\"d0/f0.txt: it is\"")]);
    project.configure(&format!(
        "[filter]\ncache = true\n[[models]]\nmodel = \"small\"\nbase_url = \"{}\"\n",
        peer.url()
    ));
    assert_eq!(project.run(&["keyword", "what is it", "needle"]).status, 0);
    let cache = project.home.join(".cache/forage");
    let mut directories = vec![cache.clone()];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let below = directory.strip_prefix(&cache).unwrap().to_str().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_known = KEPT.iter().any(|(directory, files)| {
                matches(directory, below) && files.iter().any(|pattern| matches(pattern, name))
            });
            assert!(is_known, "{} has no line in KEPT", path.display());
            crate::documentation::assert_place(below.split('/').next().unwrap());
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// Matches a pattern in which `*` stands for a name or a part of one.
fn matches(pattern: &str, path: &str) -> bool {
    let (patterns, names): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    let is_match = |(pattern, name): (&&str, &&str)| match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    };
    patterns.len() == names.len() && patterns.iter().zip(&names).all(is_match)
}

/// Positive control: the planted objects do harm a program that opens files by name.
#[test]
fn control_planted_files_harm_naive_programs() {
    let directory = tempfile::tempdir().unwrap();
    let (path, victim) = (directory.path().join("lock"), directory.path().join("victim.txt"));
    for planted in [Plant::Link, Plant::HardLink] {
        assert!(plant(planted, &path, &victim));
        fs::OpenOptions::new().write(true).create(true).truncate(true).open(&path).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "", "{planted:?}");
    }
    assert!(plant(Plant::Pipe, &path, &victim));
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || fs::read(path).unwrap())
    };
    // This open blocks until some process opens the other end.
    fs::write(&path, "what another wants to be read").unwrap();
    assert_eq!(reader.join().unwrap(), b"what another wants to be read");
}
