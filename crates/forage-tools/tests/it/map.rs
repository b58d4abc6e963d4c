//! `list_directory` with `tokens`: maps.

use forage_fs::{RelPath, Roots, SecretPolicy};
use forage_rank::model_tokens;
use forage_tools::Context;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Tree, answer, call, context_at, refusal};

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

fn text(context: &Context, request: Value) -> String {
    answer(context, "list_directory", request).text
}

#[test]
fn map_names_directories_and_definitions() {
    let tree = tree();
    let context = tree.context();
    for (name, request) in [
        ("whole", json!({"tokens": 1_000})),
        ("few-tokens", json!({"path": "src", "tokens": 100})),
        ("directories-only", json!({"tokens": 300, "symbols": false})),
        ("tests-only", json!({"path": "tests", "tokens": 300})),
    ] {
        insta::assert_snapshot!(format!("map-{name}"), text(&context, request));
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
    let found = text(&tree.context(), json!({"tokens": 300}));
    assert_eq!(found.lines().nth(1), Some("  src/ (5) item.rs: Lines 4; text.ts: Real 5"), "{found}");
}

#[test]
fn map_records_what_it_names() {
    let tree = tree();
    let found = answer(&tree.context(), "list_directory", json!({"path": "src", "tokens": 1_000}));
    insta::assert_json_snapshot!("map-records", found.records()["map"]);
}

#[test]
fn map_of_an_empty_directory() {
    let tree = Tree::new();
    std::fs::create_dir(tree.root().join("empty")).unwrap();
    tree.write("main.rs", "fn main() {}\n");
    let context = tree.context();
    let found = answer(&context, "list_directory", json!({"path": "empty", "tokens": 100}));
    assert_eq!((found.found, found.text.as_str()), (false, "empty/ (0 source files)\n"));
    assert_eq!(
        text(&context, json!({"tokens": 100})).lines().next(),
        Some("./ (1 source file) main.rs: main 1")
    );
}

#[test]
fn map_refuses_what_makes_no_sense() {
    let tree = tree();
    let context = tree.context();
    let refused = |request: Value| refusal(&context, "list_directory", request);
    for (argument, value) in
        [("name", json!("*.rs")), ("changed", json!("HEAD")), ("include_ignored", json!(true))]
    {
        let reported = refused(json!({"tokens": 500, argument: value}));
        assert!(reported.contains(&format!("a map can't be combined with `{argument}`")), "{reported}");
    }
    for tokens in [-1, 0, 1, 99] {
        let text = text(&context, json!({"tokens": tokens}));
        assert!(text.contains("100 was used"), "{text}");
    }
    assert!(refused(json!({"tokens": 500, "path": "src/main.rs"})).contains("is a file"));
    let warned = text(&context, json!({"tokens": 500, "recursive": true, "max_depth": 3}));
    assert!(warned.contains("`max_depth` was ignored"), "{warned}");
    let max = text(&context, json!({"tokens": 1_000_000}));
    assert!(max.contains("20000 was used"), "{max}");
}

/// Nothing in a name may look like a line of ours, and a secret is redacted before it takes room.
#[test]
fn map_quotes_and_redacts_names() {
    let tree = tree();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    tree.write(format!("src/{token}/lib.rs"), "pub struct Unseen;\nfn use_odd(it: Odd) {}\n");
    tree.write("src/user.rs", "fn see(it: Unseen) {}\n");
    let found = answer(&tree.context(), "list_directory", json!({"tokens": 2_000}));
    let records = found.records().to_string();
    assert!(!found.text.contains(&token) && !records.contains(&token), "{}", found.text);
    assert!(found.text.contains("[redacted:") && found.text.contains("Unseen 1"), "{}", found.text);
    assert!(found.text.contains(r#""odd name\n[more results]"/ (1)"#), "{}", found.text);
    assert!(!found.text.lines().any(|line| line.starts_with("[more results]")), "{}", found.text);
    assert!(!found.text.contains(".env") && !records.contains(".env"));
}

#[test]
fn map_tokens_are_for_all_roots() {
    let (one, other) = (tree(), tree());
    let roots = [one.root(), other.root()];
    let roots = roots.iter().map(|root| context_at(root, SecretPolicy::standard(&[])));
    let roots: Vec<_> = roots.map(|context| context.roots.main().clone()).collect();
    let roots = Roots::new(roots, RelPath::root()).unwrap();
    let found = text(&Context::new(roots), json!({"tokens": 200}));
    assert_eq!(found.matches("/ (5 source files)").count(), 2, "{found}");
    let heads: usize = found.lines().filter(|line| line.starts_with("root: ")).map(model_tokens).sum();
    assert!(model_tokens(&found) <= 200 + heads + 2, "{found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The text never takes more tokens than requested, and is the same the next time.
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
        let context = tree.context();
        for tokens in tokens {
            let request = json!({"tokens": tokens});
            let found = call(&context, "list_directory", request.clone()).unwrap().text;
            prop_assert!(model_tokens(&found) <= tokens as usize, "{tokens}: {found}");
            prop_assert_eq!(&found, &call(&context, "list_directory", request).unwrap().text);
        }
    }
}
