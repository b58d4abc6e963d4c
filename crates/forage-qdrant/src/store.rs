//! The store.

use std::time::Instant;

use forage_base::Stop;
use forage_lookup::{
    Collection, Contract, Creation, Point, PointFilter, PointHit, PointId, PointPage, PointQuery, PointScan,
    PointStore, ShardLayout, StoreError, VectorFacts, WeightedHit,
};
use qdrant_client::qdrant::{self, Modifier, ShardingMethod, UpdateStatus};

use crate::calls::Calls;
use crate::convert::{self, FieldSelection};
use crate::limits;
use crate::settings::ServerSettings;
use crate::shards::{Shards, all_keys, is_coming_collection, is_coming_shard, is_missing_shard, selector};

/// One collection of a Qdrant server or cluster.
///
/// A call made from inside of an async runtime blocks the thread that it is made on; it does not panic.
pub struct ServerStore {
    calls: Calls,
    collection: String,
    shards: Option<Shards>,
}

impl ServerStore {
    /// Checks the settings and starts the threads that will talk to the server. Connects to nothing: whether the
    /// server is there, the first request shows.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] if the address is none or the key would go over the network in plain text.
    pub fn connect(settings: ServerSettings) -> Result<Self, StoreError> {
        Ok(Self {
            calls: Calls::new(&settings)?,
            collection: settings.collection,
            shards: settings.shard_key_field.map(Shards::by),
        })
    }

    /// What a server says of points that were to be there when it answered.
    fn written(&self, response: &qdrant::PointsOperationResponse) -> Result<(), StoreError> {
        let status = response.result.as_ref().map(qdrant::UpdateResult::status);
        match status {
            Some(UpdateStatus::Completed) => Ok(()),
            Some(UpdateStatus::Acknowledged | UpdateStatus::WaitTimeout) => {
                Err(StoreError::Timeout(format!(
                    "{}: the server took the points and has not written them yet; look at its load, or write fewer at once",
                    self.place()
                )))
            }
            Some(UpdateStatus::ClockRejected) => Err(StoreError::Unavailable(format!(
                "{}: another write came first; write the points again",
                self.place()
            ))),
            Some(UpdateStatus::UnknownUpdateStatus) | None => {
                Err(self.calls.server.invalid("the server does not say whether it wrote the points"))
            }
        }
    }

    fn upsert_into(
        &self,
        points: Vec<Point>,
        using: &str,
        shard: Option<qdrant::ShardKeySelector>,
        stop: &Stop,
    ) -> Result<(), StoreError> {
        let points = points.into_iter().map(|point| self.to_point(point, using));
        let request = qdrant::UpsertPoints {
            collection_name: self.collection.clone(),
            wait: Some(true),
            points: points.collect::<Result<_, _>>()?,
            shard_key_selector: shard,
            ..Default::default()
        };
        let response = self.calls.ask(stop, |client| async move { client.upsert_points(request).await })?;
        self.written(&response)
    }

    fn to_point(&self, point: Point, using: &str) -> Result<qdrant::PointStruct, StoreError> {
        let payload = convert::to_payload(point.payload).map_err(|field| {
            let what = "holds an integer above 9223372036854775807, which gRPC can't carry: make it a text";
            self.calls.server.invalid(&format!("point {}: the payload field `{field}` {what}", point.id))
        })?;
        let vectors = qdrant::NamedVectors::default().add_vector(using, convert::to_vector(&point.vector));
        Ok(qdrant::PointStruct { id: Some(convert::to_id(point.id)), payload, vectors: Some(vectors.into()) })
    }

    /// Makes a shard, unless it is known to be there. Another process may have made it.
    fn need_shard(&self, shards: &Shards, key: &str, stop: &Stop) -> Result<(), StoreError> {
        if shards.known().contains_key(key) {
            return Ok(());
        }
        let request = qdrant::CreateShardKeyRequest {
            collection_name: self.collection.clone(),
            request: Some(qdrant::CreateShardKey { shard_key: Some(key.into()), ..Default::default() }),
            timeout: None,
        };
        match self.calls.ask(stop, |client| async move { client.create_shard_key(request).await }) {
            Ok(_) | Err(StoreError::Exists(_)) => {
                shards.known().insert(key.to_owned(), Instant::now());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for a collection that somebody is just making.
    fn when_made<Answer>(
        &self,
        stop: &Stop,
        ask: impl Fn() -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        let began = Instant::now();
        loop {
            match ask() {
                Err(error)
                    if is_coming_collection(&error)
                        && began.elapsed() < limits::SHARD_PATIENCE
                        && stop.check().is_none() =>
                {
                    std::thread::sleep(limits::SHARD_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    /// Asks the shards that a filter fixes alone. One of them may not be there: then all, of which the filter chooses.
    fn ask_shards<Answer>(
        &self,
        filter: &PointFilter,
        ask: impl Fn(Option<qdrant::ShardKeySelector>) -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        let Some(selector) = self.shards.as_ref().and_then(|shards| shards.of_filter(filter)) else {
            return ask(None);
        };
        match ask(Some(selector)) {
            Err(error) if is_missing_shard(&error) => ask(None),
            answer => answer,
        }
    }

    /// The request of a query; `None` for one that finds nothing.
    fn nearest(&self, query: &PointQuery<'_>, with_vectors: bool) -> Option<qdrant::QueryPoints> {
        let filter = match convert::to_filter(query.filter) {
            FieldSelection::Nothing => return None,
            FieldSelection::All => None,
            FieldSelection::Some(filter) => Some(filter),
        };
        let (ids, weights) = (query.vector.ids().to_vec(), query.vector.weights().to_vec());
        (!ids.is_empty() && query.limit > 0).then(|| qdrant::QueryPoints {
            collection_name: self.collection.clone(),
            query: Some(qdrant::Query::new_nearest(qdrant::VectorInput::new_sparse(ids, weights))),
            using: Some(query.using.to_owned()),
            filter,
            limit: Some(query.limit.min(limits::HITS) as u64),
            with_vectors: Some(with_vectors.into()),
            with_payload: Some(convert::to_selector(query.fields)),
            ..Default::default()
        })
    }

    fn id(&self, id: Option<qdrant::PointId>) -> Result<PointId, StoreError> {
        convert::from_id(id)
            .ok_or_else(|| self.calls.server.invalid("the server gave a point without a usable id"))
    }

    fn index_field(&self, field: &str, stop: &Stop) -> Result<(), StoreError> {
        let request = qdrant::CreateFieldIndexCollection {
            collection_name: self.collection.clone(),
            wait: Some(true),
            field_name: field.to_owned(),
            field_type: Some(qdrant::FieldType::Keyword.into()),
            ..Default::default()
        };
        self.calls.ask(stop, |client| async move { client.create_field_index(request).await })?;
        Ok(())
    }

    fn creation(&self, creation: &Creation) -> qdrant::CreateCollection {
        let sharding = &creation.sharding;
        let sparse_vectors = [(creation.using.clone(), sparse_vector(sharding.is_on_disk))];
        let is_custom = sharding.key_field.is_some();
        #[expect(deprecated, reason = "its successor is unknown to servers before 1.20")]
        qdrant::CreateCollection {
            collection_name: self.collection.clone(),
            sparse_vectors_config: Some(qdrant::SparseVectorConfig { map: sparse_vectors.into() }),
            on_disk_payload: Some(true),
            shard_number: sharding.shards,
            replication_factor: sharding.replicas,
            write_consistency_factor: sharding.write_consistency,
            sharding_method: is_custom.then_some(ShardingMethod::Custom.into()),
            metadata: [(Contract::KEY.to_owned(), creation.contract.as_str().into())].into(),
            ..Default::default()
        }
    }
}

fn sparse_vector(is_on_disk: bool) -> qdrant::SparseVectorParams {
    #[expect(deprecated, reason = "its successor is unknown to servers before 1.20")]
    let index = qdrant::SparseIndexConfig { on_disk: Some(is_on_disk), ..Default::default() };
    qdrant::SparseVectorParams { index: Some(index), modifier: Some(Modifier::Idf.into()) }
}

impl PointStore for ServerStore {
    fn place(&self) -> String {
        self.calls.server.place.clone()
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        let name = self.collection.clone();
        let ask = || {
            let name = name.clone();
            self.calls.ask(stop, |client| async move { client.collection_info(name).await })
        };
        let info = match self.when_made(stop, ask) {
            Ok(response) => response.result,
            Err(StoreError::NoCollection(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let info =
            info.ok_or_else(|| self.calls.server.invalid("the server says nothing of the collection"))?;
        let config = info.config.unwrap_or_default();
        let params = config.params.unwrap_or_default();
        let layout = match (params.sharding_method(), params.shard_number) {
            (ShardingMethod::Custom, _) => ShardLayout::Keyed,
            (ShardingMethod::Auto, 0 | 1) => ShardLayout::Single,
            (ShardingMethod::Auto, shards) => ShardLayout::Hashed(shards),
        };
        let vectors = params.sparse_vectors_config.unwrap_or_default().map;
        let facts =
            |vector: qdrant::SparseVectorParams| VectorFacts { has_idf: vector.modifier() == Modifier::Idf };
        let contract = config.metadata.get(Contract::KEY).and_then(|value| value.as_str());
        Ok(Some(Collection {
            sparse_vectors: vectors.into_iter().map(|(name, vector)| (name, facts(vector))).collect(),
            contract: contract.map(|text| Contract::of_collection(text)),
            points: info.points_count.unwrap_or_default(),
            layout,
        }))
    }

    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError> {
        let settled = self.shards.as_ref().map(|shards| &shards.field);
        if settled != creation.sharding.key_field.as_ref() {
            let what = "the collection would be sharded by another payload field than the settings say";
            return Err(self.calls.server.invalid(what));
        }
        let request = self.creation(creation);
        let response =
            self.calls.ask(stop, |client| async move { client.create_collection(request).await })?;
        if !response.result {
            return Err(self
                .calls
                .server
                .invalid("the server did not make the collection and does not say why"));
        }
        for field in &creation.indexed_fields {
            self.index_field(field, stop)?;
        }
        Ok(())
    }

    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError> {
        if points.is_empty() {
            return Ok(());
        }
        let Some(shards) = &self.shards else {
            return self.when_made(stop, || self.upsert_into(points.clone(), using, None, stop));
        };
        let groups = shards.group(points).map_err(|what| self.calls.server.invalid(&what))?;
        for (key, mut points) in groups {
            self.need_shard(shards, &key, stop)?;
            loop {
                let is_new = shards.is_new(&key);
                let sent = if is_new { points.clone() } else { std::mem::take(&mut points) };
                let shard = Some(selector(vec![key.as_str().into()]));
                match self.upsert_into(sent, using, shard, stop) {
                    Ok(()) => break,
                    Err(error) if is_new && is_coming_shard(&error) && stop.check().is_none() => {
                        std::thread::sleep(limits::SHARD_PAUSE);
                    }
                    Err(error) => {
                        // The collection may have been made anew by another process.
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
        let mut request = qdrant::DeletePoints {
            collection_name: self.collection.clone(),
            wait: Some(true),
            points: Some(ids.iter().map(|&id| convert::to_id(id)).collect::<Vec<_>>().into()),
            ..Default::default()
        };
        if self.shards.is_some() {
            // An id does not tell its shard, and without shards the server refuses.
            let name = self.collection.clone();
            let cluster =
                self.calls.ask(stop, |client| async move { client.collection_cluster_info(name).await })?;
            let keys = all_keys(cluster);
            if keys.is_empty() {
                return Ok(());
            }
            request.shard_key_selector = Some(selector(keys));
        }
        let response = self.calls.ask(stop, |client| async move { client.delete_points(request).await })?;
        self.written(&response)
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        let Some(request) = self.nearest(query, false) else { return Ok(Vec::new()) };
        let response = self.ask_shards(query.filter, |shard_key_selector| {
            let request = qdrant::QueryPoints { shard_key_selector, ..request.clone() };
            self.calls.ask(stop, |client| async move { client.query(request).await })
        })?;
        let hit = |point: qdrant::ScoredPoint| {
            let payload = convert::from_payload(point.payload);
            Ok(PointHit { id: self.id(point.id)?, score: point.score, payload })
        };
        response.result.into_iter().map(hit).collect()
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        let request = |query: &PointQuery<'_>| {
            let mut request = self.nearest(&PointQuery { fields: &[], ..query.clone() }, with_vectors)?;
            request.shard_key_selector =
                self.shards.as_ref().and_then(|shards| shards.of_filter(query.filter));
            Some(request)
        };
        let requests: Vec<_> = queries.iter().map(request).collect();
        let ask = |query_points: Vec<qdrant::QueryPoints>| {
            let collection_name = self.collection.clone();
            let batch = qdrant::QueryBatchPoints { collection_name, query_points, ..Default::default() };
            self.calls.ask(stop, |client| async move { client.query_batch(batch).await })
        };
        let query_points: Vec<_> = requests.iter().flatten().cloned().collect();
        if query_points.is_empty() {
            return Ok(requests.iter().map(|_| Vec::new()).collect());
        }
        let response = match ask(query_points) {
            Err(error) if is_missing_shard(&error) => {
                let everywhere = requests.iter().flatten().cloned();
                let everywhere =
                    everywhere.map(|request| qdrant::QueryPoints { shard_key_selector: None, ..request });
                ask(everywhere.collect())?
            }
            response => response?,
        };
        let mut answers = response.result.into_iter();
        let mut answer = |query: &PointQuery<'_>| {
            let lacking = || self.calls.server.invalid("the server answered fewer queries than it was asked");
            let points = answers.next().ok_or_else(lacking)?.result;
            let hit = |point: qdrant::ScoredPoint| {
                let vector = convert::from_vectors(point.vectors, query.using);
                Ok(WeightedHit { id: self.id(point.id)?, score: point.score, vector })
            };
            points.into_iter().map(hit).collect()
        };
        let one = |(query, request): (&PointQuery<'_>, &Option<_>)| match request {
            Some(_) => answer(query),
            None => Ok(Vec::new()),
        };
        queries.iter().zip(&requests).map(one).collect()
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        let filter = match convert::to_filter(scan.filter) {
            FieldSelection::Nothing => return Ok(PointPage::default()),
            FieldSelection::All => None,
            FieldSelection::Some(filter) => Some(filter),
        };
        if scan.limit == 0 {
            return Ok(PointPage { points: Vec::new(), next: scan.from });
        }
        let response = self.ask_shards(scan.filter, |shard_key_selector| {
            let request = qdrant::ScrollPoints {
                collection_name: self.collection.clone(),
                filter: filter.clone(),
                offset: scan.from.map(convert::to_id),
                limit: Some(scan.limit.min(limits::PAGE_POINTS) as u32),
                with_payload: Some(convert::to_selector(scan.fields)),
                with_vectors: Some(false.into()),
                shard_key_selector,
                ..Default::default()
            };
            self.when_made(stop, || {
                let request = request.clone();
                self.calls.ask(stop, |client| async move { client.scroll(request).await })
            })
        })?;
        let point =
            |point: qdrant::RetrievedPoint| Ok((self.id(point.id)?, convert::from_payload(point.payload)));
        let next = response.next_page_offset.map(|id| self.id(Some(id))).transpose()?;
        Ok(PointPage {
            points: response.result.into_iter().map(point).collect::<Result<_, StoreError>>()?,
            next,
        })
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        let chosen = match convert::to_filter(filter) {
            FieldSelection::Nothing => return Ok(0),
            FieldSelection::All => None,
            FieldSelection::Some(filter) => Some(filter),
        };
        let response = self.ask_shards(filter, |shard_key_selector| {
            let request = qdrant::CountPoints {
                collection_name: self.collection.clone(),
                filter: chosen.clone(),
                exact: Some(true),
                shard_key_selector,
                ..Default::default()
            };
            self.when_made(stop, || {
                let request = request.clone();
                self.calls.ask(stop, |client| async move { client.count(request).await })
            })
        })?;
        let count = response.result.map(|result| result.count);
        count.ok_or_else(|| self.calls.server.invalid("the server gave no count"))
    }

    /// Nothing: a server puts its collections in order itself.
    fn finish(&self, _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError> {
        let name = self.collection.clone();
        let response =
            match self.calls.ask(stop, |client| async move { client.delete_collection(name).await }) {
                Ok(response) => response,
                Err(StoreError::NoCollection(_)) => return Ok(false),
                Err(error) => return Err(error),
            };
        if let Some(shards) = &self.shards {
            shards.known().clear();
        }
        Ok(response.result)
    }
}
