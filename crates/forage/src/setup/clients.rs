//! The supported clients: where each one keeps its configuration, and what form its entries have.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::EntryLocation;
use super::launch::{self, Launch};
use crate::config::ClientDirectories;

/// The name of Forage's entry in every client.
pub(crate) const NAME: &str = "forage";

/// Returns true if an entry's command runs Forage. Both path separators count because the file may come from
/// another system.
pub(crate) fn is_forage(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name) == NAME
}

/// The fields of an entry that may hold the command. It is a string with the arguments in `args`, or one list
/// with both.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// JSON. Some clients accept comments and trailing commas, so these are preserved for all.
    Json,
    Toml,
    Yaml,
    /// A Markdown file that Forage owns as a whole: a skill that runs the program in a shell.
    Skill,
}

impl FileFormat {
    /// Returns the language name for a fenced code block.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
            Self::Skill => "markdown",
        }
    }
}

/// The scope of a set-up: all projects of one user, or all users of one project.
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

/// A client that can be set up.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) launch: Launch,
    pub(crate) format: FileFormat,
    /// The object or table that contains the servers.
    section: &'static str,
    /// The entry as JSON, with an empty command.
    template: &'static str,
    /// The path of the user's file in its displayed form, e.g. with `~`.
    user_place: &'static str,
    /// The path of the project's file, relative to the project's root.
    project_place: Option<&'static str>,
    /// The version of the client with which the entry was tested. For clients without one we rely on their
    /// documentation.
    pub(crate) tried: Option<&'static str>,
    /// A note for users who set this client up.
    pub(crate) remark: Option<&'static str>,
}

/// Defaults for a client that differs only in its names and files.
const PLAIN: Client = Client {
    name: "",
    title: "",
    launch: launch::PLAIN,
    format: FileFormat::Json,
    section: "mcpServers",
    template: r#"{"command": "", "args": ["mcp"]}"#,
    user_place: "",
    project_place: None,
    tried: None,
    remark: None,
};

const STDIO: &str = r#"{"type": "stdio", "command": "", "args": ["mcp"]}"#;

const OPENCODE: &str = r#"{"type": "local", "command": ["", "mcp"], "enabled": true}"#;

const GOOSE: &str = r#"{"type": "stdio", "name": "forage", "enabled": true, "cmd": "", "args": ["mcp"], "env_keys": [], "envs": {}, "timeout": 300}"#;

/// All clients, in display order.
pub(crate) static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        launch: launch::CLAUDE_CODE,
        template: STDIO,
        user_place: "~/.claude.json",
        project_place: Some(".mcp.json"),
        tried: Some("2.1.330"),
        ..PLAIN
    },
    Client {
        name: "cursor",
        title: "Cursor",
        launch: Launch { name: "cursor-vscode", ..launch::PLAIN },
        template: STDIO,
        user_place: "~/.cursor/mcp.json",
        project_place: Some(".cursor/mcp.json"),
        ..PLAIN
    },
    Client {
        name: "vscode",
        title: "VS Code",
        launch: Launch { name: "Visual Studio Code", ..launch::PLAIN },
        section: "servers",
        template: STDIO,
        user_place: "~/.config/Code/User/mcp.json",
        project_place: Some(".vscode/mcp.json"),
        remark: Some(
            "On macOS the user's file is `~/Library/Application Support/Code/User/mcp.json`, on Windows \
             `%APPDATA%\\Code\\User\\mcp.json`.",
        ),
        ..PLAIN
    },
    Client {
        name: "codex",
        title: "Codex",
        launch: launch::CODEX,
        format: FileFormat::Toml,
        section: "mcp_servers",
        user_place: "~/.codex/config.toml",
        project_place: Some(".codex/config.toml"),
        tried: Some("0.169.0"),
        remark: Some("Codex reads the project's file only in projects that you have marked as trusted."),
        ..PLAIN
    },
    Client {
        name: "zed",
        title: "Zed",
        launch: Launch { name: "Zed", ..launch::PLAIN },
        section: "context_servers",
        template: r#"{"command": "", "args": ["mcp"], "env": {}}"#,
        user_place: "~/.config/zed/settings.json",
        project_place: Some(".zed/settings.json"),
        remark: Some("Older versions of Zed also want `\"source\": \"custom\"` in the entry."),
        ..PLAIN
    },
    Client {
        name: "goose",
        title: "Goose",
        launch: launch::GOOSE,
        format: FileFormat::Yaml,
        section: "extensions",
        template: GOOSE,
        user_place: "~/.config/goose/config.yaml",
        remark: Some(
            "Goose removes comments when it rewrites its file, including the marks by which `--remove` finds the entry. In this \
             case, remove the entry with `goose configure`.",
        ),
        ..PLAIN
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        launch: launch::GEMINI_CLI,
        user_place: "~/.gemini/settings.json",
        project_place: Some(".gemini/settings.json"),
        tried: Some("0.61.0"),
        ..PLAIN
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        launch: launch::CLAUDE_DESKTOP,
        user_place: "~/Library/Application Support/Claude/claude_desktop_config.json",
        remark: Some(
            "On Windows the file is `%APPDATA%\\Claude\\claude_desktop_config.json`. It has no project: add one \
             with `args = [\"mcp\", \"--root\", DIR]`.",
        ),
        ..PLAIN
    },
    // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    Client {
        name: "copilot",
        title: "GitHub Copilot CLI",
        launch: launch::COPILOT,
        template: r#"{"type": "local", "command": "", "args": ["mcp"], "tools": ["*"]}"#,
        user_place: "~/.copilot/mcp-config.json",
        tried: Some("1.0.102"),
        ..PLAIN
    },
    // https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/
    Client {
        name: "qwen",
        title: "Qwen Code",
        launch: launch::QWEN,
        user_place: "~/.qwen/settings.json",
        project_place: Some(".qwen/settings.json"),
        tried: Some("0.24.4"),
        ..PLAIN
    },
    // https://opencode.ai/docs/mcp-servers/
    Client {
        name: "opencode",
        title: "opencode",
        launch: launch::OPENCODE,
        section: "mcp",
        template: OPENCODE,
        user_place: "~/.config/opencode/opencode.json",
        project_place: Some("opencode.json"),
        tried: Some("1.18.33"),
        ..PLAIN
    },
    // https://docs.cline.bot/mcp/configuring-mcp-servers
    Client {
        name: "cline",
        title: "Cline CLI",
        launch: launch::CLINE,
        user_place: "~/.cline/data/settings/cline_mcp_settings.json",
        tried: Some("3.0.65"),
        remark: Some("The extension for VS Code has its own file, which you can open from its MCP panel."),
        ..PLAIN
    },
    // https://docs.continue.dev/customize/deep-dives/mcp: Continue reads files in Claude Desktop's format
    // from these directories. If the user has a `config.yaml`, we use `CONTINUE_LIST` instead.
    Client {
        name: "continue",
        title: "Continue",
        launch: Launch { name: "continue-client", ..launch::PLAIN },
        user_place: "~/.continue/mcpServers/forage.json",
        project_place: Some(".continue/mcpServers/forage.json"),
        tried: Some("1.5.47"),
        remark: Some(
            "If `~/.continue/config.yaml` exists, the entry goes into its list `mcpServers`, which the extensions for VS Code and \
             JetBrains and the program `cn` read. Otherwise the entry goes into `~/.continue/mcpServers/forage.json`, which \
             `cn` does not read. After you have created a `config.yaml`, remove the entry (`--remove`) and set Continue up \
             again.",
        ),
        ..PLAIN
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    Client {
        name: "windsurf",
        title: "Windsurf",
        launch: Launch { name: "windsurf-client", ..launch::PLAIN },
        user_place: "~/.codeium/windsurf/mcp_config.json",
        ..PLAIN
    },
    // The configuration reference in the program, 7.7.7. Since version 7, the extension for VS Code uses the
    // same files.
    Client {
        name: "kilo",
        title: "Kilo Code",
        launch: launch::KILO,
        section: "mcp",
        template: OPENCODE,
        user_place: "~/.config/kilo/kilo.json",
        project_place: Some("kilo.json"),
        tried: Some("7.7.7"),
        ..PLAIN
    },
    // The instructions for `/mcp-config` in the program, 2.1.0.
    Client {
        name: "kimi",
        title: "Kimi Code",
        launch: launch::KIMI,
        user_place: "~/.kimi-code/mcp.json",
        project_place: Some(".kimi-code/mcp.json"),
        ..PLAIN
    },
    // https://kiro.dev/docs/mcp/configuration/
    Client {
        name: "kiro",
        title: "Kiro",
        launch: Launch { name: "Kiro", ..launch::PLAIN },
        user_place: "~/.kiro/settings/mcp.json",
        project_place: Some(".kiro/settings/mcp.json"),
        ..PLAIN
    },
    // https://junie.jetbrains.com/docs/junie-ides-mcp.html
    Client {
        name: "junie",
        title: "Junie (JetBrains)",
        launch: Launch { name: "Junie", ..launch::PLAIN },
        user_place: "~/.junie/mcp/mcp.json",
        project_place: Some(".junie/mcp/mcp.json"),
        remark: Some(
            "AI Assistant takes the same entry in Settings, Tools, AI Assistant, Model Context Protocol.",
        ),
        ..PLAIN
    },
    // https://antigravity.google/docs/mcp
    Client {
        name: "antigravity",
        title: "Antigravity",
        launch: Launch { name: "antigravity-client", ..launch::PLAIN },
        user_place: "~/.gemini/antigravity/mcp_config.json",
        ..PLAIN
    },
    // https://ampcode.com/manual#mcp
    Client {
        name: "amp",
        title: "Amp",
        launch: Launch { name: "amp-mcp-client", ..launch::PLAIN },
        section: "amp.mcpServers",
        user_place: "~/.config/amp/settings.json",
        project_place: Some(".amp/settings.json"),
        ..PLAIN
    },
    // docs/skills.md in the package, 0.73.1. This client has no MCP, so its skill runs the program in a
    // shell.
    Client {
        name: "pi",
        title: "pi",
        format: FileFormat::Skill,
        section: "",
        user_place: "~/.pi/agent/skills/forage/SKILL.md",
        project_place: Some(".pi/skills/forage/SKILL.md"),
        ..PLAIN
    },
    // https://github.com/charmbracelet/crush#mcps
    Client {
        name: "crush",
        title: "Crush",
        launch: Launch { name: "crush", ..launch::PLAIN },
        section: "mcp",
        template: STDIO,
        user_place: "~/.config/crush/crush.json",
        project_place: Some("crush.json"),
        ..PLAIN
    },
];

/// Continue with its own `config.yaml`. <https://docs.continue.dev/reference#mcpservers>; note that `cn`
/// 1.5.47 reads no other file.
static CONTINUE_LIST: Client = Client {
    name: "continue",
    title: "Continue",
    launch: Launch { name: "continue-client", ..launch::PLAIN },
    format: FileFormat::Yaml,
    template: r#"{"name": "forage", "command": "", "args": ["mcp"]}"#,
    user_place: "~/.continue/config.yaml",
    ..PLAIN
};

impl Client {
    /// Chooses the variant of the client to set up. Continue reads its entry from one of two files, so this
    /// is the one that exists.
    pub(super) fn variant(
        &'static self,
        scope: SetupScope,
        directories: &ClientDirectories,
    ) -> &'static Self {
        let is_there =
            |client: &Self| directories.resolve(client.user_place).is_some_and(|path| path.is_file());
        let has_list = self.name == CONTINUE_LIST.name && scope == SetupScope::User;
        // If the other file exists, it holds an entry that must still be found and removed.
        if has_list && !is_there(self) && is_there(&CONTINUE_LIST) { &CONTINUE_LIST } else { self }
    }

    /// Returns true if the servers form a list.
    pub(crate) fn is_list(&self) -> bool {
        std::ptr::eq(self, &raw const CONTINUE_LIST)
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    pub(super) fn spot(&self) -> EntryLocation<'static> {
        EntryLocation { section: self.section, name: NAME, is_list: self.is_list() }
    }

    pub(crate) fn section(&self) -> &'static str {
        self.section
    }

    /// Returns the path of the file in its displayed form, or `None` if the client has no file in this scope.
    pub(crate) fn place(&self, scope: SetupScope) -> Option<&'static str> {
        match scope {
            SetupScope::User => Some(self.user_place),
            SetupScope::Project => self.project_place,
        }
    }

    /// Returns the directory of the user's file if it belongs to this client alone. It then shows that the
    /// client is installed.
    pub(super) fn directory(&self, directories: &ClientDirectories) -> Option<PathBuf> {
        let is_own = self.name == "claude-desktop";
        is_own.then(|| directories.resolve(self.user_place)?.parent().map(Path::to_owned)).flatten()
    }

    /// Resolves the path of the file in a scope.
    pub(super) fn file(
        &self,
        scope: SetupScope,
        directories: &ClientDirectories,
        project: &Path,
    ) -> Option<PathBuf> {
        match scope {
            SetupScope::User => directories.resolve(self.user_place),
            SetupScope::Project => Some(project.join(self.project_place?)),
        }
    }

    /// Builds the entry that runs `command`.
    pub(crate) fn entry(&self, command: &str) -> Value {
        self.with_command(&serde_json::from_str(self.template).unwrap_or_default(), command)
    }

    /// Splits an entry into its command and arguments.
    pub(super) fn command_line(&self, entry: &Value) -> Option<(String, Vec<String>)> {
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        match COMMANDS.iter().find_map(|key| entry.get(*key))? {
            Value::String(command) => Some((command.clone(), texts(entry.get("args")?)?)),
            line => {
                let mut line = texts(line)?.into_iter();
                Some((line.next()?, line.collect()))
            }
        }
    }

    /// Returns the command of an entry if it runs Forage's server. The user may have added other fields.
    pub(super) fn command_of(&self, entry: &Value) -> Option<String> {
        let (command, arguments) = self.command_line(entry)?;
        let runs_server = arguments.first().is_some_and(|argument| argument == "mcp");
        (is_forage(&command) && runs_server).then_some(command)
    }

    /// Copies an entry and replaces its command.
    pub(super) fn with_command(&self, entry: &Value, command: &str) -> Value {
        let mut entry = entry.clone();
        match COMMANDS.iter().find(|key| entry.get(**key).is_some()).map(|key| &mut entry[*key]) {
            Some(Value::Array(line)) if !line.is_empty() => line[0] = Value::from(command),
            Some(other) => *other = Value::from(command),
            None => {}
        }
        entry
    }
}
