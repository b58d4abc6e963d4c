//! The agent frameworks of Python: their tests, in the versions that the project names.

use crate::cargo::{STORES, Workspace};

/// The variable by which the tests find them.
const FOLDER: &str = "FORAGE_TEST_FRAMEWORKS";

/// Installs the frameworks and runs their tests. `.ci/frameworks --newest` does it with the newest versions, and reports.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    workspace.script(".ci/frameworks", &[])?;
    let folder = workspace.path("target/peers/frameworks").display().to_string();
    let tests = ["test", "--package", "forage", "--features", STORES, "--test", "it", "--", "frameworks::"];
    workspace.cargo_with(&tests, &[(FOLDER, &folder)])
}
