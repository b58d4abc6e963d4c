//! Cuts long lines between user-perceived characters (grapheme clusters).

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// Bytes of a line to read per character. Letters of all scripts have up to 4, and rarely more than 8 with
/// their marks. We show fewer characters of a text in which they are longer.
pub const CHARACTER_BYTES: usize = 8;

/// Chooses the part of a line to show if at most `max` characters are allowed. This is the whole line, its
/// beginning, or the part around the middle of `around`.
///
/// A character is a grapheme cluster, for example a letter with its marks or an emoji of several code points,
/// and is never divided. A byte that is not UTF-8 counts as one character.
pub fn shown_part(line: &[u8], max: usize, around: Option<&Range<usize>>) -> Range<usize> {
    if line.len() <= max {
        return 0..line.len();
    }
    let reach = max.saturating_mul(CHARACTER_BYTES);
    let middle = around.map_or(0, |place| place.start + place.len().min(reach) / 2).min(line.len());
    // We read a short line completely, so that even a few very long characters are not divided.
    let reach = if line.len() <= reach.saturating_mul(2) { line.len() } else { reach };
    // We can't determine character boundaries from the middle of a character.
    let is_inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let from = middle.saturating_sub(reach);
    let from = (from..line.len().min(from + 4)).find(|at| !is_inside(at)).unwrap_or(from);
    let until = middle.saturating_add(reach).min(line.len());
    let until = (until.saturating_sub(3).max(from)..=until).rev().find(|at| !is_inside(at)).unwrap_or(until);
    let mut borders = borders(&line[from..until]);
    borders.iter_mut().for_each(|border| *border += from);
    // The first and the last character may extend beyond the part that we read.
    if until < line.len() && borders.len() > 2 {
        borders.pop();
    }
    if from > 0 && borders.len() > 2 {
        borders.remove(0);
    }

    // There is one more boundary than there are characters.
    let characters = borders.len() - 1;
    let middle = borders.partition_point(|&border| border <= middle).saturating_sub(1);
    let first = middle.saturating_sub(max / 2).min(characters.saturating_sub(max));
    let last = (first + max).min(characters);
    borders[first]..borders[last]
}

/// Finds the starts of all characters, followed by the end of the text.
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
    fn long_character_is_not_divided() {
        let family = "\u{1f469}\u{200d}\u{1f467}";
        assert_eq!(shown_part(family.as_bytes(), 1, Some(&(7..11))), 0..11);
    }

    #[test]
    fn cuts_by_grapheme_clusters() {
        let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        for (character, many) in
            [("a", 500), ("é", 500), ("e\u{301}", 500), ("漢", 500), ("\u{1f600}", 500), (family, 50)]
        {
            let line = character.repeat(many);
            let part = shown_part(line.as_bytes(), 20, None);
            let max = (20 * CHARACTER_BYTES / character.len()).min(20);
            assert_eq!(part, 0..max * character.len(), "{character}");
            // The control: a line of exactly the allowed length is not cut.
            let line = character.repeat(max);
            assert_eq!(shown_part(line.as_bytes(), 20, None), 0..line.len(), "{character}");
        }
        let line = format!("{}needle{}", "漢".repeat(300), "x".repeat(300));
        let part = shown_part(line.as_bytes(), 100, Some(&(900..906)));
        let shown = std::str::from_utf8(&line.as_bytes()[part]).unwrap();
        assert_eq!((shown.chars().count(), shown.find("needle")), (100, Some(47 * 3)));
        assert_eq!(shown_part(&[0xff; 300], 100, None), 0..100);
    }

    proptest! {
        /// For any line, the part must be within the line and the limit, and begin and end between
        /// characters. It must contain the requested position. For a line of single letters, it must be as
        /// long as allowed.
        #[test]
        fn shown_part_invariants(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    &b"a"[..], "é".as_bytes(), "e\u{301}\u{301}".as_bytes(), "漢".as_bytes(), "\u{1f469}\u{200d}\u{1f467}".as_bytes(),
                    b"\xff", b"\xe6\xbc", b"\r",
                ]),
                0..200,
            ),
            max in 1usize..60,
            place in (0usize..900, 0usize..50),
        ) {
            let line = pieces.concat();
            let start = place.0.min(line.len());
            let around = start..(start + place.1).min(line.len());
            let part = shown_part(&line, max, Some(&around));
            prop_assert!(part.start <= part.end && part.end <= line.len());
            let characters = borders(&line[part.clone()]).len() - 1;
            prop_assert!(characters <= max);
            if borders(&line).len() - 1 <= max {
                prop_assert_eq!(&part, &(0..line.len()));
            }
            if pieces.iter().all(|piece| piece.len() == 1) {
                prop_assert_eq!(part.len(), max.min(line.len()));
                let middle = around.start + around.len() / 2;
                prop_assert!(part.contains(&middle) || middle == line.len());
            }
        }
    }
}
