//! The workspace, and commands that run in it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use serde_json::Value;

use crate::peers;

/// Options that exclude the workspace members that we do not publish to crates.io.
pub(crate) const UNPUBLISHED: &str =
    "--exclude xtask --exclude forage-fuzz --exclude forage-python --exclude forage-node";

/// Names the module of this program's own tests that should run. They need files that only a task has built,
/// so `cargo test` skips them.
pub(crate) const OWN_TESTS: &str = "FORAGE_TEST_XTASK";

/// The directory that contains the workspace's `Cargo.toml`.
pub(crate) struct Workspace {
    root: PathBuf,
    /// The program that the tests run, after it has been built.
    forage: OnceLock<PathBuf>,
}

impl Workspace {
    /// Returns the workspace that contains the source of this program.
    pub(crate) fn from_manifest_dir() -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: package.parent().unwrap_or(package).to_owned(), forage: OnceLock::new() }
    }

    /// Returns a path below the root.
    pub(crate) fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// Formats `path` for messages: relative to the root, with `/`.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string().replace('\\', "/")
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, below: impl AsRef<Path>) -> Result<String> {
        Ok(fs::read_to_string(self.path(below))?)
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

    /// Prepares a program with arguments that blanks separate.
    pub(crate) fn command(&self, line: &str) -> Command {
        let (program, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let mut command = self.program(program);
        command.args(arguments.split_whitespace());
        command
    }

    /// Runs cargo with visible output. An exit status other than 0 is an error.
    pub(crate) fn cargo(&self, arguments: &str) -> Result<()> {
        run(&mut self.command(&format!("cargo {arguments}")))
    }

    /// Runs a module of this program's own tests, one test at a time.
    pub(crate) fn own_tests(&self, module: &str) -> Result<()> {
        let tests = format!("cargo test --package xtask -- --nocapture --test-threads 1 tests::{module}::");
        let sum = counted(self.command(&tests).env(OWN_TESTS, module))?;
        ensure!(sum.passed > 0, "xtask has no tests of {module}");
        Ok(())
    }

    /// Runs all test programs, even if some of them fail.
    pub(crate) fn tests(&self, arguments: &str) -> Result<()> {
        let mut command = self.command(&format!("cargo test --no-fail-fast {arguments}"));
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            // Many tests wait for a process or a clock. With twice as many threads as processors, the tests
            // of the program take two thirds of the time.
            let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            command.env("RUST_TEST_THREADS", (2 * processors).to_string());
        }
        counted(&mut command).map(drop)
    }

    /// Returns cargo's description of the workspace, with the dependencies unless `more` excludes them.
    pub(crate) fn metadata(&self, more: &str) -> Result<Value> {
        json(&mut self.command(&format!("cargo metadata --format-version 1 {more}")))
    }

    /// Returns cargo's output directory.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        let metadata = self.metadata("--no-deps")?;
        Ok(metadata["target_directory"].as_str().context("`cargo metadata` has no target_directory")?.into())
    }

    /// Prepares a command of this workspace's program. We use the program that the tests run. A separate
    /// build would compile it again, because the tests enable features of its dependencies.
    pub(crate) fn forage(&self, arguments: &str) -> Result<Command> {
        let mut command = self.program(self.forage_path()?);
        command.args(arguments.split_whitespace());
        Ok(command)
    }

    /// Builds the program that the tests run, unless it has already been built. Returns its path.
    pub(crate) fn forage_path(&self) -> Result<&PathBuf> {
        if let Some(program) = self.forage.get() {
            return Ok(program);
        }
        self.cargo("test --workspace --no-run --quiet")?;
        let program = self.target()?.join("debug/forage").with_extension(std::env::consts::EXE_EXTENSION);
        Ok(self.forage.get_or_init(|| program))
    }

    /// Returns true if `cargo NAME` is installed.
    pub(crate) fn has_subcommand(&self, name: &str) -> bool {
        printed(&mut self.command(&format!("cargo {name} --version"))).is_ok()
    }
}

/// Runs tests. Prints the totals at the end, because cargo reports each program separately.
fn counted(command: &mut Command) -> Result<TestSum> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| shown(command))?;
    let mut sum = TestSum::default();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line?;
        println!("{line}");
        sum.read(&line);
    }
    let status = child.wait()?;
    print!("{sum}");
    if status.success() { Ok(sum) } else { bail!("{} failed ({status})", shown(command)) }
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

/// Formats a command for messages.
fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args()).map(OsStr::to_string_lossy);
    format!("`{}`", words.collect::<Vec<_>>().join(" "))
}

/// Runs a command with visible output. An exit status other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    if status.success() { Ok(()) } else { bail!("{} failed ({status})", shown(command)) }
}

/// Runs a command and returns its stdout without the final line break. An error contains its output.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| shown(command))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    match output.status.success() {
        true => Ok(stdout),
        false => bail!("{} failed ({}):\n{stdout}{stderr}", shown(command), output.status),
    }
}

/// Runs a command and parses its output as JSON.
pub(crate) fn json(command: &mut Command) -> Result<Value> {
    let text = printed(command)?;
    serde_json::from_str(&text).with_context(|| format!("{} does not print JSON", shown(command)))
}

/// Removes a directory if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates an empty directory. If it already exists, it is replaced.
pub(crate) fn empty(path: &Path) -> Result<()> {
    remove(path)?;
    Ok(fs::create_dir_all(path)?)
}

/// Writes a file. Creates its directory if required.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    Ok(fs::write(path, content)?)
}

/// Lists all files in a directory and its subdirectories, sorted.
pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)?.flatten() {
            let path = entry.path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns true if a file's name ends with `.` and one of these extensions.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known))
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
