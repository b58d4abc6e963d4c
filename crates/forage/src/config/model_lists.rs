//! Providers' model lists, cached for a day in the user's cache directory. They contain ids and no key. An
//! unreadable file counts as missing.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forage_fs::PrivatePlace;
use forage_llm::limits::LOCAL_LIST_TIMEOUT;
use forage_llm::{CallBudget, ListFailure, ListedModel, ModelLister, ModelListing, Price, ResolvedModel};
use serde::{Deserialize, Serialize};

/// Seconds for which a list counts as current. Providers change their lists every few days.
const FRESH: u64 = 24 * 60 * 60;

/// Seconds for which an old list may replace one that can't be read. Older lists know less than our table.
const USABLE: u64 = 30 * FRESH;

/// Seconds to wait after a failure before we request a list again, so that not every search waits for it.
const PAUSE: u64 = 60;

/// Maximum bytes of a file. A list of thousands of models has a few hundred thousand.
const MAX_BYTES: u64 = 4 << 20;

/// The format version of the files.
const VERSION: u32 = 1;

/// The cached lists.
#[derive(Clone, Debug)]
pub(crate) struct ModelLists {
    place: Option<PrivatePlace>,
}

/// A list and a description of its source.
#[derive(Clone, Debug)]
pub(crate) struct KnownList {
    pub(crate) listing: ModelListing,
    pub(crate) source: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    provider: String,
    wire: String,
    base_url: String,
    /// When the list was read, in seconds since 1970. 0 if there is no list yet.
    read_at: u64,
    models: Vec<StoredModel>,
    #[serde(default)]
    failed_at: u64,
    #[serde(default)]
    failure: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredModel {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_tokens: Option<u64>,
    /// The prices of input, cached input and output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<[f64; 3]>,
}

impl ModelLists {
    pub(super) fn new(cache: Option<PrivatePlace>) -> Self {
        Self { place: cache.map(|cache| cache.join("model-lists")) }
    }

    /// Returns the cached list, or `None` if we should request a new one.
    pub(super) fn kept(&self, provider: &ResolvedModel) -> Option<KnownList> {
        let stored = self.load(provider)?;
        let now = now();
        match age(stored.read_at, now) {
            Some(age) if age < FRESH => Some(stored.known(format!("cached {} ago", duration(age)))),
            _ if age(stored.failed_at, now)? < PAUSE => {
                let failure = ListFailure::new(stored.failure.clone());
                Some(stored.instead_of(failure, now))
            }
            _ => None,
        }
    }

    /// Requests the lists of all providers in parallel and caches them. Returns by the deadline.
    pub(super) fn read(
        &self,
        providers: &[&ResolvedModel],
        lister: &dyn ModelLister,
        deadline: Instant,
    ) -> BTreeMap<String, KnownList> {
        std::thread::scope(|scope| {
            let ask = |provider: &ResolvedModel| {
                // Servers on this machine start and stop at any time, so we never cache their lists. The
                // short time limit keeps these requests from delaying every search.
                let own = if provider.is_local { LOCAL_LIST_TIMEOUT } else { Duration::MAX };
                let until = Instant::now().checked_add(own).map_or(deadline, |own| own.min(deadline));
                lister.list(provider, &CallBudget::until(until))
            };
            let threads: Vec<_> =
                providers.iter().map(|provider| (*provider, scope.spawn(move || ask(provider)))).collect();
            let mut lists = BTreeMap::new();
            for (provider, thread) in threads {
                let result = thread.join().unwrap_or_else(|_| Err(ListFailure::new("it could not be read")));
                lists.insert(provider.name.clone(), self.note(provider, result));
            }
            lists
        })
    }

    /// Caches the outcome of a request.
    fn note(&self, provider: &ResolvedModel, result: Result<Vec<ListedModel>, ListFailure>) -> KnownList {
        let now = now();
        match result {
            Ok(models) => {
                let stored = Stored::new(provider, &models, now);
                let kept = if provider.is_local { Ok(()) } else { self.store(provider, &stored) };
                let source = match kept {
                    Ok(()) => "read now".to_owned(),
                    Err(problem) => format!("read now; it could not be cached: {problem}"),
                };
                KnownList { listing: ModelListing::Read(models), source }
            }
            Err(failure) if failure.key_refused || provider.is_local => {
                KnownList { source: failure.why.clone(), listing: ModelListing::Failed(failure) }
            }
            Err(failure) => {
                let mut stored = self.load(provider).unwrap_or_else(|| Stored::new(provider, &[], 0));
                stored.failed_at = now;
                stored.failure.clone_from(&failure.why);
                let _ = self.store(provider, &stored);
                stored.instead_of(failure, now)
            }
        }
    }

    fn name(provider: &ResolvedModel) -> Option<String> {
        let key = format!("{}\0{}", provider.wire.name(), provider.base_url.as_deref()?);
        // We use FNV-1a because file names must be the same in every build. On a collision, the file's
        // content identifies its provider.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Some(format!("{}-{hash:016x}.json", provider.name))
    }

    fn load(&self, provider: &ResolvedModel) -> Option<Stored> {
        if provider.is_local {
            return None;
        }
        let directory = self.place.as_ref()?.open().ok()??;
        let text = directory.read(Self::name(provider)?, MAX_BYTES).ok()??;
        let stored: Stored = serde_json::from_slice(&text).ok()?;
        let is_its = stored.version == VERSION
            && stored.provider == provider.name
            && stored.wire == provider.wire.name()
            && Some(stored.base_url.as_str()) == provider.base_url.as_deref();
        is_its.then_some(stored)
    }

    /// Replaces the file atomically. On an error, this returns the reason and keeps the old file.
    fn store(&self, provider: &ResolvedModel, stored: &Stored) -> Result<(), String> {
        let place = self.place.as_ref().ok_or("can't find your cache directory")?;
        let name = Self::name(provider).ok_or("the provider has no address")?;
        let text = serde_json::to_vec(stored).map_err(|error| error.to_string())?;
        let written = place.create().and_then(|lists| lists.replace(name, |file| file.write_all(&text)));
        written.map_err(|error| error.to_string())
    }
}

impl Stored {
    fn new(provider: &ResolvedModel, models: &[ListedModel], read_at: u64) -> Self {
        let model = |model: &ListedModel| StoredModel {
            id: model.id.clone(),
            created: model.created,
            context_tokens: model.context_tokens,
            price: model.price.map(|price| [price.input, price.cached_input, price.output]),
        };
        Self {
            version: VERSION,
            provider: provider.name.clone(),
            wire: provider.wire.name().to_owned(),
            base_url: provider.base_url.clone().unwrap_or_default(),
            read_at,
            models: models.iter().map(model).collect(),
            ..Self::default()
        }
    }

    fn known(&self, source: String) -> KnownList {
        let model = |stored: &StoredModel| ListedModel {
            id: stored.id.clone(),
            created: stored.created,
            context_tokens: stored.context_tokens,
            price: stored.price.map(|[input, cached_input, output]| Price { input, cached_input, output }),
        };
        KnownList { listing: ModelListing::Read(self.models.iter().map(model).collect()), source }
    }

    /// Returns the cached list in place of one that can't be read, or the failure if the list is too old.
    fn instead_of(&self, failure: ListFailure, now: u64) -> KnownList {
        match age(self.read_at, now).filter(|age| *age < USABLE) {
            Some(age) => self.known(format!("{}; using the list from {} ago", failure.why, duration(age))),
            None => KnownList { source: failure.why.clone(), listing: ModelListing::Failed(failure) },
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Returns the seconds since `then`. `None` if `then` is in the future, or 0, which means never.
fn age(then: u64, now: u64) -> Option<u64> {
    now.checked_sub(then).filter(|_| then > 0)
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_a_kept_list_is_one_or_none() {
        let seeds = forage_fuzz::seeds([
            r#"{"version":1,"provider":"acme","wire":"openai-chat","base_url":"https://h","read_at":1700000000,"models":[{"id":"one","created":1,"context_tokens":128000,"price":[0.1,0.05,2.0]},{"id":"two"}],"failed_at":0,"failure":""}"#,
            r#"{"version":1,"provider":"","wire":"","base_url":"","read_at":0,"models":[]}"#,
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let Ok(stored) = serde_json::from_slice::<Stored>(input) else { return };
            let ModelListing::Read(models) = stored.known(String::new()).listing else {
                panic!("a list is one")
            };
            assert_eq!(models.len(), stored.models.len());
            for now in [0, stored.read_at, stored.read_at.saturating_add(USABLE), u64::MAX] {
                let is_used =
                    matches!(stored.instead_of(ListFailure::new("no"), now).listing, ModelListing::Read(_));
                let is_young = now >= stored.read_at && stored.read_at > 0 && now - stored.read_at < USABLE;
                assert_eq!(is_used, is_young, "{} {now}", stored.read_at);
            }
        });
    }
}
