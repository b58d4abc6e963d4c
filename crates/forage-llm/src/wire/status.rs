//! Converts rejections of a server (statuses and error documents) to [`ChatError`].

use std::time::Duration;

use serde_json::Value;

use crate::chat::ChatRequest;
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::exchange::pause;
use crate::message::{reason_of, server_message};

/// A rejection as we received it.
pub(super) struct StatusRefusal<'a> {
    pub(super) endpoint: &'a Endpoint,
    /// The request, or `None` for a list of models.
    pub(super) request: Option<&'a ChatRequest>,
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: &'a [u8],
}

/// Codes with which servers distinguish errors of the same status. Some servers send none, so for a 400 or
/// 422 we also check the words of the message. They are less reliable, because wordings change.
const OVERFLOW_CODES: [&str; 3] =
    ["exceed_context_size_error", "context_length_exceeded", "request_too_large"];
const CREDIT_CODES: [&str; 4] =
    ["insufficient_quota", "billing_hard_limit_reached", "billing_error", "insufficient_credits"];
const KEY_CODES: [&str; 3] = ["api_key_invalid", "invalid_api_key", "authentication_error"];
const MODEL_CODES: [&str; 8] = [
    "model_not_found",
    "model_decommissioned",
    "model_not_supported",
    "invalid_model",
    "unknown_model",
    "unsupported_parameter",
    "unsupported_value",
    "not_found_error",
];
const OVERFLOW_WORDS: [&str; 6] = [
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input token count",
    "too many tokens",
];
const CREDIT_WORDS: [&str; 2] = ["credit balance is too low", "insufficient credits"];
const MODEL_WORDS: [&str; 14] = [
    "unsupported parameter",
    "unsupported value",
    "unrecognized request argument",
    "not supported with this model",
    "not supported by this model",
    "not supported for this model",
    "model does not support",
    "deprecated for this model",
    "not a valid model",
    "no such model",
    "unknown model",
    "invalid model",
    "model not found",
    "decommissioned",
];

impl StatusRefusal<'_> {
    /// Converts the rejection to an error. Returns `None` for a success status.
    pub(super) fn error(&self) -> Option<ChatError> {
        let model = self.endpoint.name();
        let status = self.status;
        if matches!(status, 200..=299) {
            return None;
        }
        if matches!(status, 300..=399) {
            let why = format!(
                "HTTP {status} redirects to another address, and redirects are not followed, to protect the \
                 key; set base_url to the final address"
            );
            return Some(ChatError::BadAnswer { model, why });
        }
        let document = serde_json::from_slice(self.body).unwrap_or(Value::Null);
        let codes = codes(&document);
        let has_code = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
        let reason = reason_of(self.body);
        let lower = reason.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let message = || server_message(&reason, self.request, self.endpoint.key());
        let retry_after = self.retry_after.or_else(|| retry_delay(&document));
        let is_request = matches!(status, 400 | 422);
        Some(match status {
            413 => ChatError::ContextOverflow { model, status, message: message() },
            _ if has_code(&OVERFLOW_CODES) || is_request && says(&OVERFLOW_WORDS) => {
                ChatError::ContextOverflow { model, status, message: message() }
            }
            402 => ChatError::OutOfCredit { model, status },
            // This must come before 429, which OpenAI also sends for a used-up quota.
            _ if has_code(&CREDIT_CODES) || is_request && says(&CREDIT_WORDS) => {
                ChatError::OutOfCredit { model, status }
            }
            // This must come before 403, which OpenAI also sends for a model that the account may not use.
            400..=499 if status != 429 && status != 408 && has_code(&MODEL_CODES) => {
                ChatError::ModelUnusable { model, status, message: message() }
            }
            401 | 403 => ChatError::Unauthorized { model, status },
            _ if is_request && has_code(&KEY_CODES) => ChatError::Unauthorized { model, status },
            404 | 410 => ChatError::ModelUnusable { model, status, message: message() },
            _ if is_request && (says(&MODEL_WORDS) || names_a_missing_model(&lower)) => {
                ChatError::ModelUnusable { model, status, message: message() }
            }
            429 => ChatError::RateLimited { model, retry_after },
            408 | 500.. => ChatError::Server { model, status, retry_after },
            _ => ChatError::BadRequest { model, status, message: message() },
        })
    }
}

/// Matches messages with a name in the middle, for example “The model `x` does not exist” or “model 'x' not
/// found”.
fn names_a_missing_model(lower: &str) -> bool {
    lower.split_once("model").is_some_and(|(_, rest)| {
        ["does not exist", "not found", "is not available"].iter().any(|words| rest.contains(words))
    })
}

/// Lists the server's own error codes, in lower case.
fn codes(document: &Value) -> Vec<String> {
    let document = if document.is_array() { &document[0] } else { document };
    let error = &document["error"];
    let details = error["details"].as_array().into_iter().flatten().map(|detail| &detail["reason"]);
    [&error["code"], &error["type"], &error["status"], &error["error_type"], &document["code"]]
        .into_iter()
        .chain(details)
        .filter_map(Value::as_str)
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Returns the pause that Gemini requests in the document, for example `"17s"`.
fn retry_delay(document: &Value) -> Option<Duration> {
    let document = if document.is_array() { &document[0] } else { document };
    let details = document["error"]["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    pause(delay.strip_suffix('s')?.parse().ok()?)
}

/// Returns the status that is equivalent to an error inside a successful response. This is how gateways
/// report failures of the upstream server, and how every server reports a failure during a stream.
pub(super) fn status_of(document: &Value) -> u16 {
    let first = if document.is_array() { &document[0] } else { document };
    let code = &first["error"]["code"];
    let number =
        code.as_u64().or_else(|| code.as_str()?.parse().ok()).and_then(|code| u16::try_from(code).ok());
    if let Some(status) = number.filter(|code| (400..600).contains(code)) {
        return status;
    }
    let by_name = |code: &String| match code.as_str() {
        "authentication_error" | "invalid_api_key" | "unauthenticated" => Some(401),
        "permission_error" | "permission_denied" => Some(403),
        "not_found_error" | "not_found" | "model_not_found" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" | "rate_limit_exceeded" | "too_many_requests" | "resource_exhausted" => Some(429),
        "api_error" | "server_error" | "internal" | "internal_error" | "internal_server_error" => Some(500),
        "unavailable" | "service_unavailable" => Some(503),
        "timeout_error" | "deadline_exceeded" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    };
    codes(document).iter().find_map(by_name).unwrap_or(400)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::endpoint::EndpointSettings;

    fn error(status: u16, body: &Value) -> ChatError {
        let endpoint = Endpoint::new(EndpointSettings::new("acme", "https://h", "m")).unwrap();
        let body = body.to_string();
        let refusal = StatusRefusal {
            endpoint: &endpoint,
            request: None,
            status,
            retry_after: None,
            body: body.as_bytes(),
        };
        refusal.error().unwrap()
    }

    /// Each document was observed from, or is documented for, the server named at the end of the line.
    #[test]
    fn documents_tell_apart_what_shares_a_status() {
        for (status, body, kind) in [
            (401, json!({"error": {"code": "invalid_api_key"}}), "Unauthorized"), // OpenAI
            (403, json!({"error": {"type": "permission_error"}}), "Unauthorized"), // Anthropic
            (403, json!({"error": {"code": "model_not_found"}}), "ModelUnusable"), // OpenAI, a closed model
            (
                400,
                json!({"error": {"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}),
                "Unauthorized",
            ), // Gemini
            (402, json!({"error": {"code": 402}}), "OutOfCredit"),                // OpenRouter
            (429, json!({"error": {"code": "insufficient_quota"}}), "OutOfCredit"), // OpenAI
            (
                400,
                json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API"}}),
                "OutOfCredit",
            ), // Anthropic
            (429, json!({"error": {"code": "rate_limit_exceeded"}}), "RateLimited"), // OpenAI
            (404, json!({"error": {"type": "not_found_error"}}), "ModelUnusable"), // Anthropic
            (404, json!("page not found"), "ModelUnusable"),
            (410, json!({}), "ModelUnusable"),
            (400, json!({"error": {"code": "unsupported_value", "param": "temperature"}}), "ModelUnusable"), // OpenAI
            (400, json!({"error": {"message": "The model `x` does not exist"}}), "ModelUnusable"), // vLLM
            (400, json!({"error": {"message": "x/y is not a valid model ID", "code": 400}}), "ModelUnusable"), // OpenRouter
            (
                400,
                json!({"error": {"message": "`temperature` is deprecated for this model."}}),
                "ModelUnusable",
            ), // Anthropic
            (400, json!({"error": {"code": "model_decommissioned"}}), "ModelUnusable"), // Groq
            (400, json!({"error": {"code": 400, "type": "exceed_context_size_error"}}), "ContextOverflow"), // llama.cpp
            (400, json!({"error": {"code": "context_length_exceeded"}}), "ContextOverflow"), // OpenAI
            (
                400,
                json!({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
                "ContextOverflow",
            ), // Anthropic
            (
                400,
                json!({"error": {"message": "The input token count (9) exceeds the maximum"}}),
                "ContextOverflow",
            ), // Gemini
            (413, json!({}), "ContextOverflow"),
            (400, json!({"error": {"message": "messages: at least one message is required"}}), "BadRequest"),
            (418, json!({}), "BadRequest"),
            (408, json!({}), "Server"),
            (503, json!({"error": {"status": "UNAVAILABLE"}}), "Server"), // Gemini
            (529, json!({"error": {"type": "overloaded_error"}}), "Server"), // Anthropic
        ] {
            let error = error(status, &body);
            assert!(format!("{error:?}").starts_with(kind), "{status} {body}: {error:?}");
        }
    }

    #[test]
    fn the_pause_may_stand_in_the_document() {
        let body = json!([{"error": {"code": 429, "details": [{"@type": "x"}, {"retryDelay": "17.5s"}]}}]);
        assert_eq!(error(429, &body).retry_after(), Some(Duration::from_millis(17_500)));
    }

    #[test]
    fn an_error_within_a_success_has_a_status() {
        for (document, status) in [
            (json!({"error": {"code": 502}}), 502),
            (json!({"error": {"code": "429"}}), 429),
            (json!({"error": {"code": 7}}), 400),
            (json!({"type": "error", "error": {"type": "overloaded_error"}}), 529),
            (json!([{"error": {"status": "UNAVAILABLE"}}]), 503),
            (json!({"error": "x"}), 400),
        ] {
            assert_eq!(status_of(&document), status, "{document}");
        }
    }
}
