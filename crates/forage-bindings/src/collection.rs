//! Settings of the collection that `keyword_lookup` searches.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forage_llm::ApiKey;
use forage_lookup::{
    Bm42, CodeSuperset, EmbeddedStore, Encoder, FastEmbedBm25, Idf, Language, PointReader, Prose, Retriever,
    ServerSettings, ServerStore, StoreError, encoder_named,
};
use forage_tools::{ErrorCode, LookupSettings, limits, registry};
use serde::Deserialize;

use crate::error::BindingError;
use crate::settings::check_range;

/// A collection in a directory or on a Qdrant server, with the defaults of the command line.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectionSettings {
    /// A local directory that contains collections.
    pub directory: Option<PathBuf>,
    /// The address of a server. Its port is that of the REST API, 6333 by default.
    pub url: Option<String>,
    /// The name of the collection.
    pub name: String,
    /// The API key of the server.
    pub api_key: Option<String>,
    /// Allows sending the key over plain `http` to another machine.
    pub allow_plain_key: bool,
    /// The payload field that selects the shard of a point.
    pub shard_key: Option<String>,
    /// Timeout of a lookup in milliseconds: 100 to 300000.
    pub timeout_ms: u64,
    /// The name of the sparse vector. If the collection has only one, we search it even if it has another
    /// name.
    pub vector: String,
    /// The source of term weights for a collection without the IDF modifier: `auto` lets Forage query the
    /// document frequencies, `stored` gives all terms equal weight.
    pub idf: String,
    /// `code-superset`, `fastembed-bm25` or `bm42`; `auto` takes the encoder that the collection names.
    pub encoder: Option<String>,
    /// The language of the texts, for stemming.
    pub language: Option<String>,
    /// True if words were indexed without stemming.
    pub disable_stemmer: bool,
    /// Number of results if a lookup does not request one: 1 to 100.
    pub top_k: u64,
    /// Payload fields to show. `*` means all.
    pub payload: Vec<String>,
    /// The payload field that contains the text.
    pub text_field: String,
}

impl Default for CollectionSettings {
    fn default() -> Self {
        Self {
            directory: None,
            url: None,
            name: "code".to_owned(),
            api_key: None,
            allow_plain_key: false,
            shard_key: None,
            timeout_ms: limits::LOOKUP_TIMEOUT_MS,
            vector: LookupSettings::VECTOR.to_owned(),
            idf: "auto".to_owned(),
            encoder: None,
            language: None,
            disable_stemmer: false,
            top_k: limits::LOOKUP_HITS,
            payload: LookupSettings::PAYLOAD.map(str::to_owned).to_vec(),
            text_field: LookupSettings::TEXT_FIELD.to_owned(),
        }
    }
}

impl std::fmt::Debug for CollectionSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, directory, url, .. } = self;
        write!(formatter, "collection {name} in {directory:?} or at {url:?}")
    }
}

impl CollectionSettings {
    /// Creates the lookup settings. This does not connect to a server: the first lookup will.
    pub(crate) fn open(&self) -> Result<LookupSettings, BindingError> {
        let refused = |why: &dyn std::fmt::Display| {
            BindingError::new(ErrorCode::Argument, format_args!("`collection` can't be used: {why}"))
        };
        self.check().map_err(|why| refused(&why))?;
        let (store, backend): (Arc<dyn PointReader>, _) = match (&self.directory, &self.url) {
            (Some(directory), None) => {
                let store = EmbeddedStore::new(directory, &self.name).map_err(|error| refused(&error))?;
                (Arc::new(store), "embedded")
            }
            (None, Some(url)) => (Arc::new(self.server(url).map_err(|error| refused(&error))?), "qdrant"),
            _ => return Err(refused(&"set either `url` or `directory`")),
        };
        let prose = self.prose().map_err(|unknown| refused(&unknown))?;
        let retriever = Retriever {
            store,
            encoder: self.encoder(prose.unwrap_or_default()).map_err(|unknown| refused(&unknown))?,
            prose,
            backend,
            using: self.vector.clone(),
            idf: self.idf().map_err(|unknown| refused(&unknown))?,
            fields: self.payload.clone(),
            text_field: Some(self.text_field.clone()),
            timeout: Duration::from_millis(self.timeout_ms),
            rarity: Arc::default(),
        };
        Ok(LookupSettings { as_stored: true, ..LookupSettings::new(retriever, self.top_k) })
    }

    fn server(&self, url: &str) -> Result<ServerStore, StoreError> {
        let key = self.api_key.as_deref().map(ApiKey::new).transpose();
        ServerStore::connect(ServerSettings {
            api_key: key.map_err(|error| StoreError::Invalid(error.to_string()))?,
            allow_plain_key: self.allow_plain_key,
            shard_key_field: self.shard_key.clone(),
            request_timeout: Duration::from_millis(self.timeout_ms),
            ..ServerSettings::new(url, &self.name)
        })
    }

    fn check(&self) -> Result<(), String> {
        check_range("top_k", self.top_k, &(1..=limits::LOOKUP_HITS_MAX))?;
        check_range("timeout_ms", self.timeout_ms, &limits::LOOKUP_TIMEOUT_MS_RANGE)?;
        if !registry::is_name(&self.name) {
            return Err(format!("`name` {:?} is not 1 to 64 letters, digits, `-` or `_`", self.name));
        }
        let empty = [("vector", &self.vector), ("text_field", &self.text_field)];
        match empty.iter().find(|(_, value)| value.trim().is_empty()) {
            Some((name, _)) => Err(format!("`{name}` is empty")),
            None => Ok(()),
        }
    }

    fn idf(&self) -> Result<Idf, String> {
        match &*self.idf {
            "auto" => Ok(Idf::Auto),
            "stored" => Ok(Idf::Stored),
            other => Err(format!("`idf` must be auto or stored, not {other:?}")),
        }
    }

    /// Selects the encoder of queries. `None` means `auto`: the encoder that the collection names.
    fn encoder(&self, prose: Prose) -> Result<Option<Arc<dyn Encoder>>, String> {
        let Some(name) = self.encoder.as_deref().filter(|name| *name != "auto") else { return Ok(None) };
        encoder_named(name, prose).map(Some).ok_or_else(|| {
            let names = [CodeSuperset::NAME, FastEmbedBm25::NAME, Bm42::NAME].join(", ");
            format!("`encoder` must be auto or one of {names}, not {name:?}")
        })
    }

    /// Computes the treatment of words, or `None` if neither setting is given. An unknown language is an
    /// error even if stemming is disabled.
    fn prose(&self) -> Result<Option<Prose>, String> {
        let parsed = |name: &str| {
            Language::parse(name).map(Prose::Stemmed).ok_or_else(|| format!("there is no language {name:?}"))
        };
        let language = self.language.as_deref().map(parsed).transpose()?;
        Ok(if self.disable_stemmer { Some(Prose::AsWritten) } else { language })
    }
}
