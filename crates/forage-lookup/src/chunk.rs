//! Splits texts into chunks, the units of lookup.

use crate::limits;

/// A run of consecutive lines, or a part of a line that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineChunk<'a> {
    /// The first line, counted from 1.
    pub(crate) first_line: u64,
    /// The last line, inclusive.
    pub(crate) last_line: u64,
    pub(crate) text: &'a str,
}

/// Splits a text into chunks that cover all of it. Chunks that contain only white space are left out.
pub(crate) fn chunks(text: &str) -> Vec<LineChunk<'_>> {
    let mut begins = vec![0];
    begins.extend(text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < text.len()));
    let end_of = |line: usize| begins.get(line + 1).copied().unwrap_or(text.len());
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < begins.len() {
        let begin = begins[first];
        // We take as many lines as fit, but at least one.
        let max = begins.len().min(first + limits::CHUNK_LINES);
        let fits = |last: &usize| end_of(*last) - begin <= limits::CHUNK_BYTES;
        let last = (first..max).take_while(fits).last().unwrap_or(first);
        let (first_line, last_line) = (first as u64 + 1, last as u64 + 1);
        let chunk = |text| LineChunk { first_line, last_line, text };
        chunks.extend(
            pieces(&text[begin..end_of(last)]).map(chunk).filter(|chunk| !chunk.text.trim().is_empty()),
        );
        // This chunk reaches the end of the text. Another one would only repeat its last lines.
        if last + 1 >= begins.len() {
            break;
        }
        // If a chunk has few lines because of its size, the next one must not skip a line.
        first = (first + limits::CHUNK_STRIDE).min(last + 1);
    }
    chunks
}

/// Splits a text into pieces of up to [`limits::CHUNK_BYTES`]. Each piece is cut after the last non-word
/// character, if there is one in its second half.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let max = text.floor_char_boundary(limits::CHUNK_BYTES);
        let cut = if max == text.len() {
            max
        } else {
            let is_between = |character: char| !character.is_alphanumeric() && character != '_';
            let half = text.floor_char_boundary(max / 2);
            let after = text[half..max].char_indices().rev().find(|(_, it)| is_between(*it));
            after.map_or(max, |(at, character)| half + at + character.len_utf8())
        };
        let (piece, rest) = text.split_at(cut);
        text = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(text: &str) -> Vec<(u64, u64)> {
        chunks(text).iter().map(|chunk| (chunk.first_line, chunk.last_line)).collect()
    }

    #[test]
    fn lines_overlap() {
        let text = |lines: usize| (1..=lines).map(|line| format!("line {line}\n")).collect::<String>();
        assert_eq!(ranges(&text(1)), [(1, 1)]);
        assert_eq!(ranges(&text(24)), [(1, 24)]);
        assert_eq!(ranges(&text(25)), [(1, 24), (17, 25)]);
        assert_eq!(ranges(&text(60)), [(1, 24), (17, 40), (33, 56), (49, 60)]);
        assert_eq!(ranges(""), []);
        assert_eq!(ranges("\n \n\t\n"), []);
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        let line = "word_and_word ".repeat(limits::CHUNK_BYTES / 5);
        let text = format!("short\n{line}\nend\n");
        let chunks = chunks(&text);
        assert!(chunks.iter().all(|chunk| chunk.text.len() <= limits::CHUNK_BYTES && chunk.last_line <= 3));
        let whole = |text: &str| {
            text.split_whitespace().all(|word| matches!(word, "short" | "end" | "word_and_word"))
        };
        assert!(chunks.iter().all(|chunk| whole(chunk.text)), "{chunks:?}");
    }

    proptest! {
        /// For any text, no chunk is too long, and every byte that is not white space is in a chunk.
        #[test]
        fn nothing_is_left_out(lines in prop::collection::vec((0..4_usize, 0..9_000_usize), 0..60)) {
            let text: String = lines
                .iter()
                .map(|(kind, length)| match kind {
                    0 => "short line\n".to_owned(),
                    1 => "é".repeat(*length) + "\n",
                    // Every second character begins at an odd offset.
                    3 => "a".to_owned() + &"é".repeat(*length) + "\n",
                    _ => "ab c".repeat(*length) + "\r\n",
                })
                .collect();
            let mut covered = vec![false; text.len()];
            for chunk in chunks(&text) {
                prop_assert!(chunk.text.len() <= limits::CHUNK_BYTES);
                prop_assert!(chunk.last_line - chunk.first_line < limits::CHUNK_LINES as u64);
                let at = chunk.text.as_ptr() as usize - text.as_ptr() as usize;
                covered[at..at + chunk.text.len()].fill(true);
                let lines_before = text[..at].matches('\n').count() as u64;
                prop_assert!(lines_before + 1 >= chunk.first_line && lines_before < chunk.last_line);
            }
            let lost = text.bytes().zip(&covered).any(|(byte, covered)| !covered && !byte.is_ascii_whitespace());
            prop_assert!(!lost);
        }
    }
}
