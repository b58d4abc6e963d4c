//! Selects the engine of a line search.

use std::ops::ControlFlow;

use forage_fs::WalkReport;
use forage_search::external::{self, ExternalError, Program, ProgramKind};
use forage_search::{FileEvents, ScanOptions, search};

use super::LineSearch;
use crate::error::ToolError;
use crate::limits;
use crate::sanitize::sanitize;
use crate::settings::EngineSetting;
use crate::text::clip;

/// The engine of one call.
pub(super) enum SearchEngine {
    Embedded,
    External(Program),
}

/// How a search ended.
#[derive(Default)]
pub(in super::super) struct SearchEnd {
    pub(in super::super) engine: &'static str,
    pub(in super::super) walk: WalkReport,
    pub(in super::super) exit_code: Option<i32>,
    pub(in super::super) stderr: Option<String>,
    /// Notes about the engine for the caller.
    pub(in super::super) notes: Vec<String>,
    /// True if the engine failed before it had searched everything.
    pub(in super::super) incomplete: bool,
}

impl SearchEnd {
    /// Merges the end of a search that continued this one.
    pub(super) fn append(&mut self, next: Self) {
        self.walk.append(next.walk);
        self.exit_code = self.exit_code.max(next.exit_code);
        self.stderr = self.stderr.take().or(next.stderr);
        self.notes.extend(next.notes);
        self.incomplete |= next.incomplete;
    }
}

impl SearchEngine {
    /// Chooses the engine according to `setting`. The note for the caller says if this replaces a missing
    /// program.
    pub(super) fn choose(
        setting: Option<&EngineSetting>,
        fuzzy: bool,
    ) -> Result<(Self, Option<String>), ToolError> {
        let Some(EngineSetting::External { programs, missing }) = setting else {
            return Ok((Self::Embedded, None));
        };
        let usable = |program: &&Program| !fuzzy || program.kind() == ProgramKind::Ugrep;
        let Some(program) = programs.iter().find(usable) else {
            let mut problems = missing.clone();
            if !programs.is_empty() {
                problems.push("rg has no fuzzy search; use ugrep".to_owned());
            }
            return Err(ToolError::NoEngine { problems: problems.join("; ") });
        };
        let note = missing.first().map(|missing| format!("{missing}; {} searched", program.kind().name()));
        Ok((Self::External(program.clone()), note))
    }

    /// Returns true for the embedded engine.
    pub(super) fn is_embedded(&self) -> bool {
        matches!(self, Self::Embedded)
    }

    /// Returns true if this engine supports patterns that the embedded one does not.
    pub(super) fn reads_look_around(&self) -> bool {
        matches!(self, Self::External(program) if program.kind() == ProgramKind::Ugrep)
    }

    /// Runs the search and passes the files to `receive` in path order.
    pub(super) fn run(
        &self,
        line_search: &LineSearch<'_>,
        scan: &ScanOptions,
        receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
    ) -> Result<SearchEnd, ToolError> {
        let LineSearch { asked, root, start, walk, stop, .. } = line_search;
        let Self::External(program) = self else {
            let walk = search(root, start, walk, line_search.pattern()?, scan, stop, receive)?;
            return Ok(SearchEnd { engine: "embedded", walk, ..SearchEnd::default() });
        };
        let external = external::ExternalRequest { pattern: asked.pattern, options: asked.options };
        let report =
            external::search(program, &external, root, start, walk, scan, stop, receive).map_err(refused)?;
        let stderr = clip(report.stderr.trim_end(), limits::SEARCH_STDERR_BYTES);
        Ok(SearchEnd {
            engine: program.kind().name(),
            walk: report.walk,
            exit_code: report.exit_code,
            stderr: if stderr.is_empty() { None } else { Some(stderr) },
            notes: report.notes,
            incomplete: report.incomplete,
        })
    }
}

fn refused(error: ExternalError) -> ToolError {
    match error {
        ExternalError::Open(error) => ToolError::Path(error),
        ExternalError::Pattern(source) => ToolError::Pattern { argument: "pattern", source },
        ExternalError::Nul | ExternalError::InvalidPattern { .. } => {
            ToolError::argument("pattern", sanitize(&error.to_string()))
        }
        error => ToolError::Engine(sanitize(&error.to_string())),
    }
}
