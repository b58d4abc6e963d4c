//! `forage grep`.

use serde_json::json;

use super::output::Output;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::Given;

/// The tool that is called.
const TOOL: &str = "grep_search";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular expression to search for, matched line by line
    pattern: String,
    /// Directory or file to search
    path: Option<String>,
    /// Match without regard to case
    #[arg(short, long)]
    ignore_case: bool,
    /// Lines of context around each match [default: 2]
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<i64>,
    /// Files to search: by name ('*.py'), or by path if it has a slash ('src/**/*.rs')
    #[arg(short = 'g', long, value_name = "GLOB", visible_alias = "file-pattern")]
    glob: Option<String>,
    /// Matching lines to show [default: 50]
    #[arg(short, long, value_name = "N", visible_alias = "max-count")]
    max_results: Option<i64>,
    /// Search ignored and hidden files too
    #[arg(short = 'u', long)]
    include_ignored: bool,
    /// Go on where a previous answer ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let context = session::open(global, Given::default(), TOOL, arguments.path.as_deref(), output)?;
    let request = json!({
        "pattern": arguments.pattern,
        "path": path_argument(&context, arguments.path.as_deref())?,
        "file_pattern": arguments.glob,
        "context_lines": arguments.context,
        "max_results": arguments.max_results,
        "ignore_case": arguments.ignore_case,
        "include_ignored": arguments.include_ignored,
        "cursor": arguments.cursor,
    });
    session::call(TOOL, request, &context, output)
}
