//! An incremental parser for server-sent events.
//!
//! Lines end with `\n`, `\r\n` or `\r`. Comments only keep the connection alive, so we skip them. As the
//! standard requires, we also skip fields without a meaning here (`id`, `retry`, and unknown ones). An event
//! is emitted at the blank line after it.
//!
//! Unlike a browser, this parser also emits a last event without the blank line, because some servers omit
//! it. Parsing the data of this event will show whether it is complete.

use crate::limits::MAX_EVENT_BYTES;

/// A parser of one stream.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// True if the last byte was `\r`, so that a following `\n` belongs to the same line end.
    after_return: bool,
    begun: bool,
}

/// The error if a line, or the lines of an event, exceed [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl EventReader {
    /// Parses more bytes, and appends the data of each event that is now complete.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<Vec<u8>>) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.extend(rest);
            };
            self.extend(&rest[..end])?;
            self.after_return = rest[end] == b'\r';
            self.end_line(events)?;
            rest = &rest[end + 1..];
        }
        Ok(())
    }

    /// Returns the data of an event that was incomplete at the end of the stream, if any.
    pub(crate) fn end(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        self.end_line(&mut events)?;
        self.end_event(&mut events);
        Ok(events.pop())
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Vec<u8>>) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        // The stream may begin with a byte order mark, which the standard says to ignore.
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        // We ignore the type of an event (`event:`), because every protocol repeats it in the data.
        let Some(value) = line.strip_prefix(b"data") else { return Ok(()) };
        let value = match value {
            [] => value,
            [b':', value @ ..] => value.strip_prefix(b" ").unwrap_or(value),
            _ => return Ok(()),
        };
        if self.data.len() + value.len() + 1 > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<Vec<u8>>) {
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) && !data.is_empty() {
            events.push(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<String>, TooLong> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for piece in pieces {
            reader.push(piece, &mut events)?;
        }
        events.extend(reader.end()?);
        Ok(events.into_iter().map(|event| String::from_utf8(event).unwrap()).collect())
    }

    #[test]
    fn the_forms_of_lines_and_fields() {
        for text in ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
            assert_eq!(read(&[text.as_bytes()]).unwrap(), ["a", "b"], "{text:?}");
        }
        for (text, events) in [
            ("\u{feff}data: a\n\n", &["a"][..]),
            (": OPENROUTER PROCESSING\n\ndata: a\n\n", &["a"]),
            ("event: x\nid: 1\nretry: 5\ndata: a\nnonsense\n\n", &["a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data:a\n\ndata:  b\n\n", &["a", " b"]),
            ("data\n\ndata:\n\ndatabase: x\n\n", &[]),
            ("event: x\n\n\n\n", &[]),
            ("data: a\n\ndata: without a blank line", &["a", "without a blank line"]),
            ("data: a\n", &["a"]),
            ("", &[]),
        ] {
            assert_eq!(read(&[text.as_bytes()]).unwrap(), events, "{text:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let filler = vec![b'x'; MAX_EVENT_BYTES / 2];
        assert_eq!(read(&[&filler, &filler]).unwrap(), [""; 0], "a line at the limit");
        assert_eq!(read(&[&filler, &filler, b"x"]), Err(TooLong));
        let line = [b"data: ", filler.as_slice(), b"\n"].concat();
        assert_eq!(read(&[&line]).unwrap().len(), 1);
        assert_eq!(read(&[&line, &line]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            text in "(data: ?[aä€😀]{0,3}|: ?c|event: e|\r|\n|\r\n){0,30}",
            cuts in prop::collection::vec(0usize..200, 0..20),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }

    #[test]
    fn fuzz_events_hang_on_no_cut_and_hold_what_came() {
        let seeds = forage_fuzz::seeds([
            "data: a\n\ndata: b\r\n\r\n: c\rdata:  d\r\r",
            "\u{feff}event: x\nid: 1\ndata: {\"a\": \"\u{1f600}\"}\ndata\ndata:\n\n[DONE]\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let read = |length: usize| {
                let (mut reader, mut events) = (EventReader::default(), Vec::new());
                let whole = input.chunks(length).try_for_each(|piece| reader.push(piece, &mut events));
                let whole = whole.and_then(|()| reader.end().map(|last| events.extend(last)));
                (events, whole)
            };
            let (events, whole) = read(input.len().max(1));
            assert!(events.iter().map(Vec::len).sum::<usize>() <= input.len());
            assert_eq!(read(1), (events.clone(), whole), "byte by byte");
            assert_eq!(read(7), (events, whole), "in sevens");
        });
    }
}
