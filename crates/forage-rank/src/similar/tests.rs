use forage_base::Stop;

use super::tokens::{Lexer, TokenKind};
use super::*;
use crate::outline::outline;

const ORIGINAL: &str = "\
def parse_header(line, limit):
    name, value = line.split(':', 1)
    if len(name) > limit:
        raise HeaderError('name too long: %s' % name)
    value = value.strip()
    for part in value.split(','):
        if part.startswith('q='):
            return name.lower(), float(part[2:])
    return name.lower(), value
";

/// The same function with other names.
const RENAMED: &str = "\
class Fields:
    def take(self):
        return self.first

    def read_field(text, longest):
        key, rest = text.split(':', 1)
        if len(key) > longest:
            raise HeaderError('name too long: %s' % key)
        rest = rest.strip()
        for piece in rest.split(','):
            if piece.startswith('q='):
                return key.lower(), float(piece[2:])
        return key.lower(), rest
";

/// The same function with changed statements.
const EDITED: &str = "\
def parse_header(line, limit, strict=False):
    name, value = line.split(':', 1)
    if strict and len(name) > limit:
        raise HeaderError('name too long: %s' % name)
    log.debug(name)
    for part in value.split(','):
        if part.startswith('q='):
            return name.lower(), float(part[2:])
    return name.lower(), value
";

const OTHER: &str = "\
def total(prices, tax):
    result = 0
    while prices:
        result += prices.pop() * (1 + tax)
    print('the total is', round(result, 2))
    return result
";

/// Compares a piece with files, as a search does. Returns the paths and names of definitions, the best first.
fn similar(piece: &CodePiece, files: &[(&str, &str)]) -> Vec<(String, String, SimilarDefinition)> {
    let mut scanned = ScannedFiles::default();
    for (path, text) in files.iter().filter(|(path, _)| piece.can_compare(path)) {
        scanned.add((*path, *text), &piece.scan(path, text));
    }
    let best = scanned.best(piece, limits::SIMILAR_FILES);
    let mut found = Vec::new();
    for (path, text) in best.files {
        let outline = outline(path, text, &Stop::never());
        for hit in piece.compare(&best.weights, (path, text), &outline, None) {
            found.push((path.to_owned(), outline.definitions[hit.definition].name.clone(), hit));
        }
    }
    found.sort_by(|a, b| b.2.similarity.total_cmp(&a.2.similarity));
    found
}

fn names(found: &[(String, String, SimilarDefinition)]) -> Vec<(&str, &str)> {
    found.iter().map(|(path, name, _)| (path.as_str(), name.as_str())).collect()
}

#[test]
fn copies_are_found_by_structure_and_by_words() {
    let files = [("a.py", RENAMED), ("b.py", EDITED), ("c.py", OTHER), ("d.py", ORIGINAL)];
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    let found = similar(&piece, &files);
    let expected = [("d.py", "parse_header"), ("a.py", "read_field"), ("b.py", "parse_header")];
    assert_eq!(names(&found), expected);
    assert!(found[0].2.similarity > 0.999, "{:?}", found[0]);
}

#[test]
fn shared_lines_and_names_are_counted() {
    let files = [("a.py", RENAMED), ("b.py", EDITED)];
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    assert_eq!(piece.lines(), 9);
    let found = similar(&piece, &files);
    let edited = &found[1].2;
    assert_eq!((edited.alike_lines, edited.equal_lines, edited.first_alike), (6, 6, Some(2)));
    let renamed = &found[0].2;
    // The first line has one name more, and no line has the same names.
    assert_eq!((renamed.alike_lines, renamed.equal_lines, renamed.first_alike), (9, 0, Some(5)));
    assert_eq!((renamed.start_line, renamed.end_line), (5, 13));
    assert!(renamed.names.contains(&"HeaderError".to_owned()), "{:?}", renamed.names);
    assert!(!renamed.names.contains(&"limit".to_owned()), "{:?}", renamed.names);
}

#[test]
fn a_piece_is_found_within_a_longer_definition() {
    let body: String = (0..60).map(|n| format!("    step_{n}(state, {n})\n")).collect();
    let longer =
        format!("def run(state, line, limit):\n{body}{}", &ORIGINAL[ORIGINAL.find('\n').unwrap() + 1..]);
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    assert_eq!(names(&similar(&piece, &[("long.py", &longer), ("c.py", OTHER)])), [("long.py", "run")]);
}

#[test]
fn nothing_is_similar_to_other_code() {
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    assert!(similar(&piece, &[("c.py", OTHER)]).is_empty());
}

#[test]
fn pasted_code_needs_no_language() {
    let piece = CodePiece::from_text(ORIGINAL, None).unwrap();
    assert!(piece.can_compare("a.rs") && !piece.can_compare("a.json") && !piece.can_compare("a.md"));
    assert_eq!(names(&similar(&piece, &[("c.py", OTHER), ("d.py", ORIGINAL)])), [("d.py", "parse_header")]);
    let piece = CodePiece::from_text(ORIGINAL, Some("py")).unwrap();
    assert!(piece.can_compare("a.py") && !piece.can_compare("a.rs"));
}

#[test]
fn lines_of_a_file_are_a_piece() {
    let piece = CodePiece::from_file("b.py", RENAMED, Some(5..=13)).unwrap();
    assert_eq!(piece.lines(), 9);
    assert!(CodePiece::from_file("b.py", RENAMED, Some(2..=2)).is_none());
    assert!(CodePiece::from_file("b.py", RENAMED, Some(90..=99)).is_none());
    assert!(CodePiece::from_text("# only a comment\n\n", None).is_none());
}

#[test]
fn tokens_have_kinds_and_lines() {
    let row = |name| called(name).unwrap();
    let of = |name, text: &str| {
        let mut found = Vec::new();
        Lexer::new(row(name)).tokens(text, |token| {
            found.push((token.kind, String::from_utf8_lossy(token.bytes).into_owned(), token.line));
        });
        found
    };
    let expected = [
        (TokenKind::Keyword, "fn", 1),
        (TokenKind::Name, "f", 1),
        (TokenKind::Sign, "<", 1),
        (TokenKind::Sign, "'", 1),
        (TokenKind::Name, "a", 1),
        (TokenKind::Sign, ">", 1),
        (TokenKind::String, "'x'", 2),
        (TokenKind::Number, "1.5e3", 2),
        (TokenKind::Number, "0", 2),
        (TokenKind::Sign, ".", 2),
        (TokenKind::Sign, ".", 2),
        (TokenKind::String, "\"a\\\"b\"", 3),
        (TokenKind::String, "\"open", 3),
        (TokenKind::Name, "é", 4),
    ];
    let text = "fn f<'a> // a comment\n'x' 1.5e3 0.. /* a\n */\"a\\\"b\" \"open\né;";
    let found = of("rust", text);
    let found: Vec<(TokenKind, &str, u32)> =
        found.iter().map(|(kind, text, line)| (*kind, text.as_str(), *line)).collect();
    assert_eq!(found, expected);
    assert_eq!(of("python", "'it' # no\n\"\"\"doc\n\"\"\"x").len(), 2);
}

#[test]
fn spellings_of_a_name_are_one_word() {
    let of = |text: &str| {
        let mut found = Vec::new();
        super::tokens::words(text.as_bytes(), |hash, bytes| {
            found.push((String::from_utf8_lossy(bytes).into_owned(), hash));
        });
        found
    };
    let (snake, camel) = (of("parse_header"), of("parseHeader"));
    let words = |found: &[(String, u64)]| found.iter().map(|(word, _)| word.clone()).collect::<Vec<_>>();
    assert_eq!(words(&snake), ["parse", "header", "parse_header"]);
    assert_eq!(words(&camel), ["parse", "Header", "parseHeader"]);
    let hashes = |found: &[(String, u64)]| found.iter().map(|(_, hash)| *hash).collect::<Vec<_>>();
    assert_eq!(hashes(&snake), hashes(&camel));
    assert_eq!(words(&of("\"name too long\"")), ["name", "too", "long"]);
    assert!(of("x").is_empty());
}

#[test]
fn files_beyond_the_limit_are_those_with_fewer_features() {
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    let mut scanned = ScannedFiles::default();
    let other = piece.scan("c.py", "def f(line):\n    return line.split(':', 1)\n");
    for at in 0..2 * limits::SIMILAR_FILES_HELD {
        scanned.add(at, &other);
    }
    scanned.add(usize::MAX, &piece.scan("d.py", ORIGINAL));
    let best = scanned.best(&piece, limits::SIMILAR_FILES);
    assert_eq!(best.files[0], usize::MAX);
    assert!(best.files.len() <= limits::SIMILAR_FILES, "{}", best.files.len());
}

#[test]
fn files_that_are_not_compared_are_returned_with_their_similarity() {
    let piece = CodePiece::from_file("d.py", ORIGINAL, None).unwrap();
    let mut scanned = ScannedFiles::default();
    (0..5).for_each(|at| scanned.add(at, &piece.scan("d.py", ORIGINAL)));
    scanned.add(5, &piece.scan("c.py", OTHER));
    let best = scanned.best(&piece, 2);
    assert_eq!((best.files, best.others.len()), (vec![0, 1], 3));
    assert!(best.others.iter().all(|similarity| *similarity > 0.999), "{:?}", best.others);
}

/// A definition around both the given lines and a copy must not hide the copy.
#[test]
fn a_copy_in_the_definition_around_the_piece_is_found() {
    let body = &ORIGINAL[ORIGINAL.find('\n').unwrap() + 1..];
    let indent = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let class =
        format!("class Both:\n{}\n{}", indent(ORIGINAL), indent(&format!("def other(line, limit):\n{body}")));
    let piece = CodePiece::from_file("a.py", &class, Some(1..=10)).unwrap();
    let mut scanned = ScannedFiles::default();
    scanned.add("a.py", &piece.scan("a.py", &class));
    let best = scanned.best(&piece, limits::SIMILAR_FILES);
    let outline = outline("a.py", &class, &Stop::never());
    let found = piece.compare(&best.weights, ("a.py", class.as_str()), &outline, Some(&(1..=10)));
    let names: Vec<&str> = found.iter().map(|it| outline.definitions[it.definition].name.as_str()).collect();
    assert_eq!(names, ["other"]);
}

/// Comparing each pair of definitions took seconds for a generated file.
#[test]
fn only_the_best_of_many_definitions_are_explained() {
    let text: String = (0..5_000).map(|at| format!("def f{at}(a, b): return a + b * c(a, b)\n")).collect();
    let line = "def g(a, b): return a + b * c(a, b)\n";
    let piece = CodePiece::from_text(line, Some("python")).unwrap();
    let mut scanned = ScannedFiles::default();
    scanned.add("f.py", &piece.scan("f.py", &text));
    let best = scanned.best(&piece, limits::SIMILAR_FILES);
    let outline = outline("f.py", &text, &Stop::never());
    let found = piece.compare(&best.weights, ("f.py", text.as_str()), &outline, None);
    let explained = found.iter().filter(|it| it.alike_lines == 1).count();
    assert_eq!((found.len(), explained), (5_000, limits::SIMILAR_EXPLAINED));
}
