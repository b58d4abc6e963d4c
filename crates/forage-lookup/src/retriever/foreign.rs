//! Queries collections of other programs. LlamaIndex, LangChain and FastEmbed have their own names of vectors
//! and texts, and most of them omit the IDF modifier.

use std::sync::{Arc, OnceLock};

use forage_base::Stop;
use serde_json::{Map, Value};

use super::{Adaptation, CollectionError, Retriever};
use crate::filter::PointFilter;
use crate::store::{
    ALL_FIELDS, Collection, PointHit, PointPage, PointQuery, PointReader, PointScan, StoreError, WeightedHit,
};

/// LlamaIndex's field with a node as JSON, which contains the text.
const NODE: &str = "_node_content";

/// Payload fields that may contain the text of a point: those of Forage and many others, LangChain, FastEmbed
/// and LlamaIndex.
const TEXT_FIELDS: [&str; 4] = ["text", "page_content", "document", NODE];

/// Chooses the sparse vector to search: the one with this name, otherwise the only one.
pub(super) fn vector<'a>(
    collection: &'a Collection,
    using: &str,
    place: &str,
) -> Result<&'a str, CollectionError> {
    let vectors = &collection.sparse_vectors;
    let only = vectors.keys().next().filter(|_| vectors.len() == 1);
    match vectors.get_key_value(using).map(|(name, _)| name).or(only) {
        Some(name) => Ok(name),
        None => Err(CollectionError::no_vector(collection, using, place)),
    }
}

/// A store that presents the text of its points in one field, regardless of the program that wrote them.
pub(super) struct TextStore {
    inner: Arc<dyn PointReader>,
    field: String,
    /// The field in which we found a text instead.
    found: OnceLock<&'static str>,
}

impl TextStore {
    /// Wraps the retriever's store. Returns `None` if the retriever does not use texts, or if Forage created
    /// the collection.
    pub(super) fn new(retriever: &Retriever, collection: &Collection) -> Option<Arc<Self>> {
        let field = retriever.text_field.clone().filter(|_| collection.contract.is_none())?;
        Some(Arc::new(Self { inner: Arc::clone(&retriever.store), field, found: OnceLock::new() }))
    }

    pub(super) fn adapted(&self) -> Option<Adaptation> {
        self.found.get().map(|used| Adaptation::Text { asked: self.field.clone(), used: (*used).to_owned() })
    }

    /// Moves the text to `self.field`, and removes fields that were not requested.
    fn move_text(&self, payload: &mut Map<String, Value>, asked: &[String]) {
        if !payload.get(&self.field).is_some_and(Value::is_string) {
            let text = TEXT_FIELDS.iter().find_map(|field| Some((*field, text_in(field, payload)?)));
            if let Some((field, text)) = text {
                let _ = self.found.set(field);
                payload.insert(self.field.clone(), text.into());
            }
        }
        let is_asked = |field: &String| asked.iter().any(|asked| asked == field || asked == ALL_FIELDS);
        payload.retain(|field, _| !TEXT_FIELDS.contains(&field.as_str()) || is_asked(field));
        payload.sort_keys();
    }
}

/// Reads the text in a field of a payload.
fn text_in(field: &str, payload: &Map<String, Value>) -> Option<String> {
    let text = payload.get(field)?.as_str()?;
    if field != NODE {
        return Some(text.to_owned());
    }
    let node: Value = serde_json::from_str(text).ok()?;
    // Newer nodes may contain the text in a resource.
    [&node["text"], &node["text_resource"]["text"]].into_iter().find_map(Value::as_str).map(str::to_owned)
}

impl PointReader for TextStore {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        self.inner.collection(stop)
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        if !query.fields.contains(&self.field) {
            return self.inner.query(query, stop);
        }
        let others = TEXT_FIELDS.iter().filter(|field| query.fields.iter().all(|asked| asked != *field));
        let fields: Vec<String> =
            query.fields.iter().cloned().chain(others.map(|&field| field.to_owned())).collect();
        let mut hits = self.inner.query(&PointQuery { fields: &fields, ..query.clone() }, stop)?;
        hits.iter_mut().for_each(|hit| self.move_text(&mut hit.payload, query.fields));
        Ok(hits)
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        self.inner.query_all(queries, with_vectors, stop)
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        self.inner.scan(scan, stop)
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        self.inner.count(filter, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_any_payload_has_a_text_or_none() {
        let node = r#"{"id_":"n","text":"fn a() {}","metadata":{}}"#;
        let newer = r#"{"text_resource":{"text":"fn a() {}"}}"#;
        forage_fuzz::target!(&forage_fuzz::seeds([node, newer, "[]", "\"text\""]), |input| {
            let written = String::from_utf8_lossy(input).into_owned();
            let payload = Map::from_iter([(NODE.to_owned(), Value::String(written.clone()))]);
            let text = text_in(NODE, &payload);
            assert!(text.is_none_or(|text| written.len() >= text.len()), "{written}");
        });
    }
}
