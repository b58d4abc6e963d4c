//! `forage doctor`: it reports problems, continues after each of them, and must reveal no secrets.

use serde_json::{Value, json};

use crate::Project;

const KEY: &str = "sk-planted0123456789abcdefghijklmnop";

fn record(project: &Project, environment: &[(&str, &str)]) -> (i32, Value) {
    let run = project.run_in(&project.root, &["doctor", "--json"], environment);
    (run.status, run.json())
}

#[test]
fn doctor_reports_a_usable_installation() {
    forage_fuzz::needs!("rg", "ugrep");
    let project = Project::new(&[("a.rs", "")]);
    let path = forage_fuzz::peers::path();
    let run = project.run_in(&project.root, &["doctor"], &[("PATH", &path)]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    for part in [
        env!("CARGO_PKG_VERSION"),
        "2026-07-28",
        "the git root that contains the working directory",
        "keyword_search   off (no model is named for it",
        "off by default; agents see it only if you enable it",
        "tools.search.enabled = true",
        "ripgrep 15",
        "ugrep",
        "no provider has a key",
        "`forage index build` creates one",
        "Forage is usable.",
    ] {
        assert!(run.stdout.contains(part), "{part:?} is missing:\n{}", run.stdout);
    }
    let (status, record) = record(&project, &[("PATH", &path)]);
    assert_eq!((status, &record["usable"], &record["problems"]), (0, &json!(true), &json!([])));
    assert_eq!(record["roots"]["roots"][0]["root"], project.root.display().to_string());
    assert_eq!(record["index"]["roots"][0]["index"]["state"], "none");
    assert_eq!(record["clients"].as_array().unwrap().len(), 38);
    let sandbox = &record["sandbox"];
    let (possible, refused) = (sandbox["possible"].as_str().unwrap(), sandbox["refused"].to_string());
    assert!(["none", "partial", "full"].contains(&possible));
    // The restrictions depend on this kernel. No kernel hides file names.
    assert_eq!(refused.contains("files outside of the roots"), possible != "none", "{sandbox}");
    assert!(possible != "full" || refused.contains("TCP") && refused.contains("signals"), "{sandbox}");
    assert!(sandbox["left_open"].to_string().contains("UDP"), "{sandbox}");
    assert!(run.stdout.contains("left open: names, sizes and times of files"), "{}", run.stdout);
    project.configure("sandbox = \"off\"\n");
    let off = self::record(&project, &[("PATH", &path)]).1;
    assert_eq!((&off["sandbox"]["mode"], &off["sandbox"]["refused"]), (&json!("off"), &json!([])));
}

#[test]
fn a_broken_configuration_is_reported_and_ends_nothing() {
    let project = Project::new(&[]);
    for (text, named) in [
        ("[limits]\ntext_bytes = 3\n", "text_bytes"),
        ("[[models]]\napi_key = \"planted-secret-of-the-user\"\n", "api_key"),
        ("model = [\n", "unclosed array"),
        ("sandbox = \"maybe\"\n", "sandbox"),
    ] {
        project.configure(text);
        let (status, record) = record(&project, &[]);
        assert_eq!((status, &record["usable"]), (2, &json!(false)), "{text}");
        let problems = record["problems"].to_string();
        assert!(problems.contains(named), "{problems}");
        assert!(!record.to_string().contains("planted-secret"), "{record}");
        // All other sections must be present.
        assert!(record["engines"].is_array() && record["tools"].is_array() && record["models"].is_object());
    }
    project.configure("");
    let (status, record) = record(&project, &[("FORAGE_THREADS", "many")]);
    assert_eq!(status, 2);
    assert!(record["problems"].to_string().contains("FORAGE_THREADS"), "{record}");
}

#[test]
fn doctor_names_the_key_variable_but_not_the_key() {
    let project = Project::new(&[]);
    project.configure("[[models]]\nmodel = \"m\"\nbase_url = \"https://user:planted-password@example.com/v1\"\nkey_env = \"MY_KEY\"\n");
    let environment = [("OPENAI_API_KEY", KEY), ("MY_KEY", KEY), ("FIREWORKS_API_KEY", KEY)];
    for arguments in [&["doctor"][..], &["doctor", "--json"]] {
        let run = project.run_in(&project.root, arguments, &environment);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains("OPENAI_API_KEY"), "{all}");
        assert!(!all.contains(KEY) && !all.contains("planted-password"), "{all}");
    }
    // Without a named model it chooses among the providers, and makes no request for this.
    project.configure("");
    let (status, record) = record(&project, &environment);
    assert_eq!(status, 0);
    assert_eq!(record["models"]["online"], false);
    let providers = record["models"]["providers"].to_string();
    assert!(providers.contains("FIREWORKS_API_KEY") && !record.to_string().contains(KEY), "{record}");
}

#[test]
fn doctor_warns_of_a_missing_model_only_for_an_offered_tool() {
    let project = Project::new(&[]);
    let warnings = || record(&project, &[]).1["warnings"].to_string();
    assert!(!warnings().contains("keyword_search"), "{}", warnings());
    project.configure(
        "[[models]]\nmodel = \"m\"\nbase_url = \"https://example.com/v1\"\nkey_env = \"MY_KEY\"\n",
    );
    assert!(warnings().contains("`keyword_search` has no model to ask"), "{}", warnings());
}

#[test]
fn what_a_repository_wishes_is_a_notice() {
    let project = Project::new(&[(".forage.toml", "sandbox = \"off\"\n[limits]\ntimeout_ms = 5000\n")]);
    let (status, record) = record(&project, &[]);
    assert_eq!(status, 0);
    assert!(record["configuration"]["notices"].to_string().contains("`sandbox` is ignored"), "{record}");
    assert_eq!(record["sandbox"]["mode"], "auto");
    assert_eq!(record["configuration"]["changed"]["limits.timeout_ms"]["value"], 5000);
}

#[test]
fn missing_engine_and_invalid_root_are_problems() {
    let project = Project::new(&[]);
    project.configure("[tools.search]\nenabled = true\nengine = \"ugrep\"\n");
    let (status, found) = record(&project, &[("PATH", "/nonexistent")]);
    assert_eq!(status, 2);
    assert!(found["problems"].to_string().contains("ugrep"), "{found}");
    let search = found["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "Search").unwrap();
    assert_eq!(search["on"], false);
    assert!(search["why_off"].as_str().unwrap().contains("no configured engine"), "{search}");
    project.configure("roots = [\"/nonexistent/root\"]\n");
    let (status, found) = record(&project, &[]);
    assert_eq!(status, 2);
    assert!(found["problems"].to_string().contains("/nonexistent/root"), "{found}");
}

#[test]
fn doctor_lists_clients_with_their_command() {
    let project = Project::new(&[]);
    project.run(&["setup", "codex", "--write", "--no-check", "--command", env!("CARGO_BIN_EXE_forage")]);
    std::fs::write(project.home.join(".claude.json"), format!("{{\"key\": \"{KEY}\", \"mcpServers\": 1}}"))
        .unwrap();
    let (status, record) = record(&project, &[]);
    assert_eq!(status, 0, "another program's file is no problem of ours");
    let clients = record["clients"].as_array().unwrap();
    let of =
        |name: &str| clients.iter().find(|site| site["client"] == name && site["scope"] == "user").unwrap();
    assert_eq!(
        (&of("codex")["state"], &of("codex")["command"]),
        (&json!("set_up"), &json!(env!("CARGO_BIN_EXE_forage")))
    );
    assert_eq!(of("claude-code")["state"], "not_understood");
    assert!(
        record["warnings"].to_string().contains("Claude Code") && !record.to_string().contains(KEY),
        "{record}"
    );
}
