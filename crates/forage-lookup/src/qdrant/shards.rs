//! Collections that are sharded by a payload field.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::filter::{PointFilter, Readings, Test};
use crate::limits;
use crate::store::{Point, StoreError};

/// The field, and the shards that we know to exist, with the time at which we learned this.
pub(crate) struct Shards {
    pub(crate) field: String,
    known: Mutex<BTreeMap<String, Instant>>,
}

impl Shards {
    pub(crate) fn new(field: String) -> Self {
        Self { field, known: Mutex::default() }
    }

    /// Groups points by their value of the field. Fails at the first point without a text there.
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

    /// Returns the shards that contain the points of a filter, or `None` if any shard may contain some.
    pub(crate) fn for_filter(&self, filter: &PointFilter) -> Option<Vec<String>> {
        let condition = filter.conditions.iter().find(|condition| condition.field == self.field)?;
        let Test::AnyOf(values) = &condition.test else { return None };
        // The names of shards are texts, so other readings of a value do not matter.
        let values: BTreeSet<String> = Readings::from_values(values).texts.into_iter().collect();
        Some(values.into_iter().collect())
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a shard was created so recently that some nodes of a cluster may not have it yet.
    pub(crate) fn is_new(&self, key: &str) -> bool {
        self.known().get(key).is_some_and(|since| since.elapsed() < limits::SHARD_TIMEOUT)
    }
}

/// Lists the distinct shard keys of a collection from the server's cluster information.
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

/// Returns true if a write arrived before its shard: the cluster has agreed on this shard, but no node has
/// created it yet.
pub(crate) fn is_coming_shard(error: &StoreError) -> bool {
    is_missing_shard(error) || is_coming_collection(error)
}

/// Returns true if a collection can't be used yet, because it is being created and no node has its shards.
pub(crate) fn is_coming_collection(error: &StoreError) -> bool {
    match error {
        StoreError::Invalid(message) => message.contains("No target shard"),
        // The server answers this as long as none of the copies is active.
        StoreError::Unavailable(message) => {
            message.contains("`Active` replica") || message.contains("0 of 0 read operations")
        }
        _ => false,
    }
}

/// Returns true if a request named a shard that does not exist, or does not exist yet.
pub(crate) fn is_missing_shard(error: &StoreError) -> bool {
    matches!(error, StoreError::Invalid(message) if message.contains("Shard key") && message.contains("not found"))
}
