//! The command line. There is one subcommand per tool, and there are others for setup, inspection and
//! maintenance.

mod ask;
mod call;
mod changed;
mod check;
mod completions;
mod doctor;
mod eval;
mod files;
mod grep;
mod help;
mod history;
mod hook;
mod index;
mod keyword;
mod list;
mod lookup;
mod man;
mod mcp;
mod model_arguments;
mod models;
mod output;
mod paint;
mod phrasing;
mod progress;
mod rank;
mod read;
mod records;
mod schema;
mod session;
mod setting_options;
mod settings;
mod setup;
mod signals;
mod sparse;
mod telemetry;
mod tool_command;
mod tools;
mod ui;
mod user_error;
mod version;
mod why;

pub(crate) use version::version;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use forage_tools::registry::{AnyTool, TOOLS};
use forage_tools::{ErrorCode, ToolError};
use grep_printer::HyperlinkFormat;
use serde_json::Value;

use output::Terminal;
use paint::Painter;
use setting_options::SettingOptions;
use user_error::UserError;

use crate::config::SettingsCommand;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Found,
    NothingFound,
    /// The command failed and has already reported why.
    Failed,
    /// A signal interrupted the command, which printed partial results.
    Interrupted,
}

#[derive(Debug, Parser)]
#[command(
    name = "forage",
    version,
    long_version = version::long_version(),
    about = "Code search for coding agents: find the right files by concept, by pattern, by name or by structure",
    after_help = "Exit status: 0 something was found, 1 nothing was found, 2 an error (or an answer cut short before \
                  anything was found), 130 interrupted.\nConfiguration: `forage config` shows what is in effect and where it comes from."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Root: nothing outside of it is read (repeatable) [default: the enclosing git repository, else the working directory]
    #[arg(long, global = true, value_name = "DIR")]
    root: Vec<PathBuf>,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Every as u8 }>,
    /// Print records as JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours; `auto` follows the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value_t, hide_default_value = true)]
    color: ColorChoice,
    /// Link paths on a terminal to files: default, vscode, cursor, zed and others, or an address with {path} and {line}
    #[arg(long, global = true, value_name = "FORMAT", hide_short_help = true, value_parser = paint::link_format)]
    hyperlinks: Option<HyperlinkFormat>,
    /// Report on standard error how the index narrowed the search
    #[arg(long, global = true, hide_short_help = true)]
    explain: bool,
    /// Print only results and errors
    #[arg(long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Like --explain, and log each call on standard error, also in `forage mcp`
    #[arg(long, global = true, hide_short_help = true)]
    verbose: bool,
    /// Configuration file [default: ~/.config/forage/config.toml]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    config: Option<PathBuf>,
}

impl Global {
    /// Returns the time limit of `--timeout-ms`, in milliseconds.
    fn timeout_ms(&self) -> Option<u64> {
        self.settings.given.get("limits.timeout_ms")
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find files by concept: search many terms, then let a model select the relevant files
    #[command(visible_alias = "keyword_search")]
    Keyword(keyword::Arguments),
    /// Search lines with ripgrep's options and output; also uses of a name, and fuzzy matches
    #[command(visible_alias = "search", aliases = ["grep_search", "Search", "rg", "ripgrep", "ugrep", "ug"])]
    Grep(Box<grep::Arguments>),
    /// Rank files for a question, names or a bug report
    #[command(visible_alias = "search_index")]
    Rank(rank::Arguments),
    /// Look up error codes, identifiers and ids in a collection
    #[command(visible_alias = "keyword_lookup")]
    Lookup(lookup::Arguments),
    /// List a directory as a tree with line counts
    #[command(visible_aliases = ["list_directory", "tree"])]
    List(list::Arguments),
    /// Find files by name (glob or fuzzy), or list changed files
    #[command(visible_alias = "find")]
    Files(files::Arguments),
    /// Find commits that changed a text, a definition or a path
    #[command(visible_alias = "search_history")]
    History(history::Arguments),
    /// Explain why a file is or isn't searched: the rule or limit, and whether it is indexed
    Why(why::Arguments),
    /// Print a file, a range of its lines, a definition or an outline
    #[command(visible_alias = "read_file")]
    Read(read::Arguments),
    /// Ask a question: a model answers with the tools and cites lines
    Ask(ask::Arguments),
    /// Serve the tools to agents over MCP (stdio or HTTP)
    Mcp(mcp::Arguments),
    /// Call a tool as an agent does, with JSON arguments
    Call(call::Arguments),
    /// Show the tools, or their definitions for a model provider
    Tools(tools::Arguments),
    /// Print the JSON Schemas of --json output
    Schema(schema::Arguments),
    /// Show the available providers and models, and the choice
    Models(models::Arguments),
    /// Show the configuration and where its values come from
    Config(settings::Arguments),
    /// Check the installation and report problems
    Doctor(doctor::Arguments),
    /// Show, build, check or remove the instant index
    Index(index::Arguments),
    /// Fill, show or remove the collections of `forage lookup`
    Sparse(sparse::Arguments),
    /// Sum the calls in `telemetry.path` by tool, model and day, with their cost
    Telemetry(telemetry::Arguments),
    /// Show the searches of your agents in the browser
    Ui(ui::Arguments),
    /// Measure the ranking on a set of queries, or on your own history
    Eval(eval::Arguments),
    /// Set Forage up in Claude Code, Codex, Cursor, VS Code and others
    Setup(setup::Arguments),
    /// Print shell completions
    Completions(completions::Arguments),
    /// Print the manual page of the program or of a command
    Man(man::Arguments),
    /// Advise agents from their clients' hooks
    Hook(hook::Arguments),
}

/// Returns all commands. This includes generated ones for tools that have no command of their own.
fn commands() -> clap::Command {
    tool_command::add(Cli::command(), TOOLS)
}

/// Lists the global options that take a value.
fn valued_options() -> Vec<String> {
    let command = Cli::command();
    let valued = command.get_arguments().filter(|it| it.get_action().takes_values());
    valued.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
}

/// A parsed command line.
enum Invocation {
    Command(Box<Cli>),
    /// A call of a tool that has no command of its own.
    Tool(&'static dyn AnyTool, Value, Box<Global>),
}

impl Invocation {
    fn parse() -> Result<Self, clap::Error> {
        let own = Cli::command();
        // `arranged` hides all commands, so only the other tree tells which of them the help shows.
        let (shown, mut commands) = (commands(), help::arranged(commands()));
        let matches = commands.try_get_matches_from_mut(std::env::args_os());
        let matches = matches.map_err(|error| only_shown(error, &shown))?;
        let asked = match tool_command::called(&matches, &own, TOOLS) {
            Some((tool, request)) => {
                Global::from_arg_matches(&matches).map(|global| Self::Tool(tool, request, Box::new(global)))
            }
            None => Cli::from_arg_matches(&matches).map(|mut cli| {
                // ripgrep's `-q` is our global `--quiet`.
                cli.global.quiet |=
                    matches!(&cli.command, Some(Command::Grep(arguments)) if arguments.silent);
                Self::Command(Box::new(cli))
            }),
        };
        asked.map_err(|error| only_shown(error.format(&mut commands), &shown))
    }

    fn global(&self) -> &Global {
        match self {
            Self::Command(cli) => &cli.global,
            Self::Tool(.., global) => global,
        }
    }
}

/// The names of `forage grep` for which [`only_shown`] explains ripgrep's unsupported options. The rarer
/// aliases are missing.
const GREP: [&str; 3] = ["grep", "search", "rg"];

/// Rewrites an error's suggestions so that they use only command names that the help shows. Users should not
/// have to learn hidden aliases. For ripgrep's options that we don't support, this suggests a replacement.
fn only_shown(mut error: clap::Error, commands: &clap::Command) -> clap::Error {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && let Some(advice) = grep::in_place_of(option)
        && std::env::args().nth(1).is_some_and(|name| GREP.contains(&name.as_str()))
    {
        let advice = format!("`forage grep` does not support it; use {advice}");
        error.remove(ContextKind::SuggestedArg);
        // The usage line contains the suggested option.
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        return error;
    }
    let tips = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.clone(),
        Some(ContextValue::String(name)) => vec![name.clone()],
        _ => return error,
    };
    let shown = |name: &String| {
        let command = commands.find_subcommand(name)?;
        (!command.is_hide_set()).then(|| command.get_name().to_owned())
    };
    // Note that clap lists the closest suggestion last.
    let mut names: Vec<String> = tips.iter().rev().filter_map(shown).collect();
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    match names.is_empty() {
        true => drop(error.remove(ContextKind::SuggestedSubcommand)),
        false => drop(error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names))),
    }
    error
}

/// Runs the program and returns its exit status. No other code should end the process.
pub(crate) fn run() -> ExitCode {
    let asked = match Invocation::parse() {
        Ok(asked) => asked,
        Err(error) => {
            // A hook must always exit with 0. Help and version are not errors. Everything else exits with 2,
            // like wrong arguments to a tool.
            if error.use_stderr() && hook::is_called("hook", &valued_options()) {
                return ExitCode::SUCCESS;
            }
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // With `--json`, we must report wrong arguments in the same form as any other error. If writing
            // fails, we still exit with the status of an error.
            let _ = Terminal::new(asks_for_json(), false).end(Some(&error.into()));
            return ExitCode::from(2);
        }
    };
    // The stdout of these commands belongs to the client, so nothing else must be written to it.
    let is_for_clients = matches!(
        &asked,
        Invocation::Command(cli) if matches!(cli.command, Some(Command::Mcp(_) | Command::Hook(_)))
    );
    let global = asked.global();
    let explain = global.explain || global.verbose;
    let mut output = Terminal::new(global.json && !is_for_clients, explain);
    if !is_for_clients {
        output.painter = Painter::new(global.color, global.hyperlinks.as_ref());
    }
    if global.quiet {
        output.set_quiet();
        progress::set_quiet();
    }
    // Even after a panic, `--json` must print one document, and the exit status must be 2.
    let result = catch_unwind(AssertUnwindSafe(|| match &asked {
        Invocation::Command(cli) => command(cli, &mut output),
        Invocation::Tool(tool, request, global) => {
            tool_command::run(*tool, request.clone(), global, &mut output)
        }
    }))
    .unwrap_or_else(|_| {
        let text = "internal error; please report it with the output above".to_owned();
        Err(UserError { code: ErrorCode::Internal, text }.into())
    });
    if output.end(result.as_ref().err()).is_err() {
        return ExitCode::from(2);
    }
    match result {
        Ok(Status::Found) => ExitCode::SUCCESS,
        Ok(Status::NothingFound) => ExitCode::from(1),
        Ok(Status::Interrupted) => ExitCode::from(130),
        Err(error) if matches!(error.downcast_ref(), Some(ToolError::Cancelled)) => ExitCode::from(130),
        Ok(Status::Failed) | Err(_) => ExitCode::from(2),
    }
}

/// Returns true if arguments that can't be parsed contain `--json`. This is never true for `forage mcp`,
/// since a server's stdout belongs to the client.
fn asks_for_json() -> bool {
    if hook::is_called("mcp", &valued_options()) {
        return false;
    }
    std::env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

fn command(cli: &Cli, output: &mut Terminal) -> anyhow::Result<Status> {
    let Some(command) = &cli.command else {
        return doctor::start(&cli.global, output);
    };
    match command {
        Command::Keyword(arguments) => keyword::run(arguments, &cli.global, output),
        Command::Grep(arguments) => grep::run(arguments, &cli.global, output),
        Command::Rank(arguments) => rank::run(arguments, &cli.global, output),
        Command::Lookup(arguments) => lookup::run(arguments, &cli.global, output),
        Command::List(arguments) => list::run(arguments, &cli.global, output),
        Command::Files(arguments) => files::run(arguments, &cli.global, output),
        Command::History(arguments) => history::run(arguments, &cli.global, output),
        Command::Why(arguments) => why::run(arguments, &cli.global, output),
        Command::Read(arguments) => read::run(arguments, &cli.global, output),
        Command::Ask(arguments) => ask::run(arguments, &cli.global, output),
        Command::Mcp(arguments) => mcp::run(arguments, &cli.global, output),
        Command::Call(arguments) => call::run(arguments, &cli.global, output),
        Command::Tools(arguments) => tools::run(arguments, &cli.global, output),
        Command::Schema(arguments) => schema::run(arguments, output),
        Command::Models(arguments) => models::run(arguments, &cli.global, output),
        Command::Config(arguments) => settings::run(arguments, &cli.global, output),
        Command::Doctor(arguments) => doctor::run(arguments, &cli.global, output),
        Command::Index(arguments) => index::run(arguments, &cli.global, output),
        Command::Sparse(arguments) => sparse::run(arguments, &cli.global, output),
        Command::Telemetry(arguments) => telemetry::run(arguments, &cli.global, output),
        Command::Ui(arguments) => ui::run(arguments, &cli.global, output),
        Command::Eval(arguments) => eval::run(arguments, &cli.global, output),
        Command::Setup(arguments) => setup::run(arguments, &cli.global, output),
        Command::Completions(arguments) => completions::run(arguments, output),
        Command::Man(arguments) => man::run(arguments, output),
        Command::Hook(arguments) => Ok(hook::run(arguments, &cli.global, output)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a command line into words like a shell does, up to a pipe or an explanation.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        let mut rest = line.chars().peekable();
        while let Some(character) = rest.next() {
            match (quote, character) {
                (Some(open), close) if open == close => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (None, '|' | '>' | '#') if word.is_none() => return words,
                (None, ' ') => {
                    words.extend(word.take());
                    // Text after more than one blank is an explanation.
                    if rest.peek() == Some(&' ') {
                        return words;
                    }
                }
                _ => word.get_or_insert_default().push(character),
            }
        }
        words.extend(word);
        words
    }

    /// Option letters that several commands share. Each may only stand for these long names.
    const LETTERS: [(char, &[&str]); 9] = [
        ('F', &["fixed-strings"]),
        ('d', &["max-depth"]),
        ('C', &["context"]),
        ('g', &["glob"]),
        ('l', &["files-with-matches", "paths"]),
        ('m', &["max-count", "limit"]),
        ('p', &["path"]),
        ('t', &["type", "language"]),
        ('u', &["unrestricted", "include-ignored"]),
    ];

    #[test]
    fn a_letter_means_one_thing_in_all_commands() {
        let mut seen = std::collections::BTreeMap::<char, Vec<String>>::new();
        for command in Cli::command().get_subcommands() {
            for option in command.get_arguments() {
                let names = option.get_short().into_iter().map(|short| (short, option.get_long()));
                for (short, long) in names {
                    seen.entry(short).or_default().push(long.unwrap_or_default().to_owned());
                }
            }
        }
        for (short, names) in seen.into_iter().filter(|(_, names)| names.len() > 1) {
            let known =
                LETTERS.iter().find(|(letter, _)| *letter == short).map_or(&[][..], |(_, known)| known);
            assert!(names.iter().all(|name| known.contains(&name.as_str())), "-{short}: {names:?}");
        }
    }

    #[test]
    fn the_help_shows_sixteen_commands_and_two_examples_of_each() {
        let mut commands = help::arranged(commands());
        let help = commands.render_help().to_string();
        let (shown, rest) = help.split_once("Also: ").unwrap();
        let shown: Vec<&str> =
            shown.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        assert_eq!(shown.len(), 16, "{shown:?}");
        let others: Vec<&str> = rest.lines().next().unwrap().split(", ").collect();
        for command in super::commands().get_subcommands() {
            let name = command.get_name();
            assert!(shown.contains(&name) || others.contains(&name) || command.is_hide_set(), "{name}");
        }
        for name in shown {
            let help = commands.find_subcommand_mut(name).unwrap().render_help().to_string();
            let (_, examples) = help.split_once("Examples:\n").unwrap();
            assert_eq!(examples.matches("  forage ").count(), 2, "{help}");
        }
    }

    #[test]
    fn every_option_has_its_text_in_the_manual() {
        for name in ["grep", "rank", "mcp"] {
            let page = man::page_of(Some(name)).unwrap();
            assert!(page.contains("timeout") && page.contains(".SH EXAMPLES\n.nf\n  forage "), "{page}");
            let mut lines = page.lines();
            while lines.by_ref().any(|line| line == ".TP") {
                let (option, text) = (lines.next().unwrap(), lines.next().unwrap_or_default());
                assert!(!text.trim().is_empty(), "{name}: {option}");
            }
        }
    }

    #[test]
    fn every_command_has_examples_and_all_of_them_are_taken() {
        let commands = commands();
        for command in commands.get_subcommands().filter(|command| command.get_name() != "hook") {
            let (name, help) = (command.get_name(), command.get_after_long_help());
            let help = help.unwrap_or_else(|| panic!("{name}")).to_string();
            assert!(help.starts_with("Example"), "{name}");
            let examples: Vec<Vec<String>> = help
                .lines()
                .filter_map(|line| line.split_once("forage ").filter(|(before, _)| before.starts_with("  ")))
                .map(|(_, rest)| words(&format!("forage {rest}")))
                .collect();
            assert!(!examples.is_empty(), "{name}");
            for example in examples {
                let taken = commands.clone().try_get_matches_from(&example);
                assert!(taken.is_ok(), "{example:?}: {}", taken.unwrap_err());
            }
        }
    }
}
