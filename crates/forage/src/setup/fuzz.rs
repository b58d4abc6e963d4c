//! Fuzzes our edits of clients' configuration files with arbitrary text. We must refuse a file that we don't
//! understand, and must not lose a byte of any other.

use forage_fuzz::{seeds, target};
use serde_json::{Value, json};

use super::{CLIENTS, Client, FileFormat, added, jsonc, removed};

/// Returns true if `longer` contains all bytes of `text` in the same order.
fn is_within(text: &str, longer: &str) -> bool {
    let mut rest = longer.bytes();
    text.bytes().all(|byte| rest.any(|other| other == byte))
}

/// Parses a file with an independent parser. Returns `None` if that parser can't read it.
fn meaning(format: FileFormat, text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    let value = match format {
        FileFormat::Json => serde_json::from_str(text).ok()?,
        FileFormat::Toml => serde_json::to_value(text.parse::<toml::Table>().ok()?).ok()?,
        FileFormat::Yaml => serde_yaml_ng::from_str(text).ok()?,
        FileFormat::Skill => return None,
    };
    match value {
        Value::Null => Some(json!({})),
        value => Some(value),
    }
}

fn check(client: &Client, text: &str) {
    let (entry, spot, name) = (client.entry("/opt/a b/forage"), client.spot(), client.name);
    let found = match client.format {
        FileFormat::Json => jsonc::inspect(text, spot),
        format => format.inspect(text, spot),
    };
    // Skip files that production code refuses before it edits anything: those that it can't parse, and those
    // with a foreign entry.
    let Ok(found) = found else { return };
    if found.entry.as_ref().is_some_and(|entry| client.command_of(entry).is_none()) {
        return;
    }
    let before = meaning(client.format, text);
    let Ok(after) = added(client, text, &entry) else { return };
    assert_eq!(added(client, &after, &entry).as_ref(), Ok(&after), "{name}: once more changes nothing");
    let is_new = found.entry.is_none();
    if is_new {
        assert!(is_within(text, &after), "{name}: something is gone: {after}");
        // Skip texts that already have marks. If these have nothing between them, they are removed with the
        // entry.
        if !text.contains("<<< forage") {
            assert_eq!(removed(client, &after), Ok(Some(text.to_owned())), "{name}: {after}");
        }
    }
    // The independent parser must still understand the file, and nothing else may have changed.
    let Some(mut expected) = before else { return };
    let Some(section) =
        expected.as_object_mut().map(|file| file.entry(spot.section).or_insert_with(|| json!({})))
    else {
        return;
    };
    if section.is_null() {
        *section = json!({});
    }
    if let Some(section) = section.as_object_mut() {
        section.insert(spot.name.to_owned(), entry);
        assert_eq!(meaning(client.format, &after).as_ref(), Some(&expected), "{name}: {after}");
    }
}

fn check_all(format: FileFormat, text: &str) {
    let mut seen = Vec::new();
    for client in CLIENTS.iter().filter(|client| client.format == format) {
        // Some clients differ only in the location of their file.
        let spot = (client.spot().section, client.spot().name);
        if !seen.contains(&spot) {
            seen.push(spot);
            check(client, text);
        }
    }
}

#[test]
fn any_json_is_refused_or_keeps_every_byte() {
    let seeds = seeds([
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\", \"args\": [1, -2.5e3, null] }, // mine\n  },\n}\n",
        "\u{feff}{\"a\": \"\\u0041\\\\ // no comment\", \"servers\": {}, /* é */ \"mcp\": {\"b\": 1}}",
        "{\r\n\t\"theme\": \"dark\",\r\n\t\"context_servers\": {\"forage\": {\"command\": \"forage\"}}\r\n}\r\n",
        "{}",
        "// nothing else\n{\n}\n",
        // Regression: the second insertion used another line ending than the first.
        "\r\n",
        // Regression: an entry was inserted after text that is not JSON.
        "\r\n\u{2028}",
    ]);
    target!(&seeds, |input| check_all(FileFormat::Json, &String::from_utf8_lossy(input)));
}

#[test]
fn any_toml_is_refused_or_keeps_every_byte() {
    let seeds = seeds([
        "model = \"m\"\n[mcp_servers.a]\ncommand = 'x' # mine\nargs = [\"b\",\n  \"c\"]\n",
        "\u{feff}a.b = 1\r\n[[list]]\r\nx = \"\"\"\r\n# >>> forage\r\n\"\"\"\r\nt = 1979-05-27T07:32:00Z\r\n",
        "# >>> forage\n[mcp_servers.forage]\ncommand = \"forage\"\n# <<< forage\n[z]\n",
        "mcp_servers = { a = { command = \"x\" } }\n",
        // Regression: the user's text between the marks was lost.
        "# >>> forage\n# [mcp_servers.forage]\n# <<< forage\n[z]\n",
    ]);
    target!(&seeds, |input| check_all(FileFormat::Toml, &String::from_utf8_lossy(input)));
}

#[test]
fn any_yaml_is_refused_or_keeps_every_byte() {
    let seeds = seeds([
        "GOOSE_MODEL: m\nextensions:\n  developer:\n    enabled: true\n    args: [\"a\", 'b']\n  # mine\n  other:\n    text: |\n      one\n      two\nlast: \"x\"\n",
        "---\nextensions:\n    a:\n        b: 1\n# end",
        "a: >-\n  folded\n  text\nb:\n- 1\n- x: 2\n",
        "# >>> forage\nextensions:\n  forage:\n    enabled: true\n# <<< forage\n",
        // Regression: the user's text between the marks was lost.
        "# >>> forage\nextensions:\n    enabled: tr0e\n# <<< forage\n",
        // Regression: an entry was inserted between these marks without its section.
        "# >>> forage\n# <<< forage\n",
        // Regression: an entry was inserted without indentation although all other keys are indented.
        "---\n    a:\n        b: 1\n# end",
        // Regression: a block scalar gained a newline if its key was not a plain one.
        "extensions:\n  a:\n    \u{fffd}: |\n      o",
    ]);
    target!(&seeds, |input| check_all(FileFormat::Yaml, &String::from_utf8_lossy(input)));
}

#[test]
fn fuzz_json_edit_is_refused_or_keeps_every_byte() {
    use super::extras::ExtraTarget;
    use super::{addition::ExtraParts, pieces};
    let words = ExtraParts { command: "forage".to_owned(), tools: Vec::new(), variables: Vec::new() };
    let seeds = seeds([
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\", // mine\n    ]\n  }\n}\n",
        "{\"hooks\": {\"PreToolUse\": [], \"Stop\": [{\"hooks\": [{\"command\": \"forage hook search\"}]}]}}",
        "{\"permission\": {\"bash\": \"ask\"}, \"amp.permissions\": [ ],}",
        "// nothing else\n{\n}\n",
        "\u{feff}{\"hooks\":{\r\n\t\"SessionStart\":[\r\n\t\t]},\"version\":1}",
        "",
    ]);
    target!(&seeds, |input| {
        let text = String::from_utf8_lossy(input);
        for client in CLIENTS {
            for extra in super::extras_of(client.name) {
                let ExtraTarget::Json(all) = &extra.how else { continue };
                let Ok(after) = pieces::add(all, Some(&text), client, &words) else { continue };
                assert_eq!(
                    pieces::add(all, Some(&after), client, &words).as_ref(),
                    Ok(&after),
                    "once more: {after}"
                );
                let had = pieces::remove(all, &text) != Ok(Some(text.clone().into_owned()));
                if !had {
                    assert!(is_within(&text, &after), "something is gone: {after}");
                    assert_eq!(pieces::remove(all, &after), Ok(Some(text.clone().into_owned())), "{after}");
                }
            }
        }
    });
}

#[test]
fn any_markdown_keeps_every_byte() {
    use super::markdown;
    let seeds = seeds([
        "# Rules\n\n- one\r\n- two\n",
        "<!-- forage: begin codex amp -->\ntext\n<!-- forage: end -->\nmore",
        "```\n<!-- forage: end -->",
        "",
    ]);
    let lines = ["## Searching".to_owned(), String::new(), "text".to_owned()];
    target!(&seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let Ok(after) = markdown::add(&text, &lines, "codex") else { return };
        assert_eq!(markdown::add(&after, &lines, "codex").as_ref(), Ok(&after));
        if !text.contains("<!-- forage:") {
            assert_eq!(markdown::remove(&after, &lines, "codex"), Ok(Some(text.into_owned())), "{after}");
        }
    });
}
