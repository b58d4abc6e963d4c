//! `forage rank`: ranks files for a question.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use forage_fs::{RelPath, Roots};
use forage_tools::tools::{RankRequest, SearchIndex};
use forage_tools::{Call, Tool as _, Workspace, registry};
use serde_json::Value;

use super::changed::ChangedArguments;
use super::output::Terminal;
use super::session::{self, for_people, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

/// Maximum time for building an index while a user waits. This may be long: the user sees the progress and
/// can interrupt it.
const INDEXING_TIME: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage rank how are failed requests retried\n  forage rank --code why does a retry keep the old header\n  forage rank -t rust -p src RetryPolicy\n  forage rank -l RetryPolicy | xargs wc -l\n  forage rank - < report.md\n  forage rank '\"connection reset\" path:net -windows'\n  forage rank --like src/client.rs#send\n\nThe first use in a project reads all files; later uses read only changed files."
)]
pub(crate) struct Arguments {
    /// A question, names or a bug report; "quoted words" must be adjacent, path:PART and lang:NAME narrow, -WORD excludes;
    /// `-` reads standard input
    #[arg(required_unless_present = "like", value_name = "QUERY")]
    query: Vec<String>,
    /// Find the definitions most similar to code: PATH#NAME, PATH:FIRST-LAST, or `-` for code on standard input
    #[arg(long, value_name = "CODE", conflicts_with_all = ["query", "no_history", "cursor"])]
    like: Option<String>,
    /// Directory or file to search [default: the working directory]
    #[arg(short, long, value_name = "PATH")]
    path: Option<String>,
    /// Files to search: by name ('*.py'), or by path if it has a slash ('src/**/*.rs')
    #[arg(short = 'g', long, value_name = "GLOB", visible_alias = "file-pattern")]
    glob: Option<String>,
    /// Languages to search, such as rust or typescript (repeatable)
    #[arg(short = 't', long = "language", visible_alias = "type", value_name = "NAME")]
    languages: Vec<String>,
    /// Print the code of the best files, within this number of tokens [default: 8000]
    #[arg(long, value_name = "TOKENS", num_args = 0..=1, require_equals = true, default_missing_value = "8000")]
    code: Option<i64>,
    /// Files to show [default: 10; with --code up to 20]
    #[arg(short = 'm', long, value_name = "N", visible_alias = "max-results")]
    limit: Option<i64>,
    #[command(flatten)]
    changed: ChangedArguments,
    /// Print only paths, relative to the working directory
    #[arg(short = 'l', long, conflicts_with = "code")]
    paths: bool,
    /// Ignore commit messages
    #[arg(long)]
    no_history: bool,
    /// Continue a previous answer
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Maximum size in bytes of a query on stdin. This should be more than any bug report has.
const QUERY_BYTES: u64 = 1 << 20;

/// Reads the text on stdin.
pub(super) fn read_query() -> anyhow::Result<String> {
    let mut query = String::new();
    let mut input = std::io::stdin().take(QUERY_BYTES + 1);
    input.read_to_string(&mut query).context("can't read the query from stdin")?;
    if query.len() as u64 > QUERY_BYTES {
        bail!("the query on stdin has more than {QUERY_BYTES} bytes; give a part of it");
    }
    Ok(query)
}

/// Returns how long a person waits for the ranked index.
pub(super) fn indexing_time(global: &Global, workspace: &Workspace) -> Duration {
    match global.timeout_ms() {
        None => INDEXING_TIME,
        // Wait for the index for the whole timeout, except for the time that the search needs.
        Some(_) => workspace.limits.timeout,
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let mut workspace = session::open(
        global,
        CommandLineSettings::default(),
        SearchIndex::NAME,
        arguments.path.as_deref(),
        output,
    )?;
    workspace.limits.indexing_time = indexing_time(global, &workspace);
    let given = |text: String| if text == "-" { read_query() } else { Ok(text) };
    let mut request = RankRequest::new(given(arguments.query.join(" "))?);
    request.like = arguments.like.clone().map(given).transpose()?;
    request.path = Some(path_argument(&workspace, arguments.path.as_deref())?);
    request.file_pattern.clone_from(&arguments.glob);
    request.languages = (!arguments.languages.is_empty()).then(|| arguments.languages.clone());
    request.changed = arguments.changed.range().map(str::to_owned);
    request.limit = arguments.limit;
    request.code_tokens = Some(arguments.code.unwrap_or(0));
    request.explain = Some(output.wants_explanation());
    request.history = arguments.no_history.then_some(false);
    request.cursor.clone_from(&arguments.cursor);
    let mut nothing = None;
    let answer = |call: &Call| {
        let mut answer = registry::answer::<SearchIndex>(call, request)?;
        if arguments.paths {
            let shown = paths(&call.roots, answer.records());
            let text = std::mem::replace(&mut answer.text, shown);
            nothing = Some(text).filter(|_| !answer.found);
        }
        Ok(answer)
    };
    let status = session::print(SearchIndex::NAME, &workspace, output, answer, |error| {
        for_people(SearchIndex::NAME, error, &workspace.names)
    });
    // Stdout has only paths, so the reason why there are none goes to stderr.
    nothing.iter().for_each(|text| output.note(text.trim_end()));
    status
}

/// Formats the paths of an answer, one per line. Paths inside the working directory are relative to it, and
/// all others are absolute.
fn paths(roots: &Roots, records: &Value) -> String {
    let similar = records["similar"].as_array().into_iter().flatten();
    let files = records["files"].as_array().into_iter().flatten().chain(similar);
    let from_here = |shown: &str| {
        let (root, base) = (roots.main().path(), roots.base());
        match RelPath::parse(shown, &RelPath::root()) {
            // In other roots, paths are already absolute.
            _ if Path::new(shown).is_absolute() => shown.to_owned(),
            Ok(path) if path.starts_with(base) => String::from_utf8_lossy(path.below(base)).into_owned(),
            _ => root.join(shown).display().to_string(),
        }
    };
    let mut paths: Vec<&str> = files.filter_map(|file| file["path"].as_str()).collect();
    // Several similar definitions may be in one file.
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(*path));
    paths.into_iter().map(|path| from_here(path) + "\n").collect()
}
