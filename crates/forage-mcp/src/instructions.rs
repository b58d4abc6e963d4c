//! The server's instructions for the model.

use forage_tools::ToolNames;
use forage_tools::registry::AnyTool;

use super::profiles::Profile;

/// The text about all tools, a template for [`forage_tools::ToolNames::fill`]. Some clients show only its
/// first paragraph.
const TEMPLATE: &str = include_str!("instructions.md");

/// The first paragraph to use if one of the tools that the template's first paragraph names is off.
const SHORT: &str = "Forage is code intelligence for this project: read-only, fast. Use its tools before grep, rg, find or reading \
                     files one by one.";

/// Builds the instructions for a client that is offered `tools`.
pub fn instructions(tools: &[&'static dyn AnyTool], profile: Profile) -> String {
    let text = ToolNames::from_tools_with(tools, |tool| profile.called(tool)).fill(TEMPLATE);
    let text = text.trim();
    if text.starts_with("Forage") { text.to_owned() } else { format!("{SHORT}\n\n{text}") }
}

#[cfg(test)]
mod tests {
    use forage_tools::registry::{TOOLS, ToolSelection, advertised};

    use super::*;
    use crate::limits;

    #[test]
    fn instructions_use_client_names_of_offered_tools() {
        for client in ["claude-code", "qwen-cli-mcp-client-forage", "opencode", "other"] {
            let profile = Profile::for_client(client);
            for off in TOOLS {
                let choice = ToolSelection { off: vec![off.id()], ..ToolSelection::all() };
                let tools = advertised(&choice.call("keyword_lookup", "keyword_lookup")).unwrap();
                let text = instructions(&tools, profile);
                assert!(!text.contains(&format!("`{}`", profile.called(*off))), "{}: {text}", off.id());
                for tool in &tools {
                    assert!(text.contains(&format!("`{}`", profile.called(*tool))), "{text}");
                }
                assert!(text.chars().count() <= limits::INSTRUCTIONS, "{}", text.chars().count());
                let first = text.split("\n\n").next().unwrap();
                // Codex shows 247 characters when it defers tools.
                assert!(first.starts_with("Forage") && first.chars().count() <= 247, "{first}");
                assert!(!text.contains("[[") && !text.contains("\n\n\n"), "{text}");
            }
        }
    }
}
