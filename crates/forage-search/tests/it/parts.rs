//! Tests files of several parts: a search must read only the parts that can match.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use forage_fs::{RelPath, WalkOptions};
use forage_search::index::{
    Content, Index, IndexedFile, PartEnd, Segment, SegmentBuilder, SegmentPart, Trigrams,
};
use forage_search::{FileEvents, Pattern, PatternOptions, ScanOptions, limits};

use crate::external::{Wanted, random_request};
use crate::index::{SETTLED, answer, check, index, segment};
use crate::trees::{Random, text};
use crate::watched::watched_index;

/// Generates text of several parts. Most of them contain nothing that the tests search for.
fn long_text(random: &mut Random) -> Vec<u8> {
    const FILLER: [&str; 4] = ["mmmm ppp\n", "mm qqqq p\n", "\n", "pp mmmm qqq mmmm pppp qq mm\r\n"];
    let size = limits::PART_BYTES * (1 + random.below(6)) + random.below(limits::PART_BYTES);
    let mut long = Vec::new();
    while long.len() < size {
        for _ in 0..1 + random.below(1_500) {
            long.extend_from_slice(random.pick(&FILLER).as_bytes());
        }
        let lines = random.below(4);
        long.extend(text(random, lines));
    }
    match random.below(10) {
        0 => [b"\xef\xbb\xbf".to_vec(), long].concat(),
        1 => {
            let text = String::from_utf8_lossy(&long).into_owned();
            [vec![0xff, 0xfe], text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat()
        }
        2 => [long.clone(), b"\0".to_vec(), long].concat(),
        // This line is longer than a part.
        3 => [long.clone(), vec![b'm'; 2 * limits::PART_BYTES], b"foo bar\n".to_vec(), long].concat(),
        _ => long,
    }
}

fn edit(random: &mut Random, file: &Path) -> &'static str {
    let mut bytes = fs::read(file).unwrap();
    let at = random.below(bytes.len().max(1)).min(bytes.len());
    match random.below(4) {
        0 => {
            // This keeps the length.
            let put = text(random, 1);
            let end = bytes.len().min(at + put.len());
            bytes[at..end].copy_from_slice(&put[..end - at]);
            fs::write(file, bytes).unwrap();
            "changed in place"
        }
        1 => {
            bytes.splice(at..at, text(random, 3));
            fs::write(file, bytes).unwrap();
            "longer"
        }
        2 => {
            bytes.drain(..at / 2);
            fs::write(file, bytes).unwrap();
            "without its beginning"
        }
        _ => {
            fs::File::options().write(true).open(file).unwrap().set_len(at as u64).unwrap();
            "cut"
        }
    }
}

#[test]
fn parts_match_like_whole_files() {
    for first in (0..24).step_by(12) {
        let trees: Vec<_> = (first..first + 12)
            .map(|seed| {
                let mut random = Random::new(seed ^ 0x9a27);
                let directory = tempfile::tempdir().unwrap();
                let root = directory.path().join("root");
                fs::create_dir_all(root.join("src")).unwrap();
                // These names occur in the request's globs and page starts.
                for name in ["a", "a.c", "lib.rs", "src/a", "src/b.rs", "z.txt"] {
                    fs::write(root.join(name), long_text(&mut random)).unwrap();
                }
                (seed, directory, root)
            })
            .collect();
        std::thread::sleep(SETTLED);
        for (seed, _directory, root) in &trees {
            let mut random = Random::new(*seed);
            let base = segment(root, None);
            let walked = Arc::new(index(&[&base]));
            let (watched, reported) = watched_index(root, &[&base]);
            watched.prepare(&WalkOptions::default()).unwrap().unwrap();
            let mut edits = Vec::new();
            for round in 0..4 {
                if round > 0 {
                    let file = root.join(random.pick(&["a", "a.c", "lib.rs", "src/a", "src/b.rs", "z.txt"]));
                    edits.push((edit(&mut random, &file), file));
                }
                for _ in 0..6 {
                    check(root, &mut random, &walked, &format!("seed {seed} {edits:?}"));
                    // The most frequent kind of request has no context and searches the whole tree.
                    let request = random_request(&mut random);
                    let scan =
                        ScanOptions { before_context: 0, after_context: 0, after: None, ..request.scan };
                    let wanted = Wanted { walk: WalkOptions::default(), scan, ..request };
                    let pattern = Pattern::new(wanted.text, &wanted.options).unwrap();
                    let answer = |index| answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, index);
                    let expected = answer(None);
                    for (name, index) in [("walked", &walked), ("watched", &reported)] {
                        assert_eq!(answer(Some(index)), expected, "seed {seed} {name} {}", wanted.shown);
                    }
                }
            }
        }
    }
}

/// The control: a search must rely on the index's data about parts until the file changes.
#[test]
fn line_numbers_of_parts_come_from_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let filler = "mmmm ppp\n".repeat(limits::PART_BYTES / 9 + 1);
    fs::write(root.join("a"), format!("{filler}needle\n{filler}")).unwrap();
    std::thread::sleep(SETTLED);
    let state = Segment::open(segment(&root, None)).unwrap().state(0).unwrap().0;
    let mut trigrams = Trigrams::default();
    let mut part = |text: &str, bytes: usize, feeds: u32| SegmentPart {
        trigrams: trigrams.distinct(text.as_bytes()).into(),
        end: PartEnd { bytes: bytes as u32, feeds },
    };
    let parts = [
        part(&filler, filler.len(), 1_000_000),
        part("needle\n", filler.len() + 7, 1_000_001),
        part(&filler, state.size as usize, 2_000_000),
    ];
    let mut builder = SegmentBuilder::default();
    let content = Content::Indexed;
    assert!(builder.add(&IndexedFile {
        path: b"a",
        state,
        content,
        lines: None,
        checksum: 0,
        parts: &parts
    }));
    let mut forged = Vec::new();
    builder.write(&mut forged).unwrap();
    let found = |index: &Arc<Index>| {
        let request = random_request(&mut Random::new(1));
        let wanted = Wanted { walk: WalkOptions::default(), scan: ScanOptions::default(), ..request };
        let pattern = Pattern::new("needle", &PatternOptions::default()).unwrap();
        let files = answer(&root, &RelPath::root(), &pattern, &wanted, usize::MAX, Some(index)).0;
        let lines = |file: &FileEvents| file.events.iter().map(|event| event.line_number).collect();
        files.iter().map(lines).collect::<Vec<Vec<u64>>>()
    };
    let line = filler.lines().count() as u64 + 1;
    let walked = Arc::new(index(&[&forged]));
    let (watched, reported) = watched_index(&root, &[&forged]);
    watched.prepare(&WalkOptions::default()).unwrap().unwrap();
    for index in [&walked, &reported] {
        assert_eq!(found(index), [[1_000_001]]);
    }
    fs::write(root.join("a"), format!("{filler}needle\n{filler}x")).unwrap();
    for index in [&walked, &reported] {
        assert_eq!(found(index), [[line]]);
    }
}
