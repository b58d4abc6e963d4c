//! `forage grep`.

use forage_tools::tools::{literal_pattern, stream_matches, word_pattern};
use serde_json::json;

use super::output::Output;
use super::progress::Progress;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::Overrides;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular expression to search for, matched line by line
    pattern: String,
    /// Directory or file to search
    path: Option<String>,
    /// Match without regard to case
    #[arg(short, long)]
    ignore_case: bool,
    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,
    /// The pattern is text, not a regular expression
    #[arg(short = 'F', long)]
    fixed_strings: bool,
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
    #[arg(long, value_name = "CURSOR", conflicts_with = "all")]
    cursor: Option<String>,
    /// Print every match as it is found, as `path:line:text`, without limits on number and length
    #[arg(long, conflicts_with_all = ["max_results", "json"])]
    all: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let context = session::open(global, Overrides::default(), arguments.path.as_deref(), output)?;
    let mut pattern = arguments.pattern.clone();
    if arguments.fixed_strings && !pattern.is_empty() {
        pattern = literal_pattern(&pattern);
    }
    if arguments.word_regexp && !pattern.is_empty() {
        pattern = word_pattern(&pattern);
    }
    // Everything that is printed as it comes has no context unless it is asked for, as in grep.
    let lines = if arguments.all { arguments.context.or(Some(0)) } else { arguments.context };
    let request = json!({
        "pattern": pattern,
        "path": path_argument(&context, arguments.path.as_deref())?,
        "file_pattern": arguments.glob,
        "context_lines": lines,
        "max_results": arguments.max_results,
        "ignore_case": arguments.ignore_case,
        "include_ignored": arguments.include_ignored,
        "cursor": arguments.cursor,
    });
    if !arguments.all {
        return session::call("grep_search", request, &context, output);
    }
    let mut failed = None;
    let ended = {
        let _progress = Progress::start(&context.progress);
        let write = |text: &str| match output.text(text) {
            Ok(open) => open,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        stream_matches(&context, request, write).map_err(|error| anyhow::anyhow!("{error}"))?
    };
    if let Some(error) = failed {
        return Err(error);
    }
    output.flush()?;
    ended.notes.iter().for_each(|note| output.note(note));
    match (ended.found, ended.partial) {
        (_, true) => Err(anyhow::anyhow!("the search did not finish; give it more time with --timeout-ms")),
        (true, false) => Ok(Status::Found),
        (false, false) => Ok(Status::NothingFound),
    }
}
