//! The [`Tool`] trait and its type-erased form, [`AnyTool`].

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::ArgumentAliases;
use crate::call::Call;
use crate::error::ToolError;
use crate::multi_root::{RootScope, RootShares};
use crate::outcome::{Answer, Render, ToolOutcome};
use crate::records::common_schema;

/// Defines builder methods that set the optional arguments of a request. Each is named like its field.
macro_rules! setters {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](#structfield.", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, value: impl Into<$type>) -> Self {
                self.$name = Some(value.into());
                self
            }
        )*
    };
}

/// Repository text that leaves the machine during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// None.
    None,
    /// Redacted text goes to a model provider.
    SendsText,
}

/// The properties of a tool. A tool with another name or description has a changed copy of them.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The original name, whatever name callers use.
    pub id: Cow<'static, str>,
    /// The name that callers use.
    pub name: Cow<'static, str>,
    /// Whether the user chose the name. It must then take precedence over any rule.
    pub is_named: bool,
    /// The name of the method for programs.
    pub method: Cow<'static, str>,
    /// Other names that we accept in calls but never advertise.
    pub aliases: &'static [&'static str],
    /// The name for a list in which tools of several servers have no prefix. No other server should have a
    /// tool with this name, and it should still read well with the prefix `forage_`.
    pub distinct_name: Cow<'static, str>,
    /// A short title for people.
    pub title: Cow<'static, str>,
    /// The description that a model reads before a call: purpose, when to use it, when not, and the results.
    /// This is a template for [`ToolNames::fill`](crate::ToolNames::fill), unless [`ToolSpec::is_template`] is
    /// false.
    pub description: Cow<'static, str>,
    /// False if the description is literal text instead of a template.
    pub is_template: bool,
    /// Whether the tool is advertised by default. Programs and the command line can always use it, but an MCP
    /// server rejects calls of a tool that is off.
    pub is_on_by_default: bool,
    /// Repository text that leaves the machine during a call.
    pub egress: Egress,
    /// Whether a call reads only one file or lists one directory, so that it is fast on any tree and need not
    /// queue after searches.
    pub is_quick: bool,
    /// Whether a call is about files below the roots.
    pub is_about_roots: bool,
}

impl ToolSpec {
    /// Creates the properties of a tool that is advertised and sends no text.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        let name = name.into();
        Self {
            id: name.clone(),
            method: name.clone(),
            distinct_name: name.clone(),
            name,
            is_named: false,
            aliases: &[],
            title: title.into(),
            description: description.into(),
            is_template: true,
            is_on_by_default: true,
            egress: Egress::None,
            is_quick: false,
            is_about_roots: true,
        }
    }
}

/// A tool, with everything about it in one place.
///
/// A call blocks: it uses disk and processor on the tool's own threads. A front end that serves many callers
/// should run it on a separate thread and stop it through [`Call::stop`].
#[expect(private_bounds, reason = "text for models is written in this crate only")]
pub trait Tool {
    /// The original name.
    const NAME: &'static str;
    /// The roots that a call without a root applies to.
    const ABOUT: RootScope = RootScope::Single;
    /// How a caller can include directories of dependencies and caches. With `None`, the note names another
    /// search that reads them.
    const INCLUDES_NOISE: Option<&'static str> = None;
    /// Arguments that we accept but do not advertise, because each advertised one costs tokens in every
    /// conversation.
    const UNADVERTISED: &'static [&'static str] = &[];
    /// Arguments for paged answers, which [`Tool::each`] must reject.
    const OF_PAGES: &'static [&'static str] = &[];
    /// Names that other tools use for these arguments.
    const FOREIGN: &'static [ArgumentAliases] = &[];
    /// The request type.
    type Request: Clone + DeserializeOwned + JsonSchema + Send + Sync;
    /// The response type.
    type Response: Serialize + JsonSchema + Render + Send + 'static;
    /// Returns the properties of the tool.
    fn spec() -> ToolSpec;
    /// Converts arguments that have no direct equivalent in this tool to its own arguments.
    ///
    /// # Errors
    ///
    /// Fails if the arguments have no clear meaning.
    fn adapt(_fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        Ok(())
    }
    /// Returns the path in the request, for a tool that has one.
    fn path(_request: &Self::Request) -> Option<&str> {
        None
    }
    /// Returns the request's field for the maximum number of results and the default maximum. A tool must
    /// implement this or [`Tool::shares`] if it is called for [`RootScope::PerRoot`] root.
    fn max_results<'a>(
        _request: &'a mut Self::Request,
        _context: &Call,
    ) -> Option<(&'a mut Option<i64>, u64)> {
        None
    }
    /// Divides a request among the roots of the call, if its limit is for all of them together and is not
    /// a number of results.
    #[doc(hidden)]
    fn shares(_context: &Call, _request: &Self::Request) -> Option<RootShares<Self::Request>> {
        None
    }
    /// Runs a call.
    fn run(call: &Call, request: Self::Request) -> Result<ToolOutcome<Self::Response>, ToolError>;
    /// Generates the schema of the items that [`Tool::each`] streams, for a tool that supports this.
    fn piece_schema() -> Option<Value> {
        None
    }
    /// Runs a call that streams all results as records until `receive` breaks. The outcome has counts but no
    /// items.
    ///
    /// # Errors
    ///
    /// See [`Tool::run`].
    fn each(
        call: &Call,
        request: Self::Request,
        _receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<Self::Response>, ToolError> {
        Self::run(call, request)
    }
}

/// Receives records one by one, and decides each time whether to continue.
pub type RecordReceiver<'a> = &'a mut (dyn FnMut(Value) -> ControlFlow<()> + Send);

/// A tool without its types.
///
/// Programs can implement this trait for their own tools and add them to an agent with `Agent::add_tool` of
/// the crate `forage-agent`. Such a tool needs its properties, a schema and the call.
pub trait AnyTool: Send + Sync {
    /// Returns the properties of the tool.
    fn spec(&self) -> &ToolSpec;
    /// The name that callers use.
    fn name(&self) -> &str {
        &self.spec().name
    }
    /// The original name, whatever name callers use.
    fn id(&self) -> &str {
        &self.spec().id
    }
    /// The JSON schema of the advertised arguments, in the subset that every provider accepts.
    fn input_schema(&self) -> Value;
    /// The same schema with all accepted arguments, including those that we do not advertise.
    fn whole_schema(&self) -> Value {
        self.input_schema()
    }
    /// The JSON schema of an answer's records. None of its fields is required, because an error has only
    /// `type`, `error` and `code`.
    fn output_schema(&self) -> Value {
        common_schema()
    }
    /// The schema of the records of answers that are not errors, with its definitions under `$defs`.
    fn answer_schema(&self) -> Value {
        self.output_schema()
    }
    /// Creates the same tool with other properties, for example another name. Returns `None` for a tool that
    /// is not in the registry.
    fn with_spec(&self, _spec: ToolSpec) -> Option<Arc<dyn AnyTool>> {
        None
    }
    /// Corrects a rejected request, if there is an unambiguous correction.
    fn corrected(&self, _context: &Call, _request: Value, _error: &ToolError) -> Option<Value> {
        None
    }
    /// Runs a call from JSON. This is the same for all JSON front ends. If a pattern is not a valid regular
    /// expression but has one unambiguous meaning, we search for that, and the answer says so. A panic
    /// becomes an error of this call only.
    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError>;
    /// The schema of the items that [`AnyTool::each`] streams, for a tool that supports this.
    fn piece_schema(&self) -> Option<Value> {
        None
    }
    /// The schema of the arguments that [`AnyTool::each`] accepts.
    fn each_schema(&self) -> Value {
        self.whole_schema()
    }
    /// Runs a call from JSON that streams all results as records until `receive` breaks. The answer has
    /// counts but no items. A tool that does not support this streams nothing and returns the same answer as
    /// [`AnyTool::call`].
    ///
    /// # Errors
    ///
    /// See [`AnyTool::call`].
    fn each(&self, call: &Call, request: Value, _receive: RecordReceiver<'_>) -> Result<Answer, ToolError> {
        self.call(call, request)
    }
}

impl<'a> AsRef<dyn AnyTool + 'a> for dyn AnyTool + 'a {
    fn as_ref(&self) -> &(dyn AnyTool + 'a) {
        self
    }
}
