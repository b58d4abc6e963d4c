//! SQL.
//!
//! Bodies of functions are mostly in PL/pgSQL, which the grammar doesn't support: it would miss the end of
//! the function and the code after it. So we replace them by blank strings before parsing. We do the same
//! with psql commands and the data of `COPY`.

use tree_sitter::Node;

use crate::language::Category::{Constant, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, Source, child};
use crate::limits;

const OBJECT: Name = Name::With(object);
const IDENTIFIER: Name = Name::Child(&["identifier"]);

pub(crate) static SQL: Row = Row {
    name: "sql",
    load: || tree_sitter_sequel::LANGUAGE.into(),
    rules: &[
        Rule::new("create_database", "database", Module, IDENTIFIER),
        Rule::new("create_schema", "schema", Module, IDENTIFIER),
        Rule::new("create_table", "table", Type, OBJECT),
        Rule::new("create_view", "view", Type, OBJECT),
        Rule::new("create_materialized_view", "materialized view", Type, OBJECT),
        Rule::new("create_type", "type", Type, OBJECT),
        Rule::new("create_function", "function", Function, OBJECT),
        Rule::new("create_trigger", "trigger", Function, OBJECT),
        Rule::new("create_sequence", "sequence", Constant, OBJECT),
        Rule::new("create_index", "index", Constant, Name::With(index)),
        Rule::new("create_role", "role", Constant, IDENTIFIER),
        Rule::new("column_definition", "column", Constant, Name::With(column)),
    ],
    leading: &["marginalia"],
    wrappers: &["statement"],
    source: Source::Masked(masked),
    ..BASE
};

/// Matches a statement that creates something. The first object that it names must be the created one.
fn object<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let object = child(site.node, &["object_reference"]);
    let schema = object.and_then(|object| object.child_by_field_name("schema"));
    let name = object.and_then(|object| object.child_by_field_name("name"));
    names.extend(name.map(|name| Named::new(name).with_scope(schema)));
}

/// Matches an index, which may have no name. The name of its table would come next.
fn index<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = site.node.child_by_field_name("column");
    names.extend(name.filter(|name: &Node<'tree>| name.kind() == "identifier").map(Named::new));
}

/// Matches columns of tables and types. We leave out columns that are added later, and columns of results.
fn column<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if site.parent_kind(0) == "column_definitions"
        && matches!(site.parent_kind(1), "create_table" | "create_type")
    {
        names.extend(site.node.child_by_field_name("name").map(Named::new));
    }
}

/// Masks bodies between dollar quotes, psql commands, and `COPY … FROM stdin` with its rows.
fn masked(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let (mut at, mut statement) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let is_line_start = at == 0 || bytes.get(at - 1) == Some(&b'\n');
        let length = match byte {
            b'-' if rest.starts_with(b"--") => until(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") => until(rest, b"*/"),
            b'\'' | b'"' | b'`' => 1 + until(&rest[1..], &[*byte]),
            // A name may contain this sign too, e.g. `v$session`.
            b'$' if at > 0 && bytes[at - 1].is_ascii_alphanumeric() => 1,
            b'$' => match quoted(rest) {
                Some(length) => {
                    blank(&mut masked[at..at + length]);
                    masked[at] = b'\'';
                    masked[at + length - 1] = b'\'';
                    length
                }
                None => 1,
            },
            b'\\' if is_line_start => {
                let length = until(rest, b"\n");
                blank(&mut masked[at..at + length]);
                length
            }
            b';' => {
                let length = if is_copy(&masked[statement..at]) { until(rest, b"\n\\.") } else { 1 };
                if length > 1 {
                    blank(&mut masked[statement..at + length]);
                }
                statement = at + length;
                length
            }
            _ => 1,
        };
        at += length;
    }
    // This can't fail: we only replaced ranges that begin and end with ASCII characters.
    String::from_utf8(masked).unwrap_or_else(|_| text.to_owned())
}

/// Recognises a statement that is followed by rows, i.e. `COPY … FROM stdin`.
fn is_copy(statement: &[u8]) -> bool {
    let Ok(statement) = std::str::from_utf8(statement) else { return false };
    let code = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    let is = |word: Option<&&str>, other| word.is_some_and(|word| word.eq_ignore_ascii_case(other));
    is(words.first(), "copy") && is(words.last(), "stdin")
}

/// Computes the length of a text up to and including a needle. Without a needle, this is the whole length.
fn until(text: &[u8], needle: &[u8]) -> usize {
    let found = text.windows(needle.len()).position(|window| window == needle);
    found.map_or(text.len(), |at| at + needle.len())
}

/// Computes the length of a dollar-quoted string, e.g. `$body$ … $body$`.
fn quoted(text: &[u8]) -> Option<usize> {
    let tag = text
        .iter()
        .skip(1)
        .take(limits::TAG_BYTES)
        .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?
        + 2;
    let is_parameter = text.get(1).is_some_and(u8::is_ascii_digit);
    let quote = text.get(..tag).filter(|quote| quote.ends_with(b"$") && !is_parameter)?;
    Some(tag + until(text.get(tag..)?, quote))
}

/// Replaces all bytes except line ends by spaces.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}
