//! `[retrieval]` and `[telemetry]`: the tool `keyword_lookup`, its collection, and what is told of lookups.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use forage::sandbox::Outside;
use forage_llm::Redactor;
use forage_sparse::{Bm42, CodeSuperset, EncoderSource, FastEmbedBm25, Language, Prose, Retriever, Sharding};
use forage_tools::registry::is_name;
use forage_tools::{LookupSettings, Telemetry, Told, limits};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::sandbox::port;
use super::{Config, Setting, environment};
use crate::retrieval::{Home, OnDemand, Place, encoder};
use crate::telemetry::TelemetryFile;

/// What one source says of `[retrieval]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetrievalOverrides {
    pub(crate) enable_keyword_tool: Option<bool>,
    pub(crate) tool_name: Option<String>,
    pub(crate) store: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) allow_plain_key: Option<bool>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) collection: Option<String>,
    pub(crate) vector: Option<String>,
    pub(crate) encoder: Option<String>,
    pub(crate) encoder_directory: Option<PathBuf>,
    pub(crate) language: Option<String>,
    pub(crate) disable_stemmer: Option<bool>,
    pub(crate) top_k: Option<u64>,
    pub(crate) payload: Option<Vec<String>>,
    pub(crate) text_field: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) shards: Option<u32>,
    pub(crate) replicas: Option<u32>,
    pub(crate) write_consistency: Option<u32>,
    pub(crate) shard_key: Option<String>,
    pub(crate) on_disk: Option<bool>,
}

/// What one source says of `[telemetry]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelemetryOverrides {
    pub(crate) path: Option<PathBuf>,
    pub(crate) rotate_bytes: Option<u64>,
}

/// The settings and where they come from.
#[derive(Clone, Debug)]
pub(super) struct Retrieval {
    enable_keyword_tool: Setting<bool>,
    tool_name: Setting<Option<String>>,
    store: Setting<String>,
    url: Setting<Option<String>>,
    api_key_env: Setting<String>,
    allow_plain_key: Setting<bool>,
    directory: Setting<Option<PathBuf>>,
    collection: Setting<String>,
    vector: Setting<String>,
    encoder: Setting<String>,
    encoder_directory: Setting<Option<PathBuf>>,
    language: Setting<Option<String>>,
    disable_stemmer: Setting<bool>,
    top_k: Setting<u64>,
    payload: Setting<Vec<String>>,
    text_field: Setting<String>,
    timeout_ms: Setting<u64>,
    sharding: Setting<Sharding>,
    telemetry_path: Setting<Option<PathBuf>>,
    rotate_bytes: Setting<u64>,
}

/// Payload fields of collections that Forage fills, and of those of the requirement.
const PAYLOAD: [&str; 10] =
    ["repo", "path", "language", "lines", "text", "doc_id", "page_id", "chunk_id", "modality", "image_path"];

/// The encoders, and `auto`: what the collection says of itself.
const ENCODERS: [&str; 4] = ["auto", CodeSuperset::NAME, FastEmbedBm25::NAME, Bm42::NAME];

/// The port of Qdrant's gRPC, where an address names none.
const GRPC_PORT: u16 = 6334;

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            enable_keyword_tool: Setting::default(false),
            tool_name: Setting::default(None),
            store: Setting::default("auto".to_owned()),
            url: Setting::default(None),
            api_key_env: Setting::default("QDRANT_API_KEY".to_owned()),
            allow_plain_key: Setting::default(false),
            directory: Setting::default(None),
            collection: Setting::default("code".to_owned()),
            vector: Setting::default("text-sparse".to_owned()),
            encoder: Setting::default("auto".to_owned()),
            encoder_directory: Setting::default(None),
            language: Setting::default(None),
            disable_stemmer: Setting::default(false),
            top_k: Setting::default(limits::LOOKUP_HITS),
            payload: Setting::default(PAYLOAD.map(str::to_owned).into()),
            text_field: Setting::default("text".to_owned()),
            timeout_ms: Setting::default(5_000),
            sharding: Setting::default(Sharding::default()),
            telemetry_path: Setting::default(None),
            rotate_bytes: Setting::default(10 << 20),
        }
    }
}

impl Retrieval {
    pub(super) fn apply(
        &mut self,
        overrides: RetrievalOverrides,
        telemetry: TelemetryOverrides,
        source: &str,
    ) {
        let RetrievalOverrides { shards, replicas, write_consistency, shard_key, on_disk, .. } = overrides;
        if shards.is_some()
            || replicas.is_some()
            || write_consistency.is_some()
            || shard_key.is_some()
            || on_disk.is_some()
        {
            let before = self.sharding.value.clone();
            let sharding = Sharding {
                shards: shards.or(before.shards),
                replicas: replicas.or(before.replicas),
                write_consistency: write_consistency.or(before.write_consistency),
                key_field: shard_key.or(before.key_field),
                is_on_disk: on_disk.unwrap_or(before.is_on_disk),
            };
            self.sharding.set(Some(sharding), source);
        }
        self.enable_keyword_tool.set(overrides.enable_keyword_tool, source);
        self.tool_name.set(overrides.tool_name.map(Some), source);
        self.store.set(overrides.store, source);
        self.url.set(overrides.url.map(Some), source);
        self.api_key_env.set(overrides.api_key_env, source);
        self.allow_plain_key.set(overrides.allow_plain_key, source);
        self.directory.set(overrides.directory.map(Some), source);
        self.collection.set(overrides.collection, source);
        self.vector.set(overrides.vector, source);
        self.encoder.set(overrides.encoder, source);
        self.encoder_directory.set(overrides.encoder_directory.map(Some), source);
        self.language.set(overrides.language.map(Some), source);
        self.disable_stemmer.set(overrides.disable_stemmer, source);
        self.top_k.set(overrides.top_k, source);
        self.payload.set(overrides.payload, source);
        self.text_field.set(overrides.text_field, source);
        self.timeout_ms.set(overrides.timeout_ms, source);
        self.telemetry_path.set(telemetry.path.map(Some), source);
        self.rotate_bytes.set(telemetry.rotate_bytes, source);
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        // Of collections the same is asked as of tools.
        let names = [("tool_name", &self.tool_name.source, self.tool_name.value.as_deref())];
        let collection = ("collection", &self.collection.source, Some(self.collection.value.as_str()));
        for (setting, source, name) in names.into_iter().chain([collection]) {
            if name.is_some_and(|name| !is_name(name)) {
                bail!("`retrieval.{setting}` ({source}): give 1 to 64 letters, digits, `-` or `_`");
            }
        }
        let choices: [(&str, &Setting<String>, &[&str]); 2] =
            [("store", &self.store, &["auto", "embedded", "qdrant"]), ("encoder", &self.encoder, &ENCODERS)];
        for (name, setting, known) in choices {
            if !known.contains(&setting.value.as_str()) {
                bail!(
                    "`retrieval.{name}` ({}): {:?} is none of {}",
                    setting.source,
                    setting.value,
                    known.join(", ")
                );
            }
        }
        let ranges = [
            ("top_k", &self.top_k, 1, limits::LOOKUP_HITS_MAX),
            ("timeout_ms", &self.timeout_ms, 100, 300_000),
        ];
        for (name, Setting { value, source }, least, most) in ranges {
            if !(least..=most).contains(value) {
                bail!("`retrieval.{name}` ({source}): {value} is out of range; give {least} to {most}");
            }
        }
        if self.store.value == "qdrant" && self.url().is_none() {
            bail!(
                "`retrieval.store` ({}): \"qdrant\" needs `retrieval.url`, or QDRANT_URL",
                self.store.source
            );
        }
        if self.encoder.value == Bm42::NAME && self.encoder_directory.value.is_none() {
            bail!(
                "`retrieval.encoder` ({}): \"bm42\" needs `retrieval.encoder_directory`, a directory with its tokenizer.json",
                self.encoder.source
            );
        }
        self.check_prose()
    }

    fn check_prose(&self) -> anyhow::Result<()> {
        let Setting { value, source } = &self.language;
        if let Some(name) = value.as_deref().filter(|name| Language::parse(name).is_none()) {
            let known = Language::ALL.map(Language::name).join(", ");
            bail!("`retrieval.language` ({source}): {name:?} is none of {known}");
        }
        if self.encoder.value == Bm42::NAME && self.prose().is_some_and(|prose| prose != Prose::default()) {
            bail!(
                "`retrieval.language` and `retrieval.disable_stemmer` are for BM25; \"bm42\" ({}) knows English alone",
                self.encoder.source
            );
        }
        Ok(())
    }

    /// What the words of collections are, if the user says so.
    fn prose(&self) -> Option<Prose> {
        if self.disable_stemmer.value {
            return Some(Prose::AsWritten);
        }
        self.language.value.as_deref().and_then(Language::parse).map(Prose::Of)
    }

    fn url(&self) -> Option<String> {
        self.url.value.clone().or_else(|| environment::variable("QDRANT_URL"))
    }

    /// Whether agents are told of `keyword_lookup`.
    pub(super) fn is_enabled(&self) -> &Setting<bool> {
        &self.enable_keyword_tool
    }

    /// What it is called, where the user says so.
    pub(super) fn tool_name(&self) -> &Setting<Option<String>> {
        &self.tool_name
    }

    fn is_on_server(&self) -> bool {
        match self.store.value.as_str() {
            "qdrant" => true,
            "embedded" => false,
            _ => self.url().is_some(),
        }
    }

    pub(super) fn describe(&self) -> Vec<(String, Value, String)> {
        fn row<T: serde::Serialize>(name: &str, setting: &Setting<T>) -> (String, Value, String) {
            (format!("retrieval.{name}"), json!(setting.value), setting.source.clone())
        }
        let sharding =
            |name: &str, value: Value| (format!("retrieval.{name}"), value, self.sharding.source.clone());
        let spread = &self.sharding.value;
        vec![
            row("enable_keyword_tool", &self.enable_keyword_tool),
            row("tool_name", &self.tool_name),
            row("store", &self.store),
            row("url", &self.url),
            row("api_key_env", &self.api_key_env),
            row("allow_plain_key", &self.allow_plain_key),
            row("directory", &self.directory),
            row("collection", &self.collection),
            row("vector", &self.vector),
            row("encoder", &self.encoder),
            row("encoder_directory", &self.encoder_directory),
            row("language", &self.language),
            row("disable_stemmer", &self.disable_stemmer),
            row("top_k", &self.top_k),
            row("payload", &self.payload),
            row("text_field", &self.text_field),
            row("timeout_ms", &self.timeout_ms),
            sharding("shards", json!(spread.shards)),
            sharding("replicas", json!(spread.replicas)),
            sharding("write_consistency", json!(spread.write_consistency)),
            sharding("shard_key", json!(spread.key_field)),
            sharding("on_disk", json!(spread.is_on_disk)),
            (
                "telemetry.path".to_owned(),
                json!(self.telemetry_path.value),
                self.telemetry_path.source.clone(),
            ),
            (
                "telemetry.rotate_bytes".to_owned(),
                json!(self.rotate_bytes.value),
                self.rotate_bytes.source.clone(),
            ),
        ]
    }
}

/// The file is written in front of the wall: its directory is the user's, and closed to everything else.
struct TelemetryOutside(Outside<Map<String, Value>>);

impl Telemetry for TelemetryOutside {
    fn record(&self, event: Map<String, Value>) {
        self.0.ask(event);
    }
}

fn telemetry_at(path: &Path, rotate_bytes: u64) -> Arc<dyn Telemetry> {
    let file = Arc::new(TelemetryFile::new(path, rotate_bytes));
    let writer = Arc::clone(&file);
    match Outside::start("telemetry", move |event| writer.record(event)) {
        Ok(outside) => Arc::new(TelemetryOutside(outside)),
        Err(_) => file,
    }
}

impl Config {
    /// Why agents are not told of the tool that looks words up although the configuration has it on: this program has no
    /// store that could be asked.
    pub(crate) fn lookup_problem(&self) -> Option<String> {
        let missing =
            if self.is_lookup_on() { self.collection_place().ok()?.missing()? } else { return None };
        Some(format!("`keyword_lookup` is on and is not offered: {missing}"))
    }

    /// Where collections are.
    pub(crate) fn collection_place(&self) -> anyhow::Result<Place> {
        let retrieval = &self.retrieval;
        let collection = retrieval.collection.value.clone();
        let home = match (retrieval.is_on_server(), retrieval.url()) {
            (true, Some(url)) => Home::Server {
                url,
                api_key: environment::variable(&retrieval.api_key_env.value),
                allow_plain_key: retrieval.allow_plain_key.value,
                timeout: Duration::from_millis(retrieval.timeout_ms.value),
                shard_key: retrieval.sharding.value.key_field.clone(),
            },
            _ => Home::Embedded { directory: self.collections_directory()? },
        };
        Ok(Place { home, collection })
    }

    /// Where the embedded store keeps collections.
    pub(crate) fn collections_directory(&self) -> anyhow::Result<PathBuf> {
        let own = self.retrieval.directory.value.as_deref().map(std::path::absolute).transpose()?;
        own.or_else(|| Some(environment::data_directory()?.join("collections").path())).ok_or_else(|| {
            anyhow::anyhow!("there is no telling where your data directory is; set `retrieval.directory`")
        })
    }

    /// Whether collections are on a server.
    pub(super) fn is_on_server(&self) -> bool {
        self.retrieval.is_on_server()
    }

    /// The port of that server.
    pub(super) fn port_of_collections(&self) -> Option<u16> {
        let url = self.retrieval.url().filter(|_| self.retrieval.is_on_server())?;
        let has_port = url.trim().parse::<hyper::Uri>().is_ok_and(|uri| uri.port().is_some());
        if has_port { port(&url) } else { Some(GRPC_PORT) }
    }

    /// Where an encoder has its files.
    pub(super) fn encoder_directory(&self) -> Option<&Path> {
        self.retrieval.encoder_directory.value.as_deref()
    }

    /// Takes secrets out of what is sent to a server, unless the user has turned that off.
    pub(crate) fn redactor_for_collections(&self) -> anyhow::Result<Option<Redactor>> {
        let leaves = matches!(self.collection_place()?.home, Home::Server { .. });
        Ok((leaves && self.redact.value).then(Redactor::standard))
    }

    /// The file that telemetry goes to.
    pub(crate) fn telemetry_path(&self) -> Option<&Path> {
        self.retrieval.telemetry_path.value.as_deref()
    }

    /// Why nothing is told there, if something else is in place of the file.
    pub(crate) fn telemetry_problem(&self) -> Option<String> {
        let problem = TelemetryFile::problem(self.telemetry_path()?)?;
        Some(format!("`telemetry.path` has no effect: {problem}"))
    }

    /// The name of the sparse vector, and how a collection is spread that has to be made.
    pub(crate) fn collection_shape(&self) -> (String, Sharding) {
        (self.retrieval.vector.value.clone(), self.retrieval.sharding.value.clone())
    }

    /// What documents are encoded with where a collection is filled: what is configured, else what suits code.
    pub(crate) fn document_encoder(
        &self,
    ) -> Result<Arc<dyn forage_sparse::Encoder>, forage_sparse::EncodingError> {
        let prose = self.retrieval.prose().unwrap_or_default();
        match self.retrieval.encoder.value.as_str() {
            "auto" => Ok(Arc::new(CodeSuperset::of(prose))),
            name => encoder(name, prose, self.retrieval.encoder_directory.value.as_deref()),
        }
    }

    /// How `keyword_lookup` works. Nothing is opened and nobody is asked before something is looked up.
    pub(crate) fn lookup_settings(&self) -> LookupSettings {
        let retrieval = &self.retrieval;
        let encoder = match retrieval.encoder.value.as_str() {
            "auto" => None,
            name => {
                let (name, directory) = (name.to_owned(), retrieval.encoder_directory.value.clone());
                let prose = retrieval.prose().unwrap_or_default();
                let make = move || encoder(&name, prose, directory.as_deref());
                Some(EncoderSource::new(Box::new(make)))
            }
        };
        let place = self.collection_place();
        let retriever = place.map_err(|error| format!("{error:#}")).and_then(|place| {
            let backend = place.home.name();
            let mut fields = retrieval.payload.value.clone();
            if !fields.contains(&retrieval.text_field.value) {
                fields.push(retrieval.text_field.value.clone());
            }
            Ok(Arc::new(Retriever {
                store: Arc::new(OnDemand::new(place)?),
                encoder,
                prose: retrieval.prose(),
                backend,
                using: retrieval.vector.value.clone(),
                fields,
                text_field: Some(retrieval.text_field.value.clone()),
                timeout: Duration::from_millis(retrieval.timeout_ms.value),
            }))
        });
        LookupSettings {
            retriever,
            limit: retrieval.top_k.value,
            text_field: retrieval.text_field.value.clone(),
            telemetry: None,
        }
    }

    /// Who is told of calls that come from here. To be made before the wall is put up.
    pub(crate) fn told(&self, surface: &'static str) -> Told {
        let path = self.telemetry_path();
        let to = path.map(|path| telemetry_at(path, self.retrieval.rotate_bytes.value));
        Told::new(to, surface)
    }
}
