//! Decides whether a value is a secret, by its name, its syntactic context, and how it looks.

use crate::limits::{
    MAX_JUDGED_BYTES, MIN_PASSPHRASE_CHARS, MIN_PASSWORD_CHARS, MIN_RANDOM_BITS, MIN_SECRET_ENTROPY,
    MIN_TOKEN_CHARS, MIN_WEAK_CHARS,
};
use crate::mark::PRIVATE_MARK;
use crate::names::NameWeight;
use crate::randomness::{bits_of_randomness, entropy};
use crate::rules::PUBLISHED;

/// The syntactic context of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueContext {
    /// In quotes: a string, in any programming language.
    Quoted,
    /// In quotes as the argument of a call, where it may be anything.
    Argument,
    /// Without quotes in a line of settings, an element, a query, or the arguments of a command: also a
    /// string.
    Setting,
    /// Without quotes in what may be code: a name, if it looks like one.
    Bare,
}

/// Returns true if the value of a sensitive name is a secret.
pub(crate) fn is_secret(value: &str, weight: NameWeight, context: ValueContext) -> bool {
    let fixed = without_interpolation(clip(value));
    let text = fixed.trim();
    // A string in a program may contain Markdown, for example a word in backquotes.
    let text = if context == ValueContext::Argument { text.trim_matches('`') } else { text };
    if text.is_empty()
        || is_variable(value)
        || is_placeholder(text)
        || is_foreign(text) && !is_password_in_letters_of_its_own(text, weight, context)
        || text.contains("://")
        || ["./", "../", "~/"].iter().any(|start| text.starts_with(start))
        || is_version(text)
        || is_pattern(text)
        || context == ValueContext::Bare && is_bare_name(text)
        || context == ValueContext::Argument && is_format(text)
        || PUBLISHED.contains(&text)
    {
        return false;
    }
    if is_dotted_number(text)
        || is_number(text) && matches!(context, ValueContext::Bare | ValueContext::Argument)
    {
        return false;
    }
    if context == ValueContext::Argument
        && !matches!(weight, NameWeight::Password)
        && bits_of_randomness(text) < 2.0 * MIN_RANDOM_BITS
    {
        // This excludes calls such as `newSecretKey("PBKDF2WithHmacSHA256")`.
        return weight == NameWeight::Secret && is_password(text, weight, context);
    }
    match weight {
        NameWeight::Password | NameWeight::Secret => {
            is_password(text, weight, context) || (!is_spelled_out(text) && is_token(text, NameWeight::Token))
        }
        NameWeight::Token | NameWeight::Weak => is_token(text, weight),
    }
}

/// Returns true if the text may be a password that a person has chosen.
fn is_password(text: &str, weight: NameWeight, context: ValueContext) -> bool {
    let characters = text.chars().count();
    if characters < MIN_PASSWORD_CHARS || is_path(text) {
        return false;
    }
    if text.contains(char::is_whitespace) {
        return context == ValueContext::Quoted
            && (is_passphrase(text) || weight == NameWeight::Password && is_plain_passphrase(text));
    }
    let digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if !digit
        && is_spelled_out(text)
        && text.chars().all(|character| character.is_alphanumeric() || "_-.#/".contains(character))
    {
        return false;
    }
    let symbol = text.chars().any(|character| !(character.is_alphanumeric() || "_-./:,".contains(character)));
    let pieces =
        text.split(|character: char| !character.is_alphanumeric()).filter(|piece| !piece.is_empty()).count();
    if is_code(text) || text.ends_with(':') {
        return false;
    }
    match context {
        ValueContext::Argument | ValueContext::Bare => {
            (digit || symbol)
                && !is_name(text)
                && (context == ValueContext::Argument
                    || !is_wordy(text)
                    || weight == NameWeight::Password && has_sign_of_no_code(text))
        }
        ValueContext::Quoted | ValueContext::Setting if pieces > 1 => {
            // This excludes names such as `user.password_hash` and `kafka-tls`. However, four plain words are
            // a passphrase.
            let joined =
                !symbol && !digit && text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
            match weight {
                NameWeight::Secret => symbol || digit && !is_wordy(text),
                _ => {
                    (digit || symbol) && !is_dotted_name(text)
                        || (joined && pieces >= 4 && !text.contains('.'))
                }
            }
        }
        ValueContext::Quoted | ValueContext::Setting => {
            digit
                || symbol
                || !text.starts_with(char::is_uppercase) && !is_name_of_several(text)
                || is_random(text)
        }
    }
}

/// Returns true if the text is random enough for a secret that a program has generated.
fn is_token(text: &str, weight: NameWeight) -> bool {
    let characters = text.chars().count();
    let least = if weight == NameWeight::Weak { MIN_WEAK_CHARS } else { MIN_TOKEN_CHARS };
    if characters < least || text.contains(char::is_whitespace) || is_code(text) {
        return false;
    }
    // No variant of base64 has both a slash and one of these characters.
    if text.starts_with('/') && text.contains(['-', '_', '.']) {
        return false;
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if text.bytes().all(|byte| byte.is_ascii_digit() || b"-.:+ ".contains(&byte)) {
        // Times, versions and counts are shorter or contain punctuation.
        return weight == NameWeight::Token
            && characters >= MIN_WEAK_CHARS
            && text.bytes().all(|byte| byte.is_ascii_digit());
    }
    if is_uuid(text) {
        return weight == NameWeight::Token;
    }
    let lower_hex = plain && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if lower_hex && characters >= 32 {
        return weight == NameWeight::Token && entropy(text) > 2.0;
    }
    if entropy(text) < MIN_SECRET_ENTROPY || is_alphabet(text) {
        return false;
    }
    if weight == NameWeight::Weak {
        // The key of a cache may consist of a name such as `linux-node-` and a digest.
        let is_digest =
            |piece: &&str| piece.len() >= 32 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
        let pieces = || text.split(['-', '_', ':']);
        if lower_hex || pieces().any(|piece| is_digest(&piece)) {
            let rest: String = pieces().filter(|piece| !is_digest(piece)).collect();
            if lower_hex || is_wordy(&rest) {
                return false;
            }
        }
        return text.bytes().any(|byte| byte.is_ascii_digit())
            && bits_of_randomness(text) >= 1.5 * MIN_RANDOM_BITS;
    }
    is_random(text)
}

/// Matches numbers in source code: `1_024`, `0x2000`, `512u32`.
fn is_number(text: &str) -> bool {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = hex.unwrap_or(text);
    let is_digit = |byte: u8| if hex.is_some() { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let rest = digits.trim_start_matches(|character: char| {
        character.is_ascii() && (is_digit(character as u8) || character == '_' || character == '.')
    });
    rest.len() < digits.len()
        && rest.len() <= 5
        && (rest.is_empty() || rest.starts_with(['u', 'U', 'i', 'I', 'f', 'F', 'l', 'L', 'n', 'e', 'E']))
        && rest.bytes().skip(1).all(|byte| byte.is_ascii_digit() || b"lLuUsize+-".contains(&byte))
}

/// Matches a version or a range of versions of a package: `^5.1.1`, `5.0.0-beta.17`.
fn is_version(text: &str) -> bool {
    let text = text.trim_start_matches(['^', '~', '>', '=', '<', '!', ' ']);
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (numbers, rest) = text.split_at(numbers);
    let numbers = numbers.trim_end_matches('.');
    numbers.starts_with(|first: char| first.is_ascii_digit())
        && (1..=3).contains(&numbers.matches('.').count())
        && numbers.split('.').all(|number| (1..=4).contains(&number.len()))
        && (rest.is_empty()
            || numbers.matches('.').count() > 1 && rest.starts_with(['-', '+']) && rest.len() <= 40)
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
}

/// Matches a pattern with a character class, for example `[A-Za-z0-9._~+/-]+=*`.
fn is_pattern(text: &str) -> bool {
    text.contains('[') && ["a-z", "A-Z", "0-9", "a-f", "\\w", "\\d"].iter().any(|class| text.contains(class))
}

/// Matches a format string, for example `%.*s4%s`.
fn is_format(text: &str) -> bool {
    ["%s", "%d", "%q", "%v", "%x", "%u", "%.*s", "%lu", "%02x", "%@"].iter().any(|sign| text.contains(sign))
}

/// Matches a name or a dotted path of names. A bare value in code is an expression; a generated secret would
/// contain digits.
fn is_bare_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_.$".contains(&byte))
}

/// Matches texts such as `Winter2025#db`, with a sign between letters and digits that no name or expression
/// has there.
fn has_sign_of_no_code(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().filter(u8::is_ascii_alphabetic).count() >= 3
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-#@!^~".contains(&byte))
        && text
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_alphanumeric() && b"#@!^~".contains(&pair[1]))
        && !text.ends_with('!')
}

/// Matches an address, a version or an object identifier.
fn is_dotted_number(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'.').count() >= 2
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Matches natural language in letters that are not ASCII, or in escapes for them, as in message catalogs.
fn is_foreign(text: &str) -> bool {
    let foreign = text.chars().filter(|character| !character.is_ascii() && character.is_alphabetic()).count();
    foreign * 2 > text.chars().count() || text.matches("\\u").count() > 1
}

/// Matches texts such as `Пароль2024!`: a single word with a digit and a sign is not natural language.
fn is_password_in_letters_of_its_own(text: &str, weight: NameWeight, context: ValueContext) -> bool {
    weight == NameWeight::Password
        && matches!(context, ValueContext::Quoted | ValueContext::Setting)
        && !text.contains(char::is_whitespace)
        && !text.contains("\\u")
        && text.chars().any(|character| character.is_ascii_digit())
        && text.chars().any(|character| character.is_ascii_punctuation() && !"-_.,:".contains(character))
}

/// Returns true if the text is probably random rather than written by a person.
pub(crate) fn is_random(text: &str) -> bool {
    bits_of_randomness(text) >= MIN_RANDOM_BITS
}

/// Returns true if a piece of the text between its punctuation looks random and is long enough for a token.
pub(crate) fn has_random_piece(text: &str) -> bool {
    text.split(|character: char| !(character.is_ascii_alphanumeric() || "_-+/%".contains(character)))
        .any(|piece| piece.len() >= MIN_WEAK_CHARS && is_token(piece, NameWeight::Token))
}

/// Returns true if the text reads like words or a name, so that nothing in it looks random.
pub(crate) fn is_wordy(text: &str) -> bool {
    bits_of_randomness(text) < MIN_RANDOM_BITS / 2.0
}

/// Matches words with blanks between them that are a secret rather than prose: they are long, have a sign
/// that prose lacks, and do not mention passwords.
fn is_passphrase(text: &str) -> bool {
    let odd = |character: char| {
        !(character.is_alphabetic() || character.is_whitespace() || ",.'’\"!?:;()-/".contains(character))
    };
    text.chars().count() >= MIN_PASSPHRASE_CHARS
        && text.chars().any(odd)
        && !is_code(text)
        && !is_spelled_out(text)
        && !text.ends_with(['.', ':', '?', '!', '…'])
}

/// Matches phrases such as `correct horse battery staple`: at least four words in lower case that are not
/// typical of sentences.
fn is_plain_passphrase(text: &str) -> bool {
    let words = || text.split(' ');
    (4..=8).contains(&words().count())
        && words().all(|word| {
            (4..=9).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
                && !OF_SENTENCES.contains(&word)
        })
        && !is_spelled_out(text)
}

/// Words of at least four letters that occur in sentences about a password.
const OF_SENTENCES: &[&str] = &[
    "your",
    "must",
    "should",
    "have",
    "with",
    "from",
    "that",
    "this",
    "least",
    "enter",
    "please",
    "been",
    "will",
    "when",
    "only",
    "into",
    "more",
    "than",
    "same",
    "does",
    "match",
    "valid",
    "invalid",
    "used",
    "must",
    "contain",
    "characters",
    "letters",
    "cannot",
    "required",
    "field",
    "value",
    "login",
    "user",
    "account",
    "wrong",
    "incorrect",
    "which",
    "after",
    "before",
    "again",
    "other",
    "were",
    "they",
    "there",
    "what",
    "string",
    "default",
];

/// Returns true if the text names the expected value, as labels and names of fields do.
fn is_spelled_out(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "credential",
        "apikey",
        "api_key",
        "api-key",
        "username",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

/// Matches a placeholder for a value that is set elsewhere, or a value that means none.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let letters = || lower.chars().filter(|character| character.is_alphanumeric());
    let distinct = {
        let mut seen: Vec<char> = letters().collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    if letters().next().is_none() || distinct == 1 {
        // For example `********`, `......`, `xxxxxxxx` or `00000000`.
        return true;
    }
    if text.starts_with('<') && text.ends_with('>')
        || text.starts_with('[') && text.ends_with(']')
        || text.starts_with('%') && text.len() < 4
    {
        return true;
    }
    if text.starts_with("ENC[")
        || STAND_INS.iter().any(|word| lower.contains(word))
        || lower.contains("xxxx")
        || lower.contains("****")
        || lower.contains("...")
    {
        return true;
    }
    let bare: String = letters().collect();
    NO_VALUES.contains(&bare.as_str())
        || NAMES_OF_SECRETS.contains(&bare.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// Texts that a reader is supposed to replace.
const STAND_INS: &[&str] = &[
    "changeme",
    "change_me",
    "change-me",
    "changeit",
    "change_it",
    "change-it",
    "changethis",
    "change_this",
    "change-this",
    "replaceme",
    "replace_me",
    "replace-me",
    "replace_with",
    "replace-with",
    "placeholder",
    "your_",
    "your-",
    "yourpass",
    "yoursecret",
    "yourtoken",
    "yourkey",
    "yourapi",
    "your.",
    "insert_",
    "insert-",
    "enter_",
    "enter-",
    "put_your",
    "add_your",
    "add-your",
    "dummy",
    "redacted",
    "masked",
    "hidden",
    "todo",
    "fixme",
    "not-a-real",
    "notareal",
    "not_a_real",
    "notasecret",
    "not-a-secret",
    "not_a_secret",
    "fake_",
    "fake-",
    "example_",
    "example-",
    "_example",
    "-example",
    "sample_",
    "sample-",
    "goes-here",
    "goes_here",
    "_here",
    "-here",
    "my_password",
    "my-password",
    "mypassword",
    "mysecret",
    "my-secret",
    "my_secret",
    "my_token",
    "my-token",
    "mytoken",
    "my_api",
    "my-api",
    "abcdef12345",
    "1234567890abcdef",
    "12345678901234567890",
    "0123456789abcdef",
];

/// Values that mean none, and words of forms, schemas and type systems.
const NO_VALUES: &[&str] = &[
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "default",
    "empty",
    "example",
    "sample",
    "string",
    "number",
    "boolean",
    "integer",
    "object",
    "optional",
    "required",
    "nullable",
    "unknown",
    "hidden",
    "text",
    "varchar",
    "sensitive",
    "writeonly",
    "readonly",
    "forbidden",
    "allowed",
    "enabled",
    "disabled",
    "missing",
    "invalid",
    "expired",
    "inherit",
    "prompt",
    "stdin",
    "environment",
    "envvar",
    "plaintext",
    "cleartext",
    "encrypted",
    "hashed",
    "generated",
    "random",
    "autogenerated",
    "bearer",
    "basic",
    "digest",
    "oauth",
    "oauth2",
    "function",
    "symbol",
    "keyring",
    "keychain",
    "manual",
    "unset",
    "notset",
    "nopassword",
    "nopasswd",
    "public",
    "private",
    "protected",
    "static",
    "dynamic",
    "internal",
    "external",
    "foobar",
    "foobarbaz",
    "testing",
    "opaque",
    "global",
    "session",
    "cookie",
    "header",
    "accept",
    "reject",
    "ignore",
    "always",
    "server",
    "client",
    "master",
    "service",
    "punctuation",
    "keyword",
    "operator",
    "identifier",
    "literal",
    "comment",
    "whitespace",
    "test",
    "tests",
];

/// Values that only name a kind of secret, for example in `password = "password"`.
const NAMES_OF_SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "pwd",
    "pass",
    "secret",
    "secrets",
    "token",
    "apikey",
    "key",
    "credentials",
    "credential",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "clientsecret",
    "secretkey",
    "privatekey",
    "userpassword",
    "newpassword",
    "oldpassword",
    "currentpassword",
    "confirmpassword",
    "passwordconfirmation",
    "passwordhash",
    "hash",
    "username",
    "mypassword",
    "yourpassword",
    "secretaccesskey",
    "awssecretaccesskey",
];

/// Returns true if a text matches a rule but is visibly a placeholder, e.g. `sk_live_xxxxxxxx` in
/// documentation.
pub(crate) fn is_visible_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["xxxxx", "*****", "....", "_your_", "-your-", "your_", "####"].iter().any(|sign| lower.contains(sign))
}

/// Returns true if the text is a placeholder, or will be filled in at run time.
pub(crate) fn is_filled_in_later(text: &str) -> bool {
    let fixed = without_interpolation(clip(text));
    is_variable(text) || text.starts_with('%') || fixed.is_empty() || is_placeholder(&fixed)
}

/// Matches `$NAME` of shells, PHP and make. Note that a `$` before a digit begins a password hash instead.
pub(crate) fn is_variable(text: &str) -> bool {
    // In Perl, `\$name` is a reference to a variable.
    let Some(name) = text.strip_prefix('\\').unwrap_or(text).strip_prefix('$') else { return false };
    let word = name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name[word..]
            .bytes()
            .all(|byte| b"->:/.[]()'\"".contains(&byte) || byte.is_ascii_alphanumeric() || byte == b'_')
        || name.starts_with('(')
}

/// Matches a path, by how it begins or by its slashes.
fn is_path(text: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "\\\\", "file:", "$", "@/", "#/"]
        .iter()
        .any(|start| text.starts_with(start));
    let drive = text.len() > 2 && text.as_bytes()[0].is_ascii_alphabetic() && text[1..].starts_with(":\\");
    let slashes = text.bytes().filter(|byte| *byte == b'/').count();
    (begins || drive || slashes > 0) && is_wordy(text)
}

/// Matches code: the brackets and signs of calls, types, templates and patterns.
fn is_code(text: &str) -> bool {
    let pairs = [("(", ")"), ("{", "}"), ("<", ">"), ("[", "]")];
    let paired = |(open, close): &(&str, &str)| text.find(open).is_some_and(|at| text[at..].contains(close));
    (pairs.iter().any(paired) && is_wordy(text))
        || text.contains('|') && is_wordy(text)
        || text.starts_with('^') && text.ends_with('$')
        || text.contains('\\')
            && text.split('\\').all(|piece| {
                piece.starts_with(|first: char| first.is_ascii_uppercase())
                    && piece.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            })
            && is_wordy(text)
        || (["=>", "->", "::"].iter().any(|sign| text.contains(sign)) && is_wordy(text))
        || (text.starts_with(['#', '.', ':', '&', '*', '@', '!', '%', '|', '-', '='])
            && is_wordy(text)
            && !text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Matches dotted names such as `config.password2` and `self.token`.
fn is_dotted_name(text: &str) -> bool {
    text.contains('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
        && is_wordy(text)
}

/// Matches a name in source code, in camel or snake case.
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte)) && is_wordy(text)
}

/// Matches names such as `getPasswordFor`, which have a capital inside, as in source code.
fn is_name_of_several(text: &str) -> bool {
    text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) && is_wordy(text)
}

fn is_uuid(text: &str) -> bool {
    let text = text.trim_start_matches('{').trim_end_matches('}');
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Matches texts with many letters in alphabetical order, as in the alphabets of encodings.
fn is_alphabet(text: &str) -> bool {
    let mut run = 0;
    text.as_bytes().windows(2).any(|pair| {
        run = if pair[1] == pair[0].wrapping_add(1) { run + 1 } else { 0 };
        run >= 15
    })
}

/// Cuts a value to the part on which we base the decision.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_JUDGED_BYTES)]
}

/// Removes `${…}`, `#{…}`, `{{…}}`, `{words}` and earlier redactions from a text. Anything else in single
/// braces may be the secret itself, for example a GUID.
pub(crate) fn without_interpolation(text: &str) -> String {
    let mut fixed = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{', PRIVATE_MARK]) {
        let (before, open) = rest.split_at(start);
        if let Some(marked) = open.strip_prefix(PRIVATE_MARK) {
            fixed.push_str(before);
            let mut after = marked.chars();
            after.next();
            rest = after.as_str();
            continue;
        }
        let variable = before.strip_suffix(['$', '#']);
        let fills = |close: &usize| {
            let inner = &open[1..*close];
            variable.is_some() || inner.starts_with('{') || inner.is_empty() || is_wordy(inner)
        };
        let Some(close) = open.find('}').filter(fills) else {
            fixed.push_str(&rest[..=start]);
            rest = &open[1..];
            continue;
        };
        fixed.push_str(variable.unwrap_or(before));
        rest = open[close + 1..].strip_prefix('}').unwrap_or(&open[close + 1..]);
    }
    fixed.push_str(rest);
    fixed
}
