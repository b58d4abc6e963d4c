//! What `forage eval` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use forage_rank::RuleWeights;
use forage_rank::evaluation::{Ablated, AnsweredQuery, Figures, NDCG_CUT, RECALL_CUTS, ablate, percentile};
use forage_tools::limits::BYTES_PER_TOKEN;

use super::history::Account;
use super::limits;
use super::lines::MeasuredLines;
use super::measure::Measured;
use super::records::{
    AblatedRule, AnswerTokens, EvaluatedQuery, Evaluation, HistoryOfSet, LatencyPercentiles, MissingTarget,
    RankingFigures,
};

/// The figures of a run.
pub(super) struct EvalReport<'a> {
    measured: &'a Measured,
    rules: &'a RuleWeights,
    /// Where the weights come from, if they are not those that are built in.
    weights_source: Option<String>,
    groups: [(&'static str, BTreeMap<String, Figures>); 3],
    all: Figures,
    ablated: Option<Vec<Ablated>>,
}

impl<'a> EvalReport<'a> {
    pub(super) fn new(
        measured: &'a Measured,
        rules: &'a RuleWeights,
        weights_source: Option<String>,
        ablates: bool,
    ) -> Self {
        let queries = &measured.queries;
        let groups = [
            ("category", grouped(queries, rules, |query| &query.category)),
            ("language", grouped(queries, rules, |query| &query.language)),
            ("set", grouped(queries, rules, |query| &query.repository)),
        ];
        let ablated = ablates.then(|| ablate(queries, rules));
        Self { measured, rules, weights_source, groups, all: Figures::of(queries, rules), ablated }
    }

    fn latency(&self, share: f64) -> Option<f64> {
        let times: Vec<f64> = self.measured.queries.iter().map(|query| query.milliseconds).collect();
        percentile(&times, share)
    }

    /// Mean of tokens, of how many answers, and how many calls failed.
    fn tokens(&self) -> (Option<f64>, usize, usize) {
        let bytes: Vec<usize> = self.measured.answer_bytes.iter().flatten().copied().collect();
        let sum: usize = bytes.iter().sum();
        let mean = (!bytes.is_empty()).then(|| sum as f64 / bytes.len() as f64 / BYTES_PER_TOKEN);
        (mean, bytes.len(), self.measured.answer_bytes.len() - bytes.len())
    }

    fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        let queries = self.measured.queries.iter();
        queries.flat_map(|query| query.missing.iter().map(|path| (query.repository.as_str(), path.as_str())))
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.all.queries == 0 {
            text.push_str("there are no queries\n");
        } else {
            self.push_figures(&mut text);
        }
        if let Some(lines) = &self.measured.lines {
            text.push_str(&lines.text());
        }
        if let Some(history) = &self.measured.history {
            push_history(&mut text, history, self.all.queries);
        }
        if let Some(saved) = &self.measured.saved {
            let _ = writeln!(text, "saved     {}", saved.display());
        }
        if let Some(source) = &self.weights_source {
            let _ = writeln!(text, "weights   tools.search_index.weights ({source})");
        }
        if let Some(ablated) = self.ablated.as_ref().filter(|_| self.all.queries > 0) {
            push_ablated(&mut text, ablated);
        }
        text
    }

    fn push_figures(&self, text: &mut String) {
        let shown = self.groups.iter().filter(|(_, group)| group.len() > 1);
        let rows: Vec<(String, Figures)> = shown
            .flat_map(|(title, group)| {
                let name = |name: &str| if name.is_empty() { "(none)".to_owned() } else { name.to_owned() };
                group.iter().map(move |(key, figures)| (format!("{title} {}", name(key)), *figures))
            })
            .chain([("all".to_owned(), self.all)])
            .collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let _ = write!(text, "{:width$}  queries  NDCG@{NDCG_CUT}", "");
        for cut in RECALL_CUTS {
            let _ = write!(text, "{:>11}", format!("recall@{cut}"));
        }
        let _ = writeln!(text, "    MRR");
        for (name, figures) in &rows {
            let _ = write!(text, "{name:width$}  {:7}  {:7.3}", figures.queries, figures.ndcg);
            for recall in figures.recall {
                let _ = write!(text, "{recall:11.3}");
            }
            let _ = writeln!(text, "  {:5.3}", figures.reciprocal_rank);
        }
        text.push('\n');
        let sets = &self.measured.sets;
        let (files, wordless) = sets
            .iter()
            .fold((0, 0), |(files, wordless), set| (files + set.files, wordless + set.files_without_text));
        let seconds: f64 = sets.iter().map(|set| set.seconds).sum();
        let _ = write!(text, "files     {files} indexed in memory in {seconds:.1} s");
        if wordless > 0 {
            let _ = write!(text, "; {wordless} more are no text, too large, or can't be read");
        }
        text.push('\n');
        if let (Some(median), Some(slow)) = (self.latency(0.5), self.latency(0.99)) {
            let _ = writeln!(
                text,
                "latency   p50 {median:.2} ms, p99 {slow:.2} ms: ranking alone, warm, one query after the other"
            );
        }
        if let (Some(mean), answers, failed) = self.tokens() {
            let at =
                if sets.iter().any(|set| set.at_revision) { ", its lines of the working tree" } else { "" };
            let failed = if failed > 0 { format!("; {failed} calls failed") } else { String::new() };
            let _ = writeln!(
                text,
                "tokens    {mean:.0} on average in {answers} answers of search_index (at {BYTES_PER_TOKEN} bytes{at}){failed}"
            );
        }
        let all: usize = self.measured.queries.iter().map(|query| query.targets.len()).sum();
        let missing: Vec<_> = self.missing().collect();
        if !missing.is_empty() {
            let _ = writeln!(
                text,
                "targets   {} of {all} are not among the files, and count as not found:",
                missing.len()
            );
            for (set, path) in missing.iter().take(limits::MISSING_SHOWN) {
                let _ = writeln!(text, "            {set}: {path}");
            }
            if missing.len() > limits::MISSING_SHOWN {
                let _ = writeln!(text, "            and {} more", missing.len() - limits::MISSING_SHOWN);
            }
        }
    }

    /// For programs.
    pub(super) fn records(&self) -> Evaluation<'_> {
        let measured = self.measured;
        let (mean, answers, failed) = self.tokens();
        let [by_category, by_language, by_set] = self.groups.each_ref().map(|(_, group)| {
            group.iter().map(|(name, figures)| (name.as_str(), RankingFigures::from(figures))).collect()
        });
        Evaluation {
            sets: &measured.sets,
            all: RankingFigures::from(&self.all),
            latency_ms: LatencyPercentiles { p50: self.latency(0.5), p99: self.latency(0.99) },
            tokens: AnswerTokens { mean, answers, failed, bytes_per_token: BYTES_PER_TOKEN },
            missing_targets: self.missing().map(|(set, path)| MissingTarget { set, path }).collect(),
            weights: self.weights_source.as_deref().unwrap_or("built in"),
            by_category,
            by_language,
            by_set,
            queries: measured.queries.iter().map(|query| self.query(query)).collect(),
            lines: measured.lines.as_ref().map(MeasuredLines::records),
            history: measured.history.as_ref().map(|history| HistoryOfSet::of(history, self.all.queries)),
            saved: measured.saved.as_ref().map(|path| path.display().to_string()),
            ablation: self.ablated.as_ref().map(|ablated| ablated.iter().map(AblatedRule::from).collect()),
        }
    }

    fn query(&self, query: &'a AnsweredQuery) -> EvaluatedQuery<'a> {
        EvaluatedQuery {
            set: &query.repository,
            category: &query.category,
            query: &query.query,
            targets: &query.targets,
            ranks: query.ranks(self.rules),
            ndcg: query.ndcg(self.rules, NDCG_CUT),
            milliseconds: query.milliseconds,
        }
    }
}

fn grouped(
    queries: &[AnsweredQuery],
    rules: &RuleWeights,
    key: impl Fn(&AnsweredQuery) -> &String,
) -> BTreeMap<String, Figures> {
    let mut groups: BTreeMap<String, Vec<&AnsweredQuery>> = BTreeMap::new();
    for query in queries {
        groups.entry(key(query).clone()).or_default().push(query);
    }
    groups.into_iter().map(|(name, queries)| (name, Figures::of(queries, rules))).collect()
}

/// How a set came about, for people.
pub(super) fn push_history(text: &mut String, history: &Account, queries: usize) {
    let Account { base, commits, is_cut, others } = history;
    let short = &base[..base.len().min(12)];
    let more = if *is_cut { " (there are more)" } else { "" };
    let _ = writeln!(
        text,
        "history   {queries} queries of {commits} commits{more}; the files are those of {short}, before all of them"
    );
    for (reason, count) in others {
        let _ = writeln!(text, "            {count} {reason}");
    }
}

fn push_ablated(text: &mut String, ablated: &[Ablated]) {
    let width = ablated.iter().map(|of| of.rule.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{:width$}  weight  NDCG@{NDCG_CUT} without  difference", "rule");
    for of in ablated {
        let (name, weight, ndcg, difference) = (of.rule.name, of.weight, of.ndcg, of.difference);
        let _ = writeln!(text, "{name:width$}  {weight:6.3}  {ndcg:15.4}  {difference:+10.4}");
    }
}
