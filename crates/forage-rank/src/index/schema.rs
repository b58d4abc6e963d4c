//! The fields of a document.

use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};

use super::encoded;
use crate::latent::COLUMNS;

/// Number of fields in which words are looked up.
pub(crate) const FIELD_COUNT: usize = 4;

/// The term for files that rank below others of the same score when candidates are chosen. Without it, a
/// project's documentation in ten languages would leave no room for its code.
pub(crate) const ASIDE: &str = "aside";

/// The term for files below directories whose names are only a sign if the project bears them out.
pub(crate) const DOUBTFUL: &str = "doubtful";

/// The term for files that we know to exist but can't read as text. They have no words and don't count as
/// documents.
pub(crate) const WORDLESS: &str = "wordless";

/// The term for files whose beginning is indexed but not the rest.
pub(crate) const BEGINNING: &str = "beginning";

/// The names of [`Fields::stamp`], for reading them by column.
pub(super) const STAMP: [&str; 2] = ["content", "state"];

/// Returns the names of [`Fields::latent`].
pub(super) fn latent_names() -> [String; COLUMNS] {
    std::array::from_fn(|index| format!("latent{index}"))
}

/// The fields of a document.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// The path as one term, used to delete documents.
    pub(crate) key: Field,
    /// [`ASIDE`] for files that are seldom asked for, e.g. tests, documentation and data; [`DOUBTFUL`]; the
    /// terms of [`ShareGroup::ALL`](crate::kinds::ShareGroup::ALL); [`WORDLESS`]; [`BEGINNING`].
    pub(crate) place: Field,
    /// Words of the path.
    pub(crate) path: Field,
    /// Words of the names of definitions.
    pub(crate) definitions: Field,
    /// Words of code.
    pub(crate) body: Field,
    /// Words of comments.
    pub(crate) comments: Field,
    /// The file's chunks and symbols.
    pub(crate) record: Field,
    /// The state of the file when it was read ([`super::Stamp`]).
    pub(crate) stamp: [Field; 2],
    /// The latent vector of the file ([`crate::latent::LatentVector`]).
    pub(crate) latent: [Field; COLUMNS],
}

impl Fields {
    /// Returns the fields in which words are looked up, in the order that all arrays of [`FIELD_COUNT`] use.
    pub(crate) fn words(&self) -> [Field; FIELD_COUNT] {
        [self.path, self.definitions, self.body, self.comments]
    }

    pub(super) fn schema() -> (Schema, Self) {
        let mut builder = Schema::builder();
        let indexed = |tokenizer: &str, option, norms| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(option)
                .set_fieldnorms(norms);
            TextOptions::default().set_indexing_options(indexing)
        };
        let words = || indexed(encoded::TOKENIZER, IndexRecordOption::WithFreqsAndPositions, true);
        let fields = Self {
            // Fields with single terms need neither frequencies nor lengths.
            key: builder.add_text_field("key", indexed("raw", IndexRecordOption::Basic, false)),
            place: builder.add_text_field("place", indexed("raw", IndexRecordOption::Basic, false)),
            // Positions of words in paths are never read.
            path: builder
                .add_text_field("path", indexed(encoded::TOKENIZER, IndexRecordOption::WithFreqs, true)),
            definitions: builder.add_text_field("definitions", words()),
            body: builder.add_text_field("body", words()),
            comments: builder.add_text_field("comments", words()),
            record: builder.add_text_field("record", TextOptions::from(STORED)),
            stamp: STAMP.map(|name| builder.add_u64_field(name, FAST)),
            latent: latent_names().map(|name| builder.add_u64_field(&name, FAST)),
        };
        (builder.build(), fields)
    }
}
