//! A connection to a server, and the agent that sends requests over it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::RustlsConnector;
use ureq::{Agent, AsSendBody, Body};

use crate::connect::{BudgetConnector, CallState};
use crate::limits::MAX_CONNECT;
use crate::resolve::LateResolver;

/// Settings of connections.
#[derive(Debug, Clone)]
pub struct LineSettings {
    /// Trusted root certificates.
    pub roots: RootCerts,
    /// TLS state. Lines to the same server should share this, so that certificates are loaded once and
    /// sessions resume.
    pub tls: Arc<RustlsConnector>,
    /// Maximum time to connect to one address, excluding TLS.
    pub connect_timeout: Duration,
    /// Whether the connection stays open for the next call.
    pub keep_alive: bool,
}

impl Default for LineSettings {
    /// Trusts the authorities that browsers trust, and opens a new connection for each call.
    fn default() -> Self {
        Self {
            roots: RootCerts::WebPki,
            tls: Arc::default(),
            connect_timeout: MAX_CONNECT,
            keep_alive: false,
        }
    }
}

impl LineSettings {
    /// Trusts the authorities of the operating system, or those in the file that `SSL_CERT_FILE` names.
    ///
    /// # Errors
    ///
    /// Fails if there are no such authorities, or if they can't be read.
    pub fn with_system_roots(self) -> io::Result<Self> {
        let found = rustls_native_certs::load_native_certs();
        let roots: Vec<_> = found.certs.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
        match (roots.is_empty(), found.errors.into_iter().next()) {
            (false, _) => Ok(Self { roots: RootCerts::from(roots), ..self }),
            (true, Some(error)) => Err(io::Error::other(error)),
            (true, None) => Err(io::Error::other("the system has no trusted certificate authorities")),
        }
    }
}

/// Holds one connection at a time, for one call at a time.
#[derive(Debug)]
pub struct Line {
    agent: Agent,
    slot: Arc<CallSlot>,
}

/// The current call of a line. A connection outlives its calls, so its layers must look up the call here.
#[derive(Debug, Default)]
pub(crate) struct CallSlot(Mutex<Arc<CallState>>);

impl CallSlot {
    pub(crate) fn state(&self) -> Arc<CallState> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Line {
    /// Creates a line without connecting.
    pub fn new(settings: LineSettings) -> Self {
        let LineSettings { roots, tls, connect_timeout, keep_alive } = settings;
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("forage/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .max_idle_connections(usize::from(keep_alive))
            .build();
        let slot = Arc::<CallSlot>::default();
        let connector = BudgetConnector { slot: Arc::clone(&slot), tls, connect_timeout };
        Self { agent: Agent::with_parts(config, connector, LateResolver), slot }
    }

    /// Begins a call that replaces the previous one, and returns its state. `stop` limits every wait, and so
    /// does `idle`, the maximum pause on the connection, if given.
    pub fn begin(&self, stop: &Stop, idle: Option<Duration>) -> Arc<CallState> {
        let state = Arc::new(CallState::new(stop.clone(), idle));
        *self.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&state);
        state
    }

    /// Sends a request and reads the head of its response.
    ///
    /// # Errors
    ///
    /// Fails if there is no response. The state of the call shows whether the call was ended early.
    pub fn run(&self, request: Request<impl AsSendBody>) -> Result<Response<Body>, ureq::Error> {
        self.agent.run(request)
    }
}
