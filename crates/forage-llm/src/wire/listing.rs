//! Requests the list of a provider's models.

use serde_json::Value;

use super::listed::ListedModel;
use super::protocol::{base, headers};
use super::protocols::protocol;
use super::status::StatusRefusal;
use crate::chat::CallBudget;
use crate::endpoint::Endpoint;
use crate::error::ChatError;
use crate::exchange::HttpCall;
use crate::http::HttpClient;
use crate::limits::{MAX_LISTED_MODELS, MAX_LISTING_BYTES, MAX_LISTING_PAGES};
use crate::recording::ExchangeMode;
use crate::wire_name::Wire;

pub(super) fn list(
    wire: Wire,
    endpoint: &Endpoint,
    exchanges: &ExchangeMode,
    budget: &CallBudget,
) -> Result<Vec<ListedModel>, ChatError> {
    let protocol = protocol(wire);
    let http = HttpClient::new(exchanges.clone());
    let name = endpoint.name();
    let bad = |why: &str| ChatError::BadAnswer { model: name.clone(), why: why.to_owned() };
    let mut models = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_LISTING_PAGES {
        let path = protocol.listing_path(cursor.as_deref());
        let call = HttpCall {
            name: &name,
            wire: wire.name(),
            model: "",
            key: endpoint.key(),
            base_url: base(endpoint, &path),
            path: &path,
            headers: headers(protocol, endpoint)?,
            body: None,
            limit: MAX_LISTING_BYTES,
        };
        let reply = http.send(&call, budget, None)?;
        let refusal = StatusRefusal {
            endpoint,
            request: None,
            status: reply.status,
            retry_after: reply.retry_after,
            body: &reply.body,
        };
        if let Some(error) = refusal.error() {
            return Err(error);
        }
        let page: Value = serde_json::from_slice(&reply.body).map_err(|_| bad("it is not JSON"))?;
        let (listed, next) = protocol.read_listing(&page).ok_or_else(|| bad("it is not a list of models"))?;
        models.extend(listed);
        if models.len() > MAX_LISTED_MODELS {
            return Err(bad("its list has too many models"));
        }
        if next.is_none() {
            return Ok(models);
        }
        cursor = next;
    }
    Err(bad("its list of models does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_context_of_a_list_are_read() {
        let body = r#"{"data":[
            {"id":"a","context_length":9,"pricing":{"prompt":"0.00000012","completion":"0.0000008","input_cache_read":"0.00000007"}},
            {"id":"b","pricing":{"input":0.18,"output":0.5}},
            {"id":"c","pricing":{"prompt":"-1","completion":"-1"}},
            {"id":"d","pricing":{"prompt":"NaN","completion":"inf"}}]}"#;
        let models = protocol(Wire::OpenAiChat).read_listing(&serde_json::from_str(body).unwrap()).unwrap().0;
        let prices: Vec<Option<(f64, f64)>> =
            models.iter().map(|model| model.price.map(|price| (price.input, price.output))).collect();
        assert_eq!(prices, [Some((0.12, 0.8)), Some((0.18, 0.5)), None, None]);
        assert_eq!(models[0].context_tokens, Some(9));
    }
}
