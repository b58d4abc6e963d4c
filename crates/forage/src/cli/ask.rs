//! `forage ask`: answers a question with an agent.

mod servers;
mod view;

use std::path::Path;
use std::time::{Duration, Instant};

use forage_agent::{Agent, AskError, EarlierExchange, Transcript, Turn, TurnEnd, usable_tools};
use forage_base::Stop;
use forage_tools::index_manager::Lifetime;
use forage_tools::{CallObservers, ErrorCode, Workspace, sanitize, telemetry};

use super::model_arguments::ModelArguments;
use super::output::Terminal;
use super::setting_options::SettingOptions;
use super::user_error::UserError;
use super::{Global, Status, session, signals};
use crate::config::{self, CommandLineSettings, Config, SettingsCommand};
use crate::conversations::Conversations;
use crate::journal::LiveCalls;
use crate::phrasing::AgentPhrasing;
use servers::Servers;
use view::{Shown, View};

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage ask 'where are failed requests retried, and how long does it wait?'\n  forage ask --json 'which types are serialized?' > transcript.json\n\nExit status: 0 \
                  an answer, 1 no answer, 2 an error or the time limit, 130 interrupted (with the results so far)."
)]
pub(crate) struct Arguments {
    /// The question about the repository
    question: String,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Ask as u8 }>,
    /// Calls of a turn that run at the same time [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: Option<u16>,
    /// Continue the last conversation about this root
    #[arg(long = "continue")]
    goes_on: bool,
    #[command(flatten)]
    model: ModelArguments,
}

impl Arguments {
    fn given(&self) -> CommandLineSettings {
        CommandLineSettings { settings: self.settings.given.clone(), ..self.model.given() }
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let (stop, started) = (signals::stop()?, Instant::now());
    // These must be created before we enter the sandbox. `open_with_config` calls `needs` just before that,
    // and the configuration is not known earlier.
    let mut outside = None;
    let needs = |config: &Config| {
        outside = Some((config.ask_prompt(), start_servers(config, &stop), config.live_calls("ask")));
        config.needs_of_agent()
    };
    let (mut workspace, config) = session::open_with_config(global, arguments.given(), needs, &[], output)?;
    let (prompt, mut servers, calls) = outside.unwrap_or((Ok(None), Servers::default(), None));
    workspace.observers.surface = "ask";
    calls.iter().filter_map(|calls| calls.problem.as_ref()).for_each(|problem| output.note(problem));
    workspace.observers.journal = calls.as_ref().map(LiveCalls::journal);
    let observers = workspace.observers.clone();
    workspace.indexes = session::indexes(&config, &workspace, Lifetime::Session);
    let tools = usable_tools(&workspace, config.tools())?;
    let found = config.agent_models()?;
    let mut agent = Agent::new(found.models, tools, workspace);
    agent.phrasing = &AgentPhrasing;
    agent.limits = config.ask_limits();
    agent.limits.parallel = arguments.parallel.map_or(agent.limits.parallel, usize::from);
    agent.prompt = prompt?;
    for tool in servers.tools() {
        if let Err(error) = agent.add_tool(tool) {
            servers.problems.push(error.to_string());
        }
    }
    servers.problems.iter().for_each(|problem| output.note(problem));
    let paths: Vec<&Path> = agent.workspace.roots.all().iter().map(|root| root.path()).collect();
    let conversations = config.conversations(&paths);
    let earlier = if arguments.goes_on { earlier(&conversations, &agent.workspace)? } else { Vec::new() };
    let (mut transcript, shown) = {
        let view = View::start(global.quiet, (!output.wants_json()).then_some(&mut *output));
        // Streaming is a part of the request. A replay must not depend on whether there is a terminal, so it
        // never streams.
        agent.streams = view.shows_text() && config.is_live();
        agent.repeatable = !config.is_live();
        let began = Instant::now();
        // The total time includes starting the servers and loading the lists of models, which may be slow.
        agent.limits.total = agent.limits.total.saturating_sub(started.elapsed());
        let asked = agent.ask_after(&earlier, &arguments.question, &|event| view.show(event));
        // A question that fails should get a telemetry line, too.
        let asked = asked.inspect_err(|_| telemetry::asked("ask", &observers, "error", began.elapsed(), &[]));
        let transcript = asked.map_err(|error| with_models(error, &config, &found.passed_over))?;
        (transcript, view.shown())
    };
    report_question(&observers, &transcript);
    let problems = std::mem::take(&mut servers.problems);
    drop(servers);
    transcript.warnings.splice(0..0, problems);
    // A replay must leave no trace, and a recording must leave none except its file.
    if let (Ok(conversations), Some(exchange), true) =
        (&conversations, transcript.exchange(&agent.workspace), config.is_live())
        && let Err(error) = conversations.keep([earlier, vec![exchange]].concat())
    {
        transcript.warnings.push(format!("this conversation can't be continued with --continue: {error}"));
    }
    print(&mut transcript, &shown, output)?;
    Ok(match transcript.stop_reason {
        TurnEnd::Answered => Status::Found,
        TurnEnd::NoAnswer | TurnEnd::Refused => Status::NothingFound,
        TurnEnd::ModelsFailed | TurnEnd::Time => Status::Failed,
        TurnEnd::Interrupted => Status::Interrupted,
    })
}

/// If there is no model for the question, adds to the error which models we looked for.
fn with_models(error: AskError, config: &Config, passed_over: &str) -> anyhow::Error {
    match error {
        AskError::NoModel => {
            let text = match config.names_models() {
                true => format!("no configured model can answer the question. {passed_over}"),
                false => format!("{error}. {} {passed_over}", config.looked_for()),
            };
            UserError { code: ErrorCode::NoModel, text }.into()
        }
        error => error.into(),
    }
}

/// Prints the answer, or the reason why it is missing.
fn print(transcript: &mut Transcript, shown: &Shown, output: &mut Terminal) -> anyhow::Result<()> {
    if output.wants_json() {
        output.value(&transcript.records()?)?
    } else {
        output.text(&text(transcript, shown))?;
        output.flush()?;
    }
    if let Some(why) = transcript.why_no_answer() {
        let code = match transcript.stop_reason {
            TurnEnd::Answered | TurnEnd::NoAnswer | TurnEnd::Refused => ErrorCode::NoAnswer,
            TurnEnd::ModelsFailed => ErrorCode::ModelsFailed,
            TurnEnd::Time => ErrorCode::Unfinished,
            TurnEnd::Interrupted => ErrorCode::Cancelled,
        };
        let advice = match transcript.stop_reason {
            TurnEnd::Time => "; raise it with --total-ms",
            _ => "",
        };
        output.failure(&format!("no answer: {why}{advice}"), code);
    }
    Ok(())
}

/// Reports the question to the observers as if it were a call, with the models that its turns used.
fn report_question(observers: &CallObservers, transcript: &Transcript) {
    let of_turn = |turn: &Turn| {
        let mut model =
            telemetry::model_report(&turn.model, "answered", 1, Duration::from_millis(turn.model_ms));
        telemetry::add_usage(&mut model, turn.usage, turn.cost_usd);
        model
    };
    let status = match transcript.stop_reason {
        TurnEnd::Answered => "found",
        TurnEnd::NoAnswer | TurnEnd::Refused => "nothing_found",
        TurnEnd::ModelsFailed => "error",
        TurnEnd::Time => "unfinished",
        TurnEnd::Interrupted => "cancelled",
    };
    let models: Vec<_> = transcript.turns.iter().map(of_turn).collect();
    telemetry::asked("ask", observers, status, Duration::from_millis(transcript.elapsed_ms), &models);
}

/// Starts the servers that the user's configuration names. They run in the user's home directory, because
/// many programs would otherwise read the repository's files as their configuration.
fn start_servers(config: &Config, stop: &Stop) -> Servers {
    let settings = config.ask_servers();
    if settings.is_empty() || !config.is_live() {
        return Servers::left_out(settings, config.is_recorded());
    }
    // Without this, the servers would outlive a closed terminal. Other code covers all the other ways in
    // which Forage can end.
    let _ = signals::end_children_at_hang_up();
    let Ok(working) = config::working_directory() else { return Servers::default() };
    let roots = config::existing(&session::directories(config, &working, &[]));
    let roots: Vec<&Path> = roots.iter().map(|root| root.as_path()).collect();
    let root = Path::new(if cfg!(windows) { "C:\\" } else { "/" });
    let home = config.home.as_deref().unwrap_or(root);
    Servers::start(settings, home, &roots, &stop.within(config.ask_limits().total / 4))
}

/// Returns the exchanges that `--continue` goes on from.
fn earlier(
    conversations: &Result<Conversations, String>,
    workspace: &Workspace,
) -> anyhow::Result<Vec<EarlierExchange>> {
    let conversations = conversations
        .as_ref()
        .map_err(|why| anyhow::anyhow!("there is no conversation to continue: {why}"))?;
    let earlier = conversations.last().map_err(|error| anyhow::anyhow!("{error}"))?;
    if earlier.is_empty() {
        anyhow::bail!(
            "there is no conversation to continue: no question about {} was answered in the last seven \
             days; ask without --continue",
            workspace.roots.main().path().display()
        );
    }
    Ok(earlier)
}

/// Returns the text to print at the end. This leaves out what the terminal already shows.
fn text(transcript: &mut Transcript, shown: &Shown) -> String {
    if shown.texts.is_empty() {
        return transcript.text();
    }
    let last = sanitize(shown.last());
    // Some model servers stream reasoning before the answer. It is not part of the answer, so we must only
    // compare the end.
    let is_shown = |said: &str| last.ends_with(said.trim());
    let said = transcript.turns.last().map(|turn| turn.text.as_str()).unwrap_or_default();
    let is_whole = transcript.answer.is_none() || is_shown(said);
    if transcript.unfinished.as_deref().is_some_and(is_shown) {
        transcript.unfinished = None;
    }
    let after = if is_whole { transcript.text_after_answer() } else { transcript.text() };
    let between = if shown.is_open { "\n\n" } else { "" };
    format!("{between}{after}")
}
