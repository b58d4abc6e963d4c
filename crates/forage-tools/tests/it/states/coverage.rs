//! Checks that the pages show every variant of an error, a limit and a verdict.

use std::collections::BTreeSet;

use forage_fs::{OpenError, SkipReason};
use forage_search::PatternError;
use forage_search::keyword::TermStatus;
use forage_tools::registry::{TOOLS, find};
use forage_tools::{Answer, Limit, ToolError};
use serde_json::Value;

/// The page of the docs with the error codes for programs.
const CODES: &str = include_str!("../../../../../docs/errors.md");

/// The states that were seen, as `kind variant`. For limits, with the tool.
#[derive(Default)]
pub(super) struct Seen(BTreeSet<String>);

/// Defines the names of all variants, and a function that returns the name of a value. A missing variant is a
/// compile error.
macro_rules! variants {
    ($all:ident, $name:ident, $kind:ident: $($variant:ident),* $(,)?) => {
        const $all: &[&str] = &[$(stringify!($variant)),*];
        #[allow(dead_code, reason = "of some the records have the name, and this holds the list to the type")]
        fn $name(value: &$kind) -> &'static str {
            match value {
                $($kind::$variant { .. } => stringify!($variant)),*
            }
        }
    };
}

variants!(TOOL_ERRORS, tool_error, ToolError:
    UnknownTool, SameName, BadName, Request, Argument, Pattern, Path, NoSuchPath, TooBroad, NoModel, ModelsFailed, NoEngine, Engine,
    Index, Collection, Field, Cancelled, Internal, Repository);
variants!(OPEN_ERRORS, open_error, OpenError:
    NotFound, OutsideRoot, Secret, IsDirectory, NotDirectory, NotRegular, KernelFileSystem, Io);
variants!(PATTERN_ERRORS, pattern_error, PatternError:
    Empty, TooLong, LookAround, Backreference, LineFeed, Code, Syntax, TooLarge, LookAroundTooLarge, TooLargeTogether, TooManyClasses, FuzzyEdits,
    FuzzyTooShort, FuzzyTooLarge, Stopped);
variants!(LIMITS, limit, Limit:
    MaxResults, FileBytes, TextBytes, Timeout, Cancelled, Entries, Engine, Root, Unavailable);
variants!(SKIPPED, skipped, SkipReason:
    Ignored, Hidden, Pruned, Binary, TooLarge, Unreadable, Denied, OutsideRoot, Symlink, Special, TooDeep, LineTooLong,
    TooSlow, KernelFileSystem, NotebookOutputs);
variants!(FATES, fate, TermStatus: Kept, NoHits, TooBroad, Dropped, Invalid);
/// The values of `filter` in the records of `keyword_search`.
const FILTERS: [&str; 4] = ["model", "lexical", "lexical_after_model_failure", "model_in_part"];

/// Converts a variant to its name in records.
fn snake(variant: &str) -> String {
    let mut name = String::new();
    for character in variant.chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(character.to_lowercase());
    }
    name
}

impl Seen {
    pub(super) fn add(&mut self, tool: &str, result: &Result<Answer, ToolError>) {
        match result {
            Err(error) => self.add_error(error),
            Ok(answer) => self.add_records(tool, &answer.records().clone()),
        }
    }

    pub(super) fn add_error(&mut self, error: &ToolError) {
        assert!(
            CODES.contains(&format!("`{}`", super::code(error))),
            "docs/errors.md does not tell of {}",
            super::code(error)
        );
        self.0.insert(format!("error {}", tool_error(error)));
        match error {
            ToolError::Path(error) | ToolError::NoSuchPath { error, .. } => {
                self.0.insert(format!("path {}", open_error(error)));
            }
            ToolError::Pattern { source, .. } => {
                self.0.insert(format!("pattern {}", pattern_error(source)));
            }
            _ => {}
        }
    }

    fn add_records(&mut self, tool: &str, records: &Value) {
        let mut add = |kind: &str, word: &Value| {
            word.as_str().map(|word| self.0.insert(format!("{kind} {word}")));
        };
        add(&format!("limit {tool}"), &records["truncated_by"]);
        add("filter", &records["filter"]);
        add("status", &records["status"]);
        add("presence", &records["name"]["presence"]);
        let hits = records["hits"].as_array().into_iter().flatten();
        hits.for_each(|hit| add("has", &hit["has"]));
        records["terms"].as_array().into_iter().flatten().for_each(|term| add("fate", &term["fate"]));
        let not_searched = &records["not_searched"];
        let found = records["files"].as_array().or(records["matches"].as_array());
        if found.is_some_and(Vec::is_empty) && not_searched.is_object() {
            let hides = not_searched["hidden_matches"].as_array().is_some_and(|lines| !lines.is_empty());
            self.0.insert(format!("verdict {tool} {} {}", not_searched["complete"], hides));
        }
        for reason in records["skipped"].as_object().into_iter().flatten().map(|(reason, _)| reason) {
            self.0.insert(format!("skipped {reason}"));
        }
    }
}

/// Collects the values of a field of records from its schema. We need this for enumerations that are not
/// public types of this crate.
fn words(schema: &Value, field: &str, found: &mut BTreeSet<String>) {
    fn collect(schema: &Value, found: &mut BTreeSet<String>) {
        let words = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        found.extend(words.filter_map(Value::as_str).map(str::to_owned));
        for inner in ["anyOf", "oneOf"].into_iter().filter_map(|name| schema[name].as_array()).flatten() {
            collect(inner, found);
        }
    }
    match schema {
        Value::Object(fields) => {
            fields.get("properties").into_iter().for_each(|properties| collect(&properties[field], found));
            fields.values().for_each(|inner| words(inner, field, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| words(inner, field, found)),
        _ => {}
    }
}

/// States that no page shows, each with the reason.
const NOT_SHOWN: &[(&str, &str)] = &[
    ("path Io", "takes a file that may not be read, and root may: files.rs"),
    ("path KernelFileSystem", "takes a mount: kernel.rs"),
    ("pattern FuzzyEdits", "the number is brought into its range before"),
    ("pattern LookAroundTooLarge", "takes hundreds of groups: backtracking.rs of forage-search"),
    ("pattern TooLargeTogether", "is about a term of several, and a text there: keyword.rs of forage-search"),
    ("skipped kernel_file_system", "takes a mount: kernel.rs"),
    ("skipped too_deep", "takes thousands of levels: files.rs"),
    ("skipped unreadable", "takes a file that may not be read, and root may: files.rs"),
];

/// Limits that a tool does not have, or that no page shows, each with the reason.
const LIMITS_NOT_SHOWN: &[(&str, &[&str], &str)] = &[
    ("max_results", &["keyword_search", "read_file", "keyword_lookup"], "has no pages"),
    (
        "file_bytes",
        &[
            "keyword_search",
            "search_index",
            "list_directory",
            "read_file",
            "keyword_lookup",
            "search_history",
        ],
        "keeps no lines of a file up to a bound",
    ),
    (
        "text_bytes",
        &["keyword_search", "grep_search", "search_index", "list_directory", "Search", "keyword_lookup"],
        "its records are whole, and say `text_cut`",
    ),
    ("timeout", &["search_index"], "is an error there"),
    ("timeout", &["keyword_lookup"], "is the store's, or falls into the moment in which lines are compared"),
    ("cancelled", &["keyword_search", "search_index", "keyword_lookup"], "is an error there"),
    ("cancelled", &["Search"], "is an error before it begins; on the way it is as in grep_search"),
    ("entries", &["read_file", "keyword_lookup"], "walks no tree for its answer"),
    ("entries", &["search_history"], "takes a history of millions of commits"),
    (
        "entries",
        &["keyword_search", "grep_search", "search_index", "list_directory", "Search"],
        "takes a tree of hundreds of thousands",
    ),
    (
        "engine",
        &[
            "keyword_search",
            "grep_search",
            "search_index",
            "list_directory",
            "read_file",
            "keyword_lookup",
            "search_history",
        ],
        "asks no other program",
    ),
    (
        "root",
        &["keyword_search", "grep_search", "search_index", "list_directory", "Search", "search_history"],
        "takes a second root that fails: multi_root.rs",
    ),
    ("root", &["read_file", "keyword_lookup"], "is about one root, or none"),
    (
        "unavailable",
        &[
            "keyword_search",
            "grep_search",
            "search_index",
            "list_directory",
            "read_file",
            "Search",
            "search_history",
        ],
        "asks no store",
    ),
];

/// Verdicts that a tool can't reach, or that no page shows, each with the reason. A verdict is the value of
/// `complete`, followed by true if something hides matches.
const VERDICTS_NOT_SHOWN: &[(&str, &[&str], &str)] = &[(
    "false true",
    &["keyword_search", "grep_search", "Search"],
    "takes a look at hidden files that its time ends",
)];

fn named() -> BTreeSet<String> {
    let mut named: BTreeSet<String> = NOT_SHOWN.iter().map(|(state, _)| (*state).to_owned()).collect();
    let kinds = [("limit", LIMITS_NOT_SHOWN), ("verdict", VERDICTS_NOT_SHOWN)];
    for (kind, word, tools) in kinds
        .into_iter()
        .flat_map(|(kind, list)| list.iter().map(move |(word, tools, _)| (kind, word, tools)))
    {
        named.extend(tools.iter().map(|tool| format!("{kind} {tool} {word}")));
    }
    named
}

#[test]
fn every_variant_is_on_a_page_or_has_a_reason() {
    let seen: BTreeSet<String> = super::pages().into_iter().flat_map(|page| page.seen.0).collect();
    let mut all = BTreeSet::new();
    let mut add = |kind: &str, names: &[&str]| all.extend(names.iter().map(|name| format!("{kind} {name}")));
    add("error", TOOL_ERRORS);
    add("path", OPEN_ERRORS);
    add("pattern", PATTERN_ERRORS);
    add("filter", &FILTERS);
    let in_records = |names: &[&str]| names.iter().map(|name| snake(name)).collect::<Vec<_>>();
    all.extend(in_records(SKIPPED).iter().map(|name| format!("skipped {name}")));
    all.extend(in_records(FATES).iter().map(|name| format!("fate {name}")));
    for tool in TOOLS {
        all.extend(in_records(LIMITS).iter().map(|limit| format!("limit {} {limit}", tool.name())));
        if tool.output_schema()["properties"].get("not_searched").is_some() {
            let verdicts = ["false false", "false true", "true false", "true true"];
            all.extend(verdicts.map(|verdict| format!("verdict {} {verdict}", tool.name())));
        }
    }
    let schema = find("keyword_lookup").unwrap().output_schema();
    for field in ["status", "presence", "has"] {
        let mut found = BTreeSet::new();
        words(&schema, field, &mut found);
        assert!(found.len() > 3, "{field}: {found:?}");
        all.extend(found.iter().map(|word| format!("{field} {word}")));
    }
    let named = named();
    let lacking: Vec<_> = all.difference(&seen).filter(|state| !named.contains(*state)).collect();
    assert!(lacking.is_empty(), "on no page, and without a reason: {lacking:#?}");
    let stale: Vec<_> = named.iter().filter(|state| seen.contains(*state) || !all.contains(*state)).collect();
    assert!(stale.is_empty(), "has a reason, and is on a page or is no state: {stale:#?}");
    // Everything that we have seen must be known. If a value in records is in no list, it is a new state.
    let unknown: Vec<_> = seen.difference(&all).collect();
    assert!(unknown.is_empty(), "in no list: {unknown:#?}");
}
