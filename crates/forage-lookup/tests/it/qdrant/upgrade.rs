//! Tests upgrading servers node by node during lookups and fillings. Also tests collections that another
//! version of Forage has filled.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_lookup::{
    CodeSuperset, CollectionError, Contract, Creation, Encoder as _, FillError, Idf, Lookup, LookupState,
    NameMatch, PointFilter, PointId, PointStore, Retriever, Sharding, count_chunks,
};

use crate::qdrant::fillings::{chunks, fill_spread, fresh_fill, spread, store_at};
use crate::qdrant::server::{Cluster, programs_in_turn, version_of};
use crate::support::{USING, all, creation, places, some_points, upsert};

/// Number of files that never change. Their names occur in no other file.
const STEADY_FILES: usize = 40;
/// Number of files that change in each generation.
const CHANGING_FILES: usize = 80;
/// Number of names in these files that we look up.
const GAUGES: usize = 7;

/// The timeout for expected events on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn write_steady(directory: &Path) {
    fs::create_dir_all(directory.join("steady")).unwrap();
    for number in 0..STEADY_FILES {
        let line = |line| format!("fn steady_{number}_{line}() {{ gauge_{}({line}) }}\n", number % GAUGES);
        let text: String = (0..40 + number).map(line).collect();
        fs::write(directory.join(format!("steady/s{number}.rs")), text).unwrap();
    }
}

/// Writes the changing files. Each generation has the same number of chunks.
fn write_changing(directory: &Path, generation: usize) {
    fs::create_dir_all(directory.join("changing")).unwrap();
    for number in 0..CHANGING_FILES {
        let line = |line| format!("fn f{number}_{line}() {{ g{generation}({line}) }}\n");
        let text: String = (0..200 + number % 50).map(line).collect();
        fs::write(directory.join(format!("changing/f{number}.rs")), text).unwrap();
    }
}

/// A collection that we query all the time.
struct Watched {
    name: &'static str,
    copies: u32,
    /// Number of copies that must confirm a write.
    write_consistency: u32,
    /// Whether it is filled all the time. If so, only its answers about the steady files must stay the same.
    is_changing: bool,
}

const WATCHED: [Watched; 4] = [
    // We also write to this one while a node is down. The node must receive the missed writes afterwards.
    Watched { name: CODE, copies: 2, write_consistency: 1, is_changing: true },
    // As docs/team.md says, this one can't be written to while a node is down.
    Watched { name: "strict", copies: 2, write_consistency: 2, is_changing: true },
    Watched { name: "still", copies: 2, write_consistency: 1, is_changing: false },
    // While a node is down, some data of this one is always missing.
    Watched { name: ALONE, copies: 1, write_consistency: 1, is_changing: false },
];
const CODE: &str = "code";
const ALONE: &str = "alone";

impl Watched {
    fn sharding(&self) -> Sharding {
        Sharding { replicas: Some(self.copies), write_consistency: Some(self.write_consistency), ..spread() }
    }

    /// The directory with this collection's own files.
    fn tree(&self, trees: &Path) -> PathBuf {
        trees.join(self.name)
    }

    fn queries(&self) -> Vec<String> {
        let names = (0..GAUGES).map(|number| format!("gauge_{number}"));
        let names = names.chain(["steady_17_3", "steady_39_70"].map(str::to_owned));
        let words = ["steady 17", "gauge", "how is the gauge of 3 called"].map(str::to_owned);
        if self.is_changing { names.collect() } else { names.chain(words).collect() }
    }

    /// Extracts the part of an answer that must not change over time.
    fn said(&self, lookup: Lookup) -> SteadyAnswer {
        let name = lookup.name.map(|name| (name.whole, name.other_case, name.is_complete));
        let mut ids: Vec<PointId> = lookup.hits.iter().map(|hit| hit.id).collect();
        if self.is_changing {
            let held = lookup.held.iter().zip(ids);
            ids = held.filter(|(held, _)| **held == NameMatch::Whole).map(|(_, id)| id).collect();
            ids.sort_unstable();
        }
        SteadyAnswer { ids, name }
    }
}

/// The results of a lookup in order, and the facts about the name.
#[derive(Clone, Debug, PartialEq)]
struct SteadyAnswer {
    ids: Vec<PointId>,
    name: Option<(usize, usize, bool)>,
}

fn retriever(store: &Arc<dyn PointStore>) -> Retriever {
    Retriever {
        store: Arc::<dyn PointStore>::clone(store),
        encoder: None,
        prose: None,
        backend: "test",
        using: USING.to_owned(),
        idf: Idf::Auto,
        fields: vec!["text".to_owned()],
        text_field: Some("text".to_owned()),
        timeout: Duration::from_secs(10),
        rarity: Arc::default(),
    }
}

fn look_up(store: &Arc<dyn PointStore>, query: &str) -> Result<Lookup, CollectionError> {
    retriever(store).look_up(query, 100, &PointFilter::default(), &Stop::never())
}

/// The outcomes of lookups.
#[derive(Debug, Default)]
struct Outcomes {
    answered: u64,
    /// Number of lookups that report a question which the store did not answer.
    without_something: u64,
    unavailable: u64,
    an_error: Option<String>,
}

/// The outcomes of fillings of a collection.
#[derive(Debug, Default)]
struct FillingOutcomes {
    /// Number of points that all of these fillings have written.
    written: Arc<AtomicU64>,
    whole: AtomicU64,
    failed: AtomicU64,
    an_error: Mutex<Option<String>>,
}

/// No node of the cluster.
const NONE: usize = usize::MAX;

/// The load while servers are changed.
struct Traffic<'a> {
    urls: &'a [String],
    trees: &'a Path,
    expected: BTreeMap<(&'static str, String), SteadyAnswer>,
    /// The outcomes for each collection while a node is changed: through this node, and through the others.
    outcomes: Mutex<BTreeMap<&'static str, [Outcomes; 2]>>,
    /// The node that is being changed, if any.
    changed: AtomicUsize,
    is_over: AtomicBool,
    fillings: BTreeMap<&'static str, FillingOutcomes>,
}

impl Traffic<'_> {
    /// Repeats all lookups through one node. Each answer must equal the expected one, or report that
    /// something is missing.
    fn keep_asking(&self, node: usize) {
        let url = &self.urls[node];
        let stores = WATCHED.map(|watched| (store_at(url, watched.name), watched));
        while !self.is_over.load(Ordering::Relaxed) {
            for (store, watched) in &stores {
                for query in watched.queries() {
                    let changed = self.changed.load(Ordering::Relaxed);
                    let found = look_up(store, &query);
                    let Ok(lookup) = found else { panic!("{query} in {}: {found:?}", watched.name) };
                    let mut outcomes = self.outcomes.lock().unwrap();
                    let mut ignored = Outcomes::default();
                    let outcomes = match changed {
                        NONE => &mut ignored,
                        changed => {
                            &mut outcomes.entry(watched.name).or_default()[usize::from(changed != node)]
                        }
                    };
                    match &lookup.state {
                        LookupState::StoreUnavailable(error) => {
                            assert!(lookup.hits.is_empty());
                            outcomes.unavailable += 1;
                            outcomes.an_error = Some(error.to_string());
                        }
                        _ if !lookup.unanswered.is_empty() => outcomes.without_something += 1,
                        _ => {
                            outcomes.answered += 1;
                            let expected = &self.expected[&(watched.name, query.clone())];
                            assert_eq!(
                                &watched.said(lookup),
                                expected,
                                "{query} in {} at {url}",
                                watched.name
                            );
                        }
                    }
                }
            }
        }
    }

    /// Changes files and fills the collection with them, through alternating nodes. If a filling fails, it
    /// must name the store as the cause. The next one then continues with the same files.
    fn keep_filling(&self, watched: &Watched) {
        let (tree, outcomes) = (watched.tree(self.trees), &self.fillings[watched.name]);
        let (mut generation, mut is_whole, mut was_whole) = (0, true, Instant::now());
        for url in self.urls.iter().cycle() {
            if is_whole && self.is_over.load(Ordering::Relaxed) {
                return;
            }
            if is_whole {
                generation += 1;
                write_changing(&tree, generation);
            }
            let store = store_at(url, watched.name);
            let filled = fill_spread(&*store, "repo", &tree, watched.sharding(), &outcomes.written);
            is_whole = filled.is_ok();
            match filled {
                Ok(_) => {
                    outcomes.whole.fetch_add(1, Ordering::Relaxed);
                    was_whole = Instant::now();
                }
                Err(FillError::Collection(CollectionError::Store(error)))
                    if ["unavailable", "timeout"].contains(&error.kind()) =>
                {
                    outcomes.failed.fetch_add(1, Ordering::Relaxed);
                    *outcomes.an_error.lock().unwrap() = Some(error.to_string());
                    assert!(was_whole.elapsed() < 2 * PATIENCE, "{} never gets whole: {error}", watched.name);
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => panic!("a filling of {} ended with: {error}", watched.name),
            }
        }
    }

    /// Waits until more points have been written.
    fn wait_for_writes(&self, collection: &str) {
        let outcomes = &self.fillings[collection];
        self.wait_for_more(|| outcomes.written.load(Ordering::Relaxed));
    }

    /// Waits until a counter has increased.
    fn wait_for_more(&self, count: impl Fn() -> u64) {
        let (before, began) = (count(), Instant::now());
        while count() == before {
            assert!(began.elapsed() < PATIENCE, "{:?} {:?}", self.fillings, self.outcomes);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Counts the lookups with an outcome through nodes that are not being changed.
    fn elsewhere(&self, collection: &str, count: impl Fn(&Outcomes) -> u64) -> u64 {
        self.outcomes.lock().unwrap().get(collection).map_or(0, |[_, elsewhere]| count(elsewhere))
    }
}

/// Ends the load when it is dropped, even after a failure.
struct TrafficEnd<'a>(&'a AtomicBool);

impl Drop for TrafficEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the answers of a collection, which must be the same through each of its nodes.
fn answers(urls: &[String], watched: &Watched, collection: &str) -> BTreeMap<String, SteadyAnswer> {
    let mut answers = BTreeMap::new();
    for url in urls {
        let store = store_at(url, collection);
        for query in watched.queries() {
            let lookup = look_up(&store, &query).unwrap();
            assert_eq!(lookup.state, LookupState::Found, "{query} in {collection} at {url}");
            assert!(lookup.unanswered.is_empty(), "{query} in {collection}: {:?}", lookup.unanswered);
            let said = watched.said(lookup);
            assert!(!said.ids.is_empty(), "{query} in {collection} at {url}");
            let first = answers.entry(query.clone()).or_insert_with(|| said.clone());
            assert_eq!(*first, said, "{query} in {collection} at {url}");
        }
    }
    answers
}

#[test]
fn rolling_upgrade_under_lookups_and_fills() {
    let Some([before, after]) = programs_in_turn() else { return };
    let versions = [version_of(&before), version_of(&after)];
    assert_ne!(versions[0], versions[1], "there is nothing to upgrade");
    let (mut cluster, trees) = (Cluster::start(&before, 3), tempfile::tempdir().unwrap());
    let urls: Vec<String> = cluster.nodes.iter().map(|node| node.url()).collect();
    let mut expected = BTreeMap::new();
    for watched in &WATCHED {
        let (store, tree) = (store_at(&urls[0], watched.name), watched.tree(trees.path()));
        write_steady(&tree);
        write_changing(&tree, 0);
        fill_spread(&*store, "repo", &tree, watched.sharding(), &Arc::default()).unwrap();
        let answers = answers(&urls, watched, watched.name).into_iter();
        expected.extend(answers.map(|(query, said)| ((watched.name, query), said)));
    }
    let changing = || WATCHED.iter().filter(|watched| watched.is_changing);
    let traffic = Traffic {
        urls: &urls,
        trees: trees.path(),
        expected,
        outcomes: Mutex::default(),
        changed: AtomicUsize::new(NONE),
        is_over: AtomicBool::new(false),
        fillings: changing().map(|watched| (watched.name, FillingOutcomes::default())).collect(),
    };
    std::thread::scope(|scope| {
        let _end = TrafficEnd(&traffic.is_over);
        let traffic = &traffic;
        for node in 0..urls.len() {
            scope.spawn(move || traffic.keep_asking(node));
        }
        for watched in changing() {
            scope.spawn(move || traffic.keep_filling(watched));
        }
        for number in 0..cluster.nodes.len() {
            for watched in changing() {
                traffic.wait_for_writes(watched.name);
            }
            assert_eq!(cluster.nodes[number].version(), versions[0]);
            traffic.changed.store(number, Ordering::Relaxed);
            cluster.nodes[number].stop();
            // This node must receive everything that we write in the meantime.
            traffic.wait_for_writes(CODE);
            // We should find data that has another copy, and notice that data without one is missing.
            traffic.wait_for_more(|| traffic.elsewhere(CODE, |outcomes| outcomes.answered));
            traffic.wait_for_more(|| traffic.elsewhere(ALONE, |outcomes| outcomes.unavailable));
            cluster.nodes[number].upgrade_to(&after);
            cluster.nodes[number].start();
            cluster.wait();
            for watched in &WATCHED {
                cluster.wait_for_copies(watched.name, watched.copies as usize);
            }
            traffic.changed.store(NONE, Ordering::Relaxed);
            assert_eq!(cluster.nodes[number].version(), versions[1]);
        }
    });
    let outcomes = traffic.outcomes.into_inner().unwrap();
    eprintln!("from {} to {}; fillings: {:#?}", versions[0], versions[1], traffic.fillings);
    eprintln!("lookups while a node was changed, through this one and through the others: {outcomes:#?}");
    is_as_anew(&mut cluster, trees.path(), &traffic.expected);
}

/// Asserts that every chunk exists once, in both of its copies, and is found as in a new collection.
fn is_as_anew(
    cluster: &mut Cluster,
    trees: &Path,
    answers_before: &BTreeMap<(&'static str, String), SteadyAnswer>,
) {
    let urls: Vec<String> = cluster.nodes.iter().map(|node| node.url()).collect();
    let mut expected = BTreeMap::new();
    for watched in &WATCHED {
        let answers = answers(&urls, watched, watched.name);
        for (query, said) in &answers {
            assert_eq!(said, &answers_before[&(watched.name, query.clone())], "{query} in {}", watched.name);
        }
        expected.insert(watched.name, fresh_fill(cluster, "repo", &watched.tree(trees)));
        assert_eq!(answers, self::answers(&urls, watched, "anew"), "{}", watched.name);
    }
    for away in 0..cluster.nodes.len() {
        cluster.nodes[away].stop();
        for watched in WATCHED.iter().filter(|watched| watched.copies > 1) {
            let (store, expected) = (store_at(&urls[(away + 1) % 3], watched.name), &expected[watched.name]);
            let found = chunks(&*store);
            let place = format!("{} without node {away}", watched.name);
            assert!(found == *expected, "{place}: {} chunks and not {}", found.len(), expected.len());
            // The only point that is not a chunk should be the one that records the state of the tree.
            assert_eq!(all(&*store, &[], 1_000).len(), expected.len() + 1, "{place}");
            let count = count_chunks(&*store, &PointFilter::default(), &Stop::never());
            assert_eq!(count, Ok(expected.len() as u64), "{place}");
        }
        cluster.nodes[away].start();
        cluster.wait();
        for watched in &WATCHED {
            cluster.wait_for_copies(watched.name, watched.copies as usize);
        }
    }
}

/// A collection names its encoding. If this is another version than ours, we must neither query nor change
/// it.
#[test]
fn collection_of_other_encoding_version_is_refused() {
    let ours = CodeSuperset::new().contract();
    let theirs = ours.as_str().replacen("code-superset/2 ", "code-superset/3 ", 1);
    assert_ne!(theirs, ours.as_str());
    let tree = tempfile::tempdir().unwrap();
    write_steady(tree.path());
    for place in places("other-version") {
        let store = place.open();
        let contract = Contract::from_metadata(&theirs);
        store.create(&Creation { contract, ..creation() }, &Stop::never()).unwrap();
        upsert(&*store, some_points(20));
        let configured = Retriever { encoder: Some(Arc::new(CodeSuperset::new())), ..retriever(&store) };
        let look_up =
            |retriever: &Retriever| retriever.look_up("gauge", 10, &PointFilter::default(), &Stop::never());
        let filled = fill_spread(&*store, "repo", tree.path(), Sharding::default(), &Arc::default());
        let Err(FillError::Collection(of_filling)) = filled else { panic!("{filled:?}") };
        for (error, kind) in [
            (look_up(&retriever(&store)).unwrap_err(), "unknown_encoding"),
            (look_up(&configured).unwrap_err(), "other_encoding"),
            (of_filling, "other_encoding"),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(&theirs), "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
        assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(20));
    }
}
