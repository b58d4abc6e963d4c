//! Starts the user's servers, and words the errors of servers that do not respond.

use std::ffi::OsString;
use std::path::Path;

use forage_tools::{clip, sanitize_line};
use serde_json::Value;

use crate::child::{self, ChildServer, RequestFailure};
use crate::config::{AgentServer, is_outside, outside, variables};
use crate::setup::program;

/// Variables that most programs need, e.g. to find their user and their temporary files. None of them should
/// hold a secret.
const VARIABLES: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
];

/// A running server.
pub(super) struct Process(ChildServer);

impl Process {
    pub(super) fn start(server: &AgentServer, home: &Path, roots: &[&Path]) -> Result<Self, String> {
        let variables = environment(&server.env, roots)?;
        let program = program(&server.command, &variables).map_err(|failure| failure.to_string())?;
        if !is_outside(&program, roots) {
            return Err(format!(
                "{} is inside a searched root: programs of a repository are not run",
                program.display()
            ));
        }
        let started = ChildServer::start(child::command(&program, &server.args, &variables, home));
        started.map(Self).map_err(|error| format!("{} can't be started: {error}", program.display()))
    }

    pub(super) fn send(&self, message: &Value) {
        self.0.send(message);
    }

    /// Sends a request and waits for its result until `is_over` returns true. An error says why there is no
    /// result.
    pub(super) fn ask(
        &self,
        method: &str,
        params: Value,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Value, String> {
        self.0.ask(method, params, is_over).map_err(|no_answer| {
            let why = match no_answer {
                RequestFailure::Refused(error) => return error,
                RequestFailure::Unreadable => "it sent a line that starts like an answer but is not JSON",
                RequestFailure::Ended(why) => why,
                RequestFailure::Late => "it did not answer in time",
            };
            format!("{why}{}", self.last_error_line())
        })
    }

    /// Ends the server and the processes of its group, and waits until they are gone. Pending requests get an
    /// error.
    pub(super) fn end(&self) {
        self.0.end();
    }

    /// Formats the last line of the server's standard error for an error message.
    fn last_error_line(&self) -> String {
        let text = self.0.stderr();
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        line.map(|line| format!(": {}", clip(&sanitize_line(line.trim()), 300))).unwrap_or_default()
    }
}

/// Returns the environment of a server. The server may itself start programs by name, so its `PATH` must not
/// contain directories that a repository could fill.
fn environment(names: &[String], roots: &[&Path]) -> Result<Vec<(OsString, OsString)>, String> {
    let is_given = |name: &OsString| {
        name.to_str().is_some_and(|name| VARIABLES.contains(&name) || names.iter().any(|given| given == name))
    };
    let mut given: Vec<(OsString, OsString)> =
        variables().into_iter().filter(|(name, _)| is_given(name)).collect();
    for (_, path) in given.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("PATH")) {
        *path = std::env::join_paths(outside(path, roots)).map_err(|error| error.to_string())?;
    }
    Ok(given)
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::super::{RunningServers, Servers};
    use super::*;

    #[test]
    fn servers_end_although_a_call_to_one_still_waits() {
        let settings = AgentServer {
            command: "sleep".to_owned(),
            args: vec!["300".to_owned()],
            env: Vec::new(),
            tools: None,
        };
        let process = Arc::new(Process::start(&settings, Path::new("/"), &[]).unwrap());
        let running = RunningServers {
            name: "s".to_owned(),
            process: Arc::clone(&process),
            tools: Vec::new(),
            is_cut: false,
            chosen: None,
        };
        let servers = Servers { running: vec![running], problems: Vec::new() };
        let call = thread::spawn(move || process.ask("tools/call", json!({}), &|| false));
        thread::sleep(Duration::from_millis(50));
        let began = Instant::now();
        drop(servers);
        // This error means that the streams are closed, and only the end of the program closes them.
        assert!(call.join().unwrap().unwrap_err().starts_with("it has ended"));
        assert!(began.elapsed() < Duration::from_secs(60), "it was not waited for to end by itself");
    }
}
