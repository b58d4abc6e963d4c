//! The socket from which other processes of the same user read this process's calls. It sends one line of
//! JSON for the process, then one for each call: first the calls kept so far, then each new one as it ends.

use std::fs::Permissions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_fs::{PrivateDirectory, PrivateError, PrivatePlace};
use thiserror::Error;

use super::limits;
use super::recent_calls::RecentCalls;

/// The extension of socket files.
const EXTENSION: &str = "sock";

/// Reasons why there is no socket.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The socket's directory can't be created, or must not be trusted.
    #[error(transparent)]
    Directory(#[from] PrivateError),
    /// The socket can't be created.
    #[error("can't create a socket in {directory}: {source}")]
    Bind {
        /// The directory.
        directory: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// The socket. Dropping this closes it.
pub struct CallSocket {
    path: PathBuf,
    kept: Arc<RecentCalls>,
}

impl CallSocket {
    /// Starts to serve calls on separate threads.
    ///
    /// # Errors
    ///
    /// Returns a [`SocketError`] if the directory or the socket can't be created.
    pub fn open(place: &PrivatePlace, kept: Arc<RecentCalls>) -> Result<Self, SocketError> {
        let directory = place.create()?;
        let path = directory.path().join(format!("{}.{EXTENSION}", kept.process().process));
        let failed = |source| SocketError::Bind { directory: directory.path().to_owned(), source };
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let socket = Self { path, kept: Arc::clone(&kept) };
        // Only the user can access the directory, so no other user can have connected before this.
        std::fs::set_permissions(&socket.path, Permissions::from_mode(0o600)).map_err(failed)?;
        std::thread::Builder::new()
            .name("calls".to_owned())
            .spawn(move || accept(&listener, &kept))
            .map_err(failed)?;
        Ok(socket)
    }
}

#[expect(clippy::disallowed_methods, reason = "a socket of our own, in a directory that is the user's alone")]
fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

impl Drop for CallSocket {
    fn drop(&mut self) {
        self.kept.close();
        // This fails in the sandbox. The next process that finds the socket without a listener will then
        // remove it.
        let _ = remove(&self.path);
    }
}

fn accept(listener: &UnixListener, kept: &Arc<RecentCalls>) {
    let readers = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if !is_own(&stream) || readers.load(Ordering::Acquire) >= limits::READERS {
            continue;
        }
        // Only this thread adds readers.
        readers.fetch_add(1, Ordering::AcqRel);
        let (kept, held) = (Arc::clone(kept), Arc::clone(&readers));
        let served = std::thread::Builder::new().name("calls".to_owned()).spawn(move || {
            // An error means that the reader has gone.
            let _ = send_calls(stream, &kept);
            held.fetch_sub(1, Ordering::AcqRel);
        });
        if served.is_err() {
            readers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Returns true if the other end is a process of the same user.
fn is_own(stream: &UnixStream) -> bool {
    #[cfg(target_os = "linux")]
    {
        let own = rustix::process::geteuid();
        rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == own)
    }
    // On other systems, the permissions of the directory and the socket must keep other users out.
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream;
        true
    }
}

fn send_calls(mut stream: UnixStream, kept: &RecentCalls) -> io::Result<()> {
    stream.set_write_timeout(Some(limits::WRITE_TIME))?;
    stream.write_all(line(kept.process())?.as_bytes())?;
    let mut sent = 0;
    while let Some(calls) = kept.next(sent, limits::READER_WAIT) {
        if calls.is_empty() {
            // Without new calls, only a write shows whether the reader has gone.
            stream.write_all(b"\n")?;
        }
        for call in calls {
            stream.write_all(line(&*call)?.as_bytes())?;
            sent = call.sequence;
        }
    }
    Ok(())
}

fn line(record: &impl serde::Serialize) -> io::Result<String> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

/// Lists all sockets in the directory, including those without a listener.
pub(crate) fn all(directory: &PrivateDirectory) -> Vec<PathBuf> {
    let Ok(entries) = directory.entries() else { return Vec::new() };
    let path = |name: &std::ffi::OsStr| directory.path().join(name);
    let sockets = entries.iter().map(|entry| path(&entry.name));
    sockets.filter(|path| path.extension().is_some_and(|it| it == EXTENSION)).collect()
}

/// Reads the lines of a process until it ends. Removes a socket without a listener.
///
/// # Errors
///
/// Fails if the connection fails or breaks, or if another user is listening there.
pub(crate) fn read(path: &Path, mut take: impl FnMut(&str)) -> io::Result<()> {
    let stream = UnixStream::connect(path).inspect_err(|error| {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            let _ = remove(path);
        }
    })?;
    if !is_own(&stream) {
        return Err(io::Error::other("another user is listening there"));
    }
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(limits::LINE_BYTES as u64).read_until(b'\n', &mut line)?;
        // This is the end, or a line that is too long.
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            take(text.trim());
        }
    }
}
