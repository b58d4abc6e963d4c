//! Redaction of answers: removes secrets from lines and names, and counts them.
//!
//! A single line may not show that it contains a secret. We therefore redact the lines of a file together
//! ([`Redactor::redact_lines`]), with [`limits::REDACTION_CONTEXT_LINES`] lines around them that are not
//! shown. To detect lines of a private key, we scan the whole file ([`KeyBlocks`]). A match within a secret
//! becomes a match of the mark that replaces it. We cut long lines only after redaction, because no rule
//! recognizes half a secret.
//!
//! We check only the lines that are shown, never all that were searched.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use forage_fs::RelPath;
use forage_redact::{ExcerptLine, KeyBlocks, MARK, RedactionReport, Redactor, replacements};
use forage_search::{CHARACTER_BYTES, EventKind, ScanOptions, SearchEvent, Span, word_bytes};

use crate::limits;
use crate::text::{count, grouped};

/// Formats the note for the reader, if anything was removed.
pub(crate) fn note(hidden: &RedactionReport) -> Option<String> {
    let total = hidden.total();
    let secrets = (total > 0).then(|| count(total as u64, "secret"))?;
    let is = if total == 1 { "is" } else { "are" };
    let rules: Vec<String> =
        hidden.by_rule().iter().map(|(rule, count)| format!("{rule} {}", grouped(*count as u64))).collect();
    let names = match hidden.in_names() {
        true => "; a name with a mark can't be opened: list or search its directory",
        false => "",
    };
    Some(format!(
        "{secrets} {is} hidden as {MARK}RULE] ({}): the file has other text there, so never write a mark back into \
         it{names}",
        rules.join(", ")
    ))
}

/// The lines of a text. Only some of them are shown.
pub(crate) struct Excerpt<'a> {
    pub(crate) lines: Vec<&'a str>,
    text: &'a str,
    keys: KeyBlocks,
}

impl<'a> Excerpt<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { lines: forage_fs::lines(text).collect(), text, keys: KeyBlocks::from_text(text.as_bytes()) }
    }

    fn in_key(&self, at: usize) -> Vec<Range<usize>> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        // The lines are slices of the text.
        let line = self.lines[at];
        let start = line.as_ptr().addr() - self.text.as_ptr().addr();
        self.keys.within(start as u64, line.as_bytes())
    }
}

/// Removes secrets from an answer.
pub(crate) struct OutputRedactor<'a> {
    redactor: &'a Redactor,
    hidden: &'a mut RedactionReport,
}

impl<'a> OutputRedactor<'a> {
    pub(crate) fn new(redactor: &'a Redactor, hidden: &'a mut RedactionReport) -> Self {
        Self { redactor, hidden }
    }

    /// Number of lines of context that we need around the lines shown.
    pub(crate) fn margin(&self) -> usize {
        if self.redactor.is_active() { limits::REDACTION_CONTEXT_LINES } else { 0 }
    }

    /// Extends the scan options by the additional lines and bytes that redaction needs. `characters` is the
    /// length of the part of each line that is shown.
    pub(crate) fn widen(&self, scan: ScanOptions, characters: Option<usize>) -> ScanOptions {
        // The match may be at either end of the part shown, so we need this many bytes on both sides.
        let line_bytes = characters.map(|characters| characters.saturating_mul(2 * CHARACTER_BYTES));
        if !self.redactor.is_active() {
            return ScanOptions { line_bytes, ..scan };
        }
        ScanOptions {
            line_bytes: line_bytes.map(|bytes| bytes + 2 * limits::REDACTION_CONTEXT_BYTES),
            margin: Some(limits::REDACTION_CONTEXT_LINES),
            max_spans: scan.max_spans * limits::REDACTION_SPAN_FACTOR,
            ..scan
        }
    }

    /// Keeps the events before `end`, and after it only those that redaction needs as context.
    pub(crate) fn truncate(&self, events: &mut Vec<SearchEvent>, end: usize) {
        if self.redactor.is_active() {
            events.truncate(end + limits::REDACTION_CONTEXT_LINES);
            events[end..].iter_mut().for_each(|event| event.kind = EventKind::Margin);
        } else {
            events.truncate(end)
        }
    }

    /// Redacts the events of a file, removes the margin, and cuts lines to the part shown.
    pub(crate) fn events(&mut self, events: &mut Vec<SearchEvent>, characters: usize, max_spans: usize) {
        if !self.redactor.is_active() {
            events.iter_mut().for_each(|event| event.shorten(characters));
            return;
        }
        events.iter_mut().for_each(drop_cut_words);
        let lines: Vec<ExcerptLine<'_>> = events
            .iter()
            .map(|event| ExcerptLine {
                number: event.line_number,
                bytes: event.bytes.strip_suffix(b"\n").unwrap_or(&event.bytes),
                in_key: &event.in_key,
                is_shown: event.kind != EventKind::Margin,
            })
            .collect();
        let texts = self.lines(&lines);
        for (event, text) in events.iter_mut().zip(texts) {
            if let Some(text) = text {
                replace(event, &text);
            }
        }
        events.retain(|event| event.kind != EventKind::Margin);
        for event in events {
            event.shorten(characters);
            keep_best(&mut event.spans, max_spans);
        }
    }

    /// Redacts lines of one file. See [`Redactor::redact_lines`].
    pub(crate) fn lines(&mut self, lines: &[ExcerptLine<'_>]) -> Vec<Option<String>> {
        self.redactor.redact_lines(lines, self.hidden)
    }

    /// Redacts the lines of a text at these indices.
    pub(crate) fn chosen(&mut self, text: &Excerpt<'_>, chosen: &[usize]) -> Vec<String> {
        let mut near: Vec<usize> = Vec::new();
        for &at in chosen {
            let from = at.saturating_sub(self.margin());
            near.extend(from..=(at + self.margin()).min(text.lines.len().saturating_sub(1)));
        }
        near.sort_unstable();
        near.dedup();
        let shown: HashSet<usize> = chosen.iter().copied().collect();
        let in_keys: Vec<_> = near.iter().map(|&at| text.in_key(at)).collect();
        let lines: Vec<ExcerptLine<'_>> = near
            .iter()
            .zip(&in_keys)
            .map(|(&at, in_key)| ExcerptLine {
                number: at as u64,
                bytes: text.lines[at].as_bytes(),
                in_key,
                is_shown: shown.contains(&at),
            })
            .collect();
        let mut texts = self.lines(&lines);
        let shown = |&at: &usize| match near.binary_search(&at) {
            Ok(place) => texts[place].take().unwrap_or_else(|| text.lines[at].to_owned()),
            Err(_) => String::new(),
        };
        chosen.iter().map(shown).collect()
    }

    /// Redacts a text without context, for example a message or a file name.
    pub(crate) fn text(&mut self, text: &mut String) {
        self.redactor.redact_text(text, self.hidden);
    }

    /// Redacts a text whose secrets are counted elsewhere.
    pub(crate) fn uncounted(&self, text: &str) -> String {
        self.redactor.redact(text).as_str().to_owned()
    }

    /// Redacts a path or the name of a file or directory. Returns true if it had a secret, because the shown
    /// name can't be opened then.
    pub(crate) fn name(&mut self, name: &mut String) -> bool {
        self.redactor.redact_name(name, self.hidden)
    }

    /// Redacts a path for records and text. Also returns its bytes in base64 if the text does not represent
    /// all of them.
    pub(crate) fn path(&mut self, path: &RelPath) -> (String, Option<String>) {
        let mut shown = path.display().into_owned();
        let bytes = crate::sanitize::path_bytes(path);
        if self.name(&mut shown) { (shown, None) } else { (shown, bytes) }
    }
}

/// Replaces the text of a line. Matches in the replaced parts become matches of the marks.
fn replace(event: &mut SearchEvent, text: &str) {
    let has_feed = event.bytes.ends_with(b"\n");
    let line = event.bytes.strip_suffix(b"\n").unwrap_or(&event.bytes);
    let before = String::from_utf8_lossy(line);
    // Spans count bytes, and invalid UTF-8 may take more bytes once it is text.
    let place = |at: usize| match before {
        Cow::Borrowed(_) => at,
        Cow::Owned(_) => String::from_utf8_lossy(&line[..at.min(line.len())]).len(),
    };
    let edits = replacements(&before, text);
    let moved = |at: usize, is_end: bool| {
        let mut after = (0, 0);
        for (old, new) in edits.iter().take_while(|(old, _)| old.start < at) {
            if at < old.end || (at == old.end && is_end) {
                return if is_end { new.end } else { new.start };
            }
            after = (old.end, new.end);
        }
        (at - after.0 + after.1).min(text.len())
    };
    for span in &mut event.spans {
        let (start, end) = (place(span.start), place(span.end));
        span.start = moved(start, false);
        span.end = moved(end, true).max(span.start);
    }
    // This must also hide how many matches are in a secret.
    event.spans.dedup_by(|next, first| {
        let same = (next.start, next.end) == (first.start, first.end);
        first.distance = first.distance.min(if same { next.distance } else { u8::MAX });
        same
    });
    event.in_key.clear();
    event.bytes = text.as_bytes().to_vec();
    if has_feed {
        event.bytes.push(b'\n');
    }
}

/// Keeps at most `max` of a line's matches. Drops those with the largest distance first, and the last ones
/// among equals.
fn keep_best(spans: &mut Vec<Span>, max: usize) {
    if spans.len() > max {
        spans.sort_by_key(|span| (span.distance, span.start));
        spans.truncate(max);
        spans.sort_by_key(|span| span.start);
    }
}

/// Removes the words at which a line was cut, because one may be half of a secret. They are outside the part
/// shown, unless much of the line is hidden.
fn drop_cut_words(event: &mut SearchEvent) {
    let mut kept = 0..event.bytes.len();
    if event.cut.before > 0 {
        kept.start = word_bytes(event.bytes.iter(), limits::REDACTION_CONTEXT_BYTES);
    }
    if event.cut.after > 0 {
        kept.end = kept.start + without_cut_word(&event.bytes[kept.start..]).len();
    }
    event.keep(kept);
}

/// Strips the last word of a line that was cut there.
pub(crate) fn without_cut_word(line: &[u8]) -> &[u8] {
    &line[..line.len() - word_bytes(line.iter().rev(), limits::REDACTION_CONTEXT_BYTES)]
}

#[cfg(test)]
mod tests {
    use forage_redact::KEY_MARK;
    use forage_search::CutLine;

    use super::*;

    const TOKEN: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";

    fn event(number: u64, line: &str, spans: &[(usize, usize)]) -> SearchEvent {
        SearchEvent {
            line_number: number,
            kind: EventKind::Match,
            bytes: line.as_bytes().to_vec(),
            spans: spans.iter().map(|&(start, end)| Span { start, end, distance: 0 }).collect(),
            cut: CutLine::default(),
            in_key: Vec::new(),
        }
    }

    /// A line with the positions of its matches.
    type Shown = (String, Vec<(usize, usize)>);

    fn redacted(mut events: Vec<SearchEvent>) -> (Vec<Shown>, RedactionReport) {
        let (redactor, mut hidden) = (Redactor::standard(), RedactionReport::default());
        OutputRedactor::new(&redactor, &mut hidden).events(&mut events, 200, 100);
        let shown = |event: SearchEvent| {
            let spans = event.spans.iter().map(|span| (span.start, span.end)).collect();
            (String::from_utf8(event.bytes).unwrap(), spans)
        };
        (events.into_iter().map(shown).collect(), hidden)
    }

    /// Maps spans to the texts that they cover.
    fn matched(line: &str, spans: &[(usize, usize)]) -> Vec<String> {
        spans.iter().map(|&(start, end)| line[start..end].to_owned()).collect()
    }

    #[test]
    fn matches_within_a_secret_are_those_of_its_mark() {
        let line = format!("before {TOKEN} after {TOKEN} end\n");
        let find = |text: &str| line.find(text).map(|at| (at, at + text.len())).unwrap();
        let (inside, across) = (find("R4nd0m"), (find("re ghp_").0, find("re ghp_R4").1));
        let (second, end) = (line.rfind("1234").unwrap(), find("end"));
        let spans = [find("before"), across, inside, find("1234"), find("after"), (second, second + 4), end];
        let (lines, hidden) = redacted(vec![event(3, &line, &spans)]);
        let (shown, spans) = &lines[0];
        assert_eq!(shown, "before [redacted:github-token] after [redacted:github-token] end\n");
        let mark = "[redacted:github-token]";
        let across = format!("re {mark}");
        assert_eq!(matched(shown, spans), ["before", &across, mark, "after", mark, "end"]);
        assert_eq!((hidden.total(), hidden.by_rule()["github-token"]), (2, 2));
    }

    #[test]
    fn a_line_that_is_in_a_key_of_the_file_is_hidden() {
        // This line is from the middle of a key. We would recognize a header line even without context.
        let body = "yFhMgwMbRvI0MBZhpI7RSZfZ0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7Q1dKpVbX";
        let lines = |in_key: Option<Range<usize>>| {
            let line = |number| SearchEvent {
                in_key: in_key.clone().into_iter().collect(),
                ..event(number, body, &[(2, 9)])
            };
            redacted(vec![line(26), line(27), line(40)])
        };
        let (shown, hidden) = lines(Some(0..body.len()));
        assert!(
            shown.iter().all(|(line, spans)| line == KEY_MARK && *spans == [(0, KEY_MARK.len())]),
            "{shown:?}"
        );
        assert_eq!(hidden.by_rule()["private-key"], 2, "two runs of lines");
        let (shown, hidden) = lines(None);
        assert!(shown.iter().all(|(line, _)| line == body) && hidden.total() == 0, "the control");
    }

    #[test]
    fn of_a_secret_that_a_cut_divides_no_half_is_left() {
        let (first, second) = TOKEN.split_at(15);
        let mut cut = event(1, &format!("{second} shown {first}"), &[(26, 31)]);
        cut.cut = CutLine { before: 90, after: 70 };
        let mut events = vec![cut];
        let (redactor, mut hidden) = (Redactor::standard(), RedactionReport::default());
        OutputRedactor::new(&redactor, &mut hidden).events(&mut events, 200, 100);
        let event = &events[0];
        assert_eq!(event.bytes, b" shown ");
        assert_eq!((event.cut.before, event.cut.after), (90 + second.len(), 70 + first.len()));
        assert_eq!((event.spans[0].start, event.spans[0].end), (1, 6));
    }

    #[test]
    fn only_new_shown_redactions_are_counted() {
        let margin = SearchEvent { kind: EventKind::Margin, ..event(1, TOKEN, &[]) };
        let (shown, hidden) = redacted(vec![margin, event(2, "[redacted:github-token] stands here\n", &[])]);
        assert_eq!((shown.len(), hidden.total()), (1, 0));
        assert_eq!(note(&hidden), None);
    }

    proptest::proptest! {
        /// Spans must stay within their line and on character boundaries, whatever is replaced.
        #[test]
        fn spans_stay_valid(
            words in proptest::collection::vec(proptest::sample::select(vec![
                "a", "é", " ", TOKEN, "[redacted:jwt]", "password = \"x8Kz2mQ9vR4tB7nW1pLs\"", "]", "[redacted:", ", ",
            ]), 1..8),
            places in proptest::collection::vec((0usize..200, 0usize..200), 0..5),
        ) {
            let line = words.concat();
            let floor = |at: usize| line.floor_char_boundary(at.min(line.len()));
            let mut spans: Vec<_> = places.iter().map(|&(a, b)| (floor(a.min(b)), floor(a.max(b)))).collect();
            spans.sort_unstable();
            let (shown, _) = redacted(vec![event(1, &line, &spans)]);
            let (text, spans) = &shown[0];
            for &(start, end) in spans {
                proptest::prop_assert!(text.get(start..end).is_some(), "{start}..{end} of {text:?}, from {line:?}");
            }
        }
    }
}
