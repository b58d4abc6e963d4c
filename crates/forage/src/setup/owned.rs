//! Files that Forage owns as a whole. They are removed only if they are unchanged, which a checksum in their
//! last line shows.

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

/// Returns the text of the file with its checksum line. `text` must end with a newline.
pub(super) fn marked(text: &str, comment: Comment) -> String {
    format!("{text}{}\n", comment.line(text))
}

/// Checks that a file is as some version of Forage wrote it.
///
/// # Errors
///
/// Returns an error if the file is not Forage's or was changed.
pub(super) fn check(text: &str, comment: Comment) -> Result<(), SetupRefusal> {
    // Git may have changed the line ends.
    let text = text.replace("\r\n", "\n");
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let (before, last) = body.rsplit_once('\n').unwrap_or(("", body));
    match (last.contains(MARK), last == comment.line(&format!("{before}\n"))) {
        (_, true) => Ok(()),
        (true, false) => Err(SetupRefusal::new(
            "it was changed after Forage wrote it; move what is yours out of it, and remove it".to_owned(),
        )),
        (false, false) => {
            Err(SetupRefusal::new("there is such a file already, which Forage did not write".to_owned()))
        }
    }
}

/// FNV-1a: protects against accidental changes, not against an attack.
pub(super) fn check_value(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
