//! Tests the guarantees of the interface for every store in `support::places`.

use std::collections::HashMap;
use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{
    Point, PointFilter, PointHit, PointId, PointQuery, PointScan, PointStore, SparseVector, StoreError,
};
use serde_json::json;

use crate::support::{USING, all, object, only, places, point, some_points, upsert};

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
fn scan_returns_points_in_id_order() {
    for place in places("pages") {
        let mut points = some_points(50);
        for id in [u128::MAX, 1, u128::from(u64::MAX) + 1] {
            points.push(Point { id: PointId::Uuid(id), ..point(0, &[(1, 1.0)], json!({"path": "uuid"})) });
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
        // The cases are: a field with an index, one without, both, an unknown value, an unknown field, and no
        // value.
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
fn upsert_replaces_and_remove_deletes_points() {
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

/// Sums this over the words of a query: the weight in the document times `ln(1 + (N - df + 0.5) / (df +
/// 0.5))`.
fn formula(points: &[Point], query: &[u32]) -> HashMap<PointId, f64> {
    let n = points.len() as f64;
    let mut scores = HashMap::new();
    for id in query {
        let having: Vec<_> = points
            .iter()
            .filter_map(|point| {
                let place = point.vector.ids().binary_search(id).ok()?;
                Some((point.id, f64::from(point.vector.weights()[place])))
            })
            .collect();
        let df = having.len() as f64;
        for (point, weight) in having {
            *scores.entry(point).or_insert(0.0) += weight * (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
        }
    }
    scores
}

/// Checks that a store finds the same points as the formula. Returns the largest difference of a score.
fn check(store: &dyn PointStore, points: &[Point], filter: &PointFilter, round: &str) -> f64 {
    let mut largest = 0.0_f64;
    let queries: [&[u32]; 6] = [&[0], &[1], &[5, 6, 7], &[36, 900], &[2, 4, 8, 16, 32], &[901]];
    for ids in queries {
        let mut expected = formula(points, ids);
        // A filter should select points, but must not change the idf of a word.
        if let Some(forage_lookup::Condition { field, test: forage_lookup::Test::AnyOf(values) }) =
            filter.conditions.first()
        {
            let values = forage_lookup::Readings::from_values(values).texts;
            expected.retain(|id, _| {
                let point = points.iter().find(|point| point.id == *id).unwrap();
                point
                    .payload
                    .get(field)
                    .and_then(|value| value.as_str())
                    .is_some_and(|value| values.iter().any(|wanted| wanted == value))
            });
        }
        let vector = SparseVector::ones(ids.iter().copied());
        let query = PointQuery { vector: &vector, using: USING, limit: 10_000, fields: &[], filter };
        let hits = store.query(&query, &Stop::never()).unwrap();
        assert_eq!(hits.len(), expected.len(), "{round} {ids:?}");
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        for hit in hits {
            let difference = (f64::from(hit.score) - expected[&hit.id]).abs();
            largest = largest.max(difference);
        }
    }
    largest
}

#[test]
fn scores_equal_the_idf_formula_after_any_writes() {
    for place in places("scores") {
        let store = place.created();
        let mut points = some_points(700);
        for batch in points.chunks(100) {
            upsert(&*store, batch.to_vec());
        }
        let near = |difference: f64, is_changed, round: &str| {
            assert!(!place.is_exact(is_changed) || difference < 1e-4, "{round}: {difference}");
        };
        let rust = only("language", &["rust", "go"]);
        near(check(&*store, &points, &PointFilter::default(), "written"), false, "written");
        store.finish(&Stop::never()).unwrap();
        near(check(&*store, &points, &PointFilter::default(), "finished"), false, "finished");
        near(check(&*store, &points, &rust, "filtered"), false, "filtered");
        // Points that were removed or replaced must no longer count.
        let removed: Vec<_> = points.drain(200..320).map(|point| point.id).collect();
        store.remove(&removed, &Stop::never()).unwrap();
        for point in &mut points[..50] {
            point.vector = SparseVector::new([(5, 1.5), (900, 0.5)]);
        }
        upsert(&*store, points[..50].to_vec());
        store.finish(&Stop::never()).unwrap();
        near(check(&*store, &points, &rust, "changed"), true, "changed");
        drop(store);
        near(check(&*place.open(), &points, &PointFilter::default(), "opened again"), true, "opened again");
    }
}
