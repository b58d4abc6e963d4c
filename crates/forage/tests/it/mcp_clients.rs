//! The server against what others have written: the official conformance suite, and the official clients, of either
//! line. `cargo xtask peers` installs them.
#![expect(clippy::panic, reason = "in the helpers of tests, too, a panic is a failed test")]
#![expect(clippy::disallowed_macros, reason = "the figures of a run are worth showing with `--show-output`")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// The variable that names another folder than the one into which `cargo xtask peers` installs; `skip` leaves these tests out.
const VARIABLE: &str = "FORAGE_TEST_MCP_PEERS";

/// Folder of the scripts and of the list of what is installed, in this crate.
const SCRIPTS: &str = "tests/clients";

/// Where the clients and the suite are installed.
pub(crate) struct Peers(PathBuf);

impl Peers {
    /// `None` when the user has asked for these tests to be left out.
    pub(crate) fn find() -> Option<Self> {
        let installed = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/mcp");
        let folder = std::env::var_os(VARIABLE).map_or_else(installed, PathBuf::from);
        if folder == Path::new("skip") {
            return None;
        }
        // They are copied there when all else has been installed.
        for list in ["package.json", "requirements-1.txt", "requirements-2.txt", "requirements-spans.txt"] {
            let wanted = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS).join(list)).unwrap();
            let found = fs::read(folder.join(list)).unwrap_or_default();
            assert!(
                wanted == found,
                "the MCP clients of {SCRIPTS}/{list} are missing: `cargo xtask peers` installs them, {VARIABLE} names their \
                 folder elsewhere, and {VARIABLE}=skip leaves their tests out"
            );
        }
        Some(Self(folder))
    }

    /// The Python that has the client of a line, and what that needs.
    pub(crate) fn python(&self, line: u8) -> PathBuf {
        self.0.join(format!("python-{line}/bin/python"))
    }

    /// Has OpenTelemetry's packages read files of spans, of which there are so many.
    pub(crate) fn read_spans(&self, files: &[&Path], spans: usize) {
        let mut python = Command::new(self.0.join("spans/bin/python"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS).join("spans.py");
        let printed = printed(python.arg(script).args(files));
        assert_eq!(printed.trim_end(), format!("{spans} spans: all are as OpenTelemetry has them"));
    }

    fn node(&self) -> Command {
        Command::new(self.0.join("node_modules/node/bin/node"))
    }

    /// Runs a script of ours with the server's two programs and a tree, and expects it to say that all is well.
    fn drive(&self, mut program: Command, script: &str, line: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPTS).join(script);
        let tree = Tree::new();
        program.arg(script).arg(env!("CARGO_BIN_EXE_forage")).arg(fixtures()).arg(tree.0.path()).args(line);
        // Node looks for modules beside a script and above it, where these are not.
        let printed = printed(program.env("PEERS", self.0.join("node_modules")));
        assert!(printed.trim_end().ends_with("all checks passed"), "{printed}");
        println!("{printed}");
    }
}

/// The example that is the product's server with tools for tests.
fn fixtures() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_forage")).with_file_name("examples").join("mcp_fixtures");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.is_file(), "run `cargo build --package forage-cli --example mcp_fixtures` first");
    program
}

/// What a program printed that ended well.
fn printed(program: &mut Command) -> String {
    let output = program.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?} ends with {}:\n{printed}\n{problems}", output.status);
    printed
}

/// A project, a home with a folder that a client may choose as its root, and a place that it may not.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = tempfile::tempdir().unwrap();
        let files = [
            ("project/.git/HEAD", "ref: refs/heads/main\n"),
            ("project/src/retry.rs", "pub fn retry_request() {\n    // with backoff\n}\n"),
            ("project/README.md", "# Requests\n"),
            ("home/client/hello.txt", "from the client's root\n"),
            // Over HTTP nobody may choose a root unless the user says so.
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

/// The example over HTTP.
struct FixtureServer {
    process: Child,
    /// Kept open for what calls say there.
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
    /// What is run: what a revision requires, or all that applies to one.
    what: [&'static str; 2],
    sessions: &'static str,
    baseline: &'static str,
    /// What must pass of that which is run and not scored.
    also: &'static [&'static str],
}

const SUITES: [Suite; 5] = [
    // There is no frozen set of requirements for it.
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
    /// It fails on what is not in the baseline, and on what is and passes.
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
        // A suite that reached no server would have nothing to say.
        let some = ["tools-list", "tools-call-error", "tools-call-with-progress"];
        for scenario in some.iter().chain(self.also) {
            assert!(passes(scenario), "{scenario} does not pass\n{printed}");
        }
        println!("{:?}, {} sessions: {summary}", self.what, self.sessions);
    }
}

/// All at once: they wait most of the time.
#[test]
fn the_conformance_suite_passes_for_every_revision_with_and_without_sessions() {
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
