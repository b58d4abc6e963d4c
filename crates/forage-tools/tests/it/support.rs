//! Trees to attack, and calls that record everything that a caller or a model would see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
use forage_fuzz::peers::program;
use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest};
use forage_tools::registry::find;
use forage_tools::{Answer, EngineSetting, FilterMode, Program, ToolError, Workspace, telemetry};
use regex::{Captures, Regex};
use serde_json::{Value, json};

/// Makes `Search` use these programs, in this order of preference.
pub(crate) fn with_engine(mut workspace: Workspace, programs: &[&Path]) -> Workspace {
    let roots = [workspace.roots.main().path()];
    let programs =
        programs.iter().map(|path| Program::resolve(path, &[], &roots).unwrap()).collect::<Vec<_>>();
    workspace.search.engine = EngineSetting::External { programs, missing: Vec::new() };
    workspace
}

/// The text that all searches look for.
pub(crate) const NEEDLE: &str = "needle";
/// Text that no answer may show. It is next to the needle, but not part of any request.
pub(crate) const CANARY: &str = "7f3a-canary";
/// Name of a file outside of the root. No link names it.
pub(crate) const OUTSIDE_NAME: &str = "9c1e-outside-name.txt";

/// A root with a sibling directory: `root` and `outside`.
pub(crate) struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let tree = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        fs::create_dir(tree.outside()).unwrap();
        tree
    }

    /// Creates a tree that has files with the canary outside of its root.
    pub(crate) fn with_outside_secrets() -> Self {
        let tree = Self::new();
        fs::write(tree.outside().join("data.txt"), secret_text()).unwrap();
        fs::write(tree.outside().join(OUTSIDE_NAME), secret_text()).unwrap();
        tree
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    /// Writes a file below the root, and creates its parents.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Commits all files. The first call creates the repository. Commits have the same id on all machines.
    pub(crate) fn commit(&self, message: &str) {
        if !self.root().join(".git").exists() {
            self.git(&["init", "-q", "-b", "main"]);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let count = fs::read(self.root().join(".git/logs/HEAD"))
            .map_or(0, |log| log.split(|&byte| byte == b'\n').count());
        let date = format!("2026-01-{:02}T12:00:00Z", 1 + count);
        let mut command = forage_fuzz::peers::git(self.root());
        command.args(arguments).envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)]);
        assert!(command.output().unwrap().status.success(), "git {arguments:?}");
    }

    /// Creates a link below the root.
    pub(crate) fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        let link = self.root().join(path);
        #[cfg(unix)]
        std::os::unix::fs::symlink(target, link).unwrap();
        #[cfg(windows)]
        match link.parent().unwrap().join(&target).is_dir() {
            true => std::os::windows::fs::symlink_dir(target, link).unwrap(),
            false => std::os::windows::fs::symlink_file(target, link).unwrap(),
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        self.workspace_with(SecretPolicy::standard(&[]))
    }

    pub(crate) fn workspace_with(&self, secrets: SecretPolicy) -> Workspace {
        workspace_at(&self.root(), secrets)
    }
}

/// Lines that contain the needle and the canary.
pub(crate) fn secret_text() -> String {
    format!("first\n{NEEDLE} {CANARY}\nlast\n")
}

/// Opens a workspace whose `keyword_search` needs no model.
pub(crate) fn workspace_at(root: &Path, secrets: SecretPolicy) -> Workspace {
    let root = Root::open(root, &RootPolicy::default(), secrets).unwrap();
    let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
    workspace.filter.mode = FilterMode::Lexical;
    // Answers must not depend on the load of the machine. Tests of deadlines set their own limits.
    workspace.limits.timeout = std::time::Duration::from_secs(120);
    workspace
}

/// Opens several trees as the roots of one workspace.
pub(crate) fn workspace_of(trees: &[&Tree]) -> Workspace {
    let roots = trees.iter().map(|tree| Arc::clone(tree.workspace().roots.main())).collect();
    let mut workspace = trees[0].workspace();
    workspace.roots = Roots::new(roots, RelPath::root()).unwrap();
    workspace
}

pub(crate) fn call(workspace: &Workspace, tool: &str, request: Value) -> Result<Answer, ToolError> {
    telemetry::call(find(tool)?, &workspace.start_call(), request)
}

pub(crate) fn answer(workspace: &Workspace, tool: &str, request: Value) -> Answer {
    let shown = request.to_string();
    call(workspace, tool, request).unwrap_or_else(|error| panic!("{tool} {shown}: {error}"))
}

pub(crate) fn refusal(workspace: &Workspace, tool: &str, request: Value) -> String {
    let shown = request.to_string();
    match call(workspace, tool, request) {
        Ok(answer) => panic!("{tool} {shown} was not refused: {}", answer.text),
        Err(error) => error.message(tool, &workspace.names),
    }
}

/// Replaces the parts of a text that differ between runs: temporary directories, hashes of cursors, and times.
pub(crate) fn stable(text: &str) -> String {
    let directory = Regex::new(r#"(?:\b[A-Z]:)?[^\s`"(:]*[/\\]\.tmp[A-Za-z0-9]{6}([^\s`":)\]]*)"#).unwrap();
    let text = directory.replace_all(text, |path: &Captures| format!("/tmp{}", path[1].replace('\\', "/")));
    let varies = [
        // A cursor has a hash of the root's path. That of a history also has the id of a commit.
        (
            r#"(?x)(cursor=\\?"|"next_cursor":\ ?"|"cursor":\ ?")[A-Za-z0-9+/]{16}(\.[0-9a-f]{40})?"#,
            "${1}CURSOR",
        ),
        (r", \d+\.\d s\]", ", 0.0 s]"),
        // A temporary directory whose name is cut.
        (r"/\.tmp[A-Za-z0-9]{0,5}…", "…"),
        // Systems number their errors differently.
        (r" \(os error \d+\)", ""),
    ];
    let replace = |text: String, (pattern, word): &(&str, &str)| {
        Regex::new(pattern).unwrap().replace_all(&text, *word).into_owned()
    };
    varies.iter().fold(text.into_owned(), replace)
}

/// Calls a tool with each request. Returns the requests and their answers or errors as one text for a snapshot.
pub(crate) fn transcript(
    workspace: &Workspace,
    tool: &str,
    requests: impl IntoIterator<Item = Value>,
) -> String {
    let exchange = |request: Value| {
        let shown = shortened(&request);
        let reply = match call(workspace, tool, request) {
            Ok(answer) => answer.text,
            Err(error) => format!("ERROR: {}\n", error.message(tool, &workspace.names)),
        };
        stable(&format!("> {tool} {shown}\n{reply}"))
    };
    requests.into_iter().map(exchange).collect::<Vec<_>>().join("\n")
}

/// Shortens the long texts of a request.
pub(crate) fn shortened(request: &Value) -> Value {
    match request {
        Value::String(text) if text.len() > 200 => json!(format!("{}… ({} bytes)", &text[..20], text.len())),
        Value::Array(items) if items.len() > 20 => json!(format!("a list of {}", items.len())),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shortened(value))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the notes of an answer: its lines in brackets.
pub(crate) fn notes(text: &str) -> String {
    text.lines().filter(|line| line.starts_with('[')).collect::<Vec<_>>().join("\n")
}

/// Returns the only line that contains `part`.
pub(crate) fn line_with<'a>(text: &'a str, part: &str) -> &'a str {
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(part)).collect();
    let [line] = lines[..] else { panic!("{} lines contain {part}: {text}", lines.len()) };
    line
}

/// The error for a cursor that belongs to another request.
pub(crate) const UNKNOWN_CURSOR: &str = "`cursor`: it was altered, belongs to another request or root, or the file \
    where the page ended is gone; repeat it with the other arguments unchanged, or omit it to start over";
/// The error for a text that is not a cursor.
pub(crate) const INVALID_CURSOR: &str =
    "`cursor`: it is invalid; copy it unchanged from the previous answer, or omit it to start over";

/// Reads how many files an answer reports as skipped for a reason.
pub(crate) fn skipped(answer: &Answer, reason: &str) -> u64 {
    answer.records()["skipped"][reason].as_u64().unwrap_or(0)
}

/// A model that records its requests and calls every file relevant.
#[derive(Default)]
pub(crate) struct Recorder {
    sent: Mutex<String>,
}

impl ChatModel for Recorder {
    fn name(&self) -> String {
        "test/recorder".to_owned()
    }

    fn complete(&self, request: &ChatRequest, _: &CallBudget) -> Result<ChatAnswer, ChatError> {
        let user = request.texts().nth(1).unwrap();
        *self.sent.lock().unwrap() += user;
        let files = user.lines().filter_map(|line| line.strip_prefix("FILE "));
        let text: String = files.map(|path| format!("{path}: why\n")).collect();
        Ok(ChatAnswer::from_text("test", "recorder", text))
    }
}

/// Runs `keyword_search` with a model. Returns the answer, and the text sent to the model.
pub(crate) fn ask_model(workspace: &Workspace, request: Value) -> (Result<Answer, ToolError>, String) {
    let recorder = Arc::new(Recorder::default());
    let mut workspace = workspace.clone();
    workspace.filter.mode = FilterMode::Model;
    workspace.filter.models = vec![Arc::clone(&recorder) as Arc<dyn ChatModel>].into();
    let result = call(&workspace, "keyword_search", request);
    let sent = recorder.sent.lock().unwrap().clone();
    (result, sent)
}

/// The result of one call.
pub(crate) struct Seen {
    pub(crate) tool: &'static str,
    pub(crate) result: Result<Answer, ToolError>,
    /// The text that was sent to the model.
    pub(crate) sent: String,
}

impl Seen {
    /// Joins everything that anyone could see.
    pub(crate) fn everything(&self) -> String {
        match &self.result {
            Ok(answer) => format!("{}\n{}\n{}", answer.text, answer.records().clone(), self.sent),
            Err(error) => format!("{error}\n{error:?}\n{}", self.sent),
        }
    }
}

/// Creates requests that aim every tool at a path. Note that `keyword_search` takes no path, so it searches
/// the whole root.
pub(crate) fn probes(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("grep_search", json!({"pattern": NEEDLE, "path": path})),
        ("grep_search", json!({"pattern": NEEDLE, "path": path, "include_ignored": true})),
        ("list_directory", json!({"path": path, "max_depth": 5, "include_ignored": true})),
        ("read_file", json!({"path": path})),
        ("search_index", json!({"query": NEEDLE, "path": path, "explain": true})),
        ("keyword_search", json!({"query": "where is it", "search_terms": [NEEDLE]})),
        ("Search", json!({"pattern": NEEDLE, "path": path})),
        (
            "Search",
            json!({"pattern": "neddle", "path": path, "fuzzy": 1, "hidden": true, "no_ignore": true, "follow": true}),
        ),
    ]
}

/// Aims every tool at a path. Calls `keyword_search` with and without a model.
pub(crate) fn attack(workspace: &Workspace, path: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for (tool, request) in probes(path) {
        if tool == "keyword_search" {
            let (result, sent) = ask_model(workspace, request.clone());
            seen.push(Seen { tool, result, sent });
        }
        seen.push(Seen { tool, result: call(workspace, tool, request), sent: String::new() });
    }
    seen
}

/// Aims every tool at a path. Fails if anyone could see the canary or the outside name.
pub(crate) fn assert_sealed(workspace: &Workspace, path: &str) -> Vec<Seen> {
    let seen = attack(workspace, path);
    for one in &seen {
        let everything = one.everything();
        for forbidden in [CANARY, OUTSIDE_NAME] {
            assert!(
                !everything.contains(forbidden),
                "{} on {path} shows {forbidden}: {everything}",
                one.tool
            );
        }
    }
    seen
}

/// Lists the tools that show the canary if we aim them at a path, each once.
pub(crate) fn leaking(workspace: &Workspace, path: &str) -> Vec<&'static str> {
    let mut tools: Vec<&str> = attack(workspace, path)
        .iter()
        .filter(|one| one.everything().contains(CANARY))
        .map(|one| one.tool)
        .collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

/// Runs `work` on a separate thread. If a call hangs, this fails the test instead of hanging it.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} did not end within {limit:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what} panicked: {:?}", worker.join().err()),
    }
}

/// Environment variable that names the test that a child process runs.
const CHILD: &str = "FORAGE_TEST_CHILD";

/// Runs `body` in a separate process, so that its memory, or a signal that kills it, belongs only to this
/// test. `test` must be the path of the calling test.
pub(crate) fn in_child(test: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some_and(|name| name == test) {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} ended with {}:\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "no test is called {test}:\n{stdout}");
}

/// Reads a field of `/proc/self/status`, in bytes.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap() * 1024
}

/// Measures how far the peak of memory use rises above the use before.
pub(crate) fn memory_growth<T>(work: impl FnOnce() -> T) -> (T, u64) {
    // This resets the peak to the current use.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let result = work();
    (result, memory("VmHWM:").saturating_sub(before))
}

/// Runs the real ripgrep for a control, and returns its output.
pub(crate) fn ripgrep(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program("rg"));
    command.arg("--no-config").args(arguments).current_dir(directory).stdin(std::process::Stdio::null());
    command.output().unwrap().stdout
}
