//! Runs the tests that need real agents, agent frameworks or a browser driver, and reports on the newest
//! agents and frameworks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use fs_err as fs;
use serde_json::Value;

use crate::cargo::{Workspace, printed, run, write};
use crate::peers::{self, FOLDER};

/// Integration tests of the program that need large peers.
pub(crate) struct PeerTests {
    filter: &'static str,
    /// The folder of the peers, relative to [`FOLDER`].
    folder: &'static str,
    /// The environment variable by which the tests find that folder.
    variable: &'static str,
}

pub(crate) const AGENTS: PeerTests =
    PeerTests { filter: "real_clients::", folder: "clients", variable: "FORAGE_TEST_CLIENTS" };
pub(crate) const FRAMEWORKS: PeerTests = PeerTests {
    filter: "frameworks:: --show-output",
    folder: "frameworks",
    variable: "FORAGE_TEST_FRAMEWORKS",
};
/// The tests write screenshots of the page's views to `target/screenshots/page`.
pub(crate) const PAGE: PeerTests =
    PeerTests { filter: "ui::browser::", folder: peers::PAGE, variable: "FORAGE_TEST_PAGE" };

impl PeerTests {
    /// Runs the tests with the pinned versions.
    pub(crate) fn check(&self, workspace: &Workspace) -> Result<()> {
        run(&mut self.command(workspace, self.folder))
    }

    fn command(&self, workspace: &Workspace, folder: &str) -> Command {
        let tests = format!("cargo test --package forage-cli --test it -- {}", self.filter);
        let mut command = workspace.command(&tests);
        command.env(self.variable, workspace.path(FOLDER).join(folder));
        command
    }

    /// Installs the newest versions and runs the tests. Returns their output, also if they fail.
    fn newest(&self, workspace: &Workspace) -> Result<Newest> {
        peers::install_newest(workspace, self.variable)?;
        let name = format!("{}-newest", self.folder);
        let output = self.command(workspace, &name).stderr(Stdio::inherit()).output()?;
        let log = format!("target/{name}.log");
        write(&workspace.path(&log), &output.stdout)?;
        let folder = workspace.path(FOLDER).join(name);
        Ok(Newest { folder, printed: String::from_utf8_lossy(&output.stdout).into_owned(), log })
    }
}

/// The output of tests with the newest versions, which is also in the file `log`.
struct Newest {
    folder: PathBuf,
    printed: String,
    log: String,
}

/// Runs the page's tests. Installs a browser and its driver first.
pub(crate) fn check_page(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &[peers::BROWSER, peers::PAGE])?;
    PAGE.check(workspace)
}

/// The npm package of each agent by test module.
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

/// The modules whose tests cover one client each. They have no row in the table.
const HOOKS: [&str; 2] = ["hooks", "plugins"];

/// Runs the tests with the newest agents, and prints which agent passes which test. A failure is not an error,
/// but you should examine it. It is an error if no test could run.
pub(crate) fn report_agents(workspace: &Workspace) -> Result<()> {
    let Newest { folder, printed, log } = AGENTS.newest(workspace)?;
    let table = table(&printed, |package| npm_version(&folder, package));
    println!("{}", table.with_context(|| format!("no test was run:\n{printed}"))?);
    println!("The reasons for failures are in {log}.");
    Ok(())
}

/// Looks up the version of a package that npm has installed.
fn npm_version(folder: &Path, package: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join("node_modules").join(package).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    Some(package["version"].as_str()?.to_owned())
}

/// Formats the test harness's output as a table, with a row for each agent and a column for each test.
/// Returns `None` if no test has run.
fn table(printed: &str, version: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut rows, mut hooks): (BTreeMap<&str, BTreeMap<String, &str>>, Vec<String>) = Default::default();
    for line in printed.lines() {
        let test = line.strip_prefix("test ").and_then(|line| line.strip_prefix(AGENTS.filter));
        let Some((name, result)) = test.and_then(|test| test.split_once(" ... ")) else { continue };
        let Some((client, check)) = name.split_once("::") else { continue };
        let (check, word) = (check.replace('_', " "), if result == "ok" { "passes" } else { "FAILS" });
        if HOOKS.contains(&client) {
            hooks.push(format!("{client} {check}: {word}"));
        } else {
            rows.entry(client).or_default().insert(check, word);
        }
    }
    let checks: BTreeSet<&str> = rows.values().flat_map(|row| row.keys().map(String::as_str)).collect();
    let titles: Vec<&str> = checks.iter().copied().collect();
    if titles.is_empty() {
        return None;
    }
    let rule = "|---".repeat(titles.len() + 2);
    let mut lines = vec![format!("| client | version | {} |", titles.join(" | ")), rule + "|"];
    for (client, row) in &rows {
        let package = PACKAGES.iter().find(|(module, _)| module == client);
        let version = package.and_then(|(_, package)| version(package)).unwrap_or("unknown".to_owned());
        let results: Vec<&str> = titles.iter().map(|check| row.get(*check).copied().unwrap_or("–")).collect();
        lines.push(format!("| {client} | {version} | {} |", results.join(" | ")));
    }
    lines.extend(hooks);
    Some(lines.join("\n"))
}

/// The environments of frameworks, with their lists of packages in the directory of the tests.
const LISTS: [(&str, &str); 2] =
    [("python", "requirements.txt"), ("fast-agent", "requirements-fast-agent.txt")];

/// Runs the tests with the newest frameworks. Prints their versions, and which tests pass.
///
/// # Errors
///
/// Returns an error if a test fails, or if no test has run.
pub(crate) fn report_frameworks(workspace: &Workspace) -> Result<()> {
    let Newest { folder, printed: output, log } = FRAMEWORKS.newest(workspace)?;
    for (environment, list) in LISTS {
        let python = folder.join(environment).join("bin/python");
        let list = Path::new("crates/forage/tests/clients/frameworks").join(list);
        for line in workspace.read(list)?.lines() {
            let (name, pinned) = line.split_once("==").unwrap_or((line, "any"));
            let name = name.split('[').next().unwrap_or(name);
            let asked = format!("import importlib.metadata as m; print(m.version({name:?}))");
            let newest = printed(workspace.program(&python).args(["-c", &asked]));
            println!("{name} {} (pinned: {pinned})", newest.unwrap_or("unknown".to_owned()));
        }
    }
    let server = "@modelcontextprotocol/server-filesystem";
    println!("{server} {}", npm_version(&folder, server).context("the filesystem server is missing")?);
    let is_test = |line: &&str| line.starts_with("test frameworks::");
    let results = output.lines().filter(|line| is_test(line) || line.starts_with("test result:"));
    let results: Vec<&str> = results.collect();
    println!("{}", results.join("\n"));
    let failed = results.iter().any(|line| line.ends_with("FAILED") || line.contains("FAILED."));
    match results.iter().any(is_test) && !failed {
        true => Ok(()),
        false => bail!("tests failed; see {log}"),
    }
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
