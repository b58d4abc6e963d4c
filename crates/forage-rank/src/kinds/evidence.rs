//! Gathers evidence for the signs in a project's paths.

use std::collections::{HashMap, HashSet};

use super::table::{is_numbered_test, is_test_name};
use super::{Needs, PathRule, ShareGroup, path_signs};
use crate::limits;

/// Evidence for and against the signs in a project's paths. The default is that of a project we know nothing
/// about.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ProjectEvidence {
    /// The groups that have a fair share of the project.
    fair: [bool; ShareGroup::ALL.len()],
    /// Directories with a doubtful name; true if the name is a sign there.
    directories: HashMap<String, bool>,
    /// Directories that contain a license or minified files, and so are third-party even if git tracks them.
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
    /// Gathers evidence from the paths of files below directories with doubtful names, and from the number of
    /// files in each group among all files. `tracks` must return true if git tracks a directory, and `None`
    /// if there is no repository.
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
                // At most one doubtful rule matches a name, so a directory needs only one entry.
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

    /// Returns true if a directory's name is a sign for a file below it.
    pub(super) fn is_supported(&self, rule: &PathRule, path: &str, end: usize) -> bool {
        let directory = &path[..end];
        // Without evidence of this directory, only the path can decide.
        let is_sign = self.directories.get(directory).copied().unwrap_or_else(|| match rule.needs {
            Needs::Untracked => !is_source_place(directory),
            Needs::NamedTests => has_test_name(path),
            _ => true,
        });
        is_sign || rule.needs == Needs::Untracked && self.is_foreign(path, end)
    }

    /// Returns true if a file is in a third-party directory, which must be at or below the first `end` bytes
    /// of its path.
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

/// In a directory of tests, at least one file in this many has a name that tests have.
const NAMED_TESTS_OF: usize = 3;

/// Names of test directories, which a testing library contains as well.
const TEST_DIRECTORIES: &[&str] = &["test", "tests", "__tests__", "spec"];

fn has_test_name(path: &str) -> bool {
    let own = path.rsplit('/').next().unwrap_or(path);
    let name = own.to_lowercase();
    is_test_name(&name, own) || is_numbered_test(&name)
}

/// Returns true if a directory is below `src` and isn't called `gen`. Code in a `gen` directory is usually
/// generated.
fn is_source_place(directory: &str) -> bool {
    let mut names = directory.rsplit('/');
    let is_gen = names.next().is_some_and(|name| name.eq_ignore_ascii_case("gen"));
    !is_gen && names.any(|name| name.eq_ignore_ascii_case("src"))
}

/// Checks whether a file shows that its directory was copied or built, e.g. a license, a minified file or a
/// source map.
fn is_from_elsewhere(name: &str) -> bool {
    let is_license = ["license", "licence", "copying", "copyright"].iter().any(|start| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    is_license || [".min.js", ".min.css", ".js.map", ".css.map"].iter().any(|end| name.ends_with(end))
}
