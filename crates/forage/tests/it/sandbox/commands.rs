//! Tests the sandbox from inside, for every command that reads a repository. We load a library into the real
//! program. After the command has done its work, this library attempts forbidden operations. With
//! `sandbox = "off"` the same attempts must succeed.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use forage_sandbox::Level;
use serde_json::json;

use crate::Project;
use crate::peer::{Peer, content, good};

/// Attempts that must fail in every command, each with the first version of Landlock that can refuse it.
const REFUSED: [(&str, i32); 9] = [
    ("environment", 1),
    ("neighbour", 1),
    ("home", 1),
    ("password", 1),
    ("making", 1),
    ("connecting", 4),
    ("listening", 4),
    ("abstract", 6),
    ("signal", 6),
];

/// How long we wait for an attempt.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of a thread that was started outside of the sandbox, to write a file that the user named.
const OUTSIDE: &str = "set";

/// Returns the path of the library, and compiles it once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (made, library) =
            (directory.join(format!("probe-{}.so", std::process::id())), directory.join("probe.so"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sandbox/probe.c");
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(source).output();
        let compiled = compiled.map_err(|error| format!("the tests need `cc`: {error}")).unwrap();
        assert!(compiled.status.success(), "{compiled:?}");
        // Renaming is atomic, so tests in other processes find either the whole library or none.
        std::fs::rename(made, &library).unwrap();
        library
    })
}

/// The result of one attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The name of the thread.
    pub(crate) thread: String,
    pub(crate) what: String,
    /// The error number, or 0 for success.
    pub(crate) error: i32,
}

/// The attempts that the program will make, and their targets.
pub(crate) struct Probe {
    report: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Probe {
    /// Prepares a probe. The file `src/a.rs` of this root must stay accessible.
    pub(crate) fn new(project: &Project, root: &Path) -> Self {
        let home = &project.home;
        std::fs::write(home.join(".config/forage/neighbour.txt"), "not a configuration\n").unwrap();
        std::fs::write(home.join("secret.txt"), "the user's\n").unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Each probe needs a report of its own, since a terminating program may still write to the previous
        // one.
        let report = home.join(format!("probe-report-{}", tcp.local_addr().unwrap().port()));
        let name = format!("forage-probe-{}-{}", std::process::id(), tcp.local_addr().unwrap().port());
        let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let files = [
            ("root", root.join("src/a.rs")),
            ("environment", "/proc/self/environ".into()),
            ("neighbour", home.join(".config/forage/neighbour.txt")),
            ("home", home.join("secret.txt")),
            ("password", "/etc/passwd".into()),
            // This does not exist on every machine, or not for every user.
            ("private", "/etc/ssl/private".into()),
        ];
        let files: Vec<String> =
            files.iter().map(|(name, path): &(_, PathBuf)| format!("{name}={}", path.display())).collect();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = vec![
            ("LD_PRELOAD", text(library())),
            ("PROBE_REPORT", text(&report)),
            ("PROBE_FILES", files.join("\n")),
            // No search visits this directory.
            ("PROBE_MADE", text(&root.join(".git/made-by-the-probe"))),
            ("PROBE_TCP", tcp.local_addr().unwrap().port().to_string()),
            ("PROBE_ABSTRACT", name),
            ("PROBE_PROCESS", std::process::id().to_string()),
            ("PATH", forage_fuzz::peers::path()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ];
        // Close connections immediately because the backlog is short. The threads end with the tests.
        std::thread::spawn(move || tcp.incoming().for_each(drop));
        std::thread::spawn(move || unix.incoming().for_each(drop));
        Self { report, variables }
    }

    pub(crate) fn environment(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// Collects attempts until a thread that `is_theirs` selects has made all of its attempts.
    pub(crate) fn attempts_of(&self, is_theirs: impl Fn(&str) -> bool) -> Vec<Attempt> {
        self.attempts_until(|line| {
            line.split_once(' ').is_some_and(|(thread, rest)| is_theirs(thread) && rest.starts_with("signal"))
        })
    }

    /// Collects attempts until `is_last` accepts a line of the report, `THREAD WHAT ERROR`.
    pub(crate) fn attempts_until(&self, is_last: impl Fn(&str) -> bool) -> Vec<Attempt> {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if text.lines().any(&is_last) {
                return self.attempts();
            }
            assert!(begun.elapsed() < PATIENCE, "it was never tried: {text}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reads the report. The kernel cuts the name of a thread to 15 bytes, so it need not be UTF-8.
    fn text(&self) -> String {
        std::fs::read(&self.report)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Takes the attempts since the previous call.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        let text = self.text();
        // We may truncate the file because the program has it open in append mode.
        std::fs::write(&self.report, "").unwrap();
        let attempt = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [thread, what, error] = fields.try_into().unwrap();
            Attempt { thread: thread.to_owned(), what: what.to_owned(), error: error.parse().unwrap() }
        };
        text.lines().map(attempt).collect()
    }
}

/// Lists the values of `sandbox` that can be tested here, each with the resulting version of Landlock. 0
/// means no sandbox and is the control. With an incomplete sandbox, attempts that it can't refuse must
/// succeed, and we print a note.
#[expect(
    clippy::disallowed_macros,
    reason = "prints a note, because less is tested on a machine without a sandbox"
)]
pub(crate) fn modes() -> Vec<(&'static str, i32)> {
    let level = forage_sandbox::probe();
    if !level.is_full() {
        eprintln!("the sandbox is incomplete here, so only its restrictions are tested: {level}");
    }
    let walled = match level {
        Level::None { .. } => None,
        Level::Partial { abi } | Level::Full { abi } => Some(("auto", abi)),
    };
    [("off", 0)].into_iter().chain(walled).collect()
}

/// Checks the attempts of the threads that `is_theirs` selects. Without the sandbox all must succeed.
/// Otherwise only the root may be accessible, as far as the Landlock version can ensure this.
pub(crate) fn check(attempts: &[Attempt], abi: i32, is_theirs: impl Fn(&str) -> bool, context: &str) {
    let attempts: Vec<_> = attempts.iter().filter(|attempt| is_theirs(&attempt.thread)).collect();
    let of = |what: &str| -> Vec<i32> {
        attempts.iter().filter(|attempt| attempt.what == what).map(|attempt| attempt.error).collect()
    };
    let root = of("root");
    assert!(!root.is_empty() && root.iter().all(|error| *error == 0), "{context}: {attempts:?}");
    for (what, since) in REFUSED {
        let results = of(what);
        // A thread may not have made all attempts if the process ended in the meantime.
        assert!(!results.is_empty(), "{context}: {what}: {attempts:?}");
        // EPERM or EACCES prove that the kernel refused the attempt. Any other error would not.
        let is_as_wanted = |error: &i32| if abi >= since { matches!(error, 1 | 13) } else { *error == 0 };
        assert!(results.iter().all(is_as_wanted), "{context}, Landlock {abi}: {what}: {attempts:?}");
    }
    if abi > 0 {
        assert!(of("private").iter().all(|error| *error != 0), "{context}: {attempts:?}");
    }
}

/// Creates a repository with a short history, and a query set.
fn project() -> (Project, String) {
    let project = Project::new(&[
        ("src/a.rs", "fn open_needle() {}\n"),
        ("src/b.rs", "fn close_needle() { open_needle() }\n"),
    ]);
    let git = |arguments: &[&str]| {
        let run = forage_fuzz::peers::git(&project.root).args(arguments).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    git(&["init", "-q", "."]);
    for change in ["one", "two", "three", "four"] {
        project.write("src/a.rs", &format!("fn open_needle() {{}}\n// {change}\n"));
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", &format!("Open the {change} needle of all the hay")]);
    }
    let set = project.home.join("set.json");
    let query = json!({ "query": "open needle", "relevant": ["src/a.rs"] });
    std::fs::write(&set, json!({ "name": "own", "queries": [query] }).to_string()).unwrap();
    (project, set.to_str().unwrap().to_owned())
}

#[test]
fn every_repository_command_is_sandboxed() {
    forage_fuzz::needs!("rg", "ugrep");
    let (project, set) = project();
    let probe = Probe::new(&project, &project.root);
    let save = project.home.join("saved.json");
    let save = save.to_str().unwrap();
    let call = r#"{"pattern": "needle"}"#;
    let commands: [(&[&str], i32); 27] = [
        (&["list"], 0),
        (&["list", "--symbols"], 0),
        (&["files", "a.rs"], 0),
        (&["why", "src/a.rs"], 0),
        (&["read", "src/a.rs"], 0),
        (&["grep", "needle"], 0),
        (&["grep", "--json", "needle"], 0),
        (&["grep", "-P", "needle"], 0),
        (&["grep", "--uses", "needle"], 1),
        (&["grep", "-Z", "1", "needle"], 0),
        (&["grep", "--engine", "rg", "needle"], 0),
        (&["grep", "--engine", "ugrep", "needle"], 0),
        (&["rank", "open", "needle"], 0),
        (&["keyword", "--filter", "lexical", "what opens", "needle"], 0),
        (&["keyword", "what opens", "needle"], 0),
        (&["ask", "--quiet", "what opens?"], 0),
        (&["call", "grep_search", call], 0),
        (&["call", "no_such_tool", "--json"], 2),
        (&["lookup", "--json", "needle"], 2),
        (&["index", "build"], 0),
        (&["index", "status"], 0),
        (&["index", "build", "--ranked"], 0),
        (&["index", "verify"], 0),
        (&["index", "drop"], 0),
        (&["eval", &set], 0),
        (&["eval", "--from-git", "2", "--save", save], 0),
        (&["config"], 0),
    ];
    let always = modes().into_iter().filter(|(mode, _)| *mode == "auto").map(|(_, abi)| ("on", abi));
    for (mode, abi) in modes().into_iter().chain(always) {
        for (arguments, status) in commands {
            // These only print text of files, like ripgrep.
            let is_plain = matches!(
                arguments,
                ["list"] | ["files", _] | ["grep", "needle"] | ["grep", "--json" | "-P", "needle"]
            );
            let abi = if is_plain && mode == "auto" { 0 } else { abi };
            let peer = match arguments[0] {
                "keyword" => Peer::start([content("\"src/a.rs: opens it\"")]),
                _ => Peer::start([good("It is opened in `src/a.rs:1`.")]),
            };
            let model = format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", peer.url());
            project.configure(&format!("sandbox = \"{mode}\"\n{model}"));
            let run = project.run_in(&project.root, arguments, &probe.environment());
            assert_eq!(run.status, status, "{mode}, {arguments:?}: {run:?}");
            let is_model = matches!(arguments, ["keyword", "what opens", _] | ["ask", ..]);
            assert_eq!(peer.requests().len(), usize::from(is_model), "{mode}, {arguments:?}: {run:?}");
            let is_theirs = |thread: &str| thread != OUTSIDE;
            check(&probe.attempts(), abi, is_theirs, &format!("{arguments:?}"));
            let _ = std::fs::remove_file(save);
        }
    }
}

#[test]
fn client_hook_is_sandboxed() {
    let (project, _) = project();
    assert_eq!(project.run(&["rank", "open", "needle"]).status, 0);
    let probe = Probe::new(&project, &project.root);
    let call =
        json!({ "cwd": project.root, "tool_name": "Bash", "tool_input": { "command": "rg open_needle" } });
    for (mode, abi) in modes() {
        project.configure(&format!("sandbox = \"{mode}\"\n"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_forage"))
            .args(["hook", "search", "--client", "claude-code", "--timeout-ms", "60000"])
            .current_dir(&project.root)
            .env_clear()
            .env("HOME", &project.home)
            .envs(probe.environment())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("src/a.rs"), "{mode}: {output:?}");
        // The first thread only waits and prints the advice. It opens no files.
        check(&probe.attempts(), abi, |thread| thread == "hook", mode);
    }
}

/// The sandbox must leave the main repository's ignore rules accessible, but nothing else of it.
#[test]
fn sandboxed_worktree_has_its_repositorys_rules() {
    let (project, _) = project();
    let worktree = project.home.join("worktree");
    let path = worktree.to_str().unwrap();
    let add = ["worktree", "add", "-q", path];
    let added = forage_fuzz::peers::git(&project.root).args(add).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    project.write(".git/info/exclude", "ignored.rs\n");
    std::fs::write(worktree.join("ignored.rs"), "needle\n").unwrap();
    let run = project.run(&["grep", "-l", "needle", "--root", path]);
    insta::assert_snapshot!(run.shown());
}
