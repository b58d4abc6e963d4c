//! `Search` without a limit: every record as it is found.

use std::borrow::Cow;
use std::ops::ControlFlow;

use forage_fs::Root;

use super::record::SearchRecord;
use super::request::{PreparedSearch, SearchRequest};
use super::{Search, SearchResponse, run};
use crate::arguments::refuse_pages;
use crate::context::Context;
use crate::error::ToolError;
use crate::outcome::ToolOutcome;
use crate::several::{in_turn, whole_path};

/// Runs a search for all there is and hands over the records of each file, in path order, until `receive` breaks off.
///
/// # Errors
/// Of [`Search`]; also for `max_results` and `cursor`, which are for pages, and for `best_first`, which can be told only of a number of
/// results.
pub fn each(
    context: &Context,
    request: SearchRequest,
    mut receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
) -> Result<ToolOutcome<SearchResponse>, ToolError> {
    in_turn::<Search>(context, &request, |turn, request| {
        let prepared = prepare_all(turn.context, request)?;
        let mut is_wanted = true;
        let outcome = run(turn.context, prepared, None, &mut |records| {
            is_wanted = receive(&named(records, turn.other)).is_continue();
            is_wanted
        })?;
        Ok((outcome, is_wanted))
    })
}

/// The records of a root, with whole paths where it is not the first.
fn named<'a>(records: &'a [SearchRecord], other: Option<&Root>) -> Cow<'a, [SearchRecord]> {
    let Some(root) = other else { return Cow::Borrowed(records) };
    let mut records = records.to_vec();
    records.iter_mut().for_each(|record| whole_path(root, &mut record.data.path.text));
    Cow::Owned(records)
}

fn prepare_all(context: &Context, request: SearchRequest) -> Result<PreparedSearch, ToolError> {
    refuse_pages(request.max_results, request.cursor.as_deref())?;
    let prepared = request.prepare(context, true)?;
    if prepared.best_first {
        return Err(ToolError::argument(
            "best_first",
            "the best of all can be told only with a limit on results; leave one of the two out",
        ));
    }
    Ok(prepared)
}
