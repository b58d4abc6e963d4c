//! The border between a repository's text and whoever reads our answer.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Tabs are part of code and steer nothing.
fn needs_escape(c: char) -> bool {
    c != '\t' && forage_fs::needs_escape(c)
}

/// One line with every control, bidirectional, zero-width and tag character written out: `\x1B`, `\u{202E}`.
pub fn sanitize_line(line: &str) -> Cow<'_, str> {
    if !line.chars().any(needs_escape) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        match c {
            c if !needs_escape(c) => out.push(c),
            c if (c as u32) < 0x80 => {
                let _ = write!(out, "\\x{:02X}", c as u32);
            }
            c => {
                let _ = write!(out, "\\u{{{:04X}}}", c as u32);
            }
        }
    }
    Cow::Owned(out)
}

/// Text of several lines; line feeds stay.
pub fn sanitize(text: &str) -> String {
    text.split('\n').map(sanitize_line).collect::<Vec<_>>().join("\n")
}

/// A line of a file for the text answer: without its line end, U+FFFD for what is not UTF-8, sanitised.
pub(crate) fn line_text(bytes: &[u8]) -> String {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    sanitize_line(&String::from_utf8_lossy(line)).into_owned()
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

    proptest! {
        #[test]
        fn output_is_clean_and_stable(text in "\\PC{0,20}[\\x00-\\x1f\\u{80}-\\u{9f}\\u{2028}-\\u{202e}]{0,5}.{0,10}") {
            let once = sanitize(&text);
            prop_assert!(!once.chars().any(|c| c != '\n' && needs_escape(c)));
            prop_assert_eq!(sanitize(&once), once);
        }
    }
}
