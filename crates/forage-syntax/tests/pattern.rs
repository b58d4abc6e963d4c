//! Tests of code patterns.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use forage_base::Stop;
use forage_syntax::{CodePattern, CodePatternError};

fn found(pattern: &str, languages: &[&str], path: &str, text: &str) -> Vec<String> {
    let pattern = CodePattern::new(pattern, languages).unwrap();
    let ranges = pattern.find_all(path, text, &Stop::never()).unwrap();
    ranges.into_iter().map(|range| text[range].to_owned()).collect()
}

#[test]
fn metavariables_match_syntax_and_not_text() {
    let rust = "fn a() {\n    spawn(move || b(1, \")\"));\n    // spawn(c)\n    x.spawn(d);\n}\n";
    assert_eq!(found("spawn($A)", &["rust"], "a.rs", rust), ["spawn(move || b(1, \")\"))"]);
    assert_eq!(found("$X.spawn($$$)", &[], "a.rs", rust), ["x.spawn(d)"]);
    assert_eq!(found("f($A, $A)", &["python"], "a.py", "f(x, x)\nf(x, y)\n"), ["f(x, x)"]);
    // TypeScript has two grammars, which are selected by extension.
    assert_eq!(found("useState($A)", &["ts"], "a.tsx", "const a = useState(<b />);"), ["useState(<b />)"]);
    assert_eq!(found("spawn($A)", &["rust"], "a.py", "spawn(1)"), [""; 0]);
}

/// Regression test: `struct $A` matched each paragraph of Markdown with a `$`.
#[test]
fn markdown_is_searched_only_by_its_name() {
    let text = "The lunch costs $5.\n";
    assert_eq!(found("struct $A", &[], "a.md", text), [""; 0]);
    assert_eq!(found("struct $A", &[], "a.rs", "struct B;\n").len(), 1);
    assert!(CodePattern::new("# $TITLE", &["markdown"]).unwrap().fits("a.md"));
}

#[test]
fn what_is_no_pattern_is_an_error() {
    let error = |pattern: &str, languages: &[&str]| CodePattern::new(pattern, languages).unwrap_err();
    assert_eq!(error("a", &["klingon"]), CodePatternError::Language("klingon".to_owned()));
    assert!(matches!(error("a(); b()", &["rust"]), CodePatternError::Pattern { .. }));
    assert!(matches!(error("", &["rust"]), CodePatternError::Pattern { .. }));
}

#[test]
fn every_match_holds_a_literal() {
    let literals = |pattern: &str| CodePattern::new(pattern, &["rust"]).unwrap().literals();
    assert_eq!(literals("std::thread::spawn($A)"), Some(vec!["thread".to_owned()]));
    assert_eq!(literals("$A"), None);
}
