//! Turns a commit message into a query that does not reveal the answer.
//!
//! A real user would not know the files. So we remove the names of touched files, and text that no one would
//! search for: trailers, issue numbers, addresses, commit ids.

use super::limits;

/// Trailer keys that consist of one word.
const TRAILERS: [&str; 17] = [
    "bug",
    "cc",
    "close",
    "closes",
    "fix",
    "fixes",
    "issue",
    "issues",
    "link",
    "pr",
    "ref",
    "references",
    "refs",
    "related",
    "resolves",
    "see",
    "ticket",
];

/// Names of standards that look like issue keys, e.g. `RFC-2119`.
const STANDARDS: [&str; 10] = ["aes", "cp", "cve", "ieee", "iso", "md", "rfc", "rsa", "sha", "utf"];

/// Turns the message of a commit that touched these files into a query. Returns `None` if too little of the
/// subject is left after the removals.
pub(super) fn question(message: &str, touched: &[String]) -> Option<String> {
    let touched: Vec<TouchedFile> = touched.iter().map(|path| TouchedFile::new(path)).collect();
    let mut lines = message.trim().lines();
    let subject = clean(without_scope(lines.next()?, &touched).trim(), &touched);
    let words = subject.split(' ').filter(|word| word.chars().any(char::is_alphabetic)).count();
    if words < limits::SUBJECT_WORDS {
        return None;
    }
    let body = lines.filter(|line| !is_trailer(line)).map(|line| clean(line, &touched));
    let lines: Vec<String> = [subject].into_iter().chain(body).filter(|line| !line.is_empty()).collect();
    Some(lines.join("\n"))
}

/// Returns true if the commit reverts another one, or should have been squashed.
pub(super) fn is_revert(message: &str) -> bool {
    let subject = message.trim_start().lines().next().unwrap_or_default().to_lowercase();
    let begins = ["revert", "reapply", "fixup!", "squash!", "amend!"];
    begins.iter().any(|begin| subject.starts_with(begin)) || message.contains("This reverts commit")
}

/// A touched file, in lower case.
struct TouchedFile {
    path: String,
    name: String,
    /// The name without its extension.
    stem: String,
}

impl TouchedFile {
    fn new(path: &str) -> Self {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let stem = stem(&name).to_owned();
        Self { path, name, stem }
    }

    /// Returns true if `word` is a part of the path. This can be a name in the path, with or without its
    /// extension, or a word of such a name.
    fn has_part(&self, word: &str) -> bool {
        let is_word = |name: &str| name.split(['-', '_', '.', ' ']).any(|part| part == word);
        let is_name = |name: &str| name == word || plain(stem(name)) == plain(word) || is_word(name);
        self.path.split('/').any(is_name)
    }

    /// Returns true if `path` is this file's path, a part of it that consists of whole names, or a longer
    /// path that ends with it.
    fn is_below(&self, path: &str) -> bool {
        let path = path.trim_matches('/');
        let whole = &self.path[..];
        let bare = whole.strip_suffix(&self.name).map(|directory| format!("{directory}{}", self.stem));
        let holds = |whole: &str| {
            format!("/{whole}/").contains(&format!("/{path}/"))
                || format!("/{path}").ends_with(&format!("/{whole}"))
        };
        !path.is_empty() && (holds(whole) || bare.is_some_and(|bare| holds(&bare)))
    }
}

fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Normalizes a name, so that e.g. `FooBar`, `foo_bar` and `foo-bar` are equal.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Removes a prefix such as `scope:`, `type(scope):` or `[scope]`, except for those of its words that are not
/// parts of touched paths.
fn without_scope(subject: &str, touched: &[TouchedFile]) -> String {
    let is_part = |word: &str| {
        touched.iter().any(|file| file.has_part(&word.to_lowercase()) || file.is_below(&word.to_lowercase()))
    };
    let (mut kept, mut rest) = (Vec::new(), subject.trim());
    while let Some((prefix, after)) = split_prefix(rest) {
        // If a prefix is not itself part of a path, it may be a list of names.
        if !is_part(prefix) {
            let words = prefix.split(|c: char| c.is_whitespace() || ",/()!&+".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty() && !is_part(word)).collect();
            if !words.is_empty() {
                kept.push(words.join(" "));
            }
        }
        rest = after.trim_start();
    }
    kept.push(rest.to_owned());
    kept.join(" ")
}

/// Splits a subject into its prefix and the rest.
fn split_prefix(subject: &str) -> Option<(&str, &str)> {
    let (prefix, after) = match subject.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => subject.split_once(": ")?,
    };
    let is_prefix = prefix.len() <= limits::PREFIX_BYTES
        && prefix.split_whitespace().count() <= 3
        && prefix.starts_with(|c: char| c.is_alphanumeric() || "._/".contains(c));
    is_prefix.then_some((prefix, after))
}

fn is_trailer(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with("(cherry picked from commit") {
        return true;
    }
    let Some((key, value)) = line.split_once(':') else {
        // For example, `Fixes #12` has no colon.
        let mut words = line.split_whitespace();
        let is_key = words.next().is_some_and(|key| TRAILERS.contains(&key.to_lowercase().as_str()));
        let mut rest = words.peekable();
        return is_key && rest.peek().is_some() && rest.all(is_reference);
    };
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    is_key
        && value.starts_with([' ', '\t'])
        && (key.contains('-') || TRAILERS.contains(&key.to_lowercase().as_str()))
}

/// Removes words that reveal the answer or carry no meaning.
fn clean(line: &str, touched: &[TouchedFile]) -> String {
    let keeps = |word: &&str| !is_reference(word) && !names_a_file(word, touched);
    line.split_whitespace().filter(keeps).collect::<Vec<_>>().join(" ")
}

/// Returns true for issue numbers, addresses and commit ids.
fn is_reference(word: &str) -> bool {
    if word.contains("://") {
        return true;
    }
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if word.split('#').skip(1).any(number) {
        return true;
    }
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_key = core.split_once('-').is_some_and(|(key, digits)| {
        (2..=10).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_uppercase())
            && !STANDARDS.contains(&key.to_lowercase().as_str())
            && is_digits(digits)
    });
    let is_id = (7..=64).contains(&core.len())
        && core.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && core.bytes().any(|byte| byte.is_ascii_digit())
        && core.bytes().any(|byte| byte.is_ascii_lowercase());
    is_key || is_id
}

/// Returns true if a word is the path or the name of a touched file. A name without its extension only counts
/// if it is written like a name in code. A plain word such as `parser` of `parser.rs` is a natural part of a
/// query.
fn names_a_file(word: &str, touched: &[TouchedFile]) -> bool {
    let is_quoted = word.contains('`');
    let core = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let core = core.strip_suffix("'s").unwrap_or(core);
    // Paths may have a line number, as in `a/b.rs#L12` and `a/b.rs:12`, but `module::name` is not a path.
    let core = core.split('#').next().unwrap_or_default();
    let path = core.split(':').next().filter(|path| path.contains(['/', '.'])).unwrap_or(core).to_lowercase();
    // Code may join names, for example in `module::name` and `Type.method()`.
    let names: Vec<&str> =
        core.split(|c: char| ":.()<>,".contains(c)).filter(|name| !name.is_empty()).collect();
    touched.iter().any(|file| {
        let is_stem = |name: &&str| {
            let is_code = is_quoted || is_compound(name) || is_compound(&file.stem);
            is_code && plain(name) == plain(&file.stem)
        };
        path == file.name || (path.contains('/') && file.is_below(&path)) || names.iter().any(is_stem)
    })
}

/// Returns true if a name consists of several words, like `foo_bar` and `fooBar`.
fn is_compound(name: &str) -> bool {
    let mut letters = name.chars().skip(1);
    name.trim_matches(['_', '-']).contains(['_', '-'])
        || letters.any(char::is_uppercase) && name.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str, touched: &[&str]) -> String {
        let touched: Vec<String> = touched.iter().map(|path| (*path).to_owned()).collect();
        question(message, &touched).unwrap_or_default()
    }

    #[test]
    fn names_of_touched_files_are_taken_out() {
        let touched = &["src/net/http_client.rs", "docs/Setup.md", "src/parser.rs"];
        for (message, wanted) in [
            ("Retry in src/net/http_client.rs when the peer closes", "Retry in when the peer closes"),
            ("Retry in `http_client.rs:12`, when it closes", "Retry in when it closes"),
            ("Retry in net/http_client when it closes", "Retry in when it closes"),
            ("Let HttpClient::connect wait for peers", "Let wait for peers"),
            ("Say in setup.md's head what is needed", "Say in head what is needed"),
            ("Keep src/net from waiting for ever", "Keep from waiting for ever"),
            ("The parser takes empty lines", "The parser takes empty lines"),
            ("The `parser` takes two empty lines", "The takes two empty lines"),
            ("Other files like client.rs and net.rs stay", "Other files like client.rs and net.rs stay"),
        ] {
            assert_eq!(of(message, touched), wanted, "{message}");
        }
    }

    #[test]
    fn scopes_that_are_parts_of_paths_are_taken_out() {
        let touched = &["crates/forage-rank/src/http2/frame.rs"];
        for (message, wanted) in [
            ("http2: wait for the last frame", "wait for the last frame"),
            ("forage-rank/http2: wait for the end", "wait for the end"),
            ("fix(http2)!: wait for the end", "fix wait for the end"),
            ("[http2] wait for the end", "wait for the end"),
            ("rank, other: wait for the end", "other wait for the end"),
            ("crates: http2: wait for the end", "wait for the end"),
            ("Note: wait for the end", "Note wait for the end"),
            ("What was said of it in a long sentence: wait", "What was said of it in a long sentence: wait"),
        ] {
            assert_eq!(of(message, touched), wanted, "{message}");
        }
    }

    #[test]
    fn trailers_and_references_are_taken_out() {
        let message = "Wait for the end (#12)\n\nAs UTF-8 of 1234567 bytes, PROJ-77, GH-3, owner/name#4, see\n\
                       https://example.com/a and 9fceb02d0ae598e95dc970b74767f19372d61af8.\n\n\
                       Note: this stays\nFixes: #5\nCloses #6\nSigned-off-by: A <a@example.com>\n\
                       (cherry picked from commit 9fceb02)";
        assert_eq!(
            of(message, &["a.rs"]),
            "Wait for the end\nAs UTF-8 of 1234567 bytes, see\nand\nNote: this stays"
        );
    }

    #[test]
    fn short_commit_message_makes_no_query() {
        for message in ["", "wip", "Fix http.rs", "Update http.rs 1.2 3", "http: more tests"] {
            assert_eq!(of(message, &["src/http.rs"]), "", "{message}");
        }
        assert_ne!(of("Add more tests", &["src/http.rs"]), "");
    }

    #[test]
    fn reverts_are_told() {
        for message in ["Revert \"a\"", "reapply: a", "fixup! a", "Take it back\n\nThis reverts commit 12."] {
            assert!(is_revert(message), "{message}");
        }
        assert!(!is_revert("Let the user revert a change"));
    }
}
