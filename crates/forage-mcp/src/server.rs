//! The server's description of itself, and the dispatch of methods.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_tools::registry::AnyTool;
use forage_tools::schema::{self, SchemaFormat};
use forage_tools::{
    CallObservers, Phrasing, ToolError, ToolNames, Workspace, clip, read_arguments, registry,
};
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

use super::admission::{AdmissionControl, Cost};
use super::caller::Caller;
use super::client::{self, ConnectionMemory, is_stateless};
use super::instructions::instructions;
use super::limits;
use super::profiles::Profile;
use forage_sandbox::Starter;

/// The workspace in which calls run.
pub trait McpWorkspace: Send + Sync + 'static {
    /// Returns true if we should ask clients that offer roots for them.
    fn asks_clients(&self) -> bool;

    /// Returns true if the user has set the size of text answers, so that it must not be adapted to the
    /// client.
    fn has_text_bytes(&self) -> bool {
        false
    }

    /// Returns true if the results of `keyword_search` can be filtered without the client's model, or `None`
    /// if that is not known yet.
    fn can_filter(&self) -> Option<bool> {
        Some(true)
    }

    /// The problem that prevents every call, if there is one. It is the answer to each call and replaces the
    /// server's instructions.
    fn problem(&self) -> Option<&str> {
        None
    }

    /// The starter of call threads, if each call must have a thread of its own. This is the case if
    /// [`Self::open`] restricts the thread to the files that the call may read. If it is `None`, calls may
    /// share threads.
    fn threads(&self) -> Option<&Starter> {
        None
    }

    /// Opens the workspace of one call. Its roots are the client's directories, or the server's own roots if
    /// the client named none, as far as the token's holder may see them. We must open it again for every
    /// call, because a directory may have been replaced by another one of the same name.
    ///
    /// # Errors
    ///
    /// Fails with a message for the caller that says why there is no root.
    fn open(&self, origin: &CallOrigin<'_>) -> Result<Workspace, String>;
}

/// The facts that determine the roots of a call.
#[derive(Clone, Copy)]
pub struct CallOrigin<'a> {
    /// Directories that the client has named; empty if it has named none.
    pub client_roots: &'a [PathBuf],
    /// The holder of the token that came with the call, if tokens have names.
    pub caller: Option<&'a Caller>,
    /// The tool that is called.
    pub tool: &'a dyn AnyTool,
}

/// The form of answers.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// Chosen by client: text, plus records if a program reads them.
    #[default]
    #[serde(rename = "auto")]
    ByClient,
    /// Text only. If there are records, several clients show the model only those, at twice the tokens.
    Text,
    /// Text and complete records, with each tool's output schema.
    Structured,
}

/// The tools that a client is shown. All of the server's tools can be called.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// [`Self::Agent`] for clients that are known to read and list files themselves, and all for others.
    #[default]
    #[serde(rename = "auto")]
    ByClient,
    /// All except those that read files and list directories, which coding agents have themselves.
    Agent,
    /// All.
    All,
}

impl ToolSet {
    /// Selects the tools that a client is shown.
    fn select(
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

    /// Determines the tool names to use in answers to a client.
    pub fn names(
        self,
        tools: &[&'static dyn AnyTool],
        profile: Profile,
        phrasing: &'static dyn Phrasing,
    ) -> ToolNames {
        let offered = self.select(tools.iter().copied(), profile, true);
        ToolNames::from_tools_with(&offered, |tool| profile.called(tool)).with_phrasing(phrasing)
    }
}

/// Settings of an [`McpServer`].
pub struct McpSettings {
    /// The tools, in the order in which they are listed.
    pub tools: Vec<&'static dyn AnyTool>,
    /// Tools that are enabled but can't be offered, each with its built-in name and the reason.
    pub left_out: Vec<(&'static str, String)>,
    /// The workspace in which calls run.
    pub workspace: Box<dyn McpWorkspace>,
    /// Selects the tools that are listed.
    pub tool_set: ToolSet,
    /// The form of answers.
    pub output: OutputForm,
    /// The wording of advice to agents about errors.
    pub phrasing: &'static dyn Phrasing,
    /// The observers of requests and of the calls that they make.
    pub observers: CallObservers,
}

/// The server of one connection. A clone shares everything except the memory of the connection.
pub struct McpServer {
    pub(super) shared: Arc<Shared>,
    pub(super) known: Arc<ConnectionMemory>,
}

pub(super) struct Shared {
    tools: Vec<ServedTool>,
    left_out: Vec<(&'static str, String)>,
    pub(super) workspace: Box<dyn McpWorkspace>,
    tool_set: ToolSet,
    pub(super) output: OutputForm,
    pub(super) phrasing: &'static dyn Phrasing,
    pub(super) observers: CallObservers,
    pub(super) admission: AdmissionControl,
    /// Cancelling this ends every call.
    pub(super) shutdown: CancellationToken,
}

/// A tool and the cost class of its calls.
pub(super) struct ServedTool {
    pub(super) tool: &'static dyn AnyTool,
    pub(super) cost: Cost,
}

impl Clone for McpServer {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), known: Arc::default() }
    }
}

impl McpServer {
    /// Creates a server.
    ///
    /// # Errors
    ///
    /// Fails with a message if two tools have the same name, or a tool's definition is not valid in the
    /// protocol.
    pub fn new(settings: McpSettings) -> Result<Self, String> {
        let mut tools: Vec<ServedTool> = Vec::new();
        for tool in settings.tools {
            let name = Profile::unknown().listed(tool);
            if tools.iter().any(|other| Profile::unknown().listed(other.tool) == name) {
                return Err(format!("two tools are named {name}; rename one of them"));
            }
            let cost = if tool.spec().is_quick { Cost::Quick } else { Cost::Search };
            tools.push(ServedTool { tool, cost });
        }
        let shutdown = CancellationToken::new();
        let McpSettings { left_out, workspace, tool_set, output, phrasing, observers, .. } = settings;
        let admission = AdmissionControl::new();
        let all: Vec<_> = tools.iter().map(|served| served.tool).collect();
        let server = Self {
            shared: Arc::new(Shared {
                tools,
                left_out,
                workspace,
                tool_set,
                output,
                phrasing,
                observers,
                admission,
                shutdown,
            }),
            known: Arc::default(),
        };
        // An invalid definition must fail here, not when a client lists the tools.
        for tool in &all {
            server
                .shared
                .definition(*tool, &all, Profile::unknown())
                .map_err(|error| error.message.into_owned())?;
        }
        Ok(server)
    }

    /// The token that ends every call of every connection when it is cancelled.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shared.shutdown
    }
}

impl Shared {
    /// Looks up a tool by its name or alias.
    pub(super) fn tool(&self, name: &str) -> Option<&ServedTool> {
        registry::named(&self.tools, name, |served| served.tool)
    }

    /// Builds the error for an unknown tool name. It lists the tools that the client is shown.
    pub(super) fn unknown_tool(&self, name: &str, profile: Profile, can_filter: bool) -> ErrorData {
        let offered = self.offered(profile, can_filter);
        let known: Vec<String> = offered.iter().map(|tool| profile.called(*tool)).collect();
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

/// Tools that coding agents have themselves.
const FILES: [&str; 2] = ["list_directory", "read_file"];

/// Tools that a model should see from the start, even in a client that would otherwise reveal tools only
/// through a search.
const IN_FRONT: [&str; 3] = ["grep_search", "keyword_search", "search_index"];

impl Shared {
    /// Selects the tools that a client is shown.
    pub(super) fn offered(&self, profile: Profile, can_filter: bool) -> Vec<&'static dyn AnyTool> {
        self.tool_set.select(self.tools.iter().map(|served| served.tool), profile, can_filter)
    }

    /// Determines the tool names to use in answers to a client.
    pub(super) fn names(&self, profile: Profile) -> ToolNames {
        let tools: Vec<_> = self.tools.iter().map(|served| served.tool).collect();
        self.tool_set.names(&tools, profile, self.phrasing)
    }

    /// Returns true if a client gets an answer's records in addition to its text.
    pub(super) fn has_records(&self, profile: Profile) -> bool {
        match self.output {
            OutputForm::ByClient => profile.reads_records(),
            OutputForm::Text => false,
            OutputForm::Structured => true,
        }
    }

    /// Builds the definition of a tool for a client. `others` are the tools that its description may name.
    fn definition(
        &self,
        tool: &'static dyn AnyTool,
        others: &[&'static dyn AnyTool],
        profile: Profile,
    ) -> Result<Tool, ErrorData> {
        let has_records = self.has_records(profile);
        let names = ToolNames::from_tools_with(others, |tool| profile.called(tool));
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
            ErrorData::internal_error(
                format!("the definition of the tool {} is invalid: {error}", tool.name()),
                None,
            )
        })
    }

    /// Finds out whether `keyword_search` can filter its results for the client of this request. The second
    /// value is true if the first is certain.
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

    /// Notifies a client that the list of tools has changed once a model turns out to be available.
    async fn notify_model_available(self: Arc<Self>, peer: Peer<RoleServer>) {
        let began = Instant::now();
        while self.workspace.can_filter().is_none() && began.elapsed() < limits::MODEL_WAIT {
            tokio::time::sleep(limits::MODEL_LOOK).await;
        }
        if self.workspace.can_filter() == Some(true) {
            // A client that has gone needs no list.
            let _ = peer.notify_tool_list_changed().await;
        }
    }

    /// Describes the server for a client.
    fn info(&self, profile: Profile, can_filter: bool) -> ServerConfig {
        let text = match self.workspace.problem() {
            // Advice on choosing among the tools is useless if none of them works.
            Some(problem) => clip(problem, limits::INSTRUCTIONS),
            None => instructions(&self.offered(profile, can_filter), profile),
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation())
            .with_instructions(text)
    }
}

/// Reads a call whose arguments are not an object: JSON in a string, or an empty array from a language that
/// can't express an empty object.
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

/// The server's name, version and title.
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
        // `can_filter` reads the client's name and capabilities from the peer.
        context.peer.set_peer_info(request.clone());
        let (can_filter, _) = self.shared.can_filter(&context).await;
        let mut info = self.negotiate_initialize(&request)?;
        // In revisions without a handshake, subscriptions replace this capability, and a list that may change
        // must have a cache time of 0.
        info.capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        info.instructions =
            self.shared.info(Profile::for_client(&request.client_info.name), can_filter).instructions;
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
            let message = format!("unknown cursor {cursor:?}: the list has only one page");
            return Err(ErrorData::invalid_params(message, None));
        }
        let profile = client::profile(&context);
        let (can_filter, is_certain) = self.shared.can_filter(&context).await;
        if !is_certain && !is_stateless(&context) {
            tokio::spawn(Arc::clone(&self.shared).notify_model_available(context.peer.clone()));
        }
        // After the problem is fixed and the server restarted, its list may be different, so this list must
        // not be cached.
        let is_lasting = is_certain && self.shared.workspace.problem().is_none();
        let offered = self.shared.offered(profile, can_filter);
        let definitions = offered.iter().map(|tool| self.shared.definition(*tool, &offered, profile));
        let tools = definitions.collect::<Result<_, _>>()?;
        let list = ListToolsResult::with_all_items(tools);
        // Note that older revisions have no field for the cache time.
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
        // We box the future at once. Otherwise a future of this size would be copied at every level that
        // returns it before it starts.
        Box::pin(self.call(request, context)).await
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.known.has_changed();
    }

    // We don't declare these methods, so they must be unknown. By default, rmcp would answer with empty
    // lists.

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

    /// Also receives known methods with malformed parameters, which must not be reported as unknown methods.
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
                // This server never creates tasks.
                other => {
                    let message = format!("unexpected kind of answer: {other:?}");
                    return Err(ErrorData::internal_error(message, None));
                }
            };
            let answer = answer.map_err(|error| {
                ErrorData::internal_error(format!("the answer can't be converted to JSON: {error}"), None)
            })?;
            return Ok(CustomResult::new(answer));
        }
        if request.method == "tools/call" {
            self.refuses(&context);
        }
        Err(match request.method.as_str() {
            method @ ("tools/call" | "tools/list") => {
                let message = format!(
                    "the params of {method} are malformed: `name` must be a string, and `arguments` an object"
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
