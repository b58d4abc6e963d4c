//! The native part of the Node package: a toolbox whose calls are promises, and pieces that are waited for.
//!
//! It hands JSON to and fro. Objects, methods and errors are made of it by the package's JavaScript.

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

use self::promise::{Promised, Settled, promised, told};

/// Ends a call.
#[napi]
pub struct NodeStop(Stop);

#[napi]
impl NodeStop {
    /// One that is not cancelled.
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript makes it")]
    pub fn new() -> Self {
        Self(Stop::never())
    }

    /// Ends the calls that have it.
    #[napi]
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// Why a call has no answer, of which the package makes an exception.
#[napi(object)]
pub struct NodeError {
    /// What programs know it by.
    pub code: String,
    /// What happened, in a sentence.
    pub message: String,
    /// What a model that wrote the call is told.
    pub text: String,
    /// What can be done about it.
    pub hint: Option<String>,
    /// The transcript of a question without an answer, in JSON.
    pub transcript: Option<String>,
}

/// An answer, whose records are written when they are asked for.
#[napi]
pub struct NodeAnswer(Answer);

#[napi]
impl NodeAnswer {
    /// For a model or a person.
    #[napi(getter)]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether anything was found.
    #[napi(getter)]
    pub fn found(&self) -> bool {
        self.0.found
    }

    /// The records as JSON.
    #[napi]
    pub fn records(&self) -> String {
        self.0.records().to_string()
    }
}

/// What a question came to.
#[napi(object)]
pub struct NodeAsked {
    /// For people: the answer, and what must be known of it.
    pub text: String,
    /// The transcript in JSON.
    pub records: String,
}

/// What was read of a search at once.
#[napi(object, object_from_js = false)]
pub struct NodeBatch {
    /// Pieces in JSON.
    pub pieces: Vec<String>,
    /// The answer behind the last of them.
    pub answer: Option<NodeAnswer>,
}

/// See [`Pieces`].
#[napi]
pub struct NodePieces(Arc<Pieces>);

#[napi]
impl NodePieces {
    /// Waits for the next pieces; `null` behind the last of them.
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

    /// Ends the search.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

/// Directories and their tools.
#[napi]
pub struct NodeToolbox(Arc<Toolbox>);

#[napi]
impl NodeToolbox {
    /// Opens directories with settings in JSON, for an environment.
    #[napi]
    pub fn open(owner: u32, directories: Vec<String>, settings: String) -> Settled<NodeToolbox> {
        let open = || {
            let settings = ToolboxSettings::parse(&settings)?;
            let directories: Vec<PathBuf> = directories.into_iter().map(PathBuf::from).collect();
            Toolbox::open_for(owner.into(), &directories, settings)
                .map(|toolbox| NodeToolbox(Arc::new(toolbox.naming(&MethodCalls::JavaScript))))
        };
        told(guarded(open))
    }

    /// Calls a tool with arguments in JSON.
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

    /// Calls a method by its name with parameters in JSON.
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

    /// The results of a method that streams them.
    #[napi]
    pub fn each(&self, method: String, parameters: String) -> Settled<NodePieces> {
        let begin = || Pieces::begin(&self.0, method, parsed(&parameters)?, Stop::never());
        told(begin().map(|pieces| NodePieces(Arc::new(pieces))))
    }

    /// Answers a question. `watch` is told of events in JSON, and of `null` behind the last of them.
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
            let tell = |event: Value| watch.tell(Some(event.to_string()));
            let asked = toolbox.ask(&question, &stop, &tell)?;
            Ok(NodeAsked { text: asked.text, records: asked.records.to_string() })
        })
    }

    /// The definitions of tools in JSON, or of `only` those that are named.
    #[napi]
    pub fn definitions(&self, format: String, only: Option<Vec<String>>) -> Settled<String> {
        told(self.0.definitions(&format, only.as_deref()).map(|definitions| json!(definitions).to_string()))
    }

    /// Makes the index of lines, or brings it up to date.
    #[napi]
    pub fn build_index<'env>(&self, env: &'env Env, stop: &NodeStop) -> napi::Result<Promised<'env, ()>> {
        let (toolbox, stop) = (Arc::clone(&self.0), stop.0.clone());
        promised(env, run, move || toolbox.build_index(&stop))
    }

    /// The directories.
    #[napi(getter)]
    pub fn roots(&self) -> Vec<String> {
        self.0.roots()
    }

    /// Refuses calls from now on, and ends what goes on in the background.
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

/// A number for an environment: of the main thread, or of a worker.
#[napi]
pub fn owner() -> u32 {
    static OWNERS: AtomicU32 = AtomicU32::new(1);
    OWNERS.fetch_add(1, Ordering::Relaxed)
}

/// Ends what the workspaces of an environment, or of all, have in the background, when that ends.
#[napi(js_name = "endAll")]
pub fn end_all_of(owner: Option<u32>) {
    end_all(owner.map(u64::from));
}

/// Tells JavaScript of events in JSON, and of `null` behind the last of them, whatever comes of the question.
struct Watch(Option<WatchFunction>);

type WatchFunction = ThreadsafeFunction<Option<String>, (), Option<String>, Status, false>;

impl Watch {
    fn tell(&self, event: Option<String>) {
        if let Some(function) = &self.0 {
            function.call(event, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tell(None);
    }
}

/// The methods of a workspace in JSON.
#[napi(js_name = "methods")]
pub fn all_methods() -> String {
    json!(methods()).to_string()
}

/// The classes of errors in JSON.
#[napi(js_name = "errorClasses")]
pub fn all_error_classes() -> String {
    json!(error_classes()).to_string()
}
