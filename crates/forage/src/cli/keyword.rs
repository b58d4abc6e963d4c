//! `forage keyword`.

use serde_json::json;

use super::model_arguments::ModelArguments;
use super::output::Output;
use super::session;
use super::{Global, Status};
use crate::config::{FilterTable, Overrides};

/// The tool that is called.
const TOOL: &str = "keyword_search";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  forage keyword --filter lexical 'how are failed requests retried' 'retry_after' 'backoff' 'retr(y|ies)'"
)]
pub(crate) struct Arguments {
    /// What you are trying to find or learn, in a sentence
    query: String,
    /// Search terms in order of importance: regexes, case-insensitive; many specific ones work best
    #[arg(required = true, value_name = "TERM")]
    terms: Vec<String>,
    /// Who keeps the relevant files: a model, or a deterministic ranking
    #[arg(long, value_name = "MODE", value_parser = ["model", "lexical"])]
    filter: Option<String>,
    /// What becomes of terms that match too much: less is shown of them, or they are left out by the requirement's rule
    #[arg(long, value_name = "RULE", value_parser = ["adaptive", "requirement"])]
    breadth: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let overrides = Overrides {
        filter: arguments.filter.clone(),
        filter_table: FilterTable::of_breadth(arguments.breadth.clone()),
        ..arguments.model.overrides()
    };
    let context = session::open(global, overrides, TOOL, None, output)?;
    let request = json!({ "query": arguments.query, "search_terms": arguments.terms });
    session::call(TOOL, request, &context, output)
}
