//! Processes that are killed while they write.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use forage_base::Stop;
use forage_lookup::{Point, PointFilter, PointId, PointQuery, PointStore, SparseVector};
use forage_qdrant_edge::{EmbeddedStore, limits};
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

/// Writes batches from a number on and says so, until it is killed; every five it finishes, and goes on writing
/// meanwhile.
fn write(told: &str) -> ! {
    let (from, directory) = told.split_once(' ').unwrap();
    let store = Arc::new(open(directory.as_ref()));
    let mut finisher: Option<JoinHandle<()>> = None;
    for number in from.parse::<u64>().unwrap().. {
        upsert(&*store, batch(number));
        println!("\nacknowledged: {number}");
        if number % 5 == 4 {
            if let Some(finisher) = finisher {
                finisher.join().unwrap();
            }
            println!("\nfinishing: {number}");
            let store = Arc::clone(&store);
            finisher = Some(std::thread::spawn(move || {
                store.finish(&Stop::never()).unwrap();
                println!("\nfinished: {number}");
            }));
        }
    }
    unreachable!("there is always another number")
}

/// How many batches are there after a kill: those that were acknowledged, and maybe the one that was being written.
fn check(directory: &Path, acknowledged: u64) -> u64 {
    // What the engine mends when it loads, and in how many steps, is no damage to those who read.
    for _ in 0..3 {
        assert!(open(directory).count(&PointFilter::default(), &Stop::never()).is_ok());
    }
    let store = open(directory);
    let points = all(&store, &["batch"], 64);
    let found: BTreeMap<_, _> =
        points.iter().map(|(id, payload)| (*id, payload["batch"].as_u64().unwrap())).collect();
    assert_eq!(found.len(), points.len(), "a point comes twice");
    let batches = if found == after(acknowledged) { acknowledged } else { acknowledged + 1 };
    assert_eq!(found, after(batches), "after {acknowledged} acknowledged batches");
    let count = points.len() as u64;
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(count));
    assert_eq!(store.collection(&Stop::never()).unwrap().unwrap().points, count);
    if batches % 3 != 0 {
        return batches;
    }
    // Rarity is counted over what is there, once.
    store.finish(&Stop::never()).unwrap();
    let vector = SparseVector::ones([1]);
    let query = PointQuery {
        vector: &vector,
        using: USING,
        limit: 2 * IDS as usize,
        fields: &[],
        filter: &PointFilter::default(),
    };
    let hits = store.query(&query, &Stop::never()).unwrap();
    assert_eq!(hits.len() as u64, count);
    let n = count as f32;
    // All have the word.
    let idf = (1.0 + 0.5 / (n + 0.5)).ln();
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
    let (mut finishing, mut written_meanwhile) = (0, 0);
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
            written_meanwhile += u32::from(!has_finished && line.starts_with("acknowledged: "));
            if let Some(number) = line.strip_prefix("acknowledged: ") {
                written = number.parse::<u64>().unwrap() + 1;
            }
        }
        finishing += u32::from(!has_finished);
        written = check(home.path(), written);
    }
    assert!(written > 24);
    assert!(finishing > 0, "none was killed while it finished");
    assert!(written_meanwhile > 0, "none wrote while it finished");
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
    assert!(open(home.path()).count(&PointFilter::default(), &Stop::never()).unwrap() < BATCH);
}

#[test]
fn a_collection_that_was_not_made_to_the_end_is_none_and_can_be_made() {
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    let collection = home.path().join("code");
    // The seal comes last and goes first.
    std::fs::remove_file(collection.join("seal")).unwrap();
    std::fs::remove_file(collection.join("collection.json")).unwrap();
    std::fs::write(collection.join("collection.json.new"), "{").unwrap();
    let store = open(home.path());
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    store.create(&crate::support::creation(), &Stop::never()).unwrap();
    upsert(&store, batch(1));
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(BATCH));
    assert!(!collection.join("collection.json.new").exists());
    // So is one that was not removed to the end.
    drop(store);
    std::fs::remove_file(collection.join("seal")).unwrap();
    std::fs::remove_file(collection.join("collection.json")).unwrap();
    let store = open(home.path());
    assert!(store.drop_collection(&Stop::never()).unwrap());
    assert!(!collection.exists());
}

/// A segment that has been replaced and is still there, as a kill in the middle of `finish` leaves it.
#[test]
fn points_that_are_in_two_segments_are_united() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, batch(0));
    store.finish(&Stop::never()).unwrap();
    drop(store);
    // As a process that was killed leaves it.
    let unseal = || std::fs::remove_file(home.path().join("code/seal")).unwrap();
    unseal();
    let segments = home.path().join("code/shard/segments");
    let originals: Vec<_> =
        std::fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path()).collect();
    for (number, original) in originals.iter().enumerate() {
        copy(original, &segments.join(format!("00000000-0000-4000-8000-{number:012}")));
    }
    // The control: the engine counts them twice.
    let count = |store: &EmbeddedStore| store.count(&PointFilter::default(), &Stop::never()).unwrap();
    assert_eq!(count(&open(home.path())), 2 * BATCH);
    let body = [3];
    let record = [&1_u32.to_le_bytes()[..], &crc32fast::hash(&body).to_le_bytes(), &body].concat();
    std::fs::write(home.path().join("code/journal"), record).unwrap();
    unseal();
    let store = open(home.path());
    assert_eq!(count(&store), BATCH);
    let found = all(&store, &["batch"], 7);
    assert_eq!(found, batch(0).into_iter().map(|point| (point.id, point.payload)).collect::<Vec<_>>());
    drop(store);
    assert_eq!(count(&open(home.path())), BATCH);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { assert!(std::fs::copy(&path, to).is_ok()) }
    }
}
