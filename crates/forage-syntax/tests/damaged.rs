//! Parses damaged sources. For any text, parsing must end, and all positions must be within the text.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use std::ops::RangeInclusive;
use std::path::Path;

use forage_base::Stop;
use forage_syntax::{Language, ParseError, Parsed, parsed};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Number of damaged texts per fixture.
const CASES: u32 = 24;

fn check(language: &'static Language, text: &str) -> Result<(), TestCaseError> {
    let Parsed { definitions, uses, comments, errors, .. } =
        match parsed(language, text, Some("a"), &Stop::never()) {
            Ok(found) => found,
            // On a slow machine, a grammar that recovers slowly may exceed the time limit.
            Err(error) => return Err(TestCaseError::reject(error.to_string())),
        };
    let lines = text.split('\n').count() as u32;
    for (position, it) in definitions.iter().enumerate() {
        let name = language.name();
        prop_assert!(
            1 <= it.start_line && it.start_line <= it.end_line && it.end_line <= lines,
            "{name}: {it:?}"
        );
        prop_assert!((it.start_line..=it.end_line).contains(&it.line), "{name}: {it:?}");
        prop_assert!(text.get(it.name_range.clone()).is_some(), "{name}: {it:?}");
        prop_assert!(it.parent.is_none_or(|parent| parent < position), "{name}: {it:?}");
        let depth = it.parent.map_or(0, |parent| definitions[parent].depth + 1);
        prop_assert_eq!(it.depth, depth, "{}: {:?}", name, it);
    }
    prop_assert!(errors.iter().all(|error| *error.end() <= lines), "{}: {errors:?}", language.name());
    let is_apart = |pair: &[RangeInclusive<u32>]| pair[0].end() + 1 < *pair[1].start();
    prop_assert!(comments.windows(2).all(is_apart), "{}: {comments:?}", language.name());
    prop_assert!(
        comments.last().is_none_or(|last| *last.end() <= lines),
        "{}: {comments:?}",
        language.name()
    );
    prop_assert!(uses.is_sorted_by_key(|used| used.range.start), "{}", language.name());
    prop_assert!(uses.iter().all(|used| used.line <= lines), "{}", language.name());
    Ok(())
}

/// Replaces a part of a text by another text, and cuts off its end.
fn damaged(text: &str, (from, length, end): (usize, usize, usize), put: &str) -> String {
    let at = |place: usize| text.floor_char_boundary(place % (text.len() + 1));
    let (from, end) = (at(from), at(end).max(at(from)));
    let behind = text.floor_char_boundary((from + length).min(end));
    format!("{}{put}{}", &text[..from], &text[behind.max(from)..end])
}

#[test]
fn damage_moves_nothing_out_of_the_text() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for directory in std::fs::read_dir(root)? {
        let directory = directory?;
        let name = directory.file_name().to_string_lossy().into_owned();
        for file in std::fs::read_dir(directory.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "outline") {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            let language = Language::for_name(&name, &path.to_string_lossy()).ok_or("no grammar")?;
            let damages = (any::<(usize, usize, usize)>(), "[ -~\\n\\t\u{0}äß\u{1F600}]{0,12}");
            let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
            TestRunner::new(config)
                .run(&damages, |(places, put)| {
                    let (from, length, end) = places;
                    check(language, &damaged(&text, (from, length % 400, end), &put))
                })
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Regression test: such templates ended the process in Kotlin, and such brackets took half a minute in C++.
#[test]
fn brackets_that_nest_too_deep_are_not_parsed() -> Result<(), TestCaseError> {
    // Only parts of a notebook or a page are parsed.
    let parts = ["jupyter", "vue", "svelte", "html"];
    for language in Language::all().iter().filter(|language| !parts.contains(&language.name())) {
        for (piece, times) in [("\"${", 513), ("%q(", 10_000), ("[", 401)] {
            let found = parsed(language, &piece.repeat(times), Some("a"), &Stop::never());
            prop_assert_eq!(found.err(), Some(ParseError::TooLarge), "{} {}", language.name(), piece);
        }
    }
    let rust = Language::for_name("rust", "a.rs").unwrap();
    let text = format!("fn a() {{ {}1{} }}\n", "(".repeat(300), ")".repeat(300));
    prop_assert_eq!(parsed(rust, &text, None, &Stop::never()).unwrap().definitions.len(), 1);
    Ok(())
}

#[test]
fn deep_and_long_texts_end() -> Result<(), TestCaseError> {
    for language in Language::all() {
        for text in [
            "(".repeat(4_000),
            "{".repeat(4_000),
            "a ".repeat(9_000),
            "/*".repeat(4_000),
            "'\"`".repeat(2_000),
        ] {
            // We give up on some of these after the time that a file may take.
            let started = std::time::Instant::now();
            let _ = parsed(language, &text, Some("a"), &Stop::never());
            let max = forage_syntax::limits::PARSE_TIME * 10;
            prop_assert!(
                started.elapsed() < max,
                "{} {}: {:?}",
                language.name(),
                &text[..2],
                started.elapsed()
            );
        }
    }
    Ok(())
}
