//! Recognizes hosts that are this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if a host, as written in a URL, is this machine. Only literal addresses count, because any
/// other name could point elsewhere. `localhost` also counts because the connector never looks it up.
pub fn is_loopback(host: &str) -> bool {
    is_localhost(host) || literal_address(host).is_some_and(|address| address.to_canonical().is_loopback())
}

/// Returns true if the host is the name `localhost`.
pub fn is_localhost(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
}

/// Parses a host literal as an address. An IPv6 address must be in brackets.
pub fn literal_address(host: &str) -> Option<IpAddr> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    host.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}
