//! Whatever happens to the files of a closed collection, it answers as before or says that it is damaged.
//!
//! The number of damages is that of `FORAGE_TEST_DAMAGES`, with some hundred where it is not set.

use std::fs;
use std::path::{Path, PathBuf};

use forage_base::Stop;
use forage_lookup::{PointFilter, PointQuery, PointStore, SparseVector, StoreError};

use crate::support::{Twin, USING, all, created, open, some_points, told, upsert};

const DAMAGES: u64 = 120;

const POINTS: u64 = 300;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A collection that was written in two sessions, so that it has dead points and several segments.
fn filled(points: u64) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(points));
    store.finish(&Stop::never()).unwrap();
    drop(store);
    let store = open(home.path());
    upsert(&store, some_points(points / 3));
    drop(store);
    assert!(home.path().join("code/seal").is_file());
    home
}

/// All that a collection says.
fn says(home: &Path) -> Result<Vec<String>, StoreError> {
    let (store, stop) = (open(home), Stop::never());
    let facts = store.collection(&stop)?.map(|facts| facts.points);
    let mut said = vec![format!("{facts:?} {}", store.count(&PointFilter::default(), &stop)?)];
    for word in 0..37 {
        let vector = SparseVector::new([(word, 1.0), (word * 3 % 37, 0.5)]);
        let (filter, fields) = (&PointFilter::default(), &["path".to_owned()]);
        let query = PointQuery { vector: &vector, using: USING, filter, fields, limit: 20 };
        said.push(format!("{:?}", store.query(&query, &stop)?));
    }
    said.extend(all(&store, &["path", "language"], 64).iter().map(|point| format!("{point:?}")));
    Ok(said)
}

/// One damage of one file, described.
fn damage(random: &mut Random, all: &[PathBuf], others: &[PathBuf]) -> (PathBuf, String) {
    let path = all[random.below(all.len())].clone();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut bytes = fs::read(&path).unwrap();
    let (at, length) = (random.below(bytes.len().max(1)), bytes.len());
    let kind = match random.below(9) {
        0..3 if length > 0 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit"
        }
        3 => {
            bytes.truncate(at);
            "cut"
        }
        4 => {
            bytes[at..(at + 1 + random.below(64)).min(length)].fill(0);
            "zeros"
        }
        5 => {
            bytes.extend((0..1 + random.below(9)).map(|_| random.below(256) as u8));
            "longer"
        }
        6 => {
            let end = (at + 1 + random.below(200)).min(length);
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            "noise"
        }
        7 => {
            let same_name = |other: &&PathBuf| other.file_name() == path.file_name() && **other != path;
            let same: Vec<_> = all.iter().chain(others).filter(same_name).collect();
            let other = if same.is_empty() { &all[0] } else { same[random.below(same.len())] };
            bytes = fs::read(other).unwrap();
            "swapped"
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return (path, format!("{name} is gone"));
        }
    };
    fs::write(&path, bytes).unwrap();
    (path, format!("{kind} of {name} at {at}"))
}

#[derive(Debug, Default)]
struct Outcome {
    right: u64,
    noticed: u64,
    wrong: Vec<String>,
}

fn damages(count: u64) -> Outcome {
    let (home, other) = (filled(POINTS), filled(POINTS / 2));
    let right = says(home.path()).unwrap();
    let others = files(&other.path().join("code"));
    let sound: Vec<_> = files(&home.path().join("code"))
        .into_iter()
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect();
    let mut outcome = Outcome::default();
    for seed in 0..count {
        let all = files(&home.path().join("code"));
        let (path, what) = damage(&mut Random(seed * 7_919 + 1), &all, &others);
        match says(home.path()) {
            Ok(said) if said == right => outcome.right += 1,
            Ok(_) => outcome.wrong.push(format!("{what}, seed {seed}")),
            Err(error) if error.to_string().contains(" is damaged (") => outcome.noticed += 1,
            // The description is read first, and another digit is another format.
            Err(error)
                if what.contains("collection.json") && error.to_string().contains(" is of format ") =>
            {
                outcome.noticed += 1;
            }
            Err(error) => panic!("{what}, seed {seed}: {error}"),
        }
        // Nothing else was changed: neither by the engine nor by looking.
        let (_, bytes) = sound.iter().find(|(sound, _)| *sound == path).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    assert!(says(home.path()).unwrap() == right);
    outcome
}

#[test]
fn no_damage_of_a_closed_collection_gives_a_wrong_answer_or_reaches_the_engine() {
    let count = std::env::var("FORAGE_TEST_DAMAGES").ok().map_or(DAMAGES, |count| count.parse().unwrap());
    let outcome = damages(count);
    println!("{count} damages: {outcome:?}");
    assert_eq!(outcome.wrong, Vec::<String>::new());
    // Nothing but what leaves a file as it was, and what happens to the seal's absence or the empty journal.
    assert!(outcome.noticed > outcome.right * 3, "{outcome:?}");
}

/// The control: without the seal, what somebody changed in the engine's files is an answer.
#[test]
fn without_the_seal_a_changed_file_is_believed() {
    let home = filled(POINTS);
    let right = says(home.path()).unwrap();
    let (path, bytes, at) = files(&home.path().join("code/shard"))
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("payload_storage"))
        .find_map(|path| {
            let bytes = fs::read(&path).unwrap();
            let at = bytes.windows(10).position(|part| part == b"src/250.rs")?;
            Some((path, bytes, at))
        })
        .unwrap();
    let mut changed = bytes;
    changed[at] = b'S';
    fs::write(&path, changed).unwrap();
    let error = says(home.path()).unwrap_err().to_string();
    assert!(error.contains("payload_storage") && error.contains(" is damaged ("), "{error}");
    fs::remove_file(home.path().join("code/seal")).unwrap();
    let wrong = says(home.path()).unwrap();
    assert!(wrong != right);
}

#[test]
fn a_reader_leaves_the_seal_and_a_writer_makes_it_anew() {
    let home = filled(POINTS);
    let seal = home.path().join("code/seal");
    let first = fs::read(&seal).unwrap();
    says(home.path()).unwrap();
    assert_eq!(fs::read(&seal).unwrap(), first);
    let store = open(home.path());
    upsert(&store, some_points(4));
    assert!(!seal.exists());
    drop(store);
    assert_ne!(fs::read(&seal).unwrap(), first);
    // A damaged collection can be removed, and made again.
    fs::write(home.path().join("code/shard/edge_config.json"), "{}").unwrap();
    let error = says(home.path()).unwrap_err().to_string();
    assert!(error.contains("shard/edge_config.json is not as it was written"), "{error}");
    assert!(open(home.path()).drop_collection(&Stop::never()).unwrap());
    upsert(&created(home.path()), some_points(4));
    says(home.path()).unwrap();
}

/// Killed while it reads, a process leaves a collection that is as whole as before.
#[test]
fn a_reader_that_is_killed_leaves_a_sealed_collection() {
    const TEST: &str = "seal::a_reader_that_is_killed_leaves_a_sealed_collection";
    if let Some(directory) = told() {
        let store = open(directory.as_ref());
        println!("\nread: {}", store.count(&PointFilter::default(), &Stop::never()).unwrap());
        loop {
            std::thread::park();
        }
    }
    let home = filled(POINTS);
    let right = says(home.path()).unwrap();
    let mut reader = Twin::start(TEST, &home.path().display().to_string());
    assert_eq!(reader.next("read: ").unwrap(), POINTS.to_string());
    reader.kill();
    assert!(home.path().join("code/seal").is_file());
    assert!(says(home.path()).unwrap() == right);
}
