//! `forage list`: lists a directory as a tree.

use forage_tools::Tool as _;
use forage_tools::tools::{ListDirectory, ListRequest};

use super::output::Terminal;
use super::rank::indexing_time;
use super::session::{self, Purpose, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage list                      the working directory, with line counts
  forage list crates -d 3          three levels deep
  forage list src --symbols        the definitions in each file
  forage list --tokens 1000        a map: main directories and most used definitions";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory to list
    path: Option<String>,
    /// List subdirectories, too
    #[arg(long)]
    recursive: bool,
    /// Levels to list, as `tree` counts them [default: 3 with --recursive, else 1]
    #[arg(short = 'd', long, value_name = "N", visible_alias = "depth")]
    max_depth: Option<i64>,
    /// Show the definitions in each file, for a directory of at most 200 files
    #[arg(long)]
    symbols: bool,
    /// Draw a map in this many tokens: main directories and most used definitions
    #[arg(long, value_name = "N")]
    tokens: Option<i64>,
    /// List ignored and hidden names, too
    #[arg(short = 'u', long)]
    include_ignored: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let purpose = match arguments.symbols || arguments.tokens.is_some() {
        true => ListDirectory::NAME.into(),
        false => Purpose::plain(ListDirectory::NAME),
    };
    let mut workspace =
        session::open(global, CommandLineSettings::default(), purpose, arguments.path.as_deref(), output)?;
    if arguments.tokens.is_some() {
        workspace.limits.indexing_time = indexing_time(global, &workspace);
    }
    let mut request = ListRequest::default();
    request.path = Some(path_argument(&workspace, arguments.path.as_deref())?);
    request.recursive = arguments.recursive.then_some(true);
    // Our `--max-depth` counts like `tree`, whereas the tool counts only the levels below the first.
    request.max_depth = arguments.max_depth.map(|levels| levels.saturating_sub(1).max(0));
    request.symbols = arguments.symbols.then_some(true);
    request.tokens = arguments.tokens;
    request.include_ignored = Some(arguments.include_ignored);
    session::call::<ListDirectory>(request, &workspace, output)
}
