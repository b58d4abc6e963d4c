//! Parses the lines that a server sends to us as its client.

use forage_tools::clip;
use serde_json::{Value, json};

use crate::limits::SERVER_ERROR_BYTES;

/// A line of a server's output.
#[derive(Debug, PartialEq)]
pub(super) enum ChildLine {
    /// The response to our request with this number: a result or an error.
    Answer(u64, Result<Value, String>),
    /// A request from the server: its id and, for a ping, the empty result to reply with. The reply to any
    /// other request is an error.
    Request(Value, Option<Value>),
    /// A line that begins like a message but can't be parsed.
    Broken,
    /// A line that is not a message, e.g. log output.
    Noise,
    /// A message that needs no reply, e.g. a notification.
    Other,
}

pub(super) fn read(line: &[u8]) -> ChildLine {
    let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
        // Some servers write log lines between their messages. We ignore these.
        return if line.starts_with(b"{\"") { ChildLine::Broken } else { ChildLine::Noise };
    };
    if !message.is_object() {
        return ChildLine::Noise;
    }
    if message["method"].is_string() {
        let is_ping = message["method"] == "ping";
        return match message["id"].take() {
            id @ (Value::String(_) | Value::Number(_)) => ChildLine::Request(id, is_ping.then(|| json!({}))),
            _ => ChildLine::Other,
        };
    }
    // Some servers send our number back as a string.
    let id = message["id"].as_u64().or_else(|| message["id"].as_str()?.parse().ok());
    let Some(id) = id else {
        return if message["jsonrpc"] == "2.0" { ChildLine::Other } else { ChildLine::Noise };
    };
    if message["error"].is_object() {
        let error = message["error"]["message"].as_str().unwrap_or("an error without a message");
        return ChildLine::Answer(id, Err(clip(error, SERVER_ERROR_BYTES)));
    }
    let result = message.get_mut("result").map(Value::take);
    ChildLine::Answer(id, result.ok_or_else(|| "its answer has neither a result nor an error".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_a_line_of_a_server_is_an_answer_a_request_or_nothing() {
        let seeds = forage_fuzz::seeds([
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#,
            "npm notice",
            r#"{"level":"info","message":"starting"}"#,
            r#"{"jsonrpc":"2.0","id":"7","result":[]}"#,
            r#"{"jsonrpc":"2.0","id":8}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":"\ud800"}"#,
        ]);
        let kinds: Vec<ChildLine> = seeds.iter().map(|seed| read(seed)).collect();
        assert_eq!(
            (&kinds[3], &kinds[4], &kinds[7]),
            (&ChildLine::Noise, &ChildLine::Noise, &ChildLine::Broken)
        );
        forage_fuzz::target!(&seeds, |line| {
            if let ChildLine::Answer(_, Err(error)) = read(line) {
                assert!(error.len() <= SERVER_ERROR_BYTES + '…'.len_utf8());
            }
        });
    }
}
