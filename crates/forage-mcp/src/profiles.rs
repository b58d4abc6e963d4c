//! What is known of clients: how long a text they show whole, how they write the names of tools, what they have
//! themselves.
//!
//! Measured with the real clients, in the versions that stand beside each, against a scripted model, in November 2026.

use forage_tools::registry::AnyTool;

/// The facts that are known of a client.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Part of the name by which it introduces itself, in lower case.
    client: &'static str,
    /// Bytes of a text answer that it shows its model whole.
    text_bytes: usize,
    /// What it puts in front of the names of a server's tools, if the server is called `forage`.
    written_prefix: &'static str,
    /// It reads files and lists directories itself.
    has_files: bool,
    /// Records reach a program there whatever the model, which pays nothing for them: it calls tools from code. Who shows a
    /// model the records in place of the text, or counts both towards a limit, gets text alone. None is known yet: Codex
    /// 0.169.0 hands both to the code of models that write some (gpt-6-sol), and to others (gpt-5.5) the records in place of
    /// the text, which a server can't tell apart.
    reads_records: bool,
    /// It asks its user for what a server wants its model to say, or never answers.
    sampling_hangs: bool,
    /// It reads the `_meta` of Anthropic's clients: which tools are in front of the model from the start, and how long a
    /// result may be.
    reads_anthropic_meta: bool,
}

const UNKNOWN: Profile = Profile {
    client: "",
    text_bytes: 20_000,
    written_prefix: "",
    has_files: false,
    reads_records: false,
    sampling_hangs: false,
    reads_anthropic_meta: false,
};

/// Bytes of an answer of `read_file` for a client that is not known.
const FILE_BYTES: usize = 40_000;

/// An agent for code: it has a shell, and tools of its own for files.
const AGENT: Profile = Profile { has_files: true, ..UNKNOWN };

/// The first that fits is taken.
const PROFILES: &[Profile] = &[
    // Claude Code 2.1.330: 46,994 characters passed, 54,100 became a file.
    Profile {
        client: "claude-code",
        text_bytes: 46_000,
        written_prefix: "mcp__forage__",
        reads_anthropic_meta: true,
        ..AGENT
    },
    // Codex 0.169.0: 10,000 tokens, 48,018 characters with the models of OpenAI. With models that it does not know it cuts
    // beyond 12,018 in the middle, which a server can't tell.
    Profile { client: "codex", text_bytes: 40_000, written_prefix: "mcp__forage__", ..AGENT },
    // Gemini CLI 0.61.0: 40,000 characters with its own words around them. Its own tools are called `grep_search`,
    // `read_file` and `list_directory`, too.
    Profile { client: "gemini-cli", text_bytes: 39_000, written_prefix: "mcp_forage_", ..AGENT },
    // Qwen Code 0.24.4: 26,844 passed, 29,500 became a file.
    Profile { client: "qwen-cli", text_bytes: 26_000, written_prefix: "mcp__forage__", ..AGENT },
    // opencode 1.18.33: 51,200.
    Profile { client: "opencode", text_bytes: 50_000, written_prefix: "forage_", ..AGENT },
    // Copilot CLI 1.0.102: 20,414 passed, 21,300 became a file. Without a user it waits for the answer to a question to its
    // model without end.
    Profile { client: "copilot", written_prefix: "forage-", sampling_hangs: true, ..AGENT },
    // Cline 3.0.65: 7,999 characters.
    Profile { client: "cline", text_bytes: 7_500, written_prefix: "forage__", ..AGENT },
    // Continue 1.5.47: no bound was found; names are as they are.
    Profile { client: "continue", text_bytes: 40_000, ..AGENT },
    // fast-agent 0.10.46: 16,221.
    Profile { client: "fast-agent", text_bytes: 16_000, written_prefix: "forage__", ..UNKNOWN },
];

/// Tools whose names the official filesystem server has too. openai-agents 0.24.0 and Pydantic AI 2.68.0 refuse to start
/// with two tools of one name, LangChain's adapters 0.3.2 hand on both, and mcp-use 1.7.1 the first. Three of the four
/// introduce themselves by the name that the Python SDK has for everyone (`mcp`), so that nothing tells them from others.
const TAKEN: [&str; 2] = ["list_directory", "read_file"];

impl Profile {
    /// The client's name as it is known here; `None` for one that is not.
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(self.client).filter(|name| !name.is_empty())
    }

    /// That of a client by the name with which it introduces itself.
    pub fn of(client: &str) -> Self {
        let client = client.to_ascii_lowercase();
        PROFILES.iter().find(|profile| client.contains(profile.client)).copied().unwrap_or(UNKNOWN)
    }

    /// Bytes of an answer of a tool. A client that is not known gets more of a file that it asks for: the call names its size, and
    /// of the nine clients above six show that much.
    pub fn text_bytes(&self, tool: &dyn AnyTool) -> usize {
        match (self.name(), tool.id()) {
            (None, "read_file") => FILE_BYTES,
            _ => self.text_bytes,
        }
    }

    /// That of a client which is not known.
    pub fn unknown() -> Self {
        UNKNOWN
    }

    /// The name by which the client is told of a tool. Where the client puts nothing in front of names, a name that another
    /// server may have gets what others put there, unless the user chose it.
    pub fn listed(&self, tool: &dyn AnyTool) -> String {
        let name = tool.name();
        match self.written_prefix.is_empty() && TAKEN.contains(&name) && !tool.is_named() {
            true => format!("forage_{name}"),
            false => name.to_owned(),
        }
    }

    /// A tool's name as the client's model sees it.
    pub fn written(&self, tool: &dyn AnyTool) -> String {
        self.prefixed(&self.listed(tool))
    }

    /// The same of a name by which the client was told of a tool.
    pub fn prefixed(&self, listed: &str) -> String {
        format!("{}{listed}", self.written_prefix)
    }

    /// Returns whether the client reads files and lists directories itself.
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
            ("github-copilot-developer", "forage-", 20_000),
            ("@cline/core", "forage__", 7_500),
            ("continue-cli-client", "", 40_000),
            ("fast-agent-mcp", "forage__", 16_000),
            ("somebody else", "", 20_000),
        ];
        let tool = find("grep_search").unwrap();
        for (client, prefix, text_bytes) in cases {
            let (profile, written) = (Profile::of(client), format!("{prefix}grep_search"));
            assert_eq!(
                (profile.written(tool), profile.text_bytes(tool)),
                (written.clone(), text_bytes),
                "{client}"
            );
            assert_eq!(find(&written).unwrap().id(), "grep_search");
        }
    }

    #[test]
    fn names_that_another_server_may_have_are_written_so_that_they_are_ours() {
        for (client, listed, written) in [
            ("mcp", "forage_read_file", "forage_read_file"),
            ("mcp-use", "forage_read_file", "forage_read_file"),
            ("continue-cli-client", "forage_read_file", "forage_read_file"),
            ("fast-agent-mcp", "read_file", "forage__read_file"),
            ("claude-code", "read_file", "mcp__forage__read_file"),
        ] {
            let (profile, tool) = (Profile::of(client), find("read_file").unwrap());
            assert_eq!(
                (profile.listed(tool), profile.written(tool)),
                (listed.to_owned(), written.to_owned())
            );
            assert_eq!(find(written).unwrap().id(), "read_file");
            // A name that the user chose is that name, its own included.
            let chosen = advertised(&ToolSelection::default().call("read_file", "read_file")).unwrap();
            let chosen = find_among(&chosen, "read_file").unwrap();
            assert_eq!(profile.written(chosen), profile.prefixed("read_file"));
        }
    }
}
