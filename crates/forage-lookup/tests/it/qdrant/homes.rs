//! Compares the same chunks in every kind of store. Lookups must find the same points in the same order,
//! which must also be the order of the formula.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use forage_base::Stop;
use forage_fuzz::peers;
use forage_lookup::{
    ApiKey, CodeSuperset, Condition, Creation, Encoder, FastEmbedBm25, Idf, NameMatch, Point, PointFilter,
    PointHit, PointId, PointQuery, PointStore, Retriever, SCORE_STEP, ServerSettings, ServerStore, Sharding,
    SparseVector,
};
use serde_json::json;

use crate::qdrant::server;
use crate::support::{USING, connected, open, peer};

/// The environment variable with another number of chunks for comparing all stores.
const COMPARED: &str = "FORAGE_TEST_CHUNKS";
/// The default number for the peer, which is slower than a real server.
const SOME_CHUNKS: u64 = 2_000;
const CHUNKS: u64 = 10_000;
/// Number of queries without a filter. There are a third as many more with one.
const QUERIES: usize = 200;
const LIMIT: usize = 20;

/// The environment variables with the address and the key of a Qdrant server. The test creates its own
/// collections there.
const SERVER: &str = "QDRANT_URL";
const KEY: &str = "QDRANT_API_KEY";

/// A Python that has the packages of `tests/clients`. The official client and engine need them.
const PYTHON: &str = "qdrant_python";

/// A deterministic generator of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Generates a word. A few words are frequent, most are rare.
    fn word(&mut self) -> String {
        const PARTS: [&str; 12] = [
            "get", "user", "name", "parse", "http", "header", "retry", "index", "node", "token", "cache",
            "open",
        ];
        let part = |number: u64| PARTS[number as usize % PARTS.len()];
        let end = 1 + self.below(400);
        let (one, two, number) = (self.below(12), self.below(12), self.below(end));
        match self.below(4) {
            0 => format!("{}_{}_{number}", part(one), part(two)),
            1 => format!("E{:04}", self.below(3_000)),
            _ => part(one).to_owned(),
        }
    }
}

/// Generates short texts. Many of them have equal words, and therefore equal scores.
fn points(encoder: &dyn Encoder, count: u64) -> Vec<Point> {
    let mut numbers = Numbers(7);
    let mut point = |id: u64| {
        let length = 1 + numbers.below(12);
        let text = (0..length).map(|_| numbers.word()).collect::<Vec<_>>().join(" ");
        let payload = json!({"path": format!("f{id}.rs"), "repo": format!("r{}", id % 3), "text": text});
        let vector = encoder.document(&text).unwrap();
        Point { id: PointId::Number(id), vector, payload: payload.as_object().unwrap().clone() }
    };
    (1..=count).map(&mut point).collect()
}

fn fill(store: &dyn PointStore, encoder: &dyn Encoder, points: &[Point], sharding: Sharding) {
    let stop = Stop::never();
    let creation = Creation {
        using: USING.to_owned(),
        contract: encoder.contract(),
        indexed_fields: vec!["repo".to_owned()],
        sharding,
    };
    store.create(&creation, &stop).unwrap();
    for batch in points.chunks(500) {
        store.upsert(batch.to_vec(), USING, &stop).unwrap();
    }
    store.finish(&stop).unwrap();
}

fn retriever(store: Arc<dyn PointStore>) -> Retriever {
    Retriever {
        store,
        encoder: None,
        prose: None,
        backend: "test",
        using: USING.to_owned(),
        idf: Idf::Auto,
        fields: vec!["path".to_owned(), "repo".to_owned()],
        text_field: None,
        timeout: Duration::from_secs(60),
        rarity: Arc::default(),
    }
}

/// Scores by the formula, over all points.
struct Formula<'a> {
    points: &'a [Point],
    frequencies: HashMap<u32, f64>,
}

impl<'a> Formula<'a> {
    fn new(points: &'a [Point]) -> Self {
        let mut frequencies = HashMap::new();
        for id in points.iter().flat_map(|point| point.vector.ids()) {
            *frequencies.entry(*id).or_insert(0.0) += 1.0;
        }
        Self { points, frequencies }
    }

    fn scores(&self, query: &SparseVector) -> HashMap<PointId, f64> {
        let idf = |id: &u32| {
            let (all, with) = (self.points.len() as f64, self.frequencies.get(id).copied().unwrap_or(0.0));
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        };
        let weighed = query.ids().iter().zip(query.weights());
        let idfs: HashMap<u32, f64> =
            weighed.map(|(id, weight)| (*id, idf(id) * f64::from(*weight))).collect();
        let score = |point: &Point| -> f64 {
            let weights = point.vector.ids().iter().zip(point.vector.weights());
            weights.filter_map(|(id, weight)| Some(idfs.get(id)? * f64::from(*weight))).sum()
        };
        self.points.iter().map(|point| (point.id, score(point))).filter(|(_, score)| *score > 0.0).collect()
    }
}

/// Lets the Python script answer these queries, with the same requests as the retriever. They go to a server,
/// or to an engine with these points.
fn asked_by_python(
    python: &str,
    server: Option<u16>,
    points: &[Point],
    queries: &[SparseVector],
) -> Vec<Vec<ScoredId>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/lookups.py");
    let (place, points) = match server {
        Some(port) => ([port.to_string(), "code".to_owned()], &[][..]),
        None => (["engine".to_owned(), points.len().to_string()], points),
    };
    let mut child = Command::new(python)
        .arg(script)
        .args(place)
        .args([USING, &LIMIT.to_string(), &SCORE_STEP.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    for Point { id, vector, .. } in points {
        let PointId::Number(id) = id else { unreachable!("they are numbered") };
        writeln!(input, "{}", json!([id, vector.ids(), vector.weights()])).unwrap();
    }
    for query in queries {
        writeln!(input, "{}", json!([query.ids(), query.weights()])).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let hits = |line: &str| -> Vec<ScoredId> {
        let hits: Vec<(u64, f32)> = serde_json::from_str(line).unwrap();
        hits.into_iter().map(|(id, score)| (PointId::Number(id), score)).collect()
    };
    lines.lines().map(hits).collect()
}

type ScoredId = (PointId, f32);

/// Queries without a filter, and the answers on which all stores agree.
struct Agreed {
    queries: Vec<SparseVector>,
    answers: Vec<Vec<ScoredId>>,
}

/// Asserts that stores with these points agree with each other and with the formula.
fn agree(stores: &[Arc<dyn PointStore>], encoder: &Arc<dyn Encoder>, points: &[Point]) -> Agreed {
    let retrievers: Vec<Retriever> = stores.iter().map(|store| retriever(Arc::clone(store))).collect();
    let formula = Formula::new(points);
    let mut numbers = Numbers(99);
    let (mut tied, mut asked) = (0, 0);
    let mut agreed = Agreed { queries: Vec::new(), answers: Vec::new() };
    while agreed.queries.len() < QUERIES {
        let text = (0..1 + numbers.below(4)).map(|_| numbers.word()).collect::<Vec<_>>().join(" ");
        let filter = match asked % 4 {
            3 => PointFilter::any_of("repo", ["r1"]),
            _ => PointFilter::default(),
        };
        asked += 1;
        let look_up = |retriever: &Retriever| {
            let found = retriever.look_up(&text, LIMIT, &filter, &Stop::never()).unwrap();
            assert!(!found.is_arbitrary, "{text}");
            found.hits.into_iter().map(|hit| (hit.id, hit.score, hit.payload)).collect::<Vec<_>>()
        };
        let ids = |hits: &[(PointId, f32, _)]| hits.iter().map(|hit| hit.0).collect::<Vec<_>>();
        let all_found: Vec<_> = retrievers.iter().map(look_up).collect();
        let found = &all_found[0];
        for other in &all_found[1..] {
            assert_eq!(ids(found), ids(other), "{text}");
            assert!(found.iter().zip(other).all(|(one, two)| one.2 == two.2), "payloads of {text}");
        }
        let vector = encoder.query(&text).unwrap();
        let scores = formula.scores(&vector);
        for (id, score, _) in found {
            assert!((scores[id] - f64::from(*score)).abs() < 1e-3, "{text}: {id} {score} {}", scores[id]);
        }
        if !filter.is_empty() {
            assert!(found.iter().all(|hit| hit.2["repo"] == "r1"));
            continue;
        }
        // There must be no other point with a higher score. Among equal scores, the ids decide.
        let step = f64::from(SCORE_STEP);
        let mut best: Vec<_> = scores
            .iter()
            .map(|(id, score)| (std::cmp::Reverse((score / step).round() as i64), *id))
            .collect();
        best.sort_unstable();
        let lowest = found.last().map_or(0.0, |hit| scores[&hit.0]);
        let more = scores.values().filter(|score| **score > lowest + 2.0 * step).count();
        assert!(more <= found.len() && found.len() == LIMIT.min(best.len()), "{text}");
        tied += usize::from(best.get(LIMIT).is_some_and(|next| next.0 == best[LIMIT - 1].0));
        agreed.queries.push(vector);
        agreed.answers.push(found.iter().map(|(id, score, _)| (*id, *score)).collect());
    }
    assert!(tied > QUERIES / 20, "only {tied} cuts fell between points that score the same");
    // The control: if we request exactly the wanted number of points, a store returns others than the
    // retriever.
    let differ = agreed.queries.iter().zip(&agreed.answers).filter(|(vector, answer)| {
        let filter = PointFilter::default();
        let query = PointQuery { vector, using: USING, limit: LIMIT, fields: &[], filter: &filter };
        let mut by_store: Vec<_> =
            stores[0].query(&query, &Stop::never()).unwrap().iter().map(|hit| hit.id).collect();
        let mut by_retriever: Vec<_> = answer.iter().map(|(id, _)| *id).collect();
        by_store.sort_unstable();
        by_retriever.sort_unstable();
        by_store != by_retriever
    });
    assert!(differ.count() > 0, "the order of ties was the store's own");
    agreed
}

/// Returns the encoders of collections that Forage fills, each with its points.
fn encoded(count: u64) -> impl Iterator<Item = (Arc<dyn Encoder>, Vec<Point>)> {
    let encoders = [Arc::new(CodeSuperset::new()) as Arc<dyn Encoder>, Arc::new(FastEmbedBm25::new())];
    encoders.into_iter().map(move |encoder| {
        let points = points(&*encoder, count);
        (encoder, points)
    })
}

/// Creates an embedded store in a temporary directory.
fn embedded() -> (tempfile::TempDir, Arc<dyn PointStore>) {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    (directory, store)
}

#[test]
fn every_home_finds_the_same_points_in_the_same_order() {
    let chunks = std::env::var(COMPARED).map_or(SOME_CHUNKS, |chunks| chunks.parse().unwrap());
    for (encoder, points) in encoded(chunks) {
        let (server, url) = peer();
        let remote = connected(&url);
        fill(&*remote, &*encoder, &points, Sharding::default());
        assert_eq!(remote.count(&PointFilter::default(), &Stop::never()).unwrap(), chunks);
        let (_directory, embedded) = embedded();
        fill(&*embedded, &*encoder, &points, Sharding::default());
        let agreed = agree(&[remote, embedded], &encoder, &points);
        if peers::are_there(&[PYTHON]) {
            let python = peers::program(PYTHON);
            for server in [Some(server.address.port()), None] {
                let found = asked_by_python(python.to_str().unwrap(), server, &points, &agreed.queries);
                let (mut same, mut difference) = (0, 0_f32);
                for (theirs, ours) in found.iter().zip(&agreed.answers) {
                    assert_eq!(theirs.len(), ours.len());
                    let hits = theirs.iter().zip(ours);
                    same += usize::from(hits.clone().all(|(one, two)| one.0 == two.0));
                    difference = hits.map(|(one, two)| (one.1 - two.1).abs()).fold(difference, f32::max);
                }
                let asked = server.map_or("engine", |_| "official client");
                eprintln!(
                    "{chunks} chunks, {asked}: the same ids in the same order in {same} of {QUERIES} lookups, scores \
                     within {difference}"
                );
                // Scores that differ by less than a step are ordered by id. The sums of two engines may be on
                // different sides of a step's boundary.
                assert!(difference < 2.0 * SCORE_STEP && same * 100 >= QUERIES * 99, "{asked}");
            }
        }
    }
}

/// Each shard of a server counts document frequencies separately. A lookup must answer as if there were only
/// one shard, except for words so frequent that their idf is estimated from samples.
#[test]
fn shards_of_a_server_answer_as_one() {
    let encoder: Arc<dyn Encoder> = Arc::new(CodeSuperset::new());
    let points = points(&*encoder, SOME_CHUNKS);
    let (_server, url) = peer();
    let [one, six] = [1, 6].map(|shards| -> Arc<dyn PointStore> {
        let settings = ServerSettings::new(&url, &format!("shards-{shards}"));
        let store = Arc::new(ServerStore::connect(settings).unwrap());
        fill(&*store, &*encoder, &points, Sharding { shards: Some(shards), ..Sharding::default() });
        store
    });
    let (filter, stop) = (PointFilter::default(), Stop::never());
    let [whole, parts] = [&one, &six].map(|store| retriever(Arc::clone(store)));
    let mut numbers = Numbers(99);
    let (mut best, mut by_retriever, mut by_server) = (0, 0, 0);
    for _ in 0..60 {
        let text = (0..1 + numbers.below(3)).map(|_| numbers.word()).collect::<Vec<_>>().join(" ");
        let look_up = |retriever: &Retriever| retriever.look_up(&text, LIMIT, &filter, &stop).unwrap();
        let (found, other) = (look_up(&whole), look_up(&parts));
        if found.is_arbitrary || other.is_arbitrary {
            continue;
        }
        let vector = encoder.query(&text).unwrap();
        let query = PointQuery { vector: &vector, using: USING, limit: LIMIT, fields: &[], filter: &filter };
        let asked = six.query(&query, &stop).unwrap();
        let same =
            |hits: &[PointHit]| found.hits.iter().zip(hits).filter(|(one, two)| one.id == two.id).count();
        best += found.hits.len();
        by_retriever += same(&other.hits);
        by_server += same(&asked);
    }
    assert!(best > 500 && by_retriever * 100 > best * 97, "{by_retriever} of {best} where they should be");
    // The control: the server's own order should differ.
    assert!(by_server * 100 < best * 90, "{by_server} of {best}");
}

/// A collection has one shard per repository. We look up in one of them, in some, and in all.
#[test]
fn shards_by_a_field_are_written_asked_and_removed_from() {
    let encoder: Arc<dyn Encoder> = Arc::new(CodeSuperset::new());
    let points = points(&*encoder, 600);
    let (_server, url) = peer();
    let key_field = Some("repo".to_owned());
    let settings = ServerSettings { shard_key_field: key_field.clone(), ..ServerSettings::new(&url, "code") };
    let store: Arc<dyn PointStore> = Arc::new(ServerStore::connect(settings).unwrap());
    fill(&*store, &*encoder, &points, Sharding { key_field, ..Sharding::default() });
    let stop = Stop::never();
    for (repositories, expected) in [(&["r1"][..], 200), (&["r1", "r2"], 400), (&["r1", "gone"], 200)] {
        let filter = PointFilter::any_of("repo", repositories.iter().copied());
        assert_eq!(store.count(&filter, &stop), Ok(expected), "{repositories:?}");
        let found = retriever(Arc::clone(&store)).look_up("user", LIMIT, &filter, &stop).unwrap();
        let is_asked =
            |hit: &PointHit| repositories.contains(&hit.payload["repo"].as_str().unwrap_or_default());
        assert!(found.hits.len() == LIMIT && found.hits.iter().all(is_asked), "{repositories:?}");
    }
    let ids: Vec<PointId> = points[..90].iter().map(|point| point.id).collect();
    store.remove(&ids, &stop).unwrap();
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(510));
    assert!(store.drop_collection(&stop).unwrap());
    assert_eq!(store.collection(&stop), Ok(None));
}

/// This test creates its own collections on the server, and removes them.
#[test]
fn a_real_server_finds_the_same_points_in_the_same_order() {
    let named = std::env::var(SERVER).ok();
    let started = server::shared().map(|[single, _]| single.nodes[0].url());
    let servers: Vec<String> = named.into_iter().chain(started).collect();
    if servers.is_empty() {
        eprintln!("skipped: {SERVER} does not name a Qdrant server");
    }
    /// Removes the collection on drop, also after a failure.
    struct Dropped(Arc<dyn PointStore>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.drop_collection(&Stop::never());
        }
    }
    for (url, (encoder, points)) in
        servers.iter().flat_map(|url| encoded(CHUNKS).map(move |home| (url, home)))
    {
        let mut settings = ServerSettings::new(url, &format!("forage-test-{}", std::process::id()));
        settings.api_key = std::env::var(KEY).ok().map(|key| ApiKey::new(&key).unwrap());
        let remote: Arc<dyn PointStore> = Arc::new(ServerStore::connect(settings).unwrap());
        let _dropped = Dropped(Arc::clone(&remote));
        fill(&*remote, &*encoder, &points, Sharding::default());
        assert_eq!(remote.count(&PointFilter::default(), &Stop::never()).unwrap(), CHUNKS);
        let (_directory, near) = embedded();
        fill(&*near, &*encoder, &points, Sharding::default());
        agree(&[remote, near], &encoder, &points);
    }
}

/// The official client should get the same results from the peer as from its own in-memory collections.
#[test]
fn the_peer_answers_the_official_client_as_its_own_store_does() {
    forage_fuzz::needs!(PYTHON);
    let (server, _) = peer();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/peer.py");
    let output = Command::new(peers::program(PYTHON))
        .arg(script)
        .arg(server.address.port().to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compares all stores on conditions of every kind, and on names.
#[test]
fn every_home_filters_the_same_and_says_the_same_of_names() {
    let encoder: Arc<dyn Encoder> = Arc::new(CodeSuperset::new());
    let texts =
        ["retry_after here", "RETRY_AFTER there", "retry_after_ms", "retry RETRY-9 and after", "other"];
    let points: Vec<Point> = (1..)
        .zip(texts)
        .map(|(id, text)| {
            let draft = id % 2 == 0;
            let payload = json!({"text": text, "repo": format!("r{}", id % 2), "page": id, "share": 0.5 * id as f64,
                "draft": draft, "lines": {"start": 10 * id}, "tags": ["a", format!("t{id}")], "doc": id.to_string()});
            let vector = encoder.document(text).unwrap();
            Point { id: PointId::Number(id), vector, payload: payload.as_object().unwrap().clone() }
        })
        .collect();
    let (_server, url) = peer();
    let (_directory, embedded) = embedded();
    for home in [connected(&url), embedded] {
        fill(&*home, &*encoder, &points, Sharding::default());
        let retriever = Retriever { text_field: Some("text".to_owned()), ..retriever(home) };
        let retriever = Retriever { fields: vec!["text".to_owned()], ..retriever };
        let ask = |query: &str, conditions: &[&str]| {
            let conditions = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
            let filter = PointFilter { conditions, ids: None };
            retriever.look_up(query, 10, &filter, &Stop::never()).unwrap()
        };
        for (conditions, expected) in [
            (&["repo=r0"][..], &[2, 4][..]),
            (&["repo=r0|r1"], &[1, 2, 3, 4]),
            (&["page=3"], &[3]),
            (&["page=3|4", "repo=r1"], &[3]),
            (&["doc=3"], &[3]),
            (&["page=\"3\""], &[]),
            (&["share=1.5|x"], &[3]),
            (&["share=2"], &[4]),
            (&["draft=true"], &[2, 4]),
            (&["page>1", "page<=3"], &[2, 3]),
            (&["share>=1", "share<2"], &[2, 3]),
            (&["lines.start=20"], &[2]),
            (&["tags=t4|t1"], &[1, 4]),
            (&["absent=1"], &[]),
        ] {
            let mut ids: Vec<_> = ask("retry after", conditions).hits.into_iter().map(|hit| hit.id).collect();
            ids.sort_unstable();
            assert_eq!(
                ids,
                expected.iter().map(|id| PointId::Number(*id)).collect::<Vec<_>>(),
                "{conditions:?}"
            );
        }
        let found = ask("retry_after", &[]);
        let ids: Vec<_> = found.hits.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [1, 2, 3, 4].map(PointId::Number));
        assert_eq!(found.held, [NameMatch::Whole, NameMatch::OtherCase, NameMatch::Inside, NameMatch::Parts]);
        let name = ask("retry_after", &["repo=r0", "draft=true"]).name.unwrap();
        assert_eq!((name.whole, name.other_case, name.is_complete), (0, 1, true));
        let absent = ask("RETRY-99999", &[]);
        assert!(absent.name.unwrap().is_absent() && !absent.hits.is_empty());
        let elsewhere = ask("RETRY-9", &["repo=r1"]).name.unwrap();
        assert!(elsewhere.is_absent() && elsewhere.beyond == Some(1), "{elsewhere:?}");
        let beyond = ask("retry", &["repo=nope"]).beyond.unwrap();
        assert_eq!((beyond.points, beyond.under_filter), (4, 0));
    }
}
