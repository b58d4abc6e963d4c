//! Parses the output of an engine: the numbers at the start of its lines.
//!
//! Both engines write `NUMBER:text` for a matching line. ugrep writes `NUMBER|text` for the other lines of a
//! match that crosses a line end. We discard the text as it arrives, so neither its length nor its content
//! matters. We only count a line without the expected start.

/// A parser for output that arrives in pieces of any size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineNumbers {
    state: State,
    number: u64,
    /// A line that will be reported once its match is known to end within it.
    pending: Option<u64>,
    /// The last accepted number.
    last: u64,
    /// Lines that do not begin with a number, or whose number is smaller than the previous one.
    pub(super) noise: u64,
    /// Lines left out because their match crosses a line end.
    pub(super) spanning: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// At the start of a line.
    #[default]
    Start,
    /// Within the digits at its start.
    Digits,
    /// After the part that matters.
    Rest,
}

impl LineNumbers {
    /// Parses a piece of output. Calls `found` once for each number, in ascending order.
    pub(super) fn push(&mut self, mut piece: &[u8], mut found: impl FnMut(u64)) {
        while let Some(&byte) = piece.first() {
            match (self.state, byte) {
                (State::Rest, _) => match memchr::memchr(b'\n', piece) {
                    Some(feed) => {
                        self.state = State::Start;
                        piece = &piece[feed + 1..];
                        continue;
                    }
                    None => return,
                },
                (State::Start, b'0'..=b'9') => {
                    self.number = u64::from(byte - b'0');
                    self.state = State::Digits;
                }
                (State::Digits, b'0'..=b'9') => {
                    // A saturated number is still larger than the line count of any text.
                    self.number = self.number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
                }
                (State::Digits, b':') => {
                    self.accept(&mut found);
                    self.state = State::Rest;
                }
                (State::Digits, b'|') => {
                    self.reaches_over();
                    self.state = State::Rest;
                }
                (_, b'\n') => {
                    self.noise += 1;
                    self.state = State::Start;
                }
                _ => {
                    self.noise += 1;
                    self.state = State::Rest;
                }
            }
            piece = &piece[1..];
        }
    }

    /// Ends the output and reports the last line, which nothing can retract any more.
    pub(super) fn end(&mut self, mut found: impl FnMut(u64)) {
        if matches!(self.state, State::Digits) {
            self.noise += 1;
        }
        self.pending.take().into_iter().for_each(&mut found);
    }

    fn accept(&mut self, found: &mut impl FnMut(u64)) {
        // ugrep reports several matches of one line as several lines.
        if self.number == self.last && self.number > 0 {
            return;
        }
        if self.number <= self.last {
            self.noise += 1;
            return;
        }
        self.pending.take().into_iter().for_each(found);
        self.last = self.number;
        self.pending = Some(self.number);
    }

    fn reaches_over(&mut self) {
        self.spanning += u64::from(self.pending.take().is_some());
        self.last = self.last.max(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(pieces: &[&[u8]]) -> (Vec<u64>, u64, u64) {
        let (mut parser, mut numbers) = (LineNumbers::default(), Vec::new());
        for piece in pieces {
            parser.push(piece, |number| numbers.push(number));
        }
        parser.end(|number| numbers.push(number));
        (numbers, parser.noise, parser.spanning)
    }

    /// Checks that the result does not depend on how the pipe divided the output.
    fn check(output: &[u8], expected: &[u64], noise: u64) {
        for at in 0..=output.len() {
            let (found, other, _) = numbers(&[&output[..at], &output[at..]]);
            assert_eq!((found.as_slice(), other), (expected, noise), "cut at {at}: {output:?}");
        }
        let bytes: Vec<&[u8]> = output.chunks(1).collect();
        assert_eq!(numbers(&bytes).0, expected);
    }

    #[test]
    fn ignores_text_after_numbers() {
        check(b"1:a\n3:b:4:c\n10:\n", &[1, 3, 10], 0);
        check(b"3:2026-01-08-notes.md:3:x\n5:7-context\n", &[3, 5], 0);
        check(b"1:a\r\n2:b\r\n", &[1, 2], 0);
        check(b"1:a\n22:no end", &[1, 22], 0);
        check(b"1:\xff\xfe\0\n2:\xc3\n", &[1, 2], 0);
        check(b"", &[], 0);
    }

    /// We never request context, so a line that looks like context is not a match.
    #[test]
    fn t_ls_parse_01_match_lines_and_context_lines() {
        check(b"3-before\n4:match\n5-after\n--\n9:match 10:x\n", &[4, 9], 3);
    }

    /// A `Copy` type owns no heap memory, and each byte of a piece is visited once.
    #[test]
    fn nfr_ls_perf_02_memory_is_independent_of_output() {
        fn holds_no_memory_of_its_own<T: Copy>(_: &T) {}
        let mut parser = LineNumbers::default();
        let (mut found, piece) = (0, vec![b'x'; 1 << 20]);
        for line in 1..=64_u64 {
            parser.push(format!("{line}:").as_bytes(), |_| found += 1);
            (0..4).for_each(|_| parser.push(&piece, |_| found += 1));
            parser.push(b"\n", |_| found += 1);
        }
        parser.end(|_| found += 1);
        holds_no_memory_of_its_own(&parser);
        assert_eq!((found, parser.noise), (64, 0));
    }

    #[test]
    fn merges_repeats_and_rejects_descending_numbers() {
        check(b"2:a\n2:b\n2:c\n3:d\n", &[2, 3], 0);
        check(b"5:a\n4:b\n6:c\n", &[5, 6], 1);
        check(b"0:a\n1:b\n", &[1], 1);
    }

    #[test]
    fn other_lines_are_noise() {
        check(b"Binary file matches\n1:a\n\n--\n:x\n-1:x\n2-context\n 3:x\n4:b\n", &[1, 4], 7);
        check(b"1:a\n12", &[1], 1);
    }

    #[test]
    fn huge_number_saturates() {
        check(b"99999999999999999999999999:a\n", &[u64::MAX], 0);
        check(b"18446744073709551616:a\n7:b\n", &[u64::MAX], 1);
    }

    #[test]
    fn multiline_match_is_left_out() {
        let (found, noise, spanning) = numbers(&[b"1:a\n2:foo\n3|bar\n4|x\n6:", b"b\n"]);
        assert_eq!((found, noise, spanning), (vec![1, 6], 0, 1));
    }

    #[test]
    fn fuzz_numbers_ascend_for_any_chunking() {
        let seeds = forage_fuzz::seeds([
            &b"1:one\n2:two\n2:again\n17|spans\n18:last"[..],
            b"5:a\n3:back\nno number\n\n18446744073709551616:x\n\xff\xfe:\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let whole = numbers(&[input]);
            assert!(whole.0.is_sorted_by(|a, b| a < b), "{:?}", whole.0);
            let pieces: Vec<&[u8]> = input.chunks(1).collect();
            assert_eq!(numbers(&pieces), whole, "byte by byte");
            let (before, after) = input.split_at(input.len() / 3);
            assert_eq!(numbers(&[before, after]), whole, "in two");
            let lines = input.split(|byte| *byte == b'\n').count() as u64;
            assert!(whole.0.len() as u64 + whole.1 + whole.2 <= lines);
        });
    }
}
