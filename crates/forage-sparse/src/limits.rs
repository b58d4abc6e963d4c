//! Every limit of this crate.

/// Characters of a word; FastEmbed drops longer ones (`token_max_length`), and so does what is equal to it.
pub const WORD_CHARACTERS: usize = 40;

/// Word pieces of a text that BM42 looks at, with the two that mark its ends. The model was trained on no longer ones;
/// what comes after them in a text has no dimension.
pub const BM42_TOKENS: usize = 256;

/// Characters of a word that is cut into pieces; a longer one is an unknown word (BERT's `max_input_chars_per_word`).
pub const PIECED_WORD_CHARACTERS: usize = 100;

/// Bytes of a vocabulary. English ones have a quarter of a MiB, or half of one as `tokenizer.json`; those of a hundred
/// languages have 17 MiB.
pub const VOCABULARY_BYTES: u64 = 32 << 20;

/// Bytes of a model's `config.json`, which has less than one KiB.
pub const MODEL_CONFIGURATION_BYTES: u64 = 64 << 10;

/// Bytes of a model's weights. Those of all-MiniLM-L6-v2 are 87 MiB, and stay in memory.
pub const WEIGHTS_BYTES: u64 = 512 << 20;

/// Bytes of the table of contents of a weights file. That of all-MiniLM-L6-v2 has 10 KiB.
pub const WEIGHTS_HEADER_BYTES: u64 = 1 << 20;

/// Layers of a model; all-MiniLM-L6-v2 has 6, the largest BERT 24.
pub const MODEL_LAYERS: usize = 48;

/// Numbers per token in a model: 384 in all-MiniLM-L6-v2, 1024 in the largest BERT, and four times that inside a layer.
pub const MODEL_WIDTH: usize = 8192;
