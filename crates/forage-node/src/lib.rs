//! The native part of the Node package: a toolbox whose calls return promises, and iteration over results.
//!
//! Arguments and results are passed as JSON. The package's JavaScript code converts them to objects, methods
//! and errors.

mod promise;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forage_base::Stop;
use forage_bindings::{
    BindingError, MethodCalls, PieceBatch, Pieces, Toolbox, ToolboxSettings, end_all, error_classes, guarded,
    methods, run, run_apart,
};
use forage_tools::Answer;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;
use serde_json::{Value, json};

use self::promise::{Promised, Settled, promised, settled};

/// Cancels calls.
#[napi]
pub struct NodeStop(Stop);

#[napi]
impl NodeStop {
    /// Creates one that is not cancelled.
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript makes it")]
    pub fn new() -> Self {
        Self(Stop::never())
    }

    /// Cancels all calls that were started with this.
    #[napi]
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// Error of a call. The package converts it to an exception.
#[napi(object)]
pub struct NodeError {
    /// Stable code for programs.
    pub code: String,
    /// Message of one sentence.
    pub message: String,
    /// The text for the model that wrote the call.
    pub text: String,
    /// The next step, unless the message names it.
    pub hint: Option<String>,
    /// The transcript of a question that got no answer, as JSON.
    pub transcript: Option<String>,
}

/// An answer. Its records are serialized only on request.
#[napi]
pub struct NodeAnswer(Answer);

#[napi]
impl NodeAnswer {
    /// Returns the text for a model or a person.
    #[napi(getter)]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns whether anything was found.
    #[napi(getter)]
    pub fn found(&self) -> bool {
        self.0.found
    }

    /// Serializes the records as JSON.
    #[napi]
    pub fn records(&self) -> String {
        self.0.records().to_string()
    }
}

/// The answer to a question.
#[napi(object)]
pub struct NodeAsked {
    /// The answer and its notes, for people.
    pub text: String,
    /// The transcript as JSON.
    pub records: String,
}

/// A batch of pieces that were read together.
#[napi(object, object_from_js = false)]
pub struct NodeBatch {
    /// The pieces as JSON.
    pub pieces: Vec<String>,
    /// The final answer, if this is the last batch.
    pub answer: Option<NodeAnswer>,
}

/// See [`Pieces`].
#[napi]
pub struct NodePieces(Arc<Pieces>);

#[napi]
impl NodePieces {
    /// Waits for the next batch. After the last one, the result is `null`.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<Promised<'env, Option<NodeBatch>>> {
        let pieces = Arc::clone(&self.0);
        promised(env, run_apart, move || {
            let batch = pieces.wait()?;
            Ok(batch.map(|PieceBatch { pieces, answer, .. }| NodeBatch {
                pieces,
                answer: answer.map(NodeAnswer),
            }))
        })
    }

    /// Cancels the search.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

/// See [`Toolbox`].
#[napi]
pub struct NodeToolbox(Arc<Toolbox>);

#[napi]
impl NodeToolbox {
    /// Opens directories with settings in JSON. `owner` is the number of the environment, see [`owner()`].
    #[napi]
    pub fn open(owner: u32, directories: Vec<String>, settings: String) -> Settled<NodeToolbox> {
        let open = || {
            let settings = ToolboxSettings::parse(&settings)?;
            let directories: Vec<PathBuf> = directories.into_iter().map(PathBuf::from).collect();
            Toolbox::open_for(owner.into(), &directories, settings)
                .map(|toolbox| NodeToolbox(Arc::new(toolbox.naming(&MethodCalls::JavaScript))))
        };
        settled(guarded(open))
    }

    /// Calls a tool by name with arguments in JSON.
    #[napi]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        tool: String,
        arguments: String,
        stop: &NodeStop,
    ) -> napi::Result<Promised<'env, NodeAnswer>> {
        let (toolbox, stop) = (Arc::clone(&self.0), stop.0.clone());
        promised(env, run, move || toolbox.call(&tool, parsed(&arguments)?, &stop).map(NodeAnswer))
    }

    /// Calls a method by name with parameters in JSON.
    #[napi]
    pub fn call_method<'env>(
        &self,
        env: &'env Env,
        method: String,
        parameters: String,
        stop: &NodeStop,
    ) -> napi::Result<Promised<'env, NodeAnswer>> {
        let (toolbox, stop) = (Arc::clone(&self.0), stop.0.clone());
        promised(env, run, move || toolbox.call_method(&method, parsed(&parameters)?, &stop).map(NodeAnswer))
    }

    /// Calls a method that streams its results.
    #[napi]
    pub fn each(&self, method: String, parameters: String) -> Settled<NodePieces> {
        let begin = || Pieces::begin(&self.0, method, parsed(&parameters)?, Stop::never());
        settled(begin().map(|pieces| NodePieces(Arc::new(pieces))))
    }

    /// Answers a question. `watch` receives events in JSON, then `null`.
    #[napi]
    pub fn ask<'env>(
        &self,
        env: &'env Env,
        question: String,
        stop: &NodeStop,
        watch: Option<Function<'_, Option<String>, ()>>,
    ) -> napi::Result<Promised<'env, NodeAsked>> {
        let watch = Watch(watch.map(|watch| watch.build_threadsafe_function().build()).transpose()?);
        let (toolbox, stop) = (Arc::clone(&self.0), stop.0.clone());
        promised(env, run, move || {
            let watch = watch;
            let tell = |event: Value| watch.send(Some(event.to_string()));
            let asked = toolbox.ask(&question, &stop, &tell)?;
            Ok(NodeAsked { text: asked.text, records: asked.records.to_string() })
        })
    }

    /// Lists the definitions of the advertised tools, or of those in `only`, as JSON.
    #[napi]
    pub fn definitions(&self, format: String, only: Option<Vec<String>>) -> Settled<String> {
        settled(
            self.0.definitions(&format, only.as_deref()).map(|definitions| json!(definitions).to_string()),
        )
    }

    /// Builds or updates the line index.
    #[napi]
    pub fn build_index<'env>(&self, env: &'env Env, stop: &NodeStop) -> napi::Result<Promised<'env, ()>> {
        let (toolbox, stop) = (Arc::clone(&self.0), stop.0.clone());
        promised(env, run, move || toolbox.build_index(&stop))
    }

    /// Returns the directories as they appear in answers.
    #[napi(getter)]
    pub fn roots(&self) -> Vec<String> {
        self.0.roots()
    }

    /// Refuses further calls, and ends background work on another thread so that we don't block JavaScript.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Promised<'env, ()>> {
        self.0.refuse();
        let toolbox = Arc::clone(&self.0);
        promised(env, run_apart, move || {
            toolbox.close();
            Ok(())
        })
    }
}

fn parsed(json: &str) -> Result<Value, BindingError> {
    serde_json::from_str(json)
        .map_err(|error| BindingError::unreadable(&format!("the arguments are not a JSON object: {error}")))
}

/// Returns a new number for an environment. Node's main thread and each worker have their own.
#[napi]
pub fn owner() -> u32 {
    static OWNERS: AtomicU32 = AtomicU32::new(1);
    OWNERS.fetch_add(1, Ordering::Relaxed)
}

/// Ends the background work of all workspaces, or of one environment's. This must be called when the
/// environment exits.
#[napi(js_name = "endAll")]
pub fn end_all_of(owner: Option<u32>) {
    end_all(owner.map(u64::from));
}

/// Passes events in JSON to JavaScript. Dropping this passes `null`, so that the last event is marked even if
/// the question fails.
struct Watch(Option<WatchFunction>);

type WatchFunction = ThreadsafeFunction<Option<String>, (), Option<String>, Status, false>;

impl Watch {
    fn send(&self, event: Option<String>) {
        if let Some(function) = &self.0 {
            function.call(event, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.send(None);
    }
}

/// Lists the methods of a workspace as JSON.
#[napi(js_name = "methods")]
pub fn all_methods() -> String {
    json!(methods()).to_string()
}

/// Lists the error classes as JSON.
#[napi(js_name = "errorClasses")]
pub fn all_error_classes() -> String {
    json!(error_classes()).to_string()
}
