//! Classifies files by their paths and by what else is in the project.
//!
//! [`PATH_RULES`], [`EXTENSION_RULES`] and [`NAME_RULES`] list all signs. Some of them only count if the
//! project bears them out. For example, `build/` holds sources if git tracks it, and YAML is the project's
//! language if a fifth of all files are YAML. [`path_signs`] reads a single path when a file is indexed,
//! [`ProjectEvidence`] is gathered over all paths of an index, and [`kinds`] combines both. The ranking, the
//! choice of candidates and the choice of files to leave out of an answer must all use [`kinds`].

mod evidence;
mod table;

use std::collections::BTreeMap;

use crate::languages::{CommentStyle, language};
use crate::tokens::{TokenParts, words};

pub(crate) use evidence::ProjectEvidence;
use table::{EXTENSION_RULES, NAME_RULES, PATH_RULES, PathRule};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum FileKind {
    /// A test, or data for tests.
    Test = 1,
    /// An example or a benchmark.
    Example = 1 << 1,
    /// Documentation.
    Prose = 1 << 2,
    /// Data or configuration.
    Data = 1 << 3,
    /// Written by a program.
    Generated = 1 << 4,
    /// Copied from another project.
    Vendored = 1 << 5,
    /// Kept for compatibility.
    Legacy = 1 << 6,
    /// For the project's own use only.
    Internal = 1 << 7,
    /// Texts of the program in other languages.
    Translation = 1 << 8,
    /// Versions of dependencies, written by a package manager.
    LockFile = 1 << 9,
    /// A script that completes commands in a shell.
    Completion = 1 << 10,
    /// Declarations of what other files define.
    Declarations = 1 << 11,
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileKinds(u16);

impl FileKinds {
    /// Kinds that rank below others of the same score when candidates are chosen.
    const SECONDARY: Self = Self(
        FileKind::Test as u16
            | FileKind::Example as u16
            | FileKind::Prose as u16
            | FileKind::Data as u16
            | FileKind::Generated as u16
            | FileKind::Vendored as u16
            | FileKind::Translation as u16
            | FileKind::LockFile as u16
            | FileKind::Completion as u16,
    );

    pub(crate) fn has(self, kind: FileKind) -> bool {
        self.0 & kind as u16 != 0
    }

    pub(crate) fn insert(&mut self, kind: FileKind) {
        self.0 |= kind as u16;
    }

    /// Returns true for files that are seldom asked for: tests, examples, documentation, data and third-party
    /// code.
    pub(crate) fn is_secondary(self) -> bool {
        self.0 & Self::SECONDARY.0 != 0
    }
}

/// Groups of files whose kind depends on their share of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ShareGroup {
    /// YAML.
    Yaml = 0,
    /// CSS and languages that compile to it.
    Styles = 1,
    /// HTML.
    Templates = 2,
    /// Shell completions.
    Completions = 3,
    /// Directories of code that is kept for compatibility.
    Legacy = 4,
}

impl ShareGroup {
    /// All groups, each with the term that marks its files in the index.
    pub(crate) const ALL: [(Self, &str); 5] = [
        (Self::Yaml, "of yaml"),
        (Self::Styles, "of styles"),
        (Self::Templates, "of templates"),
        (Self::Completions, "of completions"),
        (Self::Legacy, "of legacy"),
    ];

    /// Returns true if files of this group are seldom asked for in a project that has few of them.
    pub(crate) fn is_secondary_if_few(self) -> bool {
        self != Self::Legacy
    }

    fn for_language(name: &str) -> Option<Self> {
        match name {
            "yaml" => Some(Self::Yaml),
            "css" | "scss" | "less" => Some(Self::Styles),
            "html" => Some(Self::Templates),
            _ => None,
        }
    }
}

/// The evidence that a sign needs before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The sign always counts.
    Nothing,
    /// Git doesn't track the directory, or the directory contains a license or minified files of its own.
    /// Without a repository, the directory must be called `gen`, or not be below `src`.
    Untracked,
    /// At least a third of the files in the directory must have names that tests have.
    NamedTests,
    /// The directory must not contain a test directory of its own. A testing library does.
    NoOwnTests,
    /// The group must be less than [`FAIR_SHARE`](crate::limits::FAIR_SHARE) of the project's files, or fewer
    /// than [`FAIR_SHARE_FILES`](crate::limits::FAIR_SHARE_FILES).
    Minority(ShareGroup),
}

/// A path, both as written and in lower case.
struct LowerPath<'a> {
    path: &'a str,
    lower: String,
}

impl<'a> LowerPath<'a> {
    fn new(path: &'a str) -> Self {
        Self { path, lower: path.to_lowercase() }
    }

    fn parts(&self) -> PathParts<'_> {
        // Lower case may have more bytes in some alphabets, so the two need separate offsets.
        let (own_directories, own_name) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        let (directories, name) = self.lower.rsplit_once('/').unwrap_or(("", &self.lower));
        PathParts { directories, own_directories, name, own_name }
    }
}

/// A path, split into the parts that rules examine.
struct PathParts<'a> {
    /// The directories in lower case.
    directories: &'a str,
    /// The directories as written.
    own_directories: &'a str,
    /// The name in lower case.
    name: &'a str,
    /// The name as written.
    own_name: &'a str,
}

impl PathParts<'_> {
    /// Returns the rules whose sign is in the path, each with the end offset of its directory, or 0 for the
    /// file's name.
    fn rules(&self) -> impl Iterator<Item = (&'static PathRule, usize)> {
        let mut end = 0;
        let names = self.own_directories.split('/').zip(self.directories.split('/'));
        let of_directories = names.flat_map(move |(own, lower)| {
            let start = end;
            end += own.len() + 1;
            PATH_RULES
                .iter()
                .filter(move |rule| rule.is_of_directory(own, lower, start == 0))
                .map(move |rule| (rule, start + own.len()))
        });
        let name = self.name;
        let of_name = EXTENSION_RULES.iter().filter(move |rule| rule.is_of_name(name));
        of_directories.chain(of_name.map(|rule| (rule, 0)))
    }
}

/// The signs of one path.
#[derive(Debug, Default)]
pub(crate) struct PathSigns {
    /// Kinds for which the path alone is sufficient evidence.
    pub(crate) sure: FileKinds,
    /// Signs that need further evidence: the rule, and the length of the directory's path.
    pub(crate) doubtful: Vec<(&'static PathRule, usize)>,
    /// Kinds that depend on a group's share of the project.
    pub(crate) shared: Vec<(FileKind, ShareGroup)>,
}

/// Finds the signs in a path.
pub(crate) fn path_signs(path: &str) -> PathSigns {
    let lower = LowerPath::new(path);
    let parts = lower.parts();
    let mut signs = PathSigns::default();
    for (rule, end) in parts.rules() {
        signs.push(rule, end);
    }
    signs.read_name(path, &parts);
    signs
}

impl PathSigns {
    fn read_name(&mut self, path: &str, parts: &PathParts<'_>) {
        let PathParts { name, own_name, .. } = *parts;
        for (kind, is_such) in NAME_RULES {
            if is_such(name, own_name) {
                self.sure.insert(*kind);
            }
        }
        let language = language(path);
        if language.style == CommentStyle::Prose {
            self.sure.insert(FileKind::Prose);
        }
        if language.is_data {
            match ShareGroup::for_language(language.name) {
                Some(group) => self.shared.push((FileKind::Data, group)),
                None => self.sure.insert(FileKind::Data),
            }
        }
        let is_of = |names: &[&str]| parts.directories.split('/').any(|directory| is_among(names, directory));
        if is_of(table::COMPLETION_DIRECTORIES) && table::SHELLS.contains(&language.name) {
            self.shared.push((FileKind::Completion, ShareGroup::Completions));
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if table::TRANSLATION_DATA.contains(&extension) && is_of(table::TRANSLATION_DIRECTORIES) {
            self.sure.insert(FileKind::Translation);
        }
    }

    fn push(&mut self, rule: &'static PathRule, end: usize) {
        match rule.needs {
            Needs::Nothing => self.sure.insert(rule.kind),
            Needs::Minority(group) => self.shared.push((rule.kind, group)),
            Needs::Untracked | Needs::NamedTests | Needs::NoOwnTests => self.doubtful.push((rule, end)),
        }
    }

    /// Returns true if one of this file's kinds depends on the share of a group.
    pub(crate) fn has_group(&self, group: ShareGroup) -> bool {
        self.shared.iter().any(|(_, other)| *other == group)
    }

    /// Returns true if this file's kinds depend on the directories of the project.
    pub(crate) fn is_doubtful(&self) -> bool {
        !self.doubtful.is_empty()
    }
}

/// Classifies a file of a project.
pub(crate) fn kinds(path: &str, evidence: &ProjectEvidence) -> FileKinds {
    let signs = path_signs(path);
    let mut kinds = signs.sure;
    for &(rule, end) in &signs.doubtful {
        if evidence.is_supported(rule, path, end) {
            kinds.insert(rule.kind);
        }
    }
    for &(kind, group) in &signs.shared {
        if !evidence.has_fair_share(group) {
            kinds.insert(kind);
        }
    }
    kinds
}

/// Returns true if this path is that of a test, as far as the path alone shows.
#[must_use]
pub fn is_test(path: &str) -> bool {
    kinds(path, &ProjectEvidence::default()).has(FileKind::Test)
}

/// A rule whose sign occurs in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRuleMatch {
    /// The name of the rule.
    pub rule: &'static str,
    /// The directory, or the file if the sign is in its name.
    pub place: String,
    /// The number of files with this sign there.
    pub files: usize,
    /// True if the project bears the rule out for all of these files.
    pub is_borne_out: bool,
}

/// Returns the findings of each rule among the files of a project, to measure the rules. Pass `is_tracked` if
/// git tracks all of the files; otherwise there must be no repository.
#[must_use]
pub fn path_rule_matches(paths: &[&str], is_tracked: bool) -> Vec<PathRuleMatch> {
    let signs: Vec<(&str, PathSigns)> = paths.iter().map(|path| (*path, path_signs(path))).collect();
    let doubtful = signs.iter().filter(|(_, signs)| signs.is_doubtful()).map(|(path, _)| *path);
    // As in the index, where only other files have the terms of groups.
    let counts = ShareGroup::ALL.map(|(group, _)| {
        signs.iter().filter(|(_, signs)| !signs.sure.is_secondary() && signs.has_group(group)).count()
    });
    let evidence = ProjectEvidence::new(doubtful, counts, paths.len(), |_| is_tracked.then_some(true));
    let mut found: BTreeMap<(&'static str, &str), (usize, bool)> = BTreeMap::new();
    for path in paths {
        let parts = LowerPath::new(path);
        for (rule, end) in parts.parts().rules() {
            let place = if end == 0 { path } else { &path[..end] };
            let is_borne_out = match rule.needs {
                Needs::Nothing => true,
                Needs::Minority(group) => !evidence.has_fair_share(group),
                _ => evidence.is_supported(rule, path, end),
            };
            let (files, all) = found.entry((rule.name, place)).or_insert((0, true));
            *files += 1;
            *all &= is_borne_out;
        }
    }
    let finding = |((rule, place), (files, is_borne_out)): ((&'static str, &str), (usize, bool))| {
        PathRuleMatch { rule, place: place.to_owned(), files, is_borne_out }
    };
    found.into_iter().map(finding).collect()
}

/// Checks whether a file's name has one of the known words as a part. For example, `compatibility_check`
/// doesn't have `compat`.
fn has_part(name: &str, known: &[&str]) -> bool {
    let mut parts = TokenParts::default();
    words(name).any(|(_, word)| {
        parts.split(word);
        parts.iter().any(|part| is_among(known, part))
    })
}

/// Returns true if a word is in a list. This runs many times per candidate, so we compare first letters,
/// which rule out most words.
pub(crate) fn is_among(list: &[&str], word: &str) -> bool {
    let first = word.as_bytes().first();
    list.iter().any(|known| known.as_bytes().first() == first && *known == word)
}

#[cfg(test)]
mod tests;
