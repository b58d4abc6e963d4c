//! What is asked for.
//!
//! Nothing that a person or a model types is an error: what isn't understood as syntax is words.

mod filter;
mod frames;
mod report;

pub(crate) use frames::ReportedFile;

use filter::{Filters, PathFilter};

use crate::languages::{called, language};
use crate::limits;
use crate::tokens::{TokenParts, abbreviation, is_question_word, is_weak_word, stem, synonyms, words};

/// A query, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankQuery {
    /// What is looked up, in the order of the query.
    pub(crate) concepts: Vec<Concept>,
    /// Names as they stand in the query: identifiers that look like no plain word, or the whole query.
    pub(crate) names: Vec<String>,
    /// Files that a text names.
    pub(crate) files: Vec<ReportedFile>,
    /// Files that a short query names.
    pub(crate) asked_files: Vec<AskedFile>,
    /// The query is one name.
    pub(crate) is_symbol: bool,
    /// The query is a text, of more than [`limits::SHORT_QUERY`] words.
    pub(crate) is_long: bool,
    /// The query tells more than it names, having more than [`limits::NAMING_QUERY`] words.
    pub(crate) is_telling: bool,
    /// Concepts that have to stand at these distances from the first of them.
    pub(crate) phrases: Vec<Vec<(usize, u32)>>,
    /// What a file's path must have and be.
    pub(crate) filters: Filters,
    /// What was understood as syntax, as it was written.
    pub(crate) understood: Vec<String>,
    /// What looks like a filter and is none.
    pub(crate) ignored: Vec<String>,
    /// Tokens that a file must not have.
    pub(crate) excluded: Vec<String>,
}

impl RankQuery {
    /// A word as the query has it: that of a name is its letters and digits alone, in lower case.
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
pub(crate) struct AskedFile(String);

impl AskedFile {
    /// Reads a word of a query: one with an extension, or any word that is the whole query.
    fn parse(word: &str, is_whole: bool) -> Option<Self> {
        let is_mark = |c: char| {
            matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';' | '?' | '!')
        };
        let word = word.trim_matches(is_mark).trim_end_matches(['.', ':']);
        // `src/main.rs:12:3` is a place in a file.
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

    /// Returns whether a path ends with the named one letter for letter, or but for upper and lower case; nothing if not.
    pub(crate) fn is_end_of(&self, path: &str) -> Option<bool> {
        let start = path.len().checked_sub(self.0.len())?;
        let (before, end) = (path.as_bytes().get(..start)?, path.as_bytes().get(start..)?);
        let is_whole_name = before.is_empty() || before.ends_with(b"/");
        (is_whole_name && end.eq_ignore_ascii_case(self.0.as_bytes())).then(|| end == self.0.as_bytes())
    }
}

/// One thing of a query: a word with what else it may be called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Concept {
    /// The word in lower case.
    pub(crate) word: String,
    /// Tokens with what an occurrence counts, the word's own first.
    pub(crate) tokens: Vec<(String, f32)>,
    /// How much it matters beside its rarity.
    pub(crate) weight: f32,
    /// What it is.
    pub(crate) role: PieceRole,
    /// How often the query has it, by what its parts count.
    pub(crate) times: f32,
    /// Whether the title of a text has it.
    pub(crate) is_of_title: bool,
    /// Whether it is what the project calls itself, beside words that tell more.
    pub(crate) is_own_name: bool,
}

impl Concept {
    /// Another word for it.
    fn also(&mut self, word: &str, weight: f32) {
        let token = stem(word).into_owned();
        if weight > 0.0 && self.tokens.iter().all(|(known, _)| *known != token) {
            self.tokens.push((token, weight));
        }
    }
}

/// The word before, for what the two are together.
struct PreviousWord {
    /// The byte behind it.
    end: usize,
    word: String,
    /// The place of its last part.
    concept: usize,
}

/// What is known of the words that are being read.
struct QueryReading {
    /// None of them is left out for saying nothing.
    all_matter: bool,
    /// They are a path.
    is_path: bool,
    /// They are the title of a text.
    is_title: bool,
    /// How much each of them counts.
    share: f32,
    /// A preposition stands before them.
    is_later: bool,
}

impl Default for QueryReading {
    fn default() -> Self {
        Self { all_matter: false, is_path: false, is_title: false, share: 1.0, is_later: false }
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
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceRole {
    /// A word, or part of a name.
    Word,
    /// A name of several parts, as a whole.
    Name,
    /// Neighbours written as one; nothing is missed where code has none.
    Joined,
}

/// The weights of the parts of a query, where a word that is searched for as it is has 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryWeights {
    /// Parts of a name, beside the whole.
    pub part: f32,
    /// Neighbouring words as one name.
    pub joined: f32,
    /// Words that questions have whatever they are about.
    pub weak: f32,
    /// An occurrence of another word for the same.
    pub synonym: f32,
    /// Words behind the first preposition: what is asked for comes first.
    pub later: f32,
}

impl Default for QueryWeights {
    fn default() -> Self {
        Self { part: 0.5, joined: 0.5, weak: 0.5, synonym: 0.3, later: 0.8 }
    }
}

impl RankQuery {
    /// Takes a query apart.
    pub(crate) fn parse(text: &str, weights: &QueryWeights) -> Self {
        let text = &text[..text.floor_char_boundary(limits::QUERY_BYTES)];
        let mut query = Self::default();
        let mut plain = String::new();
        let mut phrases = Vec::new();
        let is_short = text.split_whitespace().nth(limits::SHORT_QUERY).is_none();
        for piece in pieces(text, is_short) {
            let word = match piece {
                QueryPiece::Phrase(phrase) => {
                    let tokens = phrase_tokens(phrase);
                    let told = if tokens.is_empty() { &mut query.ignored } else { &mut query.understood };
                    told.push(format!("\"{phrase}\""));
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
            query.asked_files = asked_files(&plain);
            query.read(plain.trim(), weights);
        } else {
            let mut reading = QueryReading::default();
            let (parts, files) = report::parts(text);
            query.files = files;
            for part in parts {
                (reading.share, reading.is_title) = (part.share, part.is_title);
                query.read_words(part.text, &mut reading, weights);
            }
        }
        query.concepts.truncate(limits::QUERY_WORDS);
        query.is_long = !is_short;
        query.is_telling = !is_short || plain.split_whitespace().nth(limits::NAMING_QUERY).is_some();
        if query.is_long {
            // A text comes back to what it is about. The root, for a log or a listing repeats words that it isn't about.
            for concept in &mut query.concepts {
                concept.weight *= concept.times.sqrt();
            }
        }
        for phrase in phrases.iter().filter(|phrase| !phrase.is_empty()) {
            query.push_phrase(phrase);
        }
        query
    }

    fn push_filter(&mut self, filter: FieldFilter<'_>) {
        let FieldFilter { written, without, what } = filter;
        let filters = &mut self.filters;
        match what {
            What::Path(path) => {
                if let Some(path) = PathFilter::parse(path) {
                    if without { &mut filters.without_paths } else { &mut filters.paths }.push(path);
                    self.understood.push(written.to_owned());
                    return;
                }
            }
            What::Language(name) => {
                if let Some(found) = called(name) {
                    if without { &mut filters.without_languages } else { &mut filters.languages }.push(found);
                    self.understood.push(written.to_owned());
                    return;
                }
            }
        }
        self.ignored.push(written.to_owned());
    }

    /// All words of a phrase with their places. Those that a question would have for its grammar are looked up here.
    fn push_phrase(&mut self, tokens: &[String]) {
        let mut places = Vec::new();
        for (nth, token) in tokens.iter().enumerate() {
            let known = self.concepts.iter().position(|known| known.tokens[0].0 == *token);
            let concept = known.unwrap_or_else(|| {
                let tokens = vec![(token.clone(), 1.0)];
                self.concepts.push(QueryReading::default().concept(token, tokens, SILENT, PieceRole::Word));
                self.concepts.len() - 1
            });
            places.push((concept, nth as u32));
        }
        self.phrases.push(places);
    }

    /// Whether the query says where, and nothing of what: all files there are its answer.
    pub(crate) fn is_of_paths(&self) -> bool {
        self.concepts.is_empty() && !self.filters.is_empty()
    }

    /// Words that say what is asked for. A text has all kinds of words; its title says it, if it has one.
    pub(crate) fn asked_words(&self) -> impl Iterator<Item = &str> {
        let has_title = self.concepts.iter().any(|concept| concept.is_of_title);
        let asked = self.concepts.iter().filter(move |concept| !has_title || concept.is_of_title);
        asked.map(|concept| concept.word.as_str())
    }

    /// Whether a concept is a word of a phrase.
    pub(crate) fn is_in_phrase(&self, concept: usize) -> bool {
        self.phrases.iter().flatten().any(|(of_phrase, _)| *of_phrase == concept)
    }

    /// Reads a query that was written for a search.
    fn read(&mut self, text: &str, weights: &QueryWeights) {
        let path_name = path_name(text);
        self.is_symbol = path_name.is_none()
            && !text.is_empty()
            && !text.contains(char::is_whitespace)
            && looks_like_name(text);
        // `Option::Some` and `From::from` are names, whatever their words are elsewhere.
        let all_matter =
            self.is_symbol || path_name.is_some() || words(text).all(|(_, word)| says_nothing(word));
        let mut reading =
            QueryReading { all_matter, is_path: path_name.is_some(), ..QueryReading::default() };
        self.read_words(text, &mut reading, weights);
        if self.is_symbol
            && let Some(last) = self.names.pop()
        {
            // What qualifies a name is context.
            self.names = vec![last];
        }
        if let Some(name) = path_name {
            self.names = vec![name.to_owned()];
        }
    }

    /// Reads the words of a query, or of a part of one.
    fn read_words(&mut self, text: &str, reading: &mut QueryReading, weights: &QueryWeights) {
        let mut parts = TokenParts::default();
        let mut before: Option<PreviousWord> = None;
        for (at, word) in words(text) {
            let lower = word.to_lowercase();
            if self.concepts.len() >= limits::QUERY_WORDS {
                break;
            }
            reading.is_later |= !self.concepts.is_empty() && PREPOSITIONS.contains(&lower.as_str());
            if !reading.all_matter && says_nothing(word) {
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
                for nth in [*first, concept] {
                    self.concepts[nth].also(short, weights.synonym);
                }
            }
            if let Some(PreviousWord { end, word: last, .. }) = before.take()
                && at == end + 1
            {
                let joined = format!("{last}{}", parts.whole());
                self.push(reading.concept(&joined, whole_tokens(&joined), weights.joined, PieceRole::Joined));
            }
            before = Some(PreviousWord { end: at + word.len(), word: parts.whole().to_owned(), concept });
        }
    }

    /// A concept that is there already counts once, with the greater weight. Returns its place.
    fn push(&mut self, concept: Concept) -> usize {
        let same = |known: &Concept| known.tokens[0].0 == concept.tokens[0].0;
        match self.concepts.iter().position(same) {
            Some(nth) => {
                let known = &mut self.concepts[nth];
                known.weight = known.weight.max(concept.weight);
                known.times += concept.times;
                known.is_of_title |= concept.is_of_title;
                if concept.role != PieceRole::Joined {
                    known.role = concept.role;
                }
                nth
            }
            None => {
                self.concepts.push(concept);
                self.concepts.len() - 1
            }
        }
    }
}

/// Whether a word is there for the grammar. A single letter is, unless it is a name (the `X` monad, `C`).
fn says_nothing(word: &str) -> bool {
    let is_letter = word.len() < 2 && !word.starts_with(|first: char| first.is_uppercase());
    is_letter || is_question_word(&word.to_lowercase())
}

/// Returns the files that a short query asks for. One that is named among other words is what the query is about, as in
/// «parsing setup.py statically to extract requirements».
fn asked_files(text: &str) -> Vec<AskedFile> {
    let is_whole = !text.trim().contains(char::is_whitespace);
    let mut files = Vec::new();
    let mut others = 0;
    for word in text.split_whitespace() {
        match AskedFile::parse(word, is_whole) {
            Some(file) => files.push(file),
            None => {
                let telling = words(word)
                    .filter(|(_, word)| !says_nothing(word) && !is_weak_word(&word.to_lowercase()));
                others += telling.count();
            }
        }
    }
    if others > limits::BESIDE_FILE_NAME { Vec::new() } else { files }
}

/// A name has a shape of its own: capitals within or at the start, `_`, `::`, `.`, digits.
fn looks_like_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_.:$!?#@/\\->".contains(c))
}

/// The tokens of a name as a whole: code that writes it as one word has that word's stem.
fn whole_tokens(whole: &str) -> Vec<(String, f32)> {
    let stemmed = stem(whole).into_owned();
    let differs = stemmed != whole;
    let mut tokens = vec![(whole.to_owned(), 1.0)];
    if differs {
        tokens.push((stemmed, 1.0));
    }
    tokens
}

/// The name of the file where a query is a path: of a language that is known, or of several names.
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

/// Whether a word of a sentence is a name. A capital at the start of the query is grammar.
fn is_identifier(word: &str, at: usize) -> bool {
    let inner_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.contains('_') || inner_capital || (at > 0 && word.starts_with(|c: char| c.is_uppercase()))
}

/// What a word of a phrase matters that would be none of a question: enough to be looked up.
const SILENT: f32 = 0.05;

/// What is asked for stands before, how and whereto behind.
const PREPOSITIONS: &[&str] = &[
    "for", "to", "with", "in", "from", "using", "via", "into", "on", "by", "of", "when", "as", "through",
    "without",
];

enum QueryPiece<'a> {
    Word(&'a str),
    Phrase(&'a str),
    Filter(FieldFilter<'a>),
    /// The token, and how it was written.
    Excluded(String, &'a str),
}

struct FieldFilter<'a> {
    written: &'a str,
    /// It leaves out what it names.
    without: bool,
    what: What<'a>,
}

enum What<'a> {
    Path(&'a str),
    Language(&'a str),
}

/// What is pasted (a report, a patch, a command) has quotes and minus signs of its own: in a long text they are none
/// of ours.
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

/// A phrase touches its quotes, and no word touches them from without: a stray quote begins none.
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
        return QueryPiece::Filter(FieldFilter { written: word, without, what: What::Path(path) });
    }
    if let Some(name) = after("lang:").or_else(|| after("language:")) {
        return QueryPiece::Filter(FieldFilter { written: word, without, what: What::Language(name) });
    }
    match excluded(bare).filter(|_| without && is_short) {
        Some(token) => QueryPiece::Excluded(token, word),
        None => QueryPiece::Word(word),
    }
}

/// The token of what follows a minus sign. `-1`, `-x`, `--flag` and `->` are something else.
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
