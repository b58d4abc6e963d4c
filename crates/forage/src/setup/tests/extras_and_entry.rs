//! Property tests of extras in random user files. Removing the extras must restore every byte.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::addition::ExtraParts;
use super::super::extras::{ExtraPiece, ExtraTarget};
use super::super::owned::Comment;
use super::super::{CLIENTS, Client, ExtraKind, jsonc, markdown, owned, pieces};
use super::{Dice, SPOT, entry, read_json};

/// The data for the extras that are added to users' files.
fn words() -> ExtraParts {
    let tools =
        forage_tools::registry::advertised(&forage_tools::registry::ToolSelection::default()).unwrap();
    let variables = vec!["OPENAI_API_KEY".to_owned(), "XDG_CACHE_HOME".to_owned()];
    ExtraParts { command: "/opt/a b/forage".to_owned(), tools, variables }
}

/// Collects the JSON pieces of all clients.
fn all_pieces() -> Vec<(&'static Client, &'static [ExtraPiece])> {
    let of = |client: &'static Client| {
        super::super::extras_of(client.name).iter().filter_map(move |extra| match &extra.how {
            ExtraTarget::Json(pieces) => Some((client, *pieces)),
            _ => None,
        })
    };
    CLIENTS.iter().flat_map(of).collect()
}

/// Generates a user file that has the sections to which pieces are added, empty or with content.
fn json_file_with_sections(seed: u64) -> String {
    let dice = &mut Dice(seed);
    let sections = [
        "\"permissions\": {}",
        "\"permissions\": {\"allow\": []}",
        "\"permissions\": {\"allow\": [ ], \"deny\": [\"x\"]}",
        "\"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\", // mine\n    ]\n  }",
        "\"permissions\": { \"allow\": [\"a\", \"b\"] }",
        "\"hooks\": {}",
        "\"hooks\": {\"SessionStart\": [], \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]}",
        "\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]\n\t}",
        "\"permission\": {\"bash\": \"ask\"}",
        "\"amp.permissions\": [{\"tool\": \"Bash\"}]",
        "\"version\": 1",
        "\"theme\": \"dark\"",
    ];
    let mut chosen: Vec<&str> = Vec::new();
    for _ in 0..dice.roll(4) {
        let section = dice.pick(&sections);
        let name = section.split(':').next().unwrap();
        if !chosen.iter().any(|other| other.starts_with(name)) {
            chosen.push(section);
        }
    }
    let layout = ["{}", "{ }", "{\n}\n"];
    if chosen.is_empty() {
        return dice.pick(&layout).to_owned();
    }
    let end = dice.pick(&["", ","]).to_owned();
    match dice.roll(3) {
        0 => format!("{{{}{end}}}", chosen.join(", ")),
        1 => format!("{{\n  {}{end}\n}}\n", chosen.join(",\n  ")),
        _ => format!("// mine\r\n{{\r\n\t{}{end}\r\n}}", chosen.join(",\r\n\t")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_pieces_are_removed_in_any_order(seed: u64) {
        let before = json_file_with_sections(seed);
        let (words, pieces, dice) = (words(), all_pieces(), &mut Dice(seed ^ 7));
        let client = pieces[dice.roll(pieces.len())].0;
        // All JSON pieces of the client, and the entry, as if they shared one file.
        let own: Vec<&[ExtraPiece]> = pieces.iter().filter(|(it, _)| it.name == client.name).map(|(_, it)| *it).collect();
        let mut text = before.clone();
        let mut order: Vec<usize> = (0..=own.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, dice.roll(at + 1));
        }
        for &index in &order {
            let added = match own.get(index) {
                Some(pieces) => pieces::add(pieces, Some(&text), client, &words),
                None => jsonc::add(&text, SPOT.target(), &entry()),
            };
            match added {
                Ok(added) => {
                    let again = match own.get(index) {
                        Some(pieces) => pieces::add(pieces, Some(&added), client, &words),
                        None => jsonc::add(&added, SPOT.target(), &entry()),
                    };
                    prop_assert_eq!(again.as_ref(), Ok(&added), "once more changes nothing");
                    text = added;
                }
                // An existing file that lacks the version number that the client requires is refused.
                Err(refusal) => {
                    prop_assert!(refusal.to_string().contains("version"), "{}: {}", refusal, before);
                    return Ok(());
                }
            }
        }
        read_json(&text);
        for at in (1..order.len()).rev() {
            order.swap(at, dice.roll(at + 1));
        }
        for &index in &order {
            let rest = match own.get(index) {
                Some(pieces) => pieces::remove(pieces, &text),
                None => jsonc::remove(&text, SPOT.target()),
            };
            text = rest.unwrap().unwrap();
        }
        prop_assert_eq!(text, before);
    }

    #[test]
    fn a_block_in_markdown_goes_out_again(text in "(# A\n|\ntext\r\n|- b\n|```\n|é|\n){0,6}") {
        let lines = ["## Searching", "", "text"].map(str::to_owned);
        let one = markdown::add(&text, &lines, "codex").unwrap();
        let both = markdown::add(&one, &lines, "opencode").unwrap();
        prop_assert_eq!(&markdown::add(&both, &lines, "codex").unwrap(), &both);
        prop_assert!(markdown::has(&both, "codex").unwrap() && !markdown::has(&one, "opencode").unwrap());
        prop_assert_eq!(&markdown::remove(&both, &lines, "opencode").unwrap().unwrap(), &one);
        let other = markdown::remove(&both, &lines, "codex").unwrap().unwrap();
        prop_assert_eq!(markdown::remove(&other, &lines, "opencode").unwrap().unwrap(), text.clone());
        prop_assert_eq!(markdown::remove(&one, &lines, "codex").unwrap().unwrap(), text);
    }
}

#[test]
fn files_that_were_made_go_again_and_blank_ones_stay() {
    let words = words();
    for (client, pieces) in all_pieces() {
        let text = pieces::add(pieces, None, client, &words).unwrap();
        let _: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(pieces::remove(pieces, &text), Ok(None), "{}: {text}", client.name);
        // An entry that was added to the same file in the meantime must stay.
        let both = jsonc::add(&text, SPOT.target(), &entry()).unwrap();
        let rest = pieces::remove(pieces, &both).unwrap().unwrap();
        assert!(
            jsonc::remove(&rest, SPOT.target()).unwrap().is_none_or(|rest| rest.contains("version")),
            "{rest}"
        );
    }
    let lines = ["text".to_owned()];
    let made = markdown::created(&lines, "codex");
    assert_eq!(markdown::remove(&made, &lines, "codex"), Ok(None));
    let one = markdown::add(&made, &lines, "amp").unwrap();
    assert_eq!(
        markdown::remove(&markdown::remove(&one, &lines, "codex").unwrap().unwrap(), &lines, "amp"),
        Ok(None)
    );
}

#[test]
fn what_somebody_else_said_stays() {
    let words = words();
    let of = |name: &str, with: ExtraKind| {
        let client = Client::find(name).unwrap();
        let extra = super::super::extras_of(name).iter().find(|extra| extra.with == with).unwrap();
        let ExtraTarget::Json(pieces) = &extra.how else { panic!("{name}") };
        (client, *pieces)
    };
    // The user has set the same permission to another value.
    let (client, pieces) = of("opencode", ExtraKind::Permission);
    let own = "{\"permission\": {\"forage_*\": \"ask\"}}";
    assert!(pieces::add(pieces, Some(own), client, &words).is_err());
    assert_eq!(pieces::remove(pieces, own), Ok(Some(own.to_owned())));
    assert!(pieces::add(pieces, Some("{\"permission\": \"ask\"}"), client, &words).is_err());
    // The user has added a hook to Forage's group.
    let (client, pieces) = of("claude-code", ExtraKind::Hooks);
    let ours = pieces::add(pieces, None, client, &words).unwrap();
    let mut value: Value = serde_json::from_str(&ours).unwrap();
    let group = value["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap();
    group.push(json!({ "type": "command", "command": "mine" }));
    assert!(pieces::remove(pieces, &value.to_string()).is_err());
    // If the user adds a field to our hook, this is no other hook, and the field should stay with the
    // command.
    let text = ours.replace("\"type\": \"command\",", "\"type\": \"command\", \"async\": true,");
    assert_eq!(pieces::add(pieces, Some(&text), client, &words), Ok(text.clone()));
    // A hook that runs Forage from another path is updated. One that only looks similar is foreign.
    let moved = ours.replace("/opt/a b/forage", "/old/forage").replace('\'', "");
    assert_eq!(pieces::add(pieces, Some(&moved), client, &words).unwrap(), ours);
    let other = ours.replace("forage'", "foraging'");
    assert_eq!(pieces::remove(pieces, &other), Ok(Some(other.clone())));
    let refusal = pieces::add(pieces, Some("{\"hooks\": []}"), client, &words).unwrap_err();
    assert!(refusal.to_string().contains("not an object"), "{refusal}");
}

#[test]
fn a_file_of_its_own_is_known_by_its_last_line() {
    for comment in [Comment::Markdown, Comment::Hash] {
        let text = owned::marked("one\ntwo\n\n", comment);
        assert_eq!(owned::check(&text, comment), Ok(()));
        assert_eq!(owned::check(&text.replace('\n', "\r\n"), comment), Ok(()));
        for changed in
            [text.replace("two", "too"), format!("{text}more\n"), "one\n".to_owned(), String::new()]
        {
            assert!(owned::check(&changed, comment).is_err(), "{changed}");
        }
    }
}

#[test]
fn fields_of_the_entry_are_added_to_and_taken_out_alone() {
    let (words, all) = (words(), vec!["OPENAI_API_KEY".to_owned(), "XDG_CACHE_HOME".to_owned()]);
    for client in CLIENTS {
        for extra in super::super::extras_of(client.name) {
            let Some(extension) = super::super::extension(extra, client, &words, &all) else { continue };
            let bare = client.entry("forage");
            let mut entry = bare.clone();
            extension.put(&mut entry);
            assert_ne!(entry, bare, "{}", client.name);
            let once = entry.clone();
            extension.put(&mut entry);
            assert_eq!(entry, once);
            extension.take(&mut entry);
            assert_eq!(entry, bare, "{}", client.name);
            // The user's own values in the same object should stay.
            for own in [json!({ "env": { "MINE": "s3cret" } }), json!({ "env_vars": ["MINE"] })] {
                let mut mine = bare.clone();
                for (key, value) in own.as_object().unwrap() {
                    mine[key] = value.clone();
                }
                let before = mine.clone();
                extension.put(&mut mine);
                extension.take(&mut mine);
                assert_eq!(mine, before, "{}", client.name);
            }
        }
    }
}

#[test]
fn every_client_has_its_traces_and_every_row_a_client() {
    assert_eq!(super::super::detect::missing(), Vec::<&str>::new());
    for name in super::super::extras::clients() {
        assert!(Client::find(name).is_some(), "{name}");
    }
}

#[test]
fn texts_name_the_tools_as_the_client_writes_them() {
    let words = words();
    for (name, prefix) in
        [("claude-code", "mcp__forage__"), ("opencode", "forage_"), ("gemini-cli", "mcp_forage_")]
    {
        let names = super::super::texts::names(
            &words.tools,
            Some(super::super::addition::profile(Client::find(name).unwrap())),
        );
        for text in [super::super::texts::skill(&names), super::super::texts::session_start(&names)] {
            assert!(text.contains(&format!("{prefix}search_index")), "{text}");
            assert!(
                !text.contains("[[") && !text.contains("]]") && !text.contains("{grep_search}"),
                "{text}"
            );
        }
    }
    let bare = super::super::texts::names(&words.tools, None);
    let lines = super::super::texts::instructions(&bare).join("\n");
    assert!(lines.contains("- `search_index` for") && !lines.contains("\n\n\n"), "{lines}");
    let none = super::super::texts::names(&[], None);
    assert!(!super::super::texts::session_start(&none).contains("search_index"));
}
