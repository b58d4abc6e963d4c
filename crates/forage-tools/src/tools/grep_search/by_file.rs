//! `grep_search` by files: their paths, or how many matching lines each has.

use std::ops::ControlFlow;

use forage_search::{Delivered, ScanOptions, search};

use super::request::PreparedGrep;
use super::rest::Rest;
use super::{GrepFile, GrepRequest, GrepResponse, GrepSearch, is_whole, scan_options, unseen};
use crate::arguments::Clamp;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::cursor::{Cursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::place::no_file_fits;
use crate::verdict::CallVerdict;

pub(super) fn run(context: &Context, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::default();
    let most = limits::GREP_MATCHES_MAX;
    let max_files = clamp.number("max_results", request.max_results, limits::GREP_FILES, 1, most);
    let stop = context.stop.within(context.timeout);
    let PreparedGrep { root, start, pattern, mut walk, invert, globs, warnings, .. } =
        request.prepare(context, &stop)?;
    let bound = fingerprint::<GrepSearch>(&request, &root, &start, globs.as_deref());
    let cursor = request.cursor.as_deref().map(|text| Cursor::decode(text, bound)).transpose()?;

    walk.from = cursor.as_ref().map(|cursor| cursor.path.clone());
    let after = cursor.as_ref().map(|cursor| Delivered::Matches(cursor.path.clone(), cursor.line));
    let scan =
        ScanOptions { count_only: true, invert, ..scan_options(context, &root, (0, 0), usize::MAX, after) };
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let mut files: Vec<GrepFile> = Vec::new();
    let mut is_full = false;
    let report = search(&root, &start, &walk, &pattern, &scan, &stop, |file| {
        if file.matches == 0 {
            return ControlFlow::Continue(());
        }
        is_full = files.len() as u64 == max_files;
        if is_full {
            return ControlFlow::Break(());
        }
        let (path, path_bytes) = border.path(&file.path);
        files.push(GrepFile {
            place: file.path,
            path,
            path_bytes,
            match_count: file.matches,
            lines: Vec::new(),
        });
        ControlFlow::Continue(())
    })?;
    if globs.is_some() && report.visited == 0 && report.stopped.is_none() {
        return Err(no_file_fits(request.path.as_deref()));
    }
    let complete = is_whole(&report);
    // All of a file was counted.
    let last = files.last().filter(|_| is_full).map(|file| Cursor {
        distance: 0,
        path: file.place.clone(),
        line: u64::MAX,
    });
    let rest = match &last {
        Some(last) => Rest::count(context, (&root, &start), &walk, (&pattern, invert), last, &stop),
        None => Rest::default(),
    };
    // One more is known of.
    let more = u64::from(is_full);
    let match_count = files.iter().map(|file| file.match_count).sum::<u64>() + rest.matches.max(more);
    let file_count = files.len() as u64 + rest.files.max(more);
    let found = !files.is_empty();
    let not_searched = match !found && complete && cursor.is_none() && !invert {
        true => unseen(context, (&root, &start), &walk, &pattern, &report, &stop),
        false => CallVerdict::none(),
    };
    let mut outcome = ToolOutcome::new(
        GrepResponse {
            path: start.display().into_owned(),
            match_count,
            file_count,
            totals_exact: complete && (!is_full || rest.is_whole) && cursor.is_none(),
            files_searched: report.searched().max(rest.searched),
            files,
            elsewhere: rest.directories,
            depth: start.depth() + 1,
            bound,
            continued: cursor.is_some(),
            not_searched,
            no_file_chosen: request.file_pattern.is_some() && report.visited == 0,
            ..GrepResponse::of(&request)
        },
        found,
    );
    outcome.warnings = [clamp.warnings, warnings].concat();
    outcome.add_report(&report);
    outcome.next_cursor = last.map(|last| last.encode(bound));
    outcome.hidden = hidden;
    if is_full {
        outcome.truncated_by = Some(Limit::MaxResults);
    }
    Ok(outcome)
}
