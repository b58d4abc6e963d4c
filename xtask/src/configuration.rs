//! Generates the configuration page from the JSON Schema that the program prints.

use std::fmt::Write as _;

use serde_json::Value;

use crate::generate::escaped;

/// Returns the page for `schema`.
pub(crate) fn page(schema: &Value) -> Result<String, String> {
    let mut page = String::from(
        "# Configuration\n\n<!-- Written by `cargo xtask generate` from the table in the program; don't edit. -->\n\n\
         `~/.config/forage/config.toml` (or `$XDG_CONFIG_HOME/forage/config.toml`, `--config FILE`, `FORAGE_CONFIG`), over it\n\
         the environment, over that the command line. `forage config` prints what differs from the defaults and where each\n\
         value comes from, `--all` every key: TOML that can be read back. `forage config --schema` prints a JSON Schema of the\n\
         file, by which an editor completes and checks it.\n\n\
         ```sh\nforage config --all\n```\n\n\
         A repository may bring a `.forage.toml`. It can only narrow: lower `limits.text_bytes`, `limits.timeout_ms` and\n\
         `limits.max_file_bytes`, and add to `search.exclude`. Everything else in it is reported and ignored.\n\n\
         `FORAGE_MODEL` and `FORAGE_BASE_URL`, with `FORAGE_API_KEY`, name a model that is asked instead of `models`, and so do\n\
         the options `--model`, `--base-url` and `--key-env`. `FORAGE_MCP_TOKEN` is the token of clients of a server over HTTP.\n",
    );
    table(&mut page, schema, "").ok_or("a key of the schema lacks a field that its page needs")?;
    Ok(page)
}

/// Writes a table of the file: its keys, then its subtables.
fn table(page: &mut String, schema: &Value, path: &str) -> Option<()> {
    let (mut keys, mut tables) = (Vec::new(), Vec::new());
    for (name, value) in schema["properties"].as_object()? {
        match inner(value) {
            Some(inner) => tables.push((name, value, inner)),
            None => keys.push((name, value)),
        }
    }
    if !keys.is_empty() {
        let title = if path.is_empty() { "Outside of tables".to_owned() } else { format!("`[{path}]`") };
        rows(page, &title, &keys)?;
    }
    for (name, value, inner) in tables {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        table(page, inner, &path)?;
        if value["anyOf"].is_array() {
            let _ = write!(page, "\n`{path} = VALUE` in place of the table is its first key.\n");
        }
    }
    Some(())
}

fn rows(page: &mut String, title: &str, keys: &[(&String, &Value)]) -> Option<()> {
    let _ = write!(page, "\n## {title}\n\n| key | default | variable, option | |\n|---|---|---|---|\n");
    for (name, value) in keys {
        let default = value.get("default").map(|value| format!("`{value}`")).unwrap_or_default();
        let named = [&value["x-variable"], &value["x-option"]];
        let named: Vec<String> = named.iter().filter_map(|it| Some(format!("`{}`", it.as_str()?))).collect();
        let about = about(value)?.replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {default} | {} | {about} |", named.join(", "));
    }
    Some(())
}

/// Returns the schema of a table that a value is or may be.
fn inner(value: &Value) -> Option<&Value> {
    let table = value["anyOf"].as_array().and_then(|forms| forms.last()).unwrap_or(value);
    table["properties"].is_object().then_some(table)
}

/// Returns the description of a key with its possible values.
fn about(value: &Value) -> Option<String> {
    let text = value["description"].as_str()?.replace("\n\n", ". ");
    let mut about = escaped(text.trim_end_matches('.'));
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let _ = write!(about, "; one of {}", words.join(", "));
    }
    if let Some(most) = value.get("maximum") {
        let _ = write!(about, "; from {} to {most}", value.get("minimum")?);
    }
    Some(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_every_key_with_its_values() {
        let schema = json!({ "properties": {
            "mode": { "enum": ["a", "b"], "default": "a", "description": "Who <does> it.", "x-variable": "MODE" },
            "part": { "anyOf": [{}, { "properties": {
                "n": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How\nmany|few" , "x-option": "--n" },
            } }] },
            "tools": { "properties": {
                "x": { "properties": { "on": { "description": "Whether." } } },
            } },
        } });
        let page = page(&schema).unwrap();
        let expected = "\n## Outside of tables\n\n| key | default | variable, option | |\n|---|---|---|---|\n\
            | `mode` | `\"a\"` | `MODE` | Who &lt;does> it; one of `\"a\"`, `\"b\"` |\n\
            \n## `[part]`\n\n| key | default | variable, option | |\n|---|---|---|---|\n\
            | `n` |  | `--n` | How many\\|few; from 1 to 9 |\n\
            \n`part = VALUE` in place of the table is its first key.\n\
            \n## `[tools.x]`\n\n| key | default | variable, option | |\n|---|---|---|---|\n\
            | `on` |  |  | Whether |\n";
        assert!(page.ends_with(expected), "{page}");
        assert!(super::page(&json!({ "properties": { "x": { "type": "string" } } })).is_err());
    }
}
