//! The workspace, and cargo commands that run in it.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::peers;

/// Options that exclude the workspace members that we do not publish to crates.io.
pub(crate) const UNPUBLISHED: [&str; 8] = [
    "--exclude",
    "xtask",
    "--exclude",
    "forage-fuzz",
    "--exclude",
    "forage-python",
    "--exclude",
    "forage-node",
];

/// The directory that contains the workspace's `Cargo.toml`.
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
    /// The program that the tests run, after it has been built.
    forage: OnceLock<PathBuf>,
}

impl Workspace {
    /// Returns the workspace that contains the source of this program.
    pub(crate) fn from_manifest_dir() -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package.parent().unwrap_or(package).to_owned();
        Self {
            root,
            cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            forage: OnceLock::new(),
        }
    }

    /// Returns a path below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Formats `path` for messages: relative to the root, with `/`.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string().replace('\\', "/")
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("{} can't be read: {error}", self.shown(path)))
    }

    /// Runs cargo with visible output. An exit status other than 0 is an error.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<(), String> {
        self.cargo_with(arguments, &[])
    }

    /// Does the same as [`Self::cargo`], with additional environment variables.
    pub(crate) fn cargo_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
        succeed(self.command(arguments).envs(variables.iter().copied()), &shown(arguments))
    }

    /// Runs a cargo command and returns its stdout, regardless of its exit status. Its stderr is visible.
    pub(crate) fn cargo_printed(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<String, String> {
        let output =
            self.command(arguments).envs(variables.iter().copied()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("{} did not start: {error}", shown(arguments)))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs all test programs, even if some of them fail. Prints the totals at the end, because cargo reports
    /// each program separately.
    pub(crate) fn tests(&self, arguments: &[&str]) -> Result<(), String> {
        let arguments = &[&["test", "--no-fail-fast"], arguments].concat();
        let command = shown(arguments);
        let failed = |error: std::io::Error| format!("{command} did not start: {error}");
        let mut command_line = self.command(arguments);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            // Many tests wait for a process or a clock. With twice as many threads as processors, the tests
            // of the program take two thirds of the time.
            let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            command_line.env("RUST_TEST_THREADS", (2 * processors).to_string());
        }
        let mut child = command_line.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut sum = TestSum::default();
        for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            let line = line.map_err(failed)?;
            println!("{line}");
            sum.read(&line);
        }
        let status = child.wait().map_err(failed)?;
        print!("{sum}");
        if status.success() { Ok(()) } else { Err(format!("{command} failed ({status})")) }
    }

    /// Runs a cargo command and parses its output as JSON. Its stderr is visible.
    pub(crate) fn cargo_json(&self, arguments: &[&str]) -> Result<Value, String> {
        json_of(&mut self.command(arguments), &shown(arguments))
    }

    /// Runs this workspace's program and parses its output as JSON. We use the program that the tests run. A
    /// separate build would compile it again, because the tests enable features of its dependencies.
    pub(crate) fn forage_json(&self, arguments: &[&str]) -> Result<Value, String> {
        let shown = format!("`forage {}`", arguments.join(" "));
        json_of(self.program(self.forage()?).args(arguments), &shown)
    }

    /// Runs this workspace's program and returns its output.
    pub(crate) fn forage_text(&self, arguments: &[&str]) -> Result<String, String> {
        printed(self.program(self.forage()?).args(arguments), &format!("`forage {}`", arguments.join(" ")))
    }

    /// Builds the program that the tests run, unless it has already been built. Returns its path.
    pub(crate) fn forage(&self) -> Result<&PathBuf, String> {
        if let Some(program) = self.forage.get() {
            return Ok(program);
        }
        self.cargo(&["test", "--workspace", "--no-run", "--quiet"])?;
        let metadata = self.cargo_json(&["metadata", "--no-deps", "--format-version", "1"])?;
        let target =
            metadata["target_directory"].as_str().ok_or("`cargo metadata` names no target directory")?;
        let program =
            Path::new(target).join("debug").join("forage").with_extension(std::env::consts::EXE_EXTENSION);
        Ok(self.forage.get_or_init(|| program))
    }

    /// Returns true if `cargo NAME` is installed.
    pub(crate) fn has_subcommand(&self, name: &str) -> bool {
        let silent = self.command(&[name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        silent.is_ok_and(|status| status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(&self.cargo);
        command.args(arguments);
        command
    }

    /// Prepares a program to run in the workspace. It has access to the peers and an empty stdin, but none of
    /// the caller's settings that would change its output.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null()).envs(peers::variables(&self.root));
        for variable in peers::UNWANTED {
            command.env_remove(variable);
        }
        command
    }
}

/// The totals of several test programs, parsed from the programs' output.
#[derive(Default)]
struct TestSum {
    passed: u64,
    failed: Vec<String>,
}

impl TestSum {
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|test| test.strip_suffix(" ... FAILED")) {
            self.failed.push(name.to_owned());
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            let passed = counts.split("; ").next().and_then(|part| part.strip_suffix(" passed"));
            self.passed += passed.and_then(|part| part.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
        }
    }
}

impl std::fmt::Display for TestSum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.failed.iter().try_for_each(|name| writeln!(f, "    FAILED {name}"))?;
        writeln!(f, "    {} tests passed, {} failed", self.passed, self.failed.len())
    }
}

/// Runs a command and returns its stdout without the final line break. An error contains its stderr.
pub(crate) fn printed(command: &mut Command, shown: &str) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{shown} did not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} failed ({}): {}", output.status, said.trim_end()));
    }
    String::from_utf8(output.stdout).map(|text| text.trim_end().to_owned()).map_err(|error| error.to_string())
}

/// Runs a command with visible output. An exit status other than 0 is an error.
pub(crate) fn succeed(command: &mut Command, shown: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{shown} did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status})")) }
}

/// Removes a directory if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} can't be removed: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Creates an empty directory. If it already exists, it is replaced.
pub(crate) fn empty(path: &Path) -> Result<(), String> {
    remove(path)?;
    std::fs::create_dir_all(path).map_err(|error| format!("{} can't be created: {error}", path.display()))
}

/// Writes a file. Creates its directory if required.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, content))
        .map_err(|error| format!("{} can't be written: {error}", path.display()))
}

/// Lists all files in a directory and its subdirectories, sorted.
pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).map_err(|error| error.to_string())?.flatten() {
            let path = entry.path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

fn shown(arguments: &[&str]) -> String {
    format!("`cargo {}`", arguments.join(" "))
}

/// Runs a command and parses its output as JSON. `shown` is its name in messages.
fn json_of(command: &mut Command, shown: &str) -> Result<Value, String> {
    let text = printed(command, shown)?;
    serde_json::from_str(&text).map_err(|error| format!("{shown} does not print JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_of_all_programs_are_in_one_list() {
        let mut sum = TestSum::default();
        let printed = "
running 3 tests
test index::a_name ... ok
test index::another ... FAILED
test index::last has been running for over 60 seconds
test index::last ... ok

failures:
    index::another

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.16s
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test crates/a/src/lib.rs - (line 14) ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s";
        printed.lines().for_each(|line| sum.read(line));
        let list = "    FAILED index::another\n    FAILED crates/a/src/lib.rs - (line 14)\n";
        assert_eq!(sum.to_string(), format!("{list}    42 tests passed, 2 failed\n"));
    }
}
