//! What a model says, without what it thinks aloud and without the marks of its template.
//!
//! Servers cut reasoning off where they know the model; where they don't, it comes in the text. The forms are those that
//! `tests/data/answers` names sources for.

use std::borrow::Cow;

use forage_llm::reasoning::{Thought, without_lone_end};

use super::fences::Fence;

/// Marks of templates that servers leave at the ends of a text.
const ENDS: [&str; 12] = [
    "<|begin_of_box|>",
    "<|end_of_box|>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|return|>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<｜end▁of▁sentence｜>",
    "</s>",
];

/// Beginnings of a message in the channel for the answer.
const FINAL: &str = "<|channel|>final";

/// The answer in a text.
pub(super) fn answer(text: &str) -> Cow<'_, str> {
    match without_thoughts(without_ends(final_channel(text.trim()))) {
        Cow::Borrowed(text) => Cow::Borrowed(without_ends(text)),
        Cow::Owned(text) => Cow::Owned(without_ends(&text).to_owned()),
    }
}

/// The message for the user where a model speaks in channels, as its text begins with one. What another channel quotes of a
/// message does not stand where one begins.
fn final_channel(text: &str) -> &str {
    // The same with its marks swallowed.
    if let Some(rest) = text.strip_prefix("analysis")
        && let Some((_, answer)) = rest.split_once("assistantfinal")
    {
        return answer;
    }
    if !text.starts_with("<|channel|>") && !text.starts_with("<|start|>") {
        return text;
    }
    let begins = |at: usize| {
        let before = text[..at].trim_end();
        before.is_empty() || before.ends_with("<|start|>assistant") || before.ends_with("<|end|>")
    };
    let at = text.match_indices(FINAL).map(|(at, _)| at).find(|&at| begins(at));
    at.and_then(|at| text[at..].split_once("<|message|>")).map_or("", |(_, answer)| answer.trim())
}

/// Without blocks of reasoning that begin a line; code in a fence has none. One that never ends is all that there still is.
fn without_thoughts(text: &str) -> Cow<'_, str> {
    let mut kept: Option<String> = None;
    let mut rest = text;
    'blocks: loop {
        let (mut at, mut fence) = (0, None);
        for line in rest.split_inclusive('\n') {
            let begin = at + (line.len() - line.trim_start().len());
            at += line.len();
            let was_fenced = fence.is_some();
            fence = match fence {
                None => Fence::opening(line),
                Some(fence) => Some(fence).filter(|fence| !fence.is_closed_by(line)),
            };
            let thought = if was_fenced { None } else { Thought::at_start(&rest[begin..]) };
            let Some(thought) = thought else { continue };
            kept.get_or_insert_default().push_str(&rest[..begin]);
            match thought {
                Thought::Ended(after) => rest = after,
                Thought::Open => {
                    rest = "";
                    break 'blocks;
                }
            }
            continue 'blocks;
        }
        break;
    }
    let Some(mut kept) = kept else { return Cow::Borrowed(without_lone_end(text)) };
    kept.push_str(rest);
    Cow::Owned(without_lone_end(&kept).to_owned())
}

/// Without marks at either end.
fn without_ends(mut text: &str) -> &str {
    loop {
        text = text.trim();
        let shorter =
            ENDS.iter().find_map(|mark| text.strip_prefix(mark).or_else(|| text.strip_suffix(mark)));
        match shorter {
            Some(shorter) => text = shorter,
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_and_marks_are_no_part_of_an_answer() {
        for text in [
            "a: b",
            "<think>/x: no</think>\na: b",
            "<think>1</think>\n\n<think>2</think>a: b",
            "thought first\n</think>\n\na: b",
            "[THINK]/x: no[/THINK]a: b",
            "◁think▷/x: no◁/think▷\na: b",
            "<|begin_of_thought|>no<|end_of_thought|>\n<|begin_of_solution|>\na: b\n<|end_of_solution|>",
            "<|begin_of_box|>a: b<|end_of_box|>",
            "<|channel|>analysis<|message|>/x: no<|end|><|start|>assistant<|channel|>final<|message|>a: b<|return|>",
            "<|channel|>final <|constrain|>json<|message|>a: b<|return|>",
            "<|start|>assistant<|channel|>analysis<|message|>it says <|channel|>final<|message|>/x: no<|end|>\
             <|start|>assistant<|channel|>final<|message|>a: b",
            "analysisWe need a.assistantfinala: b",
            "a: b<|im_end|>",
            "a: b</s>",
        ] {
            assert_eq!(answer(text), "a: b", "{text}");
        }
        for text in [
            "a: b\n</think>",
            "thought\n</think>\na: b\n</think>",
            "a: b\n<think>\n/x: cut at the",
            "a: b\n<think>\n/x: no\n</think>",
        ] {
            assert_eq!(answer(text), "a: b", "{text}");
        }
        let fenced = "a: b\n```\n<think>\n</think>\n```\nc: d";
        assert_eq!(answer(fenced), fenced);
        for text in [
            "",
            "<think>never ends\na: b",
            "<think>a</think>\n<think>b",
            "<|channel|>analysis<|message|>a: b<|end|>",
        ] {
            assert_eq!(answer(text), "", "{text}");
        }
        // Words about such marks are words.
        for text in ["a: finds <think> and </think>", "a: b\n- c: <|channel|>final<|message|> is read here"] {
            assert_eq!(answer(text), text);
        }
    }
}
