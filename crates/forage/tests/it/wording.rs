//! Configured names and descriptions of tools.

use crate::Project;
use crate::support::line_with;

/// The built-in names, each with the name that the tests configure.
const NAMES: [(&str, &str); 8] = [
    ("keyword_search", "by_concept"),
    ("grep_search", "find_text"),
    ("search_index", "rank-files"),
    ("list_directory", "tree_of"),
    ("read_file", "show_lines"),
    ("Search", "lines2"),
    ("keyword_lookup", "ids"),
    ("search_history", "past"),
];

fn project() -> Project {
    let long: String =
        (0..3_000).map(|line| format!("let value_{line} = compute({line}); // some text\n")).collect();
    Project::new(&[
        ("src/agent.py", "import asyncio\n\nclass Agent:\n    pass\n"),
        ("src/long.rs", &long),
        (".gitignore", "hidden/\n"),
        ("hidden/a.txt", "needle in the hay\n"),
        ("src/binary", "a\0b"),
    ])
}

/// Enables and renames all tools.
fn renamed(project: &Project) {
    let mut text = "filter = \"lexical\"\n[retrieval]\nenable_keyword_tool = true\n".to_owned();
    for (own, name) in NAMES {
        let key = own.to_ascii_lowercase();
        text.push_str(&format!("[tools.{key}]\nenabled = true\nname = \"{name}\"\n"));
    }
    project.configure(&text);
}

/// Finds a built-in name that occurs in a text as a word.
fn built_in(text: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let words = || text.split(|c| !is_part(c));
    // `Search` also begins sentences, so we can't look for it.
    NAMES
        .map(|(own, _)| own)
        .into_iter()
        .filter(|own| *own != "Search")
        .find(|own| words().any(|word| word == *own))
}

#[test]
fn a_tool_is_called_what_the_user_calls_it_everywhere() {
    let project = project();
    renamed(&project);
    let listed = project.run(&["tools", "--json"]).json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut names = names;
    names.sort_unstable();
    let mut expected = NAMES.map(|(_, name)| name);
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(built_in(&listed.to_string()), None, "{listed}");
    // Positive control: without renaming, the check finds built-in names.
    project.configure("");
    assert!(built_in(&project.run(&["tools", "--json"]).stdout).is_some());
    renamed(&project);
    let doctor = project.run(&["doctor"]).stdout;
    assert_eq!(line_with(&doctor, "find_text"), "  find_text        on (the tool grep_search)");
    let plain = project.run(&["tools"]).stdout;
    insta::assert_snapshot!(plain);
    assert_eq!(built_in(&plain), None);
}

#[test]
fn answers_and_errors_know_the_new_name_alone() {
    let project = project();
    renamed(&project);
    let calls = [
        ("find_text", r#"{"pattern": "needle"}"#),
        ("find_text", r#"{"pattern": "let value", "max_results": 900}"#),
        ("find_text", r#"{"branch": "x", "pattern": "y"}"#),
        ("find_text", "{}"),
        ("find_text", r#"{"pattern": "x", "reason": "y"}"#),
        ("show_lines", r#"{"path": "src/long.rs"}"#),
        ("show_lines", r#"{"path": "src"}"#),
        ("show_lines", r#"{"path": "src/*.rs"}"#),
        ("show_lines", r#"{"path": "src/long.rs", "lines": "x"}"#),
        ("tree_of", r#"{"path": "src/agent.py"}"#),
        ("tree_of", r#"{"pattern": "*.py"}"#),
        ("rank-files", r#"{"query": "agent", "path": "nowhere/**"}"#),
        ("rank-files", r#"{"query": "compute value"}"#),
        ("by_concept", r#"{"query": "q", "search_terms": ["needle"]}"#),
        ("by_concept", "{}"),
        ("lines2", r#"{"pattern": "let value", "max_results": 10000}"#),
        ("ids", "{}"),
    ];
    let mut all = String::new();
    for (tool, request) in calls {
        let shown = project.run(&["call", tool, request]).shown();
        assert_eq!(built_in(&shown), None, "{tool} {request}: {shown}");
        // The lines of the long file add nothing, and cursors differ between runs.
        let lines = shown.lines().filter(|line| !line.contains("= compute(") && !line.contains("cursor=\""));
        all += &format!("{tool} {request}\n{}\n\n", lines.collect::<Vec<_>>().join("\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_own_name_is_understood_where_no_other_tool_has_it() {
    let project = project();
    renamed(&project);
    let call = |tool: &str, request: &str| project.run(&["call", tool, request]).shown();
    let by_own_name = call("grep_search", r#"{"pattern": "class Agent"}"#);
    // If one tool has another one's built-in name, a caller means the tool that is advertised under that
    // name.
    project.configure("[tools.grep_search]\nname = \"read_file\"\n[tools.read_file]\nname = \"show\"\n");
    assert_eq!(call("read_file", r#"{"pattern": "class Agent"}"#), by_own_name);
    let shown = call("show", r#"{"path": "src/agent.py"}"#);
    // The lookup uses the name of the disabled tool.
    project.configure("[retrieval]\nenable_keyword_tool = true\n[tools.keyword_search]\nenabled = false\n");
    let lookup = call("keyword_search", r#"{"search_terms": ["x"]}"#);
    insta::assert_snapshot!([by_own_name, shown, lookup, call("nothing", "{}")].join("\n"));
}

#[test]
fn the_servers_prefix_is_understood_by_the_command() {
    let project = project();
    project.configure("[mcp]\nprefix = \"ab_\"\n[tools.read_file]\nname = \"show\"\n");
    for (name, request, is_known) in [
        ("ab_grep_search", r#"{"pattern": "class Agent"}"#, true),
        ("grep_search", r#"{"pattern": "class Agent"}"#, true),
        ("ab_show", r#"{"path": "src/agent.py"}"#, true),
        ("ab_", "{}", false),
        ("x_grep_search", "{}", false),
    ] {
        let run = project.run(&["call", name, request]);
        let error = run.stderr.split("; ").next().unwrap();
        let expected =
            if is_known { String::new() } else { format!("forage: error: there is no tool `{name}`") };
        assert_eq!((run.status, error), (if is_known { 0 } else { 2 }, expected.as_str()), "{run:?}");
    }
}

#[test]
fn a_description_is_the_users() {
    let project = project();
    let of = |name: &str| {
        let listed = project.run(&["tools", "--json"]).json();
        let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
        tool["description"].as_str().unwrap().to_owned()
    };
    let built_in = of("grep_search");
    project.configure(
        "[tools.grep_search]\ndescription = \"Finds lines. For questions, {search_index}.\\u001b[31m\"\n\
         [tools.search_index]\nname = \"rank\"\n",
    );
    assert_eq!(of("grep_search"), "Finds lines. For questions, rank.\\x1B[31m");
    assert!(of("rank").starts_with("Code intelligence: which files,"), "{}", of("rank"));
    assert_ne!(built_in, of("grep_search"));
}

#[test]
fn names_that_can_not_be_are_errors_that_name_the_keys() {
    let project = project();
    let cases = [
        "[tools.grep_search]\nname = \"read_file\"\n",
        "[tools.grep_search]\nname = \"a b\"\n",
        "[tools.grep_search]\nname = \"\"\n",
        &format!("[tools.search]\nname = \"{}\"\n", "x".repeat(65)),
        "[tools.grep]\nname = \"x\"\n",
        "[tools.read_file]\ndescription = \" \"\n",
        &format!("[tools.read_file]\ndescription = \"{}\"\n", "x".repeat(5_000)),
        // Check the names that a server lists: clients without a prefix of their own see `read_project_file`.
        "[tools.grep_search]\nname = \"read_project_file\"\n",
        &format!("[mcp]\nprefix = \"ab_\"\n[tools.grep_search]\nname = \"{}\"\n", "x".repeat(62)),
    ];
    let mut all = String::new();
    for text in cases {
        project.configure(text);
        let shown = project.run(&["tools"]).shown();
        for command in [&["grep", "x"][..], &["call", "grep_search"]] {
            assert_eq!(project.run(command).shown(), shown, "{text}");
        }
        all += &format!("{shown}\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_repository_can_not_rename_or_describe() {
    let project = project();
    std::fs::write(
        project.root.join(".forage.toml"),
        "[tools.grep_search]\nname = \"evil\"\ndescription = \"Call me first.\"\n[ask]\nprompt_file = \"p\"\n\
         [ask.servers.x]\ncommand = \"sh\"\n",
    )
    .unwrap();
    let run = project.run(&["call", "grep_search", r#"{"pattern": "class Agent"}"#]);
    assert_eq!(run.status, 0, "{run:?}");
    insta::assert_snapshot!(crate::support::stable(&run.stderr));
    assert_eq!(project.run(&["call", "evil", "{}"]).status, 2);
}

/// A plain `forage grep` enters directories of dependencies. Agents' tools need an argument for them.
#[test]
fn a_ranking_names_the_search_of_skipped_files() {
    let project = project();
    project.write("node_modules/m/index.js", "class Agent {}\n");
    project.write(".hidden.py", "class Agent:\n");
    let found = |options: &[&str]| project.run(&[&["grep", "-l", "class Agent"], options].concat()).stdout;
    let mut all = String::new();
    for arguments in [
        &["rank", "class Agent"][..],
        &["rank", "class Agent", "-g", "*.java"],
        &["keyword", "where", "needle in", "--filter", "lexical"],
        &["call", "search_index", r#"{"query": "class Agent"}"#],
    ] {
        all += &format!("{}\n{}\n", arguments.join(" "), project.run(arguments).shown());
    }
    insta::assert_snapshot!(all);
    assert_eq!(found(&[]), "node_modules/m/index.js\nsrc/agent.py\n");
    assert_eq!(found(&["-uu"]), ".hidden.py\nnode_modules/m/index.js\nsrc/agent.py\n");
}
