//! The values of Kubernetes secrets. In a `kind: Secret`, every value below `data` or `stringData` is a
//! secret, whatever its name is.

use std::sync::LazyLock;

use regex::Regex;

use crate::engine::FoundSecret;
use crate::engine::compile;
use crate::judge::is_filled_in_later;
use crate::rules::KUBERNETES;

/// Maximum number of lines that are treated as one document. Note that a secret has at most 1 MiB.
const MAX_LINES: usize = 2000;

/// Finds the values in all documents of the text.
pub(crate) fn find(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    if !text.contains("kind") || !(text.contains("data") || text.contains("stringData")) {
        return found;
    }
    let mut document = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") || document.len() == MAX_LINES {
            in_document(text, &document, &mut found);
            document.clear();
        }
        document.push(start..start + line.trim_end().len());
        start += line.len();
    }
    in_document(text, &document, &mut found);
    in_json(text, &mut found);
    found
}

fn in_document(text: &str, lines: &[std::ops::Range<usize>], found: &mut Vec<FoundSecret>) {
    let is_secret = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        key_of(line, "kind")
            .is_some_and(|kind| kind.trim_matches(['"', '\'', ',']).eq_ignore_ascii_case("secret"))
    };
    if !lines.iter().any(|line| is_secret(&text[line.clone()])) {
        return;
    }
    // The indentation of `data:`, and that of the keys below it as soon as we have seen one.
    let mut block: Option<(usize, Option<usize>)> = None;
    for line in lines {
        let whole = &text[line.clone()];
        let trimmed = whole.trim_start();
        let indent = whole.len() - trimmed.len();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some((outer, keys)) = block {
            if indent > outer {
                let keys = keys.unwrap_or(indent);
                block = Some((outer, Some(keys)));
                let value = if indent > keys { Some(trimmed) } else { value_of(trimmed) };
                if let Some(value) = value.filter(|value| !is_filled_in_later(value) && !is_template(value)) {
                    found.push(FoundSecret {
                        range: line.end - value.len()..line.end,
                        rule: KUBERNETES,
                        continues: indent > keys,
                    });
                }
                continue;
            }
            block = None;
        }
        if ["data", "stringData"].iter().any(|name| key_of(trimmed, name) == Some("")) {
            block = Some((indent, None));
        }
    }
}

/// Returns the text after a key with this name, without a comment.
fn key_of<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let bare = line.trim_start_matches(['"', '\'']);
    let value = bare.strip_prefix(name)?.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?;
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    Some(value.trim())
}

/// Finds the values in JSON, where an object may be on a single line.
fn in_json(text: &str, found: &mut Vec<FoundSecret>) {
    // Most texts with these words have no such object, and compiling the patterns would take longer than
    // reading the text.
    if !text.contains("\"Secret\"") || !JSON.kind.is_match(text) {
        return;
    }
    for data in JSON.data.captures_iter(text).filter_map(|data| data.get(1)) {
        for value in JSON.value.captures_iter(data.as_str()).filter_map(|value| value.get(1)) {
            if !is_filled_in_later(value.as_str()) && !is_template(value.as_str()) {
                let start = data.start() + value.start();
                found.push(FoundSecret {
                    range: start..start + value.len(),
                    rule: KUBERNETES,
                    continues: false,
                });
            }
        }
    }
}

struct Json {
    kind: Regex,
    data: Regex,
    value: Regex,
}

static JSON: LazyLock<Json> = LazyLock::new(|| Json {
    kind: compile(r#""kind"\s*:\s*"Secret""#),
    data: compile(r#""(?:data|stringData)"\s*:\s*\{([^{}]*)\}"#),
    value: compile(r#":\s*"([^"\\\r\n]+)""#),
});

/// Returns the value after `key:`. Returns `None` if a block or another structure follows.
fn value_of(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(": ").or_else(|| line.split_once(":\t"))?;
    let mut value = value.trim_start();
    if let Some(anchored) = value.strip_prefix('&') {
        value = anchored.split_once(' ')?.1.trim_start();
    }
    (!value.starts_with(['|', '>', '{', '[', '*', '#']) && !value.is_empty()).then_some(value)
}

fn is_template(value: &str) -> bool {
    value.contains("{{") || value.contains("${") || value.contains("<%")
}
