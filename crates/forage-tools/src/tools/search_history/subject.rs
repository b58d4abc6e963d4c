//! The subject of a commit without names and addresses of people.

use forage_rank::is_trailer;

/// Replaces an address, and the name before it.
const ADDRESS_MARK: &str = "[address]";

/// Words within a name that have no capital.
const PARTICLES: [&str; 12] = ["al", "bin", "da", "de", "del", "den", "der", "di", "la", "le", "van", "von"];

/// Signs in front of a name that do not belong to it.
const OPENING: [char; 4] = ['(', '[', '"', '\''];

/// Returns the first line of a message that is not a trailer such as `Signed-off-by: …`, without addresses. A
/// name in front of an address in angle brackets belongs to it.
pub(super) fn without_people(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut rest = lines.find(|line| !is_trailer(line)).unwrap_or_default();
    let mut text = String::new();
    while let Some(at) = rest.find('@') {
        let found = in_brackets(rest, at).map(|range| (range, true));
        let found = found.or_else(|| bare(rest, at).map(|range| (range, false)));
        let Some(((start, end), has_brackets)) = found else {
            text.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        text.push_str(&rest[..start]);
        if has_brackets {
            remove_name(&mut text);
        }
        text.push_str(ADDRESS_MARK);
        rest = &rest[end..];
    }
    text + rest
}

/// Finds the range of an address in angle brackets around this `@`. This can be any address, even one within a
/// local network.
fn in_brackets(text: &str, at: usize) -> Option<(usize, usize)> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '<' | '>');
    let start = text[..at].rfind(is_end).filter(|&start| text[start..].starts_with('<'))?;
    let end = at + text[at..].find(is_end).filter(|&end| text[at + end..].starts_with('>'))?;
    (start + 1 < at && at + 1 < end).then_some((start, end + 1))
}

/// Finds the range of an address without brackets around this `@`.
fn bare(text: &str, at: usize) -> Option<(usize, usize)> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-');
    let name = &text[text[..at].trim_end_matches(is_of_name).len()..at];
    let after = &text[at + 1..];
    if let Some(number) = after.strip_prefix('[').and_then(|after| after.split_once(']')) {
        let is_number =
            !number.0.is_empty() && number.0.chars().all(|c| c.is_ascii_hexdigit() || ".:".contains(c));
        return (is_number && !name.is_empty()).then(|| (at - name.len(), at + number.0.len() + 3));
    }
    let is_of_domain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let domain = &after[..after.find(|c: char| !is_of_domain(c)).unwrap_or(after.len())];
    let domain = domain.trim_end_matches(['.', '-']);
    // The address of a repository, as in `git@host:path`.
    let is_of_repository = name == "git" && after[domain.len()..].starts_with([':', '/']);
    (!name.is_empty() && is_domain(domain) && !is_of_repository)
        .then(|| (at - name.len(), at + 1 + domain.len()))
}

/// Returns true if this can only be the domain of an address. `package@4.17.21` and `package@next` are
/// versions.
fn is_domain(domain: &str) -> bool {
    let is_number = |label: Option<&str>| {
        label.is_some_and(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut labels = domain.split('.');
    if is_number(labels.next()) && is_number(labels.next()) {
        return false;
    }
    let Some((_, top)) = domain.rsplit_once('.') else { return domain.eq_ignore_ascii_case("localhost") };
    top.starts_with("xn--") || top.chars().count() > 1 && top.chars().all(char::is_alphabetic)
}

/// Removes a name from the end of a text: a quoted one, or the words that begin with capitals or belong to a
/// script without capitals. The first word of a subject is usually a verb, so it stays if there is a whole
/// name without it.
fn remove_name(text: &mut String) {
    let bare = text.trim_end();
    if let Some(quoted) = bare.strip_suffix('"')
        && let Some(start) = quoted.rfind('"')
    {
        text.truncate(start);
        return;
    }
    let (mut end, mut words) = (text.len(), 0);
    loop {
        let before = text[..end].trim_end();
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let start = before.ceil_char_boundary(start);
        let word = before[start..].trim_start_matches(OPENING);
        let is_particle = words > 0 && PARTICLES.contains(&word);
        let follows_name = || {
            let mut earlier = before[..start].split_whitespace().rev();
            let earlier = earlier.find(|word| !PARTICLES.contains(word)).unwrap_or_default();
            is_name(earlier.trim_start_matches(OPENING))
        };
        if !(is_name(word) || is_particle && follows_name()) || start == 0 && words > 1 {
            break;
        }
        end = before.len() - word.len();
        words += 1;
        if end > start || start == 0 {
            break;
        }
    }
    if words > 0 {
        text.truncate(end);
    }
}

fn is_name(word: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '.' | '-' | '\'' | '’');
    word.starts_with(|first: char| first.is_alphabetic() && !first.is_lowercase())
        && word.chars().all(is_letter)
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
            ("Thank ann@example.co.uk.", "Thank [address]."),
            ("(mailto:ann@example.org)", "(mailto:[address])"),
            ("Mail root@localhost and ann@LOCALHOST, too", "Mail [address] and [address], too"),
            ("Use ann@x.io's fix", "Use [address]'s fix"),
            ("a@x.io,b@y.io;c@163.com", "[address],[address];[address]"),
            (
                "to=ann@x.io: ask ann@[10.0.0.1] or ann@xn--bcher-kva.xn--p1ai",
                "to=[address]: ask [address] or [address]",
            ),
            ("é@exämple.de!", "[address]!"),
            ("Raise lodash@4.17.21 and @types/node@20", "Raise lodash@4.17.21 and @types/node@20"),
            ("Raise react@18.0.0-rc.next", "Raise react@18.0.0-rc.next"),
            ("fix: a@b, @media and user@host", "fix: a@b, @media and user@host"),
            ("Clone git@example.com:a/b", "Clone git@example.com:a/b"),
            ("@ @@ a@ @b <@> <@a> <a@>", "@ @@ a@ @b <@> <@a> <a@>"),
            ("", ""),
        ] {
            assert_eq!(without_people(message), subject, "{message:?}");
        }
    }

    #[test]
    fn subjects_have_no_names_before_addresses() {
        for (message, subject) in [
            ("From: Jane Doe <jane@x.io>", "From: [address]"),
            ("Report of Ann <ann.lee+x@mail.example.com>: fix it", "Report of [address]: fix it"),
            ("Fix a leak (Jane van der Berg <jane@host>)", "Fix a leak ([address])"),
            ("Thank Jane O'Neill-Doe <jane@x.io>", "Thank [address]"),
            ("reported by \"Doe, Jane\" <mailto:jane@x.io>", "reported by [address]"),
            ("谢谢王小明 <wang@example.cn>", "[address]"),
            ("Jane Doe <jane@x.io>: fix it", "[address]: fix it"),
            ("fix parsing of Vec<T> and <jane@x.io>", "fix parsing of Vec<T> and [address]"),
        ] {
            assert_eq!(without_people(message), subject, "{message:?}");
        }
    }
}
