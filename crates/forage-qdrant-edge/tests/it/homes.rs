//! The same chunks in both homes: lookups find the same points in the same order, and it is the order of the formula.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{
    CodeSuperset, Condition, Creation, Encoder, FastEmbedBm25, NameMatch, Point, PointFilter, PointId,
    PointQuery, PointStore, Retriever, SCORE_STEP, Sharding, SparseVector,
};
use forage_qdrant::{ApiKey, ServerSettings, ServerStore};
use forage_qdrant_edge::EmbeddedStore;
use serde_json::json;

use crate::peer::Peer;
use crate::server;
use crate::support::USING;

const CHUNKS: u64 = 10_000;
/// Queries without a filter; a third as many more have one.
const QUERIES: usize = 200;
const LIMIT: usize = 20;

/// Names a Qdrant server, on which the test makes collections of its own; and its key, if it asks for one.
const SERVER: &str = "QDRANT_URL";
const KEY: &str = "QDRANT_API_KEY";

/// Names a Python with the packages of `tests/clients`, without which the official client and engine are left out.
const PYTHON: &str = "FORAGE_TEST_QDRANT_PYTHON";

/// Numbers that look random and are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Few words are everywhere, most are rare.
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

/// Short texts: many have equal words, and score the same.
fn points(encoder: &dyn Encoder) -> Vec<Point> {
    let mut numbers = Numbers(7);
    let mut point = |id: u64| {
        let length = 1 + numbers.below(12);
        let text = (0..length).map(|_| numbers.word()).collect::<Vec<_>>().join(" ");
        let payload = json!({"path": format!("f{id}.rs"), "repo": format!("r{}", id % 3), "text": text});
        let vector = encoder.document(&text).unwrap();
        Point { id: PointId::Number(id), vector, payload: payload.as_object().unwrap().clone() }
    };
    (1..=CHUNKS).map(&mut point).collect()
}

fn fill(store: &dyn PointStore, encoder: &dyn Encoder, points: &[Point]) {
    let stop = Stop::never();
    let creation = Creation {
        using: USING.to_owned(),
        contract: encoder.contract(),
        indexed_fields: vec!["repo".to_owned()],
        sharding: Sharding::default(),
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
        fields: vec!["path".to_owned(), "repo".to_owned()],
        text_field: None,
        timeout: Duration::from_secs(60),
        rarity: Arc::default(),
    }
}

/// Scores by the formula, of all points.
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

/// What the script answers to these queries, asked as the retriever asks: of a server, or of an engine with these points.
fn asked_by_python(
    python: &str,
    server: Option<u16>,
    points: &[Point],
    queries: &[SparseVector],
) -> Vec<Vec<PointId>> {
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
    let ids = |line: &str| -> Vec<PointId> {
        let ids: Vec<u64> = serde_json::from_str(line).unwrap();
        ids.into_iter().map(PointId::Number).collect()
    };
    lines.lines().map(ids).collect()
}

/// Queries without a filter, and what both stores answer.
struct Agreed {
    queries: Vec<SparseVector>,
    answers: Vec<Vec<PointId>>,
}

/// Holds the answers of two stores with these points to each other and to the formula.
fn agree(
    embedded: &Arc<dyn PointStore>,
    remote: &Arc<dyn PointStore>,
    encoder: &Arc<dyn Encoder>,
    points: &[Point],
) -> Agreed {
    let (here, there) = (retriever(Arc::clone(embedded)), retriever(Arc::clone(remote)));
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
        let (found, other) = (look_up(&here), look_up(&there));
        let ids = |hits: &[(PointId, f32, _)]| hits.iter().map(|hit| hit.0).collect::<Vec<_>>();
        assert_eq!(ids(&found), ids(&other), "{text}");
        assert!(found.iter().zip(&other).all(|(one, two)| one.2 == two.2), "payloads of {text}");

        let vector = encoder.query(&text).unwrap();
        let scores = formula.scores(&vector);
        for (id, score, _) in &found {
            assert!((scores[id] - f64::from(*score)).abs() < 1e-3, "{text}: {id} {score} {}", scores[id]);
        }
        if !filter.is_empty() {
            assert!(found.iter().all(|hit| hit.2["repo"] == "r1"));
            continue;
        }
        // None that scores more is missing; of those that score the same the ids decide.
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
        agreed.answers.push(ids(&found));
    }
    assert!(tied > QUERIES / 20, "only {tied} cuts fell between points that score the same");
    // Positive control: asked for no more than is wanted, the stores do not agree on which they give.
    let differ = agreed.queries.iter().filter(|vector| {
        let (fields, filter) = (Vec::new(), PointFilter::default());
        let query = PointQuery { vector, using: USING, limit: LIMIT, fields: &fields, filter: &filter };
        let mut by_store: Vec<_> =
            embedded.query(&query, &Stop::never()).unwrap().iter().map(|hit| hit.id).collect();
        let mut by_retriever = look_up_ids(&here, vector, encoder);
        by_store.sort_unstable();
        by_retriever.sort_unstable();
        by_store != by_retriever
    });
    assert!(differ.count() > 0, "the order of ties was the store's own");
    agreed
}

/// The encoders of collections that Forage fills, with 10,000 points in an embedded store.
fn embedded_homes()
-> impl Iterator<Item = (tempfile::TempDir, Arc<dyn Encoder>, Vec<Point>, Arc<dyn PointStore>)> {
    let encoders = [Arc::new(CodeSuperset::new()) as Arc<dyn Encoder>, Arc::new(FastEmbedBm25::new())];
    encoders.into_iter().map(|encoder| {
        let points = points(&*encoder);
        let directory = tempfile::tempdir().unwrap();
        let embedded: Arc<dyn PointStore> = Arc::new(EmbeddedStore::open(directory.path(), "code").unwrap());
        fill(&*embedded, &*encoder, &points);
        (directory, encoder, points, embedded)
    })
}

#[test]
fn both_homes_find_the_same_points_in_the_same_order() {
    for (_directory, encoder, points, embedded) in embedded_homes() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let guard = runtime.enter();
        let (address, server) = Peer::new().unwrap().serve(0, None).unwrap();
        runtime.spawn(server);
        drop(guard);
        let settings = ServerSettings::new(&format!("http://{address}"), "code");
        let remote: Arc<dyn PointStore> = Arc::new(ServerStore::connect(settings).unwrap());
        fill(&*remote, &*encoder, &points);
        assert_eq!(remote.count(&PointFilter::default(), &Stop::never()).unwrap(), CHUNKS);
        let agreed = agree(&embedded, &remote, &encoder, &points);
        if let Some(python) = std::env::var_os(PYTHON) {
            for server in [Some(address.port()), None] {
                let found = asked_by_python(python.to_str().unwrap(), server, &points, &agreed.queries);
                assert_eq!(found, agreed.answers, "{server:?}");
            }
        }
    }
}

/// Makes collections of its own on that server, and removes them.
#[test]
#[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
fn a_real_server_finds_the_same_points_in_the_same_order() {
    let named = std::env::var(SERVER).ok();
    let started = server::shared().map(|[single, _]| single.nodes[0].url());
    let servers: Vec<String> = named.into_iter().chain(started).collect();
    if servers.is_empty() {
        eprintln!("skipped: {SERVER} does not name a Qdrant server");
    }
    /// Leaves nothing behind, whatever fails.
    struct Dropped(Arc<dyn PointStore>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.drop_collection(&Stop::never());
        }
    }
    for (url, (_directory, encoder, points, embedded)) in
        servers.iter().flat_map(|url| embedded_homes().map(move |home| (url, home)))
    {
        let mut settings = ServerSettings::new(url, &format!("forage-test-{}", std::process::id()));
        settings.api_key = std::env::var(KEY).ok().map(|key| ApiKey::new(&key).unwrap());
        let remote: Arc<dyn PointStore> = Arc::new(ServerStore::connect(settings).unwrap());
        let _dropped = Dropped(Arc::clone(&remote));
        fill(&*remote, &*encoder, &points);
        assert_eq!(remote.count(&PointFilter::default(), &Stop::never()).unwrap(), CHUNKS);
        agree(&embedded, &remote, &encoder, &points);
    }
}

/// Conditions of every kind, and names: what the embedded engine says of them is what the server says, over the wire.
#[test]
fn both_homes_filter_the_same_and_say_the_same_of_names() {
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
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let guard = runtime.enter();
    let (address, server) = Peer::new().unwrap().serve(0, None).unwrap();
    runtime.spawn(server);
    drop(guard);
    let settings = ServerSettings::new(&format!("http://{address}"), "code");
    let homes: [Arc<dyn PointStore>; 2] = [
        Arc::new(EmbeddedStore::open(directory.path(), "code").unwrap()),
        Arc::new(ServerStore::connect(settings).unwrap()),
    ];
    for home in homes {
        fill(&*home, &*encoder, &points);
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

/// What the retriever makes of a vector that was encoded before.
fn look_up_ids(retriever: &Retriever, vector: &SparseVector, encoder: &Arc<dyn Encoder>) -> Vec<PointId> {
    struct Fixed(SparseVector, Arc<dyn Encoder>);
    impl Encoder for Fixed {
        fn contract(&self) -> forage_lookup::Contract {
            self.1.contract()
        }

        fn document(&self, text: &str) -> Result<SparseVector, forage_lookup::EncodingError> {
            self.1.document(text)
        }

        fn query(&self, _: &str) -> Result<SparseVector, forage_lookup::EncodingError> {
            Ok(self.0.clone())
        }

        fn words(
            &self,
            text: &str,
            form: forage_lookup::EncodedForm,
        ) -> Result<Vec<(u32, String)>, forage_lookup::EncodingError> {
            self.1.words(text, form)
        }
    }
    let fixed: Arc<dyn Encoder> = Arc::new(Fixed(vector.clone(), Arc::clone(encoder)));
    let retriever = Retriever {
        encoder: Some(Arc::new(forage_lookup::EncoderSource::new(Box::new(|| Ok(fixed))))),
        store: Arc::clone(&retriever.store),
        using: retriever.using.clone(),
        rarity: Arc::default(),
        fields: Vec::new(),
        text_field: None,
        ..*retriever
    };
    let found = retriever.look_up("", LIMIT, &PointFilter::default(), &Stop::never()).unwrap();
    found.hits.into_iter().map(|hit| hit.id).collect()
}
