//! The heads of calls: of each one, whether it came to a tool or not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use forage_tools::journal::{microseconds, since_1970};
use forage_tools::{CallHead, CallJournal, CallStatus, TraceParent, clip, sanitize_line};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::client;
use super::client_model::Questions;
use super::limits;

/// Where W3C's Trace Context stands in the metadata of a request.
const TRACE_PARENT: &str = "traceparent";

/// One call, which is told of once: by its tool, or where it never came to that, at its end.
pub(super) struct JournaledOnce {
    to: Arc<dyn CallJournal>,
    pub(super) trace: Option<TraceParent>,
    client: Option<&'static str>,
    tool: String,
    has_arguments: bool,
    began: SystemTime,
    is_told: AtomicBool,
}

impl JournaledOnce {
    pub(super) fn new(
        to: &Arc<dyn CallJournal>,
        tool: &str,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Arc<Self> {
        let trace = context.meta.get(TRACE_PARENT).and_then(Value::as_str).and_then(TraceParent::parse);
        Arc::new(Self {
            to: Arc::clone(to),
            trace,
            client: client::profile(context).name(),
            tool: tool.to_owned(),
            has_arguments: request.arguments.as_ref().is_some_and(|fields| !fields.is_empty()),
            began: SystemTime::now(),
            is_told: AtomicBool::new(false),
        })
    }

    /// What is told of the call when it is answered, and not of the rounds before that only ask the client's model.
    pub(super) fn answered_once(self: &Arc<Self>, questions: Option<Questions>) -> Arc<dyn CallJournal> {
        Arc::new(AnsweredOnce { call: Arc::clone(self), questions })
    }

    /// Tells of a call that came to no tool. Its arguments were read by nobody, so they are not kept: they may hold anything.
    pub(super) fn end(&self, answer: &Result<CallToolResponse, ErrorData>, outcome: &str) {
        let is_round = outcome == "asked";
        if is_round || self.is_told.swap(true, Ordering::AcqRel) {
            return;
        }
        let problem = match answer {
            Ok(CallToolResponse::Complete(result)) => {
                result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).next()
            }
            Ok(_) => None,
            Err(error) => Some(error.message.clone().into_owned()),
        };
        let is_cancelled = outcome == "cancelled";
        let problem = problem.unwrap_or_default();
        let status = if is_cancelled { CallStatus::Cancelled } else { CallStatus::Error };
        self.to.enter(CallHead {
            began_us: since_1970(self.began),
            elapsed_us: microseconds(self.began.elapsed().unwrap_or_default()),
            client: self.client.map(str::to_owned),
            arguments_cut: self.has_arguments,
            code: (!is_cancelled).then(|| outcome.to_owned()),
            error: (!is_cancelled).then(|| clip(&sanitize_line(&problem), limits::SHOWN_BYTES)),
            bytes: problem.len() as u64,
            trace: self.trace.clone(),
            ..CallHead::of("mcp", &self.tool, status)
        });
    }
}

/// See [`JournaledOnce::answered_once`].
struct AnsweredOnce {
    call: Arc<JournaledOnce>,
    questions: Option<Questions>,
}

impl CallJournal for AnsweredOnce {
    fn enter(&self, head: CallHead) {
        let asks =
            |questions: &Questions| !questions.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if self.questions.as_ref().is_some_and(asks) || self.call.is_told.swap(true, Ordering::AcqRel) {
            return;
        }
        self.call.to.enter(head);
    }
}
