//! The key of a server: a secret that can be sent and not shown.

use std::fmt;

/// A Qdrant API key, or a token in its place. `Debug` and `Display` print `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// A text that can't be a key. The text itself is never part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is empty or only white space.
    #[error("the key is empty; set it to the server's key, or leave it out for a server without one")]
    Empty,
    /// The text has white space or a character outside printable ASCII inside, which no header can carry.
    #[error("the key has a space, a line break or a non-ASCII character inside; copy it again")]
    Unprintable,
}

impl ApiKey {
    /// Takes a key; white space around it (the line end of a key file) is removed.
    ///
    /// # Errors
    /// [`KeyError`] if nothing is left or the rest can't be sent in a header.
    pub fn new(key: &str) -> Result<Self, KeyError> {
        let key = key.trim();
        if key.is_empty() {
            return Err(KeyError::Empty);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Unprintable);
        }
        Ok(Self(key.to_owned()))
    }

    /// The key itself, for the header and for finding it in a server's message.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}
