//! Generates commands for tools that have no command of their own. The arguments and options follow from the
//! tool's schema.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use forage_tools::registry::AnyTool;
use serde_json::{Map, Value, json};

use super::output::Terminal;
use super::{Global, Status, session};
use crate::config::CommandLineSettings;

/// Adds a command for each tool, unless its id is already the name or alias of a command.
pub(super) fn add(commands: Command, tools: &[&'static dyn AnyTool]) -> Command {
    tools.iter().fold(commands, |commands, tool| {
        if commands.find_subcommand(tool.id()).is_some() {
            return commands;
        }
        let command = tool_command(*tool, &commands);
        commands.subcommand(command)
    })
}

/// Returns the tool whose generated command was called, and its request.
pub(super) fn called(
    matches: &ArgMatches,
    own: &Command,
    tools: &[&'static dyn AnyTool],
) -> Option<(&'static dyn AnyTool, Value)> {
    let (name, given) = matches.subcommand()?;
    let tool = tools.iter().find(|tool| tool.id() == name && own.find_subcommand(name).is_none())?;
    Some((*tool, request(*tool, own, given)))
}

/// Calls the tool and prints its answer.
pub(super) fn run(
    tool: &'static dyn AnyTool,
    request: Value,
    global: &Global,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let workspace =
        session::open(global, CommandLineSettings::default(), tool.id(), request["path"].as_str(), output)?;
    session::call_tool(tool, request, &workspace, output)
}

fn tool_command(tool: &dyn AnyTool, commands: &Command) -> Command {
    let about = tool.spec().description.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let arguments = arguments(tool, commands).into_iter().map(|it| it.option());
    Command::new(tool.id().to_owned()).about(about).args(arguments)
}

/// A property of a tool's schema. If it is required it becomes an operand, otherwise an option.
struct Argument {
    name: String,
    schema: Value,
    is_required: bool,
}

/// Returns the properties of a tool's schema, except for those that a global option covers.
fn arguments(tool: &dyn AnyTool, commands: &Command) -> Vec<Argument> {
    let schema = tool.whole_schema();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let arguments = properties.into_iter().map(|(name, schema)| {
        let is_required = required.contains(&json!(name)) && schema["type"] != "boolean";
        Argument { name, schema, is_required }
    });
    let is_taken = |it: &Argument| commands.get_arguments().any(|other| other.get_long() == Some(&it.long()));
    arguments.filter(|it| !is_taken(it)).collect()
}

impl Argument {
    fn long(&self) -> String {
        self.name.replace('_', "-")
    }

    fn option(self) -> Arg {
        let about = self.schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        let option = Arg::new(self.name.clone()).help(about).value_name(self.name.to_ascii_uppercase());
        let option = if self.is_required { option.required(true) } else { option.long(self.long()) };
        let words: Vec<String> = self.schema["enum"]
            .as_array()
            .map(|words| words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect())
            .unwrap_or_default();
        match self.schema["type"].as_str() {
            Some("boolean") => option.action(ArgAction::SetTrue),
            Some("integer") => option.value_parser(value_parser!(i64)).allow_negative_numbers(true),
            Some("number") => option.value_parser(value_parser!(f64)).allow_negative_numbers(true),
            Some("array") if self.is_required => option.action(ArgAction::Append).num_args(1..),
            Some("array") => option.action(ArgAction::Append),
            _ if !words.is_empty() => option.value_parser(words),
            _ => option,
        }
    }

    /// Returns the value of this argument, if it was given.
    fn value(&self, given: &ArgMatches) -> Option<Value> {
        let name = self.name.as_str();
        match self.schema["type"].as_str() {
            Some("boolean") => given.get_flag(name).then_some(json!(true)),
            Some("integer") => given.get_one::<i64>(name).map(|value| json!(value)),
            Some("number") => given.get_one::<f64>(name).map(|value| json!(value)),
            Some("array") => {
                given.get_many::<String>(name).map(|values| values.map(|value| json!(value)).collect())
            }
            _ => given.get_one::<String>(name).map(|value| json!(value)),
        }
    }
}

fn request(tool: &dyn AnyTool, commands: &Command, given: &ArgMatches) -> Value {
    let values = arguments(tool, commands).into_iter();
    let values = values.filter_map(|argument| Some((argument.name.clone(), argument.value(given)?)));
    Value::Object(values.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use clap::CommandFactory as _;
    use forage_tools::registry::TOOLS;
    use forage_tools::{Answer, Call, Egress, ToolError, ToolSpec};

    use super::*;

    /// A new tool that the command line does not know.
    struct Count;

    impl AnyTool for Count {
        fn spec(&self) -> &ToolSpec {
            static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
                egress: Egress::SendsText,
                ..ToolSpec::new(
                    "count_matches",
                    "Count matches",
                    "Counts the lines\nthat match.\n\nMore of it.",
                )
            });
            &SPEC
        }
        fn input_schema(&self) -> Value {
            json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "description": "What to count." },
                    "glob": { "type": "array", "items": { "type": "string" } },
                    "max_files": { "type": "integer" },
                    "share": { "type": "number" },
                    "invert": { "type": "boolean" },
                    "order": { "type": "string", "enum": ["path", "count"] },
                    "timeout_ms": { "type": "integer" },
                },
                "required": ["pattern"],
            })
        }
        fn output_schema(&self) -> Value {
            json!({})
        }
        fn call(&self, _: &Call, _: Value) -> Result<Answer, ToolError> {
            Err(ToolError::Cancelled)
        }
    }

    static ADDED: &[&dyn AnyTool] = &[&Count];

    fn given(arguments: &[&str]) -> Result<Option<(String, Value)>, String> {
        let own = super::super::Cli::command();
        let commands = add(own.clone(), ADDED);
        let matches = commands.try_get_matches_from([&["forage"], arguments].concat());
        let matches = matches.map_err(|error| error.to_string())?;
        Ok(called(&matches, &own, ADDED).map(|(tool, request)| (tool.id().to_owned(), request)))
    }

    #[test]
    fn a_tool_without_a_command_has_one_with_its_arguments() {
        super::super::Cli::command().debug_assert();
        add(super::super::Cli::command(), ADDED).debug_assert();
        let all =
            ["count_matches", "a b", "--glob", "*.rs", "--glob", "!x", "--max-files", "-3", "--share", "0.5"];
        let more = ["--invert", "--order", "count", "--timeout-ms", "500"];
        let expected = json!({
            "pattern": "a b", "glob": ["*.rs", "!x"], "max_files": -3, "share": 0.5, "invert": true, "order": "count",
        });
        assert_eq!(given(&[&all[..], &more].concat()), Ok(Some(("count_matches".to_owned(), expected))));
        let bare = Ok(Some(("count_matches".to_owned(), json!({ "pattern": "x" }))));
        assert_eq!(given(&["count_matches", "x"]), bare);
        for (wrong, expected) in [
            (&["count_matches"][..], "<PATTERN>"),
            (&["count_matches", "x", "--order", "size"], "[possible values: path, count]"),
            (&["count_matches", "x", "--max-files", "many"], "invalid digit"),
            (&["count_matches", "x", "--nothing"], "unexpected argument"),
        ] {
            assert!(given(wrong).is_err_and(|error| error.contains(expected)), "{wrong:?}");
        }
        let help = given(&["count_matches", "--help"]).unwrap_err();
        assert!(help.contains("Counts the lines that match.") && help.contains("What to count."), "{help}");
        // Control: the program's own commands must not be generated.
        assert_eq!(given(&["grep", "x"]), Ok(None));
    }

    /// Every built-in tool should have a command of its own, so that we generate none.
    #[test]
    fn every_tool_has_a_command_by_its_name() {
        let own = super::super::Cli::command();
        let (before, after) = (own.get_subcommands().count(), add(own, TOOLS).get_subcommands().count());
        assert_eq!(before, after);
    }
}
