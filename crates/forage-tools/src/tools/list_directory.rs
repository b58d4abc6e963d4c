//! `list_directory`: lists a tree with line counts, or files by name.

pub(super) mod changes;
mod find;
mod map;
mod revision;
mod symbols;

use crate::head::Counts;
use crate::multi_root::{RootScope, RootShares, whole_path};
use forage_fs::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

pub use changes::{ChangedDefinition, ChangedFile, CompanionFile, ListChanges};
pub use map::{ListMap, MappedDefinition, MappedDirectory, MappedFile};

use forage_base::Stop;
use forage_fs::{
    Contents, DecodedText, Entry, EntryKind, OpenError, ReadBuffer, RelPath, SkipReason, Skipped,
    WalkOptions, WalkReport, WalkStep, count_lines, decode, display_path, walk,
};
use forage_search::index::LookupCursor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{ArgumentAlias, ArgumentAliases, Clamp};
use crate::call::Call;
use crate::changes::ChangedFiles;
use crate::error::ToolError;
use crate::limits;
use crate::notes::{notes_bytes, notes_in_groups, with_notes};
use crate::outcome::{Limit, Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::place::PathTarget;
use crate::sanitize::path_bytes;
use crate::shown::Rendered;
use crate::text::{count, grouped};
use crate::tool::{Tool, ToolSpec};

/// The `list_directory` tool.
pub struct ListDirectory;

/// The arguments of `list_directory`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ListRequest {
    /// Directory to list (default: the project root).
    pub path: Option<String>,
    /// Find files by name: a glob ("*.rs", "src/**/*_test.go"), a name, a part of one, or nearly one.
    pub name: Option<String>,
    /// List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too.
    pub changed: Option<String>,
    /// Map the tree in this many tokens: directories and most used definitions.
    pub tokens: Option<i64>,
    /// List subdirectories too.
    pub recursive: Option<bool>,
    /// Levels below it, 0 to 20 (default: 2 when recursive).
    pub max_depth: Option<i64>,
    /// Show what each file defines.
    pub symbols: Option<bool>,
    /// List ignored and hidden names too.
    pub include_ignored: Option<bool>,
    /// The tokens of one root's map, if a call for several roots has divided them.
    #[serde(skip)]
    share: Option<u64>,
}

impl ListRequest {
    /// Creates a request with the defaults: one level of the root.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        path: String,
        name: String,
        changed: String,
        tokens: i64,
        recursive: bool,
        max_depth: i64,
        symbols: bool,
        include_ignored: bool,
    }
}

/// The records that `list_directory` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ListResponse {
    /// Below the root.
    pub path: String,
    /// Levels of subdirectories that were listed.
    pub max_depth: u64,
    /// Directories below `max_depth`, which were not listed.
    pub not_entered: u64,
    /// Number of entries, shown or not.
    pub entry_count: u64,
    /// In path order.
    pub entries: Vec<ListEntry>,
    /// Names of directories that were not entered, wherever they occur.
    pub pruned: Vec<String>,
    /// If no file was found by name: ignored or hidden files with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_count: Option<u64>,
    /// The requested name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The requested change set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ListChanges>,
    /// The requested map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<ListMap>,
}

impl ListResponse {
    /// Creates a response without entries, for all levels.
    fn new(start: &RelPath) -> Self {
        Self {
            path: start.display().into_owned(),
            max_depth: limits::LIST_DEPTH_MAX,
            not_entered: 0,
            entry_count: 0,
            entries: Vec::new(),
            pruned: Vec::new(),
            hidden_count: None,
            name: None,
            changes: None,
            map: None,
        }
    }
}

/// A name in a directory.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ListEntry {
    /// Below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// `directory`, `file` or `symlink`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Number of lines, for a text file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Top-level names that the file defines, in line order; if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// Number of further names that are not in `symbols`.
    #[serde(skip_serializing_if = "crate::lines::is_zero")]
    pub symbols_more: usize,
    /// Why there is no line count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Target of a link, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip)]
    place: RelPath,
    /// True if the listing goes into this directory.
    #[serde(skip)]
    is_entered: bool,
    /// Last name of the path, as the tree shows it.
    #[serde(skip)]
    name: String,
}

impl ListEntry {
    fn new(path: RelPath, kind: EntryKind) -> Self {
        Self {
            path: path.display().into_owned(),
            path_bytes: path_bytes(&path),
            kind: match kind {
                EntryKind::Directory => "directory",
                EntryKind::Symlink => "symlink",
                EntryKind::File => "file",
            },
            lines: None,
            symbols: Vec::new(),
            symbols_more: 0,
            note: None,
            target: None,
            name: RelPath::root().join(path.file_name()).display().into_owned(),
            place: path,
            is_entered: false,
        }
    }
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const ABOUT: RootScope = RootScope::PerRoot;
    const INCLUDES_NOISE: Option<&'static str> = Some("{list_directory.include_ignored} lists them");
    const FOREIGN: &'static [ArgumentAliases] = &[
        (&["directory", "directory_path", "dir", "dir_path"], ArgumentAlias::Rename("path")),
        (&["target_directory", "relative_workspace_path", "folder", "uri"], ArgumentAlias::Rename("path")),
        (&["depth"], ArgumentAlias::Rename("max_depth")),
        (&["hidden", "show_hidden", "include_hidden", "all"], ArgumentAlias::Rename("include_ignored")),
        (&["respect_git_ignore"], ArgumentAlias::Negate("include_ignored")),
        (&["pattern", "glob", "glob_pattern", "query", "file_pattern"], ArgumentAlias::Rename("name")),
        (&["filename"], ArgumentAlias::Rename("name")),
        (&["max_tokens", "token_budget", "budget"], ArgumentAlias::Rename("tokens")),
    ];
    type Request = ListRequest;
    type Response = ListResponse;

    fn spec() -> ToolSpec {
        ToolSpec {
            method: "list".into(),
            distinct_name: "list_project_directory".into(),
            is_quick: true,
            ..ToolSpec::new(
                Self::NAME,
                "List a directory",
                include_str!("list_directory.md").trim_ascii_end(),
            )
        }
    }

    fn shares(call: &Call, request: &ListRequest) -> Option<RootShares<ListRequest>> {
        map::shares(call, request)
    }

    fn path(request: &ListRequest) -> Option<&str> {
        request.path.as_deref()
    }

    fn run(call: &Call, request: ListRequest) -> Result<ToolOutcome<ListResponse>, ToolError> {
        let mut clamp = Clamp::new(&call.workspace.names, Self::NAME);
        let max = limits::LIST_DEPTH_MAX;
        let depth = clamp.number("max_depth", request.max_depth, limits::LIST_DEPTH, 0, max);
        // A depth without `recursive` also asks for subdirectories.
        let recursive = request.recursive.unwrap_or(request.max_depth.is_some());
        let levels = if recursive { usize::try_from(depth + 1).unwrap_or(1) } else { 1 };
        let include_ignored = request.include_ignored.unwrap_or(false);
        let PathTarget { root, path: start, note, revision, .. } =
            call.place(request.path.as_deref())?.without_globs(&call.workspace.names)?;
        if let Some(revision) = &revision {
            if request.changed.is_some() || request.symbols == Some(true) || request.tokens.is_some() {
                let problem =
                    "at another revision, changes, symbols and a map can't be listed; omit those arguments";
                return Err(ToolError::argument("path", problem));
            }
            let name = request.name.filter(|name| !name.trim().is_empty());
            let list = revision::RevisionList { root: &root, start: &start, revision, name, levels };
            return list.run(call, clamp.warnings);
        }
        check_is_directory(call, &root, &start)?;
        if let Some(tokens) = request.tokens {
            let map = map::MapTool::new(call, &request, tokens, &mut clamp)?;
            return map.run((&root, &start), clamp.warnings.into_iter().chain(note).collect());
        }
        let changed = request.changed.filter(|range| !range.trim().is_empty());
        if let Some(name) = request.name.filter(|name| !name.trim().is_empty()) {
            let mut warnings: Vec<String> = clamp.warnings.into_iter().chain(note).collect();
            if request.recursive.is_some() || request.max_depth.is_some() || request.symbols == Some(true) {
                warnings.push("with `name`, all levels are searched and only paths are shown".to_owned());
            }
            let only = changed.map(|range| ChangedFiles::read(&root, &range, &call.stop)).transpose()?;
            return find::run(call, (&root, &start), (name, only), include_ignored, warnings);
        }
        if let Some(range) = changed {
            let warnings = clamp.warnings.into_iter().chain(note).collect();
            return changes::run(call, (&root, &start), &range, warnings);
        }
        let warnings = clamp.warnings.into_iter().chain(note).collect();
        let symbols = request.symbols.unwrap_or(false);
        TreeList { root: &root, start: &start, levels, include_ignored, symbols }.run(call, warnings)
    }
}

/// Fails unless `start` is a directory. The error says what to call instead.
fn check_is_directory(call: &Call, root: &Root, start: &RelPath) -> Result<(), ToolError> {
    let (_, is_directory) = root.locate(start)?;
    if is_directory {
        return Ok(());
    }
    let what = match root.open_file(start) {
        Err(OpenError::NotRegular { .. }) => "not a directory",
        _ => "a file",
    };
    let problem = format!(
        "{} is {what}; list the directory that contains it{}",
        start.display(),
        call.workspace.names.fill("[[, or read a file with {read_file}]]")
    );
    Err(ToolError::argument("path", problem))
}

/// A listing of a tree.
struct TreeList<'a> {
    root: &'a Arc<Root>,
    start: &'a RelPath,
    /// Number of levels of the tree.
    levels: usize,
    include_ignored: bool,
    symbols: bool,
}

impl TreeList<'_> {
    fn run(&self, call: &Call, warnings: Vec<String>) -> Result<ToolOutcome<ListResponse>, ToolError> {
        let Self { root, start, levels, symbols, .. } = *self;
        let stop = call.stop.within(call.limits.timeout);
        let mut tree = self.read(call, &stop)?;
        let not_entered = tree.mark_entered(root, start.depth() + levels);
        let ListedTree { entries, too_many, report } = tree;
        // If time ran out before the first name, we know nothing about the directory, not even that it is
        // empty.
        let found = report.stopped.is_none() || !entries.is_empty();
        let mut outcome = ToolOutcome::new(
            ListResponse {
                not_entered,
                max_depth: levels as u64 - 1,
                entry_count: entries.len() as u64,
                pruned: report.pruned.clone(),
                entries,
                ..ListResponse::new(start)
            },
            found,
        );
        outcome.warnings = warnings;
        if symbols {
            let left =
                symbols::add_names(call, root, &mut outcome.response.entries, &stop, &mut outcome.hidden);
            outcome.warnings.extend(left);
        }
        outcome.add_report(&report);
        if too_many {
            outcome.truncated_by = Some(Limit::Entries);
        }
        Ok(outcome)
    }

    /// Reads the entries with their line counts.
    fn read(&self, call: &Call, stop: &Stop) -> Result<ListedTree, ToolError> {
        let Self { root, start, levels, include_ignored, .. } = *self;
        let options = WalkOptions {
            hidden: include_ignored,
            no_ignore: include_ignored,
            max_depth: levels,
            all_entries: true,
            ..call.walk_options()
        };
        let index = call.workspace.index(root);
        let options = index.as_ref().map(|index| index.walk_options(&options)).unwrap_or(options);
        let mut entries = Vec::new();
        let mut too_many = false;
        let report = walk(
            root,
            start,
            &options,
            stop,
            || FileLineCounter::new(index.as_ref().map(|index| index.cursor(&options))),
            |counter, entry, skipped| {
                let record = describe(entry, counter, skipped);
                WalkStep::Item(record, size_of::<ListEntry>() + 64)
            },
            |record| {
                too_many = entries.len() >= limits::LIST_ENTRIES_READ;
                if too_many {
                    return ControlFlow::Break(());
                }
                entries.push(record);
                ControlFlow::Continue(())
            },
        )?;
        if call.stop.is_cancelled() {
            // The call was cancelled, so no one waits for hundreds of thousands of entries.
            entries.truncate(limits::LIST_ENTRIES);
        }
        Ok(ListedTree { entries, too_many, report })
    }
}

/// The entries of a tree.
struct ListedTree {
    entries: Vec<ListEntry>,
    /// True if there are more entries than we read.
    too_many: bool,
    report: WalkReport,
}

impl ListedTree {
    /// Marks the directories above the depth `deepest` that the listing goes into. Returns the number of
    /// directories that are only too deep for it.
    fn mark_entered(&mut self, root: &Root, deepest: usize) -> u64 {
        let Self { entries, report, .. } = self;
        // We know only the names of skipped directories, and other directories may have the same names.
        let entered: BTreeSet<RelPath> = match report.pruned.is_empty() {
            true => BTreeSet::new(),
            false => entries.iter().filter_map(|record| record.place.parent()).collect(),
        };
        let is_pruned =
            |record: &ListEntry| report.pruned.contains(&record.name) && !entered.contains(&record.place);
        for record in entries.iter_mut() {
            let is_above = record.kind == "directory" && record.place.depth() < deepest;
            record.is_entered = is_above && !is_pruned(record);
        }
        if report.skipped.get(SkipReason::Unreadable) > 0 {
            for record in entries.iter_mut().filter(|record| record.is_entered) {
                if let Err(OpenError::Io { .. }) = root.names(&record.place, 1) {
                    record.note = Some("unreadable".to_owned());
                }
            }
        }
        let is_too_deep =
            |record: &&ListEntry| record.kind == "directory" && !record.is_entered && !is_pruned(record);
        entries.iter().filter(is_too_deep).count() as u64
    }
}

fn describe(entry: &Entry<'_>, counter: &mut FileLineCounter<'_>, skipped: &mut Skipped) -> ListEntry {
    let mut record = ListEntry::new(entry.path.clone(), entry.kind);
    match entry.kind {
        EntryKind::Directory => {}
        EntryKind::Symlink => {
            let target = entry.link_target().unwrap_or_default();
            record.target = Some(display_path(&target).into_owned());
        }
        EntryKind::File => match counter.count(entry, skipped) {
            Ok(lines) => record.lines = Some(lines),
            Err(uncounted) => record.note = Some(uncounted.to_string()),
        },
    }
    record
}

/// The reason why the lines of a file were not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UncountedLines {
    /// The file has this many bytes.
    TooLarge(u64),
    /// The file is not text, or can't be read.
    Unread(&'static str),
}

impl fmt::Display for UncountedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(bytes) => write!(f, "{} bytes", grouped(*bytes)),
            Self::Unread(reason) => f.write_str(reason),
        }
    }
}

/// Per-thread state for counting lines.
pub(crate) struct FileLineCounter<'a> {
    index: Option<LookupCursor<'a>>,
    buffer: ReadBuffer,
}

impl<'a> FileLineCounter<'a> {
    pub(crate) fn new(index: Option<LookupCursor<'a>>) -> Self {
        Self { index, buffer: ReadBuffer::default() }
    }

    /// Counts the lines of a text file, or returns the reason why they were not counted.
    pub(crate) fn count(&mut self, entry: &Entry<'_>, skipped: &mut Skipped) -> Result<u64, UncountedLines> {
        let max = limits::LIST_COUNT_BYTES;
        if let Some(lines) = self.index.as_mut().and_then(|index| index.lines(entry, max as u64)) {
            return Ok(lines);
        }
        let mut reasons = Skipped::default();
        let Some(mut file) = entry.open(&mut reasons) else {
            skipped.merge(&reasons);
            let reason = reasons.iter().next().map_or("unreadable", |(reason, _)| match reason.name() {
                "denied" => "not read: may hold secrets",
                name => name,
            });
            return Err(UncountedLines::Unread(reason));
        };
        match file.read_into(&mut self.buffer, max) {
            Err(_) => Err(UncountedLines::Unread("unreadable")),
            Ok(Contents::TooLarge) => Err(UncountedLines::TooLarge(file.size())),
            Ok(Contents::Whole) => match decode(&self.buffer) {
                DecodedText::Binary => Err(UncountedLines::Unread("binary")),
                DecodedText::Text { bytes, .. } => Ok(count_lines(&bytes)),
            },
        }
    }
}

/// A directory of the tree with its entries.
#[derive(Default)]
struct TreeNode<'a> {
    children: Vec<&'a ListEntry>,
}

impl Render for ListResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        if let Some(map) = &mut self.map {
            map.redact(redactor);
            return;
        }
        if self.name.is_some() {
            // Here each path is displayed as a whole, so we must redact it as a whole.
            for record in &mut self.entries {
                if redactor.name(&mut record.path) {
                    record.path_bytes = None;
                }
            }
            return;
        }
        // Ancestors of the current entry whose names contain secrets.
        let mut above: Vec<RelPath> = Vec::new();
        for record in &mut self.entries {
            above.retain(|place| record.place.starts_with(place));
            if redactor.name(&mut record.name) {
                above.push(record.place.clone());
            }
            if !above.is_empty() {
                // The secret was counted in the name of the directory.
                record.path = redactor.uncounted(&record.path);
                record.path_bytes = None;
            }
            if let Some(target) = &mut record.target {
                redactor.name(target);
            }
        }
        for name in &mut self.pruned {
            redactor.name(name);
        }
    }

    fn name_whole_paths(&mut self, root: &Root) {
        let entries = self.entries.iter_mut().map(|entry| &mut entry.path);
        let mapped = self.map.iter_mut().flat_map(ListMap::paths);
        std::iter::once(&mut self.path).chain(entries).chain(mapped).for_each(|path| whole_path(root, path));
    }

    fn counts(&self) -> Counts<'_> {
        Counts::plain(self.entry_count, "entries", 0)
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        if let Some(name) = &response.name {
            return find::render(outcome, name, budget);
        }
        if let Some(changes) = &response.changes {
            return changes::render(outcome, changes, budget);
        }
        if let Some(map) = &response.map {
            return map::render(outcome, map, budget);
        }
        let (about, mut notes) = notes_in_groups(outcome);
        let others = response.pruned.iter().filter(|name| !outcome.noise_directories.contains(name));
        let others: Vec<&str> = others.map(String::as_str).collect();
        let others = (!others.is_empty()).then(|| format!("not entered: {}", others.join(", ")));
        let directories = count(response.not_entered, "directory");
        let levels = count(response.max_depth + 1, "level");
        let deeper = (response.not_entered > 0).then(|| {
            let more =
                outcome.names.fill("{list_directory.recursive} and {list_directory.max_depth} show more");
            format!("{levels}; not listed: the contents of {directories} marked …; {more}")
        });
        let about: Vec<String> = deeper.into_iter().chain(others).chain(about).collect();
        if !about.is_empty() {
            notes.insert(0, about.join("; "));
        }
        if outcome.truncated_by == Some(Limit::Entries) {
            notes
                .insert(0, "the tree has more entries than are read at once; list a subdirectory".to_owned());
        }
        let mut entries = limits::LIST_ENTRIES;
        let nodes = nodes(response);
        let mut symbols = response.entries.iter().any(|entry| !entry.symbols.is_empty());
        // We drop symbols first, and then reduce the number of entries until the text fits. This needs
        // several attempts, since names vary widely in length.
        loop {
            let text = tree(response, outcome.found, &nodes, (entries, symbols));
            let is_cut = (entries as u64) < response.entry_count;
            if symbols && text.len() + notes_bytes(&notes) > budget {
                symbols = false;
                notes.insert(0, "the answer has no room for symbols; list fewer files".to_owned());
                continue;
            }
            let room = is_cut.then(|| {
                let (shown, all) = (grouped(entries as u64), count(response.entry_count, "entry"));
                format!("the answer has room for {shown} of {all}; list a subdirectory, or fewer levels")
            });
            let notes: Vec<String> = room.into_iter().chain(notes.iter().cloned()).collect();
            if text.len() + notes_bytes(&notes) <= budget || entries <= 20 {
                // A listing should not count as displaying any particular file.
                return Rendered::without_files(with_notes(text, &notes), is_cut);
            }
            entries = entries * 3 / 4;
        }
    }
}

/// Groups the entries by directory.
fn nodes(response: &ListResponse) -> BTreeMap<RelPath, TreeNode<'_>> {
    let mut nodes: BTreeMap<RelPath, TreeNode<'_>> = BTreeMap::new();
    for record in &response.entries {
        let parent = record.place.parent().unwrap_or_else(RelPath::root);
        nodes.entry(parent).or_default().children.push(record);
    }
    nodes
}

/// Renders the tree with at most `budget` entries. Upper levels take precedence.
fn tree(
    response: &ListResponse,
    is_read: bool,
    nodes: &BTreeMap<RelPath, TreeNode<'_>>,
    (budget, symbols): (usize, bool),
) -> String {
    let top = response.entries.iter().map(|record| record.place.depth()).min().unwrap_or(1);
    // Number of children displayed per directory. We assign it level by level until the budget is used up.
    let mut shown: BTreeMap<&RelPath, usize> = BTreeMap::new();
    let mut left = budget;
    let mut levels: Vec<(&RelPath, usize)> =
        nodes.iter().map(|(path, node)| (path, node.children.len())).collect();
    levels.sort_by_key(|(path, _)| (path.depth(), (*path).clone()));
    for (path, children) in levels {
        let take = children.min(left);
        shown.insert(path, take);
        left -= take;
    }
    let mut text = match response.path.as_str() {
        "." => "./\n".to_owned(),
        path => format!("{path}/\n"),
    };
    let start = response.entries.first().and_then(|first| {
        let mut place = first.place.clone();
        while place.depth() >= top {
            place = place.parent()?;
        }
        Some(place)
    });
    match start {
        Some(start) => draw((nodes, symbols), &shown, &start, "", &mut text),
        None if is_read => text.push_str("(empty)\n"),
        None => text.push_str("(not read)\n"),
    }
    text
}

fn draw(
    (nodes, symbols): (&BTreeMap<RelPath, TreeNode<'_>>, bool),
    shown: &BTreeMap<&RelPath, usize>,
    at: &RelPath,
    indent: &str,
    text: &mut String,
) {
    let Some(node) = nodes.get(at) else { return };
    let take = shown.get(at).copied().unwrap_or(0);
    let more = node.children.len() - take;
    for (index, record) in node.children.iter().take(take).enumerate() {
        let last = index + 1 == take && more == 0;
        let (branch, deeper) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let name = &record.name;
        let _ = match (record.kind, record.lines, &record.note) {
            ("directory", ..) if record.is_entered && !nodes.contains_key(&record.place) => {
                let why = record.note.as_deref().unwrap_or("nothing to list");
                writeln!(text, "{indent}{branch}{name}/ ({why})")
            }
            ("directory", ..) if !record.is_entered => writeln!(text, "{indent}{branch}{name}/ …"),
            ("directory", ..) => writeln!(text, "{indent}{branch}{name}/"),
            ("symlink", ..) => {
                writeln!(text, "{indent}{branch}{name} -> {}", record.target.as_deref().unwrap_or_default())
            }
            (_, Some(lines), _) => {
                writeln!(
                    text,
                    "{indent}{branch}{name} ({}){}",
                    count(lines, "line"),
                    if symbols { symbols::shown(record) } else { String::new() }
                )
            }
            (_, None, note) => {
                writeln!(text, "{indent}{branch}{name} ({})", note.as_deref().unwrap_or("unreadable"))
            }
        };
        draw((nodes, symbols), shown, &record.place, &format!("{indent}{deeper}"), text);
    }
    if more > 0 {
        let _ = writeln!(text, "{indent}└── … and {} more", grouped(more as u64));
    }
}
