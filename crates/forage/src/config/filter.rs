//! `[filter]`: the forms in which `keyword_search` asks its model.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use forage_tools::{AnswerForm, EvidenceForm, FilterBreadth, FilterSettings, limits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Config, Setting};

/// Bytes of a system prompt. Ours have 2 KB; a megabyte in every request would be a mistake, and a dear one.
const PROMPT_BYTES: u64 = 64 << 10;

/// What a source says about the filter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterTable {
    pub(super) mode: Option<String>,
    pub(super) breadth: Option<String>,
    term_bytes: Option<u64>,
    evidence_bytes: Option<u64>,
    context_lines: Option<u64>,
    evidence: Option<String>,
    answer: Option<String>,
    shards: Option<usize>,
    evidence_tokens: Option<usize>,
    cache: Option<bool>,
    prompt_file: Option<PathBuf>,
}

impl FilterTable {
    /// What is said of breadth alone.
    pub(crate) fn of_breadth(breadth: Option<String>) -> Option<Self> {
        breadth.map(|breadth| Self { breadth: Some(breadth), ..Self::default() })
    }

    /// From `filter = "lexical"`, or from a table.
    pub(super) fn from_toml(value: toml::Value) -> anyhow::Result<Self> {
        match value {
            toml::Value::String(mode) => Ok(Self { mode: Some(mode), ..Self::default() }),
            table => table.try_into().context("`filter`"),
        }
    }
}

/// The settings and where they come from.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    breadth: Setting<String>,
    term_bytes: Setting<u64>,
    evidence_bytes: Setting<u64>,
    context_lines: Setting<u64>,
    evidence: Setting<String>,
    answer: Setting<String>,
    shards: Setting<usize>,
    evidence_tokens: Setting<usize>,
    cache: Setting<bool>,
    prompt_file: Setting<Option<PathBuf>>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            breadth: Setting::default("adaptive".to_owned()),
            term_bytes: Setting::default(forage_search::limits::TERM_BYTES),
            evidence_bytes: Setting::default(forage_search::limits::EVIDENCE_BYTES),
            context_lines: Setting::default(forage_search::limits::EVIDENCE_CONTEXT),
            evidence: Setting::default("requirement".to_owned()),
            answer: Setting::default("paths".to_owned()),
            shards: Setting::default(1),
            evidence_tokens: Setting::default(limits::EVIDENCE_TOKENS),
            cache: Setting::default(false),
            prompt_file: Setting::default(None),
        }
    }
}

impl Filter {
    pub(super) fn apply(&mut self, table: FilterTable, source: &str) {
        self.breadth.set(table.breadth, source);
        self.term_bytes.set(table.term_bytes, source);
        self.evidence_bytes.set(table.evidence_bytes, source);
        self.context_lines.set(table.context_lines, source);
        self.evidence.set(table.evidence, source);
        self.answer.set(table.answer, source);
        self.shards.set(table.shards, source);
        self.evidence_tokens.set(table.evidence_tokens, source);
        self.cache.set(table.cache, source);
        self.prompt_file.set(table.prompt_file.map(Some), source);
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.breadth_form()?;
        self.check_bytes()?;
        self.evidence_form()?;
        self.answer_form()?;
        let ranges = [
            ("shards", &self.shards, 1..=limits::FILTER_SHARDS_MAX),
            (
                "evidence_tokens",
                &self.evidence_tokens,
                limits::EVIDENCE_TOKENS_MIN..=limits::EVIDENCE_TOKENS_MAX,
            ),
        ];
        for (name, Setting { value, source }, range) in ranges {
            if !range.contains(value) {
                let (least, most) = (range.start(), range.end());
                bail!("`filter.{name}` ({source}): {value} is out of range; give {least} to {most}");
            }
        }
        Ok(())
    }

    fn check_bytes(&self) -> anyhow::Result<()> {
        let bytes = limits::BREADTH_BYTES_MIN..=limits::BREADTH_BYTES_MAX;
        let ranges = [
            ("term_bytes", &self.term_bytes, bytes.clone()),
            ("evidence_bytes", &self.evidence_bytes, bytes),
            ("context_lines", &self.context_lines, 0..=limits::EVIDENCE_CONTEXT_MAX),
        ];
        for (name, Setting { value, source }, range) in ranges {
            if !range.contains(value) {
                let (least, most) = (range.start(), range.end());
                bail!("`filter.{name}` ({source}): {value} is out of range; give {least} to {most}");
            }
        }
        Ok(())
    }

    fn breadth_form(&self) -> anyhow::Result<FilterBreadth> {
        match self.breadth.value.as_str() {
            "adaptive" => Ok(FilterBreadth::Adaptive),
            "requirement" => Ok(FilterBreadth::Requirement),
            other => bail!(
                "`filter.breadth` ({}): {other:?} is neither \"adaptive\" nor \"requirement\"",
                self.breadth.source
            ),
        }
    }

    fn evidence_form(&self) -> anyhow::Result<EvidenceForm> {
        match self.evidence.value.as_str() {
            "requirement" => Ok(EvidenceForm::Requirement),
            "compact" => Ok(EvidenceForm::Compact),
            other => bail!(
                "`filter.evidence` ({}): {other:?} is neither \"requirement\" nor \"compact\"",
                self.evidence.source
            ),
        }
    }

    fn answer_form(&self) -> anyhow::Result<AnswerForm> {
        let (shards, source) = (self.shards.value, &self.shards.source);
        match self.answer.value.as_str() {
            "ids" => Ok(AnswerForm::Ids { shards }),
            "paths" if shards > 1 => bail!(
                "`filter.shards` ({source}): {shards} shards need `filter.answer = \"ids\"`: lists of paths have no \
                 grades by which they could be merged"
            ),
            "paths" => Ok(AnswerForm::Paths),
            other => {
                bail!("`filter.answer` ({}): {other:?} is neither \"paths\" nor \"ids\"", self.answer.source)
            }
        }
    }

    /// Whether answers are kept.
    pub(super) fn keeps_answers(&self) -> bool {
        self.cache.value
    }

    /// What is gathered, whoever judges it.
    pub(super) fn set_breadth(&self, settings: &mut FilterSettings) -> anyhow::Result<()> {
        settings.breadth = self.breadth_form()?;
        settings.term_bytes = self.term_bytes.value;
        settings.evidence_bytes = self.evidence_bytes.value;
        settings.context_lines = self.context_lines.value;
        Ok(())
    }

    /// How a model is shown it and answers.
    pub(super) fn set(&self, settings: &mut FilterSettings, config: &Config) -> anyhow::Result<()> {
        settings.evidence = self.evidence_form()?;
        settings.answer = self.answer_form()?;
        settings.evidence_tokens = self.evidence_tokens.value;
        settings.prompt =
            config.prompt("filter.prompt_file", &self.prompt_file, PROMPT_BYTES)?.map(Into::into);
        Ok(())
    }

    pub(super) fn describe(&self) -> Vec<(String, Value, String)> {
        fn row<T: serde::Serialize>(name: &str, setting: &Setting<T>) -> (String, Value, String) {
            (format!("filter.{name}"), json!(setting.value), setting.source.clone())
        }
        vec![
            row("breadth", &self.breadth),
            row("term_bytes", &self.term_bytes),
            row("evidence_bytes", &self.evidence_bytes),
            row("context_lines", &self.context_lines),
            row("evidence", &self.evidence),
            row("answer", &self.answer),
            row("shards", &self.shards),
            row("evidence_tokens", &self.evidence_tokens),
            row("cache", &self.cache),
            row("prompt_file", &self.prompt_file),
        ]
    }
}
