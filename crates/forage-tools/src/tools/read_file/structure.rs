//! The definitions of a file: its outline, and the lines of single definitions.
//!
//! Both come from the file's syntax tree if there is a grammar for its language (`forage_rank::outline`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use forage_base::{Stop, Stopped};
use forage_fs::{RelPath, display_text};
use forage_rank::{Definition, DefinitionKind, FileOutline};
use forage_redact::RedactionReport;
use forage_search::shown_part;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ReadRequest, ReadResponse};
use crate::call::Call;
use crate::error::ToolError;
use crate::file_text::FileSource;
use crate::limits;
use crate::names::ToolNames;
use crate::notes::{notes as notes_of, notes_bytes, with_notes};
use crate::outcome::ToolOutcome;
use crate::output_redactor::{Excerpt, OutputRedactor};
use crate::place::PathTarget;
use crate::sanitize::line_text;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{KEYWORD_PREFIXES, clip, count, grouped, quoted, quoted_name};

/// A definition of the outline.
#[derive(Debug, JsonSchema, Serialize)]
pub struct OutlineEntry {
    /// The name, without its qualifiers.
    pub name: String,
    /// The keyword of the language, such as `struct` or `def`, or a general word, such as `function`, if `by_line`.
    pub kind: &'static str,
    /// The first line of the comments and attributes above it, from 1.
    pub start_line: u32,
    /// The line with the name.
    pub line: u32,
    /// The last line of its body.
    pub end_line: u32,
    /// Number of definitions around it.
    pub depth: u32,
    /// The line with the name, without indentation, cut.
    pub text: String,
}

/// Resolves a request to a file and a definition. The definition is an argument, or follows `#` in the path,
/// unless there is a file with that whole name.
pub(super) fn named(call: &Call, request: &ReadRequest) -> Result<(PathTarget, Option<String>), ToolError> {
    let place = |path: &str| call.place(Some(path))?.without_globs(&call.workspace.names);
    let is_file = |target: &PathTarget| match &target.revision {
        Some(revision) => revision.read(&target.root, &target.path, &call.stop).is_ok(),
        None => target.root.open_file(&target.path).is_ok(),
    };
    if request.symbol.is_none()
        && let Some((path, name)) = request.path.rsplit_once('#')
        && !name.is_empty()
        && !place(&request.path).is_ok_and(|target| is_file(&target))
        && let Ok(target) = place(path)
        && is_file(&target)
    {
        return Ok((target, Some(name.to_owned())));
    }
    Ok((place(&request.path)?, request.symbol.clone()))
}

/// Builds the answer with the outline of a file, or with the definitions that overlap some of its lines.
pub(super) fn answer(
    call: &Call,
    source: &FileSource,
    lines: Option<RangeInclusive<i64>>,
    note: Option<String>,
    stop: &Stop,
) -> Result<ToolOutcome<ReadResponse>, ToolError> {
    let FileSource { path, .. } = source;
    let (text, encoding, size) = source.whole_text(stop)?;
    let mut hidden = RedactionReport::default();
    let shown_path = String::from_utf8_lossy(path.as_bytes());
    let found = call.workspace.outlines.outline(&shown_path, &text, stop);
    let is_asked = |definition: &&Definition| {
        let (start, end) = (i64::from(definition.start_line), i64::from(definition.end_line));
        lines.as_ref().is_none_or(|lines| start <= *lines.end() && *lines.start() <= end)
    };
    let asked: Vec<&Definition> = found.definitions.iter().filter(is_asked).collect();
    let all_lines: Vec<&str> = text.lines().collect();
    let importance = |definition: &&Definition| {
        let line = all_lines.get(definition.line as usize - 1).copied().unwrap_or_default();
        Importance::new(definition, &found, &shown_path, line)
    };
    let importances: Vec<Importance> = asked.iter().map(importance).collect();
    let (entries, left_out) =
        outline(&asked, &importances, &text, &mut OutputRedactor::new(&call.workspace.redactor, &mut hidden));
    let total_lines = text.lines().count() as u64;
    let mut outcome = ToolOutcome::new(
        ReadResponse {
            total_lines,
            total_exact: true,
            outline: entries,
            outline_left_out: left_out,
            outline_by_line: found.is_by_line,
            outline_has_errors: found.has_errors,
            is_outline: true,
            outline_lines: lines.map(|lines| (*lines.start(), *lines.end())),
            ..ReadResponse::new(source, size, encoding)
        },
        true,
    );
    outcome.hidden = hidden;
    outcome.warnings.extend(note);
    outcome.warnings.extend(found.has_more.then(has_more));
    if stop.check().is_some_and(|stopped| stopped == Stopped::Cancelled) {
        return Err(ToolError::Cancelled);
    }
    Ok(outcome)
}

/// Formats the note about a file with too many definitions.
fn has_more() -> String {
    format!(
        "only the first {} definitions are known",
        grouped(forage_rank::limits::OUTLINE_DEFINITIONS as u64)
    )
}

/// Importance of a definition in an outline. The most important comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    /// A type, module or section that is not nested in a function.
    Type,
    PublicFunction,
    Function,
    Declaration,
    Constant,
    /// Any definition that is nested in a function.
    Nested,
}

impl Importance {
    fn new(definition: &Definition, outline: &FileOutline, path: &str, line: &str) -> Self {
        let mut around = definition.parent.into_iter().flat_map(|at| outline.around(at));
        if around.any(|outer| outer.kind == DefinitionKind::Function) {
            return Self::Nested;
        }
        match definition.kind {
            DefinitionKind::Function if is_public(definition, path, line) => Self::PublicFunction,
            DefinitionKind::Function => Self::Function,
            DefinitionKind::Declaration => Self::Declaration,
            DefinitionKind::Constant => Self::Constant,
            _ => Self::Type,
        }
    }
}

/// Returns true if other files can call a function, as far as we can see from its name and its line.
fn is_public(definition: &Definition, path: &str, line: &str) -> bool {
    let name = definition.name.as_str();
    let before = line.split(name).next().unwrap_or_default();
    let has = |words: &[&str]| before.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
    let is_dunder = name.starts_with("__") && name.ends_with("__");
    match path.rsplit('.').next() {
        Some("rs") => has(&["pub"]),
        Some("go") => name.starts_with(char::is_uppercase),
        Some("c" | "h") => !has(&["static"]),
        _ => {
            let is_hidden =
                name.starts_with('_') && !is_dunder || name.starts_with('#') || before.ends_with('#');
            !is_hidden && !has(&["private", "protected", "internal", "fileprivate", "local"])
        }
    }
}

/// Builds the outline of a text, within the limit for outlines. Also counts the omitted definitions by kind.
/// We shorten lines first. If this does not suffice, we drop the least important definitions, since an
/// outline without names would be useless.
fn outline(
    found: &[&Definition],
    importances: &[Importance],
    text: &str,
    redactor: &mut OutputRedactor<'_>,
) -> (Vec<OutlineEntry>, BTreeMap<&'static str, usize>) {
    let excerpt = Excerpt::new(text);
    let mut lines: Vec<usize> = found.iter().map(|definition| definition.line as usize - 1).collect();
    lines.sort_unstable();
    lines.dedup();
    let texts = redactor.chosen(&excerpt, &lines);
    let entries = |max: usize| -> Vec<OutlineEntry> {
        let line = |definition: &Definition| {
            let index = lines.binary_search(&(definition.line as usize - 1)).unwrap_or_default();
            texts.get(index).map(String::as_str).unwrap_or_default()
        };
        found.iter().map(|definition| entry(definition, line(definition), max)).collect()
    };
    let part = |of: usize| (text.len() / of).max(limits::OUTLINE_BYTES);
    let mut outline = Vec::new();
    for max in limits::OUTLINE_CHARACTERS {
        outline = entries(max);
        if outline.iter().map(|entry| shown(entry).len()).sum::<usize>() <= part(limits::OUTLINE_PART) {
            return (outline, BTreeMap::new());
        }
    }
    // The most important come first, and the outermost of these.
    let key = |at: usize| (importances[at], found[at].depth);
    let mut bytes: BTreeMap<(Importance, u32), usize> = BTreeMap::new();
    for (at, entry) in outline.iter().enumerate() {
        *bytes.entry(key(at)).or_default() += shown(entry).len();
    }
    let mut room = part(limits::OUTLINE_LARGEST_PART);
    let fits = |(_, bytes): &(&(Importance, u32), &usize)| {
        let has_room = **bytes <= room;
        room = room.saturating_sub(**bytes);
        has_room
    };
    // We must keep the most important ones, however much room they take.
    let last = bytes.iter().take_while(fits).map(|(key, _)| *key).last();
    let last = last.or_else(|| bytes.keys().next().copied());
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut at = 0;
    outline.retain(|entry| {
        let is_kept = Some(key(at)) <= last;
        at += 1;
        if !is_kept {
            *left_out.entry(entry.kind).or_default() += 1;
        }
        is_kept
    });
    (outline, left_out)
}

fn entry(definition: &Definition, line: &str, max: usize) -> OutlineEntry {
    let line = line.trim().trim_end_matches(['{', ' ']);
    // We don't cut names, because you can't use a truncated name in a request.
    let name_end = line.find(&definition.name).map(|at| line[..at + definition.name.len()].chars().count());
    let max = name_end.filter(|end| *end <= limits::OUTLINE_CHARACTERS[0]).map_or(max, |end| end.max(max));
    let part = shown_part(line.as_bytes(), max, None);
    let mark = if part.end < line.len() { "…" } else { "" };
    OutlineEntry {
        name: definition.name.clone(),
        kind: definition.word,
        start_line: definition.start_line,
        line: definition.line,
        end_line: definition.end_line,
        depth: definition.depth,
        text: format!("{}{mark}", &line[part]),
    }
}

/// Note for an outline without a syntax tree.
const BY_LINE: &str = "read line by line, without a parser: definitions may be missing or end elsewhere";

/// Renders an outline.
pub(super) fn render(outcome: &ToolOutcome<ReadResponse>, budget: usize) -> Rendered {
    let response = &outcome.response;
    let of_lines = response.outline_lines.map(|(start, end)| match end {
        i64::MAX => format!("definitions from line {start} on, of "),
        end => format!("definitions in lines {start} to {end} of "),
    });
    let of_lines = of_lines.unwrap_or_default();
    let mut notes = vec![format!("{of_lines}{} of {}", response.path, count(response.total_lines, "line"))];
    if response.outline.is_empty() {
        notes.push("no definitions were found in it".to_owned());
    } else if response.outline_by_line {
        notes.push(BY_LINE.to_owned());
    } else if response.outline_has_errors {
        notes.push(
            "the parser found errors: definitions near them are read line by line, and may end elsewhere or be missing"
                .to_owned(),
        );
    }
    if !response.outline_left_out.is_empty() {
        let mut kinds: Vec<(&str, usize)> =
            response.outline_left_out.iter().map(|(kind, n)| (*kind, *n)).collect();
        kinds.sort_by_key(|(_, count)| Reverse(*count));
        let all = kinds.iter().map(|(_, count)| *count as u64).sum::<u64>();
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count as u64))).collect();
        let example = format!("{}:1-99", response.path);
        notes.push(format!(
            "{} left out ({}); a symbol, or lines after the path as in `{example}`, shows their contents",
            count(all, "less important definition"),
            kinds.join(", ")
        ));
    }
    notes.extend(notes_of(outcome, None));
    let room = budget.saturating_sub(notes_bytes(&notes));
    let (mut text, mut files) = (String::new(), ShownFiles::default());
    files.named(&response.path, 0);
    for (index, entry) in response.outline.iter().enumerate() {
        let line = shown(entry);
        if text.len() + line.len() > room {
            let rest = count((response.outline.len() - index) as u64, "definition");
            notes.insert(
                0,
                format!("{rest} after line {} left out because the answer was too long", entry.line - 1),
            );
            let (text, shown) = (with_notes(text, &notes), files.into_files());
            return Rendered { text, is_cut: true, hides_results: true, shown };
        }
        text.push_str(&line);
        files.lines(&response.path, entry.line.into(), entry.line.into());
    }
    let (text, shown) = (with_notes(text, &notes), files.into_files());
    Rendered { text, is_cut: false, hides_results: false, shown }
}

/// Formats an entry as a line of text.
fn shown(entry: &OutlineEntry) -> String {
    let mut line = String::new();
    let indent = "  ".repeat(entry.depth as usize);
    let lines = match entry.start_line == entry.end_line {
        true => entry.end_line.to_string(),
        false => format!("{}-{}", entry.start_line, entry.end_line),
    };
    let _ = writeln!(line, "{lines}\t{indent}{}", line_text(entry.text.as_bytes()));
    line
}

/// Definitions requested by name.
#[derive(Clone, Copy)]
pub(super) struct SymbolRequest<'a> {
    /// Names, separated by commas.
    pub(super) symbols: &'a str,
    /// Number of lines around each definition.
    pub(super) around: u64,
    /// True if a name means all definitions with this name, wherever they are. Otherwise, an ambiguous name is
    /// an error, unless all of its definitions together are short.
    pub(super) takes_all: bool,
}

/// Lines of a definition requested by name.
pub(super) struct SymbolLines {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Reasons why `end` may be wrong, and requested symbols that were not found.
    pub(super) warnings: Vec<String>,
    /// Other definitions with this name, and members outside of the lines.
    pub(super) notes: Vec<String>,
}

/// Finds the lines of the requested definitions in a file.
pub(super) fn lines_of_all(
    call: &Call,
    (path, text): (&RelPath, &str),
    request: SymbolRequest<'_>,
    stop: &Stop,
) -> Result<Vec<SymbolLines>, ToolError> {
    let SymbolRequest { symbols, around, takes_all } = request;
    let names = names_in(symbols);
    if names.len() > limits::SYMBOLS {
        let (found, max) = (grouped(names.len() as u64), limits::SYMBOLS);
        let problem = format!("it has {found} names, over the limit of {max}; ask for fewer at once");
        return Err(ToolError::argument("symbol", problem));
    }
    let outline = call.workspace.outlines.outline(&String::from_utf8_lossy(path.as_bytes()), text, stop);
    let lines: Vec<&str> = text.lines().collect();
    let total = lines.len() as u64;
    let with_context = |of: SymbolLines| {
        let (start, end) = (of.start.saturating_sub(around).max(1), of.end.saturating_add(around));
        SymbolLines { start, end: end.min(total.max(of.end)), ..of }
    };
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for symbol in names {
        if stop.check().is_some() {
            let problem = "there was no time to look up all names; ask for fewer at once";
            failures.push(ToolError::argument("symbol", problem));
            break;
        }
        let segments = segments(bare_name(symbol));
        let search = SymbolSearch { symbol, segments, outline: &outline, lines: &lines };
        match search.lines_of(path, &call.workspace.names, takes_all) {
            Ok(found) => all.extend(found.into_iter().map(with_context)),
            Err(error) => failures.push(error),
        }
    }
    // If some definitions are missing, this should still return the others, with a warning about the missing
    // ones.
    let mut found = joined(all).into_iter();
    let Some(mut first) = found.next() else {
        return failures.into_iter().next().map_or_else(|| Ok(Vec::new()), Err);
    };
    first.warnings.extend(failures.iter().map(ToString::to_string));
    Ok([first].into_iter().chain(found).collect())
}

/// Sorts and merges ranges so that no line occurs twice.
fn joined(mut all: Vec<SymbolLines>) -> Vec<SymbolLines> {
    all.sort_by_key(|of| (of.start, of.end));
    let mut joined: Vec<SymbolLines> = Vec::new();
    for of in all {
        match joined.last_mut().filter(|last| of.start <= last.end) {
            Some(last) => {
                last.end = last.end.max(of.end);
                last.warnings.extend(of.warnings);
                last.notes.extend(of.notes);
            }
            None => joined.push(of),
        }
    }
    joined
}

/// Splits a list of names at its commas. Those within brackets belong to a name, as in `Map<K, V>`.
fn names_in(symbols: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = symbols.split(|c: char| {
        depth += usize::from(matches!(c, '(' | '<' | '['));
        depth = depth.saturating_sub(usize::from(matches!(c, ')' | '>' | ']')));
        c == ',' && depth == 0
    });
    let names: Vec<&str> = parts.map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { vec![symbols] } else { names }
}

/// The definitions that a symbol names.
struct NamedDefinitions<'a> {
    /// Those with the fewest definitions between them and the container that the symbol names.
    nearest: Vec<&'a Definition>,
    /// All others within that container.
    deeper: Vec<&'a Definition>,
}

/// Finds the definitions that a symbol names.
struct SymbolSearch<'a> {
    symbol: &'a str,
    /// The names in the symbol, outermost first.
    segments: Vec<String>,
    outline: &'a FileOutline,
    /// The lines of the file.
    lines: &'a [&'a str],
}

impl<'a> SymbolSearch<'a> {
    /// Finds the lines of the definition that the symbol names. There may be several in one scope, e.g.
    /// overloads, preprocessor branches, or a getter and a setter. For `takes_all`, see [`SymbolRequest`].
    fn lines_of(
        &self,
        path: &RelPath,
        names: &ToolNames,
        takes_all: bool,
    ) -> Result<Vec<SymbolLines>, ToolError> {
        let mut named = self.named(&self.outline.definitions)?;
        if named.nearest.is_empty() {
            named = self.named(&self.outline.fields)?;
        }
        let chosen = self.preferred(named.nearest);
        if chosen.is_empty() {
            return Err(self.not_found(path, names, takes_all));
        }
        let count = |it: &&Definition| it.end_line + 1 - it.start_line;
        let is_short = chosen.iter().map(count).sum::<u32>() <= limits::SYMBOL_LINES;
        let is_shown = is_short || is_one_scope(&chosen);
        if !takes_all && (chosen.len() > limits::SYMBOL_PLACES || !is_shown) {
            return Err(self.ambiguous(path, &chosen));
        }
        let mut lines: Vec<SymbolLines> = chosen.iter().map(|it| self.symbol_lines(it, &chosen)).collect();
        if let Some(first) = lines.first_mut().filter(|_| !named.deeper.is_empty()) {
            let places = self.some_places(&named.deeper);
            first.notes.push(format!("{} may also mean {places}", quoted(self.symbol)));
        }
        Ok(lines)
    }

    /// Finds the definitions with the symbol's name, within those that it names around them.
    fn named(&self, all: &'a [Definition]) -> Result<NamedDefinitions<'a>, ToolError> {
        // We try the name as it is written first: for example, `ns::method` is a single name in a shell, and
        // `a-b` in Lisp.
        let of_spelling = |spelling: &String| -> Vec<&'a Definition> {
            all.iter().filter(|it| it.name == *spelling).collect()
        };
        let whole = spellings(self.symbol).iter().map(of_spelling).find(|found| !found.is_empty());
        if let Some(nearest) = whole {
            return Ok(NamedDefinitions { nearest, deeper: Vec::new() });
        }
        let Some((name, outer)) = self.segments.split_last() else {
            return Err(ToolError::argument("symbol", "it names nothing; give the name of a definition"));
        };
        let named = all.iter().filter(|it| it.name == *name);
        let within: Vec<(usize, &'a Definition)> =
            named.filter_map(|it| Some((self.distance(it, outer)?, it))).collect();
        let least = within.iter().map(|(distance, _)| *distance).min();
        let of = |is_nearest: bool| -> Vec<&'a Definition> {
            let chosen = within.iter().filter(|(distance, _)| (Some(*distance) == least) == is_nearest);
            chosen.map(|(_, it)| *it).collect()
        };
        Ok(NamedDefinitions { nearest: of(true), deeper: of(false) })
    }

    /// Lists the definitions around another one, innermost first.
    fn containers(&self, definition: &Definition) -> impl Iterator<Item = &'a Definition> {
        let outline = self.outline;
        definition.parent.into_iter().flat_map(move |at| outline.around(at))
    }

    /// Counts the definitions between this one and the innermost of the names `outer`, which are in order
    /// from the outermost. The caller may leave out names. Returns `None` if it isn't within all of them.
    fn distance(&self, definition: &Definition, outer: &[String]) -> Option<usize> {
        let mut left = outer;
        definition.scope.iter().for_each(|scope| leave(&mut left, scope));
        self.qualifiers(definition).for_each(|part| leave(&mut left, part));
        let is_before = |left: &[String]| !left.is_empty() && left.len() == outer.len();
        let mut distance = usize::from(is_before(left) && definition.scope.is_some());
        for container in self.containers(definition) {
            leave(&mut left, &container.name);
            self.qualifiers(container).for_each(|part| leave(&mut left, part));
            distance += usize::from(is_before(left));
        }
        left.is_empty().then_some(distance)
    }

    /// Lists the qualifiers before a definition's name on its line, innermost first. The name of a container
    /// may have several parts, e.g. `A.B` in Elixir. The outline has only the last one.
    fn qualifiers(&self, definition: &Definition) -> impl Iterator<Item = &str> {
        let line = self.lines.get(definition.line as usize - 1).copied().unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || is_separator(c);
        let is_part = |c: Option<char>| c.is_some_and(|c| is_name(c) && !is_separator(c));
        let places = line.match_indices(&definition.name);
        let mut words = places
            .map(|(at, name)| (&line[..at], &line[at + name.len()..]))
            .filter(|(before, after)| !is_part(before.chars().next_back()) && !is_part(after.chars().next()));
        let before = words.next().map_or("", |(before, _)| before);
        let start = before
            .rfind(|c| !is_name(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        before[start..].rsplit(is_separator).filter(|part| !part.is_empty())
    }

    /// Chooses the definitions that the symbol most likely means.
    fn preferred(&self, named: Vec<&'a Definition>) -> Vec<&'a Definition> {
        let is_lesser =
            |kind: DefinitionKind| matches!(kind, DefinitionKind::Declaration | DefinitionKind::Extension);
        // We prefer a type to its extensions, and a function to its prototype.
        let main: Vec<&Definition> = named.iter().copied().filter(|it| !is_lesser(it.kind)).collect();
        // In many languages, the constructors in a type have its name. In this case we prefer the type.
        let is_in = |inner: &Definition, outer: &Definition| {
            std::ptr::eq(inner, outer) || self.containers(inner).any(|it| std::ptr::eq(it, outer))
        };
        let holds_all = |outer: &&Definition| {
            outer.kind == DefinitionKind::Type && main.iter().all(|it| is_in(it, outer))
        };
        match main.iter().copied().find(holds_all) {
            Some(holding) => vec![holding],
            None if main.is_empty() => named,
            None => main,
        }
    }

    /// Returns the lines of a definition, with notes about the other chosen ones.
    fn symbol_lines(&self, definition: &Definition, chosen: &[&Definition]) -> SymbolLines {
        let Definition { start_line, end_line, has_error, .. } = *definition;
        let warning = match (self.outline.is_by_line, has_error) {
            (true, _) => Some(BY_LINE),
            (false, true) => Some("the parser found an error in this definition, so it may end elsewhere"),
            (false, false) => None,
        };
        let of_all = || {
            let (symbol, times) = (quoted(self.symbol), chosen.len());
            let scopes = match is_one_scope(chosen) {
                true => " in one scope".to_owned(),
                false => format!(": {}", self.places(chosen)),
            };
            format!("{symbol} is defined {times} times{scopes}; all are shown")
        };
        let several = (chosen.len() > 1).then(of_all);
        let notes = several.into_iter().chain(members_elsewhere(self.outline, definition)).collect();
        let more = self.outline.has_more.then(has_more);
        let warnings = warning.map(str::to_owned).into_iter().chain(more).collect();
        SymbolLines { start: start_line.into(), end: end_line.into(), warnings, notes }
    }

    /// Formats definitions by their kinds, containers and lines.
    fn places(&self, chosen: &[&Definition]) -> String {
        let place = |it: &&Definition| {
            let outer = self.containers(it).next();
            let within = outer.map(|outer| format!(" in {}", display_text(&outer.name))).unwrap_or_default();
            format!("{}{within} ({}-{})", it.word, it.start_line, it.end_line)
        };
        chosen.iter().map(place).collect::<Vec<_>>().join(", ")
    }

    /// Formats the first definitions, and the number of the others.
    fn some_places(&self, chosen: &[&Definition]) -> String {
        let (shown, more) = chosen.split_at(chosen.len().min(limits::SYMBOL_PLACES));
        let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
        format!("{}{more}", self.places(shown))
    }

    /// Builds the error for a symbol without a definition. It names those with the nearest names.
    fn not_found(&self, path: &RelPath, names: &ToolNames, takes_all: bool) -> ToolError {
        let FileOutline { definitions, fields, is_by_line, has_errors, has_more, .. } = self.outline;
        let all = || definitions.iter().chain(fields).map(|it| it.name.as_str());
        let near = nearest(all(), self.segments.last().map_or("", String::as_str));
        let instead = match near.is_empty() {
            true if all().next().is_none() => " no definitions were found in it;".to_owned(),
            true => String::new(),
            false => format!(" the nearest names are {};", near.join(", ")),
        };
        // Without a parser, a definition may exist although we did not find it.
        let doubt = match (is_by_line, has_errors) {
            (true, _) => " it was read line by line, without a parser, so definitions may be missing;",
            (false, true) => " the parser found errors in it, so definitions may be missing;",
            (false, false) => "",
        };
        let more = if *has_more { format!(" {};", self::has_more()) } else { String::new() };
        let outline = if takes_all { "{read_file} with {read_file.outline}" } else { "{read_file.outline}" };
        let problem = format!(
            "no definition of {} was found in {};{doubt}{more}{instead} {} lists its definitions",
            quoted(self.symbol),
            path.display(),
            names.fill(outline)
        );
        ToolError::argument("symbol", problem)
    }

    /// Builds the error for a symbol with too many definitions.
    fn ambiguous(&self, path: &RelPath, chosen: &[&Definition]) -> ToolError {
        let at_least = if self.outline.has_more { "at least " } else { "" };
        let problem = format!(
            "{} has {at_least}{} called {}: {}; choose one by what contains it (`Outer::name`), or by its lines",
            path.display(),
            count(chosen.len() as u64, "definition"),
            quoted(self.symbol),
            self.some_places(chosen),
        );
        ToolError::argument("symbol", problem)
    }
}

/// Returns true if all these definitions are in the same scope.
fn is_one_scope(chosen: &[&Definition]) -> bool {
    chosen.iter().all(|it| (it.parent, &it.scope) == (chosen[0].parent, &chosen[0].scope))
}

/// Removes the last names if a container has them. Its own name may have several parts.
fn leave(names: &mut &[String], container: &str) {
    if strip_last(names, container) {
        return;
    }
    for part in container.rsplit(is_separator).filter(|part| !part.is_empty()) {
        strip_last(names, part);
    }
}

/// Removes the last name if it is this one. Returns true if it was.
fn strip_last(names: &mut &[String], name: &str) -> bool {
    let all = *names;
    match all.split_last() {
        Some((last, rest)) if last == name => {
            *names = rest;
            true
        }
        _ => false,
    }
}

/// Returns true for a character between the parts of a qualified name.
fn is_separator(c: char) -> bool {
    matches!(c, '.' | ':' | '\\' | '/')
}

/// Lists the members of a type outside of its own lines, e.g. Go's methods, `impl` blocks and extensions.
fn members_elsewhere(outline: &FileOutline, definition: &Definition) -> Option<String> {
    if definition.kind != DefinitionKind::Type {
        return None;
    }
    let is_outside =
        |it: &&Definition| it.end_line < definition.start_line || it.start_line > definition.end_line;
    let is_member = |it: &&Definition| match it.kind {
        DefinitionKind::Extension => it.name == definition.name,
        _ => it.scope.as_deref() == Some(&definition.name),
    };
    let members: Vec<&Definition> = outline.definitions.iter().filter(is_outside).filter(is_member).collect();
    let shown = |it: &&Definition| {
        let name = if it.kind == DefinitionKind::Extension { it.word } else { &it.name };
        format!("{} {}-{}", clip(&display_text(name), limits::QUOTED_BYTES), it.start_line, it.end_line)
    };
    let named: Vec<String> = members.iter().take(limits::SYMBOL_MEMBERS).map(shown).collect();
    let more = members.len() - named.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let name = quoted(&definition.name);
    (!named.is_empty()).then(|| format!("more of {name} in this file: {}{more}", named.join(", ")))
}

/// Strips the parts of a name that only its use has: the brackets of an operator, quotes, and the arity.
fn bare_name(symbol: &str) -> &str {
    let symbol = symbol.trim();
    let is_whole = symbol.starts_with('(') && closing(symbol, 0) == Some(symbol.len() - 1);
    let bare = if is_whole { symbol[1..symbol.len() - 1].trim() } else { symbol };
    let bare = bare.trim_matches(['`', '"', '\'']);
    let is_arity = |arity: &str| !arity.is_empty() && arity.bytes().all(|byte| byte.is_ascii_digit());
    bare.rsplit_once('/').filter(|(_, arity)| is_arity(arity)).map_or(bare, |(name, _)| name)
}

/// Lists the names that a definition may have for a symbol. The first one is the symbol as written.
fn spellings(symbol: &str) -> Vec<String> {
    let bare = bare_name(symbol);
    let mut all: Vec<String> =
        [symbol.trim(), bare, bare.trim_start_matches(['@', '$', '#']), bare.trim_end_matches('!')]
            .map(str::to_owned)
            .into();
    all.extend(bare.strip_prefix("operator ").map(|operator| format!("operator{}", operator.trim())));
    all.extend(KEYWORD_PREFIXES.map(|prefix| format!("{prefix}{bare}")));
    all.retain(|spelling| !spelling.is_empty());
    all
}

/// Finds the bracket that closes the one at `open`, which must be `(` or `<`.
fn closing(name: &str, open: usize) -> Option<usize> {
    let pair = if name[open..].starts_with('(') { ('(', ')') } else { ('<', '>') };
    let mut depth = 0_usize;
    let close = name[open..].char_indices().find(|(_, c)| {
        depth += usize::from(*c == pair.0);
        depth = depth.saturating_sub(usize::from(*c == pair.1));
        depth == 0
    });
    close.map(|(at, _)| open + at)
}

/// Unwraps a type in brackets, as in Go's `(*Queue).Push` and Rust's `<Queue as Sink>::push`.
fn without_wrapper(name: &str) -> String {
    let begins = |at: &usize| *at == 0 || name[..*at].ends_with(is_separator);
    let Some(open) = name.find(['(', '<']).filter(begins) else { return name.to_owned() };
    match closing(name, open) {
        Some(close) if name[close + 1..].starts_with(is_separator) => {
            let inner = name[open + 1..close].split(" as ").next().unwrap_or_default();
            let inner = inner.trim_start_matches(['*', '&', ' ']);
            format!("{}{inner}{}", &name[..open], &name[close + 1..])
        }
        _ => name.to_owned(),
    }
}

/// Splits a qualified name of any language into its parts, without arguments and parameters.
fn segments(symbol: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let outside = |c: char| {
        depth += usize::from(matches!(c, '(' | '<' | '['));
        let is_outside = depth == 0;
        depth = depth.saturating_sub(usize::from(matches!(c, ')' | '>' | ']')));
        is_outside.then_some(c)
    };
    let plain: String = without_wrapper(&symbol.replace("->", ".")).chars().filter_map(outside).collect();
    let names = plain.split([':', '.', '#', '/', '\\', ' ']);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Finds names that are similar to a missing one, the most similar first.
fn nearest<'a>(found: impl Iterator<Item = &'a str>, name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let characters = lower.chars().count();
    let distance = |other: &str| {
        let other = other.to_lowercase();
        let is_part = other.contains(&lower) || lower.contains(&other) && other.len() > 3;
        // A name whose length differs this much needs too many edits in any case.
        let is_far = other.chars().count().abs_diff(characters) * 3 > lower.len();
        match is_part {
            true => Some(usize::from(other != lower)),
            false if is_far => None,
            false => {
                Some(strsim::damerau_levenshtein(&other, &lower)).filter(|edits| edits * 3 <= lower.len())
            }
        }
    };
    let mut names: Vec<&str> = found.collect();
    names.sort_unstable();
    names.dedup();
    let mut near: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(name)?, name))).collect();
    near.sort();
    near.into_iter().take(limits::SYMBOL_PLACES).map(|(_, name)| quoted_name(name)).collect()
}
