//! Shared code for building a [`ChatAnswer`] from a parsed response.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::protocol::RawAnswer;
use crate::chat::{AnswerShape, ChatAnswer, ProviderState, ToolCall};
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::finish::Finish;
use crate::reasoning::{self, without_reasoning};
use crate::wire_name::Wire;

/// Builds the answer. Returns an error if it is empty.
///
/// If the answer is the arguments of `answer_tool`, they become its text. The model may write text before the
/// call. We keep it, because it may name further files.
pub(super) fn build(
    wire: Wire,
    endpoint: &Endpoint,
    said: RawAnswer,
    answer_tool: Option<&str>,
    elapsed: Duration,
) -> Result<ChatAnswer, ChatError> {
    let RawAnswer { text, mut calls, finish, usage, state } = said;
    let name = endpoint.name();
    let is_cut = reasoning::is_cut(&text);
    let mut text = without_reasoning(&text).to_owned();
    for call in calls.extract_if(.., |call| answer_tool == Some(&*call.name)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(call.arguments.trim());
    }
    let cost_usd = endpoint.facts().price.zip(usage).map(|(price, usage)| price.cost(&usage));
    if text.is_empty() && calls.is_empty() {
        // If a server stops at a limit of its own, it reports the answer as complete. We recognize this by
        // the unfinished reasoning.
        let finish = if is_cut && finish == Finish::Complete { Finish::Length } else { finish };
        return Err(ChatError::EmptyAnswer { model: name, finish, usage, cost_usd });
    }
    let finish = match finish {
        // Some servers report an answer with calls as complete.
        Finish::Complete if !calls.is_empty() => Finish::ToolCalls,
        Finish::ToolCalls if answer_tool.is_some() && calls.is_empty() => Finish::Complete,
        finish => finish,
    };
    Ok(ChatAnswer {
        text,
        calls,
        provider: endpoint.provider().to_owned(),
        model: endpoint.model().to_owned(),
        usage,
        cost_usd,
        finish,
        shape: AnswerShape::default(),
        elapsed,
        // The state belongs to calls that are not part of the answer.
        state: state.filter(|_| answer_tool.is_none()).map(|value| ProviderState {
            wire: wire.name(),
            model: name,
            value,
        }),
    })
}

/// Assigns a unique id to every call. Servers omit or repeat ids, but the conversation needs unique ones.
pub(super) fn unique_ids(calls: &mut [ToolCall]) {
    let mut taken: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut seen = HashSet::new();
    for (index, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            let free = (index + 1..).map(|number| format!("call_{number}")).find(|id| !taken.contains(id));
            call.id = free.unwrap_or_default();
            taken.insert(call.id.clone());
            seen.insert(call.id.clone());
        }
    }
}

/// Converts the arguments of a call to an object, as servers expect. If a model wrote anything else, we wrap
/// it in an object, because a server would reject the conversation otherwise.
pub(super) fn arguments_object(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => value,
        _ => json!({"arguments": arguments}),
    }
}

/// Converts the arguments of a call to text. They may be text that the model wrote, or an object that the
/// server has already parsed.
pub(super) fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Appends a turn, or merges it into the previous one if both have the same role. Some protocols require that
/// roles alternate.
pub(super) fn push_turn(turns: &mut Vec<Value>, role: &str, field: &str, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    match turns.last_mut() {
        Some(last) if last["role"] == role => {
            if let Some(before) = last[field].as_array_mut() {
                before.extend(parts);
            }
        }
        _ => turns.push(json!({"role": role, field: parts})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let ids = |ids: &[&str]| {
            let call =
                |id: &&str| ToolCall { id: (*id).to_owned(), name: String::new(), arguments: String::new() };
            let mut calls: Vec<ToolCall> = ids.iter().map(call).collect();
            unique_ids(&mut calls);
            calls.into_iter().map(|call| call.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&["a", "b"]), ["a", "b"]);
        assert_eq!(ids(&["", ""]), ["call_1", "call_2"]);
        assert_eq!(ids(&["a", "a", "a"]), ["a", "call_2", "call_3"]);
        assert_eq!(ids(&["call_2", "", "call_2"]), ["call_2", "call_3", "call_4"]);
    }

    #[test]
    fn arguments_that_are_no_object_are_wrapped() {
        assert_eq!(arguments_object(""), json!({}));
        assert_eq!(arguments_object(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(arguments_object(r#"{"a":"#), json!({"arguments": "{\"a\":"}));
        assert_eq!(arguments_object("[1]"), json!({"arguments": "[1]"}));
    }
}
