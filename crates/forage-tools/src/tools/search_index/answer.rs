//! The answer of a ranking: its records, warnings and next page.

use forage_fs::{RelPath, SkipReason, WalkOptions};
use forage_rank::{RankIndex, Ranking};

use super::page::RankPage;
use super::plan::RankPlan;
use super::scope::{RankedPlace, RankedRoot, RankedRoots};
use super::{
    RankRequest, RankResponse, code, excluded_matches, is_number, lead, read_in_part, unseen_phrases,
};
use crate::arguments::split;
use crate::cursor::{Cursor, Group};
use crate::error::ToolError;
use crate::file_names::unfit_globs;
use crate::outcome::{Limit, ToolOutcome};
use crate::place::no_file_fits;
use crate::sanitize::sanitize;
use crate::text::grouped;
use crate::verdict::{CallVerdict, HiddenMatches};

/// The results of a call, from which we assemble its answer.
pub(super) struct RankAnswer<'a> {
    pub(super) plan: &'a RankPlan<'a>,
    pub(super) ranked: &'a RankedRoots<'a>,
    pub(super) ranking: Ranking,
    pub(super) page: RankPage,
}

impl RankAnswer<'_> {
    /// Builds the outcome of the call.
    pub(super) fn assemble(mut self, request: RankRequest) -> Result<ToolOutcome<RankResponse>, ToolError> {
        let RankPlan { call, scope, .. } = self.plan;
        let found = self.found();
        // A provisional search knows only the files that match, so it can't say that there are no others.
        let no_file_chosen = !found && self.ranked.has_no_file();
        if no_file_chosen && scope.globs.is_some() {
            return Err(no_file_fits(request.path.as_deref()));
        }
        let unfit = self.unfit_globs(request.file_pattern.as_deref());
        let excluded = self.ranked.count_excluded()?;
        let not_searched = self.not_searched(excluded)?;
        if self.page.code.is_some() && call.stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let next_cursor = self.next_cursor();
        let response = self.response(request, no_file_chosen, not_searched);
        let mut outcome = ToolOutcome::new(response, found);
        outcome.warnings.clone_from(&self.plan.warnings);
        self.add_code_notes(&mut outcome);
        outcome.warnings.extend(scope.notes.iter().cloned().chain(unfit));
        self.add_root_notes(&mut outcome);
        self.add_file_notes(&mut outcome);
        outcome.skipped.add_many(SkipReason::Ignored, excluded);
        outcome.next_cursor = next_cursor;
        self.add_limits(&mut outcome);
        outcome.hidden = self.page.hidden;
        Ok(outcome)
    }

    /// Returns true if the page has a file.
    fn found(&self) -> bool {
        !self.page.files.is_empty()
    }

    /// Builds a warning about globs that match no file, if several globs were given.
    fn unfit_globs(&self, file_pattern: Option<&str>) -> Option<String> {
        let RankPlan { call, scope, .. } = self.plan;
        let is_checked = self.found() && self.plan.cursor.is_none() && self.plan.is_one();
        let globs = file_pattern.filter(|_| is_checked)?;
        let RankedPlace { root, start, only, .. } = &scope.places[0];
        let options = WalkOptions { only: only.clone(), ..call.walk_options() };
        let argument = ("file_pattern", "{search_index.file_pattern}");
        unfit_globs(call, (root, start), options, argument, &split(globs))
    }

    /// For an answer without files: searches the files that were left out. `excluded` is the number of those
    /// that the configuration excludes.
    fn not_searched(&self, excluded: u64) -> Result<CallVerdict, ToolError> {
        let RankPlan { call, scope, cursor, .. } = self.plan;
        let mut not_searched = match self.found() || cursor.is_some() || excluded == 0 {
            true => CallVerdict::none(),
            false => excluded_matches(call, self.ranked, &scope.query)?,
        };
        if !self.found() {
            not_searched.hidden_matches.extend(self.page.too_large.clone().map(HiddenMatches::by_setting));
        }
        Ok(not_searched)
    }

    /// Builds the cursor of the next page, if there is one.
    fn next_cursor(&self) -> Option<String> {
        // An incomplete ranking must not have a next page: that page would belong to another ranking.
        let is_whole = !self.ranked.is_provisional() && self.ranked.failures.is_empty();
        let last = self.page.last.filter(|_| self.page.is_cut && is_whole)?;
        let last = self.ranking.files.get(last)?;
        let path = RelPath::parse(&last.path, &RelPath::root()).ok()?;
        let group = Group::Root(u8::try_from(self.ranked.root(last)?.nth).ok()?);
        Some(Cursor { group, path, line: self.page.end as u64 }.encode(self.plan.bound))
    }

    /// Builds the records, and takes their parts out of the ranking and the page.
    fn response(
        &mut self,
        request: RankRequest,
        no_file_chosen: bool,
        not_searched: CallVerdict,
    ) -> RankResponse {
        let found = self.found();
        let Self { plan, ranked, ranking, page } = self;
        let places = &plan.scope.places;
        let is_provisional = ranked.is_provisional();
        RankResponse {
            query: request.query,
            path: places[0].shown_start(),
            roots: match plan.is_one() {
                true => Vec::new(),
                false => places.iter().map(RankedPlace::root_path).collect(),
            },
            files: std::mem::take(&mut page.files),
            like: None,
            similar: Vec::new(),
            similar_count: None,
            matching_files: ranking.matching as u64,
            files_searched: ranked.indexes().map(RankIndex::files).sum(),
            provisional: is_provisional,
            // Until we have read the whole tree, we can't say that something is missing from it. This also
            // applies to `unknown_words`.
            weak: found && !is_provisional && ranking.is_weak(),
            lead: lead(ranking),
            strength: ranking.strength,
            unknown_words: std::mem::take(&mut ranking.unknown)
                .into_iter()
                .filter(|word| !is_provisional && !is_number(word))
                .collect(),
            own_names: if plan.explain { std::mem::take(&mut ranking.own_names) } else { Vec::new() },
            understood: std::mem::take(&mut ranking.understood),
            ignored: std::mem::take(&mut ranking.ignored),
            no_file_chosen,
            history: match plan.explain && plan.has_history {
                true => ranked.indexes().map(|index| sanitize(&index.history_note())).collect(),
                false => Vec::new(),
            },
            left_out: std::mem::take(&mut page.left_out),
            continued: plan.cursor.is_some(),
            not_searched,
            is_list: ranking.is_list,
            is_translated: ranking.is_translated,
            code: page.code.take(),
        }
    }

    /// Adds the warnings about code that is missing.
    fn add_code_notes(&self, outcome: &mut ToolOutcome<RankResponse>) {
        let call = self.plan.call;
        let unmet = self.plan.asked_tokens.filter(|tokens| *tokens > 0);
        outcome.warnings.extend(unmet.and_then(|tokens| code::fewer_tokens(tokens, call.limits.text_bytes)));
        let Some(code) = &outcome.response.code else { return };
        let is_over = !code.is_whole;
        outcome.warnings.extend(code::about_code(&outcome.response.files, &call.workspace.names));
        if is_over {
            outcome.truncated_by = self.ranked.stop.check().map(Limit::from);
            outcome.warnings.push("there was no time to read the code of all these files".to_owned());
        }
    }

    /// Adds the reports of the roots, and the reasons why some were not ranked.
    fn add_root_notes(&self, outcome: &mut ToolOutcome<RankResponse>) {
        let (is_one, first) = (self.plan.is_one(), &self.plan.scope.places[0]);
        outcome.root = (is_one && first.is_other).then(|| (first.root_path(), true));
        for RankedRoot { place, ranked, .. } in &self.ranked.roots {
            let before = outcome.warnings.len();
            outcome.add_report(&ranked.report);
            outcome.warnings[before..]
                .iter_mut()
                .for_each(|it| *it = place.root_note(std::mem::take(it), is_one));
            outcome.warnings.extend(ranked.warning.clone().map(|warning| place.root_note(warning, is_one)));
        }
        outcome.warnings.extend(self.ranked.failures.iter().map(|failure| sanitize(failure)));
    }

    /// Adds the files that were skipped, or not searched completely.
    fn add_file_notes(&self, outcome: &mut ToolOutcome<RankResponse>) {
        let names = &self.plan.call.workspace.names;
        // Without any file, `not_searched` contains this note.
        let too_large = self.page.too_large.as_ref().filter(|_| !outcome.response.files.is_empty());
        outcome.warnings.extend(too_large.map(|files| format!("left out despite matching: {files}")));
        let in_part = self.ranked.indexes().map(RankIndex::files_in_part).sum();
        outcome.warnings.extend(read_in_part(in_part, names));
        outcome.warnings.extend(unseen_phrases(self.ranking.not_looked_at, names));
        outcome.skipped.merge(&self.page.skipped);
        let binary = self.ranked.indexes().map(|index| index.wordless_files() - index.unread_files()).sum();
        outcome.skipped.add_many(SkipReason::Binary, binary);
    }

    /// Sets the limit that cut the ranking, if one did.
    fn add_limits(&self, outcome: &mut ToolOutcome<RankResponse>) {
        let RankPage { end, is_cut, .. } = self.page;
        let max = forage_rank::limits::RESULTS;
        let is_at_end = end >= max && self.ranking.matching > max;
        if is_cut || is_at_end {
            outcome.truncated_by = Some(Limit::MaxResults);
        }
        if !self.ranked.failures.is_empty() {
            outcome.truncated_by = Some(Limit::Root);
        }
        if is_at_end && !is_cut {
            let max = grouped(max as u64);
            let narrow = self
                .plan
                .call
                .workspace
                .names
                .fill("{search_index.path}, {search_index.file_pattern} or {search_index.query}");
            outcome.warnings.push(format!("a ranking ends after {max} files; narrow {narrow}"));
        }
    }
}
