//! The server where the settings can't be used. Of a program that ends at once clients say that it failed to connect, or
//! nothing, and its tools are gone without a reason; so the reason is what this server says of itself and answers every
//! call with. It opens no root and reads no other settings: what the broken ones leave out of searches is not known.

use forage_mcp::{
    CallOrigin, McpServer, McpSettings, McpWorkspace, OutputForm, ServerMetrics, ToolSet, serve_stdio,
};
use forage_sandbox::Access;
use forage_tools::registry::{self, ToolSelection};
use forage_tools::{Context, ErrorCode, clip, sanitize};

use super::super::Status;

use super::super::output::Terminal;
use super::super::told::told;
use crate::config::UNUSABLE;
use crate::manner::ForAgents;

/// Bytes of the reason: what there is to do about it must have room behind it in what a client shows of a server.
const REASON_BYTES: usize = 1_500;

/// Serves stdin and stdout to the end of the session, with answers of the form that the command line asks for. Where a person wants a server behind the kernel's wall or none, and
/// it can't stand, there is none.
pub(super) fn serve(
    error: anyhow::Error,
    form: OutputForm,
    requires_sandbox: bool,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let level = forage_sandbox::restrict(&Access::of_the_system());
    if requires_sandbox && !level.is_full() {
        return Err(error);
    }
    let reason = clip(&sanitize(&told(&error)), REASON_BYTES);
    output.failure(&reason, ErrorCode::Failed);
    let tools = registry::advertised(&ToolSelection::default())?;
    let workspace = Box::new(Unusable { problem: problem(&reason) });
    let settings = McpSettings {
        left_out: Vec::new(),
        tools,
        workspace,
        tool_set: ToolSet::ByClient,
        output: form,
        manner: &ForAgents,
        metrics: ServerMetrics::new(),
        observer: None,
        journal: None,
    };
    let server = McpServer::new(settings).map_err(anyhow::Error::msg)?;
    let shutdown = server.shutdown().clone();
    serve_stdio(server, &shutdown)?;
    Ok(Status::Failed)
}

/// In one paragraph: of what a server says of itself, some clients show no more.
fn problem(reason: &str) -> String {
    let reason = reason.replace('\n', " ");
    format!(
        "{UNUSABLE}{}. Every call is answered with this. Tell the user: \
         `forage doctor` says what is wrong and what to do; when it is put right, this server has to be restarted.",
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

    fn open(&self, _: &CallOrigin<'_>) -> Result<Context, String> {
        Err(self.problem.clone())
    }
}
