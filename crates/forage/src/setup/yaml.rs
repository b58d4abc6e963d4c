//! YAML: an entry between marks in a mapping in block style, which is how Goose writes its file, or in a list in block
//! style, which is how Continue does. There is no parser here; a file with anything else than plain lines where it matters is refused.

use serde_json::Value;

use super::jsonc::{JsoncContents, Spot};
use super::{SetupRefusal, marked, newline};

/// Where the section and its entries are.
struct Layout {
    /// The section's line number, if there is one.
    section: Option<usize>,
    /// The spaces before its entries.
    indent: usize,
    /// The names of its entries.
    entries: Vec<String>,
    /// The last line that belongs to the section.
    last: usize,
    /// There are texts in block form (`|`, `>`), whose last newline counts.
    has_block_texts: bool,
}

pub(super) fn inspect(text: &str, spot: Spot<'_>) -> Result<JsoncContents, SetupRefusal> {
    let layout = layout(text, spot)?;
    let neighbours = layout.entries.iter().filter(|name| *name != spot.name && !name.is_empty());
    let entry = match layout.entries.iter().filter(|name| *name == spot.name).count() {
        0 => None,
        1 => Some(marked::find(text)?.and_then(|block| read(&block.lines, spot)).unwrap_or(Value::Null)),
        _ => return Err(SetupRefusal::new(format!("it has `{}` more than once", spot.name))),
    };
    let neighbours = neighbours.cloned().collect();
    Ok(JsoncContents { entry, neighbours, has_section: layout.section.is_some() })
}

/// The lines of the entry, with those of a section around it when there is none yet.
pub(super) fn lines(spot: Spot<'_>, value: &Value, with_section: bool) -> Vec<String> {
    let field = |(key, value): (&String, &Value)| format!("{key}: {}", literal(value));
    let fields = value.as_object().into_iter().flatten().map(field);
    let entry: Vec<String> = if spot.is_list {
        let mark = |number| if number == 0 { "- " } else { "  " };
        fields.enumerate().map(|(number, field)| mark(number).to_owned() + &field).collect()
    } else {
        [format!("{}:", spot.name)].into_iter().chain(fields.map(|field| format!("  {field}"))).collect()
    };
    let entry = entry.into_iter();
    if with_section {
        [format!("{}:", spot.section)].into_iter().chain(entry.map(|line| format!("  {line}"))).collect()
    } else {
        entry.collect()
    }
}

pub(super) fn add(text: &str, spot: Spot<'_>, value: &Value) -> Result<String, SetupRefusal> {
    let layout = layout(text, spot)?;
    let newline = newline(text);
    if let Some(block) = marked::find(text)? {
        if read(&block.lines, spot).is_none() {
            return Err(SetupRefusal::new(
                "between its marks is something else than Forage wrote".to_owned(),
            ));
        }
        let end = if text[block.range.clone()].ends_with('\n') { newline } else { "" };
        let with_section = has_section(&block.lines, spot);
        let new = marked::marked(&lines(spot, value, with_section), &block.indent, newline) + end;
        return Ok(format!("{}{new}{}", &text[..block.range.start], &text[block.range.end..]));
    }
    if layout.has_block_texts && !text.ends_with('\n') {
        return Err(SetupRefusal::new("its last line has no newline, and a text may end there".to_owned()));
    }
    if layout.section.is_none() {
        return Ok(marked::append(text, &lines(spot, value, true)));
    }
    let block = marked::marked(&lines(spot, value, false), &" ".repeat(layout.indent), newline);
    let end = text.split_inclusive('\n').take(layout.last + 1).map(str::len).sum();
    let (before, after) = text.split_at(end);
    Ok(match before.ends_with('\n') {
        true => format!("{before}{block}{newline}{after}"),
        false => format!("{before}{newline}{block}"),
    })
}

pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, SetupRefusal> {
    layout(text, spot)?;
    let Some(block) = marked::find(text)? else {
        return Err(SetupRefusal::new(format!(
            "its entry `{}` has no marks `{}`: some clients take them out when they rewrite the file",
            spot.name,
            marked::BEGIN
        )));
    };
    let (before, after) = (&text[..block.range.start], &text[block.range.end..]);
    if !has_section(&block.lines, spot) {
        // Within a section there is no empty line of ours.
        let before = match text[block.range.clone()].ends_with('\n') {
            true => before,
            false => before.strip_suffix('\n').map_or(before, |text| text.strip_suffix('\r').unwrap_or(text)),
        };
        return Ok(Some(format!("{before}{after}")));
    }
    let next = after.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    if next.is_some_and(|line| line.starts_with(' ') || spot.is_list && line.starts_with('-')) {
        // Somebody has added to the section, so that it stays.
        return Ok(Some(format!("{before}{}:{}{after}", spot.section, newline(text))));
    }
    Ok(marked::take_out(text, &block))
}

fn has_section(lines: &[String], spot: Spot<'_>) -> bool {
    lines.first().is_some_and(|line| *line == format!("{}:", spot.section))
}

/// The entry, if its lines are such as Forage writes, whatever the command in them.
fn read(lines_of_block: &[String], spot: Spot<'_>) -> Option<Value> {
    let with_section = has_section(lines_of_block, spot);
    let first = lines_of_block.first()?;
    let depth = first.len() - first.trim_start().len();
    let shown: Vec<&str> = lines_of_block.iter().map(|line| line.get(depth..).unwrap_or(line)).collect();
    let fields = shown.iter().skip(usize::from(with_section) + usize::from(!spot.is_list));
    let value = fields
        .map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("- ").filter(|_| spot.is_list).unwrap_or(line);
            let (key, value) = line.split_once(": ")?;
            let value = match value {
                "[mcp]" => Value::from(vec!["mcp"]),
                value => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
            };
            Some((key.to_owned(), value))
        })
        .collect::<Option<serde_json::Map<_, _>>>()
        .map(Value::Object)?;
    (lines(spot, &value, with_section) == shown).then_some(value)
}

fn literal(value: &Value) -> String {
    let is_plain = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && text.chars().all(is_word)
            && !matches!(
                text.to_ascii_lowercase().as_str(),
                "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
            )
    };
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn layout(text: &str, spot: Spot<'_>) -> Result<Layout, SetupRefusal> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_break = |c: char| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    if body.replace("\r\n", "").contains('\r') || body.contains(is_break) {
        return Err(SetupRefusal::new("it has line breaks other than newlines".to_owned()));
    }
    let mut layout =
        Layout { section: None, indent: 2, entries: Vec::new(), last: 0, has_block_texts: false };
    let mut within = false;
    let (mut begun, mut has_keys) = (false, false);
    // The spaces before what an element of the section says, until it has said its name.
    let mut unnamed: Option<usize> = None;
    for (number, line) in body.lines().enumerate() {
        let refuse = |problem: &str| Err(SetupRefusal::new(format!("line {} {problem}", number + 1)));
        let content = line.trim_end();
        let indent = content.len() - content.trim_start_matches(' ').len();
        let code = &content[indent..];
        if layout.has_block_texts && code.is_empty() && !line.is_empty() {
            return refuse("holds nothing but spaces, and may belong to the text above it");
        }
        if code.is_empty() || code.starts_with('#') {
            // What looks like a comment may be a line of the block text above it.
            if within && !code.is_empty() && indent > layout.indent {
                layout.last = number;
            }
            continue;
        }
        if code.starts_with('\t') {
            return refuse("is indented with a tab");
        }
        let item = code.trim_start_matches("- ");
        let value = key_of(item).map_or(item, |(_, value)| value);
        if !is_closed(value) {
            return refuse("begins a text or a collection that goes on in the next line");
        }
        // Whatever the name before it, and behind a tag, too.
        let last =
            code.split(" #").next().unwrap_or(code).split_ascii_whitespace().next_back().unwrap_or(code);
        let begins_block_text = last.starts_with(['|', '>']) || value.starts_with(['|', '>']);
        layout.has_block_texts |= begins_block_text;
        if begins_block_text && (last.contains('+') || value.contains('+')) {
            return refuse("begins a text whose empty lines count");
        }
        if indent == 0 {
            let first = !std::mem::replace(&mut begun, true);
            if within && spot.is_list && is_element(code) {
                if !layout.entries.is_empty() && layout.indent != 0 {
                    return refuse("is indented less than the lines before it");
                }
                layout.indent = 0;
                (unnamed, layout.last) = (element(code, 0, &mut layout.entries), number);
                continue;
            }
            if (code == "---" && first) || code.starts_with("- ") || code == "-" {
                if within && code != "---" && !spot.is_list {
                    return refuse(&format!("makes `{}` a list", spot.section));
                }
                continue;
            }
            let Some((key, value)) = key_of(code) else { return refuse("is no `name: value`") };
            has_keys = true;
            within = key == spot.section;
            if within {
                if layout.section.is_some() {
                    return refuse(&format!("is a second `{}`", spot.section));
                }
                if !value.is_empty() {
                    return refuse(&format!(
                        "gives `{}` in another form than a block of lines",
                        spot.section
                    ));
                }
                (layout.section, layout.last) = (Some(number), number);
            }
        } else if within {
            if layout.entries.is_empty() {
                layout.indent = indent;
            }
            if indent < layout.indent {
                return refuse("is indented less than the lines before it");
            }
            if indent == layout.indent && spot.is_list {
                if !is_element(code) {
                    return refuse("is no element of a list");
                }
                unnamed = element(code, indent, &mut layout.entries);
            } else if unnamed == Some(indent) {
                if let Some(("name", value)) = key_of(code) {
                    name_last(&mut layout.entries, value);
                    unnamed = None;
                }
            } else if indent == layout.indent {
                let Some((key, _)) = key_of(code) else { return refuse("is no `name: value`") };
                layout.entries.push(key.to_owned());
            }
            layout.last = number;
        } else if !has_keys {
            return refuse("is indented, with nothing above it");
        }
    }
    Ok(layout)
}

fn is_element(code: &str) -> bool {
    code == "-" || code.starts_with("- ")
}

/// An element that begins here, with its name if it begins with that. Else the spaces before what it says.
fn element(code: &str, indent: usize, entries: &mut Vec<String>) -> Option<usize> {
    entries.push(String::new());
    let said = code[1..].trim_start();
    match key_of(said) {
        Some(("name", value)) => {
            name_last(entries, value);
            None
        }
        _ if said.is_empty() => None,
        _ => Some(indent + code.len() - said.len()),
    }
}

/// The element that began last is called so.
fn name_last(entries: &mut [String], value: &str) {
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    if let Some(name) = entries.last_mut() {
        quoted.unwrap_or(value).clone_into(name);
    }
}

/// Name and value of a line `name: value`; a comment behind it is no value.
fn key_of(code: &str) -> Option<(&str, &str)> {
    let (key, value) = code.split_once(": ").or_else(|| Some((code.strip_suffix(':')?, "")))?;
    let quoted = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote));
    let key = quoted.unwrap_or(key).trim_end();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ' | '@');
    let value = value.trim_start();
    let value = if value.starts_with('#') { "" } else { value };
    (!key.is_empty() && key.chars().all(is_plain)).then_some((key, value))
}

/// Whether a value ends on its line. Block texts (`|`, `>`) go on in lines that are indented, and need no end. What is
/// unclear counts as open.
fn is_closed(value: &str) -> bool {
    let without_comment = value.split(" #").next().unwrap_or(value).trim_end();
    let count = |chars: &[char]| without_comment.chars().filter(|c| chars.contains(c)).count();
    match value.chars().next() {
        Some('"') => ends_after_text(value, |rest| match rest.find(['"', '\\'])? {
            at if rest[at..].starts_with('"') => Some((at + 1, true)),
            at => Some((at + 1 + rest[at + 1..].chars().next()?.len_utf8(), false)),
        }),
        Some('\'') => ends_after_text(value, |rest| {
            let at = rest.find('\'')?;
            let is_doubled = rest[at + 1..].starts_with('\'');
            Some(if is_doubled { (at + 2, false) } else { (at + 1, true) })
        }),
        Some('[' | '{') => count(&['[', '{']) == count(&[']', '}']) && without_comment.ends_with([']', '}']),
        _ => true,
    }
}

/// Whether a text in quotes ends on its line, with at most a comment behind it. `step` goes to the next character that
/// matters, and says how far that is and whether the text ends there.
fn ends_after_text(value: &str, step: impl Fn(&str) -> Option<(usize, bool)>) -> bool {
    let mut rest = &value[1..];
    while let Some((length, is_end)) = step(rest) {
        rest = &rest[length..];
        if is_end {
            let rest = rest.trim();
            return rest.is_empty() || rest.starts_with('#');
        }
    }
    false
}
