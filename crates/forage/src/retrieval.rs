//! Collections and the stores that hold them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forage_lookup::{PointStore, StoreError};

mod visible;

pub(crate) use visible::VisibleStore;

/// Where collections are stored.
#[derive(Clone)]
pub(crate) enum Home {
    /// A directory on this machine.
    Embedded { directory: PathBuf },
    /// A Qdrant server or cluster.
    Server { url: String, api_key: Option<String>, allow_plain_key: bool, timeout: Duration },
}

impl Home {
    /// The name that telemetry uses for a directory on this machine.
    pub(crate) const EMBEDDED: &str = "embedded";

    /// Returns the name that telemetry uses for this kind of store.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => Self::EMBEDDED,
            Self::Server { .. } => "qdrant",
        }
    }
}

/// A collection and its location.
#[derive(Clone)]
pub(crate) struct CollectionPlace {
    pub(crate) home: Home,
    pub(crate) collection: String,
}

impl CollectionPlace {
    /// Creates the store of this collection. This opens no file and sends no request; the first call does.
    pub(crate) fn open(&self) -> Result<Arc<dyn PointStore>, StoreError> {
        match &self.home {
            Home::Embedded { directory } => {
                Ok(Arc::new(forage_lookup::EmbeddedStore::new(directory, &self.collection)?))
            }
            Home::Server { url, api_key, allow_plain_key, timeout } => {
                let key = api_key.as_deref().map(forage_lookup::ApiKey::new).transpose();
                let settings = forage_lookup::ServerSettings {
                    api_key: key.map_err(|error| StoreError::Unauthorized(error.to_string()))?,
                    allow_plain_key: *allow_plain_key,
                    request_timeout: *timeout,
                    ..forage_lookup::ServerSettings::new(url, &self.collection)
                };
                Ok(Arc::new(forage_lookup::ServerStore::connect(settings)?))
            }
        }
    }
}
