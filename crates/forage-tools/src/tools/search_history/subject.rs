//! The subject of a commit without addresses of people.

use std::borrow::Cow;

use forage_rank::is_trailer;

/// Replaces an address.
const ADDRESS_MARK: &str = "[address]";

/// Returns the first line of a message that is not a trailer such as `Signed-off-by: …`, without addresses.
pub(super) fn without_people(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let subject = lines.find(|line| !is_trailer(line)).unwrap_or_default();
    let words = subject.split_inclusive(char::is_whitespace);
    words.map(|word| if is_address(word) { in_place_of(word) } else { word.into() }).collect()
}

/// The characters around an address that do not belong to it.
fn is_around(character: char) -> bool {
    !character.is_alphanumeric() && character != '_'
}

/// Returns true for `name@example.com` with any punctuation around it. The last part of its domain has letters
/// only, because `name@4.17.21` is a version of a package.
fn is_address(word: &str) -> bool {
    let Some((name, domain)) = word.trim_matches(is_around).split_once('@') else { return false };
    let Some((_, top)) = domain.rsplit_once('.') else { return false };
    !name.is_empty() && top.len() > 1 && top.chars().all(char::is_alphabetic)
}

fn in_place_of(word: &str) -> Cow<'_, str> {
    let address = word.trim_matches(is_around);
    let (before, after) = word.split_once(address).unwrap_or((word, ""));
    Cow::Owned(format!("{}{ADDRESS_MARK}{}", before.trim_end_matches('<'), after.trim_start_matches('>')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_no_addresses() {
        for (message, subject) in [
            ("Fix it\n\nSigned-off-by: Ann Lee <ann@example.com>\n", "Fix it"),
            ("\nSigned-off-by: Ann Lee <ann@example.com>\nFix it\n", "Fix it"),
            ("Co-authored-by: Ann Lee <ann@example.com>\n", ""),
            ("Report of Ann <ann.lee+x@mail.example.com>: fix it", "Report of Ann [address]: fix it"),
            ("Thank ann@example.co.uk.", "Thank [address]."),
            ("(mailto:ann@example.org)", "([address])"),
            ("Raise lodash@4.17.21 and @types/node@20", "Raise lodash@4.17.21 and @types/node@20"),
            ("fix: a@b, @media and user@host", "fix: a@b, @media and user@host"),
            ("", ""),
        ] {
            assert_eq!(without_people(message), subject, "{message:?}");
        }
    }
}
