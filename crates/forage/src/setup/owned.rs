//! Files that Forage owns as a whole. A file that was changed must not be removed, so the last line holds a
//! checksum.

use super::SetupRefusal;

/// The text before the checksum in the last line.
pub(super) const MARK: &str = "forage setup: ";

/// The comment syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    Markdown,
    Hash,
}

impl Comment {
    fn line(self, text: &str) -> String {
        let mark = format!("{MARK}{:016x}", check_value(text));
        match self {
            Self::Markdown => format!("<!-- {mark} -->"),
            Self::Hash => format!("# {mark}"),
        }
    }
}

/// Appends the checksum line to `text`, which must end with a newline.
pub(super) fn marked(text: &str, comment: Comment) -> String {
    format!("{text}{}\n", comment.line(text))
}

/// Checks that Forage wrote this file, in any version, and that it was not changed since.
///
/// # Errors
///
/// Returns an error if the file is not Forage's or was changed.
pub(super) fn check(text: &str, comment: Comment) -> Result<(), SetupRefusal> {
    // Git may have changed the line endings.
    let text = text.replace("\r\n", "\n");
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let (before, last) = body.rsplit_once('\n').unwrap_or(("", body));
    match (last.contains(MARK), last == comment.line(&format!("{before}\n"))) {
        (_, true) => Ok(()),
        (true, false) => Err(SetupRefusal::new(
            "it was changed after Forage wrote it; move your changes elsewhere, and remove it".to_owned(),
        )),
        (false, false) => {
            Err(SetupRefusal::new("there is such a file already, which Forage did not write".to_owned()))
        }
    }
}

/// Hashes a text with FNV-1a. This only has to detect accidental changes, not an attack.
pub(super) fn check_value(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
