//! Files that are Forage's own as a whole: they go again as long as they are as they were written, which their last line
//! tells.

use super::SetupRefusal;

/// What the last line has before the check value.
pub(super) const MARK: &str = "forage setup: ";

/// How a comment is written.
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

/// The text of the file: `text` ends with a newline.
pub(super) fn marked(text: &str, comment: Comment) -> String {
    format!("{text}{}\n", comment.line(text))
}

/// Whether a file is as it was written, whatever version of Forage wrote it.
///
/// # Errors
/// It is somebody else's, or was changed.
pub(super) fn check(text: &str, comment: Comment) -> Result<(), SetupRefusal> {
    // Git may have changed its line ends.
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

/// FNV-1a: against changes that nobody thought of, not against an attack.
pub(super) fn check_value(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
