//! `list_directory` for a change set: the changed files, the definitions that were added, changed and
//! removed, and the files that usually change with them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{RelPath, Root, display_path, display_text};
use forage_git::{Companion, FileChange, FileVersion, HistoryError, ObjectId, Repository};
use forage_rank::{DefinitionKind, FileOutline};
use forage_redact::RedactionReport;
use schemars::JsonSchema;
use serde::Serialize;

use super::ListResponse;
use crate::call::Call;
use crate::changes::{CHANGED, ChangedFiles, change_word};
use crate::error::ToolError;
use crate::file_text::{Unparseable, admit, parseable};
use crate::limits;
use crate::notes::{max_that_fits, notes, notes_bytes, with_notes};
use crate::outcome::ToolOutcome;
use crate::output_redactor::OutputRedactor;
use crate::sanitize::path_bytes;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{clip, count, grouped, quoted};

/// The files in which two states of a project differ.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ListChanges {
    /// The range as the caller wrote it.
    pub range: String,
    /// In the order of their paths, untracked files last.
    pub files: Vec<ChangedFile>,
    /// Files that usually change with these and have not changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<CompanionFile>,
}

/// A changed file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ChangedFile {
    /// `added`, `modified`, `type changed`, `deleted`, `renamed`, `untracked` or `conflicted`.
    pub change: &'static str,
    /// Path below the root; for a renamed file, the new path.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// The previous path of a renamed file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// The share of a renamed file that is the same, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// Its definitions that were added, changed or removed, in the order of their lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<ChangedDefinition>,
    #[serde(skip)]
    letter: char,
}

/// A definition that was added, changed or removed.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct ChangedDefinition {
    /// `added`, `changed` or `removed`.
    pub change: &'static str,
    /// The keyword of its kind, such as `struct`.
    pub kind: &'static str,
    /// Its name, after those of the definitions around it.
    pub symbol: String,
    /// Its first line, counted from 1; for a removed definition, in the file before the change.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
}

/// A file that usually changes with one that has changed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CompanionFile {
    /// Below the root.
    pub path: String,
    /// The changed file that it goes with.
    pub changed_file: String,
    /// Commits that changed both.
    pub both: usize,
    /// Commits that changed `changed_file`.
    pub commits: usize,
}

/// A change set, with the definitions of its files.
pub(in super::super) struct ReadChanges {
    /// The files below the directory.
    pub(in super::super) listed: Vec<ChangedFile>,
    pub(in super::super) warnings: Vec<String>,
    pub(in super::super) hidden: RedactionReport,
    /// The range as the caller wrote it.
    range: String,
    /// All changed files.
    files: Vec<FileChange>,
    before: ObjectId,
}

/// Reads a change set below a directory.
pub(in super::super) fn read(
    call: &Call,
    (root, start): (&Arc<Root>, &RelPath),
    range: &str,
    stop: &Stop,
) -> Result<ReadChanges, ToolError> {
    let mut changed = ChangedFiles::read(root, range, stop)?;
    let refused = |error: HistoryError| ToolError::argument(CHANGED, error.to_string());
    let mut repository = Repository::open(root, stop).map_err(refused)?;
    let mut hidden = RedactionReport::default();
    let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut hidden);
    let files: Vec<FileChange> = std::mem::take(&mut changed.set.files);
    let place = |file: &FileChange| RelPath::from_bytes(&file.path, &RelPath::root()).ok();
    let is_at =
        |path: &[u8]| RelPath::from_bytes(path, &RelPath::root()).is_ok_and(|path| path.starts_with(start));
    // A file that was moved out of the directory has changed there, too.
    let is_below = |file: &&FileChange| is_at(&file.path) || file.old_path.as_deref().is_some_and(&is_at);
    let mut listed = Vec::new();
    let mut unread = 0_u64;
    for file in files.iter().filter(is_below) {
        let definitions = match listed.len() < limits::CHANGED_OUTLINES {
            true => definitions(call, &mut repository, file, stop, &mut redactor),
            false => None,
        };
        unread += u64::from(definitions.is_none());
        let definitions = definitions.unwrap_or_default();
        let Some(path) = place(file) else { continue };
        listed.push(ChangedFile {
            change: change_word(file.kind),
            path: path.display().into_owned(),
            path_bytes: path_bytes(&path),
            old_path: file.old_path.as_deref().map(|path| display_path(path).into_owned()),
            similarity: file.similarity,
            definitions,
            letter: file.kind.letter(),
        });
    }
    let mut warnings: Vec<String> = changed.incomplete().collect();
    if unread > 0 {
        warnings.push(format!("the definitions of {} were not compared", count(unread, "file")));
    }
    let before = changed.set.before;
    Ok(ReadChanges { listed, warnings, hidden, range: changed.range, files, before })
}

/// Lists a change set below a directory.
pub(super) fn run(
    call: &Call,
    place: (&Arc<Root>, &RelPath),
    range: &str,
    warnings: Vec<String>,
) -> Result<ToolOutcome<ListResponse>, ToolError> {
    let stop = call.stop.within(call.limits.timeout);
    let read = read(call, place, range, &stop)?;
    let companions = companions(place.0, read.before, &read.files, &stop);
    let listed = read.listed;
    let mut outcome = ToolOutcome::new(ListResponse::new(place.1), !listed.is_empty());
    outcome.warnings = [warnings, read.warnings].concat();
    outcome.response.entry_count = listed.len() as u64;
    outcome.response.changes = Some(ListChanges { range: read.range, files: listed, companions });
    outcome.hidden = read.hidden;
    Ok(outcome)
}

/// Finds the files that usually change with these.
fn companions(
    root: &Arc<Root>,
    // Commits within the range must not count, because they are the change itself.
    from: ObjectId,
    files: &[FileChange],
    stop: &Stop,
) -> Vec<CompanionFile> {
    let now = Instant::now();
    let left = stop.deadline().map_or(limits::COMPANIONS_TIME, |end| end.saturating_duration_since(now) / 2);
    let paths = files.iter().flat_map(|file| [Some(file.path.as_slice()), file.old_path.as_deref()]);
    let paths = paths.flatten().collect();
    let within = stop.within(left.min(limits::COMPANIONS_TIME));
    // A repository keeps the stop that it was opened with, and this work has a shorter limit.
    let found = match Repository::open(root, &within) {
        Ok(mut repository) => repository.companions(&from, &paths).unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let exists = |path: &[u8]| {
        let path = RelPath::from_bytes(path, &RelPath::root());
        path.is_ok_and(|path| root.locate(&path).is_ok_and(|(_, is_directory)| !is_directory))
    };
    let found = found.into_iter().filter(|it| exists(&it.path)).take(limits::COMPANIONS);
    let shown = |path: &[u8]| display_path(path).into_owned();
    let file = |it: Companion| CompanionFile {
        path: shown(&it.path),
        changed_file: shown(&it.with),
        both: it.both,
        commits: it.commits,
    };
    found.map(file).collect()
}

/// Finds the definitions of a file that were added, changed or removed. Returns `None` if a version could not
/// be read completely: its definitions would look as if they had been added or removed.
fn definitions(
    call: &Call,
    repository: &mut Repository,
    file: &FileChange,
    stop: &Stop,
    redactor: &mut OutputRedactor<'_>,
) -> Option<Vec<ChangedDefinition>> {
    let mut read = |path: &[u8], version: Option<FileVersion>| {
        let version = version.filter(|version| version.mode.is_regular());
        version.map(|version| repository.read_version(path, version.id).ok_or(())).transpose().ok()
    };
    let old_path = file.old_path.as_deref().unwrap_or(&file.path);
    let (before, after) = (read(old_path, file.before)?, read(&file.path, file.after)?);
    let size = |bytes: &Option<Rc<[u8]>>| bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
    // One permit for both versions: a second one would wait for the first.
    let _permit = admit(size(&before).max(size(&after)), stop).ok()?;
    let text = |bytes: Option<Rc<[u8]>>| match bytes.as_deref().map(parseable) {
        Some(Ok((text, _))) => Some(Some(text)),
        Some(Err(Unparseable::Lines(_))) => None,
        // A binary file has no definitions.
        Some(Err(Unparseable::Binary)) | None => Some(None),
    };
    let (before, after) = (text(before)?, text(after)?);
    let outline = |path: &[u8], text: &Option<String>| {
        text.as_ref().map(|text| call.workspace.outlines.outline(&String::from_utf8_lossy(path), text, stop))
    };
    let (one, other) = (outline(old_path, &before), outline(&file.path, &after));
    let has_more = [&one, &other].into_iter().flatten().any(|outline| outline.has_more);
    // A stopped parser finds only some definitions.
    if has_more || stop.check().is_some() {
        return None;
    }
    let mut found = compare(
        (one.as_deref(), before.as_deref().unwrap_or_default()),
        (other.as_deref(), after.as_deref().unwrap_or_default()),
    );
    for definition in &mut found {
        redactor.text(&mut definition.symbol);
        definition.symbol = clip(&definition.symbol, limits::CHANGED_SYMBOL_BYTES);
    }
    Some(found)
}

/// A definition with the lines that belong to it alone.
struct OwnText<'a> {
    definition: ChangedDefinition,
    lines: Vec<&'a str>,
}

/// Compares the definitions of two versions of a file.
fn compare(
    before: (Option<&FileOutline>, &str),
    after: (Option<&FileOutline>, &str),
) -> Vec<ChangedDefinition> {
    type Key = (&'static str, String);
    let mut known: HashMap<Key, Vec<OwnText<'_>>> = HashMap::new();
    let key = |it: &OwnText<'_>| (it.definition.kind, it.definition.symbol.clone());
    // In reverse order, so that `pop` takes the first of several definitions with the same name.
    for own in own_texts(before).into_iter().rev() {
        known.entry(key(&own)).or_default().push(own);
    }
    let mut found = Vec::new();
    for own in own_texts(after) {
        // We pair definitions of the same name, e.g. overloads, in their order, but equal ones first.
        let same = known.get_mut(&key(&own)).filter(|same| !same.is_empty());
        let change = match same {
            None => "added",
            Some(same) => match same.iter().rposition(|it| it.lines == own.lines) {
                Some(equal) => {
                    same.remove(equal);
                    continue;
                }
                None => {
                    same.pop();
                    "changed"
                }
            },
        };
        found.push(ChangedDefinition { change, ..own.definition });
    }
    let gone = known.into_values().flatten();
    found.extend(gone.map(|own| ChangedDefinition { change: "removed", ..own.definition }));
    found.sort_by(|a, b| (a.start_line, &a.symbol, a.change).cmp(&(b.start_line, &b.symbol, b.change)));
    found
}

/// Collects the definitions of a file, each with its lines except for those of the definitions inside it.
fn own_texts<'a>((outline, text): (Option<&FileOutline>, &'a str)) -> Vec<OwnText<'a>> {
    let Some(outline) = outline else { return Vec::new() };
    let lines: Vec<&str> = forage_fs::lines(text).collect();
    let mut owners: Vec<Option<usize>> = vec![None; lines.len()];
    // An inner definition comes after the one around it, so it takes over its lines here.
    for (number, it) in outline.definitions.iter().enumerate() {
        let range = it.start_line.saturating_sub(1) as usize..(it.end_line as usize).min(lines.len());
        if let Some(owners) = owners.get_mut(range) {
            owners.fill(Some(number));
        }
    }
    let mut own: Vec<Vec<&str>> = vec![Vec::new(); outline.definitions.len()];
    for (line, owner) in lines.iter().zip(owners) {
        // A blank line between two methods should not count as a change of the type around them.
        if let Some(owner) = owner
            && !line.trim().is_empty()
        {
            own[owner].push(line.trim_end());
        }
    }
    let named = outline.definitions.iter().zip(own).enumerate();
    let is_code = |kind| kind != DefinitionKind::Heading;
    named
        .filter(|(_, (it, _))| is_code(it.kind))
        .map(|(number, (it, lines))| OwnText {
            definition: ChangedDefinition {
                change: "changed",
                kind: it.word,
                symbol: display_text(&outline.qualified(number).join(" > ")).into_owned(),
                start_line: it.start_line,
                end_line: it.end_line,
            },
            lines,
        })
        .collect()
}

/// Renders the text: one line per file, and one for its definitions.
pub(super) fn render(outcome: &ToolOutcome<ListResponse>, changes: &ListChanges, budget: usize) -> Rendered {
    let within = match outcome.response.path.as_str() {
        "." => String::new(),
        path => format!(" in {path}"),
    };
    let range = quoted(if changes.range.is_empty() { "HEAD" } else { &changes.range });
    let all = changes.files.len();
    let mut notes = notes(outcome, None);
    if all == 0 {
        return Rendered::without_files(
            with_notes(format!("No file has changed{within} ({range})."), &notes),
            false,
        );
    }
    let companions = companions_text(changes);
    let text = |shown: usize, has_definitions: bool| {
        let showing = match shown < all {
            true => format!(" (showing {}; name a directory as `path`)", grouped(shown as u64)),
            false => String::new(),
        };
        let mut text = format!("{} changed{within} ({range}){showing}:\n", count(all as u64, "file"));
        for file in &changes.files[..shown] {
            let _ = match (&file.old_path, file.similarity) {
                (Some(old), Some(100)) => writeln!(text, "R {} (was {old})", file.path),
                (Some(old), _) => writeln!(text, "R {} (was {old}, edited)", file.path),
                _ => writeln!(text, "{} {}", file.letter, file.path),
            };
            if has_definitions {
                text.push_str(&definitions_text(file));
            }
        }
        text + &companions
    };
    let fits = |shown: usize, has: bool| text(shown, has).len() + notes_bytes(&notes) <= budget;
    let has_definitions = fits(all, true) || !fits(all, false) && all < 20;
    if !has_definitions {
        notes.insert(0, "the answer has no room for definitions; name a directory as `path`".to_owned());
    }
    let fits = |shown: usize| text(shown, has_definitions).len() + notes_bytes(&notes) <= budget;
    let shown = max_that_fits(1..=all, fits);
    let mut named = ShownFiles::default();
    changes.files[..shown]
        .iter()
        .filter(|file| file.letter != 'D')
        .for_each(|file| named.named(&file.path, 0));
    let text = with_notes(text(shown, has_definitions), &notes);
    let is_cut = shown < all || !has_definitions;
    Rendered { text, is_cut, hides_results: is_cut, shown: named.into_files() }
}

/// Formats the definitions of a file, grouped by how they have changed.
fn definitions_text(file: &ChangedFile) -> String {
    let mut text = String::new();
    for change in ["added", "changed", "removed"] {
        let of: Vec<&ChangedDefinition> = file.definitions.iter().filter(|it| it.change == change).collect();
        if of.is_empty() {
            continue;
        }
        let name = |it: &&ChangedDefinition| match it.start_line == it.end_line {
            true => format!("{} {} {}", it.kind, it.symbol, it.start_line),
            false => format!("{} {} {}-{}", it.kind, it.symbol, it.start_line, it.end_line),
        };
        let more = of.len().saturating_sub(limits::CHANGED_DEFINITIONS);
        let mut names: Vec<String> = of.iter().take(limits::CHANGED_DEFINITIONS).map(name).collect();
        names.extend((more > 0).then(|| format!("{more} more")));
        let _ = writeln!(text, "    {change}: {}", names.join("; "));
    }
    text
}

fn companions_text(changes: &ListChanges) -> String {
    if changes.companions.is_empty() {
        return String::new();
    }
    let mut text = "Not changed, though commits usually change them too:\n".to_owned();
    for it in &changes.companions {
        let _ =
            writeln!(text, "  {} (in {} of {} commits of {})", it.path, it.both, it.commits, it.changed_file);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_compared_by_their_own_lines() {
        let before = "struct A;\n\nimpl A {\n    fn one(&self) {\n        1\n    }\n\n    fn two(&self) {}\n}\n\nfn gone() {}\n";
        let after = "struct A;\n\nimpl A {\n    fn one(&self) {\n        2\n    }\n\n    fn two(&self) {}\n\n    fn three(&self) {}\n}\n";
        let outline = |text: &str| forage_rank::outline("a.rs", text, &Stop::never());
        let found = compare((Some(&outline(before)), before), (Some(&outline(after)), after));
        let shown: Vec<String> = found
            .iter()
            .map(|it| format!("{} {} {} {}-{}", it.change, it.kind, it.symbol, it.start_line, it.end_line))
            .collect();
        // The block around these methods has not changed itself.
        assert_eq!(shown, ["changed fn A > one 4-6", "added fn A > three 10-10", "removed fn gone 11-11"],);
    }
}
