//! The table of signs in paths. The precision of each rule is measured (`docs/rank.md`).

use super::{FileKind, Needs, ShareGroup, has_part, is_among};

/// A sign in a path.
#[derive(Debug)]
pub(crate) struct PathRule {
    /// The name of the rule.
    pub(super) name: &'static str,
    /// The kind that the sign stands for.
    pub(super) kind: FileKind,
    pub(super) sign: PathSign,
    /// The evidence that it needs.
    pub(super) needs: Needs,
}

/// The position and the form of a sign. We compare in lower case unless a variant says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum PathSign {
    /// The whole name of a directory.
    Directory(&'static [&'static str]),
    /// The name of a directory at the top of the project.
    TopDirectory(&'static str),
    /// The exact name of a directory, including case.
    ExactDirectory(&'static str),
    /// The beginning of the name of a directory.
    DirectoryStart(&'static [&'static str]),
    /// The end of the name of a directory, with more before it.
    DirectoryEnd(&'static [&'static str]),
    /// The last word of the name of a directory in camel case.
    DirectoryWord(&'static [&'static str]),
    /// A part of a file's name.
    Part(&'static [&'static str]),
    /// The end of a file's name.
    End(&'static [&'static str]),
}

use PathSign::{
    Directory, DirectoryEnd, DirectoryStart, DirectoryWord, End, ExactDirectory, Part, TopDirectory,
};

impl PathRule {
    /// Returns true if a directory has the sign, given its name as written and in lower case.
    pub(super) fn is_of_directory(&self, own: &str, lower: &str, is_top: bool) -> bool {
        let ends = |ends: &[&str]| ends.iter().any(|end| lower.len() > end.len() && lower.ends_with(end));
        match self.sign {
            Directory(names) => is_among(names, lower),
            TopDirectory(name) => is_top && lower == name,
            ExactDirectory(name) => own == name,
            DirectoryStart(starts) => starts.iter().any(|start| lower.starts_with(start)),
            // Names such as `_pytest` are packages, and `__tests__` has its own entry in a list.
            DirectoryEnd(list) => !lower.starts_with('_') && ends(list),
            DirectoryWord(words) => words.iter().any(|word| {
                let before = own.strip_suffix(word).and_then(|before| before.chars().next_back());
                before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
            }),
            Part(_) | End(_) => false,
        }
    }

    pub(super) fn is_of_name(&self, name: &str) -> bool {
        match self.sign {
            Part(parts) => parts.iter().any(|part| name.contains(part)),
            End(ends) => ends.iter().any(|end| name.ends_with(end)),
            _ => false,
        }
    }
}

const fn rule(name: &'static str, kind: FileKind, sign: PathSign, needs: Needs) -> PathRule {
    PathRule { name, kind, sign, needs }
}

/// Signs in the names of directories.
pub(super) const PATH_RULES: &[PathRule] = &[
    rule(
        "tests",
        FileKind::Test,
        Directory(&[
            "test",
            "tests",
            "__tests__",
            "spec",
            "specs",
            "testdata",
            "test_data",
            "test-data",
            "fixtures",
            "__mocks__",
            "e2e",
            "integration_test",
            "integration-test",
            "integrationtests",
            "unittests",
        ]),
        Needs::Nothing,
    ),
    rule(
        "X-tests",
        FileKind::Test,
        DirectoryEnd(&["-tests", "_tests", ".tests", ".unittests"]),
        Needs::Nothing,
    ),
    rule("XTests", FileKind::Test, DirectoryWord(&["Test", "Tests"]), Needs::Nothing),
    rule("X-test", FileKind::Test, DirectoryEnd(&["-test", ".test"]), Needs::NoOwnTests),
    rule("testing", FileKind::Test, TopDirectory("testing"), Needs::NamedTests),
    rule("t", FileKind::Test, ExactDirectory("t"), Needs::NamedTests),
    rule(
        "examples",
        FileKind::Example,
        Directory(&[
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
        ]),
        Needs::Nothing,
    ),
    rule("build", FileKind::Generated, Directory(&["build", "dist", "gen"]), Needs::Untracked),
    rule("deps", FileKind::Vendored, Directory(&["deps", "external"]), Needs::Untracked),
    rule("generated", FileKind::Generated, Directory(&["generated"]), Needs::Nothing),
    rule(
        "vendor",
        FileKind::Vendored,
        Directory(&[
            "vendor",
            "vendored",
            "_vendor",
            "third_party",
            "thirdparty",
            "3rdparty",
            "node_modules",
            // For header-only libraries: all headers in one file.
            "single_include",
            "single_header",
            "amalgamation",
            "amalgamated",
        ]),
        Needs::Nothing,
    ),
    rule(
        "docs",
        FileKind::Prose,
        Directory(&["docs", "doc", "documentation", "man", "manpages", "manual", "website"]),
        Needs::Nothing,
    ),
    // For sources of documentation, e.g. `docs-site` and `docs_src`.
    rule("docs-X", FileKind::Prose, DirectoryStart(&["docs-", "docs_"]), Needs::Nothing),
    rule(
        "internal",
        FileKind::Internal,
        Directory(&["internal", "internals", "impl", "private"]),
        Needs::Nothing,
    ),
    rule(
        "compat",
        FileKind::Legacy,
        Directory(&["compat", "legacy", "deprecated", "old", "polyfills"]),
        Needs::Minority(ShareGroup::Legacy),
    ),
];

/// Signs in the names of files.
pub(super) const EXTENSION_RULES: &[PathRule] = &[
    rule(
        "generated mark",
        FileKind::Generated,
        Part(&[
            ".min.js",
            ".min.css",
            ".bundle.js",
            ".pb.",
            "_pb2.py",
            "_pb2_grpc.py",
            ".designer.cs",
            ".designer.vb",
            ".freezed.dart",
            ".generated.",
            "_generated.",
            ".prebuilt",
        ]),
        Needs::Nothing,
    ),
    // Lists of a library's public names, as written by Kotlin's validator.
    rule("X.api", FileKind::Generated, End(&[".api"]), Needs::Nothing),
    rule("X.expect", FileKind::Test, End(&[".expect", ".bats"]), Needs::Nothing),
    rule(
        "translation",
        FileKind::Translation,
        End(&[".arb", ".po", ".pot", ".strings", ".stringsdict", ".xlf", ".xliff"]),
        Needs::Nothing,
    ),
    rule("lock file", FileKind::LockFile, End(&[".lock", ".lockb"]), Needs::Nothing),
    rule("declarations", FileKind::Declarations, End(&[".d.ts", ".d.mts", ".d.cts", ".pyi"]), Needs::Nothing),
];

/// A function that decides whether a file's name is of a kind, given this name in lower case and as written.
type IsOfKind = fn(&str, &str) -> bool;

/// Signs in the names of files that need more than a list.
pub(super) const NAME_RULES: &[(FileKind, IsOfKind)] = &[
    (FileKind::Test, is_test_name),
    (FileKind::Generated, |name, _| is_release(name) || is_written(name)),
    (FileKind::LockFile, |name, _| LOCK_FILES.contains(&name)),
    (FileKind::Prose, |name, _| is_manual_page(name)),
    (FileKind::Legacy, |_, own| has_part(own, &["deprecated", "compat", "legacy", "obsolete"])),
];

/// Directories of scripts that describe the options of programs to a shell, and so contain all of a program's
/// words.
pub(super) const COMPLETION_DIRECTORIES: &[&str] = &["complete", "completion", "completions"];
/// Languages of such scripts. An empty name stands for files without an extension.
pub(super) const SHELLS: &[&str] = &["bash", "powershell", ""];
/// Directories in which data files are translations.
pub(super) const TRANSLATION_DIRECTORIES: &[&str] =
    &["i18n", "l10n", "lang", "locale", "locales", "translations"];
pub(super) const TRANSLATION_DATA: &[&str] = &["json", "properties", "yaml", "yml"];
const LOCK_FILES: &[&str] =
    &["go.sum", "npm-shrinkwrap.json", "package-lock.json", "packages.lock.json", "pnpm-lock.yaml"];

/// Returns true if a file has a name that tests have, given the name in lower case and as written.
pub(super) fn is_test_name(name: &str, own: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let own = own.split('.').next().unwrap_or(own);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        // In Rust and Python, a module `tests` has the tests of the module around it.
        || matches!(stem, "conftest" | "tests")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains("-test.")
        || own.ends_with("Test")
        || own.ends_with("Tests")
        || own.ends_with("Spec")
        || own.ends_with("Suite")
}

/// Checks whether a file is numbered like those of a directory `t`, or has their extension, e.g.
/// `t0001-init.sh` and `basic.t`.
pub(super) fn is_numbered_test(name: &str) -> bool {
    let digits = name.strip_prefix('t').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    name.ends_with(".t") || digits >= 2 || name.starts_with(|first: char| first.is_ascii_digit())
}

/// Recognises a script or a stylesheet that is a release of another project, e.g. `jquery-3.5.1.js`.
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

/// Recognises a mark before the extension which says that a program wrote this file, e.g. `user.g.dart` and
/// `schema.gen.go`. Elixir is an exception: its tasks are named after their actions, e.g. `phx.gen.ex`.
fn is_written(name: &str) -> bool {
    let Some((bare, extension)) = name.rsplit_once('.') else { return false };
    let bare = bare.strip_suffix(".klib").unwrap_or(bare);
    bare.ends_with(".g") || bare.ends_with(".gen") && !matches!(extension, "ex" | "exs")
}

/// Returns true if a file is a manual page, e.g. `git.1` and `tool.1.in`, but not `lgpl-2.1`.
fn is_manual_page(name: &str) -> bool {
    let name = name.strip_suffix(".in").unwrap_or(name);
    let Some((bare, section)) = name.rsplit_once('.') else { return false };
    let is_section = matches!(section.as_bytes(), [b'1'..=b'8']);
    is_section && bare.ends_with(|last: char| !last.is_ascii_digit())
}
