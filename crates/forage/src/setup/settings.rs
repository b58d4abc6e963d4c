//! A client's settings about servers: permissions and trusted folders. We read only the keys below and must
//! never show any values.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{NAME, SetupScope, file, jsonc};
use crate::config::ClientDirectories;

/// The settings of a client. Note that a project's settings are part of the repository, so a stranger may
/// have written them. A permission in them must not count as the user's.
#[derive(Debug, Default)]
pub(crate) struct EntrySettings {
    own: Vec<Value>,
    projects: Vec<Value>,
}

/// Whether a client may do something without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Given,
    /// The client asks, each time or once.
    Asked,
    /// A file of the project grants it. The client will accept this once it trusts the folder.
    Claimed,
    Denied,
}

impl EntrySettings {
    /// Reads the settings of Claude Code.
    pub(crate) fn for_claude_code(directories: &ClientDirectories, project: &Path) -> Self {
        let own = directories.resolve("~/.claude/settings.json");
        Self::read(own, project, &[".claude/settings.json", ".claude/settings.local.json"])
    }

    /// Reads the settings of Gemini CLI.
    pub(crate) fn for_gemini_cli(directories: &ClientDirectories, project: &Path) -> Self {
        let own = directories.resolve("~/.gemini/settings.json");
        Self::read(own, project, &[".gemini/settings.json"])
    }

    fn read(own: Option<PathBuf>, project: &Path, names: &[&str]) -> Self {
        Self {
            own: own.and_then(|path| value(&path, None)).into_iter().collect(),
            projects: names.iter().filter_map(|name| value(&project.join(name), Some(project))).collect(),
        }
    }

    /// Collects the strings of a list in the user's own settings.
    pub(crate) fn own_texts(&self, place: &str) -> Vec<&str> {
        self.own.iter().flat_map(|settings| list_of(settings, place)).collect()
    }

    /// Returns Claude Code's permission for calls of these tools. `tools` are the names that Claude Code
    /// uses.
    pub(crate) fn permission(&self, tools: &[String]) -> Permission {
        let server = format!("mcp__{NAME}");
        let all = [server.clone(), format!("{server}__*")];
        let are_all = |settings: &[&Value], list: &str| {
            let rules = || settings.iter().flat_map(|settings| list_of(settings, list));
            let has = |tool: &String| rules().any(|rule| rule == tool || all.iter().any(|all| all == rule));
            !tools.is_empty() && tools.iter().all(has)
        };
        let gives = |settings: &[&Value]| {
            let mode = settings.iter().rev().find_map(|it| it.pointer("/permissions/defaultMode"));
            are_all(settings, "/permissions/allow")
                || mode.and_then(Value::as_str) == Some("bypassPermissions")
        };
        self.decided(|settings| are_all(settings, "/permissions/deny"), gives)
    }

    /// Returns the user's own decision, or else the claim of a project file. A denial in a project file
    /// counts too, because the project gains nothing by it.
    fn decided(&self, denies: impl Fn(&[&Value]) -> bool, gives: impl Fn(&[&Value]) -> bool) -> Permission {
        let own: Vec<&Value> = self.own.iter().collect();
        let all: Vec<&Value> = self.own.iter().chain(&self.projects).collect();
        match () {
            () if denies(&all) => Permission::Denied,
            () if gives(&own) => Permission::Given,
            () if gives(&all) => Permission::Claimed,
            () => Permission::Asked,
        }
    }

    /// Returns Claude Code's permission for the servers of a project's file.
    pub(crate) fn project_server(&self, scope: SetupScope) -> Permission {
        if scope == SetupScope::User {
            return Permission::Given;
        }
        let is_named = |settings: &[&Value], list: &str| {
            settings.iter().any(|settings| list_of(settings, list).any(|name| name == NAME))
        };
        let gives = |settings: &[&Value]| {
            let all = settings.iter().rev().find_map(|it| it.pointer("/enableAllProjectMcpServers"));
            is_named(settings, "/enabledMcpjsonServers") || all == Some(&Value::Bool(true))
        };
        self.decided(|settings| is_named(settings, "/disabledMcpjsonServers"), gives)
    }

    /// Returns Gemini CLI's permission to start servers in a folder.
    pub(crate) fn folder(&self, directories: &ClientDirectories, folder: &Path) -> Permission {
        let is_off =
            |settings: &Value| settings.pointer("/security/folderTrust/enabled") == Some(&false.into());
        if self.own.iter().any(is_off) {
            return Permission::Given;
        }
        let file = directories.resolve("~/.gemini/trustedFolders.json");
        let rules = file.and_then(|file| value(&file, None)).unwrap_or_default();
        let rules = rules
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(path, rule)| Some((Path::new(path), rule.as_str()?)));
        // The rule for the nearest folder wins.
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

/// Iterates over the strings of a list.
fn list_of<'v>(settings: &'v Value, place: &str) -> impl Iterator<Item = &'v str> {
    settings.pointer(place).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Reads a settings file. A missing or invalid one is `None`, because it is the client's task to complain
/// about it.
fn value(path: &Path, project: Option<&Path>) -> Option<Value> {
    jsonc::read(&file::read(path, project).ok()?.text?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own(settings: Value) -> EntrySettings {
        EntrySettings { own: vec![settings], projects: Vec::new() }
    }

    fn project_settings(settings: Value) -> EntrySettings {
        EntrySettings { own: Vec::new(), projects: vec![settings] }
    }

    #[test]
    fn repository_settings_grant_no_permission() {
        let tools = ["mcp__forage__a".to_owned()];
        for settings in [
            json!({ "permissions": { "allow": ["mcp__forage"] } }),
            json!({ "permissions": { "defaultMode": "bypassPermissions" } }),
        ] {
            assert_eq!(
                project_settings(settings.clone()).permission(&tools),
                Permission::Claimed,
                "{settings}"
            );
            // Positive control: in the user's own settings the same values grant the permission.
            assert_eq!(own(settings).permission(&tools), Permission::Given);
        }
        for settings in
            [json!({ "enableAllProjectMcpServers": true }), json!({ "enabledMcpjsonServers": ["forage"] })]
        {
            let permission = project_settings(settings.clone()).project_server(SetupScope::Project);
            assert_eq!(permission, Permission::Claimed, "{settings}");
        }
        let settings = json!({ "security": { "folderTrust": { "enabled": false } } });
        let directories = ClientDirectories::find();
        let folder = Path::new("/nobody/was/ever/told/to/trust/this");
        assert_eq!(project_settings(settings.clone()).folder(&directories, folder), Permission::Asked);
        assert_eq!(own(settings).folder(&directories, folder), Permission::Given);
        let settings = json!({ "security": { "environmentVariableRedaction": { "allowed": ["KEY"] } } });
        let place = "/security/environmentVariableRedaction/allowed";
        assert!(project_settings(settings.clone()).own_texts(place).is_empty());
        assert_eq!(own(settings).own_texts(place), ["KEY"]);
    }

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
            assert_eq!(own(settings.clone()).permission(&tools), expected, "{settings}");
        }
        let split = EntrySettings {
            own: vec![json!({ "permissions": { "allow": ["mcp__forage__a"] } })],
            projects: vec![json!({ "permissions": { "allow": ["mcp__forage__b"] } })],
        };
        assert_eq!(split.permission(&tools), Permission::Claimed);
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
            let settings = own(settings);
            assert_eq!(settings.project_server(SetupScope::Project), expected, "{settings:?}");
            assert_eq!(settings.project_server(SetupScope::User), Permission::Given);
        }
    }
}
