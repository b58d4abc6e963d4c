//! `forage tools`: what there is, for people and in each provider's shape.

use std::fmt::Write as _;

use forage_tools::Egress;
use forage_tools::registry::{TOOLS, advertised};
use forage_tools::schema::{Format, definition};
use serde_json::Value;

use super::output::Output;
use super::session::load;
use super::{Global, Status};
use crate::config::Overrides;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print the definitions in this shape
    #[arg(long, value_name = "FORMAT")]
    format: Option<Shape>,
    /// Show the tools that are off too
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shape {
    Mcp,
    Openai,
    OpenaiStrict,
    Anthropic,
    Gemini,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let config = load(global, Overrides::default())?;
    let every: Vec<&str> = TOOLS.iter().map(|tool| tool.name()).collect();
    let tools = || advertised(if arguments.all { &every } else { config.enabled_tools() });
    let format = match arguments.format {
        None if !output.wants_json() => {
            let mut text = String::new();
            for tool in tools() {
                let egress = match tool.egress() {
                    Egress::None => "nothing leaves the machine",
                    Egress::SendsText => "sends redacted text to the configured model",
                };
                writeln!(text, "{:<16} {} ({egress})", tool.name(), tool.title())?;
            }
            output.text(&text)?;
            output.flush()?;
            return Ok(Status::Found);
        }
        None | Some(Shape::Mcp) => Format::Mcp,
        Some(Shape::Openai) => Format::OpenAi,
        Some(Shape::OpenaiStrict) => Format::OpenAiStrict,
        Some(Shape::Anthropic) => Format::Anthropic,
        Some(Shape::Gemini) => Format::Gemini,
    };
    output.value(&Value::Array(tools().map(|tool| definition(tool, format)).collect()))?;
    Ok(Status::Found)
}
