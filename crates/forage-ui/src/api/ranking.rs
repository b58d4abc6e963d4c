//! Explains the rank of a file.

use forage_tools::registry;
use forage_tools::tools::{RankRequest, RankedFile, SearchIndex};
use serde_json::{Value, json};

use super::{Answered, Api, Refusal};
use crate::query::Query;

/// Number of files that we rank for the page.
const FILES: i64 = 30;

/// Number of files among which we look for an expected file.
const FURTHER_FILES: i64 = 100;

impl Api {
    pub(super) fn rank(&self, query: &Query) -> Answered {
        let call = self.call_below(query)?;
        let asked = query.needed("query")?;
        let request = |limit| RankRequest::new(asked).code_tokens(0).explain(true).limit(limit);
        let failed = |error: forage_tools::ToolError| Refusal {
            code: error.code(),
            ..Refusal::failed(error.message("search_index", &call.workspace.names))
        };
        let answer = registry::answer::<SearchIndex>(&call, request(FILES)).map_err(failed)?;
        let Some(path) = query.get("expected").filter(|path| !path.is_empty()) else {
            return Ok(json!({ "answer": answer.records(), "expected": null, "keep": null }));
        };
        let ranked = registry::call::<SearchIndex>(&call, request(FURTHER_FILES)).map_err(failed)?;
        let alone = registry::call::<SearchIndex>(&call, request(1).path(path)).map_err(failed)?;
        Ok(json!({
            "answer": answer.records(),
            "expected": expected(path, &ranked.response.files, alone.response.files.first()),
            // A query in the format of a `forage eval` set.
            "keep": json!({ "query": asked, "relevant": [path] }).to_string(),
        }))
    }
}

/// Describes the rank of an expected file, and the rules that contribute to the first file's score but not to
/// its own. `alone` is the expected file ranked on its own, for use if it is not among `files`.
fn expected(path: &str, files: &[RankedFile], alone: Option<&RankedFile>) -> Value {
    let at = files.iter().position(|file| file.path == path);
    let note = at.is_none().then(|| format!("it is not among the first {}", files.len()));
    let Some(file) = at.map(|at| &files[at]).or(alone.filter(|file| file.path == path)) else {
        let note = "it matches nothing in the query, or is not in the index";
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
