//! Stores points as documents of the engine.

use serde_json::{Map, Value};
use tantivy::schema::{
    BytesOptions, FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{IndexSettings, TantivyDocument};

use crate::filter::{Readings, WantedValue};
use crate::limits;
use crate::payload::values;
use crate::point_id::PointId;
use crate::store::{Point, StoreError};

/// The format of a collection. This number must change together with the schema.
pub(super) const FORMAT: &str = "forage_points_1";

const TOKENIZER: &str = "weights";

/// Number of hexadecimal digits of a dimension, and of the bits of a weight.
const DIGITS: usize = 8;

/// The fields of a document.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    /// The id as bytes that sort in the same order as ids.
    pub(super) key: Field,
    /// Dimensions as terms, with the bits of their weights as positions.
    pub(super) vector: Field,
    /// Values of the payload fields that filters use.
    pub(super) tags: Field,
    /// The payload as JSON.
    pub(super) payload: Field,
    /// The id in columns; see [`ID_COLUMNS`].
    id: [Field; 3],
}

/// The kind of an id (0 for a number), and its upper and lower 64 bits.
pub(super) const ID_COLUMNS: [&str; 3] = ["id_kind", "id_high", "id_low"];

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexed = |tokenizer: &str, option| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(option)
            .set_fieldnorms(false);
        TextOptions::default().set_indexing_options(indexing)
    };
    let fields = Fields {
        key: builder.add_bytes_field("key", BytesOptions::default().set_indexed()),
        vector: builder
            .add_text_field("vector", indexed(TOKENIZER, IndexRecordOption::WithFreqsAndPositions)),
        tags: builder.add_text_field("tags", indexed("raw", IndexRecordOption::Basic)),
        payload: builder.add_bytes_field("payload", STORED),
        id: ID_COLUMNS.map(|name| builder.add_u64_field(name, FAST)),
    };
    (builder.build(), fields)
}

pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Lz4,
        docstore_compress_dedicated_thread: false,
        // The blocks are small because reading a hit decompresses a whole block.
        docstore_blocksize: limits::PAYLOAD_BLOCK_BYTES,
        ..IndexSettings::default()
    }
}

pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(TOKENIZER, Weights::default());
    tokenizers
}

impl Fields {
    pub(super) fn document(
        &self,
        point: &Point,
        indexed_fields: &[String],
    ) -> Result<TantivyDocument, StoreError> {
        let mut document = TantivyDocument::new();
        document.add_bytes(self.key, &key(point.id));
        let (kind, high, low) = match point.id {
            PointId::Number(number) => (0, 0, number),
            PointId::Uuid(uuid) => (1, (uuid >> 64) as u64, uuid as u64),
        };
        self.id.into_iter().zip([kind, high, low]).for_each(|(field, value)| document.add_u64(field, value));
        let mut text = String::with_capacity(2 * DIGITS * point.vector.ids().len());
        for (id, weight) in point.vector.ids().iter().zip(point.vector.weights()) {
            text.push_str(&dimension(*id));
            text.push_str(&dimension(weight.to_bits()));
        }
        document.add_text(self.vector, text);
        for field in indexed_fields {
            for value in values(&point.payload, field) {
                tags_of(field, value).into_iter().for_each(|tag| document.add_text(self.tags, tag));
            }
        }
        // Payloads from a server have the same order of fields.
        let mut payload = Value::Object(point.payload.clone());
        payload.sort_all_objects();
        let payload = serde_json::to_vec(&payload).map_err(|error| StoreError::Invalid(error.to_string()))?;
        document.add_bytes(self.payload, &payload);
        Ok(document)
    }
}

/// Encodes an id as bytes that sort in the same order as ids.
pub(super) fn key(id: PointId) -> Vec<u8> {
    match id {
        PointId::Number(number) => [&[0], &number.to_be_bytes()[..]].concat(),
        PointId::Uuid(uuid) => [&[1], &uuid.to_be_bytes()[..]].concat(),
    }
}

/// Formats the term of a dimension.
pub(super) fn dimension(id: u32) -> String {
    format!("{id:08x}")
}

/// Returns the terms for a value of an indexed payload field. A whole number has two terms: one as an integer
/// and one as a float.
fn tags_of(field: &str, value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![tag(field, 's', text)],
        Value::Bool(flag) => vec![tag(field, 'b', &flag.to_string())],
        Value::Number(number) => {
            let integer = number.as_i64().map(|integer| tag(field, 'i', &integer.to_string()));
            integer.into_iter().chain(number.as_f64().map(|float| float_tag(field, float))).collect()
        }
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the terms of the wanted values, and whether a point with one of them passes without a further
/// test.
pub(super) fn wanted_tags(field: &str, wanted: &[WantedValue]) -> (Vec<String>, bool) {
    let wanted = Readings::from_values(wanted);
    // A cut text has at least `TAG_BYTES - 3` bytes, because the cut is before a character of up to four
    // bytes. Shorter wanted texts can't match a cut one, so their terms are exact.
    let is_exact = wanted.texts.iter().all(|text| text.len() + 3 < limits::TAG_BYTES);
    let mut tags: Vec<String> = wanted.texts.iter().map(|text| tag(field, 's', text)).collect();
    tags.extend(wanted.integers.iter().map(|integer| tag(field, 'i', &integer.to_string())));
    tags.extend(wanted.floats.iter().map(|float| float_tag(field, *float)));
    tags.extend(wanted.flags.iter().map(|flag| tag(field, 'b', &flag.to_string())));
    (tags, is_exact)
}

/// Builds the term of a value. The engine drops terms of 64 KiB, so we cut a long text. A filter for such a
/// text must test the payload too.
fn tag(field: &str, kind: char, value: &str) -> String {
    format!("{field}\0{kind}{}", &value[..value.floor_char_boundary(limits::TAG_BYTES)])
}

fn float_tag(field: &str, float: f64) -> String {
    // -0.0 equals 0.0.
    tag(field, 'f', &format!("{:016x}", (float + 0.0).to_bits()))
}

pub(super) fn parse_payload(bytes: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(bytes).ok()
}

/// Tokenizes a vector that [`Fields::document`] has written. The text of a token is a dimension, and its
/// position the bits of the weight.
#[derive(Clone, Default)]
struct Weights {
    token: Token,
}

struct WeightStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for Weights {
    type TokenStream<'a> = WeightStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WeightStream<'a> {
        self.token.reset();
        WeightStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for WeightStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((entry, rest)) = self.rest.split_at_checked(2 * DIGITS) else { return false };
        let (dimension, weight) = entry.split_at(DIGITS);
        self.rest = rest;
        self.token.text.clear();
        self.token.text.push_str(dimension);
        self.token.position = u32::from_str_radix(weight, 16).unwrap_or_default() as usize;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
