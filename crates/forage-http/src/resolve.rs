//! Resolves host names within the budget of a call.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::{io, thread};

use forage_base::WAIT_SLICE;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::connect::CallState;
use crate::host::{is_localhost, literal_address};
use crate::limits::{MAX_ADDRESSES, MAX_LOOKUPS};

/// Number of look-ups in progress in this process, including abandoned ones.
static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

/// Resolves the addresses of a server, within the budget of one call.
///
/// IP addresses and `localhost` need no look-up. We permit plain http to `localhost` because it always means
/// this machine. Any other name goes to the system's resolver, which is the only wait that we can't
/// interrupt. The resolver therefore runs on a separate thread. If the call ends early, this thread continues
/// until the system gives up, by default after some seconds. [`MAX_LOOKUPS`] limits the number of such
/// threads.
pub(crate) fn addresses(uri: &Uri, state: &CallState) -> Result<Vec<SocketAddr>, Error> {
    state.check()?;
    let host = uri.host().ok_or_else(|| Error::BadUri("no host".to_owned()))?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let mut addresses = if is_localhost(host) {
        [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            .map(|address| SocketAddr::new(address, port))
            .to_vec()
    } else if let Some(address) = literal_address(host) {
        vec![SocketAddr::new(address, port)]
    } else {
        look_up(host, port, state)?
    };
    addresses.truncate(MAX_ADDRESSES);
    if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
}

/// Leaves resolution to the connector, because ureq would resolve names for every request even if it needs no
/// new connection.
#[derive(Debug)]
pub(crate) struct LateResolver;

impl Resolver for LateResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// Counts one look-up until this is dropped, however the look-up ends.
struct LookupPermit;

impl LookupPermit {
    fn take() -> Option<Self> {
        let taken = LOOKUPS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            (count < MAX_LOOKUPS).then_some(count + 1)
        });
        taken.is_ok().then_some(Self)
    }
}

impl Drop for LookupPermit {
    fn drop(&mut self) {
        LOOKUPS.fetch_sub(1, Ordering::AcqRel);
    }
}

fn look_up(host: &str, port: u16, state: &CallState) -> Result<Vec<SocketAddr>, Error> {
    let place =
        LookupPermit::take().ok_or_else(|| io::Error::other("too many name lookups are in progress"))?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let host = host.to_owned();
    thread::Builder::new().name("forage-resolve".to_owned()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        drop(place);
        // If the call has ended, no one needs the addresses.
        let _ = sender.send(found);
    })?;
    loop {
        match receiver.recv_timeout(WAIT_SLICE) {
            Ok(found) => return Ok(found?),
            Err(RecvTimeoutError::Timeout) => state.check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::HostNotFound),
        }
    }
}
