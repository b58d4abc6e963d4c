//! Processes that are killed while they write.

use std::collections::BTreeMap;
use std::path::Path;

use forage_fs::Stop;
use forage_qdrant_edge::limits;
use forage_sparse::{Filter, Point, PointId, Query, SparseVector, Store};
use serde_json::json;

use crate::support::{Twin, USING, all, created, open, point, told, upsert};

const BATCH: u64 = 40;
const IDS: u64 = 500;

/// The points of a batch. They overwrite those of an older one, and every one has a word that all have.
fn batch(number: u64) -> Vec<Point> {
    let ids = (0..BATCH).map(|n| (number * BATCH / 2 + n) % IDS);
    ids.map(|id| point(id, &[(1, 1.0), (100 + number as u32 % 50, 2.0)], json!({"batch": number}))).collect()
}

/// The batch that each point is of after so many batches.
fn after(batches: u64) -> BTreeMap<PointId, u64> {
    (0..batches).flat_map(|number| batch(number).into_iter().map(move |point| (point.id, number))).collect()
}

/// Writes batches from a number on and says so, until it is killed.
fn write(told: &str) -> ! {
    let (from, directory) = told.split_once(' ').unwrap();
    let store = open(directory.as_ref());
    for number in from.parse::<u64>().unwrap().. {
        upsert(&store, batch(number));
        println!("\nacknowledged: {number}");
        if number % 5 == 4 {
            println!("\nfinishing: {number}");
            store.finish(&Stop::never()).unwrap();
            println!("\nfinished: {number}");
        }
    }
    unreachable!("there is always another number")
}

/// How many batches are there after a kill: those that were acknowledged, and maybe the one that was being written.
fn check(directory: &Path, acknowledged: u64) -> u64 {
    let store = open(directory);
    let points = all(&store, &["batch"], 64);
    let found: BTreeMap<_, _> =
        points.iter().map(|(id, payload)| (*id, payload["batch"].as_u64().unwrap())).collect();
    assert_eq!(found.len(), points.len(), "a point comes twice");
    let batches = if found == after(acknowledged) { acknowledged } else { acknowledged + 1 };
    assert_eq!(found, after(batches), "after {acknowledged} acknowledged batches");
    let count = points.len() as u64;
    assert_eq!(store.count(&Filter::default(), &Stop::never()), Ok(count));
    assert_eq!(store.collection(&Stop::never()).unwrap().unwrap().points, count);
    if batches % 3 != 0 {
        return batches;
    }
    // Rarity is counted over what is there, once.
    store.finish(&Stop::never()).unwrap();
    let vector = SparseVector::ones([1]);
    let query = Query {
        vector: &vector,
        using: USING,
        limit: 2 * IDS as usize,
        fields: &[],
        filter: &Filter::default(),
    };
    let hits = store.query(&query, &Stop::never()).unwrap();
    assert_eq!(hits.len() as u64, count);
    let n = count as f32;
    let idf = (1.0 + (n - n + 0.5) / (n + 0.5)).ln();
    let dead = idf * limits::DEAD_SHARE as f32;
    assert!(hits.iter().all(|hit| (hit.score - idf).abs() <= dead), "{} instead of {idf}", hits[0].score);
    batches
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_nothing_is_there_twice() {
    if let Some(told) = told() {
        write(&told);
    }
    const TEST: &str = "crash::what_was_acknowledged_survives_a_kill_and_nothing_is_there_twice";
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    let mut written = 0;
    let mut finishing = 0;
    for round in 0..24 {
        let mut writer = Twin::start(TEST, &format!("{written} {}", home.path().display()));
        // Every other one is killed while it finishes, at a moment that differs with the machine and the round.
        if round % 2 == 0 {
            for _ in 0..=round % 7 {
                written = writer.next("acknowledged: ").unwrap().parse::<u64>().unwrap() + 1;
            }
        } else {
            written = writer.next("finishing: ").unwrap().parse::<u64>().unwrap() + 1;
            let moment = std::time::Instant::now();
            while moment.elapsed().as_micros() < round * 1_500 {
                std::hint::spin_loop();
            }
        }
        writer.kill();
        let mut has_finished = round % 2 == 0;
        // What it said before it was killed.
        while let Some(line) = writer.next("") {
            has_finished |= line.starts_with("finished: ");
            if let Some(number) = line.strip_prefix("acknowledged: ") {
                written = number.parse::<u64>().unwrap() + 1;
            }
        }
        finishing += u32::from(!has_finished);
        written = check(home.path(), written);
    }
    assert!(written > 24);
    assert!(finishing > 0, "none was killed while it finished");
}

/// The control: the journal is what does it. When this fails because nothing is missing, the engine reads its own log,
/// and the journal may go.
#[test]
fn without_the_journal_what_was_acknowledged_would_be_lost() {
    if let Some(told) = told() {
        write(&told);
    }
    const TEST: &str = "crash::without_the_journal_what_was_acknowledged_would_be_lost";
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    let mut writer = Twin::start(TEST, &format!("0 {}", home.path().display()));
    writer.next("acknowledged: ").unwrap();
    writer.kill();
    std::fs::remove_file(home.path().join("code/journal")).unwrap();
    assert!(open(home.path()).count(&Filter::default(), &Stop::never()).unwrap() < BATCH);
}

#[test]
fn a_collection_that_was_not_made_to_the_end_is_none_and_can_be_made() {
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    let collection = home.path().join("code");
    std::fs::remove_file(collection.join("collection.json")).unwrap();
    std::fs::write(collection.join("collection.json.new"), "{").unwrap();
    let store = open(home.path());
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    store.create(&crate::support::creation(), &Stop::never()).unwrap();
    upsert(&store, batch(1));
    assert_eq!(store.count(&Filter::default(), &Stop::never()), Ok(BATCH));
    assert!(!collection.join("collection.json.new").exists());
    // So is one that was not removed to the end.
    drop(store);
    std::fs::remove_file(collection.join("collection.json")).unwrap();
    let store = open(home.path());
    assert!(store.drop_collection(&Stop::never()).unwrap());
    assert!(!collection.exists());
}
