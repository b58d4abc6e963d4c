//! The table of senses and the function words of each language.

use std::borrow::Cow;
use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::latent::is_known_word;
use crate::tokens::{is_question_word, stem, words};

/// The rows of the table: English words, then those of each language in the order of [`LANGUAGES`].
static SENSES: &str = include_str!("senses.txt");
/// The same for Thai, Khmer and Lao. Each row begins with the first word of a row of [`SENSES`].
static SOUTHEAST_ASIA: &str = include_str!("senses_southeast_asia.txt");
/// The function words, one language per row: its code, its prepositions, and all others.
static FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// A language with function words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Polish,
    Russian,
    Chinese,
    Japanese,
    Korean,
    Dutch,
    Turkish,
    Thai,
    Khmer,
    Lao,
}

/// The languages in the order of the table's columns. Dutch and Turkish have no column, but only function
/// words. Those of Southeast Asia have a table of their own.
const LANGUAGES: [(Language, &str); 15] = [
    (Language::German, "de"),
    (Language::French, "fr"),
    (Language::Spanish, "es"),
    (Language::Portuguese, "pt"),
    (Language::Italian, "it"),
    (Language::Polish, "pl"),
    (Language::Russian, "ru"),
    (Language::Chinese, "zh"),
    (Language::Japanese, "ja"),
    (Language::Korean, "ko"),
    (Language::Dutch, "nl"),
    (Language::Turkish, "tr"),
    (Language::Thai, "th"),
    (Language::Khmer, "km"),
    (Language::Lao, "lo"),
];

/// The languages in the order of the columns of [`SOUTHEAST_ASIA`].
const SOUTHEAST_ASIAN: [Language; 3] = [Language::Thai, Language::Khmer, Language::Lao];

impl Language {
    /// Returns true if this language does not separate its words by spaces, or attaches particles to them.
    fn is_unspaced(self) -> bool {
        matches!(self, Self::Chinese | Self::Japanese | Self::Korean) || self.is_southeast_asian()
    }

    pub(super) fn is_southeast_asian(self) -> bool {
        SOUTHEAST_ASIAN.contains(&self)
    }
}

/// Returns the languages in Latin script.
pub(super) fn latin_languages() -> impl Iterator<Item = Language> {
    let is_latin = |language: &Language| *language != Language::Russian && !language.is_unspaced();
    LANGUAGES.into_iter().map(|(language, _)| language).filter(is_latin)
}

/// Minimum length, in bytes, of a function word that identifies its language. Shorter ones may be
/// abbreviations (`ci`, `io`).
const TELLING_FUNCTION: usize = 3;
/// The evidence of a shorter function word, or of one that is also an English word.
const SHARED: f32 = 0.5;
/// Minimum length, in bytes, of an entry that identifies its language.
const TELLING_LETTERS: usize = 5;

/// Minimum number of letters in a part of a compound.
const SHORTEST_PART: usize = 4;
/// Maximum number of letters between two parts of a compound.
const LINK_LETTERS: usize = 3;
/// The same if the first part ends with a linking `s`.
const LINK_WITH_S: usize = 9;
/// Maximum number of parts in a compound.
const COMPOUND_PARTS: usize = 3;

/// The English words for a foreign one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SenseMatch {
    /// The main word, or several for a term.
    pub(crate) first: &'static str,
    /// Other meanings.
    pub(crate) others: Vec<&'static str>,
}

/// A row of the table that contains an entry.
#[derive(Clone, Copy, Debug)]
struct EntryRow {
    row: usize,
    /// The position of the entry in the column of its language.
    place: usize,
    /// True if the entry must be the whole word.
    is_whole: bool,
}

/// The vocabulary of one language.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// The rows of each single-word entry, by its folded text. Rows that list it earlier come first.
    entries: HashMap<String, Vec<EntryRow>>,
    /// Entries of several words.
    terms: Vec<(Vec<String>, usize)>,
    /// Folded function words; true for prepositions.
    functions: HashMap<String, bool>,
    /// Function words as written. We must compare these because some become words of another language when
    /// folded.
    written: HashSet<&'static str>,
    /// Length of the longest entry or function word, in characters.
    pub(super) longest: usize,
    has_compounds: bool,
}

struct Tables {
    /// The English words of each row.
    english: Vec<Vec<&'static str>>,
    lexicons: HashMap<Language, Lexicon>,
    /// English words of the table that are single words.
    words: HashSet<&'static str>,
    /// The stems of all English words.
    stems: HashSet<String>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

impl Tables {
    fn read() -> Self {
        let mut tables = Self {
            english: Vec::new(),
            lexicons: HashMap::new(),
            words: HashSet::new(),
            stems: HashSet::new(),
        };
        let rows = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
        for line in rows(SENSES) {
            let mut columns = line.split('|');
            let english: Vec<&'static str> = columns.next().unwrap_or_default().split('/').collect();
            for word in english.iter().flat_map(|term| term.split(' ')) {
                tables.words.insert(word);
                tables.stems.insert(stem(word).into_owned());
            }
            let row = tables.english.len();
            tables.english.push(english);
            for ((language, _), column) in LANGUAGES.into_iter().zip(columns) {
                let lexicon = tables.lexicons.entry(language).or_default();
                for (place, entry) in column.split(',').enumerate() {
                    lexicon.add(entry, row, place, language);
                }
            }
        }
        for line in rows(SOUTHEAST_ASIA) {
            let mut columns = line.split('|');
            let word = columns.next().unwrap_or_default();
            let Some(row) = tables.english.iter().position(|english| english[0] == word) else { continue };
            for (language, column) in SOUTHEAST_ASIAN.into_iter().zip(columns) {
                let lexicon = tables.lexicons.entry(language).or_default();
                for (place, entry) in column.split(',').enumerate() {
                    lexicon.add(entry, row, place, language);
                }
            }
        }
        for rows in tables.lexicons.values_mut().flat_map(|lexicon| lexicon.entries.values_mut()) {
            rows.sort_by_key(|row| row.place);
        }
        for line in rows(FUNCTION_WORDS) {
            let mut columns = line.split('|');
            let name = columns.next().unwrap_or_default();
            let Some((language, _)) = LANGUAGES.into_iter().find(|(_, known)| *known == name) else {
                continue;
            };
            let lexicon = tables.lexicons.entry(language).or_default();
            for (column, is_preposition) in columns.zip([true, false]) {
                for word in column.split(',').map(|word| word.trim_end_matches('=')) {
                    lexicon.longest = lexicon.longest.max(word.chars().count());
                    lexicon.written.insert(word);
                    lexicon.functions.entry(fold(word).into_owned()).or_insert(is_preposition);
                }
            }
        }
        tables
    }
}

impl Lexicon {
    pub(super) fn for_language(language: Language) -> Option<&'static Self> {
        TABLES.lexicons.get(&language)
    }

    fn add(&mut self, entry: &str, row: usize, place: usize, language: Language) {
        let is_spaced = !language.is_unspaced();
        let (entry, is_whole) = entry.strip_suffix('=').map_or((entry, false), |entry| (entry, true));
        if entry.is_empty() {
            return;
        }
        self.has_compounds = language == Language::German;
        self.longest = self.longest.max(entry.chars().count());
        let parts: Vec<String> = words(entry).map(|(_, word)| fold(word).into_owned()).collect();
        match parts.as_slice() {
            [one] if is_spaced => {
                self.entries.entry(one.clone()).or_default().push(EntryRow { row, place, is_whole });
            }
            _ if is_spaced => self.terms.push((parts, row)),
            _ => {
                if entry.contains(' ') {
                    self.terms.push((vec![entry.to_owned()], row));
                }
                // These two Khmer letters look the same below another one, and either is written.
                let (da, ta) = ("\u{17D2}\u{178A}", "\u{17D2}\u{178F}");
                for entry in
                    [entry.to_owned(), entry.replace(' ', ""), entry.replace(da, ta), entry.replace(ta, da)]
                {
                    let rows = self.entries.entry(entry).or_default();
                    if rows.iter().all(|known| known.row != row) {
                        rows.push(EntryRow { row, place, is_whole });
                    }
                }
            }
        }
    }

    /// Returns `Some` if a folded word is a function word: true if it is a preposition.
    pub(super) fn function(&self, word: &str) -> Option<bool> {
        self.functions.get(word).copied()
    }

    /// Computes how strongly a word in lower case suggests this language. A function word counts 1, and so
    /// does a word that begins with a long entry and isn't English.
    pub(super) fn evidence(&self, word: &str, folded: &str) -> f32 {
        if self.written.contains(word) {
            return if word.len() < TELLING_FUNCTION || is_english(word) { SHARED } else { 1.0 };
        }
        if is_english(word) {
            return 0.0;
        }
        let is_telling = self.inflected(folded).is_some_and(|(_, end)| end >= TELLING_LETTERS)
            || self.has_compounds && self.compound(folded, COMPOUND_PARTS).is_some();
        if is_telling { 1.0 } else { 0.0 }
    }

    /// Returns true if a text is an entry.
    pub(super) fn has(&self, text: &str) -> bool {
        self.entries.contains_key(text)
    }

    /// Finds a Korean term of several words at the beginning of a text. Returns its sense and its length in
    /// bytes.
    pub(super) fn korean_term(&self, text: &str) -> Option<(SenseMatch, usize)> {
        let at_start =
            self.terms.iter().filter(|(term, _)| term.iter().all(|term| text.starts_with(term.as_str())));
        let (term, row) = at_start.max_by_key(|(term, _)| term[0].len())?;
        Some((sense([*row].into_iter())?, term[0].len()))
    }

    /// Looks up the sense of a text that is an entry.
    pub(super) fn exact(&self, text: &str) -> Option<SenseMatch> {
        sense(self.entries.get(text)?.iter().map(|entry| entry.row))
    }

    /// Finds a term at the beginning of a list of words. Returns its sense and its number of words.
    pub(super) fn term(&self, folded: &[Cow<'_, str>]) -> Option<(SenseMatch, usize)> {
        let fits = |parts: &[String]| {
            parts.len() <= folded.len()
                && parts.iter().zip(folded).all(|(part, word)| is_inflected(part, word))
        };
        let longest =
            self.terms.iter().filter(|(parts, _)| fits(parts)).map(|(parts, _)| parts.len()).max()?;
        let rows = self.terms.iter().filter(|(parts, _)| parts.len() == longest && fits(parts));
        Some((sense(rows.map(|(_, row)| *row))?, longest))
    }

    /// Looks up the senses of a folded word: one, or those of the parts of a compound.
    pub(super) fn word(&self, word: &str) -> Vec<SenseMatch> {
        if let Some(whole) = self.exact(word) {
            return vec![whole];
        }
        if self.has_compounds
            && let Some(parts) = self.compound(word, COMPOUND_PARTS)
        {
            return parts;
        }
        let participle = || word.strip_prefix("ge").filter(|_| self.has_compounds);
        let found = self.inflected(word).or_else(|| self.inflected(participle()?));
        found.map(|(found, _)| found).into_iter().collect()
    }

    /// Finds the longest entry with which a word begins. Returns its sense and its length in bytes.
    fn inflected(&self, word: &str) -> Option<(SenseMatch, usize)> {
        let ends = word.char_indices().map(|(at, _)| at).skip(1).chain([word.len()]);
        let ends: Vec<usize> = ends.collect();
        ends.into_iter().rev().find_map(|end| {
            let entry = &word[..end];
            let rows = self.entries.get(entry)?.iter().filter(|row| !row.is_whole || end == word.len());
            let rows = rows.filter(|_| is_inflected(entry, word));
            Some((sense(rows.map(|entry| entry.row))?, end))
        })
    }

    /// Splits a compound into parts, each of which must be an entry or an English word.
    fn compound(&self, word: &str, max: usize) -> Option<Vec<SenseMatch>> {
        let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).skip(SHORTEST_PART).collect();
        for &end in ends.iter().rev() {
            let (head, rest) = word.split_at(end);
            let head = match self.entries.get(head) {
                Some(rows) => sense(rows.iter().filter(|row| !row.is_whole).map(|entry| entry.row)),
                None => english_part(head).map(|first| SenseMatch { first, others: Vec::new() }),
            };
            let Some(head) = head else { continue };
            let starts = rest.char_indices().map(|(at, _)| at);
            for start in starts {
                let (link, tail) = rest.split_at(start);
                let is_link = link.len() <= LINK_LETTERS || link.len() <= LINK_WITH_S && link.ends_with('s');
                if tail.len() < SHORTEST_PART || !is_link {
                    continue;
                }
                // At least one part must be foreign, or compounds of English words would match.
                let is_foreign = self.entries.contains_key(&word[..end]) || english_part(tail).is_none();
                if is_foreign && let Some(tail) = self.tail(tail, max - 1) {
                    return Some([vec![head], tail].concat());
                }
            }
        }
        None
    }

    fn tail(&self, tail: &str, max: usize) -> Option<Vec<SenseMatch>> {
        if max > 1
            && let Some(parts) = self.compound(tail, max)
        {
            return Some(parts);
        }
        if let Some(first) = english_part(tail) {
            return Some(vec![SenseMatch { first, others: Vec::new() }]);
        }
        let (found, end) = self.inflected(tail)?;
        (end >= SHORTEST_PART).then(|| vec![found])
    }
}

/// Joins the English words of rows. The first row contains the main one.
fn sense(rows: impl Iterator<Item = usize>) -> Option<SenseMatch> {
    let mut found: Option<SenseMatch> = None;
    for row in rows {
        let english = &TABLES.english[row];
        match &mut found {
            None => found = Some(SenseMatch { first: english[0], others: english[1..].to_vec() }),
            Some(found) => found.others.extend(english.iter().filter(|other| **other != found.first)),
        }
    }
    found
}

/// Looks up an English word that is part of a compound.
fn english_part(part: &str) -> Option<&'static str> {
    TABLES.words.get(part).copied()
}

/// Returns true if a word is an entry followed by an inflection. Short entries must have short endings.
fn is_inflected(entry: &str, word: &str) -> bool {
    let Some(ending) = word.strip_prefix(entry) else { return false };
    let max = match entry.chars().count() {
        0..=2 => 1,
        3 => 5,
        4 => 6,
        _ => 8,
    };
    ending.chars().count() <= max
}

/// Returns true for words of English code and questions. We compare stems.
pub(super) fn is_english(word: &str) -> bool {
    let stem = stem(word);
    is_question_word(word) || TABLES.stems.contains(stem.as_ref()) || is_known_word(&stem)
}

/// Folds a word: converts it to lower case, removes accents, and replaces `ß` by `ss` and `ł` by `l`. Words
/// in Chinese, Japanese, Korean, Thai, Khmer and Lao stay unchanged.
pub(super) fn fold(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    // Decomposition would take Korean syllables and voiced kana apart, and remove the vowels and tones of Thai.
    let is_unspaced = |c: char| c >= '\u{E00}';
    if word.contains(is_unspaced) {
        return Cow::Borrowed(word);
    }
    let letters = word.chars().flat_map(char::to_lowercase).nfd().filter(|c| !is_combining_mark(*c));
    Cow::Owned(letters.collect::<String>().replace('ß', "ss").replace('ł', "l"))
}
