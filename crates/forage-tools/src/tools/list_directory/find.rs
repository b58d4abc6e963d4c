//! `list_directory` for files by name. Globs list files in path order, other names by similarity.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{EntryKind, Globs, RelPath, Root, WalkOptions, WalkReport, WalkStep, walk};

use super::{ListEntry, ListResponse};
use crate::arguments::{globs_at, split};
use crate::call::Call;
use crate::changes::ChangedFiles;
use crate::error::ToolError;
use crate::file_names::{FileName, near, near_among, unfit_globs};
use crate::limits;
use crate::notes::{max_that_fits, notes, notes_bytes, with_notes};
use crate::outcome::{Limit, ToolOutcome};
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped, quoted};

/// The requested names.
pub(super) enum NameQuery {
    Globs(Globs),
    Near(FileName),
}

impl NameQuery {
    pub(super) fn new(name: &str, root: &Root, start: &RelPath) -> Result<Self, ToolError> {
        let is_glob = name.contains(['*', '?', '[', '{']) || name.starts_with('!');
        if !is_glob {
            return Ok(Self::Near(FileName::new(name)));
        }
        let mut globs: Vec<String> = split(name).into_iter().map(str::to_owned).collect();
        // Exclusions alone would select no file.
        if globs.iter().all(|glob| glob.starts_with('!')) {
            globs.insert(0, "*".to_owned());
        }
        globs_at("name", &globs, (root, start)).map(Self::Globs)
    }

    /// Reads a name with brackets literally, as a second attempt: the name of a file may contain them.
    pub(super) fn literal(name: &str) -> Option<Self> {
        let has_only_brackets = name.contains(['[', '{']) && !name.contains(['*', '?']);
        has_only_brackets.then(|| Self::Near(FileName::new(name)))
    }

    /// Selects the matching paths of a complete list of files and directories, in order.
    pub(super) fn select(
        &self,
        entries: impl Iterator<Item = (RelPath, EntryKind)>,
    ) -> Vec<(RelPath, EntryKind)> {
        match self {
            Self::Near(name) => {
                near_among(entries, name).into_iter().map(|(_, path, kind)| (path, kind)).collect()
            }
            Self::Globs(globs) => {
                entries.filter(|(path, kind)| *kind == EntryKind::File && globs.choose(path)).collect()
            }
        }
    }

    /// Finds the matching paths with their kinds, in order.
    fn find(
        &self,
        call: &Call,
        (root, start): (&Arc<Root>, &RelPath),
        (include_ignored, changed): (bool, Option<&ChangedFiles>),
        stop: &Stop,
    ) -> Result<(Vec<(RelPath, EntryKind)>, WalkReport), ToolError> {
        let options = walk_options(call, include_ignored, None, changed);
        match self {
            Self::Near(name) => {
                let (found, report) = near(call, (root, start), name, &options, stop)?;
                Ok((found.into_iter().map(|(_, path, kind)| (path, kind)).collect(), report))
            }
            Self::Globs(globs) => {
                let only = Some(globs.clone());
                let options = walk_options(call, include_ignored, only, changed);
                let options = call.workspace.known_to_index(root, options);
                let mut found = Vec::new();
                let report = walk(
                    root,
                    start,
                    &options,
                    stop,
                    || (),
                    |(), entry, _| {
                        WalkStep::Item((entry.path.clone(), entry.kind), size_of::<RelPath>() + 32)
                    },
                    |entry| {
                        found.push(entry);
                        match found.len() < limits::LIST_ENTRIES_READ {
                            true => ControlFlow::Continue(()),
                            false => ControlFlow::Break(()),
                        }
                    },
                )?;
                Ok((found, report))
            }
        }
    }

    pub(super) fn max_entries(&self) -> usize {
        match self {
            Self::Globs(_) => limits::LIST_FOUND,
            Self::Near(_) => limits::LIST_NEAR,
        }
    }
}

/// Builds the options for a walk that finds these files.
fn walk_options(
    call: &Call,
    include_ignored: bool,
    only: Option<Globs>,
    changed: Option<&ChangedFiles>,
) -> WalkOptions {
    let options =
        WalkOptions { hidden: include_ignored, no_ignore: include_ignored, only, ..call.walk_options() };
    match changed {
        Some(changed) => changed.narrow(options),
        None => options,
    }
}

pub(super) fn run(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    (name, changed): (String, Option<ChangedFiles>),
    include_ignored: bool,
    mut warnings: Vec<String>,
) -> Result<ToolOutcome<ListResponse>, ToolError> {
    let mut query = NameQuery::new(&name, root, start)?;
    let stop = call.stop.within(call.limits.timeout);
    let changed = changed.as_ref();
    warnings.extend(changed.into_iter().flat_map(ChangedFiles::notes));
    let (mut found, mut report) = query.find(call, (root, start), (include_ignored, changed), &stop)?;
    let is_whole = report.stopped.is_none() && !report.broke_off && !report.too_many_entries;
    if found.is_empty()
        && is_whole
        && let Some(literal) = NameQuery::literal(&name)
    {
        let (near, report_of_near) = literal.find(call, (root, start), (include_ignored, changed), &stop)?;
        if !near.is_empty() {
            (query, found, report) = (literal, near, report_of_near);
        }
    }
    // A search among changed files already includes ignored and hidden ones.
    let hidden_count = if found.is_empty() && is_whole && !include_ignored && changed.is_none() {
        Some(query.find(call, (root, start), (true, None), &stop)?.0.len() as u64).filter(|count| *count > 0)
    } else {
        None
    };
    let all = found.len();
    found.truncate(query.max_entries());
    let mut outcome = ToolOutcome::new(
        ListResponse {
            entry_count: all as u64,
            pruned: report.pruned.clone(),
            entries: found.into_iter().map(|(path, kind)| ListEntry::new(path, kind)).collect(),
            hidden_count,
            name: Some(name),
            ..ListResponse::new(start)
        },
        all > 0,
    );
    outcome.warnings = warnings;
    if let (NameQuery::Globs(globs), Some(name)) = (&query, &outcome.response.name)
        && all > 0
    {
        let options = walk_options(call, include_ignored, Some(globs.clone()), changed);
        let argument = ("name", "{list_directory.name}");
        outcome.warnings.extend(unfit_globs(call, (root, start), options, argument, &split(name)));
    }
    outcome.add_report(&report);
    if report.broke_off {
        outcome.truncated_by = Some(Limit::Entries);
    } else if all > query.max_entries() {
        outcome.truncated_by.get_or_insert(Limit::MaxResults);
    }
    Ok(outcome)
}

/// Renders the text: one path per line, as many as fit.
pub(super) fn render(outcome: &ToolOutcome<ListResponse>, name: &str, budget: usize) -> Rendered {
    let response = &outcome.response;
    let within = if response.path == "." { String::new() } else { format!(" in {}", response.path) };
    let is_whole = !matches!(outcome.truncated_by, Some(limit) if limit != Limit::MaxResults);
    let notes = notes(outcome, None);
    if response.entries.is_empty() {
        let mut text = format!("No file has a name like {}{within}.", quoted(name));
        if let Some(hidden) = response.hidden_count {
            let names = count(hidden, "ignored or hidden name");
            let fit = if hidden == 1 { "fits" } else { "fit" };
            let include = outcome.names.fill("{list_directory.include_ignored}");
            let _ = write!(text, " But {names} {fit} (set {include} to list them).");
        }
        if !is_whole {
            text.push_str(
                " The search did not finish: there may be such names in directories that were not reached.",
            );
        }
        return Rendered::without_files(with_notes(text, &notes), false);
    }
    let at_least = if is_whole { "" } else { "at least " };
    let text = |shown: usize| {
        let names = count(response.entry_count, "name");
        let fit = if response.entry_count == 1 { "fits" } else { "fit" };
        let showing = match (shown as u64) < response.entry_count {
            true => format!(" (showing {}; narrow the name or the path)", grouped(shown as u64)),
            false => String::new(),
        };
        let mut text = format!("{at_least}{names} {fit} {}{within}{showing}:\n", quoted(name));
        for entry in &response.entries[..shown] {
            let mark = if entry.kind == "directory" { "/" } else { "" };
            let _ = writeln!(text, "{}{mark}", entry.path);
        }
        text
    };
    let fits = |shown: usize| text(shown).len() + notes_bytes(&notes) <= budget;
    let shown = max_that_fits(1..=response.entries.len(), fits);
    let mut named = ShownFiles::default();
    let files = response.entries[..shown].iter().filter(|entry| entry.kind == "file");
    files.for_each(|entry| named.named(&entry.path, 0));
    let is_cut = shown < response.entries.len();
    let text = with_notes(text(shown), &notes);
    Rendered { text, is_cut, hides_results: is_cut, shown: named.into_files() }
}
