//! What the page asks the program for: roots, settings and the state of everything.

use forage_tools::{CallHead, Context};
use serde_json::Value;

/// The program around the page.
pub trait PageHost: Send + Sync + 'static {
    /// The context in which a call was made, as it would be made now.
    ///
    /// # Errors
    /// In a sentence, why there is none.
    fn again(&self, call: &CallHead) -> Result<Context, String>;

    /// The context of calls of the page's own, beneath a root.
    ///
    /// # Errors
    /// In a sentence, why there is none.
    fn beneath(&self, root: &str) -> Result<Context, String>;

    /// The root that is looked at where no call has named one.
    fn own_root(&self) -> Option<String>;

    /// What is well and what is not, as a record.
    fn health(&self) -> Value;

    /// The schema of a record, by its name.
    fn schema(&self, name: &str) -> Option<Value>;
}
