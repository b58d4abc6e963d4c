//! `grep_search` by files: their paths, or how many matching lines each has.

use std::ops::ControlFlow;

use super::{GrepFile, GrepFound, GrepRequest, GrepResponse, GrepRun};
use crate::arguments::Clamp;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::cursor::Cursor;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};

pub(super) fn run(context: &Context, request: &GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::default();
    let most = limits::GREP_MATCHES_MAX;
    let max_files = clamp.number("max_results", request.max_results, limits::GREP_FILES, 1, most);
    let run = GrepRun::new(context, request)?;
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let mut files: Vec<GrepFile> = Vec::new();
    let mut is_full = false;
    let report = run.search(&run.scan(true, usize::MAX), |file| {
        if file.matches == 0 {
            return ControlFlow::Continue(());
        }
        is_full = files.len() as u64 == max_files;
        if is_full {
            return ControlFlow::Break(());
        }
        let (path, path_bytes) = border.path(&file.path);
        let (place, match_count) = (file.path, file.matches);
        files.push(GrepFile { place, path, path_bytes, match_count, lines: Vec::new() });
        ControlFlow::Continue(())
    })?;
    // All of a file was counted.
    let last = files.last().filter(|_| is_full).map(|file| Cursor {
        distance: 0,
        path: file.place.clone(),
        line: u64::MAX,
    });
    let rest = last.as_ref().map(|last| run.rest(last)).unwrap_or_default();
    // One more is known of.
    let more = u64::from(is_full);
    let matches = files.iter().map(|file| file.match_count).sum::<u64>() + rest.matches.max(more);
    let totals = (matches, files.len() as u64 + rest.files.max(more));
    let found = GrepFound { files, totals, rest, last, limit: is_full.then_some(Limit::MaxResults) };
    run.finish(&report, found, hidden, clamp.warnings)
}
