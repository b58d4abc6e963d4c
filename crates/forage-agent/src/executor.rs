//! Runs the calls of one turn in parallel.
//!
//! All tools only read, so calls can't disturb each other. Each call keeps the threads that it would have
//! alone. The system's scheduler shares the processors among them, and leaves none idle while any call has
//! work. If each call got only a share of the threads, one long call among short ones would be slower than
//! alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::map_in_threads;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Call, ToolError, telemetry};
use serde_json::Value;

/// A call to run.
pub(super) struct Job {
    pub(super) tool: Arc<dyn AnyTool>,
    pub(super) arguments: Value,
}

/// The outcome of a job.
pub(super) struct JobOutcome {
    pub(super) result: Result<Answer, ToolError>,
    pub(super) elapsed: Duration,
}

/// Runs the jobs, at most `width` at a time, and returns the outcomes in job order. `started` and `ended` are
/// called with the job's index from the thread that runs it.
///
/// A job that has not started when `call.stop` fires is not run. A job that fails or panics does not
/// affect the others. This returns only when all jobs have ended. Tools watch the stop themselves.
pub(super) fn run(
    jobs: &[Job],
    width: usize,
    call: &Call,
    started: &(dyn Fn(usize) + Sync),
    ended: &(dyn Fn(usize, &JobOutcome) + Sync),
) -> Vec<JobOutcome> {
    map_in_threads(jobs.iter().enumerate(), width, |(index, job)| {
        started(index);
        let ran = run_one(job, call);
        ended(index, &ran);
        ran
    })
}

fn run_one(job: &Job, call: &Call) -> JobOutcome {
    let started = Instant::now();
    let result = match call.stop.check() {
        Some(_) => Err(ToolError::Cancelled),
        // The registry catches panics of its own tools, but other tools may panic.
        None => catch_unwind(AssertUnwindSafe(|| telemetry::call(&*job.tool, call, job.arguments.clone())))
            .unwrap_or_else(|_| {
                Err(ToolError::Internal {
                    tool: job.tool.name().to_owned(),
                    message: "the call panicked".to_owned(),
                })
            }),
    };
    JobOutcome { result, elapsed: started.elapsed() }
}

#[cfg(test)]
mod tests;
