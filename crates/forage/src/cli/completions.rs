//! `forage completions`: prints shell completions.

use clap::builder::{PossibleValuesParser, ValueHint};
use clap::{Arg, Command};
use clap_complete::Shell;
use forage_llm::ProviderTable;
use forage_tools::registry::TOOLS;

use super::output::Terminal;
use super::{Status, commands};
use crate::setup::CLIENTS;

const PLACES: &str = "\
Examples:
  forage completions bash > ~/.local/share/bash-completion/completions/forage
  forage completions zsh > \"${fpath[1]}/_forage\"
  forage completions fish > ~/.config/fish/completions/forage.fish
  forage completions powershell >> $PROFILE
  forage completions elvish >> ~/.config/elvish/rc.elv";

#[derive(Debug, clap::Args)]
#[command(after_long_help = PLACES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut completed(commands())?, "forage", &mut script);
    output.page(&String::from_utf8(script)?)
}

/// Adds values for completion to the commands. They must not be used for parsing, because a tool or a model
/// may have a name that only the configuration knows.
fn completed(commands: Command) -> anyhow::Result<Command> {
    let providers = ProviderTable::built_in()?;
    let models: Vec<String> = providers.provider_names().map(|name| format!("{name}/")).collect();
    let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.id()).collect();
    let named = move |argument: Arg| match argument.get_id().as_str() {
        "model" => argument.value_parser(PossibleValuesParser::new(models.clone())),
        "client" => {
            argument.value_parser(PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))
        }
        "tool" => argument.value_parser(PossibleValuesParser::new(tools.clone())),
        _ => hinted(argument),
    };
    Ok(map_arguments(commands, &named))
}

/// Applies `change` to all arguments of a command and its subcommands.
fn map_arguments(command: Command, change: &impl Fn(Arg) -> Arg) -> Command {
    command.mut_args(change).mut_subcommands(|command| map_arguments(command, change))
}

/// Adds a completion hint to an argument. The hint follows from its value name, e.g. `FILE`.
fn hinted(argument: Arg) -> Arg {
    let names = argument.get_value_names().unwrap_or_default();
    let hint = match names.first().map(|name| name.as_str()) {
        Some("PATH" | "FILE") => ValueHint::AnyPath,
        Some("DIRECTORY" | "DIR") => ValueHint::DirPath,
        Some("COMMAND") => ValueHint::CommandName,
        Some("URL") => ValueHint::Url,
        _ => return argument,
    };
    argument.value_hint(hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn paths_providers_and_tools_are_completed() {
        for (shell, path) in [(Shell::Bash, "compgen -f"), (Shell::Zsh, "_files"), (Shell::Fish, " -F")] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut completed(Cli::command()).unwrap(), "forage", &mut script);
            let script = String::from_utf8(script).unwrap();
            for expected in [path, "keyword_search", "openrouter/", "claude-code", "include-ignored"] {
                assert!(script.contains(expected), "{shell}: {expected}");
            }
        }
    }

    /// The values for completion must not restrict the accepted values.
    #[test]
    fn a_tool_that_the_shell_does_not_know_can_be_called() {
        assert!(Cli::command().try_get_matches_from(["forage", "call", "of_tomorrow"]).is_ok());
        assert!(
            completed(Cli::command())
                .unwrap()
                .try_get_matches_from(["forage", "call", "of_tomorrow"])
                .is_err()
        );
    }
}
