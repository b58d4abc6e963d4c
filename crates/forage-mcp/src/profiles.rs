//! Profiles of known clients: how much text they show in full, how they write tool names, and which tools
//! they have themselves.
//!
//! We measured the values in November 2026 with the real clients, in the versions given below, against a
//! scripted model.

use forage_tools::registry::AnyTool;

/// The known properties of a client.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Lower-case part of the name by which the client introduces itself, for example `codex`.
    client: &'static str,
    /// Maximum size in bytes of a text answer that the client shows its model in full.
    text_bytes: usize,
    /// The prefix that the client adds to tool names of a server called `forage`.
    written_prefix: &'static str,
    /// True if the client's name in the handshake ends with the name of the server, so that the prefix is
    /// certain. The user, and a plugin, may give the server another name.
    names_server: bool,
    /// True if the client reads files and lists directories itself.
    has_files: bool,
    /// True if the client calls tools from code, whatever the model, so that records reach a program and cost
    /// no tokens. A client that shows the model records instead of the text, or counts both towards a limit,
    /// gets only text. No client qualifies yet. Codex 0.169.0 passes both to the code of models that write
    /// code (e.g. gpt-6-sol), but shows other models (e.g. gpt-5.5) the records instead of the text. A server
    /// can't find out which model is used.
    reads_records: bool,
    /// True if the client asks its user before its model answers a server's question, or never answers.
    sampling_hangs: bool,
    /// True if the client reads the `_meta` fields of Anthropic's clients: which tools the model sees from
    /// the start, and how long a result may be.
    reads_anthropic_meta: bool,
}

const UNKNOWN: Profile = Profile {
    client: "",
    text_bytes: 20_000,
    written_prefix: "",
    names_server: false,
    has_files: false,
    reads_records: false,
    sampling_hangs: false,
    reads_anthropic_meta: false,
};

/// Maximum size in bytes of an answer of `read_file` for an unknown client.
const FILE_BYTES: usize = 40_000;

/// A coding agent with a shell and its own file tools.
const AGENT: Profile = Profile { has_files: true, ..UNKNOWN };

/// The known clients. The first entry that matches is used.
const PROFILES: &[Profile] = &[
    // Claude Code 2.1.330: 46,994 characters passed, 54,100 became a file.
    Profile {
        client: "claude-code",
        text_bytes: 46_000,
        written_prefix: "mcp__forage__",
        reads_anthropic_meta: true,
        ..AGENT
    },
    // Codex 0.169.0: 10,000 tokens, 48,018 characters with OpenAI's models. With models that it does not
    // know, it cuts the middle beyond 12,018 characters, which a server can't detect.
    Profile { client: "codex", text_bytes: 40_000, written_prefix: "mcp__forage__", ..AGENT },
    // Gemini CLI 0.61.0: 40,000 characters, including the text that it adds. Its own tools are also called
    // `grep_search`, `read_file` and `list_directory`.
    Profile { client: "gemini-cli", text_bytes: 39_000, written_prefix: "mcp_forage_", ..AGENT },
    // Qwen Code 0.24.4: 26,844 passed, 29,500 became a file.
    Profile {
        client: "qwen-cli",
        text_bytes: 26_000,
        written_prefix: "mcp__forage__",
        names_server: true,
        ..AGENT
    },
    // opencode 1.18.33: 51,200.
    Profile { client: "opencode", text_bytes: 50_000, written_prefix: "forage_", ..AGENT },
    // Kilo CLI 7.7.7, which is made from opencode.
    Profile { client: "kilo", text_bytes: 50_000, written_prefix: "forage_", ..AGENT },
    // Kimi Code 2.1.0.
    Profile { client: "kimi", written_prefix: "mcp__forage__", ..AGENT },
    // Copilot CLI 1.0.102: 20,414 passed, 21,300 became a file. Without a user, it waits forever for the
    // answer to a question to its model.
    Profile { client: "copilot", written_prefix: "forage-", sampling_hangs: true, ..AGENT },
    // Cline 3.0.65: 7,999 characters.
    Profile { client: "cline", text_bytes: 7_500, written_prefix: "forage__", ..AGENT },
    // Continue 1.5.47: we found no limit. It shows names without a prefix.
    Profile { client: "continue", text_bytes: 40_000, ..AGENT },
    // fast-agent 0.10.46: 16,221.
    Profile { client: "fast-agent", text_bytes: 16_000, written_prefix: "forage__", ..UNKNOWN },
];

impl Profile {
    /// The client's name in this table, or `None` for an unknown client.
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(self.client).filter(|name| !name.is_empty())
    }

    /// Looks up the profile by the name with which a client introduces itself.
    pub fn for_client(client: &str) -> Self {
        let client = client.to_ascii_lowercase();
        let found = PROFILES.iter().find(|profile| client.contains(profile.client)).copied();
        let mut found = found.unwrap_or(UNKNOWN);
        found.names_server &= client.ends_with("-forage");
        found
    }

    /// The maximum size in bytes of a tool's answer. An unknown client gets more from `read_file`, because
    /// the call itself names the size, and six of the eleven clients above show about that much.
    pub fn text_bytes(&self, tool: &dyn AnyTool) -> usize {
        match (self.name(), tool.id()) {
            (None, "read_file") => FILE_BYTES,
            _ => self.text_bytes,
        }
    }

    /// The profile of unknown clients.
    pub fn unknown() -> Self {
        UNKNOWN
    }

    /// The name under which a tool is listed for the client. Most agents put the server's name in front (e.g.
    /// `forage_` or `mcp__forage__`), but Continue and the frameworks do not. With two tools of one name,
    /// openai-agents 0.24.0 and Pydantic AI 2.68.0 refuse to start. LangChain's adapters 0.3.2 pass on both,
    /// and mcp-use 1.7.1 passes on the first. Three of them introduce themselves by the Python SDK's default
    /// name (`mcp`). So clients without a known prefix get the names that no other server has, unless the
    /// user chose the name.
    pub fn listed(&self, tool: &dyn AnyTool) -> String {
        let name = tool.name();
        match self.written_prefix.is_empty() && name == tool.id() && !tool.spec().is_named {
            true => tool.spec().distinct_name.to_string(),
            false => name.to_owned(),
        }
    }

    /// Writes a tool's name for texts to the client's model, with the client's prefix only if that is
    /// certain. A model finds a tool in its list by the end of the name, but can't call one by a wrong
    /// prefix.
    pub fn called(&self, tool: &dyn AnyTool) -> String {
        let listed = self.listed(tool);
        if self.names_server { self.prefixed(&listed) } else { listed }
    }

    /// The name of a tool as the client's model sees it, if the server is called `forage`.
    pub fn written(&self, tool: &dyn AnyTool) -> String {
        self.prefixed(&self.listed(tool))
    }

    /// Adds the prefix that the client's model sees if the server is called `forage`.
    pub fn prefixed(&self, listed: &str) -> String {
        format!("{}{listed}", self.written_prefix)
    }

    /// Returns true if the client reads files and lists directories itself.
    pub fn has_files(&self) -> bool {
        self.has_files
    }

    pub(super) fn reads_records(&self) -> bool {
        self.reads_records
    }

    pub(super) fn sampling_hangs(&self) -> bool {
        self.sampling_hangs
    }

    pub(super) fn reads_anthropic_meta(&self) -> bool {
        self.reads_anthropic_meta
    }
}

#[cfg(test)]
mod tests {
    use forage_tools::registry::{ToolSelection, advertised, find, find_among};

    use super::Profile;

    #[test]
    fn clients_are_known_by_the_names_that_they_send() {
        let cases = [
            ("claude-code", "mcp__forage__", 46_000),
            ("codex-mcp-client", "mcp__forage__", 40_000),
            ("gemini-cli-mcp-client", "mcp_forage_", 39_000),
            ("qwen-cli-mcp-client-forage", "mcp__forage__", 26_000),
            ("opencode", "forage_", 50_000),
            ("kilo", "forage_", 50_000),
            ("kimi-code", "mcp__forage__", 20_000),
            ("github-copilot-developer", "forage-", 20_000),
            ("@cline/core", "forage__", 7_500),
            ("continue-cli-client", "", 40_000),
            ("fast-agent-mcp", "forage__", 16_000),
            ("somebody else", "", 20_000),
        ];
        let tool = find("grep_search").unwrap();
        for (client, prefix, text_bytes) in cases {
            let (profile, written) = (Profile::for_client(client), format!("{prefix}grep_search"));
            assert_eq!(
                (profile.written(tool), profile.text_bytes(tool)),
                (written.clone(), text_bytes),
                "{client}"
            );
            assert_eq!(find(&written).unwrap().id(), "grep_search");
        }
    }

    #[test]
    fn ambiguous_tool_names_are_prefixed() {
        for (client, listed, written) in [
            ("mcp", "read_project_file", "read_project_file"),
            ("mcp-use", "read_project_file", "read_project_file"),
            ("continue-cli-client", "read_project_file", "read_project_file"),
            ("kilo", "read_file", "forage_read_file"),
            ("kimi-code", "read_file", "mcp__forage__read_file"),
            ("fast-agent-mcp", "read_file", "forage__read_file"),
            ("claude-code", "read_file", "mcp__forage__read_file"),
        ] {
            let (profile, tool) = (Profile::for_client(client), find("read_file").unwrap());
            assert_eq!(
                (profile.listed(tool), profile.written(tool)),
                (listed.to_owned(), written.to_owned())
            );
            assert_eq!(find(written).unwrap().id(), "read_file");
            // A name that the user chose must be used unchanged, even if it is the default.
            let chosen = advertised(&ToolSelection::default().call("read_file", "read_file")).unwrap();
            let chosen = find_among(&chosen, "read_file").unwrap();
            assert_eq!(profile.written(chosen), profile.prefixed("read_file"));
        }
    }

    /// A server can't know under which name the user or a plugin has registered it.
    #[test]
    fn texts_have_a_prefix_only_if_it_is_certain() {
        let tool = find("grep_search").unwrap();
        for (client, called) in [
            ("claude-code", "grep_search"),
            ("codex-mcp-client", "grep_search"),
            ("opencode", "grep_search"),
            ("mcp", "grep_search"),
            ("qwen-cli-mcp-client-forage", "mcp__forage__grep_search"),
            ("qwen-cli-mcp-client-code", "grep_search"),
        ] {
            assert_eq!(Profile::for_client(client).called(tool), called, "{client}");
        }
    }
}
