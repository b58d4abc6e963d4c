//! Prints the matches of a file. We use ripgrep's own searcher and printers, so that our output is the same
//! by construction.

use std::io::{self, Read, Write};
use std::path::Path;

use forage_base::Stop;
use forage_search::{BacktrackMatcher, Case, Decoding, FileBytes, Pattern, PatternBudget, PatternOptions};
use forage_tools::ErrorCode;
use grep_matcher::{LineTerminator, Matcher};
use grep_printer::{
    ColorSpecs, HyperlinkConfig, JSON, JSONBuilder, Standard, StandardBuilder, Stats, Summary,
    SummaryBuilder, SummaryKind,
};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};
use termcolor::{Buffer, ColorSpec, HyperlinkSpec, WriteColor};

use super::arguments::Arguments;
use crate::cli::output::Terminal;
use crate::cli::user_error::UserError;

/// Maximum bytes of output to buffer for one file until its turn comes. If there is more, the file is
/// searched again to print the rest.
const HELD_BYTES: usize = 8 << 20;

/// Number of bytes to write to stdout at a time.
const WRITTEN_BYTES: usize = 64 << 10;

/// The standard output of a search. It consists of the output of each file in order, with separators between
/// them.
pub(super) struct Output<'t> {
    terminal: &'t mut Terminal,
    separator: Option<&'static [u8]>,
    /// True if stdout is a terminal. The output of each file is then flushed.
    pub(super) is_terminal: bool,
    /// Total bytes of the separators that have been printed.
    pub(super) separators: u64,
    has_printed: bool,
    in_file: bool,
    /// False once the reader has closed stdout.
    pub(super) is_open: bool,
    pub(super) error: Option<anyhow::Error>,
}

impl<'t> Output<'t> {
    pub(super) fn new(
        terminal: &'t mut Terminal,
        separator: Option<&'static [u8]>,
        is_terminal: bool,
    ) -> Self {
        Self {
            terminal,
            separator,
            is_terminal,
            separators: 0,
            has_printed: false,
            in_file: false,
            is_open: true,
            error: None,
        }
    }

    /// Begins the output of the next file.
    pub(super) fn next_file(&mut self) {
        self.in_file = false;
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.has_printed
            && !self.in_file
            && let Some(separator) = self.separator
        {
            self.separators += separator.len() as u64;
            self.bytes(separator);
        }
        self.in_file = true;
        self.message(bytes);
    }

    /// Writes the output of a file if it contains no lines, e.g. only the message that a binary file matches.
    /// Like ripgrep, we print no separator before it.
    pub(super) fn message(&mut self, bytes: &[u8]) {
        self.has_printed = true;
        self.bytes(bytes);
        if self.is_terminal {
            self.flush();
        }
    }

    /// Writes bytes without a separator.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        match self.terminal.bytes(bytes) {
            Ok(is_open) => self.is_open &= is_open,
            Err(error) => {
                self.is_open = false;
                self.error.get_or_insert(error);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        if let Err(error) = self.terminal.flush() {
            self.error.get_or_insert(error);
        }
    }

    /// Prints a note on stderr, unless notes are disabled.
    pub(super) fn note(&mut self, text: &str) {
        self.terminal.note(text);
    }

    pub(super) fn failure(&mut self, text: &str) {
        self.terminal.report_error(text);
    }
}

/// The destination of a printer's output. It either buffers the output of a file or passes it on immediately.
pub(super) struct FileOutput<'o, 't> {
    buffer: Buffer,
    passes_on_to: Option<&'o mut Output<'t>>,
    /// Number of bytes to skip, which have already been printed.
    skip: usize,
    /// True if the output exceeded the buffer.
    is_full: bool,
}

impl<'o, 't> FileOutput<'o, 't> {
    fn new(has_colors: bool, passes_on_to: Option<&'o mut Output<'t>>, skip: usize) -> Self {
        let buffer = if has_colors { Buffer::ansi() } else { Buffer::no_color() };
        Self { buffer, passes_on_to, skip, is_full: false }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let Some(output) = &mut self.passes_on_to else { return Ok(()) };
        let skipped = self.skip.min(self.buffer.len());
        output.write(&self.buffer.as_slice()[skipped..]);
        self.skip -= skipped;
        self.buffer.clear();
        if output.is_open { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

impl Write for FileOutput<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.buffer.write(bytes)?;
        if self.passes_on_to.is_some() && self.buffer.len() >= WRITTEN_BYTES {
            self.pass_on()?;
        } else if self.passes_on_to.is_none() && self.buffer.len() > HELD_BYTES {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteColor for FileOutput<'_, '_> {
    fn supports_color(&self) -> bool {
        self.buffer.supports_color()
    }

    fn supports_hyperlinks(&self) -> bool {
        self.buffer.supports_hyperlinks()
    }

    fn set_color(&mut self, spec: &ColorSpec) -> io::Result<()> {
        self.buffer.set_color(spec)
    }

    fn set_hyperlink(&mut self, link: &HyperlinkSpec<'_>) -> io::Result<()> {
        self.buffer.set_hyperlink(link)
    }

    fn reset(&mut self) -> io::Result<()> {
        self.buffer.reset()
    }
}

/// The regex engine of a search.
#[derive(Clone)]
enum Engine {
    Regex(RegexMatcher),
    Backtracking(BacktrackMatcher),
}

enum Printer<W> {
    Standard(Standard<W>),
    Summary(Summary<W>),
    Json(JSON<W>),
}

impl<W: WriteColor> Printer<W> {
    fn output(&mut self) -> &mut W {
        match self {
            Self::Standard(printer) => printer.get_mut(),
            Self::Summary(printer) => printer.get_mut(),
            Self::Json(printer) => printer.get_mut(),
        }
    }
}

/// How to search files and print matches.
pub(super) struct Style<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) has_colors: bool,
    pub(super) links: HyperlinkConfig,
    pub(super) heading: bool,
    pub(super) line_number: bool,
    pub(super) with_filename: bool,
    engine: Engine,
}

/// The result of searching a file.
#[derive(Default)]
pub(super) struct FileOutcome {
    pub(super) has_match: bool,
    pub(super) stats: Option<Box<Stats>>,
    /// The output, unless it has been passed on.
    pub(super) printed: Vec<u8>,
    /// True if the output is only the message that a binary file matches.
    pub(super) is_message: bool,
    /// True if the output exceeded the buffer.
    pub(super) is_cut: bool,
    /// The error that ended the search of this file.
    pub(super) error: Option<String>,
    /// The detected encoding, unless the text is UTF-8 or has a byte-order mark.
    pub(super) detected: Option<&'static str>,
    /// True if the file is a notebook, and some lines of its cells were searched in their stored form.
    pub(super) is_stored_notebook: bool,
}

impl<'a> Style<'a> {
    /// Compiles the patterns. The caller must then set the output options.
    pub(super) fn new(arguments: &'a Arguments, patterns: &[String], stop: &Stop) -> anyhow::Result<Self> {
        Ok(Self {
            arguments,
            json: false,
            quiet: false,
            has_colors: false,
            links: HyperlinkConfig::default(),
            heading: false,
            line_number: false,
            with_filename: false,
            engine: Engine::new(arguments, patterns, stop)?,
        })
    }

    /// Returns true if the backtracking engine is used although the user did not ask for it with `-P`.
    pub(super) fn fell_back(&self) -> bool {
        !self.arguments.pcre2 && matches!(self.engine, Engine::Backtracking(_))
    }

    /// Returns true if nothing is printed for a file without a match. This allows us to skip files with a
    /// sieve.
    pub(super) fn prints_matches_alone(&self) -> bool {
        let Arguments {
            invert_match,
            passthru,
            files_without_match,
            include_zero,
            stats,
            multiline,
            crlf,
            ..
        } = self.arguments;
        let is_plain = !(*invert_match || *passthru || *files_without_match || *include_zero);
        is_plain && !stats && !multiline && !crlf && matches!(self.engine, Engine::Regex(_))
    }

    fn summary(&self) -> Option<SummaryKind> {
        let arguments = self.arguments;
        let counts_matches = arguments.count_matches && !arguments.invert_match;
        Some(match arguments {
            Arguments { files_without_match: true, .. } if self.quiet => SummaryKind::QuietWithoutMatch,
            _ if self.quiet => SummaryKind::QuietWithMatch,
            _ if self.json => return None,
            Arguments { files_with_matches: true, .. } => SummaryKind::PathWithMatch,
            Arguments { files_without_match: true, .. } => SummaryKind::PathWithoutMatch,
            Arguments { count: true, only_matching: true, .. } => SummaryKind::CountMatches,
            _ if counts_matches => SummaryKind::CountMatches,
            Arguments { count: true, .. } | Arguments { count_matches: true, .. } => SummaryKind::Count,
            _ => return None,
        })
    }

    /// Returns true if sums over all files are printed.
    pub(super) fn has_stats(&self) -> bool {
        self.arguments.stats || self.json
    }

    /// Returns true if lines are printed, and not only paths or counts.
    pub(super) fn prints_lines(&self) -> bool {
        self.summary().is_none()
    }

    /// Returns true if results are printed with the names of their files.
    pub(super) fn names_files(&self, is_one_file: bool) -> bool {
        match self.arguments {
            Arguments { with_filename: true, .. } => true,
            Arguments { no_filename: true, .. } => false,
            _ => self.arguments.vimgrep || !is_one_file,
        }
    }

    /// Returns true if lines are printed with their numbers. `is_for_reader` must be true if stdout is a
    /// terminal and files are searched.
    pub(super) fn numbers_lines(&self, is_for_reader: bool) -> bool {
        match self.arguments {
            Arguments { line_number: true, .. } => true,
            Arguments { no_line_number: true, .. } => false,
            _ if self.json => true,
            _ if self.quiet || !self.prints_lines() => false,
            _ => is_for_reader || self.arguments.column || self.arguments.vimgrep,
        }
    }

    /// Returns the separator between the results of two files, if there is one.
    pub(super) fn separator(&self) -> Option<&'static [u8]> {
        let Arguments { passthru, before_context, after_context, context, crlf, .. } = self.arguments;
        let has_context = !passthru
            && [before_context, after_context, context]
                .iter()
                .any(|lines| lines.is_some_and(|lines| lines > 0));
        match self.prints_lines() && !self.json {
            true if self.heading && *crlf => Some(b"\r\n"),
            true if self.heading => Some(b"\n"),
            true if has_context && *crlf => Some(b"--\r\n"),
            true if has_context => Some(b"--\n"),
            _ => None,
        }
    }

    fn printer<W: WriteColor>(&self, writer: W) -> Printer<W> {
        let arguments = self.arguments;
        let colors = || ColorSpecs::default_with_color();
        let terminator = arguments.null.then_some(0);
        let replacement = || arguments.replace.clone().map(String::into_bytes);
        if let Some(kind) = self.summary() {
            let mut builder = SummaryBuilder::new();
            builder.kind(kind).color_specs(colors()).hyperlink(self.links.clone()).stats(self.has_stats());
            builder
                .path(self.with_filename)
                .path_terminator(terminator)
                .exclude_zero(!arguments.include_zero);
            return Printer::Summary(builder.build(writer));
        }
        if self.json {
            return Printer::Json(JSONBuilder::new().replacement(replacement()).build(writer));
        }
        let mut builder = StandardBuilder::new();
        builder
            .color_specs(colors())
            .hyperlink(self.links.clone())
            .stats(self.has_stats())
            .heading(self.heading);
        builder.path(self.with_filename).path_terminator(terminator).only_matching(arguments.only_matching);
        builder.per_match(arguments.vimgrep).per_match_one_line(true).replacement(replacement());
        builder.max_columns(arguments.max_columns.filter(|&bytes| bytes > 0)).trim_ascii(arguments.trim);
        builder.column(arguments.column || arguments.vimgrep).byte_offset(arguments.byte_offset);
        Printer::Standard(builder.build(writer))
    }

    fn searcher(&self) -> Searcher {
        let arguments = self.arguments;
        let mut builder = SearcherBuilder::new();
        builder.invert_match(arguments.invert_match).line_number(self.line_number);
        builder.bom_sniffing(arguments.encoding != Some(Decoding::Stored));
        builder.multi_line(arguments.multiline).max_matches(arguments.max_count).passthru(arguments.passthru);
        if arguments.crlf {
            builder.line_terminator(LineTerminator::crlf());
        }
        if !arguments.passthru {
            builder.before_context(arguments.before_context.or(arguments.context).unwrap_or(0));
            builder.after_context(arguments.after_context.or(arguments.context).unwrap_or(0));
        }
        builder.build()
    }

    /// Creates the searcher for one worker thread.
    pub(super) fn worker(&self) -> FileSearch<'a, '_> {
        FileSearch { style: self, engine: self.engine.clone(), searcher: self.searcher() }
    }
}

impl Engine {
    fn new(arguments: &Arguments, patterns: &[String], stop: &Stop) -> anyhow::Result<Self> {
        if arguments.pcre2 {
            return Self::backtracking(arguments, patterns, stop);
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).octal(false).fixed_strings(arguments.fixed_strings);
        match arguments.case() {
            Case::Sensitive => {}
            Case::Insensitive => drop(builder.case_insensitive(true)),
            Case::Smart => drop(builder.case_smart(true)),
        }
        builder.whole_line(arguments.line_regexp).word(arguments.word_regexp);
        if arguments.multiline {
            builder.dot_matches_new_line(arguments.multiline_dotall);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        if arguments.crlf {
            builder.crlf(true);
            if arguments.multiline {
                // `crlf` has set a line terminator, which no match could contain.
                builder.line_terminator(None);
            }
        }
        // Binary detection relies on NUL bytes, so a pattern that needs one is an error. `-a` disables both.
        if !arguments.text {
            builder.ban_byte(Some(0));
        }
        match builder.build_many(patterns) {
            Ok(matcher) => Ok(Self::Regex(matcher)),
            Err(error) => {
                let text = error.to_string();
                // Like ripgrep's `--engine auto`, we fall back to backtracking, but only for syntax that
                // needs it. We must not do this for any other error, because the pattern could mean something
                // else in that engine.
                let is_other = |pattern: &String| [r"\K", "(?>", "(?("].iter().any(|it| pattern.contains(it));
                let may_help = !arguments.fixed_strings
                    && (["look-around", "backreferences are not supported"]
                        .iter()
                        .any(|it| text.contains(it))
                        || patterns.iter().any(is_other));
                if may_help && let Ok(engine) = Self::backtracking(arguments, patterns, stop) {
                    return Ok(engine);
                }
                Err(wrong_pattern(&text))
            }
        }
    }

    fn backtracking(arguments: &Arguments, patterns: &[String], stop: &Stop) -> anyhow::Result<Self> {
        let patterns: Vec<String> = match arguments.fixed_strings {
            true => patterns.iter().map(|pattern| forage_search::escape(pattern)).collect(),
            false => patterns.to_vec(),
        };
        let dot_all = arguments.multiline && arguments.multiline_dotall;
        let shape = (arguments.word_regexp, arguments.line_regexp, dot_all);
        let matcher = BacktrackMatcher::new(&patterns, arguments.case(), shape, stop);
        Ok(Self::Backtracking(matcher.map_err(|error| wrong_pattern(&error.to_string()))?))
    }
}

/// Creates the error for an invalid pattern. It suggests the option that may help.
fn wrong_pattern(text: &str) -> anyhow::Error {
    let advice = match text {
        text if text.contains(r#"literal "\n""#) => "\n-U lets matches span lines.",
        text if text.contains("is not allowed in a regex") => "\n-a searches binary files as text.",
        _ => "\n-F takes the pattern as plain text.",
    };
    UserError { code: ErrorCode::Pattern, text: format!("{}{advice}", text.trim_end()) }.into()
}

/// Compiles a pattern that must match every line that a search for `patterns` can match. Returns `None` if we
/// can't compile one.
pub(super) fn sieve(arguments: &Arguments, patterns: &[String], stop: &Stop) -> Option<Pattern> {
    // `joined` has already escaped the patterns of `-F`.
    let options = PatternOptions { literal: false, multiline: false, ..arguments.pattern_options() };
    Pattern::new_in(&PatternBudget::for_command(), &joined(arguments, patterns), &options, stop).ok()
}

/// Compiles the pattern for notes on files that were not searched.
pub(super) fn searched_pattern(arguments: &Arguments, patterns: &[String], stop: &Stop) -> Option<Pattern> {
    if arguments.invert_match || arguments.files_without_match || patterns.is_empty() {
        return None;
    }
    let source = joined(arguments, patterns);
    let source = if arguments.line_regexp { format!("(?m:^)(?:{source})(?m:$)") } else { source };
    let options = PatternOptions { literal: false, look_around: true, ..arguments.pattern_options() };
    Pattern::new_in(&PatternBudget::for_command(), &source, &options, stop).ok()
}

/// Joins the patterns into one.
fn joined(arguments: &Arguments, patterns: &[String]) -> String {
    let part = |pattern: &String| match arguments.fixed_strings {
        true => forage_search::escape(pattern),
        false => pattern.clone(),
    };
    match patterns {
        [only] => part(only),
        several => {
            several.iter().map(|pattern| format!("(?:{})", part(pattern))).collect::<Vec<_>>().join("|")
        }
    }
}

/// Searches files and prints their matches.
pub(super) struct FileSearch<'a, 's> {
    style: &'s Style<'a>,
    engine: Engine,
    searcher: Searcher,
}

/// How a file is accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// True if the user named the file. It must then be searched even if it is binary.
    pub(super) is_explicit: bool,
    /// True if ripgrep would map the file into memory. It then detects NUL bytes differently.
    pub(super) is_mapped: bool,
}

impl FileSearch<'_, '_> {
    /// Searches a file and buffers its output.
    pub(super) fn hold(&mut self, path: &Path, bytes: FileBytes<'_>, access: Access) -> FileOutcome {
        self.search(path, bytes, access, None, 0)
    }

    /// Searches a file and writes its output immediately, except for the first `skip` bytes, which we have
    /// already written.
    pub(super) fn pass_on(
        &mut self,
        path: &Path,
        bytes: FileBytes<'_>,
        access: Access,
        output: &mut Output<'_>,
        skip: usize,
    ) -> FileOutcome {
        self.search(path, bytes, access, Some(output), skip)
    }

    fn search(
        &mut self,
        path: &Path,
        bytes: FileBytes<'_>,
        access: Access,
        output: Option<&mut Output<'_>>,
        skip: usize,
    ) -> FileOutcome {
        let arguments = self.style.arguments;
        let binary = match arguments {
            Arguments { text: true, .. } => BinaryDetection::none(),
            Arguments { binary, unrestricted, .. } if *binary || *unrestricted > 2 || access.is_explicit => {
                BinaryDetection::convert(0)
            }
            _ => BinaryDetection::quit(0),
        };
        // ripgrep searches a mapped file as a slice, and any other file through a reader. The output differs
        // only if there is a NUL byte, and with `quit` we skip such files.
        let by_slice = access.is_mapped || binary == BinaryDetection::quit(0);
        self.searcher.set_binary_detection(binary);
        let writer = FileOutput::new(self.style.has_colors, output, skip);
        let mut printer = self.style.printer(writer);
        let result = match &self.engine {
            Engine::Regex(matcher) => print(matcher, &mut self.searcher, &mut printer, path, bytes, by_slice),
            Engine::Backtracking(matcher) => {
                print(matcher, &mut self.searcher, &mut printer, path, bytes, by_slice)
            }
        };
        let writer = printer.output();
        // An error means that the reader has closed stdout, and `Output` remembers that.
        let _ = writer.pass_on();
        let is_cut = writer.is_full;
        let is_closed = writer.passes_on_to.as_ref().is_some_and(|output| !output.is_open);
        let printed = std::mem::replace(&mut writer.buffer, Buffer::no_color()).into_inner();
        match result {
            Ok(Outcome { has_match, stats, is_binary }) => {
                let is_message = is_binary && printed.iter().filter(|byte| **byte == b'\n').count() == 1;
                FileOutcome { has_match, stats, printed, is_message, ..FileOutcome::default() }
            }
            Err(_) if is_cut => FileOutcome { has_match: true, printed, is_cut, ..FileOutcome::default() },
            Err(_) if is_closed => FileOutcome { has_match: true, ..FileOutcome::default() },
            Err(error) => FileOutcome {
                has_match: !printed.is_empty(),
                printed,
                error: Some(error.to_string()),
                ..FileOutcome::default()
            },
        }
    }
}

/// The result of searching a file.
struct Outcome {
    has_match: bool,
    /// The statistics, if the user wants them.
    stats: Option<Box<Stats>>,
    /// True if the printer found a NUL byte.
    is_binary: bool,
}

fn print<M: Matcher, W: WriteColor>(
    matcher: &M,
    searcher: &mut Searcher,
    printer: &mut Printer<W>,
    path: &Path,
    bytes: FileBytes<'_>,
    by_slice: bool,
) -> io::Result<Outcome> {
    match printer {
        Printer::Standard(printer) => {
            let mut sink = printer.sink_with_path(matcher, path);
            read(searcher, matcher, bytes, by_slice, &mut sink)?;
            let (has_match, stats) = (sink.has_match(), sink.stats().cloned().map(Box::new));
            Ok(Outcome { has_match, stats, is_binary: sink.binary_byte_offset().is_some() })
        }
        Printer::Summary(printer) => {
            let mut sink = printer.sink_with_path(matcher, path);
            read(searcher, matcher, bytes, by_slice, &mut sink)?;
            let (has_match, stats) = (sink.has_match(), sink.stats().cloned().map(Box::new));
            Ok(Outcome { has_match, stats, is_binary: false })
        }
        Printer::Json(printer) => {
            let mut sink = printer.sink_with_path(matcher, path);
            read(searcher, matcher, bytes, by_slice, &mut sink)?;
            let stats = Some(Box::new(sink.stats().clone()));
            Ok(Outcome { has_match: sink.has_match(), stats, is_binary: false })
        }
    }
}

fn read<M: Matcher, S: Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &M,
    bytes: FileBytes<'_>,
    by_slice: bool,
    sink: &mut S,
) -> io::Result<()> {
    match bytes {
        FileBytes::Whole(bytes) if by_slice => searcher.search_slice(matcher, bytes, sink),
        FileBytes::Whole(bytes) => searcher.search_reader(matcher, bytes, sink),
        FileBytes::Pieces(reader) => searcher.search_reader(matcher, reader as &mut dyn Read, sink),
    }
}
