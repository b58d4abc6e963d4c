//! `forage lookup`: looks up words in a collection.

use forage_tools::Tool as _;
use forage_tools::tools::{KeywordLookup, LookupRequest};

use super::output::Terminal;
use super::session;
use super::setting_options::SettingOptions;
use super::{Global, Status};
use crate::config::{CommandLineSettings, SettingsCommand};

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage lookup ORA-00942\n  forage lookup --repo billing InvoiceNumberMissing\n  forage lookup --where 'modality=text' --where 'page_id>=10' ORA-00942\n\n`forage sparse index PATH` fills a collection; `[retrieval]` in the configuration sets its store."
)]
pub(crate) struct Arguments {
    /// Words to look up, such as an error code, an identifier or an id
    #[arg(required = true, value_name = "WORD")]
    query: Vec<String>,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Lookup as u8 }>,
    /// Repository to look in
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// File to look in, by its full path in the collection
    #[arg(short, long, value_name = "PATH")]
    path: Option<String>,
    /// Language to look in, such as rust
    #[arg(short = 't', long, visible_alias = "type", value_name = "NAME")]
    language: Option<String>,
    /// Condition on a payload field: FIELD=VALUE, FIELD=VALUE|VALUE, or FIELD>=NUMBER (>, <=, <); all must hold
    /// (repeatable)
    #[arg(long = "where", visible_alias = "filter", value_name = "FIELD=VALUE")]
    conditions: Vec<String>,
    /// Results to show [default: 10]
    #[arg(short = 'm', long, value_name = "N", visible_alias = "max-results")]
    limit: Option<i64>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let given =
        CommandLineSettings { settings: arguments.settings.given.clone(), ..CommandLineSettings::default() };
    let workspace = session::open(global, given, KeywordLookup::NAME, None, output)?;
    let mut request = LookupRequest::new(arguments.query.join(" "));
    request.repo.clone_from(&arguments.repo);
    request.path.clone_from(&arguments.path);
    request.language.clone_from(&arguments.language);
    request.filter = Some(arguments.conditions.clone());
    request.limit = arguments.limit;
    session::answer::<KeywordLookup>(request, &workspace, output)
}
