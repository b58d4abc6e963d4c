//! Where an answer that was cut goes on: a token that holds the place and fits only the request that it came from.
//!
//! It is `1.CHECK.DISTANCE.LINE.PATH`. The check is a hash of the request, of the root's path, and of the place as it is
//! written there, so that a place that was altered, or put behind the check of another, is refused: nothing between two
//! pages is left out, and no page begins where none has ended. There is no key in it. Who computes the hash anew misleads
//! nobody but itself, and sees nothing that a request without a cursor does not show.

use std::hash::{Hash, Hasher};

use forage_base::Hash64;
use forage_fs::{RelPath, Root};
use serde::Serialize;
use serde_json::Value;

use crate::error::ToolError;
use crate::tool::Tool;

/// A place in the order of results: everything up to this line of this path was delivered. Results that come best
/// first are ordered by their distance before that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) distance: u8,
    pub(crate) path: RelPath,
    pub(crate) line: u64,
}

/// Arguments that say how much of the results is wanted. A path can be written in many ways: what it leads to is looked at.
const NOT_OF_THE_QUESTION: [&str; 7] =
    ["cursor", "path", "limit", "max_results", "timeout_ms", "explain", "code_tokens"];

/// Returns what a cursor of a tool is bound to beside its place: all that is asked for, whatever arguments the tool has.
/// Changing it in between would leave results out. `globs` are those that stood in `path`.
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
        // Left out is the same as said to be nothing; no 0 makes other results.
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

/// Returns what binds a place to a request, as it is written. The place is taken as text: of two spellings of one place
/// only ours is one.
fn check(fingerprint: u64, place: &str) -> String {
    let mut hasher = Hash64::default();
    (fingerprint, place).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

impl Cursor {
    pub(crate) fn encode(&self, fingerprint: u64) -> String {
        let path: String = self.path.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let place = format!("{}.{}.{path}", self.distance, self.line);
        format!("1.{}.{place}", check(fingerprint, &place))
    }

    pub(crate) fn decode(text: &str, fingerprint: u64) -> Result<Self, ToolError> {
        let malformed = || {
            ToolError::argument(
                "cursor",
                "it is malformed; pass `next_cursor` of the previous answer back as it is, or leave it out to begin anew",
            )
        };
        let (bound, place) =
            text.strip_prefix("1.").and_then(|rest| rest.split_once('.')).ok_or_else(malformed)?;
        let mut parts = place.split('.');
        let (Some(distance), Some(line), Some(path), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        let (Ok(distance), Ok(line)) = (distance.parse(), line.parse()) else { return Err(malformed()) };
        if bound != check(fingerprint, place) {
            return Err(ToolError::argument(
                "cursor",
                "it was altered, or belongs to another request or root; pass `next_cursor` back as it is with the other \
                 arguments unchanged, or leave the cursor out to begin anew",
            ));
        }
        let digits = path.as_bytes();
        let byte = |pair: &[u8]| {
            Some(u8::try_from(hex(pair.first()?)? * 16 + hex(pair.get(1)?)?).unwrap_or_default())
        };
        let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>().ok_or_else(malformed)?;
        let path = RelPath::from_bytes(&bytes, &RelPath::root()).map_err(|_| malformed())?;
        Ok(Self { distance, path, line })
    }
}

fn hex(digit: &u8) -> Option<u32> {
    char::from(*digit).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_and_fits_one_request_only() {
        let path = RelPath::parse("a/b ö.rs", &RelPath::root()).unwrap();
        let cursor = Cursor { distance: 2, path, line: 12 };
        let text = cursor.encode(7);
        assert_eq!(Cursor::decode(&text, 7).unwrap(), cursor);
        assert!(Cursor::decode(&text, 8).unwrap_err().to_string().contains("another request"));
        for bad in ["", "1", "1.0.0", "2.0000000000000007.0.1.61", "1.0000000000000007.0.x.61", "1..0.1.61"] {
            assert!(Cursor::decode(bad, 7).is_err(), "{bad}");
        }
    }

    /// One character of it is another, is missing, or is there twice.
    #[test]
    fn no_altered_place_is_taken() {
        let path = RelPath::parse("src/ö.rs", &RelPath::root()).unwrap();
        let text = Cursor { distance: 0, path: path.clone(), line: 12 }.encode(7);
        let refused = |altered: &str| {
            let error = Cursor::decode(altered, 7).map(|_| altered.to_owned()).unwrap_err().to_string();
            assert!(error.contains("begin anew"), "{altered}: {error}");
        };
        for at in 0..text.len() {
            let (before, after) = (&text[..at], &text[at + 1..]);
            for other in (0x20..0x7f_u8).map(char::from).filter(|other| !text[at..].starts_with(*other)) {
                refused(&format!("{before}{other}{after}"));
            }
            refused(&format!("{before}{after}"));
            refused(&format!("{before}{}{}", &text[at..=at], &text[at..]));
        }
        // Other spellings of the same place.
        let (head, place) = text.rsplit_once(".0.12.").unwrap();
        for other in [".+0.12.", ".00.12.", ".0.012.", ".0.+12."] {
            refused(&format!("{head}{other}{place}"));
        }
        refused(&text.to_uppercase());
        // The check of one place before another.
        let elsewhere = Cursor { distance: 0, path, line: 13 }.encode(7);
        let check = |text: &str| text.split('.').nth(1).unwrap().to_owned();
        refused(&elsewhere.replace(&check(&elsewhere), &check(&text)));
    }

    #[test]
    fn fuzz_no_altered_cursor_is_taken() {
        let cursors =
            [("src/ö.rs", 12, 0), ("", 0, 0), ("a/b", u64::MAX, 255)].map(|(path, line, distance)| {
                let path = RelPath::parse(path, &RelPath::root()).unwrap();
                Cursor { distance, path, line }.encode(7)
            });
        let seeds = forage_fuzz::seeds(&cursors);
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            assert!(
                Cursor::decode(&text, 7).is_err() || cursors.contains(&text.clone().into_owned()),
                "{text}"
            );
            assert!(Cursor::decode(&text, 8).is_err(), "{text}");
            // With the check made right, as anybody can: it is a place below the root, or none.
            let Some(place) = text.splitn(3, '.').nth(2) else { return };
            if let Ok(cursor) = Cursor::decode(&format!("1.{}.{place}", check(7, place)), 7) {
                assert!(cursor.path.names().all(|name| name != b".."), "{cursor:?}");
                assert_eq!(Cursor::decode(&cursor.encode(7), 7).unwrap(), cursor);
            }
        });
    }
}
