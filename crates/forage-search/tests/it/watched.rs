//! Compares searches of a watched tree, which need no walk, to searches that walk it, while the tree changes.

use std::fs;
use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{Mounts, RelPath, WalkOptions, WatchedTree, limits as fs_limits};
use forage_search::index::{Index, Segment};
use forage_search::keyword::{KeywordOptions, gather};
use forage_search::{Pattern, PatternOptions, ScanOptions, search};

use crate::external::random_request;
use crate::index::{SETTLED, answer, below, edit, segment};
use crate::search::open;
use crate::trees::{Random, contents, rules, tree};

pub(crate) fn watched_index(root: &Path, layers: &[&Vec<u8>]) -> (Arc<WatchedTree>, Arc<Index>) {
    let watched = WatchedTree::new(&open(root), &Mounts::open().unwrap());
    (Arc::clone(&watched), index_over(&watched, layers))
}

fn index_over(watched: &Arc<WatchedTree>, layers: &[&Vec<u8>]) -> Arc<Index> {
    let layers = layers.iter().map(|&bytes| Segment::open(bytes.clone()).unwrap()).collect();
    Arc::new(Index::new(layers).watching(Arc::clone(watched)))
}

/// Changes a directory, or a file through anything other than its name, and describes the change.
pub(crate) fn edit_more(random: &mut Random, root: &Path) -> String {
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    below(root, false, &mut files);
    below(root, true, &mut directories);
    files.sort();
    directories.sort();
    let (Some(file), Some(directory)) = (
        files.get(random.below(files.len().max(1))).cloned(),
        directories.get(random.below(directories.len().max(1))).cloned(),
    ) else {
        return edit(random, root);
    };
    let other = directories[random.below(directories.len())].clone();
    let aside = root.parent().unwrap().join(format!("aside-{}", random.next()));
    let fill = |random: &mut Random, directory: &Path| {
        fs::create_dir_all(directory.join("deep/er")).unwrap();
        fs::write(directory.join("deep/er/x.rs"), contents(random, true)).unwrap();
        fs::write(directory.join("lib.rs"), contents(random, true)).unwrap();
    };
    let what = match random.below(10) {
        0 => {
            fill(random, &directory.join("grown"));
            "directories made"
        }
        1 => {
            fs::rename(&directory, &aside).unwrap();
            fill(random, &directory);
            "a directory replaced"
        }
        2 => {
            // This directory is moved in and then changed.
            fill(random, &aside);
            if fs::rename(&aside, directory.join("come")).is_ok() {
                fs::write(directory.join("come/deep/er/x.rs"), contents(random, true)).unwrap();
            }
            "a directory moved in"
        }
        3 if directory != other && !directory.starts_with(&other) && !other.starts_with(&directory) => {
            fs::rename(&directory, &aside).unwrap();
            fs::rename(&other, &directory).unwrap();
            fs::rename(&aside, &other).unwrap();
            "two directories exchanged"
        }
        4 => {
            fs::rename(&directory, &aside).unwrap();
            std::os::unix::fs::symlink("/", &directory).unwrap();
            "a link instead of a directory"
        }
        5 => {
            fs::create_dir_all(directory.join(".git/info")).unwrap();
            fs::write(directory.join(".git/info/exclude"), rules(random)).unwrap();
            "rules of git's"
        }
        6 => {
            let _ = fs::rename(directory.join(".git"), &aside);
            "no git"
        }
        7 => {
            let name = root.join(random.pick(&["another-name", "another.rs", ".another"]));
            if fs::hard_link(&file, &name).is_ok() {
                fs::write(&name, contents(random, true)).unwrap();
            }
            "written by another name"
        }
        8 => {
            // This writes through an open handle at an existing position.
            let mut open = fs::File::options().write(true).open(&file).unwrap();
            open.seek(std::io::SeekFrom::Start(1)).unwrap();
            open.write_all(b"needle foo\n").unwrap();
            std::mem::forget(open);
            "written in its middle"
        }
        _ => {
            let link = directory.join("link");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(random.pick(&["../..", "lib.rs", "/etc", "../aside"]), &link).unwrap();
            "a link elsewhere"
        }
    };
    format!("{what} {} {} {}", file.display(), directory.display(), other.display())
}

/// Searches 200 trees in two ways, each as listed and after each of four changes.
#[test]
fn watched_tree_changes_no_answer() {
    let (mut answers, mut listed) = (0, 0);
    for first in (0..200).step_by(100) {
        let trees: Vec<_> =
            (first..first + 100).map(|seed| (seed, tree(&mut Random::new(seed), true))).collect();
        std::thread::sleep(SETTLED);
        for (seed, (_directory, root)) in &trees {
            let mut random = Random::new(seed ^ 0x3a7c);
            let base = segment(root, None);
            let (watched, mut index) = watched_index(root, &[&base]);
            let other = random_request(&mut random).walk;
            let walks = [WalkOptions::default(), WalkOptions { follow: false, ..other }];
            walks.iter().for_each(|walk| drop(watched.prepare(walk)));
            let mut edits = Vec::new();
            for round in 0..5 {
                for _ in 0..random.below(3) * usize::from(round > 0) {
                    edits.push(match random.one_in(2) {
                        true => edit(&mut random, root),
                        false => edit_more(&mut random, root),
                    });
                }
                if round > 0 && random.one_in(4) {
                    let changes = segment(root, Some(&Segment::open(base.clone()).unwrap()));
                    index = index_over(&watched, &[&changes, &base]);
                    edits.push("update".to_owned());
                }
                let start = random.pick(&["", "", "", "src", "a", "src/a"]);
                let mut start = RelPath::parse(start, &RelPath::root()).unwrap();
                if open(root).locate(&start).is_err() {
                    start = RelPath::root();
                }
                for walk in &walks {
                    let mut wanted = random_request(&mut random);
                    wanted.walk = walk.clone();
                    let files = if random.one_in(3) { 1 + random.below(3) } else { usize::MAX };
                    wanted.scan.max_file_bytes = random.one_in(5).then_some(200);
                    let Ok(pattern) = Pattern::new(wanted.text, &wanted.options) else { continue };
                    let with = answer(root, &start, &pattern, &wanted, files, Some(&index));
                    let without = answer(root, &start, &pattern, &wanted, files, None);
                    assert_eq!(
                        with, without,
                        "seed {seed} {edits:#?} {files} {} {walk:?} {start:?}",
                        wanted.shown
                    );
                    answers += 1;
                    listed += u32::from(watched.listing(walk).is_some());
                }
                let terms = [random.pick(crate::search::PATTERNS).to_owned(), "retry".to_owned()];
                let gathered = |index: Option<&Arc<Index>>| {
                    let options = KeywordOptions { index: index.cloned(), ..KeywordOptions::default() };
                    let walk = WalkOptions { threads: 1, ..WalkOptions::default() };
                    gather(&open(root), &start, &walk, &terms, &options, &Stop::never()).unwrap()
                };
                assert_eq!(
                    format!("{:?}", gathered(Some(&index))),
                    format!("{:?}", gathered(None)),
                    "seed {seed} {edits:#?} {terms:?}"
                );
            }
        }
    }
    assert!(answers > 1_800 && listed * 2 > answers, "of {answers} answers {listed} needed no walk");
}

/// A build writes 20,000 files while searches run, and each search must find everything written before it
/// began. Then, while no search runs, this test writes enough files to overflow the kernel's queue.
#[test]
fn finds_files_written_during_a_build() {
    const FILES: usize = 20_000;
    let (_directory, root) = tree(&mut Random::new(7), false);
    let (watched, index) = watched_index(&root, &[&segment(&root, None)]);
    let walk = WalkOptions::default();
    assert!(watched.prepare(&walk).unwrap().is_some());
    let written = AtomicUsize::new(0);
    let write = |number: usize| {
        let directory = root.join(format!("out/{:03}", number / 100));
        if number.is_multiple_of(100) {
            fs::create_dir_all(&directory).unwrap();
        }
        fs::write(directory.join(format!("{number}.o.txt")), format!("written_{number}_\n")).unwrap();
        written.store(number + 1, Ordering::Release);
    };
    let found = |text: &str| {
        let pattern = Pattern::new(text, &PatternOptions::default()).unwrap();
        let scan = ScanOptions { index: Some(Arc::clone(&index)), ..ScanOptions::default() };
        let mut files = 0;
        let receive = |_| {
            files += 1;
            ControlFlow::Continue(())
        };
        search(&open(&root), &RelPath::root(), &walk, &pattern, &scan, &Stop::never(), receive).unwrap();
        files
    };
    // The writer waits for the searches, so that a slow machine runs as many of them as a fast one.
    let searched = AtomicUsize::new(0);
    let mut missed = None;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..FILES / 2 {
                while searched.load(Ordering::Acquire) < number / (FILES / 20) {
                    std::thread::yield_now();
                }
                write(number);
            }
        });
        while !writer.is_finished() && missed.is_none() {
            let last = written.load(Ordering::Acquire);
            if last > 0 {
                missed = (found(&format!("written_{}_", last - 1)) != 1).then_some(last);
                searched.fetch_add(1, Ordering::Release);
            }
        }
        searched.store(usize::MAX, Ordering::Release);
    });
    assert_eq!(missed, None);
    // From here on, no search runs.
    (FILES / 2..FILES).for_each(write);
    assert_eq!(found(&format!("written_{}_", FILES - 1)), 1);
    assert_eq!(found("written_[0-9]+_"), FILES);
    let until = Instant::now() + Duration::from_secs(60);
    while watched.listing(&walk).is_none() {
        assert!(Instant::now() < until, "the tree is not listed again");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(found("written_[0-9]+_"), FILES);
    fs::remove_dir_all(root.join("out")).unwrap();
    assert_eq!(found("written_[0-9]+_"), 0);
}

/// If a tree is too large to be compared in every call, a file may have changed through a name outside of the
/// tree. A search must then not report that this file has no match.
#[test]
fn no_match_compares_states_in_the_same_call() {
    let (_directory, root) = tree(&mut Random::new(9), false);
    for number in 0..fs_limits::COMPARED_ALWAYS {
        let directory = root.join(format!("many/{:02}", number % 50));
        if number < 50 {
            fs::create_dir_all(&directory).unwrap();
        }
        fs::write(directory.join(format!("{number}.txt")), "some hay\n").unwrap();
    }
    std::thread::sleep(SETTLED);
    let (watched, index) = watched_index(&root, &[&segment(&root, None)]);
    let walk = WalkOptions::default();
    assert!(watched.prepare(&walk).unwrap().is_some());
    let found = |text: &str| {
        let pattern = Pattern::new(text, &PatternOptions::default()).unwrap();
        let scan = ScanOptions { index: Some(Arc::clone(&index)), ..ScanOptions::default() };
        let mut files = 0;
        let receive = |_| {
            files += 1;
            ControlFlow::Continue(())
        };
        search(&open(&root), &RelPath::root(), &walk, &pattern, &scan, &Stop::never(), receive).unwrap();
        files
    };
    for number in 0..20 {
        let outside = root.parent().unwrap().join(format!("outside-{number}"));
        fs::hard_link(root.join(format!("many/{number:02}/{number}.txt")), &outside).unwrap();
        let text = format!("written_{number}_outside");
        fs::write(&outside, &text).unwrap();
        assert_eq!(found(&text), 1, "{number}");
    }
    assert!(watched.listing(&walk).is_some());
}

/// The kernel reports the changes of a directory up to a limit, and also reports exceeding the limit.
#[test]
fn event_overflow_is_detected() {
    let (_directory, root) = tree(&mut Random::new(8), false);
    let watched = WatchedTree::new(&open(&root), &Mounts::open().unwrap());
    let walk = WalkOptions::default();
    assert!(watched.prepare(&walk).unwrap().is_some());
    let bound = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let bound: usize = bound.trim().parse().unwrap();
    for number in 0..=bound {
        // Two different changes, so that the kernel does not merge their events.
        let name = root.join(format!("flood-{}", number % 2));
        fs::write(&name, "x").unwrap();
        fs::remove_file(&name).unwrap();
    }
    assert!(watched.listing(&walk).is_none(), "changes were lost, and nobody noticed");
}
