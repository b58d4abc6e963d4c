//! Limits of this crate, each with its unit and reason.

use std::time::Duration;

/// Default of the maximum time to connect to one address. A host that has not accepted by then is unreachable
/// for an interactive search. We should rather spend the remaining time on the next address or server.
pub(crate) const MAX_CONNECT: Duration = Duration::from_secs(10);

/// Maximum addresses of one host that we try. After a few addresses, the deadline has usually passed.
pub(crate) const MAX_ADDRESSES: usize = 8;

/// Maximum name look-ups in progress in this process. We can't interrupt the system's look-up, so an
/// abandoned one continues until the system ends it. This limits their number.
pub(crate) const MAX_LOOKUPS: usize = 8;
