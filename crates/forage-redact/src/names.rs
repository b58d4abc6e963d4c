//! Recognizes sensitive names, whose values are secrets: `DB_PASSWORD`, `apiToken`, `client-secret`.
//!
//! We split a name into words. The last sensitive word decides, together with the words before and after it.
//! For example, `password` is sensitive, but `password_length` and `public_key` are not.

/// How likely it is that the value of a name is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameWeight {
    /// A person types the value, so words count too, from six characters on.
    Password,
    /// Like [`NameWeight::Password`], but the value is often only the name of a secret, as in Kubernetes.
    Secret,
    /// A program generates the value, so everything that looks random counts.
    Token,
    /// The name may only be related to a secret, or may be some other key. Everything that looks random
    /// counts, except for UUIDs and hexadecimal digests.
    Weak,
}

/// Literals for finding sensitive names. Every such name must contain at least one of them.
#[rustfmt::skip]
pub(crate) const LITERALS: &[&str] = &[
    "pass", "pw", "pswd", "psk", "secret", "token", "key", "auth", "cred", "kennwort", "contrasena", "senha",
    "wachtwoord", "salasana", "jwt", "session",
];

/// Words that mean a password, or are the end of such a word (`dbpassword`).
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "passcode",
    "passwrd",
    "passord",
    "pwd",
    "pswd",
    "kennwort",
    "contrasena",
    "motdepasse",
    "wachtwoord",
    "salasana",
    "passwords",
];

/// Words that mean a generated secret, or are the end of such a word.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "accountkey", "masterkey", "appkey",
    "sharedkey", "signingkey", "encryptionkey", "jwt", "auth", "credential", "credentials", "creds",
];

/// Words before `key` that make it a secret key.
#[rustfmt::skip]
const KEPT_KEYS: &[&str] = &[
    "api", "access", "secret", "private", "encryption", "encrypt", "encrypted", "signing", "sign", "signature",
    "master", "auth", "account", "shared", "storage", "service", "ssh", "app", "application", "license", "client",
    "deploy", "webhook", "admin", "session", "hmac", "jwt", "aes", "rsa", "crypto", "cipher", "subscription",
    "integration", "token", "cookie", "ingest", "write", "server", "user", "consumer", "data", "root", "tls", "ssl",
    "wallet", "signer", "vapid", "recovery",
];

/// Words before a sensitive word that change its meaning, or make the value public.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "public", "pub", "csrf", "xsrf", "foreign", "primary", "partition", "sort", "hot", "natural", "schema",
    "sequence", "bucket", "idx", "index", "page", "continuation", "cancellation", "cancel", "turn", "mon", "no", "is",
    "has", "use", "show", "hide", "publishable", "bad", "empty", "incorrect", "wrong", "invalid", "missing", "forgot",
    "forgotten", "expired", "max", "min", "random", "issuer", "anon", "syntax", "authenticity", "socket",
    "websocket", "not",
];

/// Words after a sensitive word that change its meaning, for example in `token_url` and `key_length`.
#[rustfmt::skip]
const AFTER: &[&str] = &[
    "length", "len", "size", "name", "names", "id", "ids", "identifier", "url", "urls", "uri", "path", "paths",
    "file", "files", "filename", "dir", "directory", "folder", "type", "types", "kind", "prompt", "label", "hint",
    "title", "message", "msg", "error", "errors", "field", "fields", "input", "policy", "rule", "rules", "regex",
    "pattern", "reset", "strength", "min", "max", "count", "limit", "expiry", "expires", "expiration", "ttl", "age",
    "provider", "store", "storetype", "manager", "handler", "factory", "class", "endpoint", "host", "port", "version",
    "format", "prefix", "suffix", "header", "index", "usage", "required", "enabled", "disabled", "visible",
    "placeholder", "link", "page", "form", "alias", "ref", "reference", "mapping", "board", "code", "codes", "frame",
    "frames", "press", "pressed", "up", "down", "left", "right", "word", "words", "stone", "ring", "pair", "selector",
    "mesh", "event", "or", "scope", "scopes", "audience", "issuer", "algorithm", "alg", "method", "mode", "column",
    "table", "query", "param", "params", "parameter", "vault", "spec", "schema", "set", "sets", "map", "list", "func",
    "function", "callback", "request", "response", "service", "server", "user", "username", "email", "domain",
    "realm", "role", "roles", "region", "arn", "state", "status", "source", "exists", "valid", "invalid",
    "confirmation", "confirm", "mismatch", "missing", "is", "must", "character", "characters", "chars", "icon",
    "button", "bytes", "bits", "offset", "position", "pos", "span", "stream", "tree", "kinds", "budget", "cost",
    "price", "model", "limits", "per", "number", "num", "no", "tag", "space", "ordering", "order", "constraint",
    "signatures", "signature", "meshing", "exchange", "agreement", "derivation", "deriver", "rotation",
    "usages", "bindings", "binding", "book", "over",
    "checksum", "owner", "flow", "grant", "uuid", "guid", "expired", "created", "updated", "date", "time",
    "timestamp", "at", "env", "var", "variable", "with", "aes", "identity", "thumbprint", "fingerprint", "pub", "public",
];

/// Words after a sensitive word that do not change its meaning.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    "prod", "production", "dev", "development", "test", "testing", "tests", "stage", "staging", "local", "live",
    "old", "new", "current", "default", "value", "val", "string", "str", "text", "plain", "plaintext", "raw", "data",
    "base", "base64", "b64", "hex", "primary", "secondary", "backup", "admin", "root", "main", "rw", "ro", "unencrypted",
    "cleartext", "override", "fallback",
];

/// Maximum number of words in a name. Anything longer is not a name.
const MAX_WORDS: usize = 16;

/// Classifies a name. Returns `None` if it is not sensitive.
pub(crate) fn name_weight(name: &str) -> Option<NameWeight> {
    if is_locale(name) {
        return None;
    }
    let mut words = [""; MAX_WORDS];
    let mut count = 0;
    for word in words_of(name) {
        *words.get_mut(count)? = word;
        count += 1;
    }
    let words = &words[..count];
    // In `secret_key_password`, the password counts.
    let at = words.iter().rposition(|word| kind(word).is_some())?;
    let mut weight = kind(words[at])?;
    let before = at.checked_sub(1).map(|before| words[before]);
    if before.is_some_and(|word| is_one_of(word, BEFORE)) {
        return None;
    }
    if words[at].eq_ignore_ascii_case("key")
        && before.is_some_and(|word| is_one_of(word, KEPT_KEYS) || kind(word).is_some())
    {
        weight = NameWeight::Token;
    }
    let mut after = &words[at + 1..];
    // `pass_word` is a password, but `token_word` is a word.
    if words[at].eq_ignore_ascii_case("pass") {
        after = after
            .split_first()
            .filter(|(word, _)| is_one_of(word, &["word", "words"]))
            .map_or(after, |it| it.1);
    }
    for word in after {
        if is_one_of(word, AFTER) {
            return None;
        }
        // A word that we don't know may change the meaning.
        if !is_one_of(word, NEUTRAL) {
            weight = NameWeight::Weak;
        }
    }
    Some(weight)
}

/// Returns true for the name of a locale: `en_PW` means English in Palau.
fn is_locale(name: &str) -> bool {
    matches!(name.as_bytes(), [a, b, b'_' | b'-', c, d]
        if a.is_ascii_lowercase() && b.is_ascii_lowercase() && c.is_ascii_uppercase() && d.is_ascii_uppercase())
}

fn kind(word: &str) -> Option<NameWeight> {
    let ends_with_one = |words: &[&str]| words.iter().any(|end| ends_with(word, end));
    // These must be whole words, because `compass` ends with `pass`.
    if is_one_of(word, &["pass", "passe", "pw", "psk", "bindpw", "rootpw", "senha"])
        || ends_with_one(PASSWORDS)
    {
        Some(NameWeight::Password)
    } else if ends_with(word, "secret") {
        Some(NameWeight::Secret)
    } else if ends_with_one(TOKENS) && !ends_with(word, "jsonwebtoken") {
        Some(NameWeight::Token)
    } else if is_one_of(word, &["key", "session", "sessionid", "sessid", "phpsessid", "jsessionid"]) {
        Some(NameWeight::Weak)
    } else {
        None
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

fn ends_with(word: &str, end: &str) -> bool {
    let (word, end) = (word.as_bytes(), end.as_bytes());
    word.len() >= end.len() && word[word.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Splits a name into words, at everything that is not a letter and at humps. Digits are left out. Note that
/// `PassWord` and `pass_word` have two words, which [`name_weight`] takes as one.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_ascii_alphabetic())
        .flat_map(humps)
        .filter(|word| !word.is_empty())
}

/// Splits a run of letters. A piece begins at a capital letter that follows or precedes a small one
/// (`APIKey`).
fn humps(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let begins = |at: &usize| {
            bytes[*at].is_ascii_uppercase()
                && (bytes[at - 1].is_ascii_lowercase()
                    || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
        };
        let end = (1..bytes.len()).find(begins).unwrap_or(bytes.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "adminpwd",
            "MYSQL_PWD",
            "pass",
            "password2",
            "pass_word",
            "DB_PASS_WORD",
            "userPasswordProd",
            "userPw",
            "mot_de_passe",
            "senha",
            "spring.datasource.password",
        ] {
            assert_eq!(name_weight(name), Some(NameWeight::Password), "{name}");
        }
        for name in ["secret", "clientSecret", "AWS_SECRET", "jwt.secret"] {
            assert_eq!(name_weight(name), Some(NameWeight::Secret), "{name}");
        }
        for name in [
            "token",
            "apiToken",
            "APIKey",
            "api-key",
            "AccountKey",
            "client-key-data",
            "tls.key",
            "SECRET_KEY",
            "fooTokenValue",
            "user_auth",
        ] {
            assert_eq!(name_weight(name), Some(NameWeight::Token), "{name}");
        }
        for name in ["key", "mySecretHandle", "PHPSESSID"] {
            assert_eq!(name_weight(name), Some(NameWeight::Weak), "{name}");
        }
        for name in [
            "password_length",
            "tokenUrl",
            "publicKey",
            "csrf_token",
            "primary_key",
            "keyboard",
            "tokenizer",
            "passenger",
            "compass",
            "author",
            "secretName",
            "credentialsId",
            "UserSecretsId",
            "max_tokens",
            "keystore_path",
            "en_PW",
            "SEC_WEBSOCKET_KEY",
            "testKeyThumbprint",
            "testKeyECPubX",
        ] {
            assert_eq!(name_weight(name), None, "{name}");
        }
    }
}
