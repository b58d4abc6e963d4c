//! Tests collections that are sharded by a payload field.

use forage_lookup::PointScan;

use super::*;

fn sharded(peer: &Scripted) -> ServerStore {
    let settings = ServerSettings { shard_key_field: Some("repository".to_owned()), ..settings(&peer.url()) };
    ServerStore::connect(settings).unwrap()
}

/// Starts a server on which shards can be created.
fn with_shards() -> Scripted {
    let peer = Scripted::start();
    peer.on("PUT /shards", |_| Reply::result(true.into()));
    peer.on("PUT /points", |_| written("completed"));
    peer
}

/// Returns the shards that we asked the server to create.
fn made(peer: &Scripted) -> Vec<Value> {
    peer.asked("PUT /shards").into_iter().map(|asked| asked.body["shard_key"].clone()).collect()
}

fn keyed_point(repository: &str, id: u64) -> Point {
    point(PointId::Number(id), json!({"repository": repository}))
}

fn missing(name: &str) -> Reply {
    Reply::error(400, &format!("Wrong input: Shard key {name} not found"))
}

#[test]
fn a_collection_with_a_key_field_has_custom_sharding() {
    let peer = Scripted::start();
    peer.on("PUT ", |_| Reply::result(true.into()));
    peer.on("GET ", |_| Reply::result(json!({"payload_schema": {}})));
    // A server without shards has nothing to index.
    peer.on("PUT /index", |_| written("acknowledged"));
    let sharding = Sharding { key_field: Some("repository".to_owned()), ..Sharding::default() };
    sharded(&peer).create(&creation(sharding), &Stop::never()).unwrap();
    assert_eq!(peer.asked_once("PUT ").body["sharding_method"], "custom");
}

#[test]
fn collection_needs_the_configured_shard_key_field() {
    let peer = Scripted::start();
    let by = |field: &str| creation(Sharding { key_field: Some(field.to_owned()), ..Sharding::default() });
    let refused = [
        sharded(&peer).create(&by("tenant"), &Stop::never()),
        sharded(&peer).create(&creation(Sharding::default()), &Stop::never()),
        store(&peer).create(&by("repository"), &Stop::never()),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), "invalid");
    }
    assert_eq!(peer.total(), 0);
}

#[test]
fn points_go_to_shards_that_are_created_once() {
    let peer = with_shards();
    let store = sharded(&peer);
    store
        .upsert(vec![keyed_point("b", 1), keyed_point("a", 2), keyed_point("b", 3)], "v", &Stop::never())
        .unwrap();
    store.upsert(vec![keyed_point("b", 4)], "v", &Stop::never()).unwrap();
    assert_eq!(made(&peer), ["a", "b"]);
    let groups = peer.asked("PUT /points").into_iter().map(|asked| {
        let ids = asked.body["points"].as_array().unwrap().iter().map(|point| point["id"].clone());
        json!([asked.body["shard_key"], ids.collect::<Vec<_>>()])
    });
    assert_eq!(groups.collect::<Vec<_>>(), [json!(["a", [2]]), json!(["b", [1, 3]]), json!(["b", [4]])]);
}

#[test]
fn a_shard_that_another_process_has_made_is_fine() {
    for status in [409, 400] {
        let peer = with_shards();
        let what = "Bad request: Sharding key a already exists for collection code";
        peer.on("PUT /shards", move |_| Reply::error(status, what));
        assert_eq!(sharded(&peer).upsert(vec![keyed_point("a", 1)], "v", &Stop::never()), Ok(()));
    }
}

#[test]
fn a_server_on_its_own_says_that_it_has_no_shard_keys() {
    let peer = with_shards();
    peer.on("PUT /shards", |_| Reply::error(405, "Qdrant is running in standalone mode"));
    let error = sharded(&peer).upsert(vec![keyed_point("a", 1)], "v", &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid");
    assert!(error.to_string().contains("standalone mode"), "{error}");
    assert!(peer.asked("PUT /points").is_empty());
}

#[test]
fn shard_is_recreated_after_a_failed_write_and_a_drop() {
    let peer = with_shards();
    peer.on("PUT /points", |_| Reply::error(403, "Forbidden"));
    let store = sharded(&peer);
    assert_eq!(
        store.upsert(vec![keyed_point("a", 1)], "v", &Stop::never()).unwrap_err().kind(),
        "unauthorized"
    );
    peer.on("PUT /points", |_| written("completed"));
    store.upsert(vec![keyed_point("a", 1)], "v", &Stop::never()).unwrap();
    assert_eq!(made(&peer), ["a", "a"]);
    peer.on("DELETE ", |_| Reply::result(true.into()));
    assert_eq!(store.drop_collection(&Stop::never()), Ok(true));
    store.upsert(vec![keyed_point("a", 1)], "v", &Stop::never()).unwrap();
    assert_eq!(made(&peer), ["a", "a", "a"]);
}

#[test]
fn a_shard_that_no_node_has_made_yet_is_waited_for() {
    let peer = with_shards();
    let tries = std::sync::atomic::AtomicUsize::new(0);
    peer.on("PUT /points", move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => missing("a"),
        1 => Reply::error(500, "Service internal error: The replica set for shard 1 has no `Active` replica"),
        _ => written("completed"),
    });
    assert_eq!(sharded(&peer).upsert(vec![keyed_point("a", 1)], "v", &Stop::never()), Ok(()));
    assert_eq!((made(&peer).len(), peer.asked("PUT /points").len()), (1, 3));
}

#[test]
fn point_without_shard_key_is_refused() {
    let peer = Scripted::start();
    let points = vec![keyed_point("a", 1), point(PointId::Number(2), json!({"repository": 5}))];
    let error = sharded(&peer).upsert(points, "v", &Stop::never()).unwrap_err();
    assert!(error.to_string().contains("point 2 has no text in `repository`"), "{error}");
    assert_eq!(peer.total(), 0);
}

#[test]
fn filter_on_the_shard_key_asks_only_its_shards() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| no_hits());
    peer.on("POST /points/scroll", |_| hits(&[]));
    peer.on("POST /points/count", |_| Reply::result(json!({"count": 1})));
    let store = sharded(&peer);
    let fixed = filter(&[("kind", &["code"]), ("repository", &["b", "a", "b"])]);
    ask_among(&store, &fixed, &Stop::never()).unwrap();
    store.scan(&PointScan { filter: &fixed, fields: &[], from: None, limit: 3 }, &Stop::never()).unwrap();
    store.count(&fixed, &Stop::never()).unwrap();
    for kind in ["POST /points/query", "POST /points/scroll", "POST /points/count"] {
        assert_eq!(peer.asked_once(kind).body["shard_key"], json!(["a", "b"]), "{kind}");
    }
    ask_among(&store, &filter(&[("kind", &["code"])]), &Stop::never()).unwrap();
    assert_eq!(peer.asked("POST /points/query")[1].body.get("shard_key"), None);
}

#[test]
fn where_one_of_the_shards_is_missing_all_are_asked() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |asked| match asked.body.get("shard_key") {
        Some(_) => missing("gone"),
        None => no_hits(),
    });
    assert_eq!(ask_among(&sharded(&peer), &filter(&[("repository", &["a", "gone"])]), &Stop::never()), Ok(0));
    let asked = peer.asked("POST /points/query");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body["filter"], asked[1].body["filter"]);
}

#[test]
fn ids_are_removed_from_every_shard() {
    let peer = Scripted::start();
    peer.on("GET /cluster", |_| {
        let shard = |key: &str| json!({"shard_id": 1, "shard_key": key});
        Reply::result(json!({
            "local_shards": [shard("a"), shard("b")],
            "remote_shards": [shard("b"), shard("c"), {"shard_id": 4}],
        }))
    });
    peer.on("POST /points/delete", |_| written("completed"));
    sharded(&peer).remove(&[PointId::Number(1)], &Stop::never()).unwrap();
    let asked = peer.asked_once("POST /points/delete").body;
    assert_eq!(asked, json!({"points": [1], "shard_key": ["a", "b", "c"]}));
}

#[test]
fn where_there_is_no_shard_nothing_is_removed() {
    let peer = Scripted::start();
    peer.on("GET /cluster", |_| Reply::result(json!({"local_shards": [], "remote_shards": []})));
    assert_eq!(sharded(&peer).remove(&[PointId::Number(1)], &Stop::never()), Ok(()));
    assert!(peer.asked("POST /points/delete").is_empty());
}
