//! Measures the cost of keeping a call's journal entry. We make the same calls with and without it,
//! alternating in one process.
//!
//! ```sh
//! cargo run --release --package forage-ui --example journal_cost -- DIRECTORY
//! ```
//!
//! For each of a few calls, this prints the median time without a journal, the median difference of the
//! pairs, and the number of pairs.
#![expect(clippy::disallowed_macros, reason = "a program for developers that prints figures")]

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_tools::{Call, CallSink, Workspace, registry, telemetry};
use forage_ui::{CallRecord, RecentCalls};
use serde_json::{Value, json};

/// Receives calls like a journal file: a thread collects them every two milliseconds and serializes them.
#[derive(Clone, Default)]
struct Handed(Arc<Mutex<Vec<Arc<CallRecord>>>>);

impl CallSink<Arc<CallRecord>> for Handed {
    fn ended(&self, call: Arc<CallRecord>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    let policy = RootPolicy { home: None, allow_broad: true };
    let root = Root::open(Path::new(&directory), &policy, SecretPolicy::standard(&[]))?;
    let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root())?);
    let without = workspace.start_call();
    let handed = Handed::default();
    let (taken, is_over) = (handed.clone(), Arc::new(AtomicBool::new(false)));
    let ends = Arc::clone(&is_over);
    let writer = std::thread::spawn(move || {
        let mut bytes = 0;
        while !ends.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(2));
            let calls = std::mem::take(&mut *taken.0.lock().unwrap_or_else(PoisonError::into_inner));
            bytes += calls
                .iter()
                .map(|call| serde_json::to_string(&**call).map_or(0, |it| it.len()))
                .sum::<usize>();
        }
        bytes
    });
    let kept = RecentCalls::new("mcp", "0", Some(Box::new(handed)));
    workspace.observers.journal = Some(Arc::new(kept));
    let with = workspace.start_call();
    for (tool, arguments, pairs) in [
        ("read_file", json!({ "path": "README.md", "end_line": 20 }), 4_000),
        ("grep_search", json!({ "pattern": "retry", "path": "README.md" }), 4_000),
        ("grep_search", json!({ "pattern": "\\bfn\\b" }), 200),
    ] {
        let tool = registry::find(tool)?;
        let time = |call: &Call, arguments: &Value| {
            let began = Instant::now();
            let answered = telemetry::call(tool, call, arguments.clone());
            answered.map(|_| began.elapsed())
        };
        let (mut plain, mut differences) = (Vec::new(), Vec::new());
        for index in 0..pairs {
            // We alternate the order because the second call has warmer caches.
            let (off, on) = match index % 2 {
                0 => (time(&without, &arguments)?, time(&with, &arguments)?),
                _ => {
                    let on = time(&with, &arguments)?;
                    (time(&without, &arguments)?, on)
                }
            };
            plain.push(off);
            differences.push(on.as_secs_f64() - off.as_secs_f64());
        }
        plain.sort_unstable();
        differences.sort_unstable_by(f64::total_cmp);
        let median: Duration = plain[plain.len() / 2];
        println!(
            "{} {arguments}: {:.1} µs without, {:+.2} µs with its head kept and handed to a journal ({pairs} pairs)",
            tool.name(),
            median.as_secs_f64() * 1e6,
            differences[differences.len() / 2] * 1e6,
        );
    }
    is_over.store(true, Ordering::Release);
    println!("{} bytes written", writer.join().map_err(|_| "the writer panicked")?);
    Ok(())
}
