//! Measures how many texts per second `fastembed-bm25` and `code-superset` encode in one thread. The input is
//! a file with a JSON string on each line, e.g. from `bench/sparse.py chunks`.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a standalone program")]

use std::time::Instant;

use forage_lookup::{CodeSuperset, Encoder, FastEmbedBm25};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: encode CHUNKS.jsonl")?;
    let texts = std::fs::read_to_string(path)?;
    let texts: Vec<String> = texts.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let encoders: [(&str, &dyn Encoder); 2] =
        [(FastEmbedBm25::NAME, &FastEmbedBm25::new()), (CodeSuperset::NAME, &CodeSuperset::new())];
    for _ in 0..ROUNDS {
        for (name, encoder) in encoders {
            let begun = Instant::now();
            let mut dimensions = 0;
            for text in &texts {
                dimensions += encoder.document(text)?.ids().len();
            }
            let rate = texts.len() as f64 / begun.elapsed().as_secs_f64();
            println!("{name}: {rate:.0} chunks/s of {} ({dimensions} dimensions)", texts.len());
        }
    }
    Ok(())
}
