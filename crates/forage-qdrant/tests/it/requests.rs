//! What goes over the wire, and what comes back.

use forage_lookup::{Collection, PointHit, PointPage, PointScan, ShardLayout, VectorFacts};
use qdrant::{
    CountPoints, CreateCollection, CreateFieldIndexCollection, DeleteCollection, DeletePoints,
    GetCollectionInfoRequest, Modifier, QueryPoints, ScrollPoints, UpsertPoints,
    with_payload_selector::SelectorOptions, with_vectors_selector,
};

use super::*;

/// What a payload may be made of.
fn payload() -> Value {
    json!({
        "path": "src/lib.rs", "line": 12, "low": i64::MIN, "score": 0.5, "whole": 2.0, "is_test": false, "none": null,
        "nested": {"names": ["a", "ü", {"deep": [1, [2, 3]]}], "empty": {}},
    })
}

fn no_vectors() -> Option<qdrant::WithVectorsSelector> {
    Some(with_vectors_selector::SelectorOptions::Enable(false).into())
}

fn included(selector: Option<qdrant::WithPayloadSelector>) -> Vec<String> {
    match selector.unwrap().selector_options.unwrap() {
        SelectorOptions::Include(include) => include.fields,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_names_vector_limit_fields_and_filter() {
    let peer = Peer::start();
    peer.on(|_: &QueryPoints| no_hits());
    let vector = SparseVector::new([(9, 0.25), (4, 1.0)]);
    let (fields, filter) =
        (["path".to_owned(), "line".to_owned()], filter(&[("kind", &["code", "text"]), ("x", &["y"])]));
    let query =
        PointQuery { vector: &vector, using: "text-sparse", limit: 42, fields: &fields, filter: &filter };
    assert_eq!(store(&peer).query(&query, &Stop::never()), Ok(Vec::new()));

    let asked: QueryPoints = peer.asked_once();
    assert_eq!(asked.collection_name, "code");
    assert_eq!((asked.using.as_deref(), asked.limit, asked.offset), (Some("text-sparse"), Some(42), None));
    assert_eq!(included(asked.with_payload), ["path", "line"]);
    assert_eq!(asked.with_vectors, no_vectors());
    assert_eq!(asked.shard_key_selector, None);
    let nearest =
        qdrant::Query::new_nearest(qdrant::VectorInput::new_sparse(vec![4u32, 9], vec![1.0f32, 0.25]));
    assert_eq!(asked.query, Some(nearest));
    let of = |field: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        qdrant::Condition::matches(field, values)
    };
    assert_eq!(asked.filter, Some(qdrant::Filter::must([of("kind", &["code", "text"]), of("x", &["y"])])));
}

#[test]
fn conditions_go_over_the_wire_by_the_types_that_a_value_may_have() {
    use forage_lookup::Condition;
    use qdrant::{Condition as Sent, Range};
    let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<String>>();
    let range = |range| Sent::range("n", range);
    let cases = [
        ("n=a", Sent::matches("n", texts(&["a"]))),
        ("n=\"3\"", Sent::matches("n", texts(&["3"]))),
        (
            "n=3|true",
            qdrant::Filter::should([
                Sent::matches("n", texts(&["3", "true"])),
                Sent::matches("n", vec![3_i64]),
                range(Range { gte: Some(3.0), lte: Some(3.0), ..Range::default() }),
                Sent::matches("n", true),
            ])
            .into(),
        ),
        ("n>=3", range(Range { gte: Some(3.0), ..Range::default() })),
        ("n>3", range(Range { gt: Some(3.0), ..Range::default() })),
        ("n<=3", range(Range { lte: Some(3.0), ..Range::default() })),
        ("n<3", range(Range { lt: Some(3.0), ..Range::default() })),
    ];
    for (written, sent) in cases {
        let peer = Peer::start();
        peer.on(|_: &QueryPoints| no_hits());
        let conditions = vec![Condition::parse(written).unwrap()];
        let filter =
            forage_lookup::PointFilter { conditions, ids: Some(vec![forage_lookup::PointId::Number(7)]) };
        assert_eq!(ask_among(&store(&peer), &filter, &Stop::never()), Ok(0));
        let asked: QueryPoints = peer.asked_once();
        assert_eq!(asked.filter, Some(qdrant::Filter::must([sent, Sent::has_id([7])])), "{written}");
    }
}

#[test]
fn hits_have_both_kinds_of_ids_and_their_payload_as_it_was() {
    let peer = Peer::start();
    peer.on(|_: &QueryPoints| {
        let payload = qdrant_payload(payload());
        let hit = |id: qdrant::PointId, score| qdrant::ScoredPoint {
            id: Some(id),
            score,
            payload: payload.clone(),
            ..Default::default()
        };
        let uuid = "0123abcd-0000-4000-8000-00000000000f";
        Reply::Now(qdrant::QueryResponse {
            result: vec![hit(u64::MAX.into(), 2.5), hit(uuid.into(), 1.0)],
            ..Default::default()
        })
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
    // The protocol has no order of fields: it is made, and the same every time.
    let names: Vec<&String> = hits[0].payload.keys().collect();
    assert_eq!(names, ["is_test", "line", "low", "nested", "none", "path", "score", "whole"]);
    assert!(hits[0].payload["line"].is_i64() && hits[0].payload["whole"].is_f64());
}

/// Through the conversion that is tested: only its way back is compared with JSON.
fn qdrant_payload(value: Value) -> std::collections::HashMap<String, qdrant::Value> {
    fn convert(value: Value) -> qdrant::Value {
        match value {
            Value::Null => qdrant::Value { kind: Some(qdrant::value::Kind::NullValue(0)) },
            Value::Bool(value) => value.into(),
            Value::Number(number) if number.is_f64() => number.as_f64().unwrap().into(),
            Value::Number(number) => number.as_i64().unwrap().into(),
            Value::String(text) => text.into(),
            Value::Array(values) => values.into_iter().map(convert).collect::<Vec<_>>().into(),
            Value::Object(_) => {
                let fields = qdrant_payload(value);
                qdrant::Value { kind: Some(qdrant::value::Kind::StructValue(qdrant::Struct { fields })) }
            }
        }
    }
    object(value).into_iter().map(|(name, value)| (name, convert(value))).collect()
}

#[test]
fn what_can_find_nothing_is_not_asked() {
    let peer = Peer::start();
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
fn points_are_written_with_vector_payload_and_id_and_waited_for() {
    let peer = Peer::start();
    peer.on(|_: &UpsertPoints| Reply::Now(written(UpdateStatus::Completed)));
    let points = vec![point(PointId::Number(7), payload()), point(PointId::Uuid(1), json!({}))];
    store(&peer).upsert(points, "text-sparse", &Stop::never()).unwrap();

    let asked: UpsertPoints = peer.asked_once();
    assert_eq!(
        (asked.collection_name.as_str(), asked.wait, asked.shard_key_selector),
        ("code", Some(true), None)
    );
    let ids: Vec<_> = asked.points.iter().map(|point| point.id.clone().unwrap()).collect();
    assert_eq!(ids, [7.into(), "00000000-0000-0000-0000-000000000001".into()]);
    assert_eq!(asked.points[0].payload, qdrant_payload(payload()));
    let vector = qdrant::Vector::new_sparse(vec![3u32, 7], vec![1.5f32, 0.5]);
    let vectors = qdrant::NamedVectors::default().add_vector("text-sparse", vector);
    assert_eq!(asked.points[0].vectors, Some(vectors.into()));
}

#[test]
fn an_integer_that_the_protocol_can_t_carry_is_refused_by_name_and_without_its_value() {
    let peer = Peer::start();
    let points =
        vec![point(PointId::Number(7), json!({"a": 1, "hash": [{"b": 18_446_744_073_709_551_615_u64}]}))];
    let error = store(&peer).upsert(points, "v", &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid");
    let text = error.to_string();
    assert!(
        text.contains("point 7") && text.contains("`hash`") && !text.contains("18446744073709551615"),
        "{text}"
    );
    assert_eq!(peer.total(), 0);
}

#[test]
fn what_the_server_only_took_note_of_is_not_written() {
    for (status, kind) in [
        (UpdateStatus::Acknowledged, "timeout"),
        (UpdateStatus::WaitTimeout, "timeout"),
        (UpdateStatus::ClockRejected, "unavailable"),
        (UpdateStatus::UnknownUpdateStatus, "invalid"),
    ] {
        let peer = Peer::start();
        peer.on(move |_: &UpsertPoints| Reply::Now(written(status)));
        peer.on(move |_: &DeletePoints| Reply::Now(written(status)));
        let store = store(&peer);
        let points = vec![point(PointId::Number(7), json!({}))];
        assert_eq!(store.upsert(points, "v", &Stop::never()).unwrap_err().kind(), kind, "{status:?}");
        assert_eq!(
            store.remove(&[PointId::Number(7)], &Stop::never()).unwrap_err().kind(),
            kind,
            "{status:?}"
        );
    }
}

#[test]
fn points_are_removed_by_their_ids_and_waited_for() {
    let peer = Peer::start();
    peer.on(|_: &DeletePoints| Reply::Now(written(UpdateStatus::Completed)));
    store(&peer).remove(&[PointId::Number(7), PointId::Uuid(255)], &Stop::never()).unwrap();
    let asked: DeletePoints = peer.asked_once();
    assert_eq!(
        (asked.collection_name.as_str(), asked.wait, asked.shard_key_selector),
        ("code", Some(true), None)
    );
    let ids: Vec<qdrant::PointId> = vec![7.into(), "00000000-0000-0000-0000-0000000000ff".into()];
    assert_eq!(asked.points, Some(ids.into()));
}

#[test]
fn a_scan_goes_from_page_to_page() {
    let peer = Peer::start();
    peer.on(|asked: &ScrollPoints| {
        let id = |number: u64| Some(qdrant::PointId::from(number));
        let point = |number| qdrant::RetrievedPoint {
            id: id(number),
            payload: qdrant_payload(json!({"path": format!("{number}.rs")})),
            ..Default::default()
        };
        let is_first = asked.offset.is_none();
        let (result, next) =
            if is_first { (vec![point(1), point(2)], id(5)) } else { (vec![point(5)], None) };
        Reply::Now(qdrant::ScrollResponse { result, next_page_offset: next, ..Default::default() })
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

    let asked: Vec<ScrollPoints> = peer.asked();
    assert_eq!(asked[1].offset, Some(5.into()));
    assert_eq!((asked[0].limit, asked[0].with_vectors.clone()), (Some(2), no_vectors()));
    assert!(asked[0].order_by.is_none(), "by id is what the server does by itself");
    assert_eq!(included(asked[0].with_payload.clone()), ["path"]);
    assert_eq!(
        asked[0].filter,
        Some(qdrant::Filter::must([qdrant::Condition::matches("kind", vec!["code".to_owned()])]))
    );
}

#[test]
fn no_wanted_field_means_no_payload() {
    let peer = Peer::start();
    peer.on(|_: &ScrollPoints| Reply::Now(qdrant::ScrollResponse::default()));
    let scan = PointScan { filter: &PointFilter::default(), fields: &[], from: None, limit: 10 };
    store(&peer).scan(&scan, &Stop::never()).unwrap();
    let asked: ScrollPoints = peer.asked_once();
    assert_eq!(asked.with_payload, Some(SelectorOptions::Enable(false).into()));
    assert_eq!(asked.filter, None);
}

#[test]
fn a_page_of_a_thousand_texts_is_not_too_large() {
    let peer = Peer::start();
    peer.on(|asked: &ScrollPoints| {
        // Twice the 4 MB at which gRPC ends by itself.
        let text = "x".repeat(8 << 10);
        let point = |number: u64| qdrant::RetrievedPoint {
            id: Some(number.into()),
            payload: qdrant_payload(json!({"text": text})),
            ..Default::default()
        };
        let result = (0..u64::from(asked.limit.unwrap())).map(point).collect();
        Reply::Now(qdrant::ScrollResponse { result, ..Default::default() })
    });
    let scan =
        PointScan { filter: &PointFilter::default(), fields: &["text".to_owned()], from: None, limit: 1000 };
    let page = store(&peer).scan(&scan, &Stop::never()).unwrap();
    let lengths: usize = page.points.iter().map(|(_, payload)| payload["text"].as_str().unwrap().len()).sum();
    assert_eq!((page.points.len(), lengths), (1000, 1000 * (8 << 10)));
}

#[test]
fn a_count_is_exact_and_filtered() {
    let peer = Peer::start();
    peer.on(|_: &CountPoints| {
        Reply::Now(qdrant::CountResponse {
            result: Some(qdrant::CountResult { count: 52_683 }),
            ..Default::default()
        })
    });
    assert_eq!(store(&peer).count(&filter(&[("kind", &["code"])]), &Stop::never()), Ok(52_683));
    let asked: CountPoints = peer.asked_once();
    assert_eq!((asked.collection_name.as_str(), asked.exact), ("code", Some(true)));
    assert_eq!(
        asked.filter,
        Some(qdrant::Filter::must([qdrant::Condition::matches("kind", vec!["code".to_owned()])]))
    );
}

#[test]
fn a_collection_says_its_vectors_its_contract_and_its_size() {
    let peer = Peer::start();
    peer.on(|asked: &GetCollectionInfoRequest| {
        assert_eq!(asked.collection_name, "code");
        let vector = |modifier: Option<Modifier>| qdrant::SparseVectorParams {
            modifier: modifier.map(Into::into),
            ..Default::default()
        };
        let vectors = [
            ("text-sparse".to_owned(), vector(Some(Modifier::Idf))),
            ("none".to_owned(), vector(Some(Modifier::None))),
            ("unsaid".to_owned(), vector(None)),
        ];
        let params = qdrant::CollectionParams {
            sparse_vectors_config: Some(qdrant::SparseVectorConfig { map: vectors.into() }),
            ..Default::default()
        };
        let metadata =
            [(Contract::KEY.to_owned(), "bm25/1 k=1.2".into()), ("other".to_owned(), 3.into())].into();
        let config = qdrant::CollectionConfig { params: Some(params), metadata, ..Default::default() };
        let info =
            qdrant::CollectionInfo { config: Some(config), points_count: Some(12), ..Default::default() };
        Reply::Now(qdrant::GetCollectionInfoResponse { result: Some(info), time: 0.0 })
    });
    let facts = |name: &str, has_idf| (name.to_owned(), VectorFacts { has_idf });
    let collection = Collection {
        sparse_vectors: [facts("none", false), facts("text-sparse", true), facts("unsaid", false)].into(),
        contract: Some(Contract::new("bm25/1", "k=1.2")),
        points: 12,
        layout: ShardLayout::Single,
    };
    assert_eq!(store(&peer).collection(&Stop::never()), Ok(Some(collection)));
}

#[test]
fn a_bare_collection_has_neither_vectors_nor_contract() {
    let peer = Peer::start();
    peer.on(|_: &GetCollectionInfoRequest| {
        Reply::Now(qdrant::GetCollectionInfoResponse {
            result: Some(qdrant::CollectionInfo::default()),
            time: 0.0,
        })
    });
    assert_eq!(store(&peer).collection(&Stop::never()), Ok(Some(Collection::default())));
}

#[test]
fn a_collection_is_made_with_idf_contract_and_indexes() {
    let peer = Peer::start();
    peer.on(|_: &CreateCollection| Reply::Now(done(true)));
    peer.on(|_: &CreateFieldIndexCollection| Reply::Now(written(UpdateStatus::Completed)));
    let sharding = Sharding {
        shards: Some(3),
        replicas: Some(2),
        write_consistency: Some(1),
        key_field: None,
        is_on_disk: true,
    };
    store(&peer).create(&creation(sharding), &Stop::never()).unwrap();

    let asked: CreateCollection = peer.asked_once();
    assert_eq!(
        (asked.shard_number, asked.replication_factor, asked.write_consistency_factor),
        (Some(3), Some(2), Some(1))
    );
    assert_eq!((asked.sharding_method, asked.vectors_config), (None, None));
    assert_eq!(asked.metadata, [(Contract::KEY.to_owned(), "fastembed-bm25/1 k=1.2".into())].into());
    #[expect(deprecated, reason = "what every server knows")]
    let on_disk = asked.on_disk_payload;
    assert_eq!(on_disk, Some(true));
    let vector = asked.sparse_vectors_config.unwrap().map["text-sparse"];
    assert_eq!(vector.modifier(), Modifier::Idf);
    #[expect(deprecated, reason = "what every server knows")]
    let on_disk = vector.index.unwrap().on_disk;
    assert_eq!(on_disk, Some(true));
    let indexes: Vec<CreateFieldIndexCollection> = peer.asked();
    let indexes: Vec<_> =
        indexes.iter().map(|index| (index.field_name.as_str(), index.field_type(), index.wait)).collect();
    let keyword = qdrant::FieldType::Keyword;
    assert_eq!(indexes, [("kind", keyword, Some(true)), ("repository", keyword, Some(true))]);
}

#[test]
fn what_is_not_said_of_sharding_is_the_server_s_to_choose() {
    let peer = Peer::start();
    peer.on(|_: &CreateCollection| Reply::Now(done(true)));
    let creation = Creation { indexed_fields: Vec::new(), ..creation(Sharding::default()) };
    store(&peer).create(&creation, &Stop::never()).unwrap();
    let asked: CreateCollection = peer.asked_once();
    assert_eq!(
        (asked.shard_number, asked.replication_factor, asked.write_consistency_factor),
        (None, None, None)
    );
    assert_eq!(peer.total(), 1);
}

#[test]
fn a_collection_is_dropped_or_was_not_there() {
    for is_there in [true, false] {
        let peer = Peer::start();
        peer.on(move |_: &DeleteCollection| Reply::Now(done(is_there)));
        assert_eq!(store(&peer).drop_collection(&Stop::never()), Ok(is_there));
        assert_eq!(peer.asked_once::<DeleteCollection>().collection_name, "code");
    }
}
