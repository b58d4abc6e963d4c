//! The key of a server: a secret that can be sent and not shown.

use std::fmt;

use thiserror::Error;

/// An API key of a model's provider or of a store, or a token in its place.
///
/// `Debug` and `Display` print `***`. The key leaves this type only into the header of a request to the endpoint that it
/// was given to.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// A text that cannot be a key. The text itself is never part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text is empty or only white space.
    #[error("the key is empty; set it to the server's key, or leave it out for a server without one")]
    Empty,
    /// The text has white space or a character outside printable ASCII inside, which no HTTP header can carry.
    #[error("the key has a space, a line break or a non-ASCII character inside; copy it again")]
    Unprintable,
}

impl ApiKey {
    /// Takes a key; white space around it (the line end of a key file) is removed.
    ///
    /// # Errors
    /// [`KeyError`] if nothing is left or the rest cannot be sent in a header.
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
    #[must_use]
    pub fn expose(&self) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_never_shown() {
        let key = ApiKey::new(" abc-123\r\n").unwrap();
        assert_eq!(key.expose(), "abc-123");
        assert_eq!(format!("{key} {key:?}"), "*** ***");
    }

    #[test]
    fn a_text_that_no_header_can_carry_is_refused_without_being_quoted() {
        assert_eq!(ApiKey::new(" \n"), Err(KeyError::Empty));
        let error = ApiKey::new("abc\r\nX-Evil: 1").unwrap_err();
        assert_eq!(error, KeyError::Unprintable);
        assert!(!error.to_string().contains("Evil"));
    }
}
