//! Earlier questions and their answers, which a later question can follow.

use std::fmt::Write as _;
use std::hash::Hasher as _;

use forage_base::Hash64;
use forage_fs::{Contents, ReadBuffer};
use forage_redact::{Redacted, Redactor};
use forage_tools::{Workspace, clip, sanitize, sanitize_line};
use serde::{Deserialize, Serialize};

use super::limits::{
    EARLIER_BYTES, EXCHANGE_ANSWER_BYTES, EXCHANGE_CALLS, EXCHANGE_FILE_BYTES, EXCHANGE_FILES,
};
use super::result_redactor::ResultRedactor;
use super::transcript::{Transcript, shown};

/// A question and its answer, redacted, in the form that the next question's model gets. It contains only the
/// first lines of tool results: a model that needs more should read the files again in their current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierExchange {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
    /// The models that answered.
    pub models: Vec<String>,
    /// The calls that were made, each with the first line of its result.
    pub calls: Vec<String>,
    /// The files that the answer cites.
    pub files: Vec<CitedFile>,
}

/// A file that an answer cites, in its state at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedFile {
    /// The path as the answer spells it.
    pub path: String,
    /// Hash of the contents.
    pub hash: u64,
}

/// The current state of a cited file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Same,
    Changed,
    Gone,
}

impl Transcript {
    /// Creates the exchange that a later question can follow. Returns `None` if there is no answer. We must
    /// always redact secrets here, whatever the workspace's redactor does. A user who lets a model read secrets
    /// has not asked for copies on disk.
    pub fn exchange(&self, workspace: &Workspace) -> Option<EarlierExchange> {
        let redactor = Redactor::standard();
        let plain = |text: &str| redactor.redact(text).as_str().to_owned();
        let answer = self.answer.as_deref()?;
        let calls = self.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.run);
        let call = |call: &super::ToolCallRecord| {
            let result = call.error.as_deref().unwrap_or(&call.head);
            plain(&format!("{} {}: {}", call.tool, shown(&call.arguments.to_string()), shown(result)))
        };
        let mut files: Vec<CitedFile> = Vec::new();
        for citation in self.citations.iter().filter(|citation| citation.wrong.is_none()) {
            if files.len() >= EXCHANGE_FILES || files.iter().any(|file| file.path == citation.path) {
                continue;
            }
            files.extend(
                hash_of(&citation.path, workspace)
                    .map(|hash| CitedFile { path: citation.path.clone(), hash }),
            );
        }
        Some(EarlierExchange {
            question: plain(&self.question),
            answer: clip(&plain(answer), EXCHANGE_ANSWER_BYTES),
            models: self.models.clone(),
            calls: calls.take(EXCHANGE_CALLS).map(call).collect(),
            files,
        })
    }
}

/// Computes a hash of a file's contents. Returns `None` if the file can't be read. This opens it within the
/// roots and under the same rules as any other read.
fn hash_of(path: &str, workspace: &Workspace) -> Option<u64> {
    let (root, path) = workspace.roots.find(path.strip_prefix("./").unwrap_or(path)).ok()?;
    let mut file = root.open_file(&path).ok()?;
    let mut bytes = ReadBuffer::default();
    let contents = file.read_into(&mut bytes, EXCHANGE_FILE_BYTES).ok()?;
    bytes.truncate(EXCHANGE_FILE_BYTES);
    let mut hasher = Hash64::default();
    hasher.write(&bytes);
    // We identify a longer file by its beginning and its size.
    hasher.write_u64(if matches!(contents, Contents::Whole) { 0 } else { file.size() });
    Some(hasher.finish())
}

fn state(file: &CitedFile, workspace: &Workspace) -> State {
    match hash_of(&file.path, workspace) {
        Some(hash) if hash == file.hash => State::Same,
        Some(_) => State::Changed,
        None => State::Gone,
    }
}

/// Describes the earlier questions for the model, as many of the newest as fit. We fence each one as data:
/// its answer is a model's statement about files.
pub(super) fn render(
    earlier: &[EarlierExchange],
    workspace: &Workspace,
    redactor: &mut ResultRedactor,
) -> Redacted {
    let mut reported = Redacted::default();
    let mut room = EARLIER_BYTES;
    let mut parts = Vec::new();
    for exchange in earlier.iter().rev() {
        let (mut text, not_same) = describe(exchange, workspace);
        if text.len() > room {
            // The newest exchange must always be included, cut if necessary: the question follows it
            // directly.
            if !parts.is_empty() {
                break;
            }
            text = format!("{}\n[the rest is left out]\n", clip(&text, room));
            room = text.len();
        }
        room -= text.len();
        parts.push((text, not_same));
    }
    if parts.is_empty() {
        return reported;
    }
    let left_out = earlier.len() - parts.len();
    reported.push(&redactor.plain("\nThe question continues earlier ones about the same root.\n"));
    if left_out > 0 {
        reported
            .push(&redactor.remark(&format!("the {left_out} oldest of the earlier questions are left out")));
    }
    for (number, (text, not_same)) in parts.into_iter().rev().enumerate() {
        reported.push(
            &redactor.data(&format!("Earlier question {} and its answer:", left_out + number + 1), &text),
        );
        if not_same > 0 {
            let verb = if not_same == 1 { "has" } else { "have" };
            reported.push(&redactor.remark(&format!(
                "{not_same} of the files that this answer cites {verb} changed or been removed since: read them again before \
                 you rely on it"
            )));
        }
    }
    reported
}

/// Describes an exchange, and counts those of its files that have changed or are gone.
fn describe(exchange: &EarlierExchange, workspace: &Workspace) -> (String, usize) {
    let EarlierExchange { question, answer, models, calls, files } = exchange;
    let mut text = format!(
        "Question: {}\n\nAnswer ({}):\n{}\n",
        sanitize(question),
        models.join(", "),
        sanitize(answer)
    );
    if !calls.is_empty() {
        text.push_str("\nCalls that were made for it:\n");
    }
    for call in calls {
        let _ = writeln!(text, "- {}", sanitize_line(call));
    }
    if !files.is_empty() {
        text.push_str("\nFiles that it cites:\n");
    }
    let mut not_same = 0;
    for file in files {
        let state = state(file, workspace);
        not_same += usize::from(state != State::Same);
        let word = match state {
            State::Same => "unchanged",
            State::Changed => "CHANGED since",
            State::Gone => "GONE or unreadable",
        };
        let _ = writeln!(text, "- {}: {word}", sanitize_line(&file.path));
    }
    (text, not_same)
}
