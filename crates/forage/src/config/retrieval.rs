//! `[retrieval]` and `[telemetry]`: the tool `keyword_lookup`, its collection, and the telemetry of calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use forage_lookup::limits::REST_PORT;
use forage_lookup::{CodeSuperset, Encoder, Idf, Language, Prose, Retriever, encoder_named};
use forage_redact::Redactor;
use forage_tools::limits::LOOKUP_HITS;
use forage_tools::{CallObservers, LookupSettings};

use super::sandbox::port;
use super::table::{EncoderName, IdfSetting, Retrieval};
use super::tools::LOOKUP;
use super::{Config, environment};
use crate::retrieval::{CollectionPlace, Home};
use crate::rotated_file::RotatedFile;
use crate::telemetry::TelemetryFile;

impl Retrieval {
    /// Returns how the words of collections are processed, if the user has set this.
    fn prose(&self) -> Option<Prose> {
        if self.disable_stemmer {
            return Some(Prose::AsWritten);
        }
        self.language.as_deref().and_then(Language::parse).map(Prose::Stemmed)
    }

    fn url(&self) -> Option<String> {
        self.url.clone().or_else(|| environment::variable("QDRANT_URL"))
    }

    fn is_on_server(&self) -> bool {
        self.directory.is_none() && self.url().is_some()
    }
}

impl Config {
    /// Rejects settings of collections that contradict each other.
    pub(super) fn check_retrieval(&self) -> anyhow::Result<()> {
        let retrieval = &self.settings.retrieval;
        if retrieval.url.is_some() && retrieval.directory.is_some() {
            bail!(
                "`retrieval.url` ({}) and `retrieval.directory` ({}): collections are on a server or in a directory; \
                 leave one out",
                self.source("retrieval.url"),
                self.source("retrieval.directory")
            );
        }
        if retrieval.encoder == EncoderName::Bm42
            && retrieval.prose().is_some_and(|prose| prose != Prose::default())
        {
            bail!(
                "`retrieval.language` and `retrieval.disable_stemmer` are for BM25; \"bm42\" ({}) supports \
                 only English",
                self.source("retrieval.encoder")
            );
        }
        Ok(())
    }

    /// Explains why `keyword_lookup` is not offered although the configuration enables it. The reason is that
    /// the settings of its store can't be used.
    pub(crate) fn lookup_problem(&self) -> Option<String> {
        let open = || self.collection_place().and_then(|place| Ok(place.open()?));
        let error = self.settings.tool(LOOKUP).enabled.then(open)?.err()?;
        Some(format!("`keyword_lookup` is enabled but not offered: {error:#}"))
    }

    /// Locates the collection.
    pub(crate) fn collection_place(&self) -> anyhow::Result<CollectionPlace> {
        let retrieval = &self.settings.retrieval;
        let collection = retrieval.collection.clone();
        let home = match (retrieval.is_on_server(), retrieval.url()) {
            (true, Some(url)) => Home::Server {
                url,
                api_key: environment::variable("QDRANT_API_KEY"),
                allow_plain_key: retrieval.allow_plain_key,
                timeout: Duration::from_millis(retrieval.timeout_ms),
            },
            _ => Home::Embedded { directory: self.collections_directory()? },
        };
        Ok(CollectionPlace { home, collection })
    }

    /// Locates the directory in which the embedded store keeps collections.
    pub(crate) fn collections_directory(&self) -> anyhow::Result<PathBuf> {
        let own = self.settings.retrieval.directory.as_deref().map(std::path::absolute).transpose()?;
        own.or_else(|| Some(environment::data_directory()?.join("collections").path()))
            .ok_or_else(|| anyhow::anyhow!("can't find your data directory; set `retrieval.directory`"))
    }

    /// Returns true if collections are on a server.
    pub(super) fn is_on_server(&self) -> bool {
        self.settings.retrieval.is_on_server()
    }

    /// Returns the port of that server, or `None` if collections are not on a server.
    pub(super) fn port_of_collections(&self) -> Option<u16> {
        let url = self.settings.retrieval.url().filter(|_| self.settings.retrieval.is_on_server())?;
        // Without a port, our client connects to Qdrant's own port, not to that of the scheme.
        let has_port = url.trim().parse::<http::Uri>().is_ok_and(|uri| uri.port().is_some());
        if has_port { port(&url) } else { Some(REST_PORT) }
    }

    /// Creates the redactor for text that is sent to a server. Returns `None` if nothing is sent, or if the
    /// user has disabled redaction.
    pub(crate) fn redactor_for_collections(&self) -> anyhow::Result<Option<Redactor>> {
        let leaves = matches!(self.collection_place()?.home, Home::Server { .. });
        Ok((leaves && self.settings.secrets.redact).then(Redactor::standard))
    }

    /// Explains why no telemetry is written, if the existing file can't be trusted.
    pub(crate) fn telemetry_problem(&self) -> Option<String> {
        let problem = RotatedFile::problem(self.settings.telemetry.path.as_deref()?)?;
        Some(format!("`telemetry.path` has no effect: {problem}"))
    }

    /// Creates the encoder that fills a collection: the configured one, or else the one for code.
    pub(crate) fn document_encoder(&self) -> Arc<dyn Encoder> {
        let prose = self.settings.retrieval.prose().unwrap_or_default();
        self.named_encoder().unwrap_or_else(|| Arc::new(CodeSuperset::with_prose(prose)))
    }

    /// Creates the configured encoder, or returns `None` for "auto".
    fn named_encoder(&self) -> Option<Arc<dyn Encoder>> {
        let retrieval = &self.settings.retrieval;
        encoder_named(self.word("retrieval.encoder"), retrieval.prose().unwrap_or_default())
    }

    /// Builds the settings of `keyword_lookup`. This opens and requests nothing before the first lookup.
    pub(crate) fn lookup_settings(&self) -> LookupSettings {
        let retrieval = &self.settings.retrieval;
        let text_field = retrieval.text_field.clone();
        let store = self.collection_place().map_err(|error| format!("{error:#}")).and_then(|place| {
            let store = place.open().map_err(|error| error.to_string())?;
            Ok((store, place.home.name()))
        });
        let (store, backend) = match store {
            Ok(store) => store,
            Err(why) => {
                return LookupSettings { retriever: Err(why), text_field, ..LookupSettings::default() };
            }
        };
        let retriever = Retriever {
            store,
            encoder: self.named_encoder(),
            prose: retrieval.prose(),
            backend,
            using: retrieval.vector.clone(),
            idf: match retrieval.idf {
                IdfSetting::Auto => Idf::Auto,
                IdfSetting::Stored => Idf::Stored,
            },
            fields: retrieval.payload.clone(),
            text_field: Some(text_field),
            timeout: Duration::from_millis(retrieval.timeout_ms),
            rarity: Arc::default(),
        };
        LookupSettings::new(retriever, LOOKUP_HITS)
    }

    /// Creates the observers of calls from a surface. This must be called outside of the sandbox.
    pub(crate) fn observers(&self, surface: &'static str) -> CallObservers {
        let telemetry = self.settings.telemetry.path.as_deref().and_then(TelemetryFile::open);
        CallObservers::new(telemetry.map(|file| Arc::new(file) as _), surface)
    }
}
