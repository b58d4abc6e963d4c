//! `forage eval --lines`: measures how many of the relevant lines our answers show, and compares this with
//! other programs' answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use forage_rank::evaluation::{KnownQuery, QuerySet, count_lines};
use forage_rank::{limits as rank_limits, model_tokens};
use forage_tools::{Workspace, registry};
use serde_json::{Value, json};

use super::records::{
    AnswerLines, AnsweringWay, FigureDifference, LanguageLineShares, LineShares, LinesEvaluation,
    WayDifferences,
};
use super::set;

/// A file with the answers of another program, from `--beside NAME=FILE`.
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

/// The answers of a run, and those of other programs.
pub(super) struct MeasuredLines {
    tokens: u64,
    others: Vec<OtherAnswers>,
    answered: Vec<AnsweredLines>,
    /// The number of queries without known lines, which are skipped.
    without: usize,
    /// The number of failed calls. These count as answers without lines.
    failed: usize,
}

struct OtherAnswers {
    name: String,
    /// The answers, by set and query.
    answers: BTreeMap<(String, String), AnswerLines>,
}

/// A query with known lines, and the lines that each program shows for it.
struct AnsweredLines {
    language: String,
    answer: AnswerLines,
    /// The metrics and tokens of each program, ours first. An entry is `None` if that program has no answer.
    ways: Vec<Option<(LineShares, u64)>>,
}

impl MeasuredLines {
    /// Reads the answers of the other programs.
    pub(super) fn new(tokens: u64, others: &[NamedAnswers], working: &Path) -> anyhow::Result<Self> {
        let read = |other: &NamedAnswers| -> anyhow::Result<OtherAnswers> {
            let path = working.join(&other.path);
            let shown = other.path.display();
            let bytes = set::bytes(&path).with_context(|| format!("can't read {shown}"))?;
            let mut value: Value =
                serde_json::from_slice(&bytes).with_context(|| format!("{shown} is not valid JSON"))?;
            // The file may also be the output of this command, which contains the answers in a field.
            if let Some(answers) = value.pointer_mut("/lines/answers") {
                value = answers.take();
            }
            let answers: Vec<AnswerLines> = serde_json::from_value(value)
                .with_context(|| format!("{shown} contains no list of answers"))?;
            // The file is untrusted, and a short range can name billions of lines, which
            // `LineShares::from_answer` expands.
            if let Some(answer) =
                answers.iter().find(|answer| count_lines(&answer.shown) > rank_limits::KNOWN_LINES)
            {
                let max = rank_limits::KNOWN_LINES;
                bail!("{shown}: the answer to {:?} shows more than {max} lines", answer.commit);
            }
            let answers =
                answers.into_iter().map(|answer| ((answer.set.clone(), answer.commit.clone()), answer));
            Ok(OtherAnswers { name: other.name.clone(), answers: answers.collect() })
        };
        let others = others.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { tokens, others, answered: Vec::new(), without: 0, failed: 0 })
    }

    /// Asks the tool for code, and measures the lines that all programs show for this query.
    pub(super) fn ask(&mut self, workspace: &Workspace, set: &QuerySet, query: &KnownQuery) {
        if query.lines.values().all(Vec::is_empty) {
            self.without += 1;
            return;
        }
        let key = if query.commit.is_empty() { &query.query } else { &query.commit };
        let below = set.benchmark_root.as_deref().unwrap_or_default().trim_matches('/');
        let answer = shown(workspace, query, self.tokens, below).unwrap_or_else(|| {
            self.failed += 1;
            AnswerLines::default()
        });
        let answer = AnswerLines { set: set.name.clone(), commit: key.clone(), ..answer };
        let figures = |answer: &AnswerLines| (LineShares::from_answer(query, answer), answer.tokens);
        let others = self.others.iter().map(|other| {
            let by = |key: &String| other.answers.get(&(set.name.clone(), key.clone()));
            by(key).or_else(|| by(&query.query)).map(figures)
        });
        self.answered.push(AnsweredLines {
            language: set.language.clone(),
            ways: std::iter::once(Some(figures(&answer))).chain(others).collect(),
            answer,
        });
    }

    /// Returns an error if there was nothing to measure.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.answered.is_empty() {
            bail!("no query of the sets has `lines`, so there is nothing to measure");
        }
        Ok(())
    }

    /// Returns the metrics of a program for each query. They are zero where it has no answer.
    fn figures(&self, way: usize) -> Vec<LineShares> {
        self.answered.iter().map(|it| it.ways[way].unwrap_or_default().0).collect()
    }

    fn way<'a>(&self, way: usize, name: &'a str) -> AnsweringWay<'a> {
        let (own, figures) = (self.figures(0), self.figures(way));
        let tokens: Vec<u64> = self.answered.iter().filter_map(|it| Some(it.ways[way]?.1)).collect();
        let difference = |figure: fn(&LineShares) -> f64| {
            let values = |of: &[LineShares]| of.iter().map(figure).collect::<Vec<f64>>();
            FigureDifference::from_pairs(&values(&figures), &values(&own))
        };
        let is_other = way > 0;
        AnsweringWay {
            shares: LineShares::mean(&figures),
            name,
            tokens: tokens.iter().sum::<u64>() as f64 / tokens.len().max(1) as f64,
            forage_less_this: is_other.then(|| WayDifferences {
                recall: difference(|it| it.recall),
                f1: difference(|it| it.f1),
                edits_seen: difference(|it| it.edits_seen),
            }),
            answers: is_other.then_some(tokens.len()),
        }
    }

    pub(super) fn records(&self) -> LinesEvaluation<'_> {
        let mut languages: BTreeMap<&str, Vec<LineShares>> = BTreeMap::new();
        for (answered, figures) in self.answered.iter().zip(self.figures(0)) {
            languages.entry(&answered.language).or_default().push(figures);
        }
        let of_language = |(language, figures): (_, Vec<LineShares>)| {
            (language, LanguageLineShares { shares: LineShares::mean(&figures), queries: figures.len() })
        };
        let names = std::iter::once("forage").chain(self.others.iter().map(|other| &*other.name));
        LinesEvaluation {
            code_tokens: self.tokens,
            queries: self.answered.len(),
            queries_without_lines: self.without,
            failed: self.failed,
            ways: names.enumerate().map(|(way, name)| self.way(way, name)).collect(),
            by_language: languages.into_iter().map(of_language).collect(),
            answers: self.answered.iter().map(|it| &it.answer).collect(),
        }
    }
}

impl LinesEvaluation<'_> {
    /// Formats the metrics as text.
    pub(super) fn text(&self) -> String {
        let (without, failed) = (self.queries_without_lines, self.failed);
        let mut text = format!(
            "\nlines     of {} queries, {} tokens of code requested{}{}\n",
            self.queries,
            self.code_tokens,
            if without > 0 { format!("; {without} more have no lines") } else { String::new() },
            if failed > 0 {
                format!("; {} failed", forage_base::count(failed as u64, "call"))
            } else {
                String::new()
            },
        );
        let languages = self.by_language.iter().filter(|_| self.by_language.len() > 1);
        let rows: Vec<(String, String, LineShares)> = languages
            .map(|(name, of)| {
                let name = if name.is_empty() { "(none)" } else { name };
                (format!("language {name} ({})", of.queries), String::new(), of.shares)
            })
            .chain(
                self.ways.iter().map(|way| (way.name.to_owned(), format!("{:.0}", way.tokens), way.shares)),
            )
            .collect();
        let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "{:width$}  tokens  recall  precision     F1  files shown  files named  edits seen",
            ""
        );
        for (name, tokens, shares) in rows {
            let LineShares { recall, precision, f1, files_shown, files_named, edits_seen } = shares;
            let _ = writeln!(
                text,
                "{name:width$}  {tokens:>6}  {recall:6.3}  {precision:9.3}  {f1:5.3}  {files_shown:11.3}  {files_named:11.3}  {edits_seen:10.3}"
            );
        }
        for AnsweringWay { name, answers, forage_less_this, .. } in &self.ways {
            if let Some(known) = answers.filter(|known| *known < self.queries) {
                let _ = writeln!(
                    text,
                    "compared with {name}: it has answers to {known} of {}, and shows nothing for the others",
                    self.queries
                );
            }
            let Some(WayDifferences { recall, f1, edits_seen }) = forage_less_this else { continue };
            for (figure, difference) in [("recall", recall), ("f1", f1), ("edits seen", edits_seen)] {
                let FigureDifference { mean, low, high, better, worse } = difference;
                let _ = writeln!(
                    text,
                    "compared with {name}, {figure}: {mean:+.3}, 95 % of samples {low:+.3} to {high:+.3}; \
                     {better} better, {worse} worse"
                );
            }
        }
        text
    }
}

/// Calls the tool and returns the lines of code that it shows. `below` is a prefix for its paths.
fn shown(workspace: &Workspace, query: &KnownQuery, tokens: u64, below: &str) -> Option<AnswerLines> {
    let tool = registry::find("search_index").ok()?;
    // If the query comes from a commit, the message of that commit would reveal the answer.
    let history = query.commit.is_empty();
    let arguments = json!({ "query": query.query, "code_tokens": tokens, "history": history });
    let answer = tool.call(&workspace.start_call(), arguments).ok()?;
    let mut shown = AnswerLines { tokens: model_tokens(&answer.text) as u64, ..AnswerLines::default() };
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
        let query =
            KnownQuery { lines: [("x.rs".to_owned(), vec![[1, 20]])].into(), ..KnownQuery::default() };
        forage_fuzz::target!(&seeds, |input| {
            std::fs::write(&other.path, input).unwrap();
            let Ok(measured) = MeasuredLines::new(1, std::slice::from_ref(&other), directory.path()) else {
                return;
            };
            for answer in measured.others[0].answers.values() {
                let LineShares { recall, precision, f1, .. } = LineShares::from_answer(&query, answer);
                assert!([recall, precision, f1].iter().all(|share| (0.0..=1.0).contains(share)));
            }
        });
    }
}
