//! Ranking without a model: deterministic, from the evidence alone.

use forage_search::keyword::{FileEvidence, Gathered, TermReport};

/// The files in order of score, best first; ties in path order.
///
/// A term counts by its place in the caller's order and by its rarity among the files (inverse document frequency),
/// dampened in its number of lines; files that several terms match come first, and a path that a term matches is
/// worth a match of its own.
pub(super) fn rank(gathered: &Gathered) -> Vec<usize> {
    let weights = weights(gathered);
    let names: Vec<String> = gathered.terms.iter().map(|term| term.term.to_lowercase()).collect();
    let mut scored: Vec<(f64, usize)> = gathered
        .files
        .iter()
        .enumerate()
        .map(|(index, file)| (score(file, &weights, &names), index))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, index)| index).collect()
}

/// What a match of each term is worth, in the order of the terms.
pub(super) fn weights(gathered: &Gathered) -> Vec<f64> {
    let files = gathered.files.len() as f64;
    let weight = |(place, term): (usize, &TermReport)| {
        let importance = 1.0 / (1.0 + place as f64 / 4.0);
        let frequency = term.files as f64;
        importance * (1.0 + (files + 1.0) / (frequency + 0.5)).ln()
    };
    gathered.terms.iter().enumerate().map(weight).collect()
}

fn score(file: &FileEvidence, weights: &[f64], names: &[String]) -> f64 {
    let path = file.path.display().to_lowercase();
    let (mut sum, mut distinct) = (0.0, 0u32);
    for (term, weight) in weights.iter().enumerate() {
        let lines = file.lines.iter().filter(|line| line.terms >> term & 1 == 1).count();
        if lines == 0 {
            continue;
        }
        distinct += 1;
        let in_path = names.get(term).is_some_and(|name| path.contains(name.as_str()));
        sum += weight * (1.0 + (lines as f64).ln() + f64::from(u8::from(in_path)));
    }
    sum * (1.0 + 0.25 * f64::from(distinct.saturating_sub(1))) * prior(&path)
}

/// How likely a file of this kind is what somebody looks for: tests and generated files hold the words of the thing
/// without being it.
fn prior(path: &str) -> f64 {
    let test = ["test", "spec", "fixture", "mock", "example"].iter().any(|word| path.contains(word));
    let generated = [".lock", ".min.js", ".min.css", ".snap", "-lock.json", ".svg", "changelog"]
        .iter()
        .any(|word| path.contains(word));
    match (test, generated) {
        (_, true) => 0.3,
        (true, false) => 0.6,
        _ => 1.0,
    }
}

/// The lines of a file that say most about why it is there: those that the most, and the most important, terms
/// match.
pub(super) fn best_lines(file: &FileEvidence, count: usize) -> Vec<usize> {
    let mut lines: Vec<usize> = (0..file.lines.len()).filter(|&index| file.lines[index].terms != 0).collect();
    let order = |&index: &usize| {
        let line = &file.lines[index];
        (std::cmp::Reverse(line.terms.count_ones()), line.terms.trailing_zeros(), line.number)
    };
    lines.sort_by_key(order);
    lines.truncate(count);
    lines.sort_unstable();
    lines
}
