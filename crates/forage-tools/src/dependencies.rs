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

use forage_base::{Stop, Stopped};
use forage_fs::{Contents, OpenError, ReadBuffer, RelPath, Root, RootPolicy};
use forage_search::{Pattern, PatternBudget, PatternOptions, ScanOptions, search};
use serde::de::DeserializeOwned;

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
    /// When this ends, nothing more is found.
    stop: &'a Stop,
}

/// A package with a name that was asked for.
struct Package {
    name: String,
    version: Option<String>,
    /// True if the project itself depends on this version, and not only another package.
    is_direct: bool,
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

/// The files and directories that list the packages of the roots.
struct PackageLists {
    paths: Vec<String>,
    /// False if the roots have too many directories to look for lists in all of them.
    is_whole: bool,
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
        let stop = self.stop.within(self.limits.timeout);
        let (packages, lists) = self.packages(stores, named, &stop);
        // We may have missed the right version.
        match stop.check() {
            Some(Stopped::Cancelled) => return Err(ToolError::Cancelled),
            Some(Stopped::Deadline) => {
                return Err(refused("the time was over before all lists of packages were read".to_owned()));
            }
            None => {}
        }
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
    fn packages(&self, stores: &DependencyStores, named: &str, stop: &Stop) -> (Vec<Package>, PackageLists) {
        let mut lists = PackageLists { paths: Vec::new(), is_whole: true };
        let mut found = Vec::new();
        for depth in 0..=limits::DEPENDENCY_PROJECT_DEPTH {
            let has_all = self.each_project(depth, stores, stop, |project, ecosystem, list| {
                lists.paths.push(list);
                found.extend((ecosystem.find)(project, Some(named)));
            });
            lists.is_whole &= has_all;
            // A package of the whole project takes precedence over those of its parts.
            if !found.is_empty() {
                break;
            }
        }
        (found, lists)
    }

    /// Finds all packages of the roots, until the call must end. Those on which the project itself depends are
    /// first.
    fn all_packages(&self, stores: &DependencyStores, stop: &Stop) -> Vec<Package> {
        let mut packages = Vec::new();
        for depth in 0..=limits::DEPENDENCY_PROJECT_DEPTH {
            self.each_project(depth, stores, stop, |project, ecosystem, _| {
                packages.extend((ecosystem.find)(project, None));
            });
        }
        packages.sort_by_key(|package| !package.is_direct);
        packages
    }

    /// Calls `receive` with each directory at this depth in which a package manager was used, with that
    /// package manager and its list of packages. Returns false if there are too many directories.
    fn each_project(
        &self,
        depth: usize,
        stores: &DependencyStores,
        stop: &Stop,
        mut receive: impl FnMut(&Project<'_>, &Ecosystem, String),
    ) -> bool {
        let mut is_whole = true;
        // The lock file of a dependency is about its own development.
        let is_dependency =
            |root: &Arc<Root>| self.named_dependencies.iter().any(|place| Arc::ptr_eq(&place.root, root));
        for root in self.roots.all().iter().filter(|root| !is_dependency(root)) {
            let (directories, has_all) = directories_at(root, depth, stop);
            is_whole &= has_all;
            for directory in directories {
                let project = Project { root, directory, stores, stop };
                for ecosystem in &ECOSYSTEMS {
                    if let Some(list) = ecosystem.list(&project).filter(|_| stop.check().is_none()) {
                        receive(&project, ecosystem, list);
                    }
                }
            }
        }
        is_whole
    }

    /// Returns the place of a path that [`Call::with_dependency`] has resolved.
    pub(crate) fn dependency_place(&self, text: &str) -> Option<Result<PathTarget, ToolError>> {
        let text = text.trim();
        // The name of a definition may follow the path: `dep:NAME/PATH#DEFINITION`.
        let after = |place: &DependencyPlace| {
            let after = place.text.strip_prefix(text)?;
            (after.is_empty() || after.starts_with('#')).then(|| after.to_owned())
        };
        let (place, after) = self.named_dependencies.iter().find_map(|place| Some((place, after(place)?)))?;
        Some(place.target(&after))
    }

    /// Refuses a path to another file in the directory of a package that is a single file.
    ///
    /// # Errors
    ///
    /// Fails if the path names such a file.
    pub(crate) fn within_dependencies(&self, target: PathTarget) -> Result<PathTarget, ToolError> {
        let is_of = |place: &&DependencyPlace| Arc::ptr_eq(&place.root, &target.root);
        let is_outside = self.named_dependencies.iter().filter(is_of).any(|place| place.is_outside(&target));
        match is_outside {
            true => Err(OpenError::NotFound { path: target.path.display().into_owned() }.into()),
            false => Ok(target),
        }
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
/// `struct HeaderMap`. Returns the places as callers can read them. The time is limited, so an empty list does
/// not mean that no dependency has a definition.
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
    let shown = places.into_iter().map(|place| call.workspace.without_secrets(&sanitize_line(&place)));
    shown.collect()
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
    /// Resolves the path without the text that follows it.
    fn target(&self, after: &str) -> Result<PathTarget, ToolError> {
        let rest = self.rest.strip_suffix(after).unwrap_or(&self.rest);
        if rest.is_empty() {
            return Ok(PathTarget::new(Arc::clone(&self.root), self.start.clone()));
        }
        let target = PathTarget::below(&self.root, rest)?;
        match self.is_outside(&target) {
            true => Err(OpenError::NotFound { path: self.text.clone() }.into()),
            false => Ok(target),
        }
    }

    /// Returns true for a path to another package. The directory of a package with a single file also contains
    /// others.
    fn is_outside(&self, target: &PathTarget) -> bool {
        !self.start.is_root() && (target.path != self.start || target.globs.is_some())
    }
}

/// Chooses one of the packages that have the requested name. Also returns a note about the others.
fn chosen(
    mut packages: Vec<Package>,
    named: &str,
    lists: &PackageLists,
) -> Result<(Package, Option<String>), String> {
    let shown = clip(&named.escape_debug().to_string(), limits::QUOTED_BYTES);
    if packages.is_empty() {
        let problem = match lists.paths.as_slice() {
            [] => format!(
                "no dependency is called {shown}: there is no lock file or directory of dependencies that Forage knows"
            ),
            paths => {
                format!("no dependency is called {shown} in {}", clip(&paths.join(", "), limits::NOTE_BYTES))
            }
        };
        let unread = "; Forage did not look for lists of packages in all of the many directories";
        return Err(if lists.is_whole { problem } else { problem + unread });
    }
    // Of several versions we take the one that the project uses, or else the newest one on this disk.
    packages.sort_by_cached_key(|package| {
        let is_here = !matches!(package.sources, Sources::Missing(_));
        Reverse((package.is_direct, is_here, version_order(package.version.as_deref())))
    });
    let mut first = packages.remove(0);
    let mut others: Vec<String> = packages.into_iter().filter_map(|package| package.version).collect();
    others.retain(|version| Some(version) != first.version.as_ref());
    others.dedup();
    let note = (!others.is_empty()).then(|| {
        let listed_in = quoted_name(&first.listed_in);
        let note =
            format!("{listed_in} also has {}; dep:{}@VERSION chooses one", others.join(", "), first.name);
        clip(&note, limits::NOTE_BYTES)
    });
    if let (Sources::Missing(problem), Some(note)) = (&mut first.sources, &note) {
        problem.push_str("; ");
        problem.push_str(note);
    }
    Ok((first, note))
}

/// Lists the directories at this depth below a root that may be projects of their own. Returns false if there
/// are more of them.
fn directories_at(root: &Arc<Root>, depth: usize, stop: &Stop) -> (Vec<RelPath>, bool) {
    let (mut level, mut is_whole) = (vec![RelPath::root()], true);
    for _ in 0..depth {
        let below = |directory: &RelPath| {
            let names = match stop.check() {
                None => root.names(directory, limits::DEPENDENCY_NAMES).unwrap_or_default(),
                Some(_) => Vec::new(),
            };
            let is_project = |name: &Vec<u8>| {
                !name.starts_with(b".") && !NO_PROJECTS.iter().any(|other| other.as_bytes() == name)
            };
            let mut paths: Vec<RelPath> =
                names.iter().filter(|name| is_project(name)).map(|name| directory.join(name)).collect();
            paths.sort_unstable();
            paths
        };
        let is_directory =
            |path: &RelPath| stop.check().is_none() && matches!(root.locate(path), Ok((_, true)));
        let paths = level.iter().flat_map(below).filter(is_directory);
        let mut next: Vec<RelPath> = paths.take(limits::DEPENDENCY_PROJECTS + 1).collect();
        is_whole &= next.len() <= limits::DEPENDENCY_PROJECTS;
        next.truncate(limits::DEPENDENCY_PROJECTS);
        level = next;
    }
    (level, is_whole)
}

/// Directories of packages and results, which are not projects.
const NO_PROJECTS: [&str; 4] = ["node_modules", "vendor", "target", "deps"];

impl Project<'_> {
    /// Reads a text file of the project. Returns `None` if it does not exist or is too large.
    fn text(&self, path: &str) -> Option<String> {
        self.text_in(self.root, &self.path(path)?)
    }

    /// Reads a text file. Returns `None` if it does not exist or is too large.
    fn text_in(&self, root: &Root, path: &RelPath) -> Option<String> {
        let mut buffer = ReadBuffer::default();
        let mut file = self.unless_over(|| root.open_file(path).ok())?;
        let contents = file.read_into(&mut buffer, limits::DEPENDENCY_LIST_BYTES).ok()?;
        (contents == Contents::Whole).then(|| String::from_utf8_lossy(&buffer).into_owned())
    }

    /// Reads the fields of a JSON file. Other fields take no memory.
    fn json<T: DeserializeOwned>(&self, path: &RelPath) -> Option<T> {
        serde_json::from_str(&self.text_in(self.root, path)?).ok()
    }

    /// Returns the path below the root.
    fn path(&self, below: &str) -> Option<RelPath> {
        RelPath::from_bytes(below.as_bytes(), &self.directory).ok()
    }

    /// Finds the directories of the project that fit a pattern, see [`Project::matching_in`].
    fn matching(&self, pattern: &str) -> Vec<RelPath> {
        self.matching_in(self.root, &self.directory, pattern)
    }

    /// Finds the directories below `start` that fit a pattern of names joined by `/`. A name may contain one
    /// `*`.
    fn matching_in(&self, root: &Root, start: &RelPath, pattern: &str) -> Vec<RelPath> {
        let mut level = vec![start.clone()];
        for name in pattern.split('/').filter(|name| !matches!(*name, "" | "." | "..")) {
            level = match name.split_once('*') {
                None => level.iter().map(|directory| directory.join(name.as_bytes())).collect(),
                Some((before, after)) => {
                    let fits = |found: &Vec<u8>| {
                        found.len() >= before.len() + after.len()
                            && found.starts_with(before.as_bytes())
                            && found.ends_with(after.as_bytes())
                    };
                    let below = |directory: &RelPath| {
                        let names = self.unless_over(|| root.names(directory, limits::DEPENDENCY_NAMES).ok());
                        let mut names = names.unwrap_or_default();
                        names.retain(fits);
                        names.sort_unstable();
                        names.iter().map(|name| directory.join(name)).collect::<Vec<_>>()
                    };
                    level.iter().flat_map(below).collect()
                }
            };
        }
        level.retain(|path| self.is_directory(root, path));
        level
    }

    fn is_directory(&self, root: &Root, path: &RelPath) -> bool {
        self.unless_over(|| root.locate(path).ok()).is_some_and(|(_, is_directory)| is_directory)
    }

    /// Opens a store.
    fn store(&self, path: &Path) -> Option<Arc<Root>> {
        let secrets = self.root.secrets().clone();
        self.unless_over(|| Root::open(path, &RootPolicy::default(), secrets).ok())
    }

    /// Returns `None` once the call must end.
    fn unless_over<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.stop.check().is_some() { None } else { read() }
    }
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
