//! The only place that prints. stdout is data, stderr is everything else.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

use forage_tools::sanitize;
use serde_json::{Value, json};

/// Where answers and errors go.
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    json: bool,
    explain: bool,
}

impl Output {
    pub(crate) fn new(json: bool, explain: bool) -> Self {
        Self { stdout: BufWriter::with_capacity(64 << 10, io::stdout()), json, explain }
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

    /// Text for a reader that wants it as soon as it is there. False when nobody reads any more.
    pub(crate) fn text_now(&mut self, text: &str) -> anyhow::Result<bool> {
        Ok(self.text(text)? && Self::unless_closed(self.stdout.flush())?)
    }

    /// A value as indented JSON.
    pub(crate) fn value(&mut self, value: &Value) -> anyhow::Result<()> {
        self.text(&format!("{value:#}\n"))?;
        self.flush()
    }

    /// Ends the output.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        Self::unless_closed(self.stdout.flush()).map(|_| ())
    }

    /// A remark for people, on stderr.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(io::stderr(), "forage: {}", sanitize(text));
    }

    /// An error: on stderr, and as a record on stdout when records were asked for.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let text = format!("{error:#}");
        if self.json {
            // One line, behind records as lines too.
            let _ = self.text(&format!("{}\n", json!({ "error": text })));
        }
        self.failure(&text);
    }

    /// An error on stderr alone, where stdout has told it in its own way.
    pub(crate) fn failure(&mut self, text: &str) {
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr(), "forage: error: {}", sanitize(text));
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
