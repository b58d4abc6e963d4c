//! `[filter]`: the forms in which `keyword_search` asks its model.

use anyhow::bail;
use forage_tools::{AnswerForm, FilterSettings, limits};

use super::Config;
use super::table::{AnswerWord, Filter};

impl Filter {
    /// Whether what is asked for goes with the other settings.
    pub(super) fn check_answer(&self) -> anyhow::Result<()> {
        self.answer_form().map(drop)
    }

    fn answer_form(&self) -> anyhow::Result<AnswerForm> {
        let (shards, source) = (self.shards.value, self.shards.source());
        match self.answer.value.get() {
            AnswerWord::Ids => Ok(AnswerForm::Ids { shards }),
            AnswerWord::Paths if shards > 1 => bail!(
                "`filter.shards` ({source}): {shards} shards need `filter.answer = \"ids\"`: lists of paths have no \
                 grades by which they could be merged"
            ),
            AnswerWord::Paths => Ok(AnswerForm::Paths),
        }
    }

    /// What is gathered, whoever judges it.
    pub(super) fn set_breadth(&self, settings: &mut FilterSettings) {
        settings.candidates = self.candidates.value.get();
        settings.breadth = self.breadth.value.get();
        settings.term_bytes = self.term_bytes.value;
        settings.evidence_bytes = self.evidence_bytes.value;
        settings.context_lines = self.context_lines.value;
    }

    /// How a model is shown it and answers.
    pub(super) fn set(&self, settings: &mut FilterSettings, config: &Config) -> anyhow::Result<()> {
        settings.evidence = self.evidence.value.get();
        settings.answer = self.answer_form()?;
        settings.evidence_tokens = self.evidence_tokens.value;
        settings.prompt =
            config.prompt("filter.prompt_file", &self.prompt_file, limits::PROMPT_BYTES)?.map(Into::into);
        Ok(())
    }
}
