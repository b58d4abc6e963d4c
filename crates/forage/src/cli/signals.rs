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

/// The same for a command that has started programs in groups of their own: `last` is called before the second signal, or
/// the end of the terminal, ends the process.
pub(crate) fn stop_with(last: fn()) -> anyhow::Result<Stop> {
    let (come, asked) = (listen()?, Arc::new(AtomicBool::new(false)));
    let stop = Stop::when(Arc::clone(&asked));
    watch(move || {
        let signal = come.swap(0, Ordering::AcqRel);
        let is_first = signal != 0 && !asked.swap(true, Ordering::AcqRel);
        (signal != 0 && !(is_first && is_request(signal))).then(|| (signal, last))
    })?;
    Ok(stop)
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
    watch(move || Some((come.load(Ordering::Acquire), last)).filter(|(signal, _)| *signal != 0))
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

/// Looks again and again whether the process is to end, by which signal and after what.
fn watch(mut ends: impl FnMut() -> Option<(usize, fn())> + Send + 'static) -> anyhow::Result<()> {
    let wait = move || {
        loop {
            if let Some((number, last)) = ends() {
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
