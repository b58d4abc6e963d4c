//! Settings of a server.

use std::time::Duration;

use forage_base::ApiKey;
use forage_http::is_loopback;
use forage_http::ureq::http::Uri;

use crate::limits;
use crate::qdrant::shown::clean;
use crate::store::StoreError;

/// A collection on a server, and how to access it.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// `http://host:port` or `https://host:port`. The default port is that of the REST API, 6333, not
    /// that of gRPC, 6334.
    pub url: String,
    /// The API key, if the server requires one.
    pub api_key: Option<ApiKey>,
    /// Whether the key may be sent over `http://` to another machine. Note that everyone on the network path
    /// can read it then.
    pub allow_plain_key: bool,
    /// The name of the collection.
    pub collection: String,
    /// The payload field that determines the shard of a point, if the collection is sharded by a field
    /// ([`Sharding::key_field`](crate::Sharding::key_field)). Its values must be texts. Before the value of a
    /// point changes, you must remove the point. Otherwise the shard of the old value keeps the old point.
    pub shard_key_field: Option<String>,
    /// The timeout of one request. The caller may set an earlier deadline. An operation that consists of
    /// several requests (e.g. creating a collection with its indexes, or writing points with several shard
    /// keys) may take a multiple of this time.
    pub request_timeout: Duration,
    /// The timeout for connecting. Note that the TLS handshake counts as part of the request instead.
    pub connect_timeout: Duration,
}

impl ServerSettings {
    /// Creates settings without a key, with the default timeouts of [`limits`].
    pub fn new(url: &str, collection: &str) -> Self {
        Self {
            url: url.to_owned(),
            api_key: None,
            allow_plain_key: false,
            collection: collection.to_owned(),
            shard_key_field: None,
            request_timeout: limits::REQUEST_TIMEOUT,
            connect_timeout: limits::CONNECT_TIMEOUT,
        }
    }

    /// Parses the address, and checks that the key may be sent to it.
    pub(crate) fn address(&self) -> Result<Address, StoreError> {
        let address = Address::parse(&self.url)?;
        if self.collection.is_empty() {
            return Err(StoreError::Invalid("the collection name is empty".to_owned()));
        }
        if self.api_key.is_some() && !address.is_tls && !address.is_loopback() && !self.allow_plain_key {
            return Err(StoreError::Invalid(format!(
                "the API key would go to {address} in plain text: use https://, or set `allow_plain_key` if \
                 you trust the network between"
            )));
        }
        Ok(address)
    }
}

/// A valid address, which consists only of scheme, host and port.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The form for messages.
    pub(crate) url: String,
    host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
}

impl Address {
    fn parse(url: &str) -> Result<Self, StoreError> {
        // We must not show a rejected address, because it may contain a password.
        let refused = |why: &str| {
            let form = "write http://host:6333 or https://host:6333";
            StoreError::Invalid(format!("the address of the Qdrant server {why}: {form}"))
        };
        let uri: Uri = url.trim().parse().map_err(|_| refused("is not a URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refused("has neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or_else(|| refused("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("has a user name or password, which Qdrant does not support"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refused("has a path or a query, which is not supported"));
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("" | ":") => limits::REST_PORT,
            _ => authority.port_u16().ok_or_else(|| refused("has an invalid port"))?,
        };
        let host = authority.host();
        let scheme = if is_tls { "https" } else { "http" };
        Ok(Self {
            url: format!("{scheme}://{}:{port}", clean(host, None)),
            host: host.to_owned(),
            port,
            is_tls,
        })
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.url)
    }
}
