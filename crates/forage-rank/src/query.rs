//! Parses queries.
//!
//! Input of a person or a model is never an error. Text that isn't valid syntax is treated as words.

mod filter;
mod frames;
mod report;

pub(crate) use frames::ReportedFile;

use filter::{Filters, PathFilter};

use crate::languages::{called, language};
use crate::limits;
use crate::tokens::{
    TokenParts, Translation, abbreviation, is_question_word, is_weak_word, stem, synonyms, translate, words,
};

/// A parsed query.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankQuery {
    /// The concepts to look up, in the order of this query.
    pub(crate) concepts: Vec<Concept>,
    /// Names as written in the query: identifiers that do not look like plain words, or the whole query.
    pub(crate) names: Vec<String>,
    /// Files that this text mentions.
    pub(crate) files: Vec<ReportedFile>,
    /// Files that a short query names.
    pub(crate) asked_files: Vec<QueriedFile>,
    /// True if this query is a single name.
    pub(crate) is_symbol: bool,
    /// True if this query is a text of more than [`limits::SHORT_QUERY`] words.
    pub(crate) is_long: bool,
    /// True if this query describes more than it names, with more than [`limits::NAMING_QUERY`] words.
    pub(crate) is_telling: bool,
    /// Phrases: concepts that must occur at these distances from the first one.
    pub(crate) phrases: Vec<Vec<(usize, u32)>>,
    /// Conditions on the path of a file.
    pub(crate) filters: Filters,
    /// The parts that were understood as syntax, as written.
    pub(crate) understood: Vec<String>,
    /// Parts that look like filters but are not.
    pub(crate) ignored: Vec<String>,
    /// Tokens that a file must not contain.
    pub(crate) excluded: Vec<String>,
}

impl RankQuery {
    /// Returns a word as written in this query. If the word is a name, its concept only has the letters and
    /// digits, in lower case.
    pub(crate) fn as_written<'a>(&'a self, word: &'a str) -> &'a str {
        let is_it = |name: &&String| {
            let letters = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
            letters.eq(word.chars())
        };
        self.names.iter().find(is_it).map_or(word, String::as_str)
    }
}

/// A file that a short query names, with the directories before its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueriedFile(String);

impl QueriedFile {
    /// Parses a word of a query. It must have an extension, or be the whole query.
    fn parse(word: &str, is_whole: bool) -> Option<Self> {
        let is_mark = |c: char| {
            matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';' | '?' | '!')
        };
        let word = word.trim_matches(is_mark).trim_end_matches(['.', ':']);
        // `src/main.rs:12:3` is a position in a file.
        let mut path = word;
        while let Some((before, digits)) = path.rsplit_once(':')
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            path = before;
        }
        let path = path.trim_matches(is_mark).trim_start_matches("./").trim_start_matches('/');
        let name = path.rsplit('/').next()?;
        let has_extension = name.rsplit_once('.').is_some_and(|(bare, extension)| {
            !bare.is_empty()
                && !extension.is_empty()
                && extension.len() <= limits::EXTENSION_BYTES
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        (!name.is_empty() && (has_extension || is_whole)).then(|| Self(path.to_owned()))
    }

    /// Returns `Some` if a path ends with the named one: true if letter for letter, false if only the case
    /// differs.
    pub(crate) fn is_end_of(&self, path: &str) -> Option<bool> {
        let start = path.len().checked_sub(self.0.len())?;
        let (before, end) = (path.as_bytes().get(..start)?, path.as_bytes().get(start..)?);
        let is_whole_name = before.is_empty() || before.ends_with(b"/");
        (is_whole_name && end.eq_ignore_ascii_case(self.0.as_bytes())).then(|| end == self.0.as_bytes())
    }
}

/// A subject of the query: a word with its synonyms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Concept {
    /// The word in lower case.
    pub(crate) word: String,
    /// Tokens with the weight of an occurrence; the word's own token comes first.
    pub(crate) tokens: Vec<(String, f32)>,
    /// The weight in addition to the idf.
    pub(crate) weight: f32,
    /// The role of the concept.
    pub(crate) role: PieceRole,
    /// The number of occurrences in the query, weighted by part.
    pub(crate) times: f32,
    /// True if it occurs in the title of a text.
    pub(crate) is_of_title: bool,
    /// True if it is the project's own name, and the query has more specific words.
    pub(crate) is_own_name: bool,
    /// True if it is a word of another language and the query also has it in English. Code needn't contain
    /// it.
    pub(crate) is_translated: bool,
}

impl Concept {
    /// Adds a synonym.
    fn also(&mut self, word: &str, weight: f32) {
        let token = stem(word).into_owned();
        if weight > 0.0 && self.tokens.iter().all(|(known, _)| *known != token) {
            self.tokens.push((token, weight));
        }
    }
}

/// The previous word, used to join it with the next one.
struct PreviousWord {
    /// The byte offset after it.
    end: usize,
    word: String,
    /// The concept of its last part.
    concept: usize,
}

/// The state of the words that are being parsed.
struct QueryReading {
    /// True if stop words must not be dropped.
    all_matter: bool,
    /// True if they are a path.
    is_path: bool,
    /// True if they are the title of a text.
    is_title: bool,
    /// The weight of each of them.
    share: f32,
    /// True if they follow a preposition.
    is_later: bool,
    /// True if the query also has them in English.
    is_translated: bool,
}

impl Default for QueryReading {
    fn default() -> Self {
        Self {
            all_matter: false,
            is_path: false,
            is_title: false,
            share: 1.0,
            is_later: false,
            is_translated: false,
        }
    }
}

impl QueryReading {
    fn concept(&self, word: &str, tokens: Vec<(String, f32)>, weight: f32, role: PieceRole) -> Concept {
        Concept {
            word: word.to_owned(),
            tokens,
            weight,
            role,
            times: self.share,
            is_of_title: self.is_title,
            is_own_name: false,
            is_translated: self.is_translated,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceRole {
    /// A word, or part of a name.
    Word,
    /// A name of several parts, as a whole.
    Name,
    /// Neighbouring words written as one. Code that does not contain it is not penalised.
    Joined,
}

/// Weights of the parts of a query, relative to a plain word, which has weight 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryWeights {
    /// Parts of a name, in addition to the whole.
    pub part: f32,
    /// Neighbouring words joined to one name.
    pub joined: f32,
    /// Words that occur in questions on any subject.
    pub weak: f32,
    /// An occurrence of a synonym.
    pub synonym: f32,
    /// An occurrence of another meaning of a translated word.
    pub other_sense: f32,
    /// Words after the first preposition. The main subject comes before it.
    pub later: f32,
}

impl Default for QueryWeights {
    fn default() -> Self {
        Self { part: 0.5, joined: 0.5, weak: 0.5, synonym: 0.3, other_sense: 0.7, later: 0.8 }
    }
}

impl RankQuery {
    /// Parses a query.
    pub(crate) fn parse(text: &str, weights: &QueryWeights) -> Self {
        let text = &text[..text.floor_char_boundary(limits::QUERY_BYTES)];
        let mut query = Self::default();
        let mut plain = String::new();
        let mut phrases = Vec::new();
        // Chinese and Japanese don't separate words by spaces, so we count the words of the translation.
        let translated = translate(text);
        let in_english = translated.as_ref().map_or(text, |translation| &translation.text);
        let is_short = in_english.split_whitespace().nth(limits::SHORT_QUERY).is_none();
        for piece in pieces(text, is_short) {
            let word = match piece {
                QueryPiece::Phrase(phrase) => {
                    let tokens = phrase_tokens(phrase);
                    let texts = if tokens.is_empty() { &mut query.ignored } else { &mut query.understood };
                    texts.push(format!("\"{phrase}\""));
                    // The words of a phrase are also plain words of the query, by which files are ranked.
                    phrases.push(tokens);
                    phrase
                }
                QueryPiece::Filter(filter) => {
                    query.push_filter(filter);
                    continue;
                }
                QueryPiece::Excluded(token, written) => {
                    if query.excluded.len() < limits::EXCLUDED_WORDS {
                        query.excluded.push(token);
                        query.understood.push(written.to_owned());
                    } else {
                        query.ignored.push(written.to_owned());
                    }
                    continue;
                }
                QueryPiece::Word(word) => word,
            };
            plain.push_str(word);
            plain.push(' ');
        }
        if is_short {
            // We translate again because filters and excluded words don't belong to the question.
            let translated = translate(&plain);
            let in_english = translated.as_ref().map_or(&plain, |translation| &translation.text);
            query.asked_files = asked_files(in_english);
            let words = in_english.split_whitespace().count();
            query.read(plain.trim(), translated.as_ref(), weights);
            query.is_telling = words > limits::NAMING_QUERY;
        } else {
            let mut reading = QueryReading::default();
            let (parts, files) = report::parts(text);
            query.files = files;
            for part in parts {
                (reading.share, reading.is_title) = (part.share, part.is_title);
                match translated.as_ref().and_then(|_| translate(part.text)) {
                    Some(translation) => query.read_translated(&translation, &mut reading, weights),
                    None => query.read_words(part.text, &mut reading, weights),
                }
            }
            query.is_telling = true;
        }
        query.concepts.truncate(limits::QUERY_WORDS);
        query.is_long = !is_short;
        if query.is_long {
            // A text repeats the words that it is about. We take the square root because a log or a listing
            // also repeats other words.
            for concept in &mut query.concepts {
                concept.weight *= concept.times.sqrt();
            }
        }
        // After the limit on words: all words of a phrase must be looked up, or it could not match.
        for phrase in phrases.iter().filter(|phrase| !phrase.is_empty()) {
            query.push_phrase(phrase);
        }
        query
    }

    fn push_filter(&mut self, filter: FieldFilter<'_>) {
        let FieldFilter { written, without, what } = filter;
        let filters = &mut self.filters;
        match what {
            FilterKind::Path(path) => {
                if let Some(path) = PathFilter::parse(path) {
                    if without { &mut filters.without_paths } else { &mut filters.paths }.push(path);
                    self.understood.push(written.to_owned());
                    return;
                }
            }
            FilterKind::Language(name) => {
                if let Some(found) = called(name) {
                    if without { &mut filters.without_languages } else { &mut filters.languages }.push(found);
                    self.understood.push(written.to_owned());
                    return;
                }
            }
        }
        self.ignored.push(written.to_owned());
    }

    /// Adds all words of a phrase with their positions. In a phrase, we must also look up stop words.
    fn push_phrase(&mut self, tokens: &[String]) {
        let mut places = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let known = self.concepts.iter().position(|known| known.tokens[0].0 == *token);
            let concept = known.unwrap_or_else(|| {
                let tokens = vec![(token.clone(), 1.0)];
                self.concepts.push(QueryReading::default().concept(token, tokens, SILENT, PieceRole::Word));
                self.concepts.len() - 1
            });
            places.push((concept, index as u32));
        }
        self.phrases.push(places);
    }

    /// Returns true if this query has path filters but no words, so that all files there match.
    pub(crate) fn is_path_only(&self) -> bool {
        self.concepts.is_empty() && !self.filters.is_empty()
    }

    /// Returns the words of the main subject. If a text has a title, only the words of this title count: the
    /// rest contains too many others.
    pub(crate) fn asked_words(&self) -> impl Iterator<Item = &str> {
        let has_title = self.concepts.iter().any(|concept| concept.is_of_title);
        let asked = self.concepts.iter().filter(move |concept| !has_title || concept.is_of_title);
        asked.map(|concept| concept.word.as_str())
    }

    /// Returns true if a concept is a word of a phrase.
    pub(crate) fn is_in_phrase(&self, concept: usize) -> bool {
        self.phrases.iter().flatten().any(|(of_phrase, _)| *of_phrase == concept)
    }

    /// Parses a query that was written for a search.
    fn read(&mut self, text: &str, translated: Option<&Translation>, weights: &QueryWeights) {
        let path_name = path_name(text);
        self.is_symbol = path_name.is_none()
            && !text.is_empty()
            && !text.contains(char::is_whitespace)
            && looks_like_name(text)
            && translated.is_none_or(|translation| translation.originals.trim_end() == text);
        // `Option::Some` and `From::from` are names, even if their words are stop words elsewhere.
        let all_matter =
            self.is_symbol || path_name.is_some() || words(text).all(|(_, word)| is_query_stop_word(word));
        let mut reading =
            QueryReading { all_matter, is_path: path_name.is_some(), ..QueryReading::default() };
        match translated {
            // A single word of another language may still be a name.
            Some(translation) if self.is_symbol => {
                reading.is_translated = true;
                self.read_words(text, &mut reading, weights);
                reading.is_translated = false;
                // Only the original may be a name in the code, not its translation.
                let names = self.names.clone();
                self.read_words(&translation.text, &mut reading, weights);
                self.names = names;
            }
            Some(translation) => self.read_translated(translation, &mut reading, weights),
            None => self.read_words(text, &mut reading, weights),
        }
        if self.is_symbol
            && let Some(last) = self.names.pop()
        {
            // The qualifier of a name is only context, so we keep the last part.
            self.names = vec![last];
        }
        if let Some(name) = path_name {
            self.names = vec![name.to_owned()];
        }
    }

    /// Parses the words of a translated query or part: the English ones, then the originals.
    fn read_translated(
        &mut self,
        translation: &Translation,
        reading: &mut QueryReading,
        weights: &QueryWeights,
    ) {
        self.read_words(&translation.text, reading, weights);
        for (word, other) in &translation.others {
            let own = stem(word);
            let concept = self.concepts.iter_mut().find(|concept| concept.tokens[0].0 == own);
            concept.into_iter().for_each(|concept| concept.also(other, weights.other_sense));
        }
        let names = self.names.len();
        let is_later = std::mem::replace(&mut reading.is_later, false);
        reading.is_translated = true;
        self.read_words(&translation.originals, reading, weights);
        (reading.is_translated, reading.is_later) = (false, is_later);
        // Words of another language are not identifiers, even if they have a capital.
        self.names.truncate(names);
    }

    /// Parses the words of a query or of a part of it.
    fn read_words(&mut self, text: &str, reading: &mut QueryReading, weights: &QueryWeights) {
        let mut parts = TokenParts::default();
        let mut before: Option<PreviousWord> = None;
        for (at, word) in words(text) {
            let lower = word.to_lowercase();
            if self.concepts.len() >= limits::QUERY_WORDS {
                break;
            }
            reading.is_later |= !self.concepts.is_empty() && PREPOSITIONS.contains(&lower.as_str());
            if !reading.all_matter && is_query_stop_word(word) {
                before = None;
                continue;
            }
            parts.split(word);
            if parts.len() == 0 {
                continue;
            }
            let is_name = !reading.is_path && (self.is_symbol || is_identifier(word, at));
            let is_new = || self.names.iter().all(|known| known != word);
            if is_name && (self.is_symbol || (self.names.len() < limits::QUERY_NAMES && is_new())) {
                self.names.push(word.to_owned());
            }
            let mut weight = if is_weak_word(&lower) && !self.is_symbol { weights.weak } else { 1.0 };
            if reading.is_later {
                weight *= weights.later;
            }
            if parts.is_compound() {
                let whole = parts.whole();
                self.push(reading.concept(whole, whole_tokens(whole), weight, PieceRole::Name));
            }
            let part_weight = if parts.is_compound() { weights.part * weight } else { weight };
            let mut concept = 0;
            for part in parts.iter() {
                let tokens = vec![(stem(part).into_owned(), 1.0)];
                let mut of_part = reading.concept(part, tokens, part_weight, PieceRole::Word);
                synonyms(part).for_each(|synonym| of_part.also(synonym, weights.synonym));
                concept = self.push(of_part);
            }
            if let Some(PreviousWord { word: last, concept: first, .. }) = &before
                && let Some(short) = abbreviation(last, parts.whole())
            {
                for index in [*first, concept] {
                    self.concepts[index].also(short, weights.synonym);
                }
            }
            // Code may write two words as one if only a single character separates them.
            if let Some(PreviousWord { end, word: last, .. }) = before.take()
                && at == end + 1
            {
                let joined = format!("{last}{}", parts.whole());
                self.push(reading.concept(&joined, whole_tokens(&joined), weights.joined, PieceRole::Joined));
            }
            before = Some(PreviousWord { end: at + word.len(), word: parts.whole().to_owned(), concept });
        }
    }

    /// Adds a concept and returns its index. Of duplicates, we only keep the greater weight.
    fn push(&mut self, concept: Concept) -> usize {
        let same = |known: &Concept| known.tokens[0].0 == concept.tokens[0].0;
        match self.concepts.iter().position(same) {
            Some(index) => {
                let known = &mut self.concepts[index];
                known.weight = known.weight.max(concept.weight);
                known.times += concept.times;
                known.is_of_title |= concept.is_of_title;
                if concept.role != PieceRole::Joined {
                    known.role = concept.role;
                }
                index
            }
            None => {
                self.concepts.push(concept);
                self.concepts.len() - 1
            }
        }
    }
}

/// Returns true for stop words. A single letter is one unless it is a name, e.g. `C` or the `X` monad.
fn is_query_stop_word(word: &str) -> bool {
    let is_letter = word.len() < 2 && !word.starts_with(|first: char| first.is_uppercase());
    is_letter || is_question_word(&word.to_lowercase())
}

/// Finds the files that a short query asks for. A file among several other words doesn't count: this file is
/// part of the subject, e.g. in “parsing setup.py statically to extract requirements”.
fn asked_files(text: &str) -> Vec<QueriedFile> {
    let is_whole = !text.trim().contains(char::is_whitespace);
    let mut files = Vec::new();
    let mut others = 0;
    for word in text.split_whitespace() {
        match QueriedFile::parse(word, is_whole) {
            Some(file) => files.push(file),
            None => {
                let telling = words(word)
                    .filter(|(_, word)| !is_query_stop_word(word) && !is_weak_word(&word.to_lowercase()));
                others += telling.count();
            }
        }
    }
    if others > limits::WORDS_BESIDES_FILE_NAME { Vec::new() } else { files }
}

/// Checks that all characters of a text may be in a name. This includes `_`, `::`, `.` and digits.
fn looks_like_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_.:$!?#@/\\->".contains(c))
}

/// Returns the tokens of a name as a whole. Code that writes the name as one word contains the stem of this
/// word.
fn whole_tokens(whole: &str) -> Vec<(String, f32)> {
    let stemmed = stem(whole).into_owned();
    let differs = stemmed != whole;
    let mut tokens = vec![(whole.to_owned(), 1.0)];
    if differs {
        tokens.push((stemmed, 1.0));
    }
    tokens
}

/// Parses the file name without its extension if a query is the path of a file in a known language.
fn path_name(text: &str) -> Option<&str> {
    let name = text.rsplit('/').next()?;
    let (bare, _) = name.rsplit_once('.')?;
    let is_path = !text.contains(char::is_whitespace)
        && !bare.is_empty()
        && !bare.contains("..")
        && !text.contains(':')
        && !language(text).name.is_empty();
    is_path.then_some(bare)
}

/// Checks whether a word of a sentence is a name. A capital at the start of the query is only grammar.
fn is_identifier(word: &str, at: usize) -> bool {
    let inner_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.contains('_') || inner_capital || (at > 0 && word.starts_with(|c: char| c.is_uppercase()))
}

/// The weight of stop words in a phrase: just enough to be looked up.
const SILENT: f32 = 0.05;

/// Prepositions. The subject comes before them; the manner and the target come after them.
const PREPOSITIONS: &[&str] = &[
    "for", "to", "with", "in", "from", "using", "via", "into", "on", "by", "of", "when", "as", "through",
    "without",
];

enum QueryPiece<'a> {
    Word(&'a str),
    Phrase(&'a str),
    Filter(FieldFilter<'a>),
    /// The token, and the text as written.
    Excluded(String, &'a str),
}

struct FieldFilter<'a> {
    written: &'a str,
    /// True if it excludes its value.
    without: bool,
    what: FilterKind<'a>,
}

enum FilterKind<'a> {
    Path(&'a str),
    Language(&'a str),
}

/// Splits a text into pieces. In a long text we ignore quotes and minus signs: pasted text has its own, for
/// example in a report, a patch or a command.
fn pieces(text: &str, is_short: bool) -> Vec<QueryPiece<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if is_short && let Some((phrase, after)) = phrase(rest) {
            found.push(QueryPiece::Phrase(phrase));
            rest = after.trim_start();
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        found.push(piece(word, is_short));
    }
    found
}

/// Parses a phrase. It must touch its quotes, and a word must not touch them from outside, so that a stray
/// quote doesn't start a phrase.
fn phrase(rest: &str) -> Option<(&str, &str)> {
    let inner = rest.strip_prefix('"')?;
    let (phrase, after) = inner.split_once('"')?;
    let touches = !phrase.starts_with(char::is_whitespace) && !phrase.ends_with(char::is_whitespace);
    (touches && !phrase.is_empty() && !after.starts_with(char::is_alphanumeric)).then_some((phrase, after))
}

fn piece(word: &str, is_short: bool) -> QueryPiece<'_> {
    let (without, bare) = word.strip_prefix('-').map_or((false, word), |bare| (true, bare));
    let after = |prefix: &str| {
        // `path::Component` is a name.
        let value = bare.strip_prefix(prefix).filter(|value| !value.is_empty() && !value.starts_with(':'));
        value.filter(|_| is_short)
    };
    if let Some(path) = after("path:") {
        return QueryPiece::Filter(FieldFilter { written: word, without, what: FilterKind::Path(path) });
    }
    if let Some(name) = after("lang:").or_else(|| after("language:")) {
        return QueryPiece::Filter(FieldFilter { written: word, without, what: FilterKind::Language(name) });
    }
    match excluded(bare).filter(|_| without && is_short) {
        Some(token) => QueryPiece::Excluded(token, word),
        None => QueryPiece::Word(word),
    }
}

/// Parses the word after a minus sign to a token. Note that `-1`, `-x`, `--flag` and `->` don't exclude
/// anything.
fn excluded(bare: &str) -> Option<String> {
    let is_word = words(bare).next().is_some_and(|(_, word)| word.len() == bare.len());
    if !is_word || bare.chars().count() < 3 || !bare.starts_with(char::is_alphabetic) {
        return None;
    }
    let mut parts = TokenParts::default();
    parts.split(bare);
    match parts.is_compound() {
        true => Some(parts.whole().to_owned()),
        false => parts.iter().next().map(|part| stem(part).into_owned()),
    }
}

fn phrase_tokens(phrase: &str) -> Vec<String> {
    crate::tokens::tokens(phrase).into_iter().filter(|token| !token.whole).map(|token| token.text).collect()
}

#[cfg(test)]
mod tests;
