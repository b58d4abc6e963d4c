//! Tests the requests and answers on the wire.

use forage_lookup::{Collection, Condition, PointHit, PointPage, PointScan, ShardLayout, VectorFacts};

use super::*;

/// Returns a payload with values of all types.
fn payload() -> Value {
    json!({
        "path": "src/lib.rs", "line": 12, "low": i64::MIN, "high": u64::MAX, "score": 0.5, "whole": 2.0, "is_test": false,
        "none": null, "nested": {"names": ["a", "ü", {"deep": [1, [2, 3]]}], "empty": {}},
    })
}

#[test]
fn a_query_names_vector_limit_fields_and_filter() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| no_hits());
    let vector = SparseVector::new([(9, 0.25), (4, 1.0)]);
    let (fields, filter) =
        (["path".to_owned(), "line".to_owned()], filter(&[("kind", &["code", "text"]), ("x", &["y"])]));
    let query =
        PointQuery { vector: &vector, using: "text-sparse", limit: 42, fields: &fields, filter: &filter };
    assert_eq!(store(&peer).query(&query, &Stop::never()), Ok(Vec::new()));
    let asked = peer.asked_once("POST /points/query");
    let expected = json!({
        "query": {"nearest": {"indices": [4, 9], "values": [1.0, 0.25]}},
        "using": "text-sparse",
        "filter": {"must": [{"key": "kind", "match": {"any": ["code", "text"]}}, {"key": "x", "match": {"any": ["y"]}}]},
        "limit": 42,
        "with_payload": ["path", "line"],
        "with_vector": false,
    });
    assert_eq!(asked.body, expected);
    assert_eq!(asked.header("content-type"), Some("application/json"));
}

#[test]
fn filter_conditions_are_sent_by_value_type() {
    let cases = [
        ("n=a", json!({"key": "n", "match": {"any": ["a"]}})),
        ("n=\"3\"", json!({"key": "n", "match": {"any": ["3"]}})),
        (
            "n=3|true",
            json!({"should": [
                {"key": "n", "match": {"any": ["3", "true"]}},
                {"key": "n", "match": {"any": [3]}},
                {"key": "n", "range": {"gte": 3.0, "lte": 3.0}},
                {"key": "n", "match": {"value": true}},
            ]}),
        ),
        ("n>=3", json!({"key": "n", "range": {"gte": 3.0}})),
        ("n>3", json!({"key": "n", "range": {"gt": 3.0}})),
        ("n<=3", json!({"key": "n", "range": {"lte": 3.0}})),
        ("n<3", json!({"key": "n", "range": {"lt": 3.0}})),
    ];
    for (text, sent) in cases {
        let peer = Scripted::start();
        peer.on("POST /points/query", |_| no_hits());
        let conditions = vec![Condition::parse(text).unwrap()];
        let filter = PointFilter { conditions, ids: Some(vec![PointId::Number(7), PointId::Uuid(1)]) };
        assert_eq!(ask_among(&store(&peer), &filter, &Stop::never()), Ok(0));
        let ids = json!({"has_id": [7, "00000000-0000-0000-0000-000000000001"]});
        assert_eq!(
            peer.asked_once("POST /points/query").body["filter"],
            json!({"must": [sent, ids]}),
            "{text}"
        );
    }
}

#[test]
fn hits_have_both_kinds_of_ids_and_their_payload_as_it_was() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |_| {
        let uuid = "0123abcd-0000-4000-8000-00000000000f";
        let hit = |id: Value, score| json!({"id": id, "version": 3, "score": score, "payload": payload()});
        hits(&[hit(u64::MAX.into(), 2.5), hit(uuid.into(), 1.0)])
    });
    let vector = SparseVector::ones([1]);
    let query = PointQuery {
        vector: &vector,
        using: "v",
        limit: 2,
        fields: &["path".to_owned()],
        filter: &PointFilter::default(),
    };
    let hits = store(&peer).query(&query, &Stop::never()).unwrap();
    let uuid = PointId::Uuid(0x0123_abcd_0000_4000_8000_0000_0000_000f);
    let hit = |id, score| PointHit { id, score, payload: object(payload()) };
    assert_eq!(hits, [hit(PointId::Number(u64::MAX), 2.5), hit(uuid, 1.0)]);
    // The fields must be sorted, regardless of the server's order.
    let names: Vec<&String> = hits[0].payload.keys().collect();
    assert_eq!(names, ["high", "is_test", "line", "low", "nested", "none", "path", "score", "whole"]);
    let nested: Vec<&String> = hits[0].payload["nested"].as_object().unwrap().keys().collect();
    assert_eq!(nested, ["empty", "names"]);
    assert!(hits[0].payload["line"].is_i64() && hits[0].payload["whole"].is_f64());
}

#[test]
fn queries_at_once_are_one_request_and_give_vectors() {
    let peer = Scripted::start();
    peer.on("POST /points/query/batch", |_| {
        let vector = json!({"v": {"indices": [9, 4], "values": [0.5, 2]}});
        let hit = json!({"id": 5, "score": 1.5, "payload": null, "vector": vector});
        Reply::result(json!([{"points": [hit]}, {"points": []}]))
    });
    let (some, none) = (SparseVector::ones([4]), SparseVector::default());
    let all = PointFilter::default();
    let query = |vector| PointQuery { vector, using: "v", limit: 3, fields: &[], filter: &all };
    let found =
        store(&peer).query_all(&[query(&some), query(&none), query(&some)], true, &Stop::never()).unwrap();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(found[0][0].vector, SparseVector::new([(4, 2.0), (9, 0.5)]));
    let asked = peer.asked_once("POST /points/query/batch").body;
    assert_eq!(asked["searches"].as_array().unwrap().len(), 2, "what finds nothing is not asked");
    assert_eq!(
        (&asked["searches"][0]["with_vector"], &asked["searches"][0]["with_payload"]),
        (&json!(["v"]), &json!(false))
    );
    peer.on("POST /points/query/batch", |_| Reply::result(json!([])));
    let error = store(&peer).query_all(&[query(&some)], true, &Stop::never()).unwrap_err();
    assert!(error.to_string().contains("fewer queries"), "{error}");
}

#[test]
fn query_without_possible_hits_is_not_sent() {
    let peer = Scripted::start();
    let store = store(&peer);
    let (empty, some, nothing) =
        (SparseVector::default(), SparseVector::ones([1]), filter(&[("a", &["b"]), ("kind", &[])]));
    let (all, stop) = (PointFilter::default(), Stop::never());
    for (vector, limit, filter) in [(&empty, 5, &all), (&some, 0, &all), (&some, 5, &nothing)] {
        let query = PointQuery { vector, using: "v", limit, fields: &[], filter };
        assert_eq!(store.query(&query, &stop), Ok(Vec::new()));
    }
    let scan = |limit, filter| PointScan { filter, fields: &[], from: Some(PointId::Number(3)), limit };
    assert_eq!(store.scan(&scan(5, &nothing), &stop), Ok(PointPage::default()));
    assert_eq!(store.scan(&scan(0, &all), &stop).unwrap().next, Some(PointId::Number(3)));
    assert_eq!(store.count(&nothing, &stop), Ok(0));
    assert_eq!(store.upsert(Vec::new(), "v", &stop), Ok(()));
    assert_eq!(store.remove(&[], &stop), Ok(()));
    assert_eq!(store.finish(&stop), Ok(()));
    assert_eq!(peer.total(), 0);
}

#[test]
fn upsert_sends_vector_payload_and_id_and_waits() {
    let peer = Scripted::start();
    peer.on("PUT /points", |_| written("completed"));
    let points = vec![point(PointId::Number(7), payload()), point(PointId::Uuid(1), json!({}))];
    store(&peer).upsert(points, "text-sparse", &Stop::never()).unwrap();
    let asked = peer.asked_once("PUT /points");
    assert_eq!(asked.target, "/collections/code/points?wait=true");
    let vector = json!({"text-sparse": {"indices": [3, 7], "values": [1.5, 0.5]}});
    let expected = json!({"points": [
        {"id": 7, "vector": vector, "payload": payload()},
        {"id": "00000000-0000-0000-0000-000000000001", "vector": vector, "payload": {}},
    ]});
    assert_eq!(asked.body, expected);
}

#[test]
fn acknowledged_write_is_not_completed() {
    for (status, kind) in [
        ("acknowledged", "timeout"),
        ("wait_timeout", "timeout"),
        ("clock_rejected", "unavailable"),
        ("?", "invalid"),
    ] {
        let peer = Scripted::start();
        peer.on("PUT /points", move |_| written(status));
        peer.on("POST /points/delete", move |_| written(status));
        let store = store(&peer);
        let points = vec![point(PointId::Number(7), json!({}))];
        assert_eq!(store.upsert(points, "v", &Stop::never()).unwrap_err().kind(), kind, "{status}");
        assert_eq!(store.remove(&[PointId::Number(7)], &Stop::never()).unwrap_err().kind(), kind, "{status}");
    }
}

#[test]
fn points_are_removed_by_their_ids_and_waited_for() {
    let peer = Scripted::start();
    peer.on("POST /points/delete", |_| written("completed"));
    store(&peer).remove(&[PointId::Number(7), PointId::Uuid(255)], &Stop::never()).unwrap();
    let asked = peer.asked_once("POST /points/delete");
    assert_eq!(asked.target, "/collections/code/points/delete?wait=true");
    assert_eq!(asked.body, json!({"points": [7, "00000000-0000-0000-0000-0000000000ff"]}));
}

#[test]
fn a_scan_goes_from_page_to_page() {
    let peer = Scripted::start();
    peer.on("POST /points/scroll", |asked| {
        let point = |number: u64| json!({"id": number, "payload": {"path": format!("{number}.rs")}});
        let page = match asked.body.get("offset") {
            None => json!({"points": [point(1), point(2)], "next_page_offset": 5}),
            Some(_) => json!({"points": [point(5)], "next_page_offset": null}),
        };
        Reply::result(page)
    });
    let store = store(&peer);
    let (fields, filter) = (["path".to_owned()], filter(&[("kind", &["code"])]));
    let scan = |from| {
        store.scan(&PointScan { filter: &filter, fields: &fields, from, limit: 2 }, &Stop::never()).unwrap()
    };
    let row = |number| (PointId::Number(number), object(json!({"path": format!("{number}.rs")})));
    let first = scan(None);
    assert_eq!(first, PointPage { points: vec![row(1), row(2)], next: Some(PointId::Number(5)) });
    assert_eq!(scan(first.next), PointPage { points: vec![row(5)], next: None });
    let asked = peer.asked("POST /points/scroll");
    let filter = json!({"must": [{"key": "kind", "match": {"any": ["code"]}}]});
    // The request names no order, since the server sorts by id anyway.
    let expected = json!({"filter": filter, "limit": 2, "with_payload": ["path"], "with_vector": false});
    assert_eq!(asked[0].body, expected);
    assert_eq!(asked[1].body["offset"], 5);
}

#[test]
fn no_wanted_field_means_no_payload() {
    let peer = Scripted::start();
    peer.on("POST /points/scroll", |_| Reply::result(json!({"points": [], "next_page_offset": null})));
    let scan = PointScan { filter: &PointFilter::default(), fields: &[], from: None, limit: 10 };
    store(&peer).scan(&scan, &Stop::never()).unwrap();
    let asked = peer.asked_once("POST /points/scroll");
    assert_eq!(asked.body, json!({"limit": 10, "with_payload": false, "with_vector": false}));
}

#[test]
fn a_page_of_a_thousand_texts_is_not_too_large() {
    let peer = Scripted::start();
    peer.on("POST /points/scroll", |asked| {
        let text = "x".repeat(8 << 10);
        let point = |number: u64| json!({"id": number, "payload": {"text": text}});
        let points: Vec<Value> = (0..asked.body["limit"].as_u64().unwrap()).map(point).collect();
        Reply::result(json!({ "points": points }))
    });
    let scan =
        PointScan { filter: &PointFilter::default(), fields: &["text".to_owned()], from: None, limit: 1000 };
    let page = store(&peer).scan(&scan, &Stop::never()).unwrap();
    let lengths: usize = page.points.iter().map(|(_, payload)| payload["text"].as_str().unwrap().len()).sum();
    assert_eq!((page.points.len(), lengths), (1000, 1000 * (8 << 10)));
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let peer = Scripted::start();
    // The server announces 1 TiB, but sends nothing.
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1099511627776\r\n\r\n".to_vec();
    peer.on("POST /points/count", move |_| Reply::Bytes(head.clone()));
    let error = store(&peer).count(&PointFilter::default(), &Stop::never()).unwrap_err();
    assert!(error.kind() == "invalid" && error.to_string().contains("larger than 262144 KiB"), "{error}");
}

#[test]
fn an_answer_without_payloads_is_as_long_as_its_hits_need() {
    let hit = |number: u64| json!({"id": number, "version": 1, "score": 0.5, "shard_key": "k".repeat(100)});
    for (count, is_refused) in [(300, false), (3_000, true)] {
        let peer = Scripted::start();
        peer.on("POST /points/query/batch", move |_| {
            Reply::result(json!([{"points": (0..count).map(hit).collect::<Vec<_>>()}]))
        });
        let (vector, all) = (SparseVector::ones([4]), PointFilter::default());
        let query = PointQuery { vector: &vector, using: "v", limit: 300, fields: &[], filter: &all };
        let found = store(&peer).query_all(&[query], false, &Stop::never());
        assert_eq!(found.is_err_and(|error| error.to_string().contains("larger than 214 KiB")), is_refused);
    }
}

#[test]
fn a_count_is_exact_and_filtered() {
    let peer = Scripted::start();
    peer.on("POST /points/count", |_| Reply::result(json!({"count": 52_683})));
    assert_eq!(store(&peer).count(&filter(&[("kind", &["code"])]), &Stop::never()), Ok(52_683));
    let filter = json!({"must": [{"key": "kind", "match": {"any": ["code"]}}]});
    assert_eq!(peer.asked_once("POST /points/count").body, json!({"filter": filter, "exact": true}));
}

#[test]
fn a_collection_says_its_vectors_its_contract_and_its_size() {
    let peer = Scripted::start();
    peer.on("GET ", |_| {
        let vectors = json!({"text-sparse": {"modifier": "idf", "index": {}}, "none": {"modifier": "none"}, "unsaid": {}});
        let params = json!({"vectors": {"dense": {"size": 3, "distance": "Cosine"}}, "sparse_vectors": vectors,
            "shard_number": 6});
        let metadata = json!({Contract::KEY: "bm25/1 k=1.2", "other": 3});
        Reply::result(json!({"status": "green", "points_count": 12, "config": {"params": params, "metadata": metadata}}))
    });
    let facts = |name: &str, has_idf| (name.to_owned(), VectorFacts { has_idf });
    let collection = Collection {
        sparse_vectors: [facts("none", false), facts("text-sparse", true), facts("unsaid", false)].into(),
        contract: Some(Contract::new("bm25/1", "k=1.2")),
        points: 12,
        layout: ShardLayout::Hashed(6),
    };
    assert_eq!(store(&peer).collection(&Stop::never()), Ok(Some(collection)));
    let keyed = json!({"config": {"params": {"shard_number": 1, "sharding_method": "custom"}}});
    peer.on("GET ", move |_| Reply::result(keyed.clone()));
    let layout = store(&peer).collection(&Stop::never()).unwrap().unwrap().layout;
    assert_eq!(layout, ShardLayout::Keyed);
}

#[test]
fn a_bare_collection_has_neither_vectors_nor_contract() {
    let peer = Scripted::start();
    peer.on("GET ", |_| Reply::result(json!({"config": {"params": {}}})));
    assert_eq!(store(&peer).collection(&Stop::never()), Ok(Some(Collection::default())));
}

#[test]
fn a_collection_is_made_with_idf_contract_and_indexes() {
    let peer = Scripted::start();
    peer.on("PUT ", |_| Reply::result(true.into()));
    peer.on("GET ", |_| Reply::result(json!({"payload_schema": {}})));
    peer.on("PUT /index", |_| written("completed"));
    let sharding = Sharding {
        shards: Some(3),
        replicas: Some(2),
        write_consistency: Some(1),
        key_field: None,
        is_on_disk: true,
    };
    store(&peer).create(&creation(sharding), &Stop::never()).unwrap();
    let expected = json!({
        "sparse_vectors": {"text-sparse": {"index": {"on_disk": true}, "modifier": "idf"}},
        "on_disk_payload": true,
        "metadata": {Contract::KEY: "fastembed-bm25/1 k=1.2"},
        "shard_number": 3, "replication_factor": 2, "write_consistency_factor": 1,
    });
    assert_eq!(peer.asked_once("PUT ").body, expected);
    let indexes = peer.asked("PUT /index");
    let index = |field: &str| json!({"field_name": field, "field_schema": "keyword"});
    let bodies: Vec<Value> = indexes.iter().map(|asked| asked.body.clone()).collect();
    assert_eq!(bodies, [index("kind"), index("repository")]);
    assert!(indexes.iter().all(|asked| asked.target.ends_with("?wait=true")));
}

#[test]
fn what_is_not_said_of_sharding_is_the_server_s_to_choose() {
    let peer = Scripted::start();
    peer.on("PUT ", |_| Reply::result(true.into()));
    peer.on("GET ", |_| Reply::result(json!({"payload_schema": {}})));
    let creation = Creation { indexed_fields: Vec::new(), ..creation(Sharding::default()) };
    store(&peer).create(&creation, &Stop::never()).unwrap();
    let asked = peer.asked_once("PUT ").body;
    let names: Vec<&String> = asked.as_object().unwrap().keys().collect();
    assert_eq!(names, ["sparse_vectors", "on_disk_payload", "metadata"]);
}

#[test]
fn a_collection_is_dropped_or_was_not_there() {
    for is_there in [true, false] {
        let peer = Scripted::start();
        peer.on("DELETE ", move |_| Reply::result(is_there.into()));
        assert_eq!(store(&peer).drop_collection(&Stop::never()), Ok(is_there));
    }
}

#[test]
fn the_name_of_a_collection_leads_nowhere_else() {
    let peer = Scripted::start();
    let settings = ServerSettings::new(&peer.url(), "a/../b?c#d%e ü");
    let _ = ServerStore::connect(settings).unwrap().collection(&Stop::never());
    let asked = peer.asked("GET /collections/a%2F%2E%2E%2Fb%3Fc%23d%25e%20%C3%BC");
    assert_eq!(asked.len(), 1);
}
