//! What a client's settings say of servers: what may be called unasked, which folders are trusted. Only what is asked for
//! here is read of them, and nothing is told.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{NAME, Scope, file, jsonc};
use crate::config::ClientDirectories;

/// The settings of a client, those of the user first.
#[derive(Debug, Default)]
pub(crate) struct Settings(Vec<Value>);

/// Whether a client lets its model call the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Given,
    /// It asks, each time or once.
    Asked,
    Denied,
}

impl Settings {
    /// Those of Claude Code.
    pub(crate) fn of_claude_code(directories: &ClientDirectories, project: &Path) -> Self {
        let own = directories
            .variable("CLAUDE_CONFIG_DIR")
            .or_else(|| Some(directories.home.as_ref()?.join(".claude")));
        let own = own.map(|directory| directory.join("settings.json"));
        Self::read(own, project, &[".claude/settings.json", ".claude/settings.local.json"])
    }

    /// Those of Gemini CLI.
    pub(crate) fn of_gemini_cli(directories: &ClientDirectories, project: &Path) -> Self {
        let own = directories.home.as_ref().map(|home| home.join(".gemini/settings.json"));
        Self::read(own, project, &[".gemini/settings.json"])
    }

    fn read(own: Option<PathBuf>, project: &Path, names: &[&str]) -> Self {
        let own = own.into_iter().map(|path| (path, None));
        let shared = names.iter().map(|name| (project.join(name), Some(project)));
        Self(own.chain(shared).filter_map(|(path, project)| value(&path, project)).collect())
    }

    /// The texts of all lists at a place.
    pub(crate) fn texts(&self, place: &str) -> Vec<&str> {
        let lists = self.0.iter().filter_map(|settings| settings.pointer(place)?.as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// The value at a place, from the last that has one.
    pub(crate) fn last(&self, place: &str) -> Option<&Value> {
        self.0.iter().rev().find_map(|settings| settings.pointer(place))
    }

    /// What Claude Code does with a call of these tools, by the names that it gives them.
    pub(crate) fn permission(&self, tools: &[String]) -> Permission {
        let server = format!("mcp__{NAME}");
        let all = [server.clone(), format!("{server}__*")];
        let has = |list: &str, tool: &str| {
            self.texts(list).iter().any(|rule| *rule == tool || all.iter().any(|all| all == rule))
        };
        let are_all = |list: &str| !tools.is_empty() && tools.iter().all(|tool| has(list, tool));
        let unasked =
            self.last("/permissions/defaultMode").and_then(Value::as_str) == Some("bypassPermissions");
        match () {
            () if are_all("/permissions/deny") => Permission::Denied,
            () if are_all("/permissions/allow") || unasked => Permission::Given,
            () => Permission::Asked,
        }
    }

    /// What Claude Code does with the servers of a project's file.
    pub(crate) fn project_server(&self, scope: Scope) -> Permission {
        let is_named = |list: &str| self.texts(list).contains(&NAME);
        match () {
            () if scope == Scope::User => Permission::Given,
            () if is_named("/disabledMcpjsonServers") => Permission::Denied,
            () if is_named("/enabledMcpjsonServers") => Permission::Given,
            () if self.last("/enableAllProjectMcpServers") == Some(&Value::Bool(true)) => Permission::Given,
            () => Permission::Asked,
        }
    }

    /// Whether Gemini CLI starts servers in a folder.
    pub(crate) fn folder(&self, directories: &ClientDirectories, folder: &Path) -> Permission {
        if self.last("/security/folderTrust/enabled") == Some(&Value::Bool(false)) {
            return Permission::Given;
        }
        let file = directories.home.as_ref().map(|home| home.join(".gemini/trustedFolders.json"));
        let rules = file.and_then(|file| value(&file, None)).unwrap_or_default();
        let rules = rules
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(path, rule)| Some((Path::new(path), rule.as_str()?)));
        // The nearest decides.
        let above = |path: &Path, rule: &str| match rule {
            "TRUST_PARENT" => path.parent().is_some_and(|parent| folder.starts_with(parent)),
            _ => folder.starts_with(path),
        };
        let nearest =
            rules.filter(|(path, rule)| above(path, rule)).max_by_key(|(path, _)| path.components().count());
        match nearest.map(|(_, rule)| rule) {
            Some("TRUST_FOLDER" | "TRUST_PARENT") => Permission::Given,
            Some("DO_NOT_TRUST") => Permission::Denied,
            _ => Permission::Asked,
        }
    }
}

/// A file of settings; `None` for one that is missing or not understood, which is its client's to complain of.
fn value(path: &Path, project: Option<&Path>) -> Option<Value> {
    jsonc::value(&file::read(path, project).ok()?.text?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_for_the_server_or_for_each_tool_lets_them_be_called() {
        let tools = ["mcp__forage__a".to_owned(), "mcp__forage__b".to_owned()];
        for (settings, expected) in [
            (json!({}), Permission::Asked),
            (json!({ "permissions": { "allow": ["mcp__forage"] } }), Permission::Given),
            (json!({ "permissions": { "allow": ["mcp__forage__*"] } }), Permission::Given),
            (json!({ "permissions": { "allow": ["mcp__forage__a", "mcp__forage__b"] } }), Permission::Given),
            (json!({ "permissions": { "allow": ["mcp__forage__a"] } }), Permission::Asked),
            (json!({ "permissions": { "allow": ["mcp__other"] } }), Permission::Asked),
            (
                json!({ "permissions": { "allow": ["mcp__forage"], "deny": ["mcp__forage"] } }),
                Permission::Denied,
            ),
            (json!({ "permissions": { "defaultMode": "bypassPermissions" } }), Permission::Given),
            (json!({ "permissions": 1 }), Permission::Asked),
        ] {
            assert_eq!(Settings(vec![settings.clone()]).permission(&tools), expected, "{settings}");
        }
        let split = Settings(vec![
            json!({ "permissions": { "allow": ["mcp__forage__a"] } }),
            json!({ "permissions": { "allow": ["mcp__forage__b"] } }),
        ]);
        assert_eq!(split.permission(&tools), Permission::Given);
    }

    #[test]
    fn a_server_of_a_project_is_asked_about() {
        for (settings, expected) in [
            (json!({}), Permission::Asked),
            (json!({ "enableAllProjectMcpServers": true }), Permission::Given),
            (json!({ "enabledMcpjsonServers": ["forage"] }), Permission::Given),
            (
                json!({ "disabledMcpjsonServers": ["forage"], "enableAllProjectMcpServers": true }),
                Permission::Denied,
            ),
        ] {
            let settings = Settings(vec![settings]);
            assert_eq!(settings.project_server(Scope::Project), expected, "{settings:?}");
            assert_eq!(settings.project_server(Scope::User), Permission::Given);
        }
    }
}
