//! Queries for a single name (an identifier or a code), and comparing it with texts.

use crate::language::is_word_character;
use crate::limits;
use crate::superset::identifiers;

/// How a text contains a name, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// The whole name, as written.
    Whole,
    /// The whole name in another case.
    OtherCase,
    /// The whole name in another spelling, for example `parseHTTPHeader` for `parse_http_header`.
    OtherSpelling,
    /// Inside a longer name.
    Inside,
    /// Only parts of the name.
    Parts,
    /// Unknown, because there is no text to compare.
    Unknown,
}

impl NameMatch {
    /// Compares a text with a name. `text` must be `None` for a point that has no text.
    pub(crate) fn new(name: &str, text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::Unknown };
        if has_whole(text, name) {
            return Self::Whole;
        }
        let lower =
            |text: &str| if name.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() };
        let (lower_text, lower_name) = (lower(text), lower(name));
        match () {
            () if has_whole(&lower_text, &lower_name) => Self::OtherCase,
            () if is_respelled(text, name) => Self::OtherSpelling,
            () if lower_text.contains(&lower_name) => Self::Inside,
            () => Self::Parts,
        }
    }

    /// Returns true if the text contains the whole name in any case, with nothing joined to it.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::OtherCase)
    }

    /// Returns true if the text contains the name in any spelling.
    pub fn is_same(self) -> bool {
        self.is_whole() || self == Self::OtherSpelling
    }
}

/// Returns the name if the query is a single one, without enclosing quotes and a trailing `()`. Returns
/// `None` if the query consists of words. A plain word is not a name either: it has no parts that could match
/// on their own.
pub(crate) fn name_of(query: &str) -> Option<&str> {
    let mut name = query.trim();
    for quote in ['`', '"', '\''] {
        let within = name.strip_prefix(quote).and_then(|name| name.strip_suffix(quote));
        name = within.unwrap_or(name).trim();
    }
    let name = name.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let name = name.strip_suffix("()").unwrap_or(name);
    let is_one = !name.contains(char::is_whitespace) && name.len() <= limits::NAME_BYTES;
    let has_word = name.chars().any(|it| is_word_character(it) && it != '_');
    (is_one && has_word && is_written_as_one(name)).then_some(name)
}

/// Returns true if the name can't be a word of prose, e.g. because it has digits, signs or humps.
fn is_written_as_one(name: &str) -> bool {
    // Words of prose may have the excluded signs, as in `don't` and `what?`.
    let is_sign = |it: char| it.is_ascii_punctuation() && !matches!(it, '\'' | ',' | ';' | '?' | '!' | '"');
    let letters = || name.chars().filter(|it| it.is_alphabetic());
    // A single capital may be a word, and a capital at the beginning may be that of a sentence.
    let is_capitals = letters().count() > 1 && letters().all(char::is_uppercase);
    let has_hump = name.chars().skip(1).any(char::is_uppercase);
    name.chars().any(|it| it.is_numeric() || is_sign(it)) || is_capitals || has_hump
}

/// Returns true if the text contains an identifier with the same letters and digits, regardless of case and
/// separators.
fn is_respelled(text: &str, name: &str) -> bool {
    // Other signs separate names: `foo::bar` is not another spelling of `foobar`.
    if !name.chars().all(|it| is_word_character(it) || it == '-') {
        return false;
    }
    let squeezed =
        |text: &str| text.chars().filter(|it| !matches!(it, '_' | '-')).collect::<String>().to_lowercase();
    let wanted = squeezed(name);
    identifiers(text).any(|identifier| squeezed(identifier) == wanted)
}

fn has_whole(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().rev(), text[at + name.len()..].chars());
        !continues_name(name.chars().next(), before, name)
            && !continues_name(name.chars().next_back(), after, name)
    })
}

/// Returns true if a name continues beyond `edge`, its first or last character. It continues with a letter or
/// digit. It also continues with a hyphen if the name contains one, or with a dot between digits, if more
/// follows.
fn continues_name(edge: Option<char>, mut beyond: impl Iterator<Item = char>, name: &str) -> bool {
    let (Some(edge), Some(next)) = (edge, beyond.next()) else { return false };
    if !is_word_character(edge) {
        return false;
    }
    let after = beyond.next();
    is_word_character(next)
        || (next == '-' && name.contains('-') && after.is_some_and(is_word_character))
        || (next == '.' && edge.is_numeric() && after.is_some_and(char::is_numeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_codes_are_names_and_words_are_none() {
        for name in [
            "RETRY-99999",
            "retry_after",
            "E0308",
            "HTTP_404",
            "parseJSON",
            "foo::bar",
            "ORA-00942",
            "ECONNREFUSED",
            "v1.2.3",
            "src/net/retry.rs",
            "C++",
            "C#",
            "user.name",
            "$scope",
            "GetUser",
            "0xC0000005",
            "größe_2",
        ] {
            assert_eq!(name_of(name), Some(name));
        }
        for (query, name) in [
            (" `retry_after` ", "retry_after"),
            ("\"E0308\"", "E0308"),
            ("parseJSON()", "parseJSON"),
            ("E0308?", "E0308"),
        ] {
            assert_eq!(name_of(query), Some(name), "{query}");
        }
        let long = "a_".repeat(limits::NAME_BYTES);
        for words in [
            "backoff",
            "Retries",
            "retry after",
            "E0308 mismatched",
            "don't",
            "what?",
            "A",
            "",
            "_",
            "--",
            "::",
            &long,
        ] {
            assert_eq!(name_of(words), None, "{words}");
        }
    }

    #[test]
    fn text_matches_a_name_exactly_by_case_inside_or_by_parts() {
        let cases = [
            ("retry_after", "let x = retry_after;", NameMatch::Whole),
            ("retry_after", "retry_after", NameMatch::Whole),
            ("retry_after", "RETRY_AFTER = 3", NameMatch::OtherCase),
            ("retry_after", "Retry_After and retry_after", NameMatch::Whole),
            ("retry_after", "retry_after_ms", NameMatch::Inside),
            ("retry_after", "XRETRY_AFTER", NameMatch::Inside),
            ("retry_after", "retry, and after", NameMatch::Parts),
            ("parse_http_header", "parseHTTPHeader()", NameMatch::OtherSpelling),
            ("parse-http-header", "parse_HTTP_header", NameMatch::OtherSpelling),
            ("RETRY-99999", "RETRY99999", NameMatch::OtherSpelling),
            ("foo::bar", "foobar foo_bar", NameMatch::Parts),
            ("RETRY-99999", "RETRY-99999: x", NameMatch::Whole),
            ("RETRY-99999", "RETRY-99999-2", NameMatch::Inside),
            ("RETRY-99999", "MAX-RETRY-99999", NameMatch::Inside),
            ("RETRY-99999", "- RETRY-99999 -", NameMatch::Whole),
            ("RETRY-99999", "RETRY-999990", NameMatch::Inside),
            ("E0308", "E0308-note", NameMatch::Whole),
            ("v1.2", "v1.2.3", NameMatch::Inside),
            ("v1.2", "it is v1.2.", NameMatch::Whole),
            ("foo::bar", "use foo::bar::baz;", NameMatch::Whole),
            ("foo.bar", "self.foo.bar.baz()", NameMatch::Whole),
            ("foo::bar", "foo::bars", NameMatch::Inside),
            ("C++", "in C++11", NameMatch::Whole),
            ("Größe_2", "GRÖSSE_2 größe_2", NameMatch::OtherCase),
            ("größe_2", "größe_2", NameMatch::Whole),
        ];
        for (name, text, held) in cases {
            assert_eq!(NameMatch::new(name, Some(text)), held, "{name} in {text}");
        }
        assert_eq!(NameMatch::new("x_1", None), NameMatch::Unknown);
    }
}
