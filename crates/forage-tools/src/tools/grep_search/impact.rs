//! `grep_search` for the impact of a definition or of a change: the definitions that use it, those that use
//! these, and the tests among them.
//!
//! Each step searches all files for the followed names in one walk, parses the files with a match and
//! resolves each use ([`resolve`]). A use that may mean another definition is only counted.

mod facts;
mod imports;
pub(super) mod render;
mod resolve;
mod test_names;
mod variable_type;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::{Stop, map_in_threads};
use forage_fs::{RelPath, Root, WalkOptions, WalkReport};
use forage_redact::RedactionReport;
use forage_search::{Pattern, PatternOptions, ScanOptions, search};
use schemars::JsonSchema;
use serde::Serialize;

use self::facts::{Enclosing, FilePlace, NameFacts, Site, file_imports, name_facts};
use self::resolve::{Known, Reason, SiteIndex};
use super::super::list_directory::{ChangedFile, changes};
use super::uses::qualifier::{QualifiedName, has_word};
use super::uses::{GrepWithin, file_name};
use super::{GrepRequest, GrepResponse, GrepSearch};
use crate::arguments::Clamp;
use crate::call::Call;
use crate::error::ToolError;
use crate::file_text::whole_text;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::place::PathTarget;
use crate::text::{clip, count, quoted};
use crate::tool::Tool as _;

/// The impact of a definition or of a change.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub struct GrepImpact {
    /// The definitions that the impact starts from.
    pub definitions: Vec<ImpactDefinition>,
    /// The definitions that use these, then those that use the former.
    pub edges: Vec<ImpactEdge>,
    /// Number of all edges of each step, shown or not.
    pub edge_counts: [u64; 2],
    /// Lines with a name of `definitions` that may mean another definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub name_only: Vec<ImpactFile>,
    /// Number of all such lines of each step.
    pub name_only_counts: [u64; 2],
    /// Files that import a name of `definitions` and do not use it otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_imported: Vec<String>,
    /// The tests among the edges, and those that the change contains.
    pub tests: Vec<ImpactTests>,
    /// Definitions of the first step whose uses were not followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_followed: Vec<String>,
}

/// A definition that the impact starts from.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ImpactDefinition {
    /// Its file, below the root.
    pub path: String,
    /// The keyword of the language, such as `struct`.
    pub kind: &'static str,
    /// Its name, after those of the definitions around it.
    pub symbol: String,
    /// The first line of its comments and attributes, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// With a change: `added`, `changed` or `removed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<&'static str>,
}

/// A definition that uses another one.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ImpactEdge {
    /// 1 if it uses one of `definitions`, 2 if it uses one that does.
    pub step: u8,
    /// Its file, below the root.
    pub path: String,
    /// Lines of the uses, from 1.
    pub lines: Vec<u32>,
    /// The innermost definition around these lines; none for code outside of definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<GrepWithin>,
    /// Its keyword, such as `fn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Why we believe that the lines use this definition: `same file`, `same package`, `import seen`,
    /// `type seen` or `only definition`.
    pub reason: &'static str,
    /// The used definition.
    pub used: String,
    /// Its file.
    pub used_path: String,
    /// The first line of its comments and attributes.
    pub used_line: u32,
    /// True if it is in test code.
    pub is_test: bool,
}

/// Lines of a file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ImpactFile {
    /// Its path below the root.
    pub path: String,
    /// From 1.
    pub lines: Vec<u32>,
}

/// Tests of a file.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ImpactTests {
    /// Its path below the root.
    pub path: String,
    /// The tests, as their runner takes them: `path::name` for pytest, a path of modules for Rust. Empty if
    /// the whole file is to run.
    pub names: Vec<String>,
}

impl GrepImpact {
    /// Returns the names that come from files.
    pub(super) fn names(&mut self) -> impl Iterator<Item = &mut String> {
        let definitions = self.definitions.iter_mut().map(|it| &mut it.symbol);
        let edges = self.edges.iter_mut().flat_map(|edge| {
            let within = edge.within.iter_mut().map(|within| &mut within.symbol);
            within.chain([&mut edge.used])
        });
        let tests = self.tests.iter_mut().flat_map(|file| &mut file.names);
        definitions.chain(edges).chain(tests).chain(&mut self.not_followed)
    }

    /// Returns the paths.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut String> {
        let definitions = self.definitions.iter_mut().map(|it| &mut it.path);
        let edges = self.edges.iter_mut().flat_map(|edge| [&mut edge.path, &mut edge.used_path]);
        let files = self.name_only.iter_mut().map(|file| &mut file.path);
        let tests = self.tests.iter_mut().map(|file| &mut file.path);
        definitions.chain(edges).chain(files).chain(tests).chain(&mut self.only_imported)
    }
}

/// A definition whose uses we follow.
#[derive(Clone, Debug)]
struct Followed {
    name: String,
    path: RelPath,
    /// The first line of its comments and attributes.
    start_line: u32,
    symbol: String,
    change: Option<&'static str>,
    /// The definition, if a change removed it.
    removed: Option<Site>,
}

/// Which definitions of the followed names the uses must mean.
enum Wanted<'a> {
    /// Those below a path, in a type or module if the name is qualified.
    Named { qualifier: Option<&'a str>, start: &'a RelPath },
    /// Those of a list.
    Listed(&'a [Followed]),
}

impl Wanted<'_> {
    /// Returns the listed definition that a definition is, or an empty value for a named one.
    fn find(&self, place: &FilePlace, site: &Site) -> Option<Option<&Followed>> {
        let within = &site.enclosing.within;
        match self {
            Self::Named { qualifier, start } => {
                let is_qualified = qualifier.is_none_or(|qualifier| site.is_qualified(place, qualifier));
                (is_qualified && place.path.starts_with(start)).then_some(None)
            }
            Self::Listed(all) => {
                let is_it = |it: &&Followed| {
                    let is_line = it.start_line == within.start_line || it.symbol == within.symbol;
                    it.name == site.enclosing.name && it.path == place.path && is_line
                };
                all.iter().find(is_it).map(Some)
            }
        }
    }
}

/// A file with the facts about the followed names in it, by their index.
struct ParsedFile {
    place: FilePlace,
    facts: BTreeMap<usize, NameFacts>,
}

/// The files that contain the followed names.
struct Gathered {
    files: Vec<ParsedFile>,
    report: WalkReport,
    /// Names in too many files. We did not read these.
    too_frequent: BTreeSet<usize>,
    is_complete: bool,
}

/// An edge before it is shown.
struct Edge {
    path: RelPath,
    enclosing: Option<Enclosing>,
    lines: BTreeSet<u32>,
    reason: Reason,
    used: Enclosing,
    used_path: RelPath,
    is_test: bool,
}

/// The edges of one step.
#[derive(Default)]
struct Step {
    definitions: Vec<(RelPath, Enclosing, Option<&'static str>)>,
    edges: Vec<Edge>,
    name_only: BTreeMap<RelPath, BTreeSet<u32>>,
    only_imported: BTreeSet<RelPath>,
}

impl Step {
    fn name_only_count(&self) -> u64 {
        self.name_only.values().map(|lines| lines.len() as u64).sum()
    }
}

/// Identifies a definition: its file and its first line.
type DefinitionId = (RelPath, u32);

struct ImpactSearch<'a> {
    call: &'a Call,
    root: Arc<Root>,
    walk: WalkOptions,
    stop: Stop,
}

pub(super) fn run(call: &Call, request: &GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
    let mut clamp = Clamp::new(&call.workspace.names, GrepSearch::NAME);
    let max = limits::GREP_MATCHES_MAX;
    let max_results = clamp.number("max_results", request.max_results, limits::GREP_MATCHES, 1, max);
    let mut warnings = clamp.warnings;
    for (argument, is_given) in
        [("file_pattern", request.file_pattern.is_some()), ("cursor", request.cursor.is_some())]
    {
        if is_given {
            let problem = "an impact searches all files and has one page; omit this, or name the definition's file in `path`";
            return Err(ToolError::argument(argument, problem));
        }
    }
    let PathTarget { root, path: start, note, revision, globs, .. } =
        call.place(request.path.as_deref())?.searchable()?;
    if revision.is_some() || globs.is_some() {
        let problem =
            "an impact starts from a definition in a file or directory of the working tree; name that";
        return Err(ToolError::argument("path", problem));
    }
    warnings.extend(note);
    let all = request.include_ignored.unwrap_or(false);
    let walk = WalkOptions { hidden: all, no_ignore: all, ..call.walk_options() };
    let stop = call.stop.within(call.limits.timeout);
    let search = ImpactSearch { call, root, walk, stop };
    let mut hidden = RedactionReport::default();
    let changed = request.changed.as_deref().filter(|range| !range.trim().is_empty());
    let listed;
    let (names, wanted) = match changed {
        Some(range) => {
            let read = changes::read(call, (&search.root, &start), range, &search.stop)?;
            warnings.extend(read.warnings);
            hidden = read.hidden;
            listed = search.changed(&read.listed, &request.pattern, &mut warnings);
            (names_of(&listed), Wanted::Listed(&listed))
        }
        None => {
            let QualifiedName { name, qualifier } = QualifiedName::new(&request.pattern)?;
            (vec![name.to_owned()], Wanted::Named { qualifier, start: &start })
        }
    };
    let (first, report) = search.step(&names, &wanted, &HashSet::new(), &mut warnings)?;
    let mut seen: HashSet<DefinitionId> =
        first.definitions.iter().map(|(path, it, _)| id(path, it)).collect();
    let (followed, not_followed) = followed(&first, &seen);
    seen.extend(first.edges.iter().filter_map(|edge| Some(id(&edge.path, edge.enclosing.as_ref()?))));
    let (second, _) = search.step(&names_of(&followed), &Wanted::Listed(&followed), &seen, &mut warnings)?;
    let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut hidden);
    let impact = records((&first, &second), not_followed, max_results, &mut redactor);
    let files: HashSet<&RelPath> = first.edges.iter().chain(&second.edges).map(|edge| &edge.path).collect();
    let response = GrepResponse {
        path: start.display().into_owned(),
        match_count: impact.edge_counts.iter().sum(),
        file_count: files.len() as u64,
        totals_exact: search.stop.check().is_none() && report.stopped.is_none(),
        files_searched: report.searched(),
        name: names.first().cloned().unwrap_or_default(),
        ..GrepResponse::for_request(request)
    };
    let is_found = !first.definitions.is_empty() || first.name_only_count() > 0 || !impact.tests.is_empty();
    let mut outcome = ToolOutcome::new(GrepResponse { impact: Some(impact), ..response }, is_found);
    outcome.warnings = warnings;
    outcome.add_report(&report);
    if let Some(stopped) = search.stop.check() {
        outcome.truncated_by = Some(stopped.into());
    } else if outcome.response.match_count > max_results {
        outcome.truncated_by.get_or_insert(Limit::MaxResults);
    }
    outcome.hidden = hidden;
    Ok(outcome)
}

fn names_of(followed: &[Followed]) -> Vec<String> {
    let names: BTreeSet<&str> = followed.iter().map(|it| it.name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn id(path: &RelPath, enclosing: &Enclosing) -> DefinitionId {
    (path.clone(), enclosing.within.start_line)
}

/// Chooses the definitions of the first step that the second one follows. Also returns the names of those
/// that it leaves out.
fn followed(first: &Step, seen: &HashSet<DefinitionId>) -> (Vec<Followed>, Vec<String>) {
    let mut all: BTreeMap<DefinitionId, Followed> = BTreeMap::new();
    for edge in &first.edges {
        let Some((name, start_line)) = edge.enclosing.as_ref().and_then(|it| it.followed.clone()) else {
            continue;
        };
        let id = (edge.path.clone(), start_line);
        if !seen.contains(&id) {
            let path = edge.path.clone();
            let it = Followed { name, path, start_line, symbol: String::new(), change: None, removed: None };
            all.entry(id).or_insert(it);
        }
    }
    let mut all: Vec<Followed> = all.into_values().collect();
    let rest = all.split_off(all.len().min(limits::IMPACT_FOLLOWED));
    (all, rest.into_iter().map(|it| it.name).collect())
}

impl ImpactSearch<'_> {
    /// Lists the changed definitions, those with the given name if it is not empty.
    fn changed(&self, files: &[ChangedFile], name: &str, warnings: &mut Vec<String>) -> Vec<Followed> {
        let mut all = Vec::new();
        for file in files {
            let Ok(path) = RelPath::parse(&file.path, &RelPath::root()) else { continue };
            for it in &file.definitions {
                let own = it.symbol.rsplit(" > ").next().unwrap_or(&it.symbol);
                let is_scope = matches!(it.kind, "mod" | "module" | "namespace" | "package" | "impl");
                if is_scope || !name.is_empty() && name != own {
                    continue;
                }
                let lines = (it.start_line, it.end_line);
                all.push(Followed {
                    name: own.to_owned(),
                    path: path.clone(),
                    start_line: it.start_line,
                    symbol: it.symbol.clone(),
                    change: Some(it.change),
                    removed: (it.change == "removed").then(|| Site::removed(&it.symbol, it.kind, lines)),
                });
            }
        }
        if all.len() > limits::IMPACT_CHANGED {
            let left = count((all.len() - limits::IMPACT_CHANGED) as u64, "changed definition");
            warnings.push(format!("{left} left out; name a file or directory of the change in `path`"));
            all.truncate(limits::IMPACT_CHANGED);
        }
        all
    }

    /// Finds the uses of the wanted definitions. Leaves out those within definitions that are known already.
    fn step(
        &self,
        names: &[String],
        wanted: &Wanted<'_>,
        seen: &HashSet<DefinitionId>,
        warnings: &mut Vec<String>,
    ) -> Result<(Step, WalkReport), ToolError> {
        if names.is_empty() {
            return Ok((Step::default(), WalkReport::default()));
        }
        let mut gathered = self.gather(names)?;
        for index in &gathered.too_frequent {
            let max = limits::IMPACT_FILES;
            warnings.push(format!(
                "{} is in more than {max} files: its uses were not followed",
                quoted(&names[*index])
            ));
        }
        if !gathered.is_complete {
            warnings.push("not all files with these names were read, so uses may be missing".to_owned());
        }
        let mut step = Step::default();
        for (index, name) in names.iter().enumerate() {
            if let Wanted::Listed(all) = wanted {
                // The file of a removed definition may not contain the name any more.
                let gone = all.iter().filter(|it| it.name == *name && it.removed.is_some());
                for it in gone {
                    if !gathered.files.iter().any(|file| file.place.path == it.path) {
                        gathered
                            .files
                            .push(ParsedFile { place: FilePlace::new(&it.path), facts: BTreeMap::new() });
                    }
                    let file = gathered.files.iter_mut().find(|file| file.place.path == it.path);
                    file.into_iter().for_each(|file| {
                        file.facts.entry(index).or_default();
                    });
                }
            }
            let with_name =
                gathered.files.iter().filter_map(|file| Some((&file.place, file.facts.get(&index)?)));
            let mut known = Known {
                name,
                root: &self.root,
                files: with_name.collect(),
                removed: Vec::new(),
                is_complete: gathered.is_complete && !gathered.too_frequent.contains(&index),
            };
            if let Wanted::Listed(all) = wanted {
                let gone = all.iter().filter(|it| it.name == *name);
                let position = |path: &RelPath| known.files.iter().position(|(place, _)| place.path == *path);
                let removed = gone.filter_map(|it| Some((position(&it.path)?, it.removed.clone()?)));
                let removed: Vec<(usize, Site)> = removed.collect();
                known.removed = removed;
            }
            step.add(&known, wanted, seen);
        }
        step.edges.sort_by(|a, b| (a.is_test, &a.path, &a.lines).cmp(&(b.is_test, &b.path, &b.lines)));
        Ok((step, gathered.report))
    }

    /// Finds and parses the files that contain one of the names.
    fn gather(&self, names: &[String]) -> Result<Gathered, ToolError> {
        let escaped: Vec<String> = names.iter().map(|name| forage_search::escape(name)).collect();
        let options = PatternOptions { word: true, ..PatternOptions::default() };
        let pattern = Pattern::new_within(&escaped.join("|"), &options, &self.stop)
            .map_err(|error| ToolError::argument("pattern", error.to_string()))?;
        let scan = ScanOptions {
            exhaustive: true,
            max_file_bytes: self.call.limits.max_file_bytes,
            index: self.call.workspace.index(&self.root),
            ..ScanOptions::default()
        };
        let mut found: Vec<(RelPath, Vec<usize>)> = Vec::new();
        let mut files_of = vec![0_usize; names.len()];
        let report = search(&self.root, &RelPath::root(), &self.walk, &pattern, &scan, &self.stop, |file| {
            if forage_rank::is_prose(&file_name(&file.path)) {
                return ControlFlow::Continue(());
            }
            let lines: Vec<_> =
                file.events.iter().map(|event| String::from_utf8_lossy(&event.bytes)).collect();
            let is_in = |name: &String| file.more || lines.iter().any(|line| has_name(line, name));
            let of_file: Vec<usize> = (0..names.len()).filter(|index| is_in(&names[*index])).collect();
            of_file.iter().for_each(|index| files_of[*index] += 1);
            found.push((file.path, of_file));
            ControlFlow::Continue(())
        })?;
        // A single name was asked for, so its files are read as long as there is time.
        let max = if names.len() == 1 { usize::MAX } else { limits::IMPACT_FILES };
        let too_frequent: BTreeSet<usize> = (0..names.len()).filter(|index| files_of[*index] > max).collect();
        let parsed = map_in_threads(&found, self.walk.thread_count(), |(path, of_file)| {
            let of_file = of_file.iter().copied().filter(|index| !too_frequent.contains(index));
            self.parse(path, &of_file.collect::<Vec<_>>(), names)
        });
        let is_complete =
            report.stopped.is_none() && !report.too_many_entries && parsed.iter().all(Option::is_some);
        let files = parsed.into_iter().flatten().collect();
        Ok(Gathered { files, report, too_frequent, is_complete })
    }

    /// Reads and parses a file. Returns `None` if there is no time, or if it can't be read as a whole.
    fn parse(&self, path: &RelPath, of_file: &[usize], names: &[String]) -> Option<ParsedFile> {
        let mut place = FilePlace::new(path);
        let mut facts = BTreeMap::new();
        if !of_file.is_empty() {
            self.stop.check().is_none().then_some(())?;
            let (text, ..) = whole_text(&self.root, path, &self.stop).ok()?;
            let text = text.into_text();
            for index in of_file {
                let name = &names[*index];
                let outlines = &self.call.workspace.outlines;
                let parsed = outlines.outline_and_uses(&file_name(path), &text, name, &self.stop);
                if place.imports.is_empty() {
                    place.imports = file_imports(&place, &text, &parsed.outline);
                }
                facts.insert(*index, name_facts(&place, &text, &parsed, name));
            }
        }
        Some(ParsedFile { place, facts })
    }
}

/// Checks for a whole word, or for the text of a name that has signs.
fn has_name(line: &str, name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_word { has_word(line, name) } else { line.contains(name) }
}

impl Step {
    /// Adds the definitions and uses of one name.
    fn add(&mut self, known: &Known<'_>, wanted: &Wanted<'_>, seen: &HashSet<DefinitionId>) {
        let mut targets: BTreeMap<SiteIndex, &Site> = BTreeMap::new();
        for (at, site) in known.sites() {
            let place = known.files[at.0].0;
            if let Some(listed) = wanted.find(place, site) {
                targets.insert(at, site);
                let change = listed.and_then(|it| it.change);
                self.definitions.push((place.path.clone(), site.enclosing.clone(), change));
            }
        }
        let own: HashSet<DefinitionId> =
            targets.iter().map(|(at, site)| id(&known.files[at.0].0.path, &site.enclosing)).collect();
        let mut edges: BTreeMap<(usize, Option<u32>, SiteIndex), Edge> = BTreeMap::new();
        for (file, (place, facts)) in known.files.iter().enumerate() {
            if facts.is_only_imported {
                self.only_imported.insert(place.path.clone());
            }
            let is_related = targets.keys().any(|at| known.files[at.0].0.family == place.family);
            let unparsed = facts.unparsed.iter().copied().filter(|_| is_related);
            let mut unknown: BTreeSet<u32> = unparsed.collect();
            for used in &facts.uses {
                let user = used.enclosing.as_ref().map(|it| id(&place.path, it));
                if user.as_ref().is_some_and(|user| own.contains(user) || seen.contains(user)) {
                    continue;
                }
                let Some((at, reason)) = known.resolve(file, used) else {
                    if is_related {
                        unknown.insert(used.line);
                    }
                    continue;
                };
                // The parts of one definition, e.g. overloads, are one target.
                let same = targets.iter().find(|(target, site)| {
                    **target == at
                        || target.0 == at.0 && known.site(at).is_some_and(|it| it.container == site.container)
                });
                let Some((target, site)) = same else { continue };
                let key = (file, user.map(|(_, line)| line), *target);
                let edge = edges.entry(key).or_insert_with(|| Edge {
                    path: place.path.clone(),
                    enclosing: used.enclosing.clone(),
                    lines: BTreeSet::new(),
                    reason,
                    used: site.enclosing.clone(),
                    used_path: known.files[target.0].0.path.clone(),
                    is_test: place.is_test || used.enclosing.as_ref().is_some_and(|it| it.is_in_test),
                });
                edge.lines.insert(used.line);
                edge.reason = edge.reason.min(reason);
            }
            if !unknown.is_empty() && !targets.is_empty() {
                self.name_only.entry(place.path.clone()).or_default().extend(unknown);
            }
        }
        self.edges.extend(edges.into_values());
    }
}

/// Builds the records from both steps.
fn records(
    (first, second): (&Step, &Step),
    not_followed: Vec<String>,
    max_results: u64,
    redactor: &mut OutputRedactor<'_>,
) -> GrepImpact {
    let mut shown = |path: &RelPath| redactor.path(path).0;
    let mut tests: BTreeMap<&RelPath, BTreeSet<&str>> = BTreeMap::new();
    let (mut definitions, mut edges) = (Vec::new(), Vec::new());
    for (path, it, change) in &first.definitions {
        if change.is_some() && it.is_in_test {
            // A changed test is one to run.
            tests.entry(path).or_default().extend(it.test.as_deref());
            continue;
        }
        definitions.push(ImpactDefinition {
            path: shown(path),
            kind: it.word,
            symbol: it.within.symbol.clone(),
            start_line: it.within.start_line,
            end_line: it.within.end_line,
            change: *change,
        });
    }
    let all = first.edges.iter().map(|edge| (1, edge)).chain(second.edges.iter().map(|edge| (2, edge)));
    for (step, edge) in all {
        if edge.is_test {
            let test = edge.enclosing.as_ref().and_then(|it| it.test.as_deref());
            tests.entry(&edge.path).or_default().extend(test);
        }
        if (edges.len() as u64) < max_results {
            edges.push(ImpactEdge {
                step,
                path: shown(&edge.path),
                lines: edge.lines.iter().copied().take(limits::IMPACT_LINES).collect(),
                within: edge.enclosing.as_ref().map(|it| it.within.clone()),
                kind: edge.enclosing.as_ref().map(|it| it.word),
                reason: edge.reason.text(),
                used: edge.used.within.symbol.clone(),
                used_path: shown(&edge.used_path),
                used_line: edge.used.within.start_line,
                is_test: edge.is_test,
            });
        }
    }
    let name_only = first.name_only.iter().take(limits::IMPACT_NAME_ONLY).map(|(path, lines)| ImpactFile {
        path: shown(path),
        lines: lines.iter().copied().take(limits::IMPACT_LINES).collect(),
    });
    let name_only = name_only.collect();
    let only_imported = first.only_imported.iter().take(limits::IMPACT_NAME_ONLY).map(&mut shown).collect();
    let tests = tests.into_iter().map(|(path, names)| ImpactTests {
        path: shown(path),
        names: names.into_iter().map(str::to_owned).collect(),
    });
    GrepImpact {
        definitions,
        edge_counts: [first.edges.len() as u64, second.edges.len() as u64],
        name_only_counts: [first.name_only_count(), second.name_only_count()],
        tests: tests.collect(),
        edges,
        name_only,
        only_imported,
        not_followed: not_followed.into_iter().map(|name| clip(&name, limits::QUOTED_BYTES)).collect(),
    }
}
