//! A server for tests: the product's server with the tools that the official conformance suite calls by name,
//! and with further tools that are slow, panic or return large answers.
//!
//! Where possible a tool here uses the product's own call path: its threads, progress, cancellation and
//! questions to the client. Only content types that Forage never sends are created separately.
#![expect(clippy::disallowed_macros, reason = "what a test reads of this program stands on its stderr")]
#![expect(clippy::panic, reason = "one of the tools is there for that")]
#![expect(deprecated, reason = "sampling is what the suite asks for")]

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use clap::Parser as _;
use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_llm::{CallBudget, ChatRequest};
use forage_mcp::{
    CallOrigin, HttpSettings, McpServer, McpSettings, McpWorkspace, OutputForm, ToolSet, serve_http,
    serve_stdio,
};
use forage_redact::Redacted;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, Call, CallObservers, ToolError, ToolSpec, Workspace};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorData,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

#[derive(clap::Parser)]
struct Options {
    /// Listen here instead of serving stdin and stdout.
    #[arg(long)]
    http: Option<SocketAddr>,
    /// Sessions for clients of older revisions.
    #[arg(long, default_value_t = 0)]
    sessions: usize,
    /// List a tool, too, whose schema not every provider takes.
    #[arg(long)]
    unportable: bool,
    /// The root of all calls.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let tools = || TOOLS.iter().map(|tool| tool as &dyn AnyTool).collect();
    let server = |asks_clients| {
        let root = Root::open(
            &options.root,
            &RootPolicy { home: None, allow_broad: false },
            SecretPolicy::standard(&[]),
        )?;
        let workspace = Box::new(OneRoot { roots: Roots::new(vec![root], RelPath::root())?, asks_clients });
        McpServer::new(McpSettings {
            left_out: Vec::new(),
            tools: tools(),
            workspace,
            tool_set: ToolSet::All,
            output: OutputForm::Text,
            phrasing: &forage_tools::Plain,
            observers: CallObservers::default(),
        })
        .map_err(anyhow::Error::msg)
    };
    let fixtures =
        Fixtures { product: server(false)?, asking: server(true)?, unportable: options.unportable };
    let shutdown = fixtures.product.shutdown().clone();
    let Some(address) = options.http else {
        return serve_stdio(fixtures, &shutdown).context("the session ended with an error");
    };
    let sessions = options.sessions;
    let settings = HttpSettings { sessions, ..HttpSettings::at(address) };
    serve_http(fixtures, &settings, &shutdown, |address| eprintln!("listening on http://{address}/mcp"))?;
    Ok(())
}

/// A workspace in which every call has the same root, whatever the client names.
struct OneRoot {
    roots: Roots,
    asks_clients: bool,
}

impl McpWorkspace for OneRoot {
    fn asks_clients(&self) -> bool {
        self.asks_clients
    }

    fn open(&self, origin: &CallOrigin<'_>) -> Result<Workspace, String> {
        origin.client_roots.iter().for_each(|root| eprintln!("client root: {}", root.display()));
        Ok(Workspace::new(self.roots.clone()))
    }
}

/// The arguments of a tool: name, type, and true if the argument is required.
type Arguments = &'static [(&'static str, &'static str, bool)];

type Run = fn(&Call, &Value) -> Result<String, ToolError>;

/// A test tool for the registry.
struct Fixture {
    /// Created on first use.
    spec: OnceLock<ToolSpec>,
    name: &'static str,
    arguments: Arguments,
    run: Run,
}

const fn fixture(name: &'static str, arguments: Arguments, run: Run) -> Fixture {
    Fixture { spec: OnceLock::new(), name, arguments, run }
}

impl AnyTool for Fixture {
    fn spec(&self) -> &ToolSpec {
        self.spec.get_or_init(|| ToolSpec {
            is_quick: self.name == "noop",
            ..ToolSpec::new(self.name, "Fixture", "A tool for tests.")
        })
    }

    fn input_schema(&self) -> Value {
        let property = |(name, kind, _): &(&str, &str, bool)| ((*name).to_owned(), json!({ "type": kind }));
        let properties: JsonObject = self.arguments.iter().map(property).collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|argument| argument.2).map(|argument| argument.0).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    fn call(&self, call: &Call, request: Value) -> Result<Answer, ToolError> {
        let text = (self.run)(call, &request)?;
        Ok(Answer::with_records(text, json!({})))
    }
}

static TOOLS: [Fixture; 16] = [
    fixture("noop", &[], |_, _| Ok("done".to_owned())),
    fixture("slow", &[("ms", "integer", false)], slow),
    fixture("panics", &[], |_, _| panic!("as asked")),
    fixture("large", &[("bytes", "integer", true)], |_, request| {
        Ok("x".repeat(request["bytes"].as_u64().unwrap_or(0).min(64 << 20) as usize))
    }),
    // The tools of the conformance suite.
    fixture("test_simple_text", &[], |_, _| Ok("This is a simple text response for testing.".to_owned())),
    fixture("test_error_handling", &[], |_, _| {
        Err(ToolError::Request("This tool intentionally returns an error for testing".to_owned()))
    }),
    // Long enough for three progress messages at the product's own interval.
    fixture("test_tool_with_progress", &[], |call, _| slow(call, &json!({ "ms": 1_700 }))),
    // Forage never sends log messages to clients.
    fixture("test_logging_tool", &[], |_, _| Ok("nothing was logged".to_owned())),
    fixture("test_sampling", &[("prompt", "string", true)], ask),
    fixture("test_input_required_result_sampling", &[], ask_once),
    // This asks a model where the suite expects a question to the user. The rounds that the suite checks are
    // the same.
    fixture("test_input_required_result_elicitation", &[], ask_once),
    fixture("test_input_required_result_request_state", &[], ask_once),
    fixture("test_input_required_result_tampered_state", &[], ask_once),
    fixture("test_input_required_result_capabilities", &[], ask_once),
    // The roots are requested before the tools run.
    fixture(MULTI_ROUND, &[], ask_once),
    fixture(ROOTS, &[], |_, _| Ok("the roots were named".to_owned())),
];

const MULTI_ROUND: &str = "test_input_required_result_multi_round";

const ROOTS: &str = "test_input_required_result_list_roots";

/// Runs for a time or until it is stopped. Prints its start and end on stderr, in milliseconds since 1970.
fn slow(call: &Call, request: &Value) -> Result<String, ToolError> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let (began, time) = (Instant::now(), Duration::from_millis(request["ms"].as_u64().unwrap_or(10_000)));
    eprintln!("slow: began at {}", now());
    while began.elapsed() < time {
        if call.stop.check().is_some() {
            eprintln!("slow: stopped at {}", now());
            return Err(ToolError::Cancelled);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    eprintln!("slow: ended at {}", now());
    Ok(format!("{} ms", time.as_millis()))
}

/// Asks the only model of the call, which is the client's.
fn ask(call: &Call, request: &Value) -> Result<String, ToolError> {
    let prompt = call.workspace.filter.redactor.redact(request["prompt"].as_str().unwrap_or_default());
    let question = ChatRequest::question(Redacted::trusted("You answer."), prompt, 100);
    let Some(model) = call.workspace.filter.models.first() else {
        return Err(ToolError::NoModel {
            tool: "sampling".to_owned(),
            is_configured: false,
            looked_for: "The client offers no sampling.".to_owned(),
        });
    };
    match model.complete(&question, &CallBudget::until(Instant::now() + call.limits.timeout)) {
        Ok(answer) => Ok(format!("LLM response: {}", answer.text)),
        Err(error) => Err(ToolError::ModelsFailed { errors: error.to_string() }),
    }
}

fn ask_once(call: &Call, _request: &Value) -> Result<String, ToolError> {
    ask(call, &json!({ "prompt": "What is the capital of France?" }))
}

/// The product's server, extended by content that the product never sends.
#[derive(Clone)]
struct Fixtures {
    product: McpServer,
    /// The same server with a workspace that asks clients for their roots.
    asking: McpServer,
    unportable: bool,
}

/// The tools for content types that no Forage tool uses.
const CONTENTS: [&str; 5] = [
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_missing_capability",
];

/// An image of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// An audio file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

fn content(name: &str, context: &RequestContext<RoleServer>) -> Option<Result<CallToolResult, ErrorData>> {
    let resource = || ContentBlock::embedded_text("test://embedded", "This is an embedded resource content.");
    let blocks = match name {
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => vec![resource()],
        "test_multiple_content_types" => {
            let text = ContentBlock::text("Multiple content types test:");
            vec![text, ContentBlock::image(PNG, "image/png"), resource()]
        }
        "test_missing_capability" => {
            let has =
                context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some());
            if !has {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Some(Err(ErrorData::missing_required_client_capability(needed)));
            }
            vec![ContentBlock::text("the client offers sampling")]
        }
        _ => return None,
    };
    Some(Ok(CallToolResult::success(blocks)))
}

/// Delegates everything except the tools above to the product's server.
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        self.product.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.product.supported_protocol_versions()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.product.initialize(request, context).await
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.product.discover(context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.product.list_tools(request, context).await?;
        let schema: JsonObject = JsonObject::from_iter([("type".to_owned(), json!("object"))]);
        list.tools.extend(CONTENTS.map(|name| Tool::new(name, "A tool for tests.", schema.clone())));
        if self.unportable {
            let schema = json!({ "type": "object", "properties": { "anything": true } });
            let schema = schema.as_object().cloned().unwrap_or_default();
            list.tools.push(Tool::new("unportable", "A tool for tests.", schema));
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.product.get_tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(result) = content(&request.name, &context) {
            return result.map(CallToolResponse::from);
        }
        let asks = [ROOTS, MULTI_ROUND].contains(&request.name.as_ref());
        let server = if asks { &self.asking } else { &self.product };
        server.call_tool(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.product.list_prompts(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.product.list_resources(request, context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.product.list_resource_templates(request, context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.product.complete(request, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.product.on_custom_request(request, context).await
    }
}
