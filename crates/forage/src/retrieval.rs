//! Where collections are, and the store that is opened when something is asked of it.

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped};
use forage_lookup::{
    Collection, Creation, Point, PointFilter, PointHit, PointId, PointPage, PointQuery, PointScan,
    PointStore, StoreError, WeightedHit,
};

use crate::limits::COLLECTION_IDLE;

mod visible;

pub(crate) use visible::VisibleStore;

/// What keeps collections.
#[derive(Clone)]
pub(crate) enum Home {
    /// A directory of this machine.
    Embedded { directory: PathBuf },
    /// A Qdrant server or cluster.
    Server {
        url: String,
        api_key: Option<String>,
        allow_plain_key: bool,
        timeout: Duration,
        shard_key: Option<String>,
    },
}

impl Home {
    /// What telemetry calls a directory of this machine.
    pub(crate) const EMBEDDED: &str = "embedded";

    /// What telemetry calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => Self::EMBEDDED,
            Self::Server { .. } => "qdrant",
        }
    }
}

/// A collection, and where it is.
#[derive(Clone)]
pub(crate) struct CollectionPlace {
    pub(crate) home: Home,
    pub(crate) collection: String,
}

impl CollectionPlace {
    /// What messages call it.
    fn name(&self) -> String {
        match &self.home {
            Home::Embedded { directory } => {
                format!("collection `{}` in {}", self.collection, directory.display())
            }
            Home::Server { url, .. } => format!("collection `{}` at {url}", self.collection),
        }
    }

    /// Why this program can't open it, whatever there is.
    pub(crate) fn missing(&self) -> Option<String> {
        let is_built = matches!(self.home, Home::Server { .. }) || cfg!(feature = "embedded-store");
        (!is_built).then(|| {
            "the embedded store is not built into this program: build it with `cargo build --release --features \
             embedded-store`, or name a Qdrant server in `retrieval.url`"
                .to_owned()
        })
    }

    fn open(&self) -> Result<Arc<dyn PointStore>, StoreError> {
        match &self.home {
            #[cfg(feature = "embedded-store")]
            Home::Embedded { directory } => {
                Ok(Arc::new(forage_qdrant_edge::EmbeddedStore::open(directory, &self.collection)?))
            }
            Home::Server { url, api_key, allow_plain_key, timeout, shard_key } => {
                let key = api_key.as_deref().map(forage_lookup::ApiKey::new).transpose();
                let settings = forage_lookup::ServerSettings {
                    api_key: key.map_err(|error| StoreError::Unauthorized(error.to_string()))?,
                    allow_plain_key: *allow_plain_key,
                    shard_key_field: shard_key.clone(),
                    request_timeout: *timeout,
                    ..forage_lookup::ServerSettings::new(url, &self.collection)
                };
                Ok(Arc::new(forage_lookup::ServerStore::connect(settings)?))
            }
            #[cfg(not(feature = "embedded-store"))]
            Home::Embedded { .. } => Err(StoreError::Invalid(self.missing().unwrap_or_default())),
        }
    }
}

/// A store that is opened when it is asked. An embedded one is closed when it has not been asked for a while, so that
/// other processes have their turn.
pub(crate) struct OnDemand {
    place: CollectionPlace,
    open: Arc<Mutex<OpenStore>>,
}

#[derive(Default)]
struct OpenStore {
    store: Option<Arc<dyn PointStore>>,
    /// What opens it at the moment.
    opening: Option<Arc<StoreOpening>>,
    last_use: Option<Instant>,
}

/// An attempt to open a store, on a thread of its own: whoever waits for it can give up, and the next one finds it
/// further on.
#[derive(Default)]
struct StoreOpening {
    result: Mutex<Option<Result<Arc<dyn PointStore>, StoreError>>>,
    is_over: Condvar,
}

impl StoreOpening {
    /// How often somebody who waits looks whether to go on.
    const LOOK: Duration = Duration::from_millis(20);

    fn wait(&self, place: &CollectionPlace, stop: &Stop) -> Result<Arc<dyn PointStore>, StoreError> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = &*result {
                return result.clone();
            }
            match stop.check() {
                None => {}
                Some(Stopped::Cancelled) => return Err(StoreError::Cancelled),
                Some(Stopped::Deadline) => {
                    let place = place.name();
                    return Err(StoreError::Timeout(format!("{place} is still being checked and opened")));
                }
            }
            result = self.is_over.wait_timeout(result, Self::LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn end(&self, result: Result<Arc<dyn PointStore>, StoreError>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.is_over.notify_all();
    }
}

impl OnDemand {
    /// Opens nothing; says why nothing ever will be, if so.
    pub(crate) fn new(place: CollectionPlace) -> Result<Self, String> {
        match place.missing() {
            Some(missing) => Err(missing),
            None => Ok(Self { place, open: Arc::default() }),
        }
    }

    fn with<T>(
        &self,
        stop: &Stop,
        ask: impl FnOnce(&dyn PointStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let opening = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.last_use = Some(Instant::now());
            match &open.store {
                Some(store) => Err(Arc::clone(store)),
                None => Ok(Arc::clone(open.opening.get_or_insert_with(|| self.begin()))),
            }
        };
        let store = match opening {
            Err(store) => store,
            Ok(opening) => opening.wait(&self.place, stop)?,
        };
        let answer = ask(&*store);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).last_use = Some(Instant::now());
        answer
    }

    fn begin(&self) -> Arc<StoreOpening> {
        let opening = Arc::<StoreOpening>::default();
        let (place, open, attempt) = (self.place.clone(), Arc::clone(&self.open), Arc::clone(&opening));
        std::thread::spawn(move || {
            let result = catch_unwind(|| place.open()).unwrap_or_else(|_| {
                Err(StoreError::Invalid(format!("internal error: opening {} panicked", place.name())))
            });
            {
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                open.opening = None;
                open.store = result.as_ref().ok().cloned();
                open.last_use = Some(Instant::now());
            }
            if result.is_ok() && matches!(place.home, Home::Embedded { .. }) {
                close_when_idle(Arc::downgrade(&open));
            }
            attempt.end(result);
        });
        opening
    }
}

/// Ends with the store.
fn close_when_idle(open: std::sync::Weak<Mutex<OpenStore>>) {
    std::thread::spawn(move || {
        let mut wait = COLLECTION_IDLE;
        loop {
            std::thread::sleep(wait);
            let Some(open) = open.upgrade() else { return };
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = open.last_use.map_or(COLLECTION_IDLE, |last| last.elapsed());
            // Who is asking at the moment holds the store as well.
            if idle >= COLLECTION_IDLE
                && open.store.as_ref().is_none_or(|store| Arc::strong_count(store) == 1)
            {
                open.store = None;
                return;
            }
            wait = COLLECTION_IDLE.saturating_sub(idle).max(Duration::from_millis(100));
        }
    });
}

impl PointStore for OnDemand {
    fn place(&self) -> String {
        self.place.name()
    }

    fn prepare(&self, stop: &Stop) -> Result<(), StoreError> {
        self.with(stop, |store| store.prepare(stop))
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        self.with(stop, |store| store.collection(stop))
    }

    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError> {
        self.with(stop, |store| store.create(creation, stop))
    }

    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError> {
        self.with(stop, |store| store.upsert(points, using, stop))
    }

    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError> {
        self.with(stop, |store| store.remove(ids, stop))
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        self.with(stop, |store| store.query(query, stop))
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        self.with(stop, |store| store.query_all(queries, with_vectors, stop))
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        self.with(stop, |store| store.scan(scan, stop))
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        self.with(stop, |store| store.count(filter, stop))
    }

    fn finish(&self, stop: &Stop) -> Result<(), StoreError> {
        self.with(stop, |store| store.finish(stop))
    }

    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError> {
        self.with(stop, |store| store.drop_collection(stop))
    }
}
