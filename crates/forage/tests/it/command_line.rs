//! Arguments, exit status, output.

use std::path::Path;

use crate::Project;
use crate::eval::git;

fn project() -> Project {
    Project::new(&[
        ("src/main.rs", "fn main() {\n    needle();\n}\n"),
        ("src/lib.rs", "pub fn needle() {}\n// Needle, needles\n"),
        ("README.md", "A needle.\nline 2\nline 3\nline 4\nline 5\nline 6\nanother needle\n"),
        (".gitignore", "target\n"),
        ("target/out.txt", "needle\n"),
    ])
}

#[test]
fn exit_status_tells_found_nothing_and_error_apart() {
    let project = project();
    for (arguments, status) in [
        (&["grep", "needle"][..], 0),
        (&["grep", "absent_from_everything"], 1),
        (&["grep", "("], 2),
        (&["grep", "needle", "no/such/path"], 2),
        (&["grep"], 2),
        (&["nonsense"], 2),
        (&["keyword", "--filter", "lexical", "q", "needle"], 0),
        (&["keyword", "--filter", "lexical", "q", "absent_from_everything"], 1),
        (&["keyword", "--filter", "nonsense", "q", "needle"], 2),
        (&["list"], 0),
        (&["list", "src/main.rs"], 2),
        (&["read", "src/main.rs"], 0),
        (&["read", "src"], 2),
        (&["read", "src/main.rs", "--start-line", "99"], 0),
        (&["call", "grep_search", "{\"pattern\": \"needle\"}"], 0),
        (&["call", "grep_search", "{\"pattern\""], 2),
        (&["call", "no_such_tool", "{}"], 2),
        (&["tools"], 0),
        (&["config"], 0),
        (&["--version"], 0),
        (&["--help"], 0),
    ] {
        let run = project.run(arguments);
        assert_eq!(run.status, status, "{arguments:?}: {run:?}");
        if status == 2 {
            assert!(run.stderr.contains("error: "), "{arguments:?}: {run:?}");
        }
    }
}

/// A mistyped revision is an error. Messages name `--path` only if its value is wrong.
#[test]
fn history_errors_have_a_status_and_name_given_options() {
    let project = project();
    let refused = |directory: &Path, arguments: &[&str], expected: &str| {
        let run = project.run_in(directory, arguments, &[]);
        assert_eq!(run.status, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(expected), "{arguments:?}: {run:?}");
        assert_eq!(run.stderr.contains("--path"), expected.starts_with("`--path`"), "{run:?}");
    };
    // `Project::new` creates an empty `.git`.
    std::fs::remove_dir_all(project.root.join(".git")).unwrap();
    refused(&project.root, &["history", "needle"], "has no git repository at its top");
    git(&project, &["init", "-q", "-b", "main"]);
    refused(&project.root, &["history", "needle"], "the current branch has no commits yet");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "First"]);
    assert_eq!(project.run(&["history", "needle"]).status, 0);
    assert_eq!(project.run(&["history", "-p", "nowhere"]).status, 1);
    let unknown = "`--path`: no commit has v9:src, and there is no branch, tag or commit `v9`";
    refused(&project.root, &["history", "-p", "v9:src"], unknown);
    let clone = project.home.join("clone");
    git(&project, &["clone", "-q", "--shared", ".", clone.to_str().unwrap()]);
    refused(&clone, &["history", "needle"], "is in another repository, because this is a shared clone");
}

#[test]
fn list_draws_a_tree() {
    let run = project().run(&["list", "--recursive"]);
    insta::assert_snapshot!(run.stdout, @r"
    ./
    ├── README.md (7 lines)
    └── src/
        ├── lib.rs (2 lines)
        └── main.rs (3 lines)

    [not entered: .git; not searched: 1 ignored, 1 hidden, 1 pruned]
    ");
}

#[test]
fn read_numbers_lines_and_says_how_to_go_on() {
    let project = project();
    let run = project.run(&["read", "README.md", "--start-line", "2", "--end-line", "3"]);
    assert_eq!(run.stdout, "     2\tline 2\n     3\tline 3\n\n[lines 2 to 3 of 7 lines]\n");
    let text: String = (1..=5_000).map(|n| format!("line number {n}\n")).collect();
    project.write("long.txt", &text);
    let run = project.run(&["read", "long.txt"]);
    let note = run.stdout.lines().last().unwrap();
    assert!(
        note.starts_with("[lines 1 to ")
            && note.contains("of 5,000 lines; to continue: `forage read long.txt --start-line "),
        "{note}"
    );
    assert!(run.stdout.len() <= 40_000);
}

#[test]
fn outside_path_is_searched_for_people_but_not_for_agents() {
    let (here, there) = (project(), Project::new(&[("a.txt", "needle elsewhere\n")]));
    let path = there.root.display().to_string();
    let run = here.run(&["grep", "needle", &path]);
    assert!(run.status == 0 && run.stdout.contains("needle elsewhere"), "{run:?}");
    let run = here.run(&["call", "grep_search", &format!("{{\"pattern\": \"needle\", \"path\": {path:?}}}")]);
    assert!(run.status == 2 && run.stderr.contains("leads outside of the root"), "{run:?}");
}

#[test]
fn paths_are_relative_to_the_working_directory() {
    let project = project();
    let run = project.run_in(&project.root.join("src"), &["grep", "-H", "needle", "main.rs"], &[]);
    assert!(run.status == 0 && run.stdout == "main.rs:    needle();\n", "{run:?}");
    let run = project.run_in(&project.root.join("src"), &["read", "../README.md"], &[]);
    assert!(run.status == 0 && run.stdout.contains("A needle."), "{run:?}");
    // A concept search covers the whole repository, from any directory inside it.
    let run = project.run_in(
        &project.root.join("src"),
        &["keyword", "--filter", "lexical", "q", "another needle"],
        &[],
    );
    assert!(run.status == 0 && run.stdout.contains("README.md: matches"), "{run:?}");
}

/// REQ-KWS-002. Control: if the same directory is in a repository, the sibling file is found too.
#[test]
fn without_a_repository_the_working_directory_is_searched() {
    let project = Project::new(&[("beside.txt", "a needle_here\n"), ("sub/within.txt", "a needle_here\n")]);
    let sub = project.root.join("sub");
    let search = || {
        project.run_in(&sub, &["keyword", "--filter", "lexical", "where is it", "needle_here"], &[]).stdout
    };
    let found = search();
    assert!(found.contains("within.txt") && found.contains("beside.txt"), "{found}");
    std::fs::remove_dir(project.root.join(".git")).unwrap();
    let found = search();
    assert!(found.contains("within.txt") && !found.contains("beside.txt"), "{found}");
}

#[test]
fn the_home_directory_and_the_file_systems_root_are_no_roots() {
    let project = project();
    for root in ["/", project.home.to_str().unwrap()] {
        let run = project.run(&["grep", "needle", "--root", root]);
        assert!(run.status == 2 && run.stderr.contains("too broad"), "{run:?}");
    }
    let run = project.run(&["list", "--root", "/proc/self"]);
    assert!(run.status == 2 && run.stderr.contains("kernel file system"), "{run:?}");
}

#[test]
fn errors_are_records_too_when_records_are_asked_for() {
    let run = project().run(&["grep", "(", "--json"]);
    assert_eq!(run.status, 2);
    assert!(run.json()["error"].as_str().unwrap().contains("unclosed group"), "{run:?}");
}

#[test]
fn an_agents_slips_are_understood() {
    let project = project();
    let run = project.run(&[
        "call",
        "keyword_search",
        "{\"query\": \"q\", \"search_terms\": \"needle\"}",
        "--json",
    ]);
    assert!(run.status == 2 && run.stderr.contains("no model is configured"), "{run:?}");
    project.configure("filter = \"lexical\"\n");
    let run = project.run(&[
        "call",
        "keyword_search",
        "{\"query\": \"q\", \"search_terms\": \"needle\"}",
        "--json",
    ]);
    assert_eq!(run.json()["terms"][0]["fate"], "kept");
    let run = project.run(&["call", "read_file", "{\"file_path\": \"README.md\"}"]);
    assert!(run.status == 0 && run.stdout.contains("needle"), "{run:?}");
}

#[test]
fn roots_and_paths_that_people_name_work_from_anywhere() {
    let project = project();
    let path = project.root.display().to_string();
    // The home directory itself is not a root.
    std::fs::create_dir_all(project.home.join("sub/.git")).unwrap();
    std::fs::write(project.home.join("sub/a.txt"), "needle at home\n").unwrap();
    let run = project.run_in(&project.home, &["grep", "needle", "sub"], &[]);
    assert!(run.status == 0 && run.stdout.contains("needle at home"), "{run:?}");
    // The root is elsewhere, and there is no path.
    let run = project.run_in(&project.home, &["grep", "needle", "--root", &path], &[]);
    assert!(run.status == 0 && run.stdout.contains("src/main.rs:"), "{run:?}");
    let run = project.run_in(&project.home, &["list", "src", "--root", &path], &[]);
    assert!(run.status == 0 && run.stdout.contains("main.rs (3 lines)"), "{run:?}");
    // We follow a link that the user made, but none that leads out of the repository.
    #[cfg(unix)]
    through_a_link(&project);
}

#[cfg(unix)]
fn through_a_link(project: &Project) {
    let link = project.home.join("link");
    std::os::unix::fs::symlink(&project.root, &link).unwrap();
    let run = project.run_in(&project.home.join("sub"), &["grep", "needle", link.to_str().unwrap()], &[]);
    assert!(run.status == 0 && run.stdout.contains("src/main.rs:"), "{run:?}");
    std::os::unix::fs::symlink(project.home.join("sub"), project.root.join("out")).unwrap();
    let run = project.run(&["read", "out/a.txt"]);
    assert!(run.status == 2 && !run.stdout.contains("needle at home"), "{run:?}");
}

#[test]
fn an_error_is_said_once() {
    let run = project().run(&["read", "nope"]);
    assert_eq!(run.stderr, "forage: error: `PATH`: nope does not exist\n");
}

#[test]
fn fr_ls_01_search_by_all_its_names() {
    let project = project();
    let printed = project.run(&["grep", "needles"]).stdout;
    let answered = project.run(&["call", "search", "{\"pattern\": \"needles\"}"]).stdout;
    assert!(printed.contains("src/lib.rs:") && answered.contains("src/lib.rs:2:"), "{printed}{answered}");
    for name in ["Search", "rg", "ripgrep", "ugrep", "ug"] {
        assert_eq!(project.run(&[name, "needles"]).stdout, printed, "{name}");
        assert_eq!(project.run(&["call", name, "{\"pattern\": \"needles\"}"]).stdout, answered, "{name}");
        let help = project.run(&["--help"]).stdout;
        let advertised =
            |line: &str| line.starts_with(&format!("  {name} ")) || line.contains(&format!("alias: {name}"));
        assert!(!help.lines().any(advertised), "{name} is advertised");
    }
    // If the configuration enables the tool, it is advertised under its only name.
    let names = || {
        let tools = project.run(&["tools", "--format", "mcp"]).json();
        let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(), ["search_index", "grep_search", "keyword_search", "list_directory", "read_file"]);
    project.configure("[tools.search]\nenabled = true\n");
    assert_eq!(
        names(),
        ["search_index", "grep_search", "keyword_search", "list_directory", "read_file", "Search"]
    );
}

/// The directory of this path is too broad for a root, but that is not the user's mistake.
#[test]
fn a_missing_path_in_the_home_directory_does_not_exist() {
    let project = project();
    let missing = project.home.join("missing").display().to_string();
    for arguments in [&["grep", "needle", &missing][..], &["read", &missing], &["why", &missing]] {
        let run = project.run(arguments);
        assert!(run.status == 2 && run.stderr.contains("missing does not exist"), "{run:?}");
        assert!(!run.stderr.contains("too broad"), "{run:?}");
    }
    std::fs::write(project.home.join("there"), "needle\n").unwrap();
    let there = project.home.join("there").display().to_string();
    assert!(project.run(&["grep", "needle", &there]).stderr.contains("too broad"), "no control");
}

#[test]
fn a_named_model_without_a_key_names_the_variable() {
    let project = project();
    for arguments in [
        &["keyword", "--model", "groq/some-model", "where", "needle"][..],
        &["ask", "--model", "groq/some-model", "where"],
    ] {
        let run = project.run(arguments);
        assert!(run.status == 2 && run.stderr.contains("GROQ_API_KEY is not set"), "{run:?}");
        assert!(run.stderr.contains("no configured model can"), "{run:?}");
        assert!(
            !run.stderr.contains("no model is configured") && !run.stderr.contains("Looked for"),
            "{run:?}"
        );
    }
}

#[test]
fn why_says_how_to_search_an_excluded_file() {
    let project = project();
    project.configure("[search]\nexclude = [\"src\"]\n");
    project.write(".git/description", "needle\n");
    for (path, remedy) in [
        ("src/lib.rs", "Change `search.exclude`, or name its path."),
        (".git/description", "`forage grep` searches it if you name its path."),
    ] {
        let run = project.run(&["why", path]);
        assert!(run.status == 1 && run.stdout.contains(remedy), "{run:?}");
        // The remedy works.
        assert_eq!(project.run(&["grep", "needle", path]).status, 0, "{path}");
    }
}
