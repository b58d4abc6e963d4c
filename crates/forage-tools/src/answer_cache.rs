//! Cache of model answers.
//!
//! A cached answer must only be used if everything that determines it is the same. The key is therefore a
//! hash of the model, prompt version, prompt, evidence, schema and output limit. If a file changes in a way
//! that shows in the evidence, the key changes too, so we never have to invalidate anything. This crate does
//! not decide where answers are stored.

use std::fmt;
use std::time::Duration;

use forage_llm::ChatRequest;
use ring::digest::{Context as Digest, SHA256};

/// Stores answers. Implementations must be fast compared to a model call, and should report a failure as a
/// missing answer.
pub trait AnswerCache: Send + Sync {
    /// Returns the answer stored under this key if it is present, readable and not too old.
    fn get(&self, key: &CacheKey) -> Option<CachedAnswer>;

    /// Stores a model's text that has been validated as an answer. This text contains no evidence, but it
    /// names files and describes them in the model's words.
    fn put(&self, key: &CacheKey, text: &str);
}

/// An answer from a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedAnswer {
    /// The text of the model's answer. It is validated again like a new answer.
    pub text: String,
    /// Time since the model returned it.
    pub age: Duration,
}

/// Identifies one request to one model.
///
/// We use SHA-256 because evidence comes from repositories that may be hostile. With a weaker hash, an
/// attacker could make two requests collide, so that one would get the answer to the other.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CacheKey(String);

impl CacheKey {
    /// Hashes a request. `prompt_version` represents how the answer will be parsed; the prompt's text itself
    /// is part of the request.
    pub(crate) fn for_request(model: &str, prompt_version: u32, request: &ChatRequest) -> Self {
        let mut digest = Digest::new(&SHA256);
        // Prefix each part with its length, so that no two lists of parts have the same bytes.
        let mut add = |part: &str| {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        };
        add(model);
        add(&prompt_version.to_string());
        add(&request.max_output_tokens.to_string());
        match &request.answer_schema {
            Some(schema) => {
                add(schema.name);
                add(&schema.schema.to_string());
            }
            None => add(""),
        }
        request.texts().for_each(add);
        let hash = digest.finish();
        Self(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the key as 64 hexadecimal digits, which is a valid file name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forage_llm::AnswerSchema;
    use forage_redact::{Redacted, Redactor};
    use serde_json::json;

    fn request(user: &str) -> ChatRequest {
        ChatRequest::question(Redacted::trusted("system"), Redactor::standard().redact(user), 100)
    }

    #[test]
    fn everything_that_determines_an_answer_changes_the_key() {
        let base = CacheKey::for_request("acme/small", 1, &request("user"));
        assert_eq!(base, CacheKey::for_request("acme/small", 1, &request("user")));
        assert_eq!(base.as_str().len(), 64);
        let mut schema = request("user");
        schema.answer_schema = Some(AnswerSchema { name: "a", ask: "", schema: json!({"enum": ["F1"]}) });
        let mut other_schema = request("user");
        other_schema.answer_schema =
            Some(AnswerSchema { name: "a", ask: "", schema: json!({"enum": ["F2"]}) });
        let mut limit = request("user");
        limit.max_output_tokens = 101;
        let mut system = request("user");
        system.system = Redacted::trusted("another system");
        let others = [
            CacheKey::for_request("acme/large", 1, &request("user")),
            CacheKey::for_request("acme/small", 2, &request("user")),
            CacheKey::for_request("acme/small", 1, &request("user ")),
            CacheKey::for_request("acme/small", 1, &schema),
            CacheKey::for_request("acme/small", 1, &other_schema),
            CacheKey::for_request("acme/small", 1, &limit),
            CacheKey::for_request("acme/small", 1, &system),
            // The boundary between model and version moved by one character.
            CacheKey::for_request("acme/small1", 1, &request("user")),
        ];
        let distinct: std::collections::HashSet<_> = others.iter().chain([&base]).collect();
        assert_eq!(distinct.len(), others.len() + 1);
    }
}
