//! Property tests with random user files. Adding an entry must change nothing else, and removing it must
//! restore every byte.

mod extras_and_entry;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CLIENTS, Client, EntryLocation, FileFormat, created, jsonc, removed};

const SPOT: EntryLocation<'static> = EntryLocation { section: "mcpServers", name: "forage", is_list: false };

fn entry() -> Value {
    json!({ "type": "stdio", "command": "forage", "args": ["mcp"], "env": {} })
}

/// A random number generator that makes the same decisions for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}

const SPACES: [&str; 12] = [
    "",
    "",
    " ",
    "\n",
    "\n  ",
    "\n\t",
    "\r\n    ",
    " // note }\n",
    "/* , */",
    " /* two\n lines */ ",
    "  \n\n",
    " // \" é \r\n",
];

fn space(dice: &mut Dice, out: &mut String) {
    out.push_str(dice.pick(&SPACES));
}

fn json_value(dice: &mut Dice, level: usize, out: &mut String) {
    let scalars = ["1", "-2.5e3", "true", "null", r#""a \"b\" // c""#, r#""é\u0041""#, r#""{""#, "1e999"];
    match dice.roll(if level > 3 { 1 } else { 3 }) {
        0 => out.push_str(dice.pick(&scalars)),
        1 => {
            out.push('[');
            for _ in 0..dice.roll(3) {
                space(dice, out);
                json_value(dice, level + 1, out);
                space(dice, out);
                out.push(',');
            }
            space(dice, out);
            out.push(']');
        }
        _ => json_object(dice, level, &["x", "y\\n", "forage", "mcpServers"], out),
    }
}

fn json_object(dice: &mut Dice, level: usize, keys: &[&str], out: &mut String) {
    out.push('{');
    let count = dice.roll(keys.len() + 1);
    for (index, key) in keys.iter().take(count).enumerate() {
        space(dice, out);
        out.push_str(&format!("\"{key}\""));
        space(dice, out);
        out.push(':');
        space(dice, out);
        match (*key, level) {
            ("mcpServers", 0) if dice.roll(8) > 0 => json_object(dice, 1, &["a", "b c", "z"], out),
            _ => json_value(dice, level + 1, out),
        }
        space(dice, out);
        if index + 1 < count || dice.roll(3) == 0 {
            out.push(',');
        }
    }
    space(dice, out);
    out.push('}');
}

fn json_file(seed: u64) -> String {
    let dice = &mut Dice(seed);
    let mut text = if dice.roll(6) == 0 { "\u{feff}".to_owned() } else { String::new() };
    space(dice, &mut text);
    let keys: &[&str] = if dice.roll(2) == 0 { &["q", "mcpServers", "r"] } else { &["q", "r", "mcpServers"] };
    json_object(dice, 0, keys, &mut text);
    space(dice, &mut text);
    text
}

/// Parses JSON with comments. This parser was written for the tests, so that it shares no code with the
/// product.
fn read_json(text: &str) -> Value {
    let (mut plain, mut rest) = (String::new(), text.trim_start_matches('\u{feff}'));
    while let Some(c) = rest.chars().next() {
        let length = if c == '"' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let is_end = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                is_end
            });
            let token = &rest[..=end.unwrap().0];
            plain.push_str(token);
            token.len()
        } else if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else {
            if matches!(c, '}' | ']') && plain.trim_end().ends_with(',') {
                plain.truncate(plain.trim_end().len() - 1);
            }
            plain.push(c);
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    serde_json::from_str(&plain.replace("1e999", "\"huge\"")).unwrap()
}

fn with_entry(mut file: Value, section: &str, entry: Value) -> Value {
    if file.is_null() {
        file = json!({});
    }
    let sections = file.as_object_mut().unwrap();
    let section = sections.entry(section).or_insert_with(|| json!({}));
    if section.is_null() {
        *section = json!({});
    }
    section.as_object_mut().unwrap().insert("forage".to_owned(), entry);
    file
}

#[test]
fn a_text_that_is_no_unicode_is_refused_with_its_line() {
    let half = "{\n  \"a\": \"\\ud83d\"\n}\n";
    let refusal = jsonc::add(half, SPOT.target(), &entry()).unwrap_err().to_string();
    assert!(refusal.contains("unpaired high surrogate") && refusal.ends_with("line 2"), "{refusal}");
}

/// The previous line may end in a line comment, which would swallow the comments that stay.
#[test]
fn a_comment_after_an_entry_stays_on_a_line_of_its_own() {
    let file = "{\"mcpServers\": {\n\"a\": 1, // one\n\"forage\": {} /* two\nlines */ ,\n\"b\": 2}}";
    let rest = "{\"mcpServers\": {\n\"a\": 1, // one\n/* two\nlines */\n\"b\": 2}}";
    assert_eq!(jsonc::remove(file, SPOT.target()).unwrap().unwrap(), rest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_entry_round_trips(seed: u64) {
        let before = json_file(seed);
        let old = read_json(&before);
        prop_assume!(old["mcpServers"].get("forage").is_none());
        match jsonc::add(&before, SPOT.target(), &entry()) {
            Ok(after) => {
                prop_assert_eq!(read_json(&after), with_entry(old, "mcpServers", entry()), "{}", &after);
                prop_assert_eq!(jsonc::inspect(&after, SPOT).unwrap().entry, Some(entry()));
                prop_assert_eq!(&jsonc::add(&after, SPOT.target(), &entry()).unwrap(), &after);
                prop_assert_eq!(jsonc::remove(&after, SPOT.target()).unwrap(), Some(before), "{}", &after);
            }
            Err(refusal) => {
                let section = old.get("mcpServers");
                prop_assert!(section.is_some_and(|section| !section.is_object()), "{refusal}: {before}");
            }
        }
    }

    #[test]
    fn concurrent_edits_of_the_file_are_kept(seed: u64) {
        let before = json_file(seed);
        let Ok(after) = jsonc::add(&before, SPOT.target(), &entry()) else { return Ok(()) };
        let other = EntryLocation { section: "mcpServers", name: "later", is_list: false };
        let both = jsonc::add(&after, other.target(), &json!({ "command": "later" })).unwrap();
        let rest = jsonc::remove(&both, SPOT.target()).unwrap().unwrap();
        let mut expected = read_json(&both);
        expected["mcpServers"].as_object_mut().unwrap().shift_remove("forage");
        prop_assert_eq!(read_json(&rest), expected);
    }

    #[test]
    fn toml_entry_round_trips(seed: u64) {
        let before = toml_file(seed);
        let codex = Client::find("codex").unwrap();
        // An inline table can't be combined with separate tables.
        let Ok(old) = before.trim_start_matches('\u{feff}').parse::<toml::Table>() else { return Ok(()) };
        let value = codex.entry("/opt/a b/forage");
        match FileFormat::Toml.add(&before, codex.spot(), &value) {
            Ok(after) => {
                let new: toml::Table = after.trim_start_matches('\u{feff}').parse().unwrap();
                let expected = with_entry(serde_json::to_value(&old).unwrap(), "mcp_servers", value.clone());
                prop_assert_eq!(serde_json::to_value(&new).unwrap(), expected);
                prop_assert_eq!(&FileFormat::Toml.add(&after, codex.spot(), &value).unwrap(), &after);
                prop_assert_eq!(FileFormat::Toml.remove(&after, codex.spot()).unwrap(), Some(before));
            }
            Err(refusal) => prop_assert!(before.contains("mcp_servers ="), "{refusal}: {before}"),
        }
    }

    #[test]
    fn yaml_entry_round_trips(seed: u64) {
        let before = yaml_file(seed);
        let goose = Client::find("goose").unwrap();
        let old: Value = serde_yaml_ng::from_str(&before).unwrap();
        let value = goose.entry("/opt/a b/forage");
        match FileFormat::Yaml.add(&before, goose.spot(), &value) {
            Ok(after) => {
                let new: Value = serde_yaml_ng::from_str(&after).unwrap();
                prop_assert_eq!(new, with_entry(old, "extensions", value.clone()), "{}", &after);
                prop_assert_eq!(FileFormat::Yaml.inspect(&after, goose.spot()).unwrap().entry, Some(value.clone()));
                prop_assert_eq!(&FileFormat::Yaml.add(&after, goose.spot(), &value).unwrap(), &after);
                prop_assert_eq!(FileFormat::Yaml.remove(&after, goose.spot()).unwrap(), Some(before), "{}", &after);
            }
            Err(refusal) => {
                let odd = ["extensions: {", "\"two", "|+"].iter().any(|odd| before.contains(odd));
                let odd = odd || !before.ends_with('\n') && (before.contains(": |") || before.contains(": >"));
                prop_assert!(odd, "{refusal}: {before}");
            }
        }
    }
}

fn joined(dice: &mut Dice, pieces: &[&str], mut text: String) -> String {
    for _ in 0..dice.roll(7) {
        let piece = dice.pick(pieces);
        let name = piece.lines().next().unwrap();
        let may_stand_twice = piece.starts_with(['#', '\n']) || piece.starts_with("[[");
        if may_stand_twice || !text.contains(name) {
            text.push_str(piece);
        }
    }
    if dice.roll(3) == 0 {
        text.truncate(text.trim_end_matches('\n').len());
    }
    if dice.roll(3) == 0 { text.replace('\n', "\r\n") } else { text }
}

fn toml_file(seed: u64) -> String {
    let dice = &mut Dice(seed);
    let head =
        ["", "\u{feff}", "model = \"m\"\n", "mcp_servers = { x = { command = \"y\" } }\n", "# only a note\n"];
    let head = dice.pick(&head).to_owned();
    let pieces = [
        "# a note\n",
        "\n",
        "[mcp_servers.github]\ncommand = 'gh'  # why\nargs = [\n  \"mcp\", # first\n]\n",
        "[mcp_servers.github2.env]\nTOKEN = \"s3cret\"\n",
        "[[profile]]\nname = \"a\"\n",
        "[tui]\ntext = \"\"\"\n[mcp_servers.forage]\n\"\"\"\n",
        "[\"quoted . key\"]\nwhen = 2026-01-01T00:00:00Z\n",
    ];
    joined(dice, &pieces, head)
}

fn yaml_file(seed: u64) -> String {
    let dice = &mut Dice(seed);
    let head = [
        "",
        "---\n",
        "GOOSE_MODE: auto\n",
        "# only a note\n",
        "text: |\n  extensions:\n    forage: no\n  # no note\n",
    ];
    let mut text = dice.pick(&head).to_owned();
    let pieces = [
        "# a note\n",
        "\n",
        "list:\n- a\n- 'b: c'\n",
        "providers:\n  anthropic:\n    enabled: true\n",
        "url: \"https://example.com/#x\"\n",
        "two: \"two\n  lines\"\n",
        "keep: |+\n  text\n\n",
    ];
    text = joined(&mut Dice(seed ^ 1), &pieces, text).replace("\r\n", "\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let sections = [
        "",
        "extensions:\n",
        "extensions: # mine\n  developer:\n    type: builtin\n    description: |\n      forage:\n      # no note\n\n",
        "extensions:\n    memory:\n        args: [\"-y\", 'x']\n        envs: {}\n    # a note\n    'quoted':\n        type: builtin\n",
        "extensions: {}\n",
        "extensions:\n  a:\n    description: >-\n      folded\n# at the margin\n\n  b: {type: builtin}\n",
    ];
    text.push_str(dice.pick(&sections));
    let tails = ["", "", "last: 1\n", "\n# the end\n", "list2:\n  - a\n"];
    text.push_str(dice.pick(&tails));
    if dice.roll(4) == 0 {
        text.truncate(text.trim_end_matches('\n').len());
    }
    if dice.roll(4) == 0 { text.replace('\n', "\r\n") } else { text }
}

#[test]
fn the_random_files_reach_every_form() {
    let files: Vec<String> = (0..4000).map(json_file).collect();
    let added = files.iter().filter(|file| jsonc::add(file, SPOT.target(), &entry()).is_ok()).count();
    assert!((2500..4000).contains(&added), "{added}");
    for part in ["\u{feff}", "\r\n", "//", "/*", "1e999", "{}"] {
        assert!(files.iter().any(|file| file.contains(part)), "{part:?}");
    }
    let (codex, goose) = (Client::find("codex").unwrap(), Client::find("goose").unwrap());
    let added = (0..2000)
        .filter(|seed| FileFormat::Toml.add(&toml_file(*seed), codex.spot(), &codex.entry("f")).is_ok());
    assert!((1000..2000).contains(&added.count()));
    let added = (0..2000)
        .filter(|seed| FileFormat::Yaml.add(&yaml_file(*seed), goose.spot(), &goose.entry("f")).is_ok());
    // Half of these files contain something that is refused.
    let added = added.count();
    assert!((400..2000).contains(&added), "{added}");
}

#[test]
fn a_key_that_is_not_bare_is_quoted() {
    for name in ["a.b", "a b", "", "é", "\"quoted\"", "plain-1_"] {
        let spot = EntryLocation { section: "mcp servers", name, is_list: false };
        let value = json!({ "command": "x", "env": { "MY.KEY": "1", "OTHER": "2" }, "odd key": true });
        let text = FileFormat::Toml.add("a = 1\n", spot, &value).unwrap();
        let read: Value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(read["mcp servers"][name], value, "{text}");
        assert_eq!(FileFormat::Toml.remove(&text, spot), Ok(Some("a = 1\n".to_owned())), "{text}");
    }
    let spot = EntryLocation { section: "mcp_servers", name: "forage", is_list: false };
    assert_eq!(
        FileFormat::Toml.lines(spot, &json!({ "env_vars": [] }), true),
        ["[mcp_servers.forage]", "env_vars = []"]
    );
}

/// Tests Continue's list in random files.
#[test]
fn yaml_list_entry_round_trips() {
    let spot = EntryLocation { section: "extensions", name: "forage", is_list: true };
    let value = json!({ "name": "forage", "command": "/opt/a b/forage", "args": ["mcp"] });
    let sections = [
        "extensions:\n- name: a # mine\n  command: \"x\"\n- uses: b/c\n",
        "extensions: # mine\n    # note\n    - command: y\n      args:\n        - name: z\n      name: 'q'\n      env: {A: b}\n",
        "extensions:\n  -\n    name: a\n    text: |\n      - name: forage\n\n",
    ];
    let (mut added, mut lists) = (0, 0);
    for seed in 0..3000 {
        let text = yaml_file(seed);
        let without = text.split("extensions:").next().unwrap();
        let section = sections[usize::try_from(seed).unwrap() % sections.len()];
        let before = match (seed % 5, text.contains("extensions:") && without.is_empty()) {
            (0, _) => without.to_owned(),
            (_, true) => section.to_owned(),
            _ if without.ends_with('\n') || without.is_empty() => format!("{without}{section}last: 1\n"),
            _ => continue,
        };
        let Ok(old) = serde_yaml_ng::from_str::<Value>(&before) else { continue };
        let Ok(after) = FileFormat::Yaml.add(&before, spot, &value) else { continue };
        (added, lists) = (added + 1, lists + usize::from(before.contains("extensions:")));
        let mut expected = if old.is_null() { json!({}) } else { old };
        match expected["extensions"].as_array_mut() {
            Some(list) => list.push(value.clone()),
            None => expected["extensions"] = json!([value]),
        }
        assert_eq!(serde_yaml_ng::from_str::<Value>(&after).unwrap(), expected, "{after}");
        assert_eq!(FileFormat::Yaml.inspect(&after, spot).unwrap().entry, Some(value.clone()), "{after}");
        assert_eq!(FileFormat::Yaml.add(&after, spot, &value).as_ref(), Ok(&after));
        assert_eq!(FileFormat::Yaml.remove(&after, spot).unwrap(), Some(before), "{after}");
    }
    assert!(lists > 300 && added - lists > 100, "{lists} of {added}");
}

#[test]
fn a_file_that_was_created_goes_and_an_empty_one_stays() {
    for client in CLIENTS {
        let entry = client.entry("forage");
        let text = created(client, &entry);
        assert_eq!(removed(client, &text), Ok(None), "{}", client.name);
        // An entry is never added to a file that Forage owns as a whole.
        if client.format == FileFormat::Skill {
            continue;
        }
        for blank in ["", "\n", " \n\n"] {
            let with = super::added(client, blank, &entry).unwrap();
            assert_eq!(removed(client, &with), Ok(Some(blank.to_owned())), "{} {blank:?}", client.name);
        }
    }
}

#[test]
fn entry_without_marks_is_named_as_the_reason() {
    for (client, text) in [
        ("codex", "[mcp_servers.forage]\ncommand = \"forage\"\nargs = [\"mcp\", \"--root\", \"/x\"]\n"),
        ("goose", "extensions:\n  forage:\n    cmd: forage\n    args: [mcp]\n"),
    ] {
        let client = Client::find(client).unwrap();
        assert_eq!(
            super::added(client, text, &client.entry("/new/forage")).unwrap_err().to_string(),
            "it already has an entry `forage` without the marks `# >>> forage`; rename or remove it",
            "{}",
            client.name
        );
    }
}

#[test]
fn entry_in_an_empty_file_ends_with_a_newline() {
    let codex = Client::find("codex").unwrap();
    let text = super::added(codex, "", &codex.entry("forage")).unwrap();
    assert!(text.ends_with("# <<< forage\n"), "{text:?}");
}

#[test]
fn json_is_laid_out_as_the_file_is() {
    let cases = [
        (
            "{\n    \"mcpServers\": { // all\n        \"a\": {} // mine\n    }\n}",
            "{\n    \"mcpServers\": { // all\n        \"forage\": {\n            \"command\": \"forage\"\n        },\n        \"a\": {} // mine\n    }\n}",
        ),
        ("{\"mcpServers\":{\"a\":{}}}", "{\"mcpServers\":{\"forage\": {\"command\": \"forage\"}, \"a\":{}}}"),
        ("{ \"a\": 1 }", "{ \"mcpServers\": { \"forage\": {\"command\": \"forage\"} }, \"a\": 1 }"),
        ("{}", "{\"mcpServers\": {\n  \"forage\": {\n    \"command\": \"forage\"\n  }\n}}"),
        (
            "{\r\n\t\"a\": 1,\r\n}\r\n",
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"forage\": {\r\n\t\t\t\"command\": \"forage\"\r\n\t\t}\r\n\t},\r\n\t\"a\": 1,\r\n}\r\n",
        ),
    ];
    for (before, after) in cases {
        assert_eq!(jsonc::add(before, SPOT.target(), &json!({ "command": "forage" })).unwrap(), after);
    }
}

#[test]
fn unparsable_client_config_is_refused() {
    let cases = [
        ("claude-code", "{'mcpServers': {}}"),
        ("claude-code", "{\"mcpServers\": []}"),
        ("claude-code", "[]"),
        ("claude-code", "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        ("claude-code", "{\"mcpServers\": {}"),
        ("claude-code", "{} {}"),
        ("claude-code", "{\"a\": 1 \"b\": 2}"),
        ("codex", "model = \n"),
        ("codex", "mcp_servers = 3\n"),
        ("codex", "mcp_servers = {}\n"),
        ("codex", "# >>> forage\n"),
        ("goose", "extensions: {}\n"),
        ("goose", "extensions:\n- a\n"),
        ("goose", "extensions:\n\ta: 1\n"),
        ("goose", "extensions:\n  a: 1\nextensions:\n  b: 1\n"),
        ("goose", "a: 1\rextensions: 2\r"),
        ("goose", "extensions:\n  a: 1\n b: 2\n"),
    ];
    for (client, text) in cases {
        let client = Client::find(client).unwrap();
        let refusal = super::added(client, text, &client.entry("forage"));
        assert!(refusal.is_err(), "{}: {text:?} became {refusal:?}", client.name);
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(jsonc::add(&deep, SPOT.target(), &entry()).is_err());
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(FileFormat::Toml.inspect(&format!("a = {nested}\n"), SPOT).is_err());
    assert!(FileFormat::Yaml.inspect(&format!("a: {nested}\n"), SPOT).is_err());
    // Each line repeats the previous one nine times.
    let line = |level: u32| format!("a{level}: &a{level} [{}x]\n", format!("*a{}, ", level - 1).repeat(9));
    let bomb: String = ["a0: &a0 [x]\n".to_owned()].into_iter().chain((1..12).map(line)).collect();
    assert!(FileFormat::Yaml.inspect(&bomb, SPOT).is_err());
    for (format, text) in
        [(FileFormat::Toml, "a = 1\nkey = s3cret\n"), (FileFormat::Yaml, "a: 1\n\tb: s3cret\n")]
    {
        let refusal = format.inspect(text, SPOT).unwrap_err().to_string();
        assert!(refusal.ends_with("line 2") && !refusal.contains("s3cret"), "{refusal}");
    }
}

#[test]
fn entry_is_ours_if_it_runs_our_server() {
    for client in CLIENTS {
        for command in ["forage", "/usr/local/bin/forage", "C:\\Tools\\forage.exe"] {
            assert_eq!(client.command_of(&client.entry(command)).as_deref(), Some(command));
        }
        assert_eq!(client.command_of(&client.entry("/bin/other")), None);
        let mut changed = client.entry("forage");
        changed["env"] = json!({ "KEY": "value" });
        assert_eq!(client.command_of(&changed).as_deref(), Some("forage"), "{}", client.name);
        // Additional fields should stay when the command changes.
        let mended = client.with_command(&changed, "/bin/forage");
        assert_eq!(client.command_of(&mended).as_deref(), Some("/bin/forage"));
        assert_eq!(mended["env"]["KEY"], "value");
        let other = client.entry("forage").to_string().replace("\"mcp\"", "\"serve\"");
        assert_eq!(client.command_of(&serde_json::from_str(&other).unwrap()), None, "{other}");
        assert_eq!(client.command_of(&Value::Null), None);
    }
}

#[test]
fn every_format_reads_what_it_writes_whatever_the_command() {
    for client in CLIENTS {
        for command in [
            "forage",
            "/a b/forage",
            "C:\\x\\forage",
            "/quote\"/forage",
            "/é/forage",
            "/#/: x/forage",
            "- /forage",
        ] {
            let text = created(client, &client.entry(command));
            let found = match client.format {
                FileFormat::Json => jsonc::inspect(&text, client.spot()),
                FileFormat::Skill => super::skill::inspect(&text),
                format => format.inspect(&text, client.spot()),
            };
            let command_found = client.command_of(&found.unwrap().entry.unwrap());
            assert_eq!(command_found.as_deref(), Some(command), "{}", client.name);
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a project of the test's own")]
fn concurrently_changed_file_is_left_alone() {
    let project = tempfile::tempdir().unwrap();
    let path = project.path().join(".mcp.json");
    let client = Client::find("claude-code").unwrap();
    let find = || {
        let directories = crate::config::ClientDirectories::find();
        super::ClientConfig::find(client, super::SetupScope::Project, &directories, project.path()).unwrap()
    };
    // A file that appears, one that changes, and one that disappears.
    for (before, after) in [(None, Some("{}")), (Some("{}"), Some("{ }")), (Some("{}"), None)] {
        let put = |text: Option<&str>| match text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => drop(std::fs::remove_file(&path)),
        };
        put(before);
        let site = find();
        let change = site.add("forage", &[]).unwrap();
        put(after);
        assert!(site.apply(&change).is_err(), "{before:?} {after:?}");
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), after);
    }
    // Positive control: without a concurrent change the file is written.
    let site = find();
    site.apply(&site.add("forage", &[]).unwrap()).unwrap();
    assert!(matches!(find().state, super::ClientState::SetUp { .. }));
}

/// The names of the clients in the npm registry.
const PACKAGES: &[(&str, &str)] = &[
    ("claude-code", "@anthropic-ai/claude-code"),
    ("codex", "@openai/codex"),
    ("gemini-cli", "@google/gemini-cli"),
    ("copilot", "@github/copilot"),
    ("qwen", "@qwen-code/qwen-code"),
    ("opencode", "opencode-ai"),
    ("cline", "cline"),
    ("continue", "@continuedev/cli"),
    ("kilo", "@kilocode/cli"),
];

#[test]
fn what_is_said_to_be_tried_is_what_the_tests_run() {
    let list: Value = serde_json::from_str(include_str!("../../tests/clients/real/package.json")).unwrap();
    let tried: Vec<_> = CLIENTS.iter().filter_map(|client| Some((client.name, client.tried?))).collect();
    let installed =
        PACKAGES.iter().map(|(name, package)| (*name, list["dependencies"][*package].as_str().unwrap()));
    assert_eq!(tried, installed.collect::<Vec<_>>());
}
