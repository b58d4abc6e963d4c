//! Prints data to stdout, and notes and errors to stderr. No other module should write to stdout.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

use clap::ColorChoice;
use forage_tools::records::ErrorRecord;
use forage_tools::{Answer, ErrorCode, sanitize};
use serde::Serialize;
use serde_json::{Value, json};

use super::Status;
use super::paint::Painter;
use super::phrasing;
use super::user_error::{code, sentences};

/// Where answers and errors go.
///
/// With `--json`, a program must always be able to read either one document, or lines with a `type` each. So
/// we hold documents back until the command has ended. An error is then the field `error` of the document, or
/// a document of its own.
pub(crate) struct Terminal {
    stdout: BufWriter<Stdout>,
    json: bool,
    explain: bool,
    /// Adds colours and links to answers.
    pub(crate) painter: Painter,
    quiet: bool,
    /// The documents that are held back.
    documents: Vec<Value>,
    /// True if the command answers about more than one thing. Its document then contains a list of answers,
    /// even if there is only one.
    answers_several: bool,
}

impl Terminal {
    pub(crate) fn new(json: bool, explain: bool) -> Self {
        Self {
            stdout: BufWriter::with_capacity(64 << 10, io::stdout()),
            json,
            explain,
            painter: Painter::for_errors(ColorChoice::Auto),
            quiet: false,
            documents: Vec::new(),
            answers_several: false,
        }
    }

    /// Disables notes, but not errors.
    pub(crate) fn set_quiet(&mut self) {
        self.quiet = true;
    }

    /// Prints an answer as text.
    pub(crate) fn answer(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let painted = self.painter.has_colors.then(|| self.painter.answer(&answer.text, answer.records()));
        self.text(painted.as_ref().unwrap_or(&answer.text))?;
        self.flush()
    }

    /// Returns true if the user asked how answers were found.
    pub(crate) fn wants_explanation(&self) -> bool {
        self.explain
    }

    /// Returns true if the user asked for JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }

    /// Writes text to stdout unchanged. Returns false if the reader has closed it.
    pub(crate) fn text(&mut self, text: &str) -> anyhow::Result<bool> {
        Self::unless_closed(self.stdout.write_all(text.as_bytes()))
    }

    /// Writes bytes to stdout unchanged. Returns false if the reader has closed it.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<bool> {
        Self::unless_closed(self.stdout.write_all(bytes))
    }

    /// Writes text and flushes it. Returns false if the reader has closed stdout.
    pub(crate) fn text_now(&mut self, text: &str) -> anyhow::Result<bool> {
        Ok(self.text(text)? && Self::unless_closed(self.stdout.flush())?)
    }

    /// Prints text for another program. With `--json`, this is a document that contains the text.
    pub(crate) fn page(&mut self, text: &str) -> anyhow::Result<Status> {
        if self.json {
            self.value(&json!({ "text": text }))?
        } else {
            self.text(text)?;
            self.flush()?;
        }
        Ok(Status::Found)
    }

    /// Prints a value as JSON. This is indented for a person. With `--json`, it is a single line that is
    /// printed when the command ends.
    pub(crate) fn value(&mut self, value: &Value) -> anyhow::Result<()> {
        if self.json {
            self.documents.push(value.clone());
            return Ok(());
        }
        self.text(&format!("{value:#}\n"))?;
        self.flush()
    }

    /// Prints a record, in the same way as [`Self::value`].
    pub(crate) fn record(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        self.value(&serde_json::to_value(record)?)
    }

    /// With `--json`, prints a record, otherwise its text.
    pub(crate) fn record_or_text(&mut self, record: &impl Serialize, text: &str) -> anyhow::Result<()> {
        if self.json {
            self.record(record)?
        } else {
            self.text(text)?;
        }
        self.flush()
    }

    /// Makes the document of this command a list of `answers`, even if there turns out to be only one.
    pub(crate) fn answer_several(&mut self) {
        self.answers_several = true;
    }

    /// Writes the documents that were held back, together with the error of the command.
    ///
    /// # Errors
    ///
    /// Returns an error if the documents can't be written. In that case, this has already been reported.
    pub(crate) fn end(&mut self, error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let text = error.map(|error| {
            // For wrong arguments, the text already contains its cause.
            let causes = if error.is::<clap::Error>() { 1 } else { usize::MAX };
            let text =
                sentences(error.chain().take(causes).map(ToString::to_string)) + &phrasing::advice(error);
            // Note that clap's message has its own `error: ` prefix and ends with a line break.
            text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
        });
        if let Some(text) = &text {
            self.report_error(text);
        }
        let failure = text.as_deref().zip(error.map(code));
        let documents = std::mem::take(&mut self.documents);
        let Some(document) = one_document(documents, self.answers_several, failure) else {
            return Ok(());
        };
        if !self.json {
            return Ok(());
        }
        let written = self.text(&format!("{document}\n")).and_then(|_| self.flush());
        written.inspect_err(|error| self.report_error(&format!("{error:#}")))
    }

    /// Flushes stdout.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        Self::unless_closed(self.stdout.flush()).map(|_| ())
    }

    /// Prints a note on stderr, unless the user wants none.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            remark(text);
        }
    }

    /// Reports an error that is part of the answer, both on stderr and in the last document.
    pub(crate) fn failure(&mut self, text: &str, code: ErrorCode) {
        if let Some(Value::Object(fields)) = self.documents.last_mut() {
            fields.entry("error").or_insert(json!(text));
            fields.entry("code").or_insert(json!(code));
        }
        self.report_error(text);
    }

    /// Reports an error on stderr. This does not end the command.
    pub(crate) fn report_error(&mut self, text: &str) {
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr(), "forage: {} {}", self.painter.error(), sanitize(text));
    }

    /// Treats a closed reader as success, as in `forage … | head`. Returns false in that case.
    fn unless_closed(result: io::Result<()>) -> anyhow::Result<bool> {
        match result {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Prints a note on stderr, for code that has no access to the [`Terminal`].
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "forage: {}", sanitize(text));
}

/// Combines all documents, and the error with its code, into one document for stdout.
fn one_document(
    mut documents: Vec<Value>,
    answers_several: bool,
    error: Option<(&str, ErrorCode)>,
) -> Option<Value> {
    let mut document = match documents.pop() {
        last if answers_several => {
            documents.extend(last);
            json!({ "answers": documents })
        }
        // We wrap documents if there are two or more, or if the only one is an array, which has no place for
        // an error.
        Some(only) if documents.is_empty() && (only.is_object() || error.is_none()) => only,
        Some(last) => {
            documents.push(last);
            json!({ "answers": documents })
        }
        None => return error.map(|(error, code)| json!(ErrorRecord::new(error, code))),
    };
    if let (Some((error, code)), Some(fields)) = (error, document.as_object_mut()) {
        fields.insert("error".to_owned(), json!(error));
        fields.insert("code".to_owned(), json!(code));
    }
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_command_gives_stdout_has_one_document() {
        let (a, b, list) = (json!({ "a": 1 }), json!({ "b": 2 }), json!([1]));
        let cases = [
            (vec![], false, None, None),
            (
                vec![],
                false,
                Some(("no", ErrorCode::Path)),
                Some(json!({ "type": "error", "error": "no", "code": "path" })),
            ),
            (
                vec![],
                true,
                Some(("no", ErrorCode::Path)),
                Some(json!({ "answers": [], "error": "no", "code": "path" })),
            ),
            (vec![a.clone()], false, None, Some(a.clone())),
            (
                vec![a.clone()],
                false,
                Some(("no", ErrorCode::Path)),
                Some(json!({ "a": 1, "error": "no", "code": "path" })),
            ),
            (
                vec![a.clone()],
                true,
                Some(("no", ErrorCode::Path)),
                Some(json!({ "answers": [a], "error": "no", "code": "path" })),
            ),
            (vec![list.clone()], false, None, Some(list.clone())),
            (
                vec![list.clone()],
                false,
                Some(("no", ErrorCode::Path)),
                Some(json!({ "answers": [list], "error": "no", "code": "path" })),
            ),
            (vec![a.clone(), b.clone()], true, None, Some(json!({ "answers": [a, b] }))),
        ];
        for (documents, several, error, expected) in cases {
            assert_eq!(one_document(documents.clone(), several, error), expected, "{documents:?} {error:?}");
        }
    }
}
