//! The collection that words are looked up in.

use std::sync::Arc;
use std::time::Duration;

use forage_llm::ApiKey;
use forage_qdrant::{ServerSettings, ServerStore};
use forage_sparse::{
    CodeSuperset, Encoder, EncoderSource, EncodingError, FastEmbedBm25, Language, Prose, Retriever,
};
use forage_tools::{ErrorCode, LookupSettings};
use serde::Deserialize;

use crate::error::BindingError;

/// A collection on a Qdrant server, with the defaults of the command line.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectionSettings {
    /// The address of the server, whose port is that of gRPC, 6334 unless it is named.
    pub url: String,
    /// The collection.
    pub name: String,
    /// The key of the server.
    pub api_key: Option<String>,
    /// Sends the key over plain `http` to another machine.
    pub allow_plain_key: bool,
    /// The payload field by which points are put into shards.
    pub shard_key: Option<String>,
    /// Time for a lookup, in milliseconds.
    pub timeout_ms: u64,
    /// The name of the sparse vector.
    pub vector: String,
    /// `code-superset` or `fastembed-bm25`, for a collection that does not say which.
    pub encoder: Option<String>,
    /// Language of the words.
    pub language: Option<String>,
    /// Words were kept as they are.
    pub disable_stemmer: bool,
    /// Results of a lookup that names no number.
    pub top_k: u64,
    /// Payload fields that are shown.
    pub payload: Vec<String>,
    /// The payload field that holds the text.
    pub text_field: String,
}

impl Default for CollectionSettings {
    fn default() -> Self {
        const PAYLOAD: [&str; 10] = [
            "repo",
            "path",
            "language",
            "lines",
            "text",
            "doc_id",
            "page_id",
            "chunk_id",
            "modality",
            "image_path",
        ];
        Self {
            url: String::new(),
            name: "code".to_owned(),
            api_key: None,
            allow_plain_key: false,
            shard_key: None,
            timeout_ms: 5000,
            vector: "text-sparse".to_owned(),
            encoder: None,
            language: None,
            disable_stemmer: false,
            top_k: 10,
            payload: PAYLOAD.map(str::to_owned).to_vec(),
            text_field: "text".to_owned(),
        }
    }
}

impl std::fmt::Debug for CollectionSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "collection {} at {}", self.name, self.url)
    }
}

impl CollectionSettings {
    /// How words are looked up in it. Nobody is asked before something is.
    pub(crate) fn open(&self) -> Result<LookupSettings, BindingError> {
        let refused = |why: &dyn std::fmt::Display| {
            BindingError::new(ErrorCode::Argument, format_args!("`collection` can't be used: {why}"))
        };
        let key = self.api_key.as_deref().map(ApiKey::new).transpose().map_err(|error| refused(&error))?;
        let timeout = Duration::from_millis(self.timeout_ms);
        let settings = ServerSettings {
            api_key: key,
            allow_plain_key: self.allow_plain_key,
            shard_key_field: self.shard_key.clone(),
            request_timeout: timeout,
            ..ServerSettings::new(&self.url, &self.name)
        };
        let store = ServerStore::connect(settings).map_err(|error| refused(&error))?;
        let prose = self.prose().map_err(|unknown| refused(&unknown))?;
        let encoder = match self.encoder.as_deref() {
            None => None,
            Some(name @ (CodeSuperset::NAME | FastEmbedBm25::NAME)) => {
                Some(source(name, prose.unwrap_or_default()))
            }
            Some(name) => return Err(refused(&format_args!("there is no encoder {name:?} here"))),
        };
        let mut fields = self.payload.clone();
        if !fields.contains(&self.text_field) {
            fields.push(self.text_field.clone());
        }
        let retriever = Retriever {
            store: Arc::new(store),
            encoder,
            prose,
            backend: "qdrant",
            using: self.vector.clone(),
            fields,
            text_field: Some(self.text_field.clone()),
            timeout,
            rarity: Arc::default(),
        };
        Ok(LookupSettings {
            retriever: Ok(Arc::new(retriever)),
            limit: self.top_k,
            text_field: self.text_field.clone(),
            telemetry: None,
        })
    }

    /// What the words of the collection are, where that is said.
    fn prose(&self) -> Result<Option<Prose>, String> {
        if self.disable_stemmer {
            return Ok(Some(Prose::AsWritten));
        }
        let parsed = |name: &str| {
            Language::parse(name).map(Prose::Of).ok_or_else(|| format!("there is no language {name:?}"))
        };
        self.language.as_deref().map(parsed).transpose()
    }
}

fn source(name: &str, prose: Prose) -> Arc<EncoderSource> {
    let is_code = name == CodeSuperset::NAME;
    let make = move || -> Result<Arc<dyn Encoder>, EncodingError> {
        Ok(if is_code { Arc::new(CodeSuperset::of(prose)) } else { Arc::new(FastEmbedBm25::of(prose)) })
    };
    Arc::new(EncoderSource::new(Box::new(make)))
}
