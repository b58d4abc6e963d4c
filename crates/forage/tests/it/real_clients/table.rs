//! The clients: how to start each one without a person and a network, and which parts of the server it shows
//! its model.

/// How much of the server's instructions the first request contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    Whole,
    /// Only the first paragraph, so this must be sufficient.
    Beginning,
    None,
}

/// A client. In its files and variables, `{url}` is replaced by the model's address.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) program: &'static str,
    /// The client's name for `forage setup`, and the file in the home that then contains the entry.
    pub(super) setup: &'static str,
    pub(super) file: &'static str,
    /// The client's name in the handshake.
    pub(super) introduces: &'static str,
    pub(super) wire: &'static str,
    /// Files in the home that configure the model, or that the client needs to start.
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// `{prompt}` is replaced by the question.
    pub(super) arguments: &'static [&'static str],
    /// Forage's tools in the first request, as the model sees them.
    pub(super) offered: &'static [&'static str],
    /// The tool with which the model finds tools that the first request lacks.
    pub(super) finder: Option<&'static str>,
    pub(super) instructions: Instructions,
    /// Maximum bytes of an answer that the client must show completely, as in `mcp/profiles.rs`.
    pub(super) text_bytes: usize,
}

/// The fields that most clients share.
const COMMON: Client = Client {
    program: "",
    setup: "",
    file: "",
    introduces: "",
    wire: "openai-chat",
    files: &[],
    variables: &[],
    arguments: &[],
    offered: &[],
    finder: None,
    instructions: Instructions::Whole,
    text_bytes: 0,
};

/// Claude Code passes its whole environment to its servers. Note that a key alone does not let
/// `keyword_search` use a model.
pub(super) static CLAUDE_CODE: Client = Client {
    program: "claude",
    setup: "claude-code",
    file: ".claude.json",
    introduces: "claude-code",
    wire: "anthropic",
    variables: &[
        ("ANTHROPIC_BASE_URL", "{url}"),
        ("ANTHROPIC_API_KEY", "key"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
    arguments: &["-p", "{prompt}", "--allowedTools", "mcp__forage"],
    offered: &["mcp__forage__grep_search", "mcp__forage__search_index"],
    // There is a finder, but the model need not search for Forage's tools.
    finder: Some("ToolSearch"),
    text_bytes: 46_000,
    ..COMMON
};

/// Uses a model that must find tools before it can call them.
pub(super) static CODEX: Client = Client {
    program: "codex",
    setup: "codex",
    file: ".codex/config.toml",
    introduces: "codex-mcp-client",
    wire: "openai-responses",
    files: &[(
        ".codex/config.toml",
        "model = \"gpt-5.5\" # kept\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
    )],
    variables: &[("SCRIPTED_KEY", "key")],
    arguments: &["exec", "{prompt}"],
    finder: Some("tool_search"),
    instructions: Instructions::Beginning,
    text_bytes: 40_000,
    ..COMMON
};

/// Uses a model that calls tools from programs.
pub(super) static CODEX_PROGRAMS: Client =
    Client { arguments: &["exec", "-m", "gpt-6-sol", "{prompt}"], finder: None, ..CODEX };

pub(super) static GEMINI_CLI: Client = Client {
    program: "gemini",
    setup: "gemini-cli",
    file: ".gemini/settings.json",
    introduces: "gemini-cli-mcp-client",
    wire: "gemini",
    files: &[(
        ".gemini/settings.json",
        "{\n  // kept\n  \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } }\n}\n",
    )],
    variables: &[("GOOGLE_GEMINI_BASE_URL", "{url}"), ("GEMINI_API_KEY", "key")],
    arguments: &["--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p", "{prompt}"],
    offered: &["mcp_forage_grep_search", "mcp_forage_search_index"],
    text_bytes: 39_000,
    ..COMMON
};

pub(super) static QWEN_CODE: Client = Client {
    program: "qwen",
    setup: "qwen",
    file: ".qwen/settings.json",
    introduces: "qwen-cli-mcp-client-forage",
    variables: &[("OPENAI_BASE_URL", "{url}/v1"), ("OPENAI_API_KEY", "key"), ("OPENAI_MODEL", "scripted")],
    arguments: &["--approval-mode", "yolo", "-p", "{prompt}"],
    finder: Some("tool_search"),
    text_bytes: 26_000,
    ..COMMON
};

pub(super) static OPENCODE: Client = Client {
    program: "opencode",
    setup: "opencode",
    file: ".config/opencode/opencode.json",
    introduces: "opencode",
    files: &[(
        ".config/opencode/opencode.json",
        "{\n  // kept\n  \"model\": \"scripted/scripted\",\n  \"provider\": {\n    \"scripted\": {\n      \
         \"npm\": \"@ai-sdk/openai-compatible\",\n      \"options\": { \"baseURL\": \"{url}/v1\", \"apiKey\": \"key\" },\n      \
         \"models\": { \"scripted\": {} }\n    }\n  }\n}\n",
    )],
    arguments: &["run", "{prompt}"],
    offered: &["forage_grep_search", "forage_search_index"],
    text_bytes: 50_000,
    ..COMMON
};

pub(super) static KILO: Client = Client {
    program: "kilo",
    setup: "kilo",
    file: ".config/kilo/kilo.json",
    introduces: "kilo",
    files: &[(
        ".config/kilo/kilo.json",
        "{\n  // kept\n  \"model\": \"scripted/scripted\",\n  \"provider\": {\n    \"scripted\": {\n      \
         \"npm\": \"@ai-sdk/openai-compatible\",\n      \"options\": { \"baseURL\": \"{url}/v1\", \"apiKey\": \"key\" },\n      \
         \"models\": { \"scripted\": {} }\n    }\n  }\n}\n",
    )],
    ..OPENCODE
};

pub(super) static COPILOT_CLI: Client = Client {
    program: "copilot",
    setup: "copilot",
    file: ".copilot/mcp-config.json",
    introduces: "github-copilot-developer",
    variables: &[
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
        ("COPILOT_PROVIDER_API_KEY", "key"),
        ("COPILOT_MODEL", "scripted"),
        ("COPILOT_OFFLINE", "true"),
    ],
    arguments: &["-p", "{prompt}", "--allow-all-tools"],
    offered: &["forage-grep_search", "forage-search_index"],
    instructions: Instructions::None,
    text_bytes: 20_000,
    ..COMMON
};

pub(super) static CLINE: Client = Client {
    program: "cline",
    setup: "cline",
    file: ".cline/data/settings/cline_mcp_settings.json",
    introduces: "@cline/core",
    files: &[(
        ".cline/data/settings/providers.json",
        "{\"version\":1,\"lastUsedProvider\":\"openai-compatible\",\"modes\":{},\"providers\":{\"openai-compatible\":{\
         \"settings\":{\"provider\":\"openai-compatible\",\"apiKey\":\"key\",\"model\":\"scripted\",\"baseUrl\":\"{url}/v1\"},\
         \"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"tokenSource\":\"manual\"}}}",
    )],
    arguments: &["-P", "openai-compatible", "{prompt}"],
    offered: &["forage__grep_search", "forage__search_index"],
    instructions: Instructions::None,
    text_bytes: 7_500,
    ..COMMON
};

/// Continue's program only reads its own configuration, so `forage setup` adds the list there.
pub(super) static CONTINUE: Client = Client {
    program: "cn",
    setup: "continue",
    file: ".continue/config.yaml",
    introduces: "continue-cli-client",
    files: &[(
        ".continue/config.yaml",
        "name: \"tests\" # kept\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: scripted\n    provider: openai\n    \
         model: 'scripted'\n    apiBase: {url}/v1\n    apiKey: key\n    roles: [chat]\n    capabilities: [tool_use]\n",
    )],
    arguments: &["-p", "{prompt}", "--auto"],
    offered: &["grep_search", "search_index"],
    instructions: Instructions::None,
    text_bytes: 40_000,
    ..COMMON
};

/// The same, but the list already contains a server, and text follows it.
pub(super) static CONTINUE_WITH_SERVERS: Client = Client {
    files: &[(
        ".continue/config.yaml",
        "name: tests\nversion: 0.0.1\nschema: v1\nmcpServers: # mine\n- command: python3 # kept\n  name: 'other'\n  \
         args: [\"-c\", \"{other}\"]\n# behind it\nmodels:\n- name: scripted\n  provider: openai\n  model: scripted\n  \
         apiBase: {url}/v1\n  apiKey: key\n  roles: [chat]\n  capabilities: [tool_use]\n",
    )],
    ..CONTINUE
};
