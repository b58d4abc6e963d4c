//! Tests guarantees of the embedded store that other stores do not give.

use forage_base::Stop;
use forage_lookup::{
    Condition, EmbeddedStore, PointFilter, PointId, PointQuery, PointReader, PointScan, PointStore,
    SparseVector,
};
use serde_json::json;

use crate::support::{USING, created, creation, open, point, some_points, upsert};

#[test]
fn opening_a_missing_collection_creates_nothing() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("sparse");
    let store = open(&directory);
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    assert!(!store.drop_collection(&Stop::never()).unwrap());
    let vector = SparseVector::ones([1]);
    let query =
        PointQuery { vector: &vector, using: USING, limit: 1, fields: &[], filter: &PointFilter::default() };
    let scan = PointScan { filter: &PointFilter::default(), fields: &[], from: None, limit: 1 };
    let errors = [
        store.query(&query, &Stop::never()).unwrap_err(),
        store.scan(&scan, &Stop::never()).unwrap_err(),
        store.count(&PointFilter::default(), &Stop::never()).unwrap_err(),
        store.upsert(some_points(1), USING, &Stop::never()).unwrap_err(),
        store.remove(&[PointId::Number(1)], &Stop::never()).unwrap_err(),
        store.finish(&Stop::never()).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), "no_collection");
        assert!(error.to_string().contains("collection `code` in "), "{error}");
    }
    assert!(!directory.exists());
    // Another store creates the collection, and this one should find it.
    drop(created(&directory));
    assert!(store.collection(&Stop::never()).unwrap().is_some());
}

#[test]
fn reopened_collection_reports_its_creation_settings() {
    let home = tempfile::tempdir().unwrap();
    for is_new in [true, false] {
        let store = if is_new { created(home.path()) } else { open(home.path()) };
        let collection = store.collection(&Stop::never()).unwrap().unwrap();
        assert_eq!(collection.contract, Some(creation().contract));
        assert_eq!(collection.sparse_vectors.keys().collect::<Vec<_>>(), [USING]);
        assert!(collection.sparse_vectors[USING].has_idf);
        assert_eq!(collection.points, 0);
        assert_eq!(store.create(&creation(), &Stop::never()).unwrap_err().kind(), "exists");
    }
}

#[test]
fn wrong_vector_name_or_weight_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    let error = store.upsert(some_points(1), "dense", &Stop::never()).unwrap_err();
    assert_eq!(error.to_string(), "the collection has no sparse vector `dense`; it has `text-sparse`");
    let vector = SparseVector::ones([1]);
    let query = PointQuery {
        vector: &vector,
        using: "dense",
        limit: 1,
        fields: &[],
        filter: &PointFilter::default(),
    };
    assert_eq!(store.query(&query, &Stop::never()).unwrap_err(), error);
    let error = store.upsert(vec![point(5, &[(1, f64::NAN)], json!({}))], USING, &Stop::never()).unwrap_err();
    assert_eq!(error.to_string(), "point 5 has a weight that is not a number");
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
}

#[test]
fn drop_removes_only_its_collection() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(5));
    let other = EmbeddedStore::new(home.path(), "code.2").unwrap();
    other.create(&creation(), &Stop::never()).unwrap();
    assert!(store.drop_collection(&Stop::never()).unwrap());
    assert!(!store.drop_collection(&Stop::never()).unwrap());
    assert!(!home.path().join("code").exists());
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    assert_eq!(other.count(&PointFilter::default(), &Stop::never()), Ok(0));
    // This store and another one should be able to create it again.
    store.create(&creation(), &Stop::never()).unwrap();
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
}

#[test]
fn vectors_come_back_bit_by_bit() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    let weights = [(0, 1.0), (7, f64::from(f32::MIN_POSITIVE)), (9, -2.5), (u32::MAX, f64::from(f32::MAX))];
    upsert(&store, vec![point(1, &weights, json!({})), point(2, &[(7, 1e-40), (8, 0.1)], json!({}))]);
    let vector = SparseVector::ones([7]);
    let filter = &PointFilter::default();
    let query = PointQuery { vector: &vector, using: USING, limit: 9, fields: &[], filter };
    let hits = store.query_all(&[query.clone(), query], true, &Stop::never()).unwrap();
    assert_eq!(hits[0], hits[1]);
    let mut vectors: Vec<_> = hits[0].iter().map(|hit| (hit.id, hit.vector.clone())).collect();
    vectors.sort_by_key(|(id, _)| *id);
    let expected = [SparseVector::new(weights), SparseVector::new([(7, 1e-40), (8, 0.1)])];
    assert_eq!(vectors, [1, 2].map(PointId::Number).into_iter().zip(expected).collect::<Vec<_>>());
}

#[test]
fn long_values_of_indexed_fields_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    let long = "x".repeat(70_000);
    let other = format!("{long}y");
    upsert(
        &store,
        vec![
            point(1, &[(1, 1.0)], json!({"language": long})),
            point(2, &[(1, 1.0)], json!({"language": [other, 3, 4.5, true]})),
        ],
    );
    for (filter, expected) in [
        (PointFilter::any_of("language", [long.as_str()]), 1),
        (PointFilter::any_of("language", [other.as_str()]), 1),
        (PointFilter::any_of("language", [long.as_str(), other.as_str()]), 2),
        (PointFilter::any_of("language", ["3"]), 0),
        (PointFilter { conditions: vec![Condition::parse("language=3").unwrap()], ids: None }, 1),
        (PointFilter { conditions: vec![Condition::parse("language=4.5").unwrap()], ids: None }, 1),
        (PointFilter { conditions: vec![Condition::parse("language=true").unwrap()], ids: None }, 1),
        (PointFilter { conditions: vec![Condition::parse("language>3").unwrap()], ids: None }, 1),
        (PointFilter::default().among(vec![PointId::Number(2), PointId::Number(9)]), 1),
    ] {
        assert_eq!(store.count(&filter, &Stop::never()), Ok(expected), "{expected}");
    }
}
