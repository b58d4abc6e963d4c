//! What a tool is.

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

/// Methods that set the optional arguments of a request, each called as its field.
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

/// The text of the repository that leaves the machine in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Never.
    None,
    /// Redacted text goes to a model provider.
    SendsText,
}

/// A tool: everything about it in one place.
///
/// A call blocks: the work is disk and processor, done on the tool's own threads. A front that serves many callers
/// runs it on a thread of its own and stops it through [`Context::stop`].
#[expect(private_bounds, reason = "text for models is written in this crate only")]
pub trait Tool {
    /// The name that callers use.
    const NAME: &'static str;
    /// The name of the method that programs call it by.
    const METHOD: &'static str = Self::NAME;
    /// Other names that are resolved when called and never advertised.
    const ALIASES: &'static [&'static str] = &[];
    /// A short title for people.
    const TITLE: &'static str;
    /// What a model reads before it calls: what, when, when not, what comes back.
    const DESCRIPTION: &'static str;
    /// Whether the tool is in the lists that agents get unless the configuration says otherwise. It can always be called.
    const ON_BY_DEFAULT: bool = true;
    /// Whether text leaves the machine.
    const EGRESS: Egress = Egress::None;
    /// Whether a call reads one file or lists one directory, so that it need not wait behind searches.
    const IS_QUICK: bool = false;
    /// What a call that names no root is about.
    const ABOUT: AboutRoots = AboutRoots::Named;
    /// How a caller gets what is in directories of dependencies and caches, too.
    const INCLUDES_NOISE: &'static str = "[[{grep_search} with {grep_search.include_ignored} searches them]]";
    /// Arguments that are taken and that agents are not told of, as what is told costs its tokens in every conversation.
    const UNADVERTISED: &'static [&'static str] = &[];
    /// Arguments that are for an answer of some results, which [`Tool::each`] refuses.
    const OF_PAGES: &'static [&'static str] = &[];
    /// Arguments that other tools have for the same, by their names there.
    const FOREIGN: &'static [ForeignNames] = &[];
    /// The arguments.
    type Request: Clone + DeserializeOwned + JsonSchema + Sync;
    /// The answer.
    type Response: Serialize + JsonSchema + Render + Send + 'static;
    /// Brings arguments that this tool has no single one for into those that it has.
    ///
    /// # Errors
    /// They can't be understood.
    fn adapt(_fields: &mut Map<String, Value>) -> Result<(), ToolError> {
        Ok(())
    }
    /// Returns the path that a request names, of a tool that has one.
    fn path(_request: &Self::Request) -> Option<&str> {
        None
    }
    /// Returns where a request says how many results there may be, and how many there may be where it does not, of a tool
    /// that is called for [`AboutRoots::Each`] root.
    fn most<'a>(_request: &'a mut Self::Request, _context: &Context) -> Option<(&'a mut Option<i64>, u64)> {
        None
    }
    /// Runs a call.
    fn run(context: &Context, request: Self::Request) -> Result<ToolOutcome<Self::Response>, ToolError>;
    /// Returns the schema of what [`Tool::each`] hands over, of a tool that has it.
    fn piece_schema() -> Option<Value> {
        None
    }
    /// Runs a call that hands over all there is, piece by piece as records, until `receive` breaks off. The outcome has counts
    /// and no pieces.
    ///
    /// # Errors
    /// As of [`Tool::run`].
    fn each(
        context: &Context,
        request: Self::Request,
        _receive: RecordReceiver<'_>,
    ) -> Result<ToolOutcome<Self::Response>, ToolError> {
        Self::run(context, request)
    }
}

/// Is given records one by one, and says whether it wants more.
pub type RecordReceiver<'a> = &'a mut (dyn FnMut(Value) -> ControlFlow<()> + Send);

/// A tool without its types.
///
/// A program's own tool implements it, too, and joins an agent by `Agent::add_tool` of the crate `forage-agent`. It needs a
/// name, a title, a description, a schema and the call.
pub trait AnyTool: Send + Sync {
    /// The name that callers use.
    fn name(&self) -> &str;
    /// The name that it has by itself, whatever callers use.
    fn id(&self) -> &str {
        self.name()
    }
    /// The name of the method that programs call it by.
    fn method(&self) -> &str {
        self.name()
    }
    /// Names that are resolved and not advertised.
    fn aliases(&self) -> &[&'static str] {
        &[]
    }
    /// A short title for people.
    fn title(&self) -> &str;
    /// What a model reads: a template for [`ToolNames::fill`](crate::ToolNames::fill).
    fn description(&self) -> &str;
    /// Whether its description is such a template, and not the words of somebody who does not know of them.
    fn is_template(&self) -> bool {
        true
    }
    /// Whether agents are told of it unless the configuration says otherwise.
    fn is_on_by_default(&self) -> bool {
        true
    }
    /// Whether text leaves the machine.
    fn egress(&self) -> Egress {
        Egress::None
    }
    /// The arguments that agents are told of, as a JSON schema in the subset that every provider takes.
    fn input_schema(&self) -> Value;
    /// The same with all arguments that are taken, also those that agents are not told of.
    fn whole_schema(&self) -> Value {
        self.input_schema()
    }
    /// The records of an answer as a JSON schema. None of its fields is required: an error has
    /// `type`, `error` and `code` alone.
    fn output_schema(&self) -> Value {
        common_schema()
    }
    /// The same as every answer that is none has them, with what they are made of under `$defs`.
    fn answer_schema(&self) -> Value {
        self.output_schema()
    }
    /// Whether a call reads one file or lists one directory, and ends soon on any tree.
    fn is_quick(&self) -> bool {
        false
    }
    /// Whether a call is about files beneath the roots.
    fn is_about_roots(&self) -> bool {
        true
    }
    /// Whether the user chose its name, which then goes in front of any rule.
    fn is_named(&self) -> bool {
        false
    }
    /// The same tool with other words, of one of the registry.
    fn worded(&self, _wording: Worded) -> Option<Arc<dyn AnyTool>> {
        None
    }
    /// The refused request as the tool would take it, where that can be told.
    fn corrected(&self, _context: &Context, _request: Value, _error: &ToolError) -> Option<Value> {
        None
    }
    /// Runs a call from JSON, the same for all who write some. A pattern that is no regular expression and can be meant in one
    /// way only is searched for in that way, and the answer says so. A panic is an error of this call alone.
    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError>;
    /// The schema of what [`AnyTool::each`] hands over, of a tool that has it.
    fn piece_schema(&self) -> Option<Value> {
        None
    }
    /// The arguments that [`AnyTool::each`] takes.
    fn each_schema(&self) -> Value {
        self.whole_schema()
    }
    /// Runs a call from JSON that hands over all there is, piece by piece as records, until `receive` breaks off. The answer has
    /// counts and no pieces. A tool that can't hands over nothing and answers as to [`AnyTool::call`].
    ///
    /// # Errors
    /// As of [`AnyTool::call`].
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
