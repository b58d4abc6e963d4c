//! Files of a directory that the user's configuration names. Nothing of a repository is read here.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::encoder::EncodingError;

/// The file and its length; `None` if there is none. Opened only if it is a regular file: opening a pipe may never end.
#[expect(
    clippy::disallowed_methods,
    reason = "the one home of reading the files of a model, which the user names"
)]
pub(super) fn open(path: &Path, limit: u64) -> Result<Option<(File, u64)>, EncodingError> {
    let facts = match std::fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    if !facts.is_file() {
        return Err(unavailable(path, "is no file; name a directory that holds the files of a model"));
    }
    if facts.len() > limit {
        let length = facts.len();
        return Err(unavailable(
            path,
            &format!("has {length} bytes, of {limit} at most; use all-MiniLM-L6-v2's"),
        ));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(Some((file, facts.len())))
}

/// The whole of a text file; `None` if there is none.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<String>, EncodingError> {
    let Some((file, _)) = open(path, limit)? else { return Ok(None) };
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).map_err(|error| unreadable(path, &error))?;
    Ok(Some(text))
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> EncodingError {
    unavailable(path, &format!("can't be read: {error}"))
}

/// `what` says what is wrong with the file, and what to do.
pub(super) fn unavailable(path: &Path, what: &str) -> EncodingError {
    EncodingError::Unavailable(format!("bm42: {} {what}", path.display()))
}
