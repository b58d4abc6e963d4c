//! What every crate of Forage needs, and what knows none of them.
//!
//! [`Stop`] ends work, of all kinds: a search, an index, a question to a model. [`Hash64`] names what is kept on the disk.

mod hash;
mod stop;

pub use hash::Hash64;
pub use stop::{Pace, Stop, Stopped, WAIT_SLICE};
