//! The registry of tools. We derive schemas, command line, provider definitions and tests from it.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, OnceLock};

use forage_base::Stop;
use serde_json::Value;

use crate::arguments::{self, ArgumentDefinition};
use crate::call::Call;
use crate::correction;
use crate::error::ToolError;
use crate::file_names::with_nearest;
use crate::finish::{RunningCall, internal};
use crate::limits;
use crate::multi_root::{self, RootScope};
use crate::names::ToolNames;
use crate::outcome::{Answer, ToolOutcome};
use crate::records::{answer_schema, loose_schema};
use crate::sanitize::sanitize_line;
use crate::schema;
use crate::settings::FilterMode;
use crate::text::clip;
pub use crate::tool::AnyTool;
use crate::tool::{RecordReceiver, Tool, ToolSpec};
use crate::tools::{
    GrepSearch, KeywordLookup, KeywordSearch, ListDirectory, ReadFile, Search, SearchHistory, SearchIndex,
};

struct RegistryEntry<T> {
    /// The tool's own properties, or those that replace them.
    spec: OnceLock<ToolSpec>,
    /// Created on first use.
    schema: OnceLock<Value>,
    tool: PhantomData<fn() -> T>,
}

impl<T: Tool> RegistryEntry<T> {
    const fn new() -> Self {
        Self { spec: OnceLock::new(), schema: OnceLock::new(), tool: PhantomData }
    }

    fn schema(&self) -> &Value {
        self.schema.get_or_init(schema::portable::<T::Request>)
    }

    fn call_as_written(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let definition = ArgumentDefinition::for_tool::<T>(self.schema(), &call.workspace.names);
        let (request, notes) = arguments::parse(&definition, request)?;
        Ok(Answer::from_outcome(call_with::<T>(call, request, notes)?, call.limits.text_bytes))
    }
}

impl<T: Tool + 'static> AnyTool for RegistryEntry<T> {
    fn spec(&self) -> &ToolSpec {
        self.spec.get_or_init(T::spec)
    }

    fn with_spec(&self, spec: ToolSpec) -> Option<Arc<dyn AnyTool>> {
        Some(Arc::new(Self { spec: spec.into(), ..Self::new() }))
    }

    fn input_schema(&self) -> Value {
        let mut schema = self.schema().clone();
        if let Some(arguments) = schema["properties"].as_object_mut() {
            arguments.retain(|name, _| !T::UNADVERTISED.contains(&name.as_str()));
        }
        schema
    }

    fn whole_schema(&self) -> Value {
        self.schema().clone()
    }

    fn output_schema(&self) -> Value {
        loose_schema::<T::Response>()
    }

    fn answer_schema(&self) -> Value {
        answer_schema::<T>()
    }

    fn corrected(&self, call: &Call, request: Value, error: &ToolError) -> Option<Value> {
        let definition = ArgumentDefinition::for_tool::<T>(self.schema(), &call.workspace.names);
        let corrected = correction::corrected(&definition, request, error)?;
        // The placeholder itself would be rejected, so we can't check this request.
        if correction::has_placeholder(&corrected) {
            return Some(corrected);
        }
        // To check that the tool accepts the request, make a call that is cancelled before it does anything.
        let mut call = Call { stop: Stop::never(), noted: Arc::default(), ..call.clone() };
        call.stop.cancel();
        call.workspace_mut().filter.mode = FilterMode::Lexical;
        let refused = matches!(
            self.call_as_written(&call, corrected.clone()),
            Err(ToolError::Request(_)
                | ToolError::Argument { .. }
                | ToolError::Pattern { .. }
                | ToolError::Path(_)
                | ToolError::NoSuchPath { .. })
        );
        (!refused).then_some(corrected)
    }

    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let error = match self.call_as_written(call, request.clone()) {
            Err(error @ ToolError::Pattern { .. }) => error,
            result => return result,
        };
        let Some(corrected) = self.corrected(call, request, &error) else { return Err(error) };
        let mut call = call.clone();
        let pattern = sanitize_line(corrected["pattern"].as_str().unwrap_or_default()).into_owned();
        let pattern = clip(&pattern, limits::QUOTED_BYTES);
        call.notices.push(format!(
            "the pattern is not a valid regular expression; searched for this instead: {pattern}"
        ));
        // The caller did not write the corrected pattern, so an error must be about the original one.
        self.call_as_written(&call, corrected).map_err(|_| error)
    }

    fn piece_schema(&self) -> Option<Value> {
        T::piece_schema()
    }

    fn each_schema(&self) -> Value {
        let mut schema = self.schema().clone();
        if let Some(arguments) = schema["properties"].as_object_mut() {
            arguments.retain(|name, _| !T::OF_PAGES.contains(&name.as_str()));
        }
        schema
    }

    fn each(&self, call: &Call, request: Value, receive: RecordReceiver<'_>) -> Result<Answer, ToolError> {
        let definition = ArgumentDefinition::for_tool::<T>(self.schema(), &call.workspace.names);
        let (request, notes) = arguments::parse(&definition, request)?;
        let outcome = catch_unwind(AssertUnwindSafe(|| T::each(call, request, receive)));
        let mut outcome = outcome.unwrap_or_else(|panic| Err(internal::<T>(call, panic_message(&*panic))))?;
        outcome.warnings.splice(0..0, notes);
        Ok(Answer::from_outcome(outcome, call.limits.text_bytes))
    }
}

/// Formats the message to a model for a rejected call: the problem, and the corrected call if there is one.
pub fn refusal(tool: &dyn AnyTool, call: &Call, request: Value, error: &ToolError) -> String {
    let mut message = error.message(tool.id(), &call.workspace.names);
    if let Some(corrected) = tool.corrected(call, request, error) {
        message += &format!("\nCall it like this: {} {corrected}", call.workspace.names.called(tool.id()));
    }
    // The message may quote the arguments, and these may contain secrets.
    clip(&call.workspace.without_secrets(&message), limits::ERROR_BYTES)
}

/// Runs a call with a typed request. Use [`AnyTool::call`] for a request in JSON. The outcome is redacted but
/// not rendered. A panic becomes an error of this call only.
///
/// # Errors
///
/// Fails with the tool's error.
pub fn call<T: Tool>(call: &Call, request: T::Request) -> Result<ToolOutcome<T::Response>, ToolError> {
    call_with::<T>(call, request, Vec::new())
}

/// Parses arguments as a call of the tool does, including the names that other tools use for them.
///
/// # Errors
///
/// Fails if the arguments don't fit the tool's schema.
pub fn request<T: Tool>(call: &Call, arguments: Value) -> Result<T::Request, ToolError> {
    let schema = schema::portable::<T::Request>();
    let definition = ArgumentDefinition::for_tool::<T>(&schema, &call.workspace.names);
    Ok(arguments::parse(&definition, arguments)?.0)
}

/// Like [`call`], but renders the answer, limited to the call's `text_bytes`.
///
/// # Errors
///
/// Fails with the tool's error.
pub fn answer<T: Tool>(call: &Call, request: T::Request) -> Result<Answer, ToolError> {
    Ok(render::<T>(call, self::call::<T>(call, request)?))
}

/// Renders the outcome of [`call`], limited to the call's `text_bytes`.
pub fn render<T: Tool>(call: &Call, outcome: ToolOutcome<T::Response>) -> Answer {
    Answer::from_outcome(outcome, call.limits.text_bytes)
}

/// Dispatches a call. `notes` come from argument parsing.
fn call_with<T: Tool>(
    call: &Call,
    request: T::Request,
    notes: Vec<String>,
) -> Result<ToolOutcome<T::Response>, ToolError> {
    let path = T::path(&request).map(str::to_owned);
    let with_dependency = call.with_dependency(path.as_deref())?;
    let call = with_dependency.as_ref().unwrap_or(call);
    let root = match T::ABOUT {
        RootScope::None => None,
        _ => match multi_root::chosen::<T>(call, path.as_deref())? {
            None => return multi_root::each::<T>(call, &request, notes),
            root => root,
        },
    };
    let is_other = root.as_ref().is_some_and(|root| !call.is_first(root));
    let running = RunningCall::start(root.as_ref(), is_other);
    let outcome = run::<T>(call, request);
    let mut outcome = outcome.map_err(|error| with_nearest(call, path.as_deref(), error))?;
    running.finish::<T>(&mut outcome, call, notes);
    Ok(outcome)
}

pub(crate) fn run<T: Tool>(call: &Call, request: T::Request) -> Result<ToolOutcome<T::Response>, ToolError> {
    catch_unwind(AssertUnwindSafe(|| T::run(call, request)))
        .unwrap_or_else(|panic| Err(internal::<T>(call, panic_message(&*panic))))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

macro_rules! tools {
    ($($tool:ident),* $(,)?) => {
        /// All tools, in the order in which they are advertised.
        pub static TOOLS: &[&dyn AnyTool] = &[$({
            static ENTRY: RegistryEntry<$tool> = RegistryEntry::new();
            &ENTRY
        }),*];
    };
}

tools![SearchIndex, GrepSearch, KeywordSearch, ListDirectory, ReadFile, Search, KeywordLookup, SearchHistory];

/// The names in the registry, without any configuration.
static OWN: LazyLock<Arc<ToolNames>> = LazyLock::new(|| Arc::new(ToolNames::from_tools(TOOLS)));

impl ToolNames {
    /// Collects the current names of `tools`.
    pub fn from_tools<T: AsRef<dyn AnyTool>>(tools: &[T]) -> Self {
        Self::from_tools_with(tools, |tool| tool.name().to_owned())
    }

    /// Like [`Self::from_tools`], but converts each name by `write`, because clients put a prefix in front of names.
    pub fn from_tools_with<T: AsRef<dyn AnyTool>>(
        tools: &[T],
        write: impl Fn(&dyn AnyTool) -> String,
    ) -> Self {
        let pair = |tool: &dyn AnyTool| (tool.id().to_owned(), write(tool));
        Self::new(tools.iter().map(|tool| pair(tool.as_ref())).collect())
    }

    /// Returns the original names of all tools.
    pub fn own() -> Arc<Self> {
        Arc::clone(&OWN)
    }
}

/// The user's name and description for a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolOverride {
    /// The tool's original name.
    pub tool: &'static str,
    /// The user's name. `None` keeps the original one.
    pub name: Option<String>,
    /// The user's description for models. `None` keeps the built-in one.
    pub description: Option<String>,
}

/// The tools advertised to agents, with their names and descriptions.
#[derive(Clone, Debug, Default)]
pub struct ToolSelection {
    /// Tools to enable although they are off by default.
    pub on: Vec<&'static str>,
    /// Tools to disable although they are on by default.
    pub off: Vec<&'static str>,
    /// The prefix of every name.
    pub prefix: String,
    /// The user's names and descriptions. If `keyword_search` is off, `keyword_lookup` takes over this name,
    /// as in its requirement, unless the user has named it.
    pub wordings: Vec<ToolOverride>,
}

/// Returns the configuration key of a tool's setting.
pub fn setting(tool: &str, name: &str) -> String {
    format!("tools.{}.{name}", tool.to_ascii_lowercase())
}

/// Returns true if a tool may have this name. MCP and all providers accept 1 to 64 ASCII letters, digits, `_`
/// and `-`.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

impl ToolSelection {
    /// Selects all tools, with their original names.
    pub fn all() -> Self {
        Self::default().with_all()
    }

    /// Enables all tools, but keeps the prefix, names and descriptions of this selection.
    pub fn with_all(self) -> Self {
        Self { on: TOOLS.iter().map(|tool| tool.name()).collect(), off: Vec::new(), ..self }
    }

    /// Renames one tool.
    pub fn call(mut self, tool: &'static str, name: &str) -> Self {
        self.wordings.push(ToolOverride { tool, name: Some(name.to_owned()), description: None });
        self
    }

    fn wording(&self, tool: &str) -> Option<&ToolOverride> {
        self.wordings.iter().find(|wording| wording.tool == tool)
    }

    /// Returns true if this tool is advertised to agents.
    pub fn has(&self, tool: &dyn AnyTool) -> bool {
        let id = tool.id();
        (tool.spec().is_on_by_default || self.on.contains(&id)) && !self.off.contains(&id)
    }

    /// Determines the name of a tool.
    fn name_of(&self, tool: &dyn AnyTool) -> String {
        let id = tool.id();
        let is_free = id == KeywordLookup::NAME && self.off.contains(&KeywordSearch::NAME);
        let name = self.wording(id).and_then(|wording| wording.name.as_deref());
        format!("{}{}", self.prefix, name.unwrap_or(if is_free { KeywordSearch::NAME } else { id }))
    }

    /// Lists the advertised tools with their names.
    ///
    /// # Errors
    ///
    /// Fails if clients would reject a name, or if two tools have the same name.
    pub fn names(&self) -> Result<Vec<(&'static dyn AnyTool, String)>, ToolError> {
        let mut named: Vec<(&'static dyn AnyTool, String)> = Vec::new();
        for &tool in TOOLS.iter().filter(|tool| self.has(**tool)) {
            let (name, key) = (self.name_of(tool), setting(tool.id(), "name"));
            if !is_name(&name) {
                let key = if self.prefix.is_empty() { key } else { format!("{key}` with `mcp.prefix") };
                return Err(ToolError::BadName { name: name.escape_debug().to_string(), key });
            }
            if let Some((first, _)) = named.iter().find(|(_, other)| *other == name) {
                return Err(ToolError::SameName {
                    name,
                    first: first.id().to_owned(),
                    second: tool.id().to_owned(),
                    keys: format!("`{}`, `{key}`", setting(first.id(), "name")),
                });
            }
            named.push((tool, name));
        }
        Ok(named)
    }
}

/// Lists the advertised tools in order.
///
/// # Errors
///
/// See [`ToolSelection::names`].
pub fn advertised(choice: &ToolSelection) -> Result<Vec<&'static dyn AnyTool>, ToolError> {
    let worded = |(tool, name): (&'static dyn AnyTool, String)| {
        let wording = choice.wording(tool.id());
        let mut spec = tool.spec().clone();
        spec.is_named = wording.is_some_and(|wording| wording.name.is_some());
        let description = wording.and_then(|wording| wording.description.clone());
        if name == tool.id() && description.is_none() && !spec.is_named {
            return tool;
        }
        spec.name = name.into();
        spec.description = description.map_or(spec.description, Cow::Owned);
        // A process selects its tools only once, so these values may live as long as the process.
        match tool.with_spec(spec) {
            Some(worded) => &**Box::leak(Box::new(worded)),
            None => tool,
        }
    };
    Ok(choice.names()?.into_iter().map(worded).collect())
}

/// Shares a tool of the registry. Returns `None` for any other tool.
pub fn shared(tool: &dyn AnyTool) -> Option<Arc<dyn AnyTool>> {
    tool.with_spec(tool.spec().clone())
}

/// Looks up the tool with this original name or alias.
pub fn find(name: &str) -> Result<&'static dyn AnyTool, ToolError> {
    find_among(TOOLS, name)
}

/// Looks up the tool that a caller means: by its current name first, then by its original name or an alias.
///
/// # Errors
///
/// Fails with [`ToolError::UnknownTool`] if there is no such tool.
pub fn find_among(tools: &[&'static dyn AnyTool], name: &str) -> Result<&'static dyn AnyTool, ToolError> {
    named(tools, name, |tool| *tool).copied().ok_or_else(|| {
        let known: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
        ToolError::UnknownTool { name: name.escape_debug().to_string(), known: known.join(", ") }
    })
}

/// Like [`find_among`], for a list of values that contain tools. The name may have the prefix that a client
/// adds to a server's tools.
pub fn named<'a, T>(holders: &'a [T], name: &str, tool: impl Fn(&'a T) -> &'a dyn AnyTool) -> Option<&'a T> {
    let find = |name: &str| {
        let is_alias = |holder: &&'a T| {
            let tool = tool(holder);
            tool.id() == name || tool.spec().distinct_name == name || tool.spec().aliases.contains(&name)
        };
        let is_called = |holder: &&'a T| tool(holder).name() == name;
        holders.iter().find(is_called).or_else(|| holders.iter().find(is_alias))
    };
    let bare = || PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    find(name).or_else(|| find(bare()?))
}

/// The prefixes that clients add to the tool names of a server called `forage`.
const PREFIXES: [&str; 5] = ["mcp__forage__", "mcp_forage_", "forage__", "forage_", "forage-"];
