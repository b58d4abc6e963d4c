//! Asks models which files are relevant, with one request or with several in parallel.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use forage_fs::Root;
use forage_llm::{
    AnswerShape, CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish, Usage, complete_first,
};
use forage_search::keyword::KeywordFindings;

use super::answer::{self, ParsedAnswer, SelectedFile};
use super::compact;
use super::evidence::{self, EvidenceBlock};
use super::names::FileNames;
use super::order::OrderedMatches;
use super::request::{Framing, PROMPT_VERSION};
use super::{
    FromCache, KeywordFile, KeywordResponse, ModelRecord, file_record, fill_lexical, lexical_record,
};
use crate::answer_cache::CacheKey;
use crate::call::{Call, WaitingFor};
use crate::error::ToolError;
use crate::limits;
use crate::outcome::ToolOutcome;
use crate::settings::{AnswerForm, EvidenceForm, FilterSettings, OnModelFailure};
use crate::telemetry::target::CallTelemetry;
use crate::text::{count, grouped, quoted};

/// Fills the answer with the files that a model keeps.
pub(super) fn fill(
    call: &Call,
    found: &OrderedMatches<'_>,
    outcome: &mut ToolOutcome<KeywordResponse>,
) -> Result<(), ToolError> {
    let OrderedMatches { root, gathered, .. } = *found;
    let settings = &call.workspace.filter;
    let started = Instant::now();
    let shards = shards(settings, found, outcome);
    // If this call has a deadline, it must apply to the models, too.
    let asking = Asking {
        settings,
        root,
        gathered,
        waiting: &call.progress.waiting,
        budget: CallBudget::new(call.stop.within(settings.timeout)),
        noted: &call.noted,
    };
    if shards.is_empty() {
        let errors = "no file fits into the evidence budget; raise `filter.evidence_tokens`".to_owned();
        return Err(ToolError::ModelsFailed { errors });
    }
    let answers = asking.all(&shards);
    let elapsed = started.elapsed();

    let (mut judged, mut failed, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (shard, answer) in shards.iter().zip(answers) {
        match answer {
            Ok(answer) => judged.push((shard, answer)),
            Err(FilterFailure::Cancelled) => return Err(ToolError::Cancelled),
            Err(FilterFailure::All(errors)) => {
                failed.push(shard);
                failures
                    .extend(errors.into_iter().filter(|error| !failures.contains(error)).collect::<Vec<_>>());
            }
        }
    }
    let errors = failures.join("; ");
    if !failed.is_empty() && settings.on_model_failure == OnModelFailure::Error {
        // A partial judgement must not pass for an answer unless the settings allow it.
        let part = match judged.is_empty() {
            true => String::new(),
            false => format!("{} of {} requests failed: ", failed.len(), shards.len()),
        };
        return Err(ToolError::ModelsFailed { errors: part + &errors });
    }
    if judged.is_empty() {
        fill_lexical(&mut outcome.response, found);
        outcome.response.filter = "lexical_after_model_failure";
        outcome.warnings.push(format!(
            "the files are in lexical order and not filtered, because no model could be used: {errors}"
        ));
        return Ok(());
    }
    outcome.response.model = Some(model_record(&judged, &shards, elapsed));
    warn(&judged, gathered, &mut outcome.warnings);
    let kept = merged(judged.into_iter().flat_map(|(_, answer)| answer.parsed.kept).collect(), found);
    let record = |kept: SelectedFile| -> Option<KeywordFile> {
        let record = file_record(root, gathered, kept.file, kept.explanation)?;
        Some(KeywordFile { grade: kept.grade, ranges: kept.ranges, ..record })
    };
    outcome.response.files = kept.into_iter().filter_map(record).collect();
    if !failed.is_empty() {
        add_unjudged(&failed, shards.len(), &errors, found, outcome);
    }
    Ok(())
}

/// Appends the files of failed requests after the judged ones. They are in lexical order, and marked as not
/// filtered.
fn add_unjudged(
    failed: &[&Shard],
    of: usize,
    errors: &str,
    found: &OrderedMatches<'_>,
    outcome: &mut ToolOutcome<KeywordResponse>,
) {
    let files: Vec<usize> =
        failed.iter().flat_map(|shard| shard.blocks.iter().map(|block| block.file)).collect();
    let best = found.order().iter().filter(|file| files.contains(file)).take(limits::LEXICAL_FILES);
    let records = best.filter_map(|&file| lexical_record(found, file));
    outcome.response.files.extend(records.map(|record| KeywordFile { not_filtered: true, ..record }));
    outcome.response.filter = "model_in_part";
    outcome.warnings.push(format!(
        "{} of {of} requests to models failed, so {} could not be filtered; the best of these come last, in lexical \
         order: {errors}",
        failed.len(),
        count(files.len() as u64, "file"),
    ));
}

/// A request and the evidence in it.
struct Shard {
    request: ChatRequest,
    blocks: Vec<EvidenceBlock>,
    redacted: usize,
}

/// Builds the requests for the evidence. Adds warnings about the parts that they do not show.
fn shards(
    settings: &FilterSettings,
    found: &OrderedMatches<'_>,
    outcome: &mut ToolOutcome<KeywordResponse>,
) -> Vec<Shard> {
    let OrderedMatches { root, gathered, .. } = *found;
    let (by_id, max) = match settings.answer {
        AnswerForm::Paths => (false, 1),
        AnswerForm::Ids { shards } => (true, shards.clamp(1, limits::FILTER_SHARDS_MAX)),
    };
    let tokens = settings.evidence_tokens.clamp(limits::EVIDENCE_TOKENS_MIN, limits::EVIDENCE_TOKENS_MAX);
    let bytes = (tokens as f64 * limits::BYTES_PER_TOKEN) as usize;
    let redactor = &*settings.redactor;
    let parts = match settings.evidence {
        EvidenceForm::Requirement => split(evidence::blocks(root, gathered, redactor, by_id), bytes, max),
        EvidenceForm::Compact => {
            let packed = compact::pack(found, redactor, by_id, bytes, max);
            outcome.warnings.extend(packed.coverage.warning());
            packed.shards
        }
    };
    let query = outcome.response.query.clone();
    let is_part = settings.evidence == EvidenceForm::Requirement
        && gathered.files.iter().any(|file| file.lines.iter().any(|line| !line.is_shown));
    let prompt = settings.prompt.as_deref();
    let is_ranked = outcome.response.ranked_files > 0;
    let form = settings.evidence;
    let framing = Framing { root, query: &query, form, by_id, is_part, is_ranked, redactor, prompt };
    let shard = |blocks: Vec<EvidenceBlock>| {
        let (request, redacted) = framing.request(&blocks);
        Shard { request, blocks, redacted }
    };
    parts.into_iter().map(shard).collect()
}

/// Splits blocks, in order, into parts of about the same size. We use as many parts as needed for `bytes`
/// each, but at most `max`, and never split a block.
fn split(blocks: Vec<EvidenceBlock>, bytes: usize, max: usize) -> Vec<Vec<EvidenceBlock>> {
    let total: usize = blocks.iter().map(|block| block.text.len()).sum();
    let parts = total.div_ceil(bytes.max(1)).clamp(1, max);
    let each = total.div_ceil(parts);
    let mut split: Vec<Vec<EvidenceBlock>> = vec![Vec::new()];
    let mut used = 0;
    for block in blocks {
        if used >= each && split.len() < parts {
            split.push(Vec::new());
            used = 0;
        }
        used += block.text.len();
        if let Some(part) = split.last_mut() {
            part.push(block);
        }
    }
    split
}

/// The result of one request.
struct BatchOutcome {
    /// `provider/model`.
    model: String,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
    /// Age of the answer, if it came from the cache.
    from_cache: Option<Duration>,
    /// True if the model reached its output limit, or if a content filter cut its answer.
    at_limit: bool,
    parsed: ParsedAnswer,
    /// Failures of the models that we tried before this one.
    failures: Vec<String>,
}

/// The reason why a request has no answer.
enum FilterFailure {
    Cancelled,
    /// One sentence per failure.
    All(Vec<String>),
}

struct Asking<'a> {
    settings: &'a FilterSettings,
    root: &'a Root,
    gathered: &'a KeywordFindings,
    waiting: &'a WaitingFor,
    budget: CallBudget,
    /// Collects the models that were used.
    noted: &'a CallTelemetry,
}

impl Asking<'_> {
    /// Sends all requests in parallel and returns the answers in the same order. All requests share one
    /// deadline, by which every model must return, so this takes as long as the slowest request.
    fn all(&self, shards: &[Shard]) -> Vec<Result<BatchOutcome, FilterFailure>> {
        if let [only] = shards {
            return vec![self.one(only)];
        }
        thread::scope(|scope| {
            let ask = |shard| {
                thread::Builder::new().name("filter".to_owned()).spawn_scoped(scope, move || self.one(shard))
            };
            let asked: Vec<_> = shards.iter().map(ask).collect();
            let answer = |thread: io::Result<thread::ScopedJoinHandle<'_, _>>| {
                let failed = |why: String| Err(FilterFailure::All(vec![why]));
                match thread.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_)) => failed("a request failed because of a bug in Forage".to_owned()),
                    Err(error) => failed(format!("no thread could be started: {error}")),
                }
            };
            asked.into_iter().map(answer).collect()
        })
    }

    /// Asks the models in order until one of them answers. An invalid answer counts as a failure of its
    /// model.
    fn one(&self, shard: &Shard) -> Result<BatchOutcome, FilterFailure> {
        let mut failures = Vec::new();
        let mut ruled_out: Vec<String> = Vec::new();
        let models = &self.settings.models;
        for (index, model) in models.iter().enumerate() {
            if ruled_out.contains(&model.provider()) {
                continue;
            }
            // We skip the other models of a provider that is ruled out, so this may be the last one to ask.
            let is_last = models[index + 1..].iter().all(|next| ruled_out.contains(&next.provider()));
            let key =
                self.settings.cache.as_ref().map(|cache| {
                    (cache, CacheKey::for_request(&model.name(), PROMPT_VERSION, &shard.request))
                });
            let cached = key.as_ref().and_then(|(cache, key)| cache.get(key));
            // We parse a cached answer again, because it is no more trustworthy than a new one.
            if let Some(cached) = cached
                && let Some(parsed) = self.parse(&cached.text, shard)
            {
                self.noted.kept(&**model);
                return Ok(BatchOutcome {
                    model: model.name(),
                    usage: None,
                    cost_usd: None,
                    from_cache: Some(cached.age),
                    at_limit: false,
                    parsed,
                    failures,
                });
            }
            match self.ask(model, shard, is_last, &mut failures) {
                ControlFlow::Continue(None) => {}
                ControlFlow::Continue(Some(provider)) => ruled_out.push(provider),
                ControlFlow::Break(Err(failure)) => return Err(failure),
                ControlFlow::Break(Ok((text, answered))) => {
                    // We return a truncated answer with a warning, but it must not be cached.
                    if !answered.at_limit
                        && !answered.parsed.cut
                        && let Some((cache, key)) = &key
                    {
                        cache.put(key, &text);
                    }
                    return Ok(BatchOutcome { failures, ..answered });
                }
            }
        }
        Err(FilterFailure::All(failures))
    }

    /// Asks one model. If it fails, this adds the reason to `failures` and continues with the next model. It
    /// also returns the provider if none of its models will answer.
    fn ask(
        &self,
        model: &Arc<dyn ChatModel>,
        shard: &Shard,
        is_last: bool,
        failures: &mut Vec<String>,
    ) -> ControlFlow<Result<(String, BatchOutcome), FilterFailure>, Option<String>> {
        // A model that hangs must leave half of the time for the next one.
        let share = if is_last { 1 } else { 2 };
        let budget = CallBudget::new(self.budget.stop.within(self.budget.remaining() / share));
        self.waiting.set(Some(model.name()));
        let began = Instant::now();
        let counted = Arc::new(Counted { model: Arc::clone(model), asked: AtomicU32::new(0) });
        let attempts = Arc::clone(&counted);
        let attempts = || attempts.asked.load(Ordering::Relaxed);
        let tell = |answer: Result<(&ChatAnswer, bool), &ChatError>| {
            self.noted.model(&**model, attempts(), began, answer);
        };
        let only: [Arc<dyn ChatModel>; 1] = [counted];
        let completed = complete_first(&only, &shard.request, &budget);
        self.waiting.set(None);
        let answer = match completed {
            Ok((answer, _)) => answer,
            Err(all) => {
                all.errors.iter().for_each(|error| tell(Err(error)));
                if all.is_cancelled() {
                    return ControlFlow::Break(Err(FilterFailure::Cancelled));
                }
                failures.extend(all.errors.iter().map(ChatError::to_string));
                let last = all.errors.last();
                // If only the share of this model is over, the next model still has time.
                return match last.is_some_and(ChatError::is_stop) && self.budget.stop.check().is_some() {
                    true => ControlFlow::Break(Err(FilterFailure::All(std::mem::take(failures)))),
                    false => ControlFlow::Continue(
                        last.filter(|error| error.rules_out_provider()).map(|_| model.provider()),
                    ),
                };
            }
        };
        let parsed = self.parse(&answer.text, shard);
        tell(Ok((&answer, parsed.is_some())));
        let Some(parsed) = parsed else {
            failures.push(unreadable(&answer));
            return ControlFlow::Continue(None);
        };
        let answered = BatchOutcome {
            model: format!("{}/{}", answer.provider, answer.model),
            usage: answer.usage,
            cost_usd: answer.cost_usd,
            from_cache: None,
            at_limit: matches!(answer.finish, Finish::Length | Finish::Refused),
            parsed,
            failures: Vec::new(),
        };
        ControlFlow::Break(Ok((answer.text, answered)))
    }

    fn parse(&self, text: &str, shard: &Shard) -> Option<ParsedAnswer> {
        let by_id = matches!(self.settings.answer, AnswerForm::Ids { .. });
        answer::parse(text, &FileNames::new(self.root, self.gathered, &shard.blocks, by_id))
    }
}

/// Describes an answer that we can't parse. If only the prompt asked for a list, nothing has held the model to
/// one, and the user should know that.
fn unreadable(answer: &ChatAnswer) -> String {
    let ChatAnswer { provider, model, .. } = answer;
    let spent = answer.usage.map(|usage| {
        format!(" ({} tokens in, {} out)", grouped(usage.input_tokens), grouped(usage.output_tokens))
    });
    let spent = spent.unwrap_or_default();
    let advice = match answer.shape {
        AnswerShape::Schema | AnswerShape::Tool => "",
        AnswerShape::Text => {
            ", and it takes neither an answer schema nor a tool call; choose another model, or set \
             `answer_schema` or `answer_tool` if it does take one"
        }
    };
    format!("{provider}/{model} gave an answer that is not a list of files{spent}{advice}")
}

/// A model that counts its requests, including retries, for telemetry.
struct Counted {
    model: Arc<dyn ChatModel>,
    asked: AtomicU32,
}

impl ChatModel for Counted {
    fn name(&self) -> String {
        self.model.name()
    }

    fn provider(&self) -> String {
        self.model.provider()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.model.complete(request, budget)
    }
}

/// Sorts graded files by grade, then in lexical order. Files without a grade keep the model's order.
fn merged(mut kept: Vec<SelectedFile>, found: &OrderedMatches<'_>) -> Vec<SelectedFile> {
    if kept.iter().any(|kept| kept.grade.is_some()) {
        let mut place = vec![usize::MAX; found.gathered.files.len()];
        for (rank, &file) in found.order().iter().enumerate() {
            place[file] = rank;
        }
        let place = |file: usize| place.get(file).copied().unwrap_or(usize::MAX);
        kept.sort_by_key(|kept| (std::cmp::Reverse(kept.grade), place(kept.file)));
    }
    kept
}

fn warn(judged: &[(&Shard, BatchOutcome)], gathered: &KeywordFindings, warnings: &mut Vec<String>) {
    for (_, answer) in judged {
        let failures = answer.failures.iter().map(|failure| format!("another model was used: {failure}"));
        let failures: Vec<String> = failures.filter(|failure| !warnings.contains(failure)).collect();
        warnings.extend(failures);
    }
    if judged.iter().any(|(_, answer)| answer.at_limit) {
        warnings.push(
            "the model's answer was cut at its length limit or by a content filter; less relevant files may be \
             missing".to_owned(),
        );
    } else if judged.iter().any(|(_, answer)| answer.parsed.cut) {
        warnings
            .push("the model's answer ended in the middle; less relevant files may be missing".to_owned());
    }
    let mentioned: Vec<String> = (judged.iter().flat_map(|(_, answer)| &answer.parsed.mentioned))
        .map(|&file| quoted(&gathered.files[file].path.display()))
        .collect();
    if !mentioned.is_empty() {
        let more = match mentioned.len().saturating_sub(limits::MENTIONED_FILES) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        warnings.push(format!(
            "the text around the model's list names files that are not in the list: {}{more}",
            mentioned[..mentioned.len().min(limits::MENTIONED_FILES)].join(", ")
        ));
    }
}

fn model_record(judged: &[(&Shard, BatchOutcome)], shards: &[Shard], elapsed: Duration) -> ModelRecord {
    let mut names: Vec<&str> = Vec::new();
    for (_, answer) in judged {
        if !names.contains(&answer.model.as_str()) {
            names.push(&answer.model);
        }
    }
    let fresh = || judged.iter().map(|(_, answer)| answer).filter(|answer| answer.from_cache.is_none());
    // If a part is unknown, this sum would be too small.
    let usage: Option<Vec<Usage>> = fresh().map(|answer| answer.usage).collect();
    let usage = usage.filter(|usage| !usage.is_empty());
    let sum = |field: fn(&Usage) -> u64| usage.as_ref().map(|usage| usage.iter().map(field).sum());
    let costs: Option<Vec<f64>> = fresh().map(|answer| answer.cost_usd).collect();
    let ages = || judged.iter().filter_map(|(_, answer)| answer.from_cache);
    ModelRecord {
        name: names.join(", "),
        input_tokens: sum(|usage| usage.input_tokens),
        cached_input_tokens: sum(|usage| usage.cached_input_tokens),
        output_tokens: sum(|usage| usage.output_tokens),
        cost_usd: costs.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum()),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        shards: (shards.len() > 1).then_some(shards.len()),
        from_cache: ages().max().map(|age| FromCache { answers: ages().count(), age_seconds: age.as_secs() }),
        redacted: shards.iter().map(|shard| shard.redacted).sum(),
        dropped_paths: judged.iter().map(|(_, answer)| answer.parsed.dropped).sum(),
    }
}
