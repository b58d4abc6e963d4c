//! Scores the files that a text names.

use std::collections::HashMap;

use crate::limits;
use crate::query::ReportedFile;
use crate::retrieve::FileCandidate;

/// The value of a file that is named in prose, relative to the nearest frame of a stack trace. It may be a
/// file of the author's.
const MENTIONED: f32 = 0.5;

/// The value of a file at the root if a frame names the directories of its file. These would be above the
/// root, where we can't compare them.
const AT_ROOT: f32 = 0.5;

/// The value of a file that defines the function of a frame, if the frame's own file isn't a candidate. A
/// built program may have other files than its sources.
const FUNCTION: f32 = 0.5;

/// Scores each file by the names in a text. The file of the nearest frame counts 1, the next file of the same
/// trace 1/2, the one after it 1/3. If a name matches several files, they share its value. Frames that match
/// no file are skipped.
pub(super) fn named(files: &[ReportedFile], candidates: &[FileCandidate]) -> Vec<f32> {
    let mut found = vec![0.0_f32; candidates.len()];
    if files.is_empty() {
        return found;
    }
    let paths: Vec<String> =
        candidates.iter().map(|candidate| candidate.record.path.to_lowercase()).collect();
    let defining = defining(files, candidates);
    let mut trace = None;
    // The files already seen in this trace.
    let mut before: Vec<usize> = Vec::new();
    let mut depth = 0;
    for file in files {
        if file.trace != trace {
            (trace, depth) = (file.trace, 0);
            before.clear();
        }
        let by_function = || {
            let those = defining.get(file.function.as_deref()?)?;
            let is_told = (1..=limits::NAMED_FUNCTION_FILES).contains(&those.len());
            is_told.then(|| (those.clone(), FUNCTION))
        };
        let Some((those, share)) = match_paths(&file.names, &paths).or_else(by_function) else { continue };
        let worth = if trace.is_some() { share / (1 + depth) as f32 } else { MENTIONED };
        for &index in &those {
            found[index] = found[index].max(worth / those.len() as f32);
        }
        // Several frames in the same file count as one step.
        if those.iter().any(|index| !before.contains(index)) {
            depth += 1;
            before.extend(those);
        }
    }
    found
}

/// Finds the paths that end with the most names, with their value. At least two names must match, unless the
/// text names no directory or the file is at the root.
fn match_paths(names: &[String], paths: &[String]) -> Option<(Vec<usize>, f32)> {
    let same: Vec<usize> = paths.iter().map(|path| same_names(names, path)).collect();
    let max = same.iter().copied().max().filter(|&max| max > 0)?;
    let those = (0..paths.len()).filter(|&index| same[index] == max);
    if max >= names.len().min(2) {
        return Some((those.collect(), 1.0));
    }
    let at_root: Vec<usize> = those.filter(|&index| !paths[index].contains('/')).collect();
    (!at_root.is_empty()).then_some((at_root, AT_ROOT))
}

/// Counts how many of the names a path ends with.
fn same_names(names: &[String], path: &str) -> usize {
    let mut parts = path.rsplit('/');
    let (Some(name), Some(file)) = (names.first(), parts.next()) else { return 0 };
    let is_class = !name.contains('.');
    if file != name && !(is_class && file.split('.').next() == Some(name)) {
        return 0;
    }
    1 + names[1..].iter().zip(parts).take_while(|(name, part)| name == part).count()
}

/// Finds the files that define each function that a frame names.
fn defining<'a>(files: &'a [ReportedFile], candidates: &[FileCandidate]) -> HashMap<&'a str, Vec<usize>> {
    let functions = files.iter().filter_map(|file| file.function.as_deref());
    let mut defining: HashMap<&str, Vec<usize>> = functions.map(|name| (name, Vec::new())).collect();
    if defining.is_empty() {
        return defining;
    }
    for (index, candidate) in candidates.iter().enumerate() {
        for symbol in &candidate.record.symbols {
            if let Some(those) = defining.get_mut(candidate.record.name(symbol))
                && those.last() != Some(&index)
            {
                those.push(index);
            }
        }
    }
    defining
}
