//! The peer, asked by the official client, answers as the store does.

use std::collections::HashMap;

use ::qdrant_client::Qdrant;
use ::qdrant_client::qdrant as wire;
use ::qdrant_client::qdrant::with_payload_selector::SelectorOptions;
use forage_base::Stop;
use forage_lookup::{Contract, PointFilter, PointQuery, PointStore, SparseVector};
use tokio::runtime::Runtime;

use crate::peer::Peer;
use crate::support::{USING, created, some_points, upsert};

/// A peer that ends with the runtime, and a client of it.
fn pair(key: Option<&str>, given: Option<&str>) -> (Runtime, Qdrant) {
    let runtime = Runtime::new().unwrap();
    let guard = runtime.enter();
    let (address, server) = Peer::new().unwrap().serve(0, key).unwrap();
    runtime.spawn(server);
    let client = Qdrant::from_url(&format!("http://{address}")).api_key(given).skip_compatibility_check();
    let client = client.build().unwrap();
    drop(guard);
    (runtime, client)
}

async fn create(client: &Qdrant) {
    let mut vectors = ::qdrant_client::qdrant::SparseVectorsConfigBuilder::default();
    let idf = wire::SparseVectorParamsBuilder::default().modifier(wire::Modifier::Idf);
    vectors.add_named_vector_params(USING, idf);
    let contract = HashMap::from([(Contract::KEY.to_owned(), serde_json::json!("test/1"))]);
    let creation =
        wire::CreateCollectionBuilder::new("code").sparse_vectors_config(vectors).metadata(contract);
    client.create_collection(creation).await.unwrap();
}

fn code(error: ::qdrant_client::QdrantError) -> tonic::Code {
    match error {
        ::qdrant_client::QdrantError::ResponseError { status } => status.code(),
        error => panic!("{error}"),
    }
}

#[test]
fn the_peer_answers_the_official_client_as_the_store_answers() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(300));
    let (runtime, client) = pair(None, None);
    runtime.block_on(async {
        create(&client).await;
        let points = some_points(300).into_iter().map(|point| {
            let vector = wire::Vector::new_sparse(point.vector.ids(), point.vector.weights());
            let forage_lookup::PointId::Number(id) = point.id else { panic!("not a number") };
            let vectors = wire::NamedVectors::default().add_vector(USING, vector);
            wire::PointStruct::new(id, vectors, ::qdrant_client::Payload::from(point.payload))
        });
        let points = wire::UpsertPointsBuilder::new("code", points.collect::<Vec<_>>()).wait(true);
        client.upsert_points(points).await.unwrap();
        let facts = client.collection_info("code").await.unwrap().result.unwrap();
        assert_eq!(facts.points_count, Some(300));
        let config = facts.config.unwrap();
        assert_eq!(config.metadata[Contract::KEY].as_str().unwrap(), "test/1");
        let vectors = config.params.unwrap().sparse_vectors_config.unwrap();
        assert_eq!(vectors.map[USING].modifier, Some(wire::Modifier::Idf.into()));

        let asked = wire::Filter::must([wire::Condition::matches(
            "language",
            vec!["rust".to_owned(), "go".to_owned()],
        )]);
        let filter = crate::support::only("language", &["rust", "go"]);
        let fields = ["path".to_owned()];
        for ids in [vec![0], vec![3, 5, 8], vec![36, 99]] {
            let input = wire::VectorInput::new_sparse(ids.clone(), vec![1.0_f32; ids.len()]);
            let query = wire::QueryPointsBuilder::new("code")
                .query(wire::Query::new_nearest(input))
                .using(USING)
                .limit(1_000)
                .filter(asked.clone())
                .with_payload(SelectorOptions::Include(wire::PayloadIncludeSelector {
                    fields: fields.to_vec(),
                }));
            let hits = client.query(query).await.unwrap().result;
            let mut found: Vec<_> = hits
                .into_iter()
                .map(|hit| {
                    (hit.score, serde_json::to_value(::qdrant_client::Payload::from(hit.payload)).unwrap())
                })
                .collect();
            let vector = SparseVector::ones(ids);
            let query =
                PointQuery { vector: &vector, using: USING, limit: 1_000, fields: &fields, filter: &filter };
            let hits = store.query(&query, &Stop::never()).unwrap();
            let mut expected: Vec<_> =
                hits.into_iter().map(|hit| (hit.score, serde_json::json!(hit.payload))).collect();
            for list in [&mut found, &mut expected] {
                list.sort_by_key(|(score, payload)| (score.to_bits(), payload.to_string()));
            }
            assert!(!found.is_empty());
            assert_eq!(found, expected);
        }
        let count =
            client.count(wire::CountPointsBuilder::new("code").filter(asked).exact(true)).await.unwrap();
        assert_eq!(count.result.unwrap().count, 200);
        let page = client.scroll(wire::ScrollPointsBuilder::new("code").limit(7)).await.unwrap();
        assert_eq!((page.result.len(), page.next_page_offset), (7, Some(7.into())));
        let gone = wire::DeletePointsBuilder::new("code").points([1, 2, 999]).wait(true);
        client.delete_points(gone).await.unwrap();
        let count = client.count(wire::CountPointsBuilder::new("code").exact(true)).await.unwrap();
        assert_eq!(count.result.unwrap().count, 298);
        assert!(client.delete_collection("code").await.unwrap().result);
        assert!(!client.collection_exists("code").await.unwrap());
    });
    assert_eq!(store.count(&PointFilter::default(), &Stop::never()), Ok(300));
}

#[test]
fn the_peer_refuses_as_a_server_does() {
    let (runtime, client) = pair(Some("secret"), Some("secret"));
    runtime.block_on(async {
        assert_eq!(code(client.collection_info("code").await.unwrap_err()), tonic::Code::NotFound);
        create(&client).await;
        let again = client.create_collection(wire::CreateCollectionBuilder::new("code")).await;
        assert_eq!(code(again.unwrap_err()), tonic::Code::AlreadyExists);
        for (ids, using) in [(vec![1], "nope"), (vec![1, 1], USING)] {
            let input = wire::VectorInput::new_sparse(ids.clone(), vec![1.0_f32; ids.len()]);
            let query =
                wire::QueryPointsBuilder::new("code").query(wire::Query::new_nearest(input)).using(using);
            assert_eq!(code(client.query(query).await.unwrap_err()), tonic::Code::InvalidArgument);
        }
        client.health_check().await.unwrap();
    });
    for given in [None, Some("other")] {
        let (runtime, client) = pair(Some("secret"), given);
        runtime.block_on(async {
            assert_eq!(code(client.list_collections().await.unwrap_err()), tonic::Code::Unauthenticated);
            client.health_check().await.unwrap();
        });
    }
}
