//! Tests that a collection with damaged files either answers as before or reports the damage.
//!
//! `FORAGE_TEST_DAMAGES` sets the number of damages.

use std::fs;
use std::path::{Path, PathBuf};

use forage_base::{Hint, Stop};
use forage_lookup::{
    EmbeddedStore, PointFilter, PointQuery, PointReader, PointStore, SparseVector, StoreError,
};

use crate::support::{USING, all, created, creation, open, some_points, upsert};

const DAMAGES: u64 = 400;

const POINTS: u64 = 300;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn files(home: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(home.join("code")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Creates a collection in two sessions, so that it has several segments with removed points.
fn filled(points: u64) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(points));
    store.finish(&Stop::never()).unwrap();
    upsert(&store, some_points(points / 4));
    drop(store);
    let names = files(home.path());
    assert!(
        names.iter().any(|path| path.extension().is_some_and(|extension| extension == "gone")),
        "{names:?}"
    );
    home
}

/// Collects all answers of a collection.
fn answers(home: &Path) -> Result<Vec<String>, StoreError> {
    let (store, stop) = (open(home), Stop::never());
    let points = store.collection(&stop)?.map(|facts| facts.points);
    let mut answers = vec![format!("{points:?} {}", store.count(&PointFilter::default(), &stop)?)];
    for word in 0..37 {
        let vector = SparseVector::new([(word, 1.0), (word * 3 % 37, 0.5)]);
        let (filter, fields) = (&PointFilter::any_of("language", ["rust", "go"]), &["path".to_owned()]);
        let query = PointQuery { vector: &vector, using: USING, filter, fields, limit: 20 };
        answers.push(format!("{:?}", store.query(&query, &stop)?));
    }
    answers.extend(all(&store, &["path", "language"], 64).iter().map(|point| format!("{point:?}")));
    Ok(answers)
}

/// Damages one file and describes the damage.
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
            let is_alike = |other: &&PathBuf| other.extension() == path.extension() && **other != path;
            let alike: Vec<_> = all.iter().chain(others).filter(is_alike).collect();
            bytes = fs::read(alike.get(random.below(alike.len().max(1))).unwrap_or(&&all[0])).unwrap();
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

#[test]
fn damage_is_an_error_and_never_a_wrong_answer() {
    let count = std::env::var("FORAGE_TEST_DAMAGES").ok().map_or(DAMAGES, |count| count.parse().unwrap());
    let (home, other) = (filled(POINTS), filled(POINTS / 2));
    let (right, others) = (answers(home.path()).unwrap(), files(other.path()));
    let sound: Vec<_> = files(home.path()).into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
    let (mut unharmed, mut noticed) = (0, 0);
    for seed in 0..count {
        let (path, what) = damage(&mut Random(seed * 7_919 + 1), &files(home.path()), &others);
        match answers(home.path()) {
            Ok(answers) => {
                assert!(answers == right, "a wrong answer: {what}, seed {seed}");
                unharmed += 1;
            }
            Err(error @ StoreError::Damaged(_)) => {
                assert_eq!(error.hint(), Some(Hint::RefillCollection));
                noticed += 1;
            }
            Err(StoreError::NoCollection(_)) if what == "manifest is gone" => noticed += 1,
            Err(error) => panic!("{what}, seed {seed}: {error}"),
        }
        let (bytes, _) = sound.iter().find(|(_, sound)| *sound == path).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    assert!(answers(home.path()).unwrap() == right);
    // Note that random bytes may happen to equal the original ones.
    assert!(noticed > unharmed * 10, "{noticed} noticed, {unharmed} without an effect");
}

#[test]
fn a_damaged_collection_can_be_dropped_and_made_again() {
    for text in ["", "{", "forage_points_1 0\n", "forage_points_99 0\nsum 0\n"] {
        let home = filled(20);
        fs::write(home.path().join("code/manifest"), text).unwrap();
        let (store, stop) = (open(home.path()), Stop::never());
        let error = store.count(&PointFilter::default(), &stop).unwrap_err();
        assert!(matches!(&error, StoreError::Damaged(_)), "{error}");
        assert_eq!(error.to_string().contains("another version"), text.contains("99"), "{error}");
        assert_eq!(store.create(&creation(), &stop), Err(error));
        assert!(store.drop_collection(&stop).unwrap());
        store.create(&creation(), &stop).unwrap();
        upsert(&store, some_points(4));
        assert_eq!(store.count(&PointFilter::default(), &stop), Ok(4));
    }
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let long = "a".repeat(101);
    let names = [
        "", ".", "..", "../code", "a/b", "/tmp", "a\\b", "c:", "a b", "ü", "a\0", ".code", "code.", "NUL",
        "com1.x", &long,
    ];
    for name in names {
        let error = EmbeddedStore::new(home.path(), name).err().unwrap();
        assert_eq!(error.kind(), "invalid");
        assert!(error.to_string().starts_with("invalid collection name "), "{error}");
    }
    for name in ["a", "Code_2.x-y", &long[..100]] {
        assert_eq!(EmbeddedStore::new(home.path(), name).unwrap().collection(&Stop::never()), Ok(None));
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn files_of_others_are_neither_used_nor_removed() {
    let home = tempfile::tempdir().unwrap();
    let stop = Stop::never();
    let store = created(home.path());
    let letter = home.path().join("code/letter.txt");
    fs::write(&letter, "dear").unwrap();
    let error = store.drop_collection(&stop).unwrap_err();
    assert!(error.to_string().contains("letter.txt was not created by Forage"), "{error}");
    upsert(&store, some_points(3));
    store.finish(&stop).unwrap();
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(3));
    assert_eq!(fs::read_to_string(&letter).unwrap(), "dear");
    fs::remove_file(letter).unwrap();
    assert!(store.drop_collection(&stop).unwrap());

    let other = EmbeddedStore::new(home.path(), "other").unwrap();
    fs::create_dir_all(home.path().join("other/shard")).unwrap();
    assert_eq!(other.create(&creation(), &stop).unwrap_err().kind(), "invalid");
    assert_eq!(other.drop_collection(&stop).unwrap_err().kind(), "invalid");
    assert!(home.path().join("other/shard").exists());
    fs::write(home.path().join("file"), "").unwrap();
    let file = EmbeddedStore::new(home.path(), "file").unwrap();
    assert!(file.collection(&stop).unwrap_err().to_string().contains("is not a Forage collection"));
}

#[cfg(unix)]
#[test]
fn a_collection_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("a/b");
    let store = created(&directory);
    upsert(&store, some_points(3));
    let mode = |path: &str| fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
    for path in ["a", "a/b", "a/b/code"] {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    assert_eq!(mode("a/b/.code.lock"), 0o600);
}
