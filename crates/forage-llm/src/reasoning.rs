//! Reasoning that servers leave in the text of an answer, between marks such as `<think>` and `</think>`.

/// The marks around reasoning, for each family of models that writes some.
const MARKS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
];

/// Reasoning at the start of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Thought<'t> {
    /// The reasoning has ended. This is the text after it.
    Ended(&'t str),
    /// The reasoning was cut, usually by the output limit. All of the text is reasoning.
    Open,
}

impl<'t> Thought<'t> {
    /// Finds reasoning at the start of a text, after optional white space. Returns `None` if the text begins
    /// with something else.
    pub fn at_start(text: &'t str) -> Option<Self> {
        let (thought, close) = opened(text.trim_start())?;
        Some(thought.split_once(close).map_or(Self::Open, |(_, rest)| Self::Ended(rest)))
    }
}

/// Splits off an opening mark at the start of `text`. Returns the rest and the matching closing mark.
fn opened(text: &str) -> Option<(&str, &'static str)> {
    MARKS.iter().find_map(|(open, close)| Some((text.strip_prefix(open)?, *close)))
}

/// Returns the trimmed answer after the reasoning. It is empty if the whole text is reasoning.
pub fn without_reasoning(text: &str) -> &str {
    let mut rest = text;
    while let Some(thought) = Thought::at_start(rest) {
        rest = match thought {
            Thought::Ended(answer) => answer,
            Thought::Open => "",
        };
    }
    without_lone_end(rest)
}

/// Returns true if a text without an answer is unfinished reasoning.
pub(crate) fn is_cut(text: &str) -> bool {
    let mut rest = text;
    loop {
        match Thought::at_start(rest) {
            Some(Thought::Ended(answer)) => rest = answer,
            Some(Thought::Open) => return true,
            None => return false,
        }
    }
}

/// Returns the trimmed text after reasoning without an opening mark. Some templates have that mark in the
/// prompt.
///
/// The closing mark must be on a line of its own outside of a code fence. Anywhere else, it is part of an
/// answer about such marks. If nothing follows the mark, it only ends the answer itself.
fn without_lone_end(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(before) = MARKS.iter().find_map(|(_, close)| text.strip_suffix(close))
        && let before = before.trim_end_matches([' ', '\t'])
        && (before.is_empty() || before.ends_with('\n'))
    {
        text = before.trim_end();
    }
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let all = text.lines().filter(is_fence).count();
    let (mut at, mut fences) = (0, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        fences += usize::from(is_fence(&line));
        let is_end = MARKS.iter().any(|(_, close)| line.trim() == *close);
        // A fence counts only if it is closed, because reasoning may leave one open.
        let is_fenced = fences % 2 == 1 && (all - fences) % 2 == 1;
        if is_end && !is_fenced {
            return text[at..].trim_start();
        }
    }
    text
}

/// An incremental version of [`without_reasoning`]. The output as a whole is the same. The exception is
/// reasoning without an opening mark, which we can't recognize before its end.
#[derive(Debug, Default)]
pub(crate) struct ReasoningFilter {
    place: ReasoningField,
    /// Text that we have not emitted yet: a possible mark, or white space that must only be emitted if text
    /// follows.
    held: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum ReasoningField {
    #[default]
    Start,
    /// Inside reasoning that ends with this mark.
    Thought(&'static str),
    Answer,
}

impl ReasoningFilter {
    /// Adds a piece of text. Returns the part of the answer that is certain now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        // White space alone makes nothing certain. Searching the held text for it would make long runs of
        // white space quadratic.
        if matches!(self.place, ReasoningField::Answer) && piece.trim().is_empty() {
            return String::new();
        }
        loop {
            match self.place {
                ReasoningField::Start => {
                    let text = self.held.trim_start();
                    if let Some((thought, close)) = opened(text) {
                        self.held = thought.to_owned();
                        self.place = ReasoningField::Thought(close);
                    } else if MARKS.iter().any(|(open, _)| open.starts_with(text)) {
                        self.held = text.to_owned();
                        return String::new();
                    } else {
                        self.held = text.to_owned();
                        self.place = ReasoningField::Answer;
                    }
                }
                ReasoningField::Thought(close) => match self.held.split_once(close) {
                    Some((_, rest)) => {
                        self.held = rest.to_owned();
                        self.place = ReasoningField::Start;
                    }
                    None => {
                        // We need only a suffix that may begin a mark.
                        let beginnings = close.char_indices().map(|(at, _)| &close[..at]).rev();
                        let kept = beginnings.into_iter().find(|beginning| self.held.ends_with(beginning));
                        self.held = kept.unwrap_or_default().to_owned();
                        return String::new();
                    }
                },
                ReasoningField::Answer => {
                    let certain = self.held.trim_end().len();
                    let space = self.held.split_off(certain);
                    return std::mem::replace(&mut self.held, space);
                }
            }
        }
    }

    /// Returns the rest of the answer at the end of the text.
    pub(crate) fn end(self) -> String {
        match self.place {
            // This prefix of a mark never became one.
            ReasoningField::Start => self.held.trim().to_owned(),
            ReasoningField::Thought(_) | ReasoningField::Answer => String::new(),
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
            ("[THINK]a[/THINK]answer", "answer"),
            ("◁think▷a◁/think▷\n<thinking>b</thinking>answer", "answer"),
            ("<thoughts>a</thoughts>answer", "answer"),
            // A closing mark with nothing after it must not discard the answer.
            ("answer\n</think>", "answer"),
            ("answer\n</think>\n</think>\n", "answer"),
            ("thoughts\n</think>\nanswer\n</think>", "answer"),
            ("a.rs: ends at </think>", "a.rs: ends at </think>"),
            ("</think>\nanswer", "answer"),
            ("</think>", ""),
            ("a.rs: x\n```\n</think>\n```\nb.rs: y", "a.rs: x\n```\n</think>\n```\nb.rs: y"),
        ] {
            assert_eq!(without_reasoning(text), answer, "{text}");
        }
        for text in ["<think>", "<think>a", "[THINK]a[/THINK]<think>b", "<think>a </thinking>"] {
            assert!(is_cut(text) && without_reasoning(text).is_empty(), "{text}");
        }
        for text in ["", "<think></think>", "a <think> b", "</think>"] {
            assert!(!is_cut(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn in_pieces_the_same_comes_out(
            text in "(<think>|</think>|<thi|nk>|nking>|</thinking>|◁think▷|◁/think▷|</| |\n|ab|ä){0,12}",
            cuts in prop::collection::vec(0usize..100, 0..10),
        ) {
            let mut cuts: Vec<usize> = cuts
                .into_iter()
                .map(|cut| cut.min(text.len()))
                .filter(|cut| text.is_char_boundary(*cut))
                .collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut spoken = ReasoningFilter::default();
            let mut given: String = cuts.windows(2).map(|pair| spoken.push(&text[pair[0]..pair[1]])).collect();
            given.push_str(&spoken.end());
            let whole = without_reasoning(&text);
            // The only exception should be a closing mark on a line of its own without an opening mark.
            let is_end = |line: &str| MARKS.iter().any(|(_, close)| line.trim() == *close);
            prop_assert!(given == whole || given.lines().any(is_end), "{given:?} {whole:?}");
        }
    }
}
