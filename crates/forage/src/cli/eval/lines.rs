//! `forage eval --lines`: how many of the lines that queries are about the answers show, beside other programs' answers.

// fuzz: fuzz_answers_of_others_are_refused_or_counted

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use forage_rank::evaluation::{
    KnownQuery, LineFigures, PairedDifference, QuerySet, ShownAnswer, count_lines,
};
use forage_rank::{limits as rank_limits, model_tokens};
use forage_tools::{Context, limits as tool_limits, registry};
use serde_json::{Value, json};

use super::records::{
    AnswerLines, AnsweringWay, LanguageLineShares, LineShares, LinesEvaluation, WayDifferences,
};
use super::set;

/// Tokens of code that are asked for unless a number is given.
const TOKENS: u64 = 8_000;

/// Tokens of code in an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeTokens(u64);

impl FromStr for CodeTokens {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self(TOKENS));
        }
        let most = tool_limits::CODE_TOKENS_MAX;
        match text.parse() {
            Ok(tokens) if (1..=most).contains(&tokens) => Ok(Self(tokens)),
            _ => Err(format!("give a number of tokens, 1 to {most}")),
        }
    }
}

/// Answers of another program, in a file.
#[derive(Clone, Debug)]
pub(super) struct NamedAnswers {
    name: String,
    path: PathBuf,
}

impl FromStr for NamedAnswers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(Self { name: name.to_owned(), path: PathBuf::from(path) })
            }
            _ => Err("give NAME=FILE".to_owned()),
        }
    }
}

/// The answers of a run, and those beside them.
pub(super) struct MeasuredLines {
    tokens: u64,
    others: Vec<OtherAnswers>,
    answered: Vec<AnsweredLines>,
    /// Queries without lines.
    without: usize,
    /// Calls that failed, and count as nothing shown.
    failed: usize,
}

struct OtherAnswers {
    name: String,
    /// By set and query.
    answers: BTreeMap<(String, String), ShownAnswer>,
}

/// A query with lines, and what is shown of them.
struct AnsweredLines {
    language: String,
    answer: ShownAnswer,
    figures: LineFigures,
    /// Of the others, in their order.
    others: Vec<LineFigures>,
    /// The tokens of theirs; `None` where there is no answer.
    tokens_of_others: Vec<Option<u64>>,
}

impl MeasuredLines {
    /// Reads the others' answers.
    pub(super) fn new(tokens: CodeTokens, others: &[NamedAnswers], working: &Path) -> anyhow::Result<Self> {
        let read = |other: &NamedAnswers| -> anyhow::Result<OtherAnswers> {
            let path = working.join(&other.path);
            let shown = other.path.display();
            let bytes = set::bytes(&path).with_context(|| format!("can't read {shown}"))?;
            let mut value: Value =
                serde_json::from_slice(&bytes).with_context(|| format!("{shown} is not valid JSON"))?;
            // What this command prints has them in it.
            if let Some(answers) = value.pointer_mut("/lines/answers") {
                value = answers.take();
            }
            let answers: Vec<ShownAnswer> =
                serde_json::from_value(value).with_context(|| format!("{shown} holds no list of answers"))?;
            if let Some(answer) =
                answers.iter().find(|answer| count_lines(&answer.shown) > rank_limits::KNOWN_LINES)
            {
                let most = rank_limits::KNOWN_LINES;
                bail!("{shown}: the answer to {:?} shows more than {most} lines", answer.commit);
            }
            let answers =
                answers.into_iter().map(|answer| ((answer.set.clone(), answer.commit.clone()), answer));
            Ok(OtherAnswers { name: other.name.clone(), answers: answers.collect() })
        };
        let others = others.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { tokens: tokens.0, others, answered: Vec::new(), without: 0, failed: 0 })
    }

    /// Asks the tool for code.
    pub(super) fn ask(&mut self, context: &Context, set: &QuerySet, query: &KnownQuery) {
        if query.lines.values().all(Vec::is_empty) {
            self.without += 1;
            return;
        }
        let key = if query.commit.is_empty() { &query.query } else { &query.commit };
        let below = set.benchmark_root.as_deref().unwrap_or_default().trim_matches('/');
        let answer = shown(context, query, self.tokens, below).unwrap_or_else(|| {
            self.failed += 1;
            ShownAnswer::default()
        });
        let answer = ShownAnswer { set: set.name.clone(), commit: key.clone(), ..answer };
        let figures = |answer: Option<&ShownAnswer>| {
            answer.and_then(|answer| LineFigures::of(query, answer)).unwrap_or_default()
        };
        let of = |other: &OtherAnswers| {
            let by = |key: &String| other.answers.get(&(set.name.clone(), key.clone())).cloned();
            by(key).or_else(|| by(&query.query))
        };
        let others: Vec<Option<ShownAnswer>> = self.others.iter().map(of).collect();
        self.answered.push(AnsweredLines {
            language: set.language.clone(),
            figures: figures(Some(&answer)),
            others: others.iter().map(|answer| figures(answer.as_ref())).collect(),
            tokens_of_others: others.into_iter().map(|answer| Some(answer?.tokens)).collect(),
            answer,
        });
    }

    /// Checks that there was something to measure.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.answered.is_empty() {
            bail!("no query of the sets has `lines`, so that nothing is known of the lines of their answers");
        }
        Ok(())
    }

    /// The figures of one way to answer: the own, or one of the others.
    fn figures(&self, other: Option<usize>) -> Vec<LineFigures> {
        let of = |it: &AnsweredLines| other.map_or(it.figures, |nth| it.others[nth]);
        self.answered.iter().map(of).collect()
    }

    fn mean_tokens(&self, other: Option<usize>) -> f64 {
        let tokens: Vec<u64> = match other {
            None => self.answered.iter().map(|it| it.answer.tokens).collect(),
            Some(nth) => self.answered.iter().filter_map(|it| it.tokens_of_others[nth]).collect(),
        };
        tokens.iter().sum::<u64>() as f64 / tokens.len().max(1) as f64
    }

    /// How many of the queries another program has answered.
    fn known(&self, nth: usize) -> usize {
        self.answered.iter().filter(|it| it.tokens_of_others[nth].is_some()).count()
    }

    fn ways(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        let others = self.others.iter().enumerate().map(|(nth, other)| (Some(nth), other.name.as_str()));
        std::iter::once((None, "forage")).chain(others)
    }

    fn by_language(&self) -> BTreeMap<&str, Vec<LineFigures>> {
        let mut languages: BTreeMap<&str, Vec<LineFigures>> = BTreeMap::new();
        for answered in &self.answered {
            languages.entry(&answered.language).or_default().push(answered.figures);
        }
        languages
    }

    /// Differences of the own answers to those of another way.
    fn differences(&self, nth: usize) -> [(&'static str, PairedDifference); 3] {
        let (own, other) = (self.figures(None), self.figures(Some(nth)));
        let of = |figure: fn(&LineFigures) -> f64| {
            let values = |of: &[LineFigures]| of.iter().map(figure).collect::<Vec<f64>>();
            PairedDifference::of(&values(&other), &values(&own))
        };
        [("recall", of(|it| it.recall)), ("f1", of(|it| it.f1)), ("edits_seen", of(|it| it.edits_seen))]
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "\nlines     of {} queries, {} tokens of code asked for{}{}\n",
            self.answered.len(),
            self.tokens,
            if self.without > 0 { format!("; {} more have no lines", self.without) } else { String::new() },
            if self.failed > 0 { format!("; {} calls failed", self.failed) } else { String::new() },
        );
        let languages = self.by_language();
        let rows: Vec<(String, f64, LineFigures)> = languages
            .iter()
            .filter(|_| languages.len() > 1)
            .map(|(name, of)| {
                (
                    format!("language {} ({})", if name.is_empty() { "(none)" } else { name }, of.len()),
                    f64::NAN,
                    LineFigures::mean(of),
                )
            })
            .chain(self.ways().map(|(other, name)| {
                (name.to_owned(), self.mean_tokens(other), LineFigures::mean(&self.figures(other)))
            }))
            .collect();
        let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "{:width$}  tokens  recall  precision     F1  files shown  files named  edits seen",
            ""
        );
        for (name, tokens, figures) in rows {
            let tokens = if tokens.is_nan() { String::new() } else { format!("{tokens:.0}") };
            let LineFigures { recall, precision, f1, files_shown, files_named, edits_seen } = figures;
            let _ = writeln!(
                text,
                "{name:width$}  {tokens:>6}  {recall:6.3}  {precision:9.3}  {f1:5.3}  {files_shown:11.3}  {files_named:11.3}  {edits_seen:10.3}"
            );
        }
        for (nth, other) in self.others.iter().enumerate() {
            let (known, all) = (self.known(nth), self.answered.len());
            if known < all {
                let _ = writeln!(
                    text,
                    "beside {}: it has answers to {known} of {all}, and shows nothing for the others",
                    other.name
                );
            }
            for (figure, difference) in self.differences(nth) {
                let PairedDifference { mean, low, high, better, worse } = difference;
                let _ = writeln!(
                    text,
                    "beside {}, {}: {mean:+.3}, 95 % of samples {low:+.3} to {high:+.3}; {better} better, {worse} worse",
                    other.name,
                    figure.replace('_', " ")
                );
            }
        }
        text
    }

    /// For programs.
    pub(super) fn records(&self) -> LinesEvaluation<'_> {
        let languages = self.by_language().into_iter().map(|(language, figures)| {
            let shares = LineShares::mean(&figures);
            (language, LanguageLineShares { shares, queries: figures.len() })
        });
        LinesEvaluation {
            code_tokens: self.tokens,
            queries: self.answered.len(),
            queries_without_lines: self.without,
            failed: self.failed,
            ways: self.ways().map(|(other, name)| self.way(other, name)).collect(),
            by_language: languages.collect(),
            answers: self.answered.iter().map(|it| AnswerLines::from(&it.answer)).collect(),
        }
    }

    fn way<'a>(&self, other: Option<usize>, name: &'a str) -> AnsweringWay<'a> {
        let differences = |nth| {
            let [recall, f1, edits_seen] = self.differences(nth).map(|(_, difference)| difference.into());
            WayDifferences { recall, f1, edits_seen }
        };
        AnsweringWay {
            shares: LineShares::mean(&self.figures(other)),
            name,
            tokens: self.mean_tokens(other),
            forage_less_this: other.map(differences),
            answers: other.map(|nth| self.known(nth)),
        }
    }
}

/// What the tool shows of code; `below` stands in front of its paths.
fn shown(context: &Context, query: &KnownQuery, tokens: u64, below: &str) -> Option<ShownAnswer> {
    let tool = registry::find("search_index").ok()?;
    // The message of the commit that it was made of would be the answer.
    let history = query.commit.is_empty();
    let arguments = json!({ "query": query.query, "code_tokens": tokens, "history": history });
    let answer = tool.call(context, arguments).ok()?;
    let mut shown = ShownAnswer { tokens: model_tokens(&answer.text) as u64, ..ShownAnswer::default() };
    for file in answer.records()["files"].as_array()? {
        let path = file["path"].as_str()?;
        let path = if below.is_empty() { path.to_owned() } else { format!("{below}/{path}") };
        let line = |value: &Value| value.as_u64().and_then(|line| u32::try_from(line).ok());
        let ranges = file["code"].as_array().into_iter().flatten();
        let ranges: Vec<[u32; 2]> =
            ranges.filter_map(|code| Some([line(&code["start_line"])?, line(&code["end_line"])?])).collect();
        if !ranges.is_empty() {
            shown.shown.insert(path.clone(), ranges);
        }
        shown.files.push(path);
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn fuzz_answers_of_others_are_refused_or_counted() {
        let directory = tempfile::tempdir().unwrap();
        let other = NamedAnswers { name: "other".to_owned(), path: directory.path().join("answers.json") };
        let seeds = forage_fuzz::seeds([
            r#"[{"set":"a","commit":"c","files":["x.rs"],"shown":{"x.rs":[[1,9],[12,12]]},"tokens":7}]"#,
            r#"{"lines":{"answers":[{"set":"","query":"q","files":[],"shown":{"x.rs":[[9,1]]}}]}}"#,
        ]);
        let query = KnownQuery {
            lines: [("x.rs".to_owned(), vec![[1, 20]])].into(),
            ..KnownQuery::new("q", Vec::new())
        };
        forage_fuzz::target!(&seeds, |input| {
            std::fs::write(&other.path, input).unwrap();
            let Ok(measured) =
                MeasuredLines::new(CodeTokens(1), std::slice::from_ref(&other), directory.path())
            else {
                return;
            };
            for answer in measured.others[0].answers.values() {
                let LineFigures { recall, precision, f1, .. } = LineFigures::of(&query, answer).unwrap();
                assert!([recall, precision, f1].iter().all(|share| (0.0..=1.0).contains(share)));
            }
        });
    }
}
