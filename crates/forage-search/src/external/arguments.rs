//! What an engine is started with. Nothing of a request is ever an option: the pattern stands behind `-e` as an argument
//! of its own, the text's path behind `--`, and every flag is written here.

use forage_base::Stop;

use super::{ExternalError, ExternalRequest, ProgramKind, dialect};
use crate::error::PatternError;
use crate::limits;
use crate::pattern::{Case, Pattern, PatternOptions};

/// How one search calls its engine.
#[derive(Debug)]
pub(super) struct Arguments {
    /// All but the text's path.
    pub(super) list: Vec<String>,
    /// A line that matches too and is put behind every text: an engine that does not report it has not searched to
    /// the end. ugrep's PCRE2 mode gives up without a word where its matcher runs out of stack.
    pub(super) last_line: Option<String>,
    /// The pattern as the embedded engine reads it, if it can.
    pub(super) pattern: Option<Pattern>,
}

const RIPGREP: &[&str] = &[
    "--no-config",
    "--color=never",
    "--no-heading",
    "--no-filename",
    "--line-number",
    "--text",
    "--encoding=none",
    "--engine=default",
    "--no-mmap",
    "--no-pre",
    "--no-search-zip",
    "--no-multiline",
    "--no-crlf",
    "--no-trim",
    "--no-json",
    "--no-stats",
    "--no-max-columns-preview",
    // Only the numbers are read: longer lines are replaced by a short note.
    "--max-columns=32",
    "--threads=1",
];
/// No configuration file is read unless it is asked for under this name, and no directory is ever walked, so nothing
/// else is to be switched off. Decompression, filters and pagers are off unless asked for.
const UGREP: &[&str] = &["-a", "-n", "-h", "-J1", "--color=never", "--no-pager"];

impl Arguments {
    pub(super) fn new(
        kind: ProgramKind,
        request: &ExternalRequest<'_>,
        stop: &Stop,
    ) -> Result<Self, ExternalError> {
        let text = request.pattern;
        if request.options.fuzzy > 0 && kind == ProgramKind::Ripgrep {
            return Err(ExternalError::FuzzyNeedsUgrep);
        }
        if text.contains('\0') {
            return Err(ExternalError::Nul);
        }
        // Only our own engine reports these; the others would match every line, or two at once.
        if text.contains('\n') {
            return Err(PatternError::LineFeed("it holds a line feed".to_owned()).into());
        }
        let pattern = match Pattern::new_within(text, &request.options, stop) {
            Ok(pattern) => Some(pattern),
            Err(
                error @ (PatternError::Empty
                | PatternError::TooLong { .. }
                | PatternError::LineFeed(_)
                | PatternError::TooLarge
                | PatternError::TooManyClasses
                | PatternError::Stopped
                | PatternError::FuzzyEdits { .. }
                | PatternError::FuzzyTooShort { .. }),
            ) => return Err(error.into()),
            // The engine may know more, and has its own words for what is wrong.
            Err(_) => None,
        };
        Ok(match kind {
            ProgramKind::Ripgrep => Self::ripgrep(request, pattern, stop),
            ProgramKind::Ugrep => return Self::ugrep(request, pattern, stop),
        })
    }

    fn ripgrep(request: &ExternalRequest<'_>, pattern: Option<Pattern>, stop: &Stop) -> Self {
        let mut list = owned(RIPGREP);
        list.extend(flags(request, pattern.as_ref(), "--smart-case", stop));
        list.extend(["-e".to_owned(), request.pattern.to_owned()]);
        Self { list, last_line: None, pattern }
    }

    fn ugrep(
        request: &ExternalRequest<'_>,
        pattern: Option<Pattern>,
        stop: &Stop,
    ) -> Result<Self, ExternalError> {
        let mut list = owned(UGREP);
        if request.options.fuzzy > 0 {
            list.push("--only-line-number".to_owned());
            // ugrep's levels are numbers of edits from 1 to 4, as ours are.
            list.push(format!("-Z{}", request.options.fuzzy));
            list.extend(flags(request, pattern.as_ref(), "-j", stop));
            list.extend(["-e".to_owned(), request.pattern.to_owned()]);
            return Ok(Self { list, last_line: None, pattern });
        }
        // Its PCRE2 mode is the one that knows letters beyond ASCII; `-Y` lets a pattern match the empty text.
        list.extend(owned(&["-P", "-Y"]));
        let last_line = last_line();
        list.extend(["-e".to_owned(), last_line.clone()]);
        if let Some(pattern) = &pattern {
            let translated = dialect::for_ugrep(pattern.hir(), request.options.word);
            list.push("--only-line-number".to_owned());
            list.extend(["-e".to_owned(), translated.ok_or(ExternalError::NotForUgrep)?]);
        } else {
            // With the text of the lines, because only that tells matches that reach over a line's end.
            list.extend(flags(request, None, "-j", stop));
            list.extend(["-e".to_owned(), request.pattern.to_owned()]);
        }
        Ok(Self { list, last_line: Some(last_line), pattern })
    }
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.to_owned()).collect()
}

/// `-F`, `-w` and the case, which is decided by our rule if we can read the pattern, and else by the engine's.
fn flags(request: &ExternalRequest<'_>, pattern: Option<&Pattern>, smart: &str, stop: &Stop) -> Vec<String> {
    let options = request.options;
    let case = match (options.case, pattern) {
        (Case::Sensitive, _) => None,
        (Case::Insensitive, _) => Some("-i"),
        (Case::Smart, Some(pattern)) => is_insensitive(request, pattern, stop).then_some("-i"),
        (Case::Smart, None) => Some(smart),
    };
    let literal = options.literal.then_some("-F");
    let word = options.word.then_some("-w");
    [case, literal, word].into_iter().flatten().map(str::to_owned).collect()
}

/// Whether smart case decided for insensitive; where it makes no difference, either answer is right.
fn is_insensitive(request: &ExternalRequest<'_>, smart: &Pattern, stop: &Stop) -> bool {
    let options = PatternOptions { case: Case::Insensitive, ..request.options };
    Pattern::new_within(request.pattern, &options, stop)
        .is_ok_and(|insensitive| insensitive.hir() == smart.hir())
}

/// A line that no text holds by chance or by intent: it differs from search to search.
fn last_line() -> String {
    use std::hash::{BuildHasher, RandomState};
    let word = || format!("{:016x}", RandomState::new().hash_one(limits::EXTERNAL_TICK));
    format!("end{}{}", word(), word())
}
