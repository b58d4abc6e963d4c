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
    let shown = file.path.display();
    let path = shown.to_lowercase();
    let (mut sum, mut distinct) = (0.0, 0u32);
    for matches in file.matched.iter().filter(|matches| matches.lines > 0) {
        let term = usize::from(matches.term);
        let Some(weight) = weights.get(term) else { continue };
        distinct += 1;
        let in_path = names.get(term).is_some_and(|name| path.contains(name.as_str()));
        sum += weight * (1.0 + f64::from(matches.lines).ln() + f64::from(u8::from(in_path)));
    }
    sum * (1.0 + 0.25 * f64::from(distinct.saturating_sub(1))) * prior(&shown)
}

/// Words in the paths of tests and examples, which mention names without defining them.
#[rustfmt::skip]
const TEST_WORDS: &[&str] = &[
    "test", "tests", "testing", "testdata", "testcase", "testcases", "unittest", "unittests", "spec", "specs",
    "fixture", "fixtures", "mock", "mocks", "example", "examples",
];

/// Splits a path into words: at signs and digits, and where a capital follows a small letter.
fn words(path: &str) -> impl Iterator<Item = &str> {
    path.split(|c: char| !c.is_alphabetic()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let mut letters = rest.char_indices().zip(rest.chars().skip(1));
            let end = letters.find(|((_, one), next)| one.is_lowercase() && next.is_uppercase());
            let end = end.map_or(rest.len(), |((at, one), _)| at + one.len_utf8());
            let (word, later) = rest.split_at(end);
            rest = later;
            (!word.is_empty()).then_some(word)
        })
    })
}

/// Estimates how likely a file of this kind is relevant. Tests and generated files contain the words without
/// being the thing itself.
fn prior(path: &str) -> f64 {
    let test = words(path).any(|word| TEST_WORDS.iter().any(|test| test.eq_ignore_ascii_case(word)));
    let path = path.to_lowercase();
    let generated = [".lock", ".min.js", ".min.css", ".snap", "-lock.json", ".svg", "changelog"]
        .iter()
        .any(|word| path.contains(word));
    match (test, generated) {
        (_, true) => 0.3,
        (true, false) => 0.6,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_recognized_by_whole_words() {
        for path in
            ["tests/a.rs", "src/a_test.go", "src/RouterTest.java", "a.spec.ts", "spec/a.rb", "testdata/a"]
        {
            assert!((prior(path) - 0.6).abs() < 1e-9, "{path}");
        }
        for path in ["src/latest.rs", "contest/a.py", "src/inspect.rs", "lib/special.rb", "src/testament.txt"]
        {
            assert!((prior(path) - 1.0).abs() < 1e-9, "{path}");
        }
    }
}
