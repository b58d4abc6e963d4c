//! The only place that prints. stdout is data, stderr is everything else.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

use clap::ColorChoice;
use forage_tools::records::ErrorRecord;
use forage_tools::{Answer, ErrorCode, sanitize};
use serde::Serialize;
use serde_json::{Value, json};

use super::Status;
use super::manner;
use super::paint::Painter;
use super::told::{code, sentences};

/// Where answers and errors go.
///
/// A program that asked for JSON reads one document whatever happens, or lines that each have a `type`. So documents are
/// held until the command has ended, and an error is a field of what there is, `error`, or a document of its own.
pub(crate) struct Terminal {
    stdout: BufWriter<Stdout>,
    json: bool,
    explain: bool,
    /// Colours and links of answers.
    pub(crate) painter: Painter,
    quiet: bool,
    /// Documents that are not written yet.
    documents: Vec<Value>,
    /// The command answers for several things, so that its document has a list of answers, however many there are.
    answers_several: bool,
}

impl Terminal {
    pub(crate) fn new(json: bool, explain: bool) -> Self {
        Self {
            stdout: BufWriter::with_capacity(64 << 10, io::stdout()),
            json,
            explain,
            painter: Painter::of_errors(ColorChoice::Auto),
            quiet: false,
            documents: Vec::new(),
            answers_several: false,
        }
    }

    /// Tells of nothing but errors.
    pub(crate) fn be_quiet(&mut self) {
        self.quiet = true;
    }

    /// An answer for a person.
    pub(crate) fn answer(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let painted = self.painter.has_colors.then(|| self.painter.answer(&answer.text, answer.records()));
        self.text(painted.as_ref().unwrap_or(&answer.text))?;
        self.flush()
    }

    /// Whether to say how an answer was found.
    pub(crate) fn wants_explanation(&self) -> bool {
        self.explain
    }

    /// Whether records were asked for.
    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }

    /// Text for stdout, as it is. False when nobody reads any more.
    pub(crate) fn text(&mut self, text: &str) -> anyhow::Result<bool> {
        Self::unless_closed(self.stdout.write_all(text.as_bytes()))
    }

    /// Bytes for stdout, as they are. False when nobody reads any more.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<bool> {
        Self::unless_closed(self.stdout.write_all(bytes))
    }

    /// Text for a reader that wants it as soon as it is there. False when nobody reads any more.
    pub(crate) fn text_now(&mut self, text: &str) -> anyhow::Result<bool> {
        Ok(self.text(text)? && Self::unless_closed(self.stdout.flush())?)
    }

    /// A text for another program, in a document where JSON was asked for.
    pub(crate) fn page(&mut self, text: &str) -> anyhow::Result<Status> {
        if self.json {
            self.value(&json!({ "text": text }))?
        } else {
            self.text(text)?;
            self.flush()?;
        }
        Ok(Status::Found)
    }

    /// A value as JSON: indented for a person, and where JSON was asked for in one line, when the command has ended.
    pub(crate) fn value(&mut self, value: &Value) -> anyhow::Result<()> {
        if self.json {
            self.documents.push(value.clone());
            return Ok(());
        }
        self.text(&format!("{value:#}\n"))?;
        self.flush()
    }

    /// The same of a record.
    pub(crate) fn record(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        self.value(&serde_json::to_value(record)?)
    }

    /// A record where JSON was asked for, else its text.
    pub(crate) fn record_or_text(&mut self, record: &impl Serialize, text: &str) -> anyhow::Result<()> {
        if self.json {
            self.record(record)?
        } else {
            self.text(text)?;
        }
        self.flush()
    }

    /// The document of this command is a list of answers, `answers`, one for each of several things.
    pub(crate) fn answer_several(&mut self) {
        self.answers_several = true;
    }

    /// Writes what was held back, with the error that the command ended with.
    ///
    /// # Errors
    /// What was held back can't be written, which is told already.
    pub(crate) fn end(&mut self, error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let text = error.map(|error| {
            // The text of wrong arguments has its cause already.
            let causes = if error.is::<clap::Error>() { 1 } else { usize::MAX };
            let text =
                sentences(error.chain().take(causes).map(ToString::to_string)) + &manner::advice(error);
            // That of wrong arguments begins as it is told anyhow, and ends with a line break.
            text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
        });
        if let Some(text) = &text {
            self.tell(text);
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
        written.inspect_err(|error| self.tell(&format!("{error:#}")))
    }

    /// Hands over what was written.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        Self::unless_closed(self.stdout.flush()).map(|_| ())
    }

    /// A remark for people, on stderr.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            remark(text);
        }
    }

    /// An error that the answer has, too: on stderr, and in the document that was given last.
    pub(crate) fn failure(&mut self, text: &str, code: ErrorCode) {
        if let Some(Value::Object(fields)) = self.documents.last_mut() {
            fields.entry("error").or_insert(json!(text));
            fields.entry("code").or_insert(json!(code));
        }
        self.tell(text);
    }

    /// An error that doesn't end the command, on stderr.
    pub(crate) fn tell(&mut self, text: &str) {
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr(), "forage: {} {}", self.painter.error(), sanitize(text));
    }

    /// A reader that went away (`forage … | head`) is no error.
    fn unless_closed(result: io::Result<()>) -> anyhow::Result<bool> {
        match result {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A remark on stderr, for a command that has handed its terminal on.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "forage: {}", sanitize(text));
}

/// What stdout gets of several documents and an error with its code.
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
        // A list, or a second document, has no place for an error.
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
