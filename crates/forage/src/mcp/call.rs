//! One call of a tool: its place in the queue, its context, its progress, its end.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use forage_fs::Stop;
use forage_tools::{Answer, ToolError, clip, registry::AnyTool};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::client::{self, ClientRoots};
use super::client_model::{ClientModel, Questions};
use super::limits;
use super::rounds::Rounds;
use super::server::{OutputForm, Server};

/// What became of a call on its thread.
enum Done {
    Answered(Answer),
    /// In words for the model.
    Failed(String),
}

impl Server {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let shared = &self.shared;
        let served = shared.tool(&request.name)?;
        let (tool, cost) = (served.tool, served.cost);
        let rounds = Rounds::of(request.request_state.as_deref(), request.input_responses)?;
        let roots = match shared.workspace.asks_clients() {
            false => Vec::new(),
            true => match client::roots(&context, rounds.said()).await {
                Ok(ClientRoots::None) => Vec::new(),
                Ok(ClientRoots::Directories(directories)) => directories,
                Ok(ClientRoots::Ask(questions)) => {
                    return Ok(rounds.ask(questions).unwrap_or_else(|problem| failure(&problem)));
                }
                Err(problem) => return Ok(failure(&problem)),
            },
        };
        let place = tokio::select! {
            place = shared.gate.enter(cost) => place,
            () = context.ct.cancelled() => return Err(cancelled()),
            () = shared.shutdown.cancelled() => return Err(cancelled()),
        };
        let Ok(place) = place else {
            return Ok(failure("the server is busy with other calls; call again in a few seconds"));
        };

        let questions = Questions::default();
        let model = ClientModel::of(&context, rounds.said(), &questions);
        let stop = StopOnDrop(Stop::never());
        let visited = Arc::<AtomicU64>::default();
        let work = {
            let (shared, stop, visited) = (Arc::clone(shared), stop.0.clone(), Arc::clone(&visited));
            let text_bytes = client::text_bytes(&context);
            let arguments = Value::Object(request.arguments.unwrap_or_default());
            tokio::task::spawn_blocking(move || {
                // The place is free only when the work has really ended, whoever still waits for it.
                let _place = place;
                let mut context = match shared.workspace.open(&roots) {
                    Ok(context) => context,
                    Err(problem) => return Done::Failed(problem),
                };
                context.stop = stop;
                context.progress = visited;
                context.text_bytes =
                    text_bytes.map_or(context.text_bytes, |most| most.min(context.text_bytes));
                if let Some(model) = model {
                    context.filter.models = context.filter.models.and_then(Arc::new(model));
                }
                match tool.call(&context, arguments.clone()) {
                    Ok(answer) => Done::Answered(answer),
                    Err(error) => Done::Failed(explained(tool, arguments, &error)),
                }
            })
        };
        let progress = context.meta.get_progress_token().map(|token| Progress {
            peer: context.peer.clone(),
            token,
            visited,
            started: Instant::now(),
        });
        let done = tokio::select! {
            done = finished(work, progress) => done,
            () = context.ct.cancelled() => return Err(cancelled()),
            () = shared.shutdown.cancelled() => return Err(cancelled()),
        };

        let questions = std::mem::take(&mut *questions.lock().unwrap_or_else(PoisonError::into_inner));
        if !questions.is_empty() {
            return Ok(rounds.ask(questions).unwrap_or_else(|problem| failure(&problem)));
        }
        Ok(match done {
            Ok(Done::Answered(answer)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                if shared.output == OutputForm::Structured {
                    result.structured_content = Some(answer.records);
                }
                result.into()
            }
            Ok(Done::Failed(problem)) => failure(&problem),
            Err(_) => failure(&format!(
                "internal error in {}: it panicked; please report it, and try another tool",
                tool.name()
            )),
        })
    }
}

/// Ends the work when nobody waits for it any more.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Waits for the work, and tells of its progress to a client that asked for that.
async fn finished(
    mut work: JoinHandle<Done>,
    progress: Option<Progress>,
) -> Result<Done, tokio::task::JoinError> {
    let Some(progress) = progress else { return work.await };
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(limits::PROGRESS_INTERVAL) => progress.tell().await,
        }
    }
}

struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    visited: Arc<AtomicU64>,
    started: Instant,
}

impl Progress {
    /// Progress is told in seconds: they always increase, also while a model is thinking, and nobody knows how many
    /// files there will be.
    async fn tell(&self) {
        let visited = self.visited.load(Ordering::Relaxed);
        let seconds = (self.started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        let message = format!("{visited} files visited in {seconds} s");
        let progress = ProgressNotificationParam::new(self.token.clone(), seconds).with_message(message);
        // A client that has gone ends the call by other ways.
        let _ = self.peer.notify_progress(progress).await;
    }
}

/// The error, and what the call would have to look like.
fn explained(tool: &dyn AnyTool, arguments: Value, error: &ToolError) -> String {
    let corrected = tool.corrected(arguments, error);
    match corrected {
        Some(corrected) => format!("{error}\nCall it like this: {} {corrected}", tool.name()),
        None => error.to_string(),
    }
}

/// An error that the model is to read and act on.
fn failure(problem: &str) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(clip(problem, limits::ERROR_BYTES))]).into()
}

/// Nobody reads it: a cancelled request has no answer.
fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}
