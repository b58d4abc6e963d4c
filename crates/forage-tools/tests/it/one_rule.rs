//! Rules that all tools share: which path is meant, how numbers out of range are handled, which directories
//! are skipped, and where long lines are cut.

use forage_fs::{RelPath, Roots};
use forage_tools::registry::TOOLS;
use forage_tools::{Workspace, limits};
use serde_json::{Value, json};

use crate::lookup;
use crate::support::{Tree, answer, line_with, stable};

/// Creates a request that the tool can answer.
fn request(tool: &str) -> Value {
    match tool {
        "keyword_search" => json!({"query": "where is the needle", "search_terms": ["needle"]}),
        "grep_search" | "Search" | "search_history" => json!({"pattern": "needle"}),
        "search_index" => json!({"query": "needle", "code_tokens": 0}),
        "keyword_lookup" => json!({"query": "needle"}),
        "read_file" => json!({"path": "a.txt"}),
        "list_directory" => json!({}),
        other => panic!("{other} has no request here"),
    }
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("a.txt", "needle one\ntwo\nthree needles\n");
    tree.write("sub/b.txt", "a needle below\n");
    tree.commit("First");
    tree
}

/// Creates a workspace for a caller whose working directory is `sub`.
fn workspace(tree: &Tree) -> Workspace {
    let mut workspace = tree.workspace();
    let root = std::sync::Arc::clone(workspace.roots.main());
    workspace.roots = Roots::new(vec![root], RelPath::parse("sub", &RelPath::root()).unwrap()).unwrap();
    workspace.lookup = lookup::fixture(&[lookup::code("x.rs", "needle here")]).workspace.lookup;
    workspace
}

/// Lists the arguments of a tool that have this type.
fn arguments_of(tool: &str, kind: &str) -> Vec<String> {
    let tool = TOOLS.iter().find(|other| other.name() == tool).unwrap();
    let schema = tool.whole_schema();
    let properties = schema["properties"].as_object().unwrap();
    properties.iter().filter(|(_, property)| property["type"] == kind).map(|(name, _)| name.clone()).collect()
}

/// No path, an empty path and `.` all mean the root of the project, whatever the caller's working directory
/// is.
#[test]
fn a_path_that_is_left_out_is_the_project() {
    let tree = tree();
    let workspace = workspace(&tree);
    let mut seen = Vec::new();
    for tool in TOOLS.iter().map(|tool| tool.name()) {
        // In a collection, the path is a filter. `read_file` needs a file.
        let takes_one = arguments_of(tool, "string").contains(&"path".to_owned());
        if !takes_one || matches!(tool, "keyword_lookup" | "read_file") {
            continue;
        }
        let given = |path: Option<&str>| {
            let mut request = request(tool);
            if let Some(path) = path {
                request["path"] = json!(path);
            }
            let mut records = answer(&workspace, tool, request).records().clone();
            records.as_object_mut().unwrap().remove("elapsed_ms");
            records
        };
        let whole = given(None);
        assert_eq!((&whole["path"], whole["root"].is_string()), (&json!("."), true), "{tool}: {whole}");
        for path in ["", " ", ".", "./", &tree.root().display().to_string()] {
            assert_eq!(given(Some(path)), whole, "{tool} {path:?}");
        }
        // Positive control: another path gives another answer.
        assert_ne!(given(Some("sub")), whole, "{tool}");
        seen.push(tool);
    }
    assert_eq!(seen, ["search_index", "grep_search", "list_directory", "Search", "search_history"]);
}

/// We clamp a number that is out of range, and the answer says so.
#[test]
fn numbers_out_of_range_are_brought_into_it() {
    let tree = tree();
    let workspace = workspace(&tree);
    let mut seen = 0;
    for tool in TOOLS.iter().map(|tool| tool.name()) {
        for argument in arguments_of(tool, "integer") {
            for number in [
                json!(-5),
                json!(i64::MIN),
                json!(i64::MAX),
                json!(u64::MAX),
                json!(1e300),
                json!("99999999"),
            ] {
                let mut request = request(tool);
                request[&argument] = number.clone();
                let found = answer(&workspace, tool, request);
                let warnings = found.records()["warnings"].to_string();
                let said = format!("`{argument}`: ");
                // There are no lines after the end of the file.
                if (tool, argument.as_str()) == ("read_file", "start_line")
                    && found.text.contains("no lines from ")
                {
                    continue;
                }
                assert!(
                    warnings.contains(&said) && warnings.contains("was used"),
                    "{tool} {number}: {warnings}"
                );
                assert!(found.text.contains(&said), "{tool} {argument} {number}: {}", found.text);
                seen += 1;
            }
            // Positive control: within the range, there is no warning.
            let mut request = request(tool);
            request[&argument] = json!(match argument.as_str() {
                "timeout_ms" => 20_000,
                "tokens" => 1_000,
                _ => 1,
            });
            let warnings = answer(&workspace, tool, request).records()["warnings"].to_string();
            assert!(!warnings.contains("was used"), "{tool} {argument}: {warnings}");
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn lines_after_the_end_are_an_empty_answer_with_its_length() {
    let tree = tree();
    tree.write("empty.txt", "");
    let workspace = tree.workspace();
    let cases = [
        (json!({"start_line": 99}), (99, 0), 0),
        (json!({"start_line": 4, "end_line": 120}), (4, 0), 0),
        (json!({"path": "a.txt:99"}), (99, 0), 0),
        (json!({"path": "empty.txt", "start_line": 7}), (7, 0), 0),
        (json!({"start_line": 0, "end_line": 2}), (1, 2), 1),
        (json!({"start_line": 2, "end_line": 120}), (2, 3), 1),
        (json!({"start_line": 3, "end_line": 2}), (3, 3), 1),
    ];
    let mut texts = Vec::new();
    for (mut request, lines, warnings) in cases {
        if request.get("path").is_none() {
            request["path"] = json!("a.txt");
        }
        let read = answer(&workspace, "read_file", request.clone());
        let shown =
            (read.records()["start_line"].as_u64().unwrap(), read.records()["end_line"].as_u64().unwrap());
        assert_eq!(shown, lines, "{request}: {}", read.text);
        assert_eq!(
            read.records()["warnings"].as_array().unwrap().len(),
            warnings,
            "{request}: {}",
            read.text
        );
        texts.push(format!("{request}\n{}", read.text));
    }
    insta::assert_snapshot!(texts.join("\n"));
}

/// All tools skip directories of dependencies and caches, even if no ignore file names them. They report this
/// and how to include these directories. If text exists only there, they must not call it absent.
#[test]
fn directories_that_are_noise_are_the_same_in_tree_and_search() {
    for name in ["node_modules", "__pycache__"] {
        let tree = tree();
        tree.write(format!("sub/{name}/pkg/c.txt"), "needle of a dependency, zyxomma\n");
        let workspace = workspace(&tree);
        let cases = [
            ("grep_search", json!({"pattern": "needle"}), json!({"include_ignored": true})),
            ("Search", json!({"pattern": "needle"}), json!({"no_ignore": true})),
            ("list_directory", json!({"max_depth": 9}), json!({"include_ignored": true})),
        ];
        for (tool, request, including) in cases {
            let found = answer(&workspace, tool, request.clone());
            let argument = including.as_object().unwrap().keys().next().unwrap().clone();
            assert!(!found.text.contains("c.txt"), "{tool}: {}", found.text);
            let verb = if tool == "list_directory" { "lists" } else { "searches" };
            let note = format!("not entered: {name}; {argument} {verb} them]");
            assert!(line_with(&found.text, "not entered").ends_with(&note), "{tool}: {}", found.text);
            assert_eq!(found.records()["noise_directories"], json!([name]), "{tool}");
            // The directory is included if the argument or the path asks for it.
            let mut wide = request.clone();
            wide[&argument] = json!(true);
            let mut named = request.clone();
            named["path"] = json!(format!("sub/{name}"));
            for request in [wide, named] {
                let found = answer(&workspace, tool, request.clone());
                assert!(found.text.contains("c.txt"), "{tool} {request}: {}", found.text);
                assert_eq!(found.records().get("noise_directories"), None, "{tool} {request}");
            }
            // If text exists only there, it must not be called absent.
            if tool != "list_directory" {
                let found = answer(&workspace, tool, json!({"pattern": "zyxomma"}));
                let hidden =
                    found.records()["not_searched"]["hidden_matches"][0].as_str().unwrap_or_default();
                let expected = format!(
                    "1 matching line in 1 file hidden by `{name}`, a directory that is not entered by default, such as \
                     sub/{name}/pkg/c.txt"
                );
                assert_eq!((found.found, hidden), (false, expected.as_str()), "{tool}: {}", found.text);
            }
        }
        let conceptual = answer(&workspace, "keyword_search", request("keyword_search"));
        let ranked = answer(&workspace, "search_index", request("search_index"));
        insta::assert_snapshot!(
            format!("not-entered-{name}"),
            stable(&[conceptual, ranked].map(|answer| answer.text).join("\n"))
        );
        // Positive controls: an ignore file that re-includes the directory, a glob that selects it, and a
        // file of the same name.
        let chosen = json!({"pattern": "zyxomma", "glob": [name, "*.txt"]});
        assert!(answer(&workspace, "Search", chosen).found, "{name}");
        tree.write(".ignore", format!("!{name}\n"));
        assert!(answer(&workspace, "grep_search", json!({"pattern": "zyxomma"})).found, "{name}");
        tree.write(".ignore", format!("{name}\n"));
        let ignored = answer(&workspace, "grep_search", json!({"pattern": "needle"}));
        assert!(
            ignored.records()["skipped"]["ignored"] == 1
                && ignored.records().get("noise_directories").is_none()
        );
    }
    let tree = tree();
    tree.write("node_modules", "needle in a file\n");
    assert!(answer(&workspace(&tree), "grep_search", json!({"pattern": "in a file"})).found);
}

#[test]
fn of_a_long_line_the_part_that_was_found_is_shown() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{} needle {}\n", "word ".repeat(2_000), "more ".repeat(2_000)));
    let code = ("search_index", json!({"query": "needle"}));
    let tools = ["grep_search", "Search", "search_index"].map(|tool| (tool, request(tool)));
    for (tool, request) in tools.into_iter().chain([code]) {
        let found = answer(&tree.workspace(), tool, request);
        assert!(found.text.contains("needle more"), "{tool}: {}", found.text);
    }
}

/// A long line must be cut at the number of characters that a reader counts, in any script, and not earlier.
#[test]
fn long_lines_are_cut_by_what_a_reader_counts() {
    let limits = [
        ("grep_search", limits::GREP_LINE_CHARACTERS, "/files/0/lines/0/text"),
        ("Search", limits::SEARCH_LINE_CHARACTERS, "/matches/0/data/lines/text"),
        ("search_index", limits::RANKED_LINE_CHARACTERS, "/files/0/chunks/0/lines/0/text"),
        ("read_file", limits::READ_LINE_CHARACTERS, "/lines/0"),
        ("keyword_lookup", limits::RANKED_LINE_CHARACTERS, "/hits/0/lines/0/text"),
    ];
    for (tool, max, place) in limits {
        for character in ["x", "漢", "é", "e\u{301}"] {
            for (more, is_whole) in [(0, true), (1, false)] {
                let line = format!("needle {}", character.repeat(max - 7 + more));
                let tree = Tree::new();
                tree.write("a.txt", format!("{line}\n"));
                for hides in [true, false] {
                    let mut workspace = tree.workspace();
                    if !hides {
                        workspace.redactor = std::sync::Arc::new(forage_redact::Redactor::off());
                    }
                    workspace.lookup = lookup::fixture(&[lookup::code("x.rs", &line)]).workspace.lookup;
                    let found = answer(&workspace, tool, request(tool));
                    let text = found.records().pointer(place).and_then(Value::as_str);
                    let text = text.unwrap_or_else(|| panic!("{tool}: {}", found.records().clone()));
                    let case = format!("{tool} {character} {more} {hides}: {text}");
                    assert_eq!(text == line, is_whole, "{case}");
                    let kept = text.split('…').next().unwrap();
                    let expected = format!("needle {}", character.repeat(max - 7));
                    assert_eq!(kept, expected, "{case}");
                }
            }
        }
    }
}

/// If a search has no hits, some files may be read neither by it nor by the check of hidden files. We count
/// these only once.
#[test]
fn what_was_not_read_is_counted_once() {
    let tree = Tree::new();
    tree.write("a.txt", "two\n");
    tree.write("large.txt", "needle\n".repeat(100));
    tree.write("ignored/large.txt", "needle\n".repeat(100));
    tree.write("ignored/small.txt", "needle\n");
    tree.write(".ignore", "ignored\n");
    tree.write(".env", "needle\n");
    tree.write("id_rsa", "needle\n");
    let mut workspace = tree.workspace();
    workspace.limits.max_file_bytes = Some(100);
    for tool in ["grep_search", "Search"] {
        let found = answer(&workspace, tool, request(tool));
        let reported = &found.records()["not_searched"];
        assert_eq!(reported["unread"], json!({"denied": 2, "too_large": 2}), "{tool}: {reported}");
        let hidden = &reported["hidden_matches"];
        assert!(hidden[0].as_str().unwrap().starts_with("1 matching line in 1 file"), "{tool}: {reported}");
        assert_eq!(hidden.as_array().unwrap().len(), 1, "{tool}: {reported}");
    }
}
