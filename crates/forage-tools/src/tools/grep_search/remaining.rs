//! The results after a page of `grep_search`: their number, their directories, and the cursor that leads to
//! them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use forage_fs::{RelPath, WalkOptions};
use forage_search::{FileEvents, ResumePoint, ScanOptions, search};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::line_search::LineSearch;
use super::{GrepFile, GrepResponse, is_whole};
use crate::cursor::{Cursor, Group};
use crate::error::ToolError;
use crate::limits;
use crate::lines::directory_of;
use crate::text::{clip, count};

/// Matches after a page.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) matches: u64,
    /// Files with these matches, except for the one in which the page ended.
    pub(super) files: u64,
    pub(super) searched: u64,
    /// The directories with the most matches first, limited to a useful number.
    pub(super) directories: Vec<GrepDirectory>,
    /// True if all matches were counted.
    pub(super) is_whole: bool,
}

/// Matches in a top-level directory, or at the top itself.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GrepDirectory {
    /// Below the root.
    pub path: String,
    /// Matching lines below it.
    pub match_count: u64,
    /// Files with matching lines below it.
    pub file_count: u64,
}

/// Counts of files and matches by directory.
#[derive(Default)]
pub(super) struct DirectoryCounts(BTreeMap<RelPath, (u64, u64)>);

impl DirectoryCounts {
    pub(super) fn add(&mut self, path: &RelPath, start_depth: usize, matches: u64) {
        let mut directory = path.parent().unwrap_or_else(RelPath::root);
        while directory.depth() > start_depth + 1 {
            directory = directory.parent().unwrap_or_else(RelPath::root);
        }
        // A tree can have any number of directories. Beyond this limit, we count the others as the root.
        if self.0.len() >= limits::GREP_DIRECTORIES_COUNTED && !self.0.contains_key(&directory) {
            directory = RelPath::root();
        }
        let (all, files) = self.0.entry(directory).or_default();
        (*all, *files) = (*all + matches, *files + 1);
    }

    pub(super) fn most_first(self) -> Vec<GrepDirectory> {
        let mut directories: Vec<GrepDirectory> = self
            .0
            .into_iter()
            .map(|(path, (match_count, file_count))| GrepDirectory {
                path: path.display().into_owned(),
                match_count,
                file_count,
            })
            .collect();
        directories.sort_by(|a, b| b.match_count.cmp(&a.match_count).then_with(|| a.path.cmp(&b.path)));
        directories.truncate(limits::GREP_DIRECTORIES_SHOWN);
        directories
    }
}

impl Rest {
    /// Counts the matches after `last`, as far as the time limit allows.
    pub(super) fn count(line_search: &LineSearch<'_>, last: &Cursor) -> Result<Self, ToolError> {
        let LineSearch { call, root, start, walk, .. } = line_search;
        let walk = WalkOptions { from: Some(last.path.clone()), ..walk.clone() };
        let scan = ScanOptions {
            count_only: true,
            invert: line_search.asked.invert,
            max_file_matches: usize::MAX,
            max_file_bytes: call.limits.max_file_bytes,
            after: Some(ResumePoint::Matches(last.path.clone(), last.line)),
            // The index describes the working tree, not another revision.
            index: call.workspace.index(root).filter(|_| line_search.texts.is_none()),
            stored: line_search.stored(),
            exhaustive: true,
            ..ScanOptions::default()
        };
        let stop = line_search.stop.within(limits::GREP_COUNT_TIME);
        let (mut rest, mut tally) = (Self::default(), DirectoryCounts::default());
        let report = search(root, start, &walk, line_search.pattern()?, &scan, &stop, |file: FileEvents| {
            if file.matches > 0 {
                rest.matches += file.matches;
                rest.files += u64::from(file.path != last.path);
                tally.add(&file.path, start.depth(), file.matches);
            }
            ControlFlow::Continue(())
        });
        if let Ok(report) = report {
            rest.searched = report.searched();
            rest.is_whole = is_whole(&report);
        }
        rest.directories = tally.most_first();
        Ok(rest)
    }
}

/// Builds a note with the number of matches in each directory that are not shown. There is no note for a
/// single directory.
pub(super) fn note(response: &GrepResponse, shown: u64) -> Option<String> {
    let mut directories: BTreeMap<Cow<'_, str>, (u64, u64)> = BTreeMap::new();
    for directory in &response.elsewhere {
        let of_directory = (directory.match_count, directory.file_count);
        directories.insert(Cow::Borrowed(&directory.path), of_directory);
    }
    let mut left = shown;
    for file in &response.files {
        let hidden = file.match_count - left.min(file.match_count);
        left -= file.match_count - hidden;
        if hidden > 0 {
            let (matches, files) = directories.entry(Cow::Owned(top(file, response.depth))).or_default();
            (*matches, *files) = (*matches + hidden, *files + 1);
        }
    }
    let mut directories: Vec<_> = directories.into_iter().collect();
    directories.sort_by(|(a, (max, _)), (b, (least, _))| least.cmp(max).then_with(|| a.cmp(b)));
    let counts: Vec<String> = directories
        .iter()
        .take(limits::GREP_DIRECTORIES_SHOWN)
        .map(|(path, (matches, files))| {
            format!("{} {matches} in {}", clip(path, limits::QUOTED_BYTES), count(*files, "file"))
        })
        .collect();
    let more = if directories.len() > counts.len() { "; …" } else { "" };
    (directories.len() > 1).then(|| format!("not shown, by directory: {}{more}", counts.join("; ")))
}

/// Finds the displayed directory of a file at this depth. If the file is higher up, this is its own
/// directory.
fn top(file: &GrepFile, depth: usize) -> String {
    let mut directory = directory_of(&file.path);
    for _ in depth..file.place.depth().saturating_sub(1) {
        directory = directory_of(&directory);
    }
    directory
}

/// Builds the cursor that continues after the first `shown` matches.
pub(super) fn cursor(response: &GrepResponse, shown: u64) -> Option<String> {
    if !response.has_pages {
        return None;
    }
    let mut left = shown;
    for file in &response.files {
        if left > file.match_count {
            left -= file.match_count;
            continue;
        }
        let mut matches = file.lines.iter().filter(|line| line.kind == "match");
        let line = matches.nth(usize::try_from(left).ok()?.checked_sub(1)?)?.line_number;
        return Some(Cursor { group: file.group, path: file.place.clone(), line }.encode(response.bound));
    }
    None
}

/// Builds the cursor that continues after all matches of a file.
pub(super) fn cursor_after(response: &GrepResponse, file: &GrepFile) -> String {
    Cursor { group: Group::Part(0), path: file.place.clone(), line: u64::MAX }.encode(response.bound)
}
