//! What a project says of the signs in its paths.

use std::collections::{HashMap, HashSet};

use super::table::{is_numbered_test, is_test_name};
use super::{Needs, PathRule, ShareGroup, path_signs};
use crate::limits;

/// Evidence for and against the signs in a project's paths. Nothing is known of a project that was not read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ProjectEvidence {
    /// The groups that have a fair share of the project.
    fair: [bool; ShareGroup::ALL.len()],
    /// Directories with a doubtful name, and whether it is a sign there.
    directories: HashMap<String, bool>,
    /// Directories that hold a license or minified files, below those that git tracks.
    foreign: HashSet<String>,
}

/// Observations of a directory with a doubtful name.
struct SeenDirectory {
    needs: Needs,
    files: usize,
    named_tests: usize,
    has_test_directory: bool,
}

impl ProjectEvidence {
    /// Gathers evidence from the paths of files below directories with doubtful names, and from the number of files of each
    /// group among all files. `tracks` returns whether git tracks a directory, and nothing where there is no repository.
    pub(crate) fn new<'a>(
        doubtful: impl Iterator<Item = &'a str>,
        counts: [usize; ShareGroup::ALL.len()],
        files: usize,
        mut tracks: impl FnMut(&str) -> Option<bool>,
    ) -> Self {
        let is_fair = |count: usize| {
            count >= limits::FAIR_SHARE_FILES && count as f32 >= files as f32 * limits::FAIR_SHARE
        };
        let mut seen: HashMap<&str, SeenDirectory> = HashMap::new();
        let mut foreign = HashSet::new();
        for path in doubtful {
            let (parent, own) = path.rsplit_once('/').unwrap_or(("", path));
            let name = own.to_lowercase();
            for (rule, end) in path_signs(path).doubtful {
                let directory = seen.entry(&path[..end]).or_insert(SeenDirectory {
                    needs: rule.needs,
                    files: 0,
                    named_tests: 0,
                    has_test_directory: false,
                });
                directory.files += 1;
                directory.named_tests += usize::from(is_test_name(&name, own) || is_numbered_test(&name));
                let below = parent.get(end + 1..).unwrap_or_default();
                directory.has_test_directory |=
                    below.split('/').any(|name| super::is_among(TEST_DIRECTORIES, &name.to_lowercase()));
                if rule.needs == Needs::Untracked && is_from_elsewhere(&name) {
                    foreign.insert(parent.to_owned());
                }
            }
        }
        let mut is_sign = |directory: &str, seen: &SeenDirectory| match seen.needs {
            Needs::Untracked => !tracks(directory).unwrap_or_else(|| is_source_place(directory)),
            Needs::NamedTests => seen.named_tests * NAMED_TESTS_OF >= seen.files,
            Needs::NoOwnTests => !seen.has_test_directory,
            Needs::Nothing | Needs::Minority(_) => true,
        };
        let directories = seen.iter().map(|(path, seen)| ((*path).to_owned(), is_sign(path, seen))).collect();
        Self { fair: counts.map(is_fair), directories, foreign }
    }

    pub(crate) fn has_fair_share(&self, group: ShareGroup) -> bool {
        self.fair[group as usize]
    }

    /// Returns whether a directory's name is a sign for a file below it.
    pub(super) fn bears_out(&self, rule: &PathRule, path: &str, end: usize) -> bool {
        let directory = &path[..end];
        let is_sign = self.directories.get(directory).copied().unwrap_or_else(|| match rule.needs {
            Needs::Untracked => !is_source_place(directory),
            Needs::NamedTests => has_test_name(path),
            _ => true,
        });
        is_sign || rule.needs == Needs::Untracked && self.is_foreign(path, end)
    }

    /// Returns whether a file lies in a directory from elsewhere, below a directory that ends at a place of its path.
    fn is_foreign(&self, path: &str, end: usize) -> bool {
        if self.foreign.is_empty() {
            return false;
        }
        let mut directory = path;
        while let Some((parent, _)) = directory.rsplit_once('/').filter(|(parent, _)| parent.len() >= end) {
            if self.foreign.contains(parent) {
                return true;
            }
            directory = parent;
        }
        false
    }
}

/// Of so many files in a directory of tests one at least is named as a test is.
const NAMED_TESTS_OF: usize = 3;

/// Directories of tests that a library for testing has.
const TEST_DIRECTORIES: &[&str] = &["test", "tests", "__tests__", "spec"];

fn has_test_name(path: &str) -> bool {
    let own = path.rsplit('/').next().unwrap_or(path);
    let name = own.to_lowercase();
    is_test_name(&name, own) || is_numbered_test(&name)
}

/// Returns whether a directory lies below `src` and is not called `gen`, as what is committed there is generated mostly.
fn is_source_place(directory: &str) -> bool {
    let mut names = directory.rsplit('/');
    let is_gen = names.next().is_some_and(|name| name.eq_ignore_ascii_case("gen"));
    !is_gen && names.any(|name| name.eq_ignore_ascii_case("src"))
}

/// Returns whether a file says that its directory was copied or built: a license, something minified, a map of sources.
fn is_from_elsewhere(name: &str) -> bool {
    let is_license = ["license", "licence", "copying", "copyright"].iter().any(|start| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    is_license || [".min.js", ".min.css", ".js.map", ".css.map"].iter().any(|end| name.ends_with(end))
}
