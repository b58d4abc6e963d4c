//! How a client starts the servers of its configuration: with which variables, by which name and in which revision of the
//! protocol it introduces itself, and what it puts between their tools and its model.
//!
//! Of the clients with a version beside them this was measured in November 2026, by a server that wrote down the names of
//! its variables. Of the others it is what their documentation says, and else the whole environment.

/// How a client starts a server.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The name by which it introduces itself.
    pub(crate) name: &'static str,
    /// The revision of the protocol that it asks for.
    pub(crate) revision: &'static str,
    pub(crate) environment: Environment,
    /// How a variable gets to the server that does not by itself.
    pub(crate) remedy: &'static str,
    /// The variable in which it names the project to the server.
    pub(crate) project_variable: Option<&'static str>,
    /// Whether `${NAME}` in the `env` of an entry stands for the value of a variable.
    pub(crate) expands: bool,
    pub(crate) front: OfferedTools,
    pub(crate) consent: Consent,
}

/// Which of the variables that it has itself a client hands on.
#[derive(Debug)]
pub(crate) enum Environment {
    Whole,
    Only(&'static [&'static str]),
    Without(&'static [&'static str]),
    /// All but those whose names have one of these in them.
    WithoutParts(&'static [&'static str]),
}

/// Which tools a client's model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferedTools {
    /// All, from the start.
    All,
    /// Those that ask for it (`anthropic/alwaysLoad`); of the others names, until the model searches for them.
    Marked,
    /// Those that the model has searched for.
    Searched,
}

/// What has to be permitted before a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Nothing, or nothing that is known.
    None,
    /// `permissions` of Claude Code's settings.
    Permissions,
    /// `trust` in the entry; without it, runs without a user have none of the tools.
    Trust,
    /// The same, and of the folder, too, without which no server is started.
    TrustAndFolder,
}

impl Environment {
    /// Whether a variable of this name is handed on.
    pub(crate) fn hands_on(&self, name: &str) -> bool {
        // As on Windows; elsewhere nobody has two that differ in this alone.
        let name = name.to_ascii_uppercase();
        match self {
            Self::Whole => true,
            Self::Only(names) => names.contains(&name.as_str()),
            Self::Without(names) => !names.iter().any(|prefix| name.starts_with(prefix)),
            Self::WithoutParts(parts) => !parts.iter().any(|part| name.contains(part)),
        }
    }
}

/// A client of which nothing is known that stands in the way.
pub(super) const PLAIN: Launch = Launch {
    name: "",
    revision: "2025-11-25",
    environment: Environment::Whole,
    remedy: IN_ENTRY,
    project_variable: None,
    expands: true,
    front: OfferedTools::All,
    consent: Consent::None,
};

const IN_ENTRY: &str = "set them in `env` of the entry";

/// What the official SDK for TypeScript hands on unless its caller says otherwise.
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
    ..PLAIN
};

/// 0.61.0. It looks at values, too: one with a password in an address does not arrive either.
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
    ..PLAIN
};

/// 0.24.4.
pub(super) const QWEN: Launch = Launch {
    name: "qwen-cli-mcp-client-forage",
    front: OfferedTools::Searched,
    consent: Consent::Trust,
    ..PLAIN
};

/// 1.18.33.
pub(super) const OPENCODE: Launch =
    Launch { name: "opencode", remedy: "set them in `environment` of the entry", ..PLAIN };

/// 3.0.65.
pub(super) const CLINE: Launch = Launch { name: "@cline/core", ..PLAIN };

/// <https://modelcontextprotocol.io/docs/tools/debugging>
pub(super) const CLAUDE_DESKTOP: Launch =
    Launch { name: "claude-ai", revision: "2025-06-18", environment: Environment::Only(OF_THE_SDK), ..PLAIN };

/// Its sources give the transport of the SDK nothing but the `env` of the entry.
pub(super) const KILO: Launch =
    Launch { name: "Kilo Code", environment: Environment::Only(OF_THE_SDK), ..PLAIN };

/// Its `env_keys` are names in its own store of secrets.
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
            assert_eq!(launch.environment.hands_on(variable), arrives, "{}: {variable}", launch.name);
        }
    }
}
