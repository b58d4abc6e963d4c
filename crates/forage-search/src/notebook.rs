//! Notebooks are searched by the lines of their cells, without outputs and the syntax of JSON.
//!
//! The trigrams of an index are those of the JSON, in which quotes and other characters are escaped. So an index passes
//! over no notebook.

use std::borrow::Cow;

use forage_syntax::NotebookText;

/// Returns whether a file is a notebook, by its path.
pub(crate) fn is_notebook(path: &[u8]) -> bool {
    path.ends_with(b".ipynb")
}

/// The text of a notebook as it is searched.
pub(crate) struct SearchedNotebook<'t> {
    /// The lines of the cells at their places, or the text as it is stored.
    pub(crate) text: Cow<'t, [u8]>,
    /// Some lines of cells are searched as they are stored.
    pub(crate) is_stored: bool,
    /// Some of the file is not searched.
    pub(crate) leaves_out: bool,
}

impl<'t> SearchedNotebook<'t> {
    pub(crate) fn new(stored: &'t [u8]) -> Self {
        match str::from_utf8(stored).ok().and_then(NotebookText::new) {
            Some(NotebookText { text, has_stored_lines, leaves_out }) => {
                Self { text: Cow::Owned(text.into_bytes()), is_stored: has_stored_lines, leaves_out }
            }
            None => Self { text: Cow::Borrowed(stored), is_stored: true, leaves_out: false },
        }
    }
}
