//! Tests filling collections on real servers: when fillings are killed, when several run at once, and while a
//! node is replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Root, RootPolicy, SecretPolicy, WalkOptions};
use forage_lookup::{
    CodeSuperset, FillError, FillOutcome, Filling, PointFilter, PointId, PointStore, ServerSettings,
    ServerStore, Sharding, count_chunks,
};
use serde_json::{Map, Value};

use crate::qdrant::server::{Cluster, program};
use crate::support::{Twin, USING, all, child_argument};

const FILES: usize = 400;

/// Writes a tree that takes several seconds to fill. The content of its files depends on the generation.
fn write_tree(directory: &Path, generation: usize) {
    for number in 0..FILES {
        let path = directory.join(format!("src/d{}/f{number}.rs", number % 7));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = (0..200 + number % 50)
            .map(|line| format!("fn f{number}_{line}() {{ g{generation}({line}) }}\n"))
            .collect();
        fs::write(path, text).unwrap();
    }
}

fn fill(store: &dyn PointStore, repository: &str, directory: &Path) -> Result<FillOutcome, FillError> {
    fill_spread(store, repository, directory, spread(), &Arc::default())
}

/// Six shards with two copies of each, on different nodes.
pub(crate) fn spread() -> Sharding {
    Sharding { shards: Some(6), replicas: Some(2), ..Sharding::default() }
}

/// Fills a collection and counts the writes. The collection is sharded like this if it must be created.
pub(crate) fn fill_spread(
    store: &dyn PointStore,
    repository: &str,
    directory: &Path,
    sharding: Sharding,
    written: &Arc<AtomicU64>,
) -> Result<FillOutcome, FillError> {
    let policy = RootPolicy { home: None, allow_broad: false };
    let root = Root::open(directory, &policy, SecretPolicy::standard(&[])).unwrap();
    let filling = Filling {
        store,
        encoder: &CodeSuperset::new(),
        using: USING,
        repository,
        sharding,
        language: |_| Some("rust"),
        max_file_bytes: None,
        redact: None,
        written: Arc::clone(written),
    };
    filling.run(&root, &WalkOptions::default(), &Stop::never())
}

/// Returns the chunks of files by id, without the points that record the state of a tree.
pub(crate) fn chunks(store: &dyn PointStore) -> BTreeMap<PointId, Map<String, Value>> {
    let fields = ["repo", "path", "text", "content", "chunk", "chunks", "seen"];
    let points = all(store, &fields, 2_000).into_iter();
    points.filter(|(_, payload)| !payload.contains_key("seen")).collect()
}

pub(crate) fn store_at(url: &str, collection: &str) -> Arc<dyn PointStore> {
    let settings =
        ServerSettings { request_timeout: Duration::from_secs(30), ..ServerSettings::new(url, collection) };
    Arc::new(ServerStore::connect(settings).unwrap())
}

/// Fills a new collection and returns its contents.
pub(crate) fn fresh_fill(
    cluster: &Cluster,
    repository: &str,
    directory: &Path,
) -> BTreeMap<PointId, Map<String, Value>> {
    let store = cluster.store(0, "anew");
    let _ = store.drop_collection(&Stop::never());
    fill(&*store, repository, directory).unwrap();
    chunks(&*store)
}

#[test]
fn fill_killed_ten_times_equals_an_undisturbed_one() {
    if let Some(child_argument) = child_argument() {
        let [url, directory] = child_argument.split(' ').collect::<Vec<_>>().try_into().unwrap();
        println!("\nbegun: ");
        fill(&*store_at(url, "code"), "repo", Path::new(directory)).unwrap();
        println!("\nended: ");
        return;
    }
    const TEST: &str = "qdrant::fillings::fill_killed_ten_times_equals_an_undisturbed_one";
    let Some(program) = program() else { return };
    let (cluster, tree) = (Cluster::start(&program, 3), tempfile::tempdir().unwrap());
    let mut kills = 0;
    let mut moment = 40;
    // The tree has twelve generations, so that there is always something to write.
    for generation in 0..12 {
        write_tree(tree.path(), generation);
        let url = cluster.nodes[generation % 3].url();
        let mut filling = Twin::start(TEST, &format!("{url} {}", tree.path().display()));
        filling.next("begun: ").unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        filling.kill();
        if filling.next("ended: ").is_none() {
            kills += 1;
        }
        // The next kill comes later in the filling, until we start from the beginning again.
        moment = (moment * 7 / 4) % 1_200 + 20;
    }
    assert!(kills >= 10, "{kills} of 12 were killed on the way");
    let store = cluster.store(1, "code");
    let written = chunks(&*store).len();
    let filled = fill(&*store, "repo", tree.path()).unwrap();
    let (found, expected) = (chunks(&*store), fresh_fill(&cluster, "repo", tree.path()));
    assert!(found == expected, "{} chunks and not {}", found.len(), expected.len());
    eprintln!(
        "{kills} kills left {written} of {} chunks; the last filling wrote {}",
        expected.len(),
        filled.points
    );
    assert_eq!(count_chunks(&*store, &PointFilter::default(), &Stop::never()), Ok(expected.len() as u64));
}

#[test]
fn concurrent_fills_equal_sequential_ones() {
    let Some(program) = program() else { return };
    let cluster = Cluster::start(&program, 3);
    let trees = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write_tree(trees[0].path(), 1);
    write_tree(trees[1].path(), 2);
    // Two stores fill the same repository from the same tree, and a third one fills another repository. Each
    // uses its own node.
    std::thread::scope(|scope| {
        let at = |node: usize| cluster.store(node, "code");
        let fillings = [(0, "one", 0), (1, "one", 0), (2, "two", 1)];
        let running = fillings.map(|(node, name, tree)| {
            let (store, directory) = (at(node), trees[tree].path());
            scope.spawn(move || fill(&*store, name, directory))
        });
        for filling in running {
            filling.join().unwrap().unwrap();
        }
    });
    let store = cluster.store(1, "code");
    let mut expected = fresh_fill(&cluster, "one", trees[0].path());
    expected.extend(fresh_fill(&cluster, "two", trees[1].path()));
    assert!(chunks(&*store) == expected, "{} chunks and not {}", chunks(&*store).len(), expected.len());
    // Both should detect that there is nothing to do.
    std::thread::sleep(Duration::from_millis(2_100));
    for (name, tree) in ["one", "two"].into_iter().zip(&trees) {
        let filled = fill(&*store, name, tree.path()).unwrap();
        assert_eq!(filled.points, 0, "{filled:?}");
    }
}

#[test]
fn a_node_that_is_replaced_during_a_filling_costs_no_chunk() {
    let Some(program) = program() else { return };
    let (mut cluster, tree) = (Cluster::start(&program, 3), tempfile::tempdir().unwrap());
    write_tree(tree.path(), 1);
    let first = cluster.store(0, "code");
    fill(&*first, "repo", tree.path()).unwrap();
    write_tree(tree.path(), 2);
    let url = cluster.nodes[0].url();
    std::thread::scope(|scope| {
        let (url, directory) = (&url, tree.path());
        let filling = scope.spawn(move || {
            // We repeat the filling as a timer would.
            for _ in 0..20 {
                match fill(&*store_at(url, "code"), "repo", directory) {
                    Ok(filled) => return filled,
                    Err(error) => eprintln!("{error}"),
                }
                std::thread::sleep(Duration::from_secs(1));
            }
            panic!("it never ended");
        });
        std::thread::sleep(Duration::from_millis(200));
        cluster.nodes[2].kill();
        filling.join().unwrap();
    });
    // The node never comes back. We replace it with a new one, and copy the shards that have lost a copy to
    // it.
    cluster.forget(2);
    cluster.add(&program);
    cluster.copy_shards("code");
    assert!(chunks(&*first) == fresh_fill(&cluster, "repo", tree.path()));
    // The new node must have its part: everything is still available without the first one.
    let second = cluster.store(1, "code");
    cluster.nodes[0].kill();
    let found = chunks(&*second);
    drop(first);
    assert_eq!(found.len(), expected_chunks(tree.path()), "without the first node");
}

/// Computes the number of chunks of the tree without a store: 24 lines each, starting every 16 lines.
fn expected_chunks(directory: &Path) -> usize {
    let files = (0..FILES).map(|number| directory.join(format!("src/d{}/f{number}.rs", number % 7)));
    files
        .map(|file| fs::read_to_string(file).unwrap().lines().count().saturating_sub(24).div_ceil(16) + 1)
        .sum()
}
