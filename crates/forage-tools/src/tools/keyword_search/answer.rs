//! Reads a model's answer: which of the files that it was shown it keeps.
//!
//! Two forms are read: JSON, as the schema asks for it ([`super::json`]), and a plain list, as the requirement's prompt does
//! ([`super::list`]). The words of any other text are not understood. An answer counts only if it is the one answer of its
//! text; of two that differ, or of none, nothing is guessed, and the model counts as failed. Files that the text around an
//! answer names are reported, so that none is lost silently.
//!
//! `tests/data/answers` has an answer in the style of each family of models, with the source of its habits.

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
    /// Files that the text around the answer names, and the answer does not.
    pub(super) mentioned: Vec<usize>,
    /// Lines or entries that name a file which is not in the evidence, or that repeat what a file says.
    pub(super) dropped: usize,
    /// The answer ended in the middle.
    pub(super) cut: bool,
}

/// The part of a text that one of the readers understands, and the rest.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The files of the answer; `None` without one.
    pub(super) kept: Option<Vec<KeptAnswerFile>>,
    /// As in [`ParsedAnswer`].
    pub(super) dropped: usize,
    /// As in [`ParsedAnswer`].
    pub(super) cut: bool,
    /// The lines that are part of no answer.
    pub(super) prose: String,
}

/// There are answers that differ, or words whose meaning decides about one.
#[derive(Debug)]
pub(super) struct Unclear;

/// The grade of a file that was given none.
const UNGRADED: u8 = 1;

impl KeptAnswerFile {
    /// A file with a model's words about it, which become one clean line.
    pub(super) fn new(file: usize, words: &str, grade: Option<u8>, names: &FileNames<'_>) -> Self {
        let grade = names.by_id().then_some(grade.unwrap_or(UNGRADED));
        let explanation = clip(&display_message(&sanitize_line(words)), limits::EXPLANATION_BYTES);
        Self { file, explanation, grade, ranges: Vec::new() }
    }
}

/// Reads an answer; `None` for a text that can't be read as one.
///
/// A fence holds the answer only where the text around it has none: models quote files and show code in fences.
pub(super) fn parse(text: &str, names: &FileNames<'_>) -> Option<ParsedAnswer> {
    let (text, is_cut) = spoken(text);
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
        let [_] = answers[..] else { return None };
        (reading.kept, reading.cut) = answers.pop().map(|(kept, cut)| (Some(kept), cut))?;
    } else {
        fences.iter().for_each(|(_, fenced)| prose.push_str(fenced));
    }
    let mut kept: Vec<KeptAnswerFile> = Vec::new();
    for file in reading.kept? {
        // The first mention is the most relevant one.
        if kept.iter().all(|known| known.file != file.file) {
            kept.push(file);
        }
    }
    // A list and the sentence that there is none contradict each other.
    if !kept.is_empty() && reading.prose.to_lowercase().contains(list::NOTHING) {
        return None;
    }
    let mut mentioned = names.mentioned(&prose);
    mentioned.retain(|file| kept.iter().all(|kept| kept.file != *file));
    Some(ParsedAnswer { kept, mentioned, dropped: reading.dropped, cut: reading.cut || is_cut })
}

/// Reads the one answer of a text that follows `before`.
fn read(text: &str, before: &str, names: &FileNames<'_>) -> Result<Reading, Unclear> {
    let (json, rest) = json::read(text, names)?;
    let list = list::read(&rest, before, names)?;
    match (&json.kept, &list.kept) {
        (Some(_), Some(_)) => Err(Unclear),
        (Some(_), None) => Ok(Reading { prose: list.prose, ..json }),
        (None, _) => Ok(list),
    }
}

/// A text without its fences, and each fence with the length of the text before it.
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

/// A text without what the model thinks aloud, and whether such reasoning follows the answer: that ends the text. Servers
/// take it out where they know the model.
fn spoken(text: &str) -> (&str, bool) {
    let text = without_reasoning(final_channel(text.trim()));
    let lines = text.split_inclusive('\n').take_while(|line| Thought::at_start(line).is_none());
    let length: usize = lines.map(str::len).sum();
    (text[..length].trim_end(), length < text.len())
}

/// Beginning of a message in the channel for the answer.
const FINAL: &str = "<|channel|>final";

/// The message for the user where a model speaks in channels, as its text begins with one. What another channel quotes of a
/// message does not stand where one begins.
fn final_channel(text: &str) -> &str {
    // The same with its marks swallowed.
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
