//! Utilities shared by all Forage crates.
//!
//! - [`Stop`] cancels work of any kind, for example a search, an index build or a request to a model.
//! - [`Hash64`] names data that is stored on disk.
//! - [`Background`] is a background thread that is joined on drop; [`map_in_threads`] maps items in parallel.
//! - [`Permits`] limits how much of a shared resource, such as memory, the calls of a process use together.
//! - [`Hint`] describes an action that may resolve an error.
//! - [`ApiKey`] is a secret that can be sent but not displayed.
//! - [`count()`] formats a number with its noun.
//!
//! ```
//! use std::time::Duration;
//!
//! use forage_base::{Stop, Stopped};
//!
//! // Cancellation by the caller and a deadline, in one value.
//! let stop = Stop::never();
//! let step = stop.within(Duration::from_secs(5));
//! assert_eq!(step.check(), None);
//! stop.cancel();
//! assert_eq!(step.check(), Some(Stopped::Cancelled));
//! ```

mod background;
mod count;
mod hash;
mod hint;
mod key;
mod parallel;
mod permits;
mod stop;

pub use background::{Background, BackgroundWork};
pub use count::{count, grouped};
pub use hash::Hash64;
pub use hint::Hint;
pub use key::{ApiKey, KeyError};
pub use parallel::{in_threads, map_in_threads};
pub use permits::{Permit, Permits};
pub use stop::{Pace, Stop, Stopped, WAIT_SLICE};
