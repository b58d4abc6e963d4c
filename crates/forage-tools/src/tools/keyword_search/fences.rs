//! What of an answer stands in a fence or behind `>`: the answer itself, as some models wrap it up, or a quotation of a file.
//!
//! A model that repeats what a hostile file says mostly does so in quotation marks of some sort, with its own words around
//! it. So what is set apart counts only where the model's own words name no file, and not where they say whose it is.

use super::names::FileNames;
use super::{exclusion, lines, nothing};

/// Words behind which a quotation of a file comes.
const SAYS: [&str; 12] = [
    "says",
    "reads",
    "states",
    "claims",
    "contains",
    "holds",
    "has",
    "includes",
    "asks",
    "tells",
    "suggests",
    "instructs",
];
/// The same of which only the first can be meant: `a.rs says retry`, but not `a.rs holds the policy`.
const SPEAKS: [&str; 7] = ["says", "reads", "states", "claims", "asks", "tells", "instructs"];
/// What is quoted: `it has this comment:`, `a line in it:`.
const QUOTED: [&str; 11] = [
    "line",
    "lines",
    "text",
    "instruction",
    "instructions",
    "comment",
    "comments",
    "snippet",
    "excerpt",
    "quote",
    "quotation",
];
/// With these, the model speaks of its own answer.
const OWN: [&str; 8] = ["what", "here", "answer", "relevant", "list", "output", "result", "results"];
/// Words of the line in front of an answer.
const INTRODUCES: [&str; 10] =
    ["file", "files", "relevant", "answer", "list", "result", "results", "output", "ranking", "json"];

/// A text in which models set something apart.
pub(super) struct FencedParts {
    /// Without what is set apart.
    pub(super) plain: String,
    pub(super) apart: Vec<FencedPart>,
}

/// Lines that are set apart.
pub(super) struct FencedPart {
    pub(super) text: String,
    /// The last line before them that is not.
    intro: String,
}

impl FencedPart {
    /// Whether the line before says that these are the words of a file, or of files that are not meant.
    pub(super) fn is_quotation(&self, names: &FileNames<'_>) -> bool {
        attributes(&self.intro)
            || names.mentions(&self.intro)
            || exclusion::heading(&self.intro) == Some(true)
    }

    /// Whether the line before is one that an answer may have.
    pub(super) fn is_introduced(&self) -> bool {
        let words = nothing::words(&self.intro);
        words.is_empty()
            || self.intro.starts_with(['#', '*'])
            || words.iter().any(|word| INTRODUCES.contains(&word.as_str()))
    }
}

/// A fence of code that was opened.
#[derive(Clone, Copy)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a line opens.
    pub(super) fn opening(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        (length >= 3 && !line[length..].contains(mark)).then_some(Self { mark, length })
    }

    pub(super) fn is_closed_by(self, line: &str) -> bool {
        self.content_before(line).is_some_and(str::is_empty)
    }

    /// What stands in front of its end, where a line has that.
    fn content_before(self, line: &str) -> Option<&str> {
        let line = line.trim();
        let content = line.trim_end_matches(self.mark);
        (line.len() - content.len() >= self.length && !content.contains(self.mark)).then_some(content)
    }
}

/// Takes a text apart. A quotation behind `>` that names no file is left where it is: it may be the reason for one.
pub(super) fn parts(text: &str, names: &FileNames<'_>) -> FencedParts {
    let mut parts = FencedParts { plain: String::with_capacity(text.len()), apart: Vec::new() };
    let mut intro = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut within = Vec::new();
        if let Some(fence) = Fence::opening(line) {
            for line in lines.by_ref() {
                match fence.content_before(line) {
                    None => within.push(line),
                    Some(content) => {
                        within.push(content);
                        break;
                    }
                }
            }
        } else if let Some(content) = fenced_line(line) {
            within.push(content);
        } else if line.trim_start().starts_with('>') {
            within.push(line);
            while let Some(line) = lines.next_if(|line| line.trim_start().starts_with('>')) {
                within.push(line);
            }
            let bare: Vec<&str> = within.iter().map(|line| line.trim_start_matches(['>', ' '])).collect();
            if !bare.iter().any(|line| is_content(line, names)) {
                within.iter().for_each(|line| push(&mut parts.plain, line));
                continue;
            }
            within = bare;
        } else {
            push(&mut parts.plain, line);
            if !line.trim().is_empty() {
                intro = line.trim();
            }
            continue;
        }
        // What was waited for in front of it does not come behind it.
        parts.plain.push('\n');
        parts.apart.push(FencedPart { text: within.join("\n"), intro: intro.to_owned() });
    }
    parts
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn is_content(line: &str, names: &FileNames<'_>) -> bool {
    line.starts_with(['{', '[']) || lines::named(line, names).is_some()
}

/// What stands in a fence that has one line with both of its ends.
fn fenced_line(line: &str) -> Option<&str> {
    let content = line.trim().strip_prefix("```")?.strip_suffix("```")?;
    let content = content.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim();
    (content.starts_with(['{', '[']) && !content.contains("```")).then_some(content)
}

/// Whether a line says that what follows are the words of a file: `The comment in it reads:`, `It has this line:`.
pub(super) fn attributes(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    let Some(line) = line.strip_suffix([':', '：']) else { return false };
    let words = nothing::words(line);
    let is_one_of = |word: &String, known: &[&str]| known.contains(&word.as_str());
    let Some(last) = words.last() else { return false };
    if words.iter().any(|word| is_one_of(word, &OWN)) {
        return false;
    }
    is_one_of(last, &SAYS)
        || is_one_of(last, &QUOTED) && words.iter().any(|word| is_one_of(word, &SAYS))
        || words.iter().any(|word| is_one_of(word, &SPEAKS))
            && words.last().is_some_and(|word| word == "this")
}

/// Whether words behind a path tell what the file says.
pub(super) fn speaks(words: &str) -> bool {
    nothing::words(words).first().is_some_and(|word| SPEAKS.contains(&word.as_str()))
}
