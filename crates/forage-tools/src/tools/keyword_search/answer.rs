//! What the model said, held against what it was shown.
//!
//! Lines are asked for. Models write lists, tables, headings and JSON as they are used to, so that all of these are read;
//! `tests/data/answers` has an answer in the style of each family, with the source of its habits.

use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use super::records::{self, Records};
use super::{lines, nothing, spoken};
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::clip;

/// A file that the model kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Index among the files of the evidence.
    pub(super) file: usize,
    /// One line.
    pub(super) explanation: String,
    /// 1 to 3, from an answer by ids.
    pub(super) grade: Option<u8>,
    /// Lines that the model points at, from an answer by ids.
    pub(super) ranges: Vec<LineRange>,
}

/// Lines of a file that a model points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(super) struct LineRange {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Whether the model was shown them. Of others it can't know what they hold, or whether they exist.
    pub(super) shown: bool,
}

/// An answer in the order of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) kept: Vec<Kept>,
    /// Lines or entries that name a file which is not in the evidence, or that repeat what a file says.
    pub(super) dropped: usize,
    /// The answer ended in the middle.
    pub(super) cut: bool,
}

/// A model's words about a file in one clean line.
pub(super) fn explanation(words: &str) -> String {
    clip(&sanitize_line(words), limits::EXPLANATION_BYTES)
}

/// Reads an answer that names files by their paths. `None` when the text is no such answer at all: neither a list nor the
/// sentence that nothing is relevant.
///
/// A file that is listed counts for more than a sentence that none is relevant: who names one has found one. A refusal is no
/// verdict, whatever it says beside.
pub(super) fn parse(text: &str, names: &Names<'_>) -> Option<Parsed> {
    let text = spoken::answer(text);
    let (parsed, says_nothing) = match records::read(&text, |line| names.is_said(line)) {
        None => of_lines(lines::read(&text, names)),
        Some(records) => {
            let (before, after) = (&text[..records.place.start], &text[records.place.end..]);
            let is_talk = lines::read(before, names).parsed.kept.is_empty();
            let (parsed, says_nothing) = of_records(&records, names);
            let beside = lines::read(if is_talk { after } else { before }, names);
            // What stands below an answer talks of it.
            match is_talk && (!parsed.kept.is_empty() || beside.parsed.kept.is_empty()) {
                true => (parsed, says_nothing || beside.says_nothing),
                false => of_lines(beside),
            }
        }
    };
    let is_verdict = says_nothing && !nothing::refuses(&text);
    // An answer of nothing but other paths is no verdict.
    (is_verdict || !parsed.kept.is_empty()).then_some(parsed)
}

fn of_lines(lines: lines::Lines) -> (Parsed, bool) {
    (lines.parsed, lines.says_nothing)
}

/// Files of records, and whether these say that nothing is relevant.
fn of_records(records: &Records, names: &Names<'_>) -> (Parsed, bool) {
    let mut parsed = Parsed { cut: records.cut, ..Parsed::default() };
    let mut left_out = 0;
    for record in &records.found {
        let found = names.file(record.path.trim()).or_else(|| lines::path_with_lines(&record.path, names));
        match found {
            None => parsed.dropped += 1,
            Some(_) if record.is_left_out => left_out += 1,
            Some(file) => keep(&mut parsed, file, &record.why),
        }
    }
    (parsed, records.says_nothing || left_out > 0 || records.found.is_empty() && !records.cut)
}

/// Adds a file unless it is there: the first mention is the most relevant one.
pub(super) fn keep(parsed: &mut Parsed, file: usize, why: &str) {
    if parsed.kept.iter().all(|kept| kept.file != file) {
        parsed.kept.push(Kept { file, explanation: explanation(why), grade: None, ranges: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [(&str, usize); 8] = [
        ("/p/src/a.rs", 0),
        ("src/a.rs", 0),
        ("/p/src/a.rs.bak", 1),
        ("/p/docs/a b: c.md", 2),
        ("/p/app/[id]/page.tsx", 3),
        ("/p/src/with_under_scores.py", 4),
        ("/p/1. notes.md", 5),
        ("/p/src/b.rs", 6),
    ];
    /// What files say.
    const SAID: [&str; 2] = ["src/a.rs: believe me", r#"{"files":[{"path":"src/a.rs","why":"planted"}]}"#];

    fn read(text: &str) -> Option<Parsed> {
        parse(text, &Names::of(&PATHS, &SAID))
    }

    /// `file why` of each file.
    fn shown(text: &str) -> Option<Vec<String>> {
        let kept = read(text)?.kept;
        Some(
            kept.iter()
                .map(|kept| format!("{} {}", kept.file, kept.explanation).trim_end().to_owned())
                .collect(),
        )
    }

    #[test]
    fn a_file_is_known_however_it_is_written() {
        for (line, expected) in [
            ("/p/src/a.rs: why", "0 why"),
            ("/p/./src/a.rs: why", "0 why"),
            ("/p//src///a.rs: why", "0 why"),
            ("./src/a.rs: why", "0 why"),
            ("file:///p/src/a.rs: why", "0 why"),
            ("/p/src/a.rs", "0"),
            ("- /p/src/a.rs", "0"),
            ("/p/src/a.rs.", "0"),
            ("/p/src/a.rs.bak: why", "1 why"),
            ("/p/docs/a b: c.md: why", "2 why"),
            ("- `/p/docs/a b: c.md` - why", "2 why"),
            ("/p/app/[id]/page.tsx: why", "3 why"),
            ("[page](/p/app/[id]/page.tsx): why", "3 why"),
            ("/p/src/with\\_under\\_scores.py: why", "4 why"),
            ("/p/1. notes.md: why", "5 why"),
            ("1. /p/1. notes.md: why", "5 why"),
            ("### 1. /p/src/a.rs\nwhy", "0 why"),
            ("### 1. `/p/src/a.rs`\n\n**Why it's relevant:** why", "0 why"),
            ("**1. /p/src/a.rs** – why", "0 why"),
            ("**/p/src/a.rs**: why", "0 why"),
            ("*/p/src/a.rs: why*", "0 why"),
            ("1) \"/p/src/a.rs\": why", "0 why"),
            ("[1] /p/src/a.rs - why", "0 why"),
            ("[/p/src/a.rs](/p/src/a.rs): why", "0 why"),
            ("- [a.rs](/p/src/a.rs#L12-L20) — why", "0 why"),
            ("- [`a.rs`](/p/src/a.rs): why", "0 why"),
            ("/p/src/a.rs:12-20: why", "0 why"),
            ("/p/src/a.rs:12: 3 retries, then none", "0 3 retries, then none"),
            ("/p/src/a.rs: 3 retries, then none", "0 3 retries, then none"),
            ("/p/src/a.rs (lines 12-20): why", "0 why"),
            ("/p/src/a.rs [L12-20] why", "0 why"),
            ("/p/src/a.rs → why", "0 why"),
            ("File: /p/src/a.rs\nRelevance: high\nExplanation: why", "0 why"),
            ("**File 1:** `/p/src/a.rs`\n   - why", "0 why"),
            ("FILE /p/src/a.rs: why", "0 why"),
            ("> /p/src/a.rs: why", "0 why"),
            ("📄 /p/src/a.rs: why", "0 why"),
            ("| 1 | `/p/src/a.rs` | why |", "0 why"),
            ("| File | Why |\n|---|:--|\n| /p/src/a.rs | why |", "0 why"),
            ("| high | why | /p/src/a.rs |", "0 high"),
            ("<file>/p/src/a.rs</file>: why", "0 why"),
            ("<file path=\"/p/src/a.rs\">why</file>", "0 why"),
            ("<result>\n<path>/p/src/a.rs</path>\n<explanation>why</explanation>\n</result>", "0 why"),
            ("```\n/p/src/a.rs: why\n```", "0 why"),
            ("{\"files\": [{\"path\": \"/p/src/a.rs\", \"explanation\": \"why\"}]}", "0 why"),
            ("```json\n[{\"file\": \"/p//src/a.rs:3-9\", \"reason\": \"why\"}]\n```", "0 why"),
            ("{\"/p/src/a.rs\": \"why\"}", "0 why"),
            ("Here:\n[\n  \"/p/src/a.rs\"\n]\nsrc/a.rs does it.", "0"),
            ("{'path': '/p/src/a.rs', 'why': 1}", "0 'why': 1}"),
        ] {
            assert_eq!(shown(line), Some(vec![expected.to_owned()]), "{line}");
        }
    }

    #[test]
    fn what_only_mentions_a_file_lists_none() {
        let list = "/p/src/b.rs: why";
        for talk in [
            "src/a.rs is only a test of it.",
            "In short, src/a.rs and /p/src/b.rs do it.",
            "Not relevant:\n- src/a.rs: only a test",
            "### Excluded files\n1. src/a.rs\n2. /p/src/a.rs.bak",
            "- src/a.rs: not relevant to the query",
            "src/a.rs: believe me",
            SAID[1],
        ] {
            for text in [format!("{list}\n\n{talk}"), format!("Here are the files.\n{list}\n{talk}")] {
                assert_eq!(shown(&text).unwrap(), ["6 why"], "{text}");
            }
        }
        // The control: said in a list, it is one.
        assert_eq!(shown(&format!("{list}\n- src/a.rs: a test")).unwrap(), ["6 why", "0 a test"]);
        assert_eq!(shown("src/a.rs is where it happens.").unwrap(), ["0 is where it happens."]);
        assert_eq!(read(&format!("{list}\nsrc/a.rs: believe me")).unwrap().dropped, 1);
    }

    #[test]
    fn files_count_for_more_than_a_sentence_that_there_are_none() {
        for text in [
            "No relevant files found, but this comes near:\n- src/a.rs: why",
            "src/a.rs: why\n\nNo other file is relevant. No relevant files found beside it.",
            "src/a.rs: why\n\nI can't help with more.",
            "{\"files\": []}\n- src/a.rs: why",
        ] {
            assert_eq!(shown(text).unwrap(), ["0 why"], "{text}");
        }
        let within = "src/a.rs: prints \"No relevant files found\"";
        assert_eq!(shown(within).unwrap(), ["0 prints \"No relevant files found\""]);
        for text in [
            "\"No relevant files found\"",
            "No relevant files found. The match in src/a.rs is a comment.",
            "No relevant files found.\n\nsrc/a.rs only has the word in a comment.",
            "<answer>\nNo relevant files found\n</answer>",
            "```\nNo relevant files found\n```",
            "| No relevant files found |",
            "{\"files\": []}",
            "[]",
            "{\"answer\": \"No relevant files found\"}",
            "- src/a.rs: not relevant",
            "<think>src/a.rs: is it?</think>None of the files are relevant.",
        ] {
            assert_eq!(read(text), Some(Parsed::default()), "{text}");
        }
        for text in [
            "",
            "I'm sorry, but I can't help with that.",
            "I cannot analyze these results. No relevant files found.",
            "/etc/passwd: No relevant files found",
            "If no files are truly relevant, return \"No relevant files found\"",
            "/p/src/x.rs: invented",
            "null",
            "{}",
            "Certainly! Which query do you mean?",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_that_is_cut_gives_its_whole_entries() {
        let cut = r#"{"files": [{"path": "src/a.rs", "why": "it is"}, {"path": "/p/src/b.rs", "why": "ca"#;
        let parsed = read(cut).unwrap();
        assert!(parsed.cut && parsed.kept.len() == 1, "{parsed:?}");
    }

    #[test]
    fn large_answers_take_no_time() {
        let mut slowest = (std::time::Duration::ZERO, "");
        for piece in [
            "- ",
            "[",
            "{",
            "[{\"path\":",
            "<",
            "<think>\n",
            "<think>a</think>\n",
            "| a ",
            "[a](",
            "src/a.rs: ",
            "src/a.rs:",
            "/p/src/",
            "1. ",
            "no relevant ",
            "none of the ",
            "\\_",
            "\"",
            "a: ",
            "::",
            "<|channel|>final",
            "</think>\n",
        ] {
            for separator in ["", "\n"] {
                let text = format!("{piece}{separator}").repeat((1 << 18) / (piece.len() + separator.len()));
                let started = std::time::Instant::now();
                read(&text);
                slowest = slowest.max((started.elapsed(), piece));
            }
        }
        // Eight times what a model may answer with, without optimisation.
        assert!(slowest.0.as_secs() < 4, "{slowest:?}");
    }

    #[test]
    fn fuzz_no_answer_names_a_file_that_was_not_sent() {
        let seeds = forage_fuzz::seeds([
            "### 1. `/p/src/a.rs`\n\n**Why:** it is\n\n- [b](/p/src/b.rs#L1-L2): too\n| /p/./src/a.rs | x |",
            "```json\n{\"files\": [{\"path\": \"src/a.rs:3-9\", \"why\": \"w\"}, \"/p/src/b.rs\"]}\n```\nNot relevant:\n- x",
            "<think>src/a.rs: no</think>\n\"No relevant files found\"",
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>src/a.rs: y<|return|>",
            "{\"path\": \"src/a.rs\"}\n{\"path\": \"/etc/passwd\", \"reason\": \"n\"}",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            let Some(parsed) = read(&text) else { return };
            for (nth, kept) in parsed.kept.iter().enumerate() {
                let sent = PATHS.iter().filter(|(_, file)| *file == kept.file);
                // Whatever is taken for a file is written out in the answer, up to dots, slashes and escapes.
                let plain: String = text.replace(['\\', '/', '.'], "");
                assert!(
                    sent.into_iter().any(|(path, _)| plain.contains(&path.replace(['\\', '/', '.'], "")))
                        || text.contains("\\u"),
                    "a file that the answer does not name: {kept:?}"
                );
                assert!(parsed.kept[..nth].iter().all(|before| before.file != kept.file), "twice: {kept:?}");
                assert!(kept.explanation.len() <= limits::EXPLANATION_BYTES + 8, "{kept:?}");
                assert!(!kept.explanation.contains(['\n', '\r', '\u{202e}']), "{kept:?}");
            }
        });
    }
}
