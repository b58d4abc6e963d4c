//! Explains whether a file is searched, and which rule or limit prevents it.

use std::ops::ControlFlow;
use std::sync::Arc;

use forage_fs::{OpenError, RelPath, Root, SkipReason, WalkOptions, WalkStep, exclusion, walk};
use forage_search::{FileEvents, Pattern, PatternOptions, ScanOptions, search};
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::Call;
use crate::error::ToolError;
use crate::file_names::with_nearest;
use crate::text::absolute;
use crate::workspace::Workspace;

/// Whether a file is searched, and the reason if it is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PathExplanation {
    /// The root.
    pub root: String,
    /// The path below it.
    pub path: String,
    /// True if agents' searches read the file, or enter the directory.
    pub searched: bool,
    /// The reason, as in the counts of answers; null if the path is searched.
    pub reason: Option<&'static str>,
    /// The excluded file, directory or link: the path itself, or a directory above it.
    pub excluded: Option<String>,
    /// The rule with its file and line, the limit, or the error of the system.
    pub rule: Option<String>,
    /// The file or directory within the root that a link leads to.
    pub target: Option<String>,
    /// Number of lines; null unless it is a file that is searched.
    pub lines: Option<u64>,
    /// True if the index contains its current state; null without an index.
    pub indexed: Option<bool>,
    /// Bytes at its start that are in the ranked index, if that is not the whole file.
    pub ranked_bytes: Option<u64>,
}

/// Explains whether the searches of a workspace read a file.
///
/// # Errors
///
/// Fails if the path is outside of all roots, or does not exist. The error names similar paths.
pub fn why(workspace: &Workspace, path: &str) -> Result<PathExplanation, ToolError> {
    let call = &workspace.start_call();
    let target = call.place(Some(path))?.without_globs(&call.workspace.names)?;
    let (root, place) = (target.root, target.path);
    let mut explanation = PathExplanation {
        root: absolute(&root, &RelPath::root()),
        path: place.display().into_owned(),
        ..PathExplanation::default()
    };
    let options = call.walk_options();
    let excluded = exclusion(&root, &place, &options, &call.stop)
        .map_err(|error| with_nearest(call, Some(path), error.into()))?;
    // A file with secrets must stay closed, whatever other rules apply to it.
    if let Ok((real, false)) = root.locate(&place)
        && let Some(rule) = root.secrets().denies(&real)
        && excluded.as_ref().is_none_or(|excluded| excluded.reason != SkipReason::Symlink)
    {
        explanation.left_out(SkipReason::Denied, Some(rule.to_owned()));
        return Ok(explanation);
    }
    if let Some(excluded) = excluded {
        explanation.reason = Some(excluded.reason.name());
        explanation.excluded = Some(excluded.path.display().into_owned());
        explanation.rule = excluded.rule;
        if excluded.reason == SkipReason::Symlink
            && let Ok((real, _)) = root.locate(&place)
        {
            explanation.target = Some(real.display().into_owned());
        }
        return Ok(explanation);
    }
    match root.locate(&place) {
        Ok((_, true)) => explanation.searched = true,
        _ => explanation.read(call, &root, &place, &options)?,
    }
    Ok(explanation)
}

impl PathExplanation {
    /// Searches the file, to see if its content is skipped.
    fn read(
        &mut self,
        call: &Call,
        root: &Arc<Root>,
        place: &RelPath,
        options: &WalkOptions,
    ) -> Result<(), ToolError> {
        let every_line = Pattern::new("^", &PatternOptions::default())
            .map_err(|source| ToolError::Pattern { argument: "pattern", source })?;
        let scan = ScanOptions {
            count_only: true,
            max_file_bytes: call.limits.max_file_bytes,
            max_file_matches: usize::MAX,
            ..ScanOptions::default()
        };
        let mut lines = 0;
        let report = search(root, place, options, &every_line, &scan, &call.stop, |file: FileEvents| {
            lines += file.matches;
            ControlFlow::Continue(())
        })?;
        // The file is searched even if the outputs of a notebook in it are not.
        let skipped = report.skipped.iter().find(|(reason, _)| *reason != SkipReason::NotebookOutputs);
        if let Some((reason, _)) = skipped {
            let rule = match reason {
                SkipReason::TooLarge => {
                    call.limits.max_file_bytes.map(|bytes| format!("limits.max_file_bytes = {bytes}"))
                }
                SkipReason::Unreadable => report.unreadable.first().cloned(),
                SkipReason::Binary => Some("it contains a NUL byte".to_owned()),
                _ => None,
            };
            self.left_out(reason, rule);
            return Ok(());
        }
        if report.stopped.is_some() {
            let source = std::io::Error::other("the time limit was reached before it was read");
            return Err(OpenError::Io { path: self.path.clone(), source }.into());
        }
        (self.searched, self.lines) = (true, Some(lines));
        self.indexed = is_indexed(call, root, place, options);
        let bytes = root.open_file(place)?.size();
        let max = forage_rank::limits::FILE_BYTES as u64;
        self.ranked_bytes = (bytes > max).then_some(max);
        Ok(())
    }

    fn left_out(&mut self, reason: SkipReason, rule: Option<String>) {
        self.reason = Some(reason.name());
        self.excluded = Some(self.path.clone());
        self.rule = rule;
    }
}

/// Returns true if the index has read the file in its present state, and `None` without an index.
fn is_indexed(call: &Call, root: &Arc<Root>, place: &RelPath, options: &WalkOptions) -> Option<bool> {
    let index = call.workspace.index(root)?;
    // A search that reads every file does not wait for the index, so it may still be opening.
    index.wait_until_open(&call.stop);
    let mut seen = None;
    walk(
        root,
        place,
        options,
        &call.stop,
        || index.cursor(options),
        |cursor, entry, _| WalkStep::Item(cursor.lines(entry, u64::MAX).is_some(), 0),
        |is_indexed| {
            seen = Some(is_indexed);
            ControlFlow::Break(())
        },
    )
    .ok()?;
    seen
}
