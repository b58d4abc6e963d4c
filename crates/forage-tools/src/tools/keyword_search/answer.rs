//! Parses a model's answer and determines which of the files it keeps.
//!
//! We support two formats: JSON, as in the schema that we send ([`super::json`]), and a plain list, as in the
//! requirement's prompt ([`super::list`]). We don't interpret the words of any other text. An answer counts
//! only if it is the only one in its text. If there are two different answers, or none, we don't guess, and
//! the model counts as failed. If the text around an answer names other files, we report these, so that none
//! is lost silently.
//!
//! Note that `tests/data/answers` has an answer in the style of each model family, with the source for its
//! habits.

use forage_fs::display_message;
use forage_llm::reasoning::{Thought, without_reasoning};
use schemars::JsonSchema;
use serde::Serialize;

use super::names::FileNames;
use super::{json, list};
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::clip;

/// A file that the model kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SelectedFile {
    /// Index among the files of the evidence.
    pub(super) file: usize,
    /// The explanation as one line.
    pub(super) explanation: String,
    /// The relevance, 1 to 3. Only in an answer by ids.
    pub(super) grade: Option<u8>,
    /// Lines that the model points at. Only in an answer by ids.
    pub(super) ranges: Vec<LineRange>,
}

/// Lines that a model names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LineRange {
    /// From 1.
    pub first: u64,
    /// The last line of them.
    pub last: u64,
    /// True if the model has seen these lines.
    pub shown: bool,
}

/// An answer in the model's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedAnswer {
    pub(super) kept: Vec<SelectedFile>,
    /// Files that the text around the answer names, but not the answer itself.
    pub(super) mentioned: Vec<usize>,
    /// Lines or entries that name a file which is not in the evidence, or that repeat the text of a file.
    pub(super) dropped: usize,
    /// True if the answer was truncated.
    pub(super) cut: bool,
}

/// The part of a text that a parser understands, and the rest.
#[derive(Debug, Default)]
pub(super) struct PartialParse {
    /// The files of the answer; `None` if there is none.
    pub(super) kept: Option<Vec<SelectedFile>>,
    /// See [`ParsedAnswer`].
    pub(super) dropped: usize,
    /// See [`ParsedAnswer`].
    pub(super) cut: bool,
    /// The lines that are not part of an answer.
    pub(super) prose: String,
}

/// The text has different answers, or words whose meaning would decide.
#[derive(Debug)]
pub(super) struct Ambiguous;

/// The grade of a file to which the model gave none. This is the lowest grade of a relevant file.
const UNGRADED: u8 = 1;

impl SelectedFile {
    /// Creates the entry of a file, with the model's words about this file as one clean line.
    pub(super) fn new(file: usize, words: &str, grade: Option<u8>, names: &FileNames<'_>) -> Self {
        let grade = names.by_id().then_some(grade.unwrap_or(UNGRADED));
        let explanation = clip(&display_message(&sanitize_line(words)), limits::EXPLANATION_BYTES);
        Self { file, explanation, grade, ranges: Vec::new() }
    }
}

/// Parses an answer. Returns `None` if the text is not a valid one.
///
/// A fenced block counts as the answer only if the text around it has none, because models quote files and
/// show code in fences.
pub(super) fn parse(text: &str, names: &FileNames<'_>) -> Option<ParsedAnswer> {
    let (text, is_cut) = strip_reasoning(text);
    let (plain, fences) = fences(text);
    let mut reading = read(&plain, "", names).ok()?;
    let mut prose = reading.prose.clone();
    if reading.kept.is_none() {
        let mut answers = Vec::new();
        for (before, fenced) in &fences {
            let fenced = read(fenced, &plain[..*before], names).ok()?;
            reading.dropped += fenced.dropped;
            prose.push_str(&fenced.prose);
            answers.extend(fenced.kept.map(|kept| (kept, fenced.cut)));
        }
        // Several blocks may be different answers, so we use none of them.
        let [_] = answers[..] else { return None };
        (reading.kept, reading.cut) = answers.pop().map(|(kept, cut)| (Some(kept), cut))?;
    } else {
        fences.iter().for_each(|(_, fenced)| prose.push_str(fenced));
    }
    let mut kept: Vec<SelectedFile> = Vec::new();
    for file in reading.kept? {
        // The first mention is the most relevant one.
        if kept.iter().all(|known| known.file != file.file) {
            kept.push(file);
        }
    }
    // A list contradicts the sentence that no files are relevant.
    if !kept.is_empty() && reading.prose.to_lowercase().contains(list::NOTHING) {
        return None;
    }
    let mut mentioned = names.mentioned(&prose);
    mentioned.retain(|file| kept.iter().all(|kept| kept.file != *file));
    Some(ParsedAnswer { kept, mentioned, dropped: reading.dropped, cut: reading.cut || is_cut })
}

/// Parses the only answer in a text that follows `before`.
fn read(text: &str, before: &str, names: &FileNames<'_>) -> Result<PartialParse, Ambiguous> {
    let (json, rest) = json::read(text, names)?;
    let list = list::read(&rest, before, names)?;
    match (&json.kept, &list.kept) {
        (Some(_), Some(_)) => Err(Ambiguous),
        (Some(_), None) => Ok(PartialParse { prose: list.prose, ..json }),
        (None, _) => Ok(list),
    }
}

/// Separates the fenced blocks of a text from the rest. Each block comes with the length of the rest before
/// it.
fn fences(text: &str) -> (String, Vec<(usize, String)>) {
    let (mut plain, mut fences) = (String::with_capacity(text.len()), Vec::<(usize, String)>::new());
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        let one_line = line.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
        if let Some(inner) = one_line.filter(|inner| !is_open && !inner.is_empty()) {
            fences.push((plain.len(), inner.to_owned()));
        } else if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_open = !is_open;
            if is_open {
                fences.push((plain.len(), String::new()));
            }
        } else {
            let fence = fences.last_mut().filter(|_| is_open).map(|(_, fence)| fence);
            fence.unwrap_or(&mut plain).push_str(line);
        }
    }
    (plain, fences)
}

/// Strips the model's reasoning from a text. If reasoning follows the answer, we cut the text there and
/// return true. Servers do this themselves if they know the model.
fn strip_reasoning(text: &str) -> (&str, bool) {
    let text = without_reasoning(final_channel(text.trim()));
    let lines = text.split_inclusive('\n').take_while(|line| Thought::at_start(line).is_none());
    let length: usize = lines.map(str::len).sum();
    (text[..length].trim_end(), length < text.len())
}

/// The start of a message in the channel for the answer.
const FINAL: &str = "<|channel|>final";

/// Extracts the message for the user if the model uses channels: its text must begin with one. A quotation of
/// a message in another channel won't match, because it does not begin where a message can.
fn final_channel(text: &str) -> &str {
    // This is the same text after a server has removed the channel markers.
    if let Some(rest) = text.strip_prefix("analysis")
        && let Some((_, answer)) = rest.split_once("assistantfinal")
    {
        return answer;
    }
    if !text.starts_with("<|channel|>") && !text.starts_with("<|start|>") {
        return text;
    }
    let begins = |at: usize| {
        let before = text[..at].trim_end();
        before.is_empty() || before.ends_with("<|start|>assistant") || before.ends_with("<|end|>")
    };
    let at = text.match_indices(FINAL).map(|(at, _)| at).find(|&at| begins(at));
    at.and_then(|at| text[at..].split_once("<|message|>")).map_or("", |(_, answer)| answer.trim())
}

#[cfg(test)]
mod tests;
