//! Directories that no tool enters by itself, and what an answer says of them.

/// Directories of dependencies, caches and editors: large, and not what anybody looks for. Where an ignore file names them
/// nothing is to be decided; where it takes them back (`!node_modules`) they are entered. Output directories such as
/// `target` or `build`, and `vendor` or `venv`, are left to the ignore rules, because sources have these names too.
pub(crate) const NOISE: &[&str] = &[
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".terraform",
    ".idea",
];

/// Those among the directories that a walk has not entered. That `.git` is no part of the tree goes without saying.
pub(crate) fn noise_of(pruned: &[String]) -> impl Iterator<Item = &String> {
    pruned.iter().filter(|name| NOISE.contains(&name.as_str()))
}

/// What an answer says of them; `how` is what includes them.
pub(crate) fn note(names: &[String], how: &str) -> Option<String> {
    let how = if how.is_empty() { String::new() } else { format!("; {how}") };
    (!names.is_empty()).then(|| format!("not entered: {}{how}", names.join(", ")))
}
