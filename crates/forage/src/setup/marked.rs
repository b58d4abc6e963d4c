//! Blocks of lines between two marks. This is for formats whose comments begin with `#`, and for others with
//! their own marks.
//!
//! A block at the end of a file follows an empty line. It ends with a newline if the original file did, was
//! empty or did not exist. Both rules are needed so that removing the block restores the original bytes.

use std::ops::Range;

use super::{SetupRefusal, newline};

pub(super) const BEGIN: &str = "# >>> forage";
pub(super) const END: &str = "# <<< forage";

/// A block that was found in a file.
#[derive(Debug)]
pub(super) struct MarkedBlock {
    /// The bytes from the beginning of the first mark's line to the end of the last mark's line, including
    /// its newline.
    pub(super) range: Range<usize>,
    /// The white space before the first mark on its line.
    pub(super) indent: String,
    /// The lines between the marks, without newlines.
    pub(super) lines: Vec<String>,
}

/// Finds the block. Unpaired marks are an error.
pub(super) fn find(text: &str) -> Result<Option<MarkedBlock>, SetupRefusal> {
    find_between(text, (BEGIN, |line| line == BEGIN), END)
}

/// Like [`find`], but with other marks. The first one may also hold data, so it is recognized by its
/// beginning.
pub(super) fn find_between(
    text: &str,
    (begin, is_begin): (&str, fn(&str) -> bool),
    end: &str,
) -> Result<Option<MarkedBlock>, SetupRefusal> {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        match line.trim() {
            line if is_begin(line) => begins.push(range),
            line if line == end => ends.push(range),
            _ => {}
        }
    }
    match (&begins[..], &ends[..]) {
        ([], []) => Ok(None),
        ([begin], [end]) if begin.end <= end.start => {
            let first = &text[begin.clone()];
            let indent = first[..first.len() - first.trim_start().len()].to_owned();
            let lines = text[begin.end..end.start].lines().map(str::to_owned).collect();
            Ok(Some(MarkedBlock { range: begin.start..end.end, indent, lines }))
        }
        _ => Err(SetupRefusal::new(format!("its marks `{begin}` and `{end}` do not form a pair"))),
    }
}

/// Puts the marks around the lines. The result has no final newline.
pub(super) fn marked(lines: &[String], indent: &str, newline: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
    let lines = [BEGIN].into_iter().chain(lines.iter().map(String::as_str)).chain([END]).map(line);
    lines.collect::<Vec<_>>().join(newline)
}

/// Appends the block to the text.
pub(super) fn append(text: &str, lines: &[String], indent: &str) -> Result<String, SetupRefusal> {
    append_block(text, &marked(lines, indent, newline(text)))
}

/// Like [`append`], for a block that already has its marks.
pub(super) fn append_block(text: &str, block: &str) -> Result<String, SetupRefusal> {
    let newline = newline(text);
    let added = match text {
        "" => format!("{newline}{block}{newline}"),
        text if text.ends_with('\n') => format!("{text}{newline}{block}{newline}"),
        text => format!("{text}{newline}{newline}{block}"),
    };
    // The text may end in half a line ending (`\r`). Our newline would complete it, and we could not restore
    // the original.
    let start = added.rfind(block).unwrap_or_default();
    match take_out(&added, &(start..added.len())) {
        Some(rest) if rest == text => Ok(added),
        _ => Err(SetupRefusal::new("its last line ending could not be restored".to_owned())),
    }
}

/// Replaces the block in the text.
pub(super) fn replace(text: &str, found: &MarkedBlock, new: &str) -> String {
    let end = if text[found.range.clone()].ends_with('\n') { newline(text) } else { "" };
    format!("{}{new}{end}{}", &text[..found.range.start], &text[found.range.end..])
}

/// Returns the lines that are not among `own`, or `None` if `lines` does not contain all of `own` in order.
pub(super) fn others(lines: &[String], own: &[String]) -> Option<Vec<String>> {
    let mut own = own.iter().peekable();
    let others = lines.iter().filter(|line| own.next_if_eq(line).is_none()).cloned().collect();
    own.next().is_none().then_some(others)
}

/// Formats a new file that contains only the block.
pub(super) fn created(lines: &[String]) -> String {
    marked(lines, "", "\n") + "\n"
}

/// Removes a block that [`append`] added. Returns `None` if the text equals the output of [`created`].
pub(super) fn take_out(text: &str, block: &Range<usize>) -> Option<String> {
    let (before, after) = (&text[..block.start], &text[block.end..]);
    let ends_with_newline = text[block.clone()].ends_with('\n');
    if before.is_empty() && after.is_empty() {
        return (!ends_with_newline).then(String::new);
    }
    let before = match without_newline(before) {
        // Only an empty line was added by us. The newline of a line with content is the user's.
        _ if ends_with_newline => without_empty_line(before),
        Some(shorter) => without_newline(shorter).unwrap_or(shorter),
        None => before,
    };
    Some(format!("{before}{after}"))
}

/// Removes the last line if it is empty.
pub(super) fn without_empty_line(text: &str) -> &str {
    match without_newline(text) {
        Some(shorter) if shorter.is_empty() || shorter.ends_with('\n') => shorter,
        _ => text,
    }
}

fn without_newline(text: &str) -> Option<&str> {
    text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text))
}
