//! `grep_search` for a program: every file as it is found.

use std::ops::ControlFlow;

use forage_fs::{RelPath, WalkReport};
use forage_search::{Delivered, ScanOptions};

use super::{GrepFile, GrepFound, GrepOutput, GrepRequest, GrepResponse, GrepRun, GrepSearch, file_record};
use crate::arguments::refuse_pages;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::ToolOutcome;
use crate::several::{in_turn, whole_path};

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
    let mut run = GrepRun::new(context, &request)?;
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let mut totals = (0, 0);
    // Where a file goes on of which a piece was handed over, by its last line.
    let mut given: Option<(RelPath, u64)> = None;
    let mut report: Option<WalkReport> = None;
    loop {
        let behind = given.take();
        run.prepared.walk.from = behind.as_ref().map(|(path, _)| path.clone());
        let after = behind.clone().map(|(path, line)| Delivered::Lines(path, line));
        let scan = ScanOptions { after, ..run.scan(false, limits::GREP_PIECE_MATCHES) };
        let scan = border.widen(scan, Some(limits::GREP_LINE_CHARACTERS));
        let next = run.search(&scan, |mut file| {
            let (record, _) = file_record(&mut file, &mut border);
            let Some(last) = record.lines.last().map(|line| line.line_number) else {
                return ControlFlow::Continue(());
            };
            totals.0 += record.match_count;
            totals.1 += u64::from(behind.as_ref().is_none_or(|(path, _)| *path != file.path));
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
    let found = GrepFound { totals, ..GrepFound::default() };
    run.finish(&report.unwrap_or_default(), found, hidden, Vec::new())
}
