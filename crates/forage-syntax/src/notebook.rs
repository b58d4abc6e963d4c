//! Jupyter notebooks: JSON with one string per line of a cell.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A notebook as the lines of its cells.
#[derive(Debug, PartialEq, Eq)]
pub struct NotebookText {
    /// For each line of the file, the decoded line of a cell if it contains one; otherwise an empty line.
    pub text: String,
    /// True if some lines of the file contain several lines of cells. In this case, the text contains them as
    /// in the file.
    pub has_stored_lines: bool,
    /// True if the text omits some lines of the file.
    pub leaves_out: bool,
}

impl NotebookText {
    /// Parses a notebook. Returns `None` if the text is not in nbformat 4.
    #[must_use]
    pub fn new(file: &str) -> Option<Self> {
        let notebook = Notebook::new(file)?;
        let lines: Vec<&CellLine> = notebook.cells.iter().flat_map(|cell| &cell.lines).collect();
        let text = with_lines(file, lines.iter().map(|line| (line.number, line.text.as_deref())));
        Some(Self {
            leaves_out: text.len() < file.len(),
            has_stored_lines: lines.iter().any(|line| line.text.is_none()),
            text,
        })
    }
}

/// A parsed notebook.
pub(crate) struct Notebook {
    /// The language of its code cells.
    pub(crate) language: Option<String>,
    pub(crate) cells: Vec<Cell>,
}

pub(crate) struct Cell {
    pub(crate) is_code: bool,
    pub(crate) lines: Vec<CellLine>,
}

/// A line of a cell.
pub(crate) struct CellLine {
    /// The 0-based line of the file.
    pub(crate) number: usize,
    /// The text without its line feed. `None` if this line of the file contains more than the one line of the
    /// cell.
    pub(crate) text: Option<String>,
}

#[derive(Deserialize)]
struct StoredNotebook<'t> {
    #[serde(borrow)]
    cells: Vec<StoredCell<'t>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct StoredCell<'t> {
    #[serde(borrow)]
    cell_type: Cow<'t, str>,
    /// This may be one string or several.
    #[serde(borrow)]
    source: &'t RawValue,
}

#[derive(Default, Deserialize)]
struct Metadata {
    kernelspec: Option<KernelSpec>,
    language_info: Option<LanguageInfo>,
}

#[derive(Deserialize)]
struct KernelSpec {
    language: Option<String>,
}

#[derive(Deserialize)]
struct LanguageInfo {
    name: Option<String>,
}

impl Notebook {
    /// Parses a notebook. Returns `None` if the text is not in nbformat 4.
    pub(crate) fn new(file: &str) -> Option<Self> {
        let stored: StoredNotebook<'_> = serde_json::from_str(file).ok()?;
        let (mut at, mut number) = (0, 0);
        let mut cells: Vec<Cell> = Vec::with_capacity(stored.cells.len());
        for StoredCell { cell_type, source } in stored.cells {
            let strings: Vec<&RawValue> = serde_json::from_str(source.get()).unwrap_or_else(|_| vec![source]);
            let mut lines: Vec<CellLine> = Vec::with_capacity(strings.len());
            for string in strings {
                // The string is a slice of the file, so its address gives its position.
                let start = string.get().as_ptr().addr() - file.as_ptr().addr();
                number += file.get(at..start)?.matches('\n').count();
                at = start;
                let mut text: String = serde_json::from_str(string.get()).ok()?;
                if text.ends_with('\n') {
                    text.pop();
                }
                // We must not decode a NUL byte, which would make the file binary.
                let is_line = !text.contains(['\n', '\0']);
                lines.push(CellLine { number, text: is_line.then_some(text) });
            }
            cells.push(Cell { is_code: cell_type == "code", lines });
        }
        let mut lines: Vec<&mut CellLine> = cells.iter_mut().flat_map(|cell| &mut cell.lines).collect();
        for shared in lines.chunk_by_mut(|a, b| a.number == b.number).filter(|lines| lines.len() > 1) {
            shared.iter_mut().for_each(|line| line.text = None);
        }
        let Metadata { kernelspec, language_info } = stored.metadata;
        let language = language_info
            .and_then(|info| info.name)
            .or_else(|| kernelspec.and_then(|kernel| kernel.language));
        Some(Self { language, cells })
    }
}

/// Builds a text with as many lines as a file. The given lines keep their line numbers, and all others are
/// empty. If a given line has no text, we copy it from the file.
pub(crate) fn with_lines<'l>(
    file: &str,
    lines: impl IntoIterator<Item = (usize, Option<&'l str>)>,
) -> String {
    let mut lines = lines.into_iter().peekable();
    let mut text = String::new();
    for (number, stored) in file.split('\n').enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let mut is_first = true;
        while let Some((_, line)) = lines.next_if(|(at, _)| *at == number) {
            if std::mem::take(&mut is_first) {
                text.push_str(line.unwrap_or(stored));
            }
        }
    }
    text
}
