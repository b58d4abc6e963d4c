//! One file per tool.

mod adapted;
mod grep_search;
mod keyword_lookup;
mod keyword_search;
mod list_directory;
mod read_file;
pub mod search;
mod search_index;

pub use grep_search::{
    FileRecord as GrepFile, GrepSearch, LineRecord as GrepLine, Request as GrepRequest,
    Response as GrepResponse, rest::Directory as GrepDirectory,
};
pub use keyword_lookup::{
    BeyondRecord as LookupWithoutFilter, Has, KeywordLookup, LineRecord as LookupLine,
    NameRecord as LookupName, Presence, Record as LookupHit, Request as LookupRequest,
    Response as LookupResponse, Status as LookupStatus, fallback as lookup_fallback,
};
pub use keyword_search::{
    FileRecord as KeywordFile, FromCache, KeywordSearch, LineRange, LineRecord as KeywordLine, ModelRecord,
    Request as KeywordRequest, Response as KeywordResponse, ShownRecord, TermRecord,
};
pub use list_directory::{
    ListDirectory, Record as ListEntry, Request as ListRequest, Response as ListResponse,
};
pub use read_file::{ReadFile, Request as ReadRequest, Response as ReadResponse};
pub use search::{
    CaseRule, Data as SearchData, Record as SearchRecord, Request as SearchRequest,
    Response as SearchResponse, Search, Submatch, Text as SearchText,
};
pub use search_index::{
    ChunkRecord as RankedChunk, FileRecord as RankedFile, LineRecord as RankedLine, Reason as RankedReason,
    Request as RankRequest, Response as RankResponse, SearchIndex,
};
