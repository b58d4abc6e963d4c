//! The record of a conversation, for programs and for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use forage_fs::display_foreign_path;
use forage_llm::Usage;
use forage_tools::{AnswerHead, Workspace, sanitize, sanitize_line};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::budget::LastTurn;
use super::citation::Citation;
use super::limits::SHOWN_BYTES;

/// How a conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// The model returned an empty answer twice.
    NoAnswer,
    /// The model refused to answer.
    Refused,
    /// All models failed.
    ModelsFailed,
    /// The total time was up.
    Time,
    /// The caller cancelled it.
    Interrupted,
}

/// One question and its answer. Control characters are removed from the texts of models and files, except in the
/// arguments of calls.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Transcript {
    /// The question.
    pub question: String,
    /// The root of relative paths.
    pub root: String,
    /// Models that answered, as `provider/model`, in order.
    pub models: Vec<String>,
    /// The turns of the model.
    pub turns: Vec<Turn>,
    /// The answer, with a mark after each wrong citation.
    pub answer: Option<String>,
    /// The beginning of an answer that was interrupted; only if answers are streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// The citations of the answer.
    pub citations: Vec<Citation>,
    /// Number of wrong citations.
    pub wrong_citations: usize,
    /// Number of citations beyond the limit, which were not checked.
    pub unchecked_citations: usize,
    /// How the conversation ended.
    pub stop_reason: TurnEnd,
    /// Why the model had to answer before it chose to; null if it did not have to.
    pub last_turn: Option<LastTurn>,
    /// Problems, including the one that ended the conversation.
    pub warnings: Vec<String>,
    /// Secrets that were removed from the requests, by rule.
    pub redacted: BTreeMap<String, usize>,
    /// Results that were dropped from the conversation to make room.
    pub results_taken_out: usize,
    /// Tokens of all turns and empty answers that report them.
    #[serde(serialize_with = "usage")]
    #[schemars(with = "TokenCounts")]
    pub usage: Usage,
    /// Cost of all turns and empty answers in US dollars; null if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Wall time.
    pub elapsed_ms: u64,
}

/// One turn of the model.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Turn {
    /// The model that answered.
    pub model: String,
    /// The text of the model. In the last turn, this is the answer as the model wrote it.
    pub text: String,
    /// The calls that it requested.
    pub calls: Vec<ToolCallRecord>,
    /// Tokens, if known.
    #[serde(serialize_with = "some_usage")]
    #[schemars(with = "Option<TokenCounts>")]
    pub usage: Option<Usage>,
    /// Cost in US dollars, if known.
    pub cost_usd: Option<f64>,
    /// Wall time of the model.
    pub model_ms: u64,
    /// Wall time of the tools together.
    pub tools_ms: u64,
}

/// One tool call.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ToolCallRecord {
    /// Number in the conversation, counted from 1.
    pub number: usize,
    /// The tool, as the model named it.
    pub tool: String,
    /// The arguments as JSON. If they are not valid JSON, the text that the model wrote.
    pub arguments: Value,
    /// Whether a tool was run.
    pub run: bool,
    /// The number of an identical earlier call whose result was already in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<usize>,
    /// Bytes of the result, without its frame in the conversation.
    pub bytes: usize,
    /// Wall time.
    pub elapsed_ms: u64,
    /// The reason why there is no result.
    pub error: Option<String>,
    /// A summary of the result, and the lines of files that it showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<AnswerHead>>,
    /// The first line of the result.
    #[serde(skip)]
    pub head: String,
}

/// Tokens as the provider counted them.
#[derive(JsonSchema, Serialize)]
struct TokenCounts {
    /// Tokens of the requests, cached ones included.
    input_tokens: u64,
    /// The number of these that the provider had in its cache.
    cached_input_tokens: u64,
    /// Tokens of the answers, reasoning included.
    output_tokens: u64,
}

fn usage<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
    let Usage { input_tokens, cached_input_tokens, output_tokens } = *usage;
    TokenCounts { input_tokens, cached_input_tokens, output_tokens }.serialize(serializer)
}

fn some_usage<S: Serializer>(of: &Option<Usage>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Some(of) => usage(of, serializer),
        None => serializer.serialize_none(),
    }
}

impl Transcript {
    pub(super) fn new(question: &str, workspace: &Workspace) -> Self {
        Self {
            question: question.to_owned(),
            root: workspace.roots.main().path().display().to_string(),
            models: Vec::new(),
            turns: Vec::new(),
            answer: None,
            unfinished: None,
            citations: Vec::new(),
            wrong_citations: 0,
            unchecked_citations: 0,
            stop_reason: TurnEnd::NoAnswer,
            last_turn: None,
            warnings: Vec::new(),
            redacted: BTreeMap::new(),
            results_taken_out: 0,
            usage: Usage::default(),
            cost_usd: None,
            elapsed_ms: 0,
        }
    }

    /// Converts the transcript to JSON.
    ///
    /// # Errors
    ///
    /// This should never fail, because JSON can represent everything in a transcript.
    pub fn records(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    /// Counts the calls that were run.
    pub fn calls_run(&self) -> usize {
        self.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.run).count()
    }

    /// Formats the answer as text for people. Without an answer, this contains the known facts. The notes
    /// come last, and only we write them.
    pub fn text(&self) -> String {
        let mut text = match &self.answer {
            Some(answer) => answer.trim_end().to_owned(),
            None => self.without_answer(&[self.unfinished.as_deref(), self.said_last()]),
        };
        text.push_str("\n\n");
        for note in self.notes() {
            let _ = writeln!(text, "[{}]", sanitize_line(&note));
        }
        text
    }

    /// Formats the text that follows an answer, for readers who have seen the model's text as a stream. It
    /// contains the wrong citations, which the stream does not mark, and the notes. Without an answer, it
    /// contains the reason and the known facts.
    pub fn text_after_answer(&self) -> String {
        let mut text = match &self.answer {
            Some(_) => String::new(),
            None => format!("{}\n\n", self.without_answer(&[self.unfinished.as_deref(), None])),
        };
        for citation in &self.citations {
            if let Some(problem) = &citation.wrong {
                let place = display_foreign_path(&citation.path);
                let _ = if citation.start == citation.end {
                    writeln!(text, "[wrong: {place}:{}: {problem}]", citation.start)
                } else {
                    writeln!(text, "[wrong: {place}:{}-{}: {problem}]", citation.start, citation.end)
                };
            }
        }
        for note in self.notes() {
            let _ = writeln!(text, "[{}]", sanitize_line(&note));
        }
        text
    }

    /// Says in a sentence why there is no answer. Returns `None` if there is one.
    pub fn why_no_answer(&self) -> Option<String> {
        let why = match self.stop_reason {
            TurnEnd::Answered => return None,
            TurnEnd::NoAnswer => "the model gave no answer",
            TurnEnd::Refused => "the model refused to answer",
            TurnEnd::ModelsFailed => "all models failed",
            TurnEnd::Time => "the time limit was reached",
            TurnEnd::Interrupted => "it was interrupted",
        };
        let last = match self.stop_reason {
            TurnEnd::ModelsFailed => self.warnings.last().map(|last| format!(": {last}")).unwrap_or_default(),
            _ => String::new(),
        };
        Some(format!("{why}{last}"))
    }

    /// The model's text from the last turn that had any.
    fn said_last(&self) -> Option<&str> {
        self.turns.iter().rev().map(|turn| turn.text.as_str()).find(|said| !said.is_empty())
    }

    /// Formats the reason why there is no answer, and the known facts. `written` holds the models' unfinished
    /// text and their last text, if any.
    fn without_answer(&self, written: &[Option<&str>; 2]) -> String {
        let mut text = format!("No answer: {}.\n", self.why_no_answer().unwrap_or_default());
        for (title, said) in ["The model's unfinished answer", "The model's last text"].iter().zip(written) {
            if let Some(said) = said {
                let _ = write!(text, "\n{title}:\n\n{}\n", indented(said.trim_end()));
            }
        }
        let calls: Vec<&ToolCallRecord> =
            self.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.run).collect();
        if !calls.is_empty() {
            text.push_str("\nCalls made:\n\n");
        }
        for call in calls {
            let result = call.error.as_deref().unwrap_or(&call.head);
            let _ = writeln!(
                text,
                "  {}. {} {}: {}",
                call.number,
                sanitize_line(&call.tool),
                shown(&call.arguments.to_string()),
                shown(result)
            );
        }
        text.trim_end().to_owned()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.wrong_citations > 0 {
            let (wrong, all) = (self.wrong_citations, self.citations.len());
            notes.push(format!(
                "warning: {wrong} of {all} citations {} wrong and marked as such",
                if wrong == 1 { "is" } else { "are" }
            ));
        }
        if self.unchecked_citations > 0 {
            notes.push(format!("{} more citations were not checked", self.unchecked_citations));
        }
        notes.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        if let Some(why) = self.last_turn {
            notes.push(format!("the model had to answer, because {}", why.reason()));
        }
        let redacted: usize = self.redacted.values().sum();
        if redacted > 0 {
            let secrets = if redacted == 1 { "secret" } else { "secrets" };
            notes.push(format!("{redacted} {secrets} redacted from the requests to the model"));
        }
        if self.results_taken_out > 0 {
            notes.push(format!("old results removed from the conversation: {}", self.results_taken_out));
        }
        notes.push(self.summary());
        notes
    }

    fn summary(&self) -> String {
        let mut text = match self.models.is_empty() {
            true => "no model answered".to_owned(),
            false => self.models.join(", then "),
        };
        let _ = write!(text, ": turns {}, calls {}", self.turns.len(), self.calls_run());
        if self.usage != Usage::default() {
            let Usage { input_tokens, cached_input_tokens, output_tokens } = self.usage;
            let _ = write!(
                text,
                ", {input_tokens} tokens in ({cached_input_tokens} cached), {output_tokens} out"
            );
        }
        if let Some(cost) = self.cost_usd {
            let _ = write!(text, ", ${cost:.4}");
        }
        let _ = write!(text, ", {:.1} s", self.elapsed_ms as f64 / 1_000.0);
        text
    }
}

/// Cuts the first line to a bounded length, and makes it safe for a terminal.
pub(super) fn shown(text: &str) -> String {
    let line = sanitize_line(text.lines().next().unwrap_or_default().trim()).into_owned();
    match line.char_indices().nth(SHOWN_BYTES) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn indented(text: &str) -> String {
    sanitize(text).lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
