//! The workspace, and cargo run in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The directory with the workspace's `Cargo.toml`.
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// The workspace that this program was built from.
    pub(crate) fn of_this_source() -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: package.parent().unwrap_or(package).to_owned(),
            cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        }
    }

    /// A path below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// `path` as it is shown to people: relative to the root, with `/`.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string().replace('\\', "/")
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("{} can't be read: {error}", self.shown(path)))
    }

    /// Runs cargo with its output shown; an exit status other than 0 is an error.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<(), String> {
        self.cargo_with(arguments, &[])
    }

    /// The same with variables added to the environment.
    pub(crate) fn cargo_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
        let command = shown(arguments);
        let status = self
            .command(arguments)
            .envs(variables.iter().copied())
            .status()
            .map_err(|error| format!("{command} did not start: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{command} failed ({status})")) }
    }

    /// The JSON that a cargo command prints; its messages are shown.
    pub(crate) fn cargo_json(&self, arguments: &[&str]) -> Result<Value, String> {
        let command = shown(arguments);
        let output = self
            .command(arguments)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{command} did not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("{command} failed ({})", output.status));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{command} prints no JSON: {error}"))
    }

    /// Whether `cargo NAME` is installed.
    pub(crate) fn has_subcommand(&self, name: &str) -> bool {
        let silent = self.command(&[name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        silent.is_ok_and(|status| status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }
}

fn shown(arguments: &[&str]) -> String {
    format!("`cargo {}`", arguments.join(" "))
}
