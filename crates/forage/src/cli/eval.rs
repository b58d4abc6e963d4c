//! `forage eval`: how good the ranking is, on queries whose answers are known.
//!
//! The queries come from a file, or from the history of the repository; their figures are those of
//! `forage_rank::evaluation`. `tune` fits the weights of the ranking's rules to them.

mod databases;
mod git;
mod history;
mod limits;
mod lines;
mod measure;
mod message;
mod records;
mod report;
mod set;
mod tune;

use std::path::PathBuf;
use std::str::FromStr;

use forage_rank::RankWeights;

use self::lines::{CodeTokens, NamedAnswers};
use super::output::Terminal;
use super::{Global, Status};
use measure::MeasurePlan;
pub(super) use records::{Evaluation, Tuning};

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = "Examples:\n  forage eval set.json                     # a set of queries on this project\n  forage eval sets.json --checkouts DIR    # each set on the checkout by its name\n  forage eval --from-git                   # your own commits: what they say, and what they touched\n  forage eval --from-git --ablate          # what each rule of the ranking gives\n  forage eval sets.json --checkouts DIR --lines    # how many of the right lines an answer shows\n  forage eval tune --from-git --dry-run    # weights fitted to your project, and what they give\n\nThe index is made in memory. `--from-git` and `--at-revision` run git to read the history; nothing else does."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    source: Source,
    /// Show what each rule of the ranking gives: its weight, and NDCG@10 without it
    #[arg(long)]
    ablate: bool,
    /// Ask for code too, of N tokens, and say how many of the lines that the queries are about are shown [default: 8000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "default")]
    lines: Option<CodeTokens>,
    /// Compare with the answers of another program or build to the same queries, as --json prints them with --lines; may be
    /// given several times
    #[arg(long, value_name = "NAME=FILE", requires = "lines")]
    beside: Vec<NamedAnswers>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Fit the weights of the ranking's rules to the queries, and keep them if they help queries that were not fitted to
    Tune(tune::Arguments),
}

/// Where the queries come from, and what they are put to.
#[derive(Debug, clap::Args)]
struct Source {
    /// File with a set of queries as JSON, or several
    #[arg(value_name = "SET.json", required_unless_present = "from_git", conflicts_with = "from_git")]
    set: Option<PathBuf>,
    /// The set to run, of several; may be given several times with --checkouts
    #[arg(long, value_name = "NAME", conflicts_with = "from_git")]
    name: Vec<String>,
    /// Run each set on the directory by its name in DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from_git", "root"])]
    checkouts: Option<PathBuf>,
    /// Put the queries to the files as they were at the set's revision, read with git
    #[arg(long, conflicts_with = "from_git")]
    at_revision: bool,
    /// Make the set of the last N commits, read with git: their messages ask for the files that they touched, among the
    /// files as they were before them [default: 400, or half of the history if that is shorter]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "default")]
    from_git: Option<Commits>,
    /// Write that set to a new file
    #[arg(long, value_name = "FILE", requires = "from_git")]
    save: Option<PathBuf>,
}

/// How many commits make a set.
#[derive(Clone, Copy, Debug)]
enum Commits {
    Default,
    Number(usize),
}

impl Commits {
    fn number(self) -> Option<usize> {
        match self {
            Self::Default => None,
            Self::Number(number) => Some(number),
        }
    }
}

impl FromStr for Commits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::Default);
        }
        match text.parse() {
            Ok(number @ 1..=limits::COMMITS_MOST) => Ok(Self::Number(number)),
            _ => Err(format!("give a number of commits, 1 to {}", limits::COMMITS_MOST)),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    match &arguments.command {
        Some(Command::Tune(arguments)) => tune::run(arguments, global, output),
        None => evaluate(arguments, global, output),
    }
}

fn evaluate(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let mut plan = MeasurePlan::new(&arguments.source, global, output)?;
    if let Some(tokens) = arguments.lines {
        plan.ask_for_lines(tokens, &arguments.beside)?;
    }
    let own = plan.config().ranking();
    let source = own.as_ref().map(|_| plan.config().source("tools.search_index.weights").to_owned());
    let weights = own.map_or_else(RankWeights::default, |own| RankWeights::clone(&own));
    let measured = plan.run(&weights, true)?;
    if let Some(lines) = &measured.lines {
        lines.check()?;
    }
    let report = report::EvalReport::new(&measured, &weights.rules, source, arguments.ablate);
    if output.wants_json() {
        output.record(&report.records())?;
    } else {
        output.text(&forage_tools::sanitize(&report.text()))?;
        output.flush()?;
    }
    Ok(if measured.queries.is_empty() { Status::NothingFound } else { Status::Found })
}
