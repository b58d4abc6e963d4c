//! The values of Kubernetes' secrets: whatever its name, each value below `data` or `stringData` of a `kind: Secret`.

use super::engine::Found;
use super::judge::is_filled_in_later;

pub(super) const NAME: &str = "kubernetes-secret";

/// Most lines of one document that are gone through. A secret holds at most a MiB.
const MAX_LINES: usize = 2000;

/// The values in all documents of the text.
pub(super) fn find(text: &str) -> Vec<Found> {
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
    found
}

fn in_document(text: &str, lines: &[std::ops::Range<usize>], found: &mut Vec<Found>) {
    let is_secret = |line: &str| {
        line.trim_start()
            .strip_prefix("kind:")
            .is_some_and(|kind| kind.trim().trim_matches(['"', '\'']).eq_ignore_ascii_case("secret"))
    };
    if !lines.iter().any(|line| is_secret(&text[line.clone()])) {
        return;
    }
    // The indentation of `data:`, and of the keys below it once there was one.
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
                    found.push(Found {
                        range: line.end - value.len()..line.end,
                        rule: NAME,
                        continues: indent > keys,
                    });
                }
                continue;
            }
            block = None;
        }
        if matches!(trimmed, "data:" | "stringData:") {
            block = Some((indent, None));
        }
    }
}

/// What stands behind `key:`, without the sign of a block.
fn value_of(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(": ").or_else(|| line.split_once(":\t"))?;
    let value = value.trim_start();
    (!value.starts_with(['|', '>', '{', '[', '&', '*']) && !value.is_empty()).then_some(value)
}

fn is_template(value: &str) -> bool {
    value.contains("{{") || value.contains("${") || value.contains("<%")
}
