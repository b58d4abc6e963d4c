//! Tests the client of Qdrant servers: its requests to a scripted server, how it handles the answers, and
//! lookups in collections of the peer. If `FORAGE_TEST_QDRANT` names the program, we also test with real
//! servers.

mod errors;
#[cfg(unix)]
mod faults;
mod fillings;
pub(crate) mod foreign;
mod homes;
mod requests;
mod scripted;
pub(crate) mod server;
mod settings;
mod sharding;
mod threads;
mod time;
mod tls;
#[cfg(unix)]
mod upgrade;

use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{
    ApiKey, Contract, Creation, Point, PointFilter, PointId, PointQuery, PointReader, PointStore,
    ServerSettings, ServerStore, Sharding, SparseVector, StoreError,
};
use serde_json::{Map, Value, json};

use self::scripted::Scripted;
use crate::peer::http::Reply;

/// The key in every test. It must never appear in any output.
const KEY: &str = "test-key-0f9e8d7c6b5a";

/// The timeout of requests that are abandoned. It is longer than a test may take, so that a test which waits
/// for it fails.
const LONG: Duration = Duration::from_secs(60);

fn settings(url: &str) -> ServerSettings {
    ServerSettings { request_timeout: Duration::from_secs(20), ..ServerSettings::new(url, "code") }
}

fn store(peer: &Scripted) -> ServerStore {
    ServerStore::connect(settings(&peer.url())).unwrap()
}

fn key() -> ApiKey {
    ApiKey::new(KEY).unwrap()
}

fn filter(fields: &[(&str, &[&str])]) -> PointFilter {
    let one =
        |&(field, values): &(&str, &[&str])| PointFilter::any_of(field, values.iter().copied()).conditions;
    PointFilter { conditions: fields.iter().flat_map(one).collect(), ids: None }
}

/// Sends a query for two dimensions. The result does not matter.
fn ask(store: &ServerStore, stop: &Stop) -> Result<usize, StoreError> {
    ask_among(store, &PointFilter::default(), stop)
}

fn ask_among(store: &ServerStore, filter: &PointFilter, stop: &Stop) -> Result<usize, StoreError> {
    let vector = SparseVector::ones([3, 7]);
    let fields = ["path".to_owned()];
    let query = PointQuery { vector: &vector, using: "text-sparse", limit: 5, fields: &fields, filter };
    store.query(&query, stop).map(|hits| hits.len())
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn point(id: PointId, payload: Value) -> Point {
    Point { id, vector: SparseVector::new([(7, 0.5), (3, 1.5)]), payload: object(payload) }
}

fn creation(sharding: Sharding) -> Creation {
    Creation {
        using: "text-sparse".to_owned(),
        contract: Contract::new("fastembed-bm25/1", "k=1.2"),
        indexed_fields: vec!["kind".to_owned(), "repository".to_owned()],
        sharding,
    }
}

/// The answer to a write.
fn written(status: &str) -> Reply {
    Reply::result(json!({"operation_id": 1, "status": status}))
}

fn no_hits() -> Reply {
    hits(&[])
}

fn hits(points: &[Value]) -> Reply {
    Reply::result(json!({ "points": points }))
}
