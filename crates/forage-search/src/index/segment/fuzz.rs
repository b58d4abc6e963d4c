//! Fuzz tests with arbitrary bytes in place of an index.

use forage_fuzz::target;

use super::tests::{PATTERNS, index_of, query};
use super::*;

fn seeds() -> Vec<Vec<u8>> {
    let few = |number| format!("retry {number} foo bar\nwalk Retries éa x9 {number}\n");
    let many = |number: usize| format!("{}ab{number}\n", "fo bar\n".repeat(number % 4));
    let few: Vec<String> = (0..30).map(few).collect();
    let many: Vec<String> = (0..300).map(many).collect();
    vec![index_of(&few), index_of(&many), index_of(&[])]
}

/// Collects the candidates of all queries, with `None` for queries that fail.
fn answers_of(segment: &Segment) -> Vec<Option<NumberSet>> {
    PATTERNS.iter().map(|(source, fuzzy)| segment.candidates(&query(source, *fuzzy)).ok()).collect()
}

/// Damage by a disk or a crash must be detected unless it changes nothing.
#[test]
fn altered_bytes_change_no_answer() {
    let seeds = seeds();
    let right: Vec<_> = seeds.iter().map(|seed| answers_of(&Segment::open(seed.clone()).unwrap())).collect();
    target!(&seeds, |input| {
        let Ok(segment) = Segment::open(input.to_vec()) else { return };
        let answers = answers_of(&segment);
        let is_same = |right: &Vec<_>| {
            answers.iter().zip(right).all(|(answers, right)| answers.is_none() || answers == right)
        };
        assert!(right.iter().any(is_same), "an index that opens says something else");
    });
}

/// Corrects the checksums of all sections except the posting lists.
fn seal(bytes: &mut [u8]) {
    if bytes.len() < HEADER_BYTES {
        return;
    }
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let length = bytes.len();
    let section = |bytes: &[u8], section: usize| {
        let at = 12 + section * 20;
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(length);
        let (start, count) = (u64_at(bytes, at), u64_at(bytes, at + 8));
        place(start)..place(start.saturating_add(count))
    };
    let (dictionary, pages) = (section(bytes, 2), section(bytes, 3));
    for (page, record) in pages.step_by(PAGE_RECORD_BYTES).enumerate() {
        let start = (dictionary.start + page * PAGE_BYTES).min(dictionary.end);
        let sum = crc32fast::hash(&bytes[start..(start + PAGE_BYTES).min(dictionary.end)]);
        if let Some(place) = bytes.get_mut(record + 4..record + 8) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    }
    for index in 0..SECTIONS {
        let sum = crc32fast::hash(&bytes[section(bytes, index)]);
        bytes[12 + index * 20 + 16..][..4].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Wrong numbers with correct checksums must neither panic nor cause huge allocations.
#[test]
fn wrong_numbers_with_valid_checksums_do_not_panic() {
    let mut opened = 0_u64;
    target!(&seeds(), |input| {
        let mut bytes = input.to_vec();
        seal(&mut bytes);
        let Ok(segment) = Segment::open(bytes) else { return };
        opened += 1;
        for (source, fuzzy) in PATTERNS {
            let Ok(parts) = segment.parts(&query(source, fuzzy), &Stop::never()) else { continue };
            assert!(segment.files_of(&parts).len() <= segment.len());
            for file in 0..segment.len().min(50) {
                let stretches = segment.ranges(file, &parts).unwrap_or_default();
                assert!(stretches.iter().all(|stretch| stretch.bytes.start < stretch.bytes.end));
            }
        }
        for file in (0..segment.len().min(400)).chain([u32::MAX]) {
            let _ = (segment.state(file), segment.lines(file));
            let _ = segment.path(file).map(|path| segment.find(path, file.wrapping_add(1)));
        }
        let _ = (segment.check(), segment.find(b"dir/007", 0));
    });
    assert!(opened > 3, "{opened} were opened");
}
