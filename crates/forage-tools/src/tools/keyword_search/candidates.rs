//! Adds the first files of `search_index` to those that the terms find.
//!
//! A term that matches too much is dropped or shown in part, so we may lose the file that it names. The
//! ranking has no such limit, because it knows the rarity of each word and which files are named after it.

use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root};
use forage_rank::{FileHit, QueryWords, Ranking};
use forage_search::keyword::{KeywordFindings, KeywordOptions};

use crate::call::Call;
use crate::error::ToolError;
use crate::file_text::lossy;
use crate::limits;
use crate::tools::search_index::{RankRequest, rank};

/// Maximum files of the ranking, and parts of each.
const UNION: (usize, usize) = (limits::UNION_FILES, limits::UNION_CHUNKS);

/// The results of a ranking for a search.
#[derive(Default)]
pub(super) struct RankedCandidates {
    /// Ranked paths in order, including those that a term matches.
    pub(super) paths: Vec<RelPath>,
    /// Number of files that no term had found.
    pub(super) added: u64,
    /// Warnings about the ranking.
    pub(super) warnings: Vec<String>,
}

/// Ranks the files below `start` for a question, and adds the first ones to the findings. If this fails, we
/// only warn about it: the findings of the terms remain valid.
///
/// # Errors
///
/// Fails if the call was cancelled.
pub(super) fn add_ranked(
    call: &Call,
    root: &Arc<Root>,
    start: &RelPath,
    question: &str,
    gathered: &mut KeywordFindings,
    (options, stop): (&KeywordOptions, &Stop),
) -> Result<RankedCandidates, ToolError> {
    let path = (!start.is_root()).then(|| start.display().into_owned());
    let request = RankRequest { path, ..RankRequest::new(question) };
    let (ranking, is_provisional) = match rank(call, &request, UNION, stop) {
        Ok(ranked) => ranked,
        Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
        Err(error) => {
            let why = match stop.check() {
                Some(_) => "time ran out".to_owned(),
                None => error.to_string(),
            };
            let warning = format!("the ranking added no files: {why}");
            return Ok(RankedCandidates { warnings: vec![warning], ..RankedCandidates::default() });
        }
    };
    let Ranking { files, words, .. } = ranking;
    let known = |hit: FileHit| Some((RelPath::parse(&hit.path, &RelPath::root()).ok()?, hit));
    let (paths, hits): (Vec<RelPath>, Vec<FileHit>) = files.into_iter().filter_map(known).unzip();
    let choose = |index: usize, text: &[u8]| best_lines(&hits[index], &words, text);
    let added = gathered.add_ranked(root, start, &paths, options, stop, &choose);
    let mut warnings = Vec::new();
    if is_provisional {
        warnings.push(
            "the ranked index is not ready: its files come from a search for the words only".to_owned(),
        );
    }
    if stop.check().is_some() {
        warnings.push("time ran out before all ranked files were read".to_owned());
    }
    Ok(RankedCandidates { paths, added: added as u64, warnings })
}

/// Selects the most informative lines of a text from the best parts of its file.
fn best_lines(hit: &FileHit, words: &QueryWords, text: &[u8]) -> Vec<usize> {
    let text = lossy(text.into());
    let lines: Vec<&str> = text.split('\n').collect();
    let mut chosen: Vec<usize> = Vec::new();
    for chunk in &hit.chunks {
        chosen.extend(words.best_of_chunk(chunk, &lines, limits::UNION_LINES));
    }
    if chosen.is_empty() {
        // The file was ranked for its name, so we take its first line.
        chosen.push(0);
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
