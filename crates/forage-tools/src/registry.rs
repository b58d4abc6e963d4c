//! The one table of tools. Schemas, command line, definitions for providers and tests come from it.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use forage_fs::{RelPath, Stop};
use serde_json::Value;

use crate::arguments::{self, Definition};
use crate::context::{Context, FilterMode};
use crate::correction;
use crate::error::ToolError;
use crate::outcome::Answer;
use crate::sanitize::sanitize;
use crate::schema;
use crate::telemetry::Told;
use crate::text::absolute;
use crate::tool::{Egress, Tool};
use crate::tools::{GrepSearch, KeywordLookup, KeywordSearch, ListDirectory, ReadFile, Search, SearchIndex};

/// A tool without its types.
pub trait AnyTool: Sync {
    /// The name that callers use.
    fn name(&self) -> &'static str;
    /// The name that it has by itself, whatever callers use.
    fn id(&self) -> &'static str {
        self.name()
    }
    /// Names that are resolved and not advertised.
    fn aliases(&self) -> &'static [&'static str];
    /// A short title for people.
    fn title(&self) -> &'static str;
    /// What a model reads: a template for [`Names::fill`](crate::Names::fill).
    fn description(&self) -> &'static str;
    /// Whether agents are told of it unless the configuration says otherwise.
    fn is_on_by_default(&self) -> bool;
    /// Whether text leaves the machine.
    fn egress(&self) -> Egress;
    /// The arguments as a JSON schema in the subset that every provider takes.
    fn input_schema(&self) -> Value;
    /// The records of an answer as a JSON schema. None of its fields is required: an error has `type` and `error` alone.
    fn output_schema(&self) -> Value {
        schema::records_of_all()
    }
    /// Whether a call reads one file or lists one directory, and ends soon on any tree.
    fn is_quick(&self) -> bool {
        false
    }
    /// The refused request as the tool would take it, where that can be told.
    fn corrected(&self, _context: &Context, _request: Value, _error: &ToolError) -> Option<Value> {
        None
    }
    /// Runs a call from JSON. A panic is this call's error and nobody else's.
    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError>;
}

struct Entry<T>(PhantomData<fn() -> T>);

impl<T: Tool> AnyTool for Entry<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        T::ALIASES
    }

    fn title(&self) -> &'static str {
        T::TITLE
    }

    fn description(&self) -> &'static str {
        T::DESCRIPTION.trim_ascii_end()
    }

    fn is_on_by_default(&self) -> bool {
        T::ON_BY_DEFAULT
    }

    fn egress(&self) -> Egress {
        T::EGRESS
    }

    fn input_schema(&self) -> Value {
        schema::portable::<T::Request>()
    }

    fn output_schema(&self) -> Value {
        schema::records::<T::Response>()
    }

    fn is_quick(&self) -> bool {
        T::IS_QUICK
    }

    fn corrected(&self, context: &Context, request: Value, error: &ToolError) -> Option<Value> {
        let schema = self.input_schema();
        let corrected = correction::corrected(&Definition::of::<T>(&schema), request, error)?;
        if correction::has_placeholder(&corrected) {
            return Some(corrected);
        }
        // Whether the tool takes it is found out by a call that ends before it does anything.
        let mut context = context.clone();
        context.telemetry = Told::default();
        context.stop = Stop::never();
        context.stop.cancel();
        context.filter.mode = FilterMode::Lexical;
        let refused = matches!(
            self.call(&context, corrected.clone()),
            Err(ToolError::Request(_)
                | ToolError::Argument { .. }
                | ToolError::Pattern { .. }
                | ToolError::Path(_))
        );
        (!refused).then_some(corrected)
    }

    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError> {
        let started = Instant::now();
        let path = request["path"].as_str().filter(|path| Path::new(path).is_absolute());
        let root = path.and_then(|path| Some(context.roots.find(path).ok()?.0));
        let names_root = root.is_some();
        let root = root.unwrap_or_else(|| Arc::clone(context.roots.main()));
        let schema = self.input_schema();
        let (request, notes) = arguments::parse(&Definition::of::<T>(&schema), request)?;
        let internal = |message: String| ToolError::Internal { tool: T::NAME, message };
        let mut outcome = catch_unwind(AssertUnwindSafe(|| T::run(context, request)))
            .unwrap_or_else(|panic| Err(internal(panic_message(&*panic))))?;
        outcome.elapsed = started.elapsed();
        outcome.included_by = T::INCLUDES_NOISE;
        outcome.warnings.splice(..0, notes);
        if T::IS_ABOUT_ROOTS {
            outcome.warnings.extend(context.notices.iter().cloned());
            outcome.warnings.extend(other_roots(context, names_root));
            let is_one_of_several = names_root && context.roots.all().len() > 1;
            let path = absolute(&root, &RelPath::root());
            outcome.root = Some((path, context.names_root || is_one_of_several));
        }
        let untold = context.indexes.iter().flat_map(|indexes| indexes.take_warnings());
        outcome.warnings.extend(untold.map(|warning| sanitize(&warning)));
        Answer::of(&mut outcome, context).map_err(|error| internal(error.to_string()))
    }
}

/// A call that names no root is about the first; that there are others must not go unsaid.
fn other_roots(context: &Context, names_root: bool) -> Option<String> {
    let (first, others) =
        context.roots.all().split_first().filter(|(_, others)| !others.is_empty() && !names_root)?;
    let others: Vec<_> = others.iter().map(|root| root.path().display().to_string()).collect();
    Some(sanitize(&format!(
        "this is about {} alone; the other roots are {}: name one, or a path in it, as `path` of a tool that has one",
        first.path().display(),
        others.join(", ")
    )))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// All tools, in the order in which they are advertised.
pub static TOOLS: &[&dyn AnyTool] = &[
    &Entry::<KeywordSearch>(PhantomData),
    &Entry::<GrepSearch>(PhantomData),
    &Entry::<SearchIndex>(PhantomData),
    &Entry::<ListDirectory>(PhantomData),
    &Entry::<ReadFile>(PhantomData),
    &Entry::<Search>(PhantomData),
    &Entry::<KeywordLookup>(PhantomData),
];

/// Which tools agents are told of, and by which names.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Tools that are on although they are off by default.
    pub on: Vec<&'static str>,
    /// Tools that are off although they are on by default.
    pub off: Vec<&'static str>,
    /// What stands in front of every name.
    pub prefix: String,
    /// What `keyword_lookup` is called. Without a name of the user's it is `keyword_search`, as its requirement calls
    /// it, where the other tool of that name is off, and `keyword_lookup` otherwise.
    pub lookup_name: Option<String>,
}

impl Choice {
    /// All tools, by their own names.
    pub fn all() -> Self {
        Self { on: TOOLS.iter().map(|tool| tool.name()).collect(), ..Self::default() }
    }

    /// Whether agents are told of this one.
    pub fn has(&self, tool: &dyn AnyTool) -> bool {
        let name = tool.name();
        (tool.is_on_by_default() || self.on.contains(&name)) && !self.off.contains(&name)
    }

    fn name_of_lookup(&self) -> &str {
        match &self.lookup_name {
            Some(name) => name,
            None if self.off.contains(&KeywordSearch::NAME) => KeywordSearch::NAME,
            None => KeywordLookup::NAME,
        }
    }
}

/// The tools that agents are told of, in their order.
///
/// # Errors
/// Two of them have one name.
pub fn advertised(choice: &Choice) -> Result<Vec<&'static dyn AnyTool>, ToolError> {
    let mut tools: Vec<&'static dyn AnyTool> = Vec::new();
    for &tool in TOOLS.iter().filter(|tool| choice.has(**tool)) {
        let is_lookup = tool.name() == KeywordLookup::NAME;
        let name =
            format!("{}{}", choice.prefix, if is_lookup { choice.name_of_lookup() } else { tool.name() });
        let tool = match name != tool.name() {
            // A process chooses its tools once, so that what they are called may stay as long as it.
            true => Box::leak(Box::new(Renamed { name: name.leak(), tool })),
            false => tool,
        };
        if tools.iter().any(|other| other.name() == tool.name()) {
            return Err(ToolError::SameName {
                name: tool.name(),
                first: tool.name(),
                second: KeywordLookup::NAME,
            });
        }
        tools.push(tool);
    }
    Ok(tools)
}

/// A tool by a name of the user's.
struct Renamed {
    name: &'static str,
    tool: &'static dyn AnyTool,
}

impl AnyTool for Renamed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn id(&self) -> &'static str {
        self.tool.id()
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.tool.aliases()
    }

    fn title(&self) -> &'static str {
        self.tool.title()
    }

    fn description(&self) -> &'static str {
        self.tool.description()
    }

    fn is_on_by_default(&self) -> bool {
        self.tool.is_on_by_default()
    }

    fn egress(&self) -> Egress {
        self.tool.egress()
    }

    fn input_schema(&self) -> Value {
        self.tool.input_schema()
    }

    fn output_schema(&self) -> Value {
        self.tool.output_schema()
    }

    fn is_quick(&self) -> bool {
        self.tool.is_quick()
    }

    fn corrected(&self, context: &Context, request: Value, error: &ToolError) -> Option<Value> {
        self.tool.corrected(context, request, error)
    }

    fn call(&self, context: &Context, request: Value) -> Result<Answer, ToolError> {
        self.tool.call(context, request)
    }
}

/// The tool with this name or alias.
pub fn find(name: &str) -> Result<&'static dyn AnyTool, ToolError> {
    TOOLS.iter().find(|tool| tool.name() == name || tool.aliases().contains(&name)).copied().ok_or_else(
        || {
            let known: Vec<_> = TOOLS.iter().map(|tool| tool.name()).collect();
            ToolError::UnknownTool { name: name.escape_debug().to_string(), known: known.join(", ") }
        },
    )
}
