//! Which engine answers a `Search`.

use std::ops::ControlFlow;

use forage_fs::{Stop, WalkReport};
use forage_search::external::{self, ExternalError, Kind, Program};
use forage_search::{FileEvents, ScanOptions, search};

use super::request::Prepared;
use crate::context::EngineSetting;
use crate::error::ToolError;
use crate::limits;
use crate::sanitize::sanitize;
use crate::text::clip;

/// The engine of one call.
pub(super) enum Engine {
    Embedded,
    External(Program),
}

/// How a search ended.
pub(super) struct Ended {
    pub(super) engine: &'static str,
    pub(super) walk: WalkReport,
    pub(super) exit_code: Option<i32>,
    pub(super) stderr: Option<String>,
}

impl Engine {
    /// The engine that is configured, with what the caller should know of the choice.
    pub(super) fn choose(setting: &EngineSetting, fuzzy: bool) -> Result<(Self, Option<String>), ToolError> {
        let EngineSetting::External { programs, missing } = setting else {
            return Ok((Self::Embedded, None));
        };
        let usable = |program: &&Program| !fuzzy || program.kind() == Kind::Ugrep;
        let Some(program) = programs.iter().find(usable) else {
            let mut problems = missing.clone();
            if !programs.is_empty() {
                problems.push("rg has no fuzzy search, which needs ugrep".to_owned());
            }
            return Err(ToolError::NoEngine { problems: problems.join("; ") });
        };
        let note = missing.first().map(|missing| format!("{missing}; {} searched", program.kind().name()));
        Ok((Self::External(program.clone()), note))
    }

    /// Whether it takes patterns that the embedded engine does not.
    pub(super) fn reads_look_around(&self) -> bool {
        matches!(self, Self::External(program) if program.kind() == Kind::Ugrep)
    }

    /// Runs the search; `receive` gets the files in path order.
    pub(super) fn run(
        &self,
        request: &Prepared,
        scan: &ScanOptions,
        stop: &Stop,
        receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
    ) -> Result<Ended, ToolError> {
        let Prepared { root, start, walk, .. } = request;
        match (self, &request.pattern) {
            (Self::External(program), _) => {
                let external = external::Request { pattern: &request.text, options: request.options };
                let report = external::search(program, &external, root, start, walk, scan, stop, receive)
                    .map_err(refused)?;
                let stderr = clip(report.stderr.trim_end(), limits::SEARCH_STDERR_BYTES);
                Ok(Ended {
                    engine: program.kind().name(),
                    walk: report.walk,
                    exit_code: report.exit_code,
                    stderr: if stderr.is_empty() { None } else { Some(stderr) },
                })
            }
            (Self::Embedded, Some(pattern)) => {
                let walk = search(root, start, walk, pattern, scan, stop, receive)?;
                Ok(Ended { engine: "embedded", walk, exit_code: None, stderr: None })
            }
            (Self::Embedded, None) => {
                Err(ToolError::argument("pattern", "only an external engine can read it"))
            }
        }
    }
}

fn refused(error: ExternalError) -> ToolError {
    match error {
        ExternalError::Open(error) => ToolError::Path(error),
        ExternalError::Pattern(source) => ToolError::Pattern { argument: "pattern", source },
        ExternalError::Nul | ExternalError::InvalidPattern { .. } => {
            ToolError::argument("pattern", error.to_string())
        }
        error => ToolError::Engine(sanitize(&error.to_string())),
    }
}
