//! Cache of parsed files, by content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::{Hash64, Stop};
use forage_fs::{RelPath, Root};
use forage_rank::{DefinitionKind, FileOutline, Use};

use crate::file_text::whole_text;
use crate::limits;
use crate::workspace::Workspace;

/// Caches outlines by the names and contents of their files, so that they never become outdated.
#[derive(Debug, Default)]
pub struct OutlineCache(Mutex<CachedOutlines>);

#[derive(Debug, Default)]
struct CachedOutlines {
    parsed: HashMap<u64, Parsed>,
    /// Number of definitions and uses in all of them.
    entries: usize,
}

/// The definitions of a file and its uses of a name.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) outline: Arc<FileOutline>,
    /// `None` if we read the file line by line, or if no name was given.
    pub(crate) uses: Option<Arc<[Use]>>,
}

impl OutlineCache {
    /// Returns the definitions of a file.
    pub(crate) fn outline(&self, path: &str, text: &str, stop: &Stop) -> Arc<FileOutline> {
        self.get(path, text, None, stop).outline
    }

    /// Returns the definitions of a file and its uses of a name.
    pub(crate) fn outline_and_uses(&self, path: &str, text: &str, name: &str, stop: &Stop) -> Parsed {
        self.get(path, text, Some(name), stop)
    }

    fn get(&self, path: &str, text: &str, name: Option<&str>, stop: &Stop) -> Parsed {
        // The language depends on both the name and the text of the file.
        let file_name = path.rsplit('/').next().unwrap_or(path);
        let key =
            Hash64::hash_parts(&[file_name.as_bytes(), text.as_bytes(), name.unwrap_or_default().as_bytes()]);
        if let Some(parsed) = self.lock().parsed.get(&key) {
            return parsed.clone();
        }
        let parsed = match name {
            Some(name) => {
                let (outline, uses) = forage_rank::outline_and_uses(path, text, name, stop);
                Parsed { outline: Arc::new(outline), uses: uses.map(Arc::from) }
            }
            None => Parsed { outline: Arc::new(forage_rank::outline(path, text, stop)), uses: None },
        };
        // After the deadline we get only a rough outline from single lines, so we don't cache it.
        if stop.check().is_none() {
            self.lock().insert(key, &parsed);
        }
        parsed
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedOutlines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedOutlines {
    fn insert(&mut self, key: u64, parsed: &Parsed) {
        let Parsed { outline, uses } = parsed;
        let uses = uses.as_ref().map_or(0, |uses| uses.len());
        // Add one for the outline itself.
        let entries = outline.definitions.len() + outline.fields.len() + outline.imports.len() + uses + 1;
        if entries > limits::OUTLINES_KEPT_ENTRIES {
            return;
        }
        if self.entries + entries > limits::OUTLINES_KEPT_ENTRIES {
            *self = Self::default();
        }
        if self.parsed.insert(key, parsed.clone()).is_none() {
            self.entries += entries;
        }
    }
}

/// Describes the innermost definition that contains a 1-based line of a file, by its kind and qualified name.
/// The name must consist of identifiers: headings and names that are sentences are arbitrary text of the
/// file.
#[must_use]
pub fn enclosing_definition(
    workspace: &Workspace,
    root: &Arc<Root>,
    path: &RelPath,
    line: u32,
) -> Option<String> {
    let (text, ..) = whole_text(root, path, &workspace.stop).ok()?;
    let outline =
        workspace.outlines.outline(&String::from_utf8_lossy(path.as_bytes()), &text, &workspace.stop);
    let at = outline.innermost(line)?;
    let names = outline.qualified(at);
    let is_code = outline.definitions[at].kind != DefinitionKind::Heading;
    (is_code && names.iter().all(|name| is_identifier(name)))
        .then(|| format!("{} {}", outline.definitions[at].word, names.join(" > ")))
}

/// Returns true if a name is an identifier in some language. The names of some tests are sentences instead.
fn is_identifier(name: &str) -> bool {
    name.len() <= limits::GREP_WITHIN_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || "_$:.~#?!-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_are_kept_by_content() {
        let cache = OutlineCache::default();
        let names = |path: &str, text: &str| {
            let outline = cache.outline(path, text, &Stop::never());
            outline.definitions.iter().map(|it| it.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("src/a.rs", "fn a() {}\n"), ["a"]);
        assert_eq!(names("src/a.rs", "fn b() {}\n"), ["b"]);
        assert_eq!(names("src/a.py", "def c(): pass\n"), ["c"]);
        assert_eq!(names("other/a.rs", "fn a() {}\n"), ["a"]);
        assert_eq!(cache.lock().parsed.len(), 3);
    }

    #[test]
    fn uses_are_kept_by_content_and_name() {
        let cache = OutlineCache::default();
        let lines = |text: &str, name: &str| {
            let parsed = cache.outline_and_uses("a.rs", text, name, &Stop::never());
            parsed.uses.unwrap().iter().map(|found| found.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("fn a() {\n    b();\n    c();\n}\n", "b"), [2]);
        assert_eq!(lines("fn a() {\n    b();\n    c();\n}\n", "c"), [3]);
        assert_eq!(lines("fn a() {\n    c();\n    b();\n}\n", "b"), [3]);
        assert_eq!(lines("fn a() {\n    b();\n    c();\n}\n", "b"), [2]);
        assert_eq!(cache.lock().parsed.len(), 3);
    }
}
