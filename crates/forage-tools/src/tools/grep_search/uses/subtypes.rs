//! Subtypes of a qualifier. If a subtype overrides a method, we count that method as the qualified name, too.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use forage_base::map_in_threads;
use forage_fs::{RelPath, WalkOptions};
use forage_rank::may_implement;
use forage_search::{Pattern, PatternOptions, ScanOptions, search};

use super::qualifier::has_word;
use super::{UseReader, file_name};
use crate::limits;

/// Types that implement or extend a type, directly or through others.
#[derive(Debug, Default)]
pub(in super::super) struct Subtypes {
    pub(super) names: HashSet<String>,
    /// False if there was no time for all files, or if there are too many names or levels.
    pub(super) is_complete: bool,
}

impl UseReader<'_> {
    /// Finds the subtypes of a type by name, level by level. Each level searches all files once.
    pub(super) fn subtypes(&self, base: &str, start: &RelPath, walk: &WalkOptions) -> Subtypes {
        let stop = self.stop.within(limits::GREP_IMPLEMENTATIONS_TIME);
        let mut found = Subtypes { names: HashSet::new(), is_complete: true };
        let mut level = BTreeSet::from([base.to_owned()]);
        for _ in 0..limits::GREP_SUBTYPE_LEVELS {
            let names: Vec<String> = level.iter().map(|name| forage_search::escape(name)).collect();
            let options = PatternOptions { word: true, ..PatternOptions::default() };
            let Ok(pattern) = Pattern::new_within(&names.join("|"), &options, &stop) else { break };
            let mut heads: BTreeMap<(RelPath, &str), ()> = BTreeMap::new();
            let scan = ScanOptions { exhaustive: true, ..self.scan((0, 0), usize::MAX) };
            let report = search(self.root, start, walk, &pattern, &scan, &stop, |file| {
                let path = file_name(&file.path);
                for event in &file.events {
                    let line = String::from_utf8_lossy(&event.bytes);
                    let is_head = |name: &&String| has_word(&line, name) && may_implement(&path, &line, name);
                    level.iter().filter(is_head).for_each(|name| {
                        heads.insert((file.path.clone(), name), ());
                    });
                }
                ControlFlow::Continue(())
            });
            found.is_complete &= report.is_ok_and(|report| report.stopped.is_none());
            let heads: Vec<(RelPath, &str)> = heads.into_keys().collect();
            let types = map_in_threads(&heads, self.walk_threads(), |(path, name)| {
                let file = stop.check().is_none().then(|| self.read(path, name, &stop))?;
                Some(file.map_or_else(Vec::new, |file| {
                    let types = file.implementing().into_iter();
                    types.map(|(_, at)| file.outline.definitions[at].name.clone()).collect()
                }))
            });
            found.is_complete &= types.iter().all(Option::is_some);
            let new = types.into_iter().flatten().flatten();
            // Only new names form the next level, so a cycle of types ends.
            level = new.filter(|name| name != base && found.names.insert(name.clone())).collect();
            if level.is_empty() || !found.is_complete {
                return found;
            }
            if found.names.len() > limits::GREP_SUBTYPES {
                break;
            }
        }
        found.is_complete = false;
        found
    }

    pub(super) fn walk_threads(&self) -> usize {
        self.call.walk_options().thread_count()
    }
}
