//! `forage read`.

use serde_json::json;

use super::output::Output;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::Given;

/// The tool that is called.
const TOOL: &str = "read_file";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File to read
    path: String,
    /// First line, counted from 1
    #[arg(short, long, value_name = "LINE")]
    start_line: Option<i64>,
    /// Last line, inclusive
    #[arg(short, long, value_name = "LINE")]
    end_line: Option<i64>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let context = session::open(global, Given::default(), TOOL, Some(&arguments.path), output)?;
    let request = json!({
        "path": path_argument(&context, Some(&arguments.path))?,
        "start_line": arguments.start_line,
        "end_line": arguments.end_line,
    });
    session::call(TOOL, request, &context, output)
}
