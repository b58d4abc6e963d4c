//! Compares calls with alternative ways to get the same information, in bytes.

use std::ops::ControlFlow;

use forage_fs::RelPath;
use forage_tools::tools::SearchRequest;
use forage_tools::tools::search::each;
use forage_tools::{CallHead, Context, ShownFile};
use serde_json::{Value, json};

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
        let bytes = |id: &str| {
            let call = self.gathered.call(id)?;
            let context = self.look.again(&call.head).ok()?;
            Some((file_bytes(&context, &call.head), grep_bytes(&context, &call.head)))
        };
        let told = |id: &&str| {
            let (files, grep) = bytes(id).unwrap_or_default();
            let (plain, context) = grep.unzip();
            json!({ "id": id, "file_bytes": files, "grep_bytes": plain, "context_bytes": context })
        };
        Ok(json!({ "calls": ids.iter().map(told).collect::<Vec<_>>() }))
    }
}

/// Looks up the current size in bytes of each file that a call has shown, in its order. The size is 0 if the
/// file is gone or must not be read.
fn file_bytes(context: &Context, head: &CallHead) -> Vec<u64> {
    let bytes = |file: &ShownFile| {
        let root = context.roots.all().get(file.root)?;
        let path = RelPath::parse(&file.path, &RelPath::root()).ok()?;
        Some(root.open_file(&path).ok()?.size())
    };
    head.head.shown.iter().map(|file| bytes(file).unwrap_or(0)).collect()
}

/// Computes how many bytes a search for the same terms would print, without and with context. Returns `None`
/// if the call is not a line search.
fn grep_bytes(context: &Context, head: &CallHead) -> Option<(u64, u64)> {
    let arguments = &head.arguments;
    let patterns: Vec<&str> = match head.tool.as_str() {
        "grep_search" | "Search" => vec![arguments["pattern"].as_str()?],
        "keyword_search" => arguments["search_terms"].as_array()?.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let (mut plain, mut with_context) = (0, 0);
    for pattern in patterns {
        let mut request = SearchRequest::new(pattern).context(CONTEXT_LINES);
        request.path = arguments["path"].as_str().map(str::to_owned);
        // We print each line as `path:line:text`.
        each(context, request, |records| {
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
    }
    Some((plain, with_context))
}
