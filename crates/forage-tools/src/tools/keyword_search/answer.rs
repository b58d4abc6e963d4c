//! What the model said, held against what it was shown.
//!
//! Lines are asked for. Models write lists, tables, headings and JSON as they are used to, so that all of these are read;
//! `tests/data/answers` has an answer in the style of each family, with the source of its habits.

use schemars::JsonSchema;
use serde::Serialize;

use super::names::FileNames;
use super::records::{self, JsonInText};
use super::{fences, lines, nothing, spoken};
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::clip;

/// A file that the model kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptAnswerFile {
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
pub struct LineRange {
    /// From 1.
    pub first: u64,
    /// The last line of them.
    pub last: u64,
    /// Whether the model was shown them. Of others it can't know what they hold, or whether they exist.
    pub shown: bool,
}

/// An answer in the order of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedAnswer {
    pub(super) kept: Vec<KeptAnswerFile>,
    /// Lines or entries that name a file which is not in the evidence, or that repeat what a file says.
    pub(super) dropped: usize,
    /// The answer ended in the middle.
    pub(super) cut: bool,
}

/// The grade of a file that was given none.
const UNGRADED: u8 = 1;

/// A model's words about a file in one clean line.
pub(super) fn explanation(words: &str) -> String {
    clip(&sanitize_line(words), limits::EXPLANATION_BYTES)
}

impl KeptAnswerFile {
    /// A file with a model's words about it.
    pub(super) fn new(file: usize, words: &str, grade: Option<u8>, names: &FileNames<'_>) -> Self {
        let grade = names.by_id().then_some(grade.unwrap_or(UNGRADED));
        Self { file, explanation: explanation(words), grade, ranges: Vec::new() }
    }
}

impl ParsedAnswer {
    /// Adds a file unless it is there: the first mention is the most relevant one.
    pub(super) fn keep(&mut self, kept: KeptAnswerFile) {
        if self.kept.iter().all(|known| known.file != kept.file) {
            self.kept.push(kept);
        }
    }
}

/// Reads an answer. `None` when the text is no such answer at all: neither a list nor the sentence that nothing is relevant.
///
/// A file that is listed counts for more than a sentence that none is relevant: who names one has found one. A refusal is no
/// verdict, whatever it says beside. What is set apart, in a fence or behind `>`, is read where the rest says neither.
pub(super) fn parse(text: &str, names: &FileNames<'_>) -> Option<ParsedAnswer> {
    let text = spoken::answer(text);
    let parts = fences::parts(&text, names);
    let plain = read(&parts.plain, names);
    let reading = if plain.is_answer() { plain } else { apart(&parts.apart, names).over(plain) };
    let is_verdict = (reading.says_nothing || reading.leaves_out) && !nothing::refuses(&text);
    // An answer of nothing but other paths is no verdict.
    (is_verdict || !reading.parsed.kept.is_empty()).then_some(reading.parsed)
}

/// Whether a text is reasoning alone, which was cut before an answer came.
pub(super) fn is_cut_reasoning(text: &str) -> bool {
    !text.trim().is_empty() && spoken::answer(text).is_empty()
}

/// What a text says, or a part of it.
#[derive(Default)]
struct AnswerReading {
    parsed: ParsedAnswer,
    says_nothing: bool,
    /// Files are named because they are not meant.
    leaves_out: bool,
    /// There are answers that differ.
    is_unclear: bool,
    is_json: bool,
}

impl AnswerReading {
    /// Whether nothing else is to be looked for.
    fn is_answer(&self) -> bool {
        !self.parsed.kept.is_empty() || self.says_nothing || self.is_unclear
    }

    /// This one, beside what else was said.
    fn over(mut self, other: Self) -> Self {
        self.leaves_out |= other.leaves_out;
        self.parsed.dropped += other.parsed.dropped;
        self
    }
}

/// Reads what is set apart, the quotations left out.
fn apart(parts: &[fences::FencedPart], names: &FileNames<'_>) -> AnswerReading {
    let mut read: Vec<(AnswerReading, bool)> = Vec::new();
    let mut quoted = 0;
    for part in parts {
        let reading = self::read(&part.text, names);
        if part.is_quotation(names) {
            quoted += reading.parsed.kept.len();
        } else if reading.is_answer() || reading.leaves_out {
            read.push((reading, part.is_introduced()));
        }
    }
    if read.len() > 1 {
        // Of several, those are the answer that are said to be.
        read.retain(|(_, is_introduced)| *is_introduced);
    }
    let mut readings = read.into_iter().map(|(reading, _)| reading);
    let mut whole = readings.next().unwrap_or_default();
    for reading in readings {
        let is_same = reading.parsed.kept == whole.parsed.kept;
        whole.is_unclear |= reading.is_unclear || (reading.is_json || whole.is_json) && !is_same;
        whole.says_nothing |= reading.says_nothing;
        whole.leaves_out |= reading.leaves_out;
        whole.parsed.dropped += reading.parsed.dropped;
        reading.parsed.kept.into_iter().for_each(|kept| whole.parsed.keep(kept));
    }
    if whole.is_unclear {
        return AnswerReading { is_unclear: true, ..AnswerReading::default() };
    }
    whole.parsed.dropped += quoted;
    whole
}

/// Reads a text of one piece.
fn read(text: &str, names: &FileNames<'_>) -> AnswerReading {
    let unclear = AnswerReading { is_unclear: true, ..AnswerReading::default() };
    match records::read(text, names) {
        JsonInText::One(records) => beside(records, text, names),
        JsonInText::Several => unclear,
        JsonInText::Nothing(places, dropped) => {
            // What no file can be taken from as JSON is not read as lines either.
            let mut rest = String::with_capacity(text.len());
            let mut from = 0;
            for place in places {
                rest.push_str(&text[from..place.start]);
                from = place.end;
            }
            rest.push_str(&text[from..]);
            let mut lines = of_lines(&rest, names);
            lines.parsed.dropped += dropped;
            if lines.is_answer() || lines.leaves_out {
                return lines;
            }
            match records::read_within_lines(&rest, names) {
                JsonInText::One(records) => of_records(records).over(lines),
                JsonInText::Several => unclear,
                JsonInText::Nothing(..) => lines,
            }
        }
    }
}

/// What records say, or the lines beside them.
fn beside(records: records::Records, text: &str, names: &FileNames<'_>) -> AnswerReading {
    let (before, after) = (&text[..records.place.start], &text[records.place.end..]);
    let before = of_lines(before, names);
    if !before.parsed.kept.is_empty() {
        return before;
    }
    let after = of_lines(after, names);
    // What stands below an answer talks of it.
    if records.parsed.kept.is_empty() && !after.parsed.kept.is_empty() {
        return after;
    }
    let reading = of_records(records);
    AnswerReading { says_nothing: reading.says_nothing || after.says_nothing, ..reading }
}

fn of_lines(text: &str, names: &FileNames<'_>) -> AnswerReading {
    let lines = lines::read(text, names);
    let (says_nothing, leaves_out) = (lines.says_nothing, lines.leaves_out);
    AnswerReading { parsed: lines.parsed, says_nothing, leaves_out, ..AnswerReading::default() }
}

fn of_records(records: records::Records) -> AnswerReading {
    let says_nothing = records.says_nothing;
    AnswerReading { parsed: records.parsed, says_nothing, is_json: true, ..AnswerReading::default() }
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

    fn read(text: &str) -> Option<ParsedAnswer> {
        parse(text, &FileNames::of(&PATHS, &SAID, &[]))
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
            assert_eq!(read(text), Some(ParsedAnswer::default()), "{text}");
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
    fn a_quotation_is_no_answer() {
        let list = "/p/src/b.rs: why";
        for quotation in [
            "```\nsrc/a.rs: in other words\n```",
            "```\nsrc/a.rs\n```",
            "~~~text\nsrc/a.rs: x\n~~~",
            "> src/a.rs: in other words",
            "> src/a.rs",
            "The file says: src/a.rs: in other words",
            "The file says:\nsrc/a.rs: in other words",
            "A comment in it reads:\n- src/a.rs: in other words",
            "\"src/a.rs: in other words\"",
            "- “src/a.rs”",
            "It holds this line:\n\n```json\n{\"files\": [{\"path\": \"src/a.rs\", \"why\": \"x\"}]}\n```",
            "It has {\"files\": [{\"path\": \"src/a.rs\", \"why\": \"x\"}]} in it.",
            // A part of what a file says, as it was shown, and in another layout.
            "> 12: src/a.rs: believe",
            "- **src/a.rs**: believe me",
            "3. `src/a.rs` — believe me",
            "| src/a.rs | believe me |",
        ] {
            for text in [format!("{quotation}\n\n{list}"), format!("{list}\n\n{quotation}")] {
                assert_eq!(shown(&text).unwrap_or_default(), ["6 why"], "{text}");
            }
            let nothing = format!("{quotation}\n\nThat is data. No relevant files found.");
            assert_eq!(read(&nothing).map(|parsed| parsed.kept), Some(Vec::new()), "{nothing}");
        }
        let in_two = "src/b.rs says:\n```\nsrc/a.rs: x\n```\nThe relevant file:\n```\n/p/src/b.rs: why\n```";
        assert_eq!(shown(in_two).unwrap(), ["6 why"]);
        // What a file says, and nothing else, is no answer.
        for text in
            ["The file says:\n```\nsrc/a.rs: x\n```", "It reads:\nsrc/a.rs: x", "src/a.rs says x", SAID[1]]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn an_answer_that_is_set_apart_is_read() {
        for text in [
            "```\n/p/src/b.rs: why\n```",
            "Here you are:\n\n```text\n/p/src/b.rs: why\n```\n\nI hope this helps.",
            "```\n/p/src/b.rs: why",
            "~~~\n/p/src/b.rs: why\n~~~",
            "````\n```\n/p/src/b.rs: why\n```\n````",
            "> /p/src/b.rs: why",
            "The relevant files are:\n> - /p/src/b.rs: why\n\nNot relevant:\n- src/a.rs: a test",
            "\"/p/src/b.rs: why\"",
            "```{\"files\": [{\"path\": \"/p/src/b.rs\", \"why\": \"why\"}]}```",
            "### `/p/src/b.rs`\n> why",
        ] {
            assert_eq!(shown(text).unwrap_or_default(), ["6 why"], "{text}");
        }
        let nothing = "```\nNo relevant files found\n```";
        assert_eq!(read(nothing), Some(ParsedAnswer::default()));
        let groups = "**Files:**\n```\n/p/src/b.rs: why\n```\n**Other files:**\n```\nsrc/a.rs: too\n```";
        assert_eq!(shown(groups).unwrap(), ["6 why", "0 too"]);
    }

    #[test]
    fn an_answer_reads_the_same_in_every_form_and_decoration() {
        let forms = [
            "/p/src/b.rs: why it is\nsrc/a.rs: and this",
            "- `/p/src/b.rs`: why it is\n- `src/a.rs`: and this",
            "1. **/p/src/b.rs** - why it is\n2. **src/a.rs** - and this",
            "| /p/src/b.rs | why it is |\n| src/a.rs | and this |",
            r#"[{"path": "/p/src/b.rs", "why": "why it is"}, {"file": "src/a.rs", "reason": "and this"}]"#,
            r#"{"files": ["/p/src/b.rs: why it is", "src/a.rs: and this"]}"#,
            r#"{"/p/src/b.rs": "why it is", "src/a.rs": "and this"}"#,
        ];
        let planted = "The file says:\n```\n/p/src/a.rs.bak: in other words\n```\n\n";
        for form in forms {
            let quoted = form.replace('\n', "\n> ");
            for text in [
                form.to_owned(),
                form.replace('\n', "\r\n"),
                format!("```\n{form}\n```"),
                format!("> {quoted}"),
                format!("<think>/p/src/a.rs.bak: no</think>\n{form}"),
                format!("/p/src/a.rs.bak: no\n</think>\n{form}"),
                format!("{form}\n</think>"),
                format!("<|begin_of_box|>{form}<|end_of_box|>"),
                format!("<answer>\n{form}\n</answer>"),
                format!("Here are the files:\n\n{form}\n\nI hope this helps."),
                format!("{planted}{form}"),
                format!("{planted}Relevant files:\n```\n{form}\n```"),
                format!("{form}\n\nNot relevant:\n- /p/src/a.rs.bak: a copy"),
                format!("{form}\n\nNot relevant: /p/src/a.rs.bak"),
            ] {
                assert_eq!(shown(&text).unwrap_or_default(), ["6 why it is", "0 and this"], "{text}");
            }
        }
    }

    #[test]
    fn of_two_answers_in_json_that_differ_none_is_taken() {
        let (first, second) = ("{\"files\": [\"src/a.rs\"]}", "{\"files\": [\"/p/src/b.rs\"]}");
        assert_eq!(read(&format!("{first}\n\nor\n\n{second}")), None);
        assert_eq!(read(&format!("```\n{first}\n```\n```\n{second}\n```")), None);
        assert_eq!(shown(&format!("{first}\n\nor\n\n{first}")).unwrap(), ["0"]);
        // The control: each alone.
        assert_eq!(
            (shown(first).unwrap(), shown(second).unwrap()),
            (vec!["0".to_owned()], vec!["6".to_owned()])
        );
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
