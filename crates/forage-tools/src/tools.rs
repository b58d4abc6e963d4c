//! The tools, one module each.

mod adapted;
pub(crate) mod grep_search;
mod keyword_lookup;
mod keyword_search;
mod line_search;
mod list_directory;
mod read_file;
pub mod search;
mod search_history;
pub(crate) mod search_index;

pub use grep_search::{
    GrepDefinition, GrepFile, GrepImpact, GrepLine, GrepOutput, GrepReceiver, GrepRequest, GrepResponse,
    GrepSearch, GrepWithin, ImpactDefinition, ImpactEdge, ImpactFile, ImpactTests, UsesCache,
    remaining::GrepDirectory,
};
pub use keyword_lookup::{
    Has, KeywordLookup, LookupHit, LookupLine, LookupName, LookupRequest, LookupResponse, LookupStatus,
    LookupWithoutFilter, Presence, fallback as lookup_fallback,
};
pub use keyword_search::{
    FromCache, KeywordFile, KeywordLine, KeywordRequest, KeywordResponse, KeywordSearch, LineRange,
    ModelRecord, ShownRecord, TermRecord,
};
pub use list_directory::{
    ChangedDefinition, ChangedFile, CompanionFile, ListChanges, ListDirectory, ListEntry, ListMap,
    ListRequest, ListResponse, MappedDefinition, MappedDirectory, MappedFile,
};
pub(crate) use list_directory::{FileLineCounter, UncountedLines};
pub use read_file::{OutlineEntry, ReadFile, ReadRequest, ReadResponse};
pub use search::{
    CaseRule, Search, SearchData, SearchRecord, SearchRequest, SearchResponse, SearchText, Submatch,
};
pub use search_history::{
    ChangedLine, FoundChange, FoundCommit, HistoryRequest, HistoryResponse, SearchHistory,
};
pub use search_index::{
    CutDefinition, EarlierLines, RankRequest, RankResponse, RankedChunk, RankedCode, RankedFile, RankedLine,
    RankedReason, SearchIndex, SimilarCode, UnshownDefinition,
};
