//! Measures the quality of the ranking: `evaluate SETS CHECKOUTS [OPTION…]`.
//!
//! SETS is a JSON list of query sets. CHECKOUTS is a directory with one checkout per set, by name. The
//! options are:
//!
//! - `--worst N`: prints the N worst queries
//! - `--ablate`: prints the effect of each rule, both with and without refitting the others
//! - `--fit`: fits the weights on all queries, and on folds by repository
//! - `--neutral`: starts from weights that know nothing of the sets
//! - `--set NAME=VALUE`: changes a weight
//! - `--weights NAME=VALUE,…`: changes several weights
//! - `--sweep NAME=A,B,…`: tries several values of a weight
//! - `--repository NAME`: only uses this repository
//! - `--explain PART`: explains the results of the query that contains PART
//! - `--strength WHOLE`: prints the strength of answers to a repository's own queries, to those of the
//!   others, and to passages of documentation from the whole checkouts in WHOLE
//! - `--lead`: prints how often the first file is right, by its lead over the second
//! - `--ranks FILE`: writes the ranks of each query's targets as JSON, or one FILE.NAME=VALUE per value of a
//!   sweep
//! - `--terms N=FILE`: only writes the N words of each query with the greatest weights, as cases for
//!   `bench/reports.py`
//!
//! `evaluate --paths LISTS` prints the findings of the path rules. LISTS is a JSON object with a list of
//! paths per project. If the name of a project starts with `git:`, git tracks all of its paths.
//! `bench/paths.py` creates this object, and the table of the rules' precision.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark that runs on the user's own trees and files"
)]

mod fit;
mod load;
mod strength;

use std::collections::BTreeMap;
use std::path::Path;

use forage_rank::evaluation::{self, AnsweredQuery, MeanMetrics, percentile, recall};
use forage_rank::{Effect, RULES, RankWeights};

use fit::{folds, mean};
use load::{Loaded, answer, load};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, lists] = arguments.as_slice()
        && first == "--paths"
    {
        print_paths(Path::new(lists));
        return;
    }
    let option = |name: &str| arguments.iter().position(|argument| argument == name);
    let values = |name: &str| {
        arguments.windows(2).filter(|pair| pair[0] == name).map(|pair| pair[1].clone()).collect::<Vec<_>>()
    };
    let mut weights = RankWeights::default();
    if option("--neutral").is_some() {
        for rule in RULES {
            let value = if rule.effect == Effect::Adds { 0.5 } else { 0.3 };
            set(&mut weights, rule.name, value);
        }
    }
    for setting in values("--set") {
        let (name, value) = setting.split_once('=').unwrap();
        set(&mut weights, name, value.parse().unwrap());
    }
    for list in values("--weights") {
        for setting in list.split(',') {
            let (name, value) = setting.split_once('=').unwrap();
            set(&mut weights, name, value.parse().unwrap());
        }
    }
    let only = values("--repository");
    let loaded = load(Path::new(&arguments[0]), Path::new(&arguments[1]), &only);
    if let Some((max, file)) = values("--terms").first().and_then(|value| value.split_once('=')) {
        std::fs::write(file, load::terms(&loaded, max.parse().unwrap()).to_string()).unwrap();
        return;
    }
    let queries = answer(&loaded, &weights);

    if let Some(file) = values("--ranks").first() {
        std::fs::write(file, load::ranks(&queries, &weights.rules).to_string()).unwrap();
    }
    print_report(&loaded, &queries, &weights);
    if option("--ablate").is_some() {
        ablate(&queries, &weights);
    }
    if option("--fit").is_some() {
        folds(&queries, &weights.rules);
    }
    if let Some(count) = values("--worst").first() {
        print_worst(&queries, &weights, count.parse().unwrap());
    }
    for whole in values("--strength") {
        strength::print(&loaded, Path::new(&whole));
    }
    if option("--lead").is_some() {
        strength::print_lead(&queries, &weights.rules);
    }
    for explained in values("--explain") {
        explain(&queries, &weights, &explained);
    }
    for sweep in values("--sweep") {
        // NAME=A,B,C
        let (name, list) = sweep.split_once('=').unwrap();
        for value in list.split(',') {
            let mut changed = weights.clone();
            set(&mut changed, name, value.parse().unwrap());
            let queries = answer(&loaded, &changed);
            if let Some(file) = values("--ranks").first() {
                let ranks = load::ranks(&queries, &changed.rules).to_string();
                std::fs::write(format!("{file}.{name}={value}"), ranks).unwrap();
            }
            println!("{name}={value}: {:.4}", mean(&queries, &changed.rules, |_| true));
        }
    }
}

fn set(weights: &mut RankWeights, name: &str, value: f32) {
    if let Some(weight) = weights.rules.get_mut(name) {
        *weight = value;
        return;
    }
    let fields = &mut weights.fields;
    let place = match name {
        "path-field" => &mut fields.weight[0],
        "definitions-field" => &mut fields.weight[1],
        "body-field" => &mut fields.weight[2],
        "comments-field" => &mut fields.weight[3],
        "path-length" => &mut fields.length[0],
        "definitions-length" => &mut fields.length[1],
        "body-length" => &mut fields.length[2],
        "comments-length" => &mut fields.length[3],
        "path-names" => &mut fields.path_names,
        "definition-names" => &mut fields.definition_names,
        "saturation" => &mut fields.saturation,
        "chunk-saturation" => &mut fields.chunk_saturation,
        "chunk-length" => &mut fields.chunk_length,
        "nearness" => &mut fields.nearness,
        "part" => &mut weights.query.part,
        "joined-words" => &mut weights.query.joined,
        "weak" => &mut weights.query.weak,
        "later" => &mut weights.query.later,
        "synonym" => &mut weights.query.synonym,
        "other-sense" => &mut weights.query.other_sense,
        _ => panic!("there is no weight {name}"),
    };
    *place = value;
}

/// Prints the findings of the path rules as JSON, one per line.
fn print_paths(lists: &Path) {
    let lists: BTreeMap<String, Vec<String>> =
        serde_json::from_slice(&std::fs::read(lists).unwrap()).unwrap();
    for (project, paths) in lists {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for found in forage_rank::path_rule_matches(&paths, project.starts_with("git:")) {
            let line = serde_json::json!({
                "project": project, "rule": found.rule, "place": found.place, "files": found.files,
                "borne_out": found.is_borne_out,
            });
            println!("{line}");
        }
    }
}

fn print_report(loaded: &[Loaded], queries: &[AnsweredQuery], weights: &RankWeights) {
    let rules = &weights.rules;
    println!("all {} queries: NDCG@10 {:.4}", queries.len(), mean(queries, rules, |_| true));
    let group = |title: &str, of: &dyn Fn(&AnsweredQuery) -> String| {
        let mut groups: BTreeMap<String, usize> = BTreeMap::new();
        for query in queries {
            *groups.entry(of(query)).or_default() += 1;
        }
        let row: Vec<String> = groups
            .iter()
            .map(|(name, count)| {
                format!("{name} {:.3} ({count})", mean(queries, rules, |query| of(query) == *name))
            })
            .collect();
        println!("by {title}: {}", row.join(", "));
    };
    group("category", &|query| query.category.clone());
    group("language", &|query| query.language.clone());
    group("repository", &|query| query.repository.clone());
    let files: u64 = loaded.iter().map(|repository| repository.files).sum();
    let seconds: f64 = loaded.iter().map(|repository| repository.seconds).sum();
    let latencies: Vec<f64> = queries.iter().map(|query| query.milliseconds).collect();
    let at = |share: f64| percentile(&latencies, share).unwrap_or_default();
    let MeanMetrics { recall: [_, at_5, at_10], reciprocal_rank, .. } =
        MeanMetrics::from_queries(queries, rules);
    let of_all = |query: &AnsweredQuery| recall(&query.ranks(rules), query.expected, usize::MAX);
    let in_candidates = queries.iter().map(of_all).sum::<f64>() / queries.len() as f64;
    println!(
        "{files} files indexed in {seconds:.2} s; query p50 {:.2} ms, p99 {:.2} ms; ranks: recall@5 {at_5:.3} recall@10 {at_10:.3} MRR {reciprocal_rank:.3}; in candidates {in_candidates:.3}",
        at(0.5),
        at(0.99),
    );
}

fn ablate(queries: &[AnsweredQuery], weights: &RankWeights) {
    for ablated in evaluation::ablate(queries, &weights.rules) {
        println!("without {:20} {:.4} ({:+.4})", ablated.rule.name, ablated.ndcg, ablated.difference);
    }
}

fn print_worst(queries: &[AnsweredQuery], weights: &RankWeights, count: usize) {
    let mut order: Vec<(f64, &AnsweredQuery)> =
        queries.iter().map(|query| (query.ndcg(&weights.rules), query)).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    for (ndcg, query) in order.iter().take(count) {
        println!("{ndcg:.2} {} [{}] {:?}", query.repository, query.category, query.query);
        let (ranks, top) = load::shown(query, &weights.rules);
        println!("     wanted {ranks}");
        println!("     first  {}", top.join("  "));
    }
}

fn explain(queries: &[AnsweredQuery], weights: &RankWeights, part: &str) {
    for query in queries.iter().filter(|query| query.query.contains(part)) {
        println!("{} {:?}", query.repository, query.query);
        for (rank, file) in query.order(&weights.rules).into_iter().enumerate() {
            let candidate = &query.candidates[file];
            if rank >= 4 && candidate.targets == 0 {
                continue;
            }
            let values: Vec<String> = RULES
                .iter()
                .zip(&candidate.values)
                .filter(|(_, value)| **value > 0.0)
                .map(|(rule, value)| format!("{} {value:.2}", rule.name))
                .collect();
            let score = weights.rules.score(&candidate.values);
            println!(
                "  {:3} {score:.3} {} {}: {}",
                rank + 1,
                candidate.targets,
                candidate.path,
                values.join(", ")
            );
        }
    }
}
