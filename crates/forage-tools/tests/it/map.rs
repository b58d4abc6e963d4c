//! `list_directory` with `tokens`: maps.

use forage_rank::max_model_tokens;
use forage_tools::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Tree, answer, call, line_with, skipped, transcript, workspace_of};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("src/main.rs", "mod net;\n\nfn main() {\n    serve(Connection::open());\n}\n");
    tree.write("src/net/connection.rs", "/// Opens.\npub struct Connection;\n\nfn helper() {}\n");
    tree.write("src/net/serve.rs", "pub fn serve(it: Connection) {\n    retry_later();\n}\n");
    tree.write("src/net/deep/retry.rs", "pub fn retry_later() {}\n");
    tree.write("src/net/odd name\n[more results]/x.rs", "pub struct Odd;\n");
    tree.write("tests/serve.rs", "fn check_serve() { serve(Connection) }\n");
    tree.write("docs/guide.md", "# Connection\n");
    tree.write("node_modules/pad/index.js", "function pad() {}\n");
    tree.write(".env", "TOKEN=1\n");
    tree
}

fn text(workspace: &Workspace, request: Value) -> String {
    answer(workspace, "list_directory", request).text
}

#[test]
fn map_names_directories_and_definitions() {
    let tree = tree();
    let workspace = tree.workspace();
    // The last number is that of the text's tokens in o200k and in cl100k, as counted by gpt-tokenizer 4.0 of
    // npm. If a snapshot changes, they must be counted again.
    for (name, request, counted) in [
        ("whole", json!({"tokens": 1_000}), 119),
        ("few-tokens", json!({"path": "src", "tokens": 100}), 76),
        ("directories-only", json!({"tokens": 300, "symbols": false}), 89),
        ("tests-only", json!({"path": "tests", "tokens": 300}), 42),
    ] {
        let text = text(&workspace, request.clone());
        insta::assert_snapshot!(format!("map-{name}"), text);
        let max = max_model_tokens(&text);
        assert!(counted <= max && max as i64 <= request["tokens"].as_i64().unwrap(), "{max}: {text}");
    }
}

/// The index finds definitions line by line, but a map must only show those of the syntax tree.
#[test]
fn map_takes_definitions_from_syntax_trees() {
    let tree = Tree::new();
    tree.write("src/text.ts", "export const HELP = `\nclass Invented {\n`;\n\nexport class Real {}\n");
    tree.write("src/item.rs", "impl Iterator for Lines {\n    type Wanted = u8;\n}\npub struct Lines;\n");
    tree.write("src/use.rs", "fn f(it: Wanted, lines: Lines) {}\n");
    tree.write("src/user.ts", "import {HELP, Real} from './text';\nnew Real(); // Invented\n");
    tree.write("src/other.ts", "new Real(); // Invented\n");
    let found = text(&tree.workspace(), json!({"tokens": 300}));
    assert_eq!(found.lines().nth(1), Some("  src/ (5) item.rs: Lines 4; text.ts: Real 5"), "{found}");
}

#[test]
fn map_records_what_it_names() {
    let tree = tree();
    let found = answer(&tree.workspace(), "list_directory", json!({"path": "src", "tokens": 1_000}));
    insta::assert_json_snapshot!("map-records", found.records()["map"]);
}

#[test]
fn map_of_an_empty_directory() {
    let tree = Tree::new();
    std::fs::create_dir(tree.root().join("empty")).unwrap();
    tree.write("main.rs", "fn main() {}\n");
    let workspace = tree.workspace();
    let found = answer(&workspace, "list_directory", json!({"path": "empty", "tokens": 100}));
    assert_eq!((found.found, found.text.as_str()), (false, "empty/ (0 source files)\n"));
    assert_eq!(
        text(&workspace, json!({"tokens": 100})).lines().next(),
        Some("./ (1 source file) main.rs: main 1")
    );
}

/// A directory that the index leaves out is not an empty one.
#[test]
fn map_of_an_ignored_directory_says_so() {
    let tree = tree();
    tree.write(".ignore", "build\n");
    tree.write("build/made.rs", "pub struct Made;\n");
    let workspace = tree.workspace();
    let found = answer(&workspace, "list_directory", json!({"path": "build", "tokens": 200}));
    assert!(!found.found);
    let docs = text(&workspace, json!({"path": "docs", "tokens": 200}));
    insta::assert_snapshot!([found.text, docs].join("\n"));
}

#[test]
fn map_refuses_what_makes_no_sense() {
    let tree = tree();
    let workspace = tree.workspace();
    let requests = [
        json!({"tokens": 500, "name": "*.rs"}),
        json!({"tokens": 500, "changed": "HEAD"}),
        json!({"tokens": 500, "include_ignored": true}),
        json!({"tokens": 500, "path": "src/main.rs"}),
        json!({"tokens": 500, "recursive": true, "max_depth": 3}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "list_directory", requests));
    for (tokens, used) in [(-1, 100), (0, 100), (1, 100), (99, 100), (1_000_000, 20_000)] {
        let text = text(&workspace, json!({"tokens": tokens}));
        let warning = format!("[warning: `tokens`: {tokens} is not between 100 and 20000; {used} was used]");
        assert_eq!(line_with(&text, "was used"), warning);
    }
}

/// Nothing in a name may look like a line of ours, and a secret is redacted before it takes room.
#[test]
fn map_quotes_and_redacts_names() {
    let tree = tree();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    tree.write(format!("src/{token}/lib.rs"), "pub struct Unseen;\nfn use_odd(it: Odd) {}\n");
    tree.write("src/user.rs", "fn see(it: Unseen) {}\n");
    let found = answer(&tree.workspace(), "list_directory", json!({"tokens": 2_000}));
    let records = found.records().to_string();
    assert!(!found.text.contains(&token) && !records.contains(&token), "{}", found.text);
    assert!(!records.contains(".env"));
    insta::assert_snapshot!(found.text);
}

/// The tokens are for all roots together, with their names.
#[test]
fn map_tokens_are_for_all_roots() {
    let trees = [tree(), tree(), tree()];
    let workspace = workspace_of(&trees.each_ref());
    for (tokens, roots) in [(100, 1), (200, 2), (400, 3), (2_000, 3)] {
        let found = answer(&workspace, "list_directory", json!({"tokens": tokens}));
        let text = &found.text;
        assert_eq!(text.matches("/ (5 source files)").count(), roots, "{text}");
        assert!(max_model_tokens(text) <= tokens, "{tokens}: {text}");
        let rest = text.lines().filter(|line| line.starts_with("[warning")).collect::<Vec<_>>();
        let expected = match 3 - roots {
            0 => vec![],
            1 => vec!["[warning: no tokens are left for 1 more root: root]"],
            _ => vec!["[warning: no tokens are left for 2 more roots: root, root]"],
        };
        assert_eq!(rest, expected, "{text}");
    }
    let text = text(&workspace, json!({"tokens": 5}));
    assert_eq!(text.matches("100 was used").count(), 1, "{text}");
    assert!(max_model_tokens(&text) <= 100, "{text}");
    // A call about one of them has all tokens.
    let path = trees[0].root().display().to_string();
    let one = answer(&workspace, "list_directory", json!({"tokens": 100, "path": path}));
    assert_eq!(one.records()["map"]["tokens"], 100);
}

/// The limit on bytes may be lower than that on tokens.
#[test]
fn map_says_that_it_is_cut() {
    let (tree, other) = (tree(), tree());
    for number in 0..200 {
        tree.write(format!("src/part{number}/file.rs"), format!("pub struct Part{number};\n"));
    }
    let cut = "[cut at the limit on bytes; map a subdirectory]";
    let mut workspace = tree.workspace();
    workspace.limits.text_bytes = 400;
    let found = answer(&workspace, "list_directory", json!({"tokens": 2_000}));
    assert_eq!(line_with(&found.text, "cut at"), cut);
    assert!(found.text.len() <= 400 && found.text.lines().count() > 5, "{}", found.text);
    assert_eq!(found.records()["text_cut"], true);
    let whole = answer(&tree.workspace(), "list_directory", json!({"tokens": 2_000}));
    assert!(!whole.text.contains("cut at") && whole.records()["text_cut"] == false, "{}", whole.text);
    // The share of a root may be cut, too.
    let mut roots = workspace_of(&[&tree, &other]);
    roots.limits.text_bytes = 3_200;
    let found = answer(&roots, "list_directory", json!({"tokens": 4_000}));
    assert_eq!(found.text.matches(cut).count(), 1, "{}", found.text);
    assert!(found.text.len() <= 3_200 && max_model_tokens(&found.text) <= 4_000, "{}", found.text);
}

/// A name that is too long for a line is whole in the records.
#[test]
fn map_records_have_whole_names() {
    let tree = Tree::new();
    let name = format!("Long{}Name", "Very".repeat(14));
    tree.write("src/a.rs", format!("pub struct {name};\n"));
    tree.write("src/b.rs", format!("fn b(it: {name}) {{}}\n"));
    let found = answer(&tree.workspace(), "list_directory", json!({"tokens": 1_000}));
    let records = found.records();
    assert_eq!(
        records["map"]["directories"][1]["files"][0]["definitions"][0]["name"],
        name.as_str(),
        "{records}"
    );
    assert!(!found.text.contains(&name) && found.text.contains("LongVery"), "{}", found.text);
}

/// Files that the configuration excludes are counted, as in a listing.
#[test]
fn map_counts_excluded_files() {
    let tree = tree();
    let mut workspace = tree.workspace();
    let ignored = |workspace: &Workspace, path: &str| {
        let found = answer(workspace, "list_directory", json!({"tokens": 1_000, "path": path}));
        (skipped(&found, "ignored"), found.text)
    };
    assert_eq!(ignored(&workspace, "src").0, 0);
    workspace.excludes = Some(forage_fs::Globs::new(&["!deep", "!guide.md"]).unwrap());
    let (count, text) = ignored(&workspace, "src");
    assert_eq!(count, 1);
    insta::assert_snapshot!(text);
    assert_eq!(ignored(&workspace, ".").0, 2);
}

/// Modules of tests have no other sign than their name.
#[test]
fn map_leaves_out_modules_of_tests() {
    let tree = Tree::new();
    tree.write("src/lib.rs", "mod queue;\n#[cfg(test)]\nmod tests;\n");
    tree.write("src/queue.rs", "pub struct Queue;\n#[cfg(test)]\nmod queue_tests;\n");
    tree.write("src/tests.rs", "use super::*;\nfn works() { Queue; }\n");
    tree.write("src/queue/queue_tests.rs", "fn works() { Queue; }\n");
    tree.write("src/queue/attests.rs", "fn attest() { Queue; }\n");
    let found = answer(&tree.workspace(), "list_directory", json!({"tokens": 1_000}));
    let map = &found.records()["map"];
    assert_eq!((&map["files"], &map["other_files"]), (&json!(3), &json!(2)), "{}", found.text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The text never takes more tokens than requested, by a number that tokenizers don't exceed, and is the
    /// same the next time.
    #[test]
    fn map_stays_within_its_tokens(
        names in prop::collection::vec("[a-zA-Z_é\\[\\]\n;: ]{1,12}(/[a-z]{1,9}){0,4}", 1..40),
        tokens in prop::collection::vec(100_i64..1_500, 3),
    ) {
        let tree = Tree::new();
        for (index, name) in names.iter().enumerate() {
            let text = format!(
                "pub struct Type{index};\npub fn long_function_name_{index}(it: Type{}) {{}}\n",
                (index * 7 + 1) % names.len(),
            );
            let path = tree.root().join(name.trim()).join(format!("file{index}.rs"));
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() {
                std::fs::write(path, text).unwrap();
            }
        }
        let workspace = tree.workspace();
        for tokens in tokens {
            let request = json!({"tokens": tokens});
            let found = call(&workspace, "list_directory", request.clone()).unwrap().text;
            prop_assert!(max_model_tokens(&found) <= tokens as usize, "{tokens}: {found}");
            prop_assert_eq!(&found, &call(&workspace, "list_directory", request).unwrap().text);
        }
    }
}
