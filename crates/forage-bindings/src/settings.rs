//! Settings of a workspace that is opened from another language.

use std::fmt;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use forage_fs::open_named;
use forage_llm::{
    ApiKey, ChatModel, Endpoint, EndpointSettings, ExchangeMode, ProviderTable, Wire, is_loopback_url,
};
use forage_tools::{
    AnswerForm, ErrorCode, EvidenceForm, FilterBreadth, FilterCandidates, FilterSettings, limits,
};
use serde::Deserialize;

use crate::collection::CollectionSettings;
use crate::error::BindingError;

/// Settings of a workspace. The defaults are those of the command line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolboxSettings {
    /// True to use indexes for faster calls. They are shared with the command line, unless this is the path
    /// of another directory. With `false`, we write nothing to disk.
    pub index: IndexSetting,
    /// True to watch the tree and keep its index in memory. Long-running programs should set this. It needs
    /// an `index`.
    pub watch: bool,
    /// The models for `keyword_search` and `ask`, in order of preference.
    pub models: Vec<ModelSettings>,
    /// The collection that `keyword_lookup` searches.
    pub collection: Option<CollectionSettings>,
    /// Makes `keyword_search` rank the files that it finds, without a model.
    pub without_model: bool,
    /// The filter settings of `keyword_search`.
    pub filter: KeywordSettings,
    /// Disables the redaction of secrets.
    pub show_secrets: bool,
    /// Maximum bytes of a text answer: 2000 to 100000.
    pub text_bytes: Option<usize>,
    /// Timeout of a call in milliseconds: 100 to 300000.
    pub timeout_ms: Option<u64>,
    /// Worker threads of a call, up to 256; one per processor if this is 0 or omitted.
    pub threads: Option<usize>,
    /// Maximum bytes of a file; larger files are not searched.
    pub max_file_bytes: Option<u64>,
    /// Globs of files that are excluded everywhere.
    pub exclude: Vec<String>,
    /// Allows a root as broad as a home directory.
    pub allow_broad_root: bool,
}

impl ToolboxSettings {
    /// Parses settings from JSON.
    ///
    /// # Errors
    ///
    /// Fails if the JSON or a setting is invalid.
    pub fn parse(json: &str) -> Result<Self, BindingError> {
        serde_json::from_str(json).map_err(|error| unreadable(&error))
    }

    pub(crate) fn check_ranges(&self) -> Result<(), BindingError> {
        let text_bytes = limits::TEXT_BYTES_MIN..=limits::TEXT_BYTES_MAX;
        let checked = [
            self.timeout_ms.map(|time| check_range("timeout_ms", time, &limits::TIMEOUT_MS_RANGE)),
            self.text_bytes.map(|bytes| check_range("text_bytes", bytes, &text_bytes)),
            self.threads.map(|threads| check_range("threads", threads, &limits::THREADS_RANGE)),
        ];
        let checked: Result<(), String> = checked.into_iter().flatten().collect();
        checked.map_err(|why| BindingError::new(ErrorCode::Argument, why))
    }
}

/// Checks that a setting is in its range.
pub(crate) fn check_range<T: PartialOrd + fmt::Display>(
    name: &str,
    number: T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    match range.contains(&number) {
        true => Ok(()),
        false => Err(format!("`{name}` {number} is out of range; give {} to {}", range.start(), range.end())),
    }
}

/// Creates the error for settings that can't be parsed. It must not contain values, for example an API key.
fn unreadable(error: &serde_json::Error) -> BindingError {
    let message = error.to_string();
    let what = match message.split_once(", expected ") {
        Some((unknown, known)) if unknown.starts_with("unknown field") => {
            format!("{unknown}, expected {known}")
        }
        Some((_, known)) => format!("a value has an unexpected type: {known}"),
        None => "a value can't be used".to_owned(),
    };
    BindingError::unreadable(&format!("the settings of the workspace: {what}"))
}

/// See [`ToolboxSettings::index`].
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum IndexSetting {
    /// Turns indexes on or off.
    Wanted(bool),
    /// The directory of the indexes.
    Directory(PathBuf),
}

impl Default for IndexSetting {
    fn default() -> Self {
        Self::Wanted(true)
    }
}

impl From<bool> for IndexSetting {
    fn from(wanted: bool) -> Self {
        Self::Wanted(wanted)
    }
}

/// Filter settings of `keyword_search`, with the keys of `[filter]` in the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeywordSettings {
    /// The source of candidate files: `terms` or `union`.
    pub candidates: FilterCandidates,
    /// The treatment of terms that match too much: `adaptive` or `requirement`.
    pub breadth: FilterBreadth,
    /// Maximum bytes of the evidence for one term.
    pub term_bytes: Option<u64>,
    /// Maximum bytes of all evidence.
    pub evidence_bytes: Option<u64>,
    /// Lines of context around a match.
    pub context_lines: Option<u64>,
    /// Form of the evidence: `requirement` or `compact`.
    pub evidence: EvidenceForm,
    /// Form of the model's answer: `paths` or `ids`.
    pub answer: FilterAnswer,
    /// Number of model calls among which a large body of evidence is divided. This needs `answer` to be
    /// `ids`.
    pub shards: Option<usize>,
    /// Maximum tokens of compact evidence.
    pub evidence_tokens: Option<usize>,
    /// A file with a system prompt that replaces the built-in one.
    pub prompt_file: Option<PathBuf>,
}

/// See [`KeywordSettings::answer`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterAnswer {
    /// Lines with a path and a reason.
    #[default]
    Paths,
    /// Files by number, with grades.
    Ids,
}

impl KeywordSettings {
    pub(crate) fn set(&self, filter: &mut FilterSettings) -> Result<(), BindingError> {
        let refused = |why: String| BindingError::new(ErrorCode::Argument, format_args!("`filter`: {why}"));
        let bytes = limits::BREADTH_BYTES_MIN..=limits::BREADTH_BYTES_MAX;
        let tokens = limits::EVIDENCE_TOKENS_MIN..=limits::EVIDENCE_TOKENS_MAX;
        let checked = [
            self.term_bytes.map(|it| check_range("term_bytes", it, &bytes)),
            self.evidence_bytes.map(|it| check_range("evidence_bytes", it, &bytes)),
            self.context_lines
                .map(|it| check_range("context_lines", it, &(0..=limits::EVIDENCE_CONTEXT_MAX))),
            self.shards.map(|it| check_range("shards", it, &(1..=limits::FILTER_SHARDS_MAX))),
            self.evidence_tokens.map(|it| check_range("evidence_tokens", it, &tokens)),
        ];
        checked.into_iter().flatten().collect::<Result<(), String>>().map_err(refused)?;
        let shards = self.shards.unwrap_or(1);
        filter.answer = match self.answer {
            FilterAnswer::Ids => AnswerForm::Ids { shards },
            FilterAnswer::Paths if shards > 1 => {
                return Err(refused("`shards` need `answer` \"ids\"".to_owned()));
            }
            FilterAnswer::Paths => AnswerForm::Paths,
        };
        (filter.candidates, filter.breadth, filter.evidence) = (self.candidates, self.breadth, self.evidence);
        filter.term_bytes = self.term_bytes.unwrap_or(filter.term_bytes);
        filter.evidence_bytes = self.evidence_bytes.unwrap_or(filter.evidence_bytes);
        filter.context_lines = self.context_lines.unwrap_or(filter.context_lines);
        filter.evidence_tokens = self.evidence_tokens.unwrap_or(filter.evidence_tokens);
        if let Some(path) = &self.prompt_file {
            let mut text = String::new();
            let file = open_named(path, limits::PROMPT_BYTES)
                .map_err(|error| refused(format!("`prompt_file`: {error}")))?;
            // The file may have grown since its size was checked.
            file.take(limits::PROMPT_BYTES)
                .read_to_string(&mut text)
                .map_err(|error| refused(format!("`prompt_file` {}: {error}", path.display())))?;
            filter.prompt = Some(text.into());
        }
        Ok(())
    }
}

/// A model and its endpoint.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// A known provider, e.g. `openai`. With `base_url`, this may be any name, which we use in messages.
    pub provider: Option<String>,
    /// The provider's id of the model.
    pub model: String,
    /// The address of the endpoint. The default is the provider's.
    pub base_url: Option<String>,
    /// The API key. By default, we read the provider's environment variable.
    pub api_key: Option<String>,
    /// The wire protocol. The default is the provider's, or OpenAI's if the provider is unknown.
    pub wire: Option<Wire>,
    /// Allows plain `http` to another machine.
    pub allow_insecure: bool,
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, model, base_url, .. } = self;
        write!(formatter, "{model} of {provider:?} at {base_url:?}")
    }
}

impl ModelSettings {
    /// Creates a client for the model.
    pub(crate) fn open(&self, table: &ProviderTable) -> Result<Arc<dyn ChatModel>, BindingError> {
        let refused = |why: &dyn fmt::Display| {
            BindingError::new(ErrorCode::NoModel, format_args!("can't use the model `{}`: {why}", self.model))
        };
        if self.model.is_empty() {
            return Err(refused(&"`model` must be the provider's id of the model"));
        }
        let key = self.api_key.as_deref().map(ApiKey::new).transpose().map_err(|error| refused(&error))?;
        let known = self.provider.as_deref().filter(|name| table.provider(name).is_some());
        let (wire, endpoint) = match (&self.base_url, known) {
            (Some(base_url), _) => {
                if key.is_none() && !is_loopback_url(base_url) {
                    return Err(refused(&"`api_key` is missing"));
                }
                let at = known.or_else(|| table.provider_at(base_url));
                let provider = self.provider.as_deref().or(at).unwrap_or("model");
                let mut settings = EndpointSettings::new(provider, base_url, &self.model);
                settings.key = key;
                settings.allow_insecure = self.allow_insecure;
                settings.facts = table.facts(at.unwrap_or_default(), &self.model);
                let wire = at.and_then(|name| table.provider(name)).map(forage_llm::Provider::wire);
                (wire.unwrap_or_default(), Endpoint::new(settings).map_err(|error| refused(&error))?)
            }
            (None, Some(name)) => {
                let own = table.key_variables(name);
                let variable = |asked: &str| match &self.api_key {
                    Some(key) if own.iter().any(|it| it == asked) => Some(key.clone()),
                    _ => environment(asked),
                };
                let Some(resolved) = table.resolve(name, &variable) else {
                    return Err(refused(&"its provider is unknown"));
                };
                if let Some(obstacle) = &resolved.obstacle {
                    return Err(refused(obstacle));
                }
                let endpoint = resolved.endpoint(&self.model, table.facts(name, &self.model));
                (resolved.wire, endpoint.map_err(|error| refused(&error))?)
            }
            (None, None) => {
                let known: Vec<&str> = table.provider_names().collect();
                let known = known.join(", ");
                return Err(refused(&format_args!("name its `provider` ({known}) or its `base_url`")));
            }
        };
        Ok(self.wire.unwrap_or(wire).client_with(endpoint, ExchangeMode::default()))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the keys of providers are where every client of theirs looks for them"
)]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
