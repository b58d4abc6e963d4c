//! Directories that are excluded by default, and the note about them.

/// Filters the directories that a walk skipped. We do not mention `.git`: no one expects it to be searched.
pub(crate) fn noise_of(pruned: &[String]) -> impl Iterator<Item = &String> {
    pruned.iter().filter(|name| *name != ".git")
}

/// Formats the note about skipped directories. `how` describes how to include them.
pub(crate) fn note(names: &[String], how: &str) -> Option<String> {
    let how = if how.is_empty() { String::new() } else { format!("; {how}") };
    (!names.is_empty()).then(|| format!("not entered: {}{how}", names.join(", ")))
}
