//! T25, T32: ignore files as bombs, and as a way to hide files.

use std::fs;
use std::time::{Duration, Instant};

use forage_tools::Answer;
use serde_json::{Value, json};

use crate::support::{NEEDLE, Tree, answer, line_with, ripgrep, stable, within};

/// Time limit for one call against a bomb, with room for a busy machine. The real ripgrep takes 54 s and 3.8 GB
/// for the worst of these.
const PROMPT: Duration = Duration::from_secs(25);

/// Lists the calls that read ignore files: a search with hits, one without hits, a listing and others.
fn walks() -> [(&'static str, Value); 5] {
    [
        ("grep_search", json!({"pattern": NEEDLE})),
        ("grep_search", json!({"pattern": "absent"})),
        ("list_directory", json!({"max_depth": 3})),
        ("keyword_search", json!({"query": "q", "search_terms": [NEEDLE]})),
        ("keyword_search", json!({"query": "q", "search_terms": ["absent", "nowhere", "nothing"]})),
    ]
}

fn defused(tree: &Tree, check: impl Fn(&str, &Answer)) {
    for (tool, request) in walks() {
        let workspace = tree.workspace();
        let started = Instant::now();
        // We wait four times the allowed time, so that a failure reports how long the call took.
        let found = within(PROMPT * 4, tool, {
            let request = request.clone();
            move || answer(&workspace, tool, request)
        });
        let took = started.elapsed();
        assert!(took < PROMPT, "{tool} {request} took {took:?}");
        check(tool, &found);
    }
}

/// The packages for other languages have a name of their own for this setting.
#[test]
fn excluded_files_are_not_offered_by_another_option() {
    let tree = Tree::new();
    tree.write("a.txt", "other\n");
    tree.write("hidden/b.txt", "needle\n");
    let mut workspace = tree.workspace();
    let globs = forage_fs::Globs::new(&["!hidden"]).unwrap();
    workspace.excludes = Some(globs.labelled("`exclude` of the workspace"));
    insta::assert_snapshot!(answer(&workspace, "grep_search", json!({"pattern": "needle"})).text);
}

#[test]
fn a_line_of_a_hundred_megabytes() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    tree.write(".git/HEAD", "");
    tree.write(".gitignore", vec![b'a'; 100 << 20]);
    defused(&tree, |tool, found| {
        let warning = "[warning: .gitignore is over 65536 bytes, so its rules are not applied]";
        assert_eq!(line_with(&found.text, "ignore "), warning, "{tool}");
    });
}

#[test]
fn a_hundred_thousand_globs() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    tree.write("sub/.ignore", (0..100_000).map(|i| format!("*{i}?x\n")).collect::<String>());
    defused(&tree, |tool, found| {
        let warning = "[warning: sub/.ignore is over 65536 bytes, so its rules are not applied]";
        assert_eq!(line_with(&found.text, "ignore "), warning, "{tool}");
    });
}

#[test]
fn five_thousand_globs_that_are_short() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    tree.write("sub/.ignore", (0..5_000).map(|i| format!("*{i}?x\n")).collect::<String>());
    defused(&tree, |tool, found| {
        let warning = "[warning: sub/.ignore has over 2000 rules, so none is applied]";
        assert_eq!(line_with(&found.text, "ignore "), warning, "{tool}");
    });
}

#[test]
fn a_line_of_many_kilobytes_among_good_ones() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    tree.write("b.log", format!("{NEEDLE}\n"));
    tree.write(".ignore", format!("# fine\n{}\n*.log\n{{a\n", "*".repeat(5_000)));
    let texts = std::cell::RefCell::new(Vec::new());
    defused(&tree, |tool, found| texts.borrow_mut().push(format!("> {tool}\n{}", found.text)));
    insta::assert_snapshot!(stable(&texts.into_inner().join("\n")));
}

#[test]
fn many_files_that_are_each_within_the_limits() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    let rules: String = (0..2_000).map(|i| format!("*{i}*[ab]?{i}/**/x*\n")).collect();
    for i in 0..120 {
        tree.write(format!("d{i:03}/.ignore"), &rules);
        tree.write(format!("d{i:03}/b.txt"), "x\n");
    }
    defused(&tree, |tool, found| {
        assert!(found.text.contains("exceeds the rule limits of one search"), "{tool}: {}", found.text);
    });
}

/// Each rule is within its limits, but each name goes through all states of all rules at once.
#[test]
fn rules_that_are_costly_to_match() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    tree.write(".ignore", format!("{}b\n", "*a".repeat(500)).repeat(60));
    for i in 0..400 {
        tree.write(format!("{}{i}", "a".repeat(200)), "x\n");
    }
    defused(&tree, |_, _| {});
}

/// T32: a rule of the repository hides a file. An empty answer must name this rule and the lines that it
/// hides.
#[test]
fn an_empty_answer_says_what_is_hidden_and_by_what() {
    forage_fuzz::needs!("rg");
    for (file, rule) in [(".rgignore", "back*.rs"), (".ignore", "/backdoor.rs"), (".gitignore", "*.rs")] {
        let tree = Tree::new();
        tree.write(".git/HEAD", "");
        tree.write("src/lib.rs.txt", "nothing\n");
        tree.write(format!("src/{file}"), format!("{rule}\n"));
        tree.write("src/backdoor.rs", format!("{NEEDLE} 1\nx\n{NEEDLE} 2\n"));
        // Positive control: ripgrep finds nothing and does not say why.
        assert!(ripgrep(&tree.root(), &["-e", NEEDLE, "."]).is_empty());
        let workspace = tree.workspace();
        let hidden =
            format!("2 matching lines in 1 file hidden by `{rule}` in src/{file}:1, such as src/backdoor.rs");
        for (tool, request) in [
            ("grep_search", json!({"pattern": NEEDLE})),
            ("grep_search", json!({"pattern": NEEDLE, "path": "src"})),
            ("keyword_search", json!({"query": "q", "search_terms": ["NEEDLE", "absent"]})),
        ] {
            let found = answer(&workspace, tool, request);
            assert!(!found.found, "{tool}: {}", found.text);
            assert_eq!(line_with(&found.text, "hidden by"), format!("- {hidden}"), "{tool}");
            assert!(found.text.contains("include_ignored"), "{tool}: {}", found.text);
            assert_eq!(found.records()["not_searched"]["hidden_matches"][0], hidden, "{tool}");
            assert_eq!(found.records()["skipped"]["ignored"], 1, "{tool}");
        }
        let all = answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "include_ignored": true}));
        assert_eq!(all.records()["match_count"], 2);
        let absent = answer(&workspace, "grep_search", json!({"pattern": "absent"}));
        assert_eq!(absent.records()["not_searched"]["hidden_matches"], json!([]));
    }
}

#[test]
fn hidden_names_and_directories_are_named_too() {
    let tree = Tree::new();
    tree.write(".ignore", "build/\n");
    tree.write("build/deep/a.txt", format!("{NEEDLE}\n"));
    tree.write(".config/b.txt", format!("{NEEDLE}\n{NEEDLE}\n"));
    // The two hidden entries are `.config` and `.ignore` itself.
    insta::assert_snapshot!(answer(&tree.workspace(), "grep_search", json!({"pattern": NEEDLE})).text);
}

/// T32: files above the root have no effect, because they do not belong to the repository and the caller
/// can't see them.
#[test]
fn ignore_files_above_the_root_have_no_effect() {
    forage_fuzz::needs!("rg");
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    let above = tree.root().parent().unwrap().to_owned();
    fs::create_dir(above.join(".git")).unwrap();
    for name in [".ignore", ".rgignore", ".gitignore"] {
        fs::write(above.join(name), "*.txt\n").unwrap();
        // Positive control: ripgrep obeys this file.
        assert!(ripgrep(&tree.root(), &["-e", NEEDLE, "."]).is_empty(), "{name}");
        for (tool, request) in walks() {
            if !request.to_string().contains("absent") {
                assert!(answer(&tree.workspace(), tool, request).text.contains("a.txt"), "{tool}, {name}");
            }
        }
        fs::remove_file(above.join(name)).unwrap();
    }
}

/// An ignore file that is a link out of the root does not belong to the repository.
#[test]
fn an_ignore_file_that_is_a_link_out_is_not_read() {
    forage_fuzz::needs!("rg");
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    fs::write(tree.outside().join("rules"), "*.txt\n# 7f3a-canary[\n[7f3a-canary\n").unwrap();
    tree.link("../outside/rules", ".ignore");
    tree.link("../outside", ".git");
    assert!(ripgrep(&tree.root(), &["-e", NEEDLE, "."]).is_empty());
    for (tool, request) in walks() {
        let found = answer(&tree.workspace(), tool, request.clone());
        assert!(!found.text.contains("7f3a"), "{tool}: {}", found.text);
        insta::assert_snapshot!("ignore-file-outside", stable(line_with(&found.text, "can't be read")));
        if !request.to_string().contains("absent") {
            assert!(found.text.contains("a.txt"), "{tool}: {}", found.text);
        }
    }
}
