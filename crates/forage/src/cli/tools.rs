//! `forage tools`: lists the tools, as text or in the format of a provider.

use std::fmt::Write as _;

use forage_mcp::{Profile, instructions};
use forage_tools::registry::{AnyTool, advertised};
use forage_tools::schema::{SchemaFormat, definition, definition_with};
use forage_tools::{Egress, ToolNames};
use serde_json::Value;

use super::output::Terminal;
use super::records::ToolCosts;
use super::session::load;
use super::{Global, Status};
use crate::config::CommandLineSettings;

const EXAMPLES: &str = "\
Examples:
  forage tools                     the tools that agents see
  forage tools --all --cost        the tokens of each definition
  forage tools --format openai     the definitions for a provider";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Print the definitions in this format
    #[arg(long, value_name = "FORMAT")]
    format: Option<SchemaShape>,
    /// Include tools that are off
    #[arg(long)]
    all: bool,
    /// Include arguments that models do not see
    #[arg(long, requires = "format")]
    every_argument: bool,
    /// Show the tokens of the definitions
    #[arg(long, conflicts_with = "format")]
    cost: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SchemaShape {
    Mcp,
    Openai,
    OpenaiStrict,
    Anthropic,
    Gemini,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let config = load(global, CommandLineSettings::default())?;
    // These names have the server's prefix, but `forage call` also accepts them without it.
    let served = config.served_tools();
    let tools = advertised(&if arguments.all { served.with_all() } else { served })?;
    if arguments.cost {
        return cost(&tools, output);
    }
    let format = match arguments.format {
        None if !output.wants_json() => {
            let mut text = String::new();
            let width = tools.iter().map(|tool| tool.name().len()).max().unwrap_or_default();
            for tool in &tools {
                let egress = match tool.spec().egress {
                    Egress::None => "nothing leaves the machine",
                    Egress::SendsText => "sends redacted text to the configured model",
                };
                writeln!(text, "{:<width$} {} ({egress})", tool.name(), tool.spec().title)?;
            }
            output.text(&text)?;
            output.flush()?;
            return Ok(Status::Found);
        }
        None | Some(SchemaShape::Mcp) => SchemaFormat::Mcp,
        Some(SchemaShape::Openai) => SchemaFormat::OpenAi,
        Some(SchemaShape::OpenaiStrict) => SchemaFormat::OpenAiStrict,
        Some(SchemaShape::Anthropic) => SchemaFormat::Anthropic,
        Some(SchemaShape::Gemini) => SchemaFormat::Gemini,
    };
    let names = ToolNames::from_tools(&tools);
    let schema = |tool: &dyn AnyTool| match arguments.every_argument {
        true => tool.whole_schema(),
        false => tool.input_schema(),
    };
    let definition = |tool: &&dyn AnyTool| definition_with(*tool, &names, schema(*tool), format);
    output.value(&Value::Array(tools.iter().map(definition).collect()))?;
    Ok(Status::Found)
}

/// Bytes of a definition per token. In OpenAI's o200k vocabulary, the definitions have between 4.3
/// (`read_file`: 4.55) and 5.0 (`keyword_search`) bytes per token. So we tend to overstate the cost.
const BYTES_PER_TOKEN: f64 = 4.3;

/// Prints how many tokens a model needs to read each tool's definition, i.e. its name, description and
/// arguments.
fn cost(tools: &[&'static dyn AnyTool], output: &mut Terminal) -> anyhow::Result<Status> {
    let tokens = |bytes: usize| (bytes as f64 / BYTES_PER_TOKEN).ceil() as u64;
    let names = ToolNames::from_tools(tools);
    let of_tool = |tool: &&'static dyn AnyTool| {
        (tool.name(), tokens(definition(*tool, &names, SchemaFormat::Anthropic).to_string().len()))
    };
    let by_tool: Vec<(&str, u64)> = tools.iter().map(of_tool).collect();
    let all_definitions = by_tool.iter().map(|(_, tokens)| tokens).sum();
    let instructions = tokens(instructions(tools, Profile::unknown()).len());
    if output.wants_json() {
        let costs = ToolCosts { tools: by_tool.into_iter().collect(), all_definitions, instructions };
        output.record(&costs)?;
    } else {
        let mut text = String::new();
        let sums = [("all definitions", all_definitions), ("instructions", instructions)];
        for (name, tokens) in by_tool.into_iter().chain(sums) {
            writeln!(text, "{name:<16} about {tokens:>5} tokens")?;
        }
        output.text(&text)?;
        output.flush()?;
    }
    Ok(Status::Found)
}
