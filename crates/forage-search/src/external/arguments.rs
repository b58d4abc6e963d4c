//! Command-line arguments of an external engine.
//!
//! Nothing in a request can become an option. The pattern follows `-e` as an argument of its own, the path of
//! the text follows `--`, and this file defines every flag.

use forage_base::Stop;

use super::{ExternalError, ExternalRequest, ProgramKind, dialect};
use crate::error::PatternError;
use crate::limits;
use crate::pattern::{Case, Pattern, rewritten};

/// The arguments for one search.
#[derive(Debug)]
pub(super) struct Arguments {
    /// All arguments except the path of the text.
    pub(super) list: Vec<String>,
    /// A sentinel line that also matches and is appended to every text. An engine that does not report it has
    /// not searched to the end. For example, ugrep's PCRE2 mode gives up silently if its matcher runs out of
    /// stack.
    pub(super) last_line: Option<String>,
    /// The pattern as the embedded engine compiles it, if it can.
    pub(super) pattern: Option<Pattern>,
}

/// Without a configuration file and an environment, preprocessors, decompression and other modes are off by
/// default.
const RIPGREP: &[&str] = &[
    "--no-config",
    "--color=never",
    "--no-heading",
    "--no-filename",
    "--line-number",
    "--text",
    // The text is already decoded.
    "--encoding=none",
    "--no-mmap",
    // We only read line numbers, so ripgrep may replace longer lines by a short note.
    "--max-columns=32",
    // Each of our workers runs a process of its own.
    "--threads=1",
];
/// ugrep needs no further switches. It reads a configuration file only if it is invoked under another name,
/// and we never let it walk a directory. Decompression, filters and pagers are off by default.
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
        // Only our engine rejects a line feed; the others would match every line, or two lines at once.
        if text.contains('\n') {
            return Err(PatternError::LineFeed("it contains a line feed".to_owned()).into());
        }
        let pattern = match Pattern::new_within(text, &request.options, stop) {
            Ok(pattern) => Some(pattern),
            // The external engine may support this, and will otherwise report its own error.
            Err(
                PatternError::LookAround { .. }
                | PatternError::Backreference { .. }
                | PatternError::Syntax { .. }
                | PatternError::FuzzyTooLarge { .. },
            ) => None,
            Err(error) => return Err(error.into()),
        };
        match kind {
            ProgramKind::Ripgrep => {
                let source = if request.options.literal { None } else { rewritten(text) };
                let request = &ExternalRequest { pattern: source.as_deref().unwrap_or(text), ..*request };
                let list = with_pattern(owned(RIPGREP), request, pattern.as_ref(), "--smart-case");
                Ok(Self { list, last_line: None, pattern })
            }
            ProgramKind::Ugrep => Self::ugrep(request, pattern),
        }
    }

    fn ugrep(request: &ExternalRequest<'_>, pattern: Option<Pattern>) -> Result<Self, ExternalError> {
        let mut list = owned(UGREP);
        if request.options.fuzzy > 0 {
            // ugrep's fuzzy levels are numbers of edits from 1 to 4, like ours.
            list.extend(["--only-line-number".to_owned(), format!("-Z{}", request.options.fuzzy)]);
            let list = with_pattern(list, request, pattern.as_ref(), "-j");
            return Ok(Self { list, last_line: None, pattern });
        }
        let last_line = last_line();
        // Only PCRE2 mode knows letters beyond ASCII; `-Y` allows the pattern to match the empty text.
        list.extend(owned(&["-P", "-Y", "-e", &last_line]));
        if let Some(pattern) = &pattern {
            let translated = dialect::for_ugrep(pattern.hir(), request.options.word)?;
            list.extend(owned(&["--only-line-number", "-e", &translated]));
        } else {
            // We need the text of the lines: only this shows matches that cross a line end.
            list = with_pattern(list, request, None, "-j");
        }
        Ok(Self { list, last_line: Some(last_line), pattern })
    }
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.to_owned()).collect()
}

/// Adds `-F`, `-w`, the case option and the pattern. We decide the case if we can parse the pattern;
/// otherwise the engine decides.
fn with_pattern(
    mut list: Vec<String>,
    request: &ExternalRequest<'_>,
    pattern: Option<&Pattern>,
    smart: &str,
) -> Vec<String> {
    let options = request.options;
    let case = match (options.case, pattern) {
        (_, Some(pattern)) => pattern.is_insensitive().then_some("-i"),
        (Case::Sensitive, None) => None,
        (Case::Insensitive, None) => Some("-i"),
        (Case::Smart, None) => Some(smart),
    };
    let flags = [case, options.literal.then_some("-F"), options.word.then_some("-w")];
    list.extend(flags.into_iter().flatten().chain(["-e", request.pattern]).map(str::to_owned));
    list
}

/// Generates a line that no text contains by chance or by intent. This line is random for each search.
fn last_line() -> String {
    use std::hash::{BuildHasher, RandomState};
    let word = || format!("{:016x}", RandomState::new().hash_one(limits::EXTERNAL_TICK));
    format!("end{}{}", word(), word())
}
