//! `forage files`.

use forage_tools::Tool as _;
use forage_tools::tools::{ListDirectory, ListRequest};

use super::changed::ChangedArguments;
use super::output::Terminal;
use super::session::{self, Purpose, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage files '*.rs'               files of a kind, in the order of paths, the first 200
  forage files 'src/**/*_test.go'   by path
  forage files mian                 nearly so called: the nearest first
  forage files --changed            what differs from the last commit, with the definitions
  forage files --since main...      what this branch changes
  forage files --since v1.2 '*.rs'  by name, among those that differ from a tag";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Globs between commas ('!' excludes), or a name or a part of one, typing errors included
    #[arg(required_unless_present_any = ["changed", "since"])]
    name: Option<String>,
    /// Directory to look in
    path: Option<String>,
    /// Ignored and hidden names too
    #[arg(short = 'u', long)]
    include_ignored: bool,
    #[command(flatten)]
    changed: ChangedArguments,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let path = arguments.path.as_deref();
    let context = session::open(
        global,
        CommandLineSettings::default(),
        Purpose::plain(ListDirectory::NAME),
        path,
        output,
    )?;
    let mut request = ListRequest::new();
    request.name.clone_from(&arguments.name);
    request.changed = arguments.changed.range().map(str::to_owned);
    request.path = Some(path_argument(&context, path)?);
    request.include_ignored = Some(arguments.include_ignored);
    session::call::<ListDirectory>(request, &context, output)
}
