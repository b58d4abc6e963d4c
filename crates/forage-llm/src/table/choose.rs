//! Chooses the models for a role. This is a pure function of the table, the resolved providers, and their
//! model lists.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{IdPattern, ModelListing, ModelRole, Order, Preference, ProviderTable, ResolvedModel};
use crate::chat::Usage;
use crate::endpoint::{ModelFacts, Price};
use crate::wire::ListedModel;

/// A model that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCandidate {
    /// The provider's name.
    pub provider: String,
    /// The model id.
    pub model: String,
    /// Why it has this rank among the candidates, in words.
    pub reason: String,
    /// The known facts about it.
    pub facts: ModelFacts,
}

/// A provider that we do not use, or some of its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedModels {
    /// The provider's name.
    pub provider: String,
    /// The model ids; empty for the provider as a whole.
    pub models: Vec<String>,
    /// Why we do not use them, in words.
    pub reason: String,
    /// True if the provider has no key or no address. This is the case for all providers that the user does
    /// not use.
    pub is_not_set_up: bool,
}

/// The models for a role.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelChoice {
    /// Candidates, best first.
    pub candidates: Vec<ModelCandidate>,
    /// Providers and models that are not candidates, and why.
    pub passed_over: Vec<SkippedModels>,
    /// Providers whose model lists we need before we can choose. If there are any, the other fields are
    /// incomplete.
    pub needs: Vec<String>,
}

impl ModelChoice {
    /// Returns up to `max` candidates in the order in which a call should try them: the first candidate,
    /// then the best one of each other provider, then the rest. Other providers come first because the cause
    /// is usually the provider when a listed model fails.
    pub fn picks(&self, max: usize) -> Vec<&ModelCandidate> {
        let mut providers = BTreeSet::new();
        let (first, others): (Vec<_>, Vec<_>) =
            self.candidates.iter().partition(|candidate| providers.insert(candidate.provider.as_str()));
        first.into_iter().chain(others).take(max).collect()
    }
}

/// Ranks the models of the providers for a role.
///
/// `lists` contains the known model lists. If a provider's list is missing and would affect the result,
/// [`ModelChoice::needs`] names the provider. Otherwise we use the provider's pinned ids instead.
pub fn choose(
    table: &ProviderTable,
    role: ModelRole,
    providers: &[ResolvedModel],
    lists: &BTreeMap<String, ModelListing>,
) -> ModelChoice {
    let choice = ModelChoice::default();
    let mut chooser = Chooser { table, role, lists, choice, passed: Vec::new(), ignores_caps: false };
    for provider in providers {
        if let Some(obstacle) = &provider.obstacle {
            chooser.skip(provider, &obstacle.to_string(), obstacle.is_not_set_up());
        }
    }
    chooser.apply_all(providers);
    if chooser.choice.candidates.is_empty() && chooser.choice.needs.is_empty() {
        // An expensive model is better than no model.
        chooser.ignores_caps = true;
        chooser.apply_all(providers);
    }
    chooser.finish()
}

/// A model that a provider offers, according to its list or our table.
struct Offer {
    model: ListedModel,
    /// Why we expect the model to be available.
    source: String,
}

/// An offer that matches a preference.
struct Fit<'a> {
    provider: &'a ResolvedModel,
    pattern: &'a IdPattern,
    model: ListedModel,
    source: String,
    facts: ModelFacts,
}

struct Chooser<'a> {
    table: &'a ProviderTable,
    role: ModelRole,
    lists: &'a BTreeMap<String, ModelListing>,
    choice: ModelChoice,
    /// Models that we do not use: the provider, the id, and the reason.
    passed: Vec<(String, String, String)>,
    /// Whether to ignore price caps. Prices then affect only the order.
    ignores_caps: bool,
}

/// Typical token counts of a filter call, for comparing prices.
const TYPICAL: Usage = Usage { input_tokens: 40_000, cached_input_tokens: 0, output_tokens: 400 };

impl<'a> Chooser<'a> {
    fn skip(&mut self, provider: &ResolvedModel, reason: &str, is_not_set_up: bool) {
        let (provider, reason) = (provider.name.clone(), reason.to_owned());
        let entry = SkippedModels { provider, models: Vec::new(), reason, is_not_set_up };
        if !self.choice.passed_over.contains(&entry) {
            self.choice.passed_over.push(entry);
        }
    }

    fn apply_all(&mut self, providers: &'a [ResolvedModel]) {
        for preference in self.table.preferences(self.role) {
            let named =
                |provider: &&ResolvedModel| ["*", &provider.name].contains(&preference.provider.as_str());
            let fitting: Vec<&ResolvedModel> =
                providers.iter().filter(|provider| provider.obstacle.is_none()).filter(named).collect();
            // Reading a list takes a request, so we need no list after the first preference that matches.
            if self.choice.candidates.is_empty() {
                let unknown = fitting.iter().filter(|provider| !self.lists.contains_key(&provider.name));
                self.choice.needs = unknown.map(|provider| provider.name.clone()).collect();
                if !self.choice.needs.is_empty() {
                    return;
                }
            }
            self.apply(preference, &fitting);
        }
    }

    fn apply(&mut self, preference: &'a Preference, providers: &[&'a ResolvedModel]) {
        let mut fits: Vec<Fit<'a>> = Vec::new();
        for provider in providers {
            let own = self.fits(preference, provider);
            fits.extend(own);
        }
        match preference.order {
            Order::Newest => fits.sort_by_cached_key(newest_first),
            Order::Cheapest => fits.sort_by_cached_key(|fit| (cost(fit), newest_first(fit))),
        }
        for index in 0..fits.len() {
            let reason = reason(preference, &fits, index);
            let fit = &fits[index];
            self.choice.candidates.push(ModelCandidate {
                provider: fit.provider.name.clone(),
                model: fit.model.id.clone(),
                reason,
                facts: fit.facts,
            });
        }
    }

    fn fits(&mut self, preference: &'a Preference, provider: &'a ResolvedModel) -> Vec<Fit<'a>> {
        let Some(offers) = self.offers(provider) else { return Vec::new() };
        let count = offers.len();
        let mut fits = Vec::new();
        let mut matched = false;
        for Offer { model, source } in offers {
            let Some(pattern) = preference.pattern_for(&model.id) else { continue };
            matched = true;
            let taken = |it: &ModelCandidate| it.provider == provider.name && it.model == model.id;
            if self.choice.candidates.iter().any(taken) {
                continue;
            }
            let mut facts = self.table.facts(&provider.name, &model.id);
            // The list is more recent than the table, so its values take precedence.
            facts.price = model.price.filter(|_| !provider.is_free).or(facts.price);
            facts.context_tokens = model.context_tokens.or(facts.context_tokens);
            match self.objection(preference, pattern, &model.id, &facts) {
                Some(reason) => self.passed.push((provider.name.clone(), model.id, reason)),
                None => fits.push(Fit { provider, pattern, model, source, facts }),
            }
        }
        if !matched && preference.provider != "*" {
            let reason = format!("none of its {count} ids matches {}", patterns(preference));
            self.skip(provider, &reason, false);
        }
        self.note_missing(preference, provider);
        fits
    }

    /// Lists the models that the provider offers. Returns `None` if the whole provider is skipped.
    fn offers(&mut self, provider: &ResolvedModel) -> Option<Vec<Offer>> {
        let why = match self.lists.get(&provider.name) {
            Some(ModelListing::Read(models)) => {
                let offer = |model: &ListedModel| Offer { model: model.clone(), source: "listed".to_owned() };
                return Some(models.iter().map(offer).collect());
            }
            Some(ModelListing::Failed(failure)) if failure.key_refused => {
                self.skip(provider, &failure.why, false);
                return None;
            }
            Some(ModelListing::Failed(failure)) => format!("its list can't be read ({})", failure.why),
            None => "its list was not read, because an earlier preference matched".to_owned(),
        };
        let pinned: Vec<&str> = self.table.pinned(&provider.name).collect();
        if provider.is_local || pinned.is_empty() {
            let rest = if provider.is_local { "" } else { ", and the table has no model id for it" };
            self.skip(provider, &format!("{why}{rest}"), false);
            return None;
        }
        let offer = |id: &str| Offer { model: ListedModel::new(id), source: format!("pinned id: {why}") };
        Some(pinned.into_iter().map(offer).collect())
    }

    /// Returns why we do not use a matching model, if there is a reason.
    fn objection(
        &self,
        preference: &Preference,
        pattern: &IdPattern,
        id: &str,
        facts: &ModelFacts,
    ) -> Option<String> {
        // A pattern without `*` names a single id, so exclusions do not apply to it.
        let exclusion = self.table.exclusion(self.role, id).filter(|_| !pattern.is_exact());
        if let Some(exclusion) = exclusion {
            return Some(format!("excluded by {}", exclusion.as_str()));
        }
        let least = self.table.min_context_tokens(self.role);
        if let Some(tokens) = facts.context_tokens.filter(|tokens| *tokens < least) {
            return Some(format!("accepts {tokens} tokens, but the role needs {least}"));
        }
        over_cap(preference, facts).filter(|_| !self.ignores_caps)
    }

    /// Reports ids that are in our table but no longer in the provider's list.
    fn note_missing(&mut self, preference: &Preference, provider: &ResolvedModel) {
        let Some(ModelListing::Read(models)) = self.lists.get(&provider.name) else { return };
        for (id, retired) in self.table.whole_ids(&provider.name) {
            let wanted = preference.pattern_for(id).is_some();
            if wanted && !models.iter().any(|model| model.id == id) {
                let reason = if retired {
                    "retired, and not listed by the provider"
                } else {
                    "not listed by the provider"
                };
                self.passed.push((provider.name.clone(), id.to_owned(), reason.to_owned()));
            }
        }
    }

    fn finish(self) -> ModelChoice {
        let mut choice = self.choice;
        let mut seen = BTreeSet::new();
        for (provider, model, reason) in self.passed {
            // A later preference may have accepted a model that an earlier one has skipped.
            let taken = choice.candidates.iter().any(|it| it.provider == provider && it.model == model);
            if taken || !seen.insert((provider.clone(), model.clone())) {
                continue;
            }
            let same = choice.passed_over.iter_mut().find(|entry| {
                !entry.models.is_empty() && entry.provider == provider && entry.reason == reason
            });
            match same {
                Some(entry) => entry.models.push(model),
                None => choice.passed_over.push(SkippedModels {
                    provider,
                    models: vec![model],
                    reason,
                    is_not_set_up: false,
                }),
            }
        }
        choice
    }
}

/// Sort key for newest first: the creation time in the list, then the version in the id.
fn newest_first(fit: &Fit<'_>) -> (Reverse<u64>, Reverse<[Vec<u64>; 2]>, String) {
    let id = &fit.model.id;
    (Reverse(fit.model.created.unwrap_or(0)), Reverse(version(id)), id.clone())
}

/// Splits the numbers of an id into those before a date and those from the date on. For example,
/// `claude-sonnet-4-20250514` is older than `claude-sonnet-4-5`.
fn version(id: &str) -> [Vec<u64>; 2] {
    const SMALLEST_DATE: u64 = 1_000;
    let name = id.rsplit('/').next().unwrap_or_default();
    let numbers = name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    let mut version: Vec<u64> = numbers.collect();
    let date = version.iter().position(|number| *number >= SMALLEST_DATE).unwrap_or(version.len());
    let date = version.split_off(date);
    [version, date]
}

/// Computes the cost of a typical call in nanodollars. Unknown costs sort last.
fn cost(fit: &Fit<'_>) -> u64 {
    match (fit.provider.is_free, fit.facts.price) {
        (true, _) => 0,
        (false, Some(price)) => (price.cost(&TYPICAL) * 1e9) as u64,
        (false, None) => u64::MAX,
    }
}

/// Returns why the price cap of a preference excludes a model, if it does.
fn over_cap(preference: &Preference, facts: &ModelFacts) -> Option<String> {
    let (price, cap) = (facts.price?.input, preference.max_input_price?);
    (price > cap).then(|| {
        format!("over the price cap: {} per million input tokens, cap {}", dollars(price), dollars(cap))
    })
}

fn reason(preference: &Preference, fits: &[Fit<'_>], index: usize) -> String {
    let fit = &fits[index];
    let is_dated = fits.iter().any(|other| other.model.created != fit.model.created);
    let place = match preference.order {
        Order::Cheapest => String::new(),
        Order::Newest if fits.len() == 1 => "the only one, ".to_owned(),
        Order::Newest if !is_dated => format!("{} of {} by version, ", index + 1, fits.len()),
        Order::Newest if index == 0 => format!("newest of {}, ", fits.len()),
        Order::Newest => format!("{} of {}, newest first, ", index + 1, fits.len()),
    };
    let price = match (fit.provider.is_free, fit.facts.price) {
        (true, _) => "free".to_owned(),
        (false, Some(price)) => price_text(&price),
        (false, None) => "price unknown".to_owned(),
    };
    let cap = match over_cap(preference, &fit.facts) {
        Some(over_cap) => format!(", {over_cap}, but nothing cheaper is available"),
        None => String::new(),
    };
    format!("{}, matches {}, {place}{price}{cap}", fit.source, fit.pattern.as_str())
}

fn price_text(price: &Price) -> String {
    format!("{} in, {} out per million tokens", dollars(price.input), dollars(price.output))
}

fn dollars(price: f64) -> String {
    // The lowest prices differ only in the third and fourth decimal. For the others, two decimals are usual.
    let text = format!("{price:.4}");
    let cut = text.trim_end_matches('0');
    let places = cut.rsplit_once('.').map_or(0, |(_, places)| places.len()).max(2);
    format!("${price:.places$}")
}

fn patterns(preference: &Preference) -> String {
    preference.patterns.iter().map(IdPattern::as_str).collect::<Vec<_>>().join(", ")
}
