//! Tests that verification detects differences between an index and the text of its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use forage_base::Stop;
use forage_fs::{ReadBuffer, RelPath};
use forage_search::index::{
    Content, IndexedFile, PartEnd, ScrubOutcome, Segment, SegmentBuilder, SegmentPart, Trigrams, scrub_file,
    verify,
};

use crate::index::{SETTLED, segment};
use crate::search::open;
use crate::trees::{Random, tree};

/// A fault in the index data of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A missing trigram, which makes searches miss the file.
    LacksTrigram,
    MoreTrigrams,
    Checksum,
    Lines,
    Binary,
}

const TEXT: &str = "the first line\nand a needle\n";

/// Builds an index of one unchanged file.
fn index_with(root: &Path, fault: Fault) -> Segment {
    let name = RelPath::parse("a.txt", &RelPath::root()).unwrap();
    let file = open(root).open_file(&name).unwrap();
    let text = match fault {
        Fault::LacksTrigram => TEXT.replace("needle", "needs"),
        Fault::MoreTrigrams => TEXT.replace("needle", "needle in hay"),
        _ => TEXT.to_owned(),
    };
    let end = PartEnd { bytes: TEXT.len() as u32, feeds: 2 };
    let parts = [SegmentPart { trigrams: Trigrams::default().distinct(text.as_bytes()).into(), end }];
    let content = if fault == Fault::Binary { Content::Binary } else { Content::Indexed };
    let mut builder = SegmentBuilder::default();
    assert!(builder.add(&IndexedFile {
        path: b"a.txt",
        state: file.state().unwrap(),
        content,
        lines: (content == Content::Indexed).then_some(if fault == Fault::Lines { 3 } else { 2 }),
        checksum: crc32fast::hash(TEXT.as_bytes()) ^ u32::from(fault == Fault::Checksum),
        parts: if content == Content::Indexed { &parts } else { &[] },
    }));
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    Segment::open(bytes).unwrap()
}

#[test]
fn verify_names_every_faulty_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), TEXT).unwrap();
    let root = open(directory.path());
    use Fault::{Binary, Checksum, Lines, None};
    for fault in [None, Fault::LacksTrigram, Fault::MoreTrigrams, Checksum, Lines, Binary] {
        let index = index_with(directory.path(), fault);
        let found = verify(&root, &index, &Stop::never()).unwrap();
        let named: BTreeSet<_> = found.named.iter().map(|path| path.display().into_owned()).collect();
        let wanted = if fault == None { BTreeSet::new() } else { BTreeSet::from(["a.txt".to_owned()]) };
        assert_eq!((found.compared, found.different, named), (1, wanted.len() as u64, wanted), "{fault:?}");
        let read = scrub_file(&root, &index, 0, &mut ReadBuffer::default());
        let wanted =
            if fault == Checksum { ScrubOutcome::Different } else { ScrubOutcome::Same(TEXT.len() as u64) };
        assert_eq!(read, wanted, "{fault:?}");
    }
}

/// This includes files that are read in pieces.
#[test]
fn verify_accepts_a_correct_index() {
    let trees: Vec<_> = (0..20).map(|seed| tree(&mut Random::new(seed), true)).collect();
    let large: String = (0..200_000).map(|number| format!("line {} of many\n", number % 777)).collect();
    assert!(large.len() < 8 << 20);
    fs::write(trees[0].1.join("large.txt"), &large).unwrap();
    fs::write(trees[0].1.join("larger.txt"), large.repeat(3)).unwrap();
    std::thread::sleep(SETTLED);
    let mut compared = 0;
    for (_directory, root) in &trees {
        let index = Segment::open(segment(root, None)).unwrap();
        let root = open(root);
        let found = verify(&root, &index, &Stop::never()).unwrap();
        assert_eq!((found.different, found.changed), (0, 0), "{found:?}");
        compared += found.compared;
        for file in 0..index.len() {
            assert_ne!(scrub_file(&root, &index, file, &mut ReadBuffer::default()), ScrubOutcome::Different);
        }
    }
    assert!(compared > 100, "{compared} files");
}
