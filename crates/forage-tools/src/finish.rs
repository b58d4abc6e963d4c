//! Adds the facts that every answer must contain, streamed or not.

use std::sync::Arc;
use std::time::Instant;

use crate::call::Call;
use crate::error::ToolError;
use crate::outcome::{Render as _, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::sanitize;
use crate::text::absolute;
use crate::tool::Tool;
use forage_fs::{RelPath, Root};

/// A running call.
pub(crate) struct RunningCall {
    at: Instant,
    /// The root that the call is about; `None` for a tool that is not about files.
    root: Option<Arc<Root>>,
    /// True if this is not the first root. Relative paths are below the first one.
    is_other: bool,
}

impl RunningCall {
    /// Starts the clock of a call about this root.
    pub(crate) fn start(root: Option<&Arc<Root>>, is_other: bool) -> Self {
        Self { at: Instant::now(), root: root.cloned(), is_other }
    }

    /// Adds the common facts to the outcome and redacts it. `notes` come from argument parsing.
    pub(crate) fn finish<T: Tool>(
        self,
        outcome: &mut ToolOutcome<T::Response>,
        call: &Call,
        notes: Vec<String>,
    ) {
        outcome.elapsed = self.at.elapsed();
        outcome.included_by = T::INCLUDES_NOISE;
        outcome.names = Arc::clone(&call.workspace.names);
        outcome.warnings.splice(..0, notes);
        if let Some(root) = &self.root {
            outcome.warnings.extend(call.notices.iter().cloned());
            let path = absolute(root, &RelPath::root());
            outcome.root.get_or_insert((path, call.names_root || self.is_other));
        }
        let untold = call.workspace.indexes.iter().flat_map(|indexes| indexes.take_warnings());
        outcome.warnings.extend(untold.map(|warning| sanitize(&warning)));
        let mut redactor = OutputRedactor::new(&call.workspace.redactor, &mut outcome.hidden);
        outcome.response.redact(&mut redactor);
        if let Some(root) = self.root.as_ref().filter(|_| self.is_other) {
            outcome.response.name_whole_paths(root);
        }
        outcome.warnings.iter_mut().for_each(|warning| redactor.text(warning));
        for name in &mut outcome.noise_directories {
            redactor.name(name);
        }
    }
}

/// Creates the error for a bug in a tool.
pub(crate) fn internal<T: Tool>(call: &Call, message: String) -> ToolError {
    ToolError::Internal { tool: call.workspace.names.tool(T::NAME), message }
}
