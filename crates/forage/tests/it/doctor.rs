//! `forage doctor`: it reports problems, continues after each of them, and must reveal no secrets.

use serde_json::{Value, json};

use crate::Project;
use crate::support::{line_with, stable};

const KEY: &str = "sk-planted0123456789abcdefghijklmnop";

fn record(project: &Project, environment: &[(&str, &str)]) -> (i32, Value) {
    let run = project.run_in(&project.root, &["doctor", "--json"], environment);
    (run.status, run.json())
}

/// Formats the problems of a report for a snapshot.
fn problems(record: &Value) -> String {
    let problems = record["problems"].as_array().unwrap().iter();
    problems.map(|problem| stable(problem.as_str().unwrap()) + "\n").collect()
}

/// Returns the warnings of a report that mention a word.
fn warnings_about(record: &Value, word: &str) -> String {
    let warnings = record["warnings"].as_array().unwrap().iter().map(|it| stable(it.as_str().unwrap()));
    warnings.filter(|warning| warning.contains(word)).collect::<Vec<_>>().join("\n")
}

#[test]
fn doctor_reports_a_usable_installation() {
    forage_fuzz::needs!("rg", "ugrep");
    let project = Project::new(&[("a.rs", "")]);
    let path = forage_fuzz::peers::path();
    let run = project.run_in(&project.root, &["doctor"], &[("PATH", &path)]);
    assert_eq!(run.status, 0, "{}", run.stdout);
    // These sections don't depend on the machine.
    let sections = ["roots:", "configuration:", "tools:", "models:", "index:"];
    let section = |title: &&str| {
        let lines = run.stdout.lines().skip_while(|line| line != title).skip(1);
        let lines = lines.take_while(|line| line.starts_with("  "));
        lines.fold(format!("{title}\n"), |text, line| text + line + "\n")
    };
    insta::assert_snapshot!(stable(&sections.iter().map(section).collect::<String>()));
    assert_eq!(run.stdout.lines().last(), Some("Forage is usable."));
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
    let left_open = "  left open: names, sizes and times of files";
    assert_eq!(line_with(&run.stdout, "left open: names"), left_open);
    project.configure("sandbox = \"off\"\n");
    let off = self::record(&project, &[("PATH", &path)]).1;
    assert_eq!((&off["sandbox"]["mode"], &off["sandbox"]["refused"]), (&json!("off"), &json!([])));
}

#[test]
fn a_broken_configuration_is_reported_and_ends_nothing() {
    let project = Project::new(&[]);
    let mut all = String::new();
    for text in [
        "[limits]\ntext_bytes = 3\n",
        "[[models]]\napi_key = \"planted-secret-of-the-user\"\n",
        "model = [\n",
        "sandbox = \"maybe\"\n",
    ] {
        project.configure(text);
        let (status, record) = record(&project, &[]);
        assert_eq!((status, &record["usable"]), (2, &json!(false)), "{text}");
        assert!(!record.to_string().contains("planted-secret"), "{record}");
        all += &problems(&record);
        // All other sections must be present.
        assert!(record["engines"].is_array() && record["tools"].is_array() && record["models"].is_object());
    }
    project.configure("");
    let (status, record) = record(&project, &[("FORAGE_THREADS", "many")]);
    assert_eq!(status, 2);
    insta::assert_snapshot!(all + &problems(&record));
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
    let warnings = || warnings_about(&record(&project, &[]).1, "keyword_search");
    assert_eq!(warnings(), "");
    project.configure(
        "[[models]]\nmodel = \"m\"\nbase_url = \"https://example.com/v1\"\nkey_env = \"MY_KEY\"\n",
    );
    insta::assert_snapshot!(warnings());
}

#[test]
fn what_a_repository_wishes_is_a_notice() {
    let project = Project::new(&[(".forage.toml", "sandbox = \"off\"\n[limits]\ntimeout_ms = 5000\n")]);
    let (status, record) = record(&project, &[]);
    assert_eq!(status, 0);
    insta::assert_snapshot!(stable(&record["configuration"]["notices"].to_string()));
    assert_eq!(record["sandbox"]["mode"], "auto");
    assert_eq!(record["configuration"]["changed"]["limits.timeout_ms"]["value"], 5000);
}

#[test]
fn missing_engine_and_invalid_root_are_problems() {
    let project = Project::new(&[]);
    project.configure("[tools.search]\nenabled = true\nengine = \"ugrep\"\n");
    let (status, found) = record(&project, &[("PATH", "/nonexistent")]);
    assert_eq!(status, 2);
    let mut all = problems(&found);
    let search = found["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "Search").unwrap();
    assert_eq!(search["on"], false);
    all += &format!("{}\n", search["why_off"].as_str().unwrap());
    project.configure("roots = [\"/nonexistent/root\"]\n");
    let (status, found) = record(&project, &[]);
    assert_eq!(status, 2);
    insta::assert_snapshot!(all + &problems(&found));
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
    insta::assert_snapshot!(warnings_about(&record, "Claude Code"));
    assert!(!record.to_string().contains(KEY), "{record}");
}
