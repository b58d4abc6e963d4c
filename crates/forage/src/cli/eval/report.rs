//! Reports the metrics of `forage eval`, as records and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use forage_rank::RuleWeights;
use forage_rank::evaluation::{AnsweredQuery, MeanMetrics, NDCG_CUT, ablate, percentile};

use super::limits;
use super::lines::MeasuredLines;
use super::measure::Measured;
use super::records::{
    AblatedRule, AnswerTokens, EvaluatedQuery, Evaluation, HistoryOfSet, LatencyPercentiles, MissingTarget,
    RankingFigures,
};

/// Computes the metrics of a run.
pub(super) fn evaluation(measured: &Measured, ablates: bool) -> Evaluation<'_> {
    let (queries, rules) = (&measured.queries, RuleWeights::default());
    let times: Vec<f64> = queries.iter().map(|query| query.milliseconds).collect();
    let tokens: Vec<usize> = measured.answer_tokens.iter().flatten().copied().collect();
    let grouped = |key: fn(&AnsweredQuery) -> &str| {
        let mut groups: BTreeMap<&str, Vec<&AnsweredQuery>> = BTreeMap::new();
        for query in queries {
            groups.entry(key(query)).or_default().push(query);
        }
        let figures =
            |(name, queries)| (name, RankingFigures::from(MeanMetrics::from_queries(queries, &rules)));
        groups.into_iter().map(figures).collect()
    };
    let missing = queries
        .iter()
        .flat_map(|query| query.missing.iter().map(|path| MissingTarget { set: &query.repository, path }));
    let answered = queries.iter().map(|query| EvaluatedQuery {
        set: &query.repository,
        category: &query.category,
        query: &query.query,
        targets: &query.targets,
        ranks: query.ranks(&rules),
        ndcg: query.ndcg(&rules),
        milliseconds: query.milliseconds,
    });
    Evaluation {
        sets: &measured.sets,
        all: MeanMetrics::from_queries(queries, &rules).into(),
        latency_ms: LatencyPercentiles { p50: percentile(&times, 0.5), p99: percentile(&times, 0.99) },
        tokens: AnswerTokens {
            mean: (!tokens.is_empty()).then(|| tokens.iter().sum::<usize>() as f64 / tokens.len() as f64),
            answers: tokens.len(),
            failed: measured.answer_tokens.len() - tokens.len(),
        },
        missing_targets: missing.collect(),
        by_category: grouped(|query| &query.category),
        by_language: grouped(|query| &query.language),
        by_set: grouped(|query| &query.repository),
        queries: answered.collect(),
        lines: measured.lines.as_ref().map(MeasuredLines::records),
        history: measured.history.as_ref(),
        saved: measured.saved.as_ref().map(|path| path.display().to_string()),
        ablation: ablates.then(|| ablate(queries, &rules).iter().map(AblatedRule::from).collect()),
    }
}

impl Evaluation<'_> {
    /// Formats the metrics as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.queries.is_empty() {
            text.push_str("there are no queries\n");
        } else {
            self.push_figures(&mut text);
        }
        if let Some(lines) = &self.lines {
            text.push_str(&lines.text());
        }
        if let Some(history) = self.history {
            push_history(&mut text, history);
        }
        if let Some(saved) = &self.saved {
            let _ = writeln!(text, "saved     {saved}");
        }
        if let Some(ablation) = self.ablation.as_ref().filter(|_| !self.queries.is_empty()) {
            push_ablation(&mut text, ablation);
        }
        text
    }

    /// Adds a note on the known commits of each set.
    fn push_commits(&self, text: &mut String) {
        let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for set in self.sets {
            notes.entry(&set.commits).or_default().push(&set.name);
        }
        for (note, sets) in notes.iter().take(limits::MISSING_SHOWN) {
            let of = if self.sets.len() > 1 { format!("{}: ", sets.join(", ")) } else { String::new() };
            let _ = writeln!(text, "commits   {of}{note}");
        }
        if notes.len() > limits::MISSING_SHOWN {
            let _ = writeln!(text, "          and {} more", notes.len() - limits::MISSING_SHOWN);
        }
    }

    fn push_figures(&self, text: &mut String) {
        let groups =
            [("category", &self.by_category), ("language", &self.by_language), ("set", &self.by_set)];
        let shown = groups.into_iter().filter(|(_, group)| group.len() > 1);
        let rows: Vec<(String, &RankingFigures)> = shown
            .flat_map(|(title, group)| {
                let name =
                    move |name: &str| format!("{title} {}", if name.is_empty() { "(none)" } else { name });
                group.iter().map(move |(key, figures)| (name(key), figures))
            })
            .chain([("all".to_owned(), &self.all)])
            .collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let _ =
            writeln!(text, "{:width$}  queries  NDCG@{NDCG_CUT}   recall@1   recall@5  recall@10    MRR", "");
        for (name, figures) in &rows {
            let RankingFigures { queries, ndcg, recall_at_1, recall_at_5, recall_at_10, mrr } = figures;
            let _ = writeln!(
                text,
                "{name:width$}  {queries:7}  {ndcg:7.3}{recall_at_1:11.3}{recall_at_5:11.3}{recall_at_10:11.3}  {mrr:5.3}"
            );
        }
        text.push('\n');
        let files: u64 = self.sets.iter().map(|set| set.files).sum();
        let wordless: u64 = self.sets.iter().map(|set| set.files_without_text).sum();
        let seconds: f64 = self.sets.iter().map(|set| set.seconds).sum();
        let _ = write!(text, "files     {files} indexed in memory in {seconds:.1} s");
        if wordless > 0 {
            let _ = write!(text, "; {wordless} more are not text, too large, or can't be read");
        }
        text.push('\n');
        self.push_commits(text);
        if let LatencyPercentiles { p50: Some(median), p99: Some(slow) } = self.latency_ms {
            let _ = writeln!(
                text,
                "latency   p50 {median:.2} ms, p99 {slow:.2} ms: ranking only, warm, one query at a time"
            );
        }
        if let AnswerTokens { mean: Some(mean), answers, failed } = self.tokens {
            let is_at_revision = self.sets.iter().any(|set| set.at_revision);
            let at = if is_at_revision { " with lines of the working tree" } else { "" };
            let failed = if failed > 0 {
                format!("; {} failed", forage_base::count(failed as u64, "call"))
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "tokens    {mean:.0} on average in {answers} answers of search_index{at}{failed}"
            );
        }
        let all: usize = self.queries.iter().map(|query| query.targets.len()).sum();
        let missing = &self.missing_targets;
        if !missing.is_empty() {
            let _ = writeln!(
                text,
                "targets   {} of {all} are not among the files, and count as not found:",
                missing.len()
            );
            for MissingTarget { set, path } in missing.iter().take(limits::MISSING_SHOWN) {
                let _ = writeln!(text, "            {set}: {path}");
            }
            if missing.len() > limits::MISSING_SHOWN {
                let _ = writeln!(text, "            and {} more", missing.len() - limits::MISSING_SHOWN);
            }
        }
    }
}

fn push_history(text: &mut String, history: &HistoryOfSet) {
    let HistoryOfSet { base, commits, is_cut, queries, others } = history;
    let short = &base[..base.len().min(12)];
    let more = if *is_cut { " (there are more)" } else { "" };
    let _ = writeln!(
        text,
        "history   {queries} queries from {commits} commits{more}; the files are those of {short}, before \
         all of them"
    );
    for (reason, count) in others {
        let _ = writeln!(text, "            {count} {reason}");
    }
}

fn push_ablation(text: &mut String, ablation: &[AblatedRule]) {
    let width = ablation.iter().map(|of| of.rule.len()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{:width$}  weight  NDCG@{NDCG_CUT} without  difference", "rule");
    for AblatedRule { rule, weight, ndcg_without, difference, .. } in ablation {
        let _ = writeln!(text, "{rule:width$}  {weight:6.3}  {ndcg_without:15.4}  {difference:+10.4}");
    }
}
