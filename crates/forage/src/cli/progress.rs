//! A line on the terminal for whatever takes longer than half a second.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use forage_tools::{WaitingFor, sanitize_line};

use forage_base::Background;

const FIRST: Duration = Duration::from_millis(500);
const BETWEEN: Duration = Duration::from_millis(200);

/// Whether nothing is to be shown.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Shows no progress in this process.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Shows progress until it is dropped. Nothing is shown when stderr is no terminal.
pub(crate) struct ProgressBar {
    _shown: Option<Background>,
}

impl ProgressBar {
    pub(crate) fn start(count: &Arc<AtomicU64>, what: &'static str) -> Self {
        Self::waiting(count, what, &WaitingFor::default())
    }

    /// As [`ProgressBar::start`], of work that waits for others at times.
    pub(crate) fn waiting(count: &Arc<AtomicU64>, what: &'static str, waiting: &WaitingFor) -> Self {
        if QUIET.load(Ordering::Relaxed) || !io::stderr().is_terminal() {
            return Self { _shown: None };
        }
        let (count, waiting) = (Arc::clone(count), waiting.clone());
        let shown = Background::start("progress", move |work| {
            let started = Instant::now();
            let mut wait = FIRST;
            let mut shown = false;
            while work.goes_on_after(wait) {
                let (count, seconds) = (count.load(Ordering::Relaxed), started.elapsed().as_secs_f32());
                let doing = match waiting.whom() {
                    Some(model) => format!("waiting for {}", sanitize_line(&model)),
                    None => format!("{count} {what}"),
                };
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
