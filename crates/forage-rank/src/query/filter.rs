//! Path filters of a query.

use crate::languages::{LanguageRow, language};
use crate::limits;

/// A part of a path, or a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathFilter {
    /// In lower case, without a leading `./` or `/`.
    text: String,
    /// True if it may only match at the start of the path.
    anchored: bool,
    pattern: bool,
}

impl PathFilter {
    /// Parses a filter. `None` if it can't be part of a path, or is too long.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let bare = lower.trim_start_matches("./").trim_start_matches('/');
        let anchored = bare.len() < lower.len();
        let pattern = bare.contains(['*', '?']);
        (!bare.is_empty() && bare.len() <= limits::PATH_FILTER_BYTES).then(|| Self {
            text: bare.to_owned(),
            anchored,
            pattern,
        })
    }

    /// Returns true if this filter matches. Note that `path` must be in lower case.
    pub(crate) fn has(&self, path: &str) -> bool {
        if !self.pattern {
            return if self.anchored { path.starts_with(&self.text) } else { path.contains(&self.text) };
        }
        fits(&self.text, self.anchored, path)
    }
}

/// Checks whether a pattern matches a whole path or a directory above it, from the start of the path or of
/// any of its components. `*` and `?` don't match a `/`, but `**` does. Each character of the pattern takes
/// one step over the set of reachable positions, so that no pattern can be slow.
fn fits(pattern: &str, anchored: bool, path: &str) -> bool {
    let path = path.as_bytes();
    let begins_name = |at: usize| at == 0 || path[at - 1] == b'/';
    let mut reached: Vec<bool> =
        (0..=path.len()).map(|at| at == 0 || (!anchored && begins_name(at))).collect();
    let mut rest = pattern.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"**/") {
            // This matches any number of directories, including none.
            rest = after;
            let from = reached.iter().position(|reached| *reached).unwrap_or(path.len());
            (from..path.len()).for_each(|at| reached[at] |= begins_name(at));
            continue;
        }
        if first == b'*' {
            let any = after.first() == Some(&b'*');
            rest = if any { &after[1..] } else { after };
            // Forwards, so that one star can match several characters.
            for at in 0..path.len() {
                reached[at + 1] |= reached[at] && (any || path[at] != b'/');
            }
            continue;
        }
        rest = after;
        let mut alive = false;
        // Backwards, so that each position is read before it is overwritten.
        for at in (0..path.len()).rev() {
            reached[at + 1] = reached[at] && (path[at] == first || (first == b'?' && path[at] != b'/'));
            alive |= reached[at + 1];
        }
        reached[0] = false;
        if !alive {
            return false;
        }
    }
    (0..=path.len()).any(|at| reached[at] && (at == path.len() || path[at] == b'/' || pattern.ends_with('/')))
}

/// All path conditions of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) paths: Vec<PathFilter>,
    pub(crate) languages: Vec<&'static LanguageRow>,
    pub(crate) without_paths: Vec<PathFilter>,
    pub(crate) without_languages: Vec<&'static LanguageRow>,
}

impl Filters {
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.languages.is_empty()
            && self.without_paths.is_empty()
            && self.without_languages.is_empty()
    }

    /// Returns true if a file may be a result. `lower` is only a buffer for its path in lower case.
    pub(crate) fn allow(&self, path: &str, lower: &mut String) -> bool {
        lower.clear();
        if path.is_ascii() {
            lower.push_str(path);
            lower.make_ascii_lowercase();
        } else {
            lower.extend(path.chars().flat_map(char::to_lowercase));
        }
        let is_in = |languages: &[&LanguageRow]| {
            let own = if languages.is_empty() { "" } else { language(path).name };
            languages.iter().any(|language| language.name == own)
        };
        let languages =
            (self.languages.is_empty() || is_in(&self.languages)) && !is_in(&self.without_languages);
        let path = lower.as_str();
        languages
            && (self.paths.is_empty() || self.paths.iter().any(|filter| filter.has(path)))
            && !self.without_paths.iter().any(|filter| filter.has(path))
    }
}
