//! Tests the walk through its public interface: order, deadlines, and receivers that stop, stall or panic.
#![expect(clippy::disallowed_methods, reason = "tests make their own trees")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fuzz;
// Some of the compared names are forbidden on other systems.
#[cfg(unix)]
mod git_rules;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped};
use forage_fs::{Entry, RelPath, Root, RootPolicy, SecretPolicy, Skipped, WalkOptions, WalkStep, walk};

fn tree(files: usize) -> (tempfile::TempDir, Arc<Root>) {
    let directory = tempfile::tempdir().unwrap();
    for i in 0..files {
        let place = directory.path().join(format!("d{}/e{}", i % 7, i % 3));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(format!("f{i:04}")), "x").unwrap();
    }
    let root = open(directory.path());
    (directory, root)
}

fn open(path: &Path) -> Arc<Root> {
    Root::open(path, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
}

fn threads(threads: usize) -> WalkOptions {
    WalkOptions { threads, ..WalkOptions::default() }
}

fn names(entry: &Entry<'_>) -> WalkStep<RelPath> {
    WalkStep::Item(entry.path.clone(), 1)
}

/// Lists all files in the order of a walk with `count` threads.
fn everything(root: &Arc<Root>, count: usize) -> Vec<RelPath> {
    files(root, &threads(count))
}

/// Lists the files of a walk, in its order.
fn files(root: &Arc<Root>, options: &WalkOptions) -> Vec<RelPath> {
    let mut seen = Vec::new();
    walk(
        root,
        &RelPath::root(),
        options,
        &Stop::never(),
        || (),
        |(), entry, _: &mut Skipped| names(entry),
        |path| {
            seen.push(path);
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    seen
}

#[test]
fn results_arrive_once_and_in_order() {
    let (_keep, root) = tree(500);
    for count in [1, 2, 3, 8] {
        let seen = everything(&root, count);
        assert_eq!(seen.len(), 500);
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{count} threads");
    }
}

/// Nothing after the first gap may be delivered: a caller that continues from the last result must see
/// everything that is missing.
#[test]
fn deadline_leaves_no_gap() {
    let (_keep, root) = tree(300);
    for count in [1, 2, 4] {
        let stop = Stop::after(Duration::from_millis(60));
        let visited = AtomicUsize::new(0);
        let mut seen: Vec<RelPath> = Vec::new();
        let report = walk(
            &root,
            &RelPath::root(),
            &threads(count),
            &stop,
            || (),
            |(), entry, _: &mut Skipped| {
                // The first batch is slow, and the later ones are fast.
                if visited.fetch_add(1, Ordering::Relaxed) < 80 {
                    std::thread::sleep(Duration::from_millis(10));
                }
                names(entry)
            },
            |path| {
                seen.push(path);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        assert_eq!(report.stopped, Some(Stopped::Deadline), "{count} threads");
        let all = everything(&root, 1);
        assert_eq!(seen, all[..seen.len()], "{count} threads: a prefix of everything");
    }
}

#[test]
fn panicking_receiver_ends_the_walk() {
    let (_keep, root) = tree(400);
    for count in [1, 2, 4] {
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| {
            walk(
                &root,
                &RelPath::root(),
                &threads(count),
                &Stop::never(),
                || (),
                |(), entry, _: &mut Skipped| names(entry),
                |_| panic!("a receiver's own fault"),
            )
        }));
        assert!(result.is_err() && started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn panicking_visitor_ends_the_walk() {
    let (_keep, root) = tree(400);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let visit =
            |(): &mut (), _: &Entry<'_>, _: &mut Skipped| -> WalkStep<()> { panic!("a visitor's own fault") };
        walk(
            &root,
            &RelPath::root(),
            &threads(2),
            &Stop::never(),
            || (),
            visit,
            |()| ControlFlow::Continue(()),
        )
    }));
    assert!(result.is_err());
}

/// While one receiver stalls, the results of other workers must not accumulate.
#[test]
fn waiting_results_are_limited() {
    let (_keep, root) = tree(600);
    let visited = AtomicUsize::new(0);
    let mut first = true;
    let mut max = 0;
    walk(
        &root,
        &RelPath::root(),
        &threads(3),
        &Stop::never(),
        || (),
        |(), entry, _: &mut Skipped| {
            visited.fetch_add(1, Ordering::Relaxed);
            // Each item claims 4 MiB, so one batch exceeds the limit immediately.
            WalkStep::Item(entry.path.clone(), 4 << 20)
        },
        |_| {
            if std::mem::take(&mut first) {
                std::thread::sleep(Duration::from_millis(300));
                max = visited.load(Ordering::Relaxed);
            }
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    // Each worker finishes its current batch; 600 would mean that nothing stopped them.
    assert!(max < 400, "{max} of 600 were visited while the first was being received");
    assert_eq!(visited.load(Ordering::Relaxed), 600);
}
