//! MCP servers whose tools the agent may call. We start them before we enter the sandbox, and talk to them
//! over their standard streams. All processes that a server has started are ended with it.
//!
//! Only the user's own configuration may name servers. Note that their output is untrusted: we limit it here,
//! and the agent sanitizes it like any tool answer.

mod process;
mod protocol;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use forage_base::Stop;
use forage_tools::registry::{AnyTool, is_name};
use forage_tools::{Answer, Call, Egress, ToolError, ToolSpec, clip, sanitize, sanitize_line};
use serde_json::{Value, json};

use crate::config::AgentServer;
use crate::limits::{
    SERVER_DESCRIPTION_BYTES, SERVER_LIST_BYTES, SERVER_SCHEMA_BYTES, SERVER_START, SERVER_TOOLS,
};
use process::Process;

/// The running servers. Dropping this ends them, even during a call: a thread that waits for a response does
/// not keep its server alive.
#[derive(Default)]
pub(super) struct Servers {
    running: Vec<RunningServers>,
    /// Problems for the user, one sentence each.
    pub(super) problems: Vec<String>,
}

struct RunningServers {
    name: String,
    process: Arc<Process>,
    tools: Vec<Value>,
    /// True if the server has more tools than it has listed to us.
    is_cut: bool,
    chosen: Option<Vec<String>>,
}

impl Servers {
    /// Starts all servers in parallel. If one of them fails, this is reported and does not affect the others.
    /// `home` is their working directory. It must not be the repository, since many programs would read the
    /// repository's files as their configuration.
    pub(super) fn start(
        settings: &BTreeMap<String, AgentServer>,
        home: &Path,
        roots: &[&Path],
        stop: &Stop,
    ) -> Self {
        let stop = &stop.within(SERVER_START);
        let begin = |(name, server): (&String, &AgentServer)| {
            let process = Process::start(server, home, roots)?;
            let (tools, is_cut) = protocol::open(&process, stop)?;
            let (name, chosen) = (name.clone(), server.tools.clone());
            Ok(RunningServers { name, process: Arc::new(process), tools, is_cut, chosen })
        };
        let started: Vec<(&String, Result<RunningServers, String>)> = thread::scope(|scope| {
            let threads: Vec<_> =
                settings.iter().map(|each| (each.0, scope.spawn(move || begin(each)))).collect();
            let lost = || Err("its thread panicked".to_owned());
            threads
                .into_iter()
                .map(|(name, thread)| (name, thread.join().unwrap_or_else(|_| lost())))
                .collect()
        });
        let mut servers = Self::default();
        for (name, started) in started {
            match started {
                Ok(running) => servers.running.push(running),
                Err(problem) => servers.problems.push(format!(
                    "the tools of `ask.servers.{name}` are not available: {}",
                    sanitize_line(&problem)
                )),
            }
        }
        servers
    }

    /// Starts no servers while models are recorded or replayed. Only model requests are recorded, and those
    /// of a replay must be the same. The user is warned only during the recording: the replay lacks nothing
    /// that the recording had.
    pub(super) fn left_out(settings: &BTreeMap<String, AgentServer>, is_recorded: bool) -> Self {
        let mut servers = Self::default();
        if is_recorded && !settings.is_empty() {
            let names: Vec<&str> = settings.keys().map(String::as_str).collect();
            servers.problems.push(format!(
                "the tools of `ask.servers` ({}) are not available: their answers are not recorded, so a \
                 replay could not use them; ask without --record to use these tools",
                names.join(", ")
            ));
        }
        servers
    }

    /// Returns the servers' tools. A tool's name gets the server's name as a prefix, e.g. `github_search`.
    /// This adds tools that we can't offer to [`Self::problems`].
    pub(super) fn tools(&mut self) -> Vec<Arc<dyn AnyTool>> {
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
        let mut room = SERVER_LIST_BYTES;
        for RunningServers { name, process, tools: listed, is_cut, chosen } in &self.running {
            if *is_cut {
                self.problems.push(format!("`ask.servers.{name}` lists more tools than Forage reads"));
            }
            let is_chosen = |tool: &&Value| {
                chosen.as_ref().is_none_or(|chosen| chosen.iter().any(|name| tool["name"] == name.as_str()))
            };
            let chosen_tools: Vec<&Value> = listed.iter().filter(is_chosen).collect();
            for missing in chosen
                .iter()
                .flatten()
                .filter(|name| !listed.iter().any(|tool| tool["name"] == name.as_str()))
            {
                self.problems.push(format!("`ask.servers.{name}` has no tool {}", sanitize_line(missing)));
            }
            if chosen_tools.len() > SERVER_TOOLS {
                self.problems.push(format!(
                    "`ask.servers.{name}` has {} tools, and the first {SERVER_TOOLS} are used; choose some with \
                     `ask.servers.{name}.tools`",
                    chosen_tools.len()
                ));
            }
            for tool in chosen_tools.into_iter().take(SERVER_TOOLS) {
                match ServerTool::from_definition(name, tool, process) {
                    Ok(tool) if tool.bytes() > room => self.problems.push(format!(
                        "{}, a tool of `ask.servers.{name}`, is left out: a model would read more than {SERVER_LIST_BYTES} \
                         bytes about tools of servers with each request; choose fewer with `ask.servers.{name}.tools`",
                        tool.spec.name
                    )),
                    Ok(tool) => {
                        room -= tool.bytes();
                        tools.push(Arc::new(tool));
                    }
                    Err(problem) => {
                        self.problems.push(format!("a tool of `ask.servers.{name}` is left out: {problem}"))
                    }
                }
            }
        }
        tools
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        thread::scope(|scope| {
            for running in &self.running {
                scope.spawn(|| running.process.end());
            }
        });
    }
}

/// A tool of a server.
struct ServerTool {
    /// The name that the model sees has the server's name as a prefix.
    spec: ToolSpec,
    /// The server's own name for this tool.
    own_name: String,
    schema: Value,
    process: Arc<Process>,
}

impl ServerTool {
    fn from_definition(server: &str, tool: &Value, process: &Arc<Process>) -> Result<Self, String> {
        let own_name = tool["name"].as_str().unwrap_or_default().to_owned();
        let name = format!("{server}_{own_name}");
        if own_name.is_empty() || !is_name(&name) {
            return Err(format!("{:?} is not a valid tool name", clip(&own_name, 80)));
        }
        let schema = match &tool["inputSchema"] {
            Value::Object(schema) if schema.get("type").is_some_and(|kind| kind != "object") => {
                return Err(format!("{own_name}: its arguments are not an object"));
            }
            schema @ Value::Object(_) if schema.to_string().len() <= SERVER_SCHEMA_BYTES => schema.clone(),
            Value::Object(_) => {
                return Err(format!("{own_name}: its schema has more than {SERVER_SCHEMA_BYTES} bytes"));
            }
            _ => json!({ "type": "object", "properties": {} }),
        };
        let description = sanitize(tool["description"].as_str().unwrap_or_default());
        let description = format!(
            "{} (A tool of the server {server}, outside of the repository.)",
            clip(description.trim(), SERVER_DESCRIPTION_BYTES)
        );
        let title = tool["title"].as_str().unwrap_or(&own_name);
        let title = clip(&sanitize_line(title), 100);
        // Calls send the model's arguments to the server.
        let egress = Egress::SendsText;
        let spec = ToolSpec { is_template: false, egress, ..ToolSpec::new(name, title, description) };
        Ok(Self { spec, own_name, schema, process: Arc::clone(process) })
    }

    /// Returns the size in bytes of the definition that a model reads.
    fn bytes(&self) -> usize {
        self.spec.name.len() + self.spec.description.len() + self.schema.to_string().len()
    }
}

impl AnyTool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let params = json!({ "name": self.own_name, "arguments": request });
        let result = self.process.ask("tools/call", params, &|| call.stop.check().is_some());
        let result = result.map_err(ToolError::Request)?;
        let text = protocol::text(&result);
        if result["isError"] == true { Err(ToolError::Request(text)) } else { Ok(Answer::from_text(text)) }
    }
}
