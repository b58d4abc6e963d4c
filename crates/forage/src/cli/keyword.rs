//! `forage keyword`: searches many terms, then filters the files.

use forage_tools::Tool as _;
use forage_tools::tools::{KeywordRequest, KeywordSearch};

use super::model_arguments::ModelArguments;
use super::output::Terminal;
use super::session;
use super::setting_options::SettingOptions;
use super::{Global, Status};
use crate::config::{CommandLineSettings, SettingsCommand};

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage keyword --filter lexical 'how are failed requests retried' 'retry_after' 'backoff'\n  forage keyword 'where are passwords checked' 'password' 'bcrypt|argon2'"
)]
pub(crate) struct Arguments {
    /// The question, in a sentence
    query: String,
    /// Search terms, most important first: case-insensitive regexes; many specific ones work best
    #[arg(required = true, value_name = "TERM")]
    terms: Vec<String>,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Keyword as u8 }>,
    #[command(flatten)]
    model: ModelArguments,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let given = CommandLineSettings { settings: arguments.settings.given.clone(), ..arguments.model.given() };
    let workspace = session::open(global, given, KeywordSearch::NAME, None, output)?;
    let request = KeywordRequest::new(&arguments.query, &arguments.terms);
    session::call::<KeywordSearch>(request, &workspace, output)
}
