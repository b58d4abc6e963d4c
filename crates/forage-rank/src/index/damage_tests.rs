//! Checks that an index with damaged files either answers like an intact one or reports the damage.
//!
//! `FORAGE_TEST_DAMAGES` sets the number of random damages. By default, there are a few hundred.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the test's own files, its number of damages, and its results"
)]

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::search::{RankedSearch, search};

const DAMAGES: u64 = 300;

const QUERIES: &[&str] = &[
    "Router",
    "how is a session opened",
    "parse header token",
    "path:src route",
    "\"open session\"",
    "a -token",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Builds an index with several segments, one of which has deleted documents.
fn build(directory: &Path, word: &str) {
    let index = RankIndex::in_directory(directory, &Stop::never()).unwrap();
    for part in 0..3 {
        let writer = index.writer(1).unwrap();
        for number in 0..40 {
            let path = format!("src/p{part}/{word}_{number}.rs");
            let text = format!(
                "/// Opens a session {number}.\npub struct Router{number};\n\nfn parse_{word}_header(token: &str) {{\n    \
                 open session; route(path{part});\n}}\n"
            );
            writer.add(&path, &text, Stamp { content: number + 1, state: number + 7 }).unwrap();
        }
        writer.add_wordless(&format!("p{part}.png"), Stamp::default()).unwrap();
        writer.commit().unwrap();
    }
    let writer = index.writer(1).unwrap();
    for number in 0..15 {
        writer.remove(&format!("src/p1/{word}_{number}.rs")).unwrap();
    }
    writer.commit().unwrap();
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Returns everything that an index reports.
fn dump(directory: &Path, trust: Trust) -> Result<Vec<String>, IndexError> {
    let index = RankIndex::open(directory, trust, &Stop::never())?;
    let entries =
        QUERIES.iter().map(|query| Ok(format!("{:?}", search(&index, &RankedSearch::new(query, 50))?)));
    let mut entries = entries.collect::<Result<Vec<String>, IndexError>>()?;
    let state = index.state();
    let mut stamps: Vec<String> = state.living().map(|stamp| format!("{stamp:?}")).collect();
    stamps.sort();
    entries.extend(stamps);
    Ok(entries)
}

/// Applies one random damage and returns its description.
fn damage(random: &mut Random, directory: &Path, other: &Path) -> String {
    let all = files(directory);
    let path = all[random.below(all.len())].clone();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut bytes = fs::read(&path).unwrap();
    let (at, length) = (random.below(bytes.len()), bytes.len());
    let kind = match random.below(10) {
        0..4 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit"
        }
        4 => {
            bytes.truncate(at);
            "cut"
        }
        5 => {
            let end = (at + 1 + random.below(64)).min(length);
            bytes[at..end].fill(0);
            "zeros"
        }
        6 => {
            bytes.extend((0..1 + random.below(9)).map(|_| random.below(256) as u8));
            "longer"
        }
        7 => {
            let end = (at + 1 + random.below(200)).min(length);
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            "noise"
        }
        8 => {
            // An intact file of the same kind, from another segment or another index.
            let ending = name.rsplit('.').next().unwrap().to_owned();
            let same_kind =
                |path: &PathBuf| path.to_string_lossy().ends_with(&ending) && *path != directory.join(&name);
            let others: Vec<_> = files(other).into_iter().chain(all).filter(same_kind).collect();
            bytes = fs::read(&others[random.below(others.len())]).unwrap();
            "swapped"
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return format!("{name} is gone");
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{kind} of {name} at {at}")
}

/// Results of several damages.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    right: u64,
    noticed: u64,
    panics: u64,
    wrong: Vec<String>,
}

fn damages(count: u64, trust: Trust) -> Outcome {
    let home = tempfile::tempdir().unwrap();
    let [sound, other, tried] = ["sound", "other", "tried"].map(|name| home.path().join(name));
    for (directory, word) in [(&sound, "one"), (&other, "two")] {
        fs::create_dir(directory).unwrap();
        build(directory, word);
    }
    let right = dump(&sound, Trust::Nothing).unwrap();
    let empty = {
        let none = home.path().join("none");
        fs::create_dir(&none).unwrap();
        dump(&none, Trust::Nothing).unwrap()
    };
    let mut outcome = Outcome::default();
    for seed in 0..count {
        copy(&sound, &tried);
        let what = damage(&mut Random(seed * 7_919 + 1), &tried, &other);
        match dump(&tried, trust) {
            Ok(answer) if answer == right => outcome.right += 1,
            // Without a manifest there is no index, so a new one is created.
            Ok(answer) if answer == empty => outcome.noticed += 1,
            Ok(_) => outcome.wrong.push(format!("{what}, seed {seed}")),
            Err(IndexError::Panicked(_)) => outcome.panics += 1,
            Err(error) => {
                assert!(error.is_damage() || trust == Trust::Written, "{what}: {error}");
                outcome.noticed += 1;
            }
        }
    }
    outcome
}

#[test]
fn no_damage_gives_a_wrong_answer_or_reaches_the_engine() {
    let count = std::env::var("FORAGE_TEST_DAMAGES").ok().map_or(DAMAGES, |count| count.parse().unwrap());
    let outcome = damages(count, Trust::Nothing);
    println!("{count} damages: {outcome:?}");
    assert_eq!((outcome.panics, &outcome.wrong[..]), (0, &[][..]), "{outcome:?}");
    // Only damages that leave a file unchanged may go unnoticed.
    assert!(outcome.right * 20 < count, "{outcome:?}");
}

/// This is the control: without the check, the same damages must make the engine panic and return wrong
/// answers.
#[test]
fn without_the_check_damage_reaches_the_engine() {
    let outcome = damages(DAMAGES, Trust::Written);
    println!("without the check: {outcome:?}");
    assert!(outcome.panics > 0 && !outcome.wrong.is_empty(), "{outcome:?}");
}

#[test]
fn what_is_no_file_is_not_opened() {
    let home = tempfile::tempdir().unwrap();
    build(home.path(), "one");
    for file in files(home.path()) {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        // Any path that is not a file. A pipe would need a program or a system call to create.
        fs::create_dir(&file).unwrap();
        assert!(dump(home.path(), Trust::Nothing).unwrap_err().is_damage(), "{}", file.display());
        fs::remove_dir(&file).unwrap();
        fs::write(&file, bytes).unwrap();
    }
    dump(home.path(), Trust::Nothing).unwrap();
}

#[test]
fn damage_that_comes_after_the_check_is_remembered() {
    let home = tempfile::tempdir().unwrap();
    build(home.path(), "one");
    let index = RankIndex::in_directory(home.path(), &Stop::never()).unwrap();
    assert!(!index.is_damaged());
    let failed = index.using(|| -> Result<(), IndexError> { panic!("as the engine does") });
    assert!(failed.unwrap_err().is_damage() && index.is_damaged());
}

#[test]
fn an_index_is_not_read_beyond_the_deadline() {
    let home = tempfile::tempdir().unwrap();
    build(home.path(), "one");
    let error =
        RankIndex::in_directory(home.path(), &Stop::after(std::time::Duration::ZERO)).map(drop).unwrap_err();
    assert!(matches!(error, IndexError::Stopped) && !error.is_damage(), "{error}");
}
