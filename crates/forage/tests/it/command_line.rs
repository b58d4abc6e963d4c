//! Arguments, exit status, output.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Project;

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
        (&["read", "src/main.rs", "-s", "99"], 0),
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

#[test]
fn grep_prints_groups_with_totals() {
    let run = project().run(&["grep", "needle", "-C", "1", "-m", "10"]);
    insta::assert_snapshot!(run.stdout, @r"
    Found 5 matches in 3 files:

    README.md:
      1: A needle.
      2- line 2
      ---
      6- line 6
      7: another needle

    src/lib.rs:
      1: pub fn needle() {}
      2: // Needle, needles

    src/main.rs:
      1- fn main() {
      2:     needle();
      3- }

    [searched 3 files; not searched: 1 ignored, 1 hidden, 1 pruned]
    ");
}

#[test]
fn a_search_without_hits_says_what_it_has_not_seen() {
    let project = project();
    project.write("target/deep.log", "only here\nonly here\n");
    let run = project.run(&["grep", "only here"]);
    insta::assert_snapshot!(run.stdout, @r"
    No matches found for `only here`. But there are matches in files that are not searched by default (set include_ignored to search them):
    - 2 matching lines in 1 file hidden by `target` in .gitignore, such as target/deep.log

    [searched 3 files; not searched: 1 ignored, 1 hidden, 1 pruned]
    ");
    let run = project.run(&["grep", "only here", "-u", "--json"]);
    assert_eq!(run.json()["match_count"], 2);
}

#[test]
fn list_draws_a_tree() {
    let run = project().run(&["list", "-r"]);
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
    let run = project.run(&["read", "README.md", "-s", "2", "-e", "3"]);
    assert_eq!(run.stdout, "     2\tline 2\n     3\tline 3\n\n[lines 2 to 3 of 7 lines]\n");
    let text: String = (1..=5_000).map(|n| format!("line number {n}\n")).collect();
    project.write("long.txt", &text);
    let run = project.run(&["read", "long.txt"]);
    let note = run.stdout.lines().last().unwrap();
    assert!(
        note.starts_with("[lines 1 to ")
            && note.contains("of 5,000 lines; to go on: `forage read long.txt --start-line "),
        "{note}"
    );
    assert!(run.stdout.len() <= 40_000);
}

#[test]
fn a_path_outside_of_the_project_is_its_own_project_for_a_person_but_not_for_an_agent() {
    let (here, there) = (project(), Project::new(&[("a.txt", "needle elsewhere\n")]));
    let path = there.root.display().to_string();
    let run = here.run(&["grep", "needle", &path]);
    assert!(run.status == 0 && run.stdout.contains("needle elsewhere"), "{run:?}");
    let run = here.run(&["call", "grep_search", &format!("{{\"pattern\": \"needle\", \"path\": {path:?}}}")]);
    assert!(run.status == 2 && run.stderr.contains("leads outside of the root"), "{run:?}");
}

#[test]
fn paths_are_relative_to_the_working_directory_and_the_root_stays_the_projects() {
    let project = project();
    let run = project.run_in(&project.root.join("src"), &["grep", "needle", "main.rs"], &[]);
    assert!(run.status == 0 && run.stdout.contains("src/main.rs:"), "{run:?}");
    let run = project.run_in(&project.root.join("src"), &["read", "../README.md"], &[]);
    assert!(run.status == 0 && run.stdout.contains("A needle."), "{run:?}");
    // A concept is looked for in the whole repository, wherever one stands in it.
    let run = project.run_in(
        &project.root.join("src"),
        &["keyword", "--filter", "lexical", "q", "another needle"],
        &[],
    );
    assert!(run.status == 0 && run.stdout.contains("README.md: matches"), "{run:?}");
}

/// REQ-KWS-002. The control is the same place in a repository, where the file beside it is found, too.
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

/// The lines of `forage search --all` are those of `rg --sort path`.
#[test]
fn everything_at_once_equals_ripgrep() {
    let project = project();
    for flags in [
        &["-s", "needle"][..],
        &["-i", "-w", "needle"],
        &["-s", "-C1", "needle"],
        &["-F", "needle()"],
        &["-s", "-w", "-F", "needle"],
    ] {
        let ours = project.run(&[&["search", "--all"], flags].concat());
        let output = Command::new(std::env::var_os("FORAGE_TEST_RG").unwrap_or_else(|| "rg".into()))
            .args(["--no-config", "--sort", "path", "-n", "--with-filename"])
            .args(flags)
            .current_dir(&project.root)
            .stdin(Stdio::null())
            .output()
            .expect("ripgrep is needed by this test (see CONTRIBUTING.md)");
        assert_eq!(ours.stdout, String::from_utf8(output.stdout).unwrap(), "{flags:?}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let project = project();
    project.write("many.txt", &"needle\n".repeat(200_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_forage"))
        .args(["search", "--all", "needle"])
        .current_dir(&project.root)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked") && !errors.contains("error:"), "{errors}");
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
    // From the home directory, which is no root itself.
    std::fs::create_dir_all(project.home.join("sub/.git")).unwrap();
    std::fs::write(project.home.join("sub/a.txt"), "needle at home\n").unwrap();
    let run = project.run_in(&project.home, &["grep", "needle", "sub"], &[]);
    assert!(run.status == 0 && run.stdout.contains("needle at home"), "{run:?}");
    // A root elsewhere, without a path.
    let run = project.run_in(&project.home, &["grep", "needle", "--root", &path], &[]);
    assert!(run.status == 0 && run.stdout.contains("src/main.rs:"), "{run:?}");
    let run = project.run_in(&project.home, &["list", "src", "--root", &path], &[]);
    assert!(run.status == 0 && run.stdout.contains("main.rs (3 lines)"), "{run:?}");
    // Through a link of the person's own; a repository's link out stays closed.
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
fn a_page_says_that_it_continues_and_a_glob_that_fits_nothing_says_so() {
    let project = project();
    let run = project.run(&["grep", "needle", "-m", "2", "--json", "-C", "0"]);
    let cursor = run.json()["next_cursor"].as_str().unwrap().to_owned();
    let run = project.run(&["grep", "needle", "-m", "2", "--cursor", &cursor, "-C", "0"]);
    assert!(run.stdout.starts_with("Found 3 further matches in 2 files (showing 2):"), "{run:?}");
    let run = project.run(&["grep", "needle", "-g", "*.nothing"]);
    assert!(run.status == 1 && run.stdout.contains("No file fits file_pattern."), "{run:?}");
    project.write("app/[id]/lib/x.ts", "needle in brackets\n");
    let run = project.run(&["grep", "needle", "app/[id]", "-g", "lib/*.ts"]);
    assert!(run.status == 0 && run.stdout.contains("needle in brackets"), "{run:?}");
}

#[test]
fn an_error_is_said_once() {
    let run = project().run(&["read", "nope"]);
    assert_eq!(run.stderr, "forage: error: `path`: nope does not exist\n");
}

#[test]
fn fr_ls_01_search_by_all_its_names() {
    let project = project();
    let expected = project.run(&["search", "needles"]).stdout;
    assert!(expected.contains("src/lib.rs:2:"), "{expected}");
    for name in ["Search", "rg", "ripgrep", "ugrep", "ug"] {
        assert_eq!(project.run(&[name, "needles"]).stdout, expected, "{name}");
        assert_eq!(project.run(&["call", name, "{\"pattern\": \"needles\"}"]).stdout, expected, "{name}");
        let help = project.run(&["--help"]).stdout;
        let advertised =
            |line: &str| line.starts_with(&format!("  {name} ")) || line.contains(&format!("alias: {name}"));
        assert!(!help.lines().any(advertised), "{name} is advertised");
    }
    // Agents are told of it, by its one name, where the configuration says so.
    let names = || {
        let tools = project.run(&["tools", "--format", "mcp"]).json();
        let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(), ["keyword_search", "grep_search", "search_index", "list_directory", "read_file"]);
    project.configure("[tools.search]\nenabled = true\n");
    assert_eq!(
        names(),
        ["keyword_search", "grep_search", "search_index", "list_directory", "read_file", "Search"]
    );
}

#[test]
fn nfr_ls_perf_01_records_come_as_lines_of_json() {
    let project = project();
    let run = project.run(&["search", "--json", "-C", "1", "-m", "4", "needle"]);
    let records: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, records) = records.split_last().unwrap();
    let whole = project.run(&[
        "call",
        "Search",
        "--json",
        "{\"pattern\": \"needle\", \"context\": 1, \"max_results\": 4}",
    ]);
    assert_eq!(serde_json::json!(records), whole.json()["matches"]);
    assert_eq!((records.len(), &summary["type"], run.status), (4, &serde_json::json!("summary"), 0));
    for field in ["count", "truncated", "timed_out", "skipped", "next_cursor", "engine"] {
        assert_eq!(summary["data"][field], whole.json()[field], "{field}");
    }
    // An error is a line too, and nothing found is a summary alone.
    let run = project.run(&["search", "--json", "("]);
    assert!(run.status == 2 && run.stdout.lines().count() == 1 && run.json()["error"].is_string(), "{run:?}");
    let run = project.run(&["search", "--json", "absent_from_everything"]);
    assert!(run.status == 1 && run.json()["data"]["count"] == 0, "{run:?}");
}

#[test]
fn search_refuses_with_the_correction() {
    let project = project();
    for (arguments, expected) in [
        (&["search"][..], "required"),
        (&["search", ""], "empty"),
        (&["search", "a\\nb"], "across lines"),
        (&["search", "-Z", "2", "ab"], "shortest text"),
        (&["search", "--best-first", "needle"], "--fuzzy"),
        (&["search", "--all", "-m", "3", "needle"], "cannot be used with"),
        (&["search", "--case", "loud", "needle"], "smart"),
        (&["search", "--engine", "ag", "needle"], "embedded"),
        (&["search", "--cursor", "1.2.3", "needle"], "malformed"),
        (&["search", "needle", "no/such/path"], "no/such/path"),
        (&["search", "--engine", "ugrep", "needle"], "`ugrep` was not found"),
    ] {
        let run = project.run(arguments);
        assert!(run.status == 2 && run.stderr.contains(expected), "{arguments:?}: {run:?}");
    }
}

/// Standard input is searched as a file is.
#[test]
fn grep_reads_standard_input() {
    let project = Project::new(&[("a.txt", "needle in a file\n")]);
    let text: String = (1..=30_000)
        .map(|nth| format!("line {nth}{}\n", if nth % 1_000 == 0 { " needle" } else { "" }))
        .collect();
    let grep = |arguments: &[&str], input: &[u8]| project.run_fed(&[&["grep"], arguments].concat(), input);
    let run = grep(&["needle", "-", "-C", "1"], text.as_bytes());
    assert!(
        run.status == 0 && run.stdout.starts_with("Found 30 matches in 1 file:\n\n<stdin>:\n"),
        "{run:?}"
    );
    assert!(
        run.stdout.contains("\n  999- line 999\n  1000: line 1000 needle\n  1001- line 1001\n"),
        "{run:?}"
    );
    assert!(!run.stdout.contains("in a file"), "{run:?}");
    let run = grep(&["-c", "needle", "-"], text.as_bytes());
    assert!(run.stdout.contains("<stdin>: 30\n"), "{run:?}");
    let run = grep(&["-l", "needle", "-"], text.as_bytes());
    assert!(run.stdout.contains("<stdin>\n"), "{run:?}");
    let run = grep(&["-c", "-v", "needle", "-"], text.as_bytes());
    assert!(run.stdout.contains("<stdin>: 29970\n"), "{run:?}");
    // More than is shown is told of, and that no cursor leads to it.
    let run = grep(&["needle", "-", "-m", "10", "--json"], text.as_bytes());
    let found = run.json();
    assert_eq!(
        (&found["match_count"], &found["totals_exact"], &found["truncated"]),
        (&json!(11), &json!(false), &json!(true))
    );
    assert_eq!(
        (
            &found["next_cursor"],
            found["files"][0]["lines"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|line| line["type"] == "match")
                .count()
        ),
        (&Value::Null, 10)
    );
    // Nothing, and what can't be searched.
    let run = grep(&["absent", "-"], text.as_bytes());
    assert!(
        run.status == 1 && run.stdout.starts_with("No matches found for `absent` in <stdin>."),
        "{run:?}"
    );
    let run = grep(&["needle", "-"], b"needle\0\0needle\n");
    assert!(run.status == 1 && run.stdout.contains("1 binary"), "{run:?}");
    let run = grep(&["needle", "-"], b"");
    assert!(run.status == 1, "{run:?}");
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("one needle\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert!(grep(&["needle", "-"], &utf16).stdout.contains("1: one needle"));
    for (arguments, problem) in [
        (&["needle", "-", "a.txt"][..], "searched alone"),
        (&["--uses", "needle", "-"], "`output`"),
        (&["-g", "*.rs", "needle", "-"], "`file_pattern`"),
        (&["(", "-"], "`pattern`"),
    ] {
        let run = grep(arguments, b"needle\n");
        assert!(run.status == 2 && run.stderr.contains(problem), "{arguments:?}: {run:?}");
    }
}
