//! What a file's path tells of it.

use crate::languages::{CommentStyle, language};
use crate::query::{Concept, PieceRole};
use crate::tokens::{TokenParts, stem, words};

use super::{Id, Values};

/// The words of a path.
#[derive(Debug, Default)]
pub(crate) struct PathWords {
    /// Of the file's name without its extension.
    pub(crate) stem: Vec<PathWord>,
    /// Of the directories, the last first.
    pub(crate) directories: Vec<PathWord>,
    /// The name as one word; of the directory where the name says nothing (`mod.rs`, `index.ts`, `__init__.py`).
    pub(crate) whole: String,
}

/// A word of a path with its stem.
#[derive(Debug)]
pub(crate) struct PathWord {
    text: String,
    stem: String,
    /// How near to the file's name its directory is: 1 for the nearest, less for those above.
    pub(crate) nearness: f32,
}

/// Names that say nothing: the directory is the name.
const NAMELESS: &[&str] = &["mod", "index", "init", "__init__", "lib", "main", "package"];

/// Whether a name without its extension says nothing of what is in the file.
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
        for (nth, directory) in names.enumerate() {
            let nearness = 1.0 / (1.0 + nth as f32);
            if nth == 0 && nameless {
                push(&mut found.stem, &mut parts, directory, 1.0);
                found.whole = directory.to_lowercase().replace(['_', '-'], "");
            }
            push(&mut found.directories, &mut parts, directory, nearness);
        }
        found
    }

    /// How well a word of the query is one of these: 1 for the word itself, less for relatives.
    pub(crate) fn matches(words: &[PathWord], concept: &Concept) -> (f32, Option<usize>) {
        let mut best = (0.0, None);
        for (nth, word) in words.iter().enumerate() {
            let value = similarity(word, concept) * word.nearness;
            if value > best.0 {
                best = (value, Some(nth));
            }
        }
        best
    }
}

fn push(into: &mut Vec<PathWord>, parts: &mut TokenParts, text: &str, nearness: f32) {
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
    if shorter.len() < 4 {
        0.0
    } else if longer.starts_with(shorter.as_str()) {
        0.5
    } else if longer.len() == word.text.len() && longer.contains(shorter.as_str()) {
        // Words that a name runs together: `fsevents`.
        0.4
    } else {
        0.0
    }
}

/// Parts of paths that tell what a file is for.
const TEST_DIRECTORIES: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "testdata",
    "test_data",
    "test-data",
    "fixtures",
    "__mocks__",
    "e2e",
    "integration_test",
    "integration-test",
    "integration_tests",
    "integration-tests",
    "unit_tests",
    "unit-tests",
];
const EXAMPLE_DIRECTORIES: &[&str] = &[
    "example",
    "examples",
    "_examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "benchmark",
    "benchmarks",
    "bench",
    "benches",
    "playground",
    "playgrounds",
    "sandbox",
    "tutorial",
    "tutorials",
    "stories",
];
const GENERATED_DIRECTORIES: &[&str] = &[
    "vendor",
    "vendored",
    "_vendor",
    "third_party",
    "thirdparty",
    "3rdparty",
    "node_modules",
    "generated",
    "gen",
    "dist",
    "build",
    "external",
    "deps",
    // Of libraries that are all headers: the headers in one.
    "single_include",
    "single_header",
    "amalgamation",
    "amalgamated",
];
/// Marks of names of what a program wrote, or packed.
const GENERATED_MARKS: &[&str] = &[
    ".min.js",
    ".min.css",
    ".bundle.js",
    ".pb.go",
    "_pb2.py",
    ".g.dart",
    ".generated.",
    "_generated.",
    ".gen.",
    ".prebuilt",
];
/// Scripts there tell a shell what a program's options are; they have all of its words.
const COMPLETION_DIRECTORIES: &[&str] = &["complete", "completion", "completions"];
/// Languages of such scripts; what has no extension has no name.
const SHELLS: &[&str] = &["bash", "powershell", ""];
const PROSE_DIRECTORIES: &[&str] = &["docs", "doc", "documentation", "man", "manpages", "manual", "website"];
const INTERNAL_DIRECTORIES: &[&str] = &["internal", "internals", "impl", "private"];
const LEGACY_DIRECTORIES: &[&str] = &["compat", "legacy", "deprecated", "old", "v1", "polyfills"];

/// How much of a test a test is that is asked for. Who asks about running tests wants what runs them.
const TEST_ASKED_FOR: f32 = 0.5;

/// The values of rules that need nothing but the path. What the query asks for by a word among `asked` lowers nothing.
pub(crate) fn place_values(path: &str, asked: &[&str], values: &mut Values) {
    let lower = path.to_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let asks = |words: &[&str]| asked.iter().any(|word| is_among(words, word));
    let within = |names: &[&str]| directories.split('/').any(|directory| is_among(names, directory));
    let mut set = |id: Id, on: bool| values[id as usize] = if on { 1.0 } else { 0.0 };

    let tests = is_of_tests(directories, name, path);
    set(
        Id::Example,
        within(EXAMPLE_DIRECTORIES) && !asks(&["example", "examples", "benchmark", "sample", "demo"]),
    );
    set(Id::Internal, within(INTERNAL_DIRECTORIES) && !asks(&["internal", "internals", "private"]));
    let generated = within(GENERATED_DIRECTORIES)
        || GENERATED_MARKS.iter().any(|mark| name.contains(mark))
        || is_release(name);
    set(Id::Generated, generated);
    let legacy =
        within(LEGACY_DIRECTORIES) || has_part(path, &["deprecated", "compat", "legacy", "obsolete"]);
    set(Id::Legacy, legacy && !asks(&["deprecated", "legacy", "compat", "compatibility"]));
    let language = language(path);
    // Sources of documentation: `docs-site`, `docs_src`.
    let of_docs = directories.split('/').any(|name| name.starts_with("docs-") || name.starts_with("docs_"));
    let prose = language.style == CommentStyle::Prose || within(PROSE_DIRECTORIES) || of_docs;
    set(Id::Prose, prose && !asks(&["readme", "docs", "documentation", "changelog", "doc"]));
    let completes = within(COMPLETION_DIRECTORIES)
        && SHELLS.contains(&language.name)
        && !asks(&["completion", "completions", "complete", "autocomplete"]);
    let is_data = language.is_data && !asks(&["json", "yaml", "toml", "configuration", "config"]);
    set(Id::Data, is_data || completes);
    set(Id::DeclarationOnly, [".d.ts", ".d.mts", ".d.cts", ".pyi"].iter().any(|end| name.ends_with(end)));
    if tests {
        values[Id::Test as usize] = if asks_for_tests(asked) { TEST_ASKED_FOR } else { 1.0 };
    }
}

/// Whether words of a query ask for tests.
pub(crate) fn asks_for_tests(asked: &[&str]) -> bool {
    asked.iter().any(|word| is_among(&["test", "tests", "testing", "spec", "mock", "fixture"], word))
}

/// A kind of file whose code no answer shows unless the query asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aside {
    /// A test, or data of tests.
    Test,
    /// Texts of the program in other languages.
    Translation,
    /// Versions of dependencies that a package manager wrote.
    LockFile,
    /// Written by a program.
    Generated,
}

impl Aside {
    /// Returns its name for records.
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

const TRANSLATION_EXTENSIONS: &[&str] = &["arb", "po", "pot", "strings", "stringsdict", "xlf", "xliff"];
/// Directories whose data are translations.
const TRANSLATION_DIRECTORIES: &[&str] = &["i18n", "l10n", "lang", "locale", "locales", "translations"];
const TRANSLATION_DATA: &[&str] = &["json", "properties", "yaml", "yml"];
const LOCK_FILES: &[&str] =
    &["go.sum", "npm-shrinkwrap.json", "package-lock.json", "packages.lock.json", "pnpm-lock.yaml"];

/// Returns the kind of a file that answers leave out, unless a word among `asked` asks for it.
pub(crate) fn aside(path: &str, asked: &[&str]) -> Option<Aside> {
    let lower = path.to_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let asks = |words: &[&str]| asked.iter().any(|word| words.contains(word));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_translation = TRANSLATION_EXTENSIONS.contains(&extension)
        || TRANSLATION_DATA.contains(&extension)
            && directories.split('/').any(|directory| TRANSLATION_DIRECTORIES.contains(&directory));
    if is_of_tests(directories, name, path) {
        (!asks_for_tests(asked)).then_some(Aside::Test)
    } else if is_translation {
        let words =
            ["i18n", "l10n", "language", "locale", "locales", "translation", "translations", "translate"];
        (!asks(&words)).then_some(Aside::Translation)
    } else if extension == "lock" || extension == "lockb" || LOCK_FILES.contains(&name) {
        (!asks(&["dependencies", "dependency", "lock", "lockfile", "version"])).then_some(Aside::LockFile)
    } else if GENERATED_MARKS.iter().any(|mark| name.contains(mark)) {
        (!asks(&["generated", "protobuf"])).then_some(Aside::Generated)
    } else {
        None
    }
}

/// Whether a script or a style is a release of something else: `jquery-3.5.1.js`.
fn is_release(name: &str) -> bool {
    let Some(bare) = [".js", ".mjs", ".css"].iter().find_map(|end| name.strip_suffix(end)) else {
        return false;
    };
    let bare = bare.strip_suffix(".slim").unwrap_or(bare);
    bare.rsplit_once('-').is_some_and(|(_, version)| {
        let mut parts = version.split('.');
        version.contains('.')
            && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether the file's name has one of these as a part: `compatibility_check` isn't `compat`.
fn has_part(path: &str, known: &[&str]) -> bool {
    let mut parts = TokenParts::default();
    let name = path.rsplit('/').next().unwrap_or(path);
    words(name).any(|(_, word)| {
        parts.split(word);
        parts.iter().any(|part| is_among(known, part))
    })
}

/// Most words are none of a list, which their first letters tell; this is asked of every candidate many times.
fn is_among(list: &[&str], word: &str) -> bool {
    let first = word.as_bytes().first();
    list.iter().any(|known| known.as_bytes().first() == first && *known == word)
}

/// Whether a file is a test, documentation, data or generated, whatever is asked.
pub(crate) fn is_aside(path: &str) -> bool {
    let mut values: Values = [0.0; super::RULES.len()];
    place_values(path, &[], &mut values);
    [Id::Test, Id::Example, Id::Prose, Id::Data, Id::Generated].iter().any(|id| values[*id as usize] > 0.0)
}

/// Returns whether a file is one of tests, by its path.
#[must_use]
pub fn is_test(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    is_of_tests(directories, name, path)
}

/// The same of a path in lower case in its parts, and as it is.
fn is_of_tests(directories: &str, name: &str, path: &str) -> bool {
    directories.split('/').any(|directory| is_among(TEST_DIRECTORIES, directory)) || is_test_name(name, path)
}

fn is_test_name(name: &str, path: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let own = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or(path);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || stem == "conftest"
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains("-test.")
        || name.ends_with(".bats")
        || own.ends_with("Test")
        || own.ends_with("Tests")
        || own.ends_with("Spec")
        || own.ends_with("Suite")
}
