//! One file per tool.

mod adapted;
mod grep_search;
mod keyword_lookup;
mod keyword_search;
mod list_directory;
mod read_file;
pub mod search;
mod search_index;

pub use grep_search::GrepSearch;
pub use keyword_lookup::{KeywordLookup, fallback as lookup_fallback};
pub use keyword_search::{KeywordSearch, WITHOUT_MODEL};
pub use list_directory::ListDirectory;
pub use read_file::ReadFile;
pub use search::Search;
pub use search_index::SearchIndex;
