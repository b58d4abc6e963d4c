//! Compares walks with a snapshot of the directories to walks that list them, while the tree changes.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::Stop;
use forage_fs::{
    Entry, Globs, PendingFile, RelPath, SkipReason, Skipped, Snapshot, VisitDecision, Walk, WalkOptions,
    WalkStep, limits,
};

use crate::external::random_request;
use crate::index::{SETTLED, change, filled, snapshot, some_directory};
use crate::search::open;
use crate::trees::{Random, tree};

/// Returns everything that a walk reports, and the number of files from a snapshot. If there is a snapshot to
/// `fill`, we fill it in the middle of the walk.
fn walked(
    root: &Path,
    start: &RelPath,
    options: &WalkOptions,
    fill: Option<(usize, &[u8])>,
    max: usize,
) -> (String, usize) {
    let (met, known) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let dismiss = |(): &mut (), file: &PendingFile<'_>| {
        known.fetch_add(1, Ordering::Relaxed);
        // We count unvisited files as the visitor below counts them.
        match file.path.ends_with(b".md") {
            true => VisitDecision::Skip(Some(SkipReason::Binary)),
            false => VisitDecision::Visit,
        }
    };
    let visit = |(): &mut (), entry: &Entry<'_>, skipped: &mut Skipped| {
        if fill.is_some_and(|(after, _)| met.fetch_add(1, Ordering::Relaxed) == after)
            && let (Some(snapshot), Some((_, bytes))) = (&options.snapshot, fill)
        {
            snapshot.fill(bytes.to_vec());
        }
        if entry.path.as_bytes().ends_with(b".md") && entry.kind == forage_fs::EntryKind::File {
            skipped.add(SkipReason::Binary);
            return WalkStep::Nothing;
        }
        WalkStep::Item(format!("{:?} {:?} {:?}\n", entry.path, entry.kind, entry.hidden_by), 100)
    };
    let (mut found, mut left) = (String::new(), max);
    let receive = |line: String| {
        found.push_str(&line);
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let root = open(root);
    let walk = Walk { root: &root, start, options, stop: &Stop::never() };
    let report = walk.dismissing(|| (), dismiss, visit, receive);
    (format!("{found}{report:?}"), known.into_inner())
}

fn random_options(random: &mut Random) -> WalkOptions {
    let mut options = random_request(random).walk;
    let globs = |random: &mut Random| {
        Some(Globs::new(&[random.pick(&["*.rs", "*.md", "src/**", "*.[ch]", "!*.txt"])]).unwrap())
    };
    if random.one_in(3) {
        options.only = globs(random);
    }
    if random.one_in(6) {
        options.excludes = Some(Globs::new(&[random.pick(&["!*.rs", "!src", "!a"])]).unwrap());
    }
    if random.one_in(6) {
        options.from = Some(RelPath::parse(random.pick(&["a", "b/c", "lib.rs"]), &RelPath::root()).unwrap());
    }
    if random.one_in(6) {
        options.max_depth = 1 + random.below(3);
    }
    options.all_entries = random.one_in(5);
    options
}

#[test]
fn a_snapshot_changes_no_walk() {
    let (mut known, mut walks) = (0, 0);
    for first in (0..200).step_by(100) {
        let trees: Vec<_> =
            (first..first + 100).map(|seed| (seed, tree(&mut Random::new(seed + 90_000), true))).collect();
        std::thread::sleep(SETTLED);
        for (seed, (_directory, root)) in &trees {
            let mut random = Random::new(seed ^ 0xd1e5);
            let bytes = snapshot(root);
            let mut edits = Vec::new();
            for _ in 0..6 {
                let options = random_options(&mut random);
                let start =
                    if random.one_in(3) { some_directory(&mut random, root) } else { RelPath::root() };
                let max = if random.one_in(4) { 1 + random.below(4) } else { usize::MAX };
                let plain = walked(root, &start, &options, None, max).0;
                let (fill, kept) = match random.one_in(3) {
                    true => (Some((random.below(5), &bytes[..])), Snapshot::default()),
                    false => (None, filled(&bytes)),
                };
                let with = WalkOptions { snapshot: Some(Arc::new(kept)), ..options.clone() };
                let (said, files) = walked(root, &start, &with, fill, max);
                assert_eq!(said, plain, "seed {seed} {start:?} {edits:?} {options:?}");
                known += files;
                walks += 1;
                if random.one_in(2) {
                    edits.push(change(&mut random, root));
                }
            }
        }
    }
    assert!(known > 2 * walks, "{known} files of {walks} walks were known");
}

/// The cost of compiling rules counts against the limits of a search even if the rules need not be compiled.
#[test]
fn uncompiled_rules_count_against_limits() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    // Eight rule files are within the limits of a search, twelve are not.
    let rules = |name: &str, count: usize| {
        fs::create_dir_all(root.join(name)).unwrap();
        let text: String = (0..count).map(|number| format!("none-{number}\n")).collect();
        fs::write(root.join(name).join(".ignore"), text + "*.log\n").unwrap();
        fs::write(root.join(name).join("x.log"), "").unwrap();
    };
    let each = limits::IGNORE_WALK_RULES / 11;
    for part in 0..4 {
        rules(&format!("a{part}"), each);
        rules(&format!("b{part}"), each);
    }
    std::thread::sleep(SETTLED);
    let bytes = snapshot(root);
    for part in 0..4 {
        rules(&format!("c{part}"), each);
    }
    let options = WalkOptions { threads: 1, ..WalkOptions::default() };
    let with = WalkOptions { snapshot: Some(Arc::new(filled(&bytes))), ..options.clone() };
    let plain = walked(root, &RelPath::root(), &options, None, usize::MAX).0;
    assert!(plain.contains("the rule limits of one search"), "{plain}");
    assert_eq!(walked(root, &RelPath::root(), &with, None, usize::MAX).0, plain);
}

/// If a link leads back to a directory, it is not entered again, and its rules must be read only once.
#[test]
fn cyclic_link_does_not_reread_rules() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a")).unwrap();
    fs::write(root.join("a/.ignore"), [b'x'; limits::IGNORE_LINE_BYTES + 1]).unwrap();
    std::os::unix::fs::symlink("../a", root.join("a/loop")).unwrap();
    let options = WalkOptions { follow: true, ..WalkOptions::default() };
    let (said, _) = walked(root, &RelPath::root(), &options, None, usize::MAX);
    assert_eq!(said.matches("is not applied").count(), 1, "{said}");
}
