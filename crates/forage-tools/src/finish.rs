//! What every answer says, whichever way it goes out: whole, or in pieces as it is found.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::border::Border;
use crate::context::Context;
use crate::error::ToolError;
use crate::outcome::{Render as _, ToolOutcome};
use crate::sanitize::sanitize;
use crate::text::absolute;
use crate::tool::Tool;
use forage_fs::{RelPath, Root};

/// A call from its arguments to its end.
pub(crate) struct Begun {
    at: Instant,
    root: Arc<Root>,
    names_root: bool,
}

impl Begun {
    /// Now, with this path as the caller wrote it.
    pub(crate) fn with(context: &Context, path: Option<&str>) -> Self {
        let path = path.filter(|path| Path::new(path).is_absolute());
        let root = path.and_then(|path| Some(context.roots.find(path).ok()?.0));
        let names_root = root.is_some();
        let root = root.unwrap_or_else(|| Arc::clone(context.roots.main()));
        Self { at: Instant::now(), root, names_root }
    }

    /// Adds to the outcome what no tool has to say by itself, and takes it across the border. `notes` are those of the
    /// arguments.
    pub(crate) fn complete<T: Tool>(
        self,
        outcome: &mut ToolOutcome<T::Response>,
        context: &Context,
        notes: Vec<String>,
    ) {
        outcome.elapsed = self.at.elapsed();
        outcome.included_by = T::INCLUDES_NOISE;
        outcome.names = Arc::clone(&context.names);
        outcome.warnings.splice(..0, notes);
        if T::IS_ABOUT_ROOTS {
            outcome.warnings.extend(context.notices.iter().cloned());
            outcome.warnings.extend(other_roots(context, self.names_root));
            let is_one_of_several = self.names_root && context.roots.all().len() > 1;
            let path = absolute(&self.root, &RelPath::root());
            outcome.root = Some((path, context.names_root || is_one_of_several));
        }
        let untold = context.indexes.iter().flat_map(|indexes| indexes.take_warnings());
        outcome.warnings.extend(untold.map(|warning| sanitize(&warning)));
        let mut border = Border::new(&context.redactor, &mut outcome.hidden);
        outcome.response.redact(&mut border);
        outcome.warnings.iter_mut().for_each(|warning| border.text(warning));
    }
}

/// That a tool has failed by its own fault.
pub(crate) fn internal<T: Tool>(context: &Context, message: String) -> ToolError {
    ToolError::Internal { tool: context.names.tool(T::NAME), message }
}

/// A call that names no root is about the first; that there are others must not go unsaid.
fn other_roots(context: &Context, names_root: bool) -> Option<String> {
    let (first, others) =
        context.roots.all().split_first().filter(|(_, others)| !others.is_empty() && !names_root)?;
    let others: Vec<_> = others.iter().map(|root| root.path().display().to_string()).collect();
    Some(sanitize(&format!(
        "this is about {} alone; the other roots are {}: name one, or a path in it, as `path` of a tool that has one",
        first.path().display(),
        others.join(", ")
    )))
}
