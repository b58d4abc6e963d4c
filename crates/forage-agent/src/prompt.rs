//! The system prompt and the first message of a conversation.

use std::fmt::Write as _;

use forage_fs::Root;
use forage_redact::Redacted;
use forage_tools::registry::AnyTool;
use forage_tools::{Answer, ToolNames, Workspace, sanitize_line};
use serde_json::json;

use super::earlier::{self, EarlierExchange};
use super::limits::{LISTING_BYTES, LISTING_TIME};
use super::result_redactor::ResultRedactor;

/// The built-in system prompt.
pub(super) const SYSTEM: &str = include_str!("prompt.md");

/// The part of the system prompt that separates file contents from the program's words. Every prompt must
/// contain it.
fn data_rules() -> &'static str {
    let from = SYSTEM.find("Data and instructions:").unwrap_or_default();
    let to = SYSTEM.find("How to answer:").unwrap_or(SYSTEM.len());
    SYSTEM.get(from..to).unwrap_or(SYSTEM).trim_end()
}

/// Builds a system prompt from the user's template, and appends the rules for fenced data.
pub(super) fn system(own: &str, names: &ToolNames) -> String {
    format!("{}\n\n{}\n", names.fill(own).trim(), data_rules())
}

/// Formats the remark that this turn is the last one.
pub(super) fn last_turn(reason: &str) -> String {
    format!(
        "this is the last turn, because {reason}: answer the question now, in text; no more calls will be run"
    )
}

/// The remark to a model that returned neither text nor a call.
pub(super) const NUDGE: &str =
    "your last reply contained neither text nor a call; answer the question in text, or call a tool";

/// The remark to a model that called tools in the last turn instead of answering.
pub(super) const NUDGE_TO_ANSWER: &str =
    "no more calls will be run; answer the question now, in text, from the results so far";

/// Builds the first message: the fence, the roots, a listing, and the question last, where models pay most
/// attention to it.
pub(super) fn opening(
    question: &str,
    earlier: &[EarlierExchange],
    workspace: &Workspace,
    list: Option<&dyn AnyTool>,
    redactor: &mut ResultRedactor,
) -> Redacted {
    let path = |root: &Root| sanitize_line(&root.path().display().to_string()).into_owned();
    let mut head = format!("The fence of this conversation is {}.\n", redactor.fence());
    let _ = writeln!(head, "Root, which relative paths are below: {}", path(workspace.roots.main()));
    for other in workspace.roots.all().iter().skip(1) {
        let _ = writeln!(head, "Another root, reached by absolute paths: {}", path(other));
    }
    if !workspace.roots.base().is_root() {
        let _ = writeln!(head, "Current directory: {}", workspace.roots.base().display());
    }
    let mut opening = redactor.plain(&head);
    if let Some(listing) = list.and_then(|tool| listing(tool, workspace)) {
        opening.push(&redactor.answer("The two upper levels of the root:", &listing));
    }
    opening.push(&earlier::render(earlier, workspace, redactor));
    opening.push(&redactor.plain(&format!("\nQuestion: {question}\n\n")));
    opening
}

fn listing(tool: &dyn AnyTool, workspace: &Workspace) -> Option<Answer> {
    let mut call = workspace.start_call();
    call.limits.text_bytes = call.limits.text_bytes.min(LISTING_BYTES);
    call.limits.timeout = call.limits.timeout.min(LISTING_TIME);
    tool.call(&call, json!({ "path": ".", "max_depth": 1 })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_prompt_keeps_the_redaction_rules() {
        let own = system("Answer in French. Search with {grep_search}.\n", &ToolNames::own());
        assert!(
            own.starts_with("Answer in French. Search with grep_search.\n\nData and instructions:"),
            "{own}"
        );
        for rule in ["===== BEGIN <fence> =====", "[forage <fence>:", "[redacted:"] {
            assert!(own.contains(rule), "{rule}: {own}");
        }
        assert!(!own.contains("How to answer") && !own.contains("How to work"), "{own}");
    }
}
