//! Where the server is, and how it is asked.

use std::time::Duration;

use forage_base::ApiKey;
use forage_http::is_loopback;
use forage_http::ureq::http::Uri;

use crate::limits;
use crate::qdrant::shown::clean;
use crate::store::StoreError;

/// A collection on a server, and the way in which it is asked.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// `http://host:port` or `https://host:port`; without a port that of the REST interface, 6333. Not that of gRPC, 6334.
    pub url: String,
    /// For a server that asks for one.
    pub api_key: Option<ApiKey>,
    /// Whether the key may go over `http://` to another machine, where everyone on the way can read it.
    pub allow_plain_key: bool,
    /// The collection.
    pub collection: String,
    /// The payload field that names the shard of a point, if the collection is sharded by such a field
    /// ([`Sharding::key_field`](crate::Sharding::key_field)). Its values are texts. A point whose value changes must be removed
    /// first: the shard of the old value knows nothing of the new one.
    pub shard_key_field: Option<String>,
    /// The longest that one request takes. Whoever calls may set an earlier end. What consists of several requests
    /// (making a collection with its indexes, points of several shard keys) may take as often as long.
    pub request_timeout: Duration,
    /// The longest that connecting takes, without what TLS takes: that counts as the request's.
    pub connect_timeout: Duration,
}

impl ServerSettings {
    /// Without a key, with the time limits of [`limits`].
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

    /// The address, if a key may be sent to it.
    pub(crate) fn address(&self) -> Result<Address, StoreError> {
        let address = Address::parse(&self.url)?;
        if self.collection.is_empty() {
            return Err(StoreError::Invalid("the name of the collection is empty".to_owned()));
        }
        if self.api_key.is_some() && !address.is_tls && !address.is_loopback() && !self.allow_plain_key {
            return Err(StoreError::Invalid(format!(
                "the API key would go to {address} in plain text: use https://, or set `allow_plain_key` if the network \
                 between is trusted"
            )));
        }
        Ok(address)
    }
}

/// A checked address: nothing but scheme, host and port.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// As messages show it.
    pub(crate) url: String,
    host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
}

impl Address {
    fn parse(url: &str) -> Result<Self, StoreError> {
        // A refused address is not shown: it may hold a password.
        let refused = |why: &str| {
            let form = "write http://host:6333 or https://host:6333";
            StoreError::Invalid(format!("the address of the Qdrant server {why}: {form}"))
        };
        let uri: Uri = url.trim().parse().map_err(|_| refused("is no URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refused("has neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or_else(|| refused("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("has a user name or password, which Qdrant does not know"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refused("has a path or a query, which is not supported"));
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("" | ":") => limits::REST_PORT,
            _ => authority.port_u16().ok_or_else(|| refused("has a port that is none"))?,
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
