//! Splits a bug report into the text of its author and the parts that come from a template, a tracker or a
//! machine.
//!
//! The words of a template occur in every report, and would lead to files about versions, environments and
//! contributing. A text of one line, or without the marks of a report, is treated as prose.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReportPart<'a> {
    pub(super) text: &'a str,
    /// The weight of each of its words.
    pub(super) share: f32,
    pub(super) is_title: bool,
}

use super::frames::{ReportedFile, TraceReader};
use crate::limits;

/// Weight of a word in the first line, which summarises the rest.
const TITLE: f32 = 3.0;
/// Weight of a word in a code block, which mostly contains the author's own names.
const CODE: f32 = 0.5;
/// Weight of a word in a stack trace, which mostly contains directories and intermediate files.
const TRACE: f32 = 0.2;
/// Weight of a word in a log line without an error, which describes unrelated activity of the program.
const LOG: f32 = 0.1;

/// Words of headings for sections about the author's machine, or about checks before reporting.
const BOILERPLATE_HEADINGS: &[&str] = &[
    "version",
    "versions",
    "environment",
    "platform",
    "os",
    "operating",
    "browser",
    "browsers",
    "checklist",
    "prerequisites",
    "conduct",
    "contribute",
    "contributing",
    "validations",
    "screenshots",
    "participation",
    "willing",
];

/// Like `BOILERPLATE_HEADINGS`, but only for headings without other words.
const BOILERPLATE_HEADING_WORDS: &[&str] = &[
    "system",
    "info",
    "information",
    "package",
    "manager",
    "search",
    "searched",
    "checks",
    "terms",
    "links",
    "used",
    "of",
    "and",
    "the",
    "your",
    "for",
];

/// Keys of lines that describe the author's machine.
const MACHINE_KEYS: &[&str] = &[
    "os",
    "operating system",
    "platform",
    "version",
    "versions",
    "node",
    "node version",
    "node.js",
    "npm",
    "yarn",
    "pnpm",
    "browser",
    "browsers",
    "python",
    "python version",
    "ruby",
    "php",
    "php version",
    "java",
    "java version",
    "jvm",
    "jdk",
    "go",
    "go version",
    "rust",
    "rustc",
    "cargo",
    "arch",
    "architecture",
    "compiler",
    "device",
    "kernel",
    "distribution",
    "environment",
    "cpu",
    "memory",
    "shell",
    "terminal",
    "editor",
    "ide",
    "framework version",
    "swift version",
    "xcode version",
    "erlang",
    "elixir",
    "otp",
    "ghc",
    "hardware",
    "ram",
    "docker",
    "database",
    "database version",
    "target framework",
    "package version",
    "binaries",
    "system",
];

/// Words that instructions to the author begin with.
const INSTRUCTIONS: &[&str] = &[
    "please",
    "describe",
    "provide",
    "include",
    "if applicable",
    "if possible",
    "a clear and concise",
    "make sure",
    "tell us",
    "explain",
    "add any other",
    "paste",
    "list the",
    "enter ",
    "write ",
    "what did you",
    "what version",
    "which version",
    "what operating",
    "before ",
    "fill ",
    "thank",
    "thanks for",
    "for example",
    "e.g.",
    "note:",
    "you can ",
    "see above",
    "replace ",
    "ideally",
    "the output of",
    "output of",
    "use the template",
    "be clear",
    "show ",
    "attach ",
    "give ",
    "put ",
    "this is extremely",
];

/// Words that instructions to the author contain.
const INSTRUCTED: &[&str] = &[
    "you",
    "issue",
    "here",
    "bug",
    "output",
    "version",
    "concise",
    "describe",
    "if applicable",
    "see above",
];

/// Splits a text into the parts that count, in order, and finds the files that it mentions.
pub(super) fn parts(text: &str) -> (Vec<ReportPart<'_>>, Vec<ReportedFile>) {
    let text = text.trim();
    let Some((title, rest)) = text.split_once('\n') else {
        let mut traces = TraceReader::default();
        traces.read(text, true);
        return (vec![ReportPart { text, share: 1.0, is_title: false }], traces.finish());
    };
    // If the first line is long, it is a paragraph and not a title.
    let is_title = title.split_whitespace().count() <= limits::TITLE_WORDS;
    let share = if is_title { TITLE } else { 1.0 };
    let mut parts = vec![ReportPart { text: title, share, is_title }];
    let mut form =
        is_report(rest).then(|| ReportForm { has_comments: rest.contains("-->"), ..ReportForm::default() });
    let mut traces = TraceReader::default();
    traces.read(title, true);
    for line in rest.lines() {
        let share = form.as_mut().map_or(1.0, |form| form.share(line));
        let is_trace = traces.read(line, share > 0.0 || is_head_of_diff(line));
        let max = match line {
            _ if is_trace => TRACE,
            line if is_log(line) => LOG,
            _ => f32::MAX,
        };
        push(text, &mut parts, line, share.min(max));
    }
    (parts, traces.finish())
}

/// Adds a line to the parts of a text, or extends the last part if the line continues it.
fn push<'a>(text: &'a str, parts: &mut Vec<ReportPart<'a>>, line: &'a str, share: f32) {
    if share == 0.0 {
        return;
    }
    // All parts are slices of the same text, so their addresses give their offsets in it.
    let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    if let Some(last) = parts.last_mut().filter(|last| !last.is_title && last.share == share) {
        let (start, end) = (place(last.text), place(last.text) + last.text.len());
        if matches!(&text[end..place(line)], "\n" | "\r\n") {
            last.text = &text[start..place(line) + line.len()];
            return;
        }
    }
    parts.push(ReportPart { text: line, share, is_title: false });
}

/// The position of the parser within a form.
#[derive(Default)]
struct ReportForm {
    /// The mark that ends the current code block.
    fence: Option<&'static str>,
    is_in_comment: bool,
    /// True if comments in this text are closed. An unclosed one would hide the rest.
    has_comments: bool,
    /// True within a section about the author's machine or about rules.
    is_aside: bool,
    /// True within a paragraph of instructions to the author.
    is_instruction: bool,
}

impl ReportForm {
    /// Computes the weight of the words in the next line.
    fn share(&mut self, line: &str) -> f32 {
        let line = line.trim();
        if self.is_in_comment {
            self.is_in_comment = !line.contains("-->");
            return 0.0;
        }
        if let Some(mark) = self.fence {
            let is_end = line.starts_with(mark);
            if is_end {
                self.fence = None;
            }
            return if is_end || self.is_aside || is_head_of_diff(line) { 0.0 } else { CODE };
        }
        // With the closing mark on the same line, this is code within a sentence and opens no block.
        let begins = |mark: &&str| line.strip_prefix(mark).is_some_and(|rest| !rest.contains(mark));
        self.fence = FENCES.into_iter().find(begins);
        if self.fence.is_some() {
            return 0.0;
        }
        if line.starts_with("<!--") && self.has_comments {
            self.is_in_comment = !line.contains("-->");
            return 0.0;
        }
        if let Some(heading) = heading(line) {
            self.is_aside = is_boilerplate_heading(heading);
        }
        if line.is_empty() || heading(line).is_some() {
            self.is_instruction = false;
            return 0.0;
        }
        self.is_instruction |= instructs(line);
        if self.is_aside || self.is_instruction || is_form(line) { 0.0 } else { 1.0 }
    }
}

/// Marks that start and end a code block.
const FENCES: [&str; 2] = ["```", "~~~"];

/// Returns true if a text has the marks of a filled-in form.
fn is_report(text: &str) -> bool {
    let mark = |line: &str| {
        let line = line.trim();
        FENCES.iter().any(|mark| line.starts_with(mark))
            || line.starts_with("<!--")
            || is_box(line)
            || heading(line).is_some()
    };
    text.lines().any(mark)
}

/// Parses a heading, which may be `## Text`, `**Text**`, or a few words followed by a colon.
fn heading(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix('#') {
        let text = rest.trim_start_matches('#');
        return text.starts_with(' ').then(|| text.trim());
    }
    let bold = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    if let Some(bold) = bold.filter(|bold| !bold.contains("**")) {
        return Some(bold.trim_end_matches(':'));
    }
    line.strip_suffix(':').filter(|text| text.split_whitespace().count() <= 4)
}

/// Recognises a heading about the author's machine or about rules.
fn is_boilerplate_heading(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let has_words = words.clone().next().is_some();
    words.clone().any(|word| BOILERPLATE_HEADINGS.contains(&word))
        || has_words && words.all(|word| BOILERPLATE_HEADING_WORDS.contains(&word))
}

/// Returns true for a checkbox, e.g. `- [x] I have read it`.
fn is_box(line: &str) -> bool {
    let item = line.trim_start_matches(['-', '*', '+', ' ']);
    item.len() < line.len() && ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark))
}

/// Log levels of errors.
const ERROR_LEVELS: &[&str] = &["ERROR", "FATAL", "CRITICAL", "SEVERE"];
/// Lower log levels.
const LOG_LEVELS: &[&str] = &["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING"];

/// Recognises a line that belongs to a log and isn't an error. Such a line begins with a level in capitals or
/// with a time.
fn is_log(line: &str) -> bool {
    let line = line.trim_start();
    // A date, a time and the source may precede the level.
    let words = line.split([' ', '\t', '[', ']', '|', '<', '>']).filter(|word| !word.is_empty()).take(6);
    let words: Vec<&str> = words.collect();
    let begins = line.starts_with(|first: char| first.is_ascii_digit() || first == '[' || first == '<');
    let has_time = begins && words.iter().take(3).any(|word| word.split('T').any(is_time));
    let level = |word: &&str| word.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_owned();
    // Without a time, only the first word can be a level.
    let levels: Vec<String> = words.iter().take(if has_time { words.len() } else { 1 }).map(level).collect();
    let has = |known: &[&str]| levels.iter().any(|level| known.contains(&level.as_str()));
    !has(ERROR_LEVELS) && (has_time || has(LOG_LEVELS))
}

/// Returns true for a time such as `12:30:01`, with or without fractions of a second.
fn is_time(word: &str) -> bool {
    let mut parts = word.splitn(3, ':');
    let two = |part: Option<&str>| {
        part.is_some_and(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    two(parts.next()) && two(parts.next()) && parts.next().is_some_and(|part| two(part.get(..2)))
}

/// Recognises a line of a diff that only names the compared objects. We look for mentioned files separately.
fn is_head_of_diff(line: &str) -> bool {
    ["diff --git ", "--- a/", "+++ b/", "@@ -"].iter().any(|head| line.starts_with(head))
        || line.strip_prefix("index ").is_some_and(|rest| rest.contains(".."))
}

/// Recognises a line that fills in a form. This may be a checkbox, a property of the machine, a rule, or
/// emphasis that a template uses for instructions.
fn is_form(line: &str) -> bool {
    if is_box(line) || line.starts_with("---") || line.starts_with("***") || line.starts_with("___") {
        return true;
    }
    // This must not match `**bold**`, nor a list item such as `* text *`.
    let is_whole = |mark: char| {
        let inner = line.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        inner.is_some_and(|inner| !inner.is_empty() && !inner.starts_with([mark, ' ']))
    };
    is_whole('*') || is_whole('_') || is_machine_property(line)
}

/// Recognises a line that is a property of the author's machine with its value, e.g. `- Node version: 18.2`
/// or `| OS | Ubuntu |`.
fn is_machine_property(line: &str) -> bool {
    let is_row = line.starts_with('|');
    let item = line.trim_start_matches(['-', '*', '+', ' ', '|']);
    let Some((key, value)) = (if is_row { item.split_once('|') } else { item.split_once(':') }) else {
        return false;
    };
    let key = key.trim_matches(['*', '_', ' ', '`']).to_lowercase();
    let is_key = MACHINE_KEYS.contains(&key.as_str())
        || key.split_whitespace().count() <= 3
            && MACHINE_KEYS
                .iter()
                .any(|known| key.strip_suffix(known).is_some_and(|rest| rest.ends_with(' ')));
    // For example, `cargo: error while linking` is output of a program and not a version.
    let words = value.split_whitespace().count();
    is_key && (words <= 2 || words <= 8 && value.contains(|c: char| c.is_ascii_digit()))
}

/// Recognises a paragraph that instructs the author. It must begin like an instruction and mention the text
/// to write.
fn instructs(line: &str) -> bool {
    let lower = line.trim_start_matches(['*', '_', '-', '>', '(', ' ']).to_lowercase();
    INSTRUCTIONS.iter().any(|start| lower.starts_with(start))
        && INSTRUCTED.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Server hangs when the socket closes early\n\n\
        <!-- Please read the guide\nbefore you write -->\n\
        - [x] I have searched the issues\n\n\
        ### Description\n\
        A clear and concise description of what the bug is, and of your version.\n\n\
        The read loop never ends\nand one worker is lost.\n\n\
        ```go\nconn.Close()\n```\n\n\
        **Environment**\nLinux with a proxy\n```\ngo env\n```\n\
        ## Expected behaviour\n\
        It should return.\n- OS: Ubuntu\n_No response_\n";

    #[test]
    fn what_the_writer_wrote_counts_and_the_form_does_not() {
        let found: Vec<_> = parts(REPORT).0.into_iter().map(|part| (part.text, part.share)).collect();
        let expected = [
            ("Server hangs when the socket closes early", TITLE),
            ("The read loop never ends\nand one worker is lost.", 1.0),
            ("conn.Close()", CODE),
            ("It should return.", 1.0),
        ];
        assert_eq!(found, expected);
        assert!(parts(REPORT).0[0].is_title);
    }

    #[test]
    fn what_programs_say_is_no_form() {
        let machine = [
            "- OS: Ubuntu",
            "Node version: 18.2.0",
            "**Browser**: Firefox 120",
            "| Python | 3.12 |",
            "os: linux",
        ];
        let said = [
            "go: cannot find module providing package foo",
            "cargo: error while linking with the linker",
            "I get this in the browser: TypeError: x is not a function",
            "if version == 2 then the loader fails",
            "* the parser drops *text*",
            "* **Foo** fails with **Bar**",
            "use shell=True and it hangs",
        ];
        assert!(machine.into_iter().all(is_form));
        assert_eq!(said.into_iter().filter(|line| is_form(line)).collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(
            is_boilerplate_heading("System info")
                && is_boilerplate_heading("What version of it do you use?")
                && is_boilerplate_heading("Package manager")
        );
        assert!(
            !is_boilerplate_heading("Search is slow") && !is_boilerplate_heading("The package of the day")
        );
        let shares = |text: &str| parts(text).0.iter().map(|part| part.share).collect::<Vec<_>>();
        assert_eq!(shares("T\r\n# A\r\n```x()```\r\nprose\r\nmore\r\n<!-- open\r\nrest"), [TITLE, 1.0]);
    }

    #[test]
    fn log_lines_weigh_little_and_diff_headers_nothing() {
        for line in [
            "2024-05-01 12:43:34,437 WARN  [main] structures - dictionaries",
            "[12:43:34] loading plugins",
            "2024-05-01T12:43:34.437Z INFO started",
            "[INFO] Building shop 1.0",
            "  DEBUG: retry 1 of 3",
        ] {
            assert!(is_log(line), "{line}");
        }
        for line in [
            "2024-05-01 12:43:34,437 ERROR [main] can't read the index",
            "[ERROR] Failed to execute goal",
            "Error: can't read the index",
            "INFORMATION about the index",
            "at 12:30:01 it stops",
            "10:20 is a ratio",
            "",
        ] {
            assert!(!is_log(line), "{line}");
        }
        let text = "It fails\n```\n12:43:34 INFO started\n12:43:35 ERROR broken\n```\n```diff\ndiff --git a/x.rs b/x.rs\n\
                    index 1234..5678 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@ fn y\n-old\n+new\n```\n";
        let (parts, files) = parts(text);
        let shares: Vec<(&str, f32)> = parts.iter().skip(1).map(|part| (part.text, part.share)).collect();
        assert_eq!(
            shares,
            [("12:43:34 INFO started", LOG), ("12:43:35 ERROR broken", CODE), ("-old\n+new", CODE)]
        );
        assert!(!files.is_empty());
        assert!(files.iter().all(|file| format!("{file:?}").contains("x.rs")), "{files:?}");
    }

    #[test]
    fn a_text_without_a_form_is_prose() {
        let text = "Fix the loop\n\nPlease note that version 2 of your OS: it hangs.\nMore.";
        let found: Vec<_> = parts(text).0.into_iter().map(|part| part.text).collect();
        assert_eq!(found, ["Fix the loop", "\nPlease note that version 2 of your OS: it hangs.\nMore."]);
        let line = "one line of many words which has no title";
        assert_eq!(parts(line).0, [ReportPart { text: line, share: 1.0, is_title: false }]);
        // A long first line is not a title.
        let long = format!("{}\nrest", "word ".repeat(40));
        assert!(!parts(&long).0[0].is_title && parts(&long).0[0].share == 1.0);
    }

    #[test]
    fn fuzz_parts_are_of_the_text_in_its_order() {
        forage_fuzz::target!(&forage_fuzz::seeds([REPORT, "a\nb", "```\n~~~\n# x"]), |input| {
            let text = String::from_utf8_lossy(input);
            let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
            let mut end = 0;
            for part in parts(&text).0 {
                assert!(place(part.text) >= end && part.share > 0.0);
                end = place(part.text) + part.text.len();
            }
            assert!(end <= text.len());
        });
    }
}
