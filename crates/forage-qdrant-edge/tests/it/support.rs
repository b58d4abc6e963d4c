//! Collections of a test's own, and children that are this binary again.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use forage_base::Stop;
use forage_lookup::{
    Contract, Creation, Point, PointFilter, PointId, PointScan, PointStore, Sharding, SparseVector,
};
use forage_qdrant_edge::EmbeddedStore;
use serde_json::{Map, Value, json};

pub(crate) const USING: &str = "text-sparse";

pub(crate) fn creation() -> Creation {
    Creation {
        using: USING.to_owned(),
        contract: Contract::new("test/1", "k=1"),
        indexed_fields: vec!["language".to_owned()],
        sharding: Sharding::default(),
    }
}

pub(crate) fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, "code").unwrap()
}

pub(crate) fn created(directory: &Path) -> EmbeddedStore {
    let store = open(directory);
    store.create(&creation(), &Stop::never()).unwrap();
    store
}

/// Where a collection is, which can be opened again.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn open(&self) -> Arc<dyn PointStore> {
        Arc::new(open(self.0.path()))
    }

    pub(crate) fn created(&self) -> Arc<dyn PointStore> {
        let store = self.open();
        store.create(&creation(), &Stop::never()).unwrap();
        store
    }
}

pub(crate) fn places(_test: &str) -> Vec<Place> {
    vec![Place(tempfile::tempdir().unwrap())]
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no object") };
    map
}

pub(crate) fn point(id: u64, weights: &[(u32, f64)], payload: Value) -> Point {
    Point {
        id: PointId::Number(id),
        vector: SparseVector::new(weights.iter().copied()),
        payload: object(payload),
    }
}

pub(crate) fn upsert(store: &dyn PointStore, points: Vec<Point>) {
    store.upsert(points, USING, &Stop::never()).unwrap();
}

/// A filter of one field.
pub(crate) fn only(field: &str, values: &[&str]) -> PointFilter {
    PointFilter::any_of(field, values.iter().copied())
}

/// Everything, page by page.
pub(crate) fn all(
    store: &dyn PointStore,
    fields: &[&str],
    limit: usize,
) -> Vec<(PointId, Map<String, Value>)> {
    let fields: Vec<_> = fields.iter().map(|&field| field.to_owned()).collect();
    let (mut points, mut from) = (Vec::new(), None);
    loop {
        let scan = PointScan { filter: &PointFilter::default(), fields: &fields, from, limit };
        let page = store.scan(&scan, &Stop::never()).unwrap();
        assert!(page.points.len() <= limit);
        points.extend(page.points);
        from = page.next;
        if from.is_none() {
            return points;
        }
    }
}

/// Points with a few dimensions, among many that share them.
pub(crate) fn some_points(count: u64) -> Vec<Point> {
    let language = |id: u64| ["rust", "python", "go"][id as usize % 3];
    let points = (0..count).map(|id| {
        let weights: Vec<_> =
            (1..=id % 5 + 2).map(|n| ((id * n % 37) as u32, 0.25 + n as f64 / 3.0)).collect();
        point(
            id,
            &weights,
            json!({"language": language(id), "path": format!("src/{id}.rs"), "text": "unasked"}),
        )
    });
    points.collect()
}

const CHILD: &str = "FORAGE_TEST_CHILD";

/// What a test is told when it is a child.
pub(crate) fn told() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// This binary again, in which one test runs and is told something. It is killed when this is dropped.
pub(crate) struct Twin {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Twin {
    pub(crate) fn start(test: &str, told: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD, told)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// What follows the word in the next line that begins with it; `None` when the child has ended.
    pub(crate) fn next(&mut self, word: &str) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix(word).map(str::to_owned))
    }

    /// SIGKILL on Unix.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
