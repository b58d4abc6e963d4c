//! Runs the tests of the `forage ui` page with a real browser.

use crate::cargo::Workspace;
use crate::peers;

/// The environment variable by which the tests find the browser driver.
const FOLDER: &str = "FORAGE_TEST_PAGE";

/// Runs the tests of the page that need a browser. They write screenshots of its views to
/// `target/screenshots/page`.
///
/// # Errors
///
/// Returns an error if the browser or its driver can't be installed, or if a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    peers::install_named(workspace, &[peers::BROWSER, peers::PAGE])?;
    let folder = workspace.path("target/peers/page").display().to_string();
    let tests = ["test", "--package", "forage-cli", "--test", "it", "--", "ui::browser::"];
    workspace.cargo_with(&tests, &[(FOLDER, &folder)])
}
