//! Shows a progress line on the terminal if an operation takes longer than half a second.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use forage_tools::CallProgress;

use forage_base::Background;

/// Delay before the line first appears.
const FIRST: Duration = Duration::from_millis(500);
/// Interval at which it is redrawn.
const BETWEEN: Duration = Duration::from_millis(200);

/// True if progress must not be shown.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Disables progress lines in this process.
pub(crate) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Shows progress until it is dropped. This shows nothing if stderr is not a terminal.
pub(crate) struct ProgressBar {
    _shown: Option<Background>,
}

impl ProgressBar {
    /// Shows a counter, e.g. `filling the collection: 12 chunks`.
    pub(crate) fn counting(doing: &'static str, counted: &Arc<AtomicU64>, what: &'static str) -> Self {
        let counted = Arc::clone(counted);
        Self::start(move || format!("{doing}: {} {what}", counted.load(Ordering::Relaxed)))
    }

    /// Shows the progress of a call.
    pub(crate) fn for_call(progress: &CallProgress, else_doing: &'static str) -> Self {
        let progress = progress.clone();
        Self::start(move || progress.describe(else_doing))
    }

    fn start(said: impl Fn() -> String + Send + 'static) -> Self {
        if QUIET.load(Ordering::Relaxed) || !io::stderr().is_terminal() {
            return Self { _shown: None };
        }
        let shown = Background::start("progress", move |work| {
            let started = Instant::now();
            let mut wait = FIRST;
            let mut shown = false;
            while work.goes_on_after(wait) {
                let (doing, seconds) = (said(), started.elapsed().as_secs_f32());
                let _ = write!(io::stderr(), "\r\x1b[K{doing}, {seconds:.1} s …");
                (wait, shown) = (BETWEEN, true);
            }
            if shown {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        Self { _shown: Some(shown) }
    }
}
