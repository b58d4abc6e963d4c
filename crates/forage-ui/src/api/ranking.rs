//! Why a file is where it is in a ranking.

use std::sync::Arc;

use forage_rank::RankWeights;
use forage_tools::registry;
use forage_tools::tools::{RankRequest, RankedFile, SearchIndex};
use serde_json::{Map, Value, json};

use super::{Answered, Api, Refusal};
use crate::query::Query;

/// Files that are ranked for the page.
const FILES: i64 = 30;

/// Files among which an expected one is looked for.
const FURTHER_FILES: i64 = 100;

impl Api {
    pub(super) fn rank(&self, query: &Query) -> Answered {
        let (built_in, configured) = (RankWeights::default(), self.look.weights());
        let mut used = RankWeights::clone(&configured);
        let changed: Map<String, Value> = match query.get("weights") {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Refusal::request(format!("`weights` is no object of numbers: {error}")))?,
            None => Map::new(),
        };
        for (rule, weight) in &changed {
            let (Some(place), Some(weight)) = (used.rules.get_mut(rule), weight.as_f64()) else {
                return Err(Refusal::request(format!(
                    "no rule is called {rule}, or its weight is no number"
                )));
            };
            *place = weight as f32;
        }
        let mut context = self.beneath(query)?;
        context.ranking = Some(Arc::new(used.clone()));
        let asked = query.needed("query")?;
        let request = |limit| RankRequest::new(asked).code_tokens(0).explain(true).limit(limit);
        let failed = |error: forage_tools::ToolError| Refusal {
            code: error.code(),
            ..Refusal::failed(error.told(&context.names))
        };
        let answer = registry::answer::<SearchIndex>(&context, request(FILES)).map_err(failed)?;
        let wanted = query.get("expected").filter(|path| !path.is_empty());
        let expected = match wanted {
            None => Value::Null,
            Some(path) => {
                let ranked =
                    registry::call::<SearchIndex>(&context, request(FURTHER_FILES)).map_err(failed)?;
                let alone = registry::call::<SearchIndex>(&context, request(1).path(path)).map_err(failed)?;
                expected(path, &ranked.response.files, alone.response.files.first())
            }
        };
        let weights = used.rules.iter().map(|(rule, used)| {
            let of = |weights: &RankWeights| number(weights.rules.get(rule.name).unwrap_or_default());
            json!({
                "rule": rule.name, "built_in": of(&built_in), "configured": of(&configured), "used": number(used),
            })
        });
        let is_changed =
            |(rule, used): &(&forage_rank::RankingRule, f32)| built_in.rules.get(rule.name) != Some(*used);
        let lines: Vec<String> = used
            .rules
            .iter()
            .filter(is_changed)
            .map(|(rule, used)| format!("{} = {used}", rule.name))
            .collect();
        let table = format!("[tools.search_index.weights]\n{}\n", lines.join("\n"));
        Ok(json!({
            "answer": answer.records(),
            "weights": weights.collect::<Vec<_>>(),
            "expected": expected,
            "keep": {
                "query": wanted.map(|path| known_query(asked, path)),
                "weights": (!lines.is_empty()).then_some(table),
            },
        }))
    }
}

/// A query of a set, as sets for evaluation have it.
fn known_query(query: &str, path: &str) -> String {
    json!({ "query": query, "relevant": [path] }).to_string()
}

/// A weight as it is written in a configuration.
fn number(weight: f32) -> Value {
    weight.to_string().parse().map_or(Value::Null, |weight: f64| json!(weight))
}

/// Where a file is among those that are ranked, and which rules gave the first something and it nothing. `alone` is the file as
/// it is ranked by itself, for one that is not among them.
fn expected(path: &str, files: &[RankedFile], alone: Option<&RankedFile>) -> Value {
    let at = files.iter().position(|file| file.path == path);
    let note = at.is_none().then(|| format!("it is not among the first {}", files.len()));
    let Some(file) = at.map(|at| &files[at]).or(alone.filter(|file| file.path == path)) else {
        let note = "it has nothing of what is asked for, or is not in the index";
        return json!({ "path": path, "rank": null, "score": null, "reasons": [], "lacks": [], "note": note });
    };
    let has = |rule: &str| file.reasons.iter().any(|reason| reason.rule == rule && reason.gives > 0.0);
    let first = files.first().map(|file| &file.reasons[..]).unwrap_or_default();
    let lacks: Vec<_> = first
        .iter()
        .filter(|reason| reason.gives > 0.0 && !has(reason.rule))
        .map(|reason| reason.rule)
        .collect();
    json!({
        "path": path, "rank": at.map(|at| at + 1), "score": file.score, "reasons": file.reasons, "lacks": lacks,
        "note": note,
    })
}
