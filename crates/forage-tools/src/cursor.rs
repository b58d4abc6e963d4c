//! Cursors: 16 characters that mark the position where a truncated answer continues. A cursor is valid only
//! for the request that it came from.
//!
//! A cursor is the Base64 of 12 bytes: the number of the group (1), the line (4, big-endian) and a hash (7) of
//! the request, the root's path, the group, the line and the path of the file. The cursor does not contain the
//! path itself. Instead, we search the tree for the file whose hash is correct. A cursor that was altered or
//! that belongs to another request is therefore rejected, and we lose no results between two pages. There is
//! no secret key in the hash: a caller that computes its own hash sees nothing that a request without a
//! cursor does not show.

use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use forage_base::{Hash64, Stop};
use forage_fs::{RelPath, Root, WalkOptions, WalkStep, walk};
use serde::Serialize;
use serde_json::Value;

use crate::error::ToolError;
use crate::tool::Tool;

/// The first sort key of results, before their path and line. All results of a request have the same variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The part of an answer in path order. Only uses of a name have more parts than 0.
    Part(u8),
    /// The edits of a fuzzy match, if the best matches come first.
    Distance(u8),
    /// The number of a ranked file's root.
    Root(u8),
    /// The pieces of a commit that earlier pages have.
    Pieces(u8),
}

impl Group {
    pub(crate) fn number(self) -> u8 {
        let (Self::Part(number) | Self::Distance(number) | Self::Root(number) | Self::Pieces(number)) = self;
        number
    }
}

/// A position in the order of results. Everything up to this line of this path in this group was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) group: Group,
    pub(crate) path: RelPath,
    pub(crate) line: u64,
}

/// Arguments that affect only how many results are returned. We include `path` in this list because a path
/// can be written in many ways, and hash the resolved path instead.
const NOT_OF_THE_QUESTION: [&str; 7] =
    ["cursor", "path", "limit", "max_results", "timeout_ms", "explain", "code_tokens"];

/// Hashes everything that a cursor is bound to in addition to its position: all arguments that affect the
/// results, whatever arguments the tool has. If they changed between pages, we would skip results. `globs`
/// are those that were part of `path`.
pub(crate) fn fingerprint<T: Tool>(
    request: &T::Request,
    root: &Root,
    start: &RelPath,
    globs: Option<&str>,
) -> u64
where
    T::Request: Serialize,
{
    let mut question = serde_json::to_value(request).unwrap_or_default();
    if let Some(arguments) = question.as_object_mut() {
        // An omitted argument must hash like an empty one. No argument has a 0 that changes the results.
        let says_nothing = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        arguments.retain(|name, value| !NOT_OF_THE_QUESTION.contains(&name.as_str()) && !says_nothing(value));
    }
    let mut hasher = Hash64::default();
    (T::NAME, root.path(), start.as_bytes(), globs, question.to_string()).hash(&mut hasher);
    hasher.finish()
}

/// Bytes of a cursor. This must be a multiple of three, so that every text of this length has exactly one
/// meaning and no padding.
const BYTES: usize = 12;

/// Bytes of the hash. With one million files, we would mistake one for another in one of 70 billion pages.
const HASH_BYTES: usize = 7;

/// A cursor whose file we have not found yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnresolvedCursor {
    bytes: [u8; BYTES],
    fingerprint: u64,
    /// Creates the group from its number.
    group: fn(u8) -> Group,
}

impl Cursor {
    pub(crate) fn encode(&self, fingerprint: u64) -> String {
        STANDARD.encode(self.bytes(fingerprint))
    }

    fn bytes(&self, fingerprint: u64) -> [u8; BYTES] {
        let line = u32::try_from(self.line).unwrap_or(u32::MAX);
        let mut hasher = Hash64::default();
        (fingerprint, self.group.number(), line, self.path.as_bytes()).hash(&mut hasher);
        let mut bytes = [0; BYTES];
        bytes[0] = self.group.number();
        bytes[1..5].copy_from_slice(&line.to_be_bytes());
        bytes[5..].copy_from_slice(&hasher.finish().to_be_bytes()[..HASH_BYTES]);
        bytes
    }
}

impl UnresolvedCursor {
    /// Decodes a cursor of a request whose results have this variant of [`Group`].
    pub(crate) fn parse(text: &str, fingerprint: u64, group: fn(u8) -> Group) -> Result<Self, ToolError> {
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        let Some(bytes) = bytes else {
            return Err(ToolError::argument(
                "cursor",
                "it is invalid; copy it unchanged from the previous answer, or omit it to start over",
            ));
        };
        Ok(Self { bytes, fingerprint, group })
    }

    /// Returns the position if it is in this file.
    pub(crate) fn at(&self, path: &RelPath) -> Option<Cursor> {
        let [number, line @ .., _, _, _, _, _, _, _] = self.bytes;
        let line = match u32::from_be_bytes(line) {
            // The largest number means the end of the file.
            u32::MAX => u64::MAX,
            line => line.into(),
        };
        let cursor = Cursor { group: (self.group)(number), path: path.clone(), line };
        (cursor.bytes(self.fingerprint) == self.bytes).then_some(cursor)
    }

    /// Creates the error for a cursor that matches no file.
    pub(crate) fn unknown() -> ToolError {
        ToolError::argument(
            "cursor",
            "it was altered, belongs to another request or root, or the file where the page ended is gone; repeat it with the \
             other arguments unchanged, or omit it to start over",
        )
    }

    /// Searches the files of a walk for the position.
    ///
    /// # Errors
    ///
    /// Fails if no file matches, if the walk can't begin, or if it was stopped early.
    pub(crate) fn find(
        &self,
        root: &Arc<Root>,
        start: &RelPath,
        options: &WalkOptions,
        stop: &Stop,
    ) -> Result<Cursor, ToolError> {
        let mut found = None;
        let report = walk(
            root,
            start,
            options,
            stop,
            || (),
            |(), entry, _| match self.at(&entry.path) {
                Some(cursor) => WalkStep::Item(cursor, size_of::<Cursor>()),
                None => WalkStep::Nothing,
            },
            |cursor| {
                found = Some(cursor);
                ControlFlow::Break(())
            },
        )?;
        match (found, report.stopped) {
            (Some(found), _) => Ok(found),
            (None, Some(_)) => Err(ToolError::argument(
                "cursor",
                "the time limit was reached before its file was found; give the call more time",
            )),
            (None, None) => Err(Self::unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, line: u64, distance: u8) -> Cursor {
        Cursor {
            group: Group::Distance(distance),
            path: RelPath::parse(path, &RelPath::root()).unwrap(),
            line,
        }
    }

    fn reads_as(text: &str, fingerprint: u64, cursor: &Cursor) -> bool {
        UnresolvedCursor::parse(text, fingerprint, Group::Distance)
            .is_ok_and(|sealed| sealed.at(&cursor.path).is_some())
    }

    #[test]
    fn reads_back_and_fits_one_request_and_file_only() {
        let cursors = [("a/b ö.rs", 12, 2), ("", 0, 0), ("a", u64::MAX, 255), ("a", 4_000_000_000, 0)];
        for cursor in cursors.map(|(path, line, distance)| place(path, line, distance)) {
            let text = cursor.encode(7);
            assert_eq!(text.len(), 16);
            let read = UnresolvedCursor::parse(&text, 7, Group::Distance).unwrap();
            assert_eq!(read.at(&cursor.path), Some(cursor.clone()));
            assert!(!reads_as(&text, 8, &cursor));
            assert!(!reads_as(&text, 7, &place("a/b", 0, 0)));
        }
    }

    /// Replaces, removes or duplicates each character in turn.
    #[test]
    fn no_altered_place_is_taken() {
        let cursor = place("src/ö.rs", 12, 0);
        let text = cursor.encode(7);
        for at in 0..text.len() {
            let (before, after) = (&text[..at], &text[at + 1..]);
            for other in (0x20..0x7f_u8).map(char::from).filter(|other| !text[at..].starts_with(*other)) {
                assert!(!reads_as(&format!("{before}{other}{after}"), 7, &cursor));
            }
            assert!(!reads_as(&format!("{before}{after}"), 7, &cursor));
            assert!(!reads_as(&format!("{before}{}{}", &text[at..=at], &text[at..]), 7, &cursor));
        }
        for other in ["", "=", &format!("{text}="), &format!("{text}===="), &format!(" {text}")] {
            assert!(!reads_as(other, 7, &cursor), "{other}");
        }
    }

    #[test]
    fn fuzz_no_altered_cursor_is_taken() {
        let cursor = place("src/ö.rs", 12, 0);
        let seeds = forage_fuzz::seeds([cursor.encode(7), cursor.encode(8)]);
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            assert!(!reads_as(&text, 7, &cursor) || text == cursor.encode(7), "{text}");
        });
    }
}
