//! The differences between `forage grep` and ripgrep that docs/ripgrep.md lists. Each has one test.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Project, Run};

fn ripgrep(project: &Project, arguments: &[&str]) -> Run {
    let mut command = Command::new(forage_fuzz::peers::program("rg"));
    command.args(["--sort", "path"]).args(arguments).current_dir(&project.root).stdin(Stdio::null());
    Run::from_output(command.env("HOME", &project.home).output().unwrap())
}

/// Runs both programs, ours first.
fn both(project: &Project, arguments: &[&str]) -> [Run; 2] {
    [project.run(&[&["grep"], arguments].concat()), ripgrep(project, arguments)]
}

fn project() -> Project {
    Project::new(&[("a.txt", "needle\n"), ("src/b.txt", "1\nneedle\n3\n4\n")])
}

const ALL: &str = "a.txt\nsrc/b.txt\n";

#[test]
fn a_file_with_a_nul_byte_is_left_out() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("n.bin", &format!("needle\n{}\0", " ".repeat(100_000)));
    let [ours, theirs] = both(&project, &["-l", "needle"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout), (ALL, "a.txt\nn.bin\nsrc/b.txt\n".to_owned()));
    // A search without matches says why.
    let [ours, theirs] = both(&project, &["-l", "needle", "-g", "*.bin"]);
    assert_eq!((ours.status, theirs.status), (1, 0));
    assert!(ours.stderr.contains("binary files were not searched; -a searches them"), "{ours:?}");
    project.write("o.bin", "a\0needle\n");
    for arguments in [
        &["-a", "-l", "needle"][..],
        &["--binary", "-c", "needle"],
        &["-c", "needle", "n.bin"],
        &["--binary", "-C1", "needle"],
        &["--binary", "--heading", "needle"],
        &["--binary", "-n", "needle", "o.bin", "a.txt"],
    ] {
        let [ours, theirs] = both(&project, arguments);
        assert_eq!((ours.status, ours.stdout), (theirs.status, theirs.stdout), "{arguments:?}");
    }
}

#[test]
fn a_byte_order_mark_overrides_the_named_encoding() {
    forage_fuzz::needs!("rg");
    let project = project();
    std::fs::write(project.root.join("marked.c"), "\u{feff}needle é\n").unwrap();
    let [ours, theirs] = both(&project, &["-E", "latin1", "needle", "marked.c"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), ("needle é\n", "needle Ã©\n"));
}

#[test]
fn files_in_another_encoding_are_decoded() {
    forage_fuzz::needs!("rg");
    let project = project();
    let (text, line) = ("// 查询用户信息\nneedle 如果不存在则返回空值\n", "needle 如果不存在则返回空值\n");
    let (gbk, ..) = encoding_rs::GBK.encode(text);
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [("gbk.c", gbk.to_vec()), ("utf16.c", utf16)] {
        std::fs::write(project.root.join(name), bytes).unwrap();
        for arguments in [&["如果.*值$", name][..], &["-w", "needle", name], &["needle", "-g", name, "-I"]]
        {
            for index in ["auto", "off"] {
                let arguments = [&["grep"], arguments].concat();
                let ours = project.run_in(&project.root, &arguments, &[("FORAGE_INDEX", index)]);
                assert_eq!((ours.status, ours.stdout.as_str()), (0, line), "{arguments:?} {ours:?}");
                assert!(
                    ours.stderr.contains(&format!("{name} is not UTF-8 and was searched as")),
                    "{ours:?}"
                );
            }
        }
        assert_eq!(ripgrep(&project, &["如果.*值$", name]).status, 1, "{name}");
    }
    // With `-E` both give the same output. For UTF-8 they always do.
    std::fs::write(project.root.join("utf8.c"), text).unwrap();
    let cases =
        [&["-E", "gbk", "如果", "gbk.c"][..], &["-E", "utf-16le", "如果", "utf16.c"], &["-c", "", "utf8.c"]];
    let raw = [&["-E", "none", "-c", "needle", "gbk.c"][..], &["-b", "如果", "utf8.c"]];
    for arguments in cases.into_iter().chain(raw) {
        let [ours, theirs] = both(&project, arguments);
        assert_eq!((ours.status, &ours.stdout), (0, &theirs.stdout), "{arguments:?}");
        assert_eq!(ours.stderr, "", "{arguments:?}");
    }
    let wrong = project.run(&["grep", "-E", "klingon", "x"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("not a known encoding"), "{wrong:?}");
}

#[test]
fn notebooks_are_searched_by_their_cells() {
    forage_fuzz::needs!("rg");
    let project = project();
    let cells = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": ["# A needle\n"]
  },
  {
   "cell_type": "code",
   "outputs": [{"text": ["needle in an output\n"]}],
   "source": [
    "x = \"needle\"\n",
    "y = 'größer \u00e9'"
   ]
  }
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"##;
    project.write("n.ipynb", cells);
    let lines = "n.ipynb:5:# A needle\nn.ipynb:11:x = \"needle\"\n";
    for index in ["auto", "off"] {
        let ours = |arguments: &[&str]| {
            let arguments = [&["grep", "-n"], arguments, &["-g", "*.ipynb"]].concat();
            project.run_in(&project.root, &arguments, &[("FORAGE_INDEX", index)])
        };
        let found = ours(&["needle"]);
        assert_eq!((found.status, found.stdout.as_str(), found.stderr.as_str()), (0, lines, ""));
        assert_eq!(ours(&["-u", "needle", "."]).stdout, lines.replace("n.ipynb", "./n.ipynb"));
        assert_eq!(ours(&["x = \"needle\"$|größer é"]).stdout.lines().count(), 2);
        assert_eq!(ours(&["-c", "needle"]).stdout, "n.ipynb:2\n");
        let found = ours(&["in an output"]);
        let remark = "only the cells of notebooks (1 file) were searched; -a searches their outputs";
        assert!(found.status == 1 && found.stderr.contains(remark), "{found:?}");
    }
    assert_eq!(project.run(&["grep", "-n", "needle", "n.ipynb"]).stdout, lines.replace("n.ipynb:", ""));
    for arguments in [["-a", "-n", "needle"], ["-uuu", "-n", "needle"], ["-E", "none", "needle"]] {
        let [ours, theirs] = both(&project, &[&arguments[..], &["-g", "*.ipynb"]].concat());
        assert_eq!(ours.stdout, theirs.stdout, "{arguments:?}");
        assert!(ours.stdout.contains("in an output"), "{ours:?}");
    }
    // We fall back to ripgrep's output in two cases: if the file can't be parsed, or if one line contains
    // more than a line of a cell.
    let one_line = serde_json::from_str::<Value>(cells).unwrap().to_string();
    for (name, text) in [("one.ipynb", one_line.as_str()), ("cut.ipynb", &cells[..200])] {
        project.write(name, text);
        let [ours, theirs] = both(&project, &["-n", "needle", "-g", name]);
        assert_eq!((ours.status, &ours.stdout), (0, &theirs.stdout), "{name}");
        assert!(ours.stderr.contains(&format!("{name} was searched as JSON: ")), "{ours:?}");
    }
}

#[test]
fn git_directories_are_not_entered() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write(".git/config", "needle\n");
    let [ours, theirs] = both(&project, &["-.", "-l", "needle"]);
    assert_eq!((ours.stdout, theirs.stdout), (ALL.to_owned(), format!(".git/config\n{ALL}")));
}

#[test]
fn secret_files_are_not_opened() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("id_rsa", "needle\n");
    for arguments in [&["-l", "needle"][..], &["-l", "needle", ".", "id_rsa"]] {
        let [ours, theirs] = both(&project, arguments);
        assert!(!ours.stdout.contains("id_rsa") && theirs.stdout.contains("id_rsa"), "{ours:?}");
        assert!(ours.stderr.contains("1 file that may hold secrets"), "{ours:?}");
    }
}

#[test]
fn links_are_followed_within_the_root() {
    forage_fuzz::needs!("rg");
    let (project, other) = (project(), project());
    symlink("src", project.root.join("within")).unwrap();
    symlink(other.root.join("src"), project.root.join("without")).unwrap();
    let [ours, theirs] = both(&project, &["-L", "-l", "needle"]);
    assert_eq!(ours.stdout, format!("{ALL}within/b.txt\n"));
    assert_eq!(theirs.stdout, format!("{ALL}within/b.txt\nwithout/b.txt\n"));
    assert!(ours.stderr.contains("without is a link that leads outside of the root"), "{ours:?}");
}

#[test]
fn ignore_files_above_the_root_are_not_read() {
    forage_fuzz::needs!("rg");
    let project = project();
    let above = project.root.parent().unwrap().join(".ignore");
    std::fs::write(above, "a.txt\n").unwrap();
    std::fs::create_dir_all(project.home.join(".config/git")).unwrap();
    std::fs::write(project.home.join(".config/git/ignore"), "b.txt\n").unwrap();
    let [ours, theirs] = both(&project, &["-l", "needle"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), (ALL, ""));
}

#[test]
fn git_rules_decide_like_git() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write(".gitignore", "{a,b}.txt\n");
    let [ours, theirs] = both(&project, &["-l", "needle"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), (ALL, ""));
    // We interpret ripgrep's own ignore files as ripgrep does.
    project.write(".gitignore", "");
    project.write(".ignore", "{a,b}.txt\n");
    let [ours, theirs] = both(&project, &["-l", "needle"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), ("", ""));
}

#[test]
fn a_huge_ignore_file_has_no_effect() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write(".gitignore", &format!("a.txt\n{}", "no/such/name\n".repeat(6_000)));
    let [ours, theirs] = both(&project, &["-l", "needle"]);
    assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), (ALL, "src/b.txt\n"));
    assert!(ours.stderr.contains(".gitignore is over 65536 bytes"), "{ours:?}");
}

#[test]
fn a_broad_root_is_refused() {
    let project = project();
    let run = project.run(&["grep", "needle", "/"]);
    assert!(run.status == 2 && run.stderr.contains("/ is too broad"), "{run:?}");
}

#[test]
fn look_around_needs_no_flag() {
    forage_fuzz::needs!("rg");
    let project = project();
    let [ours, theirs] = both(&project, &["-l", "need(?=le)"]);
    assert_eq!((ours.status, ours.stdout.as_str()), (0, ALL));
    assert_eq!(theirs.status, 2);
}

/// Other engines have these escapes, but with another meaning than PCRE2.
#[test]
fn escapes_with_another_meaning_are_errors() {
    let project = project();
    for pattern in [r"^\h+$", r"(.)\g1", "(?R)"] {
        let run = project.run(&["grep", "-P", pattern]);
        assert!(run.status == 2 && run.stderr.contains("means something else in PCRE2"), "{run:?}");
    }
}

/// With these options ripgrep prints lines of the previous file.
#[test]
fn context_of_another_file_is_not_printed() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("c.txt", "1\nneedle\n3\n4\n");
    let options = ["-v", "-m", "1", "-A", "1", "-H", "needle"];
    let [ours, theirs] = both(&project, &options);
    let alone =
        ["c.txt", "src/b.txt"].map(|path| ripgrep(&project, &[&options[..], &[path]].concat()).stdout);
    assert_eq!(ours.stdout, alone.join("--\n"));
    assert_ne!(ours.stdout, theirs.stdout);
}

#[test]
fn json_is_printed_whatever_else_is_asked_for() {
    forage_fuzz::needs!("rg");
    let project = project();
    for arguments in [["-c", "--json", "needle"], ["--json", "-c", "needle"]] {
        let run = project.run(&[&["grep"], &arguments[..]].concat());
        let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() == 7 && lines[6]["type"] == "summary", "{run:?}");
    }
    let [theirs, last] =
        [["-c", "--json", "needle"], ["--json", "-c", "needle"]].map(|it| ripgrep(&project, &it));
    assert!(theirs.stdout.contains("summary") && last.stdout == "a.txt:1\nsrc/b.txt:1\n", "{last:?}");
}

/// A file that can't match is not read, and it is counted only with `--stats`.
#[test]
fn the_summary_counts_the_files_that_were_read() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("other.txt", "nothing\n");
    let searches = |run: &Run| -> Value {
        let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
        last["data"]["stats"]["searches"].clone()
    };
    let [ours, theirs] = both(&project, &["--json", "needle"]);
    assert_eq!((searches(&ours), searches(&theirs)), (2.into(), 3.into()));
    let [ours, theirs] = both(&project, &["--json", "--stats", "needle"]);
    assert_eq!((searches(&ours), searches(&theirs)), (3.into(), 3.into()));
}

#[test]
fn ripgreps_configuration_is_not_read() {
    let project = project();
    let configuration = project.home.join("ripgreprc");
    std::fs::write(&configuration, "-i\n").unwrap();
    let variable = ("RIPGREP_CONFIG_PATH", configuration.to_str().unwrap());
    assert_eq!(project.run_in(&project.root, &["grep", "NEEDLE"], &[variable]).status, 1);
}

/// Each row of the page must name a test of this file or of `grep.rs`, and the page must name each test of
/// this file.
#[test]
fn the_page_names_every_test_of_a_difference() {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(manifest.join(path)).unwrap();
    let page = read("../../docs/ripgrep.md");
    let rows = page.lines().skip_while(|line| !line.ends_with("| asserted by |")).skip(2);
    let named: Vec<&str> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|row| row.rsplit('|').nth(1).unwrap().trim().trim_matches('`'))
        .collect();
    let source = read("tests/it/ripgrep.rs");
    let tests =
        source.split("#[test]\nfn ").skip(1).filter_map(|text| text.split_once('(').map(|(name, _)| name));
    let tests: Vec<&str> = tests.filter(|name| !name.starts_with("the_page_names")).collect();
    assert!(tests.len() > 10);
    assert_eq!(named, tests, "the rows of docs/ripgrep.md are the tests, in their order");
}
