//! `forage rank`.

use std::time::Duration;

use serde_json::json;

use super::output::Output;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::Given;

/// Time for an index when a person waits who can see it grow, and can end it.
const INDEXING_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The tool that is called.
const TOOL: &str = "search_index";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forage rank how are failed requests retried\n  forage rank -l rust -p src RetryPolicy\n  forage rank '\"connection reset\" path:net -windows'\n\nThe first use in a project reads all of it; after that, only what has changed."
)]
pub(crate) struct Arguments {
    /// What to find: a question, words, names, or a whole bug report; "quoted words" stand together, path:PART and
    /// lang:NAME narrow, -WORD leaves out
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Directory or file to search
    #[arg(short, long, value_name = "PATH")]
    path: Option<String>,
    /// Files to search: by name ('*.py'), or by path if it has a slash ('src/**/*.rs')
    #[arg(short = 'g', long, value_name = "GLOB", visible_alias = "file-pattern")]
    glob: Option<String>,
    /// Languages to search, such as rust or typescript; may be given several times
    #[arg(short = 'l', long = "language", value_name = "NAME")]
    languages: Vec<String>,
    /// Files to show [default: 10]
    #[arg(short = 'n', long, value_name = "N", visible_alias = "max-results")]
    limit: Option<i64>,
    /// Go on where a previous answer ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let mut context = session::open(global, Given::default(), TOOL, arguments.path.as_deref(), output)?;
    context.indexing_time = match global.settings.said.limits.timeout_ms {
        None => INDEXING_TIME,
        // All the time there is but what the search needs.
        Some(_) => context.timeout,
    };
    let request = json!({
        "query": arguments.query.join(" "),
        "path": path_argument(&context, arguments.path.as_deref())?,
        "file_pattern": arguments.glob,
        "languages": (!arguments.languages.is_empty()).then_some(&arguments.languages),
        "limit": arguments.limit,
        "explain": output.wants_explanation(),
        "cursor": arguments.cursor,
    });
    session::answer(TOOL, request, &context, output)
}
