//! Tests processes that are killed while they write.

use std::collections::BTreeMap;
use std::path::Path;

use forage_base::Stop;
use forage_lookup::{Point, PointFilter, PointId, PointQuery, PointReader, PointStore, SparseVector};
use serde_json::json;

use crate::support::{Twin, USING, all, child_argument, created, creation, open, point, upsert};

const BATCH: u64 = 40;
const IDS: u64 = 500;

/// Creates the points of a batch. They overwrite some points of the batch before, and all have a common word.
fn batch(number: u64) -> Vec<Point> {
    let ids = (0..BATCH).map(|n| (number * BATCH / 2 + n) % IDS);
    ids.map(|id| point(id, &[(1, 1.0), (100 + number as u32 % 50, 2.0)], json!({"batch": number}))).collect()
}

/// Returns the last batch that wrote each point, after `batches` batches.
fn after(batches: u64) -> BTreeMap<PointId, u64> {
    (0..batches).flat_map(|number| batch(number).into_iter().map(move |point| (point.id, number))).collect()
}

/// Writes batches, and calls `finish` after every fifth one, until the process is killed.
fn write(argument: &str) -> ! {
    let (from, directory) = argument.split_once(' ').unwrap();
    let store = open(directory.as_ref());
    for number in from.parse::<u64>().unwrap().. {
        upsert(&store, batch(number));
        println!("\nwritten: {number}");
        if number % 5 == 4 {
            store.finish(&Stop::never()).unwrap();
            println!("\nfinished: {number}");
        } else if number % 2 == 1 {
            // A read commits the changes so far.
            store.count(&PointFilter::default(), &Stop::never()).unwrap();
        }
    }
    unreachable!("there is always another number")
}

/// Checks a collection after a kill, and returns the number of batches in it. Each point must be as the last
/// of these batches wrote it.
fn check(directory: &Path, finished: u64, written: u64) -> u64 {
    let store = open(directory);
    let points = all(&store, &["batch"], 64);
    let found: BTreeMap<_, _> =
        points.iter().map(|(id, payload)| (*id, payload["batch"].as_u64().unwrap())).collect();
    assert_eq!(found.len(), points.len(), "a point comes twice");
    // The batch that was being written may be included, and unfinished ones may be missing.
    let batches = (finished..=written + 1).find(|&batches| found == after(batches));
    let batches = batches.unwrap_or_else(|| panic!("{finished} to {written}: {found:?}"));
    let count = points.len() as u64;
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(count));
    assert_eq!(store.collection(&Stop::never()).unwrap().unwrap().points, count);
    let vector = SparseVector::ones([1]);
    let filter = &PointFilter::default();
    let query = PointQuery { vector: &vector, using: USING, limit: 2 * IDS as usize, fields: &[], filter };
    let hits = store.query(&query, &Stop::never()).unwrap();
    assert_eq!(hits.len() as u64, count);
    // All points have the word, and replaced points must no longer count.
    let idf = (1.0 + 0.5 / (count as f32 + 0.5)).ln();
    assert!(hits.iter().all(|hit| (hit.score - idf).abs() < 1e-6), "{} instead of {idf}", hits[0].score);
    batches
}

#[test]
fn a_killed_writer_leaves_a_whole_commit() {
    if let Some(argument) = child_argument() {
        write(&argument);
    }
    const TEST: &str = "embedded::crash::a_killed_writer_leaves_a_whole_commit";
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    let mut batches = 0;
    for round in 0..24 {
        let mut writer = Twin::start(TEST, &format!("{batches} {}", home.path().display()));
        let (mut finished, mut written) = (batches, batches);
        let mut note = |line: &str| {
            if let Some(number) = line.strip_prefix("written: ") {
                written = number.parse::<u64>().unwrap() + 1;
            } else if let Some(number) = line.strip_prefix("finished: ") {
                finished = number.parse::<u64>().unwrap() + 1;
            }
        };
        // We kill it at a moment that depends on the machine and the round.
        for _ in 0..=round % 7 {
            let number = writer.next("written: ").unwrap();
            note(&format!("written: {number}"));
        }
        let moment = std::time::Instant::now();
        while moment.elapsed().as_micros() < round * 700 {
            std::hint::spin_loop();
        }
        writer.kill();
        // We must still read everything that it printed before it was killed.
        while let Some(line) = writer.next("") {
            note(&line);
        }
        batches = check(home.path(), finished.min(written), written);
    }
    assert!(batches > 5, "{batches}");
}

#[test]
fn collection_without_manifest_can_be_created() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, batch(1));
    store.finish(&Stop::never()).unwrap();
    drop(store);
    std::fs::remove_file(home.path().join("code/manifest")).unwrap();
    std::fs::write(home.path().join("code/manifest.new"), "half").unwrap();
    let store = open(home.path());
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    store.create(&creation(), &Stop::never()).unwrap();
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
    upsert(&store, batch(1));
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(BATCH));
}
