//! Endpoints: provider, address, model id and key. [`Endpoint::new`] checks raw settings.

use forage_base::ApiKey;
use forage_http::is_loopback;
use forage_http::ureq::http::Uri;
use thiserror::Error;

use crate::chat::Usage;

/// The field of a chat-completions request that contains the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputLimitField {
    /// `max_tokens`, which nearly every server supports.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    MaxCompletionTokens,
}

/// How we keep a reasoning model from reasoning when this is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reasoning {
    /// We send nothing: the model does not reason, or its reasoning can't be switched off.
    #[default]
    AsItIs,
    /// The lowest effort that the model accepts, for example `minimal`, `none` or `low`.
    Effort(&'static str),
}

/// Prices of a model in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Tokens of the request.
    pub input: f64,
    /// Tokens of the request that were in the provider's cache.
    pub cached_input: f64,
    /// Tokens of the answer.
    pub output: f64,
}

impl Price {
    /// Computes the cost of `usage` in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        // The counts come from a server, and the subtraction must not overflow.
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let sum = (usage.input_tokens - cached) as f64 * self.input
            + cached as f64 * self.cached_input
            + usage.output_tokens as f64 * self.output;
        sum / 1e6
    }
}

/// Facts about a model beyond its id. The default is suitable for an unknown model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelFacts {
    /// The field for the output limit.
    pub output_limit_field: OutputLimitField,
    /// Whether the model accepts `temperature: 0`. If not, we leave out the field, because reasoning models
    /// reject it.
    pub accepts_temperature: bool,
    /// How to keep the model from reasoning.
    pub reasoning: Reasoning,
    /// Whether the endpoint can enforce a JSON schema on the answer.
    pub answer_schema: bool,
    /// Whether the model can be forced to call a tool. We use this for answers if it takes no schema.
    pub answer_tool: bool,
    /// The price, if known.
    pub price: Option<Price>,
    /// Maximum number of tokens of request and answer together, if known.
    pub context_tokens: Option<u64>,
}

/// The settings of an endpoint as configured, unchecked.
#[derive(Debug, Clone)]
pub struct EndpointSettings {
    /// The short name of the provider for messages, for example `openai`.
    pub provider: String,
    /// The address to which we append the paths of the wire protocol, for example
    /// `https://api.openai.com/v1`.
    pub base_url: String,
    /// The provider's id of the model.
    pub model: String,
    /// The key; `None` for a server without keys.
    pub key: Option<ApiKey>,
    /// Whether plain `http` to a host other than this machine is allowed. Text and key are unencrypted then.
    pub allow_insecure: bool,
    /// Facts about the model.
    pub facts: ModelFacts,
}

impl EndpointSettings {
    /// Creates settings without a key and with secure defaults.
    pub fn new(provider: impl Into<String>, base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            allow_insecure: false,
            facts: ModelFacts::default(),
        }
    }
}

/// A checked endpoint. `Debug` does not show the key.
#[derive(Debug, Clone)]
pub struct Endpoint {
    provider: String,
    base_url: String,
    model: String,
    key: Option<ApiKey>,
    facts: ModelFacts,
}

/// An unusable setting of an endpoint. Each message must name the field and how to correct it. It must not
/// show the address, because this may contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// `provider` or `model` is empty or contains a control character.
    #[error("`{field}` of provider `{provider}` must not be empty or contain control characters; set it")]
    BadName {
        /// The field: `provider` or `model`.
        field: &'static str,
        /// The printable part of the provider's name.
        provider: String,
    },
    /// `base_url` is not an address.
    #[error(
        "`base_url` of provider `{provider}` is not a URL; write it like `https://host/v1` or `http://127.0.0.1:8080/v1`"
    )]
    BadUrl {
        /// The provider.
        provider: String,
    },
    /// `base_url` has a scheme other than `http` and `https`.
    #[error("`base_url` of provider `{provider}` must begin with `https://` (or `http://` for this machine)")]
    BadScheme {
        /// The provider.
        provider: String,
    },
    /// `base_url` contains a user or a password.
    #[error(
        "`base_url` of provider `{provider}` contains a user name or password; remove it and set the \
         provider's key instead"
    )]
    UserInfo {
        /// The provider.
        provider: String,
    },
    /// `base_url` has a query or a fragment, so that we can't append a path.
    #[error("`base_url` of provider `{provider}` has a `?` or `#` part; remove it")]
    Query {
        /// The provider.
        provider: String,
    },
    /// `base_url` is plain `http` to another machine.
    #[error(
        "`base_url` of provider `{provider}` is plain http to `{host}`, which is not this machine; use \
         https, or set `allow_insecure` to send text and key unencrypted"
    )]
    Insecure {
        /// The provider.
        provider: String,
        /// The host of the address.
        host: String,
    },
}

impl Endpoint {
    /// Checks the settings. Trailing slashes of `base_url` are removed.
    ///
    /// # Errors
    ///
    /// Returns the [`EndpointError`] of the first unusable setting.
    pub fn new(settings: EndpointSettings) -> Result<Self, EndpointError> {
        let EndpointSettings { provider, base_url, model, key, allow_insecure, facts } = settings;
        for (field, name) in [("provider", &provider), ("model", &model)] {
            if name.trim().is_empty() || name.chars().any(char::is_control) {
                let provider = provider.escape_debug().to_string();
                return Err(EndpointError::BadName { field, provider });
            }
        }
        let base_url = check_url(&provider, &base_url, allow_insecure)?;
        Ok(Self { provider, base_url, model, key, facts })
    }

    /// Like [`Self::new`], but for listing models: the model in the settings is ignored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`].
    pub fn without_model(settings: EndpointSettings) -> Result<Self, EndpointError> {
        // This name only has to pass the check.
        let named = EndpointSettings { model: "models".to_owned(), ..settings };
        Self::new(named).map(|endpoint| Self { model: String::new(), ..endpoint })
    }

    /// The short name of the provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The address without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The model id.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The key, if there is one.
    pub fn key(&self) -> Option<&ApiKey> {
        self.key.as_ref()
    }

    /// The facts about the model.
    pub fn facts(&self) -> ModelFacts {
        self.facts
    }

    /// The name for messages: `provider/model`, or `provider` if there is no model.
    pub fn name(&self) -> String {
        match self.model.as_str() {
            "" => self.provider.clone(),
            model => format!("{}/{model}", self.provider),
        }
    }
}

fn check_url(provider: &str, base_url: &str, allow_insecure: bool) -> Result<String, EndpointError> {
    let provider = || provider.to_owned();
    let text = base_url.trim();
    // We must check the text, because the parser silently drops a fragment.
    if text.contains(['?', '#']) {
        return Err(EndpointError::Query { provider: provider() });
    }
    let uri: Uri = text.parse().map_err(|_| EndpointError::BadUrl { provider: provider() })?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(EndpointError::BadUrl { provider: provider() });
    };
    let secure = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err(EndpointError::BadScheme { provider: provider() }),
    };
    if authority.as_str().contains('@') {
        return Err(EndpointError::UserInfo { provider: provider() });
    }
    if authority.host().is_empty() {
        return Err(EndpointError::BadUrl { provider: provider() });
    }
    if !secure && !allow_insecure && !is_loopback(authority.host()) {
        let host = authority.host().to_owned();
        return Err(EndpointError::Insecure { provider: provider(), host });
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Returns true if the host of a URL is this machine, so that plain `http` and requests without a key are
/// safe. Returns false if `url` is not a URL.
pub fn is_loopback_url(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    uri.as_ref().and_then(Uri::host).is_some_and(is_loopback)
}

/// Returns true if a number is a valid price.
pub(crate) fn is_price(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Result<String, EndpointError> {
        Endpoint::new(EndpointSettings::new("acme", url, "m")).map(|endpoint| endpoint.base_url)
    }

    #[test]
    fn trailing_slashes_go() {
        assert_eq!(check("https://api.example.com/v1//").unwrap(), "https://api.example.com/v1");
        assert_eq!(check(" http://[::1]:8080/ ").unwrap(), "http://[::1]:8080");
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for host in
            ["127.0.0.1:1", "127.8.8.8", "localhost:11434", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(check(&format!("http://{host}/v1")).is_ok(), "{host}");
        }
        for host in
            ["example.com", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "[::2]", "127.1"]
        {
            let error = check(&format!("http://{host}/v1")).unwrap_err();
            assert!(matches!(error, EndpointError::Insecure { .. }), "{host}: {error}");
        }
        let mut settings = EndpointSettings::new("acme", "http://example.com", "m");
        settings.allow_insecure = true;
        assert!(Endpoint::new(settings).is_ok());
    }

    #[test]
    fn invalid_base_url_is_refused_and_not_quoted() {
        for url in [
            "",
            "api.example.com/v1",
            "/v1",
            "ftp://x/",
            "file:///etc/passwd",
            "https://",
            "https://u:hunter2@h/v1",
            "https://hunter2@h/v1",
            "https://h/v1?key=hunter2",
            "https://h/#hunter2",
            "https://a b/",
        ] {
            let error = check(url).unwrap_err().to_string();
            assert!(error.contains("base_url") && error.contains("acme"), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn names_are_required() {
        let error = Endpoint::new(EndpointSettings::new("acme", "https://h", " ")).unwrap_err();
        assert!(error.to_string().contains("`model`"), "{error}");
        let error = Endpoint::new(EndpointSettings::new("a\nb", "https://h", "m")).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
    }

    #[test]
    fn debug_hides_the_key() {
        let mut settings = EndpointSettings::new("acme", "https://h", "m");
        settings.key = Some(ApiKey::new("hunter2").unwrap());
        assert!(!format!("{settings:?}").contains("hunter2"));
        assert!(!format!("{:?}", Endpoint::new(settings).unwrap()).contains("hunter2"));
    }
}
