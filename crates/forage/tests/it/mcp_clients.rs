//! Runs the server with independent implementations: the official conformance suite, and the official clients
//! of both major versions. `cargo xtask peers` installs them.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]
#![expect(clippy::disallowed_macros, reason = "the figures of a run are worth showing with `--show-output`")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use forage_fuzz::peers;

/// The folder of this crate with the scripts and the list of installed packages.
const SCRIPTS: &str = "tests/clients";

/// The folder of the clients and the suite.
pub(crate) struct Peers(PathBuf);

impl Peers {
    /// Finds the folder. Returns `None` if it is missing.
    pub(crate) fn find() -> Option<Self> {
        let lists = ["package.json", "requirements-1.txt", "requirements-2.txt", "requirements-spans.txt"];
        mcp_peers(&lists).map(Self)
    }

    /// Returns the Python with the client of a major version and its dependencies.
    pub(crate) fn python(&self, line: u8) -> PathBuf {
        self.0.join(format!("python-{line}/bin/python"))
    }

    /// Checks that OpenTelemetry's packages can read `spans` spans from the files.
    pub(crate) fn read_spans(&self, files: &[&Path], spans: usize) {
        let mut python = Command::new(self.0.join("spans/bin/python"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS).join("spans.py");
        let printed = printed(python.arg(script).args(files));
        assert_eq!(printed.trim_end(), format!("{spans} spans: all match OpenTelemetry's encoding"));
    }

    fn node(&self) -> Command {
        Command::new(self.0.join("node_modules/node/bin/node"))
    }

    /// Runs one of our scripts with the two server programs and a tree. The script must report success.
    fn drive(&self, mut program: Command, script: &str, line: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS).join(script);
        let tree = Tree::new();
        program.arg(script).arg(env!("CARGO_BIN_EXE_forage")).arg(fixtures()).arg(tree.0.path()).args(line);
        // Node only looks for modules in the script's directory and above, but ours are elsewhere.
        let printed = printed(program.env("PEERS", self.0.join("node_modules")));
        assert!(printed.trim_end().ends_with("all checks passed"), "{printed}");
        println!("{printed}");
    }
}

/// Finds the folder with the packages of these lists. If it is missing or outdated, reports it and returns
/// `None`. `cargo xtask peers` copies the lists last, so they show that everything else has been installed.
pub(crate) fn mcp_peers(lists: &[&str]) -> Option<PathBuf> {
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS);
    let is_current = |folder: &PathBuf| {
        lists.iter().all(|list| {
            fs::read(folder.join(list)).is_ok_and(|found| found == fs::read(wanted.join(list)).unwrap())
        })
    };
    let folder = peers::find("mcp_peers").filter(is_current);
    if folder.is_none() {
        peers::report_missing(&["mcp_peers"]);
    }
    folder
}

/// Locates the example program, which is the product's server with tools for tests.
fn fixtures() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_forage")).with_file_name("examples").join("mcp_fixtures");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.is_file(), "run `cargo build --package forage-cli --example mcp_fixtures` first");
    program
}

/// Runs a program and returns its output. The program must succeed.
fn printed(program: &mut Command) -> String {
    let output = program.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?} ends with {}:\n{printed}\n{problems}", output.status);
    printed
}

/// A project, a home with a folder that a client may choose as its root, and a folder that it may not choose.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = tempfile::tempdir().unwrap();
        let files = [
            ("project/.git/HEAD", "ref: refs/heads/main\n"),
            ("project/src/retry.rs", "pub fn retry_request() {\n    // with backoff\n}\n"),
            ("project/README.md", "# Requests\n"),
            ("home/client/hello.txt", "from the client's root\n"),
            // Over HTTP a client can't choose a root unless the user allows it.
            ("home/.config/forage/config.toml", "[mcp]\nclient_roots = [\"~\", \".\"]\n"),
            ("elsewhere/secret.txt", "secret\n"),
        ];
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(tree)
    }
}

/// The example server over HTTP.
struct FixtureServer {
    process: Child,
    /// Kept open because calls write to it.
    _stderr: BufReader<ChildStderr>,
    url: String,
    _root: tempfile::TempDir,
}

impl FixtureServer {
    fn start(sessions: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut process = Command::new(fixtures())
            .args(["--http", "127.0.0.1:0", "--sessions", sessions, "--root"])
            .arg(root.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { process, _stderr: stderr, url, _root: root }
    }
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A run of the suite.
struct Suite {
    /// The selection: the requirements of a revision, or everything that applies to it.
    what: [&'static str; 2],
    sessions: &'static str,
    baseline: &'static str,
    /// Scenarios without a score that must pass too.
    also: &'static [&'static str],
}

const SUITES: [Suite; 5] = [
    // The suite has no frozen set of requirements for this revision.
    Suite {
        what: ["--spec-version", "2025-06-18"],
        sessions: "64",
        baseline: "2025-06-18.yml",
        also: &["server-session-lifecycle"],
    },
    Suite {
        what: ["--requirements", "2025-11-25"],
        sessions: "64",
        baseline: "2025-11-25.yml",
        also: &["server-session-lifecycle", "server-sse-polling"],
    },
    Suite {
        what: ["--requirements", "2025-11-25"],
        sessions: "0",
        baseline: "2025-11-25-stateless.yml",
        also: &[],
    },
    Suite {
        what: ["--requirements", "2026-07-28"],
        sessions: "0",
        baseline: "2026-07-28.yml",
        also: &["http-header-validation"],
    },
    Suite {
        what: ["--requirements", "2026-07-28"],
        sessions: "64",
        baseline: "2026-07-28.yml",
        also: &["http-header-validation"],
    },
];

impl Suite {
    /// Runs the suite. Both a failure outside of the baseline and a success inside it are errors.
    fn run(&self, peers: &Peers) {
        let server = FixtureServer::start(self.sessions);
        let results = tempfile::tempdir().unwrap();
        let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(self.baseline);
        let printed = printed(
            peers
                .node()
                .arg(peers.0.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
                .arg("server")
                .args(self.what)
                .args(["--url", &server.url, "--expected-failures"])
                .arg(baseline)
                .arg("--output-dir")
                .arg(results.path()),
        );
        let summary = printed.split_once("=== SUMMARY ===").unwrap_or_else(|| panic!("{printed}")).1;
        let passes =
            |scenario: &str| summary.lines().any(|line| line.starts_with(&format!("✓ {scenario}: ")));
        // A suite that did not reach the server would report nothing.
        let some = ["tools-list", "tools-call-error", "tools-call-with-progress"];
        for scenario in some.iter().chain(self.also) {
            assert!(passes(scenario), "{scenario} does not pass\n{printed}");
        }
        println!("{:?}, {} sessions: {summary}", self.what, self.sessions);
    }
}

/// Runs all suites in parallel, since they mostly wait.
#[test]
fn conformance_suite_passes_for_every_revision() {
    let Some(peers) = Peers::find() else { return };
    std::thread::scope(|scope| {
        SUITES.iter().for_each(|suite| drop(scope.spawn(|| suite.run(&peers))));
    });
}

#[test]
fn the_python_sdk_of_line_1_is_served() {
    let Some(peers) = Peers::find() else { return };
    peers.drive(Command::new(peers.python(1)), "client.py", &[]);
}

#[test]
fn the_python_sdk_of_line_2_is_served() {
    let Some(peers) = Peers::find() else { return };
    peers.drive(Command::new(peers.python(2)), "client.py", &[]);
}

#[test]
fn the_typescript_sdk_of_line_1_is_served() {
    let Some(peers) = Peers::find() else { return };
    peers.drive(peers.node(), "client.mjs", &["1"]);
}

#[test]
fn the_typescript_sdk_of_line_2_is_served() {
    let Some(peers) = Peers::find() else { return };
    peers.drive(peers.node(), "client.mjs", &["2"]);
}

#[test]
fn the_inspector_finds_nothing_to_complain_of() {
    let Some(peers) = Peers::find() else { return };
    peers.drive(peers.node(), "inspector.mjs", &[]);
}
