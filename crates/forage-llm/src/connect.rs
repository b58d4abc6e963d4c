//! A connector for ureq whose every wait ends early when the call's budget says so.
//!
//! ureq's own time-outs end a call at a set time, but nothing in it can ask «is the caller still there?» while
//! a read blocks. So the TCP layer is ours: it connects, reads and writes in slices of [`WAIT_SLICE`] and looks
//! at the call's state between them. TLS is ureq's rustls layer on top, whose handshake goes through the same
//! slices.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped, WAIT_SLICE};
use socket2::{Domain, Protocol, Socket, Type};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, RustlsConnector, Transport,
};
use ureq::{Error, Timeout};

use crate::limits::{MAX_ADDRESSES, MAX_CONNECT};

/// What the layers of one call share.
#[derive(Debug)]
pub(crate) struct CallState {
    stop: Stop,
    idle: Option<Idle>,
    connected: AtomicBool,
    stopped: OnceLock<ConnectHalt>,
}

/// Why a call has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectHalt {
    Stopped(Stopped),
    /// Nothing moved for this long.
    Idle(Duration),
}

/// The watch over pauses of one connection.
#[derive(Debug)]
struct Idle {
    limit: Duration,
    begun: Instant,
    /// When a byte last went either way, in milliseconds since `begun`; [`Self::NOT_YET`] before there is a
    /// connection, whose making has a limit of its own.
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
    /// `idle` is the longest pause on the connection, if there is a limit.
    pub(crate) fn new(stop: Stop, idle: Option<Duration>) -> Self {
        Self { stop, idle: idle.map(Idle::new), connected: AtomicBool::new(false), stopped: OnceLock::new() }
    }

    /// Whether a connection, TLS included, was made, so that the request may have been sent.
    pub(crate) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }

    /// Why the call has to end, if it has to. The first reason stays.
    pub(crate) fn halt(&self) -> Option<ConnectHalt> {
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

    /// Notes that a byte went either way.
    fn touch(&self) {
        if let Some(idle) = &self.idle {
            idle.touch();
        }
    }

    /// Time left until the deadline.
    pub(crate) fn remaining(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.stop.deadline().map_or(Duration::MAX, left)
    }

    /// As [`Self::halt`], as an error for ureq's layers. They only carry it; the reason is read from here.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.halt() {
            Some(_) => Err(Error::Timeout(Timeout::Global)),
            None => Ok(()),
        }
    }
}

/// Connects within the budget of one call.
#[derive(Debug)]
pub(crate) struct BudgetConnector {
    pub(crate) state: Arc<CallState>,
    /// Shared by the calls of a client, so that certificates are set up once and TLS sessions resume.
    pub(crate) tls: Arc<RustlsConnector>,
}

impl Connector<()> for BudgetConnector {
    type Out = <RustlsConnector as Connector<BudgetTransport>>::Out;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Self::Out>, Error> {
        let stream = connect_any(&details.addrs, &self.state)?;
        self.state.touch();
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        let plain = BudgetTransport::new(stream, buffers, Arc::clone(&self.state))?;
        let transport = self.tls.connect(details, Some(plain))?;
        self.state.connected.store(true, Ordering::Release);
        Ok(transport)
    }
}

/// The first address that accepts. The time is shared: an address gets half of what is left, the last one all.
fn connect_any(addresses: &[SocketAddr], state: &CallState) -> Result<TcpStream, Error> {
    let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES)];
    let mut last = Error::HostNotFound;
    for (index, address) in addresses.iter().enumerate() {
        let share = if index + 1 == addresses.len() { 1 } else { 2 };
        let until = Instant::now() + (state.remaining() / share).min(MAX_CONNECT);
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

/// `EINPROGRESS` has no stable [`io::ErrorKind`]; Windows reports the same state as «would block».
fn is_in_progress(error: &io::Error) -> bool {
    const EINPROGRESS: [i32; 2] = [115, 36];
    error.kind() == io::ErrorKind::WouldBlock
        || (cfg!(unix) && error.raw_os_error().is_some_and(|code| EINPROGRESS.contains(&code)))
}

/// Waits until the socket is connected. std and socket2 offer no poll, so the socket is asked for its peer at
/// growing intervals; the longest is a slice.
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
    state: Arc<CallState>,
}

impl BudgetTransport {
    fn new(stream: TcpStream, buffers: LazyBuffers, state: Arc<CallState>) -> io::Result<Self> {
        stream.set_read_timeout(Some(WAIT_SLICE))?;
        stream.set_write_timeout(Some(WAIT_SLICE))?;
        Ok(Self { stream, buffers, state })
    }
}

/// Whether only the slice is over, not the stream.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Transport for BudgetTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        // `write`, not `write_all`: after a time-out the latter does not tell how much went out.
        let mut sent = 0;
        self.state.touch();
        while sent < amount {
            self.state.check()?;
            match self.stream.write(&self.buffers.output()[sent..amount]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => {
                    self.state.touch();
                    sent += count;
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        // A pause is time spent waiting here: a caller that takes long over a piece is none.
        self.state.touch();
        loop {
            self.state.check()?;
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

    /// Asked only before a connection is used again, which no call does.
    fn is_open(&mut self) -> bool {
        false
    }
}
