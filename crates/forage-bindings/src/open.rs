//! Tracks open workspaces with indexes. We must close them before the program ends so that the files read so
//! far are written to the index.

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

/// Registers a workspace for an owner, and returns the number under which it is registered.
pub(crate) fn add(workspace: &Workspace, owner: u64) -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let open = OpenWorkspace { workspace: workspace.clone(), owner, process: std::process::id() };
    if let Some(mut all) = lock_unless_forked(&OPEN) {
        all.get_or_insert_default().insert(number, open);
    }
    number
}

/// Closes a workspace, then unregisters it. In this order, a program that ends in the meantime will still
/// wait for it.
pub(crate) fn end(number: u64, workspace: Workspace) {
    workspace.close();
    if let Some(all) = lock_unless_forked(&OPEN).as_mut().and_then(|all| all.as_mut()) {
        all.remove(&number);
    }
}

/// Ends the background work of all workspaces, or of those of one owner. We close them in parallel, so this
/// takes 1.5 seconds at most. Workspaces still answer calls after this.
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
            // If no thread can be started, the index will be rebuilt the next time.
            let _ = thread::Builder::new().spawn_scoped(scope, end);
        }
    });
}
