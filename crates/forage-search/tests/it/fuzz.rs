//! Fuzz tests: even if the files of an index contain arbitrary bytes, a search with this index must return
//! the same as one without it.

use std::sync::Arc;

use forage_fs::{RelPath, Snapshot, WalkOptions};
use forage_fuzz::target;
use forage_search::index::{Index, Segment};
use forage_search::{Pattern, PatternOptions, ScanOptions};

use crate::external::{Wanted, random_request};
use crate::index::{SETTLED, answer, segment, snapshot};
use crate::trees::{Random, tree};

#[test]
fn damaged_index_files_change_no_answer() {
    let trees: Vec<_> = (0..3).map(|seed| tree(&mut Random::new(seed), true)).collect();
    std::thread::sleep(SETTLED);
    let root = &trees[0].1;
    // Indexes of the right tree and of other trees.
    let layers: Vec<Vec<u8>> = trees.iter().map(|(_, root)| segment(root, None)).collect();
    let directories: Vec<Vec<u8>> = trees.iter().map(|(_, root)| snapshot(root)).collect();
    let pattern = Pattern::new("retry|foo", &PatternOptions::default()).unwrap();
    let wanted = Wanted {
        walk: WalkOptions::default(),
        scan: ScanOptions::default(),
        ..random_request(&mut Random::new(1))
    };
    let asked =
        |index: Option<&Arc<Index>>| answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, index);
    let without = asked(None);
    assert!(!without.0.is_empty());
    let (mut opened, mut filled) = (0_u64, 0_u64);
    target!(&[layers.clone(), directories.clone()].concat(), |input| {
        // This replaces one of the two files and leaves the other intact.
        let (layer, snapshot) = (Segment::open(input.to_vec()).ok(), Snapshot::default());
        let is_filled = snapshot.fill(input.to_vec());
        opened += u64::from(layer.is_some());
        filled += u64::from(is_filled);
        if layer.is_none() && !is_filled {
            return;
        }
        let layer = layer.unwrap_or_else(|| Segment::open(layers[0].clone()).unwrap());
        assert!(is_filled || snapshot.fill(directories[0].clone()));
        let index = Arc::new(Index::new(vec![layer]).with_snapshot(snapshot));
        assert_eq!(asked(Some(&index)), without);
    });
    assert!(opened >= 3 && filled >= 3, "{opened} {filled}");
}
