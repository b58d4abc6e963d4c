//! Handles Ctrl-C. The first one asks the command to end with partial results, and the second one ends the
//! process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use forage_base::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::child;

/// Exit status after Ctrl-C. By convention, this is 128 plus the number of the signal.
const INTERRUPTED: i32 = 130;

/// Pause between two polls for a signal.
const TICK: Duration = Duration::from_millis(20);

/// Signals that ask us to end: Ctrl-C and the request to terminate.
const REQUESTS: &[i32] = &[SIGINT, SIGTERM];

/// Returns the process-wide stop, and starts to handle signals. The first Ctrl-C or request to terminate
/// triggers the stop. The second one ends the process immediately, together with all child programs.
pub(crate) fn stop() -> anyhow::Result<Stop> {
    static STOP: Mutex<Option<Stop>> = Mutex::new(None);
    let mut known = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stop) = &*known {
        return Ok(stop.clone());
    }
    let asked = Arc::new(AtomicBool::new(false));
    let stop = Stop::when(Arc::clone(&asked));
    watch(REQUESTS, move |_| {
        if asked.swap(true, Ordering::AcqRel) {
            child::end_all();
            low_level::exit(INTERRUPTED);
        }
    })?;
    Ok(known.insert(stop).clone())
}

/// Makes sure that signals end child programs before they end this process. Otherwise, the children would
/// survive in their own process groups. This is for commands that do not use [`stop`].
pub(crate) fn end_children_first() -> anyhow::Result<()> {
    static ONCE: AtomicBool = AtomicBool::new(false);
    match ONCE.swap(true, Ordering::AcqRel) {
        true => Ok(()),
        false => watch(REQUESTS, end_by).and_then(|()| end_children_at_hang_up()),
    }
}

/// Like [`end_children_first`], but only for the signal of a closed terminal.
pub(crate) fn end_children_at_hang_up() -> anyhow::Result<()> {
    #[cfg(unix)]
    watch(&[signal_hook::consts::SIGHUP], end_by)?;
    Ok(())
}

fn end_by(signal: i32) {
    child::end_all();
    let _ = low_level::emulate_default_handler(signal);
}

/// Calls `act` on a separate thread when one of the signals arrives. This disables the default action of the
/// signals.
fn watch(signals: &'static [i32], mut act: impl FnMut(i32) + Send + 'static) -> anyhow::Result<()> {
    let come = Arc::new(AtomicUsize::new(0));
    for signal in signals {
        let number = usize::try_from(*signal).unwrap_or_default();
        flag::register_usize(*signal, Arc::clone(&come), number).context("can't listen to Ctrl-C")?;
    }
    let wait = move || {
        loop {
            let number = come.swap(0, Ordering::AcqRel);
            signals
                .iter()
                .filter(|signal| usize::try_from(**signal) == Ok(number))
                .for_each(|signal| act(*signal));
            std::thread::sleep(TICK);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).context("can't start a thread")?;
    Ok(())
}
