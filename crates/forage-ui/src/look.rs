//! The interface between the page and its host program: roots, settings and health.

use forage_tools::{CallHead, Context};
use serde_json::Value;

/// The host program of the page.
pub trait PageHost: Send + Sync + 'static {
    /// Recreates the context in which a call was made, with the current state of files and settings.
    ///
    /// # Errors
    ///
    /// Fails with a sentence that says why there is no context.
    fn context_for_call(&self, call: &CallHead) -> Result<Context, String>;

    /// Creates the context for the page's own calls beneath a root.
    ///
    /// # Errors
    ///
    /// Fails with a sentence that says why there is no context.
    fn context_below(&self, root: &str) -> Result<Context, String>;

    /// Returns the default root, for use if no call has named one.
    fn own_root(&self) -> Option<String>;

    /// Describes the health of the installation in a record. This must not start the servers of clients.
    fn health(&self) -> Value;

    /// Looks up the schema of a record by its name.
    fn schema(&self, name: &str) -> Option<Value>;
}
