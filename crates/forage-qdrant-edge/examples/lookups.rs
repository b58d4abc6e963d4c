//! Measures lookups without a process for each: `lookups DIRECTORY COLLECTION ENCODER < QUERIES`, a query on a line.
//! Prints `{"query", "hits": [[path, first line, last line], …]}` for each, and on standard error how long queries took.
#![expect(clippy::disallowed_macros, reason = "a program of its own")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_qdrant_edge::EmbeddedStore;
use forage_sparse::{CodeSuperset, Encoder, EncoderSource, FastEmbedBm25, PointFilter, Retriever};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, collection, encoder] = arguments.as_slice() else {
        return Err("lookups DIRECTORY COLLECTION ENCODER < QUERIES".into());
    };
    let encoder: Arc<dyn Encoder> = match encoder.as_str() {
        FastEmbedBm25::NAME => Arc::new(FastEmbedBm25::new()),
        CodeSuperset::NAME => Arc::new(CodeSuperset::new()),
        _ => return Err("there is no such encoder".into()),
    };
    let retriever = Retriever {
        store: Arc::new(EmbeddedStore::open(Path::new(directory), collection)?),
        encoder: Some(EncoderSource::new(Box::new(|| Ok(encoder)))),
        prose: None,
        backend: "embedded",
        using: "text-sparse".to_owned(),
        fields: ["repo", "path", "lines", "text"].map(str::to_owned).into(),
        text_field: Some("text".to_owned()),
        timeout: Duration::from_secs(60),
    };
    let queries: Vec<String> = std::io::stdin().lines().collect::<Result<_, _>>()?;
    let mut times = Vec::new();
    // The first round warms the page cache, the second is printed and counts.
    for is_counted in [false, true] {
        for query in &queries {
            let began = Instant::now();
            let found = retriever.look_up(query, 10, &PointFilter::default(), &Stop::never())?;
            if !is_counted {
                continue;
            }
            times.push(began.elapsed());
            let hit = |hit: &forage_sparse::PointHit| {
                let lines = &hit.payload["lines"];
                json!([hit.payload["path"], lines["start"], lines["end"]])
            };
            println!("{}", json!({ "query": query, "hits": found.hits.iter().map(hit).collect::<Vec<_>>() }));
        }
    }
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    eprintln!(
        "{} queries: p50 {:?}, p90 {:?}, p99 {:?}, max {:?}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0 - 1e-9)
    );
    Ok(())
}
