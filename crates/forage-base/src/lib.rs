//! What every crate of Forage needs, and what knows none of them.
//!
//! [`Stop`] ends work, of all kinds: a search, an index, a question to a model. [`Hash64`] names what is kept on the disk.
//! [`Background`] is a thread beside some work, which ends with it; [`map_in_threads`] has several do one work. [`Hint`] is what can be done about an error.
//! [`ApiKey`] is a secret that can be sent and not shown.
//!
//! ```
//! use std::time::Duration;
//!
//! use forage_base::{Stop, Stopped};
//!
//! // The wish of whoever waits, and a deadline: work asks one thing.
//! let stop = Stop::never();
//! let step = stop.within(Duration::from_secs(5));
//! assert_eq!(step.check(), None);
//! stop.cancel();
//! assert_eq!(step.check(), Some(Stopped::Cancelled));
//! ```

mod background;
mod hash;
mod hint;
mod key;
mod parallel;
mod stop;

pub use background::{Background, BackgroundWork};
pub use hash::Hash64;
pub use hint::Hint;
pub use key::{ApiKey, KeyError};
pub use parallel::{in_threads, map_in_threads};
pub use stop::{Pace, Stop, Stopped, WAIT_SLICE};
