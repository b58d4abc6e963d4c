//! Calls that concern several roots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forage_fs::Root;
use forage_rank::tree::{UpdateEffort, UpdateError};
use forage_search::index::Index;
use forage_tools::tools::{GrepRequest, RankRequest, SearchIndex, SearchRequest};
use forage_tools::{Indexes, Limit, Ranked, Workspace, registry};
use serde_json::{Value, json};

use crate::support::{INVALID_CURSOR, answer, line_with, refusal, ripgrep, stable, transcript};

/// A directory whose subdirectories are the roots.
struct Roots(tempfile::TempDir);

impl Roots {
    fn new(files: &[(&str, &str)]) -> Self {
        let roots = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            roots.write(path, text);
        }
        roots
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", forage_fs::canonical(self.0.path()).unwrap().display()))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn open(&self, names: &[&str]) -> Workspace {
        let mut workspace = Workspace::open_all(names.iter().map(|name| self.path(name))).unwrap();
        workspace.filter.mode = forage_tools::FilterMode::Lexical;
        workspace
    }
}

fn shops() -> Roots {
    Roots::new(&[
        ("shop/src/order.rs", "pub fn place_order() {\n    charge_card();\n}\n"),
        ("shop/README.md", "# Shop\n\nOrders are placed and charged.\n"),
        (
            "billing/src/card.rs",
            "/// Charges the card of an order.\npub fn charge_card() {\n    retry();\n}\n",
        ),
        ("billing/src/order.rs", "pub fn order_total() {}\n"),
        ("old/billing/src/card.rs", "pub fn charge_card() {}\n"),
    ])
}

/// Indexes that fail for one root.
struct NoIndexOf(PathBuf);

impl Indexes for NoIndexOf {
    fn open(&self, _: &Arc<Root>) -> Option<Arc<Index>> {
        None
    }

    fn ranked(&self, root: &Arc<Root>, _: &UpdateEffort) -> Option<Result<Ranked, UpdateError>> {
        (root.path() == self.0).then(|| Err(UpdateError::Locked("it can't be locked".to_owned())))
    }
}

#[test]
fn a_call_that_names_no_root_is_about_all() {
    let roots = shops();
    let workspace = roots.open(&["shop", "billing"]);
    let card = roots.path("billing/src/card.rs").display().to_string();
    for path in [None, Some("."), Some("")] {
        let mut request = json!({"pattern": "charge_card"});
        path.into_iter().for_each(|path| request["path"] = json!(path));
        let found = answer(&workspace, "grep_search", request);
        // Paths that are not below the first root are absolute, so that you can't mistake them for another
        // file with the same name.
        insta::assert_snapshot!("a-call-about-all-roots", stable(&found.text));
        assert!(found.found && found.records()["totals_exact"] == true);
        let other = &found.records()["other_roots"][0];
        assert_eq!((&other["root"], &other["match_count"]), (&json!(roots.path("billing")), &json!(1)));
        assert_eq!(other["files"][0]["path"], json!(card));
    }
    // Each path in an answer must lead to its file.
    let read = answer(&workspace, "read_file", json!({"path": card}));
    assert_eq!(read.records()["lines"][1], "pub fn charge_card() {");
    // A root without matches says so, even if another root has matches.
    let replies = [
        ("grep_search", json!({"pattern": "place_order"})),
        ("grep_search", json!({"pattern": "nowhere_at_all"})),
        ("grep_search", json!({"pattern": "charge_card", "output": "uses"})),
        ("grep_search", json!({"pattern": "order", "output": "files"})),
        ("Search", json!({"pattern": "charge_card"})),
        ("list_directory", json!({"recursive": true})),
        ("list_directory", json!({"name": "order"})),
        ("list_directory", json!({"name": "*.rs"})),
        ("keyword_search", json!({"query": "where is a card charged", "search_terms": ["charge_card"]})),
    ]
    .map(|(tool, request)| transcript(&workspace, tool, [request]));
    insta::assert_snapshot!("answers-about-all-roots", replies.join("\n"));
}

#[test]
fn a_root_can_be_named() {
    let roots = shops();
    let workspace = roots.open(&["shop", "billing", "old/billing"]);
    let old = roots.path("old/billing");
    for path in [
        "root:old/billing".to_owned(),
        "root:old/billing/src".to_owned(),
        format!("root:{}", old.display()),
        old.display().to_string(),
    ] {
        let found = answer(&workspace, "grep_search", json!({"pattern": "charge_card", "path": path}));
        assert!(found.records()["other_roots"].is_null(), "{path}");
        assert_eq!(found.records()["files"][0]["path"], json!(old.join("src/card.rs")), "{path}");
        assert_eq!(line_with(&found.text, "[root"), format!("[root: {}]", old.display()));
    }
    let read = answer(&workspace, "read_file", json!({"path": "root:old/billing/src/card.rs"}));
    assert_eq!(read.records()["lines"], json!(["pub fn charge_card() {}"]));
    let read = answer(&workspace, "read_file", json!({"path": "root:shop/src/order.rs:2"}));
    assert_eq!(read.records()["start_line"], 2, "{}", read.text);
    let found = answer(&workspace, "grep_search", json!({"pattern": "charge_card", "path": "root:shop"}));
    assert_eq!(found.records()["files"][0]["path"], "src/order.rs");
    let found = answer(&workspace, "search_index", json!({"query": "xyzzy", "path": "root:old/billing/src"}));
    assert_eq!(found.records()["path"], json!(old.join("src")), "{}", found.text);
    let requests = ["root:billing", "root:nothing"].map(|path| json!({"pattern": "x", "path": path}));
    insta::assert_snapshot!("paths-of-roots-refused", transcript(&workspace, "grep_search", requests));
    // This also works in a question.
    let found = answer(&workspace, "search_index", json!({"query": "charge a card root:old/billing"}));
    let paths: BTreeSet<&str> =
        found.records()["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [old.join("src/card.rs").to_str().unwrap()].into());
    let found =
        answer(&workspace, "search_index", json!({"query": "charge a card root:old/billing root:shop"}));
    assert_eq!(found.records()["roots"], json!([old, roots.path("shop")]));
    let requests = [
        json!({"query": "card root:nothing"}),
        json!({"query": "root:shop"}),
        json!({"query": "card root:shop", "path": "src"}),
        json!({"query": "card root:shop/src"}),
    ];
    insta::assert_snapshot!("queries-with-roots-refused", transcript(&workspace, "search_index", requests));
}

/// Creates roots with many matching lines in one and a few in the other.
fn unequal(many: usize, few: usize) -> Roots {
    let lines = |count: usize| {
        (0..count).map(|index| format!("needle {index} with some text behind it\n")).collect::<String>()
    };
    let roots = Roots::new(&[]);
    for index in 0..10 {
        roots.write(&format!("a/{index}.txt"), &lines(many / 10));
    }
    roots.write("b/few.txt", &lines(few));
    roots
}

#[test]
fn what_one_root_does_not_need_the_others_get() {
    let roots = unequal(1_000, 5);
    let workspace = roots.open(&["a", "b"]);
    for (pattern, of_a) in [("needle", 95), ("text", 95)] {
        let found = answer(&workspace, "Search", json!({"pattern": pattern, "max_results": 100}));
        let other = &found.records()["other_roots"][0];
        assert_eq!((&found.records()["count"], &other["count"]), (&json!(of_a), &json!(5)));
        assert_eq!((&found.records()["truncated"], &other["truncated"]), (&json!(true), &json!(false)));
    }
    // If both roots have more lines, each gets half of the limit.
    let roots = unequal(1_000, 500);
    let workspace = roots.open(&["a", "b"]);
    let found = answer(
        &workspace,
        "grep_search",
        json!({"pattern": "needle", "max_results": 50, "context_lines": 0}),
    );
    let shown = |records: &Value| {
        records["files"].as_array().unwrap().iter().map(|it| it["match_count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((shown(found.records()), shown(&found.records()["other_roots"][0])), (25, 25));
    assert_eq!(
        (&found.records()["match_count"], &found.records()["other_roots"][0]["match_count"]),
        (&json!(1_000), &json!(500))
    );
    // This also holds for the bytes of the text.
    for bytes in [4_000, 10_000, 40_000] {
        let mut narrow = workspace.clone();
        narrow.limits.text_bytes = bytes;
        let found = answer(
            &narrow,
            "grep_search",
            json!({"pattern": "needle", "max_results": 1_000, "context_lines": 0}),
        );
        assert!(found.text.len() <= bytes, "{} of {bytes}", found.text.len());
        let (first, second) = found.text.split_once("\nroot: ").unwrap();
        let ratio = first.len() as f64 / second.len() as f64;
        assert!((0.5..2.0).contains(&ratio), "{bytes}: {} and {}", first.len(), second.len());
        assert!(found.text.len() * 2 > bytes, "{} of {bytes}", found.text.len());
    }
}

#[test]
fn pages_go_on_in_the_root_that_they_are_of() {
    let roots = unequal(60, 40);
    let workspace = roots.open(&["a", "b"]);
    let request = json!({"pattern": "needle", "max_results": 10});
    let first = answer(&workspace, "Search", request.clone());
    let mut seen: BTreeMap<(String, u64), u32> = BTreeMap::new();
    let mut take = |records: &Value| {
        for record in records["matches"].as_array().unwrap() {
            let place = (
                record["data"]["path"]["text"].as_str().unwrap().to_owned(),
                record["data"]["line_number"].as_u64().unwrap(),
            );
            *seen.entry(place).or_default() += 1;
        }
        records["next_cursor"].as_str().map(str::to_owned)
    };
    let cursors = [take(first.records()), take(&first.records()["other_roots"][0])];
    for cursor in cursors {
        let mut next = cursor;
        while let Some(cursor) = next {
            let mut request = request.clone();
            request["cursor"] = json!(cursor);
            let page = answer(&workspace, "Search", request);
            assert!(page.records()["other_roots"].is_null(), "{}", page.text);
            next = take(page.records());
        }
    }
    assert_eq!(seen.len(), 100);
    assert!(seen.values().all(|times| *times == 1));
    // A cursor that belongs to no root is rejected.
    let mut other = request;
    other["cursor"] = json!("1.0000000000000000.0.1.61");
    assert_eq!(refusal(&workspace, "Search", other), INVALID_CURSOR);
}

#[test]
fn one_root_that_fails_takes_nothing_from_the_others() {
    let roots = shops();
    let workspace = roots.open(&["shop", "billing"]);
    let gone = roots.path("shop");
    fs::remove_dir_all(&gone).unwrap();
    let gone = gone.display().to_string();
    for (tool, request) in [
        ("grep_search", json!({"pattern": "charge_card"})),
        ("Search", json!({"pattern": "charge_card"})),
        ("list_directory", json!({"name": "card"})),
        ("keyword_search", json!({"query": "cards", "search_terms": ["charge_card"]})),
        ("search_index", json!({"query": "charge card"})),
    ] {
        let found = answer(&workspace, tool, request);
        assert!(found.found && found.text.contains("card.rs"), "{tool}: {}", found.text);
        let reported = ["unreadable", "No such file", "partial"].iter().any(|part| found.text.contains(part));
        assert!(found.text.contains(&gone) && reported, "{tool}: {}", found.text);
    }
    // A ranking without one of the roots is incomplete. If it finds nothing, that does not count as an
    // answer.
    let mut failing = workspace.clone();
    failing.indexes = Some(Arc::new(NoIndexOf(roots.path("shop"))));
    let found = answer(&failing, "search_index", json!({"query": "charge card"}));
    assert_eq!(found.truncated_by, Some(Limit::Root), "{}", found.text);
    insta::assert_snapshot!("ranking-without-a-root", stable(line_with(&found.text, "was not ranked")));
    let found = answer(&failing, "search_index", json!({"query": "xyzzy"}));
    assert!(!found.found && found.problem.is_some(), "{}", found.text);
    // Here the error occurs in only one root.
    roots.write("shop/large.txt", &"charge_card again and again\n".repeat(200_000));
    let mut workspace = roots.open(&["shop", "billing"]);
    workspace.filter.breadth = forage_tools::FilterBreadth::Requirement;
    let request = json!({"query": "cards", "search_terms": ["charge_card"]});
    let found = answer(&workspace, "keyword_search", request.clone());
    assert!(found.found && found.partial(), "{}", found.text);
    insta::assert_snapshot!("error-in-one-root", stable(&found.text));
    let error = found.records()["other_roots"][0]["error"].as_str().unwrap();
    assert_eq!(error.lines().next(), Some("each of those search terms yielded too many results"));
    fs::remove_file(roots.path("billing/src/card.rs")).unwrap();
    let found = answer(&workspace, "keyword_search", request);
    assert!(!found.found && found.problem.is_some(), "{}", found.text);
    // A problem with the request itself is reported only once, as an error.
    insta::assert_snapshot!(
        "error-of-all-roots",
        refusal(&workspace, "grep_search", json!({"pattern": "["}))
    );
}

#[test]
fn a_root_within_a_root_is_searched_once() {
    let roots = shops();
    roots.write(
        "shop/trees/feature/src/order.rs",
        "pub fn place_order() {\n    charge_card(); // feature\n}\n",
    );
    let inner = roots.path("shop/trees/feature");
    let workspace = roots.open(&["shop", "shop/trees/feature"]);
    for (tool, request, expected) in [
        ("grep_search", json!({"pattern": "charge_card"}), 2),
        ("Search", json!({"pattern": "charge_card"}), 2),
        ("list_directory", json!({"name": "order.rs"}), 2),
        ("search_index", json!({"query": "place_order"}), 2),
        ("keyword_search", json!({"query": "orders", "search_terms": ["place_order"]}), 2),
    ] {
        let found = answer(&workspace, tool, request);
        assert_eq!(found.text.matches("src/order.rs").count(), expected, "{tool}: {}", found.text);
        assert!(found.text.contains(inner.join("src/order.rs").to_str().unwrap()), "{tool}: {}", found.text);
    }
    // If the outer root is searched alone, it includes the files of the inner one.
    let found = answer(&workspace, "grep_search", json!({"pattern": "charge_card", "path": "root:shop"}));
    assert_eq!(found.records()["file_count"], 2, "{}", found.text);
    let found = answer(&workspace, "search_index", json!({"query": "place_order root:shop"}));
    assert_eq!(found.text.matches("src/order.rs").count(), 2, "{}", found.text);
    // An absolute path belongs to the inner root.
    let found = answer(&workspace, "grep_search", json!({"pattern": "charge_card", "path": inner}));
    assert_eq!(found.records()["root"], json!(inner));
}

#[test]
fn files_of_all_roots_are_ranked_together() {
    let roots = shops();
    for index in 0..40 {
        roots.write(
            &format!("billing/src/more/{index:02}.rs"),
            &format!("fn order_{index}() {{ order(); }}\n"),
        );
    }
    let workspace = roots.open(&["shop", "billing"]);
    let card = roots.path("billing/src/card.rs").display().to_string();
    let ranked = workspace.rank(RankRequest::new("charge the card of an order")).unwrap();
    assert_eq!(ranked.response.files[0].path, card);
    assert!(ranked.response.files.iter().any(|file| file.path == "src/order.rs"), "{:?}", ranked.response);
    assert_eq!(ranked.response.files_searched, 44);
    // On all pages together, each file comes once, and the best first.
    let (mut seen, mut scores, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let mut request = RankRequest::new("order").limit(7);
        request.cursor = cursor;
        let page = workspace.rank(request).unwrap();
        scores.extend(page.response.files.iter().map(|file| file.score));
        seen.extend(page.response.files.into_iter().map(|file| file.path));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let all = workspace.rank(RankRequest::new("order").limit(100)).unwrap();
    assert_eq!(seen, all.response.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
    assert_eq!(seen.len() as u64, all.response.matching_files);
    assert!(scores.is_sorted_by(|left, right| left >= right), "{scores:?}");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    // The code of a file must be the text of the file at that path.
    let code = answer(
        &workspace,
        "search_index",
        json!({"query": "charge the card of an order", "code_tokens": 2_000}),
    );
    let files = code.records()["files"].as_array().unwrap();
    for file in files.iter().filter(|file| file["code"].is_array()) {
        for code in file["code"].as_array().unwrap() {
            let request =
                json!({"path": file["path"], "start_line": code["start_line"], "end_line": code["end_line"]});
            assert_eq!(answer(&workspace, "read_file", request).records()["lines"], code["lines"], "{file}");
        }
    }
    assert!(files[0]["code"].is_array() && code.text.contains(&format!("@@ {card} 1-4")), "{}", code.text);
}

#[test]
fn all_there_is_comes_from_all_roots() {
    forage_fuzz::needs!("rg");
    let roots = shops();
    for index in 0..300 {
        roots.write(&format!("billing/many/{index}.txt"), "a card\nno\ncard\n");
    }
    let names = ["shop", "billing", "old/billing"];
    let workspace = roots.open(&names);
    let first = roots.path("shop");
    let whole = |path: &str| first.join(path).display().to_string();
    let mut expected = BTreeSet::new();
    for name in names {
        let found = ripgrep(&roots.path(name), &["--no-heading", "-n", "card", "."]);
        for line in String::from_utf8_lossy(&found).lines() {
            let mut parts = line.splitn(3, ':');
            let path = roots.path(name).join(parts.next().unwrap().trim_start_matches("./"));
            expected.insert((path.display().to_string(), parts.next().unwrap().parse::<u64>().unwrap()));
        }
    }
    let mut seen = BTreeSet::new();
    let outcome = workspace
        .search_each(SearchRequest::new("card"), |records| {
            seen.extend(
                records.iter().map(|record| (whole(&record.data.path.text), record.data.line_number)),
            );
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, expected);
    let all = outcome.response.match_count
        + outcome.others.iter().map(|it| it.outcome.as_ref().unwrap().response.match_count).sum::<u64>();
    assert_eq!(all, expected.len() as u64);
    let mut seen = BTreeSet::new();
    workspace
        .grep_each(GrepRequest::new("card").context_lines(0), |file| {
            seen.extend(file.lines.iter().map(|line| (whole(&file.path), line.line_number)));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, expected);
    // After a break, no root may pass on more results.
    let mut pieces = 0;
    workspace
        .grep_each(GrepRequest::new("card"), |_| {
            pieces += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(pieces, 1);
}

#[test]
fn an_answer_about_very_many_roots_stays_in_its_bytes() {
    let roots = Roots::new(&[]);
    let names: Vec<String> = (0..60).map(|index| format!("r{index:02}")).collect();
    for name in &names {
        roots.write(&format!("{name}/a.txt"), "text\n");
    }
    roots.write("r57/a.txt", "needle\n");
    let workspace = roots.open(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let found = answer(&workspace, "grep_search", json!({"pattern": "needle"}));
    assert!(found.text.len() <= workspace.limits.text_bytes, "{}", found.text.len());
    // Results come first, and roots that do not fit are named.
    let head = found.text.lines().take(5).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(stable(&[head.as_str(), line_with(&found.text, "has no room")].join("\n")));
    assert_eq!(found.records()["text_cut"], true);
    assert_eq!(found.records()["other_roots"].as_array().unwrap().len(), 59);
    assert!(Path::new(found.records()["root"].as_str().unwrap()).ends_with("r00"));
}

fn git(directory: &Path, arguments: &[&str]) {
    let done = forage_fuzz::peers::git(directory).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Creates a repository with a worktree inside it, one next to it, and another repository inside.
fn repository() -> Roots {
    let roots = Roots::new(&[
        ("app/src/a.rs", "pub fn is_retryable() {}\n"),
        ("app/src/b.rs", "pub fn other() { is_retryable(); }\n"),
        ("library/lib.rs", "pub fn is_retryable() {}\n"),
    ]);
    for index in 0..40 {
        roots.write(&format!("app/src/more/{index}.rs"), &format!("fn more_{index}() {{ other(); }}\n"));
    }
    for name in ["library", "app"] {
        git(&roots.path(name), &["init", "-q"]);
        git(&roots.path(name), &["add", "."]);
        git(&roots.path(name), &["commit", "-q", "-m", "first"]);
    }
    let app = roots.path("app");
    git(&app, &["worktree", "add", "-q", "trees/inner", "-b", "inner"]);
    git(&app, &["worktree", "add", "-q", "../outer", "-b", "outer"]);
    // A worktree of another repository and a clone are not copies of this one.
    git(&roots.path("library"), &["worktree", "add", "-q", "../app/vendored", "-b", "vendored"]);
    git(&app, &["clone", "-q", "../library", "cloned"]);
    roots
}

#[test]
fn nested_worktree_is_searched_only_if_named() {
    let roots = repository();
    let workspace = roots.open(&["app"]);
    let found = answer(&workspace, "grep_search", json!({"pattern": "fn is_retryable"}));
    let paths = |records: &Value| -> Vec<String> {
        records["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(paths(found.records()), ["cloned/lib.rs", "src/a.rs", "vendored/lib.rs"]);
    let replies = [
        ("grep_search", json!({"pattern": "fn is_retryable"})),
        ("Search", json!({"pattern": "fn is_retryable"})),
        ("search_index", json!({"query": "is_retryable"})),
        ("list_directory", json!({"name": "a.rs"})),
        ("keyword_search", json!({"query": "retries", "search_terms": ["is_retryable"]})),
    ]
    .map(|(tool, request)| transcript(&workspace, tool, [request]));
    insta::assert_snapshot!("nested-worktree-not-searched", replies.join("\n"));
    // We report results that exist only in the worktree.
    roots.write("app/trees/inner/src/new.rs", "fn only_in_the_worktree() {}\n");
    let found = answer(&workspace, "grep_search", json!({"pattern": "only_in_the_worktree"}));
    insta::assert_snapshot!("only-in-a-nested-worktree", stable(&found.text));
    // If you request the worktree explicitly, it is searched.
    for request in [
        json!({"pattern": "only_in_the_worktree", "include_ignored": true}),
        json!({"pattern": "only_in_the_worktree", "path": "trees/inner"}),
        json!({"pattern": "only_in_the_worktree", "path": "trees/inner/src"}),
    ] {
        let found = answer(&workspace, "grep_search", request.clone());
        assert_eq!(paths(found.records()), ["trees/inner/src/new.rs"], "{request}");
    }
    let listed = answer(&workspace, "list_directory", json!({"recursive": true}));
    assert!(!listed.text.contains("new.rs"), "{}", listed.text);
    assert_eq!(line_with(&listed.text, "inner/").trim_start_matches(['│', ' ', '├', '└', '─']), "inner/ …");
    // As a separate root, the worktree is searched only once.
    let both = roots.open(&["app", "app/trees/inner"]);
    let found = answer(&both, "grep_search", json!({"pattern": "only_in_the_worktree"}));
    assert_eq!(found.text.matches("src/new.rs:").count(), 1, "{}", found.text);
    // The root of a worktree is not a worktree within itself. Once it is removed from git, it is searched
    // again.
    let inner = roots.open(&["app/trees/inner"]);
    let found = answer(&inner, "grep_search", json!({"pattern": "only_in_the_worktree"}));
    assert_eq!(paths(found.records()), ["src/new.rs"]);
    fs::remove_file(roots.path("app/trees/inner/.git")).unwrap();
    let found = answer(&workspace, "grep_search", json!({"pattern": "only_in_the_worktree"}));
    assert_eq!(paths(found.records()), ["trees/inner/src/new.rs"]);
}

/// With stored indexes, watched or not, we get the same results as without.
#[test]
fn an_index_knows_what_worktrees_are() {
    let roots = repository();
    let cache = tempfile::tempdir().unwrap();
    let place = || forage_fs::PrivatePlace::below(cache.path()).join("indexes");
    let plain = roots.open(&["app"]);
    let kept = roots.open(&["app"]).keep_indexes(place()).unwrap();
    kept.build_index().unwrap();
    let watched = roots.open(&["app"]).keep_indexes_and_watch(place()).unwrap();
    let shown = |workspace: &Workspace| {
        let all = json!({"pattern": "fn ", "max_results": 1_000});
        let one = json!({"pattern": "fn ", "path": "trees/late"});
        let none = json!({"pattern": "nothing has this"});
        let is_there = roots.path("app/trees/late").is_dir();
        let asked = [Some(all), is_there.then_some(one), Some(none)];
        let said = |request: Value| {
            let found = answer(workspace, "grep_search", request);
            let mut records = found.records().clone();
            records["elapsed_ms"] = Value::Null;
            records.to_string()
        };
        asked.into_iter().flatten().map(said).collect::<Vec<_>>().join("\n")
    };
    let steps: [(&str, &dyn Fn()); 5] = [
        ("as it is", &|| {}),
        ("another worktree", &|| {
            git(&roots.path("app"), &["worktree", "add", "-q", "trees/late", "-b", "late"])
        }),
        ("a file in it", &|| roots.write("app/trees/late/src/x.rs", "fn late() {}\n")),
        ("one is removed", &|| git(&roots.path("app"), &["worktree", "remove", "--force", "trees/inner"])),
        ("one is none any more", &|| fs::remove_file(roots.path("app/trees/late/.git")).unwrap()),
    ];
    for (what, step) in steps {
        step();
        for _ in 0..3 {
            let expected = shown(&plain);
            assert_eq!(shown(&kept), expected, "{what}");
            assert_eq!(shown(&watched), expected, "{what}, watched");
        }
    }
    assert!(shown(&plain).contains("trees/late/src/x.rs"));
    watched.close();
}

#[test]
fn worktrees_share_unchanged_files_of_the_ranked_index() {
    let roots = repository();
    let cache = tempfile::tempdir().unwrap();
    let place = || forage_fs::PrivatePlace::below(cache.path()).join("indexes");
    let files_read = |name: &str| {
        let call = roots.open(&[name]).keep_indexes(place()).unwrap().start_call();
        let request = RankRequest::new("is_retryable").limit(50);
        let ranked = registry::call::<SearchIndex>(&call, request).unwrap();
        let fresh = roots.open(&[name]).rank(RankRequest::new("is_retryable").limit(50)).unwrap();
        assert_eq!(json!(ranked.response), json!(fresh.response), "{name}");
        call.progress.ranked.read.load(std::sync::atomic::Ordering::Relaxed)
    };
    // This includes the clone and the worktree of the other repository.
    assert_eq!(files_read("app"), 44);
    roots.write("outer/src/a.rs", "pub fn is_retryable() { changed(); }\n");
    roots.write("outer/src/new.rs", "pub fn is_retryable_too() {}\n");
    fs::remove_file(roots.path("outer/src/b.rs")).unwrap();
    assert_eq!(files_read("outer"), 2);
    assert_eq!(files_read("outer"), 0);
    // Only differences are read, because the most recently written index is copied.
    assert_eq!(files_read("app/trees/inner"), 2);
    // The files of another repository are read.
    assert_eq!(files_read("library"), 1);
}
