//! One call: its deadline, its progress and its part of a workspace.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::Stop;
use forage_fs::{RelPath, Root, Roots};
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};

use crate::dependencies::DependencyPlace;
use crate::error::ToolError;
use crate::indexes::Ranked;
use crate::journal::TraceParent;
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::settings::CallLimits;
use crate::telemetry::CallCounts;
use crate::telemetry::target::CallTelemetry;
use crate::text::{count, grouped};
use crate::workspace::Workspace;

/// The remote party that this call is waiting for, for progress displays.
#[derive(Clone, Debug, Default)]
pub struct WaitingFor(Arc<Mutex<Option<String>>>);

impl WaitingFor {
    /// Sets the party that the call waits for, or `None` if it no longer waits.
    pub fn set(&self, whom: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = whom;
    }

    /// Returns the party that the call waits for.
    pub fn party(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Progress of a call, for displays. Clones share this state.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    /// Number of files visited so far.
    pub visited: Arc<AtomicU64>,
    /// Progress of reading files for the ranked index.
    pub ranked: Arc<UpdateProgress>,
    /// The model that the call waits for.
    pub waiting: WaitingFor,
}

impl CallProgress {
    /// Describes the current activity and its progress. `else_doing` is the description of a call that
    /// neither waits nor reads files for the ranked index.
    pub fn describe(&self, else_doing: &str) -> String {
        if let Some(model) = self.waiting.party() {
            return format!("waiting for {}", sanitize_line(&model));
        }
        let (read, all) = (&self.ranked.read, &self.ranked.all);
        match (read.load(Ordering::Relaxed), all.load(Ordering::Relaxed)) {
            (read, all) if read < all => {
                format!("reading files for the ranked index: {} of {}", grouped(read), grouped(all))
            }
            _ => match self.visited.load(Ordering::Relaxed) {
                0 => else_doing.to_owned(),
                visited => format!("{else_doing}: {} visited", count(visited, "file")),
            },
        }
    }
}

/// Reasons why there is no ranked index.
pub(crate) enum RankUnavailable {
    /// It is not up to date with the tree yet. Contains the number of missing files that are indexed by now
    /// and their total, if known.
    NotYet(Option<(u64, u64)>),
    /// It is not available at all.
    Never(ToolError),
}

/// One call of a tool in a workspace.
#[derive(Clone)]
pub struct Call {
    /// The workspace, which calls share.
    pub workspace: Arc<Workspace>,
    /// The roots that this call may read: those of the workspace, one of them, or also that of a dependency.
    pub roots: Roots,
    /// Directories below the root that searches must not enter because they are searched separately: roots
    /// within a root.
    pub apart: Vec<RelPath>,
    /// The dependencies that this call names; see [`Call::with_dependency`].
    pub named_dependencies: Vec<DependencyPlace>,
    /// The limits of this call. Those of the workspace by default.
    pub limits: CallLimits,
    /// Cancels this call. That of the workspace by default.
    pub stop: Stop,
    /// Sentences that the caller must know; they are included in the answer. Those of the workspace by
    /// default.
    pub notices: Vec<String>,
    /// Whether the answer's text names the root, for a caller that does not know it. An answer about several
    /// roots always names them.
    pub names_root: bool,
    /// Progress of the call.
    pub progress: CallProgress,
    /// The call of another program that this one belongs to.
    pub trace: Option<TraceParent>,
    /// Called at the end of a call that may have to be repeated. Without it, we report the call.
    pub counts: Option<CallCounts>,
    /// Set when the call enters the journal. If it is already set, we do not add the call.
    pub is_entered: Option<Arc<AtomicBool>>,
    /// Collects the models that this call uses.
    pub(crate) noted: Arc<CallTelemetry>,
}

impl Call {
    /// Creates a call with the roots, limits, notices and stop signal of the workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            roots: workspace.roots.clone(),
            apart: Vec::new(),
            named_dependencies: Vec::new(),
            limits: workspace.limits,
            stop: workspace.stop.clone(),
            notices: workspace.notices.clone(),
            names_root: false,
            progress: CallProgress::default(),
            trace: None,
            counts: None,
            is_entered: None,
            noted: Arc::default(),
            workspace,
        }
    }

    /// Returns the workspace, so that you can change a setting for this call only. Clones the workspace if
    /// other calls share it.
    pub fn workspace_mut(&mut self) -> &mut Workspace {
        Arc::make_mut(&mut self.workspace)
    }

    /// Updates the ranked index of a root to match its tree. `stop` ends this call, at its time limit at the
    /// latest.
    pub(crate) fn ranked(&self, root: &Arc<Root>, stop: &Stop) -> Result<Ranked, RankUnavailable> {
        let CallLimits { indexing_time, timeout, .. } = self.limits;
        let within = match self.waits_for_ranking() {
            // The deadline of `stop` would end this wait too early.
            true => self.stop.within(indexing_time),
            false => stop.within(indexing_time.min(timeout.mul_f64(limits::INDEXING_SHARE))),
        };
        self.ranked_within(root, &within)
    }

    /// Returns the stop signal for the search in ranked indexes, which starts now.
    pub(crate) fn after_ranking(&self, stop: &Stop) -> Stop {
        if self.waits_for_ranking() { self.stop.within(self.limits.timeout) } else { stop.clone() }
    }

    fn waits_for_ranking(&self) -> bool {
        self.limits.indexing_time > self.limits.timeout
    }

    fn ranked_within(&self, root: &Arc<Root>, stop: &Stop) -> Result<Ranked, RankUnavailable> {
        let effort = self.effort(stop);
        let kept = self.workspace.indexes.as_ref().and_then(|indexes| indexes.ranked(root, &effort));
        kept.unwrap_or_else(|| Ranked::in_memory(root, &effort)).map_err(|error| match error {
            UpdateError::Open(error) => RankUnavailable::Never(error.into()),
            UpdateError::Cancelled => RankUnavailable::Never(ToolError::Cancelled),
            UpdateError::Unfinished { done, all } => RankUnavailable::NotYet(Some((done, all))),
            UpdateError::NoTime | UpdateError::Busy => RankUnavailable::NotYet(None),
            error => RankUnavailable::Never(ToolError::index(&error, error.hint())),
        })
    }

    /// Returns the limits for reading files for a ranking.
    pub(crate) fn effort(&self, stop: &Stop) -> UpdateEffort {
        UpdateEffort {
            threads: self.walk_options().thread_count(),
            stop: stop.clone(),
            progress: Arc::clone(&self.progress.ranked),
            ..UpdateEffort::default()
        }
    }

    /// Returns the walk options that every search of this call starts from.
    pub fn walk_options(&self) -> forage_fs::WalkOptions {
        forage_fs::WalkOptions {
            excludes: self.workspace.excludes.clone(),
            apart: self.apart.clone(),
            noise: forage_fs::NOISE,
            threads: self.limits.threads,
            progress: Some(Arc::clone(&self.progress.visited)),
            ..forage_fs::WalkOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_what_is_done_and_of_how_much() {
        let progress = CallProgress::default();
        assert_eq!(progress.describe("searching"), "searching");
        progress.visited.store(2051, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "searching: 2,051 files visited");
        progress.ranked.all.store(3000, Ordering::Relaxed);
        progress.ranked.read.store(1200, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "reading files for the ranked index: 1,200 of 3,000");
        progress.waiting.set(Some("acme/small\u{1b}[2J".to_owned()));
        assert!(
            progress.describe("searching").starts_with("waiting for acme/small")
                && !progress.describe("").contains('\u{1b}')
        );
        progress.waiting.set(None);
        progress.ranked.read.store(3000, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "searching: 2,051 files visited");
    }
}
