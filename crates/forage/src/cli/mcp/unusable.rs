//! The server that we run if the settings are invalid. If we just exited, clients would report a failed
//! connection or nothing at all, and our tools would disappear without a reason. So this server gives the
//! reason in its instructions and in the answer to every call. It must not open a root or use any other
//! setting, because we can't know which files the invalid settings would exclude.

use forage_mcp::{CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet, serve_stdio};
use forage_sandbox::Access;
use forage_tools::registry::{self, ToolSelection};
use forage_tools::{CallObservers, ErrorCode, Workspace, clip, sanitize};

use super::super::Status;

use super::super::output::Terminal;
use super::super::user_error::error_text;
use crate::config::UNUSABLE;
use crate::phrasing::AgentPhrasing;

/// Maximum length in bytes of the reason. Clients show only the beginning of the instructions, and this must
/// include the advice that follows the reason.
const REASON_BYTES: usize = 1_500;

/// Serves stdin and stdout until the session ends. `form` should be the output form of the command line. If
/// the user requires a sandbox and there is none, this returns the error and runs no server.
pub(super) fn serve(
    error: anyhow::Error,
    form: OutputForm,
    requires_sandbox: bool,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let level = forage_sandbox::restrict(&Access::minimal());
    if requires_sandbox && !level.is_full() {
        return Err(error);
    }
    let reason = clip(&sanitize(&error_text(&error)), REASON_BYTES);
    output.failure(&reason, ErrorCode::Failed);
    let tools = registry::advertised(&ToolSelection::default())?;
    let workspace = Box::new(Unusable { problem: problem(&reason) });
    let settings = McpSettings {
        left_out: Vec::new(),
        tools,
        workspace,
        tool_set: ToolSet::ByClient,
        output: form,
        phrasing: &AgentPhrasing,
        observers: CallObservers::default(),
    };
    let server = McpServer::new(settings).map_err(anyhow::Error::msg)?;
    let shutdown = server.shutdown().clone();
    serve_stdio(server, &shutdown)?;
    Ok(Status::Failed)
}

/// Formats the problem as a single paragraph. Some clients only show the first paragraph of a server's
/// instructions.
fn problem(reason: &str) -> String {
    let reason = reason.replace('\n', " ");
    format!(
        "{UNUSABLE}{}. Every call returns this error. Tell the user: `forage doctor` says what is wrong and \
         how to fix it; after that, this server must be restarted.",
        reason.trim_end().trim_end_matches('.')
    )
}

struct Unusable {
    problem: String,
}

impl McpWorkspace for Unusable {
    fn asks_clients(&self) -> bool {
        false
    }

    fn problem(&self) -> Option<&str> {
        Some(&self.problem)
    }

    fn open(&self, _: &CallOrigin<'_>) -> Result<Workspace, String> {
        Err(self.problem.clone())
    }
}
