//! How output looks to a person at a terminal. Programs that read the output see no difference.
#![cfg(unix)]

use serde_json::Value;

use crate::Project;
use crate::ask_terminal::on_a_terminal_with;
use crate::support::{line_with, stable};

const XTERM: (&str, &str) = ("TERM", "xterm-256color");

fn project() -> Project {
    Project::new(&[("src/a b.rs", "fn one() {}\nfn needle_one() {}\n"), ("src/c.rs", "// needle\n")])
}

/// Removes colours and links from a text.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = match part.starts_with('[') {
            true => part.find('m').unwrap() + 1,
            false => part.find(['\\', '\x1b']).map_or(part.len(), |at| at + 1),
        };
        plain.push_str(&part[end..]);
    }
    plain
}

#[test]
fn a_person_is_told_what_other_readings_find() {
    forage_fuzz::needs!("python3");
    let project = project();
    let arguments = ["grep", "NEEDLE_ONE"];
    let (status, shown) = on_a_terminal_with(&project, &arguments, &[XTERM]);
    let note = "forage: found in another case or spelling: 1 line in 1 file, such as src/a b.rs:2; spelled \
                `needle_one` (1)";
    assert_eq!((status, line_with(&plain(&shown), "forage: ")), (1, note));
    assert_eq!(project.run(&arguments).stderr, "");
}

#[test]
fn colours_are_for_terminals_and_change_nothing_else() {
    forage_fuzz::needs!("python3");
    let project = project();
    let all: [&[&str]; 8] = [
        &["grep", "needle", "--heading", "-n"],
        &["grep", "needle", "--no-heading", "-n"],
        &["grep", "-c", "needle"],
        &["grep", "--uses", "needle_one"],
        &["grep", "-Z", "1", "needle"],
        &["keyword", "--filter", "lexical", "q", "needle"],
        &["list", "--symbols"],
        &["read", "src/c.rs"],
    ];
    // On a terminal there are headings and line numbers.
    let (_, shown) = on_a_terminal_with(&project, &["grep", "needle"], &[XTERM]);
    assert!(plain(&shown).contains(&project.run(all[0]).stdout), "{shown}");
    assert_eq!(
        project.run(&["grep", "needle"]).stdout,
        "src/a b.rs:fn needle_one() {}\nsrc/c.rs:// needle\n"
    );
    for arguments in all {
        let piped = project.run(arguments);
        assert!(!piped.stdout.contains('\x1b'), "{arguments:?}");
        let (status, shown) = on_a_terminal_with(&project, arguments, &[XTERM]);
        assert_eq!(status, piped.status, "{arguments:?}");
        assert!(shown.contains('\x1b'), "{arguments:?}: {shown}");
        assert!(plain(&shown).contains(&piped.stdout), "{arguments:?}: {shown}");
        let forced = project.run_in(&project.root, arguments, &[("CLICOLOR_FORCE", "1")]);
        assert_eq!(plain(&forced.stdout), piped.stdout, "{arguments:?}");
        for off in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            let (_, shown) = on_a_terminal_with(&project, arguments, &[XTERM, off]);
            assert!(!shown.contains('\x1b'), "{arguments:?} {off:?}: {shown}");
        }
        let (_, shown) = on_a_terminal_with(&project, &[arguments, &["--color", "never"]].concat(), &[XTERM]);
        assert!(!shown.contains('\x1b'), "{arguments:?}: {shown}");
    }
    let (_, shown) = on_a_terminal_with(&project, &["grep", "needle_one"], &[XTERM]);
    assert_eq!(
        line_with(&shown, "fn "),
        "\x1b[0m\x1b[32m2\x1b[0m:fn \x1b[0m\x1b[1m\x1b[31mneedle_one\x1b[0m() {}"
    );
    let (_, shown) = on_a_terminal_with(&project, &["grep", "--no-heading", "needle_one"], &[XTERM]);
    assert_eq!(
        line_with(&shown, "fn "),
        "\x1b[0m\x1b[35msrc/a b.rs\x1b[0m:\x1b[0m\x1b[32m2\x1b[0m:\
         fn \x1b[0m\x1b[1m\x1b[31mneedle_one\x1b[0m() {}"
    );
}

#[test]
fn errors_are_red_on_a_terminal() {
    forage_fuzz::needs!("python3");
    let project = project();
    for arguments in
        [&["grep", "("][..], &["grep", "needle", "nowhere"], &["read", "nowhere"], &["grep", "--nonsense"]]
    {
        let piped = project.run(arguments).stderr;
        let red = piped.replacen("forage: error: ", "forage: \x1b[1m\x1b[31merror:\x1b[0m ", 1);
        assert_eq!(on_a_terminal_with(&project, arguments, &[XTERM]).1, red, "{arguments:?}");
        let (_, shown) = on_a_terminal_with(&project, arguments, &[XTERM, ("NO_COLOR", "1")]);
        assert_eq!(shown, piped, "{arguments:?}");
        assert!(!piped.contains('\x1b'), "{arguments:?}");
    }
}

#[test]
fn paths_lead_to_files_where_that_is_wanted() {
    let project = project();
    let root = project.root.display();
    let run = project.run(&["grep", "needle_one", "--color", "always", "--hyperlinks", "vscode"]);
    assert_eq!(
        run.stdout,
        format!(
            "\x1b]8;;vscode://file{root}/src/a%20b.rs:1:4\x1b\\\x1b[0m\x1b[35msrc/a b.rs\x1b[0m\x1b]8;;\x1b\\:\
             fn \x1b[0m\x1b[1m\x1b[31mneedle_one\x1b[0m() {{}}\n"
        )
    );
    let run = project.run(&["grep", "needle_one", "--hyperlinks", "vscode"]);
    assert!(!run.stdout.contains('\x1b'), "no links into a pipe: {run:?}");
    let run = project.run(&["grep", "x", "--hyperlinks", "nonsense"]);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn no_command_prints_commands_and_examples() {
    let project = project();
    insta::assert_snapshot!(project.run(&[]).shown());
    project.configure("nonsense = 1\n");
    let run = project.run(&[]);
    assert_eq!(
        (run.status, line_with(&run.stdout, "broken")),
        (0, "Something is broken; `forage doctor` says more:")
    );
    assert_eq!(
        stable(line_with(&run.stdout, "nonsense")),
        "  TMP/home/.config/forage/config.toml:1: unknown key `nonsense`; `forage config --all` shows all keys"
    );
}

#[test]
fn a_tip_names_commands_as_the_help_does() {
    insta::assert_snapshot!(project().run(&["serach", "x"]).shown());
}

#[test]
fn quiet_has_no_remarks_and_verbose_a_line_for_each_call() {
    let project = project();
    project.write(".env", "needle = 1\n");
    let run = project.run(&["grep", "-.", "needle"]);
    assert_eq!(run.stdout, "src/a b.rs:fn needle_one() {}\nsrc/c.rs:// needle\n");
    assert_eq!(run.stderr, "forage: not opened: 1 file that may hold secrets\n");
    // For grep this means to print nothing, as in ripgrep.
    let run = project.run(&["grep", "-.", "needle", "-q"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let run = project.run(&["grep", "needle", "--verbose"]);
    insta::assert_snapshot!("verbose", stable(&run.stderr));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grep_search","arguments":{"pattern":"needle"}}}"#;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let run = project.run_fed(&["mcp", "--verbose"], format!("{hello}\n{ready}\n{call}\n").as_bytes());
    insta::assert_snapshot!("verbose_server", stable(line_with(&run.stderr, "tool=")));
}

/// A configuration that the user named must exist, however it was named.
#[test]
fn a_configuration_that_the_environment_names_has_to_be_there() {
    let project = project();
    let run = project.run_in(&project.root, &["list"], &[("FORAGE_CONFIG", "/no/such/file")]);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn an_error_is_one_line_of_json_with_a_code() {
    let project = project();
    let cases: [(&[&str], &str); 4] = [
        (&["grep", "("], "pattern"),
        (&["read", "no/such/file"], "path"),
        (&["call", "no_such_tool"], "unknown_tool"),
        (&["grep", "--nonsense", "x"], "usage"),
    ];
    for (arguments, code) in cases {
        let run = project.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (document["type"].as_str(), document["code"].as_str()),
            (Some("error"), Some(code)),
            "{run:?}"
        );
    }
    assert_eq!(project.run(&["grep", "--uses", "needle", "--json"]).stdout.lines().count(), 1);
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let project = project();
    let commands = project.run(&["man", "--list"]).stdout;
    assert!(commands.lines().count() > 20 && !commands.contains("help"), "{commands}");
    for command in commands.lines() {
        let page = project.run(&["man", command]).stdout;
        assert!(
            page.contains(&format!(".TH forage-{command} 1"))
                && (command == "hook" || page.contains(".SH EXAMPLES")),
            "{command}"
        );
    }
    assert_eq!(line_with(&project.run(&["man"]).stdout, "forage\\-grep"), "forage\\-grep(1)");
    assert_eq!(project.run(&["man", "nonsense"]).status, 2);
}

/// P7: on a terminal a person reads the output of `forage grep`, but from a pipe a program does.
#[test]
fn names_like_lines_of_an_answer_are_quoted_on_a_terminal_alone() {
    forage_fuzz::needs!("python3");
    let names = ["[searched 9,999 files]", "Found 3 matches", "src/c.rs:9: fn fake()"];
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (*name, "needle\n")).chain([("a b.rs", "needle\n")]).collect();
    let project = Project::new(&files);
    let mut answers = String::new();
    for arguments in [
        &["grep", "needle"][..],
        &["grep", "-l", "needle"],
        &["grep", "--no-heading", "needle"],
        &["grep", "--files"],
    ] {
        let piped = project.run(arguments).stdout;
        let (_, shown) = on_a_terminal_with(&project, arguments, &[XTERM]);
        let shown = plain(&shown);
        answers += &format!("$ forage {}\n{piped}on a terminal:\n{shown}\n", arguments.join(" "));
    }
    insta::assert_snapshot!(answers);
    // NUL-terminated output is meant for `xargs`.
    let arguments = ["grep", "-l", "--null", "needle"];
    let (_, shown) = on_a_terminal_with(&project, &arguments, &[XTERM]);
    assert_eq!(plain(&shown), project.run(&arguments).stdout);
}
