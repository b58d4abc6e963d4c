//! `forage list`.

use serde_json::json;

use super::output::Output;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::Given;

/// The tool that is called.
const TOOL: &str = "list_directory";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory to list
    path: Option<String>,
    /// List subdirectories too
    #[arg(short, long)]
    recursive: bool,
    /// Levels to list [default: 2 with --recursive, else 1]
    #[arg(short = 'L', long, value_name = "N", visible_alias = "depth")]
    max_depth: Option<i64>,
    /// List ignored and hidden names too
    #[arg(short = 'a', long)]
    include_ignored: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let context = session::open(global, Given::default(), TOOL, arguments.path.as_deref(), output)?;
    let request = json!({
        "path": path_argument(&context, arguments.path.as_deref())?,
        "recursive": arguments.recursive.then_some(true),
        "max_depth": arguments.max_depth,
        "include_ignored": arguments.include_ignored,
    });
    session::call(TOOL, request, &context, output)
}
