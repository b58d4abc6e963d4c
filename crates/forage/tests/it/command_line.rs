//! Arguments, exit status, output.

use std::path::Path;

use crate::Project;
use crate::eval::git;
use crate::support::{line_with, stable};

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
    let mut errors = String::new();
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
        errors += &run.stderr;
    }
    insta::assert_snapshot!(errors);
}

/// A mistyped revision is an error. Messages name `--path` only if its value is wrong.
#[test]
fn history_errors_have_a_status_and_name_given_options() {
    let project = project();
    let refused = |directory: &Path, arguments: &[&str], expected: &str| {
        let run = project.run_in(directory, arguments, &[]);
        assert_eq!((run.status, stable(&run.stderr)), (2, format!("forage: error: {expected}\n")));
    };
    // `Project::new` creates an empty `.git`.
    std::fs::remove_dir_all(project.root.join(".git")).unwrap();
    refused(&project.root, &["history", "needle"], "TMP/project has no git repository at its top");
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
    let shared = "the object COMMIT is in another repository, because this is a shared clone, and nothing is read \
                  there; `git repack -a -d` copies the objects";
    refused(&clone, &["history", "needle"], shared);
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
    insta::assert_snapshot!(run.stdout.lines().last().unwrap());
    assert!(run.stdout.len() <= 40_000);
}

#[test]
fn outside_path_is_searched_for_people_but_not_for_agents() {
    let (here, there) = (project(), Project::new(&[("a.txt", "needle elsewhere\n")]));
    let path = there.root.display().to_string();
    let run = here.run(&["grep", "needle", &path]);
    assert_eq!((run.status, run.stdout), (0, format!("{path}/a.txt:needle elsewhere\n")));
    let run = here.run(&["call", "grep_search", &format!("{{\"pattern\": \"needle\", \"path\": {path:?}}}")]);
    let error = "forage: error: `path`: TMP/project leads outside of the root; only files beneath TMP/project \
                 can be read\n";
    assert_eq!((run.status, stable(&run.stderr).as_str()), (2, error));
}

#[test]
fn paths_are_relative_to_the_working_directory() {
    let project = project();
    let run = project.run_in(&project.root.join("src"), &["grep", "-H", "needle", "main.rs"], &[]);
    assert!(run.status == 0 && run.stdout == "main.rs:    needle();\n", "{run:?}");
    let run = project.run_in(&project.root.join("src"), &["read", "../README.md"], &[]);
    assert_eq!((run.status, run.stdout.lines().next()), (0, Some("     1\tA needle.")));
    // A concept search covers the whole repository, from any directory inside it.
    let run = project.run_in(
        &project.root.join("src"),
        &["keyword", "--filter", "lexical", "q", "another needle"],
        &[],
    );
    let file = "README.md: matches `another needle` ×1";
    assert_eq!((run.status, line_with(&run.stdout, "README.md")), (0, file));
}

/// REQ-KWS-002. Control: if the same directory is in a repository, the sibling file is found too.
#[test]
fn without_a_repository_the_working_directory_is_searched() {
    let project = Project::new(&[("beside.txt", "a needle_here\n"), ("sub/within.txt", "a needle_here\n")]);
    let sub = project.root.join("sub");
    let search = || -> Vec<String> {
        let arguments = ["keyword", "--filter", "lexical", "where is it", "needle_here", "--json"];
        let found = project.run_in(&sub, &arguments, &[]).json();
        let files = found["files"].as_array().unwrap().iter();
        files.map(|file| stable(file["path"].as_str().unwrap())).collect()
    };
    assert_eq!(search(), ["TMP/project/sub/within.txt", "TMP/project/beside.txt"]);
    std::fs::remove_dir(project.root.join(".git")).unwrap();
    assert_eq!(search(), ["TMP/project/sub/within.txt"]);
}

#[test]
fn the_home_directory_and_the_file_systems_root_are_no_roots() {
    let project = project();
    for root in ["/", project.home.to_str().unwrap()] {
        let run = project.run(&["grep", "needle", "--root", root]);
        let advice = "name the project's directory: run forage inside it, or pass --root DIR; \
                      `allow_broad_root = true` in your configuration allows all";
        let error = format!("forage: error: {root} is too broad for a root; {advice}\n");
        assert_eq!((run.status, run.stderr), (2, error));
    }
    let run = project.run(&["list", "--root", "/proc/self"]);
    let reason = "a kernel file system (proc, sys or dev, or one mounted elsewhere) and can't be a root; name \
                  another directory\n";
    assert_eq!((run.status, run.stderr.split_once(" is on ").unwrap().1), (2, reason));
}

#[test]
fn errors_are_records_too_when_records_are_asked_for() {
    let run = project().run(&["grep", "(", "--json"]);
    assert_eq!(run.status, 2);
    assert_eq!(run.stderr, format!("forage: error: {}\n", run.json()["error"].as_str().unwrap()));
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
    assert_eq!((run.status, run.json()["code"].as_str()), (2, Some("no_model")), "{run:?}");
    project.configure("filter = \"lexical\"\n");
    let run = project.run(&[
        "call",
        "keyword_search",
        "{\"query\": \"q\", \"search_terms\": \"needle\"}",
        "--json",
    ]);
    assert_eq!(run.json()["terms"][0]["fate"], "kept");
    let run = project.run(&["call", "read_file", "{\"file_path\": \"README.md\"}"]);
    let warning = "[warning: arguments interpreted: `file_path` as `path`]";
    assert_eq!((run.status, run.stdout.lines().last()), (0, Some(warning)));
}

#[test]
fn roots_and_paths_that_people_name_work_from_anywhere() {
    let project = project();
    let path = project.root.display().to_string();
    // The home directory itself is not a root.
    std::fs::create_dir_all(project.home.join("sub/.git")).unwrap();
    std::fs::write(project.home.join("sub/a.txt"), "needle at home\n").unwrap();
    let run = project.run_in(&project.home, &["grep", "needle", "sub"], &[]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "sub/a.txt:needle at home\n"));
    let found = project.run(&["grep", "needle"]).stdout;
    // The root is elsewhere, and there is no path.
    assert_eq!(project.run_in(&project.home, &["grep", "needle", "--root", &path], &[]).stdout, found);
    let run = project.run_in(&project.home, &["list", "src", "--root", &path], &[]);
    assert_eq!(run.stdout, "src/\n├── lib.rs (2 lines)\n└── main.rs (3 lines)\n");
    // We follow a link that the user made, but none that leads out of the repository.
    #[cfg(unix)]
    through_a_link(&project, &found);
}

#[cfg(unix)]
fn through_a_link(project: &Project, found: &str) {
    let link = project.home.join("link");
    std::os::unix::fs::symlink(&project.root, &link).unwrap();
    let run = project.run_in(&project.home.join("sub"), &["grep", "needle", link.to_str().unwrap()], &[]);
    let expected: String = found.lines().map(|line| format!("{}/{line}\n", link.display())).collect();
    assert_eq!((run.status, run.stdout), (0, expected));
    std::os::unix::fs::symlink(project.home.join("sub"), project.root.join("out")).unwrap();
    let run = project.run(&["read", "out/a.txt"]);
    let error = "--- stderr\nforage: error: `PATH`: out/a.txt leads outside of the root; only files beneath \
                 TMP/project can be read\n--- status 2\n";
    assert_eq!(run.shown(), error);
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
    assert_eq!(printed, "src/lib.rs:// Needle, needles\n");
    insta::assert_snapshot!(answered);
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
        assert_eq!((run.status, run.stderr), (2, format!("forage: error: {missing} does not exist\n")));
    }
    std::fs::write(project.home.join("there"), "needle\n").unwrap();
    let there = project.home.join("there").display().to_string();
    let control = stable(&project.run(&["grep", "needle", &there]).stderr);
    assert_eq!(control.split_once(" for a root").unwrap().0, "forage: error: TMP/home is too broad");
}

#[test]
fn a_named_model_without_a_key_names_the_variable() {
    let project = project();
    let keyword = project.run(&["keyword", "--model", "groq/some-model", "where", "needle"]);
    let ask = project.run(&["ask", "--model", "groq/some-model", "where"]);
    insta::assert_snapshot!(format!("{}\n{}", keyword.shown(), ask.shown()));
}

#[test]
fn why_says_how_to_search_an_excluded_file() {
    let project = project();
    project.configure("[search]\nexclude = [\"src\"]\n");
    project.write(".git/description", "needle\n");
    for (path, remedy) in [
        ("src/lib.rs", "  Change `search.exclude`, or name its path."),
        (".git/description", "  `forage grep` searches it if you name its path."),
    ] {
        let run = project.run(&["why", path]);
        assert_eq!((run.status, run.stdout.lines().last()), (1, Some(remedy)), "{run:?}");
        // The remedy works.
        assert_eq!(project.run(&["grep", "needle", path]).status, 0, "{path}");
    }
}
