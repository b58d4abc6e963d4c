//! Counts everything that a walk leaves out, by reason: nothing is skipped silently.

use std::fmt;

/// Reasons why a file or directory is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum SkipReason {
    /// A rule of an ignore file. A directory counts once, whatever it contains.
    Ignored,
    /// A leading dot in its name. A directory counts once.
    Hidden,
    /// Its name is that of a directory of version control, dependencies, caches or editor files. Another
    /// worktree of the same repository counts too.
    Pruned,
    /// It contains a NUL byte.
    Binary,
    /// It exceeds the limit on file size.
    TooLarge,
    /// The system refused to open or read it, or it was removed.
    Unreadable,
    /// The secret-file policy denies access.
    Denied,
    /// A link that leads outside of the root.
    OutsideRoot,
    /// A link, if links are not followed.
    Symlink,
    /// A pipe, socket or device.
    Special,
    /// It is below the maximum depth.
    TooDeep,
    /// A text that is searched in pieces and has a line longer than a piece.
    LineTooLong,
    /// A text for which a pattern exceeded its maximum number of steps.
    TooSlow,
    /// It is on a pseudo file system of the kernel, for example procfs. A directory counts once.
    KernelFileSystem,
    /// The part of a notebook that is not a line of a cell, for example outputs.
    NotebookOutputs,
}

/// All reasons, in display order.
pub(crate) const REASONS: [SkipReason; 15] = [
    SkipReason::Ignored,
    SkipReason::Hidden,
    SkipReason::Pruned,
    SkipReason::Binary,
    SkipReason::TooLarge,
    SkipReason::Unreadable,
    SkipReason::Denied,
    SkipReason::OutsideRoot,
    SkipReason::Symlink,
    SkipReason::Special,
    SkipReason::TooDeep,
    SkipReason::LineTooLong,
    SkipReason::TooSlow,
    SkipReason::KernelFileSystem,
    SkipReason::NotebookOutputs,
];

impl SkipReason {
    /// Reasons why a file that a walk visits is not read.
    pub const UNREAD: [Self; 3] = [Self::Binary, Self::TooLarge, Self::Denied];

    /// Returns the name of this reason in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Hidden => "hidden",
            Self::Pruned => "pruned",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
            Self::Denied => "denied",
            Self::OutsideRoot => "outside_root",
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::TooDeep => "too_deep",
            Self::LineTooLong => "line_too_long",
            Self::TooSlow => "too_slow",
            Self::KernelFileSystem => "kernel_file_system",
            Self::NotebookOutputs => "notebook_outputs",
        }
    }
}

/// The number of entries left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped([u64; REASONS.len()]);

impl Skipped {
    /// Adds one to the count of `reason`.
    pub fn add(&mut self, reason: SkipReason) {
        self.0[reason as usize] += 1;
    }

    /// Adds `more` to the count of `reason`.
    pub fn add_many(&mut self, reason: SkipReason, more: u64) {
        self.0[reason as usize] += more;
    }

    /// Drops the count of `reason`, and keeps the others.
    pub(crate) fn without(mut self, reason: SkipReason) -> Self {
        self.0[reason as usize] = 0;
        self
    }

    /// Adds the counts of another walk or task.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Returns the count of one reason.
    pub fn get(&self, reason: SkipReason) -> u64 {
        self.0[reason as usize]
    }

    /// Iterates over the reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, u64)> + '_ {
        REASONS.into_iter().map(|reason| (reason, self.get(reason))).filter(|&(_, count)| count > 0)
    }

    /// Returns true if nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&count| count == 0)
    }
}

impl fmt::Display for Skipped {
    /// Formats the counts, for example as `3 ignored, 1 binary`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (reason, count)) in self.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match reason {
                SkipReason::Denied => write!(f, "{comma}{count} that may hold secrets")?,
                SkipReason::NotebookOutputs => {
                    write!(f, "{comma}outputs of {count} notebook{}", if count == 1 { "" } else { "s" })?;
                }
                _ => write!(f, "{comma}{count} {}", reason.name().replace('_', " "))?,
            }
        }
        Ok(())
    }
}
