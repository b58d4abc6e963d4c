//! Compares histories with the output of `git log`, on random ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use forage_base::{Stop, map_in_threads};
use forage_fuzz::peers;
use forage_git::{
    DefinitionQuery, HistoryCommit, HistoryEnd, HistoryFile, HistoryFilter, HistoryLine, HistoryQuery,
    HistoryReport, ObjectId, Repository, limits,
};
use tempfile::TempDir;

use super::changes::Random;
use super::{commit, empty_repository, git, root, write};

/// Number of random histories, unless `FORAGE_HISTORIES` says otherwise.
const HISTORIES: u64 = 60;

/// Lines of texts. There are few of them, so that most are repeated and moved.
const LINES: [&str; 12] = [
    "alpha",
    "beta 1",
    "beta 2",
    "gamma beta",
    "}",
    "",
    "{",
    "alpha alpha",
    "delta\r",
    "let x = 1;",
    "}",
    "end",
];

const TEXTS: [&str; 8] = ["alpha", "beta", "beta 1", "}", "x = 1;\n}", "Subproject", "link", "a"];

const PATTERNS: [&str; 8] =
    ["alpha", "^beta [0-9]", "^[{}]$", "gamma|delta", "x =", "Subproject", "^}", "no line"];

/// A tree: the mode and content of each file.
type Tree = BTreeMap<String, (&'static str, Vec<u8>)>;

fn text(random: &mut Random) -> Vec<u8> {
    let count = random.below(40);
    let mut text: String = (0..count).map(|_| format!("{}\n", LINES[random.below(LINES.len())])).collect();
    match random.below(12) {
        0 => text.push('\0'),
        1 | 2 => text.push_str("alpha"),
        _ => {}
    }
    text.into_bytes()
}

/// Changes a text: adds, removes, replaces or moves a few lines.
fn edited(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let added = [LINES[random.below(LINES.len())].as_bytes(), b"\n"].concat();
    for _ in 0..1 + random.below(3) {
        let at = random.below(lines.len() + 1);
        let end = (at + random.below(4)).min(lines.len());
        match random.below(4) {
            0 => lines.insert(at, &added),
            1 => drop(lines.drain(at..end)),
            2 => drop(lines.splice(at..end, [added.as_slice()])),
            _ => {
                let moved: Vec<&[u8]> = lines.drain(at..end).collect();
                let to = random.below(lines.len() + 1);
                lines.splice(to..to, moved);
            }
        }
    }
    lines.concat()
}

/// Puts a file into a tree in place of whatever is in its way.
fn put(tree: &mut Tree, path: &str, file: (&'static str, Vec<u8>)) {
    let is_below =
        |path: &str, directory: &str| path.strip_prefix(directory).is_some_and(|it| it.starts_with('/'));
    tree.retain(|other, _| !is_below(other, path) && !is_below(path, other));
    tree.insert(path.to_owned(), file);
}

fn change(random: &mut Random, tree: &mut Tree) {
    let known: Vec<String> = tree.keys().cloned().collect();
    let path = random.path();
    let Some(old) = (!known.is_empty()).then(|| known[random.below(known.len())].clone()) else {
        let text = text(random);
        return put(tree, path, ("100644", text));
    };
    let (mode, bytes) = tree[&old].clone();
    let is_text = mode.starts_with("100");
    match random.below(10) {
        0 | 1 => {
            let text = text(random);
            put(tree, path, ("100644", text));
        }
        2..=4 if is_text => drop(tree.insert(old, (mode, edited(random, &bytes)))),
        5 => drop(tree.remove(&old)),
        6 | 7 if is_text => {
            tree.remove(&old);
            let bytes = if random.below(2) == 0 { bytes } else { edited(random, &bytes) };
            put(tree, path, (mode, bytes));
        }
        8 if is_text => drop(tree.insert(old, (if mode == "100644" { "100755" } else { "100644" }, bytes))),
        9 if random.below(2) == 0 => put(tree, path, ("120000", b"link to alpha".to_vec())),
        9 => put(tree, path, ("160000", format!("{:040x}", 1 + random.below(3)).into_bytes())),
        _ => {}
    }
}

/// Creates a random history with side branches, merges and unordered times in one run of git.
fn history(seed: u64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let random = &mut Random(seed * 31 + 7);
    git(directory.path(), &["init", "-q", "-b", "main"]);
    let mut trees: Vec<Tree> = Vec::new();
    let mut stream = Vec::new();
    for number in 0..6 + random.below(30) {
        let mut parents: Vec<usize> = Vec::new();
        let count =
            [1, 1, 1, 1, 1, 2, 2, 3, 1, 0][random.below(10)].max(usize::from(number > 0 && number < 3));
        for _ in 0..count.min(number) {
            let parent = number - 1 - random.below(number.min(4));
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        let mut tree = parents.first().map(|&parent| trees[parent].clone()).unwrap_or_default();
        if let Some(&other) = parents.get(1) {
            // A merge takes some files of each side, or all files of one.
            match random.below(3) {
                0 => tree = trees[other].clone(),
                1 => {
                    for (path, file) in &trees[other] {
                        if random.below(2) == 0 {
                            put(&mut tree, path, file.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        for _ in 0..if parents.len() > 1 { random.below(2) } else { random.below(4) } {
            change(random, &mut tree);
        }
        let time = 1_700_000_000 + number * 10 + random.below(40);
        let message = format!("Change {number}");
        write!(stream, "commit refs/heads/main\nmark :{}\n", number + 1).unwrap();
        write!(stream, "committer A B <a@b> {time} +0000\ndata {}\n{message}\n", message.len()).unwrap();
        match parents.as_slice() {
            // Without this, the commit would get the last one as its parent.
            [] if number > 0 => writeln!(stream, "from {}", "0".repeat(40)).unwrap(),
            [] => {}
            [first, others @ ..] => {
                writeln!(stream, "from :{}", first + 1).unwrap();
                others.iter().for_each(|other| writeln!(stream, "merge :{}", other + 1).unwrap());
            }
        }
        stream.extend(b"deleteall\n");
        for (path, (mode, bytes)) in &tree {
            if *mode == "160000" {
                writeln!(stream, "M {mode} {} {path}", String::from_utf8_lossy(bytes)).unwrap();
                continue;
            }
            write!(stream, "M {mode} inline {path}\ndata {}\n", bytes.len()).unwrap();
            stream.extend(bytes);
            stream.push(b'\n');
        }
        trees.push(tree);
    }
    let import = ["fast-import", "--quiet", "--force"];
    let mut import = peers::git(directory.path()).args(import).stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success(), "{seed}");
    directory
}

/// The lines that a regex matches, without their line feeds.
fn matching(pattern: &str) -> impl Fn(&[u8]) -> Vec<Range<usize>> {
    let regex = regex::bytes::Regex::new(pattern).unwrap();
    move |text| {
        let mut start = 0;
        let mut found = Vec::new();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let bare = line.strip_suffix(b"\n").unwrap_or(line);
            if regex.is_match(bare) {
                found.push(start..start + bare.len());
            }
            start += line.len();
        }
        found
    }
}

/// The text of a changed line, without its line end.
fn text_of(repository: &mut Repository, file: &HistoryFile, line: &HistoryLine) -> Vec<u8> {
    let change = &file.change;
    let (path, version) = match line.is_added {
        true => (&change.path, change.after),
        false => (change.old_path.as_ref().unwrap_or(&change.path), change.before),
    };
    let version = version.unwrap();
    let text = match version.submodule_line() {
        Some(line) => line.into_bytes(),
        None => repository.read_version(path, version.id).unwrap().to_vec(),
    };
    let found = text.split(|&byte| byte == b'\n').nth(line.number as usize - 1).unwrap();
    found.strip_suffix(b"\r").unwrap_or(found).to_vec()
}

/// Collects a history in pages of `page` commits.
fn pages(repository: &mut Repository, query: &HistoryQuery<'_>, page: usize) -> Vec<HistoryCommit> {
    let (mut found, mut skip) = (Vec::new(), 0);
    loop {
        let mut count = 0;
        let report = repository.history(&HistoryQuery { skip, ..*query }, &mut |commit| {
            if count == page {
                return ControlFlow::Break(());
            }
            found.push(commit);
            count += 1;
            ControlFlow::Continue(())
        });
        let report = report.unwrap();
        if report.end == HistoryEnd::Whole {
            return found;
        }
        assert_eq!(report.end, HistoryEnd::Enough);
        assert!(report.looked >= skip + page as u64);
        skip = report.looked;
    }
}

/// A commit and its files, as `git log --name-status` prints them.
type CommitFiles = (String, BTreeSet<String>);

/// Parses the output of `git log --format=%H --name-status`, without the similarity of renamed files.
fn with_files(log: &str) -> Vec<CommitFiles> {
    let mut commits: Vec<CommitFiles> = Vec::new();
    for line in log.lines().filter(|line| !line.is_empty()) {
        match line.split_once('\t') {
            Some((letter, paths)) => {
                commits.last_mut().unwrap().1.insert(format!("{}\t{paths}", &letter[..1]));
            }
            None => commits.push((line.to_owned(), BTreeSet::new())),
        }
    }
    commits
}

fn shown_files(commit: &HistoryCommit) -> CommitFiles {
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let line = |file: &HistoryFile| {
        let change = &file.change;
        let old = change.old_path.as_ref().map(|old| format!("{}\t", text(old))).unwrap_or_default();
        format!("{}\t{old}{}", change.kind.letter(), text(&change.path))
    };
    (commit.id.to_string(), commit.files.iter().map(line).collect())
}

/// Compares some ranges with those of git, and the histories within them.
fn assert_same_ranges(at: &Path, seed: u64) {
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let random = &mut Random(seed + 5);
    let all: Vec<String> = git(at, &["rev-list", "HEAD"]).lines().map(str::to_owned).collect();
    for _ in 0..6 {
        let [oldest, newest] = [&all[random.below(all.len())], &all[random.below(all.len().min(4))]];
        let expected: BTreeSet<String> =
            git(at, &["rev-list", newest, &format!("^{oldest}")]).lines().map(str::to_owned).collect();
        let [oldest, newest] = [oldest, newest].map(|id| ObjectId::from_hex(id.as_bytes()).unwrap());
        let within = repository.commits_between(&oldest, &newest).unwrap();
        assert_eq!(within.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), expected, "{seed}");
        if within.is_empty() {
            continue;
        }
        let query = HistoryQuery {
            from: newest,
            paths: &[],
            within: Some(&within),
            max_commits: u64::MAX,
            filter: HistoryFilter::All,
            skip: 0,
            max_lines: 0,
        };
        let report = repository.history(&query, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.end, report.looked), (HistoryEnd::Whole, expected.len() as u64), "{seed}");
        let query = HistoryQuery { max_commits: 1, ..query };
        let report = repository.history(&query, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.end, report.looked), (HistoryEnd::Whole, 1), "{seed}");
    }
}

/// Asks some random questions about a history, and returns how many commits they found.
fn assert_same_history(at: &Path, seed: u64) -> usize {
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let random = &mut Random(seed + 3);
    let mut total = 0;
    for number in 0..12 {
        let mut paths: Vec<String> = Vec::new();
        for _ in 0..random.below(3) {
            paths.push([random.path(), "src", "docs", "src/deep"][random.below(4)].to_owned());
        }
        let (text, pattern) = (TEXTS[random.below(TEXTS.len())], PATTERNS[random.below(PATTERNS.len())]);
        let find = matching(pattern);
        let (filter, option) = match number % 3 {
            0 => (HistoryFilter::Text(text.as_bytes()), format!("-S{text}")),
            1 => (HistoryFilter::Lines(&find), format!("-G{pattern}")),
            _ => (HistoryFilter::All, "--no-merges".to_owned()),
        };
        let head = ["-c", "core.quotePath=false", "log", "--format=%H", "--name-status", "-M"];
        let mut arguments = [&head[..], &[option.as_str(), "--"]].concat();
        arguments.extend(paths.iter().map(String::as_str));
        let expected = with_files(&git(at, &arguments));
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.clone().into_bytes()).collect();
        let from = repository.head();
        let query = HistoryQuery {
            from,
            paths: &paths,
            within: None,
            max_commits: u64::MAX,
            filter,
            skip: 0,
            max_lines: 100,
        };
        let found = pages(&mut repository, &query, 1 + random.below(5));
        let shown: Vec<CommitFiles> = found.iter().map(shown_files).collect();
        assert_eq!(shown, expected, "{seed} {arguments:?}");
        let lines =
            |file: &HistoryFile| file.lines.iter().map(|line| (file.clone(), *line)).collect::<Vec<_>>();
        for (file, line) in found.iter().flat_map(|commit| &commit.files).flat_map(lines) {
            let shown = text_of(&mut repository, &file, &line);
            match filter {
                HistoryFilter::Lines(_) => assert_eq!(find(&shown).len(), 1, "{seed} {line:?}"),
                HistoryFilter::Text(text) => {
                    let first = text.split(|&byte| byte == b'\n').next().unwrap();
                    assert!(shown.windows(first.len()).any(|part| part == first), "{seed} {line:?}");
                }
                HistoryFilter::All => panic!("{line:?}"),
            }
        }
        total += found.len();
    }
    total
}

#[test]
fn history_equals_git_log() {
    let count = std::env::var("FORAGE_HISTORIES").map_or(HISTORIES, |count| count.parse().unwrap());
    let found = map_in_threads(0..count, 4, |seed| assert_same_history(history(seed).path(), seed));
    assert!(found.iter().sum::<usize>() > count as usize * 10, "{found:?}");
}

#[test]
fn commits_between_equal_git_rev_list() {
    let count = std::env::var("FORAGE_HISTORIES").map_or(HISTORIES, |count| count.parse().unwrap());
    map_in_threads(0..count, 4, |seed| assert_same_ranges(history(seed).path(), seed));
}

/// The lines of `fn NAME` up to a line `}`.
fn function<'a>(name: &'a str) -> impl FnMut(&[u8], &[u8]) -> Vec<Range<usize>> + 'a {
    move |_, text| {
        let text = std::str::from_utf8(text).unwrap();
        let Some(start) = text.find(&format!("fn {name}(")) else { return Vec::new() };
        let end = text[start..].find("\n}\n").unwrap();
        std::iter::once(start..start + end + 3).collect()
    }
}

fn of_definition(
    repository: &mut Repository,
    path: &str,
    name: &str,
) -> Option<(Vec<HistoryCommit>, HistoryReport)> {
    let mut found = Vec::new();
    let query = DefinitionQuery { from: repository.head(), path: path.as_bytes(), skip: 0, max_lines: 100 };
    let report = repository.definition_history(&query, &mut function(name), &mut |commit| {
        found.push(commit);
        ControlFlow::Continue(())
    });
    report.unwrap().map(|report| (found, report))
}

/// Bodies change, and functions move within their file, which is renamed. The file names functions in the
/// order of `order`, each with its body.
#[test]
fn definition_history_equals_git_log_of_lines() {
    let directory = empty_repository();
    let at = directory.path();
    let random = &mut Random(5);
    let mut bodies = [1, 2, 3, 4];
    let mut path = "a.rs";
    for number in 0..40 {
        if number == 20 {
            git(at, &["mv", "a.rs", "src.rs"]);
            path = "src.rs";
            commit(at, "Rename");
            continue;
        }
        bodies[random.below(4)] = number + 10;
        let function = |(number, body): (usize, &i32)| {
            format!(
                "fn f{number}() {{\n    // of {number}\n    first{number}();\n    call({body});\n    last{number}();\n}}\n\n"
            )
        };
        write(at, path, &bodies.iter().enumerate().map(function).collect::<String>());
        commit(at, &format!("Change {number}"));
    }
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    for name in ["f0", "f1", "f2", "f3"] {
        let lines = format!("-L/fn {name}/,+6:src.rs");
        let expected = git(at, &["log", "--format=%H", "--no-patch", &lines]);
        let (found, report) = of_definition(&mut repository, "src.rs", name).unwrap();
        let mut shown = String::new();
        found.iter().for_each(|commit| writeln!(shown, "{}", commit.id).unwrap());
        assert_eq!(shown, expected, "{name}");
        assert_eq!((report.end, report.looked), (HistoryEnd::Whole, 40));
        assert!(
            found.len() > 5
                && found
                    .iter()
                    .all(|it| it.files[0].added == it.files[0].removed || it == &found[found.len() - 1])
        );
    }
    assert_eq!(of_definition(&mut repository, "src.rs", "none"), None);
}

#[test]
fn history_names_the_lines_that_changed() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a", "one\ntwo\nthree\n");
    write(at, ".env", "KEY=two\n");
    commit(at, "First");
    write(at, "a", "one\ntwo, or more\nthree\n");
    commit(at, "Second\n\nWith a body.");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let find = matching("^two");
    let query = HistoryQuery {
        from: repository.head(),
        paths: &[],
        within: None,
        max_commits: u64::MAX,
        filter: HistoryFilter::Lines(&find),
        skip: 0,
        max_lines: 1,
    };
    let mut found = Vec::new();
    let report = repository.history(&query, &mut |commit| {
        found.push(commit);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    let [second, first] = found.as_slice() else { panic!("{found:?}") };
    let file = &second.files[0];
    assert_eq!((file.removed, file.added, file.lines.len()), (1, 1, 1));
    assert_eq!((file.lines[0].is_added, file.lines[0].number), (false, 2));
    assert_eq!(text_of(&mut repository, file, &file.lines[0]), b"two");
    assert_eq!((first.files.len(), first.files[0].added), (1, 1));
    assert_eq!(report.secret.iter().collect::<Vec<_>>(), [b".env"]);
    assert_eq!((report.end, report.looked, report.unread), (HistoryEnd::Whole, 2, 0));
}

/// A definition may be removed and added again, and moved between files. Each time, the history goes on with
/// what was there before.
#[test]
fn definition_history_follows_gaps_and_moves() {
    let directory = empty_repository();
    let at = directory.path();
    let body = |number: u32| format!("fn f() {{\n    first();\n    call({number});\n    last();\n}}\n");
    let other = "fn other() {\n    nothing();\n}\n";
    let steps: [(&str, &[(&str, &str)]); 8] = [
        ("Born", &[("a.rs", &format!("{other}{}", body(1)))]),
        ("Edit in a", &[("a.rs", &format!("{other}{}", body(2)))]),
        // Another function of this name does not make it a move.
        ("Remove", &[("a.rs", other), ("c.rs", "fn f(it: C) {\n    it.unlike();\n    anything();\n}\n")]),
        ("Other work", &[("a.rs", &format!("{other}{other}"))]),
        ("Add again", &[("a.rs", &format!("{other}{}", body(3)))]),
        ("Move", &[("a.rs", other), ("b.rs", &format!("// B\n{}", body(3)))]),
        ("Edit in b", &[("b.rs", &format!("// B\n{}", body(4)))]),
        ("Move to d with an edit", &[("b.rs", "// B\n"), ("d.rs", &format!("// D\n{}", body(5)))]),
    ];
    for (message, files) in steps {
        files.iter().for_each(|(path, text)| write(at, path, text));
        commit(at, message);
    }
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let (found, report) = of_definition(&mut repository, "d.rs", "f").unwrap();
    let shown = |commit: &HistoryCommit| {
        let HistoryFile { change, removed, added, .. } = &commit.files[0];
        let path = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let old = change.old_path.as_ref().map(|old| format!(" was {}", path(old))).unwrap_or_default();
        let (letter, new) = (change.kind.letter(), path(&change.path));
        format!("{}: {letter} {new}{old} -{removed} +{added}", commit.message.trim())
    };
    let found: Vec<String> = found.iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "Move to d with an edit: A d.rs was b.rs -1 +1",
            "Edit in b: M b.rs -1 +1",
            "Move: A b.rs was a.rs -0 +0",
            "Add again: M a.rs -0 +5",
            "Remove: M a.rs -5 +0",
            "Edit in a: M a.rs -1 +1",
            "Born: A a.rs -0 +5",
        ]
    );
    assert_eq!((report.end, report.looked), (HistoryEnd::Whole, 8));
}

/// A commit may only be left out if it alone took the time, not if the way to it did.
#[test]
fn commit_is_left_out_only_if_it_took_the_time() {
    let directory = empty_repository();
    let at = directory.path();
    for number in 0..3 {
        write(at, "a", &format!("{number}\n"));
        commit(at, &number.to_string());
    }
    let left_out = |skip: u64, sleep: Duration| {
        let stop = Stop::never();
        let mut repository = Repository::open(&root(at), &stop).unwrap();
        let find = |_: &[u8]| {
            std::thread::sleep(sleep);
            stop.end_within(Duration::ZERO);
            Vec::new()
        };
        let (from, filter) = (repository.head(), HistoryFilter::Lines(&find));
        let query = HistoryQuery {
            from,
            paths: &[],
            within: None,
            max_commits: u64::MAX,
            filter,
            skip,
            max_lines: 1,
        };
        let report = repository.history(&query, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(report.end, HistoryEnd::Stopped);
        assert_eq!(report.looked, skip + u64::from(report.left_out.is_some()));
        report.left_out.is_some()
    };
    for skip in [0, 1] {
        assert!(!left_out(skip, Duration::ZERO), "{skip}");
        assert!(left_out(skip, limits::HISTORY_COMMIT_TIME), "{skip}");
    }
}

/// A stop says how far the search has come, and no commit can hold up the next call.
#[test]
fn history_that_is_stopped_goes_on() {
    let directory = history(1);
    let stop = Stop::never();
    let mut repository = Repository::open(&root(directory.path()), &stop).unwrap();
    let head = repository.head();
    let ids = git(directory.path(), &["log", "--format=%H"]);
    let mut ids = ids.lines().map(|id| ObjectId::from_hex(id.as_bytes()).unwrap());
    let find = |_: &[u8]| {
        stop.end_within(Duration::ZERO);
        Vec::new()
    };
    let filter = HistoryFilter::Lines(&find);
    let query = HistoryQuery {
        from: head,
        paths: &[],
        within: None,
        max_commits: u64::MAX,
        filter,
        skip: 0,
        max_lines: 1,
    };
    let report = repository.history(&query, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.end, HistoryEnd::Stopped);
    // Commits without texts may come first.
    let last = report.looked.checked_sub(1).and_then(|last| ids.nth(last as usize));
    assert_eq!(report.oldest.map(|oldest| oldest.0), last);
    // A call without any time leaves no commit out.
    let report = repository.history(&HistoryQuery { skip: 5, ..query }, &mut |_| ControlFlow::Continue(()));
    let report = report.unwrap();
    assert_eq!((report.end, report.looked, report.left_out), (HistoryEnd::Stopped, 5, None));
}

/// A commit with a parent that can't be read must not look like the first one.
#[test]
fn missing_parent_ends_a_history() {
    let directory = empty_repository();
    let at = directory.path();
    let mut text = String::from("fn f() {\n");
    for number in 0..4 {
        let _ = writeln!(text, "    needle({number});");
        write(at, "a.rs", &format!("{text}}}\n"));
        commit(at, &number.to_string());
    }
    let parent = git(at, &["rev-parse", "HEAD~1"]);
    let parent = parent.trim();
    std::fs::remove_file(at.join(".git/objects").join(&parent[..2]).join(&parent[2..])).unwrap();
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let from = repository.head();
    let filter = HistoryFilter::Text(b"needle");
    let query = HistoryQuery {
        from,
        paths: &[],
        within: None,
        max_commits: u64::MAX,
        filter,
        skip: 0,
        max_lines: 10,
    };
    let mut found = Vec::new();
    let mut receive = |commit: HistoryCommit| {
        found.push(commit);
        ControlFlow::Continue(())
    };
    let report = repository.history(&query, &mut receive).unwrap();
    assert_eq!((report.broken, found.len()), (1, 0));
    let query = DefinitionQuery { from, path: b"a.rs", skip: 0, max_lines: 10 };
    let mut receive = |_: HistoryCommit| panic!("what it changed is not known");
    let report = repository.definition_history(&query, &mut function("f"), &mut receive).unwrap().unwrap();
    assert_eq!(report.broken, 1);
}
