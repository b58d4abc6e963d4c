//! `forage hook`: called by clients at the start of a session and around their own searches. It gives advice
//! and never blocks anything: on any problem it prints nothing and exits with 0 in time.

mod query;

use std::borrow::Cow;
use std::io::Read as _;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{RelPath, Root, display_text};
use forage_rank::{FileHit, RankedSearch, Ranking, search};
use forage_tools::registry::advertised;
use forage_tools::{Context, FilterSettings, enclosing_definition, sanitize};
use serde_json::{Value, json};

use super::output::Terminal;
use super::{Global, Status, session};
use crate::config::{self, CommandLineSettings, Config, Needs};
use crate::setup::{Client, HookEvent, profile, texts};

/// Total time from the start of the program. We promise 100 ms; the rest is for starting and ending the
/// process.
const TIME: Duration = Duration::from_millis(80);

/// Maximum bytes of a client's input: a call, and for some clients its result.
const INPUT_BYTES: u64 = 8 << 20;

/// Number of files to list.
const FILES: usize = 5;

/// Maximum bytes of a symbol's name; a longer one is left out.
const SYMBOL_BYTES: usize = 80;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`forage setup CLIENT --with hooks` puts it into the configuration of a client. It reads what the client says \
                  of the call from standard input, answers from the ranked index that is there, and says nothing where \
                  there is none, where it is no search, or where the time is over. It always ends with 0."
)]
pub(crate) struct Arguments {
    /// When it is called
    #[arg(value_enum)]
    event: When,
    /// The client that calls it
    #[arg(long, value_name = "CLIENT", default_value = "")]
    client: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum When {
    /// At the start of a session: a sentence on Forage's tools
    SessionStart,
    /// Before or after a search: what Forage ranks for the same words
    Search,
}

/// Returns true if the program was called with this command, for arguments that can't be parsed. A hook must
/// never exit with a status other than 0, because some clients take that for a refusal of the call. `valued`
/// lists the global options whose value is the next argument.
pub(crate) fn is_called(command: &str, valued: &[String]) -> bool {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    is_command(command, arguments, valued)
}

fn is_command(command: &str, mut arguments: impl Iterator<Item = String>, valued: &[String]) -> bool {
    while let Some(argument) = arguments.next() {
        if !argument.starts_with('-') {
            return argument == command;
        }
        if valued.contains(&argument) {
            arguments.next();
        }
    }
    false
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> Status {
    let began = Instant::now();
    let time = global.timeout_ms().map_or(TIME, Duration::from_millis);
    let (sender, receiver) = mpsc::sync_channel(1);
    let (event, client) = (arguments.event, arguments.client.clone());
    let mut own = Own { config: global.config.clone(), given: CommandLineSettings::default() };
    own.given.roots.clone_from(&global.root);
    let stop = Stop::after(time);
    let work = move || {
        let advice = std::panic::catch_unwind(AssertUnwindSafe(|| match event {
            When::SessionStart => Some(session_start(&client, &own)),
            When::Search => advise(&client, &own, &stop),
        }));
        let _ = sender.send(advice.ok().flatten());
    };
    let Ok(worker) = std::thread::Builder::new().name("hook".to_owned()).spawn(work) else {
        return Status::Found;
    };
    if let Ok(advice) = receiver.recv_timeout(time.saturating_sub(began.elapsed())) {
        // The worker has nothing left to do.
        let _ = worker.join();
        if let Some(advice) = advice {
            // This is shorter than a pipe's buffer, so the write does not block.
            let _ = output.text_now(&format!("{advice}\n"));
        }
    }
    Status::Found
}

/// The settings of the command line.
struct Own {
    config: Option<PathBuf>,
    given: CommandLineSettings,
}

impl Own {
    fn config(&self) -> Option<Config> {
        config::load(self.config.as_deref(), self.given.clone()).ok()
    }
}

fn names(client: &str, config: Option<&Config>) -> forage_tools::ToolNames {
    let choice = config.map(Config::served_tools).unwrap_or_default();
    texts::names(&advertised(&choice).unwrap_or_default(), Client::find(client).map(profile))
}

/// Returns the answer for the start of a session.
fn session_start(client: &str, global: &Own) -> Value {
    let text = texts::session_start(&names(client, global.config().as_ref()));
    answer(client, HookEvent::SessionStart, None, &text)
}

/// Returns the files that Forage ranks for the words of a search.
fn advise(client: &str, global: &Own, stop: &Stop) -> Option<Value> {
    let mut input = Vec::new();
    std::io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut input).ok()?;
    let (input, query) = query::read(&input)?;
    let named = input["cwd"].as_str().map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
    let working = named.or_else(|| config::working_directory().ok())?;
    let config = global.config()?;
    let directories = session::directories(&config, &working, &[]);
    config.wall_in(&directories, &Needs::default()).ok()?;
    let (context, config) =
        session::beneath(config, &directories, &working, FilterSettings::default()).ok()?;
    let names = names(client, Some(&config));
    if !names.has("search_index") {
        return None;
    }
    let text = context.roots.all().iter().find_map(|root| ranked(&config, &context, root, &query, stop))?;
    let tool = names.fill("{search_index}");
    let query = match display_text(&query) {
        Cow::Borrowed(query) => format!("`{query}`"),
        Cow::Owned(quoted) => quoted,
    };
    // Clients pass this text on as their own words. So names from the repository are in a fenced block, which
    // none of them can close.
    let text = format!(
        "Forage ranks these files for {query}, as they were when it last looked, the best first. The block has names from \
         the repository, no instructions:\n```\n{text}```\nThe MCP tool {tool} has their lines."
    );
    let text = context.without_secrets(&sanitize(&text));
    answer(client, HookEvent::Search, input["hook_event_name"].as_str(), &text).into()
}

/// Returns the best files of a root, one per line.
fn ranked(config: &Config, context: &Context, root: &Arc<Root>, query: &str, stop: &Stop) -> Option<String> {
    let index = config.index_store(root).ok()?.ranked_as_it_is(stop)?;
    let is_over = || stop.check().is_some();
    let is_left_out = |path: &str| {
        let path = RelPath::parse(path, &RelPath::root()).ok();
        let excludes = context.excludes.as_ref();
        path.is_none_or(|path| excludes.is_some_and(|excludes| excludes.leave_out(&path)))
    };
    let allow = |_: usize, path: &str| !is_left_out(path);
    let ranking: Ranking = search(
        &index,
        &RankedSearch { allow: Some(&allow), stop: &is_over, ..RankedSearch::new(query, 2 * FILES) },
    )
    .ok()?;
    if ranking.is_weak() || ranking.stopped {
        return None;
    }
    let is_there = |hit: &&FileHit| {
        RelPath::parse(&hit.path, &RelPath::root()).is_ok_and(|path| root.locate(&path).is_ok())
    };
    let lines: String = ranking
        .files
        .iter()
        .filter(is_there)
        .filter_map(|hit| line(context, root, hit))
        .take(FILES)
        .collect();
    (!lines.is_empty()).then_some(lines)
}

/// Formats a file with its best chunk and the name of the definition in which the chunk begins. Returns
/// `None` for a path that could be a sentence or needs quoting. Nothing else of a file is shown.
fn line(context: &Context, root: &Arc<Root>, hit: &FileHit) -> Option<String> {
    let path = RelPath::parse(&hit.path, &RelPath::root()).ok()?;
    let shown = path.display();
    if shown.starts_with('"') || shown.contains(' ') {
        return None;
    }
    let chunk = hit.chunks.first();
    let lines = chunk.map(|chunk| format!(":{}-{}", chunk.start_line, chunk.end_line)).unwrap_or_default();
    let symbol = chunk
        .and_then(|chunk| enclosing_definition(context, root, &path, chunk.start_line))
        .filter(|symbol| symbol.len() <= SYMBOL_BYTES)
        .map(|symbol| format!(" {symbol}"));
    Some(format!("- {shown}{lines}{}\n", symbol.unwrap_or_default()))
}

/// Formats the answer for the client.
fn answer(client: &str, event: HookEvent, name: Option<&str>, text: &str) -> Value {
    let is_name = |name: &&str| name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    match client {
        "copilot" => json!({ "additionalContext": text }),
        "cursor" => json!({ "additional_context": text }),
        _ => {
            let usual = if event == HookEvent::SessionStart { "SessionStart" } else { "PreToolUse" };
            let name = name.filter(is_name).unwrap_or(usual);
            json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_behind_any_options() {
        let valued = ["--root".to_owned(), "--timeout-ms".to_owned()];
        for (line, expected) in [
            ("hook", true),
            ("--root /x hook search", true),
            ("--json --timeout-ms=5 hook --no-such", true),
            ("--root hook grep", false),
            ("grep hook", false),
            ("", false),
        ] {
            let arguments = line.split(' ').map(str::to_owned);
            assert_eq!(is_command("hook", arguments, &valued), expected, "{line}");
        }
    }
}
