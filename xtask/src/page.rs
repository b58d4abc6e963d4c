//! The page of `forage ui` in a real browser: its tests with what drives one.

use crate::cargo::Workspace;
use crate::peers;

/// The variable by which the tests find what drives a browser.
const FOLDER: &str = "FORAGE_TEST_PAGE";

/// Runs the tests of the page that take a browser; they leave pictures of its views in `target/screenshots/page`.
///
/// # Errors
/// The browser or what drives it can't be installed, or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    peers::install_named(workspace, &[peers::BROWSER, peers::PAGE])?;
    let folder = workspace.path("target/peers/page").display().to_string();
    let tests = ["test", "--package", "forage-cli", "--test", "it", "--", "ui::browser::"];
    workspace.cargo_with(&tests, &[(FOLDER, &folder)])
}
