//! The sandbox: which operations the kernel refuses even without any check in Forage, and that Forage works
//! inside it.
//!
//! A restriction applies to a thread and to everything that it starts. So each test must move a thread of its
//! own into the sandbox.
#![expect(
    clippy::disallowed_macros,
    reason = "prints a note, because less is tested on a machine without a sandbox"
)]

pub(crate) mod commands;

use std::path::Path;

use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_sandbox::{Access, Level, probe, restrict};
use forage_tools::{EngineSetting, Program, Workspace, registry};
use serde_json::json;

use crate::Project;

fn access(root: &Path) -> Access {
    let mut access = Access::minimal();
    access.read.push(root.to_owned());
    access
}

/// Runs `work` inside the sandbox. If the kernel does not support one, this prints a note and does not run
/// `work`.
fn in_sandbox<T: Send + 'static>(access: Access, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    std::thread::spawn(move || match restrict(&access) {
        Level::None { reason } => {
            assert!(cfg!(not(target_os = "linux")) || reason.contains("Landlock"), "{reason}");
            eprintln!("there is no sandbox here, so only its absence is tested: {reason}");
            None
        }
        level => {
            eprintln!("sandbox: {level}");
            Some(work())
        }
    })
    .join()
    .unwrap()
}

#[test]
fn sandbox_allows_reading_a_root_only() {
    let project = Project::new(&[("inside.txt", "inside\n")]);
    let secret = project.home.join("secret.txt");
    std::fs::write(&secret, "outside\n").unwrap();
    std::os::unix::fs::symlink(&secret, project.root.join("link.txt")).unwrap();
    let inside = project.root.join("inside.txt");
    // Positive control: without the sandbox everything succeeds.
    for path in [&inside, &secret, &project.root.join("link.txt")] {
        std::fs::read(path).unwrap();
    }
    std::fs::write(project.root.join("new.txt"), "x").unwrap();
    std::fs::remove_file(project.root.join("new.txt")).unwrap();
    let root = project.root.clone();
    in_sandbox(access(&project.root), move || {
        let denied = |result: std::io::Result<()>, what: &str| {
            let kind = result.expect_err(what).kind();
            assert_eq!(kind, std::io::ErrorKind::PermissionDenied, "{what}");
        };
        assert_eq!(std::fs::read(&inside).unwrap(), b"inside\n");
        assert!(std::fs::read_dir(&root).unwrap().count() >= 2);
        denied(std::fs::read(&secret).map(drop), "a file outside");
        denied(std::fs::read(root.join("link.txt")).map(drop), "a link that leads out");
        denied(std::fs::read("/etc/passwd").map(drop), "a file of the system");
        denied(std::fs::read_dir(root.parent().unwrap()).map(drop), "the directory above");
        denied(std::fs::write(root.join("new.txt"), "x"), "a new file in the root");
        denied(std::fs::write(&inside, "x"), "a file of the root");
        denied(std::fs::remove_file(&inside), "removing");
        denied(std::fs::create_dir(root.join("new")), "a new directory");
        denied(std::fs::rename(&inside, root.join("moved")), "moving");
        let shell = std::process::Command::new("/bin/sh").arg("-c").arg("true").status();
        denied(shell.map(drop), "a program");
    });
    assert_eq!(std::fs::read(project.root.join("inside.txt")).unwrap(), b"inside\n");
}

#[test]
fn sandbox_covers_processes_and_threads() {
    let project = Project::new(&[("inside.txt", "inside\n")]);
    let secret = project.home.join("secret.txt");
    std::fs::write(&secret, "outside\n").unwrap();
    let cat = ["/usr/bin/cat", "/bin/cat"].into_iter().find(|cat| Path::new(cat).exists()).unwrap();
    let show = move |path: &Path| std::process::Command::new(cat).arg(path).output().unwrap();
    assert_eq!(show(&secret).stdout, b"outside\n", "the control");
    let mut access = access(&project.root);
    access.allow_program(Path::new(cat));
    let inside = project.root.join("inside.txt");
    in_sandbox(access, move || {
        assert_eq!(show(&inside).stdout, b"inside\n");
        let denied = show(&secret);
        assert!(denied.stdout.is_empty() && !denied.status.success(), "{denied:?}");
        let in_thread = std::thread::spawn(move || std::fs::read(&secret)).join().unwrap();
        assert_eq!(in_thread.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    });
}

#[test]
fn sandbox_does_not_change_answers() {
    forage_fuzz::needs!("rg", "ugrep");
    let project =
        Project::new(&[("src/a.rs", "fn needle() {}\n"), ("b.txt", "needle\n"), (".gitignore", "c.txt\n")]);
    let calls = [
        ("grep_search", json!({ "pattern": "needle" })),
        ("list_directory", json!({})),
        ("read_file", json!({ "path": "src/a.rs" })),
        ("Search", json!({ "pattern": "needle" })),
    ];
    let answers = move |root: &Path, engine: EngineSetting| -> Vec<String> {
        let policy = RootPolicy { home: None, allow_broad: true };
        let root = Root::open(root, &policy, SecretPolicy::standard(&[])).unwrap();
        let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
        workspace.search.engine = engine;
        let answer = |(tool, request): &(&str, serde_json::Value)| {
            registry::find(tool).unwrap().call(&workspace.start_call(), request.clone()).unwrap().text
        };
        calls.iter().map(answer).collect()
    };
    let program = |name: &str| Program::resolve(&forage_fuzz::peers::program(name), &[], &[]).unwrap();
    let engines =
        [vec![], vec![program("rg")], vec![program("ugrep")]].map(|programs| match programs.is_empty() {
            true => EngineSetting::Embedded,
            false => EngineSetting::External { programs, missing: Vec::new() },
        });
    for engine in engines {
        let before = answers(&project.root, engine.clone());
        let is_answer = |answer: &String| answer.contains("src/") || answer.contains("needle");
        assert!(before.iter().all(is_answer), "{before:?}");
        let mut access = access(&project.root);
        if let EngineSetting::External { programs, .. } = &engine {
            programs.iter().for_each(|program| access.allow_program(program.path()));
        }
        let (root, answers) = (project.root.clone(), answers.clone());
        if let Some(behind) = in_sandbox(access, move || answers(&root, engine)) {
            assert_eq!(behind, before);
        }
    }
}

#[test]
fn probing_the_sandbox_restricts_no_other_thread() {
    let level = probe();
    let path = std::env::current_exe().unwrap();
    assert!(std::fs::read(path).is_ok(), "{level}");
    assert_eq!(probe(), level);
}

/// A project that depends on a package in Cargo's home, which is outside of the root.
pub(crate) fn dependent() -> Project {
    let lock = "[[package]]\nname = \"http\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let project = Project::new(&[("Cargo.lock", lock), ("src/main.rs", "fn main() {}\n")]);
    let source = project.home.join(".cargo/registry/src/index/http-1.0.0/src");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("lib.rs"), "pub struct HeaderMap;\n").unwrap();
    project
}

#[test]
fn dependencies_are_readable_in_the_sandbox_unless_turned_off() {
    let project = dependent();
    let read = r#"{"path": "dep:http/src/lib.rs", "symbol": "HeaderMap"}"#;
    let search = r#"{"query": "header map", "path": "dep:http"}"#;
    let mut all = String::new();
    for command in [
        &["call", "read_file", read][..],
        &["call", "search_index", search],
        &["read", "dep:http/src/lib.rs", "--outline"],
        &["grep", "HeaderMap", "dep:http"],
        &["files", "lib", "dep:http"],
        &["grep", "--uses", "HeaderMap"],
    ] {
        all += &format!("{}\n{}\n", command.join(" "), project.run(command).shown());
    }
    project.configure("[search]\ndependencies = false\n");
    insta::assert_snapshot!(all + &project.run(&["call", "read_file", read]).shown());
}
