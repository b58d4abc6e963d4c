//! Where model answers come from: the network, with or without a recorder, or a recording.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use forage_fs::{NamedFile, open_named};
use forage_llm::{
    ChatModel, Endpoint, EndpointSettings, ExchangeMode, ExchangeSink, RecordedExchange, RecordedModel,
    Recordings,
};
use forage_sandbox::UnsandboxedWorker;

use super::Config;
use crate::limits::RECORDING_BYTES;

/// An address for replayed models. It is never called.
const NOWHERE: &str = "http://127.0.0.1:1";

/// The files for recording and replay from the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExchangeFiles {
    pub(crate) record: Option<PathBuf>,
    pub(crate) replay: Option<PathBuf>,
}

impl ExchangeFiles {
    pub(super) fn open(&self) -> anyhow::Result<ExchangeMode> {
        match (&self.record, &self.replay) {
            (Some(path), _) => {
                // A recording holds one conversation, so we must not overwrite an earlier one.
                let created = NamedFile::at(path).and_then(|named| Ok((named.create_new()?, named)));
                let (file, named) = created.with_context(|| {
                    format!("can't record to {}: name a file that does not exist yet", path.display())
                })?;
                // The recording's directory is not accessible inside the sandbox, so the file must be removed
                // from outside.
                let remove = UnsandboxedWorker::start("recording", move |file| drop(named.remove(&file)))?;
                Ok(ExchangeMode::Record(Arc::new(RecordingFile {
                    path: path.clone(),
                    file: Mutex::new(file),
                    remove,
                })))
            }
            (None, Some(path)) => Ok(ExchangeMode::Replay(Arc::new(read(path)?))),
            (None, None) => Ok(ExchangeMode::Live),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Recordings> {
    let shown = path.display();
    let file = open_named(path, RECORDING_BYTES).with_context(|| format!("can't replay {shown}"))?;
    let mut text = String::new();
    file.take(RECORDING_BYTES).read_to_string(&mut text).with_context(|| format!("can't replay {shown}"))?;
    let recordings = Recordings::from_lines(&text).with_context(|| format!("can't replay {shown}"))?;
    if recordings.models().is_empty() {
        bail!("can't replay {shown}: it contains no answer from a model");
    }
    Ok(recordings)
}

#[derive(Debug)]
struct RecordingFile {
    path: PathBuf,
    file: Mutex<File>,
    remove: UnsandboxedWorker<File>,
}

impl Drop for RecordingFile {
    /// Removes the recording if it is empty. Otherwise a command that asked no model would leave a file that
    /// blocks the next recording.
    fn drop(&mut self) {
        if let Ok(file) = self.file.get_mut()
            && file.metadata().is_ok_and(|data| data.len() == 0)
            && let Ok(file) = file.try_clone()
        {
            self.remove.ask(file);
        }
    }
}

impl ExchangeSink for RecordingFile {
    fn take(&self, exchange: &RecordedExchange) -> Result<(), String> {
        let line = exchange.to_line() + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl Config {
    /// Returns true if answers come from the network and are not recorded.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.exchanges, ExchangeMode::Live)
    }

    /// Returns true if requests and answers of models are recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.exchanges, ExchangeMode::Record(_))
    }

    /// Opens the models of the recording that is replayed, or returns `None` without a replay.
    pub(super) fn replayed_models(&self) -> anyhow::Result<Option<Vec<Arc<dyn ChatModel>>>> {
        let ExchangeMode::Replay(recordings) = &self.exchanges else { return Ok(None) };
        let table = self.table()?;
        let client = |recorded: &RecordedModel| {
            let RecordedModel { provider, wire, model } = recorded;
            let mut settings = EndpointSettings::new(provider, NOWHERE, model);
            // The facts must be the same as at recording time, or the requests would differ.
            let named = self.settings.models.iter().find(|setting| setting.is_of(provider, model));
            settings.facts = match named {
                Some(setting) => setting.facts(&table, model),
                None => table.facts(provider, model),
            };
            Ok(wire.client_with(Endpoint::new(settings)?, self.exchanges.clone()))
        };
        recordings.models().iter().map(client).collect::<anyhow::Result<Vec<_>>>().map(Some)
    }
}
