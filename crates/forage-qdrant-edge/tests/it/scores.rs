//! Scores are those of the formula.

use std::collections::HashMap;

use forage_base::Stop;
use forage_lookup::{Point, PointFilter, PointId, PointQuery, PointStore, SparseVector};

use crate::support::{USING, only, places, some_points, upsert};

/// The sum over the words of a query of the weight in the document by `ln(1 + (N - df + 0.5) / (df + 0.5))`.
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

/// Whether the points are those that the formula has; returns the largest difference of a score.
fn check(store: &dyn PointStore, points: &[Point], filter: &PointFilter, round: &str) -> f64 {
    let mut largest = 0.0_f64;
    let queries: [&[u32]; 6] = [&[0], &[1], &[5, 6, 7], &[36, 900], &[2, 4, 8, 16, 32], &[901]];
    for ids in queries {
        let mut expected = formula(points, ids);
        // A filter chooses points; it does not change how rare a word is.
        if let Some(forage_lookup::Condition { field, test: forage_lookup::Test::AnyOf(values) }) =
            filter.conditions.first()
        {
            let values = forage_lookup::Readings::of(values).texts;
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
fn scores_are_those_of_the_formula_however_the_points_came_there() {
    for place in places("scores") {
        let store = place.created();
        let mut points = some_points(700);
        for batch in points.chunks(100) {
            upsert(&*store, batch.to_vec());
        }
        let near = |difference: f64, is_changed, round: &str| {
            assert!(difference < 1e-4, "{round}: {difference}");
        };
        let rust = only("language", &["rust", "go"]);
        near(check(&*store, &points, &PointFilter::default(), "written"), false, "written");
        store.finish(&Stop::never()).unwrap();
        near(check(&*store, &points, &PointFilter::default(), "finished"), false, "finished");
        near(check(&*store, &points, &rust, "filtered"), false, "filtered");
        // What is removed or replaced counts no more.
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
