//! A connector for ureq whose waits all end early if the call must end.
//!
//! ureq's own timeouts end a call at a set time, but ureq has no way to check for cancellation while a read
//! blocks. We therefore implement the TCP layer ourselves: it connects, reads and writes in slices of
//! [`WAIT_SLICE`] and checks the call's state between them. TLS is ureq's rustls layer on top, whose
//! handshake uses the same slices.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped, WAIT_SLICE};
use socket2::{Domain, Protocol, Socket, Type};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, RustlsConnector, Transport,
};
use ureq::{Error, Timeout};

use crate::limits::MAX_ADDRESSES;
use crate::line::CallSlot;
use crate::resolve::addresses;

/// State and outcome of one call, shared by its layers.
#[derive(Debug, Default)]
pub struct CallState {
    stop: Stop,
    idle: Option<Idle>,
    stage: AtomicU8,
    stopped: OnceLock<ConnectHalt>,
}

/// Progress of a call's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ConnectStage {
    /// The call reuses the previous call's connection, or has not opened one yet.
    Reused,
    /// Resolving the server's name.
    Resolving,
    /// Trying the server's addresses.
    Connecting,
    /// Connected, and in the TLS handshake if there is one.
    Securing,
    /// The request may have been sent.
    Connected,
}

/// Reason why a call must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectHalt {
    /// The deadline passed, or the caller cancelled the call.
    Stopped(Stopped),
    /// No byte was transferred for this long.
    Idle(Duration),
}

/// Detects idle connections.
#[derive(Debug)]
struct Idle {
    limit: Duration,
    begun: Instant,
    /// Time of the last byte in either direction, in milliseconds since `begun`. This is [`Self::NOT_YET`]
    /// while connecting, which has its own limit.
    moved: AtomicU64,
}

impl Idle {
    const NOT_YET: u64 = u64::MAX;

    fn new(limit: Duration) -> Self {
        Self { limit, begun: Instant::now(), moved: AtomicU64::new(Self::NOT_YET) }
    }

    fn touch(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(Self::NOT_YET);
        self.moved.store(now, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        let moved = self.moved.load(Ordering::Acquire);
        moved != Self::NOT_YET
            && self.begun.elapsed() > Duration::from_millis(moved).saturating_add(self.limit)
    }
}

impl CallState {
    /// Creates the state of a call. `idle` is the maximum pause on the connection, if any.
    pub(crate) fn new(stop: Stop, idle: Option<Duration>) -> Self {
        Self { stop, idle: idle.map(Idle::new), ..Self::default() }
    }

    /// Returns the progress of the call's connection.
    pub fn stage(&self) -> ConnectStage {
        use ConnectStage::{Connected, Connecting, Resolving, Reused, Securing};
        let stage = self.stage.load(Ordering::Acquire);
        let known = [Reused, Resolving, Connecting, Securing];
        known.into_iter().find(|known| *known as u8 == stage).unwrap_or(Connected)
    }

    fn reach(&self, stage: ConnectStage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    /// Returns why the call must end, or `None` if it may continue. Later calls return the same reason.
    pub fn halt(&self) -> Option<ConnectHalt> {
        if let Some(halt) = self.stopped.get() {
            return Some(*halt);
        }
        let halt = if let Some(stopped) = self.stop.check() {
            ConnectHalt::Stopped(stopped)
        } else if let Some(idle) = self.idle.as_ref().filter(|idle| idle.is_over()) {
            ConnectHalt::Idle(idle.limit)
        } else {
            return None;
        };
        Some(*self.stopped.get_or_init(|| halt))
    }

    /// Records that a byte was transferred in either direction.
    fn touch(&self) {
        if let Some(idle) = &self.idle {
            idle.touch();
        }
    }

    /// Computes the time left until the deadline.
    pub(crate) fn remaining(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.stop.deadline().map_or(Duration::MAX, left)
    }

    /// Converts [`Self::halt`] to an error for ureq's layers. Note that this error has no reason; you must
    /// read it from this state.
    ///
    /// # Errors
    ///
    /// Fails if the call must end.
    pub fn check(&self) -> Result<(), Error> {
        match self.halt() {
            Some(_) => Err(Error::Timeout(Timeout::Global)),
            None => Ok(()),
        }
    }
}

/// Connects within the budget of one call.
#[derive(Debug)]
pub(crate) struct BudgetConnector {
    pub(crate) slot: Arc<CallSlot>,
    pub(crate) tls: Arc<RustlsConnector>,
    pub(crate) connect_timeout: Duration,
}

impl Connector<()> for BudgetConnector {
    type Out = <RustlsConnector as Connector<BudgetTransport>>::Out;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Self::Out>, Error> {
        let state = self.slot.state();
        state.reach(ConnectStage::Resolving);
        let addresses = addresses(details.uri, &state)?;
        state.reach(ConnectStage::Connecting);
        let stream = connect_any(&addresses, self.connect_timeout, &state)?;
        state.reach(ConnectStage::Securing);
        state.touch();
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        let plain = BudgetTransport::new(stream, buffers, Arc::clone(&self.slot))?;
        let transport = self.tls.connect(details, Some(plain))?;
        state.reach(ConnectStage::Connected);
        Ok(transport)
    }
}

/// Connects to the first address that accepts. Each address gets half of the remaining time, and the last one
/// all of it, but no address gets more than `max`.
fn connect_any(addresses: &[SocketAddr], max: Duration, state: &CallState) -> Result<TcpStream, Error> {
    let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES)];
    let mut last = Error::HostNotFound;
    for (index, address) in addresses.iter().enumerate() {
        let share = if index + 1 == addresses.len() { 1 } else { 2 };
        let until = Instant::now() + (state.remaining() / share).min(max);
        match connect_one(*address, until, state) {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                state.check()?;
                last = Error::Io(error);
            }
        }
    }
    Err(last)
}

fn connect_one(address: SocketAddr, until: Instant, state: &CallState) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    let connected = socket.connect(&address.into());
    if let Err(error) = connected {
        if !is_in_progress(&error) {
            return Err(error);
        }
        await_connected(&socket, until, state)?;
    }
    socket.set_nonblocking(false)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

/// Returns true if connecting continues in the background. `EINPROGRESS` has no stable [`io::ErrorKind`], and
/// Windows reports the same state as "would block".
fn is_in_progress(error: &io::Error) -> bool {
    // On Linux, and on macOS and the BSDs.
    const EINPROGRESS: [i32; 2] = [115, 36];
    error.kind() == io::ErrorKind::WouldBlock
        || (cfg!(unix) && error.raw_os_error().is_some_and(|code| EINPROGRESS.contains(&code)))
}

/// Waits until the socket is connected. Neither std nor socket2 has a poll function, so we ask for the peer
/// address at growing intervals of up to one slice.
fn await_connected(socket: &Socket, until: Instant, state: &CallState) -> io::Result<()> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if socket.peer_addr().is_ok() {
            return Ok(());
        }
        if state.halt().is_some() || Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer to the connection request"));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(WAIT_SLICE);
    }
}

/// A TCP stream that waits in slices.
#[derive(Debug)]
pub(crate) struct BudgetTransport {
    stream: TcpStream,
    buffers: LazyBuffers,
    slot: Arc<CallSlot>,
}

impl BudgetTransport {
    fn new(stream: TcpStream, buffers: LazyBuffers, slot: Arc<CallSlot>) -> io::Result<Self> {
        stream.set_read_timeout(Some(WAIT_SLICE))?;
        stream.set_write_timeout(Some(WAIT_SLICE))?;
        Ok(Self { stream, buffers, slot })
    }
}

/// Returns true if only the slice has ended, not the stream.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Transport for BudgetTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        // We can't use `write_all` because after a timeout it does not report how much was written.
        let (mut sent, state) = (0, self.slot.state());
        state.touch();
        while sent < amount {
            state.check()?;
            match self.stream.write(&self.buffers.output()[sent..amount]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => {
                    state.touch();
                    sent += count;
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        // Only time spent here should count as idle, not the time that a caller takes to process a piece.
        let state = self.slot.state();
        state.touch();
        loop {
            state.check()?;
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(count) => {
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns true if we can reuse the connection, because it is open and has no unread bytes.
    fn is_open(&mut self) -> bool {
        let probe = self.stream.set_nonblocking(true).and_then(|()| self.stream.peek(&mut [0]));
        let is_silent = probe.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        is_silent && self.stream.set_nonblocking(false).is_ok()
    }
}
