//! A program calls the tools through their typed methods. This must give the same answers as with JSON, and
//! as fast.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use forage_fs::PrivatePlace;
use forage_tools::index_manager::IndexStore;
use forage_tools::tools::{
    GrepRequest, KeywordRequest, ListRequest, RankRequest, ReadRequest, SearchRequest, SearchResponse,
};
use forage_tools::{FilterMode, Stop, ToolError, ToolOutcome, Workspace, WorkspaceError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::support::{Tree, answer};

fn shop() -> (Tree, Workspace) {
    let tree = Tree::new();
    tree.write("src/retry.rs", "/// Waits.\npub fn backoff() {}\n\nfn with_retries() {\n    backoff();\n}\n");
    tree.write("src/main.rs", "mod retry;\n\nfn main() {\n    retry::backoff();\n}\n");
    tree.write("token.txt", "token = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n");
    let workspace = Workspace::open(tree.root()).unwrap();
    (tree, workspace)
}

/// The records of the JSON answer must contain those of the typed response, field by field.
fn assert_same<R: Serialize>(workspace: &Workspace, tool: &str, request: Value, typed: &ToolOutcome<R>) {
    let answer = answer(workspace, tool, request);
    let Value::Object(fields) = serde_json::to_value(&typed.response).unwrap() else { panic!("{tool}") };
    assert!(fields.len() > 3, "{tool}");
    for (name, value) in fields {
        assert_eq!(answer.records()[&name], value, "{tool} {name}");
    }
    assert_eq!(answer.records()["warnings"], json!(typed.warnings), "{tool}");
    assert_eq!(answer.found, typed.found, "{tool}");
}

#[test]
fn typed_calls_answer_as_those_of_json_do() {
    let (_tree, workspace) = shop();
    let found = workspace.grep(GrepRequest::new("backoff").file_pattern("*.rs").context_lines(0)).unwrap();
    assert_eq!((found.response.match_count, found.response.files[0].path.as_str()), (3, "src/main.rs"));
    let request = json!({"pattern": "backoff", "file_pattern": "*.rs", "context_lines": 0});
    assert_same(&workspace, "grep_search", request, &found);

    let found = workspace.search(SearchRequest::new("backof").fuzzy(1).path("src")).unwrap();
    assert_eq!(found.response.matches[0].data.distance, Some(0));
    assert_same(&workspace, "Search", json!({"pattern": "backof", "fuzzy": 1, "path": "src"}), &found);

    let found = workspace.rank(RankRequest::new("backoff").limit(1)).unwrap();
    assert_eq!(found.response.files[0].path, "src/retry.rs");
    assert_same(&workspace, "search_index", json!({"query": "backoff", "limit": 1}), &found);

    let found = workspace.read(ReadRequest::new("src/retry.rs").start_line(2).end_line(2)).unwrap();
    assert_eq!(found.response.lines, ["pub fn backoff() {}"]);
    let request = json!({"path": "src/retry.rs", "start_line": 2, "end_line": 2});
    assert_same(&workspace, "read_file", request, &found);

    let mut lexical = workspace.clone();
    lexical.filter.mode = FilterMode::Lexical;
    let found = lexical.keyword(KeywordRequest::new("how long is waited", ["backoff", "absent"])).unwrap();
    assert_eq!(found.response.files[0].match_lines, [2, 5]);
    assert_eq!((found.response.terms[0].lines, found.response.terms[1].fate), (3, "no_hits"));
    let request = json!({"query": "how long is waited", "search_terms": ["backoff", "absent"]});
    assert_same(&lexical, "keyword_search", request, &found);

    let found = workspace.list(ListRequest::new().recursive(true)).unwrap();
    assert_eq!(found.response.entries.len(), 4);
    assert_same(&workspace, "list_directory", json!({"recursive": true}), &found);
}

#[test]
fn typed_answer_is_redacted() {
    let (_tree, mut workspace) = shop();
    let grep = |workspace: &Workspace| workspace.grep(GrepRequest::new("token =")).unwrap();
    let found = grep(&workspace);
    assert!(found.response.files[0].lines[0].text.contains("[redacted:github-token]"), "{found:?}");
    assert_eq!(found.hidden.total(), 1);
    // Positive control: without redaction, the secret is visible.
    workspace.redactor = std::sync::Arc::new(forage_redact::Redactor::off());
    assert!(grep(&workspace).response.files[0].lines[0].text.contains("ghp_0123"));
}

#[test]
fn invalid_request_is_a_typed_error() {
    let (tree, workspace) = shop();
    assert!(matches!(workspace.grep(GrepRequest::new("a(")), Err(ToolError::Pattern { .. })));
    assert!(matches!(workspace.read(ReadRequest::new("nowhere.rs")), Err(ToolError::Path(_))));
    let stop = Stop::never();
    stop.cancel();
    assert!(matches!(
        workspace.stopped_by(stop).rank(RankRequest::new("backoff")),
        Err(ToolError::Cancelled)
    ));
    assert!(matches!(Workspace::open(tree.root().join("none")), Err(WorkspaceError::Root(_))));
    let within = workspace.keep_indexes(tree.root().join("cache"));
    assert!(matches!(within, Err(WorkspaceError::IndexesInside(_))));
    assert!(!tree.root().join("cache").exists());
}

#[test]
fn stream_yields_files_in_order_until_the_reader_stops() {
    let tree = Tree::new();
    for file in 0..300 {
        tree.write(format!("{file:03}.txt"), "needle\n".repeat(50));
    }
    let workspace = Workspace::open(tree.root()).unwrap();
    let each = |max: usize| -> (Vec<String>, ToolOutcome<SearchResponse>) {
        let mut seen = Vec::new();
        let outcome = workspace
            .search_each(SearchRequest::new("needle"), |records| {
                seen.extend(records.iter().map(|record| record.data.path.text.clone()));
                if seen.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .unwrap();
        (seen, outcome)
    };
    let (seen, outcome) = each(usize::MAX);
    assert_eq!((seen.len(), outcome.response.match_count), (300 * 50, 300 * 50));
    assert!(seen.is_sorted() && outcome.response.matches.is_empty());
    // This is more than any answer of a call can contain. Also, we don't search for results that are not
    // wanted.
    assert!(seen.len() as u64 > forage_tools::limits::SEARCH_RESULTS_MAX);
    let (seen, outcome) = each(60);
    assert_eq!((seen.len(), outcome.response.match_count), (100, 100));
    assert!(outcome.response.files_searched < 300, "{}", outcome.response.files_searched);
}

/// The pages of a grep together equal the stream. A file with many matches comes in several parts, in which
/// no line is lost or repeated, including context.
#[test]
fn a_grep_hands_over_all_there_is_as_its_pages_do() {
    let tree = Tree::new();
    for file in 0..40 {
        tree.write(format!("few/{file:02}.txt"), "one\nneedle\nthree\nfour\nfive\n".repeat(file % 3));
    }
    let lines = |number: usize| if number.is_multiple_of(4) { "needle\n" } else { "hay\n" };
    let max = forage_tools::limits::GREP_PIECE_MATCHES;
    tree.write("many.txt", (0..max * 10).map(lines).collect::<String>());
    let workspace = Workspace::open(tree.root()).unwrap();
    for context in [0, 1, 3] {
        let request = || GrepRequest::new("needle").context_lines(context);
        let mut streamed = Vec::new();
        let mut pieces = 0;
        let outcome = workspace
            .grep_each(request(), |file| {
                pieces += usize::from(file.path == "many.txt");
                streamed.extend(
                    file.lines.into_iter().map(|line| (file.path.clone(), line.line_number, line.kind)),
                );
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(pieces, 3, "10 lines in 4 match, in pieces of one");
        let (mut paged, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut request = request().max_results(10_000);
            request.cursor = cursor;
            let page = workspace.grep(request).unwrap();
            for file in page.response.files {
                paged.extend(
                    file.lines.into_iter().map(|line| (file.path.clone(), line.line_number, line.kind)),
                );
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        // At the end of a page, lines between two matches can be context of either match.
        paged.sort();
        paged.dedup();
        let mut sorted = streamed.clone();
        sorted.dedup();
        assert_eq!(sorted.len(), streamed.len(), "no line comes twice");
        sorted.sort();
        assert_eq!(sorted.len(), paged.len());
        assert!(sorted == paged);
        let response = outcome.response;
        let matches = streamed.iter().filter(|(_, _, kind)| *kind == "match").count() as u64;
        assert_eq!((response.match_count, response.file_count), (matches, 1 + 26));
        assert!(response.totals_exact && response.files.is_empty());
    }
    let mut files = 0;
    let ended = workspace.grep_each(GrepRequest::new("needle"), |_| {
        files += 1;
        if files < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(files == 5 && !ended.unwrap().response.totals_exact);
    let paged = workspace.grep_each(GrepRequest::new("needle").max_results(5), |_| ControlFlow::Continue(()));
    assert!(matches!(paged, Err(ToolError::Argument { .. })));
}

/// A program uses the same index as the command line. A long-running program builds it itself.
#[test]
fn indexes_are_kept_and_used() {
    let (tree, plain) = shop();
    for file in 0..2_100 {
        tree.write(format!("many/{file}.txt"), format!("hay {file}\n"));
    }
    std::thread::sleep(forage_fs::limits::SETTLING + Duration::from_millis(100));
    let grep = |workspace: &Workspace| workspace.grep(GrepRequest::new("backoff")).unwrap().response;
    let first = grep(&plain);
    let same = |workspace: &Workspace| {
        let again = grep(workspace);
        assert_eq!((again.match_count, again.files_searched), (first.match_count, first.files_searched));
    };
    let index = |workspace: &Workspace| {
        let index = workspace.indexes.as_ref().unwrap().open(workspace.roots.main());
        index.map(|index| index.layers().iter().map(|layer| u64::from(layer.len())).sum::<u64>())
    };
    // Positive control: a short-lived program builds no index. Its directories do not exist yet, as in a home
    // without a cache.
    let place = PrivatePlace::below(tree.outside()).join("forage").join("index");
    let brief = plain.clone().keep_indexes(place.clone()).unwrap();
    same(&brief);
    assert_eq!(index(&brief), None);
    brief.build_index().unwrap();
    same(&brief);
    assert_eq!(index(&brief), Some(2_103));
    assert!(IndexStore::new(place, &tree.root()).exists());

    let lasting = plain.keep_indexes_and_watch(tree.outside().join("lasting")).unwrap();
    let began = Instant::now();
    while index(&lasting).is_none() {
        same(&lasting);
        assert!(began.elapsed() < Duration::from_secs(60), "no index was made");
        std::thread::sleep(Duration::from_millis(20));
    }
    same(&lasting);
    assert_eq!(index(&lasting), Some(2_103));
    lasting.close();
}
