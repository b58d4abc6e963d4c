//! Runs the calls of one turn, several at a time.
//!
//! All tools only read, so calls can't disturb each other. Each keeps the threads that it would have alone: what makes
//! them take turns is the system's scheduler, which leaves no processor idle while any call has work. Giving each a
//! share of the threads would make one long call among short ones slower than it is alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::map_in_threads;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Context, ToolError, telemetry};
use serde_json::Value;

/// A call to be made.
pub(super) struct Job {
    pub(super) tool: Arc<dyn AnyTool>,
    pub(super) arguments: Value,
}

/// What became of it.
pub(super) struct Ran {
    pub(super) result: Result<Answer, ToolError>,
    pub(super) elapsed: Duration,
}

/// Runs the jobs, at most `width` at a time, and gives what became of each in the order of the jobs. `started` and
/// `ended` are told the index of a job from the thread that runs it.
///
/// A job that has not begun when `context.stop` says so is not run. One that fails or panics harms no other. The call
/// returns when all have: tools keep to their stop by themselves.
pub(super) fn run(
    jobs: &[Job],
    width: usize,
    context: &Context,
    started: &(dyn Fn(usize) + Sync),
    ended: &(dyn Fn(usize, &Ran) + Sync),
) -> Vec<Ran> {
    map_in_threads(jobs.iter().enumerate(), width, |(index, job)| {
        started(index);
        let ran = run_one(job, context);
        ended(index, &ran);
        ran
    })
}

fn run_one(job: &Job, context: &Context) -> Ran {
    let started = Instant::now();
    let result = match context.stop.check() {
        Some(_) => Err(ToolError::Cancelled),
        // The registry catches panics of its tools; a tool from elsewhere may not.
        None => {
            catch_unwind(AssertUnwindSafe(|| telemetry::call(&*job.tool, context, job.arguments.clone())))
                .unwrap_or_else(|_| {
                    Err(ToolError::Internal {
                        tool: job.tool.name().to_owned(),
                        message: "the call panicked".to_owned(),
                    })
                })
        }
    };
    Ran { result, elapsed: started.elapsed() }
}

#[cfg(test)]
mod tests;
