//! One file per tool.

mod grep_search;
mod keyword_search;
mod list_directory;
mod read_file;
pub mod search;

pub use grep_search::GrepSearch;
pub use keyword_search::KeywordSearch;
pub use list_directory::ListDirectory;
pub use read_file::ReadFile;
pub use search::Search;
