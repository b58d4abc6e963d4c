//! Where settings come from, and what a repository may say.

use crate::Project;

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
    let file = project.home.join(".config/forage/config.toml").display().to_string();
    for (name, value, source) in [
        ("limits.text_bytes", 33333, "command line"),
        ("limits.timeout_ms", 2222, "environment"),
        ("limits.threads", 1, file.as_str()),
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
    for (name, value) in [("limits.text_bytes", 40000), ("limits.threads", 0)] {
        assert_eq!(
            (settings[name]["value"].as_i64(), settings[name]["source"].as_str()),
            (Some(value), Some("default"))
        );
    }
    assert_eq!(
        (&settings["filter"]["value"], &settings["models"]["value"]),
        (&"model".into(), &serde_json::json!([]))
    );
    for ignored in [
        "`filter`",
        "`allow_broad_root`",
        "`limits.text_bytes`",
        "`limits.threads`",
        "`secrets.allow`",
        "`secrets.redact`",
        "`models`",
    ] {
        assert!(run.stderr.contains(&format!("{ignored} is ignored")), "{ignored} in {}", run.stderr);
    }
    let run = project.run(&["grep", "needle", "--json"]);
    assert_eq!(run.json()["match_count"], 1, "the exclusion holds: {run:?}");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let project = Project::new(&[]);
    for (text, expected) in [
        ("nonsense = 1\n", "unknown field `nonsense`"),
        ("[limits]\ntext_bytes = \"many\"\n", "invalid type"),
        ("[limits]\ntext_bytes = 5\n", "5 is out of range; give 2000 to 100000"),
        ("[filter]\nbreadth = \"wide\"\n", "\"wide\" is neither \"adaptive\" nor \"requirement\""),
        ("[filter]\nterm_bytes = 10\n", "`filter.term_bytes`"),
        ("[filter]\ncontext_lines = 51\n", "51 is out of range; give 0 to 50"),
        ("filter = \"none\"\n", "\"none\" is neither \"model\" nor \"lexical\""),
        (
            "[[models]]\nmodel = \"m\"\nbase_url = \"http://example.com/v1\"\nkey_env = \"K\"\n",
            "allow_insecure",
        ),
    ] {
        project.configure(text);
        let run = project.run_in(&project.root, &["keyword", "q", "t"], &[("K", "some-key-value")]);
        assert!(run.status == 2 && run.stderr.contains(expected), "{text:?}: {run:?}");
    }
    project.configure("");
    let run = project.run_in(&project.root, &["config"], &[("FORAGE_THREADS", "two")]);
    assert!(run.status == 2 && run.stderr.contains("FORAGE_THREADS must be a whole number"), "{run:?}");
    let run = project.run(&["config", "--config", "no-such-file.toml"]);
    assert!(run.status == 2 && run.stderr.contains("no-such-file.toml"), "{run:?}");
}

/// `keyword_lookup` has two switches and two names: what is shown is the one that counts.
#[test]
fn what_is_shown_of_the_tool_that_looks_words_up_is_in_effect() {
    let project = Project::new(&[]);
    let both = "[retrieval]\nenable_keyword_tool = true\ntool_name = \"find_id\"\n";
    let cases = [
        ("", false, "keyword_lookup"),
        (both, true, "find_id"),
        (&format!("{both}[tools.keyword_lookup]\nenabled = false\n"), false, "find_id"),
        ("[tools.keyword_lookup]\nenabled = true\nname = \"id_of\"\n", true, "id_of"),
    ];
    for (settings, is_on, name) in cases {
        project.configure(settings);
        let shown: serde_json::Value =
            serde_json::from_str(&project.run(&["config", "--json"]).stdout).unwrap();
        let of = |key: &str| shown[format!("tools.keyword_lookup.{key}")]["value"].clone();
        assert_eq!((of("enabled"), of("name")), (is_on.into(), name.into()), "{settings}");
    }
}

#[test]
fn the_configuration_shows_names_of_keys_and_never_keys() {
    let project = Project::new(&[]);
    let run = project.run_in(
        &project.root,
        &["config"],
        &[("FORAGE_MODEL", "small-1"), ("OPENAI_API_KEY", "sk-secret-value-of-this-test")],
    );
    assert!(
        run.stdout.contains("\"key_env\":\"OPENAI_API_KEY\"") && run.stdout.contains("\"key_set\":true"),
        "{run:?}"
    );
    assert!(!format!("{run:?}").contains("secret-value"));
}

#[test]
fn a_repositorys_broken_exclusion_is_reported_and_breaks_nothing() {
    let project =
        Project::new(&[("a.txt", "needle\n"), (".forage.toml", "[search]\nexclude = [\"[abc\"]\n")]);
    let run = project.run(&["grep", "needle"]);
    assert!(run.status == 0 && run.stderr.contains("`search.exclude` is ignored"), "{run:?}");
    project.write(".forage.toml", "[search]\nexclude = [\"a.txt\"]\n");
    let run = project.run(&["grep", "needle"]);
    assert!(
        run.status == 1 && run.stdout.contains("hidden by search.exclude of the configuration"),
        "{run:?}"
    );
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

/// §5 of the requirements of `Search`: the keys, their defaults, and what is refused.
#[cfg(unix)]
#[test]
fn tools_search_is_configured_as_required() {
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
    // The real programs, found on the PATH; the second where the first is missing.
    let path = std::env::var("PATH").unwrap();
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
    // A repository brings no program: not by its configuration, and not by a directory on the PATH.
    project.configure("[tools.search]\nengine = \"external\"\n");
    project.write(".forage.toml", "[tools.search]\nbinary = \"/bin/sh\"\nengine = \"external\"\n");
    project.write("rg", "#!/bin/sh\ntouch was-run\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.root.join("rg"), mode).unwrap();
    let planted = format!("{}:.:", project.root.display());
    let run = project.run_in(&project.root, &["search", "needle"], &[("PATH", &planted)]);
    assert!(run.status == 2 && run.stderr.contains("lies within the root"), "{run:?}");
    assert!(run.stderr.contains(".forage.toml: `tools") && !project.root.join("was-run").exists(), "{run:?}");
    for (settings, expected) in [
        ("engine = \"ag\"", "`tools.search.engine`"),
        ("default_timeout_ms = 1", "100 to 300000"),
        ("default_max_results = 0", "1 to 10000"),
        ("binaries = \"rg\"", "unknown field `binaries`"),
        ("enabled = \"yes\"", "invalid type"),
    ] {
        project.configure(&format!("[tools.search]\n{settings}\n"));
        let run = project.run(&["search", "needle"]);
        assert!(run.status == 2 && run.stderr.contains(expected), "{settings}: {run:?}");
    }
}

/// What agents of a server know the tools by is what every report calls them.
#[test]
fn reports_have_the_names_in_effect() {
    let project = Project::new(&[]);
    project.configure("[mcp]\nprefix = \"ab_\"\n[tools.grep_search]\nname = \"find_text\"\n");
    let text = project.run(&["tools"]).stdout;
    assert!(text.contains("ab_find_text") && text.contains("ab_read_file"), "{text}");
    assert!(!text.contains("grep_search"), "{text}");
    let definitions = project.run(&["tools", "--json"]).json();
    let listed: Vec<&str> =
        definitions.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(listed.iter().all(|name| name.starts_with("ab_")), "{listed:?}");
    for name in &listed {
        assert!(!project.run(&["call", name, "{}"]).stderr.contains("there is no tool"), "{name}");
    }
    let doctor = project.run(&["doctor", "--json"]).json();
    let of = |tool: &str| {
        let tools = doctor["tools"].as_array().unwrap();
        tools.iter().find(|it| it["tool"] == tool).unwrap()["name"].clone()
    };
    assert_eq!(of("grep_search"), "ab_find_text");
    assert!(listed.contains(&of("read_file").as_str().unwrap()));
    // One that is off has no name but its own.
    assert_eq!(of("Search"), "Search");

    let name = |settings: &str| {
        project.configure(settings);
        let setting = &project.run(&["config", "--json"]).json()["tools.keyword_lookup.name"];
        (setting["value"].as_str().unwrap().to_owned(), setting["source"] == "default")
    };
    assert_eq!(name(""), ("keyword_lookup".to_owned(), true));
    assert_eq!(name("[retrieval]\ntool_name = \"ids\"\n"), ("ids".to_owned(), false));
    let free = "[tools.keyword_search]\nenabled = false\n";
    assert_eq!(name(free), ("keyword_search".to_owned(), false));
    assert_eq!(name(&format!("{free}[retrieval]\ntool_name = \"ids\"\n")), ("ids".to_owned(), false));
}

/// Each key of the schema with the schema of its value.
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

/// A value that a key can have and does not have by default, as TOML writes it.
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

/// What the schema says of keys is what the program takes, from every source that it names, and shows with its source.
#[test]
fn every_key_of_the_schema_is_read_from_every_source_that_it_names() {
    let project = Project::new(&[("a.txt", "x\n")]);
    let schema = project.run(&["config", "--schema"]).json();
    let mut all = Vec::new();
    keys(&schema, "", &mut all);
    assert!(all.len() > 95, "{}", all.len());
    let (mut by_file, mut by_variable) = (0, 0);
    let file = project.home.join(".config/forage/config.toml").display().to_string();
    for (path, schema) in &all {
        let Some(value) = other_value(path, schema) else { continue };
        // What only makes sense with another key, and the table that may be left out.
        let beside = match path.as_str() {
            "retrieval.store" => "",
            "filter.shards" => "filter.answer = \"ids\"\n",
            _ => "",
        };
        let shown = if path == "filter.mode" { "filter" } else { path };
        let quoted = path.split('.').collect::<Vec<_>>().join(".");
        project.configure(&format!("{beside}{quoted} = {value}\n"));
        let run = project.run(&["config", "--json"]);
        assert_eq!(run.json()[shown]["source"], file, "{path}: {run:?}");
        assert_eq!(run.json()[shown]["value"].to_string(), value, "{path}: {run:?}");
        by_file += 1;
        if let Some(variable) = schema["x-variable"].as_str() {
            project.configure("");
            let run =
                project.run_in(&project.root, &["config", "--json"], &[(variable, value.trim_matches('"'))]);
            assert_eq!(run.json()[shown]["source"], "environment", "{path}: {run:?}");
            assert_eq!(run.json()[shown]["value"].to_string(), value, "{path}: {run:?}");
            by_variable += 1;
        }
        // The control: a value of another type is refused by its name or its place.
        project.configure(&format!("{beside}{quoted} = {{ nothing = 1 }}\n"));
        let run = project.run(&["config"]);
        assert!(run.status == 2 && run.stderr.contains("config.toml"), "{path}: {run:?}");
    }
    assert!(by_file > 85 && by_variable >= 8, "{by_file} {by_variable}");
    // The number of settings is that of the keys, whatever became of their values.
    let shown = project.run_in(&project.root, &["config", "--json", "--config", "/dev/null"], &[]).json();
    let mut names: Vec<&str> =
        all.iter().map(|(path, _)| if path == "filter.mode" { "filter" } else { path }).collect();
    names.sort_unstable();
    let mut listed: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    listed.sort_unstable();
    assert_eq!(names, listed);
}
