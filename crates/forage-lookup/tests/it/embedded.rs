//! Tests of the embedded store.

mod crash;
mod damage;
#[cfg(unix)]
mod planted;
mod round_trip;
mod writers;
