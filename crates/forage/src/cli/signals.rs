//! Ctrl-C: the first one asks the command to end with what it knows, the second ends the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use forage_base::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::child;

/// A stop that the first Ctrl-C (or the first request to terminate) sets off; one for the whole process. The second one, or
/// the end of the terminal, ends the process, whatever it is doing, with all programs that it has started.
pub(crate) fn stop() -> anyhow::Result<Stop> {
    static STOP: Mutex<Option<Stop>> = Mutex::new(None);
    let mut known = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stop) = &*known {
        return Ok(stop.clone());
    }
    let (come, asked) = (listen()?, Arc::new(AtomicBool::new(false)));
    let stop = Stop::when(Arc::clone(&asked));
    watch(child::end_all, move || {
        let signal = come.swap(0, Ordering::AcqRel);
        let is_first = is_request(signal) && !asked.swap(true, Ordering::AcqRel);
        (signal != 0 && !is_first).then_some(signal)
    })?;
    Ok(known.insert(stop).clone())
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
    let come = listen()?;
    watch(last, move || Some(come.load(Ordering::Acquire)).filter(|signal| *signal != 0))
}

/// Where the number of the last signal stands that would end the process, which it no longer does by itself.
fn listen() -> anyhow::Result<Arc<AtomicUsize>> {
    let come = Arc::new(AtomicUsize::new(0));
    for signal in ENDING {
        let number = usize::try_from(*signal).unwrap_or_default();
        flag::register_usize(*signal, Arc::clone(&come), number).context("can't listen to Ctrl-C")?;
    }
    Ok(come)
}

fn is_request(signal: usize) -> bool {
    [SIGINT, SIGTERM].iter().any(|request| usize::try_from(*request) == Ok(signal))
}

/// Looks again and again by which signal the process is to end, and calls `last` before that.
fn watch(last: fn(), mut ends: impl FnMut() -> Option<usize> + Send + 'static) -> anyhow::Result<()> {
    let wait = move || {
        loop {
            if let Some(number) = ends() {
                last();
                let signal = ENDING.iter().find(|signal| usize::try_from(**signal) == Ok(number));
                signal.map(|signal| low_level::emulate_default_handler(*signal));
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
