//! Cache of outlines of parsed files, by content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::{Hash64, Stop};
use forage_fs::{RelPath, Root};
use forage_rank::{DefinitionKind, FileOutline};

use crate::context::Context;
use crate::file_text::whole_text;
use crate::limits;

/// Outlines by the names and contents of their files, so that cached outlines never become outdated.
#[derive(Debug, Default)]
pub struct OutlineCache(Mutex<KeptOutlines>);

#[derive(Debug, Default)]
struct KeptOutlines {
    outlines: HashMap<u64, Arc<FileOutline>>,
    /// Number of definitions in all outlines.
    definitions: usize,
}

impl OutlineCache {
    /// Returns the definitions of a file.
    pub(crate) fn outline(&self, path: &str, text: &str, stop: &Stop) -> Arc<FileOutline> {
        // The language depends on the name and on the text.
        let name = path.rsplit('/').next().unwrap_or(path);
        let key = Hash64::of(&[name.as_bytes(), text.as_bytes()]);
        if let Some(outline) = self.lock().outlines.get(&key) {
            return Arc::clone(outline);
        }
        let outline = Arc::new(forage_rank::outline(path, text, stop));
        // At a deadline the outline is a rough one from single lines, so we don't cache it.
        if stop.check().is_none() {
            self.lock().insert(key, &outline);
        }
        outline
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, KeptOutlines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptOutlines {
    fn insert(&mut self, key: u64, outline: &Arc<FileOutline>) {
        // One more for the outline itself.
        let definitions = outline.definitions.len() + outline.fields.len() + 1;
        if self.definitions + definitions > limits::OUTLINES_KEPT_DEFINITIONS {
            *self = Self::default();
        }
        if self.outlines.insert(key, Arc::clone(outline)).is_none() {
            self.definitions += definitions;
        }
    }
}

/// Returns the kind and the qualified name of the innermost definition that contains a 1-based line of a
/// file, if the name consists of identifiers. Headings, and names that are sentences, are arbitrary text of
/// the file.
#[must_use]
pub fn enclosing_definition(
    context: &Context,
    root: &Arc<Root>,
    path: &RelPath,
    line: u32,
) -> Option<String> {
    let (text, ..) = whole_text(root, path).ok()?;
    let outline = context.outlines.outline(&String::from_utf8_lossy(path.as_bytes()), &text, &context.stop);
    let at = outline.innermost(line)?;
    let names = outline.qualified(at);
    let is_code = outline.definitions[at].kind != DefinitionKind::Heading;
    (is_code && names.iter().all(|name| is_identifier(name)))
        .then(|| format!("{} {}", outline.definitions[at].word, names.join(" > ")))
}

/// Returns true if a name is an identifier in some language, and not a sentence as in the names of some
/// tests.
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
        assert_eq!(cache.lock().outlines.len(), 3);
    }
}
