//! The engine's panics as errors.
//!
//! The engine takes its files as sound: what is read of damaged ones becomes an index out of range or a length that
//! nobody has. Files are checked before it sees them, and this is what is left: what changes afterwards in mapped
//! memory, and mistakes of the engine itself.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::IndexError;

thread_local! {
    /// Pieces of work within each other whose panics are errors.
    static GUARDED: Cell<usize> = const { Cell::new(0) };
}

/// Does a piece of work that uses the engine; a panic in it is an error that says so, and nothing is printed. What the
/// work was changing must not be used any more.
///
/// # Errors
/// Those of the work, and [`IndexError::Panicked`].
pub fn guarded<T, E: From<IndexError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    install();
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(GUARDED.get() - 1);
    result.unwrap_or_else(|panic| Err(IndexError::Panicked(message(&*panic)).into()))
}

/// Leaves out the messages of panics that become errors; all others go the way they went before. The hook is the
/// process's, so that there is one, and it asks the thread that panics.
fn install() {
    static INSTALLED: Once = Once::new();
    // From a thread that panics it can't be done.
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
    fn a_panic_is_an_error_that_counts_as_damage_and_others_stay_panics() {
        assert_eq!(out_of_range(2).unwrap(), 3);
        let error = out_of_range(7).unwrap_err();
        assert!(matches!(&error, IndexError::Panicked(text) if text.contains('7')), "{error}");
        assert!(error.is_damage());
        assert_eq!(GUARDED.get(), 0);
        assert!(catch_unwind(|| guarded::<(), IndexError>(|| Err(IndexError::Busy))).unwrap().is_err());
    }

    /// The test above in a process of its own, whose messages can be seen.
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
        let silent = run("a_panic_is_an_error_that_counts_as_damage_and_others_stay_panics");
        assert!(!silent.contains("panicked"), "{silent}");
        let told = run("a_panic_that_nobody_guards_is_told");
        assert!(told.contains("panicked") && told.contains("nobody guards this"), "{told}");
    }

    #[test]
    fn a_panic_that_nobody_guards_is_told() {
        assert!(out_of_range(3).is_err());
        assert!(catch_unwind(|| panic!("nobody guards this")).is_err());
    }
}
