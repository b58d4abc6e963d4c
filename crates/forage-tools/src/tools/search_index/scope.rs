//! The scope of a ranking: its roots, and the files in them that we rank.

use std::sync::Arc;
use std::time::Instant;

use forage_base::{Stop, map_in_threads};
use forage_fs::{Globs, RelPath, Root, WalkOptions};
use forage_rank::{FileHit, RankIndex, Ranking, known_language, language_of, search_all};

use super::RankRequest;
use super::provisional::ProvisionalSearch;
use crate::arguments::file_globs;
use crate::call::{Call, RankUnavailable};
use crate::changes::ChangedFiles;
use crate::error::ToolError;
use crate::indexes::Ranked;
use crate::limits;
use crate::multi_root::{is_anywhere, whole_path};
use crate::place::{PathTarget, ROOT, globs_in_path};
use crate::text::{absolute, clip};

/// The scope of a question.
pub(super) struct RankScope {
    /// At least one.
    pub(super) places: Vec<RankedPlace>,
    /// The question without the names of roots.
    pub(super) query: String,
    /// Globs that were given in `path`.
    pub(super) globs: Option<String>,
    /// Notes about a `path` that we did not take literally, and about changed files.
    pub(super) notes: Vec<String>,
}

/// A root and the part of it that is ranked.
pub(super) struct RankedPlace {
    /// The call, about this root only.
    call: Call,
    pub(super) root: Arc<Root>,
    /// False if relative paths are below this root.
    pub(super) is_other: bool,
    /// The path below the root where the ranking starts.
    pub(super) start: RelPath,
    pub(super) only: Option<Globs>,
    languages: Vec<&'static str>,
}

/// The ranked index of a place.
pub(super) struct RankedRoot<'a> {
    pub(super) place: &'a RankedPlace,
    /// Position of the place in the scope.
    pub(super) nth: usize,
    pub(super) ranked: Ranked,
}

/// The ranked indexes for a question, and the reasons why some are missing.
pub(super) struct RankedRoots<'a> {
    pub(super) roots: Vec<RankedRoot<'a>>,
    pub(super) failures: Vec<String>,
    /// Ends the search in these indexes.
    pub(super) stop: Stop,
}

impl RankScope {
    pub(super) fn new(call: &Call, request: &RankRequest) -> Result<Self, ToolError> {
        let has_code = request.like.as_deref().is_some_and(|like| !like.trim().is_empty());
        if request.query.trim().is_empty() && !has_code {
            let problem = "it is empty; say what you are looking for, in words or names";
            return Err(ToolError::argument("query", problem));
        }
        let languages = request.languages.iter().flatten().map(|name| {
            known_language(name).ok_or_else(|| {
                let globs = call.workspace.names.fill("{search_index.file_pattern}");
                let problem = format!("`{name}` is not a known language; omit it, or use {globs}");
                ToolError::argument("languages", problem)
            })
        });
        let languages: Vec<&'static str> = languages.collect::<Result<_, _>>()?;
        let (query, named) = roots_in_query(call, &request.query)?;
        let path = request.path.as_deref().filter(|path| !is_anywhere(path));
        let (roots, target) = match (path, named.is_empty()) {
            (Some(_), false) => {
                let problem = "the query also names a root; give the place in only one of the two";
                return Err(ToolError::argument("path", problem));
            }
            (None, false) => (named, None),
            (None, true) if call.roots.all().len() > 1 => (call.roots.all().to_vec(), None),
            (path, true) => {
                let target = call.place(path)?.in_working_tree(&call.workspace.names)?;
                (vec![Arc::clone(&target.root)], Some(target))
            }
        };
        let (start, globs, note) = match target {
            Some(PathTarget { root, path, globs, note, .. }) => {
                // The index lists files by their resolved paths. Also, a missing path must be an error, not
                // an empty answer.
                let (start, is_directory) = root.locate(&path)?;
                if !is_directory {
                    // This reports the reason if the file can't be in the index.
                    root.open_file(&start)?;
                }
                (start, globs, note)
            }
            None => (RelPath::root(), None, None),
        };
        let only = match (globs.as_deref(), request.file_pattern.as_deref()) {
            (Some(globs), None) => file_globs(Some(globs), (&roots[0], &RelPath::root()))?,
            (Some(_), Some(_)) => return Err(globs_in_path()),
            (None, globs) => file_globs(globs, (&roots[0], &start))?,
        };
        let is_one = roots.len() == 1;
        let mut notes: Vec<String> = note.into_iter().collect();
        let range = request.changed.as_deref().filter(|range| !range.trim().is_empty());
        let mut place = |root: Arc<Root>| {
            let mut only = only.clone();
            if let Some(range) = range {
                let changed = ChangedFiles::read(&root, range, &call.stop.within(call.limits.timeout))?;
                changed.check(&root, &start)?;
                notes.extend(changed.notes());
                only = Some(Globs::among(only, &changed.files));
            }
            Ok::<_, ToolError>(RankedPlace {
                // If a nested root is not searched itself, its files are searched as part of this root.
                call: if is_one { call.clone() } else { call.only(&root) },
                is_other: !call.is_first(&root),
                start: start.clone(),
                only,
                languages: languages.clone(),
                root,
            })
        };
        let places = roots.into_iter().map(&mut place).collect::<Result<_, _>>()?;
        Ok(Self { places, query, globs, notes })
    }

    /// Collects the parts of the scope that cursors are bound to, besides the request and the first place.
    pub(super) fn bound(&self) -> Option<String> {
        let others = self.places.iter().skip(1).map(|place| place.root.path().display().to_string());
        let all: Vec<String> = self.globs.iter().cloned().chain(others).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Updates the indexes and ranks the files in this scope. `max` is the maximum number of files, and of
    /// chunks per file.
    ///
    /// # Errors
    ///
    /// See [`RankScope::ranked`] and [`RankedRoots::search`].
    pub(super) fn search(
        &self,
        call: &Call,
        is_page: bool,
        (stop, began): (&Stop, Instant),
        max: (usize, usize),
        history: bool,
    ) -> Result<(RankedRoots<'_>, Ranking), ToolError> {
        let search = || {
            let ranked = self.ranked(call, is_page, (stop, began))?;
            let ranking = ranked.search(&self.query, max, true, history);
            Ok::<_, ToolError>((ranked, ranking))
        };
        let (mut ranked, mut ranking) = search()?;
        if ranked.indexes().any(RankIndex::is_damaged) {
            // We detected the damage during use. The next attempt replaces the index.
            (ranked, ranking) = search()?;
        }
        Ok((ranked, ranking?))
    }

    /// Updates the ranked index of each root. If a root has none yet, a line search can replace it, except on
    /// a further page.
    ///
    /// # Errors
    ///
    /// Fails if no root can be ranked, if the call was cancelled, or if a page can't be continued.
    fn ranked(
        &self,
        call: &Call,
        is_page: bool,
        (stop, began): (&Stop, Instant),
    ) -> Result<RankedRoots<'_>, ToolError> {
        let of = |place: &RankedPlace| match place.call.ranked(&place.root, stop) {
            Ok(ranked) => Ok(ranked),
            Err(RankUnavailable::Never(error)) => Err(error),
            Err(RankUnavailable::NotYet(_)) if is_page => {
                let problem = "the ranked index is being updated, and a cursor needs it; call again in a few seconds, \
                               or omit the cursor";
                Err(ToolError::argument("cursor", problem))
            }
            Err(RankUnavailable::NotYet(progress)) => {
                ProvisionalSearch { call: &place.call, place, began, stop }.rank(&self.query, progress)
            }
        };
        // Each index takes memory while it is written, so this must have its own limit on concurrency.
        let ranked = map_in_threads(&self.places, limits::RANKED_AT_ONCE, of);
        let (mut roots, mut failures, mut first) = (Vec::new(), Vec::new(), None);
        for ((nth, place), ranked) in self.places.iter().enumerate().zip(ranked) {
            match ranked {
                Ok(ranked) => roots.push(RankedRoot { place, nth, ranked }),
                Err(error) => {
                    let root = absolute(&place.root, &RelPath::root());
                    failures.push(format!("{root} was not ranked: {error}"));
                    // A further page must continue the same ranking, so no root may be missing from it.
                    let ends = is_page || matches!(error, ToolError::Cancelled);
                    if ends || self.places.len() == 1 {
                        return Err(error);
                    }
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if roots.is_empty() => Err(error),
            _ => Ok(RankedRoots { roots, failures, stop: call.after_ranking(stop) }),
        }
    }
}

/// Extracts the names of roots from a question, if there are several roots. Returns the question without
/// them, and these roots.
fn roots_in_query(call: &Call, query: &str) -> Result<(String, Vec<Arc<Root>>), ToolError> {
    let is_name = |word: &&str| word.len() > ROOT.len() && word.starts_with(ROOT);
    let names: Vec<&str> = query.split_whitespace().filter(is_name).collect();
    if names.is_empty() || call.roots.all().len() == 1 {
        return Ok((query.to_owned(), Vec::new()));
    }
    let mut roots: Vec<Arc<Root>> = Vec::new();
    let mut rest = query.to_owned();
    for name in names {
        let (root, path) =
            call.named_root(&name[ROOT.len()..]).map_err(|problem| ToolError::argument("query", problem))?;
        if !path.is_root() {
            let name = clip(name, limits::QUOTED_BYTES);
            let path = call.workspace.names.fill("{search_index.path}");
            let problem = format!("{name} is a path in a root; give it as `{path}`");
            return Err(ToolError::argument("query", problem));
        }
        if !roots.iter().any(|known| Arc::ptr_eq(known, &root)) {
            roots.push(root);
        }
        rest = rest.replacen(name, "", 1);
    }
    match rest.trim() {
        "" => Err(ToolError::argument("query", "it names a root, but contains no search words")),
        rest => Ok((rest.to_owned(), roots)),
    }
}

impl RankedRoots<'_> {
    /// Ranks the files in the scope. If `are_chosen` is false, ranks those that the configuration excludes
    /// from it.
    pub(super) fn search(
        &self,
        query: &str,
        (limit, chunks): (usize, usize),
        are_chosen: bool,
        history: bool,
    ) -> Result<Ranking, ToolError> {
        let is_over = || self.stop.check().is_some();
        let allow = |index: usize, path: &str| {
            self.roots.get(index).is_some_and(|root| root.place.chosen(path) == Some(are_chosen))
        };
        let request = forage_rank::RankedSearch {
            allow: Some(&allow),
            stop: &is_over,
            chunks,
            history,
            ..forage_rank::RankedSearch::new(query, limit)
        };
        let indexes: Vec<&RankIndex> = self.indexes().collect();
        let ranking =
            search_all(&indexes, &request).map_err(|error| ToolError::index(&error, error.hint()))?;
        if ranking.stopped { Err(self.over()) } else { Ok(ranking) }
    }

    /// Returns the root that contains a ranked file.
    pub(super) fn root(&self, hit: &FileHit) -> Option<&RankedRoot<'_>> {
        self.roots.get(hit.index)
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = &RankIndex> {
        self.roots.iter().map(|root| &*root.ranked.index)
    }

    fn over(&self) -> ToolError {
        if self.stop.is_cancelled() {
            ToolError::Cancelled
        } else {
            let message = "time ran out before the files were ranked; name a directory, or shorten the query";
            ToolError::index(&message, None)
        }
    }

    /// Returns true if a line search replaces the index of at least one root.
    pub(super) fn is_provisional(&self) -> bool {
        self.roots.iter().any(|root| root.ranked.is_provisional)
    }

    /// Returns true if the scope contains no files at all.
    pub(super) fn has_no_file(&self) -> bool {
        !self.roots.iter().any(|root| {
            root.ranked.is_provisional || root.ranked.index.any_file(|path| root.place.allows(path))
        })
    }

    /// Counts the files that would be ranked if the configuration did not exclude them.
    pub(super) fn count_excluded(&self) -> Result<u64, ToolError> {
        let mut all = 0;
        for RankedRoot { place, ranked, .. } in &self.roots {
            if place.call.workspace.excludes.is_some() {
                let is_excluded = |path: &str| place.chosen(path) == Some(false);
                let count = ranked.index.count_files(is_excluded, &|| self.stop.check().is_some());
                all += count.ok_or_else(|| self.over())?;
            }
        }
        Ok(all)
    }
}

impl RankedPlace {
    /// Returns the options for a walk over the files of this place.
    pub(super) fn walk_options(&self) -> WalkOptions {
        let options = WalkOptions { only: self.only.clone(), ..self.call.walk_options() };
        self.call.workspace.known_to_index(&self.root, options)
    }

    pub(super) fn allows(&self, path: &str) -> bool {
        self.chosen(path) == Some(true)
    }

    /// Decides whether a file is ranked. `Some(false)` means that the configuration excludes it, and `None`
    /// that it was not requested.
    fn chosen(&self, path: &str) -> Option<bool> {
        if !self.languages.is_empty()
            && !language_of(path).is_some_and(|language| self.languages.contains(&language))
        {
            return None;
        }
        let Call { workspace, apart, .. } = &self.call;
        let excludes = &workspace.excludes;
        if self.start.is_root() && self.only.is_none() && excludes.is_none() && apart.is_empty() {
            return Some(true);
        }
        let path = RelPath::parse(path, &RelPath::root()).ok()?;
        let is_asked = path.starts_with(&self.start)
            && self.only.as_ref().is_none_or(|only| only.choose(&path))
            && !apart.iter().any(|root| path.starts_with(root));
        is_asked.then(|| !excludes.as_ref().is_some_and(|excludes| excludes.leave_out(&path)))
    }

    /// Converts a path below the root to the form that callers use.
    pub(super) fn name(&self, shown: &mut String) {
        if self.is_other {
            whole_path(&self.root, shown);
        }
    }

    /// Formats the start of the ranking as callers write it.
    pub(super) fn shown_start(&self) -> String {
        let mut path = self.start.display().into_owned();
        self.name(&mut path);
        path
    }

    pub(super) fn root_path(&self) -> String {
        absolute(&self.root, &RelPath::root())
    }

    /// Formats a note about this root. If there are other roots, the note begins with its path.
    pub(super) fn root_note(&self, what: String, is_one: bool) -> String {
        if is_one { what } else { format!("{}: {what}", absolute(&self.root, &RelPath::root())) }
    }
}
