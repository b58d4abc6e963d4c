//! Translates lines of `.gitignore` from git's syntax to that of the `ignore` crate.
//!
//! That crate treats braces as alternatives, has no POSIX classes and no escapes within a class, and trims
//! tabs. We parse a line like git's `dir.c` and `wildmatch.c`, and write it in syntax that means the same to
//! both.

use std::iter::Peekable;
use std::str::Chars;

/// Rewrites a line so that it matches the same in the `ignore` crate as in git. Returns `None` if the line
/// matches nothing.
pub(crate) fn rewrite(line: &str) -> Option<String> {
    let line = trim_spaces(line);
    let (negation, pattern) = line.strip_prefix('!').map_or(("", line), |pattern| ("!", pattern));
    let (pattern, directory) = pattern.strip_suffix('/').map_or((pattern, ""), |pattern| (pattern, "/"));
    // As in git, a slash anchors a pattern to the directory of its file.
    let (anchor, pattern) = match pattern.contains('/') {
        true => ("/", pattern.strip_prefix('/').unwrap_or(pattern)),
        false => ("**/", pattern),
    };
    let glob = glob(pattern).filter(|glob| !glob.is_empty())?;
    // The `ignore` crate would trim trailing white space; an empty alternative after it prevents this and
    // matches nothing more.
    let guard = if glob.ends_with(char::is_whitespace) { "{}" } else { "" };
    Some(format!("{negation}{anchor}{glob}{guard}{directory}"))
}

/// Trims trailing spaces that are not escaped.
fn trim_spaces(line: &str) -> &str {
    let mut end = 0;
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        if character != ' ' {
            let (at, last) = escaped.unwrap_or((at, character));
            end = at + last.len_utf8();
        }
    }
    &line[..end]
}

/// Translates a pattern without its leading and trailing slash. Returns `None` if it can't match.
fn glob(pattern: &str) -> Option<String> {
    let mut glob = String::new();
    let mut characters = pattern.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let escaped = characters.next()?;
                push_literal(&mut glob, escaped);
                before = Some(escaped);
                continue;
            }
            '?' => glob.push('?'),
            '[' => push_class(&mut glob, &mut characters)?,
            '*' => {
                let mut is_run = false;
                while characters.next_if_eq(&'*').is_some() {
                    is_run = true;
                }
                let begins = matches!(before, None | Some('/'));
                let rest = characters.clone().take(2).collect::<String>();
                glob.push_str(match () {
                    () if !is_run || !begins => "*",
                    () if rest.is_empty() || rest.starts_with('/') => "**",
                    // An escaped slash is required to be present.
                    () if rest == "\\/" => "*/**",
                    () => "*",
                });
            }
            other => push_literal(&mut glob, other),
        }
        before = Some(character);
    }
    Some(glob)
}

fn push_literal(glob: &mut String, character: char) {
    if "*?[]{}\\".contains(character) {
        glob.push('\\');
    }
    glob.push(character);
}

/// Translates a class after its `[`. Returns `None` if it can't match: if it is unterminated, empty, or
/// contains an unknown POSIX class.
fn push_class(glob: &mut String, pattern: &mut Peekable<Chars<'_>>) -> Option<()> {
    let is_negated = pattern.next_if(|next| matches!(next, '!' | '^')).is_some();
    let mut ascii = [false; 128];
    let mut others = String::new();
    let mut add = |first: char, last: char| {
        (first as usize..128.min(last as usize + 1)).for_each(|code| ascii[code] = true);
        if first == last && !first.is_ascii() {
            others.push(first);
        } else if first < last && !last.is_ascii() {
            others.extend([first.max('\u{80}'), '-', last]);
        }
    };
    let mut before = None;
    let mut next = pattern.next()?;
    loop {
        before = match (next, before) {
            ('\\', _) => {
                let escaped = pattern.next()?;
                add(escaped, escaped);
                Some(escaped)
            }
            ('-', Some(first)) if pattern.peek().is_some_and(|&last| last != ']') => {
                let last = pattern.next()?;
                add(first, if last == '\\' { pattern.next()? } else { last });
                None
            }
            ('[', _) if pattern.peek() == Some(&':') => {
                let rest: String = pattern.clone().skip(1).collect();
                match rest[..rest.find(']')?].strip_suffix(':') {
                    Some(name) => {
                        let holds = posix_class(name)?;
                        (0..128_u8).filter(holds).map(char::from).for_each(|one| add(one, one));
                        // Skip `:name:]`.
                        pattern.nth(name.chars().count() + 2);
                        None
                    }
                    None => {
                        add('[', '[');
                        Some('[')
                    }
                }
            }
            (one, _) => {
                add(one, one);
                Some(one)
            }
        };
        next = pattern.next()?;
        if next == ']' {
            break;
        }
    }
    // A class never matches a slash.
    ascii[usize::from(b'/')] = is_negated;
    let members = || (0..128_u8).filter(|&code| ascii[usize::from(code)]).map(char::from);
    // Within a class, `]` is only literal at the start, and `-` at the end.
    if is_negated {
        glob.push_str("[!");
        glob.extend(members().filter(|member| *member == ']'));
        glob.extend(members().filter(|member| !"]-".contains(*member)));
        glob.push_str(&others);
        glob.extend(members().filter(|member| *member == '-'));
        glob.push(']');
        return Some(());
    }
    // We write the class as alternatives, because a leading `!` or `^` would negate it.
    let mut alternatives: Vec<String> = members().map(|member| format!("\\{member}")).collect();
    if !others.is_empty() {
        alternatives.push(format!("[{others}]"));
    }
    glob.push_str(&format!("{{{}}}", alternatives.join(",")));
    (!alternatives.is_empty()).then_some(())
}

/// Looks up the predicate of a POSIX class for ASCII.
fn posix_class(name: &str) -> Option<fn(&u8) -> bool> {
    Some(match name {
        "alnum" => u8::is_ascii_alphanumeric,
        "alpha" => u8::is_ascii_alphabetic,
        "blank" => |byte| matches!(byte, b' ' | b'\t'),
        "cntrl" => u8::is_ascii_control,
        "digit" => u8::is_ascii_digit,
        "graph" => u8::is_ascii_graphic,
        "lower" => u8::is_ascii_lowercase,
        "print" => |byte| matches!(byte, b' '..=b'~'),
        "punct" => u8::is_ascii_punctuation,
        "space" => |byte| matches!(byte, b'\t'..=b'\r' | b' '),
        "upper" => u8::is_ascii_uppercase,
        "xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}
