//! `forage why`: explains whether a file is searched and, if not, how to search it.

use std::fmt::Write as _;

use forage_base::count;
use forage_tools::{PathExplanation, sanitize, why};

use super::output::Terminal;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage why src/main.rs           says whether it is searched and indexed
  forage why dist/app.js           names the rule that excludes it, and the option that searches it";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// File or directory
    path: String,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let path = Some(arguments.path.as_str());
    let workspace = session::open(global, CommandLineSettings::default(), "list_directory", path, output)?;
    let path = path_argument(&workspace, path)?;
    let explanation =
        why(&workspace, &path).map_err(|error| session::for_people("why", error, &workspace.names))?;
    output.record_or_text(&explanation, &sanitize(&text(&explanation)))?;
    Ok(if explanation.searched { Status::Found } else { Status::NothingFound })
}

/// Formats the explanation as text.
fn text(explanation: &PathExplanation) -> String {
    let mut text = explanation.path.clone();
    let PathExplanation { reason, excluded, rule, target, lines, indexed, ranked_bytes, .. } = explanation;
    let (Some(reason), Some(excluded)) = (reason, excluded) else {
        match lines {
            Some(lines) => _ = writeln!(text, ": searched ({})", count(*lines, "line")),
            None => text.push_str(": searched, except for entries that rules exclude\n"),
        }
        text.push_str(match indexed {
            Some(true) => "  The index has this version.\n",
            Some(false) => "  The index does not have this version; each search reads the file.\n",
            None => "",
        });
        if let Some(bytes) = ranked_bytes {
            let _ =
                writeln!(text, "  The ranking knows only its first {bytes} bytes; grep searches all of it.");
        }
        return text;
    };
    text.push_str(": not searched\n");
    let rule = rule.as_deref().unwrap_or_default();
    let of_configuration = rule.starts_with("search.exclude");
    let (cause, remedy) = match *reason {
        "ignored" if of_configuration => {
            (format!("left out by {rule}"), "Change `search.exclude`, or name its path.")
        }
        "ignored" => {
            (format!("ignored by {rule}"), "`forage grep -u` searches it, agents set `include_ignored`.")
        }
        "hidden" => (
            "hidden, because its name begins with a dot".to_owned(),
            "`forage grep -.` searches it, agents set `include_ignored`.",
        ),
        "pruned" if excluded.ends_with(".git") => {
            ("git's own directory".to_owned(), "`forage grep` searches it if you name its path.")
        }
        "pruned" if rule.contains("worktree") => (
            "another worktree of this repository, with the same files again".to_owned(),
            "`forage grep` searches it, agents set `include_ignored`; a ranking needs `--root` with its path.",
        ),
        "pruned" => (
            "a directory of dependencies or caches, which agents' tools do not enter".to_owned(),
            "`forage grep` searches it, agents set `include_ignored`.",
        ),
        "binary" => {
            ("a binary file, because it contains a NUL byte".to_owned(), "`forage grep -a` searches it.")
        }
        "too_large" => (format!("larger than {rule}"), "Raise that limit in the configuration."),
        "denied" => (
            format!("a file that may hold secrets ({rule})"),
            "`secrets.allow` in your configuration lists files that are safe to read.",
        ),
        "symlink" => match target {
            Some(target) => (format!("a link to {target}"), "Searches find the file under that path."),
            None => ("a link that leads to no file".to_owned(), ""),
        },
        "outside_root" => {
            ("a link that leads out of the root".to_owned(), "Name its target, or give a second `--root`.")
        }
        "unreadable" => (format!("not readable: {rule}"), ""),
        "special" => ("not a regular file".to_owned(), ""),
        other => (other.replace('_', " "), ""),
    };
    let _ = writeln!(text, "  {excluded}: {cause}");
    if !remedy.is_empty() {
        let _ = writeln!(text, "  {remedy}");
    }
    text
}
