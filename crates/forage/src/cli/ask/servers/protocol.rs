//! What is said to a server, and what of its results is text.

use std::fmt::Write as _;

use forage_base::Stop;
use forage_tools::clip;
use serde_json::{Value, json};

use super::process::Process;

/// The revision that is offered; every server that speaks over its standard streams knows it or offers its own.
const REVISION: &str = "2025-06-18";

/// Pages of the list of tools that are asked for: one tool on each is still enough for all that are taken.
const PAGES: usize = 64;

/// Bytes of an error that are taken. The agent shows fewer, and takes secrets out before it cuts.
const ERROR_BYTES: usize = 20_000;

/// Bytes of a result's text: no answer has more.
const TEXT_BYTES: usize = 400_000;

/// Greets the server and gives its tools, and whether there are more than were asked for.
pub(super) fn open(process: &Process, stop: &Stop) -> Result<(Vec<Value>, bool), String> {
    let is_over = || stop.check().is_some();
    let client = json!({ "name": "forage", "title": "Forage", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
    let hello = process.ask("initialize", hello, &is_over)?;
    process.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    if hello["capabilities"]["tools"].is_null() {
        return Err("it offers no tools".to_owned());
    }
    let (mut tools, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..PAGES {
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

/// The text of a result; what is none is named.
pub(super) fn text(result: &Value) -> String {
    let mut text = String::new();
    for block in result["content"].as_array().into_iter().flatten() {
        let own = block["text"].as_str().or(block["resource"]["text"].as_str());
        let _ = match (own, block["type"].as_str(), block["uri"].as_str()) {
            (Some(own), ..) => writeln!(text, "{}", own.trim_end_matches('\n')),
            (None, Some("resource_link"), Some(uri)) => writeln!(text, "[a link to {uri}]"),
            (None, kind, _) => writeln!(text, "[{} left out]", kind.unwrap_or("something without a type")),
        };
        if text.len() > TEXT_BYTES {
            break;
        }
    }
    if text.is_empty() && !result["structuredContent"].is_null() {
        let _ = writeln!(text, "{}", result["structuredContent"]);
    }
    if text.is_empty() {
        text.push_str("(an empty result)\n");
    }
    clip(&text, TEXT_BYTES)
}

/// What a line of a server's is.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// The answer to the request with this number: its result, or its error.
    Answer(u64, Result<Value, String>),
    /// A request of its own, by its id: it is answered that there is nothing to be had, or that somebody is there.
    Request(Value, Option<Value>),
    /// What begins as a message and is none.
    Broken,
    /// Nothing that matters here.
    Other,
}

pub(super) fn read(line: &[u8]) -> Line {
    let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
        // A server's log may stand between its messages, and is none of them.
        return if line.starts_with(b"{\"") { Line::Broken } else { Line::Other };
    };
    if !message.is_object() {
        return Line::Other;
    }
    if message["method"].is_string() {
        let is_ping = message["method"] == "ping";
        return match message["id"].take() {
            id @ (Value::String(_) | Value::Number(_)) => Line::Request(id, is_ping.then(|| json!({}))),
            _ => Line::Other,
        };
    }
    // Some give a number back as text.
    let id = message["id"].as_u64().or_else(|| message["id"].as_str()?.parse().ok());
    let Some(id) = id else { return Line::Other };
    if message["error"].is_object() {
        let error = message["error"]["message"].as_str().unwrap_or("an error without a message");
        return Line::Answer(id, Err(clip(error, ERROR_BYTES)));
    }
    let result = message.get_mut("result").map(Value::take);
    Line::Answer(id, result.ok_or_else(|| "its answer has neither a result nor an error".to_owned()))
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
        let long = json!({"content": [{"type": "text", "text": "ä".repeat(TEXT_BYTES)}]});
        assert!(text(&long).len() <= TEXT_BYTES + '…'.len_utf8());
    }

    #[test]
    fn fuzz_a_line_of_a_server_is_an_answer_a_request_or_nothing() {
        let seeds = forage_fuzz::seeds([
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#,
            "npm notice",
            r#"{"jsonrpc":"2.0","id":"7","result":[]}"#,
            r#"{"jsonrpc":"2.0","id":8}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":"\ud800"}"#,
        ]);
        forage_fuzz::target!(&seeds, |line| {
            if let Line::Answer(_, Err(error)) = read(line) {
                assert!(error.len() <= ERROR_BYTES + '…'.len_utf8());
            }
        });
    }
}
