//! Workspaces that are open, so that a program which ends without closing them keeps what was read for their indexes.

use std::collections::HashMap;
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

/// Adds one of an owner, which ends by itself; returns its number.
pub(crate) fn add(workspace: &Workspace, owner: u64) -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let open = OpenWorkspace { workspace: workspace.clone(), owner, process: std::process::id() };
    if let Some(mut all) = lock_unless_forked(&OPEN) {
        all.get_or_insert_default().insert(number, open);
    }
    number
}

/// Takes one out, for whoever ends it.
pub(crate) fn take(number: u64) -> Option<Workspace> {
    lock_unless_forked(&OPEN)?.as_mut()?.remove(&number).map(|open| open.workspace)
}

/// Ends what one has in the background.
pub(crate) fn end(workspace: Option<Workspace>) {
    if let Some(workspace) = workspace {
        workspace.close();
    }
}

/// Ends what all workspaces of an owner have in the background, at the same time: their owner ends. It takes a second and a half at
/// the most. Calls are answered still.
pub fn end_all(owner: u64) {
    let process = std::process::id();
    let own: Vec<Workspace> = lock_unless_forked(&OPEN).map_or_else(Vec::new, |mut all| {
        let own = all.get_or_insert_default().extract_if(|_, open| open.owner == owner);
        own.filter(|(_, open)| open.process == process).map(|(_, open)| open.workspace).collect()
    });
    thread::scope(|scope| {
        for workspace in own {
            // Without a thread its index is built again.
            let _ = thread::Builder::new().spawn_scoped(scope, || workspace.close());
        }
    });
}
