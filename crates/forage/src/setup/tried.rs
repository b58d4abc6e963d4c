//! With which clients the entry has been tried, the real program that is; all others are written from documentation.

use super::Client;

/// Names of clients, and the versions that the tests run.
const TRIED: &[(&str, &str)] = &[
    ("claude-code", "2.1.330"),
    ("codex", "0.169.0"),
    ("gemini-cli", "0.61.0"),
    ("copilot", "1.0.102"),
    ("qwen", "0.24.4"),
    ("opencode", "1.18.33"),
    ("cline", "3.0.65"),
    ("continue", "1.5.47"),
];

impl Client {
    /// The version of the program that took the entry, started its server and passed on its answers.
    pub(crate) fn tried(&self) -> Option<&'static str> {
        TRIED.iter().find(|(name, _)| *name == self.name).map(|(_, version)| *version)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Their names in the registry.
    const PACKAGES: &[(&str, &str)] = &[
        ("claude-code", "@anthropic-ai/claude-code"),
        ("codex", "@openai/codex"),
        ("gemini-cli", "@google/gemini-cli"),
        ("copilot", "@github/copilot"),
        ("qwen", "@qwen-code/qwen-code"),
        ("opencode", "opencode-ai"),
        ("cline", "cline"),
        ("continue", "@continuedev/cli"),
    ];

    #[test]
    fn what_is_said_to_be_tried_is_what_the_tests_run() {
        let list: Value =
            serde_json::from_str(include_str!("../../tests/clients/real/package.json")).unwrap();
        let tried = |(name, package): &(&'static str, &str)| {
            (*name, list["dependencies"][*package].as_str().unwrap().to_owned())
        };
        let installed: Vec<_> = PACKAGES.iter().map(tried).collect();
        let said: Vec<_> = TRIED.iter().map(|(name, version)| (*name, (*version).to_owned())).collect();
        assert_eq!(said, installed);
        assert!(TRIED.iter().all(|(name, _)| Client::find(name).is_some()));
    }
}
