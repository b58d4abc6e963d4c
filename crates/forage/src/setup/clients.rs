//! The clients: where each keeps its configuration, and what an entry looks like there.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Spot;
use super::launch::{self, Launch};
use crate::config::ClientDirectories;

/// The name of the entry.
pub(crate) const NAME: &str = "forage";

/// Whether a command is known again as Forage's when it stands in an entry. A file of another system may be looked at, so
/// both separators count.
pub(crate) fn is_forage(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name) == NAME
}

/// What the client runs `forage` with.
const ARGUMENTS: [&str; 1] = ["mcp"];

/// How a configuration file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// JSON; some clients take comments and trailing commas, and those are kept for all.
    Json,
    Toml,
    Yaml,
}

impl FileFormat {
    /// The name for a fenced block.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }
}

/// For whom a client is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SetupScope {
    /// For you, in every project
    User,
    /// For everyone who opens this project
    Project,
}

impl SetupScope {
    pub(crate) const ALL: [Self; 2] = [Self::User, Self::Project];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A client that runs MCP servers.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) launch: Launch,
    pub(crate) format: FileFormat,
    /// The object or table that holds the servers.
    section: &'static str,
    fields: &'static [ServerField],
    /// The user's file as people write it.
    user_place: &'static str,
    /// The project's file, from its root.
    project_place: Option<&'static str>,
    user_file: fn(&ClientDirectories) -> Option<PathBuf>,
    /// What somebody should know who sets it up.
    pub(crate) remark: Option<&'static str>,
}

/// A field of the entry.
#[derive(Debug)]
enum ServerField {
    Command(&'static str),
    Arguments,
    /// The command and its arguments in one list.
    CommandLine(&'static str),
    Text(&'static str, &'static str),
    True(&'static str),
    Number(&'static str, u64),
    EmptyList(&'static str),
    EmptyObject(&'static str),
    /// A list with `*`: all there are.
    All(&'static str),
}

use ServerField::{All, Arguments, Command, CommandLine, EmptyList, EmptyObject, Number, Text, True};

const STDIO: &[ServerField] = &[Text("type", "stdio"), Command("command"), Arguments];

/// In the order in which they are shown.
pub(crate) static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        launch: launch::CLAUDE_CODE,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: STDIO,
        user_place: "~/.claude.json",
        project_place: Some(".mcp.json"),
        user_file: |at| {
            Some(at.variable("CLAUDE_CONFIG_DIR").or_else(|| at.home.clone())?.join(".claude.json"))
        },
        remark: None,
    },
    Client {
        name: "cursor",
        title: "Cursor",
        launch: Launch { name: "cursor-vscode", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: STDIO,
        user_place: "~/.cursor/mcp.json",
        project_place: Some(".cursor/mcp.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".cursor/mcp.json")),
        remark: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        launch: Launch { name: "Visual Studio Code", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "servers",
        fields: STDIO,
        user_place: "~/.config/Code/User/mcp.json",
        project_place: Some(".vscode/mcp.json"),
        user_file: |at| Some(at.applications()?.join("Code/User/mcp.json")),
        remark: Some(
            "On macOS the user's file is `~/Library/Application Support/Code/User/mcp.json`, on Windows \
             `%APPDATA%\\Code\\User\\mcp.json`.",
        ),
    },
    Client {
        name: "codex",
        title: "Codex",
        launch: launch::CODEX,
        format: FileFormat::Toml,
        section: "mcp_servers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.codex/config.toml",
        project_place: Some(".codex/config.toml"),
        user_file: |at| {
            let directory = at.variable("CODEX_HOME").or_else(|| Some(at.home.as_ref()?.join(".codex")))?;
            Some(directory.join("config.toml"))
        },
        remark: Some("Codex reads the project's file only in projects that you have marked as trusted."),
    },
    Client {
        name: "zed",
        title: "Zed",
        launch: Launch { name: "Zed", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "context_servers",
        fields: &[Command("command"), Arguments, EmptyObject("env")],
        user_place: "~/.config/zed/settings.json",
        project_place: Some(".zed/settings.json"),
        user_file: |at| {
            let directory =
                if cfg!(windows) { at.roaming.as_ref()?.join("Zed") } else { at.config()?.join("zed") };
            Some(directory.join("settings.json"))
        },
        remark: Some("Older versions of Zed also want `\"source\": \"custom\"` in the entry."),
    },
    Client {
        name: "goose",
        title: "Goose",
        launch: launch::GOOSE,
        format: FileFormat::Yaml,
        section: "extensions",
        fields: &[
            Text("type", "stdio"),
            Text("name", NAME),
            True("enabled"),
            Command("cmd"),
            Arguments,
            EmptyList("env_keys"),
            EmptyObject("envs"),
            Number("timeout", 300),
        ],
        user_place: "~/.config/goose/config.yaml",
        project_place: None,
        user_file: |at| {
            let windows = || Some(at.roaming.as_ref()?.join("Block/goose/config"));
            let directory = if cfg!(windows) { windows()? } else { at.config()?.join("goose") };
            Some(directory.join("config.yaml"))
        },
        remark: Some(
            "Goose takes comments out when it rewrites its file, and with them the marks by which `--remove` finds the \
             entry; then take the entry out in `goose configure`.",
        ),
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        launch: launch::GEMINI_CLI,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.gemini/settings.json",
        project_place: Some(".gemini/settings.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".gemini/settings.json")),
        remark: None,
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        launch: launch::CLAUDE_DESKTOP,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/Library/Application Support/Claude/claude_desktop_config.json",
        project_place: None,
        user_file: |at| Some(at.applications()?.join("Claude/claude_desktop_config.json")),
        remark: Some(
            "On Windows the file is `%APPDATA%\\Claude\\claude_desktop_config.json`. It has no project: give the \
                      server one with `args = [\"mcp\", \"--root\", DIR]`.",
        ),
    },
    // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    Client {
        name: "copilot",
        title: "GitHub Copilot CLI",
        launch: launch::COPILOT,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Text("type", "local"), Command("command"), Arguments, All("tools")],
        user_place: "~/.copilot/mcp-config.json",
        project_place: None,
        user_file: |at| {
            let directory =
                at.variable("COPILOT_HOME").or_else(|| Some(at.home.as_ref()?.join(".copilot")))?;
            Some(directory.join("mcp-config.json"))
        },
        remark: None,
    },
    // https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/
    Client {
        name: "qwen",
        title: "Qwen Code",
        launch: launch::QWEN,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.qwen/settings.json",
        project_place: Some(".qwen/settings.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".qwen/settings.json")),
        remark: None,
    },
    // https://opencode.ai/docs/mcp-servers/
    Client {
        name: "opencode",
        title: "opencode",
        launch: launch::OPENCODE,
        format: FileFormat::Json,
        section: "mcp",
        fields: &[Text("type", "local"), CommandLine("command"), True("enabled")],
        user_place: "~/.config/opencode/opencode.json",
        project_place: Some("opencode.json"),
        user_file: |at| Some(at.config()?.join("opencode/opencode.json")),
        remark: None,
    },
    // https://docs.cline.bot/mcp/configuring-mcp-servers
    Client {
        name: "cline",
        title: "Cline CLI",
        launch: launch::CLINE,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.cline/data/settings/cline_mcp_settings.json",
        project_place: None,
        user_file: |at| Some(at.home.as_ref()?.join(".cline/data/settings/cline_mcp_settings.json")),
        remark: Some("The extension for VS Code keeps a file of its own, which its MCP panel opens."),
    },
    // https://docs.continue.dev/customize/deep-dives/mcp: it takes files of Claude Desktop's form from these directories.
    // Where it has a configuration, that is `CONTINUE_LIST`.
    Client {
        name: "continue",
        title: "Continue",
        launch: Launch { name: "continue-client", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.continue/mcpServers/forage.json",
        project_place: Some(".continue/mcpServers/forage.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".continue/mcpServers/forage.json")),
        remark: Some(
            "Where there is a `~/.continue/config.yaml`, the entry goes into its list `mcpServers`, which the extensions for VS \
             Code and JetBrains read, and the program `cn`, too; `cn` reads nothing else, so that an older \
             `~/.continue/mcpServers/forage.json` has to go first (`--remove`).",
        ),
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    Client {
        name: "windsurf",
        title: "Windsurf",
        launch: Launch { name: "windsurf-client", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.codeium/windsurf/mcp_config.json",
        project_place: None,
        user_file: |at| Some(at.home.as_ref()?.join(".codeium/windsurf/mcp_config.json")),
        remark: None,
    },
    // https://kilocode.ai/docs/features/mcp/using-mcp-in-kilo-code
    Client {
        name: "kilo",
        title: "Kilo Code",
        launch: launch::KILO,
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json",
        project_place: Some(".kilocode/mcp.json"),
        user_file: |at| {
            let settings = "Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json";
            Some(at.applications()?.join(settings))
        },
        remark: None,
    },
    // https://kiro.dev/docs/mcp/configuration/
    Client {
        name: "kiro",
        title: "Kiro",
        launch: Launch { name: "Kiro", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.kiro/settings/mcp.json",
        project_place: Some(".kiro/settings/mcp.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".kiro/settings/mcp.json")),
        remark: None,
    },
    // https://junie.jetbrains.com/docs/junie-ides-mcp.html
    Client {
        name: "junie",
        title: "Junie (JetBrains)",
        launch: Launch { name: "Junie", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.junie/mcp/mcp.json",
        project_place: Some(".junie/mcp/mcp.json"),
        user_file: |at| Some(at.home.as_ref()?.join(".junie/mcp/mcp.json")),
        remark: Some(
            "AI Assistant takes the same entry in Settings, Tools, AI Assistant, Model Context Protocol.",
        ),
    },
    // https://antigravity.google/docs/mcp
    Client {
        name: "antigravity",
        title: "Antigravity",
        launch: Launch { name: "antigravity-client", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.gemini/antigravity/mcp_config.json",
        project_place: None,
        user_file: |at| Some(at.home.as_ref()?.join(".gemini/antigravity/mcp_config.json")),
        remark: None,
    },
    // https://ampcode.com/manual#mcp
    Client {
        name: "amp",
        title: "Amp",
        launch: Launch { name: "amp-mcp-client", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "amp.mcpServers",
        fields: &[Command("command"), Arguments],
        user_place: "~/.config/amp/settings.json",
        project_place: Some(".amp/settings.json"),
        user_file: |at| Some(at.config()?.join("amp/settings.json")),
        remark: None,
    },
    // https://github.com/charmbracelet/crush#mcps
    Client {
        name: "crush",
        title: "Crush",
        launch: Launch { name: "crush", ..launch::PLAIN },
        format: FileFormat::Json,
        section: "mcp",
        fields: STDIO,
        user_place: "~/.config/crush/crush.json",
        project_place: Some("crush.json"),
        user_file: |at| Some(at.config()?.join("crush/crush.json")),
        remark: None,
    },
];

/// Continue where it has a configuration. <https://docs.continue.dev/reference#mcpservers>; `cn` 1.5.47 reads no other file.
static CONTINUE_LIST: Client = Client {
    name: "continue",
    title: "Continue",
    launch: Launch { name: "continue-client", ..launch::PLAIN },
    format: FileFormat::Yaml,
    section: "mcpServers",
    fields: &[Text("name", NAME), Command("command"), Arguments],
    user_place: "~/.continue/config.yaml",
    project_place: None,
    user_file: |at| Some(at.home.as_ref()?.join(".continue/config.yaml")),
    remark: None,
};

impl Client {
    /// The client as it is to be set up here: where it takes the entry from one of two files, with the one that there is.
    pub(super) fn variant(
        &'static self,
        scope: SetupScope,
        directories: &ClientDirectories,
    ) -> &'static Self {
        let is_there = |client: &Self| (client.user_file)(directories).is_some_and(|path| path.is_file());
        let has_list = self.name == CONTINUE_LIST.name && scope == SetupScope::User;
        // What was put into the other file before is to be found there.
        if has_list && !is_there(self) && is_there(&CONTINUE_LIST) { &CONTINUE_LIST } else { self }
    }

    /// Whether its servers are a list.
    pub(crate) fn is_list(&self) -> bool {
        std::ptr::eq(self, &raw const CONTINUE_LIST)
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    pub(super) fn spot(&self) -> Spot<'static> {
        Spot { section: self.section, name: NAME, is_list: self.is_list() }
    }

    pub(crate) fn section(&self) -> &'static str {
        self.section
    }

    /// The file as people write it; `None` when the client has none of that scope.
    pub(crate) fn place(&self, scope: SetupScope) -> Option<&'static str> {
        match scope {
            SetupScope::User => Some(self.user_place),
            SetupScope::Project => self.project_place,
        }
    }

    /// The directory of its own in which the user's file is, where that is one that no other program makes.
    pub(super) fn directory(&self, directories: &ClientDirectories) -> Option<PathBuf> {
        let is_own = self.name == "claude-desktop" || self.name == "kilo";
        is_own.then(|| (self.user_file)(directories)?.parent().map(Path::to_owned)).flatten()
    }

    /// The file of a scope.
    pub(super) fn file(
        &self,
        scope: SetupScope,
        directories: &ClientDirectories,
        project: &Path,
    ) -> Option<PathBuf> {
        match scope {
            SetupScope::User => (self.user_file)(directories),
            SetupScope::Project => Some(project.join(self.project_place?)),
        }
    }

    /// The entry that runs `command`.
    pub(crate) fn entry(&self, command: &str) -> Value {
        let field = |field: &ServerField| match *field {
            Command(key) => (key.to_owned(), Value::from(command)),
            Arguments => ("args".to_owned(), Value::from(ARGUMENTS.to_vec())),
            Text(key, text) => (key.to_owned(), Value::from(text)),
            True(key) => (key.to_owned(), Value::from(true)),
            Number(key, number) => (key.to_owned(), Value::from(number)),
            EmptyList(key) => (key.to_owned(), Value::Array(Vec::new())),
            EmptyObject(key) => (key.to_owned(), Value::Object(Map::new())),
            CommandLine(key) => {
                let line = [command].into_iter().chain(ARGUMENTS);
                (key.to_owned(), line.map(Value::from).collect())
            }
            All(key) => (key.to_owned(), Value::from(vec!["*"])),
        };
        Value::Object(self.fields.iter().map(field).collect())
    }

    /// The command of an entry and its arguments.
    pub(super) fn command_line(&self, entry: &Value) -> Option<(String, Vec<String>)> {
        let texts = |key: &str| -> Option<Vec<String>> {
            entry.get(key)?.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        self.fields.iter().find_map(|field| match field {
            Command(key) => Some((entry.get(*key)?.as_str()?.to_owned(), texts("args")?)),
            CommandLine(key) => {
                let mut line = texts(key)?.into_iter();
                Some((line.next()?, line.collect()))
            }
            _ => None,
        })
    }

    /// The command of an entry that runs Forage's server, whatever else its user has added to it.
    pub(super) fn command_of(&self, entry: &Value) -> Option<String> {
        let (command, arguments) = self.command_line(entry)?;
        let runs_server = arguments.first().map(String::as_str) == ARGUMENTS.first().copied();
        (is_forage(&command) && runs_server).then_some(command)
    }

    /// The same entry with another command.
    pub(super) fn with_command(&self, entry: &Value, command: &str) -> Value {
        let mut entry = entry.clone();
        for field in self.fields {
            match field {
                Command(key) => entry[*key] = Value::from(command),
                CommandLine(key) => entry[*key][0] = Value::from(command),
                _ => {}
            }
        }
        entry
    }
}
