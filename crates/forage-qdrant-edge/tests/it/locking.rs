//! One at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_lookup::{PointFilter, PointStore, StoreError};
use forage_qdrant_edge::EmbeddedStore;

use crate::support::{Twin, created, open, some_points, told, upsert};

/// Far more than the refusal takes, and far less than a wait would.
const AT_ONCE: Duration = Duration::from_secs(1);

#[test]
fn a_second_process_is_told_at_once_who_has_the_collection_and_gets_it_when_that_is_killed() {
    const TEST: &str =
        "locking::a_second_process_is_told_at_once_who_has_the_collection_and_gets_it_when_that_is_killed";
    if let Some(directory) = told() {
        let _store = open(directory.as_ref());
        println!("\nopen: yes");
        loop {
            std::thread::park();
        }
    }
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(7));
    drop(store);
    let mut other = Twin::start(TEST, home.path().to_str().unwrap());
    other.next("open: ").unwrap();
    let asked = Instant::now();
    let error = EmbeddedStore::open(home.path(), "code").err().unwrap();
    assert!(asked.elapsed() < AT_ONCE);
    assert_eq!(
        error,
        StoreError::Locked(format!(
            "collection `code` in {} is in use by process {}: end that, or use a Qdrant server for several at once",
            home.path().display(),
            other.number()
        ))
    );
    other.kill();
    assert_eq!(open(home.path()).count(&PointFilter::default(), &Stop::never()), Ok(7));
}

#[test]
fn a_second_store_of_a_collection_in_one_process_is_refused_until_the_first_is_dropped() {
    let home = tempfile::tempdir().unwrap();
    let early = open(home.path());
    let store = created(home.path());
    let error = EmbeddedStore::open(home.path(), "code").err().unwrap();
    assert_eq!(error.kind(), "locked");
    assert!(error.to_string().contains(&format!("in this process already (process {})", std::process::id())));
    // One that was opened before there was a collection.
    let stop = Stop::never();
    assert_eq!(early.collection(&stop).unwrap_err().kind(), "locked");
    assert_eq!(early.drop_collection(&stop).unwrap_err().kind(), "locked");
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(0));
    drop(store);
    assert_eq!(early.count(&PointFilter::default(), &stop), Ok(0));
}

#[test]
fn reads_and_writes_of_several_threads_do_not_harm_each_other() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(50));
    let stop = Stop::never();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Also if it fails.
            let _done = Done(&is_done);
            for round in 0..10 {
                upsert(&store, some_points(50 + round));
                store.finish(&stop).unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let points = crate::support::all(&store, &["path"], 40);
                    assert!((50..60).contains(&points.len()), "{}", points.len());
                    assert!(points.iter().all(|(_, payload)| payload.contains_key("path")));
                }
            });
        }
    });
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(59));
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
