//! API keys: secrets that we can send but must not display.

use std::fmt;

use thiserror::Error;

/// An API key of a model provider or a store, or a token in its place.
///
/// `Debug` and `Display` print `***`. A key should leave this type only in the header of a request to the
/// endpoint that it was given for.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// Reasons why a text can't be a key. The messages must never contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text is empty or only white space.
    #[error("the key is empty; set it to the server's key, or leave it out for a server without one")]
    Empty,
    /// The text contains white space or a character outside printable ASCII, which an HTTP header can't
    /// carry.
    #[error("the key contains a space, a line break or a non-ASCII character; copy it again")]
    Unprintable,
}

impl ApiKey {
    /// Creates a key. Leading and trailing white space, for example the line end of a key file, is removed.
    ///
    /// # Errors
    ///
    /// Returns a [`KeyError`] if nothing is left, or if the rest can't be sent in a header.
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

    /// Returns the key, so that you can use it in a header or find it in a server's message.
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
    fn unprintable_key_is_refused_without_quoting_it() {
        assert_eq!(ApiKey::new(" \n"), Err(KeyError::Empty));
        let error = ApiKey::new("abc\r\nX-Evil: 1").unwrap_err();
        assert_eq!(error, KeyError::Unprintable);
        assert!(!error.to_string().contains("Evil"));
    }
}
