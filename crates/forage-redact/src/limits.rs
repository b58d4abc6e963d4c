//! Limits of this crate, each with its unit and reason.

/// Minimum length of a password that we redact, in characters. A shorter value of such a name is nearly
/// always a word of code.
pub const MIN_PASSWORD_CHARS: usize = 6;

/// Minimum length of a text with spaces that counts as a passphrase, in characters.
pub const MIN_PASSPHRASE_CHARS: usize = 16;

/// Minimum length of a token after a name such as `token` or `secret`, in characters, as in gitleaks' generic
/// rule.
pub const MIN_TOKEN_CHARS: usize = 10;

/// Minimum length of a token after an ambiguous name, in characters.
pub const MIN_WEAK_CHARS: usize = 16;

/// Minimum log-likelihood ratio, in bits, of random over written text for a value to count as a token. Of
/// names in source code, 95 in 100 have less than 10 bits. Of random texts, one in 50 with ten characters has
/// less, and one in 1,000 with 16 characters.
pub const MIN_RANDOM_BITS: f64 = 9.0;

/// Minimum Shannon entropy of an assigned token, in bits per byte. This excludes texts that repeat
/// themselves; [`MIN_RANDOM_BITS`] decides whether a value is random.
pub const MIN_SECRET_ENTROPY: f64 = 2.5;

/// Number of bytes after its literal within which a rule must match. The longest tokens, which have embedded
/// claims, take about 1,500 bytes. A match then continues to its end.
pub const MAX_FORM_BYTES: usize = 2048;

/// Maximum number of literals that a rule tries within characters without a gap. After this, it tries only
/// the last one.
pub const MAX_LOOKS: usize = 16;

/// Maximum length of a value in a line of settings, in bytes.
pub const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Maximum number of lines of one value. For example, a key in a YAML block has about 60 lines.
pub const MAX_BLOCK_LINES: usize = 300;

/// Maximum length of the part of a value that we judge, in bytes. More would not change the result, and the
/// limit keeps hostile input linear.
pub const MAX_JUDGED_BYTES: usize = 512;

/// Maximum number of passes of the redaction rules over a text. The last pass is the one that finds nothing,
/// so text without secrets takes one. A secret inside the value of another needs two, and only hostile text
/// needs more.
pub const MAX_REDACTION_ROUNDS: usize = 8;

/// Maximum number of private key blocks per file whose positions we keep at a time, 16 bytes each. A search
/// only needs those near its lines.
pub const KEY_BLOCKS_KEPT: usize = 64 << 10;

/// Maximum number of bytes of an unfinished line that we buffer to look for a key mark. The longest key in
/// one line has about 13,000.
pub const KEY_LINE_BYTES: usize = 64 << 10;

/// Minimum bytes of a word of a name or message that may be a secret without context. The shortest tokens
/// have 20, and a lower value would make us check every other name.
pub const MIN_BARE_SECRET_BYTES: usize = 16;
