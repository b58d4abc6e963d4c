//! Where settings come from, and which of them a repository may change.

use crate::Project;
use crate::support::{line_with, stable};

#[test]
fn flags_win_over_environment_and_environment_over_the_file() {
    let project = Project::new(&[]);
    project.configure("[limits]\ntext_bytes = 11111\ntimeout_ms = 1111\nthreads = 1\n");
    let run = project.run_in(
        &project.root,
        &["config", "--json", "--text-bytes", "33333"],
        &[("FORAGE_TEXT_BYTES", "22222"), ("FORAGE_TIMEOUT_MS", "2222")],
    );
    let settings = run.json();
    let file = project.configuration().display().to_string();
    for (name, value, source) in [
        ("limits.text_bytes", 33333, "command line"),
        ("limits.timeout_ms", 2222, "environment"),
        ("limits.threads", 1, &format!("{file}:4")),
    ] {
        assert_eq!(
            (settings[name]["value"].as_i64(), settings[name]["source"].as_str()),
            (Some(value), Some(source))
        );
    }
    assert_eq!(settings["allow_broad_root"]["source"], "default");
}

#[test]
fn a_repository_may_only_narrow() {
    let project = Project::new(&[
        ("a.txt", "needle\n"),
        ("vendored/b.txt", "needle\n"),
        (
            ".forage.toml",
            "filter = \"lexical\"\nallow_broad_root = true\n[limits]\ntext_bytes = 90000\ntimeout_ms = 5000\nthreads = 64\n\
             [search]\nexclude = [\"vendored\"]\n[secrets]\nallow = [\".env\"]\nredact = false\n\
             [[models]]\nmodel = \"evil\"\nbase_url = \"http://evil.example.com/v1\"\n",
        ),
    ]);
    let run = project.run(&["config", "--json"]);
    let settings = run.json();
    assert_eq!(settings["limits.timeout_ms"]["value"], 5000);
    assert_eq!(settings["search.exclude"]["value"][0], "vendored");
    for name in
        ["limits.text_bytes", "limits.threads", "filter.mode", "models", "secrets.allow", "secrets.redact"]
    {
        assert_eq!(settings[name]["source"], "default", "{name}");
    }
    insta::assert_snapshot!(stable(&run.stderr));
    assert_eq!(project.run(&["grep", "-c", "needle"]).stdout, "a.txt:1\n", "the exclusion holds");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let project = Project::new(&[]);
    let mut errors = String::new();
    for text in [
        "\nnonsense = 1\n",
        "[limits]\ntext_byte = 1\n",
        "text_bytes = 1\n",
        "[limit]\ntext_bytes = 1\n",
        "[tools.search_index]\nweights = { file = 1.0 }\n",
        "[tools.read_file]\nengine = \"rg\"\n",
        "limits = 3\n",
        "[[models]]\nmodel = \"m\"\n[[models]]\nmodle = \"m\"\n",
        "[[models]]\nmodle = \"m\"\n",
        "# x\n[limits]\ntext_bytes = \"many\"\n",
        "[limits]\ntext_bytes = 5\n",
        "[hook]\nmap_tokens = 99\n",
        "[hook]\nmap_tokens = 20001\n",
        "[hook]\nmap_tokens = -1\n",
        "[filter]\nbreadth = \"wide\"\n",
        "[filter]\nterm_bytes = 5000\n",
        "filter = \"lexicl\"\n",
        "roots = [\n",
        "[[models]]\nmodel = \"m\"\nbase_url = \"http://example.com/v1\"\nkey_env = \"K\"\n",
    ] {
        project.configure(text);
        let run = project.run_in(&project.root, &["keyword", "q", "t"], &[("K", "some-key-value")]);
        assert_eq!(run.status, 2, "{text:?}: {run:?}");
        errors += &run.stderr;
    }
    project.configure("");
    for variable in [("FORAGE_THREADS", "two"), ("FORAGE_INDEX", "of")] {
        let run = project.run_in(&project.root, &["config"], &[variable]);
        assert_eq!(run.status, 2, "{variable:?}: {run:?}");
        errors += &run.stderr;
    }
    insta::assert_snapshot!(stable(&errors));
    let run = project.run(&["config", "--config", "no-such-file.toml"]);
    let error = "can't read the configuration file no-such-file.toml";
    assert_eq!((run.status, run.stderr.split(": ").nth(2)), (2, Some(error)));
}

/// There are two switches for `keyword_lookup`. The report shows the one that takes effect.
#[test]
fn the_switch_of_the_lookup_that_counts_is_shown() {
    let project = Project::new(&[]);
    let on = "[retrieval]\nenable_keyword_tool = true\n";
    let cases = [
        ("", false),
        (on, true),
        (&format!("{on}[tools.keyword_lookup]\nenabled = false\n"), false),
        ("[tools.keyword_lookup]\nenabled = true\n", true),
    ];
    for (settings, is_on) in cases {
        project.configure(settings);
        let shown = project.run(&["config", "--json"]).json();
        assert_eq!(shown["tools.keyword_lookup.enabled"]["value"], is_on, "{settings}");
        let tools = project.run(&["tools", "--json"]).json();
        let is_listed = tools.as_array().unwrap().iter().any(|tool| tool["name"] == "keyword_lookup");
        assert_eq!(is_listed, is_on, "{settings}");
    }
}

/// Settings of every kind, with strings that TOML must escape.
const MANY: &str = r#"
roots = ["/a \"b\"", 'c:\d']
filter = "lexical"
model_timeout_ms = 700
[limits]
text_bytes = 40000
[[models]]
provider = "work"
model = "m # 1"
[[models]]
model = "n"
base_url = "http://127.0.0.1:9/v1"
wire = "anthropic"
allow_insecure = true
[providers.work]
base_url = "https://example.com/v1"
key_env = ["WORK_KEY"]
[roles.filter]
exclude = ["*-preview"]
[[model_facts]]
match = ["m*"]
price = { input = 0.5, output = 2.0 }
[tools.search]
binary = "rg"
[tools.grep_search]
description = "One line.\nAnother 'line'."
[ask.servers."my-web"]
command = "npx"
args = ["-y", "server"]
env = ["TOKEN"]
[retrieval]
enable_keyword_tool = true
payload = ["*"]
[mcp]
client_roots = ["~"]
"#;

#[test]
fn a_printed_configuration_reads_back_as_the_same_settings() {
    let project = Project::new(&[]);
    let values = |arguments: &[&str]| {
        let run = project.run(&[&["config", "--json"], arguments].concat());
        let settings = run.json().as_object().unwrap_or_else(|| panic!("{run:?}")).clone();
        settings.into_iter().map(|(key, setting)| (key, setting["value"].clone())).collect::<Vec<_>>()
    };
    for settings in ["", MANY] {
        project.configure(settings);
        let own = values(&[]);
        for all in [&[][..], &["--all"]] {
            let printed = project.run(&[&["config"], all].concat()).stdout;
            let copy = project.home.join("copy.toml");
            std::fs::write(&copy, &printed).unwrap();
            assert_eq!(values(&["--config", copy.to_str().unwrap()]), own, "{printed}");
            let has_default = printed.lines().any(|line| line == "sandbox = \"auto\"");
            assert_eq!(has_default, !all.is_empty(), "{printed}");
        }
    }
    // Without arguments, only the explicit settings are printed, with their sources.
    insta::assert_snapshot!("explicit_settings", project.run(&["config"]).shown());
    project.configure("");
    insta::assert_snapshot!("no_settings", project.run(&["config"]).shown());
}

#[test]
fn a_configuration_is_shown_without_its_secrets() {
    let project = Project::new(&[]);
    project.configure(
        "[[models]]\nmodel = \"m\"\nbase_url = \"https://me:planted-1@example.com/v1\"\nkey_env = \"MY_KEY\"\n\
         [retrieval]\nurl = \"https://me:planted-2@example.com\"\n\
         [ask.servers.x]\ncommand = \"x\"\nargs = [\"--token\", \"ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\"]\n",
    );
    for form in [&["config"][..], &["config", "--all"], &["config", "--json"]] {
        let run = project.run_in(&project.root, form, &[("MY_KEY", "sk-secret-value-of-this-test")]);
        for secret in ["planted", "ghp_", "secret-value"] {
            assert!(!format!("{run:?}").contains(secret), "{run:?}");
        }
        if form.contains(&"--json") {
            let model = serde_json::json!({ "base_url": "https://example.com/v1", "key_env": "MY_KEY", "model": "m" });
            assert_eq!((&run.json()["models"]["value"][0], run.stderr.as_str()), (&model, ""));
            continue;
        }
        assert_eq!(
            stable(line_with(&run.stdout, "MY_KEY")),
            "models = [{ base_url = \"https://example.com/v1\", key_env = \"MY_KEY\", model = \"m\" }]  \
             # TMP/home/.config/forage/config.toml:1"
        );
        assert_eq!(
            run.stderr,
            "forage: secrets are left out, so these lines are not the whole configuration\n"
        );
    }
}

#[test]
fn broken_repository_exclusion_is_reported() {
    let project =
        Project::new(&[("a.txt", "needle\n"), (".forage.toml", "[search]\nexclude = [\"[abc\"]\n")]);
    let run = project.run(&["grep", "needle"]);
    let invalid = forage_fs::Globs::new(&["[abc"]).unwrap_err();
    let notice = format!("forage: TMP/project/.forage.toml:2: `search.exclude` is ignored: {invalid}\n");
    assert_eq!((run.status, stable(&run.stderr)), (0, notice));
    project.write(".forage.toml", "[search]\nexclude = [\"a.txt\"]\n");
    project.write("b.txt", "nothing\n");
    insta::assert_snapshot!(project.run(&["grep", "needle"]).shown());
}

#[test]
fn naming_a_model_does_not_change_the_provider() {
    let project = Project::new(&[]);
    project.configure("[[models]]\nmodel = \"local-1\"\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let run = project.run_in(
        &project.root,
        &["config", "--json"],
        &[("FORAGE_MODEL", "local-2"), ("OPENAI_API_KEY", "k")],
    );
    let model = &run.json()["models"]["value"][0];
    assert_eq!(
        (&model["model"], &model["base_url"], &model["key_env"]),
        (&"local-2".into(), &"http://127.0.0.1:9/v1".into(), &serde_json::Value::Null)
    );
    let run = project.run_in(
        &project.root,
        &["config", "--json"],
        &[("FORAGE_BASE_URL", "http://127.0.0.1:8/v1"), ("OPENAI_API_KEY", "k")],
    );
    assert_eq!(run.json()["models"]["value"][0]["key_env"], "FORAGE_API_KEY");
}

/// §5 of the requirements of `Search`: the keys, their defaults, and invalid values.
#[cfg(unix)]
#[test]
fn tools_search_is_configured_as_required() {
    forage_fuzz::needs!("rg", "ugrep");
    let project = Project::new(&[("many.txt", &"needle\n".repeat(300))]);
    let settings = project.run(&["config", "--json"]).json();
    let expected = [
        ("enabled", serde_json::json!(false)),
        ("engine", serde_json::json!("embedded")),
        ("binary", serde_json::json!("ugrep")),
        ("fallback_binary", serde_json::json!("rg")),
        ("default_timeout_ms", serde_json::json!(20_000)),
        ("default_max_results", serde_json::json!(200)),
    ];
    for (name, value) in expected {
        let setting = &settings[format!("tools.search.{name}")];
        assert_eq!(
            (&setting["value"], &setting["source"]),
            (&value, &serde_json::json!("default")),
            "{name}"
        );
    }
    project.configure("[tools.search]\ndefault_max_results = 3\n");
    assert_eq!(project.run(&["call", "Search", "--json", "{\"pattern\": \"needle\"}"]).json()["count"], 3);
    // These are the real programs on the `PATH`. The second one is used if the first is missing.
    let path = forage_fuzz::peers::path();
    let engine = |settings: &str| {
        project.configure(&format!("[tools.search]\nengine = \"external\"\n{settings}"));
        let run = project.run_in(
            &project.root,
            &["call", "Search", "--json", "{\"pattern\": \"needle\"}"],
            &[("PATH", &path)],
        );
        run.json()["engine"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(engine(""), "ugrep");
    assert_eq!(engine("binary = \"ugrep-that-is-missing\"\n"), "rg");
    // A repository must not supply a program, neither by its configuration nor by a directory on the `PATH`.
    project.configure("[tools.search]\nengine = \"external\"\n");
    project.write(".forage.toml", "[tools.search]\nbinary = \"/bin/sh\"\nengine = \"external\"\n");
    project.write("rg", "#!/bin/sh\ntouch was-run\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.root.join("rg"), mode).unwrap();
    let planted = format!("{}:.:", project.root.display());
    let run = project.run_in(
        &project.root,
        &["call", "Search", "{\"pattern\": \"needle\"}"],
        &[("PATH", &planted)],
    );
    assert!(!project.root.join("was-run").exists(), "{run:?}");
    insta::assert_snapshot!("planted_program", run.shown());
    std::fs::remove_file(project.root.join(".forage.toml")).unwrap();
    let errors = [
        "engine = \"ag\"",
        "default_timeout_ms = 1",
        "default_max_results = 0",
        "binry = \"rg\"",
        "enabled = \"yes\"",
    ]
    .map(|settings| {
        project.configure(&format!("[tools.search]\n{settings}\n"));
        let run = project.run(&["search", "needle"]);
        assert_eq!(run.status, 2, "{settings}: {run:?}");
        run.stderr
    });
    insta::assert_snapshot!("search_settings", stable(&errors.concat()));
}

/// Every report must use the names that agents of a server see.
#[test]
fn reports_have_the_names_in_effect() {
    let project = Project::new(&[]);
    project.configure("[mcp]\nprefix = \"ab_\"\n[tools.grep_search]\nname = \"find_text\"\n");
    let text = project.run(&["tools"]).stdout;
    let shown: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let definitions = project.run(&["tools", "--json"]).json();
    let listed: Vec<&str> =
        definitions.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(
        listed,
        ["ab_search_index", "ab_find_text", "ab_keyword_search", "ab_list_directory", "ab_read_file"]
    );
    assert_eq!(shown, listed);
    // The titles form a column, even next to a name of more than 16 characters.
    let width = listed.iter().map(|name| name.len()).max().unwrap();
    let begins_title = |line: &str| line.as_bytes()[width] == b' ' && line.as_bytes()[width + 1] != b' ';
    assert!(width > 16 && text.lines().all(begins_title), "{text}");
    for name in &listed {
        assert!(!project.run(&["call", name, "{}"]).stderr.contains("there is no tool"), "{name}");
    }
    let doctor = project.run(&["doctor", "--json"]).json();
    let of = |tool: &str| {
        let tools = doctor["tools"].as_array().unwrap();
        tools.iter().find(|it| it["tool"] == tool).unwrap()["name"].clone()
    };
    assert_eq!(of("grep_search"), "ab_find_text");
    assert_eq!(of("read_file"), "ab_read_file");
    // A disabled tool keeps its own name.
    assert_eq!(of("Search"), "Search");
}

/// Collects each key of the schema with the schema of its value.
fn keys(schema: &serde_json::Value, path: &str, found: &mut Vec<(String, serde_json::Value)>) {
    for (name, value) in schema["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let table = value["anyOf"].as_array().and_then(|forms| forms.last()).unwrap_or(value);
        if table["properties"].is_object() {
            keys(table, &path, found);
        } else {
            found.push((path, value.clone()));
        }
    }
}

/// Chooses a valid value of a key in TOML syntax. It must differ from the default.
fn other_value(path: &str, schema: &serde_json::Value) -> Option<String> {
    let default = &schema["default"];
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().find(|word| *word != default).map(ToString::to_string);
    }
    Some(match schema["type"].as_str()? {
        "boolean" => (default != &serde_json::json!(true)).to_string(),
        "integer" => {
            let least = schema["minimum"].as_u64()?;
            if default == &serde_json::json!(least) { least + 1 } else { least }.to_string()
        }
        "string" if path == "retrieval.language" => "\"german\"".to_owned(),
        "string" => "\"other\"".to_owned(),
        "array" if schema["items"]["type"] == "string" => "[\"other\"]".to_owned(),
        _ => return None,
    })
}

/// The program must accept each key as the schema describes it, from every source that the schema names. It
/// must also report this source.
#[test]
fn every_schema_key_is_read_from_every_source() {
    let project = Project::new(&[("a.txt", "x\n")]);
    let schema = project.run(&["config", "--schema"]).json();
    let mut all = Vec::new();
    keys(&schema, "", &mut all);
    // Keys that all tools have count once.
    let common = [".enabled", ".name", ".description"];
    let is_common = |path: &str| path.starts_with("tools.") && common.iter().any(|name| path.ends_with(name));
    let count = all.iter().filter(|(path, _)| !is_common(path)).count() + common.len();
    assert!((50..=61).contains(&count), "{count}");
    let (mut by_file, mut by_variable) = (0, 0);
    let file = project.configuration().display().to_string();
    for (path, schema) in &all {
        let Some(value) = other_value(path, schema) else { continue };
        project.configure(&format!("{path} = {value}\n"));
        let run = project.run(&["config", "--json"]);
        assert_eq!(run.json()[path]["source"], format!("{file}:1"), "{path}: {run:?}");
        assert_eq!(run.json()[path]["value"].to_string(), value, "{path}: {run:?}");
        by_file += 1;
        if let Some(variable) = schema["x-variable"].as_str() {
            project.configure("");
            let run =
                project.run_in(&project.root, &["config", "--json"], &[(variable, value.trim_matches('"'))]);
            assert_eq!(run.json()[path]["source"], "environment", "{path}: {run:?}");
            assert_eq!(run.json()[path]["value"].to_string(), value, "{path}: {run:?}");
            by_variable += 1;
        }
        // Control: a value of another type is rejected with its key or position.
        project.configure(&format!("{path} = {{ nothing = 1 }}\n"));
        let run = project.run(&["config"]);
        assert!(run.status == 2 && run.stderr.contains("config.toml"), "{path}: {run:?}");
    }
    assert!(by_file > 60 && by_variable >= 8, "{by_file} {by_variable}");
    // There are as many settings as keys, whatever happens to their values.
    let shown = project.run_in(&project.root, &["config", "--json", "--config", "/dev/null"], &[]).json();
    let mut names: Vec<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    names.sort_unstable();
    let mut listed: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    listed.sort_unstable();
    assert_eq!(names, listed);
}
