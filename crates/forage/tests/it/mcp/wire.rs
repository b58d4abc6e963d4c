//! Two raw clients: one on pipes, and one over HTTP with a plain socket.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::{PATIENCE, is_stateless};
use crate::Project;

/// A server process that we kill when the test ends.
pub(super) struct Server {
    pub(super) child: Child,
    log: Mutex<Receiver<String>>,
}

impl Server {
    pub(super) fn start(project: &Project, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let program = Command::new(env!("CARGO_BIN_EXE_forage"));
        Self::start_by(program, project, arguments, environment)
    }

    /// Starts the server by means of another program, which runs the command that follows its own arguments.
    pub(super) fn start_by(
        mut program: Command,
        project: &Project,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = program
            .arg("mcp")
            .args(arguments)
            .current_dir(&project.root)
            .env_clear()
            .env(crate::HOME, &project.home)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, log) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        Self { child, log: Mutex::new(log) }
    }

    /// Waits for a line of the log that contains `text`.
    pub(super) fn log_line(&self, text: &str) -> String {
        let log = self.log.lock().unwrap();
        loop {
            let line = log.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {text:?} in the log"));
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client on pipes.
pub(crate) struct Pipes {
    pub(super) server: Server,
    pub(super) stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Pipes {
    pub(crate) fn start(project: &Project, arguments: &[&str]) -> Self {
        Self::start_with(project, arguments, &[])
    }

    pub(super) fn start_with(project: &Project, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut server = Server::start(project, arguments, environment);
        let (tell, lines) = channel();
        let stdout = BufReader::new(server.child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let stdin = server.child.stdin.take();
        Self { server, stdin, lines }
    }

    /// Starts a server and performs the handshake, if the revision has one.
    pub(crate) fn connect(project: &Project, arguments: &[&str], revision: &str) -> Self {
        let mut client = Self::start(project, arguments);
        if !is_stateless(revision) {
            client.handshake(super::initialize(revision, 0));
        }
        client
    }

    pub(crate) fn handshake(&mut self, initialize: Value) -> Value {
        self.send(&initialize);
        let answer = self.receive();
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Waits for the next message. Anything else on stdout is an error.
    pub(super) fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    pub(super) fn receive_within(&self, time: std::time::Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(time).ok()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Ends the session as a client does, and waits for the server to exit.
    pub(crate) fn close(mut self) {
        drop(self.stdin.take());
        self.server.child.wait().unwrap();
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.receive();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }
}

/// An HTTP response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Response {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the messages. A JSON body has one, and a stream has any number.
    pub(super) fn messages(&self) -> Vec<Value> {
        if !self.head.contains("text/event-stream") {
            return vec![serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter(|data| !data.trim().is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// A server on HTTP and its address.
pub(super) struct Http {
    pub(super) server: Server,
    pub(super) address: String,
    pub(super) token: Option<&'static str>,
}

impl Http {
    pub(crate) fn start(project: &Project, arguments: &[&str]) -> Self {
        Self::start_with(project, arguments, &[])
    }

    pub(super) fn start_with(project: &Project, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments = [&["--http", "127.0.0.1:0"], arguments].concat();
        Self::from_server(Server::start(project, &arguments, environment))
    }

    pub(super) fn from_server(server: Server) -> Self {
        let line = server.log_line("listening on");
        let address = line.split("http://").nth(1).unwrap().trim_end_matches("/mcp").to_owned();
        Self { server, address, token: None }
    }

    /// Sends a header and body unchanged on a separate connection.
    pub(super) fn raw(&self, request: &[u8]) -> Response {
        let mut stream = self.connect();
        // A server that refuses the request may close the connection before we have sent everything.
        let _ = stream.write_all(request);
        read(&mut stream)
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(super) fn head(&self, revision: &str, message: &Value, length: usize) -> String {
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nContent-Length: {length}\r\nConnection: close\r\n",
            self.address
        );
        if message["method"] != "initialize" {
            head += &format!("MCP-Protocol-Version: {revision}\r\n");
        }
        if is_stateless(revision) {
            head += &format!("Mcp-Method: {}\r\n", message["method"].as_str().unwrap_or_default());
            if let Some(name) = message["params"]["name"].as_str() {
                head += &format!("Mcp-Name: {name}\r\n");
            }
        }
        if let Some(token) = self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        head + "\r\n"
    }

    pub(super) fn post(&self, revision: &str, message: &Value) -> Response {
        let body = message.to_string();
        self.raw((self.head(revision, message, body.len()) + &body).as_bytes())
    }

    /// Sends a request and returns the last message of the answer, which is the response.
    pub(crate) fn ask(&self, revision: &str, message: &Value) -> Value {
        let response = self.post(revision, message);
        response.messages().pop().unwrap_or_else(|| panic!("no answer: {response:?}"))
    }

    /// Sends a request. Dropping the stream disconnects without reading the answer.
    pub(super) fn begin(&self, revision: &str, message: &Value) -> TcpStream {
        let mut stream = self.connect();
        let body = message.to_string();
        stream.write_all((self.head(revision, message, body.len()) + &body).as_bytes()).unwrap();
        stream
    }
}

pub(super) fn read(stream: &mut TcpStream) -> Response {
    let response = read_all(stream);
    let _ = stream.shutdown(Shutdown::Both);
    response
}

pub(super) fn read_all(stream: &mut impl Read) -> Response {
    let mut bytes = Vec::new();
    // The connection may end with a reset if the server did not read everything.
    let mut piece = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunked(body) } else { body.to_owned() };
    Response { status, head: head.to_ascii_lowercase(), body }
}

fn dechunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
