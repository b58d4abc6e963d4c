//! The native part of the Python package: a toolbox, calls that Ctrl-C ends, and pieces that are iterated over.
//!
//! It hands JSON to and fro. Objects, methods and errors are made of it by the package's Python.

mod calls;
mod each;
mod sparse;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use forage_base::Stop;
use forage_bindings::{
    BindingError, MethodCalls, Toolbox, ToolboxSettings, end_all, error_classes, guarded, methods, run,
};
use forage_tools::{Answer, Telemetry};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;
use serde_json::{Map, Value, json};

use self::each::PyPieces;

/// Ends a call from another thread.
#[pyclass(frozen, name = "Stop", module = "forage._forage")]
#[derive(Clone)]
struct PyStop(Stop);

#[pymethods]
impl PyStop {
    #[new]
    fn new() -> Self {
        Self(Stop::never())
    }

    fn cancel(&self) {
        self.0.cancel();
    }
}

/// An answer, whose records are written when they are asked for.
#[pyclass(frozen, name = "RawAnswer", module = "forage._forage")]
struct PyAnswer {
    answer: Answer,
}

#[pymethods]
impl PyAnswer {
    #[getter]
    fn text(&self) -> &str {
        &self.answer.text
    }

    #[getter]
    fn found(&self) -> bool {
        self.answer.found
    }

    /// The records as JSON.
    fn records(&self, py: Python<'_>) -> String {
        py.detach(|| self.answer.records().to_string())
    }
}

/// What a question came to.
#[pyclass(frozen, name = "RawAsked", module = "forage._forage")]
struct RawAsked {
    #[pyo3(get)]
    text: String,
    records: Value,
}

#[pymethods]
impl RawAsked {
    fn records(&self, py: Python<'_>) -> String {
        py.detach(|| self.records.to_string())
    }
}

/// A function that is told of calls.
struct PyTelemetry(Py<PyAny>);

impl Telemetry for PyTelemetry {
    fn record(&self, event: Map<String, Value>) {
        calls::watch(Some(&self.0), &Value::Object(event));
    }
}

/// Directories and their tools.
#[pyclass(frozen, name = "RawToolbox", module = "forage._forage")]
struct RawToolbox(Arc<Toolbox>);

#[pymethods]
impl RawToolbox {
    /// `settings` are JSON. `telemetry` is called with an event in JSON for each call, on the thread that makes it.
    #[new]
    fn open(
        py: Python<'_>,
        directories: Vec<PathBuf>,
        settings: &str,
        telemetry: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = ToolboxSettings::parse(settings).map_err(|error| raised(py, &error))?;
        let toolbox =
            py.detach(|| Toolbox::open(&directories, settings)).map_err(|error| raised(py, &error))?;
        let toolbox = toolbox.naming(&MethodCalls::Python);
        Ok(Self(Arc::new(match telemetry {
            Some(telemetry) => toolbox.with_telemetry(Arc::new(PyTelemetry(telemetry)), "python"),
            None => toolbox,
        })))
    }

    /// Calls a tool, or a method by its name, with arguments in JSON, and waits. A call of the main thread looks for signals
    /// meanwhile.
    #[pyo3(signature = (name, arguments, stop, main, is_method=false))]
    fn call(
        &self,
        py: Python<'_>,
        name: String,
        arguments: &str,
        stop: &PyStop,
        main: bool,
        is_method: bool,
    ) -> PyResult<PyAnswer> {
        let (toolbox, arguments, ends) = (Arc::clone(&self.0), parsed(py, arguments)?, stop.0.clone());
        let call = move || called(&toolbox, &name, arguments, &ends, is_method);
        let answer = calls::wait(py, &stop.0, main, call)?;
        answer.map(|answer| PyAnswer { answer }).map_err(|error| raised(py, &error))
    }

    /// The same, which passes the answer or the error to `done` on another thread.
    #[pyo3(signature = (name, arguments, stop, done, is_method=false))]
    fn start(
        &self,
        py: Python<'_>,
        name: String,
        arguments: &str,
        stop: &PyStop,
        done: Py<PyAny>,
        is_method: bool,
    ) -> PyResult<()> {
        let (toolbox, arguments, ends) = (Arc::clone(&self.0), parsed(py, arguments)?, stop.0.clone());
        calls::begin(run, move || {
            let answer = guarded(|| called(&toolbox, &name, arguments, &ends, is_method));
            calls::tell(done, answer, |answer| PyAnswer { answer });
        })
    }

    /// The results of a method that streams them.
    fn each(&self, py: Python<'_>, method: String, arguments: &str, stop: &PyStop) -> PyResult<PyPieces> {
        PyPieces::begin(py, &self.0, method, parsed(py, arguments)?, stop.0.clone())
    }

    /// Answers a question. `watch` is told of events in JSON, on the thread that asks.
    fn ask(
        &self,
        py: Python<'_>,
        question: String,
        stop: &PyStop,
        main: bool,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<RawAsked> {
        let (toolbox, ends) = (Arc::clone(&self.0), stop.0.clone());
        let ask = move || toolbox.ask(&question, &ends, &|event| calls::watch(watch.as_ref(), &event));
        let asked = calls::wait(py, &stop.0, main, ask)?;
        asked
            .map(|asked| RawAsked { text: asked.text, records: asked.records })
            .map_err(|error| raised(py, &error))
    }

    /// The same, told as by `start`.
    fn start_ask(
        &self,
        question: String,
        stop: &PyStop,
        watch: Option<Py<PyAny>>,
        done: Py<PyAny>,
    ) -> PyResult<()> {
        let (toolbox, ends) = (Arc::clone(&self.0), stop.0.clone());
        calls::begin(run, move || {
            let watched = |event| calls::watch(watch.as_ref(), &event);
            let asked = guarded(|| toolbox.ask(&question, &ends, &watched));
            calls::tell(done, asked, |asked| RawAsked { text: asked.text, records: asked.records });
        })
    }

    /// The definitions of tools in JSON, or of `only` those that are named.
    fn definitions(&self, py: Python<'_>, format: &str, only: Option<Vec<String>>) -> PyResult<String> {
        let definitions = self.0.definitions(format, only.as_deref()).map_err(|error| raised(py, &error))?;
        Ok(json!(definitions).to_string())
    }

    fn build_index(&self, py: Python<'_>, stop: &PyStop, main: bool) -> PyResult<()> {
        let (toolbox, ends) = (Arc::clone(&self.0), stop.0.clone());
        let built = calls::wait(py, &stop.0, main, move || toolbox.build_index(&ends))?;
        built.map_err(|error| raised(py, &error))
    }

    fn roots(&self) -> Vec<String> {
        self.0.roots()
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

fn called(
    toolbox: &Toolbox,
    name: &str,
    arguments: Value,
    stop: &Stop,
    is_method: bool,
) -> Result<Answer, BindingError> {
    match is_method {
        true => toolbox.call_method(name, arguments, stop),
        false => toolbox.call(name, arguments, stop),
    }
}

fn parsed(py: Python<'_>, json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|error| {
        raised(py, &BindingError::unreadable(&format!("the arguments are not a JSON object: {error}")))
    })
}

/// An error as an exception of the package, which makes it of a code, a sentence, a hint and a transcript in JSON.
fn raised(py: Python<'_>, error: &BindingError) -> PyErr {
    let transcript = error.transcript.as_ref().map(|transcript| transcript.to_string());
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let make = py.import("forage._errors")?.getattr("make")?;
        make.call1((
            error.code_name(),
            error.message.as_str(),
            error.hint.as_deref(),
            error.text(),
            transcript,
        ))
    };
    made().map_or_else(|failed| failed, PyErr::from_value)
}

/// The methods of a workspace in JSON.
#[pyfunction(name = "methods")]
fn all_methods() -> String {
    json!(methods()).to_string()
}

/// The classes of errors in JSON.
#[pyfunction(name = "error_classes")]
fn all_error_classes() -> String {
    json!(error_classes()).to_string()
}

/// Called when the interpreter ends.
#[pyfunction]
fn end(py: Python<'_>) {
    py.detach(|| end_all(None));
    calls::end(py);
}

/// Called in a process that was forked off.
#[pyfunction]
fn forked() {
    calls::forked();
}

/// Refuses a second interpreter of the process, as types are made once in it.
fn claim(py: Python<'_>) -> PyResult<()> {
    static MODULES: OnceLock<usize> = OnceLock::new();
    // Each interpreter has modules of its own.
    let own = py.import("sys")?.getattr("modules")?.as_ptr() as usize;
    match *MODULES.get_or_init(|| own) == own {
        true => Ok(()),
        false => Err(PyImportError::new_err(
            "forage is in use by another interpreter of this process, and works in only one; use another process",
        )),
    }
}

#[pymodule]
fn _forage(module: &Bound<'_, PyModule>) -> PyResult<()> {
    claim(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PyStop>()?;
    module.add_class::<PyAnswer>()?;
    module.add_class::<RawAsked>()?;
    module.add_class::<RawToolbox>()?;
    module.add_class::<PyPieces>()?;
    module.add_class::<sparse::RawBm25>()?;
    module.add_function(wrap_pyfunction!(all_methods, module)?)?;
    let end = wrap_pyfunction!(end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,))?;
    let os = module.py().import("os")?;
    // Where processes can be forked.
    if let Ok(register) = os.getattr("register_at_fork") {
        let forked = wrap_pyfunction!(forked, module)?;
        register.call((), Some(&[("after_in_child", forked)].into_py_dict(module.py())?))?;
    }
    module.add_function(wrap_pyfunction!(all_error_classes, module)?)
}
