//! Formats numbers for people.

/// Formats a count, e.g. `1 file` or `2 files`.
pub fn count(n: u64, singular: &str) -> String {
    let n_of = grouped(n);
    match singular {
        _ if n == 1 => format!("{n_of} {singular}"),
        _ if singular.ends_with("match") => format!("{n_of} {singular}es"),
        "entry" => format!("{n_of} entries"),
        "directory" => format!("{n_of} directories"),
        "repository" => format!("{n_of} repositories"),
        _ => format!("{n_of} {singular}s"),
    }
}

/// Formats a number with separators, e.g. `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_large_numbers_are_grouped() {
        let shown = [(1, "model"), (2, "match"), (0, "entry"), (1_048_576, "byte"), (2, "repository")];
        assert_eq!(
            shown.map(|(n, noun)| count(n, noun)),
            ["1 model", "2 matches", "0 entries", "1,048,576 bytes", "2 repositories"]
        );
    }
}
