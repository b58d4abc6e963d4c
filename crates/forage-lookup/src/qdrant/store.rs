//! The store on a server.

use std::time::Instant;

use forage_base::Stop;
use forage_http::ureq::http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::contract::Contract;
use crate::filter::PointFilter;
use crate::limits;
use crate::point_id::PointId;
use crate::qdrant::calls::{Calls, CollectionRequest};
use crate::qdrant::settings::ServerSettings;
use crate::qdrant::shards::{Shards, all_keys, is_coming_collection, is_coming_shard, is_missing_shard};
use crate::qdrant::wire::{
    self, CountResult, QueryResponse, Record, ScrollResult, SentPoint, SentPoints, SentVector, UpdateResult,
};
use crate::store::{
    Collection, Creation, Point, PointHit, PointPage, PointQuery, PointReader, PointScan, PointStore,
    ShardLayout, StoreError, VectorFacts, WeightedHit,
};

/// A collection on a Qdrant server or cluster.
///
/// Calls block the current thread, even inside an async runtime.
pub struct ServerStore {
    calls: Calls,
    shards: Option<Shards>,
}

impl ServerStore {
    /// Validates the settings. This does not connect, so an unreachable server will only be noticed by the
    /// first request.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Invalid`] if the address is invalid, if the name of the collection is empty, or
    /// if the key would be sent over the network in plain text.
    pub fn connect(settings: ServerSettings) -> Result<Self, StoreError> {
        let calls = Calls::new(&settings)?;
        Ok(Self { calls, shards: settings.shard_key_field.map(Shards::new) })
    }

    /// Sends JSON and waits for the answer.
    fn send<Answer: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        stop: &Stop,
    ) -> Result<Answer, StoreError> {
        let (body, max_bytes) = (self.json(body)?, limits::RESPONSE_BYTES);
        self.calls.ask(&CollectionRequest { method, path, body, max_bytes }, stop)
    }

    fn json(&self, body: &impl Serialize) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(body).map_err(|error| self.calls.server.invalid(&error.to_string()))
    }

    /// Sends a write and waits until it is applied.
    fn write(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        stop: &Stop,
    ) -> Result<(), StoreError> {
        let UpdateResult { status } = self.send(method, path, body, stop)?;
        match &*status {
            "completed" => Ok(()),
            "acknowledged" | "wait_timeout" => Err(StoreError::Timeout(format!(
                "{}: the server accepted the points but has not applied them yet; check its load, or write \
                 fewer at once",
                self.place()
            ))),
            "clock_rejected" => Err(StoreError::Unavailable(format!(
                "{}: another write came first; write the points again",
                self.place()
            ))),
            _ => Err(self.calls.server.invalid("the server does not say whether it wrote the points")),
        }
    }

    fn upsert_into(
        &self,
        points: &[Point],
        using: &str,
        shard_key: Option<&str>,
        stop: &Stop,
    ) -> Result<(), StoreError> {
        let points = points.iter().map(|point| sent_point(point, using)).collect();
        let sent = SentPoints { points, shard_key };
        self.write(Method::PUT, "/points?wait=true", &sent, stop)
    }

    /// Creates a shard, unless we know that it exists. Another process may have created it.
    fn need_shard(&self, shards: &Shards, key: &str, stop: &Stop) -> Result<(), StoreError> {
        if shards.known().contains_key(key) {
            return Ok(());
        }
        match self.send::<Value>(Method::PUT, "/shards", &json!({ "shard_key": key }), stop) {
            Ok(_) | Err(StoreError::Exists(_)) => {
                shards.known().insert(key.to_owned(), Instant::now());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Repeats a request while another process is still creating the collection.
    fn when_created<Answer>(
        &self,
        stop: &Stop,
        ask: impl Fn() -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        let began = Instant::now();
        loop {
            match ask() {
                Err(error)
                    if is_coming_collection(&error)
                        && began.elapsed() < limits::SHARD_TIMEOUT
                        && stop.wait(limits::SHARD_PAUSE).is_none() => {}
                answer => return answer,
            }
        }
    }

    /// Asks only the shards that a filter selects. If one of them does not exist, the server rejects the
    /// request. We then ask all shards, and the filter alone selects the points.
    fn ask_shards<Answer>(
        &self,
        filter: &PointFilter,
        mut ask: impl FnMut(Option<Vec<String>>) -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        let Some(keys) = self.shards.as_ref().and_then(|shards| shards.for_filter(filter)) else {
            return ask(None);
        };
        match ask(Some(keys)) {
            Err(error) if is_missing_shard(&error) => ask(None),
            answer => answer,
        }
    }

    /// Builds the body of a query request. Returns `None` for a query that can't find anything.
    fn nearest(query: &PointQuery<'_>, with_vector: bool) -> Option<Map<String, Value>> {
        let filter = wire::to_filter(query.filter)?;
        let request = json!({
            "query": {"nearest": SentVector::new(query.vector)},
            "using": query.using,
            "filter": filter,
            "limit": query.limit.min(limits::SERVER_HITS),
            "with_payload": wire::to_selector(query.fields),
            "with_vector": if with_vector { json!([query.using]) } else { Value::Bool(false) },
        });
        (!query.vector.is_empty() && query.limit > 0).then(|| without_nulls(&request))
    }

    fn id(&self, id: &Value) -> Result<PointId, StoreError> {
        wire::from_id(id)
            .ok_or_else(|| self.calls.server.invalid("the server returned a point without a usable id"))
    }

    fn bare<Answer: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        stop: &Stop,
    ) -> Result<Answer, StoreError> {
        let max_bytes = limits::RESPONSE_BYTES;
        self.calls.ask(&CollectionRequest { method, path, body: Vec::new(), max_bytes }, stop)
    }
}

fn sent_point<'a>(point: &'a Point, using: &'a str) -> SentPoint<'a> {
    SentPoint {
        id: wire::to_id(point.id),
        vector: [(using, SentVector::new(&point.vector))].into(),
        payload: &point.payload,
    }
}

/// Builds the body for creating a collection. The server chooses the settings that we omit.
fn creation_body(creation: &Creation) -> Value {
    let sharding = &creation.sharding;
    let vector = json!({"index": {"on_disk": sharding.is_on_disk}, "modifier": "idf"});
    let mut body = json!({
        "sparse_vectors": {&creation.using: vector},
        "on_disk_payload": true,
        "metadata": {Contract::KEY: creation.contract.as_str()},
    });
    let numbers = [
        ("shard_number", sharding.shards),
        ("replication_factor", sharding.replicas),
        ("write_consistency_factor", sharding.write_consistency),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            body[name] = number.into();
        }
    }
    if sharding.key_field.is_some() {
        body["sharding_method"] = "custom".into();
    }
    body
}

impl PointReader for ServerStore {
    fn place(&self) -> String {
        self.calls.server.place.clone()
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        let info: Value = match self.when_created(stop, || self.bare(Method::GET, "", stop)) {
            Ok(info) => info,
            Err(StoreError::NoCollection(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let config = &info["config"];
        let Some(params) = config["params"].as_object() else {
            return Err(self.calls.server.invalid("the server returned no collection parameters"));
        };
        let is_custom = params.get("sharding_method").is_some_and(|method| method == "custom");
        let shards = params.get("shard_number").and_then(Value::as_u64).unwrap_or(1);
        let layout = match (is_custom, shards) {
            (true, _) => ShardLayout::Keyed,
            (false, 0 | 1) => ShardLayout::Single,
            (false, shards) => ShardLayout::Hashed(shards.try_into().unwrap_or(u32::MAX)),
        };
        let vectors = params.get("sparse_vectors").and_then(Value::as_object).into_iter().flatten();
        let facts = |vector: &Value| VectorFacts { has_idf: vector["modifier"] == "idf" };
        Ok(Some(Collection {
            sparse_vectors: vectors.map(|(name, vector)| (name.clone(), facts(vector))).collect(),
            contract: config["metadata"][Contract::KEY].as_str().map(Contract::from_metadata),
            points: info["points_count"].as_u64().unwrap_or_default(),
            layout,
        }))
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        let Some(mut request) = Self::nearest(query, false) else { return Ok(Vec::new()) };
        let hits: QueryResponse = self.ask_shards(query.filter, |shard_key| {
            name_shards(&mut request, shard_key);
            self.send(Method::POST, "/points/query", &request, stop)
        })?;
        let hit = |mut point: Record| {
            Ok(PointHit { id: self.id(&point.id)?, score: point.score, payload: point.payload() })
        };
        hits.points.into_iter().map(hit).collect()
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        let requests = queries.iter().map(|query| {
            let mut request = Self::nearest(&PointQuery { fields: &[], ..query.clone() }, with_vectors)?;
            let shard_key = self.shards.as_ref().and_then(|shards| shards.for_filter(query.filter));
            name_shards(&mut request, shard_key);
            Some(request)
        });
        let requests: Vec<_> = requests.collect();
        let mut searches: Vec<_> = requests.iter().flatten().cloned().collect();
        if searches.is_empty() {
            return Ok(requests.iter().map(|_| Vec::new()).collect());
        }
        let limit: u64 = queries.iter().map(|query| query.limit.min(limits::SERVER_HITS) as u64).sum();
        // Without vectors, we know how long an answer can be. This bounds its memory much more tightly.
        let max_bytes = match with_vectors {
            true => limits::RESPONSE_BYTES,
            false => limits::REFUSAL_BYTES + limit * limits::BARE_HIT_BYTES,
        };
        let ask = |searches: &[Map<String, Value>]| -> Result<Vec<QueryResponse>, StoreError> {
            let (body, path) = (self.json(&json!({ "searches": searches }))?, "/points/query/batch");
            self.calls.ask(&CollectionRequest { method: Method::POST, path, body, max_bytes }, stop)
        };
        let answers = match ask(&searches) {
            Err(error) if is_missing_shard(&error) => {
                searches.iter_mut().for_each(|search| name_shards(search, None));
                ask(&searches)?
            }
            answers => answers?,
        };
        let mut answers = answers.into_iter();
        let one = |(query, request): (&PointQuery<'_>, &Option<_>)| {
            if request.is_none() {
                return Ok(Vec::new());
            }
            let lacking = || self.calls.server.invalid("the server answered fewer queries than were sent");
            let hit = |mut point: Record| {
                let vector = point.vector(query.using);
                Ok(WeightedHit { id: self.id(&point.id)?, score: point.score, vector })
            };
            answers.next().ok_or_else(lacking)?.points.into_iter().map(hit).collect()
        };
        queries.iter().zip(&requests).map(one).collect()
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        let Some(filter) = wire::to_filter(scan.filter) else { return Ok(PointPage::default()) };
        if scan.limit == 0 {
            return Ok(PointPage { points: Vec::new(), next: scan.from });
        }
        let page: ScrollResult = self.ask_shards(scan.filter, |shard_key| {
            let body = json!({
                "filter": filter,
                "offset": scan.from.map(wire::to_id),
                "limit": scan.limit.min(limits::SERVER_PAGE_POINTS),
                "with_payload": wire::to_selector(scan.fields),
                "with_vector": false,
                "shard_key": shard_key,
            });
            self.when_created(stop, || self.send(Method::POST, "/points/scroll", &without_nulls(&body), stop))
        })?;
        let point = |mut point: Record| Ok((self.id(&point.id)?, point.payload()));
        Ok(PointPage {
            points: page.points.into_iter().map(point).collect::<Result<_, StoreError>>()?,
            next: page.next_page_offset.map(|id| self.id(&id)).transpose()?,
        })
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        let Some(chosen) = wire::to_filter(filter) else { return Ok(0) };
        let counted: CountResult = self.ask_shards(filter, |shard_key| {
            let body = without_nulls(&json!({"filter": chosen, "exact": true, "shard_key": shard_key}));
            self.when_created(stop, || self.send(Method::POST, "/points/count", &body, stop))
        })?;
        Ok(counted.count)
    }
}

impl PointStore for ServerStore {
    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError> {
        let settled = self.shards.as_ref().map(|shards| &shards.field);
        if settled != creation.sharding.key_field.as_ref() {
            let what = "the shard key field differs from the settings";
            return Err(self.calls.server.invalid(what));
        }
        let is_made: bool = self.send(Method::PUT, "", &creation_body(creation), stop)?;
        if !is_made {
            let what = "the server did not create the collection and gave no reason";
            return Err(self.calls.server.invalid(what));
        }
        self.index_fields(&creation.indexed_fields, stop)
    }

    fn index_fields(&self, fields: &[String], stop: &Stop) -> Result<(), StoreError> {
        let information: Value = self.when_created(stop, || self.bare(Method::GET, "", stop))?;
        for field in fields.iter().filter(|field| information["payload_schema"].get(field).is_none()) {
            let index = json!({"field_name": field, "field_schema": "keyword"});
            self.send::<Value>(Method::PUT, "/index?wait=true", &index, stop)?;
        }
        Ok(())
    }

    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError> {
        if points.is_empty() {
            return Ok(());
        }
        let Some(shards) = &self.shards else {
            return self.when_created(stop, || self.upsert_into(&points, using, None, stop));
        };
        let groups = shards.group(points).map_err(|what| self.calls.server.invalid(&what))?;
        for (key, points) in groups {
            self.need_shard(shards, &key, stop)?;
            loop {
                match self.upsert_into(&points, using, Some(&key), stop) {
                    Ok(()) => break,
                    Err(error)
                        if shards.is_new(&key)
                            && is_coming_shard(&error)
                            && stop.wait(limits::SHARD_PAUSE).is_none() => {}
                    Err(error) => {
                        // Another process may have recreated the collection, so we must forget the shard.
                        shards.known().remove(&key);
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut body = json!({"points": ids.iter().map(|&id| wire::to_id(id)).collect::<Vec<_>>()});
        if self.shards.is_some() {
            // We do not know the shard of an id, and the server rejects this request without shards.
            let cluster: Value = self.bare(Method::GET, "/cluster", stop)?;
            let keys = all_keys(&cluster);
            if keys.is_empty() {
                return Ok(());
            }
            body["shard_key"] = json!(keys);
        }
        self.write(Method::POST, "/points/delete?wait=true", &body, stop)
    }

    /// Does nothing, because a server optimizes its collections itself.
    fn finish(&self, _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError> {
        let was_there = match self.bare(Method::DELETE, "", stop) {
            Ok(was_there) => was_there,
            Err(StoreError::NoCollection(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        // A new collection with this name will have no shards.
        if let Some(shards) = &self.shards {
            shards.known().clear();
        }
        Ok(was_there)
    }
}

/// Restricts a request to these shards. `None` means all shards.
fn name_shards(request: &mut Map<String, Value>, keys: Option<Vec<String>>) {
    match keys {
        Some(keys) => request.insert("shard_key".to_owned(), keys.into()),
        None => request.remove("shard_key"),
    };
}

/// Copies the fields of a request that are not null.
fn without_nulls(body: &Value) -> Map<String, Value> {
    let said = body.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    said.map(|(name, value)| (name.clone(), value.clone())).collect()
}
