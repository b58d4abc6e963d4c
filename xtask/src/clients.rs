//! Runs tests with real agents in their pinned versions, and reports on their newest versions.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::cargo::Workspace;
use crate::peers::Newest;

/// The environment variable by which the tests find the agents.
const FOLDER: &str = "FORAGE_TEST_CLIENTS";

/// The module of these tests in the integration binary, and the npm package of each agent by test module.
const MODULE: &str = "real_clients::";
const PACKAGES: [(&str, &str); 11] = [
    ("claude_code", "@anthropic-ai/claude-code"),
    ("cline", "cline"),
    ("codex", "@openai/codex"),
    ("codex_with_programs", "@openai/codex"),
    ("continue_cli", "@continuedev/cli"),
    ("continue_cli_with_servers", "@continuedev/cli"),
    ("copilot_cli", "@github/copilot"),
    ("gemini_cli", "@google/gemini-cli"),
    ("kilo", "@kilocode/cli"),
    ("opencode", "opencode-ai"),
    ("qwen_code", "@qwen-code/qwen-code"),
];

const TESTS: [&str; 7] = ["test", "--package", "forage-cli", "--test", "it", "--", MODULE];

/// The modules whose tests cover one client each. They have no row in the table.
const HOOKS: [&str; 2] = ["hooks", "plugins"];

/// Runs the tests with the agents that are installed.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.path("target/peers/clients").display().to_string();
    workspace.cargo_with(&TESTS, &[(FOLDER, &folder)])
}

/// Installs the newest agents, runs the tests with them, and prints which agent passes which test. A failure
/// is not an error, but you should examine it. It is an error if no test could run.
pub(crate) fn report(workspace: &Workspace) -> Result<(), String> {
    let Newest { folder, printed, log } = Newest::test(workspace, "clients", FOLDER, &TESTS)?;
    let table = table(&printed, |package| version(&folder, package));
    println!("{}", table.ok_or_else(|| format!("no test was run:\n{printed}"))?);
    println!("The reasons for failures are in {log}.");
    Ok(())
}

fn version(folder: &Path, package: &str) -> Option<String> {
    let text =
        std::fs::read_to_string(folder.join("node_modules").join(package).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    Some(package["version"].as_str()?.to_owned())
}

/// Formats the test harness's output as a table, with a row for each agent and a column for each test.
/// Returns `None` if no test has run.
fn table(printed: &str, version: impl Fn(&str) -> Option<String>) -> Option<String> {
    let word = |passes| if passes { "passes" } else { "FAILS" };
    let (mut rows, mut hooks): (BTreeMap<&str, BTreeMap<&str, bool>>, Vec<String>) = Default::default();
    for line in printed.lines() {
        let test = line.strip_prefix("test ").and_then(|rest| rest.strip_prefix(MODULE)?.split_once(" ... "));
        let Some(((client, check), result)) =
            test.and_then(|(name, result)| Some((name.split_once("::")?, result)))
        else {
            continue;
        };
        match client {
            client if HOOKS.contains(&client) => {
                hooks.push(format!("{client} {}: {}", check.replace('_', " "), word(result == "ok")))
            }
            _ => drop(rows.entry(client).or_default().insert(check, result == "ok")),
        }
    }
    let mut checks: Vec<&str> = rows.values().flat_map(|row| row.keys().copied()).collect();
    checks.sort_unstable();
    checks.dedup();
    if checks.is_empty() {
        return None;
    }
    let titles: Vec<String> = checks.iter().map(|check| check.replace('_', " ")).collect();
    let mut lines =
        vec![format!("| client | version | {} |", titles.join(" | ")), "|---".repeat(checks.len() + 2) + "|"];
    for (client, row) in &rows {
        let package = PACKAGES.iter().find(|(module, _)| module == client);
        let version =
            package.and_then(|(_, package)| version(package)).unwrap_or_else(|| "unknown".to_owned());
        let result = |check: &&str| row.get(check).map_or("–", |passes| word(*passes));
        let results: Vec<&str> = checks.iter().map(result).collect();
        lines.push(format!("| {client} | {version} | {} |", results.join(" | ")));
    }
    lines.extend(hooks);
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_every_test_of_a_client() {
        let printed = "running 3 tests\n\
                       test real_clients::cline::a_result_arrives_whole ... ok\n\
                       test real_clients::codex::a_result_arrives_whole ... FAILED\n\
                       test real_clients::cline::the_model_sees ... ok\n\
                       test real_clients::hooks::of_codex ... ok\n\
                       test real_clients::cline::the_model_sees has been running for over 60 seconds\n\
                       test setup::nothing ... ok\n";
        let version = |package: &str| (package == "cline").then(|| "3.0".to_owned());
        let expected = "| client | version | a result arrives whole | the model sees |\n|---|---|---|---|\n\
                        | cline | 3.0 | passes | passes |\n| codex | unknown | FAILS | – |\nhooks of codex: passes";
        assert_eq!(table(printed, version).as_deref(), Some(expected));
        assert_eq!(table("error: could not compile\n", version), None);
    }
}
