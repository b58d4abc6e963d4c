//! `forage man`: the manual.

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
    /// The command; without one, the page of the program
    command: Option<String>,
    /// Print the names of the commands that have a page
    #[arg(long, conflicts_with = "command")]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Status> {
    let commands = built();
    if arguments.list {
        let has_page = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
        let shown = commands.get_subcommands().filter(has_page);
        let names: Vec<&str> = shown.map(Command::get_name).collect();
        return output.page(&(names.join("\n") + "\n"));
    }
    let page = match &arguments.command {
        None => page(commands)?,
        Some(name) => match commands.find_subcommand(name) {
            Some(command) => page(command.clone())?,
            None => bail!("there is no command {name}; `forage help` lists them"),
        },
    };
    output.page(&page)
}

/// All commands, each with the name of its page, `forage-grep`.
fn built() -> Command {
    let mut commands = commands().version(env!("CARGO_PKG_VERSION")).long_version(version::version());
    commands.build();
    let named = |command: Command| {
        let name = format!("forage-{}", command.get_name());
        command.display_name(name)
    };
    commands.mut_subcommands(named)
}

/// A page in troff.
fn page(command: Command) -> anyhow::Result<String> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command)
        .title(name)
        .source(format!("forage {}", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
