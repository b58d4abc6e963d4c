//! Tests failures of real servers. No acknowledged change may be lost, and we must never take a partial
//! answer for a complete one.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_lookup::{
    Creation, PointFilter, PointId, PointQuery, PointReader, PointStore, ServerSettings, ServerStore,
    Sharding, SparseVector, StoreError,
};
use serde_json::json;

use crate::qdrant::server::{Cluster, program};
use crate::support::{USING, all, creation, point, some_points};

/// The dimension that every point of these tests has.
const EVERY: u32 = 4_711;

/// Starts three nodes, with every shard on two of them.
fn cluster(program: &Path) -> (Cluster, Creation) {
    let sharding = Sharding { shards: Some(6), replicas: Some(2), ..Sharding::default() };
    (Cluster::start(program, 3), Creation { sharding, ..creation() })
}

/// Creates a store with this timeout.
fn store(cluster: &Cluster, node: usize, timeout: Duration) -> Arc<dyn PointStore> {
    let settings = ServerSettings { request_timeout: timeout, ..cluster.settings(node, "code") };
    Arc::new(ServerStore::connect(settings).unwrap())
}

/// Looks up the dimension that all points have.
fn looked_up(store: &dyn PointStore) -> Result<BTreeSet<PointId>, StoreError> {
    let vector = SparseVector::ones([EVERY]);
    let filter = PointFilter::default();
    let query = PointQuery { vector: &vector, using: USING, limit: 100_000, fields: &[], filter: &filter };
    store.query(&query, &Stop::never()).map(|hits| hits.into_iter().map(|hit| hit.id).collect())
}

fn scanned(store: &dyn PointStore) -> BTreeSet<PointId> {
    all(store, &[], 5_000).into_iter().map(|(id, _)| id).collect()
}

/// Writes points and looks them up while something happens. Returns the acknowledged points.
///
/// Every answer must contain all points that were acknowledged before the lookup began.
fn under_load(
    writes: &dyn PointStore,
    reads: &[Arc<dyn PointStore>],
    happens: impl FnOnce() + Send,
) -> (BTreeSet<PointId>, Load) {
    let acknowledged = Mutex::new(BTreeSet::new());
    let load = Mutex::new(Load::default());
    let is_over = AtomicBool::new(false);
    let (writes, acknowledged_ref, load_ref, is_over_ref) = (&writes, &acknowledged, &load, &is_over);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0_u64.. {
                if is_over_ref.load(Ordering::Relaxed) {
                    break;
                }
                let ids = number * 20..(number + 1) * 20;
                let points: Vec<_> =
                    ids.clone().map(|id| point(id, &[(EVERY, 1.0)], json!({"path": "x"}))).collect();
                // Like a filling, we retry until the write is acknowledged.
                let mut tries = 0;
                while !is_over_ref.load(Ordering::Relaxed) {
                    match writes.upsert(points.clone(), USING, &Stop::never()) {
                        Ok(()) => {
                            acknowledged_ref.lock().unwrap().extend(ids.clone().map(PointId::Number));
                            break;
                        }
                        Err(error) => {
                            tries += 1;
                            load_ref.lock().unwrap().failed_writes += 1;
                            assert!(tries < 600, "{error}");
                            std::thread::sleep(Duration::from_millis(50));
                        }
                    }
                }
            }
        });
        for store in reads {
            scope.spawn(move || {
                while !is_over_ref.load(Ordering::Relaxed) {
                    let before = acknowledged_ref.lock().unwrap().clone();
                    let found = looked_up(&**store);
                    let mut load = load_ref.lock().unwrap();
                    match found {
                        Ok(found) => {
                            load.answered += 1;
                            let missing: Vec<_> = before.difference(&found).collect();
                            assert!(missing.is_empty(), "{} of {} missing", missing.len(), before.len());
                        }
                        Err(error) => load.refused.push(error.to_string()),
                    }
                    drop(load);
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
        }
        happens();
        is_over.store(true, Ordering::Relaxed);
    });
    (acknowledged.into_inner().unwrap(), load.into_inner().unwrap())
}

#[derive(Debug, Default)]
struct Load {
    answered: usize,
    refused: Vec<String>,
    failed_writes: usize,
}

#[test]
fn node_restart_loses_no_points() {
    let Some(program) = program() else { return };
    let (mut cluster, creation) = cluster(&program);
    let timeout = Duration::from_secs(5);
    let (first, second) = (store(&cluster, 0, timeout), store(&cluster, 1, timeout));
    first.create(&creation, &Stop::never()).unwrap();
    let nodes = &mut cluster.nodes;
    let (acknowledged, load) = under_load(&*first, &[Arc::clone(&first), second], || {
        std::thread::sleep(Duration::from_secs(2));
        nodes[2].kill();
        std::thread::sleep(Duration::from_secs(4));
        nodes[2].start();
        nodes[2].wait();
        std::thread::sleep(Duration::from_secs(4));
    });
    assert!(acknowledged.len() > 200 && load.answered > 50, "{} {load:?}", acknowledged.len());
    cluster.wait();
    settled(&cluster, &acknowledged);
}

/// Waits until every node, including the one that was away, finds all acknowledged points in both ways.
fn settled(cluster: &Cluster, acknowledged: &BTreeSet<PointId>) {
    for node in 0..cluster.nodes.len() {
        let store = store(cluster, node, Duration::from_secs(10));
        let began = Instant::now();
        loop {
            let found = looked_up(&*store);
            if found.as_ref().is_ok_and(|found| acknowledged.is_subset(found)) {
                break;
            }
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "node {node}: {:?}",
                found.map(|found| found.len())
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        assert!(acknowledged.is_subset(&scanned(&*store)), "node {node}");
        let count = store.count(&PointFilter::default(), &Stop::never()).unwrap();
        assert!(count >= acknowledged.len() as u64, "node {node}: {count}");
    }
}

/// A node neither answers nor closes connections, so that the others consider it gone. The first node, which
/// was the leader, loses this role.
#[test]
fn a_node_that_is_cut_off_costs_no_point() {
    let Some(program) = program() else { return };
    let (cluster, creation) = cluster(&program);
    let second = store(&cluster, 1, Duration::from_secs(20));
    second.create(&creation, &Stop::never()).unwrap();
    let third = store(&cluster, 2, Duration::from_secs(20));
    let nodes = &cluster.nodes;
    let (acknowledged, load) = under_load(&*second, &[Arc::clone(&second), third], || {
        std::thread::sleep(Duration::from_secs(2));
        nodes[0].pause();
        std::thread::sleep(Duration::from_secs(15));
        nodes[0].go_on();
        std::thread::sleep(Duration::from_secs(5));
    });
    assert!(acknowledged.len() > 100 && load.answered > 20, "{} {load:?}", acknowledged.len());
    settled(&cluster, &acknowledged);
}

/// Every repository has its own shard. Several threads write to it as soon as it is created, and its own
/// lookups must find its points.
#[test]
fn a_shard_for_each_value_is_there_when_it_is_written_to() {
    let Some(program) = program() else { return };
    let cluster = Cluster::start(&program, 3);
    let key_field = Some("repo".to_owned());
    let sharding = Sharding { replicas: Some(2), key_field: key_field.clone(), ..Sharding::default() };
    let connect = |node| {
        let settings =
            ServerSettings { shard_key_field: key_field.clone(), ..cluster.settings(node, "code") };
        ServerStore::connect(settings).unwrap()
    };
    connect(0).create(&Creation { sharding, ..creation() }, &Stop::never()).unwrap();
    let writer = connect(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let writer = &writer;
            scope.spawn(move || {
                for repo in 0..5 {
                    let id = thread * 5 + repo;
                    let points = vec![point(id, &[(EVERY, 1.0)], json!({"repo": format!("r{repo}")}))];
                    writer.upsert(points, USING, &Stop::never()).unwrap();
                }
            });
        }
    });
    for node in 0..3 {
        let store = connect(node);
        assert_eq!(looked_up(&store).unwrap().len(), 20, "node {node}");
        assert_eq!(store.count(&PointFilter::any_of("repo", ["r3"]), &Stop::never()), Ok(4));
    }
}

/// Starts a proxy that delays the answers.
fn slowed(to: String, delay: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(to.trim_start_matches("http://")).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from_client, &mut to_server);
                let _ = to_server.shutdown(Shutdown::Write);
            });
            let (mut from_server, mut to_client) = (server, client);
            std::thread::spawn(move || {
                let mut buffer = [0; 1 << 16];
                while let Ok(count @ 1..) = from_server.read(&mut buffer) {
                    std::thread::sleep(delay);
                    if to_client.write_all(&buffer[..count]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

#[test]
fn slow_server_is_awaited_until_the_deadline() {
    let Some(program) = program() else { return };
    let cluster = Cluster::single(&program);
    let near = cluster.store(0, "code");
    near.create(&creation(), &Stop::never()).unwrap();
    near.upsert(some_points(50), USING, &Stop::never()).unwrap();
    let url = slowed(cluster.nodes[0].url(), Duration::from_secs(2));
    let with_time = |timeout| {
        let settings = ServerSettings { request_timeout: timeout, ..ServerSettings::new(&url, "code") };
        ServerStore::connect(settings).unwrap()
    };
    let patient = with_time(Duration::from_secs(20));
    assert_eq!(patient.count(&PointFilter::default(), &Stop::never()), Ok(50));
    let began = Instant::now();
    let error = with_time(Duration::from_secs(1)).count(&PointFilter::default(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "timeout", "{error}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn concurrently_removed_collection_is_reported() {
    let Some(program) = program() else { return };
    let (cluster, creation) = cluster(&program);
    let (first, second) = (cluster.store(0, "code"), cluster.store(1, "code"));
    first.create(&creation, &Stop::never()).unwrap();
    first.upsert(some_points(50), USING, &Stop::never()).unwrap();
    assert!(second.drop_collection(&Stop::never()).unwrap());
    let errors = [
        looked_up(&*first).map(drop),
        first.upsert(some_points(5), USING, &Stop::never()),
        first.remove(&[PointId::Number(1)], &Stop::never()),
        first.count(&PointFilter::default(), &Stop::never()).map(drop),
    ];
    for error in errors {
        assert_eq!(error.as_ref().map_err(StoreError::kind), Err("no_collection"), "{error:?}");
    }
    assert_eq!(first.collection(&Stop::never()), Ok(None));
    first.create(&creation, &Stop::never()).unwrap();
    assert_eq!(second.count(&PointFilter::default(), &Stop::never()), Ok(0));
}

/// The files of one node can't grow, as on a full disk. Acknowledged points must be on the other nodes, and
/// each rejection must be an error.
#[test]
fn a_full_disk_of_one_node_is_an_error_or_nothing() {
    let Some(program) = program() else { return };
    let (mut cluster, creation) = cluster(&program);
    let first = store(&cluster, 0, Duration::from_secs(10));
    first.create(&creation, &Stop::never()).unwrap();
    cluster.nodes[2].kill();
    // Depending on the shell, this counts in blocks of 512 bytes or of 1 KiB. The signal is ignored, so a
    // write fails instead.
    cluster.nodes[2].limit("trap '' XFSZ; ulimit -f 64");
    cluster.nodes[2].start();
    std::thread::sleep(Duration::from_secs(3));
    let second = store(&cluster, 1, Duration::from_secs(10));
    let (acknowledged, load) = under_load(&*first, &[second], || std::thread::sleep(Duration::from_secs(8)));
    assert!(load.answered > 10, "{load:?}");
    cluster.nodes[2].kill();
    cluster.nodes[2].limit(":");
    cluster.nodes[2].start();
    cluster.wait();
    settled(&cluster, &acknowledged);
}
