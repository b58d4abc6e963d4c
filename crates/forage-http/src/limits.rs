//! Every limit of this crate, with its unit and its reason.

use std::time::Duration;

/// Longest time to connect to one address, in seconds, unless the settings say otherwise. A host that has not accepted by
/// then is unreachable for an interactive search, and the next address or server is the better use of the deadline.
pub(crate) const MAX_CONNECT: Duration = Duration::from_secs(10);

/// Most addresses of one host that are tried. Beyond a few the deadline is gone anyway.
pub(crate) const MAX_ADDRESSES: usize = 8;

/// Most name look-ups that may be under way in this process. The system's look-up cannot be interrupted, so a
/// given-up one lives on until the system ends it; this bounds how many can.
pub(crate) const MAX_LOOKUPS: usize = 8;
