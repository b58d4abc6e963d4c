//! Attacks by a hostile request or repository through an external engine. Each test has a control, in which
//! the attack succeeds because the defense is off.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forage_base::Stop;
use forage_fs::WalkOptions;
use forage_search::external::{ExternalRequest, Program};
use forage_search::{Pattern, PatternOptions, ScanOptions};

use crate::external::{engine, request, run};
use crate::processes::{alone, write_program};
use crate::search::ours;

/// Writes a script that creates a mark file when it runs, and passes on its input.
fn canary(directory: &Path) -> (PathBuf, PathBuf) {
    let (script, mark) = (directory.join("canary.sh"), directory.join("mark"));
    write_program(&script, &format!("echo ran > {}\nexec /bin/cat", mark.display()));
    (script, mark)
}

/// Removes the mark. Returns true if it existed.
fn take_mark(mark: &Path) -> bool {
    fs::remove_file(mark).is_ok()
}

fn by_hand(program: &Path, arguments: &[&str], place: &Path, environment: &[(&str, &Path)]) {
    Command::new(program)
        .args(arguments)
        .current_dir(place)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
}

#[test]
fn hostile_patterns_are_data() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let (script, mark) = canary(directory.path());
    let script = script.display().to_string();
    let patterns: Vec<String> = vec![
        format!("--pre={script}"),
        format!("--filter=*:{script}"),
        format!("--hostname-bin={script}"),
        format!("--pager={script}"),
        format!("--view={script}"),
        "-f/etc/passwd".to_owned(),
        "--file=/etc/passwd".to_owned(),
        "-e".to_owned(),
        "--".to_owned(),
        "-".to_owned(),
        "-z".to_owned(),
        "--config".to_owned(),
        "---".to_owned(),
        "/proc/self/fd/0".to_owned(),
        "$(touch x)`touch x`;touch x".to_owned(),
    ];
    for (index, pattern) in patterns.iter().enumerate() {
        fs::write(root.join(format!("f{index:02}")), format!("other\n{pattern}\n")).unwrap();
    }
    for literal in [true, false] {
        for (index, pattern) in patterns.iter().enumerate() {
            let options = PatternOptions { literal, ..PatternOptions::default() };
            let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
            let compiled = Pattern::new(pattern, &options).unwrap();
            let (embedded, _) = ours(&root, &walk, &compiled, &scan);
            let name = format!("f{index:02}").into_bytes();
            assert!(!literal || embedded.iter().any(|record| record.0 == name), "{pattern}");
            for engine_name in ["rg", "ugrep"] {
                let request = ExternalRequest { pattern, options };
                let (files, _) =
                    run(&engine(engine_name), &request, &root, &walk, &scan, &Stop::never()).unwrap();
                assert_eq!(crate::search::records(&files), embedded, "{engine_name}: {pattern}");
                assert!(!take_mark(&mark), "{engine_name} ran {pattern}");
            }
        }
    }
    // The control: without `-e`, and with the path in place of the pattern, the program runs.
    by_hand(engine("rg").path(), &["-n", &patterns[0], "."], &root, &[]);
    assert!(take_mark(&mark), "rg --pre no longer runs a program: the test shows nothing");
    by_hand(engine("ugrep").path(), &["-r", &format!("{} %", patterns[1]), "other"], &root, &[]);
    assert!(take_mark(&mark), "ugrep --filter no longer runs a program: the test shows nothing");
}

#[test]
fn repository_configuration_is_ignored() {
    forage_fuzz::needs!("ugrep");
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let (script, mark) = canary(directory.path());
    fs::write(root.join(".ugrep"), format!("filter=*:{} %\n", script.display())).unwrap();
    fs::write(root.join("a.txt"), "needle\n").unwrap();
    let ugrep = engine("ugrep");
    let request = request("needle", PatternOptions::default());
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let (files, _) = run(&ugrep, &request, &root, &walk, &scan, &Stop::never()).unwrap();
    assert!(files.len() == 1 && !take_mark(&mark));
    // The control: the same program under its other name.
    by_hand(&ugrep.path().with_file_name("ug"), &["needle", "."], &root, &[]);
    assert!(take_mark(&mark), "ug no longer reads .ugrep: the test shows nothing");
}

#[test]
fn the_environment_does_nothing() {
    forage_fuzz::needs!("rg");
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules");
    let (script, mark) = canary(directory.path());
    fs::write(&rules, format!("--pre={}\n", script.display())).unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "needle\n").unwrap();
    let variables = BTreeMap::from([
        ("RIPGREP_CONFIG_PATH", &rules),
        ("FORAGE_TEST_ROOT", &root),
        ("FORAGE_TEST_MARK", &mark),
    ]);
    let variables: Vec<(&str, &Path)> =
        variables.into_iter().map(|(name, path)| (name, path.as_path())).collect();
    if let (true, Some(root)) =
        (alone("injection::the_environment_does_nothing", &variables), std::env::var_os("FORAGE_TEST_ROOT"))
    {
        let request = request("needle", PatternOptions::default());
        let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
        let (files, _) =
            run(&engine("rg"), &request, Path::new(&root), &walk, &scan, &Stop::never()).unwrap();
        assert_eq!(files.len(), 1);
        return;
    }
    assert!(!take_mark(&mark));
    // The control: a plain run obeys the file.
    by_hand(engine("rg").path(), &["needle", "a.txt"], &root, &[("RIPGREP_CONFIG_PATH", &rules)]);
    assert!(take_mark(&mark), "rg no longer reads RIPGREP_CONFIG_PATH: the test shows nothing");
}

#[test]
fn a_planted_program_is_not_run() {
    forage_fuzz::needs!("rg");
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "needle\n").unwrap();
    let mark = directory.path().join("mark");
    write_program(&root.join("rg"), &format!("echo ran > {}", mark.display()));
    let real = engine("rg").path().parent().unwrap().to_owned();
    let path = [PathBuf::from("."), PathBuf::new(), root.clone(), real];
    let program = Program::resolve(Path::new("rg"), &path, &[&root]).unwrap();
    let request = request("needle", PatternOptions::default());
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let (files, _) = run(&program, &request, &root, &walk, &scan, &Stop::never()).unwrap();
    assert!(files.len() == 1 && !take_mark(&mark));
    // The control: a shell with the same search path runs it.
    by_hand(Path::new("/bin/sh"), &["-c", "rg needle"], &root, &[("PATH", Path::new(".:/usr/bin"))]);
    assert!(take_mark(&mark));
}
