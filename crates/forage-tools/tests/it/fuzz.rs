//! Calls every tool with arbitrary arguments.

use forage_fuzz::target;
use forage_tools::{ToolError, registry};
use serde_json::Value;

use crate::support::{NEEDLE, Tree, secret_text};

#[test]
fn any_arguments_are_answered_or_refused_and_show_no_secret() {
    let tree = Tree::with_outside_secrets();
    tree.write("a.txt", format!("{NEEDLE} one\ntwo\nthree\n"));
    tree.write(".env", secret_text());
    tree.write("sub/b.rs", "fn b() {}\n");
    tree.link("../outside", "out");
    let workspace = tree.workspace();
    let seeds = forage_fuzz::seeds([
        r#"{"pattern":"one|two","path":"sub/..","glob":"*.{txt,rs}","context":2,"max_results":5,"case":"smart"}"#,
        r#"{"path":"a.txt","start_line":1,"end_line":3}"#,
        r#"{"path":".env","pattern":".","include_ignored":true,"literal":"false","fuzzy":"1"}"#,
        r#"{"path":"out/secret.txt","max_depth":3}"#,
        r#"{"query":"one two","search_terms":["one","t.o"],"path":"","limit":3,"explain":true}"#,
        r#""{\"pattern\":\"\\u0000\",\"cursor\":\"1.0000000000000000.0.1.61\"}""#,
    ]);
    target!(&seeds, |input| {
        let Ok(request) = serde_json::from_slice::<Value>(input) else { return };
        for name in ["grep_search", "list_directory", "read_file", "keyword_search", "search_index"] {
            let shown = match registry::find(name).unwrap().call(&workspace.start_call(), request.clone()) {
                Ok(answer) => format!("{}\n{}", answer.text, answer.records().clone()),
                Err(error @ ToolError::Internal { .. }) => panic!("{name}: {error}"),
                Err(error) => error.to_string(),
            };
            assert!(!shown.contains(secret_text().trim()), "{name}: {shown}");
        }
    });
}
