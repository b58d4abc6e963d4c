//! Texts for snapshots and exact comparisons.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Patterns of everything that differs between runs, machines and releases, with fixed words.
static UNSTABLE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let version = format!(r#"(\bforage[ /]|"version": ?"){}"#, regex::escape(env!("CARGO_PKG_VERSION")));
    [
        (regex::escape(env!("CARGO_BIN_EXE_forage")).as_str(), "FORAGE"),
        // The directory of a test, which has `project` and `home`.
        (r#"(?:\b[A-Z]:)?[^\s"'`()\[\]<>:;,=]*[/\\]\.tmp\w{6}"#, "TMP"),
        (r"((?:127\.0\.0\.1|localhost|\[::1\]):)\d{5}\b", "${1}PORT"),
        (r"\b\d+\.\d+ s\b", "N s"),
        (r"\b(in|after) \d+ ms\b", "${1} N ms"),
        // The time that is left to a model, in the note to it.
        (r"\b(bytes of results; )\d+ seconds\b", "${1}N seconds"),
        (r#"((?:elapsed|latency)\w*_ms"?[:=] ?)\d+"#, "${1}N"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
        (r"\b[0-9a-f]{40}\b", "COMMIT"),
        // A cursor has a hash of the root's path.
        (r"(--cursor )[A-Za-z0-9+/]{16}", "${1}CURSOR"),
        // The fence around a tool's result.
        (r"\b[0-9a-f]{16}\b", "FENCE"),
        (version.as_str(), "${1}VERSION"),
    ]
    .map(|(pattern, word)| (Regex::new(pattern).unwrap(), word))
    .into()
});

/// Replaces what differs between runs, machines and releases with fixed words.
pub(crate) fn stable(text: &str) -> String {
    let text = UNSTABLE
        .iter()
        .fold(text.to_owned(), |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned());
    if !cfg!(windows) {
        return text;
    }
    let paths = Regex::new(r#"TMP[^\s"'`():;,]*"#).unwrap();
    paths
        .replace_all(&text, |path: &Captures<'_>| path[0].replace(r"\\", "/").replace('\\', "/"))
        .into_owned()
}

/// Returns the only line that contains a word.
pub(crate) fn line_with<'a>(text: &'a str, word: &str) -> &'a str {
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
    assert_eq!(lines.len(), 1, "{word:?} in {text}");
    lines[0]
}
