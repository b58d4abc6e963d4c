//! Reads files that are parsed as a whole.

use std::borrow::Cow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Contents, DecodedText, ReadBuffer, RelPath, Root, decode};

use crate::error::ToolError;
use crate::limits;
use crate::place::PathTarget;
use crate::text::{count, grouped};

/// A file of the working tree or of another revision.
#[derive(Clone, Debug)]
pub(crate) struct FileSource {
    pub(crate) root: Arc<Root>,
    pub(crate) path: RelPath,
    /// The path as callers can use it again.
    pub(crate) shown: String,
    /// The content, if it is not in the working tree.
    pub(crate) stored: Option<Arc<[u8]>>,
}

impl FileSource {
    /// Returns the file of a call. One of another revision is read.
    ///
    /// # Errors
    ///
    /// Returns an error if a file of another revision can't be read.
    pub(crate) fn new(target: &PathTarget, stop: &Stop) -> Result<Self, ToolError> {
        let PathTarget { root, path, revision, .. } = target;
        let mut shown = path.display().into_owned();
        let mut stored = None;
        if let Some(revision) = revision {
            shown = revision.shown(&shown);
            stored = Some(Arc::from(revision.read(root, path, stop)?));
        }
        Ok(Self { root: Arc::clone(root), path: path.clone(), shown, stored })
    }

    /// Returns the text as [`whole_text`] does.
    pub(crate) fn whole_text(&self) -> Result<(String, &'static str, u64), ToolError> {
        let Some(bytes) = &self.stored else { return whole_text(&self.root, &self.path) };
        let size = bytes.len() as u64;
        match decode(bytes) {
            DecodedText::Binary => Err(is_binary(&self.path, size)),
            DecodedText::Text { bytes, encoding } => Ok((lossy(bytes), encoding.name(), size)),
        }
    }
}

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
