//! A directory that a program opens once and asks often.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{PrivatePlace, RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy};
use thiserror::Error;

use crate::context::Context;
use crate::error::ToolError;
use crate::kept::{self, IndexMode, IndexStoreError, KeptIndexes, Lifetime};
use crate::outcome::ToolOutcome;
use crate::registry;
use crate::tool::Tool;
use crate::tools::{
    GrepFile, GrepRequest, GrepResponse, GrepSearch, KeywordLookup, KeywordRequest, KeywordResponse,
    KeywordSearch, ListDirectory, ListRequest, ListResponse, LookupRequest, LookupResponse, RankRequest,
    RankResponse, ReadFile, ReadRequest, ReadResponse, Search, SearchIndex, SearchRecord, SearchRequest,
    SearchResponse, grep_search, search,
};

/// The reasons for which a directory can't be opened as a workspace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// It is no directory that may be a root.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The directory for indexes lies in the workspace, where nothing is ever written.
    #[error("the directory for indexes, {}, lies in the workspace, where nothing is written", _0.display())]
    IndexesInside(PathBuf),
    /// The index can't be made.
    #[error(transparent)]
    Index(#[from] IndexStoreError),
}

/// A directory with typed calls on what is below it, and with indexes that make them fast.
///
/// A call blocks until its answer is there: its work is disk and processor, done on threads of its own. Calls may be made
/// from several threads at once. In async code, make them where blocking is allowed, and end them from outside:
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forage_tools::{Stop, Workspace, tools::GrepRequest};
///
/// let workspace = Workspace::open(".")?;
/// let stop = Stop::never();
/// let call = workspace.stopped_by(stop.clone());
/// let search = std::thread::spawn(move || call.grep(GrepRequest::new("retry")));
/// stop.cancel(); // From wherever the caller has gone away.
/// assert!(search.join().unwrap().is_err());
/// # Ok(())
/// # }
/// ```
///
/// Secrets are taken out of answers, since programs hand them on to agents; see [`Context::redactor`].
#[derive(Clone)]
pub struct Workspace {
    context: Context,
    kept: Option<Arc<KeptIndexes>>,
}

impl Workspace {
    /// Opens the project around a directory: the git repository that holds it, so that a part of a repository is never searched as
    /// if it were the whole; else the directory. A repository at the user's home directory or above it is not taken. For one
    /// directory alone whatever holds it, open a [`Root`] and use [`Workspace::of`].
    ///
    /// Nothing is written anywhere: without [`Workspace::keep_indexes`] each search reads every file, and each ranking makes its
    /// index in memory.
    ///
    /// # Errors
    /// It is no directory, or a too broad one: `/`, the home directory, or one of the kernel's.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Self::open_all([directory])
    }

    /// Opens the projects around several directories, such as repositories beside each other. A call without a path is about all of them: a
    /// ranking is one of all their files, and of the other tools the first directory's answer has those of the others in
    /// [`ToolOutcome::others`]. Paths below the first are relative in answers, all others are whole.
    ///
    /// # Errors
    /// There is none, or one of them is no directory, or a too broad one: `/`, the home directory, or one of the kernel's.
    pub fn open_all(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, WorkspaceError> {
        Self::open_allowed(directories, false)
    }

    /// The same, and where `allow_broad` says so for directories as broad as `/` or the home directory.
    ///
    /// # Errors
    /// As of [`Workspace::open_all`].
    pub fn open_allowed(
        directories: impl IntoIterator<Item = impl AsRef<Path>>,
        allow_broad: bool,
    ) -> Result<Self, WorkspaceError> {
        let policy = RootPolicy { home: kept::home(), allow_broad };
        let open = |directory: &Path| Root::open_project(directory, &policy, SecretPolicy::standard(&[]));
        let opened: Vec<_> =
            directories.into_iter().map(|directory| open(directory.as_ref())).collect::<Result<_, _>>()?;
        let standing = opened.first().map_or_else(RelPath::root, |(_, below)| below.clone());
        let roots = Roots::new(opened.into_iter().map(|(root, _)| root).collect(), RelPath::root())?;
        Ok(Self::of(Context::new(roots.standing_in(standing))))
    }

    /// Calls by a context that is there already.
    pub fn of(context: Context) -> Self {
        Self { context, kept: None }
    }

    /// Uses the indexes below this directory, in which each root has one of its own: a search reads the files alone that can
    /// match, and a ranking reads those that have changed. [`kept::shared_place`] is where the command line keeps them.
    /// For a program that ends with its searches, as a command does: the instant index is read where it is needed, and is
    /// made by [`Workspace::build_index`]. A ranked one is made and kept by the first ranking.
    ///
    /// # Errors
    /// The directory lies in the workspace.
    pub fn keep_indexes(self, directory: impl Into<PrivatePlace>) -> Result<Self, WorkspaceError> {
        self.keep(directory, Lifetime::Search)
    }

    /// The same for a program that goes on: it has the index in memory, makes and updates it in the background, and watches
    /// the tree, so that no search lists its directories.
    ///
    /// # Errors
    /// The directory lies in the workspace.
    pub fn keep_indexes_and_watch(self, directory: impl Into<PrivatePlace>) -> Result<Self, WorkspaceError> {
        self.keep(directory, Lifetime::Server)
    }

    /// Makes the instant index, or brings it up to date. Without a directory for indexes nothing is done.
    ///
    /// # Errors
    /// It can't be written, or the work was stopped.
    pub fn build_index(&self) -> Result<(), WorkspaceError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        for root in self.context.roots.all() {
            kept.store(root.path()).update(root, &self.context.walk_options(), &self.context.stop)?;
        }
        Ok(())
    }

    fn keep(
        mut self,
        directory: impl Into<PrivatePlace>,
        lifetime: Lifetime,
    ) -> Result<Self, WorkspaceError> {
        let kept = KeptIndexes::new(directory, IndexMode::Auto, lifetime, self.context.timeout);
        match kept::for_roots(&kept, &self.context.roots) {
            Some(indexes) => self.context.indexes = Some(indexes),
            None => return Err(WorkspaceError::IndexesInside(kept.path().to_owned())),
        }
        self.kept = Some(kept);
        Ok(self)
    }

    /// Returns the workspace for calls that this ends: by a deadline, or cancelled from another thread.
    pub fn stopped_by(&self, stop: Stop) -> Self {
        let mut workspace = self.clone();
        workspace.context.stop = stop;
        workspace
    }

    /// Limits, models, redaction and what else calls depend on.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The same, to be changed.
    pub fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    /// Ends what goes on in the background, and keeps what was read for an index by then. It takes a second and a half at the
    /// most. A program that ends without it loses the index that it is building.
    pub fn close(self) {
        if let Some(kept) = self.kept {
            kept.end();
        }
    }

    /// Runs any tool, with what it is asked for in its own type.
    ///
    /// # Errors
    /// Of the tool.
    pub fn call<T: Tool>(&self, request: T::Request) -> Result<ToolOutcome<T::Response>, ToolError> {
        registry::call::<T>(&self.context, request)
    }

    /// Searches for lines that match a regular expression, grouped by file in path order, with exact totals.
    ///
    /// # Errors
    /// The pattern or another argument can't be used, or the call was cancelled.
    pub fn grep(&self, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        self.call::<GrepSearch>(request)
    }

    /// The same for all there is: hands over each file with matches as soon as no earlier file can have any, and waits
    /// meanwhile. A file of very many matches comes in pieces. The search ends when `receive` breaks off. The response has counts
    /// and no files.
    ///
    /// # Errors
    /// As of [`Workspace::grep`]; also for `max_results` and `cursor`, which are for pages.
    pub fn grep_each(
        &self,
        request: GrepRequest,
        receive: impl FnMut(GrepFile) -> ControlFlow<()> + Send,
    ) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        grep_search::each(&self.context, request, receive)
    }

    /// Searches for lines as [`Workspace::grep`] does, in the records of `rg --json`: whole words, plain text, edits.
    ///
    /// # Errors
    /// The pattern or another argument can't be used, or the call was cancelled.
    pub fn search(&self, request: SearchRequest) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        self.call::<Search>(request)
    }

    /// The same for all there is: hands over the records of a file as soon as no earlier file can match, and waits meanwhile.
    /// The search ends when `receive` breaks off. The response has counts and no records.
    ///
    /// # Errors
    /// The pattern or another argument can't be used, `max_results` or `cursor` is given, or the call was cancelled before it began.
    pub fn search_each(
        &self,
        request: SearchRequest,
        receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
    ) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        search::each(&self.context, request, receive)
    }

    /// Ranks files for a question, names, or the report of a bug.
    ///
    /// # Errors
    /// An argument can't be used, there is no time for the ranking, or the call was cancelled.
    pub fn rank(&self, request: RankRequest) -> Result<ToolOutcome<RankResponse>, ToolError> {
        self.call::<SearchIndex>(request)
    }

    /// Reads lines of a file.
    ///
    /// # Errors
    /// There is no such text file, or it may not be read.
    pub fn read(&self, request: ReadRequest) -> Result<ToolOutcome<ReadResponse>, ToolError> {
        self.call::<ReadFile>(request)
    }

    /// Lists a directory, with the lines of its text files.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn list(&self, request: ListRequest) -> Result<ToolOutcome<ListResponse>, ToolError> {
        self.call::<ListDirectory>(request)
    }

    /// Looks words up in a collection of sparse vectors, which [`Context::lookup`] names.
    ///
    /// # Errors
    /// There is no collection, or an argument can't be used.
    pub fn lookup(&self, request: LookupRequest) -> Result<ToolOutcome<LookupResponse>, ToolError> {
        self.call::<KeywordLookup>(request)
    }

    /// Searches for several terms at once, of which a model of [`Context::filter`] keeps the relevant files, or a ranking.
    ///
    /// # Errors
    /// There is no model and none was renounced, all models failed, or an argument can't be used.
    pub fn keyword(&self, request: KeywordRequest) -> Result<ToolOutcome<KeywordResponse>, ToolError> {
        self.call::<KeywordSearch>(request)
    }
}
