//! Providers' model lists, kept for a day in the user's cache directory. They hold ids and no key, and a file that
//! can't be read is no file.
#![expect(clippy::disallowed_methods, reason = "the user's own cache, not a file of a repository")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forage_llm::limits::LOCAL_LIST_TIMEOUT;
use forage_llm::{CallBudget, ListFailure, ListedModel, Listing, ModelLister, Price, Resolved};
use serde::{Deserialize, Serialize};

use crate::private_file;

/// How long a list counts as the provider's, in seconds: providers change theirs every few days.
const FRESH: u64 = 24 * 60 * 60;

/// How long a list stands in for one that can't be read, in seconds. Older ones know less than the table.
const USABLE: u64 = 30 * FRESH;

/// How long after a failure a list is not asked for again, in seconds: searches in a row must not all wait for it.
const PAUSE: u64 = 60;

/// Bytes of a file. A list of thousands of models has some hundred thousand.
const MOST_BYTES: u64 = 4 << 20;

/// The form of the files.
const VERSION: u32 = 1;

/// The files.
#[derive(Clone, Debug)]
pub(crate) struct ModelLists {
    directory: Option<PathBuf>,
}

/// A list, and in words where it is from.
#[derive(Clone, Debug)]
pub(crate) struct KnownList {
    pub(crate) listing: Listing,
    pub(crate) source: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    provider: String,
    wire: String,
    base_url: String,
    /// Seconds since 1970; 0 for no list yet.
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
    /// Input, cached input, output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<[f64; 3]>,
}

impl ModelLists {
    pub(super) fn new(cache: Option<PathBuf>) -> Self {
        Self { directory: cache.map(|cache| cache.join("model-lists")) }
    }

    /// The list without asking for it; none when it is time to ask.
    pub(super) fn kept(&self, provider: &Resolved) -> Option<KnownList> {
        let stored = self.load(provider)?;
        let now = now();
        match age(stored.read_at, now) {
            Some(age) if age < FRESH => Some(stored.known(format!("cached {} ago", duration(age)))),
            _ if age(stored.failed_at, now)? < PAUSE => {
                let failure = ListFailure::because(stored.failure.clone());
                Some(stored.instead_of(failure, now))
            }
            _ => None,
        }
    }

    /// Asks for the lists, all at once, and keeps them. By the deadline it has returned.
    pub(super) fn read(
        &self,
        providers: &[&Resolved],
        lister: &dyn ModelLister,
        deadline: Instant,
    ) -> BTreeMap<String, KnownList> {
        std::thread::scope(|scope| {
            let ask = |provider: &Resolved| {
                // Of this machine's servers nothing is kept: they come and go.
                let own = if provider.is_local { LOCAL_LIST_TIMEOUT } else { Duration::MAX };
                let until = Instant::now().checked_add(own).map_or(deadline, |own| own.min(deadline));
                lister.list(provider, &CallBudget::until(until))
            };
            let threads: Vec<_> =
                providers.iter().map(|provider| (*provider, scope.spawn(move || ask(provider)))).collect();
            let mut lists = BTreeMap::new();
            for (provider, thread) in threads {
                let result =
                    thread.join().unwrap_or_else(|_| Err(ListFailure::because("it could not be read")));
                lists.insert(provider.name.clone(), self.note(provider, result));
            }
            lists
        })
    }

    /// Keeps what came of asking.
    fn note(&self, provider: &Resolved, result: Result<Vec<ListedModel>, ListFailure>) -> KnownList {
        let now = now();
        match result {
            Ok(models) => {
                let stored = Stored::new(provider, &models, now);
                let kept = provider.is_local || self.store(provider, &stored).is_some();
                let source = if kept { "read now" } else { "read now; it could not be cached" };
                KnownList { listing: Listing::Read(models), source: source.to_owned() }
            }
            Err(failure) if failure.key_refused || provider.is_local => {
                KnownList { source: failure.why.clone(), listing: Listing::Failed(failure) }
            }
            Err(failure) => {
                let mut stored = self.load(provider).unwrap_or_else(|| Stored::new(provider, &[], 0));
                stored.failed_at = now;
                stored.failure.clone_from(&failure.why);
                self.store(provider, &stored);
                stored.instead_of(failure, now)
            }
        }
    }

    fn path(&self, provider: &Resolved) -> Option<PathBuf> {
        let key = format!("{}\0{}", provider.wire.name(), provider.base_url.as_deref()?);
        // FNV-1a: names must be the same in every build. What is in the file says whose it is.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Some(self.directory.as_ref()?.join(format!("{}-{hash:016x}.json", provider.name)))
    }

    fn load(&self, provider: &Resolved) -> Option<Stored> {
        if provider.is_local {
            return None;
        }
        let mut text = String::new();
        let file = File::open(self.path(provider)?).ok()?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
        let stored: Stored = serde_json::from_str(&text).ok()?;
        let is_its = stored.version == VERSION
            && stored.provider == provider.name
            && stored.wire == provider.wire.name()
            && Some(stored.base_url.as_str()) == provider.base_url.as_deref();
        is_its.then_some(stored)
    }

    /// Replaces the file as a whole; nothing when that fails, which leaves the one before.
    fn store(&self, provider: &Resolved, stored: &Stored) -> Option<()> {
        let path = self.path(provider)?;
        let text = serde_json::to_string(stored).ok()?;
        private_file::replace(&path, text.as_bytes()).ok()
    }
}

impl Stored {
    fn new(provider: &Resolved, models: &[ListedModel], read_at: u64) -> Self {
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
        KnownList { listing: Listing::Read(self.models.iter().map(model).collect()), source }
    }

    /// The kept list in place of one that can't be read; the failure when it is too old.
    fn instead_of(&self, failure: ListFailure, now: u64) -> KnownList {
        match age(self.read_at, now).filter(|age| *age < USABLE) {
            Some(age) => self.known(format!("{}; the list of {} ago is used", failure.why, duration(age))),
            None => KnownList { source: failure.why.clone(), listing: Listing::Failed(failure) },
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Seconds since then; none for never and for the future.
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
