//! Ctrl-C: the first one asks the command to end with what it knows, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use forage_fs::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit status of a process that Ctrl-C ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// A stop that the first Ctrl-C (or the first request to terminate) sets off. The second one ends the process at once,
/// whatever it is doing.
pub(crate) fn stop() -> anyhow::Result<Stop> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))
            .and_then(|_| flag::register(signal, Arc::clone(&asked)))
            .context("can't listen to Ctrl-C")?;
    }
    Ok(Stop::when(asked))
}
