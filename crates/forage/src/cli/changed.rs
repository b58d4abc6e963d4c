//! Options that restrict a command to changed files.

/// Which changed files a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "range", multiple = false)]
pub(crate) struct ChangedArguments {
    /// Only files that differ from the last commit, including untracked ones
    #[arg(long)]
    changed: bool,
    /// Only files that differ from REV, such as HEAD~3; `main...` for the changes of this branch, `A..B` between commits
    #[arg(long, value_name = "REV", conflicts_with = "changed")]
    since: Option<String>,
}

impl ChangedArguments {
    /// Returns the range in the form that tools accept.
    pub(crate) fn range(&self) -> Option<&str> {
        self.since.as_deref().or(self.changed.then_some("HEAD"))
    }
}
