//! `grep_search` for a program: every file as it is found.

use std::ops::ControlFlow;

use forage_fs::{RelPath, WalkReport};
use forage_search::{Delivered, ScanOptions, search};

use super::{
    GrepFile, GrepOutput, GrepRequest, GrepResponse, GrepSearch, PreparedGrep, file_record, is_whole,
    scan_options, unseen,
};
use crate::arguments::refuse_pages;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::cursor::fingerprint;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::ToolOutcome;
use crate::place::no_file_fits;
use crate::several::{in_turn, whole_path};
use crate::verdict::CallVerdict;

/// Searches for all there is and hands over each file with matches, in path order, until `receive` breaks off. A file of very
/// many matches comes in several pieces, one after the other, so that what is held is bounded.
///
/// # Errors
/// Of [`GrepSearch`]; also for `max_results` and `cursor`, which are for pages.
pub(crate) fn each(
    context: &Context,
    request: GrepRequest,
    mut receive: impl FnMut(GrepFile) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    if request.output.is_some_and(|output| output != GrepOutput::Lines) {
        return Err(ToolError::argument("output", "all there is comes as lines; leave it out"));
    }
    refuse_pages(request.max_results, request.cursor.as_deref())?;
    in_turn::<GrepSearch>(context, &request, |turn, request| {
        let mut is_wanted = true;
        let outcome = one(turn.context, request, &mut |mut file| {
            turn.other.into_iter().for_each(|root| whole_path(root, &mut file.path));
            let flow = receive(file);
            is_wanted = flow.is_continue();
            flow
        })?;
        Ok((outcome, is_wanted))
    })
}

/// The same for one root.
fn one(
    context: &Context,
    request: GrepRequest,
    receive: &mut (dyn FnMut(GrepFile) -> ControlFlow<()> + Send),
) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let stop = context.stop.within(context.timeout);
    let PreparedGrep { root, start, pattern, mut walk, around, invert, globs, warnings } =
        request.prepare(context, &stop)?;
    let bound = fingerprint::<GrepSearch>(&request, &root, &start, globs.as_deref());
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let (mut matches, mut files) = (0, 0);
    // Where a file goes on of which a piece was handed over, by its last line.
    let mut given: Option<(RelPath, u64)> = None;
    let mut report: Option<WalkReport> = None;
    loop {
        let behind = given.take();
        walk.from = behind.as_ref().map(|(path, _)| path.clone());
        let after = behind.clone().map(|(path, line)| Delivered::Lines(path, line));
        let scan = scan_options(context, &root, around, limits::GREP_PIECE_MATCHES, after);
        let scan = ScanOptions { invert, ..scan };
        let scan = border.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
        let next = search(&root, &start, &walk, &pattern, &scan, &stop, |mut file| {
            let (record, _) = file_record(&mut file, &mut border);
            let Some(last) = record.lines.last().map(|line| line.line_number) else {
                return ControlFlow::Continue(());
            };
            matches += record.match_count;
            files += u64::from(behind.as_ref().is_none_or(|(path, _)| *path != file.path));
            receive(record)?;
            if file.more {
                given = Some((file.path, last));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        match &mut report {
            Some(report) => report.go_on(next),
            None => report = Some(next),
        }
        if given.is_none() {
            break;
        }
    }
    let report = report.unwrap_or_default();
    if globs.is_some() && report.visited == 0 && report.stopped.is_none() {
        return Err(no_file_fits(request.path.as_deref()));
    }
    let complete = is_whole(&report) && !report.broke_off;
    let not_searched = match matches == 0 && complete && !invert {
        true => unseen(context, (&root, &start), &walk, &pattern, &report, &stop),
        false => CallVerdict::none(),
    };
    let mut outcome = ToolOutcome::new(
        GrepResponse {
            path: start.display().into_owned(),
            match_count: matches,
            file_count: files,
            totals_exact: complete,
            files_searched: report.searched(),
            depth: start.depth() + 1,
            bound,
            not_searched,
            no_file_chosen: request.file_pattern.is_some() && report.visited == 0,
            ..GrepResponse::of(&request)
        },
        matches > 0,
    );
    outcome.warnings = warnings;
    outcome.add_report(&report);
    outcome.hidden = hidden;
    Ok(outcome)
}
