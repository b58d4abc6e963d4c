//! Tests the executor with tools that wait, fail and panic.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ThreadId};

use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_tools::{ToolSpec, Workspace};
use serde_json::json;

use super::*;

/// A tool made from a closure.
struct Fake<F>(F, ToolSpec);

impl<F: Fn(&Call, &Value) -> Result<String, ToolError> + Send + Sync> AnyTool for Fake<F> {
    fn spec(&self) -> &ToolSpec {
        &self.1
    }
    fn input_schema(&self) -> Value {
        json!({})
    }
    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let text = (self.0)(call, &request)?;
        Ok(Answer::with_records(text, request))
    }
}

fn fake<F>(call: F) -> Arc<dyn AnyTool>
where
    F: Fn(&Call, &Value) -> Result<String, ToolError> + Send + Sync + 'static,
{
    Arc::new(Fake(call, ToolSpec::new("fake", "Fake", "")))
}

fn call() -> (tempfile::TempDir, Call) {
    let directory = tempfile::tempdir().unwrap();
    let root = Root::open(directory.path(), &RootPolicy::default(), SecretPolicy::off()).unwrap();
    (directory, Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap()).start_call())
}

fn run_all(tool: &Arc<dyn AnyTool>, jobs: usize, width: usize, call: &Call) -> Vec<Result<String, String>> {
    let jobs: Vec<Job> =
        (0..jobs).map(|index| Job { tool: Arc::clone(tool), arguments: json!(index) }).collect();
    let ran = run(&jobs, width, call, &|_| (), &|_, _| ());
    ran.into_iter()
        .map(|ran| ran.result.map(|answer| answer.text).map_err(|error| error.to_string()))
        .collect()
}

/// The barrier opens only if four calls are running at the same time. With fewer, this test would hang.
#[test]
fn calls_of_one_turn_overlap() {
    let barrier = Arc::new(Barrier::new(4));
    let tool = fake(move |_, index| {
        barrier.wait();
        Ok(index.to_string())
    });
    let expected: Vec<_> = (0..8).map(|index| Ok(index.to_string())).collect();
    assert_eq!(run_all(&tool, 8, 4, &call().1), expected, "and the results are in call order");
}

#[test]
fn a_width_of_one_is_sequential_on_the_callers_thread() {
    let seen: Arc<Mutex<Vec<(Value, ThreadId)>>> = Arc::default();
    let tool = fake({
        let seen = Arc::clone(&seen);
        move |_, index| {
            seen.lock().unwrap().push((index.clone(), thread::current().id()));
            Ok(String::new())
        }
    });
    run_all(&tool, 5, 1, &call().1);
    let expected: Vec<_> = (0..5).map(|index| (json!(index), thread::current().id())).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

/// The calls end in reverse order because each one waits for the next.
#[test]
fn results_are_in_call_order_whatever_ends_first() {
    type Line = (Mutex<Option<Receiver<()>>>, Mutex<Option<Sender<()>>>);
    let mut lines: Vec<Line> = (0..4).map(|_| (Mutex::new(None), Mutex::new(None))).collect();
    for index in 0..3 {
        let (sender, receiver) = channel();
        lines[index].0 = Mutex::new(Some(receiver));
        lines[index + 1].1 = Mutex::new(Some(sender));
    }
    let order: Arc<Mutex<Vec<u64>>> = Arc::default();
    let tool = fake({
        let order = Arc::clone(&order);
        move |_, index| {
            let index = index.as_u64().unwrap();
            let (after, before) = &lines[index as usize];
            if let Some(after) = after.lock().unwrap().take() {
                after.recv().unwrap();
            }
            order.lock().unwrap().push(index);
            if let Some(before) = before.lock().unwrap().take() {
                before.send(()).unwrap();
            }
            Ok(format!("result {index}"))
        }
    });
    let results = run_all(&tool, 4, 4, &call().1);
    assert_eq!(*order.lock().unwrap(), [3, 2, 1, 0]);
    assert_eq!(results, ["result 0", "result 1", "result 2", "result 3"].map(|text| Ok(text.to_owned())));
}

#[test]
fn an_error_or_a_panic_harms_no_other_call() {
    let tool = fake(|_, index| match index.as_u64() {
        Some(1) => panic!("planned"),
        Some(2) => Err(ToolError::Request("wrong".to_owned())),
        _ => Ok(index.to_string()),
    });
    for width in [1, 2, 8] {
        let results = run_all(&tool, 4, width, &call().1);
        assert_eq!((&results[0], &results[3]), (&Ok("0".to_owned()), &Ok("3".to_owned())));
        assert!(results[1].as_ref().is_err_and(|error| error.contains("panicked")), "{results:?}");
        assert_eq!(results[2], Err("wrong".to_owned()));
    }
}

#[test]
fn a_stop_reaches_every_call_and_keeps_the_rest_from_beginning() {
    let (_directory, mut call) = call();
    call.stop = forage_base::Stop::never();
    let barrier = Arc::new(Barrier::new(2));
    let tool = fake(move |call, index| {
        barrier.wait();
        if index == &json!(0) {
            call.stop.cancel();
        }
        while call.stop.check().is_none() {
            thread::yield_now();
        }
        Ok("stopped".to_owned())
    });
    let results = run_all(&tool, 5, 2, &call);
    let stopped = results.iter().filter(|result| result.as_deref() == Ok("stopped")).count();
    assert_eq!((stopped, results.len()), (2, 5), "{results:?}");
    let rest: BTreeSet<_> = results[2..].iter().cloned().collect();
    assert_eq!(rest, BTreeSet::from([Err("the call was cancelled".to_owned())]));
}

#[test]
fn observer_sees_each_call_once() {
    let (_directory, call) = call();
    let tool = fake(|_, _| Ok(String::new()));
    let jobs: Vec<Job> =
        (0..6).map(|index| Job { tool: Arc::clone(&tool), arguments: json!(index) }).collect();
    let heard: Mutex<Vec<(bool, usize)>> = Mutex::default();
    let started = |index| heard.lock().unwrap().push((true, index));
    let ended = |index, _: &JobOutcome| heard.lock().unwrap().push((false, index));
    run(&jobs, 3, &call, &started, &ended);
    let mut heard = heard.into_inner().unwrap();
    heard.sort_unstable();
    let expected: Vec<_> =
        [false, true].into_iter().flat_map(|which| (0..6).map(move |index| (which, index))).collect();
    assert_eq!(heard, expected);
}
