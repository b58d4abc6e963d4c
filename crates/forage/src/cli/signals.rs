//! Ctrl-C: the first one asks the command to end with what it knows, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use forage_base::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

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

/// Pause between two looks at whether a signal has come.
const TICK: Duration = Duration::from_millis(20);

/// Has `last` called before a signal ends the process, which would leave behind what it has started in groups of their own.
/// From here on only the first call counts.
pub(crate) fn before_the_end(last: fn()) -> anyhow::Result<()> {
    static ONCE: AtomicBool = AtomicBool::new(false);
    if ONCE.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let come = Arc::new(AtomicUsize::new(0));
    for signal in ENDING {
        let number = usize::try_from(*signal).unwrap_or_default();
        flag::register_usize(*signal, Arc::clone(&come), number).context("can't listen to Ctrl-C")?;
    }
    let wait = move || {
        loop {
            let number = come.load(Ordering::Acquire);
            if let Some(signal) = ENDING.iter().find(|signal| usize::try_from(**signal) == Ok(number)) {
                last();
                let _ = low_level::emulate_default_handler(*signal);
            }
            std::thread::sleep(TICK);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).context("can't start a thread")?;
    Ok(())
}

/// Ctrl-C, the request to terminate, and the end of the terminal.
#[cfg(unix)]
const ENDING: &[i32] = &[SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const ENDING: &[i32] = &[SIGINT, SIGTERM];
