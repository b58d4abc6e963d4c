//! Collections that are sharded by a payload field.

use forage_lookup::PointScan;
use qdrant::{
    CollectionClusterInfoRequest, CountPoints, CreateCollection, CreateFieldIndexCollection,
    CreateShardKeyRequest, DeleteCollection, DeletePoints, QueryPoints, ScrollPoints, ShardKey,
    ShardKeySelector, ShardingMethod, UpsertPoints, shard_key::Key,
};
use tonic::Status;

use super::*;

fn sharded(peer: &Peer) -> ServerStore {
    let settings = ServerSettings { shard_key_field: Some("repository".to_owned()), ..settings(&peer.url()) };
    ServerStore::connect(settings).unwrap()
}

fn name(key: &ShardKey) -> String {
    match key.key.as_ref().unwrap() {
        Key::Keyword(text) => text.clone(),
        Key::Number(number) => panic!("shard key {number} is no text"),
    }
}

fn names(selector: &Option<ShardKeySelector>) -> Vec<String> {
    selector.as_ref().unwrap().shard_keys.iter().map(name).collect()
}

/// The shards that were asked for.
fn made(peer: &Peer) -> Vec<String> {
    let requests: Vec<CreateShardKeyRequest> = peer.asked();
    requests.into_iter().map(|request| name(&request.request.unwrap().shard_key.unwrap())).collect()
}

fn of(repository: &str, id: u64) -> Point {
    point(PointId::Number(id), json!({"repository": repository}))
}

fn missing(name: &str) -> Status {
    Status::invalid_argument(format!("Wrong input: Shard key {name} not found"))
}

#[test]
fn a_collection_with_a_key_field_has_custom_sharding() {
    let peer = Peer::start();
    peer.on(|_: &CreateCollection| Reply::Now(done(true)));
    // With no shard yet a server has nothing to index.
    peer.on(|_: &CreateFieldIndexCollection| Reply::Now(written(UpdateStatus::Acknowledged)));
    let sharding = Sharding { key_field: Some("repository".to_owned()), ..Sharding::default() };
    sharded(&peer).create(&creation(sharding), &Stop::never()).unwrap();
    assert_eq!(peer.asked_once::<CreateCollection>().sharding_method, Some(ShardingMethod::Custom.into()));
}

#[test]
fn a_collection_is_not_made_with_another_key_field_than_that_of_the_settings() {
    let peer = Peer::start();
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
fn points_go_to_the_shards_of_their_keys_which_are_made_once() {
    let peer = Peer::start();
    peer.on(|_: &CreateShardKeyRequest| {
        Reply::Now(qdrant::CreateShardKeyResponse { result: true, time: 0.0 })
    });
    peer.on(|_: &UpsertPoints| Reply::Now(written(UpdateStatus::Completed)));
    let store = sharded(&peer);
    store.upsert(vec![of("b", 1), of("a", 2), of("b", 3)], "v", &Stop::never()).unwrap();
    store.upsert(vec![of("b", 4)], "v", &Stop::never()).unwrap();

    assert_eq!(made(&peer), ["a", "b"]);
    let asked: Vec<UpsertPoints> = peer.asked();
    let ids =
        |asked: &UpsertPoints| asked.points.iter().map(|point| point.id.clone().unwrap()).collect::<Vec<_>>();
    let groups: Vec<_> = asked.iter().map(|asked| (names(&asked.shard_key_selector), ids(asked))).collect();
    assert_eq!(
        groups,
        [
            (vec!["a".to_owned()], vec![2.into()]),
            (vec!["b".to_owned()], vec![1.into(), 3.into()]),
            (vec!["b".to_owned()], vec![4.into()])
        ]
    );
}

#[test]
fn a_shard_that_another_process_has_made_is_fine() {
    for status in [
        Status::already_exists("Shard key a exists"),
        Status::invalid_argument("Bad request: Sharding key a already exists for collection code"),
    ] {
        let peer = Peer::start();
        peer.on(move |_: &CreateShardKeyRequest| {
            Reply::<qdrant::CreateShardKeyResponse>::Refuse(status.clone())
        });
        peer.on(|_: &UpsertPoints| Reply::Now(written(UpdateStatus::Completed)));
        assert_eq!(sharded(&peer).upsert(vec![of("a", 1)], "v", &Stop::never()), Ok(()));
    }
}

#[test]
fn a_server_on_its_own_says_that_it_has_no_shard_keys() {
    let peer = Peer::start();
    let status = || Status::unimplemented("Qdrant is running in standalone mode");
    peer.on(move |_: &CreateShardKeyRequest| Reply::<qdrant::CreateShardKeyResponse>::Refuse(status()));
    let error = sharded(&peer).upsert(vec![of("a", 1)], "v", &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid");
    assert!(error.to_string().contains("standalone mode"), "{error}");
    assert!(peer.asked::<UpsertPoints>().is_empty());
}

#[test]
fn a_shard_is_made_again_after_a_write_to_it_failed_and_after_a_drop() {
    let peer = Peer::start();
    peer.on(|_: &CreateShardKeyRequest| {
        Reply::Now(qdrant::CreateShardKeyResponse { result: true, time: 0.0 })
    });
    peer.on(|_: &UpsertPoints| Reply::<qdrant::PointsOperationResponse>::Refuse(missing("a")));
    let store = sharded(&peer);
    assert_eq!(store.upsert(vec![of("a", 1)], "v", &Stop::never()).unwrap_err().kind(), "invalid");
    peer.on(|_: &UpsertPoints| Reply::Now(written(UpdateStatus::Completed)));
    store.upsert(vec![of("a", 1)], "v", &Stop::never()).unwrap();
    assert_eq!(made(&peer), ["a", "a"]);
    peer.on(|_: &DeleteCollection| Reply::Now(done(true)));
    assert_eq!(store.drop_collection(&Stop::never()), Ok(true));
    store.upsert(vec![of("a", 1)], "v", &Stop::never()).unwrap();
    assert_eq!(made(&peer), ["a", "a", "a"]);
}

#[test]
fn a_point_without_a_text_in_the_field_is_named_and_nothing_is_written() {
    let peer = Peer::start();
    let points = vec![of("a", 1), point(PointId::Number(2), json!({"repository": 5}))];
    let error = sharded(&peer).upsert(points, "v", &Stop::never()).unwrap_err();
    assert!(error.to_string().contains("point 2 has no text in `repository`"), "{error}");
    assert_eq!(peer.total(), 0);
}

#[test]
fn a_filter_that_fixes_the_field_is_asked_of_its_shards_alone() {
    let peer = Peer::start();
    peer.on(|_: &QueryPoints| no_hits());
    peer.on(|_: &ScrollPoints| Reply::Now(qdrant::ScrollResponse::default()));
    peer.on(|_: &CountPoints| {
        Reply::Now(qdrant::CountResponse {
            result: Some(qdrant::CountResult { count: 1 }),
            ..Default::default()
        })
    });
    let store = sharded(&peer);
    let fixed = filter(&[("kind", &["code"]), ("repository", &["b", "a", "b"])]);
    ask_among(&store, &fixed, &Stop::never()).unwrap();
    store.scan(&PointScan { filter: &fixed, fields: &[], from: None, limit: 3 }, &Stop::never()).unwrap();
    store.count(&fixed, &Stop::never()).unwrap();
    assert_eq!(names(&peer.asked_once::<QueryPoints>().shard_key_selector), ["a", "b"]);
    assert_eq!(names(&peer.asked_once::<ScrollPoints>().shard_key_selector), ["a", "b"]);
    assert_eq!(names(&peer.asked_once::<CountPoints>().shard_key_selector), ["a", "b"]);

    ask_among(&store, &filter(&[("kind", &["code"])]), &Stop::never()).unwrap();
    assert_eq!(peer.asked::<QueryPoints>()[1].shard_key_selector, None);
}

#[test]
fn where_one_of_the_shards_is_missing_all_are_asked() {
    let peer = Peer::start();
    peer.on(|asked: &QueryPoints| match &asked.shard_key_selector {
        Some(_) => Reply::Refuse(missing("gone")),
        None => no_hits(),
    });
    assert_eq!(ask_among(&sharded(&peer), &filter(&[("repository", &["a", "gone"])]), &Stop::never()), Ok(0));
    let asked: Vec<QueryPoints> = peer.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].filter, asked[1].filter);
}

#[test]
fn ids_are_removed_from_every_shard() {
    let peer = Peer::start();
    peer.on(|_: &CollectionClusterInfoRequest| {
        let key = |name: &str| Some(ShardKey::from(name));
        let local = |name| qdrant::LocalShardInfo { shard_key: key(name), ..Default::default() };
        let remote = |name| qdrant::RemoteShardInfo { shard_key: key(name), ..Default::default() };
        Reply::Now(qdrant::CollectionClusterInfoResponse {
            local_shards: vec![local("a"), local("b")],
            remote_shards: vec![remote("b"), remote("c")],
            ..Default::default()
        })
    });
    peer.on(|_: &DeletePoints| Reply::Now(written(UpdateStatus::Completed)));
    sharded(&peer).remove(&[PointId::Number(1)], &Stop::never()).unwrap();
    assert_eq!(names(&peer.asked_once::<DeletePoints>().shard_key_selector), ["a", "b", "c"]);
}

#[test]
fn where_there_is_no_shard_nothing_is_removed() {
    let peer = Peer::start();
    peer.on(|_: &CollectionClusterInfoRequest| Reply::Now(qdrant::CollectionClusterInfoResponse::default()));
    assert_eq!(sharded(&peer).remove(&[PointId::Number(1)], &Stop::never()), Ok(()));
    assert!(peer.asked::<DeletePoints>().is_empty());
}
