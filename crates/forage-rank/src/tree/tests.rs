#![expect(clippy::disallowed_methods, reason = "a tree of the test's own")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use forage_fs::{Mounts, RootPolicy, SecretPolicy, WatchedTree};

use super::*;
use crate::search::{RankedSearch, search};

const QUERIES: &[&str] =
    &["open session", "Router", "parse header token", "path:src session", "\"open session\""];
const WORDS: &[&str] =
    &["open", "session", "Router", "parse", "header", "token", "\n", "fn ", "// ", "{ }\n", "x = 1;\n"];
const NAMES: &[&str] =
    &["a.rs", "src/session.rs", "src/deep/router.py", "docs/b.md", "src/c d.js", "t\u{e4}st.c", ".hidden.rs"];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn text(&mut self) -> String {
        (0..self.below(60)).map(|_| WORDS[self.below(WORDS.len())].to_owned() + " ").collect()
    }
}

fn open(path: &Path) -> Arc<Root> {
    Root::open(path, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
}

fn write(root: &Path, name: &str, text: &[u8]) {
    let path = root.join(name);
    let _ = fs::create_dir_all(path.parent().unwrap());
    let _ = fs::write(path, text);
}

fn edit(random: &mut Random, root: &Path) {
    let name = NAMES[random.below(NAMES.len())];
    let other = NAMES[random.below(NAMES.len())];
    match random.below(10) {
        0..3 => write(root, name, random.text().as_bytes()),
        3 => drop(fs::remove_file(root.join(name))),
        4 => drop(fs::rename(root.join(name), root.join(other))),
        5 => write(root, name, b"\x7fELF\0\0router session"),
        6 => write(root, ".ignore", format!("{other}\n").as_bytes()),
        7 => drop(fs::remove_dir_all(root.join("src"))),
        8 => {
            if let Ok(file) = fs::File::options().append(true).open(root.join(name)) {
                let _ =
                    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(random.below(9) as u64));
            }
        }
        _ => write(root, name, b"caf\xe9 router = open(session)\n"),
    }
}

fn effort(stop: &Stop) -> UpdateEffort {
    UpdateEffort { threads: 2, stop: stop.clone(), ..UpdateEffort::default() }
}

fn update(index: &RankIndex, root: &Arc<Root>, listing: Option<&FileListing>) {
    super::update(index, root, listing, &effort(&Stop::never()), || Ok(())).unwrap();
}

fn dump(index: &RankIndex) -> Vec<String> {
    QUERIES
        .iter()
        .map(|query| format!("{:?}", search(index, &RankedSearch::new(query, 50)).unwrap()))
        .collect()
}

fn fresh_index(root: &Arc<Root>) -> RankIndex {
    let index = RankIndex::in_memory().unwrap();
    update(&index, root, None);
    index
}

#[test]
fn updated_index_equals_a_fresh_one() {
    for seed in 0..25 {
        let mut random = Random(seed);
        let (tree, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = open(tree.path());
        let mounts = Mounts::open();
        let watched = mounts.as_ref().map(|mounts| WatchedTree::new(&root, mounts));
        for step in 0..8 {
            for _ in 0..1 + random.below(4) {
                edit(&mut random, tree.path());
            }
            // Every other time, the index is reopened, as if by another process.
            let index = RankIndex::in_directory(cache.path(), &Stop::never()).unwrap();
            let listing = watched.as_ref().filter(|_| random.below(2) == 0);
            let listing = listing.and_then(|watched| watched.prepare(&WalkOptions::default()).ok().flatten());
            update(&index, &root, listing.as_deref());
            assert_eq!(dump(&index), dump(&fresh_index(&root)), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn unchanged_files_are_neither_read_nor_written() {
    let tree = tempfile::tempdir().unwrap();
    for name in NAMES {
        write(tree.path(), name, b"fn open() {}\n");
    }
    write(tree.path(), "binary", b"\0");
    let root = open(tree.path());
    if !root.knows_states() {
        return;
    }
    let index = fresh_index(&root);
    // Recently written files must be compared by content.
    let compare = || compare(&index, &root, None, &effort(&Stop::never())).unwrap();
    assert!(compare().is_empty());
    std::thread::sleep(forage_fs::limits::SETTLING + Duration::from_millis(100));
    // The files are now old enough for us to trust their states. This is recorded once.
    let changes = compare();
    assert_eq!((changes.read.len(), changes.settled.len()), (0, NAMES.len()));
    assert!(changes.unsettled > 0);
    update(&index, &root, None);
    assert!(compare().is_empty() && compare().unsettled == 0);
    let before = dump(&index);

    // The file keeps its size and modification time.
    let path = tree.path().join("a.rs");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, b"fn shut() {}\n").unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(compare().read.len(), 1);
    update(&index, &root, None);
    assert_ne!(dump(&index), before);
}

#[test]
fn stopped_build_resumes_and_cancelled_leaves_nothing() {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..300 {
        write(tree.path(), &format!("{number}.rs"), b"fn open() {}\n");
    }
    let root = open(tree.path());
    let index = RankIndex::in_memory().unwrap();
    let changes = compare(&index, &root, None, &effort(&Stop::never())).unwrap();
    assert_eq!(changes.read.len(), 300);
    let cancelled = Stop::never();
    cancelled.cancel();
    assert!(!apply(&index, &root, &changes, &effort(&cancelled)).unwrap().is_done);
    assert_eq!(index.files(), 0);
    assert!(!apply(&index, &root, &changes, &effort(&Stop::after(Duration::ZERO))).unwrap().is_done);
    assert!(index.files() < 300);
    update(&index, &root, None);
    assert_eq!(index.files(), 300);

    // A walk that ended early must not remove files.
    let changes = compare(&index, &root, None, &effort(&cancelled)).unwrap();
    assert!(changes.gone.is_empty() && changes.report.stopped.is_some());
}

/// After a checkout, the states of all files are unknown, but their contents are the same.
#[test]
fn many_unchanged_files_are_compared_to_the_end() {
    let tree = tempfile::tempdir().unwrap();
    let many = 2 * limits::SMALL_UPDATE_FILES;
    let write_all = || {
        for number in 0..many {
            write(tree.path(), &format!("{number}.rs"), b"fn open() {}\n");
        }
    };
    write_all();
    let root = open(tree.path());
    let index = RankIndex::in_memory().unwrap();
    super::update(&index, &root, None, &effort(&Stop::never()), || Ok(())).unwrap();
    write_all();
    let over = Some(Instant::now());
    let until = |comparison_end| UpdateEffort { large_end: over, comparison_end, ..effort(&Stop::never()) };
    let ended = super::update(&index, &root, None, &until(over), || Ok(())).unwrap_err();
    assert!(matches!(ended, UpdateError::NoTime), "{ended}");
    let patient = until(Some(Instant::now() + Duration::from_secs(3_600)));
    super::update(&index, &root, None, &patient, || Ok(())).unwrap();
    let progress = &patient.progress;
    assert!(progress.is_large.load(Ordering::Relaxed) && !progress.has_many_changes.load(Ordering::Relaxed));
}

/// A caller waits for a small update, but should give up on a large one immediately.
#[test]
fn large_update_ends_at_an_end_of_its_own() {
    let tree = tempfile::tempdir().unwrap();
    let few = limits::SMALL_UPDATE_FILES;
    for number in 0..few {
        write(tree.path(), &format!("{number}.rs"), b"fn open() {}\n");
    }
    let root = open(tree.path());
    let index = RankIndex::in_memory().unwrap();
    let is_large = |effort: &UpdateEffort| effort.progress.is_large.load(Ordering::Relaxed);
    let patient = || UpdateEffort { large_end: Some(Instant::now()), ..effort(&Stop::never()) };
    let small = patient();
    super::update(&index, &root, None, &small, || Ok(())).unwrap();
    assert_eq!((index.files(), is_large(&small)), (few, false));

    let index = RankIndex::in_memory().unwrap();
    write(tree.path(), "one more.rs", b"fn open() {}\n");
    let large = patient();
    let ended = super::update(&index, &root, None, &large, || Ok(())).unwrap_err();
    assert!(matches!(ended, UpdateError::NoTime | UpdateError::Unfinished { .. }), "{ended}");
    assert!(is_large(&large) && index.files() <= few);
    // Without that deadline, the update is only marked as large.
    let waiting = effort(&Stop::never());
    super::update(&index, &root, None, &waiting, || Ok(())).unwrap();
    assert_eq!((index.files(), is_large(&waiting)), (few + 1, true));
}

/// Runs an update and counts the files that it read for the index.
fn files_read(index: &RankIndex, root: &Arc<Root>) -> u64 {
    let effort = effort(&Stop::never());
    super::update(index, root, None, &effort, || Ok(())).unwrap();
    effort.progress.read.load(Ordering::Relaxed)
}

#[test]
fn changed_states_of_unchanged_files_are_recorded() {
    let (tree, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = |position: usize| format!("src/{position:03}.rs");
    for position in 0..120 {
        write(tree.path(), &name(position), format!("fn open_{position}() {{ session(); }}\n").as_bytes());
    }
    let root = open(tree.path());
    if !root.knows_states() {
        return;
    }
    let settle = || std::thread::sleep(forage_fs::limits::SETTLING + Duration::from_millis(100));
    let reopened = || RankIndex::in_directory(cache.path(), &Stop::never()).unwrap();
    let opened = |index: &RankIndex| compare(index, &root, None, &effort(&Stop::never())).unwrap().unsettled;
    assert_eq!(files_read(&reopened(), &root), 120);
    settle();
    assert_eq!((files_read(&reopened(), &root), opened(&reopened())), (0, 0));
    // Touch all files, as switching branches back and forth would do.
    for position in 0..120 {
        let file = fs::File::options().append(true).open(tree.path().join(name(position))).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    }
    settle();
    assert_eq!(opened(&reopened()), 120);
    assert_eq!((files_read(&reopened(), &root), opened(&reopened())), (0, 0));
    // Merged segments must keep the states.
    let segments = |index: &RankIndex| index.state().segments.len();
    let mut merged = false;
    for round in 0..40 {
        write(tree.path(), &format!("more/{round}.rs"), b"fn more() { session(); }\n");
        let index = reopened();
        let before = segments(&index);
        assert_eq!(files_read(&index, &root), 1, "round {round}");
        merged |= segments(&index) < before;
        assert!(opened(&index) <= round + 1, "round {round}");
        assert_eq!(dump(&index), dump(&fresh_index(&root)), "round {round}");
    }
    assert!(merged);
}

#[test]
fn index_seeded_from_another_tree_equals_a_fresh_one() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for position in 0..60 {
        let text = format!("fn open_{position}() {{ session(); }}\n");
        write(one.path(), &format!("src/{position:03}.rs"), text.as_bytes());
        // Some files are removed, some changed, and some new.
        match position % 10 {
            0 => {}
            1 => write(two.path(), &format!("src/{position:03}.rs"), b"struct Router;\n"),
            2 => write(two.path(), &format!("lib/{position:03}.rs"), text.as_bytes()),
            _ => write(two.path(), &format!("src/{position:03}.rs"), text.as_bytes()),
        }
    }
    let (first, second) = (open(one.path()), open(two.path()));
    let caches = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let opened = |position: usize| RankIndex::in_directory(caches[position].path(), &Stop::never()).unwrap();
    assert_eq!(files_read(&opened(0), &first), 60);
    RankIndex::copy(caches[0].path(), caches[1].path(), &Stop::never()).unwrap();
    let index = opened(1);
    assert_eq!(files_read(&index, &second), 12);
    assert_eq!(dump(&index), dump(&fresh_index(&second)));
    // The first index must be unchanged.
    assert_eq!(dump(&opened(0)), dump(&fresh_index(&first)));
    let never = Stop::never();
    never.cancel();
    let empty = tempfile::tempdir().unwrap();
    RankIndex::copy(caches[0].path(), empty.path(), &never).unwrap_err();
    RankIndex::copy(empty.path(), caches[1].path(), &Stop::never()).unwrap_err();
}

#[test]
fn project_names_are_ignored_next_to_other_words() {
    let top = tempfile::tempdir().unwrap();
    let directory = top.path().join("cobra");
    write(&directory, "cobra.go", b"package cobra\n\nfunc OnInitialize() {}\n");
    write(&directory, "command.go", b"package cobra\n\n// Execute runs a command.\nfunc Execute() {}\n");
    write(&directory, "README.md", b"# Cobra\n\nCobra is a library.\n");
    let (root, index) = (open(&directory), RankIndex::in_memory().unwrap());
    let ask = |query: &str| {
        update(&index, &root, None);
        let ranking = search(&index, &RankedSearch::new(query, 5)).unwrap();
        (ranking.own_names, ranking.files.first().map(|file| file.path.clone()).unwrap())
    };
    let own = || vec!["cobra".to_owned()];
    assert_eq!(ask("cobra runs command"), (own(), "command.go".to_owned()));
    // A single other word isn't enough: the query may ask for the name itself.
    assert_eq!(ask("cobra library unheard").0, [""; 0]);
    assert_eq!(ask("cobra"), (Vec::new(), "cobra.go".to_owned()));
    let text = "when cobra runs a command then a command runs and cobra prints the command twice";
    assert_eq!(ask(text).0, [""; 0]);
    // The names must match the current tree.
    write(&directory, "README.md", b"# Snake\n");
    assert_eq!(ask("cobra runs command").0, [""; 0]);
    write(&directory, "go.mod", b"module example.com/snake/v2\n");
    write(&directory, "README.md", b"# Snake\n\nSnakes are called cobra by snake and cobra.\n");
    assert_eq!(ask("snake cobra runs command").0, ["snake", "cobra"]);
    assert_eq!(ask("snake cobra runs").0, [""; 0]);
}
