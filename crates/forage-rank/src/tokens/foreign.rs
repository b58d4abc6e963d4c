//! Translates programming words of other languages in a query into English.
//!
//! Code is mostly English, whatever language its authors speak. A query in another language keeps its own
//! words, and gets English ones from a table of some 700 senses (`foreign/senses.txt`). [`translate`]
//! replaces words in place, so that names, paths and punctuation are parsed as in an English query. Function
//! words become English stop words.
//!
//! The scripts of Russian, Chinese, Japanese, Korean, Thai, Khmer and Lao identify the language. For Latin script, [`latin_language`]
//! counts function words and words of the table. English queries must never change.

mod pieces;
mod table;

use std::borrow::Cow;

use pieces::{Piece, pieces};
use table::{Language, Lexicon, SenseMatch, fold, is_english, latin_languages};

use super::{is_question_word, words};

/// Replaces a function word of another language.
const STOP_WORD: &str = "the";
const ZERO_WIDTH_SPACE: char = '\u{200B}';

/// Replaces a preposition.
const PREPOSITION: &str = "for";

/// The weight of a word of the English vocabulary as evidence for English, relative to a function word. This
/// must be low because other languages use English terms.
const VOCABULARY: f32 = 0.3;

/// A query in English words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Translation {
    /// The text with its foreign words replaced.
    pub(crate) text: String,
    /// The words that were replaced, separated by spaces.
    pub(crate) originals: String,
    /// Other meanings of replaced words, each with the word of the text that it belongs to.
    pub(crate) others: Vec<(&'static str, &'static str)>,
}

impl Translation {
    fn push_word(&mut self, word: &str) {
        if self.text.ends_with(char::is_alphanumeric) {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    fn push_text(&mut self, text: &str) {
        let is_word = |c: char| c.is_alphanumeric();
        if self.text.ends_with(is_word) && text.starts_with(is_word) {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn push(&mut self, sense: &SenseMatch) {
        self.push_word(sense.first);
        let last = sense.first.rsplit(' ').next().unwrap_or(sense.first);
        self.others.extend(sense.others.iter().map(|other| (last, *other)));
    }

    fn push_original(&mut self, original: &str) {
        self.originals.push_str(original);
        self.originals.push(' ');
    }
}

/// Translates the foreign words of a query. Returns `None` if there are none.
pub(crate) fn translate(text: &str) -> Option<Translation> {
    // Some writers of Khmer, Lao and Thai separate syllables by it, others don't.
    if text.contains(ZERO_WIDTH_SPACE) {
        return translate(&text.replace(ZERO_WIDTH_SPACE, ""));
    }
    let latin = latin_language(text);
    // A single kana shows that the ideographs are Japanese too.
    let is_japanese = text.chars().any(|c| unspaced(c) == Some(Language::Japanese));
    let has_script = text.chars().any(|c| unspaced(c).is_some() || is_cyrillic(c));
    if latin.is_none() && !has_script {
        return None;
    }
    let mut found = Translation::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let script = unspaced(first);
        // Korean separates its words by spaces, and a term may consist of two of them.
        let is_end = |(at, c): &(usize, char)| {
            let is_space = *c == ' ' && script == Some(Language::Korean);
            let next = if is_space { rest[at + 1..].chars().next().unwrap_or(' ') } else { *c };
            unspaced(next).is_some() != script.is_some()
        };
        let end = rest.char_indices().find(is_end).map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        match script {
            Some(Language::Korean) => korean(run, &mut found),
            Some(language) if language.is_southeast_asian() => without_spaces(run, language, &mut found),
            Some(_) => {
                let language = if is_japanese { Language::Japanese } else { Language::Chinese };
                without_spaces(run, language, &mut found);
            }
            None => spaced(run, latin, &mut found),
        }
        rest = after;
    }
    let is_changed = !found.originals.is_empty() || found.text != text;
    is_changed.then_some(found)
}

/// Translates a run of text in a language without spaces.
fn without_spaces(run: &str, language: Language, found: &mut Translation) {
    for piece in pieces(run, language) {
        match piece {
            Piece::Entry(original, sense) => {
                found.push(&sense);
                found.push_original(original);
            }
            Piece::Function => found.push_word(STOP_WORD),
            Piece::Unknown(text) => found.push_text(text),
        }
    }
}

/// Translates a run of Korean. Particles follow their word without a space, so we drop the text after an
/// entry.
fn korean(run: &str, found: &mut Translation) {
    let Some(lexicon) = Lexicon::for_language(Language::Korean) else { return found.push_text(run) };
    let mut rest = run;
    while !rest.is_empty() {
        let term = lexicon.korean_term(rest);
        let least = term.as_ref().map_or(0, |(_, bytes)| *bytes);
        let end = rest[least..].find(' ').map_or(rest.len(), |at| least + at);
        let (word, after) = rest.split_at(end);
        match term {
            Some((sense, _)) => {
                found.push(&sense);
                found.push_original(word);
            }
            None => korean_word(word, found),
        }
        let spaces = after.len() - after.trim_start_matches(' ').len();
        found.text.push_str(&after[..spaces]);
        rest = &after[spaces..];
    }
}

fn korean_word(word: &str, found: &mut Translation) {
    let pieces = pieces(word, Language::Korean);
    let mut has_entry = false;
    for piece in &pieces {
        if let Piece::Entry(_, sense) = piece {
            has_entry = true;
            found.push(sense);
        }
    }
    if has_entry {
        found.push_original(word);
    } else if pieces.iter().all(|piece| *piece == Piece::Function) {
        found.push_word(STOP_WORD);
    } else {
        found.push_text(word);
    }
}

/// Translates text that separates its words by spaces.
fn spaced(run: &str, latin: Option<Language>, found: &mut Translation) {
    let all: Vec<(usize, &str)> = words(run).collect();
    let folded: Vec<Cow<'_, str>> = all.iter().map(|(_, word)| fold(word)).collect();
    let mut copied = 0;
    let mut index = 0;
    while let Some(&(start, word)) = all.get(index) {
        let language = if word.starts_with(is_cyrillic) { Some(Language::Russian) } else { latin };
        let lexicon = language.and_then(Lexicon::for_language).filter(|_| !is_code(run, start, word));
        let Some(lexicon) = lexicon else {
            index += 1;
            continue;
        };
        let term = lexicon.term(&folded[index..]);
        let (senses, count) = match term {
            Some((sense, count)) => (vec![sense], count),
            None if lexicon.function(&folded[index]).is_some() => (Vec::new(), 1),
            None => (lexicon.word(&folded[index]), 1),
        };
        let function = if senses.is_empty() { lexicon.function(&folded[index]) } else { None };
        if senses.is_empty() && function.is_none() {
            index += 1;
            continue;
        }
        found.push_text(&run[copied..start]);
        match function {
            Some(true) => found.push_word(PREPOSITION),
            Some(false) => found.push_word(STOP_WORD),
            None => senses.iter().for_each(|sense| found.push(sense)),
        }
        let (last, word) = all[index + count - 1];
        copied = last + word.len();
        if function.is_none() {
            // We leave out English words with another meaning, e.g. the French `file`, which would find the
            // wrong files.
            let own = all[index..index + count].iter().zip(&folded[index..]);
            own.filter(|(_, folded)| lexicon.function(folded).is_none() && !is_english(folded))
                .for_each(|((_, word), _)| found.push_original(word));
        }
        index += count;
    }
    found.push_text(&run[copied..]);
}

/// Checks whether a word looks like code: a name of several parts, or part of a path or an expression.
fn is_code(text: &str, start: usize, word: &str) -> bool {
    let has_shape = word.contains('_')
        || word.bytes().any(|byte| byte.is_ascii_digit())
        || word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let (before, after) = (&text[..start], &text[start + word.len()..]);
    let joins = |c: char| "./\\:_@#$<>=(){}[]`".contains(c);
    // A sign only joins if something else touches it. Otherwise it is punctuation.
    let is_joined = |mut near: Box<dyn Iterator<Item = char> + '_>| {
        near.next().is_some_and(joins)
            && near.next().is_some_and(|next| next.is_alphanumeric() || joins(next))
    };
    has_shape
        || before.ends_with('`')
        || is_joined(Box::new(before.chars().rev()))
        || is_joined(Box::new(after.chars()))
}

/// Detects the language of the Latin words of a text. `None` means English.
fn latin_language(text: &str) -> Option<Language> {
    let languages: Vec<(Language, &Lexicon)> =
        latin_languages().filter_map(|language| Some((language, Lexicon::for_language(language)?))).collect();
    // The evidence for each language, and for English instead of it.
    let mut scores = vec![(0.0_f32, 0.0_f32); languages.len()];
    for (start, word) in words(text) {
        if !word.chars().all(is_latin) || is_code(text, start, word) {
            continue;
        }
        let lower = word.to_lowercase();
        let folded = fold(word);
        let is_stop_word = is_question_word(&lower);
        let english = if is_stop_word {
            1.0
        } else if is_english(&lower) {
            VOCABULARY
        } else {
            0.0
        };
        for ((_, lexicon), (score, against)) in languages.iter().zip(&mut scores) {
            match is_stop_word {
                // For example, `no` and `do` are function words of English as well.
                true if lexicon.function(&folded).is_some() => {}
                true => *against += english,
                false => {
                    *against += english;
                    *score += lexicon.evidence(&lower, &folded);
                }
            }
        }
    }
    // One weak sign, e.g. a short function word, isn't enough.
    let foreign = scores.iter().enumerate().filter(|(_, (score, against))| score > against && *score >= 1.0);
    let best = foreign.max_by(|left, right| left.1.0.total_cmp(&right.1.0).then(right.0.cmp(&left.0)))?;
    Some(languages[best.0].0)
}

fn is_latin(c: char) -> bool {
    c.is_alphabetic() && c < '\u{250}' || ('\u{300}'..='\u{36F}').contains(&c)
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4FF}').contains(&c)
}

/// Detects the language of a script that has no spaces, or attaches particles to words. Only Japanese has
/// kana.
fn unspaced(c: char) -> Option<Language> {
    match c {
        '\u{3041}'..='\u{309F}' | '\u{30A0}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' => {
            Some(Language::Japanese)
        }
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => {
            Some(Language::Chinese)
        }
        '\u{AC00}'..='\u{D7A3}' => Some(Language::Korean),
        '\u{E01}'..='\u{E4E}' => Some(Language::Thai),
        '\u{E81}'..='\u{ECE}' | '\u{EDC}'..='\u{EDF}' => Some(Language::Lao),
        '\u{1780}'..='\u{17D3}' | '\u{17D7}' | '\u{17DC}'..='\u{17DD}' => Some(Language::Khmer),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
