//! Whether a model says that no file is relevant, in whatever words.

/// Words for what was searched.
const THINGS: [&str; 14] = [
    "file",
    "files",
    "result",
    "results",
    "match",
    "matches",
    "hit",
    "hits",
    "candidate",
    "candidates",
    "ones",
    "code",
    "documents",
    "paths",
];
/// Words for being relevant.
const RELEVANT: [&str; 13] = [
    "relevant",
    "relevance",
    "pertinent",
    "related",
    "relate",
    "address",
    "addresses",
    "answer",
    "answers",
    "pertain",
    "qualify",
    "useful",
    "apply",
];
/// With these, something else is meant than all files.
const OTHERS: [&str; 7] = ["other", "additional", "more", "further", "remaining", "else", "rest"];
const NEGATIONS: [&str; 14] = [
    "not", "couldnt", "cannot", "cant", "didnt", "unable", "dont", "doesnt", "isnt", "arent", "werent",
    "never", "failed", "without",
];
const FINDING: [&str; 10] =
    ["find", "found", "identify", "identified", "contain", "contains", "locate", "see", "there", "appear"];
/// Such a sentence tells of a rule, not of these files.
const CONDITIONS: [&str; 5] = ["if", "when", "unless", "whether", "return"];
/// What one refuses to do.
const SERVICES: [&str; 14] = [
    "help",
    "assist",
    "comply",
    "fulfill",
    "provide",
    "determine",
    "access",
    "analyze",
    "analyse",
    "process",
    "evaluate",
    "complete",
    "continue",
    "judge",
];
/// The same in the language that some models fall back to.
const CHINESE: [&str; 5] = ["没有找到相关", "未找到相关", "没有相关", "无相关文件", "没有任何相关"];
/// Words of a sentence that are looked at; it says so at its beginning, or not at all.
const WORDS: usize = 40;

/// Whether a line says so.
pub(super) fn says_nothing(line: &str) -> bool {
    CHINESE.iter().any(|words| line.contains(words))
        || line.split(['.', '!', '?', ';']).any(|sentence| sentence_says(&words(sentence)))
}

/// Whether the whole of a text is a refusal: then nothing in it is a verdict about files.
pub(super) fn refuses(text: &str) -> bool {
    text.split(['.', '!', '?', ';', '\n']).any(|sentence| {
        let words = words(sentence);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_ai = words.windows(3).any(|three| three == ["as", "an", "ai"]);
        let refusal = (0..words.len()).any(|at| {
            let rest = match &words[at..] {
                ["i", "cant" | "cannot" | "wont", rest @ ..]
                | ["i", "can" | "will" | "am", "not", rest @ ..]
                | ["i", "am", "unable", "to", rest @ ..]
                | ["im" | "am", "unable", "to", rest @ ..]
                | ["im", "not", "able", "to", rest @ ..]
                | ["wont" | "not", "be", "able", "to", rest @ ..] => rest,
                _ => return false,
            };
            rest.iter().take(3).any(|word| SERVICES.contains(word))
        });
        is_ai || refusal
    })
}

/// Letters and digits in lower case, apostrophes left out.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = text.replace(['\'', '’'], "").to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(WORDS).map(str::to_owned).collect()
}

fn sentence_says(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.iter().any(|word| CONDITIONS.contains(word)) {
        return false;
    }
    if matches!(words[..], ["none"] | ["nothing"] | ["no", "files"] | ["no", "files", "found"] | ["n", "a"]) {
        return true;
    }
    // `Relevant files: none`
    if let [before @ .., "none"] = &words[..]
        && before.len() <= 5
        && before.contains(&"relevant")
    {
        return true;
    }
    let near = |at: usize, length: usize| &words[at + 1..words.len().min(at + 1 + length)];
    let has = |near: &[&str], known: &[&str]| near.iter().any(|word| known.contains(word));
    (0..words.len()).any(|at| {
        let long = near(at, 12);
        if has(&long[..long.len().min(4)], &OTHERS) {
            return false;
        }
        match words[at] {
            "no" => {
                let near = near(at, 8);
                near.contains(&"relevant") && has(near, &THINGS)
            }
            "none" => has(long, &RELEVANT),
            "nothing" => near(at, 4).contains(&"relevant"),
            word if NEGATIONS.contains(&word) => {
                let near = near(at, 9);
                let finds = has(near, &FINDING) || at > 0 && FINDING.contains(&words[at - 1]);
                near.contains(&"any") && near.contains(&"relevant") && has(near, &THINGS) && finds
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_that_nothing_is_relevant_and_what_does_not() {
        for text in [
            "No relevant files found",
            "\"No relevant files found\"",
            "'No relevant files found.'",
            "“No relevant files found”",
            "«No relevant files found»",
            "`No relevant files found`",
            "**No relevant files found.**",
            "<answer>No relevant files found</answer>",
            "> No relevant files found",
            "Answer: no relevant files found.",
            "No relevant files were found.",
            "No files are truly relevant to the query.",
            "No files were found that are relevant to retries.",
            "No truly relevant files found: every match is a comment.",
            "None of the files are relevant.",
            "None of these results address how requests are retried.",
            "None of the provided search results appear to be directly relevant to the query.",
            "None are relevant.",
            "None",
            "Relevant files: none",
            "There are no relevant files.",
            "After reviewing the evidence, I found no relevant files.",
            "I could not find any relevant files.",
            "I couldn’t find any files that are relevant.",
            "Unfortunately, I was unable to find any relevant files in these results.",
            "The results do not contain any relevant files.",
            "There aren't any relevant files here.",
            "Nothing relevant was found.",
            "Sorry, no relevant files found.",
            "没有找到相关文件。",
        ] {
            assert!(says_nothing(text) && !refuses(text), "{text}");
        }
        for text in [
            "",
            "- If no files are truly relevant, return \"No relevant files found\"",
            "No other relevant files were found.",
            "None of the other files are relevant.",
            "There are no further relevant files.",
            "Here are the relevant files:",
            "I'm sorry, but I can't help with that.",
            "I apologize for the confusion.",
            "The relevant file is not in the list.",
            "No problem, here are the files.",
            "I would rather not say",
        ] {
            assert!(!says_nothing(text), "{text}");
        }
        for text in [
            "I'm sorry, but I can't help with that.",
            "I cannot assist with this request.",
            "I'm unable to determine which files are relevant.",
            "As an AI language model, I have no access to files.",
            "I won't be able to analyze this.",
        ] {
            assert!(refuses(text), "{text}");
        }
    }
}
