//! `forage search`.

use std::time::Instant;

use forage_tools::Tool as _;
use forage_tools::telemetry;
use forage_tools::tools::search::{SearchRecord, StreamFormat, stream};
use forage_tools::tools::{CaseRule, Search, SearchRequest};

use super::output::Terminal;
use super::progress::ProgressBar;
use super::session::{self, path_argument};
use super::setting_options::SettingOptions;
use super::{Global, Status};
use crate::config::{CommandLineSettings, SettingsCommand};

const EXAMPLES: &str = "\
Examples:
  forage search parseHeader src               names and text, smart case
  forage search -F 'foo(bar)' -g '*.c'         plain text, C files only
  forage search -w -C 2 timeout                whole words, two lines around
  forage search -Z 2 recieve_mesage            up to two edits away
  forage search -Z 2 --best-first retry_count  the nearest names first
  forage search --json TODO                    a record on each line, then a summary
  forage search --all TODO                     every match, as rg prints it
  forage search --engine ugrep 'foo(?=bar)'    with ugrep, where it is installed";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Regular expression (or plain text with -F) to search for in every line
    pattern: String,
    /// Directory or file to search [default: the working directory]
    path: Option<String>,
    /// How letters compare; smart: without regard to case unless the pattern has an upper-case letter
    #[arg(long, value_name = "RULE", value_parser = ["smart", "sensitive", "insensitive"])]
    #[arg(conflicts_with_all = ["ignore_case", "case_sensitive"])]
    case: Option<String>,
    /// As --case insensitive
    #[arg(short, long, conflicts_with = "case_sensitive")]
    ignore_case: bool,
    /// As --case sensitive
    #[arg(short = 's', long)]
    case_sensitive: bool,
    /// The pattern is plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,
    /// Files to search, by name ('*.py') or by path if it has a slash ('src/**/*.rs'); '!' excludes; may be given
    /// several times, later ones win
    #[arg(short = 'g', long, value_name = "GLOB")]
    glob: Vec<String>,
    /// Search hidden files too
    #[arg(long, short = '.')]
    hidden: bool,
    /// Follow symbolic links within the root
    #[arg(short = 'L', long)]
    follow: bool,
    /// Search files that .gitignore and the like exclude too
    #[arg(long)]
    no_ignore: bool,
    /// Lines of context around each match, 0 to 50 [default: 0]
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<i64>,
    /// Matching and context lines to show, 1 to 10000 [default: 200]
    #[arg(short, long, value_name = "N")]
    max_results: Option<i64>,
    /// Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4
    #[arg(short = 'Z', long, value_name = "EDITS")]
    fuzzy: Option<i64>,
    /// With --fuzzy: the results with the fewest edits first, not in path order
    #[arg(long, requires = "fuzzy")]
    best_first: bool,
    /// Go on where a previous answer ended
    #[arg(long, value_name = "CURSOR", conflicts_with = "all")]
    cursor: Option<String>,
    /// Print every match as it is found, without limits on number and length
    #[arg(long, conflicts_with_all = ["max_results", "best_first"])]
    all: bool,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Search as u8 }>,
}

impl Arguments {
    fn case(&self) -> Option<CaseRule> {
        match (self.ignore_case, self.case_sensitive, self.case.as_deref()) {
            (false, false, None) => None,
            (true, ..) | (.., Some("insensitive")) => Some(CaseRule::Insensitive),
            (_, true, _) | (.., Some("sensitive")) => Some(CaseRule::Sensitive),
            _ => Some(CaseRule::Smart),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let given =
        CommandLineSettings { settings: arguments.settings.given.clone(), ..CommandLineSettings::default() };
    let context = session::open(global, given, Search::NAME, arguments.path.as_deref(), output)?;
    let mut request = SearchRequest::new(&arguments.pattern);
    request.path = Some(path_argument(&context, arguments.path.as_deref())?);
    request.case = arguments.case();
    request.fixed_strings = Some(arguments.fixed_strings);
    request.word_regexp = Some(arguments.word_regexp);
    request.glob = Some(arguments.glob.clone());
    request.hidden = Some(arguments.hidden);
    request.follow = Some(arguments.follow);
    request.no_ignore = Some(arguments.no_ignore);
    request.context = arguments.context;
    request.max_results = arguments.max_results;
    request.timeout_ms = global.timeout_ms().and_then(|time| time.try_into().ok());
    request.fuzzy = arguments.fuzzy;
    request.best_first = Some(arguments.best_first);
    request.cursor.clone_from(&arguments.cursor);
    let format = match (output.wants_json(), arguments.all) {
        (false, false) => return session::call::<Search>(request, &context, output),
        (true, _) => StreamFormat::Records,
        (false, true) if output.painter().paints() => StreamFormat::MarkedLines,
        (false, true) => StreamFormat::Lines,
    };
    let root = context.roots.all()[0].path().display().to_string();
    let mut failed = None;
    let ended = {
        let _progress = ProgressBar::of(&context.progress, "searching");
        let mut write = |text: &str, records: &[SearchRecord]| match output.painted(text, records, &root) {
            Ok(open) => open,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let began = Instant::now();
        let ended = stream(&context, request, format, arguments.all, &mut write);
        telemetry::streamed(context.names.called(Search::NAME), &context, began, ended.as_ref());
        ended.map_err(|error| session::for_people(error, &context.names))?
    };
    if let Some(error) = failed {
        return Err(error);
    }
    output.flush()?;
    session::explain(&context, output);
    if format != StreamFormat::Records {
        ended.notes.iter().for_each(|note| output.note(note));
    }
    // That the result is one in part is among the notes, or in the summary behind the records.
    Ok(session::ended(&context, (ended.found, ended.partial), ended.problem.as_ref(), output))
}
