//! The [`Tool`] trait and its type-erased form, [`AnyTool`].

use std::ops::ControlFlow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::ForeignNames;
use crate::context::Context;
use crate::error::ToolError;
use crate::outcome::{Answer, Render, ToolOutcome};
use crate::records::common_schema;
use crate::registry::Worded;
use crate::several::AboutRoots;

/// Defines methods that set the optional arguments of a request, each named like its field.
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

/// Repository text that leaves the machine in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// None.
    None,
    /// Redacted text goes to a model provider.
    SendsText,
}

/// A tool, with everything about it in one place.
///
/// A call blocks: it uses disk and processor on the tool's own threads. A front end that serves many callers
/// should run it on a separate thread and stop it through [`Context::stop`].
#[expect(private_bounds, reason = "text for models is written in this crate only")]
pub trait Tool {
    /// The name that callers use.
    const NAME: &'static str;
    /// The name of the method for programs.
    const METHOD: &'static str = Self::NAME;
    /// Other names that are accepted in calls but never advertised.
    const ALIASES: &'static [&'static str] = &[];
    /// The name where the tool stands among those of other servers without a prefix: no other server has it,
    /// and with the prefix `forage_` it still reads well.
    const DISTINCT_NAME: &'static str = Self::NAME;
    /// A short title for people.
    const TITLE: &'static str;
    /// The description that a model reads before a call: purpose, when to use it, when not, and the results.
    const DESCRIPTION: &'static str;
    /// Whether the tool is advertised by default. It can always be called.
    const ON_BY_DEFAULT: bool = true;
    /// Whether text leaves the machine.
    const EGRESS: Egress = Egress::None;
    /// Whether a call reads only one file or lists one directory, so that it need not queue after searches.
    const IS_QUICK: bool = false;
    /// The roots that a call without a root applies to.
    const ABOUT: AboutRoots = AboutRoots::Named;
    /// How a caller can include directories of dependencies and caches.
    const INCLUDES_NOISE: &'static str = "[[{grep_search} with {grep_search.include_ignored} searches them]]";
    /// Arguments that are accepted but not advertised, because advertised ones cost tokens in every
    /// conversation.
    const UNADVERTISED: &'static [&'static str] = &[];
    /// Arguments for paged answers, which [`Tool::each`] rejects.
    const OF_PAGES: &'static [&'static str] = &[];
    /// Names that other tools use for these arguments.
    const FOREIGN: &'static [ForeignNames] = &[];
    /// The request type.
    type Request: Clone + DeserializeOwned + JsonSchema + Sync;
    /// The response type.
    type Response: Serialize + JsonSchema + Render + Send + 'static;
    /// Converts arguments that have no direct equivalent in this tool to its own arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments can't be understood.
    fn adapt(_fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        Ok(())
    }
    /// Returns the path in the request, for a tool that has one.
    fn path(_request: &Self::Request) -> Option<&str> {
        None
    }
    /// Returns the request's field for the maximum number of results and the default maximum, for a tool that
    /// is called for [`AboutRoots::Each`] root.
    fn most<'a>(_request: &'a mut Self::Request, _context: &Context) -> Option<(&'a mut Option<i64>, u64)> {
        None
    }
    /// Runs a call.
    fn run(context: &Context, request: Self::Request) -> Result<ToolOutcome<Self::Response>, ToolError>;
    /// Returns the schema of the items that [`Tool::each`] streams, for a tool that supports it.
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
        context: &Context,
        request: Self::Request,
        _receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<Self::Response>, ToolError> {
        Self::run(context, request)
    }
}

/// Receives records one by one and returns whether to continue.
pub type RecordReceiver<'a> = &'a mut (dyn FnMut(Value) -> ControlFlow<()> + Send);

/// A tool without its types.
///
/// Programs can implement this trait for their own tools and add them to an agent with `Agent::add_tool` of
/// the crate `forage-agent`. They need a name, a title, a description, a schema and the call.
pub trait AnyTool: Send + Sync {
    /// Returns the name that callers use.
    fn name(&self) -> &str;
    /// Returns the original name, whatever name callers use.
    fn id(&self) -> &str {
        self.name()
    }
    /// Returns the name of the method for programs.
    fn method(&self) -> &str {
        self.name()
    }
    /// Returns names that are accepted but not advertised.
    fn aliases(&self) -> &[&'static str] {
        &[]
    }
    /// Returns the name to list among tools of other servers without a prefix.
    fn distinct_name(&self) -> &str {
        self.id()
    }
    /// Returns a short title for people.
    fn title(&self) -> &str;
    /// Returns the description for models: a template for [`ToolNames::fill`](crate::ToolNames::fill).
    fn description(&self) -> &str;
    /// Returns true if the description is such a template, and false if it is literal text.
    fn is_template(&self) -> bool {
        true
    }
    /// Returns true if the tool is advertised by default.
    fn is_on_by_default(&self) -> bool {
        true
    }
    /// Returns whether text leaves the machine.
    fn egress(&self) -> Egress {
        Egress::None
    }
    /// Returns the JSON schema of the advertised arguments, in the subset that every provider accepts.
    fn input_schema(&self) -> Value;
    /// Returns the same schema with all accepted arguments, including those not advertised.
    fn whole_schema(&self) -> Value {
        self.input_schema()
    }
    /// Returns the JSON schema of an answer's records. None of its fields is required, because an error has
    /// only `type`, `error` and `code`.
    fn output_schema(&self) -> Value {
        common_schema()
    }
    /// Returns the schema of the records of answers that are not errors, with its definitions under `$defs`.
    fn answer_schema(&self) -> Value {
        self.output_schema()
    }
    /// Returns true if a call reads only one file or lists one directory, so that it is fast on any tree.
    fn is_quick(&self) -> bool {
        false
    }
    /// Returns true if a call is about files below the roots.
    fn is_about_roots(&self) -> bool {
        true
    }
    /// Returns true if the user chose the name, which then takes precedence over any rule.
    fn is_named(&self) -> bool {
        false
    }
    /// Returns the same tool with another name and description; `None` for tools that are not in the
    /// registry.
    fn worded(&self, _wording: Worded) -> Option<Arc<dyn AnyTool>> {
        None
    }
    /// Returns a corrected form of the rejected request, if there is an unambiguous one.
    fn corrected(&self, _context: &Context, _request: Value, _error: &ToolError) -> Option<Value> {
        None
    }
    /// Runs a call from JSON; this is the same for all JSON front ends. If a pattern is not a valid regular
    /// expression but has one unambiguous meaning, we search for that, and the answer says so. A panic
    /// becomes an error of this call only.
    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError>;
    /// Returns the schema of the items that [`AnyTool::each`] streams, for a tool that supports it.
    fn piece_schema(&self) -> Option<Value> {
        None
    }
    /// Returns the schema of the arguments that [`AnyTool::each`] accepts.
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
    fn each(
        &self,
        context: &Context,
        request: Value,
        _receive: RecordReceiver<'_>,
    ) -> Result<Answer, ToolError> {
        self.call(context, request)
    }
}

impl<'a> AsRef<dyn AnyTool + 'a> for dyn AnyTool + 'a {
    fn as_ref(&self) -> &(dyn AnyTool + 'a) {
        self
    }
}
