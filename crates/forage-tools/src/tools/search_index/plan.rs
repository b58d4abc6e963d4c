//! The plan of a ranking: its scope, its limits, and the page that the caller wants.

use std::time::Instant;

use forage_rank::Ranking;

use super::scope::{RankScope, RankedRoots};
use super::{RankRequest, SearchIndex};
use crate::arguments::Clamp;
use crate::call::Call;
use crate::cursor::{Group, UnresolvedCursor, fingerprint};
use crate::error::ToolError;
use crate::limits;
use crate::tool::Tool as _;

/// The plan of a call, from its request.
pub(super) struct RankPlan<'a> {
    pub(super) call: &'a Call,
    pub(super) scope: RankScope,
    /// Tokens of code, if the caller set them.
    pub(super) asked_tokens: Option<u64>,
    /// Tokens of code for a ranking that is not a list of files; 0 for none.
    pub(super) wanted_tokens: u64,
    /// Number of files, if the caller set it.
    pub(super) asked_limit: Option<u64>,
    pub(super) explain: bool,
    pub(super) has_history: bool,
    /// Fingerprint that the cursors of this ranking are bound to.
    pub(super) bound: u64,
    pub(super) cursor: Option<UnresolvedCursor>,
    /// Warnings about numbers that were out of range.
    pub(super) warnings: Vec<String>,
}

impl<'a> RankPlan<'a> {
    /// Checks the arguments of a request.
    pub(super) fn new(call: &'a Call, request: &RankRequest) -> Result<Self, ToolError> {
        let mut clamp = Clamp::new(&call.workspace.names, SearchIndex::NAME);
        let max = limits::CODE_TOKENS_MAX;
        let asked_tokens =
            request.code_tokens.map(|tokens| clamp.number("code_tokens", Some(tokens), max, 0, max));
        // A caller that asks for rules or for the next page of a ranking will want files, not code.
        let is_about_files = request.explain == Some(true) || request.cursor.is_some();
        let by_default = || match is_about_files || tokens_that_fit(call) < limits::CODE_TOKENS_MIN {
            true => 0,
            false => call.limits.code_tokens,
        };
        let asked_limit = request.limit.map(|limit| {
            clamp.number("limit", Some(limit), limits::RANKED_FILES, 1, limits::RANKED_FILES_MAX)
        });
        let scope = RankScope::new(call, request)?;
        let first_place = &scope.places[0];
        let bound = scope.bound();
        let bound =
            fingerprint::<SearchIndex>(request, &first_place.root, &first_place.start, bound.as_deref());
        let parse = |text| UnresolvedCursor::parse(text, bound, Group::Root);
        let cursor = request.cursor.as_deref().map(parse).transpose()?;
        Ok(Self {
            call,
            scope,
            asked_tokens,
            wanted_tokens: asked_tokens.unwrap_or_else(by_default),
            asked_limit,
            explain: request.explain.unwrap_or(false),
            has_history: request.history.unwrap_or(true),
            bound,
            cursor,
            warnings: clamp.warnings,
        })
    }

    /// Returns true if only one root is ranked.
    pub(super) fn is_one(&self) -> bool {
        self.scope.places.len() == 1
    }

    /// Returns the number of files of a page with this many tokens of code.
    pub(super) fn limit_for(&self, tokens: u64) -> usize {
        // An answer with enough code names more files.
        let files = match tokens.min(tokens_that_fit(self.call)) >= limits::CODE_TOKENS_FOR_MANY {
            true => limits::CODE_FILES,
            false => limits::RANKED_FILES,
        };
        self.asked_limit.unwrap_or(files) as usize
    }

    /// Returns the number of ranked files from which the first page is chosen.
    pub(super) fn candidates(&self) -> usize {
        self.limit_for(self.wanted_tokens) * if self.wanted_tokens > 0 { limits::CODE_CANDIDATES } else { 1 }
    }

    /// Ranks the files in the scope.
    pub(super) fn rank(&self) -> Result<(RankedRoots<'_>, Ranking), ToolError> {
        // We ask for one more file than requested to see if there are more. For a further page we need the
        // whole ranking, because we must find the last file of the previous page in it.
        let files = self.cursor.as_ref().map_or(self.candidates() + 1, |_| forage_rank::limits::RESULTS);
        // The choice of code needs the scores of all chunks of a file.
        let chunks = if self.wanted_tokens > 0 { usize::MAX } else { limits::RANKED_CHUNKS.0 };
        let stop = self.call.stop.within(self.call.limits.timeout);
        let is_page = self.cursor.is_some();
        let (max, began) = ((files, chunks), Instant::now());
        self.scope.search(self.call, is_page, (&stop, began), max, self.has_history)
    }
}

/// Returns the tokens of code for which the text of an answer has room.
fn tokens_that_fit(call: &Call) -> u64 {
    (call.limits.text_bytes / limits::CODE_TOKEN_BYTES) as u64
}
