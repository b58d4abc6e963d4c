use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use regex_syntax::hir::Hir;

use super::{Literal, Prefilter, required_literals};

fn parse(pattern: &str) -> Hir {
    regex_syntax::ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(pattern)
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn has_vectors() -> bool {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let has_them = super::vector::Processor::detect().is_some();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has_them = false;
    has_them
}

fn build(patterns: &[&str], vectors: bool) -> Option<Prefilter> {
    let hirs: Vec<Hir> = patterns.iter().map(|pattern| parse(pattern)).collect();
    Prefilter::build(&hirs.iter().collect::<Vec<_>>(), vectors)
}

/// Collects all candidates from `from`; with `skip_lines` at most one per line.
fn candidates(prefilter: &Prefilter, haystack: &[u8], from: usize, skip_lines: bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    prefilter.candidates(haystack, from, |pattern, position| {
        found.push((pattern, position));
        if skip_lines { line_end(haystack, position) } else { position + 1 }
    });
    found
}

fn line_end(haystack: &[u8], position: usize) -> usize {
    memchr::memchr(b'\n', &haystack[position..]).map_or(haystack.len(), |length| position + length)
}

/// Finds the start and end of every line from `from`, which must be the start of a line.
fn lines(haystack: &[u8], from: usize) -> Vec<(usize, usize)> {
    let mut start = from;
    let mut lines = Vec::new();
    for line in haystack[from..].split(|&byte| byte == b'\n') {
        lines.push((start, start + line.len()));
        start += line.len() + 1;
    }
    lines
}

#[derive(Default)]
struct Tally {
    searched: usize,
    matching_lines: usize,
}

/// Asserts that every matching line has a candidate. Returns the counts of searches, to prove that there were
/// some.
fn check(patterns: &[&str], haystacks: &[Vec<u8>], vectors: bool) -> Result<Tally, TestCaseError> {
    let mut tally = Tally::default();
    let Some(prefilter) = build(patterns, vectors) else { return Ok(tally) };
    let regexes: Vec<regex::bytes::Regex> = (patterns.iter())
        .map(|text| regex::bytes::RegexBuilder::new(text).multi_line(true).build().unwrap())
        .collect();
    for haystack in haystacks.iter().filter(|haystack| prefilter.applies_to(haystack)) {
        check_one(&prefilter, patterns, &regexes, haystack, &mut tally)?;
    }
    Ok(tally)
}

fn check_one(
    prefilter: &Prefilter,
    patterns: &[&str],
    regexes: &[regex::bytes::Regex],
    haystack: &[u8],
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let starts = lines(haystack, 0);
    for from in [0, starts[starts.len() / 2].0] {
        let all = candidates(prefilter, haystack, from, false);
        let first_of_lines = candidates(prefilter, haystack, from, true);
        let context = format!(
            "{} for {patterns:?} in {:?} from {from}: {all:?}, {first_of_lines:?}",
            prefilter.describe(),
            String::from_utf8_lossy(haystack)
        );
        for found in [&all, &first_of_lines] {
            prop_assert!(found.is_sorted_by_key(|&(_, position)| position), "order: {context}");
            prop_assert!(found.iter().all(|&(_, position)| (from..haystack.len()).contains(&position)));
        }
        tally.searched += 1;
        for (pattern, regex) in regexes.iter().enumerate() {
            for (start, end) in lines(haystack, from) {
                let on_line = |&&(reported, position): &&(usize, usize)| {
                    reported == pattern && (start..end).contains(&position)
                };
                let found = regex.find(&haystack[start..end]);
                if prefilter.confirms() {
                    let confirmed = all.iter().find(on_line).map(|&(_, position)| position - start);
                    prop_assert_eq!(found.map(|found| found.start()), confirmed, "{}", context);
                }
                if found.is_none() {
                    continue;
                }
                tally.matching_lines += 1;
                prop_assert!(
                    all.iter().any(|found| on_line(&found)),
                    "missed line {start}..{end}: {context}"
                );
                let skipping = first_of_lines.iter().any(|&(_, position)| (start..end).contains(&position));
                prop_assert!(skipping, "missed line {start}..{end} after a skip: {context}");
            }
        }
    }
    Ok(())
}

fn atom() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec![
        "ab",
        "foo",
        "bar",
        "oba",
        "timeout",
        "ks",
        "sK",
        "K9",
        "é",
        "aé",
        "_x",
        r"\.",
        "x y",
        "ſ",
        "\u{212a}a",
        "q",
        "Z7",
        r"o\nb",
        "(?-u:\\xC3)",
        "\u{10348}",
    ]);
    let class = prop::sample::select(vec![
        "[A-Z]",
        "[0-9]",
        "[a-z]",
        "[abc]",
        "[ks]",
        "[xX]",
        "[éÉ]",
        r"\d",
        r"\w",
        ".",
        r"[^a\n]",
        r"(?-u:\w)",
        "[A-Za-z_]",
        "[ſs]",
        "[kK\u{212a}]",
        "[0-9a-f]",
        r"[\no]",
        r"(?-u:\d)",
        "[fb]",
        r"[^\s\S]",
        r"(?s:.)",
    ]);
    let look = prop::sample::select(vec![r"\b", "^", "$", r"\B", "", r"(?-u:\b)"]);
    prop_oneof![6 => literal, 4 => class, 1 => look].prop_map(str::to_owned)
}

fn pattern() -> impl Strategy<Value = String> {
    let repeat =
        prop::sample::select(vec!["*", "+", "?", "{2}", "{2,}", "{1,3}", "+?", "{0}", "{9}", "{3,4}"]);
    atom().prop_recursive(5, 24, 5, move |inner| {
        prop_oneof![
            6 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| format!("({})", parts.join("|"))),
            2 => inner.clone().prop_map(|part| format!("(?i:{part})")),
            2 => (inner, repeat.clone()).prop_map(|(part, repeat)| format!("(?:{part}){repeat}")),
        ]
    })
}

fn haystack() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop::sample::select(vec![
        "ab",
        "AB",
        "foo",
        "Foo",
        "FOO",
        "bar",
        "BAR",
        "oba",
        "timeout",
        "TimeOut",
        "ks",
        "KS",
        "Ks",
        "K9",
        "k9",
        "é",
        "É",
        "aé",
        "AÉ",
        "_x",
        "_X",
        ".",
        "x y",
        "X",
        "ſ",
        "\u{212a}",
        "\u{212a}A",
        "q",
        "Q",
        "Z7",
        "z",
        "AAAA",
        "000",
        "7",
        "c",
        "f",
        " ",
        "\t",
        "\n",
        "\n",
        "\n",
        "\u{10348}",
    ]);
    let plain = prop::collection::vec(fragment.clone(), 0..60).prop_map(|parts| parts.concat().into_bytes());
    // Most text should contain neither of the two non-ASCII characters, because folded searches are only
    // tested on such text.
    let ascii_folds = plain.clone().prop_map(|text| {
        let text = String::from_utf8_lossy(&text).replace(['ſ', '\u{212a}'], "k");
        text.into_bytes()
    });
    let invalid = (plain.clone(), 0..2000usize).prop_map(|(mut text, at)| {
        let at = at % (text.len() + 1);
        text.insert(at, 0xc3);
        text
    });
    prop_oneof![4 => ascii_folds, 2 => plain, 1 => invalid]
}

fn cases(count: u32) -> TestRunner {
    TestRunner::new(ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn never_misses_a_matching_line() {
    let (searched, matching) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let strategy = (pattern(), prop::collection::vec(haystack(), 4), any::<bool>());
    let outcome = cases(3000).run(&strategy, |(pattern, haystacks, vectors)| {
        let tally = check(&[&pattern], &haystacks, vectors)?;
        searched.set(searched.get() + tally.searched);
        matching.set(matching.get() + tally.matching_lines);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // A generator that produces no prefilter, or no match, would test nothing.
    assert!(searched.get() > 1000, "{} searches", searched.get());
    assert!(matching.get() > 500, "{} matching lines", matching.get());
}

#[test]
fn never_misses_a_line_of_several_patterns() {
    let (searched, matching) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let selective =
        pattern().prop_filter("has literals", |pattern| required_literals(&parse(pattern)).is_some());
    let strategy =
        (prop::collection::vec(selective, 1..=10), prop::collection::vec(haystack(), 4), any::<bool>());
    let outcome = cases(1000).run(&strategy, |(patterns, haystacks, vectors)| {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let tally = check(&patterns, &haystacks, vectors)?;
        searched.set(searched.get() + tally.searched);
        matching.set(matching.get() + tally.matching_lines);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(searched.get() > 1000, "{} searches", searched.get());
    assert!(matching.get() > 500, "{} matching lines", matching.get());
}

/// Places every literal at every position of texts with all lengths around the block size, alone and among
/// others.
#[test]
fn finds_a_literal_at_every_position() {
    let sets: &[&[&str]] = &[
        &["needle"],
        &["(?i)needle"],
        &["(?i)timeout", "qx", "(?i)zq9"],
        &["(?i)xyz"],
        &["(?i)qz"],
        &["foo_bar", "o_b", "bar_", "(?i)FOO_"],
        &["[A-Z]{4}[0-9]{3}[a-z]"],
        &["[A-Z]{2}[0-9]"],
    ];
    let texts = ["needle", "NEEdle", "TIMEout", "qx", "Zq9", "xyZ", "qZ", "foo_bar_", "ABCD123e", "XY7"];
    for patterns in sets {
        for vectors in [true, false] {
            let Some(prefilter) = build(patterns, vectors) else {
                assert!(!vectors && patterns[0].starts_with('['), "{patterns:?} has no prefilter");
                continue;
            };
            for text in texts {
                let expected: Vec<usize> = (0..patterns.len())
                    .filter(|&index| {
                        regex::bytes::Regex::new(patterns[index]).unwrap().is_match(text.as_bytes())
                    })
                    .collect();
                for length in text.len()..=100 {
                    for start in 0..=length - text.len() {
                        let mut haystack = vec![b'.'; length];
                        haystack[start..start + text.len()].copy_from_slice(text.as_bytes());
                        for from in [0, start, start + 1] {
                            let found = candidates(&prefilter, &haystack, from, false);
                            let inside = start.max(from)..start + text.len();
                            assert!(found.iter().all(|(_, position)| inside.contains(position)));
                            if from <= start {
                                let mut patterns: Vec<usize> = found.iter().map(|found| found.0).collect();
                                patterns.sort_unstable();
                                patterns.dedup();
                                assert_eq!(
                                    patterns,
                                    expected,
                                    "{} at {start} of {length}",
                                    prefilter.describe()
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Tests text that is partly ASCII, where only the low nibbles of ASCII are looked up, with a literal at
/// every position.
#[test]
fn finds_literals_at_ascii_transitions() {
    let prefilter = build(&["(?i)kswapd|shrink_slab|mem_cgroup_charge|naïve"], true).unwrap();
    for (ascii, foreign, rest) in [(0, 700, 600), (150, 40, 300), (200, 1300, 200), (64, 512, 0), (1, 1, 900)]
    {
        let mut text = "-".repeat(ascii) + &"é".repeat(foreign) + &"-".repeat(rest);
        text.push('\n');
        for literal in ["KSwapd", "naïve"] {
            for place in (0..text.len()).filter(|&place| text.is_char_boundary(place)) {
                let mut haystack = text.clone();
                haystack.insert_str(place, literal);
                let found = candidates(&prefilter, haystack.as_bytes(), 0, false);
                assert!(
                    found.iter().any(|(_, position)| (place..place + literal.len()).contains(position)),
                    "{literal} at {place} of {ascii} + {foreign} + {rest}"
                );
            }
        }
    }
}

/// If a prefilter silently disappeared, we would only notice that searches are slow.
#[test]
fn typical_patterns_are_prefiltered() {
    let eight = "(?i)page fault|oom_kill|swap cache|shrink_slab|kswapd|mem_cgroup_charge|reclaim|vmscan";
    let table: &[(&str, &str, &str)] = &[
        ("struct device", "memmem", "memmem"),
        (r"(?i)\btimeout\b", "teddy (1 literal, folded)", "aho-corasick (1 literal, folded)"),
        (eight, "teddy (8 literals, folded)", "aho-corasick (8 literals, folded)"),
        ("foo|bar[0-9]+|qux", "teddy (3 literals)", "aho-corasick (3 literals)"),
        (r"EXPORT_SYMBOL_GPL\(\w+_walk", "memmem", "memmem"),
        ("err(or)?.*timeout", "memmem", "memmem"),
        ("[A-Z]{4,}[0-9]{3}[a-z]", "class window (8 bytes)", "none"),
        (r"\b[A-Z]{4,}[0-9]{3}[a-z]\b", "class window (8 bytes)", "none"),
        (r"0x[0-9a-f]{8}\b", "class window (8 bytes)", "memmem"),
        (r"return -E(NOMEM|INVAL);", "teddy (2 literals)", "aho-corasick (2 literals)"),
        (r"(?i)caf(é|e)s", "teddy (3 literals, folded)", "aho-corasick (3 literals, folded)"),
        (r"\w+\s*=\s*kmalloc", "memmem", "memmem"),
        (".*", "none", "none"),
        (r"\w+", "none", "none"),
        ("(foo|.)bar?", "memmem", "memmem"),
        ("[a-z]{3}", "none", "none"),
        ("foo|.", "none", "none"),
    ];
    for (pattern, vectors, portable) in table {
        let describe =
            |vectors| build(&[pattern], vectors).map_or("none".to_owned(), |found| found.describe());
        if has_vectors() {
            assert_eq!(describe(true), *vectors, "{pattern}");
        }
        assert_eq!(describe(false), *portable, "{pattern}");
    }
}

/// Lines that an incorrect step of the analysis would lose and that random text rarely contains.
#[test]
fn analysis_is_sound() {
    let table: &[(&[&str], &str)] = &[
        (&["xx(?:foo)+yy"], "xxfoofooyy"),
        (&["xx(?:foo){2,3}yy"], "xxfoofoofooyy"),
        (&["xx(?:foo){9}yy"], "xxfoofoofoofoofoofoofoofoofooyy"),
        (&["xx(?:foo)?yy"], "xxyy"),
        (&["xx(?:foo)*yy"], "xxyy"),
        (&["foo_|(?i:xfoo_)"], "XFOO_"),
        (&["[A-Z]{2}[0-9]{2,}[A-Z]{2}"], "AB12345CD"),
        (&["[A-Z]{2}[0-9]{2,3}[A-Z]{2}"], "AB123CD"),
        (&["[A-Z]{2}[0-9]{9}[A-Z]{2}"], "AB123456789CD"),
        (&["[A-Z]{3}(?:[0-9]|[a-z][0-9])[A-Z]{3}"], "ABCx1DEF"),
        (&["[A-Z]{3}[0-9]?[A-Z]{3}"], "ABCDEF"),
        (&["(?i)[a-f]{2}[0-9]{3}"], "aB123"),
        (&["o_b", "foo_bar", "(?i)FOO_B"], "foo_bar"),
    ];
    for (patterns, line) in table {
        for vectors in [true, false] {
            let text = format!("{line}\nother\n{line}\n\n{}{line}", "-".repeat(60)).into_bytes();
            let tally = check(patterns, &[text], vectors).unwrap();
            let windowed = patterns[0].starts_with('[') || patterns[0].starts_with("(?i)[");
            assert!(tally.matching_lines > 0 || windowed, "{patterns:?} was not searched");
        }
    }
}

fn literal(text: &str, fold: bool) -> Literal {
    Literal { bytes: text.as_bytes().to_vec(), fold }
}

#[test]
fn required_literals_of_typical_patterns() {
    let table: &[(&str, &[(&str, bool)])] = &[
        ("foo|bar[0-9]+|qux", &[("bar", false), ("foo", false), ("qux", false)]),
        ("err(or)?.*x", &[("err", false)]),
        ("(?i)mask", &[("mask", true)]),
        ("(?i:foo)BAR", &[("foobar", true)]),
        ("[fg]oo_[0-9]", &[("foo_", false), ("goo_", false)]),
        ("(?:ab){2,}c", &[("ababc", false)]),
        ("(?:foo_)+bar", &[("foo_bar", false)]),
        (r"one\ntwo_", &[("two_", false)]),
        ("(?i)12_34.", &[("12_34", false)]),
        ("timeout|timeouts|TIMEOUT", &[("TIMEOUT", false), ("timeout", false)]),
        ("x[sSſ]y", &[("xsy", true)]),
        ("x[sS\u{212a}]y", &[("xsy", true), ("x\u{212a}y", false)]),
    ];
    for (pattern, expected) in table {
        let expected: Vec<Literal> = expected.iter().map(|&(text, fold)| literal(text, fold)).collect();
        let mut found = required_literals(&parse(pattern)).unwrap_or_else(|| panic!("{pattern}: none"));
        found.literals.sort();
        assert_eq!(found.literals, expected, "{pattern}");
        assert!(!found.whole, "{pattern}");
    }
}

#[test]
fn only_a_bare_literal_confirms() {
    for (pattern, whole) in [
        ("struct device", true),
        ("(struct) (?:device)", true),
        ("é", true),
        ("x", true),
        ("(?i)12_34", true),
        (r"\bstruct device", false),
        ("struct device$", false),
        ("(?i)struct device", false),
        ("struct device.?", false),
    ] {
        assert_eq!(required_literals(&parse(pattern)).is_some_and(|set| set.whole), whole, "{pattern}");
        assert_eq!(build(&[pattern], true).is_some_and(|found| found.confirms()), whole, "{pattern}");
    }
    assert!(!build(&["struct device", "timeout"], true).unwrap().confirms());
}

/// With capacity for two more literals, we search for these characters too; otherwise the search does not
/// apply.
#[test]
fn foreign_folds_are_candidates_or_disable_the_search() {
    let vectors = build(&["(?i)task", "(?i)other"], true).unwrap();
    if vectors.describe().starts_with("teddy") {
        let text = "a ta\u{17f}k\nnothing\ntas\u{212a}\n\u{17e}\u{2122}é\nTask";
        assert!(vectors.applies_to(text.as_bytes()));
        let mut lines = Vec::new();
        vectors.candidates(text.as_bytes(), 0, |pattern, position| {
            lines.push((pattern, text.as_bytes()[..position].iter().filter(|&&byte| byte == b'\n').count()));
            position + 1
        });
        assert_eq!(lines, [(0, 0), (0, 2), (0, 4)]);
    }
    let folded = build(&["(?i)task"], false).unwrap();
    for (text, applies) in
        [("TASK", true), ("a ta\u{17f}k", false), ("tas\u{212a}", false), ("\u{17e}\u{2122}é", true)]
    {
        assert_eq!(folded.applies_to(text.as_bytes()), applies, "{text}");
    }
    assert!(folded.applies_to(b"cut off \xe2\x84") && folded.applies_to(b"cut off \xc5"));
    assert!(build(&["(?i)timeout"], true).unwrap().applies_to("\u{17f}".as_bytes()));
    assert!(build(&["task"], true).unwrap().applies_to("\u{17f}".as_bytes()));
}

#[test]
fn maximum_position_ends_the_search() {
    let text = b"timeout one\ntimeout two qux\nAAAA111a AAAA111a\n".repeat(9);
    for patterns in [&["timeout"][..], &["(?i)timeout", "qux"], &["[A-Z]{4}[0-9]{3}[a-z]"]] {
        for vectors in [true, false] {
            let mut calls = 0;
            if let Some(prefilter) = build(patterns, vectors) {
                prefilter.candidates(&text, 3, |_, _| {
                    calls += 1;
                    usize::MAX
                });
                assert_eq!(calls, 1);
                prefilter.candidates(&text, text.len(), |_, _| panic!("behind the end"));
                prefilter.candidates(&text, text.len() + 5, |_, _| panic!("behind the end"));
            }
        }
    }
}

/// This uses more literals than there are buckets, and more than fit at all.
#[test]
fn many_patterns_keep_their_numbers() {
    for count in [9, 64, 65, 200] {
        let patterns: Vec<String> = (0..count).map(|index| format!("(?i)word{index:03}_end")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let text: String = (0..count).map(|index| format!("x Word{index:03}_END\n")).collect();
        for vectors in [true, false] {
            let prefilter = build(&patterns, vectors).unwrap();
            let found = candidates(&prefilter, text.as_bytes(), 0, false);
            assert_eq!(found.len(), count, "{}", prefilter.describe());
            assert!(found.iter().enumerate().all(|(index, found)| found.0 == index));
        }
    }
}
