//! The native part of the Python package: a toolbox, calls that can be cancelled with Ctrl-C, and iteration
//! over results.
//!
//! Arguments and results are passed as JSON. The package's Python code converts them to objects, methods and
//! exceptions.

mod calls;
mod each;
mod sparse;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use forage_base::Stop;
use forage_bindings::{
    BindingError, MethodCalls, Toolbox, ToolboxSettings, end_all, error_classes, guarded, methods, run,
};
use forage_tools::{Answer, CallSink, TelemetryEvent};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;
use serde_json::{Value, json};

use self::each::PyPieces;

/// Cancels a call from another thread.
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

/// An answer. Its records are serialized only on request.
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

    /// Serializes the records as JSON.
    fn records(&self, py: Python<'_>) -> String {
        py.detach(|| self.answer.records().to_string())
    }
}

/// The answer to a question, with its transcript as `records`.
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

/// Passes telemetry events to a Python function.
struct PyTelemetry(Py<PyAny>);

impl CallSink<TelemetryEvent> for PyTelemetry {
    fn ended(&self, event: TelemetryEvent) {
        calls::watch(Some(&self.0), &Value::Object(event));
    }
}

/// See [`Toolbox`].
#[pyclass(frozen, name = "RawToolbox", module = "forage._forage")]
struct RawToolbox(Arc<Toolbox>);

#[pymethods]
impl RawToolbox {
    /// Opens directories with `settings` in JSON. For each call, `telemetry` receives an event in JSON on the
    /// thread that runs the call.
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

    /// Calls a tool or method by name with arguments in JSON, and waits for the answer. If `main` is true,
    /// the caller is Python's main thread, so it must check for signals in the meantime.
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

    /// Like `call`, but returns immediately and passes the answer or error to `done` on another thread.
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
            calls::call_back(done, answer, |answer| PyAnswer { answer });
        })
    }

    /// Calls a method that streams its results.
    fn each(&self, py: Python<'_>, method: String, arguments: &str, stop: &PyStop) -> PyResult<PyPieces> {
        PyPieces::begin(py, &self.0, method, parsed(py, arguments)?, stop.0.clone())
    }

    /// Answers a question and waits for the answer. `watch` receives events in JSON on the thread that runs
    /// the agent.
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

    /// Like `ask`, but returns immediately and passes the answer or error to `done`, as `start` does.
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
            calls::call_back(done, asked, |asked| RawAsked { text: asked.text, records: asked.records });
        })
    }

    /// Lists the definitions of the advertised tools, or of those in `only`, as JSON.
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

/// Converts an error to an exception of the package. The class depends on the code, so the package's Python
/// code creates the exception.
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

/// Lists the methods of a workspace as JSON.
#[pyfunction(name = "methods")]
fn all_methods() -> String {
    json!(methods()).to_string()
}

/// Lists the error classes as JSON.
#[pyfunction(name = "error_classes")]
fn all_error_classes() -> String {
    json!(error_classes()).to_string()
}

/// Ends background work and callbacks. This is registered with `atexit`.
#[pyfunction]
fn end(py: Python<'_>) {
    py.detach(|| end_all(None));
    calls::end(py);
}

/// Resets the state in a forked process. This is registered with `os.register_at_fork`.
#[pyfunction]
fn forked() {
    calls::forked();
}

/// Fails in a second interpreter of this process, because our types are created only once per process.
fn claim(py: Python<'_>) -> PyResult<()> {
    static MODULES: OnceLock<usize> = OnceLock::new();
    // Each interpreter has its own `sys.modules`, so we can tell interpreters apart by its address.
    let own = py.import("sys")?.getattr("modules")?.as_ptr() as usize;
    match *MODULES.get_or_init(|| own) == own {
        true => Ok(()),
        false => Err(PyImportError::new_err(
            "another interpreter of this process has loaded forage, which works in only one; use another process",
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
    // This function exists only where processes can fork, so e.g. not on Windows.
    if let Ok(register) = os.getattr("register_at_fork") {
        let forked = wrap_pyfunction!(forked, module)?;
        register.call((), Some(&[("after_in_child", forked)].into_py_dict(module.py())?))?;
    }
    module.add_function(wrap_pyfunction!(all_error_classes, module)?)
}
