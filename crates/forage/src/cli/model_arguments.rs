//! Arguments of commands that call a model.

use std::path::PathBuf;

use crate::config::{CommandLineSettings, ExchangeFiles, NamedModel};

#[derive(Debug, clap::Args)]
pub(super) struct ModelArguments {
    /// Model to ask: provider/id as in `forage models`, or an id
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Address of the model's API, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// Record the exchange with the models, without keys, in a new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from a recording, without a network or a key
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
