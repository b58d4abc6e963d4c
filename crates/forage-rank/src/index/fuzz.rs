//! Fuzzes the parser for stored file records with arbitrary text.

use forage_fuzz::target;
use tantivy::tokenizer::TokenStream as _;

use super::encoded::{TOKENIZER, tokenizers};
use super::record::StoredFile;
use super::segment::states_of;
use crate::chunk::outline;
use crate::fuzz::SOURCES;
use crate::languages::LANGUAGES;

#[test]
fn any_text_in_the_place_of_a_record_is_sound_or_none() {
    let mut records = Vec::new();
    for text in SOURCES {
        for language in LANGUAGES.iter().take(12) {
            let outline = outline(text, language);
            let mut record = StoredFile { path: "src/a.rs".to_owned(), ..StoredFile::default() };
            for (index, symbol) in (0..).zip(&outline.symbols) {
                record.push_symbol(symbol, index * 3, 1);
            }
            for (index, chunk) in (0..).zip(&outline.chunks) {
                record.push_chunk(chunk, index * 40);
            }
            record.end_position = 50_000;
            records.push(record.to_text());
        }
    }
    let mut tokenizer = tokenizers().get(TOKENIZER).unwrap();
    target!(&forage_fuzz::seeds(&records), |input| {
        let text = String::from_utf8_lossy(input);
        let mut stream = tokenizer.token_stream(&text);
        let mut tokens = 0;
        while stream.advance() {
            tokens += 1;
        }
        // For any text, each token takes at least one character. We can't expect ascending positions, which
        // only intact text has.
        assert!(tokens <= text.chars().count());
        let Some(record) = StoredFile::from_text(&text) else { return };
        // Derived values must not exceed the bounds of the record.
        for chunk in 0..record.chunks.len() {
            assert!(record.chunk_length(chunk) <= record.end_position);
        }
        for symbol in &record.symbols {
            assert!(record.chunk_of_line(symbol.line) < record.chunks.len());
            assert!(record.names.contains(record.name(symbol)));
        }
        assert_eq!(StoredFile::from_text(&record.to_text()).as_ref(), Some(&record));
    });
}

#[test]
fn arbitrary_state_bytes_match_the_documents_or_are_refused() {
    let seeds = vec![vec![7; 24], (0..64).collect(), Vec::new()];
    target!(&seeds, |input| {
        for documents in [0, 3, 8] {
            match states_of(input, documents) {
                Ok(states) => {
                    let bytes: Vec<u8> = states.iter().flat_map(|state| state.to_le_bytes()).collect();
                    assert_eq!((bytes.as_slice(), states.len()), (input, documents as usize));
                }
                Err(_) => assert_ne!(input.len(), 8 * documents as usize),
            }
        }
    });
}
