//! `why` must agree with the walk of every search.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use forage_tools::{PathExplanation, ToolError, why};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::support::{Tree, answer};

/// Names of directories and files that are subject to rules, limits and defaults.
const NAMES: [&str; 12] = [
    "a.txt",
    "b.log",
    "c",
    ".hidden",
    "node_modules",
    "dist",
    "src",
    ".env",
    "server.pem",
    ".git",
    "é",
    ".github",
];

/// Lines of ignore files.
const RULES: [&str; 12] = [
    "*.log",
    "dist/",
    "/src",
    "!b.log",
    "!.hidden",
    "c",
    "node_modules",
    "!node_modules",
    "src/*",
    "!src/c",
    "*",
    "# none",
];

const CONTENTS: [&[u8]; 4] =
    [b"line\n", b"\0\x01binary\x02\0\n", b"one\ntwo\n", b"0123456789 and so on, beyond the limit of size\n"];

#[derive(Clone, Debug)]
struct RandomTree {
    files: Vec<(Vec<&'static str>, &'static [u8])>,
    rules: Vec<(&'static str, Vec<&'static str>)>,
    link: Option<(&'static str, &'static str)>,
}

fn random_trees() -> impl Strategy<Value = RandomTree> {
    let files = vec((vec(select(&NAMES[..]), 1..4), select(&CONTENTS[..])), 1..12);
    let places = select(&[".gitignore", ".ignore", "src/.gitignore", "dist/.rgignore"][..]);
    let rules = vec((places, vec(select(&RULES[..]), 1..4)), 0..3);
    let link = proptest::option::of((
        select(&["../outside", "src", "a.txt", "nowhere"][..]),
        select(&["link", "src/link"][..]),
    ));
    (files, rules, link).prop_map(|(files, rules, link)| RandomTree { files, rules, link })
}

/// Collects all paths below a directory, except for directories.
fn paths(root: &Path, below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(below).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => paths(root, &entry.path(), found),
            false => found.push(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned()),
        }
    }
}

fn build(random: &RandomTree) -> Tree {
    let tree = Tree::new();
    let write = |path: &str, content: &[u8]| {
        let path = tree.root().join(path);
        // A part of the path may already be a file.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
            let _ = fs::write(path, content);
        }
    };
    random.files.iter().for_each(|(names, content)| write(&names.join("/"), content));
    random.rules.iter().for_each(|(place, rules)| write(place, (rules.join("\n") + "\n").as_bytes()));
    if let Some((target, path)) = random.link
        && tree.root().join(path).parent().unwrap().is_dir()
        && fs::symlink_metadata(tree.root().join(path)).is_err()
    {
        tree.link(target, path);
    }
    tree
}

/// On random trees, `why` must say "searched" for exactly the files in which a search finds a line. The paths
/// that a rule excludes or that are links must be exactly those that `forage files` does not list.
#[test]
fn why_agrees_with_searches_and_file_lists() {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let reasons = RefCell::new(BTreeSet::new());
    let run = runner.run(&random_trees(), |random| {
        let tree = build(&random);
        let mut workspace = tree.workspace();
        workspace.limits.max_file_bytes = Some(40);
        let listed = |tool: &str, request, field: &str| -> BTreeSet<String> {
            let records = answer(&workspace, tool, request).records().clone();
            let entries = records[field].as_array().unwrap();
            let files = entries.iter().filter(|entry| entry["kind"] != "directory");
            files.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
        };
        let searched = listed("grep_search", json!({"pattern": "^", "output": "files"}), "files");
        let named = listed("list_directory", json!({"name": "*"}), "entries");
        let mut all = Vec::new();
        paths(&tree.root(), &tree.root(), &mut all);
        for path in all {
            let why = why(&workspace, &path).unwrap_or_else(|error| panic!("{path}: {error}"));
            prop_assert_eq!(why.searched, searched.contains(&path), "{}: {:?}", path, why);
            let is_listed = named.contains(&path);
            match why.reason {
                // A secret file can be hidden or ignored, too.
                Some("denied") => {}
                reason => {
                    let of_content = matches!(reason, None | Some("binary" | "too_large"));
                    prop_assert_eq!(of_content, is_listed, "{}: {:?}", path, why);
                }
            }
            reasons.borrow_mut().insert(why.reason.unwrap_or("searched"));
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    // Every answer must have occurred, or this comparison would prove nothing.
    let expected = [
        "binary",
        "denied",
        "hidden",
        "ignored",
        "outside_root",
        "pruned",
        "searched",
        "symlink",
        "too_large",
    ];
    assert_eq!(reasons.into_inner(), BTreeSet::from(expected));
}

fn explained(tree: &Tree, path: &str) -> PathExplanation {
    why(&tree.workspace(), path).unwrap()
}

#[test]
fn why_names_the_rule_its_file_and_line() {
    let tree = Tree::new();
    tree.write(".git/HEAD", "");
    tree.write(".gitignore", "# output\n\ndist/\n*.log\n");
    tree.write("src/.ignore", "*.gen\n");
    tree.write("dist/deep/app.js", "x\n");
    tree.write("src/a.gen", "x\n");
    tree.write("src/a.rs", "one\ntwo\n");
    tree.write(".git/info/exclude", "notes\n");
    tree.write("notes", "x\n");
    for (path, excluded, rule) in [
        ("dist/deep/app.js", "dist", "`dist/` in .gitignore:3"),
        ("src/a.gen", "src/a.gen", "`*.gen` in src/.ignore:1"),
        ("notes", "notes", "`notes` in .git/info/exclude:1"),
    ] {
        let why = explained(&tree, path);
        assert_eq!(
            (why.searched, why.reason, why.excluded.as_deref(), why.rule.as_deref()),
            (false, Some("ignored"), Some(excluded), Some(rule)),
            "{path}"
        );
    }
    let why = explained(&tree, "src/a.rs");
    assert_eq!((why.searched, why.reason, why.lines, why.indexed), (true, None, Some(2), None));
    assert_eq!(explained(&tree, ".git/HEAD").reason, Some("pruned"));
}

#[test]
fn why_names_paths_like_one_that_does_not_exist() {
    let tree = Tree::new();
    tree.write("src/retry.rs", "x\n");
    tree.write(".ignore", "target\n");
    fs::create_dir(tree.root().join("target")).unwrap();
    match why(&tree.workspace(), "src/rtery.rs") {
        Err(ToolError::NoSuchPath { nearest, .. }) => assert_eq!(nearest, ["src/retry.rs"]),
        other => panic!("{other:?}"),
    }
    // A rule about the directory does not make a missing file exist.
    assert!(matches!(why(&tree.workspace(), "target/none.rs"), Err(ToolError::Path(_))));
    assert!(matches!(why(&tree.workspace(), "../outside/x"), Err(ToolError::Path(_))));
}
