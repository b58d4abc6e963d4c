//! Converts calls to spans in OTLP's JSON format, following OpenTelemetry's semantic conventions for
//! generative AI and MCP.

use forage_base::Hash64;
use forage_tools::CallStatus;
use serde_json::{Value, json};

use super::record::CallRecord;

/// OpenTelemetry's span kinds.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;

/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;

/// `SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK`: this flag means that the next one is valid. The next one is set
/// if the parent belongs to another process.
const KNOWS_ITS_PARENT: u32 = 0x100;

/// `SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK`.
const PARENT_IS_REMOTE: u32 = 0x200;

/// Converts calls to one `TracesData` object.
pub fn traces(calls: &[&CallRecord], version: &str) -> Value {
    let resource = attributes(&[("service.name", json!("forage")), ("service.version", json!(version))]);
    let spans: Vec<Value> = calls.iter().map(|call| span(call)).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "forage", "version": version }, "spans": spans }],
    }] })
}

fn span(call: &CallRecord) -> Value {
    let head = &call.head;
    let is_mcp = head.surface == "mcp";
    let name = match is_mcp {
        true => format!("tools/call {}", head.tool),
        false => format!("execute_tool {}", head.tool),
    };
    let mut pairs = vec![
        ("gen_ai.operation.name", json!("execute_tool")),
        ("gen_ai.tool.name", json!(head.tool)),
        ("gen_ai.tool.type", json!("function")),
        ("gen_ai.tool.call.id", json!(call.id)),
        ("gen_ai.tool.call.arguments", json!(head.arguments.to_string())),
        ("forage.surface", json!(head.surface)),
        ("forage.status", json!(head.status)),
        ("forage.results", json!(head.head.results)),
        ("forage.files", json!(head.head.files)),
        ("forage.bytes", json!(head.bytes)),
    ];
    if is_mcp {
        pairs.push(("mcp.method.name", json!("tools/call")));
    }
    if let Some(client) = &head.client {
        pairs.push(("forage.client", json!(client)));
    }
    if let Some(limit) = head.head.truncated_by {
        pairs.push(("forage.truncated_by", json!(limit)));
    }
    // A tool error is still a successful answer at the protocol level.
    let failed = match head.status {
        // The MCP conventions use this value for a tool's error result.
        CallStatus::Error if is_mcp => Some("tool_error"),
        CallStatus::Error => Some(head.code.as_deref().unwrap_or("_OTHER")),
        CallStatus::Cancelled => Some("cancelled"),
        CallStatus::Found | CallStatus::Nothing | CallStatus::Partial => None,
    };
    let mut status = json!({});
    if let Some(kind) = failed {
        pairs.push(("error.type", json!(kind)));
        pairs.extend(head.code.as_ref().map(|code| ("forage.code", json!(code))));
        status = json!({ "code": FAILED, "message": head.error.as_deref().unwrap_or_default() });
    }
    let hash =
        |salt: &str, of: &str| format!("{:016x}", Hash64::hash_parts(&[salt.as_bytes(), of.as_bytes()]));
    let (trace_id, parent, flags) = match &head.trace {
        Some(trace) => (trace.trace_id.clone(), trace.parent_id.clone(), KNOWS_ITS_PARENT | PARENT_IS_REMOTE),
        // If no caller has given a trace, all calls of one process form one trace.
        None => (hash("trace", &call.process) + &hash("of", &call.process), String::new(), KNOWS_ITS_PARENT),
    };
    let end = head.began_us.saturating_add(head.elapsed_us);
    json!({
        "traceId": trace_id,
        "spanId": hash("span", &call.id),
        "parentSpanId": parent,
        "flags": flags,
        "name": name,
        "kind": if is_mcp { SERVER } else { INTERNAL },
        "startTimeUnixNano": nanoseconds(head.began_us),
        "endTimeUnixNano": nanoseconds(end),
        "attributes": attributes(&pairs),
        "status": status,
    })
}

/// Formats a time in nanoseconds. Note that OTLP's JSON represents 64-bit numbers as strings.
fn nanoseconds(us: u64) -> String {
    (u128::from(us) * 1000).to_string()
}

fn attributes(pairs: &[(&str, Value)]) -> Vec<Value> {
    let value = |value: &Value| match value {
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Bool(value) => json!({ "boolValue": value }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    pairs.iter().map(|(key, it)| json!({ "key": key, "value": value(it) })).collect()
}
