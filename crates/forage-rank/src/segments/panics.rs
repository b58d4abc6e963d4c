//! Converts panics of the engine to errors.
//!
//! The engine assumes that its files are intact. Damaged ones cause an index out of range or an impossible
//! length. We check files before the engine uses them, so this only handles the remaining cases: later
//! changes in mapped memory, and bugs of the engine.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::IndexError;

thread_local! {
    /// The nesting depth of guarded work on this thread.
    static GUARDED: Cell<usize> = const { Cell::new(0) };
}

/// Runs work that uses the engine. If it panics, returns an error without printing anything. Data that the
/// work was changing must not be used any more.
///
/// # Errors
///
/// Returns the errors of the work, and [`IndexError::Panicked`].
pub fn guarded<T, E: From<IndexError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    install();
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(GUARDED.get() - 1);
    result.unwrap_or_else(|panic| Err(IndexError::Panicked(message(&*panic)).into()))
}

/// Installs a panic hook that suppresses the messages of guarded panics and passes all others to the previous
/// hook. The whole process shares this hook, so it must check the state of the panicking thread.
fn install() {
    static INSTALLED: Once = Once::new();
    // A panicking thread must not replace the hook.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if GUARDED.get() == 0 {
                before(panic);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of_range(at: usize) -> Result<u8, IndexError> {
        guarded(|| Ok([1, 2, 3][std::hint::black_box(at)]))
    }

    #[test]
    fn index_panic_is_reported_as_damage() {
        assert_eq!(out_of_range(2).unwrap(), 3);
        let error = out_of_range(7).unwrap_err();
        assert!(matches!(&error, IndexError::Panicked(text) if text.contains('7')), "{error}");
        assert!(error.is_damage());
        assert_eq!(GUARDED.get(), 0);
        assert!(catch_unwind(|| guarded::<(), IndexError>(|| Err(IndexError::Busy))).unwrap().is_err());
    }

    /// Runs the test above in a process of its own, so that we can capture its messages.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test runs itself")]
    fn only_guarded_panics_are_silent() {
        let run = |name: &str| {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", "--nocapture", &format!("segments::panics::tests::{name}")])
                .env("RUST_BACKTRACE", "0");
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let silent = run("index_panic_is_reported_as_damage");
        assert!(!silent.contains("panicked"), "{silent}");
        let reported = run("unguarded_panic_is_reported");
        assert!(reported.contains("panicked") && reported.contains("nobody guards this"), "{reported}");
    }

    #[test]
    fn unguarded_panic_is_reported() {
        assert!(out_of_range(3).is_err());
        assert!(catch_unwind(|| panic!("nobody guards this")).is_err());
    }
}
