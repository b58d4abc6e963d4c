//! `forage files`: finds files by name, or lists changed files.

use forage_tools::Tool as _;
use forage_tools::tools::{GrepOutput, GrepRequest, GrepSearch, ListDirectory, ListRequest};

use super::changed::ChangedArguments;
use super::output::Terminal;
use super::session::{self, Purpose, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage files '*.rs'               by extension, in path order
  forage files 'src/**/*_test.go'   by path
  forage files mian                 fuzzy, the nearest first
  forage files --changed            changes since the last commit, with the definitions
  forage files --since main...      changes of this branch
  forage files --changed --impact   who uses the changed definitions, and which tests to run
  forage files --since v1.2 '*.rs'  by name, among the changes since a tag";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Comma-separated globs ('!' excludes), or a name or a part of one, even misspelt
    #[arg(required_unless_present_any = ["changed", "since"])]
    name: Option<String>,
    /// Directory to look in
    path: Option<String>,
    /// Include ignored and hidden names
    #[arg(short = 'u', long)]
    include_ignored: bool,
    /// With --changed or --since: print the definitions that use the changed ones, in two steps, and the tests among them;
    /// the operand is then a path
    #[arg(long, requires = "range", conflicts_with = "path")]
    impact: bool,
    #[command(flatten)]
    changed: ChangedArguments,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let path = arguments.path.as_deref();
    if arguments.impact {
        let path = arguments.name.as_deref();
        let workspace =
            session::open(global, CommandLineSettings::default(), GrepSearch::NAME, path, output)?;
        let mut request = GrepRequest::new("").output(GrepOutput::Impact);
        request.changed = arguments.changed.range().map(str::to_owned);
        request.path = Some(path_argument(&workspace, path)?);
        request.include_ignored = Some(arguments.include_ignored);
        return session::call::<GrepSearch>(request, &workspace, output);
    }
    let workspace = session::open(
        global,
        CommandLineSettings::default(),
        Purpose::plain(ListDirectory::NAME),
        path,
        output,
    )?;
    let mut request = ListRequest::new();
    request.name.clone_from(&arguments.name);
    request.changed = arguments.changed.range().map(str::to_owned);
    request.path = Some(path_argument(&workspace, path)?);
    request.include_ignored = Some(arguments.include_ignored);
    session::call::<ListDirectory>(request, &workspace, output)
}
