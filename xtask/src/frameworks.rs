//! Runs tests with Python agent frameworks in their pinned versions, and reports on their newest versions.

use std::path::Path;

use serde_json::Value;

use crate::cargo::Workspace;
use crate::peers::Newest;

/// The environment variable by which the tests find the frameworks.
const FOLDER: &str = "FORAGE_TEST_FRAMEWORKS";

/// The environments, with their lists of packages in the directory of the tests.
const LISTS: [(&str, &str); 2] =
    [("python", "requirements.txt"), ("fast-agent", "requirements-fast-agent.txt")];

const TESTS: [&str; 8] =
    ["test", "--package", "forage-cli", "--test", "it", "--", "frameworks::", "--show-output"];

/// Runs the tests with the frameworks that are installed.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.path("target/peers/frameworks").display().to_string();
    workspace.cargo_with(&TESTS, &[(FOLDER, &folder)])
}

/// Installs the newest frameworks and runs the tests with them. Prints their versions, and which tests pass.
///
/// # Errors
///
/// Returns an error if a test fails, or if no test has run.
pub(crate) fn report(workspace: &Workspace) -> Result<(), String> {
    let Newest { folder, printed, log } = Newest::test(workspace, "frameworks", FOLDER, &TESTS)?;
    for (environment, list) in LISTS {
        let lists = workspace.path("crates/forage/tests/clients/frameworks");
        for line in workspace.read(&lists.join(list))?.lines() {
            let (name, pinned) = line.split_once("==").unwrap_or((line, "any"));
            let name = name.split('[').next().unwrap_or(name);
            let newest = version(workspace, &folder.join(environment), name);
            println!("{name} {} (pinned: {pinned})", newest.unwrap_or_else(|| "unknown".to_owned()));
        }
    }
    let server = folder.join("node_modules/@modelcontextprotocol/server-filesystem/package.json");
    let server: Value = serde_json::from_str(&workspace.read(&server)?).map_err(|error| error.to_string())?;
    println!("{} {}", server["name"], server["version"]);
    let results = printed
        .lines()
        .filter(|line| line.starts_with("test frameworks::") || line.starts_with("test result:"));
    let results: Vec<&str> = results.collect();
    println!("{}", results.join("\n"));
    let ran = results.iter().any(|line| line.starts_with("test frameworks::"));
    if ran && !results.iter().any(|line| line.ends_with("FAILED") || line.contains("FAILED.")) {
        return Ok(());
    }
    Err(format!("tests failed; see {log}"))
}

/// Looks up the version of a package in an environment.
fn version(workspace: &Workspace, environment: &Path, name: &str) -> Option<String> {
    let asked = format!("import importlib.metadata as m; print(m.version({name:?}))");
    let printed = workspace.program(environment.join("bin/python")).args(["-c", &asked]).output().ok()?;
    let version = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    (!version.is_empty()).then_some(version)
}
