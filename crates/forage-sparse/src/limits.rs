//! Every limit of this crate.

/// Characters of a word; FastEmbed drops longer ones (`token_max_length`), and so does what is equal to it.
pub const WORD_CHARACTERS: usize = 40;
