//! Sanitizes repository text before it reaches the reader of an answer.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use forage_fs::RelPath;

/// Returns true if we must escape a character. Tabs are part of code and control nothing, so they stay.
fn needs_escape(c: char) -> bool {
    c != '\t' && forage_fs::needs_escape(c)
}

/// Returns true if all characters are printable ASCII or tabs. This check is fast and suffices for most lines
/// of code.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    // Chunks without an early exit allow the compiler to vectorize this.
    text.as_bytes().chunks(64).all(|piece| piece.iter().fold(true, |all, &byte| all & is_plain(byte)))
}

/// Escapes every control, bidirectional, zero-width and tag character of a line, e.g. `\x1B` or `\u{202E}`.
pub fn sanitize_line(line: &str) -> Cow<'_, str> {
    if is_plain(line) || !line.chars().any(needs_escape) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        match c {
            c if !needs_escape(c) => out.push(c),
            c => push_escaped(&mut out, c),
        }
    }
    Cow::Owned(out)
}

fn push_escaped(out: &mut String, c: char) {
    let _ = match c as u32 {
        code @ ..0x80 => write!(out, "\\x{code:02X}"),
        code => write!(out, "\\u{{{code:04X}}}"),
    };
}

/// Sanitizes text of several lines. Line feeds stay.
pub fn sanitize(text: &str) -> String {
    text.split('\n').map(sanitize_line).collect::<Vec<_>>().join("\n")
}

/// Sanitizes a line of a file for the text answer, without its line end, and with U+FFFD for invalid UTF-8.
pub(crate) fn line_text(bytes: &[u8]) -> String {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    sanitize_line(&String::from_utf8_lossy(line)).into_owned()
}

/// Converts a line to text for records. Also returns its bytes in base64 if the text does not represent all
/// of them. U+FFFD replaces invalid UTF-8, and characters that hide or reorder text are escaped.
pub(crate) fn record_text(bytes: &[u8]) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(bytes);
    match without_hidden(&text) {
        Cow::Borrowed(shown) if matches!(text, Cow::Borrowed(_)) => (shown.to_owned(), None),
        shown => (shown.into_owned(), Some(BASE64_STANDARD.encode(bytes))),
    }
}

/// Escapes hidden characters in a text for records. Control characters below the space stay, because JSON
/// escapes them itself.
pub(crate) fn without_hidden(text: &str) -> Cow<'_, str> {
    let hides = |c: char| c >= '\u{7f}' && forage_fs::needs_escape(c);
    if is_plain(text) || !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) { push_escaped(&mut shown, c) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Encodes the bytes of a path in base64 if the displayed path does not represent all of them.
pub(crate) fn path_bytes(path: &RelPath) -> Option<String> {
    let bytes = path.as_bytes();
    (!path.is_root() && path.display().as_bytes() != bytes).then(|| BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_out_what_steers_or_hides() {
        let cases = [
            ("\u{1b}]52;c;aGk=\u{7}", "\\x1B]52;c;aGk=\\x07"),
            ("\u{1b}]8;;http://x\u{1b}\\t", "\\x1B]8;;http://x\\x1B\\t"),
            ("a\rforged", "a\\x0Dforged"),
            ("\u{9b}31m", "\\u{009B}31m"),
            ("ab\u{202e}dc", "ab\\u{202E}dc"),
            ("z\u{200b}w\u{e0041}", "z\\u{200B}w\\u{E0041}"),
            ("tab\tstays, é too", "tab\tstays, é too"),
        ];
        for (raw, shown) in cases {
            assert_eq!(sanitize_line(raw), shown);
        }
    }

    /// We must escape all characters that have no glyph according to the Unicode tables of the regex engine,
    /// except for those excluded on purpose.
    #[test]
    fn what_unicode_has_no_glyph_for_is_written_out() {
        let invisible =
            regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$").unwrap();
        let emoji = '\u{fe0f}';
        // Format characters that do have a glyph: signs around numbers, verses and abbreviations.
        let signs = [
            '\u{600}',
            '\u{601}',
            '\u{602}',
            '\u{603}',
            '\u{604}',
            '\u{605}',
            '\u{6dd}',
            '\u{70f}',
            '\u{890}',
            '\u{891}',
            '\u{8e2}',
            '\u{110bd}',
            '\u{110cd}',
        ];
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let expected = c != '\t'
                && c != emoji
                && !signs.contains(&c)
                && invisible.is_match(c.encode_utf8(&mut buffer));
            assert_eq!(needs_escape(c), expected, "U+{:04X}", c as u32);
        }
    }

    proptest! {
        #[test]
        fn output_is_clean_and_stable(text in "\\PC{0,20}[\\x00-\\x1f\\u{80}-\\u{9f}\\u{2028}-\\u{202e}]{0,5}.{0,10}") {
            let once = sanitize(&text);
            prop_assert!(!once.chars().any(|c| c != '\n' && needs_escape(c)));
            prop_assert_eq!(sanitize(&once), once);
        }
    }
}
