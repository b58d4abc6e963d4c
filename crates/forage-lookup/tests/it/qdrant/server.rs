//! Real servers of Qdrant: one node, or a cluster of three with consensus. They run the program that an
//! environment variable names.
//!
//! We use only the public documentation of the program: environment variables for its settings, `--uri` and
//! `--bootstrap` for a cluster, and `/readyz` and `/cluster` for its status.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use forage_lookup::{PointStore, ServerSettings, ServerStore};
use serde_json::{Value, json};

/// The environment variable with the program `qdrant`. Without it, the tests of real servers report that they
/// are skipped. `bench/qdrant.py build` builds the program.
const PROGRAM: &str = "FORAGE_TEST_QDRANT";

/// The environment variable with the program `qdrant` of the previous version, for the upgrade tests.
const PROGRAM_BEFORE: &str = "FORAGE_TEST_QDRANT_BEFORE";

/// The timeout for starting a node on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the program, if there is one to test with.
pub(crate) fn program() -> Option<PathBuf> {
    named_by(PROGRAM)
}

/// Returns the old and the new program for upgrade tests, if both are available.
pub(crate) fn programs_in_turn() -> Option<[PathBuf; 2]> {
    Some([named_by(PROGRAM_BEFORE)?, program()?])
}

fn named_by(variable: &str) -> Option<PathBuf> {
    let program = std::env::var_os(variable).filter(|program| !program.is_empty()).map(PathBuf::from);
    if program.is_none() {
        eprintln!("skipped: {variable} names no server");
    }
    program
}

/// Asks a program for its version.
pub(crate) fn version_of(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.trim().trim_start_matches("qdrant ").to_owned()
}

/// A node with its data directory.
pub(crate) struct Node {
    program: PathBuf,
    directory: PathBuf,
    ports: Ports,
    /// Command-line arguments for a cluster.
    arguments: Vec<OsString>,
    /// A shell command before the program, for example to set limits.
    limits: String,
    running: Option<Running>,
}

#[derive(Clone, Copy)]
struct Ports {
    http: u16,
    grpc: u16,
    peers: u16,
}

impl Ports {
    fn free() -> Self {
        // We hold the three ports at the same time, so that they are different.
        let held: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let port = |index: usize| held[index].local_addr().unwrap().port();
        Self { http: port(0), grpc: port(1), peers: port(2) }
    }
}

/// The process. It runs under a shell that kills it when this process ends, even after a crash.
struct Running {
    shell: Child,
    /// If this is closed, the shell kills the process. If a word is written to it, the shell waits for the
    /// process to end.
    leash: ChildStdin,
    id: u32,
}

impl Node {
    fn new(program: &Path, directory: PathBuf, arguments: Vec<OsString>, ports: Ports) -> Self {
        std::fs::create_dir_all(&directory).unwrap();
        let program = program.to_owned();
        Self { program, directory, ports, arguments, limits: String::new(), running: None }
    }

    /// Sets limits in the program's shell.
    pub(crate) fn limit(&mut self, limits: &str) {
        self.limits = format!("{limits};");
    }

    pub(crate) fn start(&mut self) {
        let script = format!(
            "{} \"$@\" >log 2>&1 & echo $!; read word; [ -n \"$word\" ] || kill -9 $!; wait $!",
            self.limits
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(&self.program).args(&self.arguments);
        command.current_dir(&self.directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        for (name, value) in [
            ("SERVICE__HOST", "127.0.0.1".to_owned()),
            ("SERVICE__HTTP_PORT", self.ports.http.to_string()),
            ("SERVICE__GRPC_PORT", self.ports.grpc.to_string()),
            ("CLUSTER__P2P__PORT", self.ports.peers.to_string()),
            ("CLUSTER__ENABLED", (!self.arguments.is_empty()).to_string()),
            ("STORAGE__STORAGE_PATH", "storage".to_owned()),
            ("STORAGE__SNAPSHOTS_PATH", "snapshots".to_owned()),
            ("TELEMETRY_DISABLED", "true".to_owned()),
            ("LOG_LEVEL", "WARN".to_owned()),
        ] {
            command.env(format!("QDRANT__{name}"), value);
        }
        let mut shell = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let leash = shell.stdin.take().unwrap();
        self.running = Some(Running { shell, leash, id: line.trim().parse().unwrap() });
    }

    /// Waits until the node reports that it is ready.
    pub(crate) fn wait(&self) {
        self.wait_for("/readyz", |answer| answer.starts_with("HTTP/1.1 200"));
    }

    fn wait_for(&self, path: &str, is_so: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            match self.get(path) {
                Some(answer) if is_so(&answer) => return,
                _ if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
                answer => {
                    let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                    panic!("{path} of a node says {answer:?}; its log:\n{log}")
                }
            }
        }
    }

    fn get(&self, path: &str) -> Option<String> {
        self.request("GET", path, "", Duration::from_secs(5))
    }

    fn request(&self, method: &str, path: &str, body: &str, patience: Duration) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.http)).ok()?;
        stream.set_read_timeout(Some(patience)).ok()?;
        let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
        write!(stream, "{method} {path} {head}Content-Length: {}\r\n\r\n{body}", body.len()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Sends a request and returns the `result` of the answer, as documented.
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.request(method, path, body, PATIENCE).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        let mut answer: Value = serde_json::from_str(body).unwrap();
        answer["result"].take()
    }

    /// Lists the copies of each shard: their location, and whether they are active.
    fn copies(&self, collection: &str) -> BTreeMap<u64, Vec<(Value, bool)>> {
        let shards = self.ask("GET", &format!("/collections/{collection}/cluster"), "");
        let local =
            shards["local_shards"].as_array().unwrap().iter().map(|shard| (shard, &shards["peer_id"]));
        let remote = shards["remote_shards"].as_array().unwrap().iter();
        let remote = remote.map(|shard| (shard, &shard["peer_id"]));
        let mut copies: BTreeMap<u64, Vec<(Value, bool)>> = BTreeMap::new();
        for (shard, peer) in local.chain(remote) {
            let copy = (peer.clone(), shard["state"] == "Active");
            copies.entry(shard["shard_id"].as_u64().unwrap()).or_default().push(copy);
        }
        copies
    }

    fn wait_for_copies(&self, collection: &str, count: usize) {
        let began = Instant::now();
        loop {
            let copies = self.copies(collection);
            let is_whole = |copies: &Vec<(Value, bool)>| {
                copies.len() == count && copies.iter().all(|(_, is_active)| *is_active)
            };
            if !copies.is_empty() && copies.values().all(is_whole) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{copies:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.http)
    }

    /// Kills the process, as a power failure would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            signal("KILL", running.id);
            drop(running.leash);
            let _ = running.shell.wait();
        }
    }

    /// Terminates the process gracefully, as for an upgrade, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        let mut running = self.running.take().unwrap();
        signal("TERM", running.id);
        writeln!(running.leash, "ends").unwrap();
        let began = Instant::now();
        while running.shell.try_wait().unwrap().is_none() {
            if began.elapsed() > PATIENCE {
                signal("KILL", running.id);
                panic!("a node that was asked to end did not within {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sets another program for the next start, which must use the same data.
    pub(crate) fn upgrade_to(&mut self, program: &Path) {
        program.clone_into(&mut self.program);
    }

    /// Asks the running server for its version.
    pub(crate) fn version(&self) -> String {
        let answer = self.get("/").unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let answer: Value = serde_json::from_str(body).unwrap();
        answer["version"].as_str().unwrap().to_owned()
    }

    /// Pauses the process, which looks like a network failure to the other nodes.
    pub(crate) fn pause(&self) {
        signal("STOP", self.running.as_ref().unwrap().id);
    }

    pub(crate) fn go_on(&self) {
        signal("CONT", self.running.as_ref().unwrap().id);
    }
}

fn signal(name: &str, process: u32) {
    let _ =
        Command::new("kill").args([format!("-{name}"), process.to_string()]).stderr(Stdio::null()).status();
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Nodes that know each other, and their data directory.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    _home: tempfile::TempDir,
}

impl Cluster {
    /// Starts a single node.
    pub(crate) fn single(program: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut node = Node::new(program, home.path().join("0"), Vec::new(), Ports::free());
        node.start();
        node.wait();
        Self { nodes: vec![node], _home: home }
    }

    /// Starts nodes with consensus.
    pub(crate) fn start(program: &Path, count: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut cluster = Self { nodes: Vec::new(), _home: home };
        for _ in 0..count {
            cluster.add(program);
        }
        cluster
    }

    /// Adds a node, and waits until all nodes know it.
    pub(crate) fn add(&mut self, program: &Path) {
        let ports = Ports::free();
        let address = |ports: Ports| format!("http://127.0.0.1:{}", ports.peers);
        let mut arguments: Vec<OsString> = vec!["--uri".into(), address(ports).into()];
        if let Some(first) = self.nodes.first() {
            arguments.extend(["--bootstrap".into(), address(first.ports).into()]);
        }
        let places = (0..).map(|number: u32| self._home.path().join(number.to_string()));
        let directory = places.into_iter().find(|place| !place.exists()).unwrap();
        let mut node = Node::new(program, directory, arguments, ports);
        node.start();
        self.nodes.push(node);
        self.wait();
    }

    /// Waits until each running node knows the leader and all other nodes.
    pub(crate) fn wait(&self) {
        for node in self.nodes.iter().filter(|node| node.running.is_some()) {
            node.wait();
            node.wait_for("/cluster", |answer| {
                answer.matches("\"uri\"").count() == self.nodes.len() && !answer.contains("\"leader\":null")
            });
        }
    }

    /// Removes a node from the cluster that is permanently lost.
    pub(crate) fn forget(&mut self, node: usize) {
        let gone = self.nodes.remove(node);
        let port = format!(":{}", gone.ports.peers);
        let cluster = self.nodes[0].ask("GET", "/cluster", "");
        let peers = cluster["peers"].as_object().unwrap();
        let is_gone = |peer: &Value| peer["uri"].as_str().unwrap().trim_end_matches('/').ends_with(&port);
        let id = peers.iter().find(|(_, peer)| is_gone(peer)).unwrap().0;
        self.nodes[0].ask("DELETE", &format!("/cluster/peer/{id}?force=true"), "");
    }

    /// Copies each shard that has only one copy to the newest node, and waits until the copies are active.
    pub(crate) fn copy_shards(&self, collection: &str) {
        let path = format!("/collections/{collection}/cluster");
        let to = self.nodes.last().unwrap().ask("GET", &path, "")["peer_id"].clone();
        let copies = self.nodes[0].copies(collection);
        let single: Vec<_> = copies.into_iter().filter(|(_, copies)| copies.len() == 1).collect();
        assert!(!single.is_empty(), "no shard has lost a copy");
        for (shard, copies) in single {
            let order = json!({"replicate_shard": {"shard_id": shard, "from_peer_id": copies[0].0, "to_peer_id": to}});
            self.nodes[0].ask("POST", &path, &order.to_string());
        }
        self.nodes[0].wait_for_copies(collection, 2);
    }

    /// Waits until every running node reports this number of copies of each shard, and all of them are
    /// active.
    pub(crate) fn wait_for_copies(&self, collection: &str, count: usize) {
        for node in self.nodes.iter().filter(|node| node.running.is_some()) {
            node.wait_for_copies(collection, count);
        }
    }

    pub(crate) fn settings(&self, node: usize, collection: &str) -> ServerSettings {
        ServerSettings::new(&self.nodes[node].url(), collection)
    }

    pub(crate) fn store(&self, node: usize, collection: &str) -> Arc<dyn PointStore> {
        Arc::new(ServerStore::connect(self.settings(node, collection)).unwrap())
    }
}

/// Returns a single node and a cluster of three. Tests that share them must not do any harm to them. Returns
/// `None` if no program is named.
pub(crate) fn shared() -> Option<&'static [Cluster; 2]> {
    static SHARED: OnceLock<Option<[Cluster; 2]>> = OnceLock::new();
    let start = || program().map(|program| [Cluster::single(&program), Cluster::start(&program, 3)]);
    SHARED.get_or_init(start).as_ref()
}
