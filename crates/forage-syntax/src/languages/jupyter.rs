//! Jupyter notebooks: the Python in their cells.

use crate::language::{Row, Source};
use crate::languages::python;
use crate::notebook::{Cell, CellLine, Notebook, with_lines};

pub(crate) static JUPYTER: Row = Row { name: "jupyter", source: Source::Lines(cells), ..python::PYTHON_ROW };

/// Returns a text with as many lines as the notebook. Each line of Python keeps its line number, and all
/// other lines are empty.
fn cells(text: &str) -> String {
    let Some(Notebook { language, cells }) = Notebook::new(text) else { return String::new() };
    let is_python = |name: &str| ["python", "ipython"].iter().any(|python| name.eq_ignore_ascii_case(python));
    if !language.as_deref().is_none_or(is_python) {
        return String::new();
    }
    let lines = cells.iter().filter(|cell| has_python(cell)).flat_map(|cell| &cell.lines);
    // Magics and shell commands aren't Python.
    let is_code = |line: &&CellLine| {
        line.text.as_ref().is_some_and(|text| !text.trim_start().starts_with(['%', '!', '?']))
    };
    with_lines(text, lines.filter(is_code).map(|line| (line.number, line.text.as_deref())))
}

/// Checks whether a cell contains Python. For example, `%%bash` switches to another language, but some magics
/// only measure Python code.
fn has_python(cell: &Cell) -> bool {
    let first = cell.lines.first().and_then(|line| line.text.as_deref());
    let magic = first.and_then(|line| line.strip_prefix("%%"));
    cell.is_code
        && magic.is_none_or(|magic| {
            matches!(magic.split_whitespace().next(), Some("time" | "timeit" | "capture" | "prun"))
        })
}
