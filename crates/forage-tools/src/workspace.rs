//! A directory that a program opens once and searches many times.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{
    Globs, PrivatePlace, RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy, WalkOptions,
};
use forage_redact::Redactor;
use forage_search::index::Index;
use thiserror::Error;

use crate::call::Call;
use crate::dependencies::DependencyStores;
use crate::error::ToolError;
use crate::index_manager::{self, IndexManager, IndexMode, IndexStoreError, Lifetime};
use crate::indexes::Indexes;
use crate::names::ToolNames;
use crate::outcome::ToolOutcome;
use crate::outlines::OutlineCache;
use crate::registry;
use crate::settings::{CallLimits, FilterSettings, LookupSettings, SearchSettings};
use crate::shown_earlier::ShownEarlier;
use crate::telemetry::CallObservers;
use crate::tool::Tool;
use crate::tools::{
    GrepFile, GrepRequest, GrepResponse, GrepSearch, HistoryRequest, HistoryResponse, KeywordLookup,
    KeywordRequest, KeywordResponse, KeywordSearch, ListDirectory, ListRequest, ListResponse, LookupRequest,
    LookupResponse, RankRequest, RankResponse, ReadFile, ReadRequest, ReadResponse, Search, SearchHistory,
    SearchIndex, SearchRecord, SearchRequest, SearchResponse, UsesCache, grep_search, search,
};

/// Reasons why a directory can't be opened as a workspace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The path is not a directory, or it must not be a root.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The directory for indexes is inside the workspace, where we never write.
    #[error("the directory for indexes, {}, is inside the workspace, where Forage never writes", _0.display())]
    IndexesInside(PathBuf),
    /// The index can't be created.
    #[error(transparent)]
    Index(#[from] IndexStoreError),
}

/// Directories with typed calls on the files below them: the roots, limits and settings of these calls, and
/// the services that they share, such as indexes that make them fast.
///
/// A call blocks until its answer is ready: it uses disk and processor on its own threads. You may call from
/// several threads at the same time. In async code, you must make calls where blocking is allowed, and cancel
/// them from outside:
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
/// We remove secrets from answers, because programs pass them on to agents. See [`Workspace::redactor`].
#[derive(Clone)]
pub struct Workspace {
    /// The roots below which files may be read.
    pub roots: Roots,
    /// Where `dep:NAME` may read the sources of dependencies outside of the roots. `None` if it may not be
    /// used.
    pub dependencies: Option<Arc<DependencyStores>>,
    /// Files to exclude from every search; this overrides all other rules.
    pub excludes: Option<Globs>,
    /// The limits of a call that does not have its own.
    pub limits: CallLimits,
    /// The relevance filter settings of `keyword_search`.
    pub filter: FilterSettings,
    /// The settings of `Search`.
    pub search: SearchSettings,
    /// The settings of `keyword_lookup`.
    pub lookup: LookupSettings,
    /// Indexes of roots. They affect only the duration of a search.
    pub indexes: Option<Arc<dyn Indexes>>,
    /// Remembers the code that the caller has seen, so that we do not show it again. `None` for a caller that
    /// may have forgotten it.
    pub shown_earlier: Option<Arc<ShownEarlier>>,
    /// Caches the files that mention a name while the caller pages through its uses. `None` for a caller that
    /// asks once.
    pub gathered_uses: Option<Arc<UsesCache>>,
    /// Cached outlines of parsed files.
    pub outlines: Arc<OutlineCache>,
    /// Removes secrets from answers: from lines, names and messages, in text and records. All rules are on by
    /// default, because a caller that works for an agent passes answers on. Use [`Redactor::off`] for a
    /// person, who should see files as they are. Text for a filter model has its own redactor, in
    /// [`FilterSettings`].
    pub redactor: Arc<Redactor>,
    /// The observers of calls.
    pub observers: CallObservers,
    /// The tool names to use in answers and errors.
    pub names: Arc<ToolNames>,
    /// Cancels all calls.
    pub stop: Stop,
    /// Sentences about the roots that the caller must know; they are included in each answer.
    pub notices: Vec<String>,
    kept: Option<Arc<IndexManager>>,
}

impl Workspace {
    /// Opens the project around a directory. This is the enclosing git repository, so that we never search a
    /// part of a repository as if it were the whole, or else the directory itself. A repository at or above
    /// the user's home directory is ignored. If you want to open one directory whatever encloses it, open a
    /// [`Root`] and use [`Workspace::new`].
    ///
    /// This writes nothing to disk. Without [`Workspace::keep_indexes`], each search reads every file and
    /// each ranking builds its index in memory.
    ///
    /// # Errors
    ///
    /// Fails if the path is not a directory, or if it is too broad: `/`, the home directory, or a kernel
    /// directory.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Self::open_all([directory])
    }

    /// Opens the projects around several directories, for example sibling repositories. A call without a path
    /// applies to all of them. A ranking ranks all their files together. For other tools the first
    /// directory's outcome contains the others in [`ToolOutcome::others`]. Note that paths in answers are
    /// relative below the first directory, and absolute below all others.
    ///
    /// # Errors
    ///
    /// Fails if `directories` is empty, or if one of them is not a directory or is too broad: `/`, the home
    /// directory, or a kernel directory.
    pub fn open_all(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, WorkspaceError> {
        Self::open_allowed(directories, false)
    }

    /// Like [`Workspace::open_all`], but `allow_broad` also allows directories as broad as `/` or the home
    /// directory.
    ///
    /// # Errors
    ///
    /// See [`Workspace::open_all`].
    pub fn open_allowed(
        directories: impl IntoIterator<Item = impl AsRef<Path>>,
        allow_broad: bool,
    ) -> Result<Self, WorkspaceError> {
        let policy = RootPolicy { home: index_manager::home(), allow_broad };
        let open = |directory: &Path| Root::open_project(directory, &policy, SecretPolicy::standard(&[]));
        let opened: Vec<_> =
            directories.into_iter().map(|directory| open(directory.as_ref())).collect::<Result<_, _>>()?;
        let standing = opened.first().map_or_else(RelPath::root, |(_, below)| below.clone());
        // Relative paths are below the project. We try the given directory only if a path does not exist
        // there.
        let roots = Roots::new(opened.into_iter().map(|(root, _)| root).collect(), RelPath::root())?;
        Ok(Self::new(roots.with_working_directory(standing)))
    }

    /// Creates a workspace of roots that are open already, with the default limits and settings.
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            dependencies: None,
            excludes: None,
            limits: CallLimits::default(),
            filter: FilterSettings::default(),
            search: SearchSettings::default(),
            lookup: LookupSettings::default(),
            indexes: None,
            shown_earlier: None,
            gathered_uses: None,
            outlines: Arc::default(),
            redactor: Arc::new(Redactor::standard()),
            observers: CallObservers::default(),
            names: ToolNames::own(),
            stop: Stop::never(),
            notices: Vec::new(),
            kept: None,
        }
    }

    /// Uses the indexes below this directory, one per root. With them, a search reads only the files that can
    /// match, and a ranking reads only changed files. [`index_manager::shared_place`] returns the directory that the
    /// command line uses. You should use this method in a program that ends after its searches, like a
    /// command. The instant index is read on demand and built by [`Workspace::build_index`]. The first
    /// ranking builds and saves a ranked index.
    ///
    /// # Errors
    ///
    /// Fails if the directory is inside the workspace.
    pub fn keep_indexes(self, directory: impl Into<PrivatePlace>) -> Result<Self, WorkspaceError> {
        self.keep(directory, Lifetime::Search)
    }

    /// Like [`Workspace::keep_indexes`], but for a long-running program. This holds the index in memory,
    /// builds and updates it in the background, and watches the tree so that searches need not list its
    /// directories.
    ///
    /// # Errors
    ///
    /// Fails if the directory is inside the workspace.
    pub fn keep_indexes_and_watch(self, directory: impl Into<PrivatePlace>) -> Result<Self, WorkspaceError> {
        self.keep(directory, Lifetime::Server)
    }

    /// Builds or updates the instant index. Does nothing without a directory for indexes.
    ///
    /// # Errors
    ///
    /// Fails if the index can't be written, or if the work was stopped.
    pub fn build_index(&self) -> Result<(), WorkspaceError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        for root in self.roots.all() {
            kept.store(root.path()).update(root, &self.start_call().walk_options(), &self.stop)?;
        }
        Ok(())
    }

    fn keep(
        mut self,
        directory: impl Into<PrivatePlace>,
        lifetime: Lifetime,
    ) -> Result<Self, WorkspaceError> {
        let kept = IndexManager::new(directory, IndexMode::Auto, lifetime, self.limits.timeout);
        match index_manager::for_roots(&kept, &self.roots) {
            Some(indexes) => self.indexes = Some(indexes),
            None => return Err(WorkspaceError::IndexesInside(kept.path().to_owned())),
        }
        self.kept = Some(kept);
        Ok(self)
    }

    /// Returns the workspace for calls that `stop` should end, by a deadline or by cancellation from another
    /// thread.
    pub fn stopped_by(&self, stop: Stop) -> Self {
        Self { stop, ..self.clone() }
    }

    /// Creates a call of a tool without its types, see [`registry`].
    pub fn start_call(&self) -> Call {
        Call::new(Arc::new(self.clone()))
    }

    /// Redacts a message that is not an answer, for example an error.
    pub fn without_secrets(&self, message: &str) -> String {
        self.redactor.redact(message).as_str().to_owned()
    }

    /// Returns the index of a root, if there is one.
    pub fn index(&self, root: &Arc<Root>) -> Option<Arc<Index>> {
        self.indexes.as_ref()?.open(root)
    }

    /// Adds the directories that the index of a root knows, if there is one. A walk then does not list those
    /// that are unchanged.
    pub(crate) fn known_to_index(&self, root: &Arc<Root>, options: WalkOptions) -> WalkOptions {
        match self.index(root) {
            Some(index) => index.walk_options(&options),
            None => options,
        }
    }

    /// Ends background work and saves the part of the index that has been built. This takes at most 1.5
    /// seconds. A program that exits without calling this loses an unfinished index.
    pub fn close(self) {
        if let Some(kept) = self.kept {
            kept.end();
        }
    }

    /// Runs any tool with its typed request.
    ///
    /// # Errors
    ///
    /// Fails with the tool's error.
    pub fn call<T: Tool>(&self, request: T::Request) -> Result<ToolOutcome<T::Response>, ToolError> {
        registry::call::<T>(&self.start_call(), request)
    }

    /// Searches for lines that match a regular expression. The results are grouped by file in path order,
    /// with exact totals.
    ///
    /// # Errors
    ///
    /// Fails if the pattern or another argument is invalid, or if the call was cancelled.
    pub fn grep(&self, request: GrepRequest) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        self.call::<GrepSearch>(request)
    }

    /// Like [`Workspace::grep`], but streams all results. This passes each file with matches to `receive` as
    /// soon as no earlier file can have any, and waits until `receive` returns. A file with very many matches
    /// comes in several parts. The search ends when `receive` breaks. The response has counts but no files.
    ///
    /// # Errors
    ///
    /// See [`Workspace::grep`]. This also fails if `max_results` or `cursor` is set, because these are for
    /// pages.
    pub fn grep_each(
        &self,
        request: GrepRequest,
        receive: impl FnMut(GrepFile) -> ControlFlow<()> + Send,
    ) -> Result<ToolOutcome<GrepResponse>, ToolError> {
        grep_search::each(&self.start_call(), request, receive)
    }

    /// Searches for lines like [`Workspace::grep`], with records like `rg --json`, and supports whole words,
    /// plain text and fuzzy matching.
    ///
    /// # Errors
    ///
    /// Fails if the pattern or another argument is invalid, or if the call was cancelled.
    pub fn search(&self, request: SearchRequest) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        self.call::<Search>(request)
    }

    /// Like [`Workspace::search`], but streams all results. This passes the records of each file to `receive`
    /// as soon as no earlier file can match, and waits until `receive` returns. The search ends when
    /// `receive` breaks. The response has counts but no records.
    ///
    /// # Errors
    ///
    /// Fails if the pattern or another argument is invalid, if `max_results` or `cursor` is set, or if the
    /// call was cancelled before it began.
    pub fn search_each(
        &self,
        request: SearchRequest,
        receive: impl FnMut(&[SearchRecord]) -> ControlFlow<()> + Send,
    ) -> Result<ToolOutcome<SearchResponse>, ToolError> {
        search::each(&self.start_call(), request, receive)
    }

    /// Ranks files for a question, names, or a bug report.
    ///
    /// # Errors
    ///
    /// Fails if an argument is invalid, if there is no time for the ranking, or if the call was cancelled.
    pub fn rank(&self, request: RankRequest) -> Result<ToolOutcome<RankResponse>, ToolError> {
        self.call::<SearchIndex>(request)
    }

    /// Reads lines of a file.
    ///
    /// # Errors
    ///
    /// Fails if there is no such text file, or if we must not read it.
    pub fn read(&self, request: ReadRequest) -> Result<ToolOutcome<ReadResponse>, ToolError> {
        self.call::<ReadFile>(request)
    }

    /// Lists a directory, with the line counts of its text files.
    ///
    /// # Errors
    ///
    /// Fails if there is no such directory.
    pub fn list(&self, request: ListRequest) -> Result<ToolOutcome<ListResponse>, ToolError> {
        self.call::<ListDirectory>(request)
    }

    /// Finds the commits that changed a text, a definition or a path.
    ///
    /// # Errors
    ///
    /// Fails if the root has no history that can be read, or if an argument is invalid.
    pub fn history(&self, request: HistoryRequest) -> Result<ToolOutcome<HistoryResponse>, ToolError> {
        self.call::<SearchHistory>(request)
    }

    /// Looks words up in the collection of sparse vectors that [`Workspace::lookup`] names.
    ///
    /// # Errors
    ///
    /// Fails if there is no collection, or if an argument is invalid.
    pub fn lookup(&self, request: LookupRequest) -> Result<ToolOutcome<LookupResponse>, ToolError> {
        self.call::<KeywordLookup>(request)
    }

    /// Searches for several terms at once. A model of [`Workspace::filter`], or a ranking, then selects the
    /// relevant files.
    ///
    /// # Errors
    ///
    /// Fails if there is no model and the settings require one, if all models failed, or if an argument is
    /// invalid.
    pub fn keyword(&self, request: KeywordRequest) -> Result<ToolOutcome<KeywordResponse>, ToolError> {
        self.call::<KeywordSearch>(request)
    }
}
