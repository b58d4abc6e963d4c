//! Sanitizes third-party text for display.

use std::fmt::Write as _;

use forage_base::ApiKey;
use forage_fs::needs_escape;

use crate::limits;

/// Sanitizes a third-party text: removes the key, escapes terminal control characters, and cuts the text to
/// its maximum length.
pub(crate) fn clean(text: &str, key: Option<&ApiKey>) -> String {
    let hidden = key.map(|key| text.replace(key.expose(), "***"));
    let text = hidden.as_deref().unwrap_or(text);
    let mut cleaned = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limits::SERVER_MESSAGE_CHARACTERS {
            cleaned.push('…');
            break;
        }
        if needs_escape(character) {
            // Writing to a string can't fail.
            let _ = write!(cleaned, "{}", character.escape_default());
        } else {
            cleaned.push(character);
        }
    }
    cleaned
}
