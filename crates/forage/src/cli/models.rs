//! `forage models`: lists the providers, and the models that each role would use, with the reasons.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::count;
use forage_llm::limits::MAX_MODELS_PER_CALL;
use forage_llm::{
    CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish, ModelChoice, ModelListing, ModelRole,
    Origin, ResolvedModel, SkippedModels,
};
use forage_redact::Redacted;
use forage_tools::sanitize;

use super::output::Terminal;
use super::records::{
    CandidateStatus, ModelCheck, ModelsStatus, NamedModels, PassedOverModels, ProviderStatus, RoleModels,
};
use super::session::load;
use super::{Global, Status};
use crate::config::{CommandLineSettings, Config, KnownList, ProviderCatalog};

/// Maximum number of candidates to show for a role, as text and as records. A gateway may have hundreds.
const CANDIDATES: usize = 5;
const CANDIDATE_RECORDS: usize = 50;

/// Maximum number of skipped models to name per reason, as text and as records.
const PASSED_OVER: usize = 3;
const PASSED_OVER_RECORDS: usize = 50;

/// Maximum tokens of the answer to a check. One word needs only a few, but some models can't disable
/// reasoning.
const CHECK_TOKENS: u32 = 256;

/// Timeout of a single check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
Examples:
  forage models                    the chosen models, with reasons
  forage models --check            test whether they answer";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Ask each chosen model for one word, for a few tokens
    #[arg(long)]
    check: bool,
    /// Read the providers' lists of models again instead of using the cache
    #[arg(long)]
    refresh: bool,
}

/// The known providers and lists, and the models that we would call.
struct ModelsReport {
    catalog: ProviderCatalog,
    /// The lists of servers on this machine. They are shown, but they do not affect the choice if there is a
    /// better model.
    shown: BTreeMap<String, KnownList>,
    /// The source of the models that the user has named. If this is set, no model is chosen automatically.
    named_by: Option<String>,
    named: Vec<String>,
    unusable: String,
    choices: Vec<(ModelRole, ModelChoice)>,
    checks: Vec<Check>,
}

struct Check {
    model: String,
    result: Result<ChatAnswer, ChatError>,
    elapsed: Duration,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let config = load(global, CommandLineSettings::default())?;
    let (report, models) = report(&config, arguments)?;
    if output.wants_json() {
        output.record(&report.records())?;
    } else {
        output.text(&sanitize(&report.text()?))?;
        output.flush()?;
    }
    let works = |check: &Check| is_answer(&check.result);
    let all = !models.is_empty() && report.checks.iter().all(works) && report.every_role_has_one();
    Ok(if all { Status::Found } else { Status::NothingFound })
}

fn report(config: &Config, arguments: &Arguments) -> anyhow::Result<(ModelsReport, Vec<Arc<dyn ChatModel>>)> {
    let mut catalog = ProviderCatalog::open(config)?;
    let shown = catalog.read_all(arguments.refresh);
    let mut models: Vec<Arc<dyn ChatModel>> = Vec::new();
    let mut choices = Vec::new();
    let named_by = config.names_models().then(|| config.source("models").to_owned());
    let mut unusable = String::new();
    if named_by.is_some() {
        let found = config.named_models()?;
        (models, unusable) = (found.models, found.passed_over);
    } else {
        for role in ModelRole::ALL {
            let choice = catalog.choose(role);
            for candidate in choice.picks(MAX_MODELS_PER_CALL) {
                let model = catalog.model(candidate)?;
                if models.iter().all(|other| other.name() != model.name()) {
                    models.push(model);
                }
            }
            choices.push((role, choice));
        }
    }
    let checks =
        if arguments.check { models.iter().map(|model| check(model.as_ref())).collect() } else { Vec::new() };
    let named = match named_by {
        Some(_) => models.iter().map(|model| model.name()).collect(),
        None => Vec::new(),
    };
    Ok((ModelsReport { catalog, shown, named_by, named, unusable, choices, checks }, models))
}

fn check(model: &dyn ChatModel) -> Check {
    let started = Instant::now();
    let request = ChatRequest::question(
        Redacted::trusted("You are a test of a connection."),
        Redacted::trusted("Answer with the word ok."),
        CHECK_TOKENS,
    );
    let result = model.complete(&request, &CallBudget::until(started + CHECK_TIMEOUT));
    Check { model: model.name(), result, elapsed: started.elapsed() }
}

/// Returns true if the model responded. Note that this includes a model that has used up its tokens for
/// reasoning.
fn is_answer(result: &Result<ChatAnswer, ChatError>) -> bool {
    matches!(result, Ok(_) | Err(ChatError::EmptyAnswer { finish: Finish::Length, .. }))
}

impl ModelsReport {
    fn every_role_has_one(&self) -> bool {
        self.choices.iter().all(|(_, choice)| !choice.candidates.is_empty())
    }

    fn list(&self, provider: &ResolvedModel) -> Option<&KnownList> {
        self.catalog.list(&provider.name).or_else(|| self.shown.get(&provider.name))
    }

    fn text(&self) -> anyhow::Result<String> {
        let mut text = "providers:\n".to_owned();
        let width = self.catalog.providers.iter().map(|provider| provider.name.len()).max().unwrap_or(0);
        for provider in &self.catalog.providers {
            writeln!(text, "  {:width$}  {}", provider.name, self.provider_line(provider))?;
        }
        if let Some(source) = &self.named_by {
            writeln!(text, "\nmodels named by {source}, asked in this order:")?;
            for name in &self.named {
                writeln!(text, "  {name}")?;
            }
            if !self.unusable.is_empty() {
                writeln!(text, "  {}", self.unusable)?;
            }
        }
        for (role, choice) in &self.choices {
            writeln!(text, "\n{}, for {}:", role.name(), purpose(*role))?;
            self.write_choice(&mut text, choice)?;
        }
        if !self.checks.is_empty() {
            writeln!(text, "\nchecked:")?;
            for check in &self.checks {
                writeln!(text, "  {}: {}", check.model, check.status())?;
            }
        }
        let as_of = self.catalog.table.as_of();
        writeln!(
            text,
            "\nThe built-in facts about models are from {as_of}; docs/models.md says how to change them."
        )?;
        Ok(text)
    }

    fn write_choice(&self, text: &mut String, choice: &ModelChoice) -> std::fmt::Result {
        if choice.candidates.is_empty() {
            writeln!(text, "  no model is available")?;
        }
        let picks = choice.picks(MAX_MODELS_PER_CALL);
        let picked = |candidate| {
            picks.iter().position(|pick| std::ptr::eq::<forage_llm::ModelCandidate>(*pick, candidate))
        };
        for (index, candidate) in choice.candidates.iter().enumerate() {
            let (mark, when) = match picked(candidate) {
                Some(0) => ("*", " (asked first)"),
                Some(_) => ("+", " (asked when that fails)"),
                None if index < CANDIDATES => (" ", ""),
                None => continue,
            };
            writeln!(text, "{mark} {}/{}: {}{when}", candidate.provider, candidate.model, candidate.reason)?;
        }
        let shown = (0..choice.candidates.len())
            .filter(|index| *index < CANDIDATES || picked(&choice.candidates[*index]).is_some());
        let rest = choice.candidates.len() - shown.count();
        if rest > 0 {
            writeln!(text, "  and {rest} more")?;
        }
        // If a provider as a whole can't be used, we have already reported why.
        let is_told =
            |name: &str| self.catalog.providers.iter().any(|it| it.name == name && it.obstacle.is_some());
        let passed_over: Vec<&SkippedModels> =
            choice.passed_over.iter().filter(|passed| !is_told(&passed.provider)).collect();
        if !passed_over.is_empty() {
            writeln!(text, "  passed over:")?;
        }
        for SkippedModels { provider, models, reason, .. } in passed_over {
            let shown = models
                .iter()
                .take(PASSED_OVER)
                .map(|model| format!("{provider}/{model}"))
                .collect::<Vec<_>>();
            let what = if shown.is_empty() { provider.clone() } else { shown.join(", ") };
            let rest = models.len().saturating_sub(PASSED_OVER);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            writeln!(text, "    {what}{more}: {reason}")?;
        }
        Ok(())
    }

    fn provider_line(&self, provider: &ResolvedModel) -> String {
        let mut parts = Vec::new();
        if let Some(url) = &provider.base_url {
            parts.push(match &provider.base_url_variable {
                Some(variable) => format!("{url} (from {variable})"),
                None => url.clone(),
            });
        }
        match (&provider.key_variable, provider.key_variables.is_empty()) {
            (Some(variable), _) => parts.push(format!("key in {variable}")),
            (None, true) => parts.push("needs no key".to_owned()),
            (None, false) => {}
        }
        match &provider.obstacle {
            Some(obstacle) => parts.push(obstacle.to_string()),
            None => parts.push(self.list_words(provider)),
        }
        if provider.origin != Origin::BuiltIn {
            parts.push("in your configuration".to_owned());
        }
        parts.join("; ")
    }

    fn list_words(&self, provider: &ResolvedModel) -> String {
        match self.list(provider) {
            Some(KnownList { listing: ModelListing::Read(models), source }) => {
                format!("{} ({source})", count(models.len() as u64, "model"))
            }
            Some(KnownList { source, .. }) => format!("no list: {source}"),
            None => "its list was not read".to_owned(),
        }
    }

    fn provider_status<'a>(&'a self, provider: &'a ResolvedModel) -> ProviderStatus<'a> {
        let list = self.list(provider);
        let count = list.and_then(|list| match &list.listing {
            ModelListing::Read(models) => Some(models.len()),
            ModelListing::Failed(_) => None,
        });
        ProviderStatus {
            name: &provider.name,
            wire: provider.wire.name(),
            configured_by: match provider.origin {
                Origin::BuiltIn => "built in",
                Origin::Changed => "built in, changed by your configuration",
                Origin::Added => "your configuration",
            },
            base_url: provider.base_url.as_deref(),
            base_url_variable: provider.base_url_variable.as_deref(),
            key_variables: &provider.key_variables,
            key_variable: provider.key_variable.as_deref(),
            local: provider.is_local,
            obstacle: provider.obstacle.as_ref().map(ToString::to_string),
            listed_models: count,
            list: list.map(|list| list.source.as_str()),
        }
    }

    fn records(&self) -> ModelsStatus<'_> {
        let provider = |provider| self.provider_status(provider);
        ModelsStatus {
            facts_as_of: self.catalog.table.as_of(),
            providers: self.catalog.providers.iter().map(provider).collect(),
            named: self.named_by.as_ref().map(|by| NamedModels { by, models: &self.named }),
            roles: self.choices.iter().map(|(role, choice)| (role.name(), choice_record(choice))).collect(),
            checks: self.checks.iter().map(Check::record).collect(),
        }
    }
}

impl Check {
    fn record(&self) -> ModelCheck<'_> {
        let usage = self.result.as_ref().ok().and_then(|answer| answer.usage);
        ModelCheck {
            model: &self.model,
            works: is_answer(&self.result),
            status: self.status(),
            elapsed_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            input_tokens: usage.map(|usage| usage.input_tokens),
            output_tokens: usage.map(|usage| usage.output_tokens),
            cost_usd: self.result.as_ref().ok().and_then(|answer| answer.cost_usd),
        }
    }

    fn status(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        match &self.result {
            Ok(answer) => {
                let tokens = answer.usage.map_or("tokens unknown".to_owned(), |usage| {
                    format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens)
                });
                let cost = answer.cost_usd.map(|cost| format!(", ${cost:.6}")).unwrap_or_default();
                format!("answered in {seconds:.1} s, {tokens}{cost}")
            }
            Err(_) if is_answer(&self.result) => {
                format!("answered in {seconds:.1} s with only reasoning, up to {CHECK_TOKENS} tokens")
            }
            Err(error) => {
                let text = error.to_string();
                // The line or record begins with the model's name, too.
                text.strip_prefix(&format!("{}: ", self.model)).unwrap_or(&text).to_owned()
            }
        }
    }
}

fn purpose(role: ModelRole) -> &'static str {
    match role {
        ModelRole::Filter => "keyword_search",
        ModelRole::Agent => "answering questions",
    }
}

fn choice_record(choice: &ModelChoice) -> RoleModels<'_> {
    let picks = choice.picks(MAX_MODELS_PER_CALL);
    let candidates = choice.candidates.iter().take(CANDIDATE_RECORDS).map(|candidate| CandidateStatus {
        provider: &candidate.provider,
        model: &candidate.model,
        reason: &candidate.reason,
        asked: picks.iter().position(|pick| std::ptr::eq(*pick, candidate)).map(|place| place + 1),
        input_price: candidate.facts.price.map(|price| price.input),
        output_price: candidate.facts.price.map(|price| price.output),
        context_tokens: candidate.facts.context_tokens,
    });
    let passed_over = choice.passed_over.iter().map(|passed| PassedOverModels {
        provider: &passed.provider,
        models: passed.models.iter().take(PASSED_OVER_RECORDS).collect(),
        model_count: passed.models.len(),
        reason: &passed.reason,
    });
    RoleModels {
        candidates: candidates.collect(),
        candidate_count: choice.candidates.len(),
        passed_over: passed_over.collect(),
    }
}
