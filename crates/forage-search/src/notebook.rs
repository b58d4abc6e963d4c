//! Searches notebooks by the lines of their cells, without outputs and JSON syntax.
//!
//! The trigrams of an index are those of the JSON, in which quotes and other characters are escaped. An index
//! must therefore never exclude a notebook.

use std::borrow::Cow;

use forage_syntax::NotebookText;

pub(crate) fn is_notebook(path: &[u8]) -> bool {
    path.ends_with(b".ipynb")
}

/// The searchable text of a notebook.
pub(crate) struct SearchedNotebook<'t> {
    /// The lines of the cells at their original positions, or the text in its stored form.
    pub(crate) text: Cow<'t, [u8]>,
    /// True if some lines of cells are searched in their stored form.
    pub(crate) is_stored: bool,
    /// True if a part of the file is not searched.
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
