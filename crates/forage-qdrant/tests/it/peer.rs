//! A Qdrant server that answers what a test says and keeps what it was asked: the official service traits on a socket
//! of the loopback.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use qdrant_client::qdrant::{
    self, collections_server, collections_server::CollectionsServer, points_server,
    points_server::PointsServer, qdrant_server, qdrant_server::QdrantServer,
};
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// What a server does with a request.
pub(crate) enum Reply<Answer> {
    Now(Answer),
    Refuse(Status),
    Never,
}

type Script = Box<dyn Fn(&dyn Any) -> Reply<Box<dyn Any + Send>> + Send>;

#[derive(Default)]
struct Seen {
    requests: Vec<Box<dyn Any + Send>>,
    /// Requests that the client took back.
    abandoned: usize,
}

#[derive(Default)]
struct Desk {
    key: Option<&'static str>,
    scripts: Mutex<HashMap<TypeId, Script>>,
    seen: Mutex<Seen>,
    changed: Condvar,
}

/// The server. Dropping it closes its sockets.
pub(crate) struct Peer {
    address: String,
    desk: Arc<Desk>,
    runtime: Option<Runtime>,
}

impl Peer {
    pub(crate) fn start() -> Self {
        Self::with_key(None)
    }

    /// Answers nobody without this key.
    pub(crate) fn with_key(key: Option<&'static str>) -> Self {
        Self::serve("127.0.0.1:0", key, Server::builder())
    }

    /// At an address that was another server's.
    pub(crate) fn at(address: &str) -> Self {
        Self::serve(address, None, Server::builder())
    }

    /// With a certificate and its key, in PEM.
    pub(crate) fn with_tls(certificate: &str, key: &str) -> Self {
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        Self::serve("127.0.0.1:0", None, Server::builder().tls_config(tls).unwrap())
    }

    fn serve(address: &str, key: Option<&'static str>, mut server: Server) -> Self {
        let desk = Arc::new(Desk { key, ..Desk::default() });
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let incoming = runtime.block_on(async { TcpIncoming::bind(address.parse().unwrap()).unwrap() });
        let address = incoming.local_addr().unwrap().to_string();
        let services = server
            .add_service(PointsServer::new(Service(Arc::clone(&desk))).max_decoding_message_size(usize::MAX))
            .add_service(CollectionsServer::new(Service(Arc::clone(&desk))))
            .add_service(QdrantServer::new(Service(Arc::clone(&desk))));
        runtime.spawn(services.serve_with_incoming(incoming.with_nodelay(Some(true))));
        Self { address, desk, runtime: Some(runtime) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it does with requests of this kind. Others are refused as unknown.
    pub(crate) fn on<Asked: 'static, Answer: Send + 'static>(
        &self,
        script: impl Fn(&Asked) -> Reply<Answer> + Send + 'static,
    ) {
        let script: Script = Box::new(move |request| match script(request.downcast_ref().unwrap()) {
            Reply::Now(answer) => Reply::Now(Box::new(answer)),
            Reply::Refuse(status) => Reply::Refuse(status),
            Reply::Never => Reply::Never,
        });
        self.desk.scripts.lock().unwrap().insert(TypeId::of::<Asked>(), script);
    }

    /// What it was asked of this kind, in order.
    pub(crate) fn asked<Asked: Clone + 'static>(&self) -> Vec<Asked> {
        let seen = self.desk.seen.lock().unwrap();
        seen.requests.iter().filter_map(|request| request.downcast_ref().cloned()).collect()
    }

    /// The one request of this kind.
    pub(crate) fn asked_once<Asked: Clone + 'static>(&self) -> Asked {
        let mut asked = self.asked();
        assert_eq!(asked.len(), 1, "requests of {}", type_name::<Asked>());
        asked.remove(0)
    }

    /// How much it was asked of any kind.
    pub(crate) fn total(&self) -> usize {
        self.desk.seen.lock().unwrap().requests.len()
    }

    pub(crate) fn wait_until_asked(&self) {
        self.wait("a request", |seen| !seen.requests.is_empty());
    }

    pub(crate) fn wait_until_abandoned(&self) {
        self.wait("a request that is taken back", |seen| seen.abandoned > 0);
    }

    fn wait(&self, what: &str, is_there: impl Fn(&Seen) -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        let mut seen = self.desk.seen.lock().unwrap();
        while !is_there(&seen) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}");
            seen = self.desk.changed.wait_timeout(seen, left).unwrap().0;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Service(Arc<Desk>);

impl Service {
    async fn serve<Asked: Send + 'static, Answer: Send + 'static>(
        &self,
        request: Request<Asked>,
    ) -> Result<Response<Answer>, Status> {
        if let Some(key) = self.0.key {
            let given = request.metadata().get("api-key").map(|value| value.to_str().unwrap().to_owned());
            if given.as_deref() != Some(key) {
                return Err(Status::unauthenticated(match given {
                    Some(given) => format!("Invalid API key or JWT: {given}"),
                    None => "Must provide an API key or an Authorization bearer token".to_owned(),
                }));
            }
        }
        let request: Box<dyn Any + Send> = Box::new(request.into_inner());
        let reply = match self.0.scripts.lock().unwrap().get(&TypeId::of::<Asked>()) {
            Some(script) => script(&*request),
            None => Reply::Refuse(Status::unimplemented(format!("no script for {}", type_name::<Asked>()))),
        };
        self.0.seen.lock().unwrap().requests.push(request);
        self.0.changed.notify_all();
        match reply {
            Reply::Now(answer) => Ok(Response::new(*answer.downcast().unwrap())),
            Reply::Refuse(status) => Err(status),
            Reply::Never => {
                let _abandoned = Abandoned(&self.0);
                std::future::pending().await
            }
        }
    }
}

/// Counts what is dropped before it ends.
struct Abandoned<'a>(&'a Desk);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.seen.lock().unwrap().abandoned += 1;
        self.0.changed.notify_all();
    }
}

/// Every method of a service through [`Service::serve`]. Written out as `async_trait` would, which runs before macros
/// inside of an `impl` do.
macro_rules! served {
    ($($method:ident: $request:ident => $response:ident,)*) => {$(
        fn $method<'service, 'answer>(
            &'service self,
            request: Request<qdrant::$request>,
        ) -> Pin<Box<dyn Future<Output = Result<Response<qdrant::$response>, Status>> + Send + 'answer>>
        where
            'service: 'answer,
            Self: 'answer,
        {
            Box::pin(self.serve(request))
        }
    )*};
}

impl points_server::Points for Service {
    served! {
        upsert: UpsertPoints => PointsOperationResponse,
        delete: DeletePoints => PointsOperationResponse,
        get: GetPoints => GetResponse,
        update_vectors: UpdatePointVectors => PointsOperationResponse,
        delete_vectors: DeletePointVectors => PointsOperationResponse,
        set_payload: SetPayloadPoints => PointsOperationResponse,
        overwrite_payload: SetPayloadPoints => PointsOperationResponse,
        delete_payload: DeletePayloadPoints => PointsOperationResponse,
        clear_payload: ClearPayloadPoints => PointsOperationResponse,
        create_field_index: CreateFieldIndexCollection => PointsOperationResponse,
        delete_field_index: DeleteFieldIndexCollection => PointsOperationResponse,
        create_vector_name: CreateVectorNameRequest => PointsOperationResponse,
        delete_vector_name: DeleteVectorNameRequest => PointsOperationResponse,
        search: SearchPoints => SearchResponse,
        search_batch: SearchBatchPoints => SearchBatchResponse,
        search_groups: SearchPointGroups => SearchGroupsResponse,
        scroll: ScrollPoints => ScrollResponse,
        recommend: RecommendPoints => RecommendResponse,
        recommend_batch: RecommendBatchPoints => RecommendBatchResponse,
        recommend_groups: RecommendPointGroups => RecommendGroupsResponse,
        discover: DiscoverPoints => DiscoverResponse,
        discover_batch: DiscoverBatchPoints => DiscoverBatchResponse,
        count: CountPoints => CountResponse,
        update_batch: UpdateBatchPoints => UpdateBatchResponse,
        query: QueryPoints => QueryResponse,
        query_batch: QueryBatchPoints => QueryBatchResponse,
        query_groups: QueryPointGroups => QueryGroupsResponse,
        facet: FacetCounts => FacetResponse,
        search_matrix_pairs: SearchMatrixPoints => SearchMatrixPairsResponse,
        search_matrix_offsets: SearchMatrixPoints => SearchMatrixOffsetsResponse,
    }
}

impl collections_server::Collections for Service {
    served! {
        get: GetCollectionInfoRequest => GetCollectionInfoResponse,
        list: ListCollectionsRequest => ListCollectionsResponse,
        create: CreateCollection => CollectionOperationResponse,
        update: UpdateCollection => CollectionOperationResponse,
        delete: DeleteCollection => CollectionOperationResponse,
        update_aliases: ChangeAliases => CollectionOperationResponse,
        list_collection_aliases: ListCollectionAliasesRequest => ListAliasesResponse,
        list_aliases: ListAliasesRequest => ListAliasesResponse,
        collection_cluster_info: CollectionClusterInfoRequest => CollectionClusterInfoResponse,
        collection_exists: CollectionExistsRequest => CollectionExistsResponse,
        update_collection_cluster_setup:
            UpdateCollectionClusterSetupRequest => UpdateCollectionClusterSetupResponse,
        create_shard_key: CreateShardKeyRequest => CreateShardKeyResponse,
        delete_shard_key: DeleteShardKeyRequest => DeleteShardKeyResponse,
        list_shard_keys: ListShardKeysRequest => ListShardKeysResponse,
    }
}

impl qdrant_server::Qdrant for Service {
    served! {
        health_check: HealthCheckRequest => HealthCheckReply,
    }
}
