//! Reads files that we parse as a whole.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use forage_base::{Permit, Permits, Stop};
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
    /// The path in a form that callers can use again.
    pub(crate) shown: String,
    /// The content, unless the file is in the working tree.
    pub(crate) stored: Option<Arc<[u8]>>,
}

impl FileSource {
    /// Locates the file of a call. If it is from another revision, this also reads it.
    ///
    /// # Errors
    ///
    /// Fails if a file of another revision can't be read.
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
    pub(crate) fn whole_text(&self, stop: &Stop) -> Result<(AdmittedText, &'static str, u64), ToolError> {
        let Some(bytes) = &self.stored else { return whole_text(&self.root, &self.path, stop) };
        let size = bytes.len() as u64;
        let permit = admit(size, stop)?;
        let (text, encoding) = parseable(bytes).map_err(|error| error.about(&self.path, size))?;
        Ok((AdmittedText { text, _permit: permit }, encoding, size))
    }
}

/// Admits one large text at a time in this process. Code that holds one must never wait for a second one: it
/// would wait for itself.
static LARGE_TEXTS: Permits = Permits::releasing(1, 1);

/// The text of a file, with the permit for its memory. A large text keeps others waiting until it is dropped.
pub(crate) struct AdmittedText {
    text: String,
    _permit: Option<Permit>,
}

impl AdmittedText {
    /// Returns the text. The caller must account for its memory from now on.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Deref for AdmittedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// Reads the text of a file, the name of its encoding, and its size in bytes.
///
/// # Errors
///
/// Fails if the file can't be read, is too large to be parsed as a whole, or is not text. Also fails if the
/// call must end before there is room for a large text.
pub(crate) fn whole_text(
    root: &Arc<Root>,
    path: &RelPath,
    stop: &Stop,
) -> Result<(AdmittedText, &'static str, u64), ToolError> {
    let mut file = root.open_file(path)?;
    let size = file.size();
    // We wait before we read, so that only one large file is in memory.
    let permit = admit(size, stop)?;
    let mut bytes = ReadBuffer::default();
    let contents = file
        .read_into(&mut bytes, limits::READ_DECODE_BYTES)
        .map_err(|error| ToolError::argument("path", format!("it can't be read: {error}")))?;
    if contents != Contents::Whole {
        let max = grouped(limits::READ_DECODE_BYTES as u64);
        let problem = format!(
            "it has {} bytes, over the limit of {max} for finding definitions; read lines",
            grouped(size)
        );
        return Err(ToolError::argument("path", problem));
    }
    let (text, encoding) = parseable(&bytes).map_err(|error| error.about(path, size))?;
    Ok((AdmittedText { text, _permit: permit }, encoding, size))
}

/// Waits for the permit that a text of this size needs, if it needs one.
///
/// # Errors
///
/// Fails if the call must end before there is room.
pub(crate) fn admit(size: u64, stop: &Stop) -> Result<Option<Permit>, ToolError> {
    match size > limits::LARGE_TEXT_BYTES {
        true => LARGE_TEXTS.acquire(1, stop).map(Some).ok_or_else(|| no_room(stop)),
        false => Ok(None),
    }
}

/// Why a file can't be parsed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unparseable {
    Binary,
    /// It has more lines than [`limits::READ_DECODE_LINES`].
    Lines(u64),
}

impl Unparseable {
    fn about(self, path: &RelPath, size: u64) -> ToolError {
        let Self::Lines(lines) = self else { return is_binary(path, size) };
        let (lines, max) = (grouped(lines), grouped(limits::READ_DECODE_LINES));
        let problem =
            format!("it has {lines} lines, over the limit of {max} for finding definitions; read lines");
        ToolError::argument("path", problem)
    }
}

/// Decodes a file that we parse as a whole. Returns its text and the name of its encoding.
///
/// # Errors
///
/// Fails if the file is not text, or has too many lines.
pub(crate) fn parseable(bytes: &[u8]) -> Result<(String, &'static str), Unparseable> {
    let DecodedText::Text { bytes, encoding } = decode(bytes) else { return Err(Unparseable::Binary) };
    let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
    match lines > limits::READ_DECODE_LINES {
        true => Err(Unparseable::Lines(lines)),
        false => Ok((lossy(bytes), encoding.name())),
    }
}

fn no_room(stop: &Stop) -> ToolError {
    match stop.is_cancelled() {
        true => ToolError::Cancelled,
        false => {
            ToolError::argument("path", "other calls are reading large files; call again in a few seconds")
        }
    }
}

/// Converts bytes to text, with U+FFFD for invalid UTF-8. We check all bytes at once because this is faster
/// than in pieces, and most are valid UTF-8.
pub(crate) fn lossy(bytes: Cow<'_, [u8]>) -> String {
    String::from_utf8(bytes.into_owned())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Creates the error for a file that is not text.
pub(crate) fn is_binary(path: &RelPath, size: u64) -> ToolError {
    let (path, size) = (path.display(), count(size, "byte"));
    ToolError::argument("path", format!("{path} is a binary file of {size} and can't be shown as text"))
}
