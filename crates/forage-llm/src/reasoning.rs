//! Reasoning that servers leave in the text of an answer, between `<think>` and `</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The answer behind the reasoning, trimmed.
pub(crate) fn without_reasoning(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(thought) = rest.strip_prefix(OPEN) {
        // Reasoning that was cut by the output limit has no end, and nothing follows it.
        rest = thought.split_once(CLOSE).map_or("", |(_, answer)| answer.trim_start());
    }
    // Templates that open the block in the prompt leave only its end, on a line of its own; anywhere else the
    // mark may be part of an answer about such marks.
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim() == CLOSE {
            return rest[at..].trim();
        }
    }
    rest.trim()
}

/// The same for text that comes in pieces: what it gives, put together, is [`without_reasoning`] of all, except that
/// reasoning whose beginning is missing can't be told from an answer before its end.
#[derive(Debug, Default)]
pub(crate) struct SpokenText {
    place: Place,
    /// What was not given yet: perhaps a mark, or white space that is only given when more follows it.
    held: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum Place {
    #[default]
    Start,
    Thought,
    Answer,
}

impl SpokenText {
    /// Takes a piece and gives what of the answer is certain by now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        // White space alone is held without a look at what is held already, however much of it comes.
        if matches!(self.place, Place::Answer) && piece.trim().is_empty() {
            return String::new();
        }
        loop {
            match self.place {
                Place::Start => {
                    let text = self.held.trim_start();
                    if let Some(thought) = text.strip_prefix(OPEN) {
                        self.held = thought.to_owned();
                        self.place = Place::Thought;
                    } else if OPEN.starts_with(text) {
                        self.held = text.to_owned();
                        return String::new();
                    } else {
                        self.held = text.to_owned();
                        self.place = Place::Answer;
                    }
                }
                Place::Thought => match self.held.split_once(CLOSE) {
                    Some((_, rest)) => {
                        self.held = rest.to_owned();
                        self.place = Place::Start;
                    }
                    None => {
                        // Only the beginning of a mark is still of use.
                        let kept =
                            (1..CLOSE.len()).rev().find(|length| self.held.ends_with(&CLOSE[..*length]));
                        self.held = CLOSE[..kept.unwrap_or(0)].to_owned();
                        return String::new();
                    }
                },
                Place::Answer => {
                    let certain = self.held.trim_end().len();
                    let space = self.held.split_off(certain);
                    return std::mem::replace(&mut self.held, space);
                }
            }
        }
    }

    /// The rest, when nothing more comes.
    pub(crate) fn end(self) -> String {
        match self.place {
            // The beginning of a mark that did not become one.
            Place::Start => self.held.trim().to_owned(),
            Place::Thought | Place::Answer => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reasoning_before_the_answer_is_cut_off() {
        for (text, answer) in [
            ("plain", "plain"),
            ("<think>a\nb</think>\n\nanswer", "answer"),
            (" \n<think></think><think>b</think>answer", "answer"),
            ("<think>never ends", ""),
            ("thoughts\n</think>\nanswer", "answer"),
            ("a.rs: reads `</think>` marks\nb.rs: x", "a.rs: reads `</think>` marks\nb.rs: x"),
            ("a.rs: handles <think>x</think>", "a.rs: handles <think>x</think>"),
        ] {
            assert_eq!(without_reasoning(text), answer, "{text}");
        }
    }

    proptest! {
        #[test]
        fn in_pieces_the_same_comes_out(
            text in "(<think>|</think>|<thi|nk>|</| |\n|ab|ä){0,12}",
            cuts in prop::collection::vec(0usize..100, 0..10),
        ) {
            let mut cuts: Vec<usize> = cuts
                .into_iter()
                .map(|cut| cut.min(text.len()))
                .filter(|cut| text.is_char_boundary(*cut))
                .collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut spoken = SpokenText::default();
            let mut given: String = cuts.windows(2).map(|pair| spoken.push(&text[pair[0]..pair[1]])).collect();
            given.push_str(&spoken.end());
            let whole = without_reasoning(&text);
            // The one exception: an end on a line of its own without a beginning.
            prop_assert!(given == whole || given.lines().any(|line| line.trim() == CLOSE), "{given:?} {whole:?}");
        }
    }
}
