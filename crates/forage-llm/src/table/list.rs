//! What a provider offers, by its own list.

use serde_json::Value;
use ureq::http::HeaderValue;

use super::{Resolved, WireKind, is_price};
use crate::chat::CallBudget;
use crate::endpoint::Price;
use crate::error::ChatError;
use crate::http::HttpClient;
use crate::limits::{MAX_LIST_BYTES, MAX_LISTED_MODELS, MAX_MODEL_ID_BYTES};

/// A model of a provider's list.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// The id, without control characters.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// What it costs, where the list says so.
    pub price: Option<Price>,
    /// Tokens of request and answer together, where the list says so.
    pub context_tokens: Option<u64>,
}

impl ModelEntry {
    /// A model of which the list says nothing but the id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), created: None, price: None, context_tokens: None }
    }
}

/// What came of asking for a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Listing {
    /// The list.
    Read(Vec<ModelEntry>),
    /// There is none.
    Failed(ListFailure),
}

/// Why a list can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFailure {
    /// The provider does not accept the key, so no model of it can be asked.
    pub key_refused: bool,
    /// The reason in words, without a key.
    pub why: String,
}

impl ListFailure {
    /// A failure that leaves the provider's models usable.
    pub fn because(why: impl Into<String>) -> Self {
        Self { key_refused: false, why: why.into() }
    }
}

/// Asks providers for their lists.
pub trait ModelLister: Sync {
    /// The models of a provider, in its order.
    ///
    /// # Errors
    /// [`ListFailure`]. By the budget's deadline the call has returned.
    fn list(&self, provider: &Resolved, budget: &CallBudget<'_>) -> Result<Vec<ModelEntry>, ListFailure>;
}

/// Asks over the network, for the OpenAI protocol: `GET {base_url}/models`.
#[derive(Debug, Default)]
pub struct HttpLister {
    http: HttpClient,
}

impl ModelLister for HttpLister {
    fn list(&self, provider: &Resolved, budget: &CallBudget<'_>) -> Result<Vec<ModelEntry>, ListFailure> {
        if provider.wire != WireKind::OpenaiChat {
            return Err(ListFailure::because(format!("lists of {} are not read", provider.wire.name())));
        }
        let Some(base_url) = &provider.base_url else { return Err(ListFailure::because("no address")) };
        let mut headers = Vec::new();
        if let Some(key) = &provider.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| ListFailure::because("the key can't be sent"))?;
            value.set_sensitive(true);
            headers.push(("authorization", value));
        }
        let url = format!("{base_url}/models");
        let reply = self
            .http
            .get(&provider.name, &url, headers, MAX_LIST_BYTES, budget)
            .map_err(|error| failure(&error))?;
        match reply.status {
            200 => parse(&reply.body).map_err(ListFailure::because),
            401 => Err(ListFailure {
                key_refused: true,
                why: "the provider refused the key (HTTP 401)".to_owned(),
            }),
            status => {
                Err(ListFailure::because(format!("the provider has no list for this key (HTTP {status})")))
            }
        }
    }
}

fn failure(error: &ChatError) -> ListFailure {
    ListFailure::because(match error {
        ChatError::DeadlineExceeded { .. } => "no answer in time".to_owned(),
        ChatError::Unreachable { why, .. } => format!("cannot connect: {why}"),
        ChatError::ConnectionLost { .. } => "the connection was lost".to_owned(),
        ChatError::AnswerTooLarge { limit, .. } => format!("the list is larger than {limit} bytes"),
        ChatError::BadAnswer { why, .. } => format!("the answer is no list: {why}"),
        _ => "it was not answered".to_owned(),
    })
}

/// Reads `{"data": [{"id": …}]}`, or the array alone, as some servers send it.
fn parse(body: &[u8]) -> Result<Vec<ModelEntry>, String> {
    let value: Value = serde_json::from_slice(body).map_err(|_| "the answer is not JSON".to_owned())?;
    let Some(entries) = value["data"].as_array().or(value.as_array()) else {
        return Err("the answer holds no list of models".to_owned());
    };
    if entries.len() > MAX_LISTED_MODELS {
        return Err(format!("the list has more than {MAX_LISTED_MODELS} models"));
    }
    Ok(entries.iter().filter_map(entry).collect())
}

/// An entry; none for one whose id could not be sent or shown.
fn entry(entry: &Value) -> Option<ModelEntry> {
    let id = entry["id"].as_str()?;
    if id.is_empty() || id.len() > MAX_MODEL_ID_BYTES || !id.chars().all(|c| c.is_ascii_graphic()) {
        return None;
    }
    let context = ["context_length", "context_window", "max_model_len", "max_context_length"];
    Some(ModelEntry {
        id: id.to_owned(),
        created: entry["created"].as_u64(),
        price: price(&entry["pricing"]),
        context_tokens: context.iter().find_map(|field| entry[*field].as_u64()).filter(|tokens| *tokens > 0),
    })
}

/// `{"prompt": "0.0000001", …}`, dollars per token as text (OpenRouter), or `{"input": 0.1, …}`, dollars per million
/// tokens (Together).
fn price(pricing: &Value) -> Option<Price> {
    let number = |field: &str| pricing[field].as_f64().filter(|price| is_price(*price));
    let text = |field: &str| {
        // Rounded, so that a decimal fraction stays what it was.
        let price = (pricing[field].as_str()?.parse::<f64>().ok()? * 1e12).round() / 1e6;
        is_price(price).then_some(price)
    };
    let of = |input: Option<f64>, cached: Option<f64>, output: Option<f64>| {
        let input = input?;
        Some(Price { input, cached_input: cached.unwrap_or(input), output: output? })
    };
    of(text("prompt"), text("input_cache_read"), text("completion"))
        .or_else(|| of(number("input"), number("cached_input"), number("output")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(body: &str) -> Result<Vec<String>, String> {
        parse(body.as_bytes()).map(|models| models.into_iter().map(|model| model.id).collect())
    }

    #[test]
    fn lists_are_read_in_the_forms_that_servers_send() {
        assert_eq!(
            ids(r#"{"object":"list","data":[{"id":"b","created":2},{"id":"a"}]}"#).unwrap(),
            ["b", "a"]
        );
        assert_eq!(ids(r#"[{"id":"a"}]"#).unwrap(), ["a"]);
        for body in ["", "<html>", "{}", "{\"data\":{}}", "null", "3"] {
            assert!(ids(body).is_err(), "{body}");
        }
    }

    #[test]
    fn what_is_no_id_is_left_out() {
        let body = format!(
            r#"{{"data":[{{"id":""}},{{"id":"a\u001b[2J"}},{{"id":"{}"}},{{"id":3}},{{}},7,{{"id":"ok"}}]}}"#,
            "x".repeat(201)
        );
        assert_eq!(ids(&body).unwrap(), ["ok"]);
        let many = vec!["{\"id\":\"a\"}"; MAX_LISTED_MODELS + 1].join(",");
        assert!(ids(&format!("[{many}]")).is_err());
    }

    #[test]
    fn prices_and_context_of_a_list_are_read() {
        let body = r#"{"data":[
            {"id":"a","context_length":9,"pricing":{"prompt":"0.00000012","completion":"0.0000008","input_cache_read":"0.00000007"}},
            {"id":"b","pricing":{"input":0.18,"output":0.5}},
            {"id":"c","pricing":{"prompt":"-1","completion":"-1"}},
            {"id":"d","pricing":{"prompt":"NaN","completion":"inf"}}]}"#;
        let models = parse(body.as_bytes()).unwrap();
        let prices: Vec<Option<(f64, f64)>> =
            models.iter().map(|model| model.price.map(|price| (price.input, price.output))).collect();
        assert_eq!(prices, [Some((0.12, 0.8)), Some((0.18, 0.5)), None, None]);
        assert_eq!(models[0].context_tokens, Some(9));
    }
}
