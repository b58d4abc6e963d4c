//! Access tokens of clients.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::caller::Caller;

/// A secret that admits its holder. We keep only its hash.
#[derive(Clone)]
pub struct AccessToken {
    digest: TokenDigest,
    holder: Option<Arc<Caller>>,
    reads_metrics: bool,
}

/// The SHA-256 hash of a token.
pub type TokenDigest = [u8; 32];

impl AccessToken {
    /// Creates the token that all clients share. Returns `None` if the text is empty or has characters other
    /// than visible ASCII.
    pub fn shared(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self { digest: digest(text), holder: None, reads_metrics: true })
    }

    /// Creates the token of one holder from its hash.
    pub fn new(holder: Caller, digest: TokenDigest, reads_metrics: bool) -> Self {
        Self { digest, holder: Some(Arc::new(holder)), reads_metrics }
    }

    /// The hash of the token.
    pub fn digest(&self) -> &TokenDigest {
        &self.digest
    }

    pub(super) fn holder(&self) -> Option<&Arc<Caller>> {
        self.holder.as_ref()
    }

    pub(super) fn reads_metrics(&self) -> bool {
        self.reads_metrics
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessToken").field("holder", &self.holder).finish_non_exhaustive()
    }
}

fn digest(text: &str) -> TokenDigest {
    Sha256::digest(text).into()
}

/// All tokens, keyed by their hashes, so the time of a lookup reveals nothing about the text of a token.
#[derive(Debug)]
pub(super) struct KnownTokens(HashMap<TokenDigest, AccessToken>);

impl KnownTokens {
    pub(super) fn new(tokens: &[AccessToken]) -> Self {
        Self(tokens.iter().map(|token| (token.digest, token.clone())).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn find(&self, shown: &str) -> Option<&AccessToken> {
        self.0.get(&digest(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::CallerLimits;

    #[test]
    fn tokens_are_found_by_text_and_hidden_in_debug() {
        let caller = Caller::new("ci", CallerLimits::default());
        let named = AccessToken::new(caller, digest("abc"), false);
        let tokens = KnownTokens::new(&[named, AccessToken::shared(" all ").unwrap()]);
        assert_eq!(tokens.find("abc").and_then(AccessToken::holder).map(|it| it.name()), Some("ci"));
        assert!(tokens.find("all").is_some_and(|token| token.holder().is_none()));
        assert!(tokens.find("ab").is_none() && tokens.find("").is_none());
        assert!(!format!("{tokens:?}").contains("abc"));
        // The hash as `sha256sum` prints it.
        let hex: String = digest("abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn token_must_be_a_valid_header_value() {
        for text in ["", " ", "a b", "é", "a\nb"] {
            assert!(AccessToken::shared(text).is_none(), "{text:?}");
        }
    }
}
