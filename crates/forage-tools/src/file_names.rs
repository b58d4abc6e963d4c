//! Finds files by approximate names.

use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{EntryKind, Globs, OpenError, RelPath, Root, WalkOptions, WalkReport, WalkStep, walk};
use forage_redact::RedactionReport;
use unicode_normalization::UnicodeNormalization as _;

use crate::arguments::{globs_at, split};
use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::output_redactor::OutputRedactor;
use crate::place::PathTarget;
use crate::search_facts::unfit_globs_note;
use crate::text::absolute;

/// A file name as the caller remembers it, e.g. a part of the name, the end of a path, or words of a path.
pub(crate) struct FileName {
    /// The name after [`folded`].
    folded: String,
}

/// How similar a path is to a name, the most similar first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathSimilarity {
    /// The whole name matches.
    Whole,
    /// The name without its extension matches.
    Stem,
    /// The name begins with it.
    Beginning,
    /// A part of the name begins with it, for example `file` in `read_file.rs`.
    Part,
    /// The name contains it.
    Within,
    /// The path contains it, or contains its words.
    InPath,
    /// The names differ by this number of edits.
    Edits(usize),
    /// The name contains its characters in the same order.
    Scattered,
}

impl FileName {
    pub(crate) fn new(name: &str) -> Self {
        Self { folded: folded(name.trim().trim_matches('/')) }
    }

    /// Compares a path below its root with the name. Returns `None` if they are not similar.
    pub(crate) fn nearness(&self, path: &str) -> Option<PathSimilarity> {
        let wanted = self.folded.as_str();
        let path = folded(path);
        let (_, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if wanted.is_empty() {
            return None;
        }
        if let Some((directory, last)) = wanted.rsplit_once('/') {
            let ends =
                path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'));
            return match ends {
                true => Some(PathSimilarity::Whole),
                false if path.contains(wanted) => Some(PathSimilarity::InPath),
                // The file may be in another directory.
                false => compare_names(last, name)
                    .filter(|nearness| *nearness < PathSimilarity::Scattered)
                    .map(|nearness| match path.contains(directory) {
                        true => nearness.max(PathSimilarity::Within),
                        false => nearness.max(PathSimilarity::InPath),
                    }),
            };
        }
        let by_words = || {
            let is_there = wanted.split_whitespace().all(|word| path.contains(word));
            is_there.then_some(PathSimilarity::InPath)
        };
        let by_name = compare_names(wanted, name);
        by_name.filter(|nearness| *nearness < PathSimilarity::InPath).or_else(by_words).or(by_name)
    }
}

/// Converts a name to lower case and composes its letters.
fn folded(name: &str) -> String {
    let lower = name.to_lowercase();
    if lower.is_ascii() { lower } else { lower.nfc().collect() }
}

/// Compares two names, which must both be [`folded`].
fn compare_names(wanted: &str, name: &str) -> Option<PathSimilarity> {
    // A leading dot belongs to the stem, as in `.env`.
    let stem = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name, |(at, _)| &name[..at]);
    if name == wanted {
        return Some(PathSimilarity::Whole);
    }
    if stem == wanted {
        return Some(PathSimilarity::Stem);
    }
    if let Some(at) = name.find(wanted) {
        let is_part = name[..at].ends_with(['_', '-', '.', ' ']);
        return Some(match at {
            0 => PathSimilarity::Beginning,
            _ if is_part => PathSimilarity::Part,
            _ => PathSimilarity::Within,
        });
    }
    let length = wanted.chars().count();
    let max = (length / limits::CHARACTERS_BY_EDIT).max(usize::from(length > 2));
    let edits = |other: &str| match other.chars().count().abs_diff(length) > max {
        true => usize::MAX,
        false => strsim::damerau_levenshtein(other, wanted),
    };
    // We also try the stem without underscores, for example for `__main__.py`.
    let least = [stem, name, stem.trim_matches('_')].into_iter().map(edits).min().unwrap_or(usize::MAX);
    if least <= max {
        return Some(PathSimilarity::Edits(least));
    }
    let mut characters = name.chars();
    let is_scattered = length > 2 && wanted.chars().all(|wanted| characters.any(|c| c == wanted));
    is_scattered.then_some(PathSimilarity::Scattered)
}

/// A path with its similarity.
pub(crate) type SimilarPath = (PathSimilarity, RelPath, EntryKind);

/// Finds entries with similar names below `start`, and sorts them by similarity.
pub(crate) fn near(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    name: &FileName,
    options: &WalkOptions,
    stop: &Stop,
) -> Result<(Vec<SimilarPath>, WalkReport), ToolError> {
    // A name may also be that of a directory or a link.
    let options = call.workspace.known_to_index(root, WalkOptions { all_entries: true, ..options.clone() });
    let mut found: Vec<SimilarPath> = Vec::new();
    let report = walk(
        root,
        start,
        &options,
        stop,
        || (),
        |(), entry, _| match name.nearness(&String::from_utf8_lossy(entry.path.as_bytes())) {
            Some(nearness) => {
                WalkStep::Item((nearness, entry.path.clone(), entry.kind), size_of::<SimilarPath>())
            }
            None => WalkStep::Nothing,
        },
        |near| {
            found.push(near);
            if found.len() < limits::NEAR_PATHS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    )?;
    sort_by_similarity(&mut found);
    Ok((found, report))
}

/// Selects the entries with similar names, in the order of [`near`].
pub(crate) fn near_among(
    entries: impl Iterator<Item = (RelPath, EntryKind)>,
    name: &FileName,
) -> Vec<SimilarPath> {
    let similar = |(path, kind): (RelPath, EntryKind)| {
        Some((name.nearness(&String::from_utf8_lossy(path.as_bytes()))?, path, kind))
    };
    let mut found: Vec<SimilarPath> = entries.filter_map(similar).collect();
    sort_by_similarity(&mut found);
    found
}

/// Sorts paths by similarity. Keeps a name that merely contains the characters only if there is nothing
/// better.
fn sort_by_similarity(found: &mut Vec<SimilarPath>) {
    if found.iter().any(|(nearness, ..)| *nearness < PathSimilarity::Scattered) {
        found.retain(|(nearness, ..)| *nearness < PathSimilarity::Scattered);
    }
    found.sort_by(|(near, path, _), (other, other_path, _)| {
        let length = |path: &RelPath| (path.depth(), path.as_bytes().len());
        near.cmp(other).then_with(|| length(path).cmp(&length(other_path))).then_with(|| path.cmp(other_path))
    });
}

/// Returns a message if a glob such as `tools/*.py` matches no file where it begins, but would match files
/// below other directories. Callers may expect this because in `fnmatch` such a glob matches the end of a
/// path.
pub(crate) fn fits_elsewhere(
    call: &Call,
    path: Option<&str>,
    argument: &'static str,
    glob: &str,
) -> Option<String> {
    if !glob.contains('/') || glob.starts_with(['!', '/']) || glob.starts_with("**/") || split(glob).len() > 1
    {
        return None;
    }
    let PathTarget { root, path: start, .. } = call.place(path).ok()?;
    let meant = format!("**/{glob}");
    let globs = Some(globs_at(argument, std::slice::from_ref(&meant), (&root, &start)).ok()?);
    let options = call.workspace.known_to_index(&root, WalkOptions { globs, ..call.walk_options() });
    let stop = call.stop.within(limits::NEAREST_TIME);
    let mut first = None;
    walk(
        &root,
        &start,
        &options,
        &stop,
        || (),
        |(), entry, _| WalkStep::Item(entry.path.clone(), 0),
        |path| {
            first = Some(path);
            ControlFlow::Break(())
        },
    )
    .ok()?;
    let mut hidden = RedactionReport::default();
    let path = OutputRedactor::new(&call.workspace.redactor, &mut hidden).path(&first?).0;
    Some(format!(
        "`{argument}` with `/` starts at {}; did you mean `{meant}`, which matches {path}?",
        start.display()
    ))
}

/// Warns about globs of a list that match no file of a walk with these options. `argument` is the argument
/// with the globs, together with its template.
pub(crate) fn unfit_globs(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    mut options: WalkOptions,
    (argument, template): (&'static str, &str),
    globs: &[&str],
) -> Option<String> {
    let globs =
        globs.iter().map(|glob| glob.trim()).filter(|glob| !glob.is_empty() && !glob.starts_with('!'));
    let globs: Vec<String> = globs.map(str::to_owned).collect();
    if globs.len() < 2 {
        return None;
    }
    let compile = |globs: &[String]| globs_at(argument, globs, (root, start)).ok();
    let compiled = globs.iter().map(|glob| Some((glob.clone(), compile(std::slice::from_ref(glob))?)));
    let each: Vec<(String, Globs)> = compiled.collect::<Option<_>>()?;
    // A file counts even if another glob excludes it.
    match &mut options.only {
        Some(only) => *only = compile(&globs)?,
        None => options.globs = compile(&globs),
    }
    let options = call.workspace.known_to_index(root, options);
    let unfit = globs_without_files((root, start), &options, &each, &call.stop);
    unfit_globs_note(&unfit, &call.workspace.names.fill(template))
}

/// Finds the globs that match no file of a walk with these options. Returns an empty list if we can't
/// determine this within [`limits::NEAREST_TIME`], or if no file matches any glob.
pub fn globs_without_files<'g>(
    (root, start): (&Arc<Root>, &RelPath),
    options: &WalkOptions,
    globs: &'g [(String, Globs)],
    stop: &Stop,
) -> Vec<&'g str> {
    let mut unfit: Vec<&(String, Globs)> = globs.iter().collect();
    let options = WalkOptions { from: None, ..options.clone() };
    let report = walk(
        root,
        start,
        &options,
        &stop.within(limits::NEAREST_TIME),
        || (),
        |(), entry, _| WalkStep::Item(entry.path.clone(), entry.path.as_bytes().len()),
        |path| {
            unfit.retain(|(_, globs)| !globs.choose(&path));
            if unfit.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    let is_known = report.is_ok_and(|report| report.stopped.is_none() && !report.too_many_entries);
    match is_known && unfit.len() < globs.len() {
        true => unfit.into_iter().map(|(glob, _)| glob.as_str()).collect(),
        false => Vec::new(),
    }
}

/// Adds similar paths to the error of a call whose path does not exist.
pub(crate) fn with_nearest(call: &Call, path: Option<&str>, error: ToolError) -> ToolError {
    let (source, path) = match (error, path) {
        (ToolError::Path(source @ OpenError::NotFound { .. }), Some(path)) => (source, path),
        (error, _) => return error,
    };
    // `path#name` asks for a definition in a file.
    let name = FileName::new(path.rsplit_once('#').map_or(path, |(path, _)| path));
    let stop = call.stop.within(limits::NEAREST_TIME);
    let mut hidden = RedactionReport::default();
    let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut hidden);
    let mut nearest = Vec::new();
    for root in call.roots.all() {
        let options = call.walk_options();
        let Ok((found, _)) = near(call, (root, &RelPath::root()), &name, &options, &stop) else {
            continue;
        };
        let sure = found.into_iter().filter(|(nearness, ..)| *nearness < PathSimilarity::Scattered);
        let is_main = Arc::ptr_eq(root, call.roots.main());
        nearest.extend(sure.take(limits::NEAREST_PATHS).map(|(nearness, path, _)| {
            let mut shown = if is_main { path.display().into_owned() } else { absolute(root, &path) };
            redactor.name(&mut shown);
            (nearness, shown)
        }));
    }
    // The sort is stable, so paths of the first root come first.
    nearest.sort_by_key(|(nearness, _)| *nearness);
    nearest.truncate(limits::NEAREST_PATHS);
    match nearest.is_empty() {
        true => ToolError::Path(source),
        false => ToolError::NoSuchPath {
            error: source,
            nearest: nearest.into_iter().map(|(_, path)| path).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_what_is_wrong_with_them() {
        let cases = [
            ("main.rs", "src/main.rs", Some(PathSimilarity::Whole)),
            ("Main", "src/main.rs", Some(PathSimilarity::Stem)),
            ("mai", "src/main.rs", Some(PathSimilarity::Beginning)),
            ("line", "src/command_line.rs", Some(PathSimilarity::Part)),
            ("mmand", "src/command_line.rs", Some(PathSimilarity::Within)),
            ("mian", "src/main.rs", Some(PathSimilarity::Edits(1))),
            ("src", "src/main.rs", Some(PathSimilarity::InPath)),
            ("src line", "src/command_line.rs", Some(PathSimilarity::InPath)),
            ("src/main.rs", "crates/a/src/main.rs", Some(PathSimilarity::Whole)),
            ("lib/main.rs", "crates/a/src/main.rs", Some(PathSimilarity::InPath)),
            ("a/lib/main.rs", "a/src/main.rs", Some(PathSimilarity::InPath)),
            ("cmdln", "src/command_line.rs", Some(PathSimilarity::Scattered)),
            (".env", "a/.env.example", Some(PathSimilarity::Stem)),
            ("xyz", "src/main.rs", None),
            ("", "src/main.rs", None),
            ("ab", "a_b.rs", None),
            // This name is decomposed, and the path is composed.
            ("cafe\u{301}", "src/CAF\u{c9}.rs", Some(PathSimilarity::Stem)),
            (
                "\u{d559}\u{c810}",
                "\u{1112}\u{1161}\u{11a8}\u{110c}\u{1165}\u{11b7}\u{110b}.md",
                Some(PathSimilarity::Beginning),
            ),
        ];
        for (name, path, expected) in cases {
            assert_eq!(FileName::new(name).nearness(path), expected, "{name}: {path}");
        }
    }
}
