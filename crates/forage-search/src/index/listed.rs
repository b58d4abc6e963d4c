//! Applies an index to the listing of a watched tree. This selects the files that a search must visit without
//! walking the tree or reading the state of any file.

use std::cmp::Reverse;
use std::sync::Arc;

use forage_fs::{Entry, FileListing, ListingFilter, SkipReason};

use super::candidates::{LayerCandidates, may_match};
use super::numbers::NumberSet;
use super::segment::{Content, Segment};
use crate::notebook::is_notebook;

/// Maps the files of a listing to the layers of an index that know their current state.
#[derive(Debug)]
pub(super) struct Listed {
    listing: Arc<FileListing>,
    /// For each layer, the number in the listing of each of its files whose state is unchanged.
    numbers: Vec<Vec<u32>>,
    /// For each file of the listing, the layer that knows its text and the file's number there.
    places: Vec<Option<(u8, u32)>>,
    /// Files of the listing that must be visited for every query.
    unknown: NumberSet,
    binary: NumberSet,
    /// The sizes of the known files with their numbers, largest first.
    sizes: Vec<(Reverse<u64>, u32)>,
    /// Number of files that an update would add to the index.
    strangers: u64,
}

/// Marks a file of a layer that is not in the listing in the same state.
const NOT_LISTED: u32 = u32::MAX;

impl Listed {
    pub(super) fn new(listing: Arc<FileListing>, layers: &[Segment]) -> Self {
        let count = listing.files();
        let mut listed = Self {
            listing: Arc::clone(&listing),
            numbers: layers.iter().map(|layer| vec![NOT_LISTED; layer.len() as usize]).collect(),
            places: Vec::with_capacity(count as usize),
            unknown: NumberSet::none(count),
            binary: NumberSet::none(count),
            sizes: Vec::new(),
            strangers: 0,
        };
        let mut near = vec![0; layers.len()];
        let mut number = 0;
        listing.for_each(|path, state, is_hidden| {
            let known = layers.iter().enumerate().find_map(|(layer, segment)| {
                let file = segment.find(path, near[layer])?;
                near[layer] = file + 1;
                let (seen, content) = segment.state(file)?;
                (state == Some(seen)).then_some((layer, file, content))
            });
            match known {
                // The index contains a notebook's JSON, but a search looks at the text of its cells.
                Some((layer, file, content @ (Content::Indexed | Content::Binary))) if !is_notebook(path) => {
                    listed.numbers[layer][file as usize] = number;
                    listed.sizes.push((Reverse(state.map_or(0, |state| state.size)), number));
                    if content == Content::Binary {
                        listed.binary.insert(number);
                    }
                }
                Some((_, _, content)) => {
                    listed.unknown.insert(number);
                    listed.strangers += u64::from(content == Content::Young);
                }
                None => {
                    listed.unknown.insert(number);
                    listed.strangers += u64::from(state.is_some() && !is_hidden);
                }
            }
            let text = known.filter(|(.., content)| *content == Content::Indexed && !is_notebook(path));
            listed.places.push(text.and_then(|(layer, file, _)| Some((u8::try_from(layer).ok()?, file))));
            number += 1;
        });
        listed.sizes.sort_unstable();
        listed
    }

    pub(super) fn listing(&self) -> &Arc<FileListing> {
        &self.listing
    }

    pub(super) fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Chooses the files that a search must visit, given the candidates of each layer by query. Without
    /// candidates, these are all files that are searched.
    pub(super) fn choose(
        self: &Arc<Self>,
        candidates: Option<&[Vec<LayerCandidates>]>,
        max_file_bytes: Option<u64>,
    ) -> ListedFiles {
        let mut by_query = Vec::new();
        let mut visited = match candidates {
            Some(_) => self.unknown.clone(),
            None => NumberSet::all(self.listing.files()),
        };
        let queries = candidates.and_then(|layers| Some(layers.first()?.len())).unwrap_or(0);
        for query in 0..queries {
            let mut matching = self.unknown.clone();
            for (numbers, layer) in self.numbers.iter().zip(candidates.unwrap_or_default()) {
                layer[query].files.for_each(|file| matching.insert(numbers[file as usize]));
            }
            visited.unite(&matching);
            by_query.push(matching);
        }
        let mut binary = self.binary.clone();
        // Candidates never include binary files, because those have no parts.
        if candidates.is_none() {
            visited.subtract(&binary);
        }
        let mut too_large = NumberSet::none(self.listing.files());
        let limit = max_file_bytes.unwrap_or(u64::MAX);
        for (_, number) in self.sizes.iter().take_while(|(Reverse(size), _)| *size > limit) {
            too_large.insert(*number);
        }
        // The search itself counts the files that it visits.
        let mut unread_large = too_large.clone();
        unread_large.subtract(&visited);
        binary.subtract(&visited);
        binary.subtract(&too_large);
        let chosen = ListingFilter {
            visited: visited.into_words(),
            skipped: vec![
                (SkipReason::Binary, binary.into_words()),
                (SkipReason::TooLarge, unread_large.into_words()),
            ],
        };
        ListedFiles { listed: Arc::clone(self), chosen, by_query, too_large }
    }
}

/// A listing that replaces a walk, and the files of it that a search visits.
pub(crate) struct ListedFiles {
    listed: Arc<Listed>,
    pub(crate) chosen: ListingFilter,
    /// Candidate files by query; empty if they are unknown.
    by_query: Vec<NumberSet>,
    /// Files that are too large and are counted as such for every query.
    too_large: NumberSet,
}

impl ListedFiles {
    pub(crate) fn listing(&self) -> &FileListing {
        &self.listed.listing
    }

    /// Returns true if a file may match one of the queries selected by the bits of `wanted`. Returns `None`
    /// for unknown files, and for files that are counted as too large for every query.
    pub(crate) fn may_match(&self, entry: &Entry<'_>, wanted: u64) -> Option<bool> {
        let number = entry.number?;
        let is_known = !self.too_large.contains(number) && !self.listed.unknown.contains(number);
        is_known.then(|| self.by_query.is_empty() || may_match(&self.by_query, number, wanted))
    }

    /// Looks up the layer that knows the text of a file, and the file's number there.
    pub(super) fn place(&self, entry: &Entry<'_>) -> Option<(usize, u32)> {
        let (layer, file) = (*self.listed.places.get(entry.number? as usize)?)?;
        Some((usize::from(layer), file))
    }
}
