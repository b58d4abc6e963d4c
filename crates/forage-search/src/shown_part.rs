//! Where a long line is cut: by characters as a reader sees them.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// Bytes of a character for which a line is looked at. The letters of all scripts have up to 4, with their marks rarely
/// more than 8; of text whose characters have more, fewer are shown.
pub const CHARACTER_BYTES: usize = 8;

/// The part of a line that is shown where it may have `most` characters: all of it, its beginning, or what is around the
/// middle of a place in it. What a reader sees as one character is one, and is never divided: a letter with its marks, an
/// emoji of several. A byte that is not UTF-8 is one character.
pub fn shown_part(line: &[u8], most: usize, around: Option<&Range<usize>>) -> Range<usize> {
    if line.len() <= most {
        return 0..line.len();
    }
    let reach = most.saturating_mul(CHARACTER_BYTES);
    let middle = around.map_or(0, |place| place.start + place.len().min(reach) / 2).min(line.len());
    // What is short enough is looked at whole, so that even few characters of very many bytes are not divided.
    let reach = if line.len() <= reach.saturating_mul(2) { line.len() } else { reach };
    // Where a character begins can't be told in the middle of one.
    let is_inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let from = middle.saturating_sub(reach);
    let from = (from..line.len().min(from + 4)).find(|at| !is_inside(at)).unwrap_or(from);
    let until = middle.saturating_add(reach).min(line.len());
    let until = (until.saturating_sub(3).max(from)..=until).rev().find(|at| !is_inside(at)).unwrap_or(until);
    let mut borders = borders(&line[from..until]);
    borders.iter_mut().for_each(|border| *border += from);
    // Of a character at the edge of what was looked at there may be more beyond it.
    if until < line.len() && borders.len() > 2 {
        borders.pop();
    }
    if from > 0 && borders.len() > 2 {
        borders.remove(0);
    }

    // Borders are one more than characters.
    let characters = borders.len() - 1;
    let middle = borders.partition_point(|&border| border <= middle).saturating_sub(1);
    let first = middle.saturating_sub(most / 2).min(characters.saturating_sub(most));
    let last = (first + most).min(characters);
    borders[first]..borders[last]
}

/// Where characters begin, and the end.
fn borders(text: &[u8]) -> Vec<usize> {
    let mut borders = Vec::new();
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        borders.extend(chunk.valid().grapheme_indices(true).map(|(start, _)| at + start));
        at += chunk.valid().len();
        borders.extend(at..at + chunk.invalid().len());
        at += chunk.invalid().len();
    }
    borders.push(at);
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_of_more_bytes_than_are_looked_at_is_one() {
        let family = "\u{1f469}\u{200d}\u{1f467}";
        assert_eq!(shown_part(family.as_bytes(), 1, Some(&(7..11))), 0..11);
    }

    #[test]
    fn a_line_is_cut_by_what_a_reader_counts() {
        let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        for (character, many) in
            [("a", 500), ("é", 500), ("e\u{301}", 500), ("漢", 500), ("\u{1f600}", 500), (family, 50)]
        {
            let line = character.repeat(many);
            let part = shown_part(line.as_bytes(), 20, None);
            let most = (20 * CHARACTER_BYTES / character.len()).min(20);
            assert_eq!(part, 0..most * character.len(), "{character}");
            // The control: as many as may be shown are not cut.
            let line = character.repeat(most);
            assert_eq!(shown_part(line.as_bytes(), 20, None), 0..line.len(), "{character}");
        }
        let line = format!("{}needle{}", "漢".repeat(300), "x".repeat(300));
        let part = shown_part(line.as_bytes(), 100, Some(&(900..906)));
        let shown = std::str::from_utf8(&line.as_bytes()[part]).unwrap();
        assert_eq!((shown.chars().count(), shown.find("needle")), (100, Some(47 * 3)));
        assert_eq!(shown_part(&[0xff; 300], 100, None), 0..100);
    }

    proptest! {
        /// Whatever the line, what is shown of it is in it, not too much, begins and ends between characters, has the place
        /// that was asked for, and is as much as may be shown of a line of single letters.
        #[test]
        fn a_part_is_always_one(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    &b"a"[..], "é".as_bytes(), "e\u{301}\u{301}".as_bytes(), "漢".as_bytes(), "\u{1f469}\u{200d}\u{1f467}".as_bytes(),
                    b"\xff", b"\xe6\xbc", b"\r",
                ]),
                0..200,
            ),
            most in 1usize..60,
            place in (0usize..900, 0usize..50),
        ) {
            let line = pieces.concat();
            let start = place.0.min(line.len());
            let around = start..(start + place.1).min(line.len());
            let part = shown_part(&line, most, Some(&around));
            prop_assert!(part.start <= part.end && part.end <= line.len());
            let characters = borders(&line[part.clone()]).len() - 1;
            prop_assert!(characters <= most);
            if borders(&line).len() - 1 <= most {
                prop_assert_eq!(&part, &(0..line.len()));
            }
            if pieces.iter().all(|piece| piece.len() == 1) {
                prop_assert_eq!(part.len(), most.min(line.len()));
                let middle = around.start + around.len() / 2;
                prop_assert!(part.contains(&middle) || middle == line.len());
            }
        }
    }
}
