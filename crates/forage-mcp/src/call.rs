//! Runs one tool call: admission, context, progress, cancellation and result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use forage_base::Stop;
use forage_tools::limits::ERROR_BYTES;
use forage_tools::records::ErrorRecord;
use forage_tools::registry::{self, AnyTool};
use forage_tools::{
    Answer, Call, CallObservers, CallProgress, ErrorCode, ToolNames, TraceParent, clip, telemetry,
};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, InputRequests,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::admission::{CallPermit, Cost, PermitReleasingModel};
use super::caller::{Caller, CallerTurn};
use super::client::{self, ClientRoots, ConnectionMemory, NamedRoots, is_stateless};
use super::client_model::{self, ClientModel, Questions};
use super::journal;
use super::limits;
use super::metrics::WatchedCall;
use super::profiles::Profile;
use super::rounds::Rounds;
use super::server::{CallOrigin, McpServer, ServedTool, Shared};

/// Placeholder for names that are not tools. Metrics must not have a label for every name that a client makes
/// up.
const UNKNOWN: &str = "unknown";

/// The result of a call on its thread.
enum CallEnd {
    Answered(Answer),
    Failed(CallFailure),
}

/// The reason why a call has no answer: a message for the model and a code for programs.
struct CallFailure {
    problem: String,
    code: ErrorCode,
}

impl McpServer {
    /// Runs a call from request to answer. When this future ends for any reason, the call's work is
    /// cancelled.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let profile = client::profile(&context);
        let has_records = self.shared.has_records(profile);
        let caller = client::caller(&context);
        let tool = self.shared.tool(&request.name).map_or(UNKNOWN, |served| served.tool.id());
        let watched = self.watch(tool, caller.as_deref(), profile);
        let journal = self.shared.observers.journal.as_ref();
        let journaled = journal.map(|to| (to, journal::begin_entry(tool, &request, &context)));
        let is_entered = Arc::<AtomicBool>::default();
        let answer = self.called(request, context, &is_entered).await;
        let (outcome, bytes) = outcome(&answer);
        watched.end(&outcome, bytes);
        // A call that reached its tool was entered there, with its arguments.
        if let Some((to, head)) = journaled
            && outcome != "asked"
            && !is_entered.swap(true, Ordering::AcqRel)
        {
            to.ended(journal::ended(head, &answer, &outcome));
        }
        answer.map(|answer| if has_records { answer } else { without_record(answer) })
    }

    /// Records a call that we refused before we knew its tool.
    pub(super) fn refuses(&self, context: &RequestContext<RoleServer>) {
        let caller = client::caller(context);
        self.watch(UNKNOWN, caller.as_deref(), client::profile(context)).end("refused", 0);
    }

    fn watch<'a>(&'a self, tool: &'a str, caller: Option<&'a Caller>, profile: Profile) -> WatchedCall<'a> {
        let (token, client) = (caller.map(Caller::name), profile.name().unwrap_or(UNKNOWN));
        WatchedCall::begin(&self.shared, tool, token, client)
    }

    async fn called(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        is_entered: &Arc<AtomicBool>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The HTTP layer counted this turn when the request arrived, whatever the request asks for.
        let turn = match client::turn(&context).transpose() {
            Ok(turn) => turn,
            Err(limit) => return Ok(failure(&limit.to_string(), ErrorCode::RateLimited)),
        };
        if let Some(problem) = self.shared.workspace.problem() {
            return Ok(failure(problem, ErrorCode::Failed));
        }
        let Some(served) = self.shared.tool(&request.name) else {
            let (can_filter, _) = self.shared.can_filter(&context).await;
            return Err(self.shared.unknown_tool(&request.name, client::profile(&context), can_filter));
        };
        let progress = CallProgress::default();
        let report = context.meta.get_progress_token().map(|token| ProgressReport {
            peer: context.peer.clone(),
            token,
            progress: progress.clone(),
            started: Instant::now(),
        });
        let cancelled = context.ct.clone();
        let call = ToolCall { served, request, context: &context, turn, is_entered, progress };
        tokio::select! {
            answer = with_progress(self.answer(call), report) => answer,
            () = cancelled.cancelled() => Err(client_disconnected()),
            () = self.shared.shutdown.cancelled() => Err(client_disconnected()),
        }
    }
}

/// A call of a known tool.
struct ToolCall<'a> {
    served: &'a ServedTool,
    request: CallToolRequestParams,
    context: &'a RequestContext<RoleServer>,
    /// The turn that the HTTP layer counted for the caller.
    turn: Option<CallerTurn>,
    /// True once the call is in the journal.
    is_entered: &'a Arc<AtomicBool>,
    progress: CallProgress,
}

impl McpServer {
    /// Answers a call, after asking the client for its roots if necessary.
    async fn answer(&self, call: ToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
        let Self { shared, known } = self;
        let ToolCall { served, request, context, turn, is_entered, progress } = call;
        let tool = served.tool;
        let rounds = Rounds::from_request(request.request_state.as_deref(), request.input_responses)?;
        let roots = match shared.workspace.asks_clients() {
            false => NamedRoots::default(),
            true => match client::roots(context, rounds.responses(), known).await {
                Ok(ClientRoots::None) => NamedRoots::default(),
                Ok(ClientRoots::Silent(remark)) => NamedRoots { found: Vec::new(), left_out: Some(remark) },
                Ok(ClientRoots::Directories(directories)) => directories,
                Ok(ClientRoots::Ask(questions)) => return Ok(ask(rounds, questions)),
                Err(problem) => return Ok(failure(&problem, ErrorCode::Failed)),
            },
        };
        let Ok(place) = shared.admission.enter(served.cost, turn.as_ref().map(CallerTurn::caller)).await
        else {
            let problem = "the server is busy with other calls; call again in a few seconds";
            return Ok(failure(problem, ErrorCode::Failed));
        };

        let profile = client::profile(context);
        // The tool names as this client writes them.
        let names = Arc::new(shared.names(profile));
        let questions = Questions::default();
        let (model, asked) = ClientModel::for_request(context, rounds.responses(), &questions);
        let stop = StopOnDrop(Stop::never());
        let work = CallWork {
            shared: Arc::clone(shared),
            known: Arc::clone(known),
            tool,
            arguments: Value::Object(request.arguments.unwrap_or_default()),
            roots,
            profile,
            names: Arc::clone(&names),
            is_stateless: is_stateless(context),
            model,
            questions: rounds.may_ask().then(|| Arc::clone(&questions)),
            progress,
            trace: journal::trace(context),
            is_entered: Arc::clone(is_entered),
            stop: stop.0.clone(),
            place: Arc::new(CallPermit::new(place, &shared.admission)),
            turn,
        };
        // We ask the client from here because a server's question belongs to the request that it is
        // answering.
        let done = tokio::select! {
            done = run(shared, served.cost, || work.run()) => done,
            never = client_model::ask(&context.peer, asked) => match never {},
        };

        let questions = std::mem::take(&mut *questions.lock().unwrap_or_else(PoisonError::into_inner));
        if !questions.is_empty() {
            return Ok(ask(rounds, questions));
        }
        Ok(match done {
            Some(CallEnd::Answered(answer)) => {
                let records = shared.has_records(profile).then(|| answer.records().clone());
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = records;
                result.into()
            }
            Some(CallEnd::Failed(CallFailure { problem, code })) => failure(&problem, code),
            None => {
                let tool = names.called(tool.id());
                let problem =
                    format!("internal error in {tool}: it panicked; please report it, and try another tool");
                failure(&problem, ErrorCode::Internal)
            }
        })
    }
}

/// Builds the answer that asks the client, or the error if it was asked too often.
fn ask(rounds: Rounds, questions: InputRequests) -> CallToolResponse {
    rounds.ask(questions).unwrap_or_else(|problem| failure(&problem, ErrorCode::Failed))
}

/// The work of a call, which runs on a thread that may block.
struct CallWork {
    shared: Arc<Shared>,
    known: Arc<ConnectionMemory>,
    tool: &'static dyn AnyTool,
    arguments: Value,
    roots: NamedRoots,
    profile: Profile,
    names: Arc<ToolNames>,
    is_stateless: bool,
    /// The client's model, if it offers one.
    model: Option<ClientModel>,
    /// The questions for the client's model, if it may be asked once more.
    questions: Option<Questions>,
    progress: CallProgress,
    trace: Option<TraceParent>,
    is_entered: Arc<AtomicBool>,
    stop: Stop,
    /// We hold the permit and the turn until the work has really ended, even if the client no longer waits
    /// for it.
    place: Arc<CallPermit>,
    turn: Option<CallerTurn>,
}

impl CallWork {
    fn run(mut self) -> CallEnd {
        let mut call = match self.start() {
            Ok(call) => call,
            Err(problem) => return CallEnd::Failed(CallFailure { problem, code: ErrorCode::Failed }),
        };
        let root_paths: Vec<_> = call.roots.all().iter().map(|root| root.path().to_owned()).collect();
        call.names_root = !self.known.has_named(&root_paths);
        match called(self.tool, &call, std::mem::take(&mut self.arguments)) {
            Ok(answer) => {
                self.known.record_named(root_paths);
                CallEnd::Answered(answer)
            }
            Err(failure) => CallEnd::Failed(failure),
        }
    }

    /// Opens the workspace and starts the call.
    fn start(&mut self) -> Result<Call, String> {
        let caller = self.turn.as_ref().map(CallerTurn::caller);
        let origin = CallOrigin { client_roots: &self.roots.found, caller, tool: self.tool };
        let mut workspace = self.shared.workspace.open(&origin)?;
        workspace.stop = self.stop.clone();
        workspace.names = Arc::clone(&self.names);
        // Requests without a connection may come from different clients, so they must not share a memory of
        // shown code.
        workspace.shown_earlier = (!self.is_stateless).then(|| Arc::clone(&self.known.shown));
        workspace.gathered_uses = Some(Arc::clone(&self.known.gathered));
        workspace.observers = CallObservers { client: self.profile.name(), ..self.shared.observers.clone() };
        workspace.notices.extend(self.roots.left_out.take());
        if !self.shared.workspace.has_text_bytes() {
            workspace.limits.text_bytes = self.profile.text_bytes(self.tool);
        }
        if let Some(model) = self.model.take() {
            workspace.filter.models = workspace.filter.models.and_then(Arc::new(model));
        }
        let place = Arc::clone(&self.place);
        workspace.filter.models = workspace
            .filter
            .models
            .each(move |model| Arc::new(PermitReleasingModel { model, place: Arc::clone(&place) }));
        let mut call = Call::new(Arc::new(workspace));
        call.progress = self.progress.clone();
        call.trace = self.trace.take();
        call.is_entered = Some(Arc::clone(&self.is_entered));
        if let Some(questions) = self.questions.take() {
            // Rounds that only ask the client's model must not be reported.
            let counts = move || questions.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
            call.counts = Some(Arc::new(counts));
        }
        Ok(call)
    }
}

/// Runs a call's work on a thread that may block. Returns `None` if the work panicked.
async fn run<T: Send + 'static>(
    shared: &Shared,
    cost: Cost,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if let Some(threads) = shared.workspace.threads() {
        let (sender, receiver) = oneshot::channel();
        // The receiver is gone if the call was cancelled. If the work panics, the sender is dropped without a
        // value.
        threads.begin(Box::new(move || drop(sender.send(work()))));
        return receiver.await.ok();
    }
    // Only a multi-threaded runtime can hand its messages to another thread, and this handler may be served
    // in a runtime of another kind.
    let hands_over = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    let task = match cost {
        // We run the work on this thread while another thread takes over the messages. If the call ends
        // before that thread has woken up, no thread switch was needed to answer it. The work is a separate
        // task so that we notice a cancellation while it runs.
        Cost::Quick if hands_over => tokio::spawn(async { tokio::task::block_in_place(work) }),
        // For a search, sharing the processor with the messages costs more than waking another thread.
        Cost::Quick | Cost::Search => tokio::task::spawn_blocking(work),
    };
    task.await.ok()
}

/// Cancels the work on drop, when nothing waits for it any more.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Waits for the answer and sends progress notifications if the client asked for them.
async fn with_progress<T>(answer: impl Future<Output = T>, report: Option<ProgressReport>) -> T {
    let Some(report) = report else { return answer.await };
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            () = tokio::time::sleep(limits::PROGRESS_INTERVAL) => report.send().await,
        }
    }
}

struct ProgressReport {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    progress: CallProgress,
    started: Instant,
}

impl ProgressReport {
    /// Sends the elapsed time in seconds as progress, because it always increases, even while a model is
    /// thinking.
    async fn send(&self) {
        let seconds = (self.started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        let message = format!("{}, {seconds} s", self.progress.describe("searching"));
        let progress = ProgressNotificationParam::new(self.token.clone(), seconds).with_message(message);
        // If the client has gone, the transport will end the call.
        let _ = self.peer.notify_progress(progress).await;
    }
}

/// Calls a tool. An error message describes how the call should look.
fn called(tool: &dyn AnyTool, call: &Call, arguments: Value) -> Result<Answer, CallFailure> {
    telemetry::call(tool, call, arguments.clone()).map_err(|error| CallFailure {
        problem: registry::refusal(tool, call, arguments, &error),
        code: error.code(),
    })
}

/// Describes the outcome of a call in one word. Also returns the size of its text in bytes.
fn outcome(answer: &Result<CallToolResponse, ErrorData>) -> (String, usize) {
    let result = match answer {
        Ok(CallToolResponse::Complete(result)) => result,
        Ok(_) => return ("asked".to_owned(), 0),
        Err(error) if *error == client_disconnected() => return ("cancelled".to_owned(), 0),
        Err(_) => return ("refused".to_owned(), 0),
    };
    let code = result.structured_content.as_ref().and_then(|record| record["code"].as_str());
    let outcome = match result.is_error {
        Some(true) => code.unwrap_or("failed"),
        _ => "answered",
    };
    let texts = result.content.iter().filter_map(|block| block.as_text());
    (outcome.to_owned(), texts.map(|text| text.text.len()).sum())
}

/// Removes the record from an answer for a client that gets text only.
fn without_record(mut answer: CallToolResponse) -> CallToolResponse {
    if let CallToolResponse::Complete(result) = &mut answer {
        result.structured_content = None;
    }
    answer
}

/// Builds an error result with a message for the model to act on, and the record as structured content.
fn failure(problem: &str, code: ErrorCode) -> CallToolResponse {
    let problem = clip(problem, ERROR_BYTES);
    let mut result = CallToolResult::error(vec![ContentBlock::text(problem.clone())]);
    result.structured_content = Some(json!(ErrorRecord::new(problem, code)));
    result.into()
}

/// The answer to a call that was cancelled or whose client has gone.
fn client_disconnected() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}
