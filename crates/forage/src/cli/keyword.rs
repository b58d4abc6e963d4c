//! `forage keyword`.

use serde_json::json;

use super::output::Output;
use super::session;
use super::{Global, Status};
use crate::config::Overrides;

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
    /// Model to ask instead of a chosen one: provider/id as `forage models` shows them, or an id
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Address of the model's API, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let overrides = Overrides {
        filter: arguments.filter.clone(),
        model: arguments.model.clone(),
        base_url: arguments.base_url.clone(),
        key_env: arguments.key_env.clone(),
        ..Overrides::default()
    };
    let context = session::open(global, overrides, None, output)?;
    let request = json!({ "query": arguments.query, "search_terms": arguments.terms });
    session::call("keyword_search", request, &context, output)
}
