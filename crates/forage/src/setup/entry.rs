//! Reads Forage's entry in the way that a client does, and detects probable typos in it.

use serde_json::Value;

use super::{Client, ClientConfig};

/// The server that an entry describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    /// The variables that the entry sets. Note that the values may be secret.
    pub(crate) variables: Vec<(String, String)>,
    /// The names of the variables that the client should pass on.
    pub(crate) handed_on: Vec<String>,
    pub(crate) directory: Option<String>,
    /// True if the client may run the tools without asking.
    pub(crate) is_trusted: bool,
    /// True if the entry disables the server.
    pub(crate) is_off: bool,
    /// Messages about misspelled fields, each with the field that was probably meant. They must never contain
    /// values.
    pub(crate) typos: Vec<String>,
}

/// The fields of all clients together. A field that another client knows should not count as a typo.
const FIELDS: [&str; 38] = [
    "alwaysAllow",
    "alwaysLoad",
    "args",
    "autoApprove",
    "available_tools",
    "bundled",
    "cmd",
    "command",
    "cwd",
    "description",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "display_name",
    "enabled",
    "enabled_tools",
    "env",
    "envFile",
    "env_keys",
    "env_vars",
    "environment",
    "envs",
    "excludeTools",
    "headers",
    "includeTools",
    "name",
    "required",
    "source",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "tools",
    "transport",
    "transportType",
    "trust",
    "type",
    "url",
];

/// Maximum edit distance of a misspelled name.
const MISTYPED: usize = 2;

impl ClientConfig {
    /// Reads Forage's entry. Returns `None` if no entry runs Forage.
    pub(crate) fn entry(&self) -> Option<ServerEntry> {
        read(self.client, self.entry.as_ref()?)
    }

    /// Returns true if the entry is exactly as Forage writes it.
    pub(crate) fn is_as_written(&self) -> bool {
        let entry = self.entry.as_ref();
        entry.is_some_and(|entry| {
            self.client.command_of(entry).is_some_and(|command| *entry == self.client.entry(&command))
        })
    }
}

fn read(client: &Client, entry: &Value) -> Option<ServerEntry> {
    client.command_of(entry)?;
    let (command, arguments) = client.command_line(entry)?;
    let is = |name: &str, value: bool| entry.get(name).and_then(Value::as_bool) == Some(value);
    let variables =
        ["env", "environment", "envs"].into_iter().filter_map(|name| entry.get(name)?.as_object());
    let variables =
        variables.flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let handed_on = entry.get("env_vars").and_then(Value::as_array).into_iter().flatten();
    let named = |value: &Value| value.as_str().or_else(|| value.get("name")?.as_str()).map(str::to_owned);
    let fields = entry.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    Some(ServerEntry {
        command,
        arguments,
        variables: variables.collect(),
        handed_on: handed_on.filter_map(named).collect(),
        directory: entry.get("cwd").and_then(Value::as_str).map(str::to_owned),
        is_trusted: is("trust", true),
        is_off: is("disabled", true) || is("enabled", false),
        typos: fields.filter_map(typo).collect(),
    })
}

/// Returns a message if this field is unknown but resembles a known one.
fn typo(name: &str) -> Option<String> {
    if FIELDS.contains(&name) {
        return None;
    }
    let lower = name.to_lowercase();
    let near =
        FIELDS.iter().map(|field| (strsim::levenshtein(&lower, &field.to_lowercase()), *field)).min()?;
    // A short name resembles nearly every other one, so more than half of its letters must agree.
    let is_near = near.0 <= MISTYPED && near.0 * 2 < name.chars().count();
    is_near.then(|| format!("unknown field `{name}` in the entry; did you mean `{}`?", near.1))
}

/// Expands references to variables as clients do: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `{env:NAME}`
/// and `$NAME`. An unset variable becomes empty.
pub(crate) fn expanded(value: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = value;
    while let Some(at) = rest.find(['$', '{']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match reference(rest) {
            Some((name, default, length)) => {
                text.push_str(&variable(name).or(default.map(str::to_owned)).unwrap_or_default());
                rest = &rest[length..];
            }
            None => {
                text.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

/// Parses the reference at the beginning of `text`. Returns the variable's name, its default, and the length
/// of the reference in bytes.
fn reference(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if let Some(inner) = text.strip_prefix("${").or_else(|| text.strip_prefix("{env:")) {
        let end = inner.find('}')?;
        let length = text.len() - inner.len() + end + 1;
        let inner = inner[..end].strip_prefix("env:").unwrap_or(&inner[..end]);
        let (name, default) =
            inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)));
        return is_name(name).then_some((name, default, length));
    }
    let bare = text.strip_prefix('$')?;
    let end =
        bare.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(bare.len());
    is_name(&bare[..end]).then_some((&bare[..end], None, end + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_read_as_its_client_reads_it() {
        let codex = Client::find("codex").unwrap();
        let entry = json!({
            "command": "/opt/forage", "args": ["mcp", "--root", "/x"], "cwd": "/y",
            "env": { "A": "b", "C": 1 }, "env_vars": ["KEY", { "name": "OTHER" }, 3], "env_vras": [],
        });
        let read = read(codex, &entry).unwrap();
        assert_eq!((read.command.as_str(), read.arguments.len()), ("/opt/forage", 3));
        assert_eq!(
            (read.variables, read.handed_on),
            (vec![("A".into(), "b".into())], vec!["KEY".into(), "OTHER".into()])
        );
        assert_eq!(read.directory.as_deref(), Some("/y"));
        assert_eq!(read.typos, ["unknown field `env_vras` in the entry; did you mean `env_vars`?"]);
        let opencode = Client::find("opencode").unwrap();
        let entry = json!({ "command": ["forage", "mcp"], "enabled": false, "environment": { "A": "b" }, "trust": true });
        let read = super::read(opencode, &entry).unwrap();
        assert!(
            read.is_off && read.is_trusted && read.variables.len() == 1 && read.typos.is_empty(),
            "{read:?}"
        );
        assert_eq!(super::read(opencode, &json!({ "command": ["rm", "mcp"] })), None);
    }

    #[test]
    fn unknown_field_is_a_typo_only_if_similar_to_a_known_one() {
        for (name, meant) in [
            ("arg", Some("args")),
            ("Env", Some("env")),
            ("truts", Some("trust")),
            ("x", None),
            ("notes", None),
            ("env", None),
        ] {
            let said = typo(name);
            assert_eq!(said.is_some(), meant.is_some(), "{name}: {said:?}");
            assert!(meant.is_none_or(|meant| said.unwrap().contains(&format!("`{meant}`"))), "{name}");
        }
    }

    #[test]
    fn references_in_values_are_replaced() {
        let variable = |name: &str| (name == "SET").then(|| "value".to_owned());
        for (written, expected) in [
            ("${SET}", "value"),
            ("a${SET}b$SET/c", "avaluebvalue/c"),
            ("${env:SET} {env:SET}", "value value"),
            ("${UNSET}", ""),
            ("${UNSET:-other}", "other"),
            ("$UNSET", ""),
            ("{\"a\": 1} $ ${", "{\"a\": 1} $ ${"),
            ("${input:key}", "${input:key}"),
            ("ä$", "ä$"),
        ] {
            assert_eq!(expanded(written, &variable), expected, "{written}");
        }
    }
}
