//! Reads files that are parsed as a whole.

use std::borrow::Cow;
use std::sync::Arc;

use forage_fs::{Contents, DecodedText, ReadBuffer, RelPath, Root, decode};

use crate::error::ToolError;
use crate::limits;
use crate::text::{count, grouped};

/// Returns the text of a file, the name of its encoding, and its size in bytes.
///
/// # Errors
///
/// Returns an error if the file can't be read, is too large to be parsed as a whole, or is not text.
pub(crate) fn whole_text(root: &Arc<Root>, path: &RelPath) -> Result<(String, &'static str, u64), ToolError> {
    let mut file = root.open_file(path)?;
    let size = file.size();
    let mut bytes = ReadBuffer::default();
    let contents = file
        .read_into(&mut bytes, limits::READ_DECODE_BYTES)
        .map_err(|error| ToolError::argument("path", format!("it can't be read: {error}")))?;
    if contents != Contents::Whole {
        let most = grouped(limits::READ_DECODE_BYTES as u64);
        let problem =
            format!("it has {} bytes, over the {most} that are taken apart; read lines", grouped(size));
        return Err(ToolError::argument("path", problem));
    }
    match decode(&bytes) {
        DecodedText::Binary => Err(is_binary(path, size)),
        DecodedText::Text { bytes, encoding } => Ok((lossy(bytes), encoding.name(), size)),
    }
}

/// Converts bytes to text, with U+FFFD for invalid UTF-8. Most bytes are valid UTF-8, and checking them at
/// once is faster than piece by piece.
pub(crate) fn lossy(bytes: Cow<'_, [u8]>) -> String {
    String::from_utf8(bytes.into_owned())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the error for a file that is not text.
pub(crate) fn is_binary(path: &RelPath, size: u64) -> ToolError {
    let (path, size) = (path.display(), count(size, "byte"));
    ToolError::argument("path", format!("{path} is a binary file of {size} and can't be shown as text"))
}
