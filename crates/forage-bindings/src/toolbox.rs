//! A workspace whose tools are called by name.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forage_agent::{Agent, AgentEvent, TurnEnd, usable_tools};
use forage_base::Stop;
use forage_fs::{Globs, PrivatePlace, Roots};
use forage_llm::{ChatModel, ProviderTable};
use forage_redact::Redactor;
use forage_tools::index_manager::shared_place;
use forage_tools::registry::{self, AnyTool, TOOLS, ToolSelection, advertised};
use forage_tools::schema::{SchemaFormat, definition};
use forage_tools::telemetry::watched;
use forage_tools::tools::KeywordLookup;
use forage_tools::{
    Answer, AskedTool, Call, CallObservers, CallSink, ErrorCode, FilterMode, FilterSettings, Limit,
    RecordReceiver, TelemetryEvent, Tool as _, ToolError, ToolNames, Workspace,
};
use serde_json::{Value, json};

use crate::error::BindingError;
use crate::method::{MethodCalls, arguments_of};
use crate::open;
use crate::settings::{IndexSetting, ToolboxSettings};
use crate::workers::run_apart;

/// Timeout of a call that streams all results, unless the settings give one. This is effectively no limit.
const EACH_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Directories and the tools that search them. You can call tools from several threads at once.
pub struct Toolbox {
    workspace: Workspace,
    /// The tools that are advertised to agents.
    selection: ToolSelection,
    models: Vec<Arc<dyn ChatModel>>,
    /// The syntax of calls that answers suggest, for a package of another language.
    calls: Option<&'static MethodCalls>,
    /// True if the settings give a timeout for calls.
    is_timed: bool,
    /// The process that opened this toolbox. Only this process may call tools, because background work does
    /// not survive a fork.
    process: u32,
    /// True once calls are refused.
    is_closed: AtomicBool,
    /// Set once the background work has ended, so that we end it only once.
    ended: OnceLock<()>,
    /// The number under which this workspace is registered, if it has an index.
    number: Option<u64>,
}

/// The answer to a question.
pub struct Asked {
    /// The answer and its notes, for people.
    pub text: String,
    /// The transcript.
    pub records: Value,
}

impl Toolbox {
    /// Opens directories. If the settings name a collection, you can pass none.
    ///
    /// # Errors
    ///
    /// Fails if a path is not a directory or is too broad, or a setting is invalid.
    pub fn open(directories: &[PathBuf], settings: ToolboxSettings) -> Result<Self, BindingError> {
        Self::open_for(0, directories, settings)
    }

    /// Opens directories for an owner, see [`end_all`](crate::end_all).
    ///
    /// # Errors
    ///
    /// Fails with the same errors as [`Toolbox::open`].
    pub fn open_for(
        owner: u64,
        directories: &[PathBuf],
        settings: ToolboxSettings,
    ) -> Result<Self, BindingError> {
        settings.check_ranges()?;
        let mut workspace = match directories {
            [] if settings.collection.is_some() => Workspace::new(Roots::none()),
            _ => Workspace::open_allowed(directories, settings.allow_broad_root)
                .map_err(|error| BindingError::new(ErrorCode::Path, error))?,
        };
        let mut selection = ToolSelection::default();
        if settings.collection.is_some() {
            selection.on.push(KeywordLookup::NAME);
        }
        let worded = advertised(&selection)
            .map_err(|error| BindingError::from_tool_error(&error, &ToolNames::from_tools(TOOLS)))?;
        set(&mut workspace, &settings)?;
        workspace.names = Arc::new(ToolNames::from_tools(&worded));
        let table =
            ProviderTable::built_in().map_err(|error| BindingError::new(ErrorCode::Internal, error))?;
        let models: Vec<_> =
            settings.models.iter().map(|model| model.open(&table)).collect::<Result<_, _>>()?;
        workspace.filter = FilterSettings {
            mode: if settings.without_model { FilterMode::Lexical } else { FilterMode::Model },
            models: models.clone().into(),
            looked_for: "The workspace was opened without `models`.".to_owned(),
            ..FilterSettings::default()
        };
        settings.filter.set(&mut workspace.filter)?;
        if let Some(collection) = &settings.collection {
            workspace.lookup = collection.open()?;
        }
        let place = match &settings.index {
            _ if directories.is_empty() => None,
            IndexSetting::Wanted(true) => shared_place(),
            IndexSetting::Wanted(false) => None,
            IndexSetting::Directory(directory) => Some(PrivatePlace::below(directory)),
        };
        let keeps_index = place.is_some();
        if let Some(place) = place {
            workspace = match settings.watch {
                true => workspace.keep_indexes_and_watch(place),
                false => workspace.keep_indexes(place),
            }
            .map_err(|error| BindingError::new(ErrorCode::Index, error))?;
        }
        Ok(Self {
            number: keeps_index.then(|| open::add(&workspace, owner)),
            workspace,
            selection,
            models,
            calls: None,
            is_timed: settings.timeout_ms.is_some(),
            process: std::process::id(),
            is_closed: AtomicBool::new(false),
            ended: OnceLock::new(),
        })
    }

    /// Makes the answers of methods suggest other methods in this package's syntax.
    pub fn naming(mut self, calls: &'static MethodCalls) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Reports each call to `to`. Each event will name the package, e.g. `python`, as its `surface`.
    pub fn with_telemetry(mut self, to: Arc<dyn CallSink<TelemetryEvent>>, surface: &'static str) -> Self {
        self.workspace.observers = CallObservers::new(Some(to), surface);
        self
    }

    /// Calls a tool by name, with the tool's own argument names, as a model does.
    ///
    /// # Errors
    ///
    /// Fails with the tool's error, or if the tool was stopped before it found anything.
    pub fn call(&self, tool: &str, arguments: Value, stop: &Stop) -> Result<Answer, BindingError> {
        self.check()?;
        let call = self.start_call(stop);
        let tool = registry::find(tool)
            .map_err(|error| BindingError::from_tool_error(&error, &call.workspace.names))?;
        self.need_root_for(tool)?;
        let run = |call: &Call| tool.call(call, arguments.clone());
        let answer = watched(&AskedTool::new(tool, None), &call, run);
        finished(tool, &call, arguments, answer)
    }

    /// Calls a tool as a method, with the method's parameter names.
    ///
    /// # Errors
    ///
    /// Fails with the same errors as [`Toolbox::call`].
    pub fn call_method(&self, method: &str, parameters: Value, stop: &Stop) -> Result<Answer, BindingError> {
        let (tool, call) = self.begin_method(method, stop)?;
        let arguments = arguments_of(tool.id(), parameters);
        let run = |call: &Call| tool.call(call, arguments.clone());
        let answer = watched(&AskedTool::new(tool, None), &call, run);
        self.finished_method(tool, &call, arguments, answer)
    }

    /// Calls a tool as a method and streams all results to `receive`, until it returns `Break`. There is no
    /// time limit unless the settings give one.
    ///
    /// # Errors
    ///
    /// Fails with the same errors as [`Toolbox::call`], or if the search ended early, for example at the time
    /// limit.
    pub fn each(
        &self,
        method: &str,
        parameters: Value,
        stop: &Stop,
        receive: RecordReceiver<'_>,
    ) -> Result<Answer, BindingError> {
        let (tool, mut call) = self.begin_method(method, stop)?;
        let arguments = arguments_of(tool.id(), parameters);
        // The usual timeout does not fit because the search must wait for the reader.
        if !self.is_timed {
            (call.limits.timeout, call.workspace_mut().search.timeout) = (EACH_TIMEOUT, EACH_TIMEOUT);
        }
        let each = |call: &Call| tool.each(call, arguments.clone(), receive);
        let answer = watched(&AskedTool::new(tool, None), &call, each);
        let answer = self.finished_method(tool, &call, arguments, answer)?;
        if answer.partial() && !stop.is_cancelled() {
            let what = match answer.truncated_by {
                Some(Limit::Timeout) => "the call reached its time limit",
                _ => "the search ended",
            };
            let problem = format!("{what} before everything was returned");
            Err(BindingError {
                refusal: Some(answer.text),
                ..BindingError::new(ErrorCode::Unfinished, problem)
            })
        } else {
            Ok(answer)
        }
    }

    /// Answers a question with an agent that uses the tools. `watch` receives the agent's events.
    ///
    /// # Errors
    ///
    /// Fails if there is no model or no answer.
    pub fn ask(
        &self,
        question: &str,
        stop: &Stop,
        watch: &(dyn Fn(Value) + Sync),
    ) -> Result<Asked, BindingError> {
        self.check()?;
        self.need_root()?;
        let workspace = self.workspace.stopped_by(stop.clone());
        let problem = |error| BindingError::from_tool_error(&error, &workspace.names);
        let tools = usable_tools(&workspace, self.selection.clone()).map_err(problem)?;
        let mut agent = Agent::new(self.models.clone(), tools, workspace);
        agent.streams = true;
        let transcript = agent.ask(question, &|event| watch(event_to_json(event)))?;
        let internal = |error| BindingError::new(ErrorCode::Internal, error);
        let records = transcript.records().map_err(internal)?;
        match transcript.why_no_answer() {
            None => Ok(Asked { text: transcript.text(), records }),
            Some(why) => {
                let code = match transcript.stop_reason {
                    TurnEnd::Answered | TurnEnd::NoAnswer | TurnEnd::Refused => ErrorCode::NoAnswer,
                    TurnEnd::ModelsFailed => ErrorCode::ModelsFailed,
                    TurnEnd::Time => ErrorCode::Unfinished,
                    TurnEnd::Interrupted => ErrorCode::Cancelled,
                };
                Err(BindingError { transcript: Some(Box::new(records)), ..BindingError::new(code, why) })
            }
        }
    }

    /// Returns the definitions of the advertised tools, or of those in `only`, in the format of `openai`,
    /// `openai-strict`, `anthropic`, `gemini` or `mcp`.
    ///
    /// # Errors
    ///
    /// Fails if the format or a tool is unknown.
    pub fn definitions(&self, format: &str, only: Option<&[String]>) -> Result<Vec<Value>, BindingError> {
        let Some(shape) = SchemaFormat::ALL.iter().find(|shape| shape.name() == format) else {
            let known: Vec<&str> = SchemaFormat::ALL.iter().map(|shape| shape.name()).collect();
            let problem = format!("`format` must be one of {}, not {format:?}", known.join(", "));
            return Err(BindingError::new(ErrorCode::Argument, problem));
        };
        let Workspace { roots, names, .. } = &self.workspace;
        let usable = |tool: &&dyn AnyTool| !tool.spec().is_about_roots || !roots.all().is_empty();
        let all: Vec<_> = TOOLS.iter().copied().filter(usable).collect();
        if let Some(unknown) =
            only.into_iter().flatten().find(|name| all.iter().all(|tool| tool.name() != **name))
        {
            let known: Vec<&str> = all.iter().map(|tool| tool.name()).collect();
            let problem = format!("`only` names {unknown}, which is not one of {}", known.join(", "));
            return Err(BindingError::new(ErrorCode::Argument, problem));
        }
        let is_wanted = |tool: &&dyn AnyTool| match only {
            Some(only) => only.iter().any(|name| name == tool.name()),
            None => tool.spec().is_on_by_default || self.selection.on.contains(&tool.name()),
        };
        let wanted = all.into_iter().filter(is_wanted);
        Ok(wanted.map(|tool| definition(tool, names, *shape)).collect())
    }

    /// Builds or updates the line index.
    ///
    /// # Errors
    ///
    /// Fails if the index can't be written or the work was stopped.
    pub fn build_index(&self, stop: &Stop) -> Result<(), BindingError> {
        self.check()?;
        let workspace = self.workspace.stopped_by(stop.clone());
        workspace.build_index().map_err(|error| BindingError::new(ErrorCode::Index, error))
    }

    /// Returns the directories as they appear in answers.
    pub fn roots(&self) -> Vec<String> {
        let roots = self.workspace.roots.all();
        roots.iter().map(|root| root.path().display().to_string()).collect()
    }

    /// Refuses further calls.
    pub fn refuse(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Refuses further calls, and ends background work. If an index is being written, this waits up to 1.5
    /// seconds for it.
    pub fn close(&self) {
        self.refuse();
        if let Some(number) = self.own_number() {
            self.ended.get_or_init(|| open::end(number, self.workspace.clone()));
        }
    }

    /// Returns the number of this workspace, but only in the process that opened it. A forked process must
    /// not end it.
    fn own_number(&self) -> Option<u64> {
        self.number.filter(|_| self.process == std::process::id())
    }

    fn check(&self) -> Result<(), BindingError> {
        if self.process != std::process::id() {
            return Err(BindingError::forked());
        }
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(BindingError::new(ErrorCode::Failed, "this workspace is closed")),
            false => Ok(()),
        }
    }

    /// Looks up the tool of a method, and starts a call whose answer suggests methods, not tools.
    fn begin_method(&self, name: &str, stop: &Stop) -> Result<(&'static dyn AnyTool, Call), BindingError> {
        self.check()?;
        let mut call = self.start_call(stop);
        let Some(tool) = TOOLS.iter().copied().find(|tool| tool.spec().method == name) else {
            let problem = format!("there is no method `{name}`");
            return Err(BindingError::new(ErrorCode::UnknownTool, problem));
        };
        if let Some(calls) = self.calls {
            let is_named = |it: &&&dyn AnyTool| it.id() == tool.id() || call.workspace.names.has(it.id());
            let named = TOOLS.iter().filter(is_named);
            let named = named.map(|tool| (tool.id().to_owned(), calls.cased(&tool.spec().method))).collect();
            call.workspace_mut().names = Arc::new(ToolNames::new(named).with_phrasing(calls));
        }
        self.need_root_for(tool)?;
        Ok((tool, call))
    }

    /// Converts the outcome of a call of a method. Its errors name parameters, not the tool's arguments.
    fn finished_method(
        &self,
        tool: &dyn AnyTool,
        call: &Call,
        arguments: Value,
        answer: Result<Answer, ToolError>,
    ) -> Result<Answer, BindingError> {
        finished(tool, call, arguments, answer).map_err(|error| match self.calls {
            None => error,
            Some(calls) => {
                let named = |text: String| calls.in_parameters(tool, &text);
                BindingError {
                    message: named(error.message),
                    hint: error.hint.map(named),
                    refusal: error.refusal.map(named),
                    ..error
                }
            }
        })
    }

    fn need_root_for(&self, tool: &dyn AnyTool) -> Result<(), BindingError> {
        if tool.spec().is_about_roots { self.need_root() } else { Ok(()) }
    }

    /// Starts a call that `stop` ends.
    fn start_call(&self, stop: &Stop) -> Call {
        let mut call = self.workspace.start_call();
        call.stop = stop.clone();
        call
    }

    fn need_root(&self) -> Result<(), BindingError> {
        match self.workspace.roots.all().is_empty() {
            true => {
                Err(BindingError::new(ErrorCode::Path, "this workspace has no directory; open it with one"))
            }
            false => Ok(()),
        }
    }
}

impl Drop for Toolbox {
    /// Ends background work without waiting for it, because a garbage collector may call this.
    fn drop(&mut self) {
        if let (Some(number), None) = (self.own_number(), self.ended.get()) {
            let workspace = self.workspace.clone();
            // If no thread can be started, the background work will end with the program.
            let _ = run_apart(move || open::end(number, workspace));
        }
    }
}

/// Converts the outcome of a call, and removes secrets from an error message.
fn finished(
    tool: &dyn AnyTool,
    call: &Call,
    arguments: Value,
    answer: Result<Answer, ToolError>,
) -> Result<Answer, BindingError> {
    let answer = answer.map_err(|error| {
        let worded = BindingError::from_tool_error(&error, &call.workspace.names);
        BindingError {
            message: call.workspace.without_secrets(&worded.message),
            refusal: Some(registry::refusal(tool, call, arguments, &error)),
            ..worded
        }
    })?;
    match &answer.problem {
        // A failed lookup is not an error. We return its answer, which has no results and says why.
        Some(problem) if problem.code != ErrorCode::Collection => {
            let refusal = Some(answer.text.clone());
            Err(BindingError { refusal, ..BindingError::new(problem.code, &problem.text) })
        }
        _ => Ok(answer),
    }
}

fn set(workspace: &mut Workspace, settings: &ToolboxSettings) -> Result<(), BindingError> {
    if settings.show_secrets {
        workspace.redactor = Arc::new(Redactor::off());
    }
    workspace.limits.text_bytes = settings.text_bytes.unwrap_or(workspace.limits.text_bytes);
    if let Some(timeout) = settings.timeout_ms {
        // `Search` has a limit of its own.
        let timeout = Duration::from_millis(timeout);
        (workspace.limits.timeout, workspace.search.timeout) = (timeout, timeout);
    }
    workspace.limits.threads = settings.threads.unwrap_or(workspace.limits.threads);
    workspace.limits.max_file_bytes = settings.max_file_bytes.or(workspace.limits.max_file_bytes);
    if !settings.exclude.is_empty() {
        let globs: Vec<String> = settings.exclude.iter().map(|glob| format!("!{glob}")).collect();
        let globs = Globs::new(&globs);
        let globs =
            globs.map_err(|error| BindingError::new(ErrorCode::Argument, format!("`exclude`: {error}")))?;
        workspace.excludes = Some(globs.labelled("`exclude` of the workspace"));
    }
    Ok(())
}

/// Converts an event of an agent to JSON.
fn event_to_json(event: &AgentEvent<'_>) -> Value {
    match event {
        AgentEvent::Asking { turn, turns, model, last } => {
            json!({ "type": "asking", "turn": turn, "turns": turns, "model": model, "last": last })
        }
        AgentEvent::Text(text) => json!({ "type": "text", "text": text }),
        AgentEvent::Said { calls, usage, cost_usd, elapsed } => json!({
            "type": "said", "calls": calls, "cost_usd": cost_usd, "elapsed_ms": milliseconds(*elapsed),
            "input_tokens": usage.as_ref().map(|usage| usage.input_tokens),
            "output_tokens": usage.as_ref().map(|usage| usage.output_tokens),
        }),
        AgentEvent::Failed { error, then } => json!({ "type": "failed", "error": error, "then": then }),
        AgentEvent::CallStarted { number, tool, arguments } => {
            json!({ "type": "call_started", "number": number, "tool": tool, "arguments": arguments })
        }
        AgentEvent::CallEnded { number, tool, bytes, elapsed, error } => json!({
            "type": "call_ended", "number": number, "tool": tool, "bytes": bytes,
            "elapsed_ms": milliseconds(*elapsed), "error": error,
        }),
        AgentEvent::MadeRoom { results } => json!({ "type": "made_room", "results": results }),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
