//! How the program speaks to people at a terminal: of commands, options and settings.

use std::collections::HashMap;
use std::sync::LazyLock;

use clap::CommandFactory as _;
use forage_base::Hint;
use forage_fs::{OpenError, RootError};
use forage_rank::IndexError;
use forage_sparse::{CollectionError, StoreError};
use forage_tools::registry::{AnyTool, TOOLS};
use forage_tools::{Manner, ToolError, ToolNames};

use super::{Cli, of_tool};
use crate::manner::common;

/// Of people at a terminal: they have commands.
#[derive(Debug)]
pub(crate) struct ForPeople;

impl Manner for ForPeople {
    fn tool(&self, id: &str, name: &str) -> String {
        COMMANDS.get(id).map_or_else(|| name.to_owned(), |command| format!("`forage {command}`"))
    }

    fn call(&self, id: &str, name: &str, arguments: &[(&str, String)]) -> String {
        let mut call = format!("forage {}", COMMANDS.get(id).map_or(name, String::as_str));
        let commands = Cli::command();
        let command = commands.find_subcommand(id);
        for (argument, value) in arguments {
            let argument = command.and_then(|it| it.get_arguments().find(|other| other.get_id() == argument));
            if let Some(option) = argument.and_then(clap::Arg::get_long) {
                call += &format!(" --{option}");
            }
            call += &format!(" {}", shell_word(value));
        }
        format!("`{call}`")
    }

    fn hint(&self, hint: Hint) -> &'static str {
        match hint {
            Hint::OtherSearch => {
                " `forage rank QUESTION` ranks files for a question as it stands, and `forage grep PATTERN PATH` searches a \
                 part of the project."
            }
            Hint::ConfigureModel => {
                "[[: use {search_index} for a question]][[; use {grep_search} for a pattern]].\nWithout a model, ask for \
                 deterministic ranking explicitly: `--filter lexical`, or `filter = \"lexical\"` in your configuration."
            }
            Hint::OtherModel => {
                "\nTry again, choose another model, or rank without one: `--filter lexical`, or `on_model_failure = \
                 \"lexical\"` in your configuration."
            }
            other => common(other),
        }
    }
}

/// The commands of the tools, by their own names.
static COMMANDS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let commands = of_tool::add(Cli::command(), TOOLS);
    let named = |tool: &&'static dyn AnyTool| {
        Some((tool.id().to_owned(), commands.find_subcommand(tool.id())?.get_name().to_owned()))
    };
    TOOLS.iter().filter_map(named).collect()
});

/// A word as a shell takes it.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte) || byte >= 0x80;
    match !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What a person can do about an error, to be added to it.
pub(super) fn advice(error: &anyhow::Error) -> String {
    ToolNames::clone(&ToolNames::own()).told(&ForPeople).hint(error.chain().find_map(hint))
}

/// What can be done about one error of a library.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<Hint> {
    let of = [
        error.downcast_ref().and_then(RootError::hint),
        error.downcast_ref().and_then(OpenError::hint),
        error.downcast_ref().and_then(IndexError::hint),
        error.downcast_ref().and_then(CollectionError::hint),
        error.downcast_ref().and_then(StoreError::hint),
        error.downcast_ref().and_then(ToolError::hint),
    ];
    of.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use crate::manner::ForAgents;
    use std::sync::Arc;

    use super::*;

    const ALL: [Hint; 15] = [
        Hint::ListDirectory,
        Hint::AllowBroadRoot,
        Hint::AllowSecret,
        Hint::RebuildIndex,
        Hint::FillCollection,
        Hint::RefillCollection,
        Hint::ChooseVector,
        Hint::MatchEncoding,
        Hint::NameEncoder,
        Hint::SetEncoder,
        Hint::ShowField,
        Hint::ConfigureModel,
        Hint::OtherModel,
        Hint::OtherSearch,
        Hint::EmbeddedEngine,
    ];

    fn names(manner: &'static dyn Manner) -> ToolNames {
        Arc::unwrap_or_clone(ToolNames::own()).told(manner)
    }

    /// Every command and option that a text names is there.
    #[test]
    fn what_can_be_done_has_words_for_people_and_for_agents() {
        let commands = Cli::command();
        for manner in [&ForAgents as &dyn Manner, &ForPeople] {
            for hint in ALL {
                let text = names(manner).hint(Some(hint));
                assert!(
                    text.len() > 10 && !text.contains(['{', '[']) || text.contains("[tools."),
                    "{hint:?}: {text}"
                );
                for command in text.split('`').filter_map(|part| part.strip_prefix("forage ")) {
                    let mut at = &commands;
                    for word in
                        command.split(' ').filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
                    {
                        at = at.find_subcommand(word).unwrap_or_else(|| panic!("{command}"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_person_is_told_of_commands_and_an_agent_of_tools() {
        let arguments = [("path", "a b/it's".to_owned()), ("start_line", "3".to_owned())];
        let cases = [
            (names(&ForAgents), "read_file(path=\"a b/it's\", start_line=3)", "list_directory"),
            (names(&ForPeople), "`forage read 'a b/it'\\''s' --start-line 3`", "`forage list`"),
        ];
        for (names, call, list) in cases {
            assert_eq!(names.call("read_file", &arguments), call);
            assert_eq!(names.hint(Some(Hint::ListDirectory)), format!("; list it with {list}"));
        }
    }
}
