//! Measures lookups within one process: `lookups [--words] PLACE COLLECTION ENCODER [CALLERS [REPO]] <
//! QUERIES`, with one query per line.
//!
//! With `--words`, names are treated like any other words, as other clients do. PLACE is the address of a
//! server, or the directory of embedded collections. For each query the program prints `{"query", "ids": […],
//! "hits": [[path, first line, last line], …]}`. The durations of the queries, with CALLERS of them at a
//! time, go to standard error.
#![expect(clippy::disallowed_macros, reason = "a standalone program")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_lookup::{
    CodeSuperset, EmbeddedStore, Encoder, FastEmbedBm25, Idf, PointFilter, PointHit, PointReader, Retriever,
    ServerSettings, ServerStore,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_of_words = arguments.first().is_some_and(|first| first == "--words");
    arguments.drain(..usize::from(is_of_words));
    let [place, collection, encoder, more @ ..] = arguments.as_slice() else {
        return Err("lookups [--words] PLACE COLLECTION ENCODER [CALLERS [REPO]] < QUERIES".into());
    };
    let callers = more.first().map_or(Ok(1), |callers| callers.parse())?;
    let filter =
        more.get(1).map_or_else(PointFilter::default, |repo| PointFilter::any_of("repo", [repo.as_str()]));
    let encoder: Arc<dyn Encoder> = match encoder.as_str() {
        FastEmbedBm25::NAME => Arc::new(FastEmbedBm25::new()),
        CodeSuperset::NAME => Arc::new(CodeSuperset::new()),
        _ => return Err("there is no such encoder".into()),
    };
    let store: Arc<dyn PointReader> = match place.contains("://") {
        true => Arc::new(ServerStore::connect(ServerSettings::new(place, collection))?),
        false => Arc::new(EmbeddedStore::new(place.as_ref(), collection)?),
    };
    let retriever = Retriever {
        store,
        encoder: Some(encoder),
        prose: None,
        backend: "measured",
        using: "text-sparse".to_owned(),
        idf: Idf::Auto,
        fields: ["repo", "path", "lines", "text"].map(str::to_owned).into(),
        text_field: (!is_of_words).then(|| "text".to_owned()),
        timeout: Duration::from_secs(60),
        rarity: Arc::default(),
    };
    let queries: Vec<String> = std::io::stdin().lines().collect::<Result<_, _>>()?;
    // The first round warms the page cache and fetches the rarity of words. We print and measure only the
    // second round.
    let first = answers(&retriever, &queries, callers, &filter)?;
    let began = Instant::now();
    let found = answers(&retriever, &queries, callers, &filter)?;
    let whole = began.elapsed();
    for (query, (hits, _)) in queries.iter().zip(&found) {
        let hit = |hit: &PointHit| {
            let lines = &hit.payload["lines"];
            json!([hit.payload["path"], lines["start"], lines["end"]])
        };
        let ids: Vec<Value> = hits.iter().map(|hit| json!(hit.id.to_string())).collect();
        println!(
            "{}",
            json!({ "query": query, "ids": ids, "hits": hits.iter().map(hit).collect::<Vec<_>>() })
        );
    }
    let sorted = |answers: Vec<TimedHits>| {
        let mut times: Vec<Duration> = answers.into_iter().map(|(_, time)| time).collect();
        times.sort_unstable();
        times
    };
    let (first, times) = (sorted(first), sorted(found));
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    eprintln!(
        "{} queries: p50 {:?}, p90 {:?}, p99 {:?}, max {:?}, {:.0} a second; first run p50 {:?}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0 - 1e-9),
        queries.len() as f64 / whole.as_secs_f64(),
        first.get(first.len() / 2).copied().unwrap_or_default()
    );
    Ok(())
}

type TimedHits = (Vec<PointHit>, Duration);

/// Runs all queries, with `callers` of them at a time. Returns their results and durations.
fn answers(
    retriever: &Retriever,
    queries: &[String],
    callers: usize,
    filter: &PointFilter,
) -> Result<Vec<TimedHits>, Box<dyn std::error::Error>> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<Result<TimedHits, String>>>> =
        Mutex::new(queries.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                while let Some((index, query)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|index| Some((index, queries.get(index)?)))
                {
                    let began = Instant::now();
                    let answer = retriever.look_up(query, 10, filter, &Stop::never());
                    let answer =
                        answer.map(|found| (found.hits, began.elapsed())).map_err(|error| error.to_string());
                    if let Some(place) = found.lock().unwrap_or_else(PoisonError::into_inner).get_mut(index) {
                        *place = Some(answer);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().map(|answer| Ok(answer.ok_or("a query did not run")??)).collect()
}
