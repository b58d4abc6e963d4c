//! Names of collections.

use forage_lookup::StoreError;

use crate::limits;

/// A name that is a directory's on every system, and never one above or beside.
pub(crate) fn check(name: &str) -> Result<(), StoreError> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > limits::NAME_CHARACTERS {
        "is longer than 100 characters"
    } else if !name.bytes().all(is_known) {
        "has other characters than letters, digits, `-`, `_` and `.`"
    } else if name.starts_with('.') || name.ends_with('.') {
        "begins or ends with a dot"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(limits::NAME_CHARACTERS).collect();
    Err(StoreError::Invalid(format!("the name of a collection {reason}: {shown:?}; give it another")))
}
