//! `forage call`: calls a tool exactly like an agent does.

use std::io::Read as _;

use anyhow::{Context as _, ensure};
use forage_base::count;
use forage_tools::{ErrorCode, read_arguments};

use super::output::Terminal;
use super::session;
use super::user_error::UserError;
use super::{Global, Status};
use crate::config::{CommandLineSettings, Config, Needs};

/// Maximum size in bytes of a request on stdin.
const REQUEST_BYTES: u64 = 8 << 20;

const EXAMPLES: &str = r#"Examples:
  forage call grep_search '{"pattern": "retry", "path": "src"}'
  forage call search_index '{"query": "how are failed requests retried"}' --json"#;

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the tool, built-in or configured
    tool: String,
    /// Its arguments as a JSON object; `-` reads them from stdin
    #[arg(default_value = "{}", value_name = "JSON")]
    request: String,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let mut text = arguments.request.clone();
    if text == "-" {
        text.clear();
        std::io::stdin()
            .take(REQUEST_BYTES + 1)
            .read_to_string(&mut text)
            .context("can't read the arguments from stdin")?;
        ensure!(
            text.len() as u64 <= REQUEST_BYTES,
            "the arguments on stdin have more than {}",
            count(REQUEST_BYTES, "byte")
        );
    }
    let request = read_arguments(&text).map_err(|text| UserError { code: ErrorCode::Request, text })?;
    // This command should show what an agent would see, so we redact the answer. To get unredacted text, use
    // the other commands.
    let find = |config: &Config| config.tool(&arguments.tool);
    // If the tool is unknown, we still enter the sandbox before we report that.
    let needs = |config: &Config| {
        find(config).map_or_else(|_| Needs::default(), |tool| config.needs_of_tool(tool.id()))
    };
    let (mut workspace, config) =
        session::open_with_config(global, CommandLineSettings::default(), needs, &[], output)?;
    let tool =
        find(&config).map_err(|error| session::for_people(&arguments.tool, error, &workspace.names))?;
    session::for_agent(&mut workspace, &config, tool)?;
    workspace.observers.surface = "call";
    session::call_tool(tool, request, &workspace, output)
}
