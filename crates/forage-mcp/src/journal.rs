//! Journal entries for calls that reach no tool.

use std::time::SystemTime;

use forage_tools::journal::since_1970;
use forage_tools::{CallHead, CallStatus, TraceParent, clip, sanitize_line};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::client;
use super::limits;

/// Reads the W3C trace context (`traceparent`) from a request's metadata.
pub(super) fn trace(context: &RequestContext<RoleServer>) -> Option<TraceParent> {
    context.meta.get("traceparent").and_then(Value::as_str).and_then(TraceParent::parse)
}

/// Begins the journal entry of a call. We do not keep the arguments: no tool has validated them, so they may
/// contain anything.
pub(super) fn begin_entry(
    tool: &str,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallHead {
    CallHead {
        began_us: since_1970(SystemTime::now()),
        client: client::profile(context).name().map(str::to_owned),
        arguments_cut: request.arguments.as_ref().is_some_and(|fields| !fields.is_empty()),
        trace: trace(context),
        ..CallHead::new("mcp", tool, CallStatus::Cancelled)
    }
}

/// Completes a call's journal entry with its answer.
pub(super) fn ended(head: CallHead, answer: &Result<CallToolResponse, ErrorData>, outcome: &str) -> CallHead {
    let problem = match answer {
        Ok(CallToolResponse::Complete(result)) => {
            let text = result.content.iter().find_map(|block| block.as_text());
            text.map(|text| text.text.as_str()).unwrap_or_default()
        }
        Ok(_) => "",
        Err(error) => &error.message,
    };
    let head = CallHead {
        elapsed_us: since_1970(SystemTime::now()).saturating_sub(head.began_us),
        bytes: problem.len() as u64,
        ..head
    };
    if outcome == "cancelled" {
        return head;
    }
    let error = Some(clip(&sanitize_line(problem), limits::SHOWN_BYTES));
    CallHead { status: CallStatus::Error, code: Some(outcome.to_owned()), error, ..head }
}
