//! The interface between the page and its host program: roots, settings and health.

use forage_tools::{CallHead, Context};
use serde_json::Value;

/// The host program of the page.
pub trait PageHost: Send + Sync + 'static {
    /// Returns the context in which a call was made, with the current state of files and settings.
    ///
    /// # Errors
    ///
    /// Returns a sentence that says why there is no context.
    fn again(&self, call: &CallHead) -> Result<Context, String>;

    /// Returns the context for the page's own calls beneath a root.
    ///
    /// # Errors
    ///
    /// Returns a sentence that says why there is no context.
    fn beneath(&self, root: &str) -> Result<Context, String>;

    /// Returns the default root, for use if no call has named one.
    fn own_root(&self) -> Option<String>;

    /// Returns the health of the installation as a record.
    fn health(&self) -> Value;

    /// Returns the schema of a record by its name.
    fn schema(&self, name: &str) -> Option<Value>;
}
