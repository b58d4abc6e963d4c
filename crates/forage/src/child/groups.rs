//! The groups of the programs that were started to be spoken to: however Forage ends, they end with it.

#![cfg(unix)]

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::kill_group;

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts one; nobody can end all of them between its start and its being known.
pub(super) fn started(start: impl FnOnce() -> std::io::Result<Child>) -> std::io::Result<Child> {
    let mut groups = groups();
    let child = start()?;
    groups.push(Pid::from_child(&child));
    Ok(child)
}

/// Ends one and forgets it. `reap` waits for its first process, after which its number may be another's.
pub(super) fn ended<T>(child: &mut Child, reap: impl FnOnce(&mut Child) -> T) -> T {
    let (mut groups, group) = (groups(), Pid::from_child(child));
    kill_group(child);
    groups.retain(|known| *known != group);
    reap(child)
}

/// Ends all of them, and lets none be started any more: the caller ends the process.
pub(super) fn end_all() {
    let groups = groups();
    for group in &*groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    // Whoever is about to start one waits for what does not come.
    std::mem::forget(groups);
}
