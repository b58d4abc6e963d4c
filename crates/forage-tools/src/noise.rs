//! Directories that no tool enters by itself, and what an answer says of them.

/// Those among the directories that a walk has not entered. That `.git` is no part of the tree goes without saying.
pub(crate) fn noise_of(pruned: &[String]) -> impl Iterator<Item = &String> {
    pruned.iter().filter(|name| *name != ".git")
}

/// What an answer says of them; `how` is what includes them.
pub(crate) fn note(names: &[String], how: &str) -> Option<String> {
    let how = if how.is_empty() { String::new() } else { format!("; {how}") };
    (!names.is_empty()).then(|| format!("not entered: {}{how}", names.join(", ")))
}
