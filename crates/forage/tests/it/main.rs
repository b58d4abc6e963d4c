//! Runs the binary as a user does: arguments in; stdout, stderr and exit status out.
#![expect(clippy::disallowed_methods, reason = "tests make their own trees and run the binary")]
#![expect(clippy::unwrap_used, reason = "in the helpers of tests, too, a panic is a failed test")]

mod agent;
mod agent_guests;
mod ask;
mod ask_more;
mod ask_official;
#[cfg(unix)]
mod ask_terminal;
#[cfg(unix)]
mod check;
mod command_line;
mod configuration;
mod contract;
mod definitions;
mod doctor;
mod documentation;
mod eval;
mod eval_lines;
mod filter;
#[cfg(unix)]
mod frameworks;
#[cfg(unix)]
mod grep;
mod hook;
mod index;
mod interrupt;
mod llama_server;
mod lookup;
#[cfg(target_os = "linux")]
mod mapped;
mod mcp;
mod mcp_clients;
mod model;
mod models;
mod packaging;
#[path = "../../../forage-llm/tests/it/peer.rs"]
#[expect(dead_code, reason = "the scripted server of forage-llm's tests, of which these tests need a part")]
mod peer;
mod plan;
#[cfg(unix)]
mod private;
mod ranked;
#[cfg(target_os = "linux")]
mod real_clients;
mod recordings;
#[cfg(unix)]
mod ripgrep;
#[cfg(target_os = "linux")]
mod sandbox;
mod schemas;
mod scripted;
#[cfg(unix)]
mod setup;
mod support;
mod telemetry;
mod terminal;
mod ui;
mod wording;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The result of a run.
#[derive(Debug)]
struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn from_output(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let status = output.status.code().unwrap_or(-1);
        let run = Self { status, stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        run
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Formats the whole result for a snapshot.
    fn shown(&self) -> String {
        let stderr = if self.stderr.is_empty() { "" } else { "--- stderr\n" };
        support::stable(&format!("{}{stderr}{}--- status {}\n", self.stdout, self.stderr, self.status))
    }
}

/// The variable that contains the user's home directory.
const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// A project with a separate home.
struct Project {
    _directory: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::new_in(&std::env::temp_dir(), files)
    }

    fn new_in(place: &Path, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir_in(place).unwrap();
        let base = forage_fs::canonical(directory.path()).unwrap();
        // Join with `/` on all systems, since this is how answers show paths.
        let below = |name: &str| PathBuf::from(format!("{}/{name}", base.display()));
        let (root, home) = (below("project"), below("home"));
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(home.join(".config/forage")).unwrap();
        let project = Self { _directory: directory, root, home };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes the user's configuration file.
    fn configure(&self, text: &str) {
        std::fs::write(self.configuration(), text).unwrap();
    }

    /// Returns the path of the configuration file as the program joins it.
    fn configuration(&self) -> PathBuf {
        self.home.join(".config").join("forage").join("config.toml")
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_in(&self.root, arguments, &[])
    }

    /// Runs a command with `input` as standard input.
    fn run_fed(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(&self.root, arguments, &[]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // The program may stop reading early.
            scope.spawn(move || drop(pipe.write_all(input)));
            child.wait_with_output().unwrap()
        });
        Run::from_output(output)
    }

    fn run_in(&self, directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        Run::from_output(self.command(directory, arguments, environment).output().unwrap())
    }

    fn command(&self, directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forage"));
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env(HOME, &self.home)
            // Windows needs these variables to find its own libraries.
            .envs(["SystemRoot", "TEMP"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        command
    }
}
