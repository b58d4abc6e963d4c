//! `count_words`, a tool that a test adds to the registry. No build of the product contains it.
#![expect(unreachable_pub, reason = "the product would re-export its types")]

use forage_fs::Root;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::output_redactor::OutputRedactor;
use crate::error::ToolError;
use crate::file_text::whole_text;
use crate::head::Counts;
use crate::notes::{notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::shown::Rendered;
use crate::tool::{Tool, ToolSpec};

/// A tool that counts words.
pub struct CountWords;

/// Arguments of `count_words`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRequest {
    /// The file.
    pub path: String,
    /// Panics in place of an answer.
    pub panics: Option<bool>,
}

/// The answer of `count_words`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct CountResponse {
    /// The file.
    pub path: String,
    /// Its words.
    pub words: u64,
}

impl Tool for CountWords {
    const NAME: &'static str = "count_words";
    type Request = CountRequest;
    type Response = CountResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "count".into(),
            ..ToolSpec::new(Self::NAME, "Count words", include_str!("count_words.md").trim_ascii_end())
        }
    }

    fn run(call: &Call, request: CountRequest) -> Result<ToolOutcome<CountResponse>, ToolError> {
        assert!(request.panics != Some(true), "requested by the test");
        let target = call.place(Some(&request.path))?.without_globs(&call.workspace.names)?;
        let (text, ..) = whole_text(&target.root, &target.path, &call.stop)?;
        let words = text.split_whitespace().count() as u64;
        Ok(ToolOutcome::new(CountResponse { path: request.path, words }, words > 0))
    }
}

impl Render for CountResponse {
    fn redact(&mut self, _border: &mut OutputRedactor<'_>) {}

    fn name_whole_paths(&mut self, _root: &Root) {}

    fn counts(&self) -> Counts<'_> {
        Counts::plain(self.words, "words", 1)
    }

    fn render(outcome: &ToolOutcome<Self>, _budget: usize) -> Rendered {
        let CountResponse { path, words } = &outcome.response;
        Rendered::without_files(
            with_notes(format!("{path} has {words} words."), &notes(outcome, None)),
            false,
        )
    }
}
