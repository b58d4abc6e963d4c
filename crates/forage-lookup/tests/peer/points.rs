//! In-memory collections with the interface of a server. Statuses and messages are those of a real server.
//! Scores follow its formula, with document frequencies counted per shard.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::http::{Reply, Request};

/// All collections, and scheduled failures.
#[derive(Default)]
pub(crate) struct Peer {
    key: Option<String>,
    collections: Mutex<BTreeMap<String, Collection>>,
    faults: Mutex<Vec<Fault>>,
}

/// Replies that we give instead of the next answers to some requests.
struct Fault {
    /// The end of the paths of these requests.
    on: String,
    times: u64,
    reply: Reply,
}

#[derive(Default)]
struct Collection {
    /// The settings with which this collection was created.
    made: Value,
    points: BTreeMap<Id, Point>,
    /// The vectors by shard number or key, and by vector name.
    shards: BTreeMap<(String, String), Shard>,
    /// The shard keys, if the collection is sharded by key.
    keys: BTreeSet<String>,
}

/// An id. Numbers come before UUIDs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Id {
    Number(u64),
    Uuid(String),
}

struct Point {
    shard: String,
    vectors: Map<String, Value>,
    payload: Map<String, Value>,
}

/// The sparse vectors with one name in a shard.
#[derive(Default)]
struct Shard {
    points: usize,
    postings: HashMap<u32, BTreeMap<Id, f32>>,
}

type Refused = (u16, String);

fn bad(error: impl Into<String>) -> Refused {
    (400, format!("Wrong input: {}", error.into()))
}

impl Peer {
    pub(crate) fn new(key: Option<&str>) -> Self {
        Self { key: key.map(str::to_owned), ..Self::default() }
    }

    pub(crate) fn answer(&self, asked: &Request) -> Reply {
        if asked.path() == "/" {
            let body = json!({"title": "qdrant - vector search engine", "version": "1.20.0", "commit": ""});
            return Reply::Json { status: 200, headers: Vec::new(), body };
        }
        if let Some(key) = &self.key {
            let bearer = asked.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
            let text = match asked.header("api-key").or(bearer) {
                None => Some("Must provide an API key or an Authorization bearer token"),
                Some(given) => (given != key).then_some("Invalid API key or JWT"),
            };
            if let Some(text) = text {
                return Reply::Text { status: 401, text: text.to_owned() };
            }
        }
        if asked.path() == "/fault" {
            return self.plan(&asked.body);
        }
        if let Some(reply) = self.fault(asked.path()) {
            return reply;
        }
        let path = percent_encoding::percent_decode_str(asked.path()).decode_utf8_lossy().into_owned();
        let mut parts = path.trim_start_matches('/').splitn(3, '/');
        let (root, name, rest) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
        let mut collections = self.collections.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match (root, name) {
            (Some("collections"), None) => {
                let names = collections.keys().map(|name| json!({ "name": name })).collect::<Vec<_>>();
                Ok(json!({ "collections": names }))
            }
            (Some("collections"), Some(name)) => {
                of_collection(&mut collections, name, &format!("{} {rest}", asked.method), &asked.body)
            }
            _ => return Reply::Text { status: 404, text: String::new() },
        };
        match answer {
            Ok(result) => Reply::result(result),
            Err((status, error)) => Reply::error(status, &error),
        }
    }

    /// Schedules a failure of the next requests whose path ends with `on`. `reply` must be `hang`, `close` or
    /// a status.
    fn plan(&self, order: &Value) -> Reply {
        let reply = match order["reply"].as_u64() {
            Some(status) => {
                let seconds =
                    order["retry_after"].as_u64().map(|seconds| ("retry-after", seconds.to_string()));
                let body = json!({"status": {"error": "a fault was ordered"}, "time": 0.0});
                Reply::Json { status: status as u16, headers: seconds.into_iter().collect(), body }
            }
            None if order["reply"] == "hang" => Reply::Never(None),
            None => Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec()),
        };
        let (on, times) = (order["on"].as_str().unwrap_or_default().to_owned(), order["times"].as_u64());
        let fault = Fault { on, times: times.unwrap_or(1), reply };
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
        Reply::result(true.into())
    }

    fn fault(&self, path: &str) -> Option<Reply> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = faults.iter_mut().find(|fault| fault.times > 0 && path.ends_with(&fault.on))?;
        fault.times -= 1;
        Some(fault.reply.clone())
    }
}

fn of_collection(
    collections: &mut BTreeMap<String, Collection>,
    name: &str,
    asked: &str,
    body: &Value,
) -> Result<Value, Refused> {
    match asked {
        "PUT " if collections.contains_key(name) => {
            return Err((409, format!("Wrong input: Collection `{name}` already exists!")));
        }
        "PUT " => {
            collections.insert(name.to_owned(), Collection { made: body.clone(), ..Collection::default() });
            return Ok(true.into());
        }
        "DELETE " => return Ok(collections.remove(name).is_some().into()),
        "GET exists" => return Ok(json!({"exists": collections.contains_key(name)})),
        _ => {}
    }
    let missing = || (404, format!("Not found: Collection `{name}` doesn't exist!"));
    let collection = collections.get_mut(name).ok_or_else(missing)?;
    match asked {
        "GET " => Ok(collection.information()),
        "PATCH " => {
            let changed = body["sparse_vectors"].as_object().into_iter().flatten();
            for (vector, settings) in changed {
                collection.made["sparse_vectors"][vector] = settings.clone();
            }
            Ok(true.into())
        }
        "GET cluster" => Ok(collection.cluster()),
        "PUT index" => {
            let field = body["field_name"].as_str().unwrap_or_default();
            collection.made["payload_schema"][field] =
                json!({"data_type": body["field_schema"], "points": 0});
            Ok(completed())
        }
        "PUT shards" if !collection.is_keyed() => {
            Err((400, "Bad request: Can't create shard key: the collection is not sharded by key".to_owned()))
        }
        "PUT shards" => {
            let key = body["shard_key"].as_str().unwrap_or_default();
            match collection.keys.insert(key.to_owned()) {
                true => Ok(true.into()),
                false => Err((409, format!("Wrong input: Sharding key {key} already exists for {name}"))),
            }
        }
        "PUT points" => collection.upsert(body),
        "POST points" => {
            let ids = ids(&body["ids"])?;
            let found = ids.iter().filter_map(|id| Some((id, collection.points.get(id)?)));
            found.map(|(id, point)| shown(id, point, body, true)).collect()
        }
        "POST points/delete" => collection.delete(body),
        "POST points/query" => collection.query(body),
        "POST points/query/batch" => {
            let searches = body["searches"].as_array().into_iter().flatten();
            searches.map(|search| collection.query(search)).collect()
        }
        "POST points/scroll" => collection.scroll(body),
        "POST points/count" => Ok(json!({"count": collection.chosen(body)?.len()})),
        _ => Err((404, format!("the peer has no {asked}"))),
    }
}

fn completed() -> Value {
    json!({"operation_id": 0, "status": "completed"})
}

impl Collection {
    fn is_keyed(&self) -> bool {
        self.made["sharding_method"] == "custom"
    }

    fn information(&self) -> Value {
        let mut params =
            json!({"vectors": {}, "replication_factor": 1, "write_consistency_factor": 1, "shard_number": 1});
        let settings = [
            "vectors",
            "sparse_vectors",
            "shard_number",
            "sharding_method",
            "on_disk_payload",
            "replication_factor",
        ];
        for setting in settings {
            if !self.made[setting].is_null() {
                params[setting] = self.made[setting].clone();
            }
        }
        json!({
            "status": "green", "optimizer_status": "ok", "segments_count": 1,
            "payload_schema": self.made.get("payload_schema").cloned().unwrap_or_else(|| json!({})),
            "points_count": self.points.len(), "indexed_vectors_count": self.points.len(),
            "config": {
                "params": params,
                "metadata": self.made["metadata"],
                // Clients expect these fields.
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1_000,
                    "default_segment_number": 0, "flush_interval_sec": 5},
                "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
            },
        })
    }

    fn cluster(&self) -> Value {
        let shard = |(number, key): (usize, &String)| json!({"shard_id": number, "shard_key": key, "points_count": 0, "state": "Active"});
        let shards: Vec<Value> = self.keys.iter().enumerate().map(shard).collect();
        json!({"peer_id": 1, "shard_count": shards.len(), "local_shards": shards, "remote_shards": [], "shard_transfers": []})
    }

    /// Returns the shard keys that a request names, or `None` if it applies to all.
    fn named(&self, body: &Value) -> Result<Option<BTreeSet<String>>, Refused> {
        let keys: BTreeSet<String> = match &body["shard_key"] {
            Value::Null => return Ok(None),
            Value::Array(keys) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            key => key.as_str().map(str::to_owned).into_iter().collect(),
        };
        match keys.iter().find(|key| !self.keys.contains(*key)) {
            Some(key) => Err(bad(format!("Shard key {key} not found"))),
            None => Ok(Some(keys)),
        }
    }

    fn upsert(&mut self, body: &Value) -> Result<Value, Refused> {
        let key = self.named(body)?.and_then(|keys| keys.into_iter().next());
        if self.is_keyed() && key.is_none() {
            return Err(bad("Shard key not specified"));
        }
        for point in points(body)? {
            let id = id(&point["id"])?;
            let vectors = match &point["vector"] {
                Value::Object(vectors) => vectors.clone(),
                vector => [(String::new(), vector.clone())].into_iter().collect(),
            };
            let mut indexed = Vec::new();
            for (name, vector) in vectors.iter().filter(|(_, vector)| vector.is_object()) {
                if self.made["sparse_vectors"][name].is_null() {
                    return Err(bad(format!("Not existing vector name error: {name}")));
                }
                indexed.push((name.clone(), sparse(vector)?));
            }
            self.remove(&id);
            let shards = self.made["shard_number"].as_u64().unwrap_or(1);
            let shard = key.clone().unwrap_or_else(|| (hash(&id) % shards).to_string());
            for (name, weights) in indexed {
                let part = self.shards.entry((shard.clone(), name)).or_default();
                part.points += 1;
                for (dimension, weight) in weights {
                    part.postings.entry(dimension).or_default().insert(id.clone(), weight);
                }
            }
            let payload = point["payload"].as_object().cloned().unwrap_or_default();
            self.points.insert(id, Point { shard, vectors, payload });
        }
        Ok(completed())
    }

    fn remove(&mut self, id: &Id) {
        let Some(Point { shard, vectors, .. }) = self.points.remove(id) else { return };
        for (name, vector) in vectors {
            let Some(part) = self.shards.get_mut(&(shard.clone(), name)) else { continue };
            part.points -= 1;
            for (dimension, _) in sparse(&vector).unwrap_or_default() {
                if let Some(postings) = part.postings.get_mut(&dimension) {
                    postings.remove(id);
                }
            }
        }
    }

    fn delete(&mut self, body: &Value) -> Result<Value, Refused> {
        if self.is_keyed() && self.named(body)?.is_none() {
            return Err(bad("Shard key not specified"));
        }
        let ids = match &body["points"] {
            Value::Null => self.chosen(body)?.into_iter().cloned().collect(),
            list => ids(list)?,
        };
        ids.iter().for_each(|id| self.remove(id));
        Ok(completed())
    }

    /// Selects the points that pass the filter of a request, ordered by id.
    fn chosen(&self, body: &Value) -> Result<Vec<&Id>, Refused> {
        let keys = self.named(body)?;
        let is_asked = |point: &Point| keys.as_ref().is_none_or(|keys| keys.contains(&point.shard));
        let mut chosen = Vec::new();
        for (id, point) in self.points.iter().filter(|(_, point)| is_asked(point)) {
            if passes(&body["filter"], id, &point.payload)? {
                chosen.push(id);
            }
        }
        Ok(chosen)
    }

    fn query(&self, body: &Value) -> Result<Value, Refused> {
        let query =
            if body["query"]["nearest"].is_null() { &body["query"] } else { &body["query"]["nearest"] };
        let using = body["using"].as_str().unwrap_or_default();
        let settings = &self.made["sparse_vectors"][using];
        if settings.is_null() {
            return Err(bad(format!("Not existing vector name error: {using}")));
        }
        let weights = sparse(query)?;
        let (keys, has_idf) = (self.named(body)?, settings["modifier"] == "idf");
        let mut scores: HashMap<&Id, f32> = HashMap::new();
        for ((shard, name), part) in &self.shards {
            if name != using || keys.as_ref().is_some_and(|keys| !keys.contains(shard)) {
                continue;
            }
            for (dimension, weight) in &weights {
                let Some(postings) = part.postings.get(dimension) else { continue };
                let (all, with) = (part.points as f32, postings.len() as f32);
                let idf = if has_idf { ((all - with + 0.5) / (with + 0.5)).ln_1p() } else { 1.0 };
                for (id, other) in postings {
                    *scores.entry(id).or_default() += weight * idf * other;
                }
            }
        }
        let mut hits = Vec::new();
        for (id, score) in scores {
            let Some(point) = self.points.get(id) else { continue };
            if passes(&body["filter"], id, &point.payload)? {
                hits.push((score, id, point));
            }
        }
        // Among equal scores the last ids come first, so that a client which relies on another order fails.
        hits.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| two.1.cmp(one.1)));
        let (skipped, limit) = (number(&body["offset"], 0), number(&body["limit"], 10));
        let hit = |(score, id, point): (f32, &Id, &Point)| -> Result<Value, Refused> {
            let mut hit = shown(id, point, body, false)?;
            hit["score"] = json!(score);
            Ok(hit)
        };
        let hits: Vec<Value> =
            hits.into_iter().skip(skipped).take(limit).map(hit).collect::<Result<_, Refused>>()?;
        Ok(json!({ "points": hits }))
    }

    fn scroll(&self, body: &Value) -> Result<Value, Refused> {
        let from = if body["offset"].is_null() { None } else { Some(id(&body["offset"])?) };
        let limit = number(&body["limit"], 10);
        let chosen = self.chosen(body)?.into_iter();
        let mut rest = chosen.filter(|id| from.as_ref().is_none_or(|from| *id >= from));
        let page: Vec<Value> = rest
            .by_ref()
            .take(limit)
            .map(|id| shown(id, &self.points[id], body, true))
            .collect::<Result<_, Refused>>()?;
        Ok(json!({"points": page, "next_page_offset": rest.next().map(written)}))
    }
}

fn number(value: &Value, usual: usize) -> usize {
    value.as_u64().map_or(usual, |number| number as usize)
}

fn hash(id: &Id) -> u64 {
    let text = format!("{id:?}");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Parses points in either of their two forms.
fn points(body: &Value) -> Result<Vec<Value>, Refused> {
    if let Some(points) = body["points"].as_array() {
        return Ok(points.clone());
    }
    let batch = &body["batch"];
    let ids = batch["ids"].as_array().ok_or_else(|| bad("neither points nor a batch"))?;
    let point = |(index, id): (usize, &Value)| {
        let vector = match &batch["vectors"] {
            Value::Object(named) => {
                named.iter().map(|(name, all)| (name.clone(), all[index].clone())).collect()
            }
            all => all[index].clone(),
        };
        json!({"id": id, "vector": vector, "payload": batch["payloads"][index]})
    };
    Ok(ids.iter().enumerate().map(point).collect())
}

fn id(value: &Value) -> Result<Id, Refused> {
    if let Some(number) = value.as_u64() {
        return Ok(Id::Number(number));
    }
    let refused = || bad(format!("value {value} is not a valid point ID"));
    let digits: String = value.as_str().ok_or_else(refused)?.chars().filter(|digit| *digit != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(refused());
    }
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(Id::Uuid(parts.join("-").to_lowercase()))
}

fn ids(list: &Value) -> Result<Vec<Id>, Refused> {
    list.as_array().into_iter().flatten().map(id).collect()
}

fn written(id: &Id) -> Value {
    match id {
        Id::Number(number) => json!(number),
        Id::Uuid(uuid) => json!(uuid),
    }
}

fn sparse(vector: &Value) -> Result<Vec<(u32, f32)>, Refused> {
    let (Some(indices), Some(values)) = (vector["indices"].as_array(), vector["values"].as_array()) else {
        return Err(bad("the peer takes sparse vectors alone"));
    };
    if indices.len() != values.len() {
        return Err((422, "Validation error: must be the same length as indices".to_owned()));
    }
    let mut weights: Vec<(u32, f32)> = Vec::new();
    for (index, value) in indices.iter().zip(values) {
        let index = index.as_u64().and_then(|index| u32::try_from(index).ok());
        weights
            .push((index.ok_or_else(|| bad("an index is none"))?, value.as_f64().unwrap_or_default() as f32));
    }
    weights.sort_by_key(|(index, _)| *index);
    match weights.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        true => Err((422, "Validation error: must be unique".to_owned())),
        false => Ok(weights),
    }
}

/// Formats a point with the parts that a request selects.
fn shown(id: &Id, point: &Point, body: &Value, with_payload: bool) -> Result<Value, Refused> {
    let mut shown = json!({"id": written(id), "version": 0});
    let wanted = match &body["with_payload"] {
        Value::Null => Value::Bool(with_payload),
        Value::Object(selector) if selector.contains_key("include") => selector["include"].clone(),
        wanted => wanted.clone(),
    };
    shown["payload"] = match wanted {
        Value::Bool(true) => Value::Object(point.payload.clone()),
        Value::Array(fields) => {
            let mut kept = Map::new();
            for field in fields.iter().filter_map(Value::as_str) {
                keep(&mut kept, &point.payload, field);
            }
            Value::Object(kept)
        }
        Value::Bool(false) => Value::Null,
        _ => return Err(bad("the peer leaves no fields out")),
    };
    let vectors = point.vectors.iter();
    match &body["with_vector"] {
        Value::Bool(true) => {
            shown["vector"] =
                point.vectors.get("").cloned().unwrap_or_else(|| Value::Object(point.vectors.clone()));
        }
        Value::Array(names) => {
            let named = vectors.filter(|(name, _)| names.iter().any(|wanted| wanted == name.as_str()));
            shown["vector"] =
                Value::Object(named.map(|(name, vector)| (name.clone(), vector.clone())).collect());
        }
        _ => {}
    }
    Ok(shown)
}

/// Copies a field of a payload. The field may be inside an object.
fn keep(kept: &mut Map<String, Value>, payload: &Map<String, Value>, field: &str) {
    if let Some(value) = payload.get(field) {
        kept.insert(field.to_owned(), value.clone());
    } else if let Some((outer, inner)) = field.split_once('.')
        && let Some(Value::Object(payload)) = payload.get(outer)
    {
        let within = kept.entry(outer).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(within) = within {
            keep(within, payload, inner);
        }
    }
}

fn passes(filter: &Value, id: &Id, payload: &Map<String, Value>) -> Result<bool, Refused> {
    let all = |name: &str| match &filter[name] {
        Value::Null => Vec::new(),
        Value::Array(conditions) => conditions.iter().collect(),
        condition => vec![condition],
    };
    for condition in all("must") {
        if !holds(condition, id, payload)? {
            return Ok(false);
        }
    }
    for condition in all("must_not") {
        if holds(condition, id, payload)? {
            return Ok(false);
        }
    }
    let should = all("should");
    let mut is_any = should.is_empty();
    for condition in should {
        is_any |= holds(condition, id, payload)?;
    }
    Ok(is_any)
}

fn holds(condition: &Value, id: &Id, payload: &Map<String, Value>) -> Result<bool, Refused> {
    if condition["has_id"].is_array() {
        return Ok(ids(&condition["has_id"])?.contains(id));
    }
    let Some(key) = condition["key"].as_str() else { return passes(condition, id, payload) };
    let mut values = Vec::new();
    found(payload.get(key.split('.').next().unwrap_or_default().trim_end_matches("[]")), key, &mut values);
    let matched = &condition["match"];
    if let Some(range) = condition["range"].as_object() {
        let is_within = |value: f64| {
            range.iter().all(|(side, bound)| match (side.as_str(), bound.as_f64()) {
                (_, None) => true,
                ("gt", Some(bound)) => value > bound,
                ("gte", Some(bound)) => value >= bound,
                ("lt", Some(bound)) => value < bound,
                (_, Some(bound)) => value <= bound,
            })
        };
        return Ok(values.iter().filter_map(|value| value.as_f64()).any(is_within));
    }
    // Note that a whole number and the same number as a float are different values.
    let is = |wanted: &Value| values.contains(&wanted);
    match (&matched["value"], &matched["any"]) {
        (Value::Null, Value::Array(any)) => Ok(any.iter().any(is)),
        (Value::Null, _) => Err(bad("the peer takes conditions on values, ranges and ids alone")),
        (value, _) => Ok(is(value)),
    }
}

/// Collects the values at a path. For lists, this includes each item.
fn found<'a>(value: Option<&'a Value>, path: &str, values: &mut Vec<&'a Value>) {
    match (value, path.split_once('.')) {
        (Some(Value::Array(items)), _) => items.iter().for_each(|item| found(Some(item), path, values)),
        (Some(Value::Object(fields)), Some((_, inner))) => {
            let name = inner.split('.').next().unwrap_or_default().trim_end_matches("[]");
            found(fields.get(name), inner, values);
        }
        (Some(value), None) => values.push(value),
        _ => {}
    }
}
