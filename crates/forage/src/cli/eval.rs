//! `forage eval`: measures the quality of the ranking on queries with known answers.
//!
//! The queries come from a file or from the history of the repository. `forage_rank::evaluation` computes the
//! metrics.

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
mod shares;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;

use self::lines::NamedAnswers;
use super::output::Terminal;
use super::{Global, Status};
use measure::MeasurePlan;
pub(super) use records::Evaluation;

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage eval set.json                     # a set of queries on this project\n  forage eval sets.json --checkouts DIR    # each set on the checkout by its name\n  forage eval --from-git                   # your own commits: messages as queries, changed files as answers\n  forage eval --from-git --ablate          # the effect of each rule of the ranking\n  forage eval sets.json --checkouts DIR --lines    # the share of the right lines in an answer\n\nThe index is built in memory. Only `--from-git` and `--at-revision` run git."
)]
pub(crate) struct Arguments {
    /// JSON file with one or more sets of queries
    #[arg(value_name = "SET.json", required_unless_present = "from_git", conflicts_with = "from_git")]
    set: Option<PathBuf>,
    /// Set to run (repeatable with --checkouts)
    #[arg(long, value_name = "NAME", conflicts_with = "from_git")]
    name: Vec<String>,
    /// Run each set on the directory of its name in DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from_git", "root"])]
    checkouts: Option<PathBuf>,
    /// Search the files of the set's revision, read with git
    #[arg(long, conflicts_with = "from_git")]
    at_revision: bool,
    /// Make a set of the last N commits, with their messages as queries [default: 400, or half of a shorter history]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=limits::COMMITS_MAX))]
    from_git: Option<Option<usize>>,
    /// Write that set to a new file
    #[arg(long, value_name = "FILE", requires = "from_git")]
    save: Option<PathBuf>,
    /// Show each rule of the ranking: its weight, and NDCG@10 without it
    #[arg(long)]
    ablate: bool,
    /// Also request N tokens of code, and measure the share of the right lines [default: 8000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=forage_tools::limits::CODE_TOKENS_MAX))]
    lines: Option<u64>,
    /// Compare with another program's answers, in the format of --json --lines (repeatable)
    #[arg(long, value_name = "NAME=FILE", requires = "lines")]
    beside: Vec<NamedAnswers>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let measured = MeasurePlan::new(arguments, global, output)?.run()?;
    if let Some(lines) = &measured.lines {
        lines.check()?;
    }
    let evaluation = report::evaluation(&measured, arguments.ablate);
    if output.wants_json() {
        output.record(&evaluation)?;
    } else {
        output.text(&forage_tools::sanitize(&evaluation.text()))?;
        output.flush()?;
    }
    Ok(if measured.queries.is_empty() { Status::NothingFound } else { Status::Found })
}
