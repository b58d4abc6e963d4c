//! What the server says of itself, and which method leads where.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_tools::registry::AnyTool;
use forage_tools::schema::{self, SchemaFormat};
use forage_tools::{CallJournal, Context, Manner, ToolError, ToolNames, clip, read_arguments, registry};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::client::{self, ConnectionMemory, is_stateless};
use super::gate::{Cost, Gate};
use super::instructions::instructions;
use super::limits;
use super::metrics::{CallObserver, ServerMetrics};
use super::profiles::Profile;
use forage_sandbox::Starter;

/// The workspace in which calls run.
pub trait McpWorkspace: Send + Sync + 'static {
    /// Whether clients that offer roots are asked for them.
    fn asks_clients(&self) -> bool;

    /// Whether the bytes of a text answer are what the user has chosen, and not to be fitted to the client.
    fn has_text_bytes(&self) -> bool {
        false
    }

    /// Whether results of `keyword_search` can be filtered without the client's model; `None` while that is being found out.
    fn can_filter(&self) -> Option<bool> {
        Some(true)
    }

    /// What keeps every call from running. It is what each is answered with, and the first that a client's model reads of
    /// the server.
    fn problem(&self) -> Option<&str> {
        None
    }

    /// Starts the threads of calls where each call needs one of its own, as [`Self::open`] restricts it to what the call
    /// may read; `None` where calls may share threads.
    fn threads(&self) -> Option<&Starter> {
        None
    }

    /// The context of one call: beneath the directories of the client's, or beneath the server's own when there are
    /// none, as far as the holder of the token may see them. It is opened anew for every call, because a directory that was
    /// replaced is another one.
    ///
    /// # Errors
    /// Why there is no root, in words for the caller.
    fn open(&self, origin: &CallOrigin<'_>) -> Result<Context, String>;
}

/// What decides which roots a call has.
#[derive(Clone, Copy)]
pub struct CallOrigin<'a> {
    /// Directories that the client has named; empty where it has named none.
    pub client_roots: &'a [PathBuf],
    /// The holder of the token that the call came with, where tokens have names.
    pub caller: Option<&'a Caller>,
    /// The tool that is called.
    pub tool: &'a dyn AnyTool,
}

/// In which form answers come.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// As is best for the client: text, and the records beside it where a program reads them.
    #[default]
    #[serde(rename = "auto")]
    ByClient,
    /// Text alone. Several clients show a model nothing but the records when there are any, at twice the tokens.
    Text,
    /// The records too, complete, with the schema of each tool's.
    Structured,
}

/// The tools of a server that a client is shown; all of them can be called.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// [`Self::Agent`] for clients that are known to read and list files themselves, and all for others.
    #[default]
    #[serde(rename = "auto")]
    ByClient,
    /// All but those that read files and list directories, which agents for code have themselves.
    Agent,
    /// All.
    All,
}

impl ToolSet {
    /// Those of a server's tools that a client is shown.
    fn of(
        self,
        tools: impl Iterator<Item = &'static dyn AnyTool>,
        profile: Profile,
        can_filter: bool,
    ) -> Vec<&'static dyn AnyTool> {
        let is_agent = match self {
            Self::ByClient => profile.has_files(),
            Self::Agent => true,
            Self::All => false,
        };
        let is_offered = |tool: &&'static dyn AnyTool| match tool.id() {
            "keyword_search" => can_filter,
            id => !is_agent || !FILES.contains(&id),
        };
        tools.filter(is_offered).collect()
    }

    /// Returns the names by which answers to a client name the tools of a server.
    pub fn names(
        self,
        tools: &[&'static dyn AnyTool],
        profile: Profile,
        manner: &'static dyn Manner,
    ) -> ToolNames {
        let offered = self.of(tools.iter().copied(), profile, true);
        ToolNames::written(&offered, |tool| profile.written(tool)).told(manner)
    }
}

/// The tools, the workspace and the settings of a server.
pub struct McpSettings {
    /// The tools, in the order in which they are listed.
    pub tools: Vec<&'static dyn AnyTool>,
    /// Tools, by their own names, that are on and can't be offered, each with the reason.
    pub left_out: Vec<(&'static str, String)>,
    /// The workspace in which calls run.
    pub workspace: Box<dyn McpWorkspace>,
    /// The choice of those tools that are listed.
    pub tool_set: ToolSet,
    /// The form in which answers come.
    pub output: OutputForm,
    /// The words in which agents are told of what can be done about an error.
    pub manner: &'static dyn Manner,
    /// The numbers in which its calls are counted.
    pub metrics: ServerMetrics,
    /// What is told of each call.
    pub observer: Option<Box<dyn CallObserver>>,
    /// What keeps the heads of calls.
    pub journal: Option<Arc<dyn CallJournal>>,
}

/// The server of one connection; its clone is the same server for another one.
pub struct McpServer {
    pub(super) shared: Arc<Shared>,
    pub(super) known: Arc<ConnectionMemory>,
}

pub(super) struct Shared {
    tools: Vec<Served>,
    left_out: Vec<(&'static str, String)>,
    pub(super) workspace: Box<dyn McpWorkspace>,
    tool_set: ToolSet,
    pub(super) output: OutputForm,
    pub(super) manner: &'static dyn Manner,
    pub(super) metrics: ServerMetrics,
    pub(super) observer: Option<Box<dyn CallObserver>>,
    pub(super) journal: Option<Arc<dyn CallJournal>>,
    pub(super) gate: Gate,
    /// Ends every call.
    pub(super) shutdown: CancellationToken,
}

/// A tool and what its calls cost.
pub(super) struct Served {
    pub(super) tool: &'static dyn AnyTool,
    pub(super) cost: Cost,
}

impl Clone for McpServer {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), known: Arc::default() }
    }
}

impl McpServer {
    /// A server.
    ///
    /// # Errors
    /// Two tools have one name, or a definition is none that the protocol takes.
    pub fn new(settings: McpSettings) -> Result<Self, String> {
        let mut tools: Vec<Served> = Vec::new();
        for tool in settings.tools {
            let name = Profile::unknown().listed(tool);
            if tools.iter().any(|other| Profile::unknown().listed(other.tool) == name) {
                return Err(format!("two tools are called {name}; give one of them another name"));
            }
            let cost = if tool.is_quick() { Cost::Quick } else { Cost::Search };
            tools.push(Served { tool, cost });
        }
        let shutdown = CancellationToken::new();
        let McpSettings { left_out, workspace, tool_set, output, manner, metrics, observer, journal, .. } =
            settings;
        let gate = Gate::new();
        let all: Vec<_> = tools.iter().map(|served| served.tool).collect();
        let server = Self {
            shared: Arc::new(Shared {
                tools,
                left_out,
                workspace,
                tool_set,
                output,
                manner,
                metrics,
                observer,
                journal,
                gate,
                shutdown,
            }),
            known: Arc::default(),
        };
        for tool in &all {
            server
                .shared
                .definition(*tool, &all, Profile::unknown())
                .map_err(|error| error.message.into_owned())?;
        }
        Ok(server)
    }

    /// Cancelled, it ends every call of every connection.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shared.shutdown
    }
}

impl Shared {
    /// The tool with this name or alias.
    pub(super) fn tool(&self, name: &str) -> Option<&Served> {
        registry::named(&self.tools, name, |served| served.tool)
    }

    /// Says that there is no tool of this name, and which ones a client is shown, as its model sees them.
    pub(super) fn unknown_tool(&self, name: &str, profile: Profile, can_filter: bool) -> ErrorData {
        let offered = self.offered(profile, can_filter);
        let known: Vec<String> = offered.iter().map(|tool| profile.written(*tool)).collect();
        let known = known.join(", ");
        let message = match registry::find(name) {
            Ok(tool) => match self.left_out.iter().find(|(id, _)| *id == tool.id()) {
                Some((_, reason)) => format!("{reason}; the tools are {known}"),
                None => format!(
                    "the tool {} is turned off in the configuration of this server; the tools are {known}",
                    tool.name()
                ),
            },
            Err(_) => {
                let name = clip(&name.escape_debug().to_string(), limits::SHOWN_BYTES);
                ToolError::UnknownTool { name, known }.to_string()
            }
        };
        ErrorData::invalid_params(message, None)
    }
}

/// Tools that an agent for code has itself.
const FILES: [&str; 2] = ["list_directory", "read_file"];

/// Tools that are in front of a model from the start where a client would hide them behind a search.
const IN_FRONT: [&str; 3] = ["grep_search", "keyword_search", "search_index"];

impl Shared {
    /// The tools that a client is shown.
    pub(super) fn offered(&self, profile: Profile, can_filter: bool) -> Vec<&'static dyn AnyTool> {
        self.tool_set.of(self.tools.iter().map(|served| served.tool), profile, can_filter)
    }

    /// The names by which answers to a client name the tools.
    pub(super) fn names(&self, profile: Profile) -> ToolNames {
        let tools: Vec<_> = self.tools.iter().map(|served| served.tool).collect();
        self.tool_set.names(&tools, profile, self.manner)
    }

    /// Whether a client gets the records of an answer beside its text.
    pub(super) fn has_records(&self, profile: Profile) -> bool {
        match self.output {
            OutputForm::ByClient => profile.reads_records(),
            OutputForm::Text => false,
            OutputForm::Structured => true,
        }
    }

    /// The definition of a tool for a client, beside others.
    fn definition(
        &self,
        tool: &'static dyn AnyTool,
        others: &[&'static dyn AnyTool],
        profile: Profile,
    ) -> Result<Tool, ErrorData> {
        let has_records = self.has_records(profile);
        let names = ToolNames::written(others, |tool| profile.written(tool));
        let names = if has_records { names.with_records() } else { names };
        let mut definition = schema::definition(tool, &names, SchemaFormat::Mcp);
        definition["name"] = json!(profile.listed(tool));
        if has_records {
            definition["outputSchema"] = tool.output_schema();
        }
        if profile.reads_anthropic_meta() {
            definition["_meta"] = json!({ "anthropic/maxResultSizeChars": profile.text_bytes(tool) });
            if IN_FRONT.contains(&tool.id()) {
                definition["_meta"]["anthropic/alwaysLoad"] = json!(true);
            }
        }
        serde_json::from_value(definition).map_err(|error| {
            ErrorData::internal_error(format!("the definition of the tool {}: {error}", tool.name()), None)
        })
    }

    /// Whether the results of `keyword_search` can be filtered for the client of this request, and whether that is certain.
    pub(super) async fn can_filter(&self, request: &RequestContext<RoleServer>) -> (bool, bool) {
        if client::answers_for_its_model(request) {
            return (true, true);
        }
        let began = Instant::now();
        loop {
            match self.workspace.can_filter() {
                Some(can_filter) => return (can_filter, true),
                None if began.elapsed() > limits::MODEL_LOOK => return (false, false),
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Tells a client that the list has changed, when it turns out that there is a model.
    async fn tell_of_model(self: Arc<Self>, peer: Peer<RoleServer>) {
        let began = Instant::now();
        while self.workspace.can_filter().is_none() && began.elapsed() < limits::MODEL_WAIT {
            tokio::time::sleep(limits::MODEL_LOOK).await;
        }
        if self.workspace.can_filter() == Some(true) {
            // A client that has gone needs no list.
            let _ = peer.notify_tool_list_changed().await;
        }
    }

    /// What the server says of itself to a client.
    fn info(&self, profile: Profile, can_filter: bool) -> ServerConfig {
        let text = match self.workspace.problem() {
            // How to choose among the tools says nothing where none works.
            Some(problem) => clip(problem, limits::INSTRUCTIONS),
            None => instructions(&self.offered(profile, can_filter), profile),
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation())
            .with_instructions(text)
    }
}

/// A call whose arguments are no object: JSON in a text, or the empty list of a language that knows no other object.
fn with_read_arguments(params: &Value) -> Option<CallToolRequestParams> {
    let arguments = match params.get("arguments")? {
        Value::String(text) => read_arguments(text).ok()?,
        Value::Array(items) if items.is_empty() => json!({}),
        _ => return None,
    };
    let mut params = params.clone();
    params["arguments"] = arguments;
    serde_json::from_value(params).ok()
}

/// What identifies the server to clients.
pub(super) fn implementation() -> Implementation {
    Implementation::new("forage", env!("CARGO_PKG_VERSION")).with_title("Forage code search")
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        self.shared.info(Profile::unknown(), true)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let (can_filter, _) = self.shared.can_filter(&context).await;
        let mut info = self.negotiate_initialize(&request)?;
        // Without a handshake there are subscriptions in its place; there, a list that may change is to be kept for no time.
        info.capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        info.instructions = self.shared.info(Profile::of(&request.client_info.name), can_filter).instructions;
        Ok(info)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let (can_filter, _) = self.shared.can_filter(&context).await;
        let info = self.shared.info(client::profile(&context), can_filter);
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let message = format!("unknown cursor {cursor:?}: the list has one page");
            return Err(ErrorData::invalid_params(message, None));
        }
        let profile = client::profile(&context);
        let (can_filter, is_certain) = self.shared.can_filter(&context).await;
        if !is_certain && !is_stateless(&context) {
            tokio::spawn(Arc::clone(&self.shared).tell_of_model(context.peer.clone()));
        }
        // The list of a server that is put right and started again may be another.
        let is_lasting = is_certain && self.shared.workspace.problem().is_none();
        let offered = self.shared.offered(profile, can_filter);
        let definitions = offered.iter().map(|tool| self.shared.definition(*tool, &offered, profile));
        let tools = definitions.collect::<Result<_, _>>()?;
        let list = ListToolsResult::with_all_items(tools);
        // Older revisions do not know how long a list may be kept.
        Ok(match is_stateless(&context) {
            true => list
                .with_ttl_ms(if is_lasting { limits::LIST_TTL_MS } else { 0 })
                .with_cache_scope(CacheScope::Private),
            false => list,
        })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let served = self.shared.tool(name)?;
        let all: Vec<_> = self.shared.tools.iter().map(|served| served.tool).collect();
        self.shared.definition(served.tool, &all, Profile::unknown()).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // On the heap at once: a future of this size is copied again at every level that it goes up before it starts.
        Box::pin(self.call(request, context)).await
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.known.has_changed();
    }

    // What is not declared is not there: rmcp would answer with empty lists.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    /// A known method whose parameters do not fit comes here as well, and is not an unknown one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call"
            && let Some(call) = request.params.as_ref().and_then(with_read_arguments)
        {
            let answer = match self.call_tool(call, context).await? {
                CallToolResponse::Complete(result) => serde_json::to_value(result),
                CallToolResponse::InputRequired(questions) => serde_json::to_value(questions),
                // This server makes no tasks.
                other => {
                    let message = format!("an answer of an unknown kind: {other:?}");
                    return Err(ErrorData::internal_error(message, None));
                }
            };
            let answer = answer.map_err(|error| {
                ErrorData::internal_error(format!("the answer is no JSON: {error}"), None)
            })?;
            return Ok(CustomResult::new(answer));
        }
        if request.method == "tools/call" {
            self.refuses(&context);
        }
        Err(match request.method.as_str() {
            method @ ("tools/call" | "tools/list") => {
                let message = format!(
                    "the params of {method} are malformed: `name` is a text, and `arguments` an object"
                );
                ErrorData::invalid_params(message, None)
            }
            method => {
                let shown = clip(&method.escape_debug().to_string(), limits::SHOWN_BYTES);
                let message = format!("method not found: {shown}");
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_arguments_in_a_text_are_an_object_or_none() {
        let seeds = forage_fuzz::seeds(["{\"pattern\": \"x\"}", "", "[1]", "{\"a\": {\"b\": null}}"]);
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input).into_owned();
            let params = json!({ "name": "grep_search", "arguments": text });
            let expected = read_arguments(&text).ok();
            let read =
                with_read_arguments(&params).map(|call| Value::Object(call.arguments.unwrap_or_default()));
            assert_eq!(read, expected);
        });
    }
}
