//! Compares searches with an index to searches without one, while the tree changes.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{RelPath, Snapshot, WalkOptions, limits};
use forage_search::index::{Content, Index, Segment, build};
use forage_search::keyword::{KeywordOptions, gather};
use forage_search::{FileEvents, Pattern, PatternOptions, ScanOptions, limits as search_limits, search};

use crate::external::{Wanted, random_request};
use crate::search::open;
use crate::trees::{Random, contents, rules, text, tree};

/// Younger files are not indexed.
pub(crate) const SETTLED: Duration = Duration::from_millis(limits::SETTLING.as_millis() as u64 + 100);

pub(crate) fn segment(root: &Path, below: Option<&Segment>) -> Vec<u8> {
    let built = build(&open(root), below, &WalkOptions::default(), &Stop::never()).unwrap();
    let mut bytes = Vec::new();
    built.builder.write(&mut bytes).unwrap();
    bytes
}

pub(crate) fn index(layers: &[&Vec<u8>]) -> Index {
    Index::new(layers.iter().map(|&bytes| Segment::open(bytes.clone()).unwrap()).collect())
}

/// Takes a snapshot of the directories of a tree.
pub(crate) fn snapshot(root: &Path) -> Vec<u8> {
    Snapshot::take(&open(root), &WalkOptions::default(), &Stop::never()).unwrap().unwrap()
}

pub(crate) fn filled(bytes: &[u8]) -> Snapshot {
    let snapshot = Snapshot::default();
    assert!(snapshot.fill(bytes.to_vec()));
    snapshot
}

/// Changes a file or a directory in one of several ways.
pub(crate) fn change(random: &mut Random, root: &Path) -> String {
    #[cfg(target_os = "linux")]
    if random.one_in(2) {
        return crate::watched::edit_more(random, root);
    }
    edit(random, root)
}

/// Returns the complete result of a search.
pub(crate) fn answer(
    root: &Path,
    start: &RelPath,
    pattern: &Pattern,
    wanted: &Wanted,
    files: usize,
    index: Option<&Arc<Index>>,
) -> (Vec<FileEvents>, String) {
    let scan = ScanOptions { index: index.cloned(), ..wanted.scan.clone() };
    let mut found = Vec::new();
    let receive = |file| {
        found.push(file);
        if found.len() < files { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let report = search(&open(root), start, &wanted.walk, pattern, &scan, &Stop::never(), receive).unwrap();
    (found, format!("{report:?}"))
}

pub(crate) fn check(root: &Path, random: &mut Random, index: &Arc<Index>, what: &str) {
    let mut wanted = random_request(random);
    if random.one_in(5) {
        wanted.options.fuzzy = 1 + u8::from(wanted.text.len() > 6);
    }
    let files = if random.one_in(3) { 1 + random.below(3) } else { usize::MAX };
    if let Ok(pattern) = Pattern::new(wanted.text, &wanted.options) {
        wanted.scan.max_file_bytes = random.one_in(5).then_some(200);
        let start = if random.one_in(3) { some_directory(random, root) } else { RelPath::root() };
        let with = answer(root, &start, &pattern, &wanted, files, Some(index));
        let without = answer(root, &start, &pattern, &wanted, files, None);
        assert_eq!(with, without, "{what} {files} {start:?} {}", wanted.shown);
    }
    if random.one_in(6) {
        let terms: Vec<String> =
            (0..1 + random.below(4)).map(|_| random.pick(crate::search::PATTERNS).to_owned()).collect();
        let gathered = |index: Option<&Arc<Index>>| {
            let options = KeywordOptions { index: index.cloned(), ..KeywordOptions::default() };
            // We use one thread, because it depends on timing which files are still opened when all terms are
            // abandoned.
            let walk = WalkOptions { threads: 1, ..WalkOptions::default() };
            gather(&open(root), &RelPath::root(), &walk, &terms, &options, &Stop::never()).unwrap()
        };
        assert_eq!(
            format!("{:?}", gathered(Some(index))),
            format!("{:?}", gathered(None)),
            "{what} {terms:?}"
        );
    }
}

pub(crate) fn some_directory(random: &mut Random, root: &Path) -> RelPath {
    let mut directories = vec![root.to_owned()];
    below(root, true, &mut directories);
    directories.sort();
    let directory = directories[random.below(directories.len())].strip_prefix(root).unwrap();
    RelPath::from_bytes(directory.as_os_str().as_encoded_bytes(), &RelPath::root()).unwrap()
}

/// Collects all files below a directory, or all directories.
pub(crate) fn below(directory: &Path, directories: bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            below(&entry.path(), directories, found);
        }
        if (kind.is_dir() && directories) || (kind.is_file() && !directories) {
            found.push(entry.path());
        }
    }
}

/// Changes a tree in one of several ways and describes the change.
pub(crate) fn edit(random: &mut Random, root: &Path) -> String {
    let (mut files, mut directories) = (Vec::new(), vec![root.to_owned()]);
    below(root, false, &mut files);
    below(root, true, &mut directories);
    files.sort();
    directories.sort();
    let directory = directories[random.below(directories.len())].clone();
    let fresh = directory.join(format!("new-{}", random.below(3)));
    // A link with this name may lead to itself.
    if fresh.is_symlink() {
        fs::remove_file(&fresh).unwrap();
    }
    if files.is_empty() {
        fs::write(&fresh, contents(random, true)).unwrap();
        return format!("first {}", fresh.display());
    }
    let file = files[random.below(files.len())].clone();
    let other = files[random.below(files.len())].clone();
    let of_same_size = |random: &mut Random| {
        let size = fs::metadata(&file).unwrap().len() as usize;
        let mut text = text(random, 60);
        text.resize(size, b' ');
        text
    };
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let set_modified = |path: &Path, time| {
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    let what = match random.below(11) {
        0 => {
            fs::write(&file, contents(random, true)).unwrap();
            "written"
        }
        1 => {
            let text = [fs::read(&file).unwrap(), text(random, 2)].concat();
            fs::write(&file, text).unwrap();
            "longer"
        }
        2 => {
            let half = fs::metadata(&file).unwrap().len() / 2;
            fs::File::options().write(true).open(&file).unwrap().set_len(half).unwrap();
            "cut"
        }
        3 => {
            // This change only shows in the time of the last metadata change.
            let (time, text) = (modified(&file), of_same_size(random));
            fs::write(&file, text).unwrap();
            set_modified(&file, time);
            "as long and as old as before"
        }
        4 => {
            let (time, text) = (modified(&file), of_same_size(random));
            fs::write(&fresh, text).unwrap();
            set_modified(&fresh, time);
            fs::rename(&fresh, &file).unwrap();
            "another in its place"
        }
        5 => {
            fs::rename(&file, &fresh).unwrap();
            "renamed"
        }
        6 => {
            fs::rename(&file, &other).unwrap();
            "renamed over another"
        }
        7 => {
            fs::remove_file(&file).unwrap();
            "removed"
        }
        8 if directory != root => {
            let target = root.join(format!("moved-{}", random.below(3)));
            match target.exists() {
                true => fs::remove_dir_all(&directory).unwrap(),
                false => fs::rename(&directory, &target).unwrap(),
            }
            "a directory moved or removed"
        }
        9 => {
            fs::write(directory.join(random.pick(&[".gitignore", ".ignore", ".rgignore"])), rules(random))
                .unwrap();
            "rules"
        }
        _ if fresh.symlink_metadata().is_err() => {
            std::os::unix::fs::symlink(file.file_name().unwrap(), &fresh).unwrap();
            "a link"
        }
        _ => {
            fs::write(&fresh, contents(random, true)).unwrap();
            "new"
        }
    };
    format!("{what} {} {}", file.display(), directory.display())
}

/// Searches 500 trees, each as indexed and after each of three changes, with updates of the index in between.
#[test]
fn an_index_changes_no_answer() {
    let mut known = 0;
    for first in (0..500).step_by(100) {
        let trees: Vec<_> =
            (first..first + 100).map(|seed| (seed, tree(&mut Random::new(seed), true))).collect();
        std::thread::sleep(SETTLED);
        let bases: Vec<_> =
            trees.iter().map(|(_, (_, root))| (segment(root, None), snapshot(root))).collect();
        for ((seed, (_directory, root)), (base, directories)) in trees.iter().zip(bases) {
            let mut random = Random::new(seed ^ 0x5eed);
            let mut layers = Arc::new(index(&[&base]).with_snapshot(filled(&directories)));
            check(root, &mut random, &layers, &format!("seed {seed}"));
            known += layers.layers().iter().map(|layer| layer.len()).sum::<u32>() as u64;
            // Nothing has changed, so the index must exclude everything that it knows.
            let pattern = Pattern::new("zzzz", &PatternOptions::default()).unwrap();
            let wanted = Wanted {
                walk: WalkOptions::default(),
                scan: ScanOptions::default(),
                ..random_request(&mut random)
            };
            let before = layers.strangers();
            answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, Some(&layers));
            assert_eq!(layers.strangers(), before, "seed {seed}: files that are as they were are not known");
            let mut edits = Vec::new();
            for _ in 0..3 {
                for _ in 0..1 + random.below(2) {
                    edits.push(change(&mut random, root));
                }
                if random.one_in(3) {
                    // Like an update, this only reads files that the base does not have in their current
                    // state.
                    let changes = segment(root, Some(&Segment::open(base.clone()).unwrap()));
                    // The snapshot of the directories may be outdated or current.
                    let now = if random.one_in(2) { snapshot(root) } else { directories.clone() };
                    layers = Arc::new(index(&[&changes, &base]).with_snapshot(filled(&now)));
                    edits.push("update".to_owned());
                }
                check(root, &mut random, &layers, &format!("seed {seed} {edits:?}"));
            }
        }
    }
    assert!(known > 3_000, "the indexes hold only {known} files");
}

/// Large files are searched in pieces, and must be left unread unless they have to be reported anyway.
#[test]
fn large_file_is_indexed_by_all_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let size = search_limits::WHOLE_FILE_BYTES + 700_000;
    let lines = |line: &str| line.repeat(size / line.len());
    let plain = lines("filler of a line\n");
    for (name, text) in [
        ("at-the-beginning", format!("xylophone\n{plain}")),
        ("in-the-middle", format!("{plain}xylophone\n{plain}")),
        ("at-the-end", format!("{plain}xylophone")),
        ("none", plain.clone()),
        ("late-zero", format!("{plain}\0\nxylophone")),
        ("long-line", format!("{plain}{}\n{plain}xylophone", "y".repeat(search_limits::PIECE_BYTES + 10))),
        ("one-line", "z".repeat(size)),
        ("marked", format!("\u{feff}{plain}xylophone")),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let utf16: Vec<u8> =
        format!("\u{feff}{plain}xylophone").encode_utf16().flat_map(|unit| unit.to_le_bytes()).collect();
    fs::write(root.join("utf-16"), utf16).unwrap();
    std::thread::sleep(SETTLED);
    let bytes = segment(&root, None);
    let known = Segment::open(bytes.clone()).unwrap();
    let content = |name: &str| known.state(known.find(name.as_bytes(), 0).unwrap()).unwrap().1;
    for name in ["at-the-beginning", "in-the-middle", "at-the-end", "none", "marked"] {
        assert_eq!(content(name), Content::Indexed, "{name}");
    }
    for name in ["late-zero", "long-line", "one-line", "utf-16"] {
        assert_eq!(content(name), Content::Large, "{name}");
    }
    let layers = Arc::new(index(&[&bytes]));
    let wanted = Wanted {
        walk: WalkOptions::default(),
        scan: ScanOptions::default(),
        ..random_request(&mut Random::new(1))
    };
    for text in ["xylophone", "(?i)XYLO[a-z]+", "filler.*line$", "yyyy", "zzzz", "nothing of that"] {
        let pattern = Pattern::new(text, &PatternOptions::default()).unwrap();
        let answer = |index| answer(&root, &RelPath::root(), &pattern, &wanted, usize::MAX, index);
        let (with, without) = (answer(Some(&layers)), answer(None));
        assert!(with == without, "{text}: {} {}", with.1, without.1);
    }
}

#[test]
fn exhaustive_search_opens_the_index_once() {
    let mut random = Random::new(7);
    let (_directory, root) = tree(&mut random, true);
    std::thread::sleep(SETTLED);
    let bytes = segment(&root, None);
    let opened = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&opened);
    let index = Index::opening(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        vec![Segment::open(bytes).unwrap()]
    });
    let pattern = Pattern::new("retry", &PatternOptions::default()).unwrap();
    let mut wanted = random_request(&mut random);
    wanted.scan = ScanOptions { exhaustive: true, ..ScanOptions::default() };
    for _ in 0..2 {
        let with = answer(&root, &RelPath::root(), &pattern, &wanted, usize::MAX, Some(&index));
        assert_eq!(index.layers().len(), 1);
        let without = answer(&root, &RelPath::root(), &pattern, &wanted, usize::MAX, None);
        assert_eq!(with, without);
    }
    std::thread::sleep(search_limits::INDEX_LONG_HEAD_START.0 * 5);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
}

#[test]
fn exhaustive_search_waits_for_the_index_until_its_deadline() {
    let mut random = Random::new(8);
    let (_directory, root) = tree(&mut random, true);
    std::thread::sleep(SETTLED);
    let bytes = segment(&root, None);
    let pattern = Pattern::new("retry", &PatternOptions::default()).unwrap();
    let options = |index: &Arc<Index>| ScanOptions {
        exhaustive: true,
        index: Some(Arc::clone(index)),
        ..ScanOptions::default()
    };
    let run = |index: &Arc<Index>, stop: &Stop| {
        let (root, walk, receive) = (open(&root), WalkOptions::default(), |_| ControlFlow::Continue(()));
        search(&root, &RelPath::root(), &walk, &pattern, &options(index), stop, receive).unwrap()
    };
    let slow = Index::opening(move |_| {
        std::thread::sleep(Duration::from_millis(200));
        vec![Segment::open(bytes).unwrap()]
    });
    // Another search has started to open this index.
    std::thread::sleep(search_limits::INDEX_LONG_HEAD_START.0 * 2);
    assert!(slow.layers().is_empty());
    assert_eq!(run(&slow, &Stop::never()).stopped, None);
    assert_eq!(slow.layers().len(), 1);

    // In these two cases, opening never ends, or it panics.
    let (held, holds) = std::sync::mpsc::channel::<()>();
    let hanging = Index::opening(move |_| {
        let _ = holds.recv();
        Vec::new()
    });
    let started = Instant::now();
    assert!(run(&hanging, &Stop::after(Duration::from_millis(100))).stopped.is_some());
    assert!(started.elapsed() < Duration::from_secs(10));
    drop(held);
    let broken = Index::opening(|_| panic!("on purpose"));
    assert_eq!(run(&broken, &Stop::never()).stopped, None);
}
