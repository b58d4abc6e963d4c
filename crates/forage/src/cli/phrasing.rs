//! Wording for people at a terminal, in terms of commands, options and settings.

use std::collections::HashMap;
use std::sync::LazyLock;

use clap::CommandFactory as _;
use forage_base::Hint;
use forage_fs::{OpenError, RootError};
use forage_lookup::{CollectionError, FillError, StoreError};
use forage_rank::IndexError;
use forage_tools::registry::{AnyTool, TOOLS};
use forage_tools::{Phrasing, ToolError, ToolNames};

use super::{Cli, commands};
use crate::phrasing::common;

/// Wording for people at a terminal. They use commands where agents use tools.
#[derive(Debug)]
pub(crate) struct CliPhrasing;

impl Phrasing for CliPhrasing {
    fn tool(&self, id: &str, name: &str) -> String {
        COMMANDS.get(id).map_or_else(|| name.to_owned(), |command| format!("`forage {command}`"))
    }

    fn argument(&self, id: &str, argument: &str) -> String {
        option(id, argument).map_or_else(
            || argument.to_owned(),
            |option| match option.get_long() {
                Some(long) => format!("--{long}"),
                None => option
                    .get_value_names()
                    .and_then(<[_]>::first)
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            },
        )
    }

    fn call(&self, id: &str, name: &str, arguments: &[(&str, String)]) -> String {
        let mut call = format!("forage {}", COMMANDS.get(id).map_or(name, String::as_str));
        for (argument, value) in arguments {
            if let Some(option) = option(id, argument).as_ref().and_then(clap::Arg::get_long) {
                call += &format!(" --{option}");
            }
            call += &format!(" {}", shell_word(value));
        }
        format!("`{call}`")
    }

    fn continuation(&self, cursor: &str) -> String {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        continuation(&words, cursor)
    }

    /// For a search of lines, a single `-u` would leave out hidden files.
    fn search_of_all(&self) -> &'static str {
        "`forage grep -uu`"
    }

    /// The command searches these directories as ripgrep does, while agents' tools skip them.
    fn search_of_noise(&self) -> &'static str {
        "{grep_search}"
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
            Hint::AllowBroadRoot => {
                ": run forage inside it, or pass --root DIR; `allow_broad_root = true` in your configuration allows all"
            }
            other => common(other),
        }
    }
}

/// Finds the option or operand that corresponds to a tool's argument.
fn option(id: &str, argument: &str) -> Option<clap::Arg> {
    let name = match (id, argument) {
        (_, "file_pattern") => "glob",
        (_, "changed") if !is_typed("--changed") => "since",
        ("grep_search" | "read_file", "context_lines") => "context",
        ("grep_search", "output") => "uses",
        ("grep_search", "include_ignored") => "unrestricted",
        ("list_directory", "pattern") => "name",
        ("search_history", "max_results") => "limit",
        ("search_index", "code_tokens") => "code",
        ("keyword_search", "search_terms") => "terms",
        ("keyword_lookup", "filter") => "conditions",
        ("Search" | "grep_search", "path") => "paths",
        _ => argument,
    };
    let commands = Cli::command();
    let find = |command: &str| {
        commands.find_subcommand(command)?.get_arguments().find(|option| option.get_id() == name).cloned()
    };
    // `list_directory` also finds files by name, for which there is a separate command.
    find(id).or_else(|| find(if id == "list_directory" { "files" } else { "grep" }))
}

/// Returns true if the current command line contains this option.
fn is_typed(option: &str) -> bool {
    std::env::args_os().any(|word| word == option)
}

/// The name of each tool's command, by tool id.
static COMMANDS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let commands = commands();
    let named = |tool: &&'static dyn AnyTool| {
        Some((tool.id().to_owned(), commands.find_subcommand(tool.id())?.get_name().to_owned()))
    };
    TOOLS.iter().filter_map(named).collect()
});

/// Maximum length in bytes of a spelled-out command that continues an answer. A longer one would distract
/// from the answer itself.
const COMMAND_BYTES: usize = 200;

/// Returns the command that continues an answer from a cursor. `words` is the current command line, which
/// begins with the program's name.
fn continuation(words: &[String], cursor: &str) -> String {
    let (mut command, mut operands) = ("forage".to_owned(), None::<String>);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match (word.as_str(), &mut operands) {
            (word, Some(operands)) => *operands += &format!(" {}", quoted_word(word)),
            // The cursor must come before this, or clap would take it for a path.
            ("--", None) => operands = Some(" --".to_owned()),
            ("--cursor", None) => drop(rest.next()),
            (word, None) if word.starts_with("--cursor=") => {}
            (word, None) => command += &format!(" {}", quoted_word(word)),
        }
    }
    let operands = operands.unwrap_or_default();
    // A pasted command would not have the same standard input.
    let reads_stdin = words.iter().skip(2).any(|word| word == "-");
    let is_plain = !words.iter().any(|word| word.chars().any(char::is_control));
    match is_plain && !reads_stdin && command.len() + operands.len() <= COMMAND_BYTES {
        true => format!("{command} --cursor {cursor}{operands}"),
        false => format!("the same command with --cursor {cursor}"),
    }
}

/// Quotes a word for a shell, even one that begins with a dash.
pub(super) fn quoted_word(word: &str) -> String {
    if !word.starts_with('-') {
        return shell_word(word);
    }
    let quoted = shell_word(&format!("x{word}"));
    match quoted.strip_prefix('x') {
        Some(plain) => plain.to_owned(),
        None => quoted.replacen("'x", "'", 1),
    }
}

/// Quotes a word for a shell.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte) || byte >= 0x80;
    match !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns advice that should be appended to the message of an error.
pub(super) fn advice(error: &anyhow::Error) -> String {
    ToolNames::clone(&ToolNames::own()).with_phrasing(&CliPhrasing).hint(error.chain().find_map(hint))
}

/// Returns the hint of an error, if one of our libraries has created it.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<Hint> {
    let of = [
        error.downcast_ref().and_then(RootError::hint),
        error.downcast_ref().and_then(OpenError::hint),
        error.downcast_ref().and_then(IndexError::hint),
        error.downcast_ref().and_then(CollectionError::hint),
        error.downcast_ref().and_then(StoreError::hint),
        error.downcast_ref().and_then(FillError::hint),
        error.downcast_ref().and_then(ToolError::hint),
    ];
    of.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use crate::phrasing::AgentPhrasing;
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

    fn names(phrasing: &'static dyn Phrasing) -> ToolNames {
        Arc::unwrap_or_clone(ToolNames::own()).with_phrasing(phrasing)
    }

    /// Every command and option that a hint mentions must exist.
    #[test]
    fn what_can_be_done_has_words_for_people_and_for_agents() {
        let commands = Cli::command();
        for phrasing in [&AgentPhrasing as &dyn Phrasing, &CliPhrasing] {
            for hint in ALL {
                let text = names(phrasing).hint(Some(hint));
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

    /// Arguments that no option corresponds to. They are only available in JSON calls.
    const JSON_ONLY: &[&str] = &[
        "search_index explain",
        "search_index history",
        // `--ast` selects syntax search, and `-t` or file names select the language.
        "grep_search syntax",
        // `-i` and `-S` select it.
        "Search case",
        "Search timeout_ms",
    ];

    #[test]
    fn every_argument_has_an_option() {
        let is_option = |id: &str, argument: &str| {
            let word = CliPhrasing.argument(id, argument);
            option(id, argument).is_some() && (word.starts_with("--") || !word.contains(char::is_lowercase))
        };
        let mut without: Vec<String> = Vec::new();
        for tool in TOOLS {
            let schema = tool.whole_schema();
            let arguments = schema["properties"].as_object().unwrap().keys();
            let missing = arguments.filter(|argument| !is_option(tool.id(), argument));
            without.extend(missing.map(|argument| format!("{} {argument}", tool.id())));
        }
        assert_eq!(without, JSON_ONLY);
    }

    #[test]
    fn an_answer_goes_on_by_a_command_to_paste() {
        let continued = |words: &[&str]| {
            let words: Vec<String> =
                [&["/bin/forage"], words].concat().into_iter().map(str::to_owned).collect();
            continuation(&words, "1.2.3")
        };
        assert_eq!(continued(&["grep", "a b", "src"]), "forage grep 'a b' src --cursor 1.2.3");
        assert_eq!(
            continued(&["grep", "x", "--cursor", "0.1", "-g=*.rs"]),
            "forage grep x '-g=*.rs' --cursor 1.2.3"
        );
        assert_eq!(
            continued(&["search", "--cursor=0.1", "--", "-x", "a b"]),
            "forage search --cursor 1.2.3 -- -x 'a b'"
        );
        assert_eq!(continued(&["search", "a -- b", "src"]), "forage search 'a -- b' src --cursor 1.2.3");
        assert_eq!(continued(&["search", "x", "src", "--"]), "forage search x src --cursor 1.2.3 --");
        // A command that can't be pasted, or is too long, must not be spelled out.
        for words in [&["rank", "a\nb"][..], &["rank", "-"], &["rank", &"word ".repeat(100)]] {
            assert_eq!(continued(words), "the same command with --cursor 1.2.3", "{words:?}");
        }
    }

    #[test]
    fn people_get_commands_and_agents_get_tools() {
        let arguments = [("path", "a b/it's".to_owned()), ("start_line", "3".to_owned())];
        let cases = [
            (names(&AgentPhrasing), "read_file(path=\"a b/it's\", start_line=3)", "list_directory"),
            (names(&CliPhrasing), "`forage read 'a b/it'\\''s' --start-line 3`", "`forage list`"),
        ];
        for (names, call, list) in cases {
            assert_eq!(names.call("read_file", &arguments), call);
            assert_eq!(names.hint(Some(Hint::ListDirectory)), format!("; list it with {list}"));
        }
    }
}
