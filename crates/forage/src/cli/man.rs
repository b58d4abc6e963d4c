//! `forage man`: prints the manual pages.

use anyhow::bail;
use clap::Command;
use clap_mangen::Man;

use super::output::Terminal;
use super::{Status, commands, version};

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage man grep | man -l -     as `man forage-grep` shows it where it is installed"
)]
pub(crate) struct Arguments {
    /// The command [default: the program]
    command: Option<String>,
    /// Print the names of all commands
    #[arg(long, conflicts_with = "command")]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Status> {
    if arguments.list {
        let commands = built();
        let has_page = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
        let shown = commands.get_subcommands().filter(has_page);
        let names: Vec<&str> = shown.map(Command::get_name).collect();
        return output.page(&(names.join("\n") + "\n"));
    }
    output.page(&page_of(arguments.command.as_deref())?)
}

/// Formats the manual page of a command, or that of the program if `command` is `None`.
pub(super) fn page_of(command: Option<&str>) -> anyhow::Result<String> {
    let commands = built();
    match command {
        None => page(commands),
        Some(name) => match commands.find_subcommand(name) {
            Some(command) => page(command.clone()),
            None => bail!("there is no command {name}; `forage help` lists them"),
        },
    }
}

/// Builds all commands. The display name of each is that of its page, e.g. `forage-grep`.
fn built() -> Command {
    let mut commands = commands().version(env!("CARGO_PKG_VERSION")).long_version(version::version());
    commands.build();
    // clap_mangen omits the text of options that are hidden from the short help, so we must unhide them.
    let shown = |argument: clap::Arg| argument.hide_short_help(false);
    commands = commands.mut_args(shown).mut_subcommands(|command| command.mut_args(shown));
    let named = |command: Command| {
        let name = format!("forage-{}", command.get_name());
        command.display_name(name)
    };
    commands.mut_subcommands(named)
}

/// Formats a manual page in troff.
fn page(command: Command) -> anyhow::Result<String> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    let examples = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    Man::new(command.after_long_help("").after_help(""))
        .title(name)
        .source(format!("forage {}", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    let mut page = String::from_utf8(page)?;
    if let Some(examples) = examples {
        let (title, text) = match examples.split_once(":\n") {
            Some((title, text)) if title.starts_with("Example") => ("EXAMPLES", text),
            _ => ("NOTES", &*examples),
        };
        let text = text.replace('\\', "\\e").replace('-', "\\-");
        let escaped = |line: &str| {
            if line.starts_with(['.', '\'']) { format!("\\&{line}\n") } else { format!("{line}\n") }
        };
        let text: String = text.lines().map(escaped).collect();
        page = page.replace(".SH EXTRA\n", "") + &format!(".SH {title}\n.nf\n{text}.fi\n");
    }
    Ok(page)
}
