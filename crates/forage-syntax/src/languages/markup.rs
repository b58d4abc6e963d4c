//! Vue and Svelte: the scripts of a page, parsed as TypeScript.

use std::ops::Range;

use crate::language::{Row, Source};
use crate::languages::javascript;
use crate::limits;

pub(crate) static SVELTE: Row =
    Row { name: "svelte", source: Source::Parts(scripts), ..javascript::TYPESCRIPT_ROW };

pub(crate) static VUE: Row =
    Row { name: "vue", source: Source::Parts(scripts), ..javascript::TYPESCRIPT_ROW };

/// Finds the contents of all `<script>` elements.
fn scripts(text: &str) -> Vec<Range<usize>> {
    let mut scripts = Vec::new();
    let mut at = 0;
    while let Some(start) = find(text, at, "<") {
        if text[start..].starts_with("<!--") {
            let Some(end) = find(text, start, "-->") else { break };
            at = end + "-->".len();
        } else if let Some((content, is_empty)) = start_tag(text, start) {
            let Some(end) = find(text, content, "</script") else { break };
            if !is_empty {
                scripts.push(content..end);
            }
            at = if is_empty { content } else { end };
        } else {
            at = start + 1;
        }
    }
    scripts
}

/// Finds the end of a script's start tag. Also returns true if there is no content, as in
/// `<script src="…" />`.
fn start_tag(text: &str, start: usize) -> Option<(usize, bool)> {
    let name_end = start + "<script".len();
    let is_script = text.get(start..name_end)?.eq_ignore_ascii_case("<script");
    let bytes = text.as_bytes();
    if !is_script || !matches!(bytes.get(name_end)?, b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n') {
        return None;
    }
    let mut quote = None;
    for (offset, byte) in bytes.get(name_end..)?.iter().take(limits::TAG_BYTES).enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => {
                let end = name_end + offset;
                return Some((end + 1, bytes.get(end - 1) == Some(&b'/')));
            }
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Finds ASCII text, ignoring case.
fn find(text: &str, from: usize, needle: &str) -> Option<usize> {
    let windows = text.as_bytes().get(from..)?.windows(needle.len());
    windows.into_iter().position(|window| window.eq_ignore_ascii_case(needle.as_bytes())).map(|at| from + at)
}
