//! The process groups of all running children, tracked so that they can be killed however Forage ends.

#![cfg(unix)]

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::kill_group;

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spawns a child and registers its group. The lock prevents `end_all` from running between these two steps.
pub(super) fn started(start: impl FnOnce() -> std::io::Result<Child>) -> std::io::Result<Child> {
    let mut groups = groups();
    let child = start()?;
    groups.push(Pid::from_child(&child));
    Ok(child)
}

/// Kills a child's group, forgets it, and calls `reap` to wait for the child. The group must be forgotten
/// first, because its id may belong to another process once the child is reaped.
pub(super) fn ended<T>(child: &mut Child, reap: impl FnOnce(&mut Child) -> T) -> T {
    let (mut groups, group) = (groups(), Pid::from_child(child));
    kill_group(child);
    groups.retain(|known| *known != group);
    reap(child)
}

/// Kills all groups and prevents any new ones. The caller must then end this process.
pub(super) fn end_all() {
    let groups = groups();
    for group in &*groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    // Never release the lock: a thread that is about to spawn a child must block until this process ends.
    std::mem::forget(groups);
}
