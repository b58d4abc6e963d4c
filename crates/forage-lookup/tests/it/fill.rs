//! Tests that collections match the trees that they were filled from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Root, RootPolicy, SecretPolicy, WalkOptions};
use forage_lookup::{
    Bm42, CodeSuperset, Encoder, EncodingError, FastEmbedBm25, FillError, FillOutcome, Filling, PointFilter,
    PointId, PointStore, Sharding, StoreError, count_chunks, remove_repository, repositories,
};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::memory::Memory;
use crate::support::{all, open};

struct Tree {
    directory: TempDir,
    root: Arc<Root>,
}

impl Tree {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let policy = RootPolicy { home: None, allow_broad: false };
        let root = Root::open(directory.path(), &policy, SecretPolicy::standard(&[])).unwrap();
        Self { directory, root }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.directory.path().join(path)).unwrap();
    }

    fn fill_as(
        &self,
        store: &dyn PointStore,
        repository: &str,
        encoder: &dyn Encoder,
    ) -> Result<FillOutcome, FillError> {
        self.filling(store, repository, encoder, None)
    }

    fn filling(
        &self,
        store: &dyn PointStore,
        repository: &str,
        encoder: &dyn Encoder,
        max_file_bytes: Option<u64>,
    ) -> Result<FillOutcome, FillError> {
        let filling = Filling {
            store,
            encoder,
            using: "text-sparse",
            repository,
            sharding: Sharding::default(),
            language: |path| path.ends_with(".rs").then_some("rust"),
            max_file_bytes,
            redact: None,
            written: Arc::default(),
        };
        filling.run(&self.root, &WalkOptions::default(), &Stop::never())
    }

    fn fill(&self, store: &Memory) -> Result<FillOutcome, FillError> {
        self.fill_as(store, "repo", &CodeSuperset::new())
    }
}

/// Counts the requests of a kind.
pub(crate) fn requests(store: &Memory, of: &str) -> usize {
    store.asked.lock().unwrap().iter().filter(|asked| asked.starts_with(of)).count()
}

/// Describes the points of files by id, for comparison.
fn contents(store: &Memory) -> BTreeMap<PointId, String> {
    let points = store.points.lock().unwrap();
    let chunks = points.iter().filter(|(_, point)| !point.payload.contains_key("seen"));
    chunks.map(|(id, point)| (*id, format!("{:?} {:?}", point.payload, point.vector))).collect()
}

/// Fills a new collection with this tree and returns its contents.
fn fresh_fill(tree: &Tree) -> BTreeMap<PointId, String> {
    let store = Memory::default();
    tree.fill(&store).unwrap();
    contents(&store)
}

fn lines(word: &str, count: usize) -> String {
    (0..count).map(|number| format!("{word} line {number}\n")).collect()
}

#[test]
fn fill_writes_only_changes() {
    let tree = Tree::new();
    tree.write("src/a.rs", lines("alpha", 100));
    tree.write("src/b.rs", lines("beta", 10));
    tree.write("c.txt", lines("gamma", 10));
    let store = Memory::default();
    let filled = tree.fill(&store).unwrap();
    assert_eq!((filled.files, filled.unchanged, filled.removed), (3, 0, 0));
    assert_eq!(filled.points as usize, contents(&store).len());
    let payload = store
        .points
        .lock()
        .unwrap()
        .values()
        .find(|it| it.payload["path"] == "src/b.rs")
        .unwrap()
        .payload
        .clone();
    assert_eq!((&payload["repo"], &payload["language"]), (&"repo".into(), &"rust".into()));
    assert_eq!(payload["lines"], serde_json::json!({"start": 1, "end": 10}));

    let filled = tree.fill(&store).unwrap();
    assert_eq!((filled.files, filled.unchanged, filled.removed, filled.points), (0, 3, 0, 0));

    // The file is now shorter than before, so its last chunks are not replaced.
    tree.write("src/a.rs", lines("alpha", 30));
    tree.remove("c.txt");
    let filled = tree.fill(&store).unwrap();
    assert_eq!((filled.files, filled.unchanged, filled.removed), (1, 1, 1));
    assert_eq!(contents(&store), fresh_fill(&tree));
}

#[test]
fn repositories_of_a_collection_do_not_touch_each_other() {
    let (one, two) = (Tree::new(), Tree::new());
    one.write("a.rs", lines("alpha", 50));
    two.write("a.rs", lines("alpha", 50));
    let store = Memory::default();
    one.fill_as(&store, "one", &CodeSuperset::new()).unwrap();
    let of_one = contents(&store).len();
    two.fill_as(&store, "two", &CodeSuperset::new()).unwrap();
    assert_eq!(contents(&store).len(), 2 * of_one);
    two.remove("a.rs");
    assert_eq!(two.fill_as(&store, "two", &CodeSuperset::new()).unwrap().removed, 1);
    assert_eq!(contents(&store).len(), of_one);
    assert!(remove_repository(&store, "one", &Stop::never()).unwrap() > 0);
    assert!(contents(&store).is_empty());
    assert_eq!(repositories(&store, &Stop::never()).unwrap(), ["two"], "which has no file");
    assert_eq!(remove_repository(&store, "one", &Stop::never()), Ok(0));
}

#[test]
fn dropped_repository_texts_are_deleted_from_disk() {
    let (home, dropped, kept, stop) = (tempfile::tempdir().unwrap(), Tree::new(), Tree::new(), Stop::never());
    dropped.write("a.rs", "zanzibar\n");
    kept.write("a.rs", "timbuktu\n");
    let store = open(home.path());
    dropped.fill_as(&store, "dropped", &CodeSuperset::new()).unwrap();
    for number in 0..9 {
        kept.fill_as(&store, &format!("kept{number}"), &CodeSuperset::new()).unwrap();
    }
    let has = |word: &str| {
        let mut files = fs::read_dir(home.path().join("code")).unwrap();
        files.any(|file| {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            bytes.windows(word.len()).any(|bytes| bytes == word.as_bytes())
        })
    };
    assert!(has("zanzibar") && has("timbuktu"), "the control: texts can be read in the files");
    let before = all(&store, &[], 100).len();
    assert_eq!(remove_repository(&store, "dropped", &stop), Ok(1));
    assert!(!has("zanzibar") && has("timbuktu"));
    assert_eq!(all(&store, &[], 100).len(), before - 2, "its chunk, and the point that names it");
}

/// Longer than the time within which we could miss a change.
const SETTLED: Duration = Duration::from_millis(2_200);

/// We detect an unchanged tree by the states of its files, but must still notice changes of the collection.
#[cfg(unix)]
#[test]
fn a_tree_that_is_as_it_was_is_not_compared() {
    let tree = Tree::new();
    for number in 0..20 {
        tree.write(&format!("src/file{number}.rs"), lines(&format!("word{number}"), 100));
    }
    let store = Memory::default();
    // The files are too young for their states to be trusted.
    assert!(!tree.fill(&store).unwrap().is_unchanged);
    std::thread::sleep(SETTLED);
    assert!(!tree.fill(&store).unwrap().is_unchanged);
    let expected = contents(&store);
    assert_eq!(repositories(&store, &Stop::never()).unwrap(), ["repo"]);
    let chunks = count_chunks(&store, &PointFilter::default(), &Stop::never());
    assert_eq!(chunks, Ok(expected.len() as u64));
    let scans = requests(&store, "scan");
    let filled = tree.fill(&store).unwrap();
    assert!(filled.is_unchanged && filled.unchanged == 20 && filled.files == 0, "{filled:?}");
    assert_eq!(requests(&store, "scan"), scans + 1, "nothing is compared");

    // With another encoding or another size limit, the tree should count as changed.
    let limited = tree.filling(&store, "repo", &CodeSuperset::new(), Some(1 << 20));
    assert!(!limited.unwrap().is_unchanged);
    assert!(!tree.fill(&store).unwrap().is_unchanged && tree.fill(&store).unwrap().is_unchanged);

    // Another process removes a chunk, and one file changes only in its text.
    let lost = *expected.keys().nth(7).unwrap();
    store.points.lock().unwrap().remove(&lost);
    assert!(!tree.fill(&store).unwrap().is_unchanged);
    assert_eq!(contents(&store), expected);
    tree.write("src/file3.rs", lines("other", 100));
    assert!(!tree.fill(&store).unwrap().is_unchanged);
    assert_eq!(contents(&store), fresh_fill(&tree));
    std::thread::sleep(SETTLED);
    assert!(!tree.fill(&store).unwrap().is_unchanged && tree.fill(&store).unwrap().is_unchanged);

    // An interrupted filling should leave the name of the repository, but no record that the tree is
    // complete.
    tree.write("src/file4.rs", lines("third", 5_000));
    std::thread::sleep(SETTLED);
    let upserts = requests(&store, "upsert");
    *store.dies_after.lock().unwrap() = Some(upserts + 2);
    assert!(tree.fill(&store).is_err());
    *store.dies_after.lock().unwrap() = None;
    assert_eq!(repositories(&store, &Stop::never()).unwrap(), ["repo"]);
    assert!(!tree.fill(&store).unwrap().is_unchanged);
    assert_eq!(contents(&store), fresh_fill(&tree));
}

#[test]
fn points_of_somebody_else_are_left_alone() {
    let tree = Tree::new();
    tree.write("a.rs", lines("alpha", 5));
    let store = Memory::default();
    tree.fill(&store).unwrap();
    let mut foreign = store.points.lock().unwrap().values().next().unwrap().clone();
    foreign.id = PointId::Number(1);
    store.points.lock().unwrap().insert(foreign.id, foreign);
    tree.remove("a.rs");
    assert_eq!(tree.fill(&store).unwrap().removed, 1);
    assert_eq!(contents(&store).keys().copied().collect::<Vec<_>>(), [PointId::Number(1)]);
}

#[test]
fn stopped_fill_resumes_without_loss_or_duplicates() {
    let tree = Tree::new();
    for number in 0..60 {
        tree.write(&format!("src/file{number}.rs"), lines(&format!("word{number}"), 40 + 23 * number));
    }
    let expected = fresh_fill(&tree);
    for dies_after in 0..12 {
        let store = Memory::default();
        *store.dies_after.lock().unwrap() = Some(dies_after);
        assert!(tree.fill(&store).is_err());
        *store.dies_after.lock().unwrap() = None;
        let filled = tree.fill(&store).unwrap();
        assert_eq!(contents(&store), expected, "ended after {dies_after} upserts");
        if dies_after > 4 {
            assert!(filled.unchanged > 0, "what was written need not be written again");
        }
    }
}

#[test]
fn a_store_that_is_busy_for_a_moment_is_asked_again() {
    let tree = Tree::new();
    tree.write("a.rs", lines("alpha", 50));
    let store = Memory::default();
    let limited =
        StoreError::RateLimited { message: String::new(), retry_after: Some(Duration::from_millis(20)) };
    *store.failures.lock().unwrap() = vec![limited; 2];
    tree.fill(&store).unwrap();
    assert_eq!(contents(&store), fresh_fill(&tree));
}

#[test]
fn a_file_that_has_lost_a_chunk_is_written_again() {
    let tree = Tree::new();
    tree.write("a.rs", lines("alpha", 200));
    let store = Memory::default();
    tree.fill(&store).unwrap();
    let expected = contents(&store);
    let lost = *expected.keys().nth(3).unwrap();
    store.points.lock().unwrap().remove(&lost);
    assert_eq!(tree.fill(&store).unwrap().files, 1);
    assert_eq!(contents(&store), expected);
}

#[test]
fn a_collection_of_another_encoding_is_not_written() {
    let tree = Tree::new();
    tree.write("a.rs", "alpha\n");
    let store = Memory::default();
    tree.fill_as(&store, "repo", &FastEmbedBm25::new()).unwrap();
    let before = contents(&store);
    let message = tree.fill(&store).unwrap_err().to_string();
    assert!(message.contains("fastembed-bm25/1") && message.contains("code-superset/2"), "{message}");
    // Queries of one encoding may be used with the other, but documents must not be mixed in either
    // direction.
    let store = Memory::default();
    tree.fill(&store).unwrap();
    assert!(tree.fill_as(&store, "repo", &FastEmbedBm25::new()).is_err());
    assert!(!before.is_empty());
}

#[cfg(unix)]
#[test]
fn an_encoder_of_queries_fills_nothing() {
    let (tree, store) = (Tree::new(), Memory::default());
    tree.write("a.rs", "error E0308\n");
    let error = tree.fill_as(&store, "repo", &Bm42::new()).unwrap_err();
    assert!(matches!(error, FillError::Encoding(EncodingError::QueriesOnly(Bm42::NAME))), "{error}");
    assert!(store.asked.lock().unwrap().is_empty(), "no collection is made");
}

/// A version of Forage that splits or describes files differently has other hashes for them. It may also have
/// created more chunks.
#[test]
fn other_chunking_version_refills_the_collection() {
    let tree = Tree::new();
    let store = Memory::default();
    tree.write("a.rs", lines("alpha", 200));
    tree.write("b.rs", lines("beta", 30));
    tree.fill(&store).unwrap();
    let of_longer = store.points.lock().unwrap().clone();
    tree.write("a.rs", lines("alpha", 100));
    std::thread::sleep(SETTLED);
    tree.fill(&store).unwrap();
    // Windows has no reliable file state, so we compare every file there.
    assert_eq!(tree.fill(&store).unwrap().is_unchanged, cfg!(unix));
    let expected = contents(&store);
    for (id, point) in of_longer {
        store.points.lock().unwrap().entry(id).or_insert(point);
    }
    let chunks = contents(&store).len();
    assert!(chunks > expected.len());
    for point in store.points.lock().unwrap().values_mut() {
        for field in ["content", "tree", "text"] {
            point.payload.entry(field).and_modify(|value| *value = json!("theirs"));
        }
        point.payload.entry("points").and_modify(|value| *value = json!(chunks));
    }
    let filled = tree.fill(&store).unwrap();
    assert_eq!((filled.files, filled.unchanged, filled.is_unchanged), (2, 0, false));
    assert_eq!(contents(&store), expected);
    assert!(tree.fill(&store).unwrap().is_unchanged);
}

#[test]
fn non_text_is_counted_and_secret_files_stay_closed() {
    let tree = Tree::new();
    tree.write("a.rs", "alpha\n");
    tree.write("image.bin", b"\0\x01\x02");
    tree.write("id_rsa", "PRIVATE KEY\n");
    tree.write(".ignore", "out\n");
    tree.write("out/x.rs", "ignored\n");
    let store = Memory::default();
    let filled = tree.fill(&store).unwrap();
    let skipped: Vec<_> =
        filled.report.skipped.iter().map(|(reason, count)| (reason.name(), count)).collect();
    assert!(skipped.contains(&("binary", 1)) && skipped.contains(&("denied", 1)), "{skipped:?}");
    assert_eq!((filled.files, contents(&store).len()), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No matter how the tree changes between two fillings, and where a filling is interrupted, the last one
    /// should give the same result as a new collection.
    #[test]
    fn a_collection_is_as_its_tree(
        steps in prop::collection::vec(prop::collection::vec((0..8_u8, 0..160_usize), 1..5), 1..5),
        ends in prop::collection::vec(prop::option::of(0..4_usize), 5),
    ) {
        let (tree, store) = (Tree::new(), Memory::default());
        for (step, end) in steps.iter().zip(&ends) {
            for (file, length) in step {
                let path = format!("d{}/f{file}.rs", file % 3);
                match length % 7 {
                    0 if tree.directory.path().join(&path).exists() => tree.remove(&path),
                    _ => tree.write(&path, lines(&format!("w{length}"), *length)),
                }
            }
            *store.dies_after.lock().unwrap() = end.map(|end| requests(&store, "upsert") + end);
            let _ = tree.fill(&store);
            *store.dies_after.lock().unwrap() = None;
        }
        tree.fill(&store).unwrap();
        prop_assert_eq!(contents(&store), fresh_fill(&tree));
    }
}
