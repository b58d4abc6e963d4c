//! Compares calls with alternative ways to get the same information, in bytes.

use std::ops::ControlFlow;

use forage_fs::RelPath;
use forage_tools::tools::search::each;
use forage_tools::tools::{CaseRule, GrepOutput, GrepSearch, KeywordSearch, Search, SearchRequest};
use forage_tools::{Call, CallHead, ShownFile, registry};
use serde_json::json;

use super::{Answered, Api, Refusal};
use crate::limits;
use crate::query::Query;

/// Lines of context, as the requirement for keyword_search specifies.
const CONTEXT_LINES: i64 = 10;

impl Api {
    /// Computes for each call the sizes of its files, and the output sizes of a line search without and with
    /// context.
    pub(super) fn cost(&self, query: &Query) -> Answered {
        let ids: Vec<&str> = query.needed("ids")?.split(',').collect();
        if ids.len() > limits::COST_CALLS {
            return Err(Refusal::request(format!("at most {} calls at once", limits::COST_CALLS)));
        }
        let costs = |id: &&str| {
            let record = self.gathered.call(id);
            let call = record.as_ref().and_then(|record| self.look.call_again(&record.head).ok());
            let known = record.as_ref().zip(call.as_ref());
            let files = known.map(|(record, call)| file_bytes(call, &record.head));
            let searches = known.and_then(|(record, call)| searches(call, &record.head));
            // Without a record of the call or its roots, we can't know.
            let is_line_search = searches.is_some();
            let bytes = known.zip(searches).and_then(|((_, call), requests)| grep_bytes(call, requests?));
            let (plain, context) = bytes.unzip();
            json!({
                "id": id, "file_bytes": files.unwrap_or_default(), "line_search": is_line_search,
                "grep_bytes": plain, "context_bytes": context,
            })
        };
        Ok(json!({ "calls": ids.iter().map(costs).collect::<Vec<_>>() }))
    }
}

/// Looks up the current size in bytes of each file that a call has shown, in its order. The size is `None` if
/// the file is gone or must not be read.
fn file_bytes(call: &Call, head: &CallHead) -> Vec<Option<u64>> {
    let bytes = |file: &ShownFile| {
        let root = call.roots.all().get(file.root)?;
        let path = RelPath::parse(&file.path, &RelPath::root()).ok()?;
        Some(root.open_file(&path).ok()?.size())
    };
    head.head.shown.iter().map(bytes).collect()
}

/// Converts a call to the same line searches with `rg`. The outer value is `None` if the call is not a line
/// search, the inner one if `rg` has no equivalent without further options.
fn searches(call: &Call, head: &CallHead) -> Option<Option<Vec<SearchRequest>>> {
    let arguments = head.arguments.clone();
    let requests = match head.tool.as_str() {
        "grep_search" => {
            let Ok(grep) = registry::request::<GrepSearch>(call, arguments) else { return Some(None) };
            if grep.output.is_some_and(|output| output != GrepOutput::Lines) {
                return None;
            }
            let has_equivalent = grep.syntax.is_none()
                && grep.changed.is_none()
                && grep.invert_match != Some(true)
                && grep.multiline != Some(true);
            let case = if grep.ignore_case == Some(true) { "insensitive" } else { "sensitive" };
            let line_search = json!({
                "pattern": grep.pattern, "path": grep.path, "glob": grep.file_pattern, "case": case,
                "fixed_strings": grep.fixed_strings, "word_regexp": grep.word_regexp,
                "hidden": grep.include_ignored, "no_ignore": grep.include_ignored,
            });
            let request = registry::request::<Search>(call, line_search).ok().filter(|_| has_equivalent);
            request.map(|request| vec![request])
        }
        "Search" => {
            let request = registry::request::<Search>(call, arguments).ok();
            request
                .filter(|request| request.fuzzy.is_none_or(|edits| edits <= 0))
                .map(|request| vec![request])
        }
        "keyword_search" => {
            // Its terms are regular expressions without regard to case.
            let insensitive = |term: &String| SearchRequest::new(term).case(CaseRule::Insensitive);
            let request = registry::request::<KeywordSearch>(call, arguments).ok();
            request.map(|request| request.search_terms.iter().map(insensitive).collect())
        }
        _ => return None,
    };
    Some(requests)
}

/// Computes how many bytes these searches would print, without and with context. Returns `None` if one of
/// them fails or does not complete.
fn grep_bytes(call: &Call, requests: Vec<SearchRequest>) -> Option<(u64, u64)> {
    let (mut plain, mut with_context) = (0, 0);
    for request in requests {
        let mut request = request.context(CONTEXT_LINES);
        (request.max_results, request.cursor, request.best_first) = (None, None, None);
        // We print each line as `path:line:text`.
        let outcome = each(call, request, |records| {
            for record in records {
                let data = &record.data;
                let number = data.line_number.to_string();
                let bytes =
                    (data.path.text.len() + number.len() + data.lines.text.len() + "::\n".len()) as u64;
                with_context += bytes;
                plain += if record.kind == "match" { bytes } else { 0 };
            }
            ControlFlow::Continue(())
        })
        .ok()?;
        if outcome.truncated_by.is_some() {
            return None;
        }
    }
    Some((plain, with_context))
}
