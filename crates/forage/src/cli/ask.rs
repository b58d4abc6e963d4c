//! `forage ask`: the agent.

mod view;

use std::time::Duration;

use forage::agent::{Agent, AskError, Ended, Transcript, Turn, usable_tools};
use forage_tools::{Told, telemetry};

use super::model_arguments::ModelArguments;
use super::output::Output;
use super::{Global, Status, session, signals};
use crate::config::{AskOverrides, Config, Overrides};
use crate::indexes::Lifetime;
use view::View;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  forage ask 'where are failed requests retried, and how long does it wait?'\n\nExit status: 0 \
                  an answer, 1 the model had none, 2 an error or no time left, 130 interrupted (what is known is \
                  printed)."
)]
pub(crate) struct Arguments {
    /// What you want to know about the repository
    question: String,
    /// Calls of a turn that run at the same time; 1 runs them one after the other [default: as many as the turn has,
    /// up to 8]
    #[arg(long, value_name = "N")]
    parallel: Option<u64>,
    /// Turns of the model, the answer included [default: 8]
    #[arg(long, value_name = "N")]
    turns: Option<u64>,
    /// Calls that are run in all [default: 40]
    #[arg(long, value_name = "N")]
    calls: Option<u64>,
    /// Calls that are run in one turn [default: 8]
    #[arg(long, value_name = "N")]
    calls_per_turn: Option<u64>,
    /// Bytes of results that the conversation holds; older ones make room [default: 320000]
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Time for everything in milliseconds [default: 120000]
    #[arg(long, value_name = "MS")]
    total_ms: Option<u64>,
    /// Time for one call to a model in milliseconds [default: 60000]
    #[arg(long, value_name = "MS")]
    model_timeout_ms: Option<u64>,
    /// Show nothing but the answer
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    model: ModelArguments,
}

impl Arguments {
    fn overrides(&self) -> Overrides {
        Overrides {
            ask: AskOverrides {
                turns: self.turns,
                calls_per_turn: self.calls_per_turn,
                calls: self.calls,
                bytes: self.bytes,
                total_ms: self.total_ms,
                model_timeout_ms: self.model_timeout_ms,
                parallel: self.parallel,
            },
            ..self.model.overrides()
        }
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let (mut context, config) =
        session::open_with_config(global, arguments.overrides(), Config::needs_of_agent, None, output)?;
    context.stop = signals::stop()?;
    context.telemetry.surface = "ask";
    let told = context.telemetry.clone();
    context.indexes = session::indexes(&config, &context, Lifetime::Session);
    let tools = usable_tools(&context, config.tools())?;
    let found = config.agent_models()?;
    let mut agent = Agent::new(found.models, tools, context);
    agent.limits = config.ask_limits();
    let transcript = {
        let view = View::start(arguments.quiet);
        // Whether an answer is streamed is part of the request, and a replay has no terminal to look at.
        agent.streams = view.shows_text() && config.is_live();
        agent.repeatable = !config.is_live();
        agent.ask(&arguments.question, &|event| view.show(event)).map_err(|error| match error {
            AskError::NoModel => anyhow::anyhow!("{error}. {} {}", config.no_models(), found.passed_over),
            error => error.into(),
        })?
    };
    tell(&told, &transcript);
    match output.wants_json() {
        true => output.value(&transcript.records()?)?,
        false => {
            output.text(&transcript.text())?;
            output.flush()?;
        }
    }
    if let Some(why) = transcript.why_no_answer() {
        output.failure(&format!("no answer: {why}"));
    }
    Ok(match transcript.stop_reason {
        Ended::Answered => Status::Found,
        Ended::NoAnswer | Ended::Refused => Status::NothingFound,
        Ended::ModelsFailed | Ended::Time => Status::Failed,
        Ended::Interrupted => Status::Interrupted,
    })
}

/// Tells of the question as of a call, with the models of its turns.
fn tell(told: &Told, transcript: &Transcript) {
    let of_turn = |turn: &Turn| {
        let mut model = telemetry::of_model(&turn.model, "answered", 1, Duration::from_millis(turn.model_ms));
        telemetry::add_usage(&mut model, turn.usage, turn.cost_usd);
        model
    };
    let status = match transcript.stop_reason {
        Ended::Answered => "found",
        Ended::NoAnswer | Ended::Refused => "nothing_found",
        Ended::ModelsFailed => "error",
        Ended::Time => "unfinished",
        Ended::Interrupted => "cancelled",
    };
    let models = transcript.turns.iter().map(of_turn).collect();
    telemetry::asked("ask", told, status, Duration::from_millis(transcript.elapsed_ms), models);
}
