//! The ignore rules that hold in the directories of a walk. Where a snapshot says what they decide, they are compiled
//! only when they are needed.

use std::sync::{Arc, OnceLock};

use super::snapshot::Loaded;
use crate::ignore_rules::{IgnoreRules, RuleBudget};
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::sys;

/// The rules of a directory and of those above it.
#[derive(Debug)]
pub(super) struct Rules {
    /// The directory, and the rules above it; none for those above the root.
    place: Option<(RelPath, Arc<Rules>)>,
    compiled: OnceLock<Arc<IgnoreRules>>,
    /// Whether they are those of the snapshot.
    are_known: OnceLock<bool>,
}

impl Rules {
    /// What holds above the root.
    pub(super) fn above(compiled: &Arc<IgnoreRules>) -> Arc<Self> {
        Arc::new(Self { place: None, compiled: Arc::clone(compiled).into(), are_known: OnceLock::new() })
    }

    /// The rules in a directory for which these have been compiled.
    pub(super) fn below(self: &Arc<Self>, directory: &RelPath, compiled: &Arc<IgnoreRules>) -> Arc<Self> {
        let place = Some((directory.clone(), Arc::clone(self)));
        Arc::new(Self { place, compiled: Arc::clone(compiled).into(), are_known: OnceLock::new() })
    }

    /// The rules in a directory of which it is known that they are those of the snapshot.
    pub(super) fn below_unread(self: &Arc<Self>, directory: &RelPath) -> Arc<Self> {
        let place = Some((directory.clone(), Arc::clone(self)));
        Arc::new(Self { place, compiled: OnceLock::new(), are_known: true.into() })
    }

    /// The rules, compiled if they are not.
    pub(super) fn compiled(
        &self,
        root: &Root,
        budget: &RuleBudget,
        warn: &mut dyn FnMut(String),
    ) -> &Arc<IgnoreRules> {
        self.compiled.get_or_init(|| match &self.place {
            None => IgnoreRules::none(root.inside_git()),
            Some((path, above)) => {
                let above = above.compiled(root, budget, warn);
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
        })
    }

    /// Whether they are those with which the snapshot was taken.
    pub(super) fn are_those_of(&self, snapshot: &Loaded, root: &Root) -> bool {
        *self.are_known.get_or_init(|| match &self.place {
            None => snapshot.inside_git() == root.inside_git(),
            Some((path, above)) => {
                above.are_those_of(snapshot, root)
                    && root.device_with_states().is_some_and(|device| {
                        snapshot.record(path).is_some_and(|record| {
                            sys::open_directory(root.handle(), path)
                                .is_ok_and(|directory| record.rules_are_same(&directory, device))
                        })
                    })
            }
        })
    }
}
