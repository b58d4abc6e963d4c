//! Exchanges MCP messages with a server, and converts its results to text.

use std::fmt::Write as _;

use forage_base::Stop;
use forage_tools::clip;
use serde_json::{Value, json};

use super::process::Process;
use crate::limits::{SERVER_PAGES, SERVER_TEXT_BYTES};

/// The protocol revision that we offer. A server that does not know this revision proposes its own, which we
/// accept.
const REVISION: &str = "2025-06-18";

/// Performs the handshake and lists the tools. The flag is true if the server has more pages of tools than we
/// read.
pub(super) fn open(process: &Process, stop: &Stop) -> Result<(Vec<Value>, bool), String> {
    let is_over = || stop.check().is_some();
    let client = json!({ "name": "forage", "title": "Forage", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
    let hello = process.ask("initialize", hello, &is_over)?;
    process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    if hello["capabilities"]["tools"].is_null() {
        return Err("it offers no tools".to_owned());
    }
    let (mut tools, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..SERVER_PAGES {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let mut page = process.ask("tools/list", params, &is_over)?;
        let mut part = |name| page.get_mut(name).map(Value::take).unwrap_or_default();
        if let Value::Array(listed) = part("tools") {
            tools.extend(listed);
        }
        cursor = part("nextCursor");
        if !cursor.is_string() {
            break;
        }
    }
    Ok((tools, cursor.is_string()))
}

/// Extracts the text of a result. Other content, such as an image, is replaced by its type.
pub(super) fn text(result: &Value) -> String {
    let mut text = String::new();
    for block in result["content"].as_array().into_iter().flatten() {
        let own = block["text"].as_str().or(block["resource"]["text"].as_str());
        let _ = match (own, block["type"].as_str(), block["uri"].as_str()) {
            (Some(own), ..) => writeln!(text, "{}", own.trim_end_matches('\n')),
            (None, Some("resource_link"), Some(uri)) => writeln!(text, "[a link to {uri}]"),
            (None, kind, _) => writeln!(text, "[{} left out]", kind.unwrap_or("something without a type")),
        };
        if text.len() > SERVER_TEXT_BYTES {
            break;
        }
    }
    if text.is_empty() && !result["structuredContent"].is_null() {
        let _ = writeln!(text, "{}", result["structuredContent"]);
    }
    if text.is_empty() {
        text.push_str("(an empty result)\n");
    }
    clip(&text, SERVER_TEXT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_and_all_else_named() {
        let result = json!({"content": [
            {"type": "text", "text": "one\n"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:y", "text": "two"}},
            {"type": "resource_link", "uri": "https://host/page"},
        ]});
        assert_eq!(text(&result), "one\n[image left out]\ntwo\n[a link to https://host/page]\n");
        assert_eq!(text(&json!({"structuredContent": {"a": 1}})), "{\"a\":1}\n");
        assert_eq!(text(&json!({})), "(an empty result)\n");
        let long = json!({"content": [{"type": "text", "text": "ä".repeat(SERVER_TEXT_BYTES)}]});
        assert!(text(&long).len() <= SERVER_TEXT_BYTES + '…'.len_utf8());
    }
}
