//! Fuzz tests with arbitrary bytes in place of a snapshot.

use forage_fuzz::target;

use super::tests::{paths, take, tree};
use super::*;

/// Disk damage does not produce a correct checksum.
#[test]
fn altered_bytes_are_refused() {
    let (_directory, root) = tree();
    let snapshot = take(&root);
    target!(std::slice::from_ref(&snapshot), |input| {
        assert!(!Snapshot::default().fill(input.to_vec()) || input == snapshot);
    });
}

/// Bytes with a correct checksum come from a private directory, but may belong to another tree or version. A
/// walk that uses them must end, and must stay within the root.
#[test]
fn any_bytes_with_a_valid_checksum_are_safe() {
    let (_directory, root) = tree();
    let snapshot = take(&root);
    let mut filled = 0_u64;
    target!(&[snapshot[16..].to_vec()], |said| {
        let whole = [&snapshot[..12], &checksum(said).to_le_bytes()[..], said].concat();
        if Loaded::new(whole.clone().into()).is_none() {
            return;
        }
        filled += 1;
        for path in paths(&root, &whole) {
            let path = RelPath::parse(&path, &RelPath::root()).unwrap();
            assert!(root.open_file(&path).is_ok() || path.names().all(|name| !name.contains(&0)), "{path:?}");
        }
    });
    assert!(filled > 3, "{filled} were filled");
}
