//! The order of the files that were found, without a model: deterministic, from what the files say.

use std::cell::{OnceCell, RefCell};

use forage_base::Stop;
use forage_fs::{RelPath, Root};
use forage_llm::Redactor;
use forage_rank::tree::{UpdateEffort, read_files};
use forage_rank::{RankedSearch, search};
use forage_search::keyword::KeywordFindings;

use super::lexical;
use crate::border::Hidden;
use crate::context::Context;
use crate::limits;

/// What is to be found, in words: the query, and those terms that are words.
pub(super) fn question(query: &str, terms: &[String]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '/' | ' ');
    let words = terms.iter().map(String::as_str).filter(|term| term.chars().all(is_word));
    // Filters are not what somebody who asks for files by terms has in mind.
    let plain = query.replace(['"', ':'], " ").replace(" -", " ");
    std::iter::once(plain.as_str()).chain(words).collect::<Vec<_>>().join(" ")
}

/// What a search has found, and its order, which is made when somebody asks for it.
pub(super) struct OrderedMatches<'a> {
    pub(super) root: &'a Root,
    pub(super) gathered: &'a KeywordFindings,
    /// The question, with those terms that are words.
    question: String,
    /// Files in the order in which the ranking of all files has them.
    ranked: &'a [RelPath],
    effort: UpdateEffort,
    /// Takes secrets out of the lines that are shown.
    pub(super) redactor: &'a Redactor,
    /// What it took out.
    pub(super) hidden: RefCell<Hidden>,
    order: OnceCell<Vec<usize>>,
}

impl<'a> OrderedMatches<'a> {
    pub(super) fn new(
        root: &'a Root,
        gathered: &'a KeywordFindings,
        question: String,
        ranked: &'a [RelPath],
        context: &'a Context,
        stop: &Stop,
    ) -> Self {
        let effort = context.effort(stop);
        let (redactor, hidden) = (&*context.redactor, RefCell::default());
        Self { root, gathered, question, ranked, effort, redactor, hidden, order: OnceCell::new() }
    }

    /// Indices of all files, the best first. The best by their matching lines are ranked as `search_index` ranks files,
    /// as if there were no others; the rest follows. Where all files were ranked, the first of those stand first.
    pub(super) fn order(&self) -> &[usize] {
        self.order.get_or_init(|| {
            let mut order = lexical::rank(self.gathered);
            let most = order.len().min(limits::LEXICAL_RANKED);
            if let Some(ranked) = self.ranked(&order[..most]) {
                order[..most].copy_from_slice(&ranked);
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

    /// Some files in the order of the ranking; `None` where it can't be had in time.
    fn ranked(&self, files: &[usize]) -> Option<Vec<usize>> {
        // From now on: a model may have taken its time before somebody asks.
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
        // What no word of the question is in stays behind, in the order in which it came.
        let mut ranked = files.to_vec();
        ranked.sort_by_cached_key(place);
        Some(ranked)
    }
}
