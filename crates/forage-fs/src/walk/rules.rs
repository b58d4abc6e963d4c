//! The ignore rules in the directories of a walk. Rules whose verdicts are known from a snapshot are compiled
//! only when they are needed.

use std::sync::{Arc, OnceLock};

use super::snapshot::Loaded;
use crate::ignore_rules::{IgnoreRules, RuleBudget};
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::sys;

/// The rules of a directory and of the directories above it.
#[derive(Debug)]
pub(super) struct Rules {
    /// The directory and the rules above it; `None` for the rules above the root.
    place: Option<(RelPath, Arc<Rules>)>,
    compiled: OnceLock<Arc<IgnoreRules>>,
    /// True if they are the rules of the snapshot. We compute this on demand.
    are_known: OnceLock<bool>,
}

impl Rules {
    /// Creates the rules above the root.
    pub(super) fn above(compiled: &Arc<IgnoreRules>) -> Arc<Self> {
        Arc::new(Self { place: None, compiled: Arc::clone(compiled).into(), are_known: OnceLock::new() })
    }

    /// Creates the rules of a directory from compiled ones.
    pub(super) fn below(self: &Arc<Self>, directory: &RelPath, compiled: &Arc<IgnoreRules>) -> Arc<Self> {
        let place = Some((directory.clone(), Arc::clone(self)));
        Arc::new(Self { place, compiled: Arc::clone(compiled).into(), are_known: OnceLock::new() })
    }

    /// Like [`Rules::below`] for a directory that can't be read, so that its own rules are unknown.
    pub(super) fn below_unknown(
        self: &Arc<Self>,
        directory: &RelPath,
        above: &Arc<IgnoreRules>,
    ) -> Arc<Self> {
        let place = Some((directory.clone(), Arc::clone(self)));
        Arc::new(Self { place, compiled: Arc::clone(above).into(), are_known: false.into() })
    }

    /// Creates the rules of a directory that are known to be those of the snapshot.
    pub(super) fn below_unread(self: &Arc<Self>, directory: &RelPath) -> Arc<Self> {
        let place = Some((directory.clone(), Arc::clone(self)));
        Arc::new(Self { place, compiled: OnceLock::new(), are_known: true.into() })
    }

    /// Compiles the rules, if necessary. The cost of the snapshot's rules was charged when they were first
    /// used.
    pub(super) fn compiled(
        &self,
        root: &Root,
        budget: &RuleBudget,
        warn: &mut dyn FnMut(String),
    ) -> Arc<IgnoreRules> {
        // We go from the top down, without recursion: a tree may be deep.
        let mut waiting = Vec::new();
        let mut next = Some(self);
        let mut above = loop {
            match next {
                None => break IgnoreRules::none(root.inside_git(), false),
                Some(rules) => match rules.compiled.get() {
                    Some(compiled) => break Arc::clone(compiled),
                    None => waiting.push(rules),
                },
            }
            next = next.and_then(|rules| rules.place.as_ref()).map(|(_, above)| &**above);
        };
        for rules in waiting.into_iter().rev() {
            let compile = || match &rules.place {
                Some((path, _)) => compile(&above, path, root, &budget.unbounded(), warn),
                None => Arc::clone(&above),
            };
            above = Arc::clone(rules.compiled.get_or_init(compile));
        }
        above
    }

    /// Returns true if the snapshot was taken with these rules.
    pub(super) fn are_those_of(&self, snapshot: &Loaded, root: &Root) -> bool {
        *self.are_known.get_or_init(|| match &self.place {
            None => snapshot.inside_git() == root.inside_git(),
            Some((path, above)) => {
                above.are_those_of(snapshot, root)
                    && root.device_with_directory_states().is_some_and(|device| {
                        snapshot.record(path).is_some_and(|record| {
                            sys::open_directory(root.handle(), path)
                                .is_ok_and(|directory| record.rules_are_same(&directory, device))
                        })
                    })
            }
        })
    }
}

fn compile(
    above: &Arc<IgnoreRules>,
    path: &RelPath,
    root: &Root,
    budget: &RuleBudget,
    warn: &mut dyn FnMut(String),
) -> Arc<IgnoreRules> {
    let listed = sys::open_directory(root.handle(), path)
        .and_then(|directory| Ok((sys::list(&directory)?, directory)));
    match listed {
        Ok((nodes, directory)) => above.descend(path, &directory, &nodes, budget, warn),
        Err(error) => {
            warn(format!("the rules of {} can't be read: {error}", path.display()));
            Arc::clone(above)
        }
    }
}
