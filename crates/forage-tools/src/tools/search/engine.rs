//! Which engine answers a `Search`.

use std::ops::ControlFlow;

use forage_fs::{Stop, WalkReport};
use forage_search::{FileEvents, ScanOptions, search};

use super::request::Prepared;
use crate::context::EngineSetting;
use crate::error::ToolError;

/// The engine of one call.
pub(super) enum Engine {
    Embedded,
}

/// How a search ended.
pub(super) struct Ended {
    pub(super) engine: &'static str,
    pub(super) walk: WalkReport,
    pub(super) exit_code: Option<i32>,
    pub(super) stderr: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Engine {
    /// The engine that is configured, with what the caller should know of the choice.
    pub(super) fn choose(setting: &EngineSetting, _fuzzy: bool) -> Result<(Self, Option<String>), ToolError> {
        match setting {
            EngineSetting::Embedded => Ok((Self::Embedded, None)),
        }
    }

    pub(super) fn reads_look_around(&self) -> bool {
        false
    }

    pub(super) fn run(
        &self,
        request: &Prepared,
        scan: &ScanOptions,
        stop: &Stop,
        receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
    ) -> Result<Ended, ToolError> {
        let Some(pattern) = &request.pattern else { unreachable!() };
        let walk = search(&request.root, &request.start, &request.walk, pattern, scan, stop, receive)?;
        Ok(Ended { engine: "embedded", walk, exit_code: None, stderr: None, warnings: Vec::new() })
    }
}
