//! Test collections, and child processes that run this binary.

use std::io::{BufRead as _, BufReader, Lines};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::Stop;
use forage_lookup::{
    Contract, Creation, EmbeddedStore, Point, PointFilter, PointId, PointScan, PointStore, ServerSettings,
    ServerStore, Sharding, SparseVector,
};
use serde_json::{Map, Value, json};

use crate::peer::http::Server;
use crate::peer::points::Peer;
use crate::qdrant::server::{self, Cluster};

pub(crate) const USING: &str = "text-sparse";

pub(crate) fn creation() -> Creation {
    Creation {
        using: USING.to_owned(),
        contract: Contract::new("test/1", "k=1"),
        indexed_fields: vec!["language".to_owned()],
        sharding: Sharding::default(),
    }
}

/// Starts a server of the peer and returns its address. The server ends when it is dropped.
pub(crate) fn peer() -> (Server, String) {
    let peer = Peer::new(None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start(listener, None, Arc::new(move |asked| peer.answer(asked))).unwrap();
    let url = format!("http://{}", server.address);
    (server, url)
}

pub(crate) fn connected(url: &str) -> Arc<dyn PointStore> {
    Arc::new(ServerStore::connect(ServerSettings::new(url, "code")).unwrap())
}

/// Opens the collection `code` of a directory.
pub(crate) fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::new(directory, "code").unwrap()
}

pub(crate) fn created(directory: &Path) -> EmbeddedStore {
    let store = open(directory);
    store.create(&creation(), &Stop::never()).unwrap();
    store
}

/// A location of a collection, which can be opened repeatedly.
pub(crate) enum Place {
    /// A directory of collections.
    Directory(tempfile::TempDir),
    /// The peer and its address.
    Peer { url: String, _server: Server },
    /// Real servers.
    Servers {
        cluster: &'static Cluster,
        collection: String,
        sharding: Sharding,
        /// Number of times that it was opened, each time through another node.
        opened: AtomicUsize,
    },
}

impl Place {
    pub(crate) fn open(&self) -> Arc<dyn PointStore> {
        match self {
            Self::Directory(directory) => Arc::new(open(directory.path())),
            Self::Peer { url, .. } => connected(url),
            Self::Servers { cluster, collection, opened, .. } => {
                let node = opened.fetch_add(1, Ordering::Relaxed) % cluster.nodes.len();
                cluster.store(node, collection)
            }
        }
    }

    pub(crate) fn created(&self) -> Arc<dyn PointStore> {
        let store = self.open();
        let sharding = match self {
            Self::Servers { sharding, .. } => sharding.clone(),
            Self::Directory(_) | Self::Peer { .. } => Sharding::default(),
        };
        store.create(&Creation { sharding, ..creation() }, &Stop::never()).unwrap();
        store
    }

    /// Returns true if scores must equal those of the formula. A server counts document frequencies in each
    /// shard separately. It also counts removed or replaced points until it has optimized a segment.
    pub(crate) fn is_exact(&self, is_changed: bool) -> bool {
        match self {
            Self::Directory(_) | Self::Peer { .. } => true,
            Self::Servers { cluster, .. } => cluster.nodes.len() == 1 && !is_changed,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Servers { cluster, collection, .. } = self {
            let _ = cluster.store(0, collection).drop_collection(&Stop::never());
        }
    }
}

/// Returns every kind of place to test with: a directory and the peer. If `FORAGE_TEST_QDRANT` names the
/// program, also returns a node, and a cluster of three with six shards and two copies of each.
pub(crate) fn places(test: &str) -> Vec<Place> {
    let (_server, url) = peer();
    let directory = tempfile::tempdir().unwrap();
    let mut places = vec![Place::Directory(directory), Place::Peer { url, _server }];
    if let Some([single, three]) = server::shared() {
        let spread = Sharding { shards: Some(6), replicas: Some(2), ..Sharding::default() };
        for (cluster, sharding) in [(single, Sharding::default()), (three, spread)] {
            let collection = format!("forage-test-{test}");
            places.push(Place::Servers { cluster, collection, sharding, opened: AtomicUsize::new(0) });
        }
    }
    places
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

/// Creates a filter for one field.
pub(crate) fn only(field: &str, values: &[&str]) -> PointFilter {
    PointFilter::any_of(field, values.iter().copied())
}

/// Reads all points, page by page.
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

/// Generates points with a few dimensions each. They have many of the dimensions in common.
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

/// Returns the argument of [`Twin::start`] if this process is such a child, and `None` otherwise.
pub(crate) fn child_argument() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// A child process that runs one test of this binary with an argument. It is killed when this value is
/// dropped.
pub(crate) struct Twin {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Twin {
    pub(crate) fn start(test: &str, child_argument: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD, child_argument)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the rest of the next line that begins with `word`, or `None` if the child has ended.
    pub(crate) fn next(&mut self, word: &str) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix(word).map(str::to_owned))
    }

    /// Sends SIGKILL on Unix.
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
