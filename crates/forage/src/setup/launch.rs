//! How each client starts its configured servers: the environment that it passes on, its name and protocol
//! revision in the handshake, and its rules for tools.
//!
//! For a constant with a version, this was measured in November 2026 with a server that logged the names of
//! its variables. All others follow the documentation. Where it is silent, we assume that the client passes
//! on everything.

/// How a client starts a server.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The client's name in the handshake.
    pub(crate) name: &'static str,
    /// The protocol revision that the client requests.
    pub(crate) revision: &'static str,
    pub(crate) environment: Environment,
    /// Advice on how to pass on a variable that the client withholds.
    pub(crate) remedy: &'static str,
    /// The variable in which the client passes the project's directory to the server.
    pub(crate) project_variable: Option<&'static str>,
    /// True if the client expands `${NAME}` in the `env` of an entry.
    pub(crate) expands: bool,
    pub(crate) front: OfferedTools,
    pub(crate) consent: Consent,
    /// The command with which the client lists its servers, if we have tried one.
    pub(crate) listing: Option<Listing>,
}

/// A command that lists a client's servers, one per line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    pub(crate) program: &'static str,
    pub(crate) arguments: &'static [&'static str],
}

const fn listing(program: &'static str, arguments: &'static [&'static str]) -> Option<Listing> {
    Some(Listing { program, arguments })
}

/// Which of its own environment variables a client passes on.
#[derive(Debug)]
pub(crate) enum Environment {
    Whole,
    Only(&'static [&'static str]),
    Without(&'static [&'static str]),
    /// All variables except those whose names contain one of these strings.
    WithoutParts(&'static [&'static str]),
}

/// The tools that a client shows to its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferedTools {
    /// All tools, from the start.
    All,
    /// Tools that request it (`anthropic/alwaysLoad`). The model sees only the names of the others until it
    /// searches for them.
    Marked,
    /// Tools that the model has searched for.
    Searched,
}

/// The permissions that a call needs before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// None that we know of.
    None,
    /// `permissions` in Claude Code's settings.
    Permissions,
    /// `trust` in the entry. Without it, non-interactive runs have none of the tools.
    Trust,
    /// Both `trust` and a trusted folder. Without the latter the client starts no server.
    TrustAndFolder,
}

impl Environment {
    /// Returns true if the client passes on the variable `name`.
    pub(crate) fn passes_variable(&self, name: &str) -> bool {
        // Windows ignores case in names. So do we on all systems, since names that differ only in case don't
        // occur in practice.
        let name = name.to_ascii_uppercase();
        match self {
            Self::Whole => true,
            Self::Only(names) => names.contains(&name.as_str()),
            Self::Without(names) => !names.iter().any(|prefix| name.starts_with(prefix)),
            Self::WithoutParts(parts) => !parts.iter().any(|part| name.contains(part)),
        }
    }
}

/// A client without known restrictions.
pub(super) const PLAIN: Launch = Launch {
    name: "",
    revision: "2025-11-25",
    environment: Environment::Whole,
    remedy: IN_ENTRY,
    project_variable: None,
    expands: true,
    front: OfferedTools::All,
    consent: Consent::None,
    listing: None,
};

const IN_ENTRY: &str = "set them in `env` of the entry";

/// The variables that the official TypeScript SDK passes on by default.
const OF_THE_SDK: &[&str] = &[
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// 2.1.330.
pub(super) const CLAUDE_CODE: Launch = Launch {
    name: "claude-code",
    revision: "2026-07-28",
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    front: OfferedTools::Marked,
    consent: Consent::Permissions,
    listing: listing("claude", &["mcp", "list"]),
    ..PLAIN
};

/// 0.169.0.
pub(super) const CODEX: Launch = Launch {
    name: "codex-mcp-client",
    revision: "2025-06-18",
    environment: Environment::Only(&[
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "__CF_USER_TEXT_ENCODING",
        "APPDATA",
        "COMSPEC",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    ]),
    remedy: "name them in `env_vars` of the entry",
    expands: false,
    front: OfferedTools::Searched,
    listing: listing("codex", &["mcp", "list"]),
    ..PLAIN
};

/// 0.61.0. Note that it also checks values: it withholds a variable whose value has a password in an address.
pub(super) const GEMINI_CLI: Launch = Launch {
    name: "gemini-cli-mcp-client",
    revision: "2025-06-18",
    environment: Environment::WithoutParts(&[
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "KEY",
        "AUTH",
        "CREDENTIAL",
        "CREDS",
        "PRIVATE",
        "CERT",
        "CLIENT_ID",
        "TENANT_ID",
        "DATABASE_URL",
        "CONNECTION_STRING",
        "AWS_DEFAULT_REGION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_ACCOUNT",
    ]),
    remedy: "name them in `security.environmentVariableRedaction.allowed` of its settings",
    consent: Consent::TrustAndFolder,
    listing: listing("gemini", &["mcp", "list"]),
    ..PLAIN
};

/// 1.0.102.
pub(super) const COPILOT: Launch = Launch {
    name: "github-copilot-developer",
    revision: "2026-07-28",
    environment: Environment::Without(&[
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "COPILOT_PROVIDER_",
    ]),
    listing: listing("copilot", &["mcp", "list"]),
    ..PLAIN
};

/// 0.24.4.
pub(super) const QWEN: Launch = Launch {
    name: "qwen-cli-mcp-client-forage",
    front: OfferedTools::Searched,
    consent: Consent::Trust,
    listing: listing("qwen", &["mcp", "list"]),
    ..PLAIN
};

/// 1.18.33.
pub(super) const OPENCODE: Launch = Launch {
    name: "opencode",
    remedy: "set them in `environment` of the entry",
    listing: listing("opencode", &["mcp", "list"]),
    ..PLAIN
};

/// 3.0.65.
pub(super) const CLINE: Launch =
    Launch { name: "@cline/core", listing: listing("cline", &["config", "mcp"]), ..PLAIN };

/// <https://modelcontextprotocol.io/docs/tools/debugging>
pub(super) const CLAUDE_DESKTOP: Launch =
    Launch { name: "claude-ai", revision: "2025-06-18", environment: Environment::Only(OF_THE_SDK), ..PLAIN };

/// 7.7.7, which is based on opencode.
pub(super) const KILO: Launch =
    Launch { name: "kilo", listing: listing("kilo", &["mcp", "list"]), ..OPENCODE };

/// 2.1.0.
pub(super) const KIMI: Launch = Launch { name: "kimi-code", ..PLAIN };

/// Its `env_keys` are names in its own secret store, so they do not help to pass on variables.
pub(super) const GOOSE: Launch =
    Launch { name: "goose", remedy: "set them in `envs` of the entry", expands: false, ..PLAIN };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_hand_on_what_was_seen_to_arrive() {
        let cases = [
            (&CLAUDE_CODE, "OPENAI_API_KEY", true),
            (&CODEX, "OPENAI_API_KEY", false),
            (&CODEX, "HOME", true),
            (&CODEX, "XDG_CONFIG_HOME", false),
            (&GEMINI_CLI, "OPENAI_API_KEY", false),
            (&GEMINI_CLI, "OPENAI_BASE_URL", true),
            (&GEMINI_CLI, "github_token", false),
            (&COPILOT, "OPENAI_API_KEY", false),
            (&COPILOT, "COPILOT_PROVIDER_BASE_URL", false),
            (&COPILOT, "GROQ_API_KEY", true),
            (&QWEN, "OPENAI_API_KEY", true),
            (&CLAUDE_DESKTOP, "OPENAI_API_KEY", false),
            (&CLAUDE_DESKTOP, "LANG", false),
            (&CLAUDE_DESKTOP, "PATH", true),
        ];
        for (launch, variable, arrives) in cases {
            assert_eq!(launch.environment.passes_variable(variable), arrives, "{}: {variable}", launch.name);
        }
    }
}
