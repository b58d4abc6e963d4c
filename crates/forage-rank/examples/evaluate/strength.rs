//! Measures the strength of answers to queries that have an answer in a repository, and to queries that
//! don't.

use std::path::Path;

use forage_rank::evaluation::AnsweredQuery;
use forage_rank::limits::WEAK_STRENGTH;
use forage_rank::{RankedSearch, RuleWeights, search};

use crate::load::{Loaded, list};

/// Number of words in a passage, which makes it as long as a bug report.
const PASSAGE_WORDS: usize = 150;

/// Maximum number of passages per repository.
const PASSAGES: usize = 20;

/// Of each other repository, we only use one query or passage in this many.
const STEP: usize = 20;

/// Asks each repository its own queries and those of the others, which it can't answer. Then does the same
/// with passages of documentation from whole checkouts, which are as long as reports.
pub(crate) fn print(loaded: &[Loaded], checkouts: &Path) {
    let short = loaded
        .iter()
        .map(|repository| repository.set.queries.iter().map(|query| query.query.clone()).collect::<Vec<_>>());
    let long = loaded.iter().map(|repository| passages(repository, checkouts));
    print_of("queries", loaded, &short.collect::<Vec<_>>());
    print_of("passages", loaded, &long.collect::<Vec<_>>());
}

fn print_of(what: &str, loaded: &[Loaded], asked: &[Vec<String>]) {
    let (mut own, mut foreign) = (Vec::new(), Vec::new());
    // Number of answers with a right file among the first ten, and how many of these are still marked as
    // weak.
    let (mut right, mut wronged) = (0, 0);
    for (index, repository) in loaded.iter().enumerate() {
        for (other, asked) in asked.iter().enumerate() {
            for query in asked.iter().step_by(if index == other { 1 } else { STEP }) {
                let ranking = search(&repository.index, &RankedSearch::new(query, 10)).unwrap();
                if index == other {
                    own.push(ranking.strength)
                } else {
                    foreign.push(ranking.strength)
                }
                let asked = repository.set.queries.iter().find(|own| index == other && own.query == *query);
                if asked.is_some_and(|asked| {
                    ranking
                        .files
                        .iter()
                        .any(|hit| asked.relevant.iter().any(|target| target.path() == hit.path))
                }) {
                    right += 1;
                    wronged += usize::from(ranking.is_weak());
                }
            }
        }
    }
    if right > 0 {
        println!("{what} with a right file among the first ten: {right}, {wronged} of them weak");
    }
    for (whose, mut values) in [("own", own), ("foreign", foreign)] {
        if values.is_empty() {
            continue;
        }
        values.sort_by(f32::total_cmp);
        let share = |share: f64| {
            let at = (values.len() as f64 * share) as usize;
            format!("{:.0} % {:.2}", share * 100.0, values[at])
        };
        let weak = values.partition_point(|value| *value < WEAK_STRENGTH) as f64 / values.len() as f64;
        let shares = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9].map(share).join(", ");
        println!("strength of {} {whose} {what}: {:.1} % weak; {shares}", values.len(), weak * 100.0);
    }
}

/// Returns passages of a repository's documentation, from files that aren't indexed.
fn passages(repository: &Loaded, checkouts: &Path) -> Vec<String> {
    let root = checkouts.join(&repository.set.name);
    let mut files = Vec::new();
    if root.is_dir() {
        list(&root, &mut files);
    }
    files.sort();
    files.retain(|file| repository.paths.iter().all(|(path, _)| !file.ends_with(path)));
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "md" || end == "rst")) {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        // The head of a file says the least about it.
        let passages = words.chunks_exact(PASSAGE_WORDS).skip(1).take(2);
        found.extend(passages.map(|words| words.join(" ")));
    }
    found.truncate(PASSAGES);
    found
}

/// Minimum number of words that make a query a report, as in `search_index`.
const REPORT_WORDS: usize = 40;

/// The minimum lead of each group.
const LEADS: [f32; 12] = [0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.2, 0.15, 0.1, 0.05, 0.0];

/// Prints how often the first file is a target, by its lead over the second, relative to its own score.
/// Questions and reports are counted separately.
pub(crate) fn print_lead(queries: &[AnsweredQuery], rules: &RuleWeights) {
    for (kind, are_reports) in [("questions", false), ("reports", true)] {
        let mut parts = LEADS.map(|least| (least, 0, 0));
        let is_one =
            |query: &&AnsweredQuery| (query.query.split_whitespace().count() > REPORT_WORDS) == are_reports;
        for query in queries.iter().filter(is_one) {
            let order = query.order(rules);
            let score =
                |place: usize| order.get(place).map(|&index| rules.score(&query.candidates[index].values));
            let Some(first) = score(0) else { continue };
            let lead = (first - score(1).unwrap_or(0.0)) / first;
            let is_right = query.candidates[order[0]].targets != 0;
            if let Some((_, all, right)) = parts.iter_mut().find(|(least, ..)| lead >= *least) {
                *all += 1;
                *right += u32::from(is_right);
            }
        }
        let (mut sum, mut sum_right) = (0, 0);
        for (least, all, right) in parts {
            (sum, sum_right) = (sum + all, sum_right + right);
            let share = |right: u32, all: u32| 100.0 * f64::from(right) / f64::from(all.max(1));
            println!(
                "{kind} ahead by {least:.2} or more: {all}, the first right in {:.1} %; with those above {sum}, {:.1} %",
                share(right, all),
                share(sum_right, sum),
            );
        }
    }
}
