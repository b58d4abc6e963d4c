//! Words errors so that anyone may read them, e.g. an agent, or the readers of a log or of a report that
//! users share.

use forage_redact::Redactor;
use forage_tools::{ErrorCode, ToolError};

use super::phrasing::advice;
use crate::config::without_value;

/// An error that is already worded for its reader, with its code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct UserError {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
}

/// Joins the messages of an error and its causes. This skips a cause if the text so far already ends with it.
pub(super) fn sentences(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().fold(String::new(), |text, part| match () {
        () if text.is_empty() => part,
        () if text.ends_with(&part) => text,
        () => format!("{text}: {part}"),
    })
}

/// Returns the code of an error, which is the field `code` of the `--json` output.
pub(super) fn code(error: &anyhow::Error) -> ErrorCode {
    let of_tool = error.downcast_ref().map(|worded: &UserError| worded.code);
    let of_tool = of_tool.or_else(|| error.downcast_ref().map(ToolError::code));
    of_tool.unwrap_or(if error.is::<clap::Error>() { ErrorCode::Usage } else { ErrorCode::Failed })
}

/// Words an error, without secrets. For a configuration file, this includes the position but not the quoted
/// lines, which could contain a key.
pub(super) fn error_text(error: &anyhow::Error) -> String {
    let part = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<toml::de::Error>() {
        Some(error) => toml_message(error),
        None => cause.to_string(),
    };
    let text = sentences(error.chain().map(part));
    Redactor::standard().redact(&(text + &advice(error))).as_str().to_owned()
}

fn toml_message(error: &toml::de::Error) -> String {
    let message = without_value(error.message());
    let text = error.to_string();
    // Use only the first line: the others quote the file.
    let place = text.lines().next().and_then(|line| line.strip_prefix("TOML parse error at "));
    match place {
        Some(place) => format!("{place}: {message}"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors of reading it are looked at")]
    struct File {
        number: Option<u64>,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
    }

    #[test]
    fn config_error_names_the_position_without_quoting() {
        let secret = "of-the-user-alone";
        for (text, expected) in [
            (
                format!("# {secret}\nnumber = \"{secret}\"\n"),
                "line 2, column 10: invalid type: string …, expected u64",
            ),
            (format!("kind = \"{secret}\"\n"), "line 1, column 8: unknown value, expected `one`"),
            (format!("numbr = 1 # {secret}\n"), "line 1, column 1: unknown field `numbr`"),
            (format!("number = {secret}\n"), "line 1, column 10: "),
        ] {
            let error = toml::from_str::<File>(&text).unwrap_err();
            assert!(error.to_string().contains(secret), "the control: {error}");
            let worded = error_text(&anyhow::Error::new(error).context("the file f is not valid"));
            assert!(worded.starts_with("the file f is not valid: ") && worded.contains(expected), "{worded}");
            assert!(!worded.contains(secret), "{worded}");
        }
    }
}
