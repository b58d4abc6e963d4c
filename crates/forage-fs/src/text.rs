//! From the bytes of a file to text that can be searched line by line.

use std::borrow::Cow;

use crate::limits;

/// The encoding as which the bytes of a file were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Valid UTF-8 (ASCII included), or not looked at closely.
    Utf8,
    /// UTF-8 behind a byte-order mark, which is taken off.
    Utf8Bom,
    /// UTF-16, little-endian by its byte-order mark; turned into UTF-8.
    Utf16Le,
    /// UTF-16, big-endian by its byte-order mark; turned into UTF-8.
    Utf16Be,
}

impl Encoding {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte-order mark",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
        }
    }
}

/// The text of a file.
#[derive(Debug)]
pub enum DecodedText<'a> {
    /// Text; bytes that are not UTF-8 stay as they are (the reader shows them as U+FFFD).
    Text {
        /// The text without byte-order mark.
        bytes: Cow<'a, [u8]>,
        /// How it was read.
        encoding: Encoding,
    },
    /// A NUL byte after decoding: not text.
    Binary,
}

/// Decodes by byte-order mark; a NUL byte anywhere in the decoded text means binary.
pub fn decode(raw: &[u8]) -> DecodedText<'_> {
    match decode_head(raw) {
        DecodedText::Text { bytes, .. } if is_binary(&bytes) => DecodedText::Binary,
        decoded => decoded,
    }
}

/// Returns whether decoded text holds a NUL byte.
pub fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some()
}

/// As [`decode`], but looks for a NUL byte only in the beginning, where nearly all binary files have one. A search
/// that finds something asks [`is_binary`] for the rest; one that finds nothing need not read the text twice.
pub fn decode_head(raw: &[u8]) -> DecodedText<'_> {
    let (bytes, encoding) = match raw {
        [0xef, 0xbb, 0xbf, rest @ ..] => (Cow::Borrowed(rest), Encoding::Utf8Bom),
        [0xff, 0xfe, rest @ ..] => (utf8_from(encoding_rs::UTF_16LE, rest), Encoding::Utf16Le),
        [0xfe, 0xff, rest @ ..] => (utf8_from(encoding_rs::UTF_16BE, rest), Encoding::Utf16Be),
        _ => (Cow::Borrowed(raw), Encoding::Utf8),
    };
    match is_binary(&bytes[..bytes.len().min(limits::BINARY_HEAD_BYTES)]) {
        true => DecodedText::Binary,
        false => DecodedText::Text { bytes, encoding },
    }
}

fn utf8_from(encoding: &'static encoding_rs::Encoding, bytes: &[u8]) -> Cow<'static, [u8]> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Cow::Owned(text.into_owned().into_bytes())
}

/// The number of lines: one per line feed, and one for text after the last of them.
pub fn count_lines(text: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text).count() as u64;
    feeds + u64::from(text.last().is_some_and(|&b| b != b'\n'))
}

/// Returns the lines of a text, exactly those of [`str::lines`], whose search for line feeds takes several times as long.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(feed) = memchr::memchr(b'\n', rest.as_bytes()) else {
            return Some(std::mem::take(&mut rest));
        };
        let line = &rest[..feed];
        rest = &rest[feed + 1..];
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &[u8], expected: Option<(&str, Encoding)>) {
        match (decode(raw), expected) {
            (DecodedText::Text { bytes, encoding }, Some((text, wanted))) => {
                assert_eq!((&*bytes, encoding), (text.as_bytes(), wanted));
            }
            (DecodedText::Binary, None) => {}
            (got, _) => panic!("{raw:?} gave {got:?}"),
        }
    }

    #[test]
    fn lines_are_those_of_the_standard_library() {
        let texts =
            ["", "\n", "a", "a\n", "a\r\n", "a\r", "\r\n\r\n", "a\n\nb", "a\r\r\nb\r", "é\n\u{2028}\nb\n"];
        let more = ["\r\n", "a\r\nb\r\r\n\nc\n", "\n\n", "é\r\n\u{2028}x\r"];
        for text in texts.into_iter().chain(more) {
            assert!(lines(text).eq(text.lines()), "{text:?}");
        }
    }

    #[test]
    fn decodes_by_mark_only() {
        check(b"plain", Some(("plain", Encoding::Utf8)));
        check(b"\xef\xbb\xbfmark", Some(("mark", Encoding::Utf8Bom)));
        check(b"\xff\xfea\0\n\0", Some(("a\n", Encoding::Utf16Le)));
        check(b"\xfe\xff\0a\0\n", Some(("a\n", Encoding::Utf16Be)));
        check(b"a\0b\0", None);
        check(b"a\0", None);
        check(b"\xff\xfea\0\0\0", None);
    }

    #[test]
    fn counts_a_last_line_without_feed() {
        assert_eq!([&b""[..], b"a", b"a\n", b"a\nb", b"\n\n"].map(count_lines), [0, 1, 1, 2, 2]);
    }

    #[test]
    fn fuzz_any_bytes_are_decoded_as_their_mark_says() {
        let text = "\u{feff}one \u{1f600}\r\ntwo\n";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let seeds = vec![
            text.as_bytes().to_vec(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            b"plain\nb\xffd\n".to_vec(),
        ];
        forage_fuzz::target!(&seeds, |input| {
            let lossy = |unit: fn([u8; 2]) -> u16| {
                let (units, half) = input[2..].as_chunks();
                let units: Vec<u16> = units.iter().map(|bytes| unit(*bytes)).collect();
                // Half a unit at the end is shown as one that is none, and with half a pair before it as that one.
                let is_half_pair = units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
                let rest = if half.is_empty() || is_half_pair { "" } else { "\u{fffd}" };
                (String::from_utf16_lossy(&units) + rest).into_bytes()
            };
            let expected = match input {
                [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
                [0xff, 0xfe, ..] => lossy(u16::from_le_bytes),
                [0xfe, 0xff, ..] => lossy(u16::from_be_bytes),
                plain => plain.to_vec(),
            };
            match decode(input) {
                DecodedText::Binary => assert!(expected.contains(&0)),
                DecodedText::Text { bytes, .. } => {
                    assert_eq!(&*bytes, expected);
                    assert!(!bytes.contains(&0));
                    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
                    assert_eq!(count_lines(&bytes), lines);
                }
            }
        });
    }
}
