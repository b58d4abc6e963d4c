//! The type of a variable, as far as the lines around a use show it.

use forage_rank::{Definition, DefinitionKind, FileOutline};

/// Finds the type of the variable or field through which a name is accessed at a byte offset: its annotation, or
/// the class that it is constructed from. `None` if the lines around show none, or several.
pub(super) fn variable_type(
    (text, lines): (&str, &[&str]),
    outline: &FileOutline,
    (at, line): (usize, u32),
    variable: &str,
) -> Option<String> {
    let object = text[..at].trim_end_matches(['.', '?', '!', '-', '>']);
    let owner = object.strip_suffix(variable)?;
    let is_field = owner.ends_with("self.") || owner.ends_with("this.");
    let is_around = |it: &&Definition| match it.kind {
        DefinitionKind::Function => !is_field,
        DefinitionKind::Type | DefinitionKind::Extension => is_field,
        _ => false,
    };
    let innermost = outline.innermost(line)?;
    let around = outline.around(innermost).filter(is_around).last()?;
    let lines = lines.get(around.line as usize - 1..around.end_line as usize)?;
    let all = types(lines, variable, is_field);
    let (first, rest) = all.split_first()?;
    let found = (*first).filter(|_| rest.iter().all(|it| it == first));
    found.map(str::to_owned)
}

/// Words before the declaration of a field.
const FIELD_WORDS: &[&str] = &["private", "protected", "public", "readonly", "static"];

/// Maximum lines of the expression of a `with`.
const WITH_LINES: usize = 12;

/// Collects the type of each binding of a variable. `None` is a type that we can't read.
fn types<'t>(lines: &[&'t str], variable: &str, is_field: bool) -> Vec<Option<&'t str>> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        for (at, _) in line.match_indices(variable) {
            let (before, after) = (&line[..at], &line[at + variable.len()..]);
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let is_own = before.ends_with("self.") || before.ends_with("this.");
            let is_declared =
                before.split_whitespace().last().is_some_and(|word| FIELD_WORDS.contains(&word));
            let is_it = if is_field { is_own || is_declared } else { !before.ends_with('.') };
            if is_it && !before.ends_with(is_word) && !after.starts_with(is_word) {
                // The expression of a `with` may begin some lines above.
                let is_end = before.trim().starts_with(')') && before.trim_end().ends_with(" as");
                let first = (0..index).rev().take(WITH_LINES).find(|above| lines[*above].contains("with "));
                found.extend(
                    match first.filter(|_| is_end).and_then(|first| lines[first].split_once("with ")) {
                        Some((_, value)) => Some(constructed(value)),
                        None => type_at(before, after.trim_start()),
                    },
                );
            }
        }
    }
    found
}

/// Reads the type of one binding. The outer value is `None` if the name is not bound there.
fn type_at<'t>(before: &'t str, after: &'t str) -> Option<Option<&'t str>> {
    let assigned = |text: &'t str| text.strip_prefix('=').filter(|rest| !rest.starts_with(['=', '>']));
    // `with Client() as client:`, whose colon begins no annotation
    let after_with = |text: &'t str| text.rsplit_once("with ").map(|(_, value)| value);
    if let Some(value) = before.trim_end().strip_suffix(" as").and_then(after_with) {
        return Some(constructed(value));
    }
    if let Some(annotation) = after.strip_prefix(':').filter(|rest| !rest.starts_with([':', '='])) {
        let annotation =
            annotation.trim_start().trim_start_matches("&mut ").trim_start_matches(['&', '"', '\'']);
        let (name, rest) = path(annotation);
        let is_union =
            rest.trim_start().strip_prefix('|').is_some_and(|rest| !rest.trim_start().starts_with("None"));
        // Of the values of an object or a dictionary, only names of types are of interest.
        let is_type =
            name.starts_with(char::is_uppercase) && !rest.starts_with(['(', '.', '<', '[']) && !is_union;
        return is_type.then_some(Some(name));
    }
    assigned(after).or_else(|| after.strip_prefix(":=")).map(constructed)
}

/// Reads the class that an expression constructs an object of.
fn constructed(value: &str) -> Option<&str> {
    let value = value.trim_start().trim_start_matches("await ").trim_start_matches('&');
    let value = value.strip_prefix("new ").unwrap_or(value);
    let (name, rest) = path(value);
    // In Rust, these functions return their type.
    if matches!(name, "new" | "default") && rest.starts_with('(') {
        let owner = value[..value.len() - rest.len() - name.len()].strip_suffix("::")?;
        return Some(path(owner).0).filter(|name| name.starts_with(char::is_uppercase));
    }
    (name.starts_with(char::is_uppercase) && rest.starts_with(['(', '{'])).then_some(name)
}

/// Reads a path such as `a.b::C` at the start of a text. Returns its last name and the rest of the text.
fn path(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let whole = text[..end].trim_end_matches([':', '.']);
    (whole.rsplit(['.', ':']).next().unwrap_or(whole), &text[whole.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_from_bindings() {
        let cases = [
            ("", ": Client, other: int):", Some(Some("Client"))),
            ("", ": \"Client\" | None = None", Some(Some("Client"))),
            ("", ": list[Client]", None),
            ("", ": Client | Other", None),
            ("let ", "= Pool::new(1);", Some(Some("Pool"))),
            ("const ", "= new core.Pool(1)", Some(Some("Pool"))),
            ("", "= http.Client(a)", Some(Some("Client"))),
            ("", "= client.send(a)", Some(None)),
            ("", "== Client()", None),
            ("    with http.Client(a) as ", ":", Some(Some("Client"))),
            ("", ":= &Pool{}", Some(Some("Pool"))),
            ("use(", ")", None),
        ];
        for (before, after, expected) in cases {
            assert_eq!(type_at(before, after), expected, "{before}x{after}");
        }
    }
}
