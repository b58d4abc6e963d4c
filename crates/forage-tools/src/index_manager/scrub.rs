//! Rereads indexed files slowly in the background of a server, so that an index that has become wrong for any
//! reason does not stay wrong.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use forage_fs::{ReadBuffer, Root};
use forage_search::index::{Index, ScrubOutcome, scrub_file};
use forage_search::limits;

use super::IndexManager;

/// Progress of rereading the files of an index. We store it next to the index, so that another server can
/// continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubProgress {
    /// Files of this round that are done, in the order of the index.
    pub done: u64,
    /// When this round began, in seconds since 1970.
    pub began: u64,
    /// When the last complete round ended, in seconds since 1970. 0 if there was none.
    pub ended: u64,
    /// Files, in all rounds, whose content changed although their state did not.
    pub different: u64,
}

impl ScrubProgress {
    /// Maximum bytes of the stored progress.
    pub(super) const BYTES: u64 = 4 * 21;

    /// Parses a line of four numbers.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = str::from_utf8(text).ok()?.split_ascii_whitespace().map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Self { done: number()?, began: number()?, ended: number()?, different: number()? })
    }

    pub(super) fn format(&self) -> String {
        format!("{} {} {} {}\n", self.done, self.began, self.ended, self.different)
    }
}

/// Result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScrubStep {
    pub(super) progress: ScrubProgress,
    /// True if the index does not match the text of a file.
    pub(super) is_wrong: bool,
}

/// Rereads the next files of an index.
pub(super) fn step(root: &Root, index: &Index, before: ScrubProgress) -> ScrubStep {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let layers = index.layers();
    let files: u64 = layers.iter().map(|layer| u64::from(layer.len())).sum();
    let mut progress = before;
    // A new index may have fewer files than the previous one.
    if progress.done >= files || progress.began == 0 {
        (progress.done, progress.began) = (0, now);
    }
    let mut left = files.div_ceil(limits::SCRUB_STEPS).max(1);
    let (mut bytes, mut is_wrong, mut buffer) = (0, false, ReadBuffer::default());
    while left > 0 && progress.done < files && bytes < limits::SCRUB_BYTES_PER_STEP {
        let mut number = progress.done;
        let layer = layers.iter().find(|layer| {
            let is_in = number < u64::from(layer.len());
            number -= if is_in { 0 } else { u64::from(layer.len()) };
            is_in
        });
        let Some((layer, number)) = layer.zip(u32::try_from(number).ok()) else { break };
        match scrub_file(root, layer, number, &mut buffer) {
            ScrubOutcome::Unused => {}
            ScrubOutcome::Same(read) => bytes += read,
            ScrubOutcome::Different => {
                progress.different += 1;
                is_wrong = true;
            }
        }
        (progress.done, left) = (progress.done + 1, left - 1);
    }
    if progress.done >= files {
        progress.ended = now;
    }
    ScrubStep { progress, is_wrong }
}

/// Starts the thread that rereads the index of a root for as long as `is_wanted` is alive.
pub(super) fn start(kept: &Arc<IndexManager>, root: &Path, is_wanted: Weak<()>) -> bool {
    let (kept, root) = (Arc::downgrade(kept), root.to_owned());
    let run = move || {
        loop {
            std::thread::sleep(limits::SCRUB_INTERVAL);
            // The thread holds only weak references, so it ends with the server, and with the slot of its
            // root.
            let Some(kept) = kept.upgrade().filter(|_| is_wanted.strong_count() > 0) else { return };
            kept.scrub(&root);
        }
    };
    std::thread::Builder::new().name("reread".to_owned()).spawn(run).is_ok()
}
