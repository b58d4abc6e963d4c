//! Rewrites a pattern so that ugrep's PCRE2 mode reads it exactly as we do.
//!
//! ugrep's own syntax has different definitions of letters, words, white space and line ends. Its parser also
//! rejects some valid expressions, for example an anchor alone in an alternative, or an empty alternative. We
//! therefore print patterns that we can parse from their parsed form, with classes spelled out and assertions
//! expressed as look-around. We pass all others (with look-around or backreferences) to ugrep unchanged.

use std::fmt::Write;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};

use super::ExternalError;
use crate::limits;

/// The meaning of `\w`: the definition of Unicode's annex on regular expressions, as in the embedded engine.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}";
const ASCII_WORD: &str = "0-9A-Za-z_";
/// An expression that matches the empty text; ugrep rejects a lone `(?:)`.
const NOTHING: &str = "x{0}";

/// Translates the pattern for ugrep's `-P`.
///
/// # Errors
///
/// Fails for patterns that this mode does not support. They have bytes that are not UTF-8, line starts of the
/// flag `R`, or counts above [`limits::UGREP_REPETITIONS`].
pub(super) fn for_ugrep(hir: &Hir, word: bool) -> Result<String, ExternalError> {
    let mut out = String::new();
    let empty = hir.properties().minimum_len() == Some(0);
    // ugrep misses lines with empty matches unless the match is at the start of the line.
    if empty {
        out.push_str(r"^[^\n]*?");
    }
    out.push_str("(?:");
    if word {
        out.push_str(&look(Look::WordStartHalfUnicode)?);
    }
    write(&mut out, hir)?;
    if word {
        out.push_str(&look(Look::WordEndHalfUnicode)?);
    }
    out.push(')');
    Ok(out)
}

fn write(out: &mut String, hir: &Hir) -> Result<(), ExternalError> {
    match hir.kind() {
        HirKind::Empty => out.push_str(NOTHING),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| ExternalError::NotForUgrep)?;
            for c in text.chars() {
                character(out, c);
            }
        }
        HirKind::Class(class) => out.push_str(&self::class(class)?),
        HirKind::Look(kind) => out.push_str(&look(*kind)?),
        HirKind::Repetition(repetition) => {
            group(out, std::slice::from_ref(&*repetition.sub), "")?;
            out.push_str(&counts(repetition)?);
        }
        HirKind::Capture(capture) => group(out, std::slice::from_ref(&*capture.sub), "")?,
        HirKind::Concat(parts) => group(out, parts, "")?,
        HirKind::Alternation(parts) => group(out, parts, "|")?,
    }
    Ok(())
}

fn group(out: &mut String, parts: &[Hir], separator: &str) -> Result<(), ExternalError> {
    out.push_str("(?:");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        write(out, part)?;
    }
    out.push(')');
    Ok(())
}

fn character(out: &mut String, c: char) {
    // Any other escaped character could have a meaning. For example, `\<` matches the start of a word in
    // ugrep.
    if c.is_ascii_alphanumeric() || c == '_' {
        out.push(c);
    } else {
        let _ = write!(out, "\\x{{{:x}}}", u32::from(c));
    }
}

fn class(class: &Class) -> Result<String, ExternalError> {
    let mut unicode = match class {
        Class::Unicode(unicode) => unicode.clone(),
        Class::Bytes(bytes) => bytes.to_unicode_class().ok_or(ExternalError::NotForUgrep)?,
    };
    // ugrep matches in a text of many lines, but for us each line is a haystack of its own. No class may
    // therefore match a line feed.
    let mut feed = ClassUnicode::empty();
    feed.push(regex_syntax::hir::ClassUnicodeRange::new('\n', '\n'));
    let words = words();
    if unicode == words {
        return Ok(format!("[{WORD}]"));
    }
    let mut others = words;
    others.negate();
    if unicode == others {
        return Ok(format!(r"[^\n{WORD}]"));
    }
    unicode.difference(&feed);
    if unicode.ranges().is_empty() {
        return Ok(format!("(?!{NOTHING})"));
    }
    let mut out = "[".to_owned();
    for range in unicode.iter() {
        character(&mut out, range.start());
        if range.start() != range.end() {
            out.push('-');
            character(&mut out, range.end());
        }
    }
    out.push(']');
    Ok(out)
}

fn words() -> ClassUnicode {
    match regex_syntax::parse(r"\w").map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(words))) => words,
        _ => ClassUnicode::empty(),
    }
}

fn counts(repetition: &Repetition) -> Result<String, ExternalError> {
    if repetition.min.max(repetition.max.unwrap_or(0)) > limits::UGREP_REPETITIONS {
        return Err(ExternalError::CountForUgrep);
    }
    let count = match (repetition.min, repetition.max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    };
    Ok(if repetition.greedy { count } else { count + "?" })
}

/// Expresses an assertion as look-around.
///
/// Next to bytes that are not UTF-8, PCRE2 sees neither a character nor a line end. The form of each
/// assertion depends on this: a word boundary may be next to such bytes, but a half boundary may not.
fn look(look: Look) -> Result<String, ExternalError> {
    let is_unicode = regex_syntax::hir::LookSet::singleton(look).contains_word_unicode();
    let class = if is_unicode { WORD } else { ASCII_WORD };
    let (word, other) = (format!("[{class}]"), format!("[^{class}]"));
    Ok(match look {
        // ugrep rejects an anchor alone in an alternative, so an empty match follows it.
        Look::Start | Look::StartLF => format!("^{NOTHING}"),
        Look::End | Look::EndLF => format!("${NOTHING}"),
        // Only the flag `R` gives this start, but every `$` gives the end; see `pattern::with_line_ends`.
        Look::StartCRLF => return Err(ExternalError::NotForUgrep),
        Look::EndCRLF => format!("(?:(?=\\x{{d}})|${NOTHING})"),
        Look::WordUnicode | Look::WordAscii => format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"),
        Look::WordUnicodeNegate => {
            format!("(?:(?<={word})(?={word})|(?:(?<={other})|^{NOTHING})(?:(?={other})|${NOTHING}))")
        }
        Look::WordAsciiNegate => format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"),
        Look::WordStartUnicode | Look::WordStartAscii => format!("(?<!{word})(?={word})"),
        Look::WordEndUnicode | Look::WordEndAscii => format!("(?<={word})(?!{word})"),
        Look::WordStartHalfUnicode => format!("(?:(?<={other})|^{NOTHING})"),
        Look::WordEndHalfUnicode => format!("(?:(?={other})|${NOTHING})"),
        Look::WordStartHalfAscii => format!("(?<!{word})"),
        Look::WordEndHalfAscii => format!("(?!{word})"),
    })
}
