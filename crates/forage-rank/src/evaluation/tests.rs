use super::*;
use crate::index::RankIndex;
use crate::rules::{RULES, RuleWeights};
use crate::search::RankWeights;

#[test]
fn gains_are_discounted_and_normalised() {
    let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-4, "{value} {wanted}");
    close(ndcg(&[1], 1, 10), 1.0);
    close(ndcg(&[2], 1, 10), 0.6309);
    close(ndcg(&[11], 1, 10), 0.0);
    close(ndcg(&[1, 2], 2, 10), 1.0);
    close(ndcg(&[1], 2, 10), 0.6131);
    // Two targets at one rank count as one gain, as in the reference.
    close(ndcg(&[1, 1], 2, 10), 0.6131);
    close(ndcg(&[], 0, 10), 0.0);
    close(recall(&[1, 12], 2, 10), 0.5);
    close(reciprocal_rank(&[4, 2]), 0.5);
    close(reciprocal_rank(&[]), 0.0);
}

#[test]
fn targets_are_files_or_lines() {
    let set: QuerySet = serde_json::from_str(
        r#"{"name": "a", "queries": [{"query": "q", "relevant": ["src/a.rs", {"path": "b.rs", "start_line": 5, "end_line": 9}]}]}"#,
    )
    .unwrap();
    let [file, lines] = &set.queries[0].relevant[..] else { panic!("two targets") };
    for (path, wanted) in [("src/a.rs", true), ("x/src/a.rs", true), ("a.rs", true), ("ba.rs", false)] {
        assert_eq!(file.is_in(path), wanted, "{path}");
    }
    assert!(lines.covers(9, 20) && lines.covers(1, 5));
    assert!(!lines.covers(10, 20) && !lines.covers(1, 4));
}

/// Creates a query whose candidates only have a value for the rule `file`, and match these targets.
fn answered(repository: &str, query: &str, candidates: &[(f32, u64)], expected: usize) -> AnsweredQuery {
    let file = RULES.iter().position(|rule| rule.name == "file").unwrap();
    let candidates = candidates.iter().enumerate().map(|(index, (value, targets))| {
        let mut values = [0.0; RULES.len()];
        values[file] = *value;
        RankedCandidate { path: format!("{index}.rs"), values, targets: *targets }
    });
    AnsweredQuery {
        repository: repository.to_owned(),
        language: String::new(),
        category: String::new(),
        query: query.to_owned(),
        candidates: candidates.collect(),
        expected,
        targets: (0..expected).map(|index| index.to_string()).collect(),
        missing: Vec::new(),
        milliseconds: 1.0,
    }
}

#[test]
fn figures_are_means_over_queries() {
    let rules = RuleWeights::default();
    let queries = [
        // Ranks 1 and 3 of two: (1 + 0.5) / (1 + 0.63093).
        answered("a", "first", &[(0.9, 1), (0.8, 0), (0.7, 2)], 2),
        // Rank 2 of one.
        answered("a", "second", &[(0.9, 0), (0.8, 1)], 1),
        // Nothing is found.
        answered("a", "third", &[(0.9, 0)], 1),
        // Equal scores are ordered by path.
        answered("a", "fourth", &[(0.5, 0), (0.5, 1)], 1),
    ];
    let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-4, "{value} {wanted}");
    let figures = MeanMetrics::from_queries(&queries, &rules);
    assert_eq!(figures.queries, 4);
    close(figures.ndcg, (0.91972 + 0.63093 + 0.0 + 0.63093) / 4.0);
    for (value, wanted) in figures.recall.into_iter().zip([0.5 / 4.0, 3.0 / 4.0, 3.0 / 4.0]) {
        close(value, wanted);
    }
    close(figures.reciprocal_rank, (1.0 + 0.5 + 0.0 + 0.5) / 4.0);
    assert_eq!(MeanMetrics::from_queries([], &rules), MeanMetrics::default());
    close(queries[1].ndcg(&rules), 0.63093);

    let ablated = ablate(&queries, &rules);
    assert_eq!(ablated.len(), RULES.len());
    assert_eq!(ablated[0].rule.name, "file");
    // Without the only rule that distinguishes them, files are ordered by path, which is the same order as
    // before.
    close(ablated[0].difference, 0.0);
}

#[test]
fn a_rule_that_helps_is_missed() {
    let queries = [answered("a", "q", &[(0.1, 0), (0.9, 1)], 1)];
    let ablated = ablate(&queries, &RuleWeights::default());
    assert_eq!((ablated[0].rule.name, ablated[0].weight), ("file", 0.65));
    assert!((ablated[0].difference - (0.63093 - 1.0)).abs() < 1e-4, "{:?}", ablated[0]);
    assert!(ablated[1..].iter().all(|other| other.difference == 0.0));
}

#[test]
fn percentiles_are_values() {
    let values = [3.0, 1.0, 2.0, 4.0];
    assert_eq!(percentile(&values, 0.5), Some(3.0));
    assert_eq!(percentile(&values, 0.99), Some(4.0));
    assert_eq!(percentile(&values, 1.0), Some(4.0));
    assert_eq!(percentile(&[], 0.5), None);
}

#[test]
fn targets_that_are_missing_count_as_the_caller_says() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    for (path, text) in [
        ("lib.rs", "fn retry_request() {}\n"),
        ("net/lib.rs", "fn retry_request() { retry() }\n/// Retry a request.\nfn request_retry() {}\n"),
        ("net/other.rs", "fn nothing() {}\n"),
    ] {
        writer.add(path, text, crate::Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let set: QuerySet = serde_json::from_str(
        r#"{"name": "a", "queries": [{"query": "retry request", "relevant": ["src/lib.rs", "src/gone.rs"]}]}"#,
    )
    .unwrap();
    let ask = |places: &EvaluationPaths| {
        let answered = answer(&index, places, &set, &set.queries[0], &RankWeights::default()).unwrap();
        let found = answered.candidates.iter().filter(|candidate| candidate.targets == 1);
        let mut found: Vec<String> = found.map(|candidate| candidate.path.clone()).collect();
        found.sort();
        (found, answered.expected, answered.missing)
    };
    let gone = vec!["src/gone.rs".to_owned()];
    // This should match `lib.rs` in the directory `src` and no other file.
    assert_eq!(
        ask(&EvaluationPaths::from_index(&index, "src/")),
        (vec!["lib.rs".to_owned()], 2, gone.clone())
    );
    let files = ["lib.rs", "net/lib.rs", "net/other.rs"].map(|path| (path.to_owned(), 3));
    // In the benchmark, a path may be relative to a deeper directory, like `lib.rs`.
    assert_eq!(ask(&EvaluationPaths::from_benchmark(files.to_vec())), (vec!["lib.rs".to_owned()], 1, gone));
}

#[test]
fn sets_that_can_not_be_run_are_refused() {
    let set = |queries: &str| -> QuerySet {
        serde_json::from_str(&format!(r#"{{"name": "a", "queries": [{queries}]}}"#)).unwrap()
    };
    assert_eq!(set(r#"{"query": "q", "relevant": ["a"]}"#).check(), Ok(()));
    assert_eq!(set("").check(), Ok(()));
    let wrong = |queries: &str| set(queries).check().unwrap_err().to_string();
    assert_eq!(wrong(r#"{"query": " ", "relevant": ["a"]}"#), "query 1 of the set `a` is empty");
    for targets in ["[]", r#"[""]"#] {
        let none = wrong(&format!(r#"{{"query": "q", "relevant": {targets}}}"#));
        assert!(none.ends_with("has no target: name a path in its `relevant`"), "{targets}: {none}");
    }
    let many = vec![r#""a""#; 65].join(",");
    let many = wrong(&format!(r#"{{"query": "q", "relevant": [{many}]}}"#));
    assert!(many.ends_with("has 65 targets; give at most 64"), "{many}");
    let lines = r#"{"query": "q", "relevant": ["a"], "lines": {"a": [[1, 1000001]]}}"#;
    assert!(wrong(lines).ends_with("covers more than 1000000 lines"));
}

#[test]
fn a_set_is_written_as_it_is_read() {
    let text = r#"{"name":"a","language":"rust","url":"","revision":"12","benchmark_root":null,"queries":[{"query":"q","relevant":["a.rs",{"path":"b.rs","start_line":1,"end_line":2}],"secondary":[],"category":"c"}]}"#;
    let set: QuerySet = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&set).unwrap(), text);
}
