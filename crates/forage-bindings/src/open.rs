//! Workspaces that are open and keep indexes, so that a program which ends without closing them keeps what was read for those.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use forage_tools::Workspace;

use crate::workers::lock_unless_forked;

struct OpenWorkspace {
    workspace: Workspace,
    owner: u64,
    process: u32,
}

static OPEN: Mutex<Option<HashMap<u64, OpenWorkspace>>> = Mutex::new(None);

/// Adds one of an owner; returns its number.
pub(crate) fn add(workspace: &Workspace, owner: u64) -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let open = OpenWorkspace { workspace: workspace.clone(), owner, process: std::process::id() };
    if let Some(mut all) = lock_unless_forked(&OPEN) {
        all.get_or_insert_default().insert(number, open);
    }
    number
}

/// Ends what one has in the background. Until that has ended, it is one of those that a program waits for which ends.
pub(crate) fn end(number: u64, workspace: Workspace) {
    workspace.close();
    if let Some(all) = lock_unless_forked(&OPEN).as_mut().and_then(|all| all.as_mut()) {
        all.remove(&number);
    }
}

/// Ends what the workspaces of an owner, or of all, have in the background, at the same time: their owner ends. It takes a second and
/// a half at the most. Calls are answered still.
pub fn end_all(owner: Option<u64>) {
    let process = std::process::id();
    let is_own =
        |open: &&OpenWorkspace| open.process == process && owner.is_none_or(|owner| open.owner == owner);
    let own: Vec<Workspace> = lock_unless_forked(&OPEN).map_or_else(Vec::new, |all| {
        let all = all.iter().flat_map(HashMap::values);
        all.filter(is_own).map(|open| open.workspace.clone()).collect()
    });
    thread::scope(|scope| {
        for workspace in own {
            let end = || catch_unwind(AssertUnwindSafe(|| workspace.close())).is_ok();
            // Without a thread its index is built again.
            let _ = thread::Builder::new().spawn_scoped(scope, end);
        }
    });
}
