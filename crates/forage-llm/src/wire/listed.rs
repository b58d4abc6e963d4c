//! Models in a provider's list, and parsers for their fields.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::endpoint::{Price, is_price};
use crate::limits::MAX_MODEL_ID_BYTES;

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// The model id. It comes from the server, but is always printable ASCII without spaces, of at most
    /// [`MAX_MODEL_ID_BYTES`] bytes.
    pub id: String,
    /// The creation time, in seconds since 1970 (UTC), if the provider reports it.
    pub created: Option<u64>,
    /// The price, if the provider reports it.
    pub price: Option<Price>,
    /// Maximum number of tokens of request and answer together, if the provider reports it.
    pub context_tokens: Option<u64>,
}

impl ListedModel {
    /// Creates a model with an id and nothing else.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), created: None, price: None, context_tokens: None }
    }

    /// Creates a model. Returns `None` for an unusable id.
    pub(super) fn read(id: &str, created: Option<i64>) -> Option<Self> {
        let is_fit = !id.is_empty()
            && id.len() <= MAX_MODEL_ID_BYTES
            && id.bytes().all(|byte| byte.is_ascii_graphic());
        let created = created.and_then(|created| u64::try_from(created).ok());
        is_fit.then(|| Self { created, ..Self::new(id) })
    }
}

/// Parses the prices of a model. OpenRouter sends dollars per token as text (`{"prompt": "0.0000001", …}`),
/// and Together dollars per million tokens (`{"input": 0.1, …}`).
pub(super) fn price(pricing: &Value) -> Option<Price> {
    let number = |field: &str| pricing[field].as_f64().filter(|price| is_price(*price));
    let text = |field: &str| {
        // We round the result to preserve the decimal fraction.
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

/// Looks up the maximum number of tokens of request and answer together. Servers use various names for it.
pub(super) fn context_tokens(model: &Value) -> Option<u64> {
    let names = ["context_length", "context_window", "max_model_len", "max_context_length"];
    names.iter().find_map(|name| model[*name].as_u64()).filter(|tokens| *tokens > 0)
}

/// Normalizes a time in seconds since 1970. Some servers use 0 for unknown, and some use milliseconds.
pub(super) fn unix_seconds(created: i64) -> Option<i64> {
    const YEAR_5138: i64 = 100_000_000_000;
    match created {
        ..=0 => None,
        YEAR_5138.. => Some(created / 1000),
        _ => Some(created),
    }
}

/// Converts a time such as `2026-10-19T07:00:00Z` to seconds since 1970. We ignore fractions and offsets:
/// they do not change which model is newer, and some servers omit the offset.
pub(super) fn rfc3339_seconds(text: &str) -> Option<i64> {
    let to_the_second = text.get(..19)?;
    let time = OffsetDateTime::parse(&format!("{to_the_second}Z"), &Rfc3339).ok()?;
    Some(time.unix_timestamp()).filter(|at| *at > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(rfc3339_seconds("1970-01-02T00:00:00Z"), Some(86_400));
        assert_eq!(rfc3339_seconds("2000-02-29T12:34:56Z"), Some(951_827_696));
        assert_eq!(rfc3339_seconds("2025-10-15T00:00:00.123Z"), Some(1_760_486_400));
        assert_eq!(rfc3339_seconds("2100-03-01T00:00:00Z"), Some(4_107_542_400));
        assert_eq!(rfc3339_seconds("2025-10-15T00:00:00+02:00"), Some(1_760_486_400));
        assert_eq!(rfc3339_seconds("2025-10-15 00:00:00"), Some(1_760_486_400));
        // Anthropic sends this if the date of a model is unknown.
        assert_eq!(rfc3339_seconds("1970-01-01T00:00:00Z"), None);
        for odd in
            ["", "soon", "2025-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2025-1ä-01T00:00:00Z", "9999999999"]
        {
            assert_eq!(rfc3339_seconds(odd), None, "{odd}");
        }
        assert_eq!(unix_seconds(1_760_486_400_000), Some(1_760_486_400));
        assert_eq!((unix_seconds(0), unix_seconds(5)), (None, Some(5)));
    }

    #[test]
    fn an_id_that_is_none_is_left_out() {
        assert!(ListedModel::read("a/b:c", None).is_some());
        for odd in ["", " ", "a\nb", &"x".repeat(300)] {
            assert!(ListedModel::read(odd, None).is_none(), "{odd}");
        }
    }
}
