//! The interface between the page and its host program: roots, settings and health.

use forage_tools::{Call, CallHead};
use serde_json::Value;

/// The host program of the page.
pub trait PageHost: Send + Sync + 'static {
    /// Starts the same call again, with the current state of files and settings.
    ///
    /// # Errors
    ///
    /// Fails with a sentence that says why the roots can't be opened.
    fn call_again(&self, head: &CallHead) -> Result<Call, String>;

    /// Starts a call of the page's own beneath a root.
    ///
    /// # Errors
    ///
    /// Fails with a sentence that says why the roots can't be opened.
    fn call_below(&self, root: &str) -> Result<Call, String>;

    /// Returns the default root, for use if no call has named one.
    fn own_root(&self) -> Option<String>;

    /// Describes the health of the installation in a record. This must not start the servers of clients.
    fn health(&self) -> Value;

    /// Looks up the schema of a record by its name.
    fn schema(&self, name: &str) -> Option<Value>;
}
