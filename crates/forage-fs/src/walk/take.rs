//! Takes a snapshot by recording a walk.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::entry::{Entry, PendingFile};
use super::frontier::WalkFrontier;
use super::list::ListPlan;
use super::snapshot::{Recorder, Snapshot};
use super::{VisitDecision, WalkOptions, WalkStep};
use crate::error::OpenError;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::Skipped;
use forage_base::Stop;

impl Snapshot {
    /// Takes a snapshot of the directories that a walk with these options visits. Returns `None` if the root
    /// does not support this, if the snapshot would exceed
    /// [`limits::SNAPSHOT_BYTES`](crate::limits::SNAPSHOT_BYTES), or if the walk was stopped.
    ///
    /// # Errors
    ///
    /// Fails if the root can't be walked.
    pub fn take(root: &Arc<Root>, options: &WalkOptions, stop: &Stop) -> Result<Option<Vec<u8>>, OpenError> {
        let Some(device) = root.device_with_directory_states() else { return Ok(None) };
        // A walk applies `hidden` itself, so one snapshot serves walks with and without hidden names.
        let options = WalkOptions { hidden: true, snapshot: None, progress: None, ..options.clone() };
        let recorder = Recorder::new(device);
        let plan = ListPlan::new(root, &RelPath::root(), &options, stop)?.recording(&recorder);
        let (dismiss, visit) = (
            |(): &mut (), _: &PendingFile<'_>| VisitDecision::Visit,
            |(): &mut (), _: &Entry<'_>, _: &mut Skipped| WalkStep::<()>::Nothing,
        );
        let run = |state: &mut (), task| plan.run(state, task, stop, &dismiss, &visit);
        let receive = |()| ControlFlow::Continue(());
        let frontier = WalkFrontier::new(vec![plan.first_task()], receive);
        let report = frontier.run(options.thread_count(), stop, || (), run);
        let is_whole = report.stopped.is_none() && !report.too_many_entries;
        Ok(is_whole.then(|| recorder.finish(root.inside_git())).flatten())
    }
}
