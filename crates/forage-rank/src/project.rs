//! Finds the names of a project, and ignores them in questions about it.
//!
//! A question means the same with and without the project's own name. But a file called after the project
//! (`cobra.go`, `rails.rb`) has this name in all the places that count most. So we give the name no weight if
//! the question has other words.

use forage_fs::{ReadBuffer, RelPath, Root};

use crate::index::MultiIndex;
use crate::limits;
use crate::query::{Concept, RankQuery};
use crate::retrieve::visit_living;
use crate::stop_checker::{SearchError, StopChecker};

/// Files that name a project, each with the key before the name, at the start of a line.
const MANIFESTS: &[(&str, &str)] = &[
    ("Cargo.toml", "name"),
    ("pyproject.toml", "name"),
    ("setup.cfg", "name"),
    ("setup.py", "name"),
    ("package.json", "name"),
    ("composer.json", "name"),
    ("go.mod", "module"),
    ("mix.exs", "app"),
    ("pubspec.yaml", "name"),
    ("Package.swift", "name"),
    ("CMakeLists.txt", "project"),
    ("settings.gradle", "rootProject.name"),
    ("settings.gradle.kts", "rootProject.name"),
];

/// Names of directories and packages that describe their contents and not the project.
const KINDS: &[&str] = &[
    "api",
    "app",
    "application",
    "backend",
    "build",
    "checkout",
    "client",
    "code",
    "common",
    "core",
    "docs",
    "frontend",
    "lib",
    "library",
    "main",
    "master",
    "monorepo",
    "package",
    "project",
    "repo",
    "repository",
    "root",
    "server",
    "source",
    "src",
    "test",
    "testbed",
    "tests",
    "tools",
    "trunk",
    "web",
    "website",
    "work",
    "workspace",
];

/// File names of the text that introduces a project.
const READMES: &[&str] = &[
    "README.md",
    "README.rst",
    "README",
    "README.txt",
    "README.markdown",
    "README.adoc",
    "README.org",
    "Readme.md",
    "readme.md",
];

/// Minimum number of occurrences of a name in the README.
const README_SAYS: usize = 2;

/// Finds the names of the project in a root, in lower case and reduced to letters and digits. A name must be
/// that of the directory or be in a manifest, and the README must use it too.
pub(crate) fn names(root: &Root) -> Vec<String> {
    let directory = root.path().file_name().map(|name| folded(&name.to_string_lossy()));
    let manifests =
        MANIFESTS.iter().filter_map(|(file, key)| named_by(&beginning(root, file)?, key).map(folded));
    let mut names: Vec<String> = directory.into_iter().chain(manifests).collect();
    names.retain(|name| name.len() > 1 && !KINDS.contains(&name.as_str()));
    names.sort();
    names.dedup();
    if names.is_empty() {
        return names;
    }
    let Some(readme) = READMES.iter().find_map(|name| beginning(root, name)) else { return Vec::new() };
    let mut said = vec![0; names.len()];
    // The first letter rules out most words, which then need not be folded.
    let may_be_one = |word: &str| {
        let first = word.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().next();
        let first = first.and_then(|first| first.to_lowercase().next());
        first.is_some_and(|first| names.iter().any(|name| name.starts_with(first)))
    };
    for word in readme.split(|c: char| !is_of_name(c)).filter(|word| may_be_one(word)) {
        if let Ok(index) = names.binary_search(&folded(word)) {
            said[index] += 1;
        }
    }
    let mut said = said.into_iter();
    names.retain(|_| said.next().is_some_and(|times| times >= README_SAYS));
    names
}

/// Normalises a name like the words of a question: `Lazy.nvim` becomes `lazynvim`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Reads the beginning of a file at the top of a root, if this is possible.
fn beginning(root: &Root, name: &str) -> Option<String> {
    let path = RelPath::parse(name, &RelPath::root()).ok()?;
    let mut buffer = ReadBuffer::default();
    root.open_file(&path).ok()?.read_into(&mut buffer, limits::PROJECT_FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&buffer).into_owned())
}

/// Parses the name after a key that begins a line: the last part of `@scope/name`, or of a module's path
/// without its version.
fn named_by<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let mut values = manifest.lines().filter_map(|line| {
        let rest = line.trim_start_matches(|c: char| !c.is_alphanumeric()).strip_prefix(key)?;
        let value = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        // Without a separator after it, this is the beginning of another key, e.g. `names`.
        (value.len() < rest.len()).then_some(value)
    });
    let value = values.next()?;
    let value = value.split(|c: char| !is_of_name(c) && c != '/').next()?;
    let is_version =
        |part: &str| part.strip_prefix('v').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    value.rsplit('/').find(|part| !part.is_empty() && !is_version(part))
}

/// Sets the weight of the project's names to 0 if files contain at least
/// [`limits::WORDS_BESIDES_PROJECT_NAME`] other words of the question. This must not be used with several
/// projects, where a name shows which one is meant. A long text keeps the names: one of many words has little
/// influence.
pub(crate) fn ignore_project_names(
    joined: &MultiIndex,
    query: &mut RankQuery,
    names: &[String],
    pace: &StopChecker<'_>,
) -> Result<(), SearchError> {
    let is_own = |concept: &Concept| names.contains(&concept.word);
    if query.is_telling || query.is_symbol || !query.concepts.iter().any(is_own) {
        return Ok(());
    }
    let mut others = 0;
    for (index, concept) in query.concepts.iter().enumerate() {
        if query.is_expected(index) && !is_own(concept) && has_any(joined, concept, pace)? {
            others += 1;
        }
    }
    if others >= limits::WORDS_BESIDES_PROJECT_NAME {
        for concept in query.concepts.iter_mut().filter(|concept| is_own(concept)) {
            concept.is_own_name = true;
            concept.weight = 0.0;
        }
    }
    Ok(())
}

/// Checks whether any living file contains a concept.
fn has_any(joined: &MultiIndex, concept: &Concept, pace: &StopChecker<'_>) -> Result<bool, SearchError> {
    let fields = joined.fields.words();
    let mut has = false;
    for (_, segment) in &joined.segments {
        visit_living(&segment.reader, &fields, concept, pace, |_| {
            has = true;
            false
        })?;
        if has {
            break;
        }
    }
    Ok(has)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a tree of the test's own")]

    use forage_fs::{RootPolicy, SecretPolicy};

    use super::*;

    #[test]
    fn manifests_tell_names() {
        let named = |file: &str, text: &'static str| {
            let key = MANIFESTS.iter().find(|(manifest, _)| *manifest == file).unwrap().1;
            named_by(text, key)
        };
        assert_eq!(named("Cargo.toml", "[package]\nversion = \"1\"\nname = \"ripgrep\"\n"), Some("ripgrep"));
        assert_eq!(
            named("package.json", "{\n  \"private\": true,\n  \"name\": \"@redux/toolkit\",\n"),
            Some("toolkit")
        );
        assert_eq!(named("go.mod", "module github.com/urfave/cli/v2\n\ngo 1.18\n"), Some("cli"));
        assert_eq!(named("mix.exs", "  def project do\n    [\n      app: :plug,\n"), Some("plug"));
        assert_eq!(named("CMakeLists.txt", "project(libuv LANGUAGES C)\n"), Some("libuv"));
        assert_eq!(named("Cargo.toml", "[workspace]\nnames = [\"a\"]\n"), None);
        assert_eq!(named("Cargo.toml", "name"), None);
        assert_eq!(named("package.json", "\"name\": \"//v2\""), None);
    }

    #[test]
    fn a_name_is_what_the_readme_says_too() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("Lazy.nvim");
        std::fs::create_dir(&directory).unwrap();
        let names =
            || names(&Root::open(&directory, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap());
        std::fs::write(directory.join("Cargo.toml"), "name = \"server\"").unwrap();
        assert!(names().is_empty());
        std::fs::write(directory.join("README.md"), "# lazy.nvim\nThe server.\nA server.").unwrap();
        assert!(names().is_empty());
        std::fs::write(
            directory.join("README.md"),
            "# lazy.nvim\nThe server.\nA server.\nhttps://x.y/folke/lazy.nvim",
        )
        .unwrap();
        assert_eq!(names(), ["lazynvim"]);
    }
}
