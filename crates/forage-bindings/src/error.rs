//! Errors for other languages: a code, a message and a hint.

use std::fmt;

use forage_agent::AskError;
use forage_tools::records::schema_of;
use forage_tools::{ErrorCode, ToolError, ToolNames, sanitize};
use serde::Serialize;
use serde_json::Value;

/// An error that packages report for a failed call.
#[derive(Clone, Debug)]
pub struct BindingError {
    /// Stable code for programs.
    pub code: ErrorCode,
    /// Message of one sentence.
    pub message: String,
    /// The next step, unless the message names it.
    pub hint: Option<String>,
    /// A longer text for the model that wrote the call.
    pub refusal: Option<String>,
    /// The transcript of a question that got no answer.
    pub transcript: Option<Box<Value>>,
}

impl BindingError {
    pub(crate) fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self { code, message: sanitize(&message.to_string()), hint: None, refusal: None, transcript: None }
    }

    pub(crate) fn from_tool_error(error: &ToolError, names: &ToolNames) -> Self {
        let hint = names.hint(error.hint()).trim_start_matches(['.', ';', ' ']).to_owned();
        Self { hint: (!hint.is_empty()).then_some(hint), ..Self::new(error.code(), error) }
    }

    /// Creates the error of a call that panicked.
    pub fn panicked() -> Self {
        Self::new(ErrorCode::Internal, "the call panicked, which is a fault of Forage; please report it")
    }

    /// Creates the error of a call for which no thread can be started.
    pub(crate) fn no_thread(error: &std::io::Error) -> Self {
        Self::new(ErrorCode::Failed, format_args!("can't start a thread for the call: {error}"))
    }

    /// Creates the error of a request that can't be parsed, e.g. invalid JSON from a model.
    pub fn unreadable(what: &str) -> Self {
        Self::new(ErrorCode::Request, what)
    }

    /// Creates the error of reading a stream that was closed before its end.
    pub(crate) fn closed_early() -> Self {
        Self::new(ErrorCode::Cancelled, "the search was cancelled before all results were returned")
    }

    /// Creates the error of a call in a process that was forked after the workspace was opened.
    pub(crate) fn forked() -> Self {
        Self::new(
            ErrorCode::Failed,
            "this process was forked after the workspace was opened; open the workspace again in this process",
        )
    }

    /// Returns the text for the model that wrote the call.
    pub fn text(&self) -> String {
        self.refusal.clone().unwrap_or_else(|| self.to_string())
    }

    /// Serializes the code, for example as `pattern`.
    pub fn code_name(&self) -> String {
        serde_json::to_value(self.code)
            .ok()
            .and_then(|code| code.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

impl fmt::Display for BindingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for BindingError {}

impl From<AskError> for BindingError {
    fn from(error: AskError) -> Self {
        let code = match error {
            AskError::NoModel => ErrorCode::NoModel,
            AskError::NoQuestion | AskError::LongQuestion { .. } => ErrorCode::Argument,
        };
        Self::new(code, error)
    }
}

/// An error class. Packages must define one for each code.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorClass {
    /// Serialized name of the code.
    pub code: String,
    /// Name of the class.
    pub name: String,
    /// Description of the code.
    pub description: String,
}

/// Lists the class of each code. We read them from the schema, so a new code can't be forgotten here.
pub fn error_classes() -> Vec<ErrorClass> {
    let schema = schema_of::<ErrorCode>();
    let codes = schema["oneOf"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let class = |code: &Value| ErrorClass {
        code: text(&code["const"]),
        name: class_name(&text(&code["const"])),
        description: text(&code["description"]),
    };
    codes.map(class).collect()
}

/// Converts a code to the name of its class, e.g. `no_model` to `NoModelError`.
fn class_name(code: &str) -> String {
    if code == "index" {
        // Python has a built-in class `IndexError`, which we must not shadow.
        return "SearchIndexError".to_owned();
    }
    let capitalized = |word: &str| {
        let (initial, rest) = word.split_at(word.len().min(1));
        initial.to_uppercase() + rest
    };
    code.split('_').map(capitalized).collect::<String>() + "Error"
}
