//! The calls of one turn: decides which are made, and returns all results in call order.

use std::sync::Arc;
use std::time::Instant;

use forage_llm::{ChatAnswer, ToolCall, ToolResult};
use forage_redact::Redacted;
use forage_tools::registry::{self, AnyTool};
use forage_tools::{Call, ToolError, limits, read_arguments};
use serde_json::Value;

use super::arguments;
use super::event::AgentEvent;
use super::executor::{self, Job, JobOutcome};
use super::memory::CallLookup;
use super::session::AgentSession;
use super::transcript::{ToolCallRecord, shown};

/// How a call is answered.
enum CallPlan {
    /// By the job with this index.
    Run(usize),
    /// By a remark.
    Remark { text: String, is_error: bool, same_as: Option<usize> },
}

impl CallPlan {
    fn refuse(text: impl Into<String>) -> Self {
        Self::Remark { text: text.into(), is_error: true, same_as: None }
    }
}

impl AgentSession<'_> {
    /// Makes the calls of a turn that are new and within the limits, and adds the turn to the conversation
    /// with one result per call. In the last turn, no call is made.
    pub(super) fn make_calls(&mut self, answer: ChatAnswer, last: bool) {
        let started = Instant::now();
        let calls = answer.calls.clone();
        let first = self.calls + 1;
        self.calls += calls.len();
        let mut jobs = Vec::new();
        let mut numbers = Vec::new();
        let mut plans = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let plan = match last {
                true => CallPlan::refuse("not run: no calls are run in the last turn"),
                false => self.plan(call, index, first + index, &mut jobs),
            };
            if let CallPlan::Run(_) = plan {
                numbers.push(first + index);
            }
            plans.push(plan);
        }
        self.budget.calls += jobs.len();
        let mut ran: Vec<Option<JobOutcome>> = self.run(&jobs, &numbers).into_iter().map(Some).collect();
        let mut results = Vec::with_capacity(calls.len());
        let mut records = Vec::with_capacity(calls.len());
        for (index, (call, plan)) in calls.iter().zip(plans).enumerate() {
            let number = first + index;
            let (text, record) = match plan {
                CallPlan::Run(job) => {
                    let ran = ran.get_mut(job).and_then(Option::take);
                    self.result(call, number, jobs.get(job), ran)
                }
                CallPlan::Remark { text, is_error, same_as } => {
                    self.remark_for(call, number, text, is_error, same_as)
                }
            };
            let is_error = record.error.is_some();
            results.push((
                number,
                ToolResult { call_id: call.id.clone(), name: call.name.clone(), text, is_error },
            ));
            records.push(record);
        }
        if let Some(turn) = self.transcript.turns.last_mut() {
            turn.calls = records;
            turn.tools_ms = milliseconds(started.elapsed());
        }
        self.conversation.add(answer.into_turn(), results);
    }

    fn plan(&mut self, call: &ToolCall, index: usize, number: usize, jobs: &mut Vec<Job>) -> CallPlan {
        let max = self.agent.limits.calls_per_turn;
        if index >= max {
            return CallPlan::refuse(format!(
                "not run: only the first {max} calls of a turn are run; ask again if it is still needed"
            ));
        }
        let Some(tool) = self.tool(&call.name) else {
            let names: Vec<&str> = self.agent.tools.iter().map(|tool| tool.name()).collect();
            return CallPlan::refuse(format!(
                "not run: there is no tool with this name; the tools are {}",
                names.join(", ")
            ));
        };
        let arguments = match read_arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return CallPlan::refuse(format!("not run: {problem}")),
        };
        let key = arguments::canonical(tool.name(), &arguments);
        if let CallLookup::Shown(other) = self.memory.recall(&key, self.budget.turn, number) {
            return CallPlan::Remark {
                text: format!(
                    "same as call {other}, already shown; use that result, or ask for something else"
                ),
                is_error: false,
                same_as: Some(other),
            };
        }
        if jobs.len() >= self.budget.calls_left() {
            // `recall` expects this call to run, but now its result will never be shown.
            self.memory.forget(number);
            return CallPlan::refuse("not run: no calls are left");
        }
        jobs.push(Job { tool, arguments });
        CallPlan::Run(jobs.len() - 1)
    }

    /// Finds one of the agent's own tools. Other tools must not be called, even if the registry has them.
    fn tool(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        registry::named(&self.agent.tools, name, |tool| &**tool).cloned()
    }

    fn run(&self, jobs: &[Job], numbers: &[usize]) -> Vec<JobOutcome> {
        let call = self.call_of_turn(jobs.len());
        let number = |index: usize| numbers.get(index).copied().unwrap_or_default();
        let tool = |index: usize| jobs.get(index).map(|job| job.tool.name()).unwrap_or_default();
        let started = |index: usize| {
            let arguments = jobs.get(index).map(|job| job.arguments.to_string()).unwrap_or_default();
            (self.watch)(&AgentEvent::CallStarted {
                number: number(index),
                tool: tool(index),
                arguments: &arguments,
            });
        };
        let ended = |index: usize, ran: &JobOutcome| {
            let error = ran.result.as_ref().err().map(ToString::to_string);
            (self.watch)(&AgentEvent::CallEnded {
                number: number(index),
                tool: tool(index),
                bytes: ran.result.as_ref().map_or(0, |answer| answer.text.len()),
                elapsed: ran.elapsed,
                error: error.as_deref(),
            });
        };
        executor::run(jobs, self.agent.limits.parallel, &call, &started, &ended)
    }

    /// Builds the call in which the tools of a turn run. It ends before the time that is reserved for the
    /// answer, and the tools share the turn's bytes.
    fn call_of_turn(&self, calls: usize) -> Call {
        let mut call = self.agent.workspace.start_call();
        let time = self.budget.time_for_tools();
        call.stop = self.stop.within(time);
        let text_bytes = call.limits.text_bytes;
        call.limits.text_bytes = self.budget.bytes_per_call(calls, limits::TEXT_BYTES_MIN, text_bytes);
        let workspace = call.workspace_mut();
        workspace.names = Arc::clone(&self.names);
        workspace.filter.timeout = workspace.filter.timeout.min(time);
        call
    }

    /// Builds the result of a call that was made.
    fn result(
        &mut self,
        call: &ToolCall,
        number: usize,
        job: Option<&Job>,
        ran: Option<JobOutcome>,
    ) -> (Redacted, ToolCallRecord) {
        let (result, elapsed) = match (job, ran) {
            (Some(Job { tool, arguments }), Some(ran)) => {
                let refused = |error: ToolError| {
                    registry::refusal(&**tool, &self.call_of_turn(1), arguments.clone(), &error)
                };
                (ran.result.map_err(refused), ran.elapsed)
            }
            _ => (Err("the result was lost".to_owned()), Default::default()),
        };
        let whole = result.as_ref().is_ok_and(|answer| !answer.partial());
        if !whole {
            // The next attempt may return more, so we allow the same call again.
            self.memory.forget(number);
        }
        let title = format!("call {number}, {}:", forage_tools::sanitize_line(&call.name));
        let (data, text, ended) = match result {
            Ok(answer) => (self.redactor.answer(&title, &answer), answer.text, Ok(answer.head)),
            Err(error) => {
                let text = format!("error: {error}");
                (self.redactor.data(&title, &text), text, Err(error))
            }
        };
        let mut record = record(call, number);
        record.run = true;
        record.bytes = text.len();
        record.elapsed_ms = milliseconds(elapsed);
        match ended {
            // Tools of other programs report no results.
            Ok(head) => record.answer = Some(head).filter(|head| !head.results_of.is_empty()),
            Err(error) => record.error = Some(forage_tools::sanitize(&error)),
        }
        record.head = shown(&text);
        (data, record)
    }

    fn remark_for(
        &mut self,
        call: &ToolCall,
        number: usize,
        text: String,
        is_error: bool,
        same_as: Option<usize>,
    ) -> (Redacted, ToolCallRecord) {
        let remark = self.redactor.remark(&format!("call {number}: {text}"));
        let mut record = record(call, number);
        record.bytes = remark.as_str().len();
        record.same_as = same_as;
        record.error = is_error.then_some(text);
        (remark, record)
    }
}

fn record(call: &ToolCall, number: usize) -> ToolCallRecord {
    ToolCallRecord {
        number,
        tool: forage_tools::sanitize_line(&call.name).into_owned(),
        arguments: read_arguments(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone())),
        run: false,
        same_as: None,
        bytes: 0,
        elapsed_ms: 0,
        error: None,
        answer: None,
        head: String::new(),
    }
}

fn milliseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
