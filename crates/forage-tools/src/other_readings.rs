//! Other readings of a pattern without matches: guesses at its intended meaning, with the matches of each.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, WalkOptions};
use forage_search::index::Index;
use forage_search::{Case, FileEvents, Pattern, PatternBudget, PatternOptions, ScanOptions, escape, search};

use crate::call::Call;
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::{clip, count, other_forms, quoted, words_of_name};
use crate::tools::search_index::{RankRequest, rank};

/// Another way to read the caller's pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// How the pattern is read.
    description: &'static str,
    pattern: String,
    options: PatternOptions,
    /// True if the sentence about this reading should list the matched texts, which differ from the pattern.
    has_spellings: bool,
}

/// Lists the readings of a pattern, the nearest first.
fn readings(pattern: &str, options: &PatternOptions) -> Vec<Reading> {
    let exact = PatternOptions { fuzzy: 0, ..*options };
    let reading = |description, pattern: String, options| Reading {
        description,
        pattern,
        options,
        has_spellings: false,
    };
    let mut all = Vec::new();
    if !options.literal {
        // In the syntax of `grep` without `-E`, this is an alternation.
        if pattern.contains(r"\|") {
            all.push(reading(r"with `|` in place of `\|`", pattern.replace(r"\|", "|"), exact));
        }
        if escape(pattern) != pattern {
            let literal = PatternOptions { literal: true, multiline: false, ..exact };
            all.push(reading("as plain text", pattern.to_owned(), literal));
        }
        // `$` matches before a line feed, but not before CR LF.
        if let Some(before) = pattern.strip_suffix('$').filter(|before| !before.ends_with('\\')) {
            all.push(reading("before CR LF", format!("{before}\\r$"), exact));
        }
        if !options.multiline
            && [r"(?s)", r"[\s\S]", r"[\S\s]", r"[^", r"\s"].iter().any(|part| pattern.contains(part))
        {
            all.push(reading(
                "across lines, with `{grep_search.multiline}`",
                pattern.to_owned(),
                PatternOptions { multiline: true, ..exact },
            ));
        }
    }
    for form in other_forms(pattern) {
        all.push(reading("with composed or decomposed letters", form, exact));
    }
    let words = words(pattern);
    let insensitive = PatternOptions { case: Case::Insensitive, ..exact };
    if words.len() > 1 {
        let pattern = words.join("[-_ ]?");
        let options = PatternOptions { literal: false, ..insensitive };
        all.push(Reading {
            description: "in another case or spelling",
            pattern,
            options,
            has_spellings: true,
        });
    } else if options.case != Case::Insensitive {
        let pattern = pattern.to_owned();
        all.push(Reading {
            description: "in another case",
            pattern,
            options: insensitive,
            has_spellings: true,
        });
    }
    if options.word {
        all.push(reading(
            "as part of longer words",
            pattern.to_owned(),
            PatternOptions { word: false, ..exact },
        ));
    }
    if options.fuzzy == 0 && !words.is_empty() {
        for (edits, least, description) in [(1, 5, "within 1 edit"), (2, 8, "within 2 edits")] {
            if pattern.chars().count() >= least {
                let (pattern, options) = (pattern.to_owned(), PatternOptions { fuzzy: edits, ..exact });
                all.push(Reading { description, pattern, options, has_spellings: true });
            }
        }
    }
    all
}

/// Splits a name into lower-case words. If the pattern is not a name, there are none.
fn words(pattern: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if pattern.is_empty() || !pattern.chars().all(is_part) {
        return Vec::new();
    }
    words_of_name(pattern)
}

/// The matches of a reading.
#[derive(Default)]
struct ReadingMatches {
    lines: u64,
    files: u64,
    first: String,
    spellings: BTreeMap<String, u64>,
}

/// Describes each reading that has matches in a sentence, for a pattern that has none.
pub fn other_readings(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    walk: &WalkOptions,
    (pattern, options, budget): (&str, &PatternOptions, &PatternBudget),
    stop: &Stop,
) -> Vec<String> {
    let (stop, index) = (stop.within(limits::READINGS_TIME), call.workspace.index(root));
    let mut sentences = Vec::new();
    for reading in readings(pattern, options) {
        // Fuzzy matching is the last resort.
        if sentences.len() == limits::READINGS || (reading.options.fuzzy > 0 && !sentences.is_empty()) {
            break;
        }
        let Ok(compiled) = Pattern::new_in(budget, &reading.pattern, &reading.options, &stop) else {
            continue;
        };
        let find = || find(call, (root, start), walk, &compiled, index.as_ref(), &stop);
        let (found, is_whole) = index.as_ref().map_or_else(find, |index| index.unexplained(find));
        if found.lines > 0 {
            sentences.push(sentence(call, &reading, &found, is_whole));
        }
    }
    sentences
}

/// Counts the matches of a pattern. Also returns true if the counts are complete.
fn find(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    walk: &WalkOptions,
    pattern: &Pattern,
    index: Option<&Arc<Index>>,
    stop: &Stop,
) -> (ReadingMatches, bool) {
    let scan = ScanOptions {
        line_bytes: Some(limits::GREP_LINE_CHARACTERS),
        max_file_bytes: call.limits.max_file_bytes,
        max_spans: 1,
        index: index.cloned(),
        exhaustive: true,
        ..ScanOptions::default()
    };
    let mut found = ReadingMatches::default();
    let report = search(root, start, walk, pattern, &scan, stop, |file: FileEvents| {
        found.lines += file.matches;
        found.files += 1;
        for event in &file.events {
            let Some(span) = event.spans.first() else { continue };
            let text = event.bytes.get(span.start..span.end).unwrap_or_default();
            *found.spellings.entry(String::from_utf8_lossy(text).into_owned()).or_default() += 1;
        }
        if let Some(line) = file.events.first().filter(|_| found.first.is_empty()) {
            found.first = format!("{}:{}", file.path.display(), line.line_number);
        }
        match found.files < limits::VERDICT_FILES && found.spellings.len() < limits::READING_SPELLINGS_HELD {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let is_whole = report.is_ok_and(|report| report.stopped.is_none() && !report.broke_off);
    (found, is_whole)
}

/// Ranks files for the words of a pattern. Returns no files without indexes, or if the ranking is weak.
pub(crate) fn ranked_first(call: &Call, start: &RelPath, pattern: &str, stop: &Stop) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = pattern.split(|c| !is_part(c)).filter(|word| word.len() > 2).collect();
    // Without an index, a ranking would have to read the whole tree.
    if words.is_empty() || call.workspace.indexes.is_none() {
        return Vec::new();
    }
    let path = (!start.is_root()).then(|| start.display().into_owned());
    let request = RankRequest { path, ..RankRequest::new(words.join(" ")) };
    let stop = stop.within(limits::READINGS_TIME);
    let Ok((ranking, _)) = rank(call, &request, (limits::READINGS_RANKED, 1), &stop) else {
        return Vec::new();
    };
    if ranking.is_weak() {
        return Vec::new();
    }
    ranking.files.iter().map(|file| call.workspace.without_secrets(&sanitize_line(&file.path))).collect()
}

fn sentence(call: &Call, reading: &Reading, found: &ReadingMatches, is_whole: bool) -> String {
    let at_least = if is_whole { "" } else { "at least " };
    let (lines, files) = (count(found.lines, "line"), count(found.files, "file"));
    let description = call.workspace.names.fill(reading.description);
    let mut text = format!("{description}: {at_least}{lines} in {files}, such as {}", found.first);
    if reading.has_spellings {
        let mut spellings: Vec<(&String, &u64)> = found.spellings.iter().collect();
        spellings.sort_by_key(|(_, lines)| std::cmp::Reverse(**lines));
        let shown: Vec<String> = spellings
            .iter()
            .take(limits::READING_SPELLINGS)
            .map(|(spelling, lines)| format!("{} ({lines})", quoted(spelling)))
            .collect();
        text += &format!("; spelled {}", shown.join(", "));
    }
    clip(&call.workspace.without_secrets(&sanitize_line(&text)), limits::READING_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(pattern: &str, options: &PatternOptions) -> Vec<String> {
        readings(pattern, options)
            .into_iter()
            .map(|it| format!("{}: {}", it.description, it.pattern))
            .collect()
    }

    #[test]
    fn alternative_readings_of_a_pattern() {
        let regex = PatternOptions::default();
        assert_eq!(
            described(r"Start\|useThing", &regex),
            [
                r"with `|` in place of `\|`: Start|useThing",
                r"as plain text: Start\|useThing",
                r"in another case: Start\|useThing"
            ]
        );
        assert_eq!(described("$(user)", &regex), ["as plain text: $(user)", "in another case: $(user)"]);
        assert_eq!(
            described("retryLimit", &regex),
            [
                "in another case or spelling: retry[-_ ]?limit",
                "within 1 edit: retryLimit",
                "within 2 edits: retryLimit"
            ]
        );
        assert!(described("needle$", &regex).contains(&r"before CR LF: needle\r$".to_owned()));
        assert!(described(r"(?s)func.*return", &regex)[1].starts_with("across lines"));
        let word = PatternOptions { literal: true, word: true, case: Case::Insensitive, ..regex };
        assert_eq!(described("saxp", &word), ["as part of longer words: saxp"]);
    }

    #[test]
    fn names_are_made_of_words() {
        assert_eq!(words("HTTPServer_name2Go"), ["httpserver", "name2", "go"]);
        assert_eq!(words("a.b"), [""; 0]);
    }
}
