//! Names that say that their value is a secret: `DB_PASSWORD`, `apiToken`, `client-secret`.
//!
//! A name is taken apart into words. The last telling word decides, with what stands before and behind it: a
//! `password` is one, a `password_length` is none, a `public_key` neither.

/// How much a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameWeight {
    /// The value is what a person types: words count, too, from six characters on.
    Password,
    /// As [`NameWeight::Password`], but the value is often the name of a secret instead, as in Kubernetes.
    Secret,
    /// The value is made by a program: whatever looks random.
    Token,
    /// The name is about a secret, or a key of some kind: whatever looks random and is no identifier of 128 bits.
    Weak,
}

/// Literals one of which is in every telling name.
#[rustfmt::skip]
pub(super) const LITERALS: &[&str] = &[
    "pass", "pw", "pswd", "psk", "secret", "token", "key", "auth", "cred", "kennwort", "contrasena", "senha",
    "wachtwoord", "salasana", "jwt", "session",
];

/// Words that are a password, or end as one (`dbpassword`).
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

/// Words that are the secret of a machine, or end as one.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "accountkey", "masterkey", "appkey",
    "sharedkey", "signingkey", "encryptionkey", "jwt", "auth", "credential", "credentials", "creds",
];

/// What makes a `key` one that must be kept.
#[rustfmt::skip]
const KEPT_KEYS: &[&str] = &[
    "api", "access", "secret", "private", "encryption", "encrypt", "encrypted", "signing", "sign", "signature",
    "master", "auth", "account", "shared", "storage", "service", "ssh", "app", "application", "license", "client",
    "deploy", "webhook", "admin", "session", "hmac", "jwt", "aes", "rsa", "crypto", "cipher", "subscription",
    "integration", "token", "cookie", "ingest", "write", "server", "user", "consumer", "data", "root", "tls", "ssl",
    "wallet", "signer", "vapid", "recovery",
];

/// What makes a telling word tell of something else, or of what everybody may know, from before.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "public", "pub", "csrf", "xsrf", "foreign", "primary", "partition", "sort", "hot", "natural", "schema",
    "sequence", "bucket", "idx", "index", "page", "continuation", "cancellation", "cancel", "turn", "mon", "no", "is",
    "has", "use", "show", "hide", "publishable", "bad", "empty", "incorrect", "wrong", "invalid", "missing", "forgot",
    "forgotten", "expired", "max", "min", "random", "issuer", "anon", "syntax", "authenticity", "socket",
    "websocket", "not",
];

/// What makes a telling word tell of something else from behind: `token_url`, `key_length`.
#[rustfmt::skip]
const BEHIND: &[&str] = &[
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

/// What may stand behind a telling word and leaves it as telling as it is.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    "prod", "production", "dev", "development", "test", "testing", "tests", "stage", "staging", "local", "live",
    "old", "new", "current", "default", "value", "val", "string", "str", "text", "plain", "plaintext", "raw", "data",
    "base", "base64", "b64", "hex", "primary", "secondary", "backup", "admin", "root", "main", "rw", "ro", "unencrypted",
    "cleartext", "override", "fallback",
];

/// Most words that a name is taken apart into; longer ones are no names.
const MAX_WORDS: usize = 16;

/// How telling a name is, `None` if it is not.
pub(super) fn telling(name: &str) -> Option<NameWeight> {
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
    let at = words.iter().rposition(|word| kind(word).is_some())?;
    let mut telling = kind(words[at])?;
    let before = at.checked_sub(1).map(|before| words[before]);
    if before.is_some_and(|word| is_one_of(word, BEFORE)) {
        return None;
    }
    if words[at].eq_ignore_ascii_case("key")
        && before.is_some_and(|word| is_one_of(word, KEPT_KEYS) || kind(word).is_some())
    {
        telling = NameWeight::Token;
    }
    for word in &words[at + 1..] {
        if is_one_of(word, BEHIND) {
            return None;
        }
        if !is_one_of(word, NEUTRAL) {
            telling = NameWeight::Weak;
        }
    }
    Some(telling)
}

/// Whether a name is that of a language and a country: `en_PW` is Palau's.
fn is_locale(name: &str) -> bool {
    matches!(name.as_bytes(), [a, b, b'_' | b'-', c, d]
        if a.is_ascii_lowercase() && b.is_ascii_lowercase() && c.is_ascii_uppercase() && d.is_ascii_uppercase())
}

fn kind(word: &str) -> Option<NameWeight> {
    let ends_with_one = |words: &[&str]| words.iter().any(|end| ends_with(word, end));
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

/// The words of a name, split at what is no letter and at humps; digits are left out. `PassWord` and `pass_word` are one
/// word for what follows here, since each half of it tells.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_ascii_alphabetic())
        .flat_map(humps)
        .filter(|word| !word.is_empty())
}

/// The pieces of a run of letters, each beginning where a capital follows a small letter or precedes one (`APIKey`).
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
            "userPasswordProd",
            "userPw",
            "mot_de_passe",
            "senha",
            "spring.datasource.password",
        ] {
            assert_eq!(telling(name), Some(NameWeight::Password), "{name}");
        }
        for name in ["secret", "clientSecret", "AWS_SECRET", "jwt.secret"] {
            assert_eq!(telling(name), Some(NameWeight::Secret), "{name}");
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
            assert_eq!(telling(name), Some(NameWeight::Token), "{name}");
        }
        for name in ["key", "mySecretHandle", "PHPSESSID"] {
            assert_eq!(telling(name), Some(NameWeight::Weak), "{name}");
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
            assert_eq!(telling(name), None, "{name}");
        }
    }
}
