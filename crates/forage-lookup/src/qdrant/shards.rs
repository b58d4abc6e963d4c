//! Collections that are sharded by a payload field.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::filter::{PointFilter, Readings, Test};
use crate::limits;
use crate::store::{Point, StoreError};

/// The field, and the shards that are known to be there, with the time at which that became known.
pub(crate) struct Shards {
    pub(crate) field: String,
    known: Mutex<BTreeMap<String, Instant>>,
}

impl Shards {
    pub(crate) fn new(field: String) -> Self {
        Self { field, known: Mutex::default() }
    }

    /// The points by their values of the field; or the first that has no text there.
    pub(crate) fn group(&self, points: Vec<Point>) -> Result<BTreeMap<String, Vec<Point>>, String> {
        let mut groups: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for point in points {
            let Some(key) = point.payload.get(&self.field).and_then(Value::as_str) else {
                return Err(format!(
                    "point {} has no text in `{}`, which names its shard",
                    point.id, self.field
                ));
            };
            groups.entry(key.to_owned()).or_default().push(point);
        }
        Ok(groups)
    }

    /// The shards where the points of a filter are; `None` if they may be in every one.
    pub(crate) fn of_filter(&self, filter: &PointFilter) -> Option<Vec<String>> {
        let condition = filter.conditions.iter().find(|condition| condition.field == self.field)?;
        let Test::AnyOf(values) = &condition.test else { return None };
        // Shards are named by texts.
        let values: BTreeSet<String> = Readings::from_values(values).texts.into_iter().collect();
        Some(values.into_iter().collect())
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a shard was made so short a time ago that not every node of a cluster needs to have it yet.
    pub(crate) fn is_new(&self, key: &str) -> bool {
        self.known().get(key).is_some_and(|since| since.elapsed() < limits::SHARD_PATIENCE)
    }
}

/// The keys of a collection's shards, each once, of what a server says of them.
pub(crate) fn all_keys(cluster: &Value) -> Vec<&Value> {
    let shards = ["local_shards", "remote_shards"].into_iter().filter_map(|place| cluster[place].as_array());
    let mut keys: Vec<&Value> = Vec::new();
    for key in shards.flatten().map(|shard| &shard["shard_key"]) {
        if !key.is_null() && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Whether a write came before the shard: the cluster has agreed on it, and no node has made it yet.
pub(crate) fn is_coming_shard(error: &StoreError) -> bool {
    is_missing_shard(error) || is_coming_collection(error)
}

/// Whether nothing of a collection can be asked or written (yet): somebody is just making it, and no node has made its shards.
pub(crate) fn is_coming_collection(error: &StoreError) -> bool {
    match error {
        StoreError::Invalid(message) => message.contains("No target shard"),
        // At first none of its copies counts as active.
        StoreError::Unavailable(message) => {
            message.contains("`Active` replica") || message.contains("0 of 0 read operations")
        }
        _ => false,
    }
}

/// Whether a request named a shard that is not there (yet).
pub(crate) fn is_missing_shard(error: &StoreError) -> bool {
    matches!(error, StoreError::Invalid(message) if message.contains("Shard key") && message.contains("not found"))
}
