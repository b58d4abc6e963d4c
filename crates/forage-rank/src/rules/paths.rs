//! The words of a file's path, and the values of the rules about kinds of files.

use crate::kinds::{FileKind, FileKinds, is_among};
use crate::query::{Concept, PieceRole};
use crate::tokens::{TokenParts, stem, words};

use super::{Id, Values};

/// The words of a path.
#[derive(Debug, Default)]
pub(crate) struct PathWords {
    /// The words of the file's name without its extension.
    pub(crate) stem: Vec<PathWord>,
    /// The words of the directories, innermost first.
    pub(crate) directories: Vec<PathWord>,
    /// The name as one word. If it is generic (`mod.rs`, `index.ts`, `__init__.py`), this is the name of the
    /// directory.
    pub(crate) whole: String,
}

/// A word of a path with its stem.
#[derive(Debug)]
pub(crate) struct PathWord {
    text: String,
    stem: String,
    /// The nearness of its directory to the file's name: 1 for the innermost, and less for those above.
    pub(crate) nearness: f32,
}

impl PathWord {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Generic names, which we replace by that of the directory.
const NAMELESS: &[&str] = &["mod", "index", "init", "__init__", "lib", "main", "package"];

/// Returns true if a name without its extension says nothing about the contents of the file.
pub(super) fn is_nameless(bare: &str) -> bool {
    NAMELESS.contains(&bare)
}

impl PathWords {
    pub(crate) fn new(path: &str) -> Self {
        let mut found = Self::default();
        let mut parts = TokenParts::default();
        let mut names = path.rsplit('/');
        let name = names.next().unwrap_or(path);
        let bare = name.trim_start_matches('.').split('.').next().unwrap_or(name);
        let nameless = is_nameless(bare);
        push(&mut found.stem, &mut parts, bare, 1.0);
        found.whole = bare.to_lowercase().replace(['_', '-'], "");
        for (index, directory) in names.enumerate() {
            let nearness = 1.0 / (1.0 + index as f32);
            if index == 0 && nameless {
                push(&mut found.stem, &mut parts, directory, 1.0);
                found.whole = directory.to_lowercase().replace(['_', '-'], "");
            }
            push(&mut found.directories, &mut parts, directory, nearness);
        }
        found
    }

    /// Finds the word that matches a concept best, and returns its score and index. The word itself scores 1,
    /// relatives less.
    pub(crate) fn matches(words: &[PathWord], concept: &Concept) -> (f32, Option<usize>) {
        let mut best = (0.0, None);
        for (index, word) in words.iter().enumerate() {
            let value = similarity(word, concept) * word.nearness;
            if value > best.0 {
                best = (value, Some(index));
            }
        }
        best
    }
}

/// Adds the words of a text.
pub(super) fn push(into: &mut Vec<PathWord>, parts: &mut TokenParts, text: &str, nearness: f32) {
    for (_, word) in words(text) {
        parts.split(word);
        into.extend(parts.iter().map(|part| PathWord {
            text: part.to_owned(),
            stem: stem(part).into_owned(),
            nearness,
        }));
    }
}

fn similarity(word: &PathWord, concept: &Concept) -> f32 {
    if concept.role != PieceRole::Word {
        return if word.text == concept.word { 1.0 } else { 0.0 };
    }
    if word.text == concept.word {
        return 1.0;
    }
    let mut tokens = concept.tokens.iter();
    if tokens.next().is_some_and(|(token, _)| *token == word.stem) {
        return 0.9;
    }
    if tokens.any(|(token, _)| *token == word.stem) {
        return 0.6;
    }
    let (shorter, longer) = match word.text.len() < concept.word.len() {
        true => (&word.text, &concept.word),
        false => (&concept.word, &word.text),
    };
    // Short words are part of many others by chance.
    if shorter.len() < 4 {
        0.0
    } else if longer.starts_with(shorter.as_str()) {
        0.5
    } else if longer.len() == word.text.len() && longer.contains(shorter.as_str()) {
        // Words that are joined in a name, e.g. `fsevents`.
        0.4
    } else {
        0.0
    }
}

/// The penalty of a test if tests are asked for. A question about running tests is about the code that runs
/// them.
const TEST_ASKED_FOR: f32 = 0.5;

/// Sets the values of the rules about kinds of files. If a word in `asked` asks for a kind, files of this
/// kind aren't lowered.
pub(crate) fn kind_values(kinds: FileKinds, asked: &[&str], values: &mut Values) {
    let asks = |words: &[&str]| asked.iter().any(|word| is_among(words, word));
    let mut set = |id: Id, on: bool| values[id as usize] = if on { 1.0 } else { 0.0 };
    let unless_asked = |kind: FileKind, words: &[&str]| kinds.has(kind) && !asks(words);
    set(
        Id::Example,
        unless_asked(FileKind::Example, &["example", "examples", "benchmark", "sample", "demo"]),
    );
    set(Id::Internal, unless_asked(FileKind::Internal, &["internal", "internals", "private"]));
    set(Id::Generated, kinds.has(FileKind::Generated) || kinds.has(FileKind::Vendored));
    set(Id::Legacy, unless_asked(FileKind::Legacy, &["deprecated", "legacy", "compat", "compatibility"]));
    set(Id::Prose, unless_asked(FileKind::Prose, &["readme", "docs", "documentation", "changelog", "doc"]));
    let is_data = unless_asked(FileKind::Data, &["json", "yaml", "toml", "configuration", "config"])
        || unless_asked(FileKind::LockFile, ASKS_FOR_LOCK_FILES)
        || unless_asked(FileKind::Translation, ASKS_FOR_TRANSLATIONS)
        || unless_asked(FileKind::Completion, &["completion", "completions", "complete", "autocomplete"]);
    set(Id::Data, is_data);
    set(Id::DeclarationOnly, kinds.has(FileKind::Declarations));
    if kinds.has(FileKind::Test) {
        values[Id::Test as usize] = if asks_for_tests(asked) { TEST_ASKED_FOR } else { 1.0 };
    }
}

/// Returns true if words of a query ask for tests.
pub(crate) fn asks_for_tests(asked: &[&str]) -> bool {
    asked.iter().any(|word| is_among(&["test", "tests", "testing", "spec", "mock", "fixture"], word))
}

/// A kind of file whose code an answer must not show unless the query asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecondaryKind {
    /// A test, or data for tests.
    Test,
    /// Texts of the program in other languages.
    Translation,
    /// Versions of dependencies, written by a package manager.
    LockFile,
    /// Written by a program.
    Generated,
}

impl SecondaryKind {
    /// Returns the name for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Translation => "translation",
            Self::LockFile => "lock file",
            Self::Generated => "generated file",
        }
    }
}

const ASKS_FOR_TRANSLATIONS: &[&str] =
    &["i18n", "l10n", "language", "locale", "locales", "translation", "translations", "translate"];
const ASKS_FOR_LOCK_FILES: &[&str] = &["dependencies", "dependency", "lock", "lockfile", "version"];

/// Returns the kind of a file that answers should leave out, unless a word in `asked` asks for it.
pub(crate) fn secondary_kind(kinds: FileKinds, asked: &[&str]) -> Option<SecondaryKind> {
    let asks = |words: &[&str]| asked.iter().any(|word| is_among(words, word));
    if kinds.has(FileKind::Test) {
        (!asks_for_tests(asked)).then_some(SecondaryKind::Test)
    } else if kinds.has(FileKind::Translation) {
        (!asks(ASKS_FOR_TRANSLATIONS)).then_some(SecondaryKind::Translation)
    } else if kinds.has(FileKind::LockFile) {
        (!asks(ASKS_FOR_LOCK_FILES)).then_some(SecondaryKind::LockFile)
    } else if kinds.has(FileKind::Generated) {
        (!asks(&["generated", "protobuf"])).then_some(SecondaryKind::Generated)
    } else {
        None
    }
}
