//! `forage grep`.

use forage_tools::Tool as _;
use forage_tools::tools::{GrepRequest, GrepSearch};

use super::output::Terminal;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

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

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let context = session::open(
        global,
        CommandLineSettings::default(),
        GrepSearch::NAME,
        arguments.path.as_deref(),
        output,
    )?;
    let mut request = GrepRequest::new(&arguments.pattern);
    request.path = Some(path_argument(&context, arguments.path.as_deref())?);
    request.file_pattern.clone_from(&arguments.glob);
    request.context_lines = arguments.context;
    request.max_results = arguments.max_results;
    request.ignore_case = Some(arguments.ignore_case);
    request.include_ignored = Some(arguments.include_ignored);
    request.cursor.clone_from(&arguments.cursor);
    session::call::<GrepSearch>(request, &context, output)
}
