//! What every crate of Forage needs, and what knows none of them.
//!
//! [`Stop`] ends work, of all kinds: a search, an index, a question to a model. [`Hash64`] names what is kept on the disk.
//! [`Background`] is a thread beside some work, which ends with it.

mod background;
mod hash;
mod stop;

pub use background::{Background, Work};
pub use hash::Hash64;
pub use stop::{Pace, Stop, Stopped, WAIT_SLICE};
