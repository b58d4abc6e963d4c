//! Resolves the `path` of a call to a root and a path below it.
//!
//! Agents write paths in forms that they know from other tools: relative to the current directory, as a
//! `file:` URI, after an `@`, with a line number, or prefixed with the project name. A path that exists must
//! always be taken literally. We try other readings only if it does not exist.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use forage_fs::{Globs, OpenError, RelPath, Root};

use crate::arguments::{escaped, split};
use crate::call::Call;
use crate::error::ToolError;
use crate::names::ToolNames;
use crate::revision::{Revision, RevisionEntry};
use crate::sanitize::sanitize_line;
use crate::text::{absolute, clip};

/// The prefix of a root's name.
pub const ROOT: &str = "root:";

/// The target of a `path` argument.
pub(crate) struct PathTarget {
    pub(crate) root: Arc<Root>,
    /// The path below the root, before links are resolved.
    pub(crate) path: RelPath,
    /// The lines given after the path.
    pub(crate) lines: Option<RangeInclusive<i64>>,
    /// Globs given in place of a path, relative to the root and separated by commas.
    pub(crate) globs: Option<String>,
    /// A note if the path was not taken literally.
    pub(crate) note: Option<String>,
    /// The commit that the path refers to. `None` means the working tree.
    pub(crate) revision: Option<Revision>,
}

impl Call {
    /// Resolves `path`, which is the first root by default.
    ///
    /// # Errors
    ///
    /// Fails if the path leads out of all roots, or is not a path. Note that a missing file is not an error
    /// here; opening it will fail.
    pub(crate) fn place(&self, path: Option<&str>) -> Result<PathTarget, ToolError> {
        let text = path.filter(|path| !path.trim().is_empty()).unwrap_or(".");
        match self.dependency_place(text) {
            Some(target) => target,
            None => self.within_dependencies(self.place_below_roots(text)?),
        }
    }

    fn place_below_roots(&self, text: &str) -> Result<PathTarget, ToolError> {
        if self.leaves_directory_of_revision(text)
            && let Some(target) = self.revision_target(text)
        {
            return target;
        }
        let first = self.roots.find(text);
        // With any other error, e.g. a missing permission, the path does exist.
        let is_there = |(root, path): &(Arc<Root>, RelPath)| {
            !matches!(
                root.locate(path),
                Err(OpenError::NotFound { .. }
                    | OpenError::NotDirectory { .. }
                    | OpenError::OutsideRoot { .. })
            )
        };
        if let Ok((root, path)) = first.as_ref()
            && is_there(&(Arc::clone(root), path.clone()))
        {
            return Ok(PathTarget::new(Arc::clone(root), path.clone()));
        }
        if let Some(named) = text.trim().strip_prefix(ROOT) {
            let place = self.named_root(named).map_err(|problem| ToolError::argument("path", problem))?;
            if !is_there(&place)
                && let Some((bare, lines)) = without_lines(named)
                && let Some((root, path)) = self.named_root(bare).ok().filter(&is_there)
            {
                return Ok(PathTarget { lines, ..PathTarget::new(root, path) });
            }
            return Ok(PathTarget::new(place.0, place.1));
        }
        for reading in readings(text) {
            let found = self.below_some_root(&reading.path).find(&is_there);
            if let Some((root, path)) = found {
                let shown = clip(&path.display(), crate::limits::NOTE_BYTES);
                let of_root = match Arc::ptr_eq(&root, self.roots.main()) {
                    true => String::new(),
                    false => format!(" below {}", absolute(&root, &RelPath::root())),
                };
                let note = format!("the path was read as {shown}{of_root}{}", reading.note);
                let note = Some(sanitize_line(&note).into_owned());
                return Ok(PathTarget { lines: reading.lines, note, ..PathTarget::new(root, path) });
            }
        }
        if let Some(target) = self.revision_target(text) {
            return target;
        }
        if let Some((directory, globs)) = without_globs(text.trim())
            && Globs::new(&[globs]).is_ok()
            && let Some((root, path)) = self.below_some_root(directory).find(&is_there)
        {
            let globs = globs_below(&path, globs);
            let shown = sanitize_line(&clip(&globs, crate::limits::QUOTED_BYTES)).into_owned();
            let note = Some(format!("the path has globs, so it was read as the glob \"{shown}\""));
            let globs = Some(with_contents(&globs));
            return Ok(PathTarget { globs, note, ..PathTarget::new(root, path) });
        }
        let (root, path) = first?;
        Ok(PathTarget::new(root, path))
    }

    /// Resolves `REV:path` or `ref:REV`. Lines may follow the path of a file, as in `REV:path:12`.
    fn revision_target(&self, text: &str) -> Option<Result<PathTarget, ToolError>> {
        let (root, path, revision) = match self.revision(text)? {
            Ok(place) => place,
            Err(error) => return Some(Err(error)),
        };
        let is_file =
            |path: &RelPath| matches!(revision.entry(&root, path, &self.stop), Ok(RevisionEntry::File(_)));
        let bare = std::str::from_utf8(path.as_bytes()).ok().and_then(without_lines);
        let bare = bare.and_then(|(bare, lines)| {
            Some((RelPath::from_bytes(bare.as_bytes(), &RelPath::root()).ok()?, lines))
        });
        let (path, lines, note) = match bare {
            Some((bare, lines)) if !is_file(&path) && is_file(&bare) => {
                let shown = clip(&revision.shown(&bare.display()), crate::limits::NOTE_BYTES);
                let note = sanitize_line(&format!("the path was read as {shown}")).into_owned();
                (bare, lines, Some(note))
            }
            _ => (path, None, None),
        };
        Some(Ok(PathTarget { lines, note, revision: Some(revision), ..PathTarget::new(root, path) }))
    }

    /// Returns true for a path of a revision such as `main:src/../lib`. As a path of the working tree, `..` would
    /// remove the revision with the directory.
    #[must_use]
    pub fn leaves_directory_of_revision(&self, text: &str) -> bool {
        let Some((first, rest)) = text.trim().split_once('/') else { return false };
        let is_there = || {
            let first = RelPath::from_bytes(first.as_bytes(), &RelPath::root());
            first.is_ok_and(|first| self.roots.main().locate(&first).is_ok())
        };
        first.contains(':') && rest.split('/').any(|name| name == "..") && !is_there()
    }

    /// Resolves a root's name followed by a path in that root. The name is the last component of the root's
    /// path, e.g. `billing`. If this is ambiguous, you need more components, e.g. `old/billing`.
    ///
    /// # Errors
    ///
    /// Fails with a description of the problem.
    pub fn named_root(&self, text: &str) -> Result<(Arc<Root>, RelPath), String> {
        let text = &*if cfg!(windows) { Cow::Owned(text.replace('\\', "/")) } else { Cow::Borrowed(text) };
        let mut found: Vec<(usize, &Arc<Root>, &str)> = Vec::new();
        for root in self.roots.all() {
            let own = root.path().display().to_string();
            let starts = std::iter::once(0).chain(own.match_indices('/').map(|(at, _)| at + 1));
            let after = |at: usize| {
                let rest = text.strip_prefix(&own[at..]).filter(|_| at < own.len())?;
                let is_whole = rest.is_empty() || rest.starts_with('/');
                is_whole.then_some((own.len() - at, root, rest.trim_start_matches('/')))
            };
            found.extend(starts.filter_map(after).max_by_key(|(length, ..)| *length));
        }
        let longest = found.iter().map(|(length, ..)| *length).max();
        found.retain(|(length, ..)| Some(*length) == longest);
        let names = |roots: &mut dyn Iterator<Item = &Arc<Root>>| {
            roots.map(|root| absolute(root, &RelPath::root())).collect::<Vec<_>>().join(", ")
        };
        let shown = clip(&text.escape_debug().to_string(), crate::limits::QUOTED_BYTES);
        match found.as_slice() {
            [(_, root, rest)] => {
                let path = RelPath::parse(if rest.is_empty() { "." } else { rest }, &RelPath::root());
                path.map(|path| (Arc::clone(root), path)).map_err(|error| error.to_string())
            }
            [] => Err(format!(
                "no root is called {shown}; the roots are {}",
                names(&mut self.roots.all().iter())
            )),
            several => Err(format!(
                "{shown} is the name of several roots: {}; write more of its path",
                names(&mut several.iter().map(|(_, root, _)| *root))
            )),
        }
    }

    /// Lists the paths that this text may mean: below the first root, relative to the caller's directory in
    /// it, and below the other roots.
    fn below_some_root<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Arc<Root>, RelPath)> + 'a {
        let itself = self.roots.find(text).ok();
        // `from_bytes` does not resolve the escapes of a quoted path.
        let bytes = (!text.starts_with('"')).then_some(text.as_bytes());
        let standing =
            bytes.and_then(|bytes| RelPath::from_bytes(bytes, self.roots.working_directory()).ok());
        let standing = standing.map(|path| (Arc::clone(self.roots.main()), path));
        let relative = bytes.and_then(|bytes| RelPath::from_bytes(bytes, &RelPath::root()).ok());
        let others = self.roots.all().iter().skip(1);
        let others = others.filter_map(move |root| Some((Arc::clone(root), relative.clone()?)));
        // The text may begin with the name of a project that is one of several roots.
        let named = self.roots.all().iter().filter_map(move |root| {
            let name = root.path().file_name()?.to_str()?;
            let below = Path::new(text).strip_prefix(name).ok()?.to_str()?;
            Some((
                Arc::clone(root),
                RelPath::parse(if below.is_empty() { "." } else { below }, &RelPath::root()).ok()?,
            ))
        });
        itself.into_iter().chain(standing).chain(others).chain(named)
    }
}

/// Creates the error for globs in `path` that no file matches. The text may also be a path that contains
/// these characters.
pub(crate) fn no_file_fits(path: Option<&str>) -> ToolError {
    let path = clip(&path.unwrap_or_default().escape_debug().to_string(), crate::limits::QUOTED_BYTES);
    ToolError::argument("path", format!("{path} does not exist, and no file matches it as a glob"))
}

/// Creates the error for a call with globs both in `path` and in their own argument.
pub(crate) fn globs_in_path() -> ToolError {
    ToolError::argument(
        "path",
        "globs were given here and in another argument; pass the directory here, and all globs there",
    )
}

impl PathTarget {
    /// Checks the path for tools that search below it. A file that we must never read has no matches, and an
    /// empty answer would be misleading.
    ///
    /// # Errors
    ///
    /// Fails if the file may contain secrets.
    pub(crate) fn searchable(self) -> Result<Self, ToolError> {
        match self.root.locate(&self.path) {
            _ if self.revision.is_some() => Ok(self),
            Ok((path, false)) => match self.root.secrets().denies(&path) {
                Some(rule) => {
                    let (path, rule) = (self.path.display().into_owned(), rule.to_owned());
                    Err(OpenError::Secret { path, rule }.into())
                }
                None => Ok(self),
            },
            // If the path can't be located, the search will report the reason.
            _ => Ok(self),
        }
    }

    /// Checks the path for tools that support only the working tree.
    ///
    /// # Errors
    ///
    /// Fails for another revision.
    pub(crate) fn in_working_tree(self, names: &ToolNames) -> Result<Self, ToolError> {
        let problem = "only the working tree is ranked; at another revision,[[ search with {grep_search}]][[ and read with \
                       {read_file}]]";
        let problem = names.fill(problem);
        if self.revision.is_some() { Err(ToolError::argument("path", problem)) } else { Ok(self) }
    }

    /// Checks the path for tools that take one file or directory.
    ///
    /// # Errors
    ///
    /// Fails if there are globs.
    pub(crate) fn without_globs(self, names: &ToolNames) -> Result<Self, ToolError> {
        let problem = "it has globs, but this tool takes one path; give the directory before them[[ to \
                       {list_directory}]], or search with globs[[ using {grep_search}]]";
        let problem = names.fill(problem);
        if self.globs.is_some() { Err(ToolError::argument("path", problem)) } else { Ok(self) }
    }

    pub(crate) fn new(root: Arc<Root>, path: RelPath) -> Self {
        Self { root, path, lines: None, globs: None, note: None, revision: None }
    }

    /// Resolves a path below a root, which may end in lines or globs.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a path below the root.
    pub(crate) fn below(root: &Arc<Root>, text: &str) -> Result<Self, ToolError> {
        let parse = |text: &str| {
            let path = RelPath::parse(if text.is_empty() { "." } else { text }, &RelPath::root());
            path.map_err(|error| ToolError::argument("path", error.to_string()))
        };
        let path = parse(text)?;
        if root.locate(&path).is_err() {
            if let Some((bare, lines)) = without_lines(text) {
                return Ok(Self { lines, ..Self::new(Arc::clone(root), parse(bare)?) });
            }
            if let Some((directory, globs)) =
                without_globs(text).filter(|(_, globs)| Globs::new(&[*globs]).is_ok())
            {
                let directory = parse(directory)?;
                let globs = Some(with_contents(&globs_below(&directory, globs)));
                return Ok(Self { globs, ..Self::new(Arc::clone(root), directory) });
            }
        }
        Ok(Self::new(Arc::clone(root), path))
    }
}

/// Another way to read a path.
struct PathReading {
    path: String,
    lines: Option<RangeInclusive<i64>>,
    /// Describes the part that was dropped.
    note: &'static str,
}

/// Lists other ways to read a path, the most literal first.
fn readings(text: &str) -> Vec<PathReading> {
    let mut readings = Vec::new();
    let mut add = |path: &str| {
        readings.push(PathReading { path: path.to_owned(), lines: None, note: "" });
        if let Some((path, lines)) = without_lines(path) {
            readings.push(PathReading { path: path.to_owned(), lines, note: "" });
        }
    };
    add(text);
    let bare = text.trim().trim_matches(['`', '\'', '"', '<', '>']);
    let bare = bare.strip_prefix('@').unwrap_or(bare);
    let decoded = bare.strip_prefix("file://").map(|path| {
        let path = path.strip_prefix("localhost").unwrap_or(path);
        percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
    });
    let bare = decoded.as_deref().unwrap_or(bare);
    if bare != text {
        add(bare);
    }
    if bare.contains('\\') {
        add(&bare.replace('\\', "/"));
    }
    // The leading slash may mean the root of the project, not of the machine.
    if let Some(below) = bare.strip_prefix('/').filter(|below| !below.is_empty()) {
        add(below);
    }
    readings
}

/// Splits a path from the lines after it, e.g. `path:12`, `path:12-20`, `path:12:5`, `path#L12-L20`.
fn without_lines(text: &str) -> Option<(&str, Option<RangeInclusive<i64>>)> {
    let at = text.rfind("#L").or_else(|| text.find(':').filter(|&at| at > 0))?;
    let (path, after) = (&text[..at], text[at..].trim_start_matches([':', '#']));
    let number =
        |part: &str| part.trim_start_matches(['L', 'l']).parse::<i64>().ok().filter(|&line| line > 0);
    let first = after.split([':', '-', ',']).next().and_then(number)?;
    let last = match after.contains('-') {
        true => after.split('-').nth(1).and_then(|part| number(part.split(':').next()?)),
        false => None,
    };
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, 'L' | 'l' | ':' | '-' | ',');
    after.chars().all(is_number).then(|| (path, Some(first..=last.unwrap_or(i64::MAX))))
}

/// Anchors globs at a directory below the root.
fn globs_below(directory: &RelPath, globs: &str) -> String {
    match directory.is_root() {
        true => format!("/{globs}"),
        false => format!("/{}/{globs}", escaped(directory)),
    }
}

/// Adds the files below directories that globs match.
fn with_contents(globs: &str) -> String {
    format!("{globs},{globs}/**")
}

/// Splits a path into the directory before the first glob, and the globs below it.
fn without_globs(text: &str) -> Option<(&str, &str)> {
    let bare = text.strip_prefix("./").unwrap_or(text);
    if split(bare).len() > 1 {
        return None;
    }
    let at = bare.find(['*', '?', '[', '{'])?;
    let end = bare[..at].rfind('/').map_or(0, |slash| slash + 1);
    let (directory, globs) = bare.split_at(end);
    Some((if directory.is_empty() { "." } else { directory }, globs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_suffix_is_distinguished_from_the_path() {
        let to_the_end = |first| Some(first..=i64::MAX);
        let cases = [
            ("src/a.rs:12", Some(("src/a.rs", to_the_end(12)))),
            ("src/a.rs:12:5", Some(("src/a.rs", to_the_end(12)))),
            ("src/a.rs:12-20", Some(("src/a.rs", Some(12..=20)))),
            ("src/a.rs#L12", Some(("src/a.rs", to_the_end(12)))),
            ("src/a.rs#L12-L20", Some(("src/a.rs", Some(12..=20)))),
            ("src/a.rs:", None),
            ("src/a.rs:x", None),
            ("src/a.rs:0", None),
            (":12", None),
            ("src/a.rs", None),
        ];
        for (text, expected) in cases {
            assert_eq!(without_lines(text), expected, "{text}");
        }
    }

    #[test]
    fn the_directory_in_front_of_globs_is_found() {
        let cases = [
            ("src/**/*.rs", Some(("src/", "**/*.rs"))),
            ("*.rs", Some((".", "*.rs"))),
            ("./src/*.rs", Some(("src/", "*.rs"))),
            ("src/a{b,c}/d.rs", Some(("src/", "a{b,c}/d.rs"))),
            ("src/a.rs", None),
        ];
        for (text, expected) in cases {
            assert_eq!(without_globs(text), expected, "{text}");
        }
    }
}
