//! T1, T2, T5, T7, T8: no path and no link may lead out of the root.

use std::fs;
use std::path::Path;

use forage_base::Hint;
use forage_fs::{RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy};
use forage_tools::registry::TOOLS;
use forage_tools::{FilterMode, Workspace};
use serde_json::json;

use crate::support::{
    CANARY, NEEDLE, OUTSIDE_NAME, Tree, answer, assert_sealed, attack, leaking, probes, ripgrep, secret_text,
    skipped, stable, transcript,
};

#[test]
fn every_tool_of_the_registry_is_attacked() {
    let mut attacked: Vec<&str> = probes(".").into_iter().map(|(tool, _)| tool).collect();
    attacked.dedup();
    attacked.sort_unstable();
    // These tools open no files of a tree, because their results come from a collection and from a repository.
    // They have their own suites.
    let opens_files = |tool: &&str| !matches!(*tool, "keyword_lookup" | "search_history");
    let mut tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name()).filter(opens_files).collect();
    tools.sort_unstable();
    assert_eq!(attacked, tools, "a tool without a line in support::probes is not covered by this suite");
}

#[test]
fn the_suite_sees_a_leak_in_every_tool_that_shows_contents() {
    let tree = Tree::new();
    tree.write("open.txt", secret_text());
    assert_eq!(
        leaking(&tree.workspace(), "open.txt"),
        ["Search", "grep_search", "keyword_search", "read_file", "search_index"]
    );
    tree.write(format!("sub/{OUTSIDE_NAME}"), "x\n");
    let listed = attack(&tree.workspace(), "sub");
    let names = |tool| listed.iter().any(|one| one.tool == tool && one.everything().contains(OUTSIDE_NAME));
    assert!(names("list_directory"));
}

/// T1 (CVE-2025-53110): `repo-private` begins with `repo`.
#[test]
fn a_sibling_that_shares_the_prefix_is_outside() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    let root = tree.root().to_str().unwrap().to_owned();
    let sibling = format!("{root}-private");
    fs::create_dir(&sibling).unwrap();
    for name in ["secret.txt", OUTSIDE_NAME] {
        fs::write(Path::new(&sibling).join(name), secret_text()).unwrap();
    }
    let workspace = tree.workspace();
    let file = format!("{sibling}/secret.txt");
    // Positive control: a comparison of strings would take the sibling for a part of the root.
    assert!(file.starts_with(&root) && fs::read_to_string(&file).unwrap().contains(CANARY));
    for path in [
        file.clone(),
        sibling.clone(),
        format!("{sibling}/"),
        format!("{sibling}/."),
        "../root-private/secret.txt".to_owned(),
        "../root-private".to_owned(),
        "./.././root-private/.".to_owned(),
        "a/../../root-private/secret.txt".to_owned(),
        format!("{root}/../root-private/secret.txt"),
        format!("{root}/./../root-private"),
        format!("{root}//..//root-private/secret.txt"),
        "..".to_owned(),
        "/".to_owned(),
        "/etc/passwd".to_owned(),
        format!("\"{file}\""),
        "\"../root-private/secret.txt\"".to_owned(),
        "\"\\x2e\\x2e/root-private/secret.txt\"".to_owned(),
    ] {
        for one in assert_sealed(&workspace, &path).iter().filter(|one| one.tool != "keyword_search") {
            let refused = one.result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert!(
                refused.contains("`path`") && refused.contains("outside of the root"),
                "{path}: {refused}"
            );
        }
    }
    // Paths that stay inside are found, however you write them.
    for path in
        ["a.txt".to_owned(), format!("{root}/a.txt"), format!("{root}/./b/../a.txt"), "./a.txt".to_owned()]
    {
        let read = answer(&workspace, "read_file", json!({"path": path}));
        assert_eq!(read.records()["lines"], json!([NEEDLE]), "{path}");
    }
    for path in [root.clone(), format!("{root}/"), format!("{root}/."), ".".to_owned(), String::new()] {
        let listed = answer(&workspace, "list_directory", json!({"path": path}));
        assert_eq!(listed.records()["entries"][0]["path"], "a.txt", "{path}");
    }
}

/// T2 (CVE-2025-53109): links that lead out, given by name and found during the walk.
#[test]
fn links_out_of_the_root_are_closed_to_every_tool() {
    forage_fuzz::needs!("rg");
    let tree = Tree::with_outside_secrets();
    let outside = tree.outside();
    tree.write("sub/inside.txt", format!("{NEEDLE} inside\n"));
    tree.link("../outside/data.txt", "file");
    tree.link("../outside", "directory");
    tree.link(outside.join("data.txt"), "absolute_file");
    tree.link(&outside, "absolute_directory");
    tree.link("chain_2", "chain_1");
    tree.link("sub/chain_3", "chain_2");
    tree.link("../../outside/data.txt", "sub/chain_3");
    tree.link("..", "above");
    tree.link("sub/../../outside", "folded");
    tree.link("/", "slash");
    let workspace = tree.workspace();
    let through = format!("slash{}/data.txt", outside.to_str().unwrap());
    for path in [
        "file",
        "directory",
        "directory/data.txt",
        "directory/../outside/data.txt",
        "absolute_file",
        "absolute_directory",
        "absolute_directory/data.txt",
        "chain_1",
        "chain_2",
        "above",
        "above/outside",
        "above/outside/data.txt",
        "folded/data.txt",
        "slash",
        through.as_str(),
    ] {
        let control = fs::metadata(tree.root().join(path)).unwrap();
        if control.is_file() {
            assert!(
                fs::read_to_string(tree.root().join(path)).unwrap().contains(CANARY),
                "{path}: no attack"
            );
        }
        for one in assert_sealed(&workspace, path).iter().filter(|one| one.tool != "keyword_search") {
            // We normalize a path with `..` after a link lexically. The result may be inside the root, or may
            // not exist.
            let refused = one.result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let expected = if path.contains("..") { "does not exist" } else { "outside of the root" };
            assert!(refused.contains(expected), "{} on {path}: {refused}", one.tool);
        }
    }
    // The real ripgrep follows a link that is given by name, so this attack is real.
    let leaked = ripgrep(&tree.root(), &["-e", NEEDLE, "--", "file"]);
    assert!(String::from_utf8_lossy(&leaked).contains(CANARY));

    assert_sealed(&workspace, ".");
    for include_ignored in [false, true] {
        let walked =
            answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "include_ignored": include_ignored}));
        assert_eq!(skipped(&walked, "outside_root"), 10, "{}", walked.text);
        insta::assert_snapshot!(format!("links-out-{include_ignored}"), walked.text);
        assert_eq!(walked.records()["match_count"], 1);
    }
    let listed = answer(&workspace, "list_directory", json!({"max_depth": 5})).text;
    insta::assert_snapshot!("links-out-listed", stable(&listed));
}

#[test]
fn links_within_the_root_work() {
    let tree = Tree::new();
    tree.write("sub/real.txt", format!("{NEEDLE} inside\n"));
    tree.link("sub/real.txt", "relative");
    tree.link(tree.root().join("sub/real.txt"), "absolute");
    tree.link("sub", "directory");
    tree.link("../sub/real.txt", "sub/up");
    tree.link("relative", "chain");
    tree.link(".", "loop");
    tree.link("nowhere", "dangling");
    tree.link("endless_2", "endless_1");
    tree.link("endless_1", "endless_2");
    let workspace = tree.workspace();
    for path in ["relative", "absolute", "directory/real.txt", "sub/up", "chain", "loop/loop/chain"] {
        let read = answer(&workspace, "read_file", json!({"path": path}));
        assert_eq!(read.records()["lines"], json!(["needle inside"]), "{path}");
        let found = answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "path": path}));
        assert_eq!(found.records()["match_count"], 1, "{path}");
    }
    let listed = transcript(&workspace, "list_directory", [json!({"path": "directory"})]);
    let paths = ["dangling".to_owned(), "endless_1".to_owned(), "loop/".repeat(60) + "chain"];
    let refused = transcript(&workspace, "read_file", paths.map(|path| json!({"path": path})));
    insta::assert_snapshot!([listed, refused].join("\n"));
    // A walk should find the file once, under its own name.
    let walked = answer(&workspace, "grep_search", json!({"pattern": NEEDLE}));
    assert_eq!((walked.records()["match_count"].as_u64(), skipped(&walked, "outside_root")), (Some(1), 0));
    assert_eq!(skipped(&walked, "symlink"), 9);
}

/// T30: follows a link that leads back.
#[test]
fn a_walk_that_follows_links_ends() {
    let tree = Tree::with_outside_secrets();
    tree.write("sub/a.txt", "x\n");
    tree.link(".", "loop");
    tree.link("..", "sub/up");
    tree.link("../outside", "out");
    let workspace = tree.workspace();
    let options = forage_fs::WalkOptions { follow: true, ..Default::default() };
    let mut paths = Vec::new();
    let report = forage_fs::walk(
        workspace.roots.main(),
        &RelPath::root(),
        &options,
        &forage_base::Stop::never(),
        || (),
        |(), entry, _| forage_fs::WalkStep::Item(entry.path.display().into_owned(), 1),
        |path| {
            paths.push(path);
            std::ops::ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert!(paths.contains(&"sub/a.txt".to_owned()) && paths.len() < 10, "{paths:?}");
    assert_eq!(report.skipped.get(forage_fs::SkipReason::OutsideRoot), 1);
    assert!(report.skipped.get(forage_fs::SkipReason::Symlink) >= 2);
    assert!(report.warnings.iter().any(|warning| warning.contains("out ")), "{:?}", report.warnings);
}

/// Finds the longest line of this process's environment. It stands for a server's API key.
fn environment_canary() -> String {
    let bytes = fs::read("/proc/self/environ").unwrap();
    let lines = bytes.split(|&b| b == 0).filter_map(|line| std::str::from_utf8(line).ok());
    lines.max_by_key(|line| line.len()).unwrap().to_owned()
}

/// T5: the kernel's own links, which a process could use to read its keys.
#[test]
fn kernel_links_are_closed() {
    let tree = Tree::with_outside_secrets();
    tree.write("a.txt", "x\n");
    tree.link("/proc/self/environ", "environ");
    tree.link("/proc/self/root", "root_link");
    tree.link("/proc/self/fd", "fd");
    tree.link("/proc/thread-self/environ", "thread");
    tree.link("/dev/fd/0", "stdin");
    let workspace = tree.workspace();
    let canary = environment_canary();
    let through = format!("root_link{}/data.txt", tree.outside().to_str().unwrap());
    assert!(String::from_utf8_lossy(&fs::read(tree.root().join("environ")).unwrap()).contains(&canary));
    assert!(fs::read_to_string(tree.root().join(&through)).unwrap().contains(CANARY));
    for path in [
        "environ",
        "root_link",
        "fd",
        "fd/0",
        "thread",
        "stdin",
        "root_link/proc/self/environ",
        &through,
        ".",
    ] {
        for one in assert_sealed(&workspace, path) {
            assert!(!one.everything().contains(&canary), "{} on {path}", one.tool);
        }
    }
    for path in ["/proc", "/proc/self", "/proc/self/fd", "/sys", "/sys/kernel", "/dev", "/dev/fd"] {
        let policy = RootPolicy { home: None, allow_broad: true };
        let result = Root::open(Path::new(path), &policy, SecretPolicy::standard(&[]));
        assert!(matches!(result, Err(RootError::KernelFileSystem { .. })), "{path}: {result:?}");
    }
}

/// T5: even with a broad root that the user allowed, the keys in the environment must be unreadable.
#[test]
fn kernel_file_systems_are_closed_below_a_broad_root_too() {
    let policy = RootPolicy { home: None, allow_broad: true };
    let root = Root::open(Path::new("/"), &policy, SecretPolicy::standard(&[])).unwrap();
    let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
    workspace.filter.mode = FilterMode::Lexical;
    let canary = environment_canary();
    let pattern = regex_of(&canary[..canary.len().min(12)]);
    for path in ["/proc/self/environ", "proc/self/environ", "/proc/thread-self/environ"] {
        for (tool, request) in [
            ("read_file", json!({"path": path})),
            ("grep_search", json!({"pattern": pattern, "path": path, "include_ignored": true})),
        ] {
            let shown = match crate::support::call(&workspace, tool, request) {
                Ok(answer) => format!("{}{}", answer.text, answer.records().clone()),
                Err(error) => error.to_string(),
            };
            assert!(
                !shown.contains(&canary[..canary.len().min(40)]),
                "{tool} on {path} shows the environment"
            );
        }
    }
}

fn regex_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '.' }).collect()
}

/// T7: the user has to permit a root that is broader than a project.
#[cfg(unix)]
#[test]
fn broad_roots_are_refused() {
    let tree = Tree::new();
    let home = tree.root();
    fs::create_dir(home.join("project")).unwrap();
    tree.link("..", "project/up");
    let open = |path: &Path, allow_broad: bool| {
        let policy = RootPolicy { home: Some(home.clone()), allow_broad };
        Root::open(path, &policy, SecretPolicy::standard(&[]))
    };
    let slash_link = tree.outside().join("slash");
    std::os::unix::fs::symlink("/", &slash_link).unwrap();
    for path in [
        Path::new("/"),
        Path::new("/."),
        Path::new("//"),
        &slash_link,
        &home,
        &home.join("."),
        &home.join("project/.."),
        &home.join("project/up"),
        home.parent().unwrap(),
    ] {
        let refused = open(path, false).unwrap_err();
        assert!(matches!(refused, RootError::TooBroad { .. }), "{}: {refused}", path.display());
        assert_eq!(refused.hint(), Some(Hint::AllowBroadRoot));
        assert!(open(path, true).is_ok(), "{} with the user's leave", path.display());
    }
    assert!(open(&home.join("project"), false).is_ok());
}

/// T8, known behaviour: a hard link is the file itself, so no path can distinguish it from others.
#[test]
fn a_hard_link_is_readable() {
    let tree = Tree::with_outside_secrets();
    fs::hard_link(tree.outside().join("data.txt"), tree.root().join("hard.txt")).unwrap();
    assert_eq!(
        leaking(&tree.workspace(), "hard.txt"),
        ["Search", "grep_search", "keyword_search", "read_file", "search_index"]
    );
}
