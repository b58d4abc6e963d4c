//! `forage history`: finds the commits that changed a text, a definition or a path, or may have caused a
//! failure.

use clap::builder::NonEmptyStringValueParser;
use forage_tools::Tool as _;
use forage_tools::tools::{HistoryRequest, SearchHistory};

use super::output::Terminal;
use super::rank::read_query;
use super::session::{self, Purpose, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage history -F 'retry_limit'               commits that changed how often a text occurs
  forage history 'fn \\w+_retry' -p src          commits that added or removed a matching line
  forage history --symbol send -p src/http.rs   commits that changed a definition
  forage history -p docs                        commits that changed a directory
  forage history --suspects 'KeyError: token'   commits that may have caused a failure
  forage history -F 'old_name' -p v1.2:src      from another revision on";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Regular expression that an added or removed line matches, as `git log -G` takes it
    #[arg(required_unless_present_any = ["symbol", "path", "suspects"], value_parser = NonEmptyStringValueParser::new())]
    pattern: Option<String>,
    /// PATTERN is plain text; find commits that changed how often it occurs, as `git log -S` does
    #[arg(short = 'F', long, requires = "pattern")]
    fixed_strings: bool,
    /// Name of a definition in the file PATH, such as send or Client::send; it is followed through renames of the file
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "pattern",
        requires = "path",
        value_parser = NonEmptyStringValueParser::new(),
    )]
    symbol: Option<String>,
    /// Trace, message or test name of a failure, or `-` for stdin: find the commits most likely to have caused it
    #[arg(
        long,
        value_name = "FAILURE",
        conflicts_with_all = ["pattern", "symbol", "cursor"],
        value_parser = NonEmptyStringValueParser::new(),
    )]
    suspects: Option<String>,
    /// Only commits after REV, the last one that worked, or GOOD..BAD [default: the newest 300]
    #[arg(long, value_name = "REV", requires = "suspects")]
    since: Option<String>,
    /// Directory or file; REV:PATH begins at another revision
    #[arg(short, long, value_name = "PATH")]
    path: Option<String>,
    /// Commits to show [default: 20; 10 suspects]
    #[arg(short = 'm', long, value_name = "N", visible_alias = "max-results")]
    limit: Option<i64>,
    /// Continue a previous answer
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let path = arguments.path.as_deref();
    // Definitions come from parsers, which need the sandbox.
    let purpose = match arguments.symbol {
        Some(_) => SearchHistory::NAME.into(),
        None => Purpose::plain(SearchHistory::NAME),
    };
    let workspace = session::open(global, CommandLineSettings::default(), purpose, path, output)?;
    let mut request = HistoryRequest::new();
    request.pattern.clone_from(&arguments.pattern);
    request.fixed_strings = arguments.fixed_strings.then_some(true);
    request.symbol.clone_from(&arguments.symbol);
    request.suspects = match arguments.suspects.as_deref() {
        Some("-") => Some(read_query()?),
        given => given.map(str::to_owned),
    };
    request.since.clone_from(&arguments.since);
    request.path = Some(path_argument(&workspace, path)?);
    request.max_results = arguments.limit;
    request.cursor.clone_from(&arguments.cursor);
    session::call::<SearchHistory>(request, &workspace, output)
}
