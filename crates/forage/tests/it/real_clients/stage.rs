//! A home with a client that Forage was set up for, and the scripted model that the client talks to.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::table::Client;
use crate::{Project, Run};

/// Names the folder into which `cargo xtask peers --all` has installed the clients.
const FOLDER: &str = "FORAGE_TEST_CLIENTS";

/// Time limit for a run of a client. A run takes seconds because some clients look for a network first.
const PATIENCE: Duration = Duration::from_secs(120);

/// Another server, without tools. We need it because some clients exit if one of their servers does not
/// start.
const OTHER: &str = "import sys, json; [print(json.dumps(dict(jsonrpc='2.0', id=m['id'], result=dict(\
     protocolVersion='2025-06-18', capabilities={}, serverInfo=dict(name='other', version='1')))), flush=True) \
     for m in map(json.loads, sys.stdin) if 'id' in m]";

/// The prompt for the client. The script ignores it.
const PROMPT: &str = "Where is the needle?";

/// Returns the folder. If none is named, this prints a note on stderr and returns `None`. The tests of a
/// client that is missing in the folder fail.
#[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: {FOLDER} does not name the folder of real clients");
    }
    folder
}

/// The scripted model.
struct Model {
    process: Child,
    url: String,
    log: PathBuf,
}

impl Model {
    fn start(script: &Value, log: PathBuf) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/model.py");
        let mut process = Command::new("python3")
            .arg(program)
            .arg(script.to_string())
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { process, url, log }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The home, the project and the model.
pub(super) struct Stage {
    pub(super) client: &'static Client,
    pub(super) project: Project,
    /// The program that the client runs. This is a link, which lets us identify the processes of this test.
    forage: PathBuf,
    folder: PathBuf,
    model: Model,
}

impl Stage {
    /// Writes the project and the client's own files, but does not set Forage up.
    pub(super) fn new(client: &'static Client, files: &[(&str, &str)], script: &Value) -> Option<Self> {
        let folder = folder()?;
        let program = folder.join("node_modules/.bin").join(client.program);
        assert!(program.exists(), "{} is missing: `cargo xtask peers --all` installs it", program.display());
        let project = Project::new(files);
        project.write(".git/HEAD", "ref: refs/heads/main\n");
        let forage = project.home.join("bin/forage");
        fs::create_dir_all(forage.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_forage"), &forage).unwrap();
        let model = Model::start(script, project.home.join("model.jsonl"));
        let stage = Self { client, project, forage, folder, model };
        for (path, text) in client.files {
            let path = stage.project.home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, stage.filled(text)).unwrap();
        }
        Some(stage)
    }

    /// Like [`Self::new`], but then runs `forage setup` to write the entry.
    pub(super) fn set_up(client: &'static Client, files: &[(&str, &str)], script: &Value) -> Option<Self> {
        let stage = Self::new(client, files, script)?;
        stage.setup(client.setup, "--write");
        Some(stage)
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{url}", &self.model.url).replace("{other}", OTHER)
    }

    /// Runs `forage setup` with a flag. This must succeed.
    pub(super) fn setup(&self, name: &str, flag: &str) -> Run {
        self.setup_with(name, &[flag])
    }

    pub(super) fn setup_with(&self, name: &str, flags: &[&str]) -> Run {
        let forage = self.forage.to_str().unwrap();
        let run = self.project.run(&[&["setup", name, "--command", forage], flags].concat());
        assert_eq!(run.status, 0, "{flags:?}: {run:?}");
        run
    }

    /// Replaces the program with a script. It runs `hook` for hooks, and the program for everything else.
    pub(super) fn hook_is(&self, hook: &str) {
        let program = env!("CARGO_BIN_EXE_forage");
        let text = format!("#!/bin/sh\nif [ \"$1\" = hook ]; then {hook}; fi\nexec {program} \"$@\"\n");
        fs::remove_file(&self.forage).unwrap();
        fs::write(&self.forage, text.replace("{program}", program)).unwrap();
        fs::set_permissions(&self.forage, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Reads the file with the entry. Returns `None` if it does not exist.
    pub(super) fn file(&self) -> Option<String> {
        fs::read_to_string(self.project.home.join(self.client.file)).ok()
    }

    /// Starts the client in a new process group, as a shell does.
    pub(super) fn start(&self) -> Running<'_> {
        self.start_with(self.client.arguments)
    }

    /// Runs a command of the client until it exits. This must succeed.
    pub(super) fn command(&self, arguments: &[&str]) {
        let status = self.start_with(arguments).wait(PATIENCE);
        assert!(status.success(), "{status}: {}", self.printed());
    }

    fn start_with(&self, arguments: &[&str]) -> Running<'_> {
        let bin = self.folder.join("node_modules/.bin");
        let home = &self.project.home;
        let output = |name: &str| File::create(home.join(name)).unwrap();
        let arguments = arguments.iter().map(|argument| argument.replace("{prompt}", PROMPT));
        let own = self.forage.parent().unwrap().display();
        let child = Command::new(bin.join(self.client.program))
            .args(arguments)
            .current_dir(&self.project.root)
            .env_clear()
            .env("PATH", format!("{}:{own}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("PWD", &self.project.root)
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("TERM", "dumb")
            // A client that uses a proxy gets one that leads nowhere.
            .env("HTTPS_PROXY", &self.model.url)
            .env("NO_PROXY", "127.0.0.1,localhost")
            .envs(self.client.variables.iter().map(|(name, value)| (name, self.filled(value))))
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .process_group(0)
            .spawn()
            .unwrap();
        Running { stage: self, child }
    }

    /// Runs the client until it exits. This must succeed and print the model's last text.
    pub(super) fn run(&self) {
        let mut running = self.start();
        let status = running.wait(PATIENCE);
        let printed = self.printed();
        assert!(status.success() && printed.contains(LAST_WORD), "{status}: {printed}");
    }

    /// Returns the client's output so far and the model's requests. This is for messages of failed tests.
    pub(super) fn printed(&self) -> String {
        let text = |name: &str| {
            let bytes = fs::read(self.project.home.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let asked: Vec<String> = self
            .requests()
            .iter()
            .map(|request| format!("{} {} said {}", request["method"], request["path"], request["said"]))
            .collect();
        format!("{}:\n{}\n{}\n{}", self.client.program, text("stdout"), text("stderr"), asked.join("\n"))
    }

    /// Reads every request to the model from the log of `model.py`.
    pub(super) fn requests(&self) -> Vec<Value> {
        let log = fs::read_to_string(&self.model.log).unwrap_or_default();
        // The last line may be incomplete.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the requests that offer tools, which are those of the conversation.
    pub(super) fn conversation(&self) -> Vec<Value> {
        let requests: Vec<Value> =
            self.requests().into_iter().filter(|request| request["turn"].is_u64()).collect();
        assert!(!requests.is_empty(), "the model was not asked: {}", self.printed());
        requests
    }

    /// Returns the result of a turn's call.
    pub(super) fn result(&self, turn: u64) -> String {
        let requests = self.conversation();
        let next = requests.iter().find(|request| request["turn"] == turn + 1);
        let result = next.and_then(|request| request["results"].as_array()?.last()?.as_str());
        result.unwrap_or_else(|| panic!("turn {turn} has no result: {}", self.printed())).to_owned()
    }

    /// Lists the processes that run this test's `forage`.
    pub(super) fn processes(&self) -> Vec<u32> {
        let forage = self.forage.as_os_str().as_encoded_bytes();
        let runs_it = |id: &u32| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.windows(forage.len()).any(|window| window == forage)
        };
        let ids =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(runs_it).collect()
    }
}

/// The text that ends every script.
pub(super) const LAST_WORD: &str = "That was all there is.";

/// A running client. When the test ends, we kill the rest of its process group.
pub(super) struct Running<'stage> {
    stage: &'stage Stage,
    child: Child,
}

impl Running<'_> {
    /// Sends a signal to the client and its process group, as a terminal does.
    pub(super) fn signal(&self, name: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill")
            .args([&format!("-{name}"), "--", &group])
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }

    /// Waits until the client exits. This must happen within `time`.
    pub(super) fn wait(&mut self, time: Duration) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < time, "still running after {time:?}: {}", self.stage.printed());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.signal("KILL");
        let _ = self.child.wait();
    }
}
