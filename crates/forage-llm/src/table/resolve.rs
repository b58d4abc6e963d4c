//! Resolves a provider of the table in the user's environment: its address, its key, and the reason why it
//! can't be used, if there is one.

use forage_base::ApiKey;
use thiserror::Error;

use super::{Origin, Provider, ProviderTable};
use crate::endpoint::{Endpoint, EndpointSettings, ModelFacts, is_loopback_url};
use crate::wire_name::Wire;

/// A provider with its address and key. `Debug` does not show the key.
#[derive(Debug, Clone)]
pub struct ResolvedModel {
    /// The name of the provider.
    pub name: String,
    /// The wire protocol.
    pub wire: Wire,
    /// Where its table entry comes from.
    pub origin: Origin,
    /// The address, if it is valid.
    pub base_url: Option<String>,
    /// The environment variable that contained the address.
    pub base_url_variable: Option<String>,
    /// The environment variables that we check for a key, in order. Empty if no key is needed.
    pub key_variables: Vec<String>,
    /// The environment variable that contained the key.
    pub key_variable: Option<String>,
    /// The key. It must only be sent to this address.
    pub key: Option<ApiKey>,
    /// Whether the provider is on this machine, or usually is. It then needs no key, and is available only if
    /// we can read its model list.
    pub is_local: bool,
    /// Whether its models are free.
    pub is_free: bool,
    /// Whether plain `http` to another machine is allowed.
    pub allow_insecure: bool,
    /// Why it can't be used, if there is a reason.
    pub obstacle: Option<Obstacle>,
}

/// The reasons why a provider can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The user has switched it off.
    #[error("switched off by `enabled = false`")]
    Off,
    /// It has no address. The text names the environment variables for one.
    #[error("no address: {0} is not set")]
    NoAddress(String),
    /// It has no key. The text names the environment variables for one.
    #[error("no key: {0} is not set")]
    NoKey(String),
    /// Its address or its key is invalid.
    #[error("{0}")]
    Invalid(String),
    /// It would be a program on a well-known port of this machine, and the user has not named it.
    #[error(
        "not used unless the configuration has `[providers.{0}] enabled = true`, or `FORAGE_MODEL={0}/ID` \
         names one of its models"
    )]
    NotNamed(String),
}

impl Obstacle {
    /// Returns true if the user has configured nothing for the provider.
    #[must_use]
    pub fn is_not_set_up(&self) -> bool {
        matches!(self, Self::NoAddress(_) | Self::NoKey(_))
    }
}

impl ProviderTable {
    /// Resolves the provider with this name. `variable` must return the value of an environment variable, or
    /// `None` if it is empty.
    pub fn resolve(&self, name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<ResolvedModel> {
        let provider = self.provider(name)?;
        Some(resolve(name, provider, true, variable))
    }

    /// Resolves all providers of the table, sorted by name. Those that can't be used have an obstacle.
    pub fn resolve_all(&self, variable: &dyn Fn(&str) -> Option<String>) -> Vec<ResolvedModel> {
        self.providers.iter().map(|(name, provider)| resolve(name, provider, false, variable)).collect()
    }

    /// Finds the provider with this address. Facts about models are looked up by the provider's name.
    pub fn provider_at(&self, base_url: &str) -> Option<&str> {
        let same = |own: &str| own.trim_end_matches('/') == base_url.trim().trim_end_matches('/');
        let mut found = self
            .providers
            .iter()
            .filter(|(_, provider)| provider.settings.base_url.as_deref().is_some_and(same));
        found.next().map(|(name, _)| name.as_str())
    }
}

fn resolve(
    name: &str,
    provider: &Provider,
    is_named: bool,
    variable: &dyn Fn(&str) -> Option<String>,
) -> ResolvedModel {
    let settings = &provider.settings;
    let set = |names: &Option<Vec<String>>| {
        let names = names.iter().flatten();
        names.map(|name| (name, variable(name))).find_map(|(name, value)| Some((name.clone(), value?)))
    };
    let address = set(&settings.base_url_env).or_else(|| {
        let (name, host) = set(&settings.host_env)?;
        Some((name, url_of_host(&host, settings.base_url.as_deref().unwrap_or_default())))
    });
    let (base_url_variable, base_url) = match address {
        Some((name, url)) => (Some(name), Some(url)),
        None => (None, settings.base_url.clone()),
    };
    let key_variables = settings.key_env.clone().unwrap_or_default();
    let key = set(&settings.key_env);
    let key_variable = key.as_ref().map(|(name, _)| name.clone());
    let mut resolved = ResolvedModel {
        name: name.to_owned(),
        wire: provider.wire(),
        origin: provider.origin,
        base_url: None,
        base_url_variable,
        key_variables,
        key_variable,
        key: None,
        is_free: provider.is_free(),
        is_local: settings.local.unwrap_or_else(|| base_url.as_deref().is_some_and(is_loopback_url)),
        allow_insecure: settings.allow_insecure.unwrap_or(false),
        obstacle: None,
    };
    resolved.obstacle = resolved.fill(provider, base_url, key.map(|(_, value)| value)).err();
    // We must not contact an unknown program on a well-known port of this machine unless the user asks for
    // it.
    if provider.is_free() && provider.origin == Origin::BuiltIn && !is_named && resolved.obstacle.is_none() {
        resolved.obstacle = Some(Obstacle::NotNamed(name.to_owned()));
    }
    resolved
}

impl ResolvedModel {
    fn fill(
        &mut self,
        provider: &Provider,
        base_url: Option<String>,
        key: Option<String>,
    ) -> Result<(), Obstacle> {
        let names = |names: &[String]| names.join(" or ");
        if provider.settings.enabled == Some(false) {
            return Err(Obstacle::Off);
        }
        let Some(base_url) = base_url else {
            let variables = provider.settings.base_url_env.as_deref().unwrap_or_default();
            return Err(Obstacle::NoAddress(names(variables)));
        };
        // We only check the address, so the model does not matter.
        let mut endpoint = EndpointSettings::new(&self.name, base_url, "any");
        endpoint.allow_insecure = self.allow_insecure;
        let endpoint = Endpoint::new(endpoint).map_err(|error| Obstacle::Invalid(error.to_string()))?;
        self.base_url = Some(endpoint.base_url().to_owned());
        let invalid = |error| {
            let variable = self.key_variable.as_deref().unwrap_or_default();
            Obstacle::Invalid(format!("{variable}: {error}"))
        };
        self.key = key.map(|key| ApiKey::new(&key)).transpose().map_err(invalid)?;
        if self.key.is_none() && !self.key_variables.is_empty() && !self.is_local {
            return Err(Obstacle::NoKey(names(&self.key_variables)));
        }
        Ok(())
    }

    /// Creates the endpoint of one of its models.
    ///
    /// # Errors
    ///
    /// Returns why it can't be used, in words.
    pub fn endpoint(&self, model: &str, facts: ModelFacts) -> Result<Endpoint, String> {
        let settings = EndpointSettings { facts, ..self.settings(model)? };
        Endpoint::new(settings).map_err(|error| error.to_string())
    }

    /// Creates the endpoint of its model list.
    pub(crate) fn endpoint_of_list(&self) -> Result<Endpoint, String> {
        Endpoint::without_model(self.settings("")?).map_err(|error| error.to_string())
    }

    fn settings(&self, model: &str) -> Result<EndpointSettings, String> {
        if let Some(obstacle) = &self.obstacle {
            return Err(obstacle.to_string());
        }
        let base_url = self.base_url.as_deref().unwrap_or_default();
        let mut settings = EndpointSettings::new(&self.name, base_url, model);
        settings.key.clone_from(&self.key);
        settings.allow_insecure = self.allow_insecure;
        Ok(settings)
    }
}

/// Builds the address for `[scheme://]host[:port][/path]`, which we interpret as Ollama does. A bind address
/// for all interfaces is replaced with the loopback address.
fn url_of_host(host: &str, standard: &str) -> String {
    let (_, standard) = standard.split_once("://").unwrap_or(("", standard));
    let (standard_host, path) = standard.split_once('/').unwrap_or((standard, ""));
    let standard_port = standard_host.rsplit_once(':').map_or("", |(_, port)| port);
    let host = host.trim();
    let (scheme, rest, port) = match host.split_once("://") {
        None => ("http", host, standard_port),
        Some((scheme @ "http", rest)) => (scheme, rest, "80"),
        Some((scheme @ "https", rest)) => (scheme, rest, "443"),
        // This will be rejected later, with the provider's name.
        Some(_) => return host.to_owned(),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    // The colons of an IPv6 address are inside brackets, or there are several of them.
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, own)) if !name.contains(':') || name.ends_with(']') => {
            (name, if own.is_empty() { port } else { own })
        }
        _ => (authority, port),
    };
    let name = match name.trim_start_matches('[').trim_end_matches(']') {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        address if address.contains(':') => format!("[{address}]"),
        name => name.to_owned(),
    };
    format!("{scheme}://{name}:{port}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_as_the_server_reads_it() {
        for (host, url) in [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("127.0.0.1:1", "http://127.0.0.1:1/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:5000", "http://127.0.0.1:5000/v1"),
            (":5000", "http://127.0.0.1:5000/v1"),
            ("[::]:5000", "http://[::1]:5000/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("http://box", "http://box:80/v1"),
            ("https://box.example.com/", "https://box.example.com:443/v1"),
            (" localhost ", "http://localhost:11434/v1"),
            ("ftp://box", "ftp://box"),
        ] {
            assert_eq!(url_of_host(host, "http://127.0.0.1:11434/v1"), url, "{host}");
        }
    }
}
