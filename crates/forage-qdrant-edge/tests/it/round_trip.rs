//! Everything that the interface promises.

use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{
    PointFilter, PointHit, PointId, PointQuery, PointScan, PointStore, SparseVector, StoreError,
};
use forage_qdrant_edge::{EmbeddedStore, limits};
use serde_json::json;

use crate::support::{USING, all, created, creation, object, only, open, places, point, some_points, upsert};

fn query(
    store: &dyn PointStore,
    ids: &[u32],
    limit: usize,
    fields: &[&str],
    filter: &PointFilter,
) -> Vec<PointHit> {
    let fields: Vec<_> = fields.iter().map(|&field| field.to_owned()).collect();
    let vector = SparseVector::ones(ids.iter().copied());
    let query = PointQuery { vector: &vector, using: USING, limit, fields: &fields, filter };
    store.query(&query, &Stop::never()).unwrap()
}

#[test]
fn where_no_collection_is_nothing_is_made() {
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
    // Another makes it, and this one finds it.
    drop(created(&directory));
    assert!(store.collection(&Stop::never()).unwrap().is_some());
}

#[test]
fn a_collection_says_what_it_was_made_with_when_it_is_opened_again() {
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
fn points_come_back_in_the_order_of_their_ids_page_by_page_and_after_reopening() {
    for place in places("pages") {
        let mut points = some_points(50);
        for id in [u128::MAX, 1, u128::from(u64::MAX) + 1] {
            points.push(forage_lookup::Point {
                id: PointId::Uuid(id),
                ..point(0, &[(1, 1.0)], json!({"path": "uuid"}))
            });
        }
        points[7].id = PointId::Number(u64::MAX);
        points[8].id = PointId::Number(1000);
        let mut expected: Vec<_> = points.iter().map(|point| (point.id, point.payload.clone())).collect();
        for (_, payload) in &mut expected {
            payload.retain(|field, _| field != "text");
        }
        expected.sort_by_key(|(id, _)| *id);
        points.reverse();
        let store = place.created();
        for batch in points.chunks(9) {
            upsert(&*store, batch.to_vec());
        }
        for limit in [1, 7, 53, 54, usize::MAX] {
            assert_eq!(all(&*store, &["path", "language", "absent"], limit), expected, "{limit}");
        }
        assert!(all(&*store, &[], 10).iter().all(|(_, payload)| payload.is_empty()));
        store.finish(&Stop::never()).unwrap();
        assert_eq!(all(&*store, &["path", "language"], 10), expected);
        drop(store);
        assert_eq!(all(&*place.open(), &["path", "language"], 10), expected);
    }
}

#[test]
fn a_page_that_is_just_full_is_the_last() {
    for place in places("full-page") {
        let store = place.created();
        upsert(&*store, some_points(10));
        for (from, limit, next) in
            [(None, 10, None), (None, 9, Some(9)), (Some(5), 5, None), (Some(5), 4, Some(9))]
        {
            let from = from.map(PointId::Number);
            let scan = PointScan { filter: &PointFilter::default(), fields: &[], from, limit };
            let page = store.scan(&scan, &Stop::never()).unwrap();
            assert_eq!((page.points.len(), page.next), (limit, next.map(PointId::Number)));
        }
    }
}

#[test]
fn a_filter_takes_one_of_the_values_of_every_field() {
    for place in places("filters") {
        let store = place.created();
        upsert(&*store, some_points(30));
        let both = PointFilter {
            conditions: [
                only("language", &["rust", "go"]).conditions,
                only("path", &["src/1.rs", "src/2.rs", "src/3.rs"]).conditions,
            ]
            .concat(),
            ids: None,
        };
        // With an index, without one, both, a value nobody has, a field nobody has, and no value at all.
        let cases = [
            (PointFilter::default(), 30),
            (only("language", &["rust"]), 10),
            (only("language", &["rust", "python"]), 20),
            (only("path", &["src/1.rs", "src/2.rs", "src/x.rs"]), 2),
            (both, 2),
            (only("language", &["cobol"]), 0),
            (only("absent", &["rust"]), 0),
            (only("language", &[]), 0),
        ];
        for round in ["before", "after"] {
            for (filter, expected) in &cases {
                let scan = PointScan { filter, fields: &[], from: None, limit: 100 };
                let ids: Vec<_> =
                    store.scan(&scan, &Stop::never()).unwrap().points.into_iter().map(|(id, _)| id).collect();
                assert!(ids.is_sorted());
                assert_eq!(ids.len(), *expected, "{round} {filter:?}");
                assert_eq!(store.count(filter, &Stop::never()), Ok(*expected as u64), "{round} {filter:?}");
                let every: Vec<u32> = (0..37).collect();
                let mut found: Vec<_> =
                    query(&*store, &every, 100, &[], filter).into_iter().map(|hit| hit.id).collect();
                found.sort();
                assert_eq!(found, ids, "{round} {filter:?}");
            }
            store.finish(&Stop::never()).unwrap();
        }
    }
}

#[test]
fn a_query_gives_the_best_first_with_the_fields_that_are_wanted() {
    for place in places("best-first") {
        let store = place.created();
        let texts = [(1, 0.5), (2, 2.0), (3, 1.0)];
        upsert(
            &*store,
            texts.map(|(id, weight)| point(id, &[(9, weight)], json!({"path": id, "text": "t"}))).to_vec(),
        );
        let hits = query(&*store, &[9], 2, &["path"], &PointFilter::default());
        let found: Vec<_> = hits.iter().map(|hit| (hit.id, hit.payload.clone())).collect();
        assert_eq!(found, [2, 3].map(|id| (PointId::Number(id), object(json!({"path": id})))));
        assert!(hits[0].score > hits[1].score);
        assert_eq!(query(&*store, &[9], usize::MAX, &[], &PointFilter::default()).len(), 3);
        assert!(query(&*store, &[8], 10, &[], &PointFilter::default()).is_empty());
        assert!(query(&*store, &[], 10, &[], &PointFilter::default()).is_empty());
        assert!(query(&*store, &[9], 0, &[], &PointFilter::default()).is_empty());
    }
}

#[test]
fn a_point_that_is_written_again_is_replaced_and_one_that_is_removed_is_gone() {
    for place in places("replaced") {
        let store = place.created();
        upsert(&*store, some_points(20));
        store.finish(&Stop::never()).unwrap();
        upsert(&*store, vec![point(3, &[(500, 1.0)], json!({"path": "new"})), point(99, &[], json!({}))]);
        let ids = [4, 5, 1234].map(PointId::Number);
        store.remove(&ids, &Stop::never()).unwrap();
        let mut first = Some(store);
        for _ in 0..3 {
            let store = first.take().unwrap_or_else(|| place.open());
            let points = all(&*store, &["path", "language"], 100);
            assert_eq!(points.len(), 19);
            assert_eq!(points[3], (PointId::Number(3), object(json!({"path": "new"}))));
            assert_eq!(points[18], (PointId::Number(99), object(json!({}))));
            assert!(!points.iter().any(|(id, _)| ids.contains(id)));
            assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(19));
            assert_eq!(query(&*store, &[500], 9, &[], &PointFilter::default()).len(), 1);
            assert_eq!(store.collection(&Stop::never()).unwrap().unwrap().points, 19);
            store.finish(&Stop::never()).unwrap();
        }
    }
}

#[test]
fn a_vector_of_another_name_and_a_weight_that_is_none_are_refused() {
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
    assert_eq!(error.to_string(), "point 5 has a weight that is no number");
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
}

#[test]
fn a_call_whose_time_is_up_is_not_made() {
    for place in places("late") {
        let store = place.created();
        let late = Stop::after(Duration::ZERO);
        let error = store.upsert(some_points(1), USING, &late).unwrap_err();
        assert_eq!(error.kind(), "timeout");
        assert_eq!(store.drop_collection(&late).unwrap_err().kind(), "timeout");
        let cancelled = Stop::never();
        cancelled.cancel();
        assert_eq!(store.count(&PointFilter::default(), &cancelled), Err(StoreError::Cancelled));
        assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
    }
}

#[test]
fn what_is_dropped_is_gone_and_nothing_beside_it() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(5));
    let other = EmbeddedStore::open(home.path(), "code.2").unwrap();
    other.create(&creation(), &Stop::never()).unwrap();
    assert!(store.drop_collection(&Stop::never()).unwrap());
    assert!(!store.drop_collection(&Stop::never()).unwrap());
    assert!(!home.path().join("code").exists());
    assert_eq!(store.collection(&Stop::never()), Ok(None));
    assert_eq!(other.count(&PointFilter::default(), &Stop::never()), Ok(0));
    // It can be made anew, by the same and by another.
    store.create(&creation(), &Stop::never()).unwrap();
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(0));
}

#[test]
fn the_log_of_the_engine_does_not_grow_without_end() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    let text = "x".repeat(limits::LOG_FILE_BYTES / 4);
    let complete = || {
        let names = std::fs::read_dir(home.path().join("code/shard/wal")).unwrap();
        names
            .filter(|name| name.as_ref().unwrap().file_name().to_str().unwrap().starts_with("closed-"))
            .count()
    };
    let mut most = 0;
    for round in 0..60 {
        upsert(&store, vec![point(round % 3, &[(1, 1.0)], json!({"text": text, "round": round}))]);
        most = most.max(complete());
    }
    assert!((3..=2 * limits::LOG_FILES).contains(&most), "{most} files");
    drop(store);
    let store = open(home.path());
    assert!(complete() <= 1);
    // Numbering goes on: what is written now is newer than what is there.
    upsert(&store, vec![point(0, &[(1, 1.0)], json!({"round": "last"}))]);
    let rounds: Vec<_> =
        all(&store, &["round"], 9).into_iter().map(|(_, payload)| payload["round"].clone()).collect();
    assert_eq!(rounds, [json!("last"), json!(58), json!(59)]);
}
