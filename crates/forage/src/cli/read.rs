//! `forage read`: prints a file or a part of it.

use forage_tools::Tool as _;
use forage_tools::tools::{ReadFile, ReadRequest};

use super::output::Terminal;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage read src/main.rs                      the whole file, within the limit of an answer
  forage read src/main.rs:40-80                lines 40 to 80
  forage read src/client.rs --outline          its definitions, with line ranges
  forage read src/client.rs --symbol send      one definition
  forage read HEAD~3:src/main.rs               the file as of three commits ago";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// File to read; REV:PATH reads another revision
    path: String,
    /// First line, counted from 1
    #[arg(long, value_name = "LINE")]
    start_line: Option<i64>,
    /// Last line, inclusive
    #[arg(long, value_name = "LINE")]
    end_line: Option<i64>,
    /// Comma-separated names of definitions to read, such as send or Client::send
    #[arg(long, value_name = "NAME", conflicts_with_all = ["start_line", "end_line"])]
    symbol: Option<String>,
    /// With --symbol: context lines
    #[arg(short = 'C', long, value_name = "LINES", requires = "symbol")]
    context: Option<i64>,
    /// Print the definitions with their line ranges
    #[arg(long, conflicts_with_all = ["start_line", "end_line", "symbol"])]
    outline: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let workspace =
        session::open(global, CommandLineSettings::default(), ReadFile::NAME, Some(&arguments.path), output)?;
    let mut request = ReadRequest::new(path_argument(&workspace, Some(&arguments.path))?);
    (request.start_line, request.end_line) = (arguments.start_line, arguments.end_line);
    request.symbol.clone_from(&arguments.symbol);
    request.context_lines = arguments.context;
    request.outline = arguments.outline.then_some(true);
    session::call::<ReadFile>(request, &workspace, output)
}
