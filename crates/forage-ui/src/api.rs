//! Answers the page's requests with records.

mod cost;
mod ranking;

use std::sync::Arc;

use forage_tools::journal::digest;
use forage_tools::{Call, CallHead, ErrorCode, TreeBounds, registry, tree_files};
use serde_json::{Value, json};

use super::call_history::CallHistory;
use super::limits;
use super::look::PageHost;
use super::query::Query;

/// The state that requests need: the calls, and the host program.
pub(crate) struct Api {
    pub(crate) gathered: Arc<CallHistory>,
    pub(crate) look: Arc<dyn PageHost>,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: String,
    pub(crate) code: ErrorCode,
    /// The HTTP status.
    pub(crate) status: u16,
}

impl Refusal {
    pub(crate) fn request(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), code: ErrorCode::Request, status: 400 }
    }

    fn missing(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), code: ErrorCode::Path, status: 404 }
    }

    fn failed(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), code: ErrorCode::Failed, status: 200 }
    }
}

type Answered = Result<Value, Refusal>;

impl Api {
    /// Answers a request. This may read files, so it may take some time.
    pub(crate) fn answer(&self, path: &str, query: &Query) -> Answered {
        match path {
            "text" => self.text(query),
            "map" => self.map(query),
            "rank" => self.rank(query),
            "cost" => self.cost(query),
            "health" => Ok(self.look.health()),
            _ => match (path.strip_prefix("tools/"), path.strip_prefix("schemas/")) {
                (Some(tool), _) => self.tool(tool, query),
                (_, Some(name)) => self
                    .look
                    .schema(name)
                    .ok_or_else(|| Refusal::missing(format!("there is no schema named {name}"))),
                _ => Err(Refusal::missing("unknown request")),
            },
        }
    }

    /// Recreates the text of an answer by repeating its call.
    fn text(&self, query: &Query) -> Answered {
        let id = query.needed("id")?;
        let call = self.gathered.call(id).ok_or_else(|| Refusal::missing("this call is no longer stored"))?;
        let head = &call.head;
        let tool = tool(&head.tool)?;
        if head.arguments_cut {
            return Err(Refusal::failed(
                "its arguments were too long to be stored, so the call can't be repeated",
            ));
        }
        if !head.models.is_empty() {
            return Err(Refusal::failed(
                "a model took part in the answer, so the call is not repeated: this would cost money and give another \
                 answer",
            ));
        }
        let call = self.look.call_again(head).map_err(Refusal::failed)?;
        let arguments = head.arguments.clone();
        let answer = tool
            .call(&call, arguments)
            .map_err(|error| Refusal::failed(error.message(tool.id(), &call.workspace.names)))?;
        let (same, note) = likeness(head, &answer.text);
        Ok(json!({ "id": id, "text": answer.text, "bytes": answer.text.len(), "same": same, "note": note }))
    }

    fn map(&self, query: &Query) -> Answered {
        let call = self.call_below(query)?;
        let bounds = TreeBounds { files: limits::MAP_FILES, unsearched: limits::MAP_UNSEARCHED };
        let tree = tree_files(&call, call.roots.main(), bounds);
        tree.map(|tree| json!(tree))
            .map_err(|error| Refusal::failed(error.message("", &call.workspace.names)))
    }

    /// Calls a tool for the page and returns its records.
    fn tool(&self, name: &str, query: &Query) -> Answered {
        let tool = tool(name)?;
        if tool.spec().egress != forage_tools::Egress::None {
            return Err(Refusal::request("this page sends nothing to a model"));
        }
        let arguments = match query.get("arguments") {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Refusal::request(format!("`arguments` is not JSON: {error}")))?,
            None => json!({}),
        };
        let call = self.call_below(query)?;
        let answer = tool.call(&call, arguments).map_err(|error| Refusal {
            code: error.code(),
            ..Refusal::failed(error.message(name, &call.workspace.names))
        })?;
        Ok(answer.records().clone())
    }

    /// Starts a call beneath the requested root. We must allow only roots that calls were about, and the
    /// one in which the page was started.
    fn call_below(&self, query: &Query) -> Result<Call, Refusal> {
        let own = self.look.own_root();
        let root = match query.get("root") {
            Some(root) => root.to_owned(),
            None => own.clone().ok_or_else(|| Refusal::request("`root` is missing"))?,
        };
        if own.as_ref() != Some(&root) && !self.gathered.has_root(&root) {
            return Err(Refusal::missing("no call was about this root"));
        }
        self.look.call_below(&root).map_err(Refusal::failed)
    }
}

fn tool(name: &str) -> Result<&'static dyn registry::AnyTool, Refusal> {
    registry::find(name).map_err(|error| Refusal::missing(error.to_string()))
}

/// Compares a repeated answer with the original. The first value is true if they are equal, and `None` if we
/// can't know this. The second value then gives the reason.
fn likeness(head: &CallHead, text: &str) -> (Option<bool>, Option<&'static str>) {
    match () {
        () if head.digest.is_empty() => {
            (None, Some("no digest was stored, so the answers can't be compared"))
        }
        () if head.digest == digest(text) => (Some(true), None),
        () if head.head.depends_on_session => {
            (None, Some("the original answer omitted code that an earlier answer had shown"))
        }
        () => (Some(false), None),
    }
}
