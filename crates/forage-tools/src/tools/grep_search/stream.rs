//! `grep_search` over what comes from elsewhere than a file.

use std::io::Read;

use forage_fs::{RelPath, SkipReason};
use forage_search::{ScanOptions, search_stream};

use super::request::PreparedGrep;
use super::{GrepFile, GrepOutput, GrepRequest, GrepResponse, file_record, scan_options};
use crate::arguments::Clamp;
use crate::border::{Border, Hidden};
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Answer, Limit, ToolOutcome};
use crate::verdict::CallVerdict;

/// Searches what `reader` has, to its end or to the last line that is shown, and calls it `name`. Nothing of it is kept, so
/// that no cursor leads on.
///
/// # Errors
/// An argument can't be used: those that are about files, and uses of a name, which are told by files.
pub fn stream(
    context: &Context,
    request: GrepRequest,
    name: &RelPath,
    reader: &mut dyn Read,
) -> Result<Answer, ToolError> {
    let of_files = [
        ("file_pattern", request.file_pattern.is_some()),
        ("cursor", request.cursor.is_some()),
        ("output", request.output == Some(GrepOutput::Uses)),
    ];
    if let Some((argument, _)) = of_files.iter().find(|(_, is_given)| *is_given) {
        return Err(ToolError::argument(argument, "it is about files, and this is none; leave it out"));
    }
    let output = request.output.unwrap_or_default();
    let mut clamp = Clamp::default();
    let most = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, most);
    let stop = context.stop.within(context.timeout);
    let PreparedGrep { root, pattern, around, invert, warnings, .. } = request.prepare(context, &stop)?;
    let mut hidden = Hidden::default();
    let mut border = Border::new(&context.redactor, &mut hidden);
    let lines = usize::try_from(max_results).unwrap_or(usize::MAX);
    let scan = match output {
        GrepOutput::Lines => ScanOptions { invert, ..scan_options(context, &root, around, lines, None) },
        _ => {
            ScanOptions { count_only: true, invert, ..scan_options(context, &root, (0, 0), usize::MAX, None) }
        }
    };
    let scan = match output {
        GrepOutput::Lines => border.widen(scan, Some(limits::GREP_LINE_CHARACTERS)),
        _ => scan,
    };
    let (found, skipped) = search_stream(reader, name, &pattern, &scan, &stop);
    let ended = stop.check();
    let is_full = found.as_ref().is_some_and(|file| file.more);
    let files: Vec<GrepFile> = found
        .into_iter()
        .map(|mut file| {
            let matches = file.matches;
            let (record, _) = file_record(&mut file, &mut border);
            GrepFile {
                match_count: if output == GrepOutput::Lines { record.match_count } else { matches },
                ..record
            }
        })
        .collect();
    let shown: u64 = files.iter().map(|file| file.match_count).sum();
    let is_text = skipped.is_empty();
    let mut outcome = ToolOutcome::new(
        GrepResponse {
            path: name.display().into_owned(),
            // One more is known of.
            match_count: shown + u64::from(is_full),
            file_count: files.len() as u64,
            totals_exact: !is_full && ended.is_none() && is_text,
            files_searched: u64::from(skipped.get(SkipReason::Binary) == 0),
            files,
            has_pages: false,
            not_searched: CallVerdict { complete: is_text && ended.is_none(), ..CallVerdict::none() },
            ..GrepResponse::of(&request)
        },
        shown > 0,
    );
    outcome.warnings = [clamp.warnings, warnings].concat();
    outcome.skipped = skipped;
    outcome.hidden = hidden;
    outcome.names = std::sync::Arc::clone(&context.names);
    outcome.truncated_by = ended.map(Limit::from).or(is_full.then_some(Limit::MaxResults));
    Ok(Answer::of(outcome, context.text_bytes))
}
