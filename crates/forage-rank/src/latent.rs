//! Compares texts by meaning instead of by their exact words.
//!
//! This is latent semantic indexing (Deerwester and others, “Indexing by Latent Semantic Analysis”, 1990).
//! Words that occur in the same places in public projects have nearby vectors in a space of [`DIMENSIONS`].
//! The vector of a text is the sum of those of its words. So a file can be near a question even if it
//! contains none of the question's words. The vectors were learned offline by `bench/latent.py`, which names
//! the projects. They are part of the program: nothing is fetched, and no text that we read changes them.

use std::sync::LazyLock;

use hashbrown::HashMap;

/// Dimensions of the space.
pub(crate) const DIMENSIONS: usize = 128;

/// Number of 64-bit integers per vector.
pub(crate) const COLUMNS: usize = DIMENSIONS / 8;

/// Weight of a word in the path, relative to one in the text.
pub(crate) const PATH_SHARE: u32 = 4;

/// The learned vocabulary. It starts with the number of words and their total length (32 bits each,
/// little-endian). The sorted words follow, separated by line feeds. Each word then has two bytes for its
/// weights in a file and in a question, and [`DIMENSIONS`] bytes for its vector.
static LEARNED: &[u8] = include_bytes!("latent.bin");

/// A word with its vector.
#[derive(Clone, Copy, Debug)]
struct KnownWord {
    /// The weights in a file and in a question.
    weights: [f32; 2],
    place: &'static [u8; DIMENSIONS],
}

static WORDS: LazyLock<HashMap<&'static str, KnownWord>> = LazyLock::new(|| learned().unwrap_or_default());

fn learned() -> Option<HashMap<&'static str, KnownWord>> {
    let (count, rest) = LEARNED.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (weights, places) = rest.split_at_checked(2 * count)?;
    let (places, []) = places.as_chunks() else { return None };
    let words = std::str::from_utf8(text).ok()?.split('\n').zip(weights.as_chunks::<2>().0).zip(places);
    let known =
        words.map(|((word, weights), place)| (word, KnownWord { weights: weights.map(f32::from), place }));
    let words: HashMap<_, _> = known.collect();
    (words.len() == count && places.len() == count).then_some(words)
}

/// Returns true if this stem is in the learned vocabulary.
pub(crate) fn is_known_word(stem: &str) -> bool {
    WORDS.contains_key(stem)
}

/// The vector of a text as stored in the index. All zeros if no word of the text is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatentVector([i8; DIMENSIONS]);

impl LatentVector {
    pub(crate) fn to_columns(self) -> [u64; COLUMNS] {
        let mut columns = [0; COLUMNS];
        for (column, part) in columns.iter_mut().zip(self.0.as_chunks::<8>().0) {
            *column = u64::from_le_bytes(part.map(i8::cast_unsigned));
        }
        columns
    }

    pub(crate) fn from_columns(columns: [u64; COLUMNS]) -> Self {
        let mut place = [0; DIMENSIONS];
        for (part, column) in place.as_chunks_mut::<8>().0.iter_mut().zip(columns) {
            *part = column.to_le_bytes().map(u8::cast_signed);
        }
        Self(place)
    }

    fn is_nowhere(&self) -> bool {
        self.0 == [0; DIMENSIONS]
    }
}

/// The kind of a text. Words of questions have other weights than words of files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextKind {
    File,
    Question,
}

/// The vector of a text while words are being added.
#[derive(Debug)]
pub(crate) struct LatentText {
    sum: [f32; DIMENSIONS],
}

impl Default for LatentText {
    fn default() -> Self {
        Self { sum: [0.0; DIMENSIONS] }
    }
}

impl LatentText {
    /// Adds a word by its stem.
    pub(crate) fn push(&mut self, stem: &str, of: TextKind, share: f32) {
        let Some(known) = WORDS.get(stem) else { return };
        let share = share * known.weights[of as usize];
        for (sum, &part) in self.sum.iter_mut().zip(known.place) {
            *sum += share * f32::from(part.cast_signed());
        }
    }

    /// Scales the sum to a stored vector, which keeps only the direction.
    pub(crate) fn place(&self) -> LatentVector {
        let max = self.sum.iter().fold(0.0_f32, |max, part| max.max(part.abs()));
        if max == 0.0 {
            return LatentVector([0; DIMENSIONS]);
        }
        LatentVector(self.sum.map(|part| (part * f32::from(i8::MAX) / max).round() as i8))
    }
}

/// A sum of vectors. We add whole numbers, so that the order of addition can't change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatentSum {
    sum: [i64; DIMENSIONS],
    count: u32,
}

impl Default for LatentSum {
    fn default() -> Self {
        Self { sum: [0; DIMENSIONS], count: 0 }
    }
}

impl LatentSum {
    pub(crate) fn push(&mut self, place: &LatentVector) {
        if !place.is_nowhere() {
            self.count += 1;
            self.sum.iter_mut().zip(place.0).for_each(|(sum, part)| *sum += i64::from(part));
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.iter_mut().zip(other.sum).for_each(|(sum, part)| *sum += part);
    }
}

/// Additional files that we assume at the origin, because the mean of a few files says little.
const FILES_OF_NOTHING: f64 = 30.0;

/// A question, to be compared with the files of an index.
#[derive(Debug)]
pub(crate) struct LatentQuery {
    /// A vector of length 1, or zeros if no word is known.
    direction: [f32; DIMENSIONS],
    /// The mean of all files. We subtract it, as it can't distinguish one file from another.
    middle: [f32; DIMENSIONS],
}

impl LatentQuery {
    pub(crate) fn new(text: &LatentText, all: &LatentSum) -> Self {
        let length = text.sum.iter().map(|part| part * part).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let count = f64::from(all.count) + FILES_OF_NOTHING;
        Self {
            direction: text.sum.map(|part| part / length),
            middle: all.sum.map(|part| (part as f64 / count) as f32),
        }
    }

    /// Computes the cosine of the angle between the question and a file. Negative values and unknown texts
    /// become 0.
    pub(crate) fn similarity(&self, place: &LatentVector) -> f32 {
        if place.is_nowhere() {
            return 0.0;
        }
        // Eight separate sums let the compiler use vector instructions.
        let (mut along, mut square) = ([0.0_f32; 8], [0.0_f32; 8]);
        let parts = self.direction.as_chunks::<8>().0.iter().zip(self.middle.as_chunks::<8>().0);
        for ((direction, middle), place) in parts.zip(place.0.as_chunks::<8>().0) {
            for index in 0..8 {
                let from_middle = f32::from(place[index]) - middle[index];
                along[index] += direction[index] * from_middle;
                square[index] += from_middle * from_middle;
            }
        }
        let length = square.iter().sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        (along.iter().sum::<f32>() / length).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
