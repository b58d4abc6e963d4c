//! Scores files by the number of lines that each term matches in them.

use super::{FileEvidence, TermReport};

/// Computes the weight of a match of each term, in the order of the terms. This combines the caller's order
/// of importance with the rarity of the term among `files` files (a smoothed inverse document frequency).
pub fn weights(terms: &[TermReport], files: u64) -> Vec<f64> {
    let weight = |(place, term): (usize, &TermReport)| {
        let importance = 1.0 / (1.0 + place as f64 / 4.0);
        let frequency = term.files as f64;
        importance * (1.0 + (files as f64 + 1.0) / (frequency + 0.5)).ln()
    };
    terms.iter().enumerate().map(weight).collect()
}

/// Ranks the files by descending score, with ties in path order, and returns their indices.
///
/// Each term adds its weight, which grows with the logarithm of its number of lines. A match in the path adds
/// the weight once more. Each further matching term raises the score by a quarter of this sum. Tests and
/// generated files score lower.
pub fn order(files: &[FileEvidence], terms: &[TermReport], weights: &[f64]) -> Vec<usize> {
    let names: Vec<String> = terms.iter().map(|term| term.term.to_lowercase()).collect();
    let mut scored: Vec<(f64, usize)> =
        files.iter().enumerate().map(|(index, file)| (score(file, weights, &names), index)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, index)| index).collect()
}

fn score(file: &FileEvidence, weights: &[f64], names: &[String]) -> f64 {
    let path = file.path.display().to_lowercase();
    let (mut sum, mut distinct) = (0.0, 0u32);
    for matches in file.matched.iter().filter(|matches| matches.lines > 0) {
        let term = usize::from(matches.term);
        let Some(weight) = weights.get(term) else { continue };
        distinct += 1;
        let in_path = names.get(term).is_some_and(|name| path.contains(name.as_str()));
        sum += weight * (1.0 + f64::from(matches.lines).ln() + f64::from(u8::from(in_path)));
    }
    sum * (1.0 + 0.25 * f64::from(distinct.saturating_sub(1))) * prior(&path)
}

/// Estimates how likely a file of this kind is relevant. Tests and generated files contain the words without
/// being the thing itself.
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
