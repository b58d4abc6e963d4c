//! `forage lookup`.

use serde_json::json;

use super::output::Output;
use super::session;
use super::setting_options::{self, SettingOptions};
use super::{Global, Status};
use crate::config::Given;

/// The tool that is called.
const TOOL: &str = "keyword_lookup";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forage lookup ORA-00942\n  forage lookup --repo billing InvoiceNumberMissing\n  forage lookup --where 'modality=text' --where 'page_id>=10' ORA-00942\n\n`forage sparse index PATH` fills a collection; `[retrieval]` in the configuration says where collections are."
)]
pub(crate) struct Arguments {
    /// Words to look up: an error code, an identifier, an id
    #[arg(required = true, value_name = "WORD")]
    query: Vec<String>,
    #[command(flatten)]
    settings: SettingOptions<setting_options::Lookup>,
    /// Repository to look in
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// File to look in, by its whole path in the collection
    #[arg(short, long, value_name = "PATH")]
    path: Option<String>,
    /// Language to look in, such as rust
    #[arg(short = 'l', long, value_name = "NAME")]
    language: Option<String>,
    /// Condition on a payload field, of which all must hold: FIELD=VALUE, FIELD=VALUE|VALUE for any of them, or
    /// FIELD>=NUMBER (>, <=, <); may be given several times
    #[arg(long = "where", visible_alias = "filter", value_name = "FIELD=VALUE")]
    conditions: Vec<String>,
    /// Results to show [default: 10]
    #[arg(short = 'n', long, value_name = "N", visible_alias = "max-results")]
    limit: Option<i64>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let given = Given { settings: arguments.settings.said.clone(), ..Given::default() };
    let context = session::open(global, given, TOOL, None, output)?;
    let request = json!({
        "query": arguments.query.join(" "),
        "repo": arguments.repo,
        "path": arguments.path,
        "language": arguments.language,
        "filter": arguments.conditions,
        "limit": arguments.limit,
    });
    session::answer(TOOL, request, &context, output)
}
