//! Arguments of the commands that call a model.

use std::path::PathBuf;

use crate::config::{CommandLineSettings, ExchangeFiles, NamedModel};

#[derive(Debug, clap::Args)]
pub(super) struct ModelArguments {
    /// Model to ask instead of a chosen one: provider/id as `forage models` shows them, or an id
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Address of the model's API, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// Record what the models are sent and answer, without keys, to a new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from a recording; nothing is sent, no key is needed
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

impl ModelArguments {
    pub(super) fn given(&self) -> CommandLineSettings {
        CommandLineSettings {
            model: NamedModel {
                model: self.model.clone(),
                base_url: self.base_url.clone(),
                key_env: self.key_env.clone(),
            },
            exchanges: ExchangeFiles { record: self.record.clone(), replay: self.replay.clone() },
            ..CommandLineSettings::default()
        }
    }
}
