//! Sources of dependencies. `dep:NAME` is the directory of a package that the project depends on.
//!
//! We find packages as their package managers do: from lock files and installed directories below the roots.
//! Nothing is run and nothing is downloaded. Outside of the roots we read only the directories of
//! [`DependencyStores`], and only the one of the named package.

mod ecosystems;

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Contents, OpenError, ReadBuffer, RelPath, Root, RootPolicy};
use forage_search::{Pattern, PatternBudget, PatternOptions, ScanOptions, search};

use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::place::PathTarget;
use crate::sanitize::sanitize_line;
use crate::text::{absolute, clip, quoted_name};
use ecosystems::{ECOSYSTEMS, Ecosystem, version_order};

/// The prefix of a dependency's name.
pub const DEPENDENCY: &str = "dep:";

/// Directories outside of the roots in which package managers keep the sources of packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependencyStores {
    /// Cargo's packages from registries: `registry/src` in its home.
    pub cargo_registry: Option<PathBuf>,
    /// Cargo's packages from git: `git/checkouts` in its home.
    pub cargo_checkouts: Option<PathBuf>,
    /// Go's module cache.
    pub go_modules: Option<PathBuf>,
    /// `lib` of the active Python environment.
    pub python_library: Option<PathBuf>,
    /// Directories of installed gems.
    pub gems: Vec<PathBuf>,
}

impl DependencyStores {
    /// Lists the directories, for the sandbox of the process.
    pub fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        let single = [&self.cargo_registry, &self.cargo_checkouts, &self.go_modules, &self.python_library];
        single.into_iter().flatten().chain(&self.gems)
    }
}

/// The directory or file that a `dep:` path of a call names.
#[derive(Clone, Debug)]
pub struct DependencyPlace {
    /// The path as the caller wrote it.
    text: String,
    root: Arc<Root>,
    /// The only file of the package, or the package's whole directory.
    start: RelPath,
    /// The path below `start`.
    rest: String,
}

/// A directory of a root in which a package manager was used.
struct Project<'a> {
    root: &'a Arc<Root>,
    directory: RelPath,
    stores: &'a DependencyStores,
}

/// A package with a name that was asked for.
struct Package {
    name: String,
    version: Option<String>,
    /// The path below the package in the caller's text.
    rest: String,
    /// The file or directory that names the package, below the root.
    listed_in: String,
    sources: Sources,
}

/// Where the sources of a package are.
enum Sources {
    /// A directory below this root.
    Directory(Arc<Root>, RelPath),
    /// A single file below this root.
    File(Arc<Root>, RelPath),
    /// They are not on this disk. Contains the reason and what to do.
    Missing(String),
}

impl Call {
    /// Adds the root of the dependency that a call's path names. Returns `None` if the path does not name
    /// one.
    ///
    /// # Errors
    ///
    /// Fails if there is no such dependency, or if its sources can't be read.
    pub fn with_dependency(&self, path: Option<&str>) -> Result<Option<Self>, ToolError> {
        let Some(text) = path.map(str::trim) else { return Ok(None) };
        let Some(named) = text.strip_prefix(DEPENDENCY).map(|named| named.trim_matches('/')) else {
            return Ok(None);
        };
        // A path that exists is always taken literally.
        let is_file = |(root, path): (Arc<Root>, RelPath)| root.locate(&path).is_ok();
        let is_known = self.named_dependencies.iter().any(|place| place.text == text);
        if is_known || self.roots.all().is_empty() || self.roots.find(text).is_ok_and(is_file) {
            return Ok(None);
        }
        let refused = |problem: String| ToolError::argument("path", problem);
        let Some(stores) = &self.workspace.dependencies else {
            let problem = "reading the sources of dependencies is turned off (`search.dependencies`)";
            return Err(refused(problem.to_owned()));
        };
        if named.is_empty() {
            return Err(refused("give the name of a dependency, such as dep:serde".to_owned()));
        }
        let (packages, lists) = self.packages(stores, named);
        let (package, others) = chosen(packages, named, &lists).map_err(refused)?;
        let (root, start) = package.open()?;
        let mut call = self.clone();
        call.roots = call.roots.with(Arc::clone(&root));
        call.notices.extend(others);
        let text = text.to_owned();
        call.named_dependencies.push(DependencyPlace { text, root, start, rest: package.rest });
        Ok(Some(call))
    }

    /// Finds the packages that `named` may mean. Also returns the lists of packages that we read.
    fn packages(&self, stores: &DependencyStores, named: &str) -> (Vec<Package>, Vec<String>) {
        let mut lists = Vec::new();
        for depth in 0..=limits::DEPENDENCY_PROJECT_DEPTH {
            let mut found = Vec::new();
            self.each_project(depth, stores, |project, ecosystem, list| {
                lists.push(list);
                found.extend((ecosystem.find)(project, named));
            });
            // A package of the whole project takes precedence over those of its parts.
            if !found.is_empty() {
                return (found, lists);
            }
        }
        (Vec::new(), lists)
    }

    /// Finds all packages of the roots, until the call must end.
    fn all_packages(&self, stores: &DependencyStores, stop: &Stop) -> Vec<Package> {
        let mut packages = Vec::new();
        for depth in 0..=limits::DEPENDENCY_PROJECT_DEPTH {
            self.each_project(depth, stores, |project, ecosystem, _| {
                let mut names = (ecosystem.names)(project);
                // Each call of `find` returns all versions.
                names.sort_unstable();
                names.dedup();
                for name in names {
                    if stop.check().is_none() {
                        packages.extend((ecosystem.find)(project, &name));
                    }
                }
            });
        }
        packages
    }

    /// Calls `receive` with each directory at this depth in which a package manager was used, with that
    /// package manager and its list of packages.
    fn each_project(
        &self,
        depth: usize,
        stores: &DependencyStores,
        mut receive: impl FnMut(&Project<'_>, &Ecosystem, String),
    ) {
        for root in self.roots.all() {
            for directory in directories_at(root, depth) {
                let project = Project { root, directory, stores };
                for ecosystem in &ECOSYSTEMS {
                    if let Some(list) = ecosystem.list(&project) {
                        receive(&project, ecosystem, list);
                    }
                }
            }
        }
    }

    /// Returns the place of a path that [`Call::with_dependency`] has resolved.
    pub(crate) fn dependency_place(&self, text: &str) -> Option<Result<PathTarget, ToolError>> {
        let place = self.named_dependencies.iter().find(|place| place.text == text.trim())?;
        Some(place.target())
    }

    /// Returns the root of a dependency and the path below it, for a caller that searches it without a tool.
    ///
    /// # Errors
    ///
    /// Fails if the path below the dependency is not a path.
    pub fn dependency(&self, text: &str) -> Option<Result<(Arc<Root>, RelPath), ToolError>> {
        Some(self.dependency_place(text)?.map(|target| (target.root, target.path)))
    }
}

/// Finds the dependencies that define the name in a pattern without matches, such as `HeaderMap` or
/// `struct HeaderMap`. Returns the places as callers can read them. If there is no time to search all
/// dependencies, some may be missing.
pub(crate) fn defining(call: &Call, pattern: &str, budget: &PatternBudget, stop: &Stop) -> Vec<String> {
    let (Some(stores), Some(name)) = (&call.workspace.dependencies, defined_name(pattern)) else {
        return Vec::new();
    };
    let stop = stop.within(limits::DEPENDENCY_SEARCH_TIME);
    let definition = format!(r"{DEFINITION}{name}\b");
    let Ok(definition) = Pattern::new_in(budget, &definition, &PatternOptions::default(), &stop) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for package in call.all_packages(stores, &stop) {
        if places.len() == limits::DEPENDENCY_DEFINITIONS || stop.check().is_some() {
            break;
        }
        let Ok((root, start)) = package.open() else { continue };
        let scan = ScanOptions {
            max_file_matches: 1,
            line_bytes: Some(limits::GREP_LINE_CHARACTERS),
            max_file_bytes: call.limits.max_file_bytes,
            ..ScanOptions::default()
        };
        // An error concerns only this package.
        let _ = search(&root, &start, &call.walk_options(), &definition, &scan, &stop, |file| {
            let line = file.events.first().map_or(1, |event| event.line_number);
            places.push(format!("{}:{line}", absolute(&root, &file.path)));
            ControlFlow::Break(())
        });
    }
    places.into_iter().map(|place| call.workspace.without_secrets(&sanitize_line(&place))).collect()
}

/// Matches the text before the name in a definition, in most languages.
const DEFINITION: &str = r"\b(?:struct|enum|union|trait|type|fn|const|static|class|interface|def|func|function|var|let|module|namespace|protocol|record|object|defmodule|macro_rules!)\s+(?:\([^)]*\)\s*)?(?:\w+[.:]+)*";

/// Returns the name that a pattern may look for: an identifier, or the last word of a definition.
fn defined_name(pattern: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let pattern = pattern.trim().trim_start_matches(r"\b").trim_end_matches(['(', '\\', '{', ' ']);
    let pattern = pattern.strip_suffix(r"\b").unwrap_or(pattern);
    let mut words = pattern.split(' ').rev();
    let name = words.next().filter(|name| name.chars().count() >= limits::DEPENDENCY_NAME_CHARACTERS)?;
    (words.all(|word| word.chars().all(is_part)) && name.chars().all(is_part)).then_some(name)
}

impl Package {
    /// Opens the sources as a root that is named like the package. Also returns the directory or the only
    /// file of the package below this root.
    ///
    /// # Errors
    ///
    /// Fails if the sources are not on this disk, or can't be opened.
    fn open(&self) -> Result<(Arc<Root>, RelPath), ToolError> {
        let shown = match &self.version {
            Some(version) => format!("{DEPENDENCY}{}@{version}", self.name),
            None => format!("{DEPENDENCY}{}", self.name),
        };
        match &self.sources {
            Sources::Directory(parent, directory) => {
                Ok((parent.open_below(directory, shown)?, RelPath::root()))
            }
            Sources::File(parent, file) => {
                let directory = file.parent().unwrap_or_else(RelPath::root);
                let start = RelPath::root().join(file.file_name());
                Ok((parent.open_below(&directory, shown)?, start))
            }
            Sources::Missing(problem) => Err(ToolError::argument("path", problem.clone())),
        }
    }
}

impl DependencyPlace {
    fn target(&self) -> Result<PathTarget, ToolError> {
        if self.rest.is_empty() {
            return Ok(PathTarget::new(Arc::clone(&self.root), self.start.clone()));
        }
        let target = PathTarget::below(&self.root, &self.rest)?;
        // The directory of a package with a single file also contains other packages.
        let is_outside = !self.start.is_root() && (target.path != self.start || target.globs.is_some());
        match is_outside {
            true => Err(OpenError::NotFound { path: self.text.clone() }.into()),
            false => Ok(target),
        }
    }
}

/// Chooses one of the packages that have the requested name. Also returns a note about the others.
fn chosen(
    mut packages: Vec<Package>,
    named: &str,
    lists: &[String],
) -> Result<(Package, Option<String>), String> {
    let shown = clip(&named.escape_debug().to_string(), limits::QUOTED_BYTES);
    if packages.is_empty() {
        return Err(match lists {
            [] => format!(
                "no dependency is called {shown}: there is no lock file or directory of dependencies that Forage knows"
            ),
            lists => {
                format!("no dependency is called {shown} in {}", clip(&lists.join(", "), limits::NOTE_BYTES))
            }
        });
    }
    // Of several versions we take the newest one that is on this disk.
    packages.sort_by_cached_key(|package| {
        Reverse((!matches!(package.sources, Sources::Missing(_)), version_order(package.version.as_deref())))
    });
    let first = packages.remove(0);
    let mut others: Vec<String> = packages.into_iter().filter_map(|package| package.version).collect();
    others.retain(|version| Some(version) != first.version.as_ref());
    others.dedup();
    let note = (!others.is_empty()).then(|| {
        let listed_in = quoted_name(&first.listed_in);
        let note =
            format!("{listed_in} also has {}; dep:{}@VERSION chooses one", others.join(", "), first.name);
        clip(&note, limits::NOTE_BYTES)
    });
    Ok((first, note))
}

/// Lists the directories at this depth below a root that may be projects of their own.
fn directories_at(root: &Arc<Root>, depth: usize) -> Vec<RelPath> {
    let mut level = vec![RelPath::root()];
    for _ in 0..depth {
        let mut next = Vec::new();
        for directory in &level {
            let mut names = root.names(directory, limits::DEPENDENCY_NAMES).unwrap_or_default();
            names.sort_unstable();
            let is_project = |name: &Vec<u8>| {
                !name.starts_with(b".") && !NO_PROJECTS.iter().any(|other| other.as_bytes() == name)
            };
            let paths = names.iter().filter(|name| is_project(name)).map(|name| directory.join(name));
            next.extend(paths.filter(|path| matches!(root.locate(path), Ok((_, true)))));
            if next.len() >= limits::DEPENDENCY_PROJECTS {
                break;
            }
        }
        next.truncate(limits::DEPENDENCY_PROJECTS);
        level = next;
    }
    level
}

/// Directories of packages and results, which are not projects.
const NO_PROJECTS: [&str; 4] = ["node_modules", "vendor", "target", "deps"];

impl Project<'_> {
    /// Reads a text file of the project. Returns `None` if it does not exist or is too large.
    fn text(&self, path: &str) -> Option<String> {
        text(self.root, &self.path(path)?)
    }

    /// Returns the path below the root.
    fn path(&self, below: &str) -> Option<RelPath> {
        RelPath::from_bytes(below.as_bytes(), &self.directory).ok()
    }

    /// Finds the directories of the project that fit a pattern, see [`matching`].
    fn matching(&self, pattern: &str) -> Vec<RelPath> {
        matching(self.root, &self.directory, pattern)
    }

    /// Opens a store.
    fn store(&self, path: &Path) -> Option<Arc<Root>> {
        Root::open(path, &RootPolicy::default(), self.root.secrets().clone()).ok()
    }
}

/// Reads a text file. Returns `None` if it does not exist or is too large.
fn text(root: &Arc<Root>, path: &RelPath) -> Option<String> {
    let mut buffer = ReadBuffer::default();
    let mut file = root.open_file(path).ok()?;
    let contents = file.read_into(&mut buffer, limits::DEPENDENCY_LIST_BYTES).ok()?;
    (contents == Contents::Whole).then(|| String::from_utf8_lossy(&buffer).into_owned())
}

/// Finds the directories below `start` that fit a pattern of names joined by `/`. A name may contain one `*`.
fn matching(root: &Arc<Root>, start: &RelPath, pattern: &str) -> Vec<RelPath> {
    let mut level = vec![start.clone()];
    for name in pattern.split('/').filter(|name| !matches!(*name, "" | "." | "..")) {
        level = match name.split_once('*') {
            None => level.iter().map(|directory| directory.join(name.as_bytes())).collect(),
            Some((before, after)) => {
                let fits = |found: &[u8]| {
                    found.len() >= before.len() + after.len()
                        && found.starts_with(before.as_bytes())
                        && found.ends_with(after.as_bytes())
                };
                let names = |directory: &RelPath| {
                    let mut names = root.names(directory, limits::DEPENDENCY_NAMES).unwrap_or_default();
                    names.sort_unstable();
                    names
                };
                let below = |directory: &RelPath| {
                    let names = names(directory).into_iter().filter(|name| fits(name));
                    names.map(|name| directory.join(&name)).collect::<Vec<_>>()
                };
                level.iter().flat_map(below).collect()
            }
        };
    }
    level.retain(|path| matches!(root.locate(path), Ok((_, true))));
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_pattern_looks_for() {
        for pattern in
            ["HeaderMap", "struct HeaderMap", r"\bHeaderMap\b", r"fn HeaderMap\(", "class HeaderMap {"]
        {
            assert_eq!(defined_name(pattern), Some("HeaderMap"), "{pattern}");
        }
        for pattern in ["", "a", "Header.*Map", "foo|bar", "x = HeaderMap", "a.b.c"] {
            assert_eq!(defined_name(pattern), None, "{pattern}");
        }
    }
}
