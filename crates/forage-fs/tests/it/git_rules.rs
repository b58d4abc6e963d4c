//! Compares git's kinds of ignore rules with git itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use forage_fs::{RelPath, WalkOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::{files, open};

/// The locations of rules.
const PLACES: [&str; 3] = [".gitignore", "app/.gitignore", ".git/info/exclude"];

/// Parts of rules that ripgrep's crate interprets differently in some position, and names that they can
/// match.
const PIECES: [&str; 46] = [
    "a",
    "b",
    "ab",
    "app",
    "lib",
    "log",
    ".log",
    ".tmp",
    "x",
    "é",
    "*",
    "*",
    "**",
    "?",
    "/",
    "/",
    "/",
    "!",
    "\\",
    "{a,b}",
    "{",
    "}",
    "[ab]",
    "[!a]",
    "[^a-b]",
    "[a\\/b]",
    "[]a]",
    "[\\]a]",
    "[[:alpha:]]",
    "[[:digit:]!]",
    "[![:upper:]]",
    "[[:nope:]]",
    "[a",
    "[!-]",
    "[a-]",
    "[--0]",
    "[é]",
    " ",
    "\\ ",
    "\t",
    "#",
    "\\#",
    "\\!",
    "\\/",
    "/**",
    "**/",
];

const NAMES: [&str; 26] = [
    "a", "b", "ab", "a.log", "b.log", "b.tmp", "{a,b}", "a b", "a ", "a\t", "#a", "!a", "x]", "[a", "a-b",
    "A", "1", "é", "app", "lib", "a\\b", "^", "-", "xx", "aax", "log",
];

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = forage_fuzz::peers::git(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Lists the files that git considers part of the project.
fn of_git(directory: &Path) -> BTreeSet<String> {
    let listed = git(directory, &["ls-files", "--others", "--exclude-standard", "-z"]);
    listed.split_terminator('\0').map(str::to_owned).collect()
}

fn of_forage(directory: &Path) -> BTreeSet<String> {
    let root = open(directory);
    let text = |path: RelPath| String::from_utf8(path.as_bytes().to_vec()).unwrap();
    files(&root, &WalkOptions::default()).into_iter().map(text).collect()
}

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "--quiet"]);
    for place in ["", "app/", "app/lib/", "lib/a/"] {
        for name in NAMES {
            let path = directory.path().join(place).join(name);
            let is_directory = name == "app" || name == "lib" || (place, name) == ("lib/", "a");
            if !is_directory {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
    }
    directory
}

#[test]
fn git_rules_decide_like_git() {
    let directory = tree();
    let line = vec(select(&PIECES[..]), 1..6).prop_map(|pieces| pieces.concat());
    let rules = vec((select(&PLACES[..]), vec(line, 1..4)), 1..3);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config = Config { cases: 1_200, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let compared = runner.run(&rules, |rules| {
        PLACES.iter().for_each(|place| fs::write(directory.path().join(place), "").unwrap());
        for (place, lines) in &rules {
            fs::write(directory.path().join(place), lines.join("\n")).unwrap();
        }
        let (ours, theirs) = (of_forage(directory.path()), of_git(directory.path()));
        // We hide rule files by their names unless a rule includes them, so we must not compare these.
        let is_hidden = |path: &&String| path.contains(".gitignore");
        let differ: Vec<&String> =
            ours.symmetric_difference(&theirs).filter(|path| !is_hidden(path)).collect();
        prop_assert!(differ.is_empty(), "{rules:?}: {differ:?}");
        Ok(())
    });
    compared.unwrap_or_else(|error| panic!("{error}"));
}

/// A worktree has no `exclude` of its own, so the one in its repository must apply. On systems without
/// directory identities we can't check that the repository names the worktree.
#[cfg(not(portable_disk))]
#[test]
fn repository_exclude_applies_in_worktrees() {
    let directory = tree();
    git(directory.path(), &["commit", "--quiet", "--allow-empty", "--message", "first"]);
    let outside = tempfile::tempdir().unwrap();
    let worktree = outside.path().join("worktree");
    git(directory.path(), &["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    ["a", "b"].iter().for_each(|name| fs::write(worktree.join(name), "").unwrap());
    let exclude = directory.path().join(".git/info/exclude");
    fs::write(&exclude, "a\n").unwrap();
    let of_repository = of_forage(&worktree);
    assert!(!of_repository.contains("a") && of_repository.contains("b"), "{of_repository:?}");
    assert_eq!(of_repository, of_git(&worktree));

    // A tree that names the repository must not be trusted if the repository does not name it.
    let copy = outside.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in [".git", "a"] {
        fs::copy(worktree.join(name), copy.join(name)).unwrap();
    }
    assert_eq!(of_forage(&copy), BTreeSet::from(["a".to_owned()]));
    for link in ["gitdir: /\n", "gitdir: \n", "gitdir: ../../etc\n", "\0", ""] {
        fs::write(copy.join(".git"), link).unwrap();
        assert_eq!(of_forage(&copy), BTreeSet::from(["a".to_owned()]), "{link:?}");
    }
}
