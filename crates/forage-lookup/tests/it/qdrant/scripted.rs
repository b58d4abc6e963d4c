//! A Qdrant server that gives scripted answers and records its requests.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustls::ServerConfig;

use crate::peer::http::{Reply, Request, Server};

type Script = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

/// The timeout for expected events.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Desk {
    scripts: Mutex<HashMap<String, Script>>,
    asked: Mutex<Vec<Request>>,
    changed: Condvar,
}

/// The server. Dropping it closes its sockets.
pub(crate) struct Scripted {
    pub(crate) server: Server,
    desk: Arc<Desk>,
    /// Receives a message for each client that has disconnected without an answer.
    left: Receiver<()>,
}

impl Scripted {
    pub(crate) fn start() -> Self {
        Self::serve("127.0.0.1:0", None)
    }

    /// Starts a server at an address that another one had before.
    pub(crate) fn at(address: &str) -> Self {
        Self::serve(address, None)
    }

    pub(crate) fn with_tls(tls: ServerConfig) -> Self {
        Self::serve("127.0.0.1:0", Some(Arc::new(tls)))
    }

    fn serve(address: &str, tls: Option<Arc<ServerConfig>>) -> Self {
        let desk = Arc::<Desk>::default();
        let (sender, left): (Sender<()>, _) = channel();
        let (answering, sender) = (Arc::clone(&desk), Mutex::new(sender));
        let handler = move |asked: &Request| {
            let kind = asked.kind().replace("/collections/code", "");
            let reply = match answering.scripts.lock().unwrap().get(&kind) {
                Some(script) => script(asked),
                None => Reply::error(404, &format!("no script for {kind:?}")),
            };
            answering.asked.lock().unwrap().push(asked.clone());
            answering.changed.notify_all();
            match reply {
                Reply::Never(None) => Reply::Never(Some(sender.lock().unwrap().clone())),
                reply => reply,
            }
        };
        let listener = TcpListener::bind(address).unwrap();
        Self { server: Server::start(listener, tls, Arc::new(handler)).unwrap(), desk, left }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub(crate) fn address(&self) -> String {
        self.server.address.to_string()
    }

    /// Sets the handler for requests of this kind: a method, and the path after the collection. Requests
    /// without a handler are rejected.
    pub(crate) fn on(&self, kind: &str, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.desk.scripts.lock().unwrap().insert(kind.to_owned(), Box::new(script));
    }

    /// Returns the requests of this kind in order.
    pub(crate) fn asked(&self, kind: &str) -> Vec<Request> {
        let asked = self.desk.asked.lock().unwrap();
        let is_it = |asked: &&Request| asked.kind().replace("/collections/code", "") == kind;
        asked.iter().filter(is_it).cloned().collect()
    }

    /// Returns the only request of this kind.
    pub(crate) fn asked_once(&self, kind: &str) -> Request {
        let mut asked = self.asked(kind);
        assert_eq!(asked.len(), 1, "requests of {kind}");
        asked.remove(0)
    }

    /// Counts the requests of all kinds.
    pub(crate) fn total(&self) -> usize {
        self.desk.asked.lock().unwrap().len()
    }

    pub(crate) fn wait_until_asked(&self) {
        let asked = self.desk.asked.lock().unwrap();
        let waited = self.desk.changed.wait_timeout_while(asked, PATIENCE, |asked| asked.is_empty());
        assert!(!waited.unwrap().1.timed_out(), "waited in vain for a request");
    }

    pub(crate) fn wait_until_abandoned(&self) {
        self.left.recv_timeout(PATIENCE).unwrap();
    }
}
