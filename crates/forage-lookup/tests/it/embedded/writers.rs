//! Tests that one writer and any number of readers can use a collection.

use std::sync::atomic::{AtomicBool, Ordering};

use forage_base::Stop;
use forage_lookup::{PointFilter, PointReader, PointStore, StoreError};
use serde_json::json;

use crate::support::{Twin, USING, all, child_argument, created, creation, open, point, some_points, upsert};

#[test]
fn a_second_process_reads_and_writes_once_the_writer_is_killed() {
    const TEST: &str = "embedded::writers::a_second_process_reads_and_writes_once_the_writer_is_killed";
    if let Some(directory) = child_argument() {
        let store = open(directory.as_ref());
        upsert(&store, some_points(50));
        println!("\nwritten: yes");
        loop {
            std::thread::park();
        }
    }
    let home = tempfile::tempdir().unwrap();
    let (store, stop) = (created(home.path()), Stop::never());
    upsert(&store, some_points(7));
    store.finish(&stop).unwrap();
    let mut other = Twin::start(TEST, home.path().to_str().unwrap());
    other.next("written: ").unwrap();
    // Uncommitted changes of the other store should not be visible.
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(7));
    assert_eq!(open(home.path()).count(&PointFilter::default(), &stop), Ok(7));
    let locked = StoreError::Locked(format!(
        "process {} is writing collection `code` in {}: try again when it has finished",
        other.id(),
        home.path().display()
    ));
    assert_eq!(store.upsert(some_points(9), USING, &stop), Err(locked.clone()));
    assert_eq!(store.drop_collection(&stop), Err(locked));
    assert_eq!(store.create(&creation(), &stop).unwrap_err().kind(), "exists");
    other.kill();
    upsert(&store, some_points(9));
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(9));
}

#[test]
fn two_stores_in_one_process_take_turns_at_writing() {
    let home = tempfile::tempdir().unwrap();
    let (one, two, stop) = (created(home.path()), open(home.path()), Stop::never());
    upsert(&one, some_points(5));
    assert_eq!(two.remove(&[], &stop).unwrap_err().kind(), "locked");
    one.finish(&stop).unwrap();
    assert_eq!(two.count(&PointFilter::default(), &stop), Ok(5));
    upsert(&two, some_points(8));
    drop(two);
    // Acknowledged changes must be kept even if a store is dropped without `finish`.
    assert_eq!(one.count(&PointFilter::default(), &stop), Ok(8));
    assert!(one.drop_collection(&stop).unwrap());
    assert_eq!(open(home.path()).collection(&stop), Ok(None));
}

#[test]
fn readers_in_other_threads_see_whole_commits() {
    let home = tempfile::tempdir().unwrap();
    let (store, reader) = (created(home.path()), open(home.path()));
    upsert(&store, some_points(50));
    let stop = Stop::never();
    store.finish(&stop).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Dropping this sets the flag, even if a check fails.
            let _done = Done(&is_done);
            for round in 0..40 {
                upsert(&store, some_points(50 + round));
                store.finish(&stop).unwrap();
            }
        });
        for reader in [&store, &reader] {
            let is_done = &is_done;
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) {
                    let points = all(reader, &["path"], 100);
                    assert!((50..90).contains(&points.len()), "{}", points.len());
                    assert!(points.iter().all(|(_, payload)| payload.contains_key("path")));
                }
            });
        }
    });
    assert_eq!(reader.count(&PointFilter::default(), &stop), Ok(89));
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_wrong_vector_loses_nothing_and_of_one_id_the_last_counts() {
    let home = tempfile::tempdir().unwrap();
    let (store, stop) = (created(home.path()), Stop::never());
    upsert(&store, some_points(5));
    assert_eq!(store.upsert(some_points(9), "dense", &stop).unwrap_err().kind(), "invalid");
    let twice = ["first", "last"].map(|path| point(3, &[(1, 1.0)], json!({"path": path})));
    upsert(&store, twice.to_vec());
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(5));
    assert_eq!(all(&store, &["path"], 9)[3].1["path"], "last");
}

#[test]
fn lost_acknowledged_writes_fail_later_calls() {
    let home = tempfile::tempdir().unwrap();
    let (store, stop) = (created(home.path()), Stop::never());
    upsert(&store, some_points(5));
    store.finish(&stop).unwrap();
    upsert(&store, some_points(9));
    // With this directory, the commit can't replace the manifest.
    let manifest = home.path().join("code/manifest.new");
    std::fs::create_dir(&manifest).unwrap();
    let error = store.count(&PointFilter::default(), &stop).unwrap_err();
    assert!(matches!(&error, StoreError::Invalid(_)), "{error}");
    std::fs::remove_dir(&manifest).unwrap();
    // Regression test: reads returned the earlier state without a note. No change may build on the lost ones
    // either.
    for again in [
        store.count(&PointFilter::default(), &stop).map(drop),
        store.upsert(some_points(2), USING, &stop),
        store.finish(&stop),
    ] {
        let again = again.unwrap_err().to_string();
        assert!(again.contains("are lost") && again.ends_with(&error.to_string()), "{again}");
    }
    let other = open(home.path());
    assert_eq!(other.count(&PointFilter::default(), &stop), Ok(5));
    upsert(&other, some_points(9));
    assert_eq!(other.count(&PointFilter::default(), &stop), Ok(9));
    drop(other);
    assert_eq!(store.drop_collection(&stop), Ok(true));
    store.create(&creation(), &stop).unwrap();
    upsert(&store, some_points(2));
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(2));
}

#[test]
fn commits_without_an_end_leave_few_segments() {
    let home = tempfile::tempdir().unwrap();
    let (store, stop) = (created(home.path()), Stop::never());
    for round in 0..80 {
        upsert(&store, vec![point(round, &[(1, 1.0)], json!({}))]);
        assert_eq!(store.count(&PointFilter::default(), &stop), Ok(round + 1));
    }
    let files = std::fs::read_dir(home.path().join("code")).unwrap();
    let segments =
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|it| it == "meta"));
    assert!(segments.count() < 40);
}
