//! Order of the files found, without a model. This is deterministic and depends only on their content.

use std::cell::{Cell, OnceCell, RefCell};

use forage_base::Stop;
use forage_fs::{RelPath, Root};
use forage_rank::tree::{UpdateEffort, read_files};
use forage_rank::{RankedSearch, search};
use forage_redact::{RedactionReport, Redactor};
use forage_search::keyword::KeywordFindings;

use super::lexical;
use crate::call::Call;
use crate::limits;

/// Builds the question for the ranking: the query, and those terms that are words.
pub(super) fn question(query: &str, terms: &[String]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '/' | ' ');
    let words = terms.iter().map(String::as_str).filter(|term| term.chars().all(is_word));
    // In a ranking query, quotes, `path:` and `-word` are filters. A caller that searches by terms does not
    // mean them.
    let plain = query.replace(['"', ':'], " ").replace(" -", " ");
    std::iter::once(plain.as_str()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The results of a search, and their order, which we compute on first use.
pub(super) struct OrderedMatches<'a> {
    pub(super) root: &'a Root,
    pub(super) gathered: &'a KeywordFindings,
    /// The query, with those terms that are words.
    question: String,
    /// Paths in the order of a ranking of all files.
    ranked: &'a [RelPath],
    effort: UpdateEffort,
    /// Removes secrets from the displayed lines.
    pub(super) redactor: &'a Redactor,
    /// The secrets that were removed.
    pub(super) hidden: RefCell<RedactionReport>,
    order: OnceCell<Vec<usize>>,
    /// True if there was no time to rank the files, so that their order depends on the speed of the machine.
    pub(super) is_unranked: Cell<bool>,
}

impl<'a> OrderedMatches<'a> {
    pub(super) fn new(
        root: &'a Root,
        gathered: &'a KeywordFindings,
        question: String,
        ranked: &'a [RelPath],
        call: &'a Call,
        stop: &Stop,
    ) -> Self {
        let effort = call.effort(stop);
        let (redactor, hidden) = (&*call.workspace.redactor, RefCell::default());
        let (order, is_unranked) = (OnceCell::new(), Cell::new(false));
        Self { root, gathered, question, ranked, effort, redactor, hidden, order, is_unranked }
    }

    /// Sorts all files, the best first, and returns their indexes. We rank the best files by matching lines
    /// as `search_index` would rank them if there were no other files. The rest follows. If all files were
    /// ranked, the first ones of that ranking come first.
    pub(super) fn order(&self) -> &[usize] {
        self.order.get_or_init(|| {
            let mut order = lexical::rank(self.gathered);
            let max = order.len().min(limits::LEXICAL_RANKED);
            match self.ranked(&order[..max]) {
                Some(ranked) => order[..max].copy_from_slice(&ranked),
                None => self.is_unranked.set(true),
            }
            if !self.ranked.is_empty() {
                let place = |file: &usize| {
                    let path = &self.gathered.files[*file].path;
                    self.ranked.iter().position(|ranked| ranked == path).unwrap_or(usize::MAX)
                };
                order.sort_by_cached_key(place);
            }
            order
        })
    }

    /// Ranks some of the files. Returns `None` if there was no time for this.
    fn ranked(&self, files: &[usize]) -> Option<Vec<usize>> {
        // This limit starts now and not with the call, because a model may have been asked before.
        let effort =
            UpdateEffort { stop: self.effort.stop.within(limits::LEXICAL_TIME), ..self.effort.clone() };
        let paths: Vec<RelPath> = files.iter().map(|&file| self.gathered.files[file].path.clone()).collect();
        let index = read_files(self.root, &paths, &effort).ok()?;
        let stop = &effort.stop;
        let is_over = || stop.check().is_some();
        let request = RankedSearch {
            stop: &is_over,
            ..RankedSearch::new(&self.question, forage_rank::limits::RESULTS)
        };
        let ranking = search(&index, &request).ok().filter(|ranking| !ranking.stopped)?;
        let place = |file: &usize| {
            let path = self.gathered.files[*file].path.display();
            ranking.files.iter().position(|hit| hit.path == path).unwrap_or(usize::MAX)
        };
        // This sort is stable, so files without any word of the question come last in their previous order.
        let mut ranked = files.to_vec();
        ranked.sort_by_cached_key(place);
        Some(ranked)
    }
}
