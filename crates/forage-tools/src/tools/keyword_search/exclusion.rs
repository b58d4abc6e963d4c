//! Files that a model names because they are not meant.

use super::nothing;

/// Bytes of a line that may be a heading of a part.
const HEADING_BYTES: usize = 120;

/// Says of files that they are not relevant.
const IRRELEVANT: [&[&str]; 8] = [
    &["not", "relevant"],
    &["irrelevant"],
    &["non", "relevant"],
    &["not", "related"],
    &["unrelated"],
    &["not", "directly", "relevant"],
    &["not", "truly", "relevant"],
    &["no", "relevance"],
];
/// Says the same, and may as well be said of what the files deal with.
const LEFT_OUT: [&[&str]; 13] = [
    &["excluded"],
    &["exclude"],
    &["exclusions"],
    &["left", "out"],
    &["not", "included"],
    &["omitted"],
    &["skipped"],
    &["discarded"],
    &["dismissed"],
    &["ignored"],
    &["ruled", "out"],
    &["rejected"],
    &["not", "selected"],
];
/// What a heading may call the files.
const FILES: [&str; 14] = [
    "file",
    "files",
    "result",
    "results",
    "match",
    "matches",
    "candidate",
    "candidates",
    "hits",
    "ones",
    "paths",
    "items",
    "entries",
    "others",
];
/// What else may stand in front of such words, or between them and the files.
const BESIDE: [&str; 46] = [
    "the",
    "a",
    "all",
    "other",
    "remaining",
    "some",
    "following",
    "these",
    "those",
    "that",
    "which",
    "were",
    "are",
    "was",
    "is",
    "have",
    "been",
    "has",
    "i",
    "we",
    "ive",
    "but",
    "and",
    "or",
    "considered",
    "reviewed",
    "checked",
    "found",
    "also",
    "with",
    "keyword",
    "matched",
    "only",
    "explicitly",
    "deliberately",
    "intentionally",
    "judged",
    "deemed",
    "as",
    "list",
    "of",
    "likely",
    "probably",
    "clearly",
    "mostly",
    "note",
];
/// Behind these, a heading says why.
const WHY: [&str; 10] = ["to", "for", "because", "since", "due", "from", "by", "in", "despite", "although"];
/// A part of which this is said has all the files.
const NEGATIONS: [&str; 6] = ["nothing", "none", "no", "never", "without", "nobody"];
/// Words about a file that alone say that it is not meant.
const VERDICTS: [&str; 15] = [
    "no",
    "none",
    "not",
    "false",
    "skip",
    "skipped",
    "excluded",
    "exclude",
    "rejected",
    "omitted",
    "discarded",
    "ignored",
    "ignore",
    "left out",
    "not included",
];
/// Words behind "not relevant" that make it a verdict; behind it, another word may be what the file deals with.
const GROUNDS: [&str; 17] = [
    "to", "for", "because", "as", "since", "here", "in", "only", "just", "it", "this", "at", "with", "and",
    "due", "enough", "at all",
];

/// For a line that heads a part: whether the part is of files that are not meant.
pub(super) fn heading(line: &str) -> Option<bool> {
    let plain = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '`'));
    let is_heading = line.starts_with('#')
        || plain.ends_with(':')
        || line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    (is_heading && line.len() <= HEADING_BYTES).then(|| is_of_excluded(plain))
}

/// What follows words such as `Not relevant:`, for a line that begins with them.
pub(super) fn labelled(line: &str) -> Option<&str> {
    let (label, rest) = line.split_once([':', '：'])?;
    (!rest.trim().is_empty() && label.len() <= HEADING_BYTES && is_of_excluded(label)).then(|| rest.trim())
}

/// Whether a heading says of the files below it that they are not meant. One that only has such words may tell what the
/// files deal with, or that nothing was left out.
fn is_of_excluded(heading: &str) -> bool {
    let (outside, inside) = without_brackets(heading);
    let outside = nothing::words(&outside);
    let words = if outside.is_empty() { nothing::words(&inside) } else { outside };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let phrase = |at: usize| {
        let mut phrases = IRRELEVANT.iter().map(|phrase| (phrase, true));
        let mut others = LEFT_OUT.iter().map(|phrase| (phrase, false));
        let is_here = |(phrase, _): &(&&[&str], bool)| words[at..].starts_with(phrase);
        phrases
            .find(is_here)
            .or_else(|| others.find(is_here))
            .map(|(phrase, of_files)| (phrase.len(), of_files))
    };
    let Some((at, (length, of_files))) = (0..words.len()).find_map(|at| Some((at, phrase(at)?))) else {
        return false;
    };
    let (before, after) = (&words[..at], &words[at + length..]);
    if before.iter().any(|word| NEGATIONS.contains(word)) {
        return false;
    }
    let is_beside = |word: &str| FILES.contains(&word) || BESIDE.contains(&word);
    // `Files that only mention it, not relevant`
    let tells_of_files = of_files && before.iter().any(|word| FILES.contains(word)) && after.is_empty();
    let reason = after.iter().position(|word| WHY.contains(word)).unwrap_or(after.len());
    let is_phrase = |word: &&str| IRRELEVANT.iter().chain(&LEFT_OUT).any(|phrase| phrase.contains(word));
    (tells_of_files || before.iter().all(|word| is_beside(word)))
        && after[..reason].iter().all(|word| is_beside(word) || is_phrase(word))
}

/// A text without what stands in brackets, and that.
fn without_brackets(text: &str) -> (String, String) {
    let (mut outside, mut inside, mut depth) = (String::new(), String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => outside.push(c),
            c => inside.push(c),
        }
    }
    (outside, inside)
}

/// Whether the words about a file are that it is not relevant, and no more.
pub(super) fn says_not(words: &str) -> bool {
    let lower = words.to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() {
        return lower.contains(['❌', '✗', '✘']);
    }
    if VERDICTS.contains(&bare) {
        return true;
    }
    let bare =
        ["this is ", "it is ", "is ", "it's "].iter().find_map(|is| bare.strip_prefix(is)).unwrap_or(bare);
    let bare = bare.replacen("isn't ", "not ", 1);
    let is_verdict = |phrase: &&[&str]| {
        let Some(rest) = bare.strip_prefix(phrase.join(" ").as_str()) else { return false };
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == ' ' || c == '_')
            || rest.starts_with(' ')
                && (!rest.trim_start().starts_with(char::is_alphanumeric)
                    || GROUNDS.iter().any(|word| {
                        rest.trim_start()
                            .strip_prefix(word)
                            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                    }))
    };
    IRRELEVANT.iter().any(is_verdict)
        && !["but", "however", "although", "though", "except"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_excludes_what_is_below_it_only_where_it_says_so_of_files() {
        for text in [
            "Not relevant:",
            "### Not relevant to the query",
            "**Excluded files**",
            "### Files excluded",
            "Excluded (keyword matches only):",
            "Files that were excluded:",
            "Files I left out:",
            "Files considered but rejected (tests and documentation):",
            "## Considered, but not included",
            "Skipped because they are tests:",
            "Omitted as irrelevant:",
            "Irrelevant matches:",
            "The following files were ruled out:",
            "Files that only mention retries, not relevant:",
            "Ignored or discarded candidates:",
            "(Excluded):",
        ] {
            assert_eq!(heading(text), Some(true), "{text}");
        }
        for text in [
            "Files (nothing was excluded)",
            "### Files (nothing was excluded)",
            "Relevant files (excluded: tests):",
            "Relevant files, with tests omitted:",
            "**How rejected requests are retried:**",
            "### Omitted or skipped attempts",
            "Rejected requests:",
            "Handling of skipped tests:",
            "No files were excluded:",
            "None of the files was left out:",
            "Most relevant files:",
            "### 1. Excluded paths handling",
        ] {
            assert_ne!(heading(text), Some(true), "{text}");
        }
        assert_eq!(labelled("Not relevant: F3, F4"), Some("F3, F4"));
        assert_eq!(labelled("- src/a.rs: not relevant"), None);
        assert_eq!(labelled("Rejected requests: src/a.rs"), None);
    }

    #[test]
    fn words_about_a_file_say_no_or_what_it_does() {
        for text in [
            "not relevant",
            "Not relevant to the query.",
            "irrelevant",
            "irrelevant, a test",
            "Irrelevant (a test)",
            "— not relevant: only a test",
            "not related to retries",
            "is not relevant here",
            "isn't relevant",
            "no",
            "No.",
            "excluded",
            "❌",
            "❌ not relevant",
        ] {
            assert!(says_not(text), "{text}");
        }
        for text in [
            "",
            "handles rejected requests",
            "Rejected requests are sent again",
            "Irrelevant errors are told from others",
            "irrelevant results are dropped here",
            "not relevant for tests, but for production",
            "skips files that are not relevant",
            "no retries at all happen here",
            "excluded paths are read here",
            "None is returned when nothing matches",
        ] {
            assert!(!says_not(text), "{text}");
        }
    }
}
