//! Compares calls with alternative ways to get the same information, in bytes.

use std::ops::ControlFlow;

use forage_fs::RelPath;
use forage_tools::tools::SearchRequest;
use forage_tools::tools::search::each;
use forage_tools::{CallHead, Context};
use serde_json::{Value, json};

use super::{Answered, Api, Refusal};
use crate::limits;
use crate::query::Query;

/// Lines of context, as the requirement for keyword_search specifies.
const CONTEXT_LINES: i64 = 10;

impl Api {
    /// Returns for each call the size of its files read whole, and the output size of a line search with
    /// context.
    pub(super) fn cost(&self, query: &Query) -> Answered {
        let ids: Vec<&str> = query.needed("ids")?.split(',').collect();
        if ids.len() > limits::COST_CALLS {
            return Err(Refusal::request(format!("at most {} calls at once", limits::COST_CALLS)));
        }
        let bytes = |id: &str| {
            let call = self.gathered.call(id)?;
            let context = self.look.again(&call.head).ok()?;
            Some((whole_bytes(&context, &call.head), grep_bytes(&context, &call.head)))
        };
        let told = |id: &&str| {
            let (whole, grep) = bytes(id).unwrap_or_default();
            json!({ "id": id, "whole_bytes": whole, "grep_bytes": grep })
        };
        Ok(json!({ "calls": ids.iter().map(told).collect::<Vec<_>>() }))
    }
}

/// Returns the current size in bytes of the files that a call has shown, or `None` if it showed none.
fn whole_bytes(context: &Context, head: &CallHead) -> Option<u64> {
    let mut bytes = None;
    for file in &head.head.shown {
        let Some(root) = context.roots.all().get(file.root) else { continue };
        let Ok(path) = RelPath::parse(&file.path, &RelPath::root()) else { continue };
        // A file that is gone or must not be read counts as 0.
        let size = root.open_file(&path).map_or(0, |file| file.size());
        bytes = Some(bytes.unwrap_or(0) + size);
    }
    bytes
}

/// Returns the bytes that a search for the same terms with context would print, or `None` if the call is not
/// a line search.
fn grep_bytes(context: &Context, head: &CallHead) -> Option<u64> {
    let arguments = &head.arguments;
    let patterns: Vec<&str> = match head.tool.as_str() {
        "grep_search" | "Search" => vec![arguments["pattern"].as_str()?],
        "keyword_search" => arguments["search_terms"].as_array()?.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let mut bytes = 0;
    for pattern in patterns {
        let mut request = SearchRequest::new(pattern).context(CONTEXT_LINES);
        request.path = arguments["path"].as_str().map(str::to_owned);
        // Each line is printed as `path:line:text`.
        each(context, request, |records| {
            for data in records.iter().map(|record| &record.data) {
                let number = data.line_number.to_string();
                bytes += (data.path.text.len() + number.len() + data.lines.text.len() + ":::".len()) as u64;
            }
            ControlFlow::Continue(())
        })
        .ok()?;
    }
    Some(bytes)
}
