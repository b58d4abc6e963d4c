//! `list_directory` within a budget of tokens: a map with the main directories and the most used definitions.
//!
//! The ranked index chooses the parts and their order ([`forage_rank::ProjectMap`]). The text contains as many
//! of them as fit, together with its notes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forage_base::{Stop, map_in_threads};
use forage_fs::{RelPath, Root, SkipReason, display_text};
use forage_rank::{DefinitionKind, FileOutline, MapPiece, MapRequest, ProjectMap, max_model_tokens};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ListDirectory, ListRequest, ListResponse};
use crate::arguments::Clamp;
use crate::call::{Call, RankUnavailable};
use crate::error::ToolError;
use crate::file_text::whole_text;
use crate::limits;
use crate::multi_root::{self, RootShares};
use crate::notes::{max_that_fits, notes, with_notes};
use crate::outcome::ToolOutcome;
use crate::output_redactor::OutputRedactor;
use crate::sanitize::path_bytes;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{absolute, clip, count, grouped};
use crate::tool::Tool as _;

/// A map of a directory.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ListMap {
    /// The tokens that the text may take.
    pub tokens: u64,
    /// Source files that the map is about.
    pub files: u64,
    /// Tests, examples, documentation, data, generated and third-party files, which the map leaves out.
    pub other_files: u64,
    /// Directories that contain such source files themselves, named or not.
    pub directory_count: u64,
    /// The named directories in path order, beginning with the listed one.
    pub directories: Vec<MappedDirectory>,
}

/// A directory of a map.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct MappedDirectory {
    /// Below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Source files in it, at any depth.
    pub file_count: u64,
    /// The files of this directory with named definitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MappedFile>,
    #[serde(skip)]
    place: RelPath,
    /// The source files in the directory itself.
    #[serde(skip)]
    own_files: u64,
    /// The position among all parts by importance.
    #[serde(skip)]
    rank: usize,
    /// True if a part of the path was redacted.
    #[serde(skip)]
    is_hidden: bool,
}

/// A file of a map.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct MappedFile {
    /// Below the root.
    pub path: String,
    /// The bytes of the path in base64, if `path` is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// Its most used definitions, in line order. A file without any is one in which a program starts.
    pub definitions: Vec<MappedDefinition>,
    #[serde(skip)]
    place: RelPath,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    rank: usize,
    /// True if a program starts in it, so that it is named without definitions, too.
    #[serde(skip)]
    is_entry: bool,
}

/// A definition of a map.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct MappedDefinition {
    /// Its name.
    pub name: String,
    /// Its kind, such as `struct`.
    pub kind: &'static str,
    /// Its line.
    pub line: u32,
    /// Number of files that contain the name and do not define it.
    pub used_by: u32,
    #[serde(skip)]
    rank: usize,
}

/// A request for a map.
pub(super) struct MapTool<'a> {
    call: &'a Call,
    tokens: u64,
    has_definitions: bool,
    warnings: Vec<String>,
}

impl<'a> MapTool<'a> {
    /// Checks the arguments.
    pub(super) fn new(
        call: &'a Call,
        request: &ListRequest,
        tokens: i64,
        clamp: &mut Clamp<'_>,
    ) -> Result<Self, ToolError> {
        let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let others = [
            ("name", given(&request.name)),
            ("changed", given(&request.changed)),
            ("include_ignored", request.include_ignored == Some(true)),
        ];
        if let Some((other, _)) = others.iter().find(|(_, is_given)| *is_given) {
            let other = call.workspace.names.argument(ListDirectory::NAME, other);
            return Err(ToolError::argument("tokens", format!("a map can't be combined with `{other}`")));
        }
        let tokens = request.share.unwrap_or_else(|| checked_tokens(tokens, clamp));
        let mut warnings = Vec::new();
        if request.max_depth.is_some() {
            let depth = call.workspace.names.argument(ListDirectory::NAME, "max_depth");
            warnings.push(format!("a map chooses its own levels: `{depth}` was ignored"));
        }
        Ok(Self { call, tokens, has_definitions: request.symbols.unwrap_or(true), warnings })
    }

    /// Draws the map of a directory.
    pub(super) fn run(
        self,
        (root, start): (&Arc<Root>, &RelPath),
        mut warnings: Vec<String>,
    ) -> Result<ToolOutcome<ListResponse>, ToolError> {
        let call = self.call;
        // The index has resolved paths.
        let (start, _) = root.locate(start)?;
        let until = call.stop.within(call.limits.timeout);
        let excluded = AtomicU64::new(0);
        let draw = || {
            let ranked = call.ranked(root, &until).map_err(not_ranked)?;
            let stop = call.after_ranking(&until);
            excluded.store(0, Ordering::Relaxed);
            let allow = |path: &RelPath| {
                if call.apart.iter().any(|root| path.starts_with(root)) {
                    return false;
                }
                let is_excluded = call.workspace.excludes.as_ref().is_some_and(|globs| globs.leave_out(path));
                excluded.fetch_add(u64::from(is_excluded), Ordering::Relaxed);
                !is_excluded
            };
            let request = MapRequest {
                below: &start,
                allow: &allow,
                tokens: self.tokens as usize,
                definitions: self.has_definitions,
                stop: &|| stop.check().is_some(),
            };
            let drawn = ranked.index.map(&request);
            Ok::<_, ToolError>((ranked, drawn))
        };
        let (mut ranked, mut drawn) = draw()?;
        if ranked.index.is_damaged() {
            // The next attempt replaces the index.
            (ranked, drawn) = draw()?;
        }
        let Some(drawn) = drawn.map_err(|error| ToolError::index(&error, error.hint()))? else {
            return Err(match call.stop.is_cancelled() {
                true => ToolError::Cancelled,
                false => ToolError::index(&"the time was over before the map was drawn", None),
            });
        };
        let mut map = ListMap::new(&start, drawn, self.tokens);
        map.confirm_definitions(call, root, &call.after_ranking(&until));
        // Notes only take room, so nothing beyond this can be shown.
        let fits = |parts| max_model_tokens(&map.text(&start.display(), parts)) as u64 <= map.tokens;
        map.truncate(max_that_fits(0..=map.parts(), fits));
        let found = map.files > 0;
        let is_empty = || root.names(&start, 1).is_ok_and(|names| names.is_empty());
        if !found && map.other_files == 0 && !is_empty() {
            let tokens = call.workspace.names.argument(ListDirectory::NAME, "tokens");
            warnings.push(format!("no file of this directory is in the index; list it without `{tokens}`"));
        }
        let mut response = ListResponse::new(&start);
        response.entry_count = map.files;
        response.map = Some(map);
        let mut outcome = ToolOutcome::new(response, found);
        outcome.warnings = warnings.into_iter().chain(self.warnings).chain(ranked.warning.clone()).collect();
        outcome.add_report(&ranked.report);
        outcome.skipped.add_many(SkipReason::Ignored, excluded.into_inner());
        Ok(outcome)
    }
}

/// Brings the tokens of a request into their range.
fn checked_tokens(tokens: i64, clamp: &mut Clamp<'_>) -> u64 {
    let max = limits::LIST_MAP_TOKENS_MAX;
    clamp.number("tokens", Some(tokens), max, limits::LIST_MAP_TOKENS_MIN, max)
}

/// Divides the tokens of a map among the roots, together with the line that names each of them. If the shares
/// would be too small, only the first roots have one.
pub(super) fn shares(call: &Call, request: &ListRequest) -> Option<RootShares<ListRequest>> {
    let mut clamp = Clamp::new(&call.workspace.names, ListDirectory::NAME);
    let tokens = checked_tokens(request.tokens?, &mut clamp);
    let roots = call.roots.all();
    let names: Vec<String> = roots.iter().map(|root| absolute(root, &RelPath::root())).collect();
    // If the limit on bytes may cut the answer, there will be a note.
    let is_cut = (call.limits.text_bytes as u64) < tokens * limits::LIST_MAP_TOKEN_BYTES;
    let advice = max_model_tokens(&with_notes(String::new(), &[multi_root::ONE_ALONE.to_owned()]));
    let share_of = |roots: usize| {
        // A single root is named in a note of its own.
        let heads = if roots == 1 { &names[..0] } else { &names[..roots] };
        let heads: usize = heads.iter().map(|name| max_model_tokens(&multi_root::head(name)) + 1).sum();
        let taken = heads + if is_cut { advice } else { 0 };
        tokens.saturating_sub(taken as u64) / roots as u64
    };
    let has_room = |roots: &usize| share_of(*roots) >= limits::LIST_MAP_SHARE_TOKENS;
    let sharing = (2..=roots.len()).rev().find(has_room).unwrap_or(1);
    let mut notes = clamp.warnings;
    if sharing < roots.len() {
        let rest: Vec<&str> = names[sharing..].iter().filter_map(|name| name.rsplit('/').next()).collect();
        let named = clip(&rest.join(", "), limits::LIST_SYMBOL_BYTES);
        notes.push(format!("no tokens are left for {}: {named}", count(rest.len() as u64, "more root")));
    }
    let requests = vec![ListRequest { share: Some(share_of(sharing)), ..request.clone() }; sharing];
    Some(RootShares { requests, notes })
}

fn not_ranked(why: RankUnavailable) -> ToolError {
    let progress = match why {
        RankUnavailable::Never(error) => return error,
        RankUnavailable::NotYet(None | Some((_, 0))) => String::new(),
        RankUnavailable::NotYet(Some((done, all))) => {
            format!(" ({} of {})", grouped(done.min(all)), count(all, "file"))
        }
    };
    let message =
        format!("the index that a map is made from is being built{progress}; call again in a few seconds");
    ToolError::index(&message, None)
}

impl ListMap {
    fn new(start: &RelPath, drawn: ProjectMap, tokens: u64) -> Self {
        let directory = |place: RelPath, own_files: usize, files: usize, rank: usize| MappedDirectory {
            path: place.display().into_owned(),
            path_bytes: path_bytes(&place),
            file_count: files as u64,
            files: Vec::new(),
            place,
            own_files: own_files as u64,
            rank,
            is_hidden: false,
        };
        let first = directory(start.clone(), drawn.own_files, drawn.files, 0);
        let mut directories: BTreeMap<RelPath, MappedDirectory> = BTreeMap::from([(start.clone(), first)]);
        for (rank, piece) in (1..).zip(drawn.pieces) {
            let definition = match piece {
                MapPiece::Directory(it) => {
                    directories.insert(it.path.clone(), directory(it.path, it.own_files, it.files, rank));
                    continue;
                }
                MapPiece::Definition(definition) => definition,
            };
            let parent = definition.path.parent().unwrap_or_else(RelPath::root);
            let Some(directory) = directories.get_mut(&parent) else { continue };
            let path = definition.path.display();
            let at = directory.files.iter().position(|file| file.path == path).unwrap_or_else(|| {
                directory.files.push(MappedFile {
                    path: path.clone().into_owned(),
                    path_bytes: path_bytes(&definition.path),
                    definitions: Vec::new(),
                    place: definition.path.clone(),
                    is_entry: false,
                    name: RelPath::root().join(definition.path.file_name()).display().into_owned(),
                    rank,
                });
                directory.files.len() - 1
            });
            let file = &mut directory.files[at];
            match definition.name {
                Some(name) => file.definitions.push(MappedDefinition {
                    name: display_text(&name).into_owned(),
                    kind: definition.kind.name(),
                    line: definition.line,
                    used_by: definition.used_by,
                    rank,
                }),
                None => file.is_entry = true,
            }
        }
        let mut directories: Vec<MappedDirectory> = directories.into_values().collect();
        for directory in &mut directories {
            directory.files.sort_by(|a, b| a.path.cmp(&b.path));
            let definitions = directory.files.iter_mut().map(|file| &mut file.definitions);
            definitions.for_each(|of_file| of_file.sort_by_key(|it| it.line));
        }
        Self {
            tokens,
            files: drawn.files as u64,
            other_files: drawn.other_files as u64,
            directory_count: drawn.directories as u64 + u64::from(drawn.own_files > 0),
            directories,
        }
    }

    /// Takes lines and kinds from syntax trees, because the index finds definitions line by line. Removes what
    /// the tree of a file doesn't define. Files that can't be parsed in time keep the index's definitions.
    fn confirm_definitions(&mut self, call: &Call, root: &Arc<Root>, stop: &Stop) {
        let files = self.directories.iter_mut().flat_map(|directory| &mut directory.files);
        let files: Vec<&mut MappedFile> = files.filter(|file| !file.definitions.is_empty()).collect();
        map_in_threads(files, call.walk_options().thread_count(), |file| {
            if stop.check().is_some() {
                return;
            }
            let Ok((text, ..)) = whole_text(root, &file.place, stop) else {
                file.definitions.clear();
                return;
            };
            let outline = call.workspace.outlines.outline(&file.path, &text, stop);
            if stop.check().is_none() {
                file.definitions.retain_mut(|definition| definition.confirm(&outline));
            }
        });
        for directory in &mut self.directories {
            directory.files.retain(|file| file.is_entry || !file.definitions.is_empty());
        }
    }

    /// Returns the number of parts in addition to the listed directory.
    fn parts(&self) -> usize {
        let files = || self.directories.iter().flat_map(|directory| &directory.files);
        let directories = self.directories.iter().map(|directory| directory.rank);
        let definitions = files().flat_map(|file| &file.definitions).map(|it| it.rank);
        directories.chain(files().map(|file| file.rank)).chain(definitions).max().unwrap_or(0)
    }

    /// Keeps the first parts.
    fn truncate(&mut self, parts: usize) {
        self.directories.retain(|directory| directory.rank <= parts);
        for directory in &mut self.directories {
            directory.files.retain(|file| file.rank <= parts);
            let definitions = directory.files.iter_mut().map(|file| &mut file.definitions);
            definitions.for_each(|of_file| of_file.retain(|it| it.rank <= parts));
        }
    }

    pub(super) fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        for directory in &mut self.directories {
            directory.is_hidden = redactor.name(&mut directory.path);
            if directory.is_hidden {
                directory.path_bytes = None;
            }
            for file in &mut directory.files {
                redactor.name(&mut file.name);
                let path = redactor.uncounted(&file.path);
                if path != file.path {
                    (file.path, file.path_bytes) = (path, None);
                }
                file.definitions.iter_mut().for_each(|it| redactor.text(&mut it.name));
            }
        }
    }

    /// Returns all paths.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut String> {
        self.directories.iter_mut().flat_map(|directory| {
            std::iter::once(&mut directory.path).chain(directory.files.iter_mut().map(|file| &mut file.path))
        })
    }

    /// Formats the map with its first parts.
    fn text(&self, start: &str, parts: usize) -> String {
        let mut text = String::new();
        // The named directories around the current one.
        let mut above: Vec<&RelPath> = Vec::new();
        let (mut own_files, mut named) = (0, 0);
        for directory in self.directories.iter().filter(|directory| directory.rank <= parts) {
            while above.pop_if(|above| !directory.place.starts_with(above)).is_some() {}
            let indent = "  ".repeat(above.len());
            let label = match above.last() {
                None => start.to_owned(),
                Some(_) if directory.is_hidden => directory.path.clone(),
                Some(above) => {
                    let below = RelPath::from_bytes(directory.place.below(above), &RelPath::root());
                    below.map_or_else(|_| directory.path.clone(), |below| below.display().into_owned())
                }
            };
            let files = match above.is_empty() {
                true => count(directory.file_count, "source file"),
                false => grouped(directory.file_count),
            };
            let _ = writeln!(text, "{indent}{label}/ ({files}){}", directory.files_text(parts));
            above.push(&directory.place);
            own_files += directory.own_files;
            named += u64::from(directory.own_files > 0);
        }
        if self.directory_count > named {
            let more = count(self.directory_count - named, "directory");
            let _ = writeln!(text, "… {more} more ({})", grouped(self.files - own_files));
        }
        text
    }
}

impl MappedDefinition {
    /// Takes the line and kind of the nearest definition of this name. Returns false if the file has no such
    /// definition. Members of types don't count, for example associated types.
    fn confirm(&mut self, outline: &FileOutline) -> bool {
        let is_named = |at: &usize| {
            let definition = &outline.definitions[*at];
            let is_main = !matches!(
                definition.kind,
                DefinitionKind::Declaration | DefinitionKind::Heading | DefinitionKind::Extension
            );
            is_main
                && display_text(&definition.name) == self.name
                && outline.around(*at).skip(1).all(|outer| outer.kind == DefinitionKind::Module)
        };
        let named = (0..outline.definitions.len()).filter(is_named).map(|at| &outline.definitions[at]);
        let Some(nearest) = named.min_by_key(|it| it.line.abs_diff(self.line)) else { return false };
        (self.kind, self.line) = (nearest.word, nearest.line);
        true
    }
}

impl MappedDirectory {
    /// Formats the named definitions, which follow the directory on its line.
    fn files_text(&self, parts: usize) -> String {
        let files = self.files.iter().filter(|file| file.rank <= parts).map(|file| {
            let definitions = file.definitions.iter().filter(|it| it.rank <= parts);
            let shown =
                |it: &MappedDefinition| format!("{} {}", clip(&it.name, limits::LIST_SYMBOL_BYTES), it.line);
            let definitions: Vec<String> = definitions.map(shown).collect();
            match definitions.is_empty() {
                true => file.name.clone(),
                false => format!("{}: {}", file.name, definitions.join(", ")),
            }
        });
        let files: Vec<String> = files.collect();
        if files.is_empty() { String::new() } else { format!(" {}", files.join("; ")) }
    }
}

/// Formats the map and its notes within the tokens of the request.
pub(super) fn render(outcome: &ToolOutcome<ListResponse>, map: &ListMap, budget: usize) -> Rendered {
    let (tokens, rendering) = (map.tokens as usize, MapRendering::new(outcome, map));
    let fits = |is_cut: bool, parts: usize| {
        let text = rendering.text(is_cut, parts);
        max_model_tokens(&text) <= tokens && text.len() <= budget
    };
    let mut parts =
        max_that_fits(0..=map.parts(), |parts| max_model_tokens(&rendering.text(false, parts)) <= tokens);
    let is_cut = !fits(false, parts);
    if is_cut {
        parts = max_that_fits(0..=parts, |parts| fits(true, parts));
    }
    if !fits(is_cut, parts) {
        // This takes a very long path of the directory itself, or very few bytes.
        return Rendered::without_files("(no room)\n".to_owned(), true);
    }
    let mut named = ShownFiles::default();
    let files = map.directories.iter().flat_map(|directory| &directory.files);
    files.filter(|file| file.rank <= parts).for_each(|file| named.named(&file.path, 0));
    let text = rendering.text(is_cut, parts);
    Rendered { text, is_cut, hides_results: is_cut, shown: named.into_files() }
}

/// A map with the notes for it.
struct MapRendering<'a> {
    map: &'a ListMap,
    start: &'a str,
    /// The notes, most important first.
    notes: Vec<String>,
    /// Number of notes that the caller must see.
    first: usize,
}

impl<'a> MapRendering<'a> {
    fn new(outcome: &'a ToolOutcome<ListResponse>, map: &'a ListMap) -> Self {
        // If only some notes fit, the caller must see the warnings, and the root if it is not known.
        let (first, others): (Vec<String>, Vec<String>) = notes(outcome, None)
            .into_iter()
            .partition(|note| note.starts_with("warning") || note.starts_with("root: "));
        let lines = (map.files > 0).then(|| "a number after a name is its line".to_owned());
        let left_out = (map.other_files > 0).then(|| {
            let files = grouped(map.other_files);
            format!("left out: {files} test, example, document, data and third-party files")
        });
        let first_count = first.len();
        let notes = first.into_iter().chain(lines).chain(left_out).chain(others).collect();
        Self { map, start: &outcome.response.path, notes, first: first_count }
    }

    /// Formats the first parts. If the limit on bytes cuts the map, a note says so.
    fn text(&self, is_cut: bool, parts: usize) -> String {
        let cut = is_cut.then(|| "cut at the limit on bytes; map a subdirectory".to_owned());
        let notes_of = |shown: usize| {
            let more = self.notes.len() - shown;
            let more = (more > 0).then(|| count(more as u64, "more note"));
            cut.iter().cloned().chain(self.notes[..shown].iter().cloned()).chain(more).collect::<Vec<_>>()
        };
        let part = self.map.tokens as usize / limits::LIST_MAP_NOTES_PART;
        let max = |shown: usize| if shown <= self.first { 2 * part } else { part };
        let fits =
            |shown: &usize| max_model_tokens(&with_notes(String::new(), &notes_of(*shown))) <= max(*shown);
        let shown = (1..=self.notes.len()).rev().find(fits).unwrap_or(0);
        with_notes(self.map.text(self.start, parts), &notes_of(shown))
    }
}
