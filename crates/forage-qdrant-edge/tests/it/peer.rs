//! A server of Qdrant's protocol for tests: the official service traits over the embedded engine. What goes over the
//! wire is the clients' own; statuses and their words are those that a real server gave. It keeps one shard per
//! collection in a directory that goes when it ends, and answers calls one by one.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::qdrant_client::qdrant::{self as wire, point_id::PointIdOptions, vector, vectors::VectorsOptions};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{self as edge, EdgeShard, UpdateOperation};
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};

/// Points of a page whose length nobody says.
const USUAL_PAGE: u32 = 10;

/// Points of an answer whose number nobody says.
const USUAL_LIMIT: u64 = 10;

struct Collection {
    shard: EdgeShard,
    vectors: wire::SparseVectorConfig,
    metadata: HashMap<String, wire::Value>,
}

/// All collections; clones share them.
#[derive(Clone)]
pub(crate) struct Peer {
    /// Closed before their directory goes.
    collections: Arc<Mutex<BTreeMap<String, Collection>>>,
    home: Arc<tempfile::TempDir>,
}

impl Peer {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { collections: Arc::default(), home: Arc::new(tempfile::tempdir()?) })
    }

    /// Listens on a port, or a free one for 0, and answers as long as the future is polled. Where a key is given, calls
    /// need it.
    pub(crate) fn serve(
        self,
        port: u16,
        key: Option<&str>,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = Result<(), tonic::transport::Error>> + Send + use<>)>
    {
        // Without this every small answer waits 40 ms for an acknowledgement.
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], port)))?.with_nodelay(Some(true));
        let address = incoming.local_addr()?;
        let gate = Gate(key.map(str::to_owned));
        let server = Server::builder()
            .add_service(wire::qdrant_server::QdrantServer::new(self.clone()))
            .add_service(wire::collections_server::CollectionsServer::with_interceptor(
                self.clone(),
                gate.clone(),
            ))
            .add_service(wire::points_server::PointsServer::with_interceptor(self, gate));
        Ok((address, server.serve_with_incoming(incoming)))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Collection>> {
        self.collections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, name: &str, work: impl FnOnce(&Collection) -> Result<T, Status>) -> Result<T, Status> {
        let all = self.all();
        work(
            all.get(name)
                .ok_or_else(|| Status::not_found(format!("Not found: Collection `{name}` doesn't exist!")))?,
        )
    }

    fn update(
        &self,
        name: &str,
        operation: UpdateOperation,
    ) -> Result<wire::PointsOperationResponse, Status> {
        self.with(name, |collection| {
            collection.shard.update(operation).map_err(refused)?;
            let result =
                wire::UpdateResult { operation_id: Some(0), status: wire::UpdateStatus::Completed.into() };
            Ok(wire::PointsOperationResponse { result: Some(result), ..Default::default() })
        })
    }
}

/// Lets pass who knows the key.
#[derive(Clone)]
struct Gate(Option<String>);

impl tonic::service::Interceptor for Gate {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(key) = &self.0 else { return Ok(request) };
        let given = |name| request.metadata().get(name).and_then(|value| value.to_str().ok());
        let bearer = given("authorization").and_then(|value| value.strip_prefix("Bearer "));
        match given("api-key").or(bearer) {
            None => Err(Status::unauthenticated("Must provide an API key or an Authorization bearer token")),
            Some(given) if given == key => Ok(request),
            Some(_) => Err(Status::unauthenticated("Invalid API key or JWT")),
        }
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send + 'a>>;

/// The methods of a service as `async_trait` writes them; those without a function are not there.
macro_rules! methods {
    ($($name:ident($request:ident) -> $response:ident $(= $work:expr)?;)*) => {$(
        fn $name<'a, 'b>(&'a self, request: Request<wire::$request>) -> Answer<'b, wire::$response>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(async move { methods!(@answer self, request, $name $(, $work)?).map(Response::new) })
        }
    )*};
    (@answer $peer:ident, $request:ident, $name:ident, $work:expr) => {{
        let work = $work;
        work($peer, $request.into_inner())
    }};
    (@answer $peer:ident, $request:ident, $name:ident) => {{
        drop($request);
        Err(Status::unimplemented(concat!("the peer has no ", stringify!($name))))
    }};
}

impl wire::qdrant_server::Qdrant for Peer {
    methods! {
        health_check(HealthCheckRequest) -> HealthCheckReply = |_: &Self, _| {
            let title = "qdrant - vector search engine".to_owned();
            Ok(wire::HealthCheckReply { title, version: "1.18.2".to_owned(), commit: None })
        };
    }
}

impl wire::collections_server::Collections for Peer {
    methods! {
        get(GetCollectionInfoRequest) -> GetCollectionInfoResponse = information;
        list(ListCollectionsRequest) -> ListCollectionsResponse = |peer: &Self, _| {
            let names = peer.all().keys().cloned().collect::<Vec<_>>();
            let collections = names.into_iter().map(|name| wire::CollectionDescription { name }).collect();
            Ok(wire::ListCollectionsResponse { collections, time: 0.0 })
        };
        create(CreateCollection) -> CollectionOperationResponse = create;
        update(UpdateCollection) -> CollectionOperationResponse;
        delete(DeleteCollection) -> CollectionOperationResponse = |peer: &Self, request: wire::DeleteCollection| {
            let found = peer.all().remove(&request.collection_name);
            Ok(wire::CollectionOperationResponse { result: found.is_some(), time: 0.0 })
        };
        update_aliases(ChangeAliases) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        collection_exists(CollectionExistsRequest) -> CollectionExistsResponse =
            |peer: &Self, request: wire::CollectionExistsRequest| {
                let exists = peer.all().contains_key(&request.collection_name);
                Ok(wire::CollectionExistsResponse { result: Some(wire::CollectionExists { exists }), time: 0.0 })
            };
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

impl wire::points_server::Points for Peer {
    methods! {
        upsert(UpsertPoints) -> PointsOperationResponse = upsert;
        delete(DeletePoints) -> PointsOperationResponse = delete;
        get(GetPoints) -> GetResponse;
        update_vectors(UpdatePointVectors) -> PointsOperationResponse;
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        set_payload(SetPayloadPoints) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        create_field_index(CreateFieldIndexCollection) -> PointsOperationResponse = create_index;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        scroll(ScrollPoints) -> ScrollResponse = scroll;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        count(CountPoints) -> CountResponse = |peer: &Self, request: wire::CountPoints| {
            let filter = request.filter.map(filter).transpose()?;
            peer.with(&request.collection_name, |collection| {
                let count = collection.shard.count(edge::CountRequest { filter, exact: true }).map_err(refused)?;
                let result = Some(wire::CountResult { count: count as u64 });
                Ok(wire::CountResponse { result, ..Default::default() })
            })
        };
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
        query(QueryPoints) -> QueryResponse = query;
        query_batch(QueryBatchPoints) -> QueryBatchResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        facet(FacetCounts) -> FacetResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

fn create(peer: &Peer, request: wire::CreateCollection) -> Result<wire::CollectionOperationResponse, Status> {
    let name = request.collection_name;
    let mut all = peer.all();
    if all.contains_key(&name) {
        return Err(Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")));
    }
    let vectors = request.sparse_vectors_config.unwrap_or_default();
    let mut settings = edge::EdgeConfigBuilder::new();
    for (vector, parameters) in &vectors.map {
        let mut made = edge::EdgeSparseVectorParamsBuilder::new();
        if parameters.modifier == Some(wire::Modifier::Idf.into()) {
            made = made.modifier(edge::Modifier::Idf);
        }
        settings = settings.sparse_vector(vector, made.build());
    }
    // A name may be anything here, and be used again.
    let directory =
        tempfile::Builder::new().disable_cleanup(true).tempdir_in(peer.home.path()).map_err(internal)?;
    let shard = EdgeShard::new(directory.path(), settings.build()).map_err(refused)?;
    all.insert(name, Collection { shard, vectors, metadata: request.metadata });
    Ok(wire::CollectionOperationResponse { result: true, time: 0.0 })
}

fn information(
    peer: &Peer,
    request: wire::GetCollectionInfoRequest,
) -> Result<wire::GetCollectionInfoResponse, Status> {
    peer.with(&request.collection_name, |collection| {
        let facts = collection.shard.info();
        let params = wire::CollectionParams {
            shard_number: 1,
            replication_factor: Some(1),
            write_consistency_factor: Some(1),
            sparse_vectors_config: Some(collection.vectors.clone()),
            ..Default::default()
        };
        let config = wire::CollectionConfig {
            params: Some(params),
            // Clients take these for granted.
            hnsw_config: Some(wire::HnswConfigDiff {
                m: Some(16),
                ef_construct: Some(100),
                full_scan_threshold: Some(10_000),
                ..Default::default()
            }),
            optimizer_config: Some(wire::OptimizersConfigDiff {
                deleted_threshold: Some(0.2),
                vacuum_min_vector_number: Some(1_000),
                default_segment_number: Some(0),
                indexing_threshold: Some(10_000),
                flush_interval_sec: Some(5),
                ..Default::default()
            }),
            wal_config: Some(wire::WalConfigDiff {
                wal_capacity_mb: Some(32),
                wal_segments_ahead: Some(0),
                ..Default::default()
            }),
            metadata: collection.metadata.clone(),
            ..Default::default()
        };
        let result = wire::CollectionInfo {
            status: wire::CollectionStatus::Green.into(),
            optimizer_status: Some(wire::OptimizerStatus { ok: true, error: String::new() }),
            segments_count: facts.segments_count as u64,
            config: Some(config),
            points_count: Some(facts.points_count as u64),
            indexed_vectors_count: Some(facts.indexed_vectors_count as u64),
            ..Default::default()
        };
        Ok(wire::GetCollectionInfoResponse { result: Some(result), time: 0.0 })
    })
}

fn upsert(peer: &Peer, request: wire::UpsertPoints) -> Result<wire::PointsOperationResponse, Status> {
    let points = request.points.into_iter().map(|point| {
        let Some(VectorsOptions::Vectors(named)) = point.vectors.and_then(|vectors| vectors.vectors_options)
        else {
            return Err(Status::invalid_argument("Wrong input: the peer takes named vectors alone"));
        };
        let vectors =
            named.vectors.into_iter().map(|(name, vector)| Ok((name, edge::Vector::from(sent(vector)?))));
        let payload = ::qdrant_client::Payload::from(point.payload);
        Ok(edge::PointStruct::new(
            engine_id(point.id)?,
            edge::Vectors::from(vectors.collect::<Result<Vec<_>, Status>>()?),
            payload.into(),
        )
        .into())
    });
    let points = edge::PointInsertOperations::PointsList(points.collect::<Result<_, Status>>()?);
    let operation = UpdateOperation::PointOperation(edge::PointOperations::UpsertPoints(points));
    peer.update(&request.collection_name, operation)
}

fn delete(peer: &Peer, request: wire::DeletePoints) -> Result<wire::PointsOperationResponse, Status> {
    use wire::points_selector::PointsSelectorOneOf;

    let operation = match request.points.and_then(|points| points.points_selector_one_of) {
        Some(PointsSelectorOneOf::Points(list)) => {
            let ids = list.ids.into_iter().map(|id| engine_id(Some(id))).collect::<Result<_, _>>()?;
            edge::PointOperations::DeletePoints { ids }
        }
        Some(PointsSelectorOneOf::Filter(chosen)) => {
            edge::PointOperations::DeletePointsByFilter(filter(chosen)?)
        }
        None => return Err(Status::invalid_argument("PointsSelector is missing")),
    };
    peer.update(&request.collection_name, UpdateOperation::PointOperation(operation))
}

fn create_index(
    peer: &Peer,
    request: wire::CreateFieldIndexCollection,
) -> Result<wire::PointsOperationResponse, Status> {
    let index = edge::CreateIndex {
        field_name: path(&request.field_name)?,
        field_schema: Some(edge::PayloadFieldSchema::FieldType(edge::PayloadSchemaType::Keyword)),
    };
    let index = edge::FieldIndexOperations::CreateIndex(index);
    peer.update(&request.collection_name, UpdateOperation::FieldIndexOperation(index))
}

fn query(peer: &Peer, request: wire::QueryPoints) -> Result<wire::QueryResponse, Status> {
    use wire::{query::Variant, vector_input};

    let Some(Variant::Nearest(wire::VectorInput { variant: Some(vector_input::Variant::Sparse(vector)) })) =
        request.query.and_then(|query| query.variant)
    else {
        return Err(Status::invalid_argument("Wrong input: the peer takes sparse queries alone"));
    };
    let using = request.using.unwrap_or_default();
    let filter = request.filter.map(filter).transpose()?;
    let with_payload = wanted(request.with_payload)?;
    peer.with(&request.collection_name, |collection| {
        if !collection.vectors.map.contains_key(&using) {
            return Err(Status::invalid_argument(format!(
                "Wrong input: Not existing vector name error: {using}"
            )));
        }
        let query = edge::VectorInternal::from(sparse(vector.indices, vector.values)?);
        let nearest = edge::NamedQuery { query, using: Some(using) };
        let request = edge::QueryRequest {
            prefetches: Vec::new(),
            query: Some(edge::ScoringQuery::Vector(edge::QueryEnum::Nearest(nearest))),
            filter,
            score_threshold: None,
            limit: request.limit.unwrap_or(USUAL_LIMIT) as usize,
            offset: request.offset.unwrap_or(0) as usize,
            params: None,
            with_vector: edge::WithVector::Bool(false),
            with_payload,
        };
        let hits = collection.shard.query(request).map_err(refused)?;
        let result = hits.into_iter().map(|hit| wire::ScoredPoint {
            id: Some(wire_id(hit.id)),
            payload: wire_payload(hit.payload),
            score: hit.score,
            version: hit.version,
            ..Default::default()
        });
        Ok(wire::QueryResponse { result: result.collect(), ..Default::default() })
    })
}

fn scroll(peer: &Peer, request: wire::ScrollPoints) -> Result<wire::ScrollResponse, Status> {
    let scroll = edge::ScrollRequest {
        offset: request.offset.map(|id| engine_id(Some(id))).transpose()?,
        limit: Some(request.limit.unwrap_or(USUAL_PAGE) as usize),
        filter: request.filter.map(filter).transpose()?,
        with_payload: Some(wanted(request.with_payload)?),
        with_vector: edge::WithVector::Bool(false),
        order_by: None,
    };
    peer.with(&request.collection_name, |collection| {
        let (records, next) = collection.shard.scroll(scroll).map_err(refused)?;
        let result = records.into_iter().map(|record| wire::RetrievedPoint {
            id: Some(wire_id(record.id)),
            payload: wire_payload(record.payload),
            ..Default::default()
        });
        let next_page_offset = next.map(wire_id);
        Ok(wire::ScrollResponse { next_page_offset, result: result.collect(), ..Default::default() })
    })
}

/// Of one kind or the other: clients before 1.16 say it in fields that are deprecated now.
fn sent(vector: wire::Vector) -> Result<edge::SparseVector, Status> {
    #[expect(deprecated, reason = "the official Python client still sends them")]
    let (values, indices) = (vector.data, vector.indices);
    match (vector.vector, indices) {
        (Some(vector::Vector::Sparse(vector)), _) => sparse(vector.indices, vector.values),
        (None, Some(indices)) => sparse(indices.data, values),
        _ => Err(Status::invalid_argument("Wrong input: the peer takes sparse vectors alone")),
    }
}

/// In any order, as a server takes them.
fn sparse(indices: Vec<u32>, values: Vec<f32>) -> Result<edge::SparseVector, Status> {
    if indices.len() != values.len() {
        return Err(Status::invalid_argument("Validation error: must be the same length as indices"));
    }
    let mut pairs: Vec<_> = indices.into_iter().zip(values).collect();
    pairs.sort_by_key(|(index, _)| *index);
    if pairs.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Status::invalid_argument("Validation error: must be unique"));
    }
    let (indices, values) = pairs.into_iter().unzip();
    edge::SparseVector::new(indices, values).map_err(internal)
}

fn filter(filter: wire::Filter) -> Result<edge::Filter, Status> {
    if !filter.must_not.is_empty() || filter.min_should.is_some() {
        return Err(Status::invalid_argument(
            "Wrong input: the peer takes filters of `must` and `should` alone",
        ));
    }
    let conditions = |conditions: Vec<wire::Condition>| -> Result<Option<Vec<_>>, Status> {
        let all: Vec<_> = conditions.into_iter().map(condition).collect::<Result<_, _>>()?;
        Ok((!all.is_empty()).then_some(all))
    };
    let (should, must) = (conditions(filter.should)?, conditions(filter.must)?);
    Ok(edge::Filter { should, min_should: None, must, must_not: None })
}

fn condition(condition: wire::Condition) -> Result<edge::Condition, Status> {
    use wire::{condition::ConditionOneOf, r#match::MatchValue};

    let unknown =
        || Status::invalid_argument("Wrong input: the peer takes conditions on values, ranges and ids alone");
    let (key, values, range) = match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => (field.key, field.r#match, field.range),
        Some(ConditionOneOf::Filter(inner)) => return filter(inner).map(edge::Condition::Filter),
        Some(ConditionOneOf::HasId(ids)) => {
            let ids = ids.has_id.into_iter().map(|id| engine_id(Some(id))).collect::<Result<Vec<_>, _>>()?;
            return Ok(edge::Condition::HasId(edge::HasIdCondition::from_iter(ids)));
        }
        _ => return Err(unknown()),
    };
    let key = path(&key)?;
    let condition = match (values.and_then(|values| values.match_value), range) {
        (Some(MatchValue::Keyword(value)), _) => edge::FieldCondition::new_match(key, vec![value].into()),
        (Some(MatchValue::Keywords(values)), _) => {
            edge::FieldCondition::new_match(key, values.strings.into())
        }
        (Some(MatchValue::Integers(values)), _) => {
            edge::FieldCondition::new_match(key, values.integers.into())
        }
        (Some(MatchValue::Boolean(value)), _) => edge::FieldCondition::new_match(key, value.into()),
        (None, Some(wire::Range { lt, gt, gte, lte })) => {
            let [lt, gt, gte, lte] = [lt, gt, gte, lte].map(|bound| bound.map(Into::into));
            edge::FieldCondition::new_range(key, edge::Range { lt, gt, gte, lte })
        }
        _ => return Err(unknown()),
    };
    Ok(edge::Condition::Field(condition))
}

fn wanted(selector: Option<wire::WithPayloadSelector>) -> Result<edge::WithPayloadInterface, Status> {
    use wire::with_payload_selector::SelectorOptions;

    match selector.and_then(|selector| selector.selector_options) {
        None => Ok(edge::WithPayloadInterface::Bool(false)),
        Some(SelectorOptions::Enable(is_wanted)) => Ok(edge::WithPayloadInterface::Bool(is_wanted)),
        Some(SelectorOptions::Include(include)) => {
            let fields = include.fields.iter().map(|field| path(field)).collect::<Result<_, _>>()?;
            Ok(edge::WithPayloadInterface::Fields(fields))
        }
        Some(SelectorOptions::Exclude(_)) => {
            Err(Status::invalid_argument("Wrong input: the peer leaves no fields out"))
        }
    }
}

fn path(field: &str) -> Result<edge::JsonPath, Status> {
    field.parse().map_err(|()| Status::invalid_argument(format!("Wrong input: Invalid json path: {field}")))
}

fn engine_id(id: Option<wire::PointId>) -> Result<edge::PointId, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Num(number)) => Ok(edge::PointId::NumId(number)),
        Some(PointIdOptions::Uuid(text)) => Uuid::parse_str(&text)
            .map(edge::PointId::Uuid)
            .map_err(|_| Status::invalid_argument(format!("Unable to parse UUID: {text}"))),
        None => Err(Status::invalid_argument("Empty ID is not allowed")),
    }
}

fn wire_id(id: edge::PointId) -> wire::PointId {
    match id {
        edge::PointId::NumId(number) => number.into(),
        edge::PointId::Uuid(uuid) => uuid.to_string().into(),
    }
}

fn wire_payload(payload: Option<edge::Payload>) -> HashMap<String, wire::Value> {
    payload.map(|payload| ::qdrant_client::Payload::from(payload.0).into()).unwrap_or_default()
}

fn refused(error: edge::OperationError) -> Status {
    match error {
        error @ edge::OperationError::VectorNameNotExists { .. } => {
            Status::invalid_argument(format!("Wrong input: {error}"))
        }
        error => internal(error),
    }
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}
