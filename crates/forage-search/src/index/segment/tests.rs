use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::index::{IndexedFile, SegmentBuilder, SegmentPart, Trigrams};
use crate::pattern::{Pattern, PatternOptions};

fn state(number: usize) -> FileState {
    FileState { size: number as u64, modified: -5, changed: i64::MAX, inode: u64::MAX - number as u64 }
}

pub(super) fn index_of(texts: &[String]) -> Vec<u8> {
    let (mut builder, mut trigrams) = (SegmentBuilder::default(), Trigrams::default());
    for (number, text) in texts.iter().enumerate() {
        let path = format!("dir/{number:03}");
        assert!(
            builder.add(&IndexedFile {
                path: path.as_bytes(),
                state: state(number),
                content: Content::Indexed,
                lines: Some(number as u32),
                checksum: 0,
                parts: &text
                    .split_inclusive('\n')
                    .map(|part| SegmentPart {
                        trigrams: trigrams.distinct(part.as_bytes()).into(),
                        end: PartEnd::default(),
                    })
                    .collect::<Vec<_>>(),
            })
        );
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    bytes
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let word =
        prop::sample::select(vec!["retry", "Retries", "walk", "foo", "bar", " ", "\n", "ab", "éa", "x9"]);
    let text = prop::collection::vec(word, 0..12).prop_map(|words| words.concat());
    prop::collection::vec(text, 0..40)
}

pub(super) const PATTERNS: [(&str, u8); 10] = [
    ("retr", 0),
    ("(?i)RETRY|walk", 0),
    ("foo.*bar", 0),
    ("ab", 0),
    ("nothere", 0),
    ("r[ei]t", 0),
    ("fo+b", 0),
    ("éa", 0),
    ("retrywalk", 2),
    ("foobar|Retries", 1),
];

pub(super) fn query(source: &str, fuzzy: u8) -> TrigramQuery {
    TrigramQuery::from_pattern(
        &Pattern::new(source, &PatternOptions { fuzzy, ..PatternOptions::default() }).unwrap(),
    )
}

proptest! {
    #[test]
    fn candidates_fulfill_the_query(texts in texts()) {
        let segment = Segment::open(index_of(&texts)).unwrap();
        prop_assert_eq!(segment.len() as usize, texts.len());
        for (source, fuzzy) in PATTERNS {
            let query = query(source, fuzzy);
            let candidates = segment.candidates(&query).unwrap();
            let mut trigrams = Trigrams::default();
            for (number, text) in texts.iter().enumerate() {
                let fulfils = text.split_inclusive('\n').any(|part| {
                    let found = trigrams.distinct(part.as_bytes());
                    query.is_met(&|trigram| found.contains(&trigram))
                });
                // Skipping a list that is not worth reading adds candidates but never removes one.
                prop_assert!(candidates.contains(number as u32) || !fulfils, "{} {:?}", source, text);
            }
        }
        segment.check().unwrap();
        for number in 0..texts.len() {
            let path = format!("dir/{number:03}");
            prop_assert_eq!(segment.path(number as u32), Some(path.as_bytes()));
            prop_assert_eq!(segment.state(number as u32), Some((state(number), Content::Indexed)));
            prop_assert_eq!(segment.lines(number as u32), Some(number as u32));
            for near in [0, number as u32, number as u32 + 1, u32::MAX] {
                prop_assert_eq!(segment.find(path.as_bytes(), near), Some(number as u32));
            }
        }
        prop_assert_eq!(segment.path(texts.len() as u32), None);
        prop_assert_eq!(segment.find(b"dir/none", 0), None);
    }

    /// A truncated or altered file must be detected or answer as before.
    #[test]
    fn damage_changes_no_answer(texts in texts(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<bool>()) {
        let whole = index_of(&texts);
        let mut damaged = whole.clone();
        let at = at.index(whole.len());
        if cut {
            damaged.truncate(at);
        } else {
            damaged[at] ^= flip;
        }
        let (whole, Ok(damaged)) = (Segment::open(whole).unwrap(), Segment::open(damaged)) else { return Ok(()) };
        prop_assert!(damaged.check().is_err());
        for (source, fuzzy) in PATTERNS {
            let query = query(source, fuzzy);
            if let Ok(candidates) = damaged.candidates(&query) {
                prop_assert_eq!(candidates, whole.candidates(&query).unwrap(), "{}", source);
            }
        }
    }
}

#[test]
fn rare_trigrams_leave_few_candidates() {
    let texts: Vec<String> = (0..3_000).map(|number| format!("common text {number:05}x")).collect();
    let segment = Segment::open(index_of(&texts)).unwrap();
    let candidates = |source: &str| segment.candidates(&query(source, 0)).unwrap().len();
    assert_eq!(candidates("common"), 3_000);
    assert_eq!(candidates("text 02999x"), 1);
    assert_eq!(candidates("no such text"), 0);
    // A call that must end accepts all files.
    let stop = Stop::never();
    stop.cancel();
    assert_eq!(segment.parts(&query("no such text", 0), &stop).unwrap().len(), 3_000);
    let distorted = segment.candidates(&query("text 02999x", 1)).unwrap();
    assert!(distorted.contains(2_999) && distorted.len() < 300, "{}", distorted.len());
}

/// Bytes that can't be read while a flag is set.
struct Failing(Vec<u8>, Arc<AtomicBool>);

impl ReadAt for Failing {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self.1.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Other.into()),
            false => self.0.read_exact_at(buffer, offset),
        }
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.0.byte_len()
    }
}

#[test]
fn failed_read_is_retried() {
    let fails = Arc::new(AtomicBool::new(false));
    let bytes = index_of(&["some text".to_owned(), "other".to_owned()]);
    let segment = Segment::open(Failing(bytes, Arc::clone(&fails))).unwrap();
    fails.store(true, Ordering::Relaxed);
    assert!(matches!(segment.candidates(&query("text", 0)), Err(TrigramIndexError::Io(_))));
    fails.store(false, Ordering::Relaxed);
    assert_eq!(segment.candidates(&query("text", 0)).unwrap().len(), 1);
}
