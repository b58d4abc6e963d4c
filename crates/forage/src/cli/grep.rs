//! `forage grep`: ripgrep's options and output, with Forage's index, walk and notes.

mod arguments;
mod printer;

use std::cmp::Reverse;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use forage_base::{Stop, count};
use forage_fs::{
    Encoding, FileTypes, Globs, RelPath, Root, SkipReason, WalkOptions, WalkReport, WalkStep, display_below,
    walk,
};
use forage_search::{
    CodePattern, Decoding, FileBytes, FileReading, FileScan, Pattern, PatternBudget, ScanOptions, search,
};
use forage_tools::tools::{CaseRule, GrepOutput, GrepRequest, GrepSearch, Search, SearchRequest};
use forage_tools::{
    Call, ChangedFiles, DEPENDENCY, DecodedFiles, ErrorCode, ROOT, RevisionFiles, Tool as _, ToolError,
    globs_without_files, hidden_matches, limits, other_readings, telemetry, unfit_globs_note, walk_warnings,
};
use grep_printer::{HyperlinkEnvironment, PathPrinterBuilder, Stats};
use serde_json::json;
use termcolor::Buffer;

use super::output::Terminal;
use super::progress::ProgressBar;
use super::session::{self, Purpose, path_argument};
use super::user_error::UserError;
use super::{Global, Status};
use crate::config::CommandLineSettings;

pub(crate) use arguments::{Arguments, in_place_of};
use arguments::{SortKey, TypeChoice};
use printer::{Access, FileOutcome, Output, Style, searched_pattern, sieve};

/// The path that means standard input.
const STREAM: &str = "-";

/// The reason why a file of another revision is not searched.
const TOO_LARGE: &str = "over 4 MiB, the limit for files of another revision; not searched";

/// ripgrep maps files into memory if the user names at most this many paths and all of them are files.
const MAPPED_PATHS: usize = 10;

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let is_for_tool = arguments.uses
        || arguments.impact
        || arguments.ast
        || arguments.fuzzy.is_some()
        || arguments.settings.has_any;
    if !is_for_tool && (arguments.cursor.is_some() || arguments.max_results.is_some()) {
        bail!(
            "--cursor and --max-results belong to --uses, --ast and --fuzzy; -m limits the lines of each file"
        );
    }
    if arguments.unrestricted > 3 {
        bail!("-u can be given at most three times");
    }
    let (patterns, has_read_stdin) = arguments.patterns()?;
    let named = arguments.paths();
    if is_for_tool {
        return by_tool(arguments, &patterns, &named, global, output);
    }
    let paths = searched_paths(arguments, &named, has_read_stdin)?;
    let call = open(&paths, global, output)?;
    let is_terminal = io::stdout().is_terminal();
    let is_one_file = match paths.as_slice() {
        [path] => *path == STREAM || !is_directory(&call, path) && !names_revision(path),
        _ => false,
    };
    let mut style = Style::new(arguments, &patterns, &call.stop)?;
    style.json = global.json;
    style.quiet = global.quiet;
    style.has_colors = output.painter.has_colors;
    style.links = output.painter.links.clone().into_config(HyperlinkEnvironment::new());
    style.with_filename = style.names_files(is_one_file);
    style.heading = !arguments.vimgrep && (arguments.heading || is_terminal && !arguments.no_heading);
    style.line_number = style.numbers_lines(is_terminal && paths != [STREAM]);
    if style.fell_back() {
        output.note("the pattern needs the slower engine, for look-around or backreferences; -P chooses it");
    }
    let printer = Output::new(output, style.separator(), is_terminal);
    let mut search = LineSearch::new(&style, &patterns, &call, printer, &paths);
    let can_match = arguments.can_match(&patterns);
    let began = Instant::now();
    {
        // If stdout is a terminal, the progress line would appear between the results.
        let _progress = (!is_terminal).then(|| ProgressBar::for_call(&call.progress, "searching"));
        if can_match {
            search.search_paths(&paths, named.is_empty())?;
        }
    }
    if can_match && paths.is_empty() && !search.has_searched() {
        search.report_nothing_searched();
    }
    check_finished(&call.stop)?;
    search.end(began)?;
    let called = call.workspace.names.called(GrepSearch::NAME);
    telemetry::printed(called, &call, began, (search.has_match, search.has_failed));
    let status = match (search.has_match, search.has_failed) {
        (true, false) => Status::Found,
        (true, true) if global.quiet => Status::Found,
        (_, true) => Status::Failed,
        (false, false) => Status::NothingFound,
    };
    session::explain(&call.workspace, &call.roots, output);
    Ok(status)
}

/// Returns the paths to search: those that the user named, or standard input if it has data. Returns none for
/// the working directory.
fn searched_paths<'a>(
    arguments: &Arguments,
    named: &[&'a str],
    has_read_stdin: bool,
) -> anyhow::Result<Vec<&'a str>> {
    let range = arguments.changed.range();
    let reads_stdin = !has_read_stdin && !arguments.files && range.is_none() && grep_cli::is_readable_stdin();
    let paths = match named {
        [] if reads_stdin => vec![STREAM],
        named => named.to_vec(),
    };
    if has_read_stdin && paths.contains(&STREAM) {
        bail!("standard input was read for -f, so it can't be searched as well; name files or directories");
    }
    Ok(paths)
}

/// Opens the roots of the paths.
fn open(paths: &[&str], global: &Global, output: &mut Terminal) -> anyhow::Result<Call> {
    let given = CommandLineSettings::default();
    let places: Vec<&str> = paths.iter().copied().filter(|path| *path != STREAM).collect();
    let purpose = Purpose::plain(GrepSearch::NAME);
    let mut call = session::open_for_paths(global, given, purpose, &places, output)?.start_call();
    for path in &places {
        let named = call.with_dependency(Some(path));
        let named =
            named.map_err(|error| session::for_people(GrepSearch::NAME, error, &call.workspace.names))?;
        call = named.unwrap_or(call);
    }
    call.notices.iter().for_each(|notice| output.note(notice));
    // Like ripgrep, we have no time limit unless the user sets one.
    if global.timeout_ms().is_some() || call.limits.timeout != limits::TIMEOUT {
        call.stop = call.stop.within(call.limits.timeout);
    }
    Ok(call)
}

/// Fails if the search was cancelled, or if time ran out.
fn check_finished(stop: &Stop) -> anyhow::Result<()> {
    if stop.is_cancelled() {
        return Err(ToolError::Cancelled.into());
    }
    if stop.check().is_some() {
        let text =
            "the search ended before all files were read; give it more time with --timeout-ms".to_owned();
        return Err(UserError { code: ErrorCode::Unfinished, text }.into());
    }
    Ok(())
}

/// Returns true if a path that the user named is a directory.
fn is_directory(call: &Call, named: &str) -> bool {
    find(call, named)
        .is_ok_and(|(root, start)| root.locate(&start).is_ok_and(|(_, is_directory)| is_directory))
}

/// Finds the root that contains a path that the user named, and the path relative to that root.
fn find(call: &Call, named: &str) -> anyhow::Result<(Arc<Root>, RelPath)> {
    if let Some(place) = call.dependency(named) {
        return Ok(place?);
    }
    let absolute = session::absolute(named)?;
    match named.strip_prefix(ROOT).filter(|_| !Path::new(&absolute).exists()) {
        Some(name) => call.named_root(name).map_err(anyhow::Error::msg),
        None => Ok(call.roots.find(&absolute)?),
    }
}

/// Returns true if a path may name a file of a revision, e.g. `HEAD~3:src`. A path that exists never does.
fn names_revision(named: &str) -> bool {
    named.contains(':')
        && !named.starts_with(DEPENDENCY)
        // An absolute path has no `..` anymore, so `HEAD:src/../lib` would be `lib`.
        && (!Path::new(named).exists()
            || session::absolute(named).is_ok_and(|absolute| !Path::new(&absolute).exists()))
}

/// The state of a search for lines.
struct LineSearch<'a> {
    style: &'a Style<'a>,
    patterns: &'a [String],
    call: &'a Call,
    /// A pattern to skip files that have no match, or `None` if every file must be searched.
    sieve: Option<Pattern>,
    /// See [`Access::is_mapped`].
    is_mapped: bool,
    output: Output<'a>,
    /// True if we should quote unusual names as in other answers. A program that reads a pipe must get the
    /// raw bytes instead.
    quotes_names: bool,
    stats: Option<Stats>,
    has_match: bool,
    /// True if any file could not be read.
    has_failed: bool,
    decoded: DecodedFiles,
    /// The changed files of each root, if only these are searched.
    changed: Vec<(Arc<Root>, ChangedFiles)>,
    /// The paths that have been searched, for the notes at the end. A path of another revision has no options
    /// for a walk of the tree.
    reports: Vec<(Arc<Root>, RelPath, Option<WalkOptions>, WalkReport)>,
}

impl<'a> LineSearch<'a> {
    fn new(
        style: &'a Style<'a>,
        patterns: &'a [String],
        call: &'a Call,
        output: Output<'a>,
        paths: &[&str],
    ) -> Self {
        let arguments = style.arguments;
        Self {
            sieve: style.prints_matches_alone().then(|| sieve(arguments, patterns, &call.stop)).flatten(),
            is_mapped: (1..=MAPPED_PATHS).contains(&paths.len())
                && !paths.iter().any(|path| *path == STREAM || is_directory(call, path)),
            style,
            patterns,
            call,
            stats: (arguments.can_match(patterns) && !arguments.files && style.has_stats()).then(Stats::new),
            quotes_names: output.is_terminal && !arguments.null,
            output,
            has_match: false,
            has_failed: false,
            decoded: DecodedFiles::default(),
            changed: Vec::new(),
            reports: Vec::new(),
        }
    }

    /// Searches the paths, or the working directory if there are none. `is_implicit` must be true if the user
    /// named no path.
    fn search_paths(&mut self, paths: &[&str], is_implicit: bool) -> anyhow::Result<()> {
        if paths.is_empty() {
            return self.roots();
        }
        for path in paths {
            if self.is_done() {
                break;
            }
            match *path {
                STREAM if !self.style.arguments.files => self.stream(is_implicit),
                path => self.named(path)?,
            }
        }
        Ok(())
    }

    /// Returns false if there was no file to search. This can't be said if time ran out, or if files were
    /// only listed.
    fn has_searched(&self) -> bool {
        let is_visited = |report: &WalkReport| report.visited > report.skipped.get(SkipReason::TooLarge);
        self.style.arguments.files
            || self.call.stop.check().is_some()
            || self.reports.iter().any(|(.., report)| is_visited(report))
    }

    /// Returns true if the search can stop. For example, `-q` needs no more than one match.
    fn is_done(&self) -> bool {
        let has_enough = self.has_match && self.style.quiet && self.stats.is_none();
        !self.output.is_open || has_enough || self.call.stop.check().is_some()
    }

    /// Searches standard input. If the user did not name it and no data arrives, we print a note that we are
    /// waiting.
    fn stream(&mut self, is_implicit: bool) {
        if is_implicit && !self.style.quiet {
            note_if_nothing_comes();
        }
        let mut stdin = io::stdin().lock();
        let mut decoded;
        let bytes = match self.style.arguments.encoding {
            Some(Decoding::As(encoding)) => {
                decoded = encoding.reader(stdin);
                FileBytes::Pieces(&mut decoded)
            }
            _ => FileBytes::Pieces(&mut stdin),
        };
        let access = Access { is_explicit: true, is_mapped: false };
        let mut worker = self.style.worker();
        let path = Path::new("<stdin>");
        self.output.next_file();
        let found = worker.pass_on(path, bytes, access, &mut self.output, 0);
        self.add(path, found);
    }

    /// Searches the working directory, or all roots if there is more than one.
    fn roots(&mut self) -> anyhow::Result<()> {
        let roots = &self.call.roots;
        if let [root] = roots.all() {
            return self.place((root, roots.base()), &PathBuf::new());
        }
        for root in roots.all() {
            let named = if Arc::ptr_eq(root, roots.main()) { Path::new("") } else { root.path() };
            self.place((root, &RelPath::root()), named)?;
        }
        Ok(())
    }

    /// Searches a path that the user named.
    fn named(&mut self, named: &str) -> anyhow::Result<()> {
        let exists = |place: &(Arc<Root>, RelPath)| place.0.locate(&place.1).is_ok();
        let found = find(self.call, named);
        if names_revision(named)
            && (!found.as_ref().is_ok_and(exists) || self.call.leaves_directory_of_revision(named))
            && let Some(files) = RevisionFiles::named(self.call, named)
        {
            let call = self.call;
            let reported = |error: ToolError| UserError {
                code: error.code(),
                text: error.message(GrepSearch::NAME, &call.workspace.names),
            };
            return self.revision(&files.map_err(reported)?);
        }
        match found {
            Ok((root, start)) => self.place((&root, &start), Path::new(named)),
            Err(error) => {
                self.failure(&error.to_string());
                Ok(())
            }
        }
    }

    /// Searches the files of another revision.
    fn revision(&mut self, files: &RevisionFiles) -> anyhow::Result<()> {
        let arguments = self.style.arguments;
        let (root, start) = files.place();
        let options = self.revision_options(root, start)?;
        let (texts, stop) = (files.texts(), &self.call.stop);
        let is_explicit = texts.paths().len() == 1 && texts.paths().first() == Some(start);
        let max = arguments.max_filesize.filter(|_| !is_explicit).or(self.call.limits.max_file_bytes);
        let mut chosen: Vec<RelPath> = Vec::new();
        let report = match &self.sieve {
            // The sieve only searches text, but a file that the user names is searched even if it is binary.
            Some(pattern) if !arguments.files && !arguments.reads_bytes() && !is_explicit => {
                let scan = ScanOptions {
                    count_only: true,
                    max_file_matches: 1,
                    max_file_bytes: max,
                    stored: Some(Arc::clone(&texts)),
                    ..ScanOptions::default()
                };
                search(root, start, &options, pattern, &scan, stop, |file| {
                    chosen.push(file.path);
                    ControlFlow::Continue(())
                })?
            }
            _ => {
                let is_chosen = |path: &&RelPath| {
                    options.only.as_ref().is_none_or(|only| only.choose(path))
                        && !options.excludes.as_ref().is_some_and(|excludes| excludes.leave_out(path))
                };
                chosen.extend(texts.paths().iter().filter(is_chosen).cloned());
                WalkReport { visited: chosen.len() as u64, ..WalkReport::default() }
            }
        };
        let too_large = report.skipped.get(SkipReason::TooLarge);
        if too_large > 0 && arguments.max_filesize.is_none() {
            self.failure(&format!("{}: {TOO_LARGE}", count(too_large, "file")));
        }
        self.reports.push((Arc::clone(root), start.clone(), None, report));
        let mut read = texts.reader(stop);
        let mut worker = self.style.worker();
        for path in chosen {
            if self.is_done() {
                break;
            }
            let number = texts.paths().binary_search(&path).unwrap_or_default();
            let mut is_over = |max: u64| match read(number) {
                Ok(bytes) => bytes.len() as u64 > max,
                Err(reason) => reason == SkipReason::TooLarge,
            };
            if arguments.files && max.is_some_and(&mut is_over) {
                continue;
            }
            let shown = PathBuf::from(files.shown(&path));
            if arguments.files {
                self.list_stored(&shown);
                continue;
            }
            match read(number) {
                Ok(bytes) if max.is_some_and(|max| bytes.len() as u64 > max) => {}
                Ok(bytes) => self.stored_file(&mut worker, &shown, &bytes, is_explicit),
                // This file may hold secrets. Without a sieve, such files can be among the chosen ones; with
                // a sieve, the report counts them.
                Err(SkipReason::Denied) => {}
                Err(SkipReason::TooLarge) => {
                    self.failure(&format!("{}: {TOO_LARGE}", shown.display()));
                }
                Err(_) => self.failure(&format!("{}: can't be read", shown.display())),
            }
        }
        Ok(())
    }

    /// Prints the name of a file of another revision.
    fn list_stored(&mut self, shown: &Path) {
        self.has_match = true;
        let end = if self.style.arguments.null { '\0' } else { '\n' };
        if !self.style.quiet {
            self.output.bytes(format!("{}{end}", shown.display()).as_bytes());
        }
    }

    /// Searches a file of another revision.
    fn stored_file(
        &mut self,
        worker: &mut printer::FileSearch<'_, '_>,
        shown: &Path,
        bytes: &[u8],
        is_explicit: bool,
    ) {
        let encoding = match self.style.arguments.encoding {
            Some(Decoding::As(encoding)) => encoding,
            Some(Decoding::Stored) => Encoding::Utf8,
            _ => Encoding::detect(bytes),
        };
        let text = encoding.decode(bytes);
        self.output.next_file();
        let access = Access { is_explicit, is_mapped: false };
        let found = worker.pass_on(shown, FileBytes::Whole(&text), access, &mut self.output, 0);
        self.add(shown, found);
    }

    /// Returns the options for choosing files of another revision. They are not in the tree, so globs must
    /// choose among them instead of overriding ignore rules.
    fn revision_options(&self, root: &Arc<Root>, start: &RelPath) -> anyhow::Result<WalkOptions> {
        let arguments = self.style.arguments;
        if arguments.changed.range().is_some() {
            bail!("--changed and --since apply to the working tree; leave them out for another revision");
        }
        if arguments.max_depth.is_some() {
            bail!(
                "--max-depth is for files of the working tree; -g GLOB chooses files of another revision by name"
            );
        }
        if !arguments.types.0.is_empty() {
            bail!("-t is for files of the working tree; -g GLOB chooses files of another revision by name");
        }
        let mut options = self.walk_options(root, start)?;
        let is_exclusion = |glob: &String| glob.starts_with('!');
        options.only = match options.globs.take() {
            // If all globs exclude, they apply to all files.
            Some(_) if arguments.glob.iter().chain(&arguments.iglob).all(is_exclusion) => {
                let globs = [&["*".to_owned()], arguments.glob.as_slice()].concat();
                let globs = self.globs(root, start, &globs, &arguments.iglob);
                Some(globs.map_err(|error| anyhow::anyhow!("-g: {error}"))?)
            }
            globs => globs,
        };
        Ok(options)
    }

    /// Searches a file or a directory, whose path we print as `named`.
    fn place(&mut self, (root, start): (&Arc<Root>, &RelPath), named: &Path) -> anyhow::Result<()> {
        let arguments = self.style.arguments;
        let is_directory = match root.locate(start) {
            Ok((_, is_directory)) => is_directory,
            Err(error) => {
                self.failure(&error.to_string());
                return Ok(());
            }
        };
        // Like in ripgrep, `--max-depth 0` searches only files that the user named.
        if is_directory && arguments.max_depth == Some(0) {
            return Ok(());
        }
        let changed = self.changed_files(root)?;
        if changed.is_some_and(|changed| !is_directory && !changed.files.has(start)) {
            return Ok(());
        }
        let options = self.walk_options(root, start)?;
        let options = match self.changed.iter().find(|(of, _)| Arc::ptr_eq(of, root)) {
            Some((_, changed)) => changed.narrow(options),
            None => options,
        };
        let quotes_names = self.quotes_names;
        let shown = |path: &RelPath| match path == start {
            true => named.to_owned(),
            false => {
                if quotes_names {
                    return PathBuf::from(display_below(
                        named.as_os_str().as_encoded_bytes(),
                        path.below(start),
                    ));
                }
                let below = RelPath::from_bytes(path.below(start), &RelPath::root());
                let below =
                    below.ok().and_then(|below| below.to_os_string().map(|below| PathBuf::from(&*below)));
                named.join(below.unwrap_or_default())
            }
        };
        let access = Access { is_explicit: !is_directory, is_mapped: self.is_mapped };
        let report = match arguments.files {
            true => self.list(root, start, &options, access, &shown)?,
            false => self.files(root, start, &options, access, &shown)?,
        };
        self.reports.push((Arc::clone(root), start.clone(), Some(options), report));
        Ok(())
    }

    /// Returns the directory in a root that globs with a slash are relative to.
    fn base(&self, root: &Arc<Root>) -> RelPath {
        let roots = &self.call.roots;
        if Arc::ptr_eq(root, roots.main()) { roots.base().clone() } else { RelPath::root() }
    }

    /// If there is more than one glob, returns those that match no file in any searched path. A file counts
    /// as matched even if another glob excludes it.
    fn unfit_globs(&self) -> Vec<String> {
        let Arguments { glob, iglob, .. } = self.style.arguments;
        let [exact, any_case] = [glob, iglob].map(|globs| {
            globs.iter().filter(|glob| !glob.starts_with('!')).cloned().collect::<Vec<String>>()
        });
        if exact.len() + any_case.len() < 2 {
            return Vec::new();
        }
        let mut unfit = [exact.clone(), any_case.clone()].concat();
        for (root, start, options, report) in &self.reports {
            let (Some(options), None) = (options, report.stopped) else { return Vec::new() };
            let compile =
                |exact: &[String], any_case: &[String]| self.globs(root, start, exact, any_case).ok();
            let one = std::slice::from_ref::<String>;
            let each = exact.iter().map(|glob| Some((glob.clone(), compile(one(glob), &[])?)));
            let of_any_case = any_case.iter().map(|glob| Some((glob.clone(), compile(&[], one(glob))?)));
            let each: Option<Vec<(String, Globs)>> = each.chain(of_any_case).collect();
            let Some(each) = each else { return Vec::new() };
            let options = WalkOptions { globs: compile(&exact, &any_case), ..options.clone() };
            let here = globs_without_files((root, start), &options, &each, &self.call.stop);
            unfit.retain(|glob| here.contains(&glob.as_str()));
        }
        unfit
    }

    /// Compiles globs for a walk of a root that begins at `start`.
    fn globs(
        &self,
        root: &Arc<Root>,
        start: &RelPath,
        exact: &[String],
        any_case: &[String],
    ) -> Result<Globs, String> {
        let base = self.base(root);
        let globs = Globs::below(&base, exact, any_case)?;
        Ok(if start.starts_with(&base) { globs } else { globs.from_outside(&base) })
    }

    /// Returns the changed files of a root, if only these should be searched.
    fn changed_files(&mut self, root: &Arc<Root>) -> anyhow::Result<Option<&ChangedFiles>> {
        let Some(range) = self.style.arguments.changed.range() else { return Ok(None) };
        if !self.changed.iter().any(|(of, _)| Arc::ptr_eq(of, root)) {
            let changed = ChangedFiles::read(root, range, &self.call.stop).map_err(|error| UserError {
                code: error.code(),
                text: error.message(GrepSearch::NAME, &self.call.workspace.names),
            })?;
            changed.notes().iter().for_each(|note| self.output.note(note));
            self.changed.push((Arc::clone(root), changed));
        }
        let of_root = self.changed.iter().find(|(of, _)| Arc::ptr_eq(of, root));
        Ok(of_root.map(|(_, changed)| changed))
    }

    fn walk_options(&self, root: &Arc<Root>, start: &RelPath) -> anyhow::Result<WalkOptions> {
        let arguments = self.style.arguments;
        let call = self.call;
        let has_globs = !(arguments.glob.is_empty() && arguments.iglob.is_empty());
        let globs = has_globs.then(|| self.globs(root, start, &arguments.glob, &arguments.iglob)).transpose();
        let chosen: Vec<(&str, bool)> =
            arguments.types.0.iter().map(|choice| (choice.name.as_str(), choice.is_left_out)).collect();
        let types = (!chosen.is_empty()).then(|| FileTypes::new(&chosen)).transpose();
        Ok(WalkOptions {
            hidden: arguments.includes_hidden(),
            no_ignore: arguments.includes_ignored(),
            follow: arguments.follow,
            globs: globs.map_err(|error| anyhow::anyhow!("-g: {error}"))?,
            types: types.map_err(|error| anyhow::anyhow!("-t: {error}; -g GLOB chooses files by name"))?,
            max_depth: arguments.max_depth.unwrap_or(WalkOptions::default().max_depth),
            threads: arguments.jobs.unwrap_or(call.limits.threads),
            // Unlike agents' tools, ripgrep also enters directories of dependencies and caches.
            noise: &[],
            apart: call.roots.below(root),
            ..call.walk_options()
        })
    }

    /// Prints the paths of files, for `--files`.
    fn list(
        &mut self,
        root: &Arc<Root>,
        start: &RelPath,
        options: &WalkOptions,
        access: Access,
        shown: &(impl Fn(&RelPath) -> PathBuf + Sync),
    ) -> anyhow::Result<WalkReport> {
        let mut builder = PathPrinterBuilder::new();
        builder.hyperlink(self.style.links.clone());
        if self.style.has_colors {
            builder.color_specs(grep_printer::ColorSpecs::default_with_color());
        }
        builder.terminator(if self.style.arguments.null { 0 } else { b'\n' });
        let size = self.style.arguments.max_filesize.filter(|_| !access.is_explicit);
        let (order, mut held) = (self.style.arguments.order(), Vec::new());
        let visit = |(): &mut (), entry: &forage_fs::Entry<'_>, skipped: &mut forage_fs::Skipped| {
            let is_too_large =
                size.is_some_and(|size| entry.open(skipped).is_none_or(|file| file.size() > size));
            if is_too_large {
                WalkStep::Nothing
            } else {
                WalkStep::Item(entry.path.clone(), entry.path.as_bytes().len())
            }
        };
        let report = walk(
            root,
            start,
            options,
            &self.call.stop,
            || (),
            visit,
            |path| {
                self.has_match = true;
                if !self.style.quiet {
                    let mut buffer = if self.style.has_colors { Buffer::ansi() } else { Buffer::no_color() };
                    let _ = builder.build(&mut buffer).write(&shown(&path));
                    match &order {
                        Some(_) => held.push((path, buffer.into_inner())),
                        None => self.output.write(buffer.as_slice()),
                    }
                }
                if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )?;
        sort(root, &mut held, order);
        held.iter().for_each(|(_, line)| self.output.write(line));
        Ok(report)
    }

    /// Prints the matches in files.
    fn files(
        &mut self,
        root: &Arc<Root>,
        start: &RelPath,
        options: &WalkOptions,
        access: Access,
        shown: &(impl Fn(&RelPath) -> PathBuf + Sync),
    ) -> anyhow::Result<WalkReport> {
        let (style, call) = (self.style, self.call);
        let arguments = style.arguments;
        let reads_bytes = arguments.reads_bytes();
        let reads_binary = reads_bytes || access.is_explicit;
        // The closures below borrow the whole of `self`, so take the sieve out until they are done.
        let sieve = self.sieve.take();
        let decoding = match &arguments.encoding {
            Some(decoding) => *decoding,
            None if sieve.as_ref().is_some_and(Pattern::matches_bytes) => Decoding::Stored,
            None => Decoding::Detected,
        };
        // The index contains text in the detected encoding, so it is useless for any other.
        let is_detected = arguments.encoding.is_none_or(|decoding| decoding == Decoding::Detected);
        let index = (!reads_binary && is_detected).then(|| call.workspace.index(root)).flatten();
        let scan = FileScan {
            root,
            start,
            walk: options,
            // When a binary file is searched, its NUL bytes become line feeds. So lines can match that the
            // sieve would skip.
            sieve: sieve.as_ref().filter(|_| !reads_binary && is_detected),
            binary: reads_binary,
            decoding,
            cells: !reads_bytes && arguments.encoding != Some(Decoding::Stored),
            index: index.as_ref(),
            // As in ripgrep, `--max-filesize` does not apply to a file that the user named.
            max_file_bytes: arguments
                .max_filesize
                .filter(|_| !access.is_explicit)
                .or(call.limits.max_file_bytes),
            stop: &call.stop,
        };
        let visit = |worker: &mut printer::FileSearch<'_, '_>,
                     path: &RelPath,
                     bytes: FileBytes<'_>,
                     reading: FileReading| {
            let mut found = worker.hold(&shown(path), bytes, access);
            found.detected = reading.encoding.detected().filter(|_| is_detected && found.has_match);
            found.is_stored_notebook = reading.is_stored_notebook && found.has_match;
            let is_news = found.has_match
                || found.stats.is_some()
                || found.error.is_some()
                || !found.printed.is_empty();
            let weight = found.printed.len() + size_of::<FileOutcome>();
            is_news.then_some(((path.clone(), found), weight))
        };
        let (order, mut held) = (arguments.order(), Vec::new());
        let report = scan.run(
            || style.worker(),
            visit,
            |(path, found)| {
                match &order {
                    Some(_) if !style.quiet => held.push((path, found)),
                    _ => self.print(&scan, &path, &shown(&path), access, found),
                }
                if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        sort(root, &mut held, order);
        for (path, found) in held {
            self.print(&scan, &path, &shown(&path), access, found);
            if self.is_done() {
                break;
            }
        }
        self.sieve = sieve;
        Ok(report?)
    }

    /// Prints the output for a file. If the buffer was too small for it, this searches the file again for the
    /// rest.
    fn print(
        &mut self,
        scan: &FileScan<'_>,
        path: &RelPath,
        shown: &Path,
        access: Access,
        found: FileOutcome,
    ) {
        self.output.next_file();
        match found.is_message {
            true => self.output.message(&found.printed),
            false => self.output.write(&found.printed),
        }
        let (is_cut, skip) = (found.is_cut, found.printed.len());
        self.add(shown, found);
        if is_cut {
            self.print_rest(scan, path, shown, access, skip);
        }
    }

    /// Searches a file again and prints its output except for the first `skip` bytes, which we have already
    /// printed.
    fn print_rest(&mut self, scan: &FileScan<'_>, path: &RelPath, shown: &Path, access: Access, skip: usize) {
        let mut worker = self.style.worker();
        let output = &mut self.output;
        match scan.revisit(path, |bytes| worker.pass_on(shown, bytes, access, output, skip)) {
            Ok(Some(found)) => self.add(shown, found),
            Ok(None) => self.failure(&format!("{}: can't be read", shown.display())),
            Err(error) => self.failure(&error.to_string()),
        }
    }

    fn add(&mut self, path: &Path, found: FileOutcome) {
        self.has_match |= found.has_match;
        self.decoded.add(path.display(), found.detected, found.is_stored_notebook);
        if let (Some(sums), Some(stats)) = (&mut self.stats, &found.stats) {
            *sums += &**stats;
        }
        if let Some(error) = &found.error {
            self.failure(&format!("{}: {error}", path.display()));
        }
    }

    fn failure(&mut self, text: &str) {
        self.has_failed = true;
        self.output.failure(text);
    }

    /// Reports that there was no file to search. This is an error, except for changed files: a note has
    /// already said that no file has changed.
    fn report_nothing_searched(&mut self) {
        let has_changes = self.changed.iter().any(|(_, changed)| changed.files.files().len() > 0);
        if self.style.arguments.changed.range().is_none() {
            self.failure(
                "no files were searched: the options, ignore rules or hidden names exclude all of them",
            );
        } else if has_changes {
            self.output
                .note("no changed file was searched: the options or the configuration exclude all of them");
        }
    }

    /// Prints statistics and notes after the search.
    fn end(&mut self, began: Instant) -> anyhow::Result<()> {
        self.print_stats(began);
        self.output.flush();
        if let Some(error) = self.output.error.take() {
            return Err(error);
        }
        self.note_choices();
        self.note_reports();
        let warnings = self.call.workspace.indexes.as_ref().map(|indexes| indexes.take_warnings());
        for warning in warnings.into_iter().flatten() {
            self.output.note(&warning);
        }
        if !(self.has_match || self.has_failed || self.style.quiet || self.style.arguments.files) {
            self.explain_no_match();
        }
        Ok(())
    }

    /// Prints the statistics, if they were requested.
    fn print_stats(&mut self, began: Instant) {
        let Some(stats) = &mut self.stats else { return };
        stats.add_bytes_printed(self.output.separators);
        let seconds = began.elapsed().as_secs_f64();
        let text = match self.style.json {
            true => {
                let elapsed = began.elapsed();
                let total = json!({
                    "secs": elapsed.as_secs(), "nanos": elapsed.subsec_nanos(), "human": format!("{seconds:0.6}s"),
                });
                let mut summary =
                    json!({ "data": { "elapsed_total": total, "stats": stats }, "type": "summary" });
                // Use the same order of keys as ripgrep.
                summary.sort_all_objects();
                format!("{summary}\n")
            }
            false if self.style.arguments.stats => sums(stats, seconds),
            false => String::new(),
        };
        self.output.bytes(text.as_bytes());
    }

    /// Prints notes about globs that match no file, and about files that were not searched as UTF-8 text.
    fn note_choices(&mut self) {
        if !self.style.quiet {
            let note = unfit_globs_note(&self.unfit_globs(), "-g");
            note.iter().for_each(|note| self.output.note(note));
        }
        for note in self.decoded.notes("; -E names another encoding, or none") {
            self.output.note(&note);
        }
    }

    /// Prints notes about files that could not be read, or must not be.
    fn note_reports(&mut self) {
        for (_, _, _, report) in &self.reports {
            walk_warnings(report).iter().for_each(|warning| self.output.note(warning));
            report.unreadable.iter().for_each(|text| self.output.failure(text));
            let unreadable = report.skipped.get(SkipReason::Unreadable);
            let more = unreadable.saturating_sub(report.unreadable.len() as u64);
            if more > 0 {
                self.output.failure(&format!("{} more can't be read", count(more, "file")));
            }
            self.has_failed |= unreadable > 0 || report.too_many_entries;
            let denied = report.skipped.get(SkipReason::Denied);
            if denied > 0 {
                self.output.note(&format!("not opened: {} that may hold secrets", count(denied, "file")));
            }
        }
    }

    /// Prints notes about matches that other options would find.
    fn explain_no_match(&mut self) {
        let arguments = self.style.arguments;
        let Some(pattern) = &searched_pattern(arguments, self.patterns, &self.call.stop) else { return };
        if self.reports.iter().any(|(.., report)| report.skipped.get(SkipReason::Binary) > 0) {
            self.output.note("binary files were not searched; -a searches them");
        }
        let outputs = |report: &WalkReport| report.skipped.get(SkipReason::NotebookOutputs);
        let notebooks: u64 = self.reports.iter().map(|(.., report)| outputs(report)).sum();
        if notebooks > 0 {
            let notebooks = count(notebooks, "file");
            self.output.note(&format!(
                "only the cells of notebooks ({notebooks}) were searched; -a searches their outputs"
            ));
        }
        for (root, start, walk, report) in &self.reports {
            let Some(walk) = walk else { continue };
            for line in hidden_matches(self.call, root, start, walk, pattern, report) {
                let remedy = match line.is_setting {
                    true => "a path that names them includes them",
                    false => "-u searches ignored files, -. hidden ones",
                };
                self.output.note(&format!("{}; {remedy}", line.text));
            }
            // This takes time that ripgrep does not need, so we must not do it in a script.
            if let [pattern] = self.patterns
                && io::stderr().is_terminal()
            {
                let options = arguments.pattern_options();
                let (stop, budget) = (&self.call.stop, PatternBudget::for_command());
                let asked_for = (pattern.as_str(), &options, &budget);
                for line in other_readings(self.call, (root, start), walk, asked_for, stop) {
                    self.output.note(&format!("found {line}"));
                }
            }
        }
    }
}

/// Formats the sums of `--stats` in ripgrep's words.
fn sums(stats: &Stats, seconds: f64) -> String {
    format!(
        "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n{} bytes printed\n{} bytes searched\n\
         {:0.6} seconds spent searching\n{seconds:0.6} seconds total\n",
        stats.matches(),
        stats.matched_lines(),
        stats.searches_with_match(),
        stats.searches(),
        stats.bytes_printed(),
        stats.bytes_searched(),
        stats.elapsed().as_secs_f64(),
    )
}

/// Prints a note if no data arrives on standard input within a second. Without this note, we would silently
/// wait for a program that keeps a pipe open without writing.
fn note_if_nothing_comes() {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: 1, tv_nsec: 0 };
        if poll(&mut polled, Some(&wait)) == Ok(0) {
            super::output::remark(
                "waiting for standard input; name a path to search files: forage grep PATTERN .",
            );
        }
    }
}

/// Answers with one of the tools. This is for the uses of a name, syntax patterns, and fuzzy matches.
fn by_tool(
    arguments: &Arguments,
    patterns: &[String],
    paths: &[&str],
    global: &Global,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let [pattern] = patterns else { bail!("--uses, --ast and --fuzzy take one pattern") };
    let path = match paths {
        [] => None,
        [STREAM] => bail!("--uses, --ast and --fuzzy search files, not standard input"),
        [path] => Some(*path),
        _ => bail!("--uses, --ast and --fuzzy take one path"),
    };
    if arguments.ast && arguments.settings.has_any {
        bail!("--ast searches with the embedded engine; leave out --engine and similar options");
    }
    if arguments.uses || arguments.impact || arguments.ast {
        let workspace =
            session::open(global, CommandLineSettings::default(), GrepSearch::NAME, path, output)?;
        let mut request = grep_request(arguments, pattern)?;
        request.path = Some(path_argument(&workspace, path)?);
        return session::call::<GrepSearch>(request, &workspace, output);
    }
    if arguments.changed.range().is_some() {
        bail!("--changed and --since can't be combined with --fuzzy or --engine; leave one out");
    }
    let given =
        CommandLineSettings { settings: arguments.settings.given.clone(), ..CommandLineSettings::default() };
    let workspace = session::open(global, given, Search::NAME, path, output)?;
    let path = path_argument(&workspace, path)?;
    let mut request = search_request(arguments, pattern)?;
    request.path = Some(path);
    request.timeout_ms = global.timeout_ms().and_then(|time| time.try_into().ok());
    session::call::<Search>(request, &workspace, output)
}

/// Converts the arguments of `--uses` or `--ast`.
fn grep_request(arguments: &Arguments, pattern: &str) -> anyhow::Result<GrepRequest> {
    let mut request = GrepRequest::new(pattern);
    let globs = globs(arguments)?;
    request.file_pattern = (!globs.is_empty()).then(|| globs.join(","));
    request.changed = arguments.changed.range().map(str::to_owned);
    match arguments.ast {
        // The types of `-t` choose the files. If they are also languages, we pass them on, so that fewer
        // files have to be searched.
        true => {
            let types: Vec<&str> = arguments.types.selected().collect();
            let are_languages = !types.is_empty() && types.iter().all(|name| CodePattern::knows(name));
            request.syntax = Some(if are_languages { types.join(",") } else { "any".to_owned() });
        }
        false if arguments.impact => request.output = Some(GrepOutput::Impact),
        false => request.output = Some(GrepOutput::Uses),
    }
    request.max_results = arguments.max_results;
    request.ignore_case = arguments.ignore_case.then_some(true);
    request.context_lines = number(arguments.context);
    request.after_context = number(arguments.after_context);
    request.before_context = number(arguments.before_context);
    request.include_ignored = Some(arguments.includes_hidden() || arguments.includes_ignored());
    request.cursor.clone_from(&arguments.cursor);
    Ok(request)
}

/// Converts the arguments of `--fuzzy`, or of a search by an external engine.
fn search_request(arguments: &Arguments, pattern: &str) -> anyhow::Result<SearchRequest> {
    let mut request = SearchRequest::new(pattern);
    request.case = Some(match arguments.case() {
        forage_search::Case::Sensitive => CaseRule::Sensitive,
        forage_search::Case::Insensitive => CaseRule::Insensitive,
        forage_search::Case::Smart => CaseRule::Smart,
    });
    request.fixed_strings = Some(arguments.fixed_strings);
    request.word_regexp = Some(arguments.word_regexp);
    request.glob = Some(globs(arguments)?);
    request.hidden = Some(arguments.includes_hidden());
    request.follow = Some(arguments.follow);
    request.no_ignore = Some(arguments.includes_ignored());
    request.context = number(arguments.context.or(arguments.after_context).or(arguments.before_context));
    request.max_results = arguments.max_results;
    request.fuzzy = arguments.fuzzy.map(i64::from);
    request.best_first = Some(arguments.best_first);
    request.cursor.clone_from(&arguments.cursor);
    Ok(request)
}

/// Returns the globs of `-g`, and those of the types of `-t` and `-T`.
fn globs(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let mut globs = arguments.glob.clone();
    for TypeChoice { name, is_left_out } in &arguments.types.0 {
        let Some(of_type) = forage_fs::glob_of_type(name) else {
            bail!("{name} is not a known file type; use -g GLOB");
        };
        let mark = if *is_left_out { "!" } else { "" };
        globs.push(format!("{mark}{of_type}"));
    }
    Ok(globs)
}

fn number(lines: Option<usize>) -> Option<i64> {
    lines.and_then(|lines| i64::try_from(lines).ok())
}

/// Sorts the files of one path of the command line, which must be in path order. A file that we can no longer
/// open comes last. Note that ripgrep puts it first in reverse order, and sorts the files of all paths
/// together.
fn sort<T>(root: &Root, files: &mut [(RelPath, T)], order: Option<(SortKey, bool)>) {
    let Some((key, is_reversed)) = order else { return };
    let modified =
        |path: &RelPath| root.open_file(path).ok().and_then(|file| file.state_now()).map(|it| it.modified);
    match (key, is_reversed) {
        (SortKey::Path, false) => {}
        (SortKey::Path, true) => files.reverse(),
        (SortKey::Modified, false) => {
            files.sort_by_cached_key(|(path, _)| modified(path).unwrap_or(i64::MAX))
        }
        (SortKey::Modified, true) => {
            files.sort_by_cached_key(|(path, _)| Reverse(modified(path).unwrap_or(i64::MIN)));
        }
    }
}
