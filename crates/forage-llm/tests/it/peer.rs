//! A scripted HTTP/1.1 server on the loopback interface that records all requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A reply of the script. Each connection gets one.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends these bytes, and then closes the connection.
    Raw(Vec<u8>),
    /// Sends these bytes in pieces of this size, with a pause between them.
    Drip(Vec<u8>, usize, Duration),
    /// Sends these bytes as soon as the condition is true.
    #[allow(dead_code, reason = "for the tests of the command")]
    Held(Vec<u8>, Arc<dyn Fn() -> bool + Send + Sync>),
    /// Sends these bytes, and then nothing until the client leaves. If empty, it does not even send a status
    /// line.
    Hang(Vec<u8>),
    /// Sends these bytes at once, no matter what the client sends.
    Blurt(&'static [u8]),
    /// Closes the connection after a second, without reading the request.
    Deaf,
}

/// Creates a JSON response with this status.
pub(crate) fn json(status: u16, extra_headers: &str, body: &str) -> Reply {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n");
    Reply::Raw(format!("{head}{extra_headers}\r\n{body}").into_bytes())
}

/// Creates a valid answer with this `content`, which must itself be JSON.
pub(crate) fn content(content: &str) -> Reply {
    json(200, "", &answer_body(content))
}

/// Creates a valid answer with this text.
pub(crate) fn good(text: &str) -> Reply {
    content(&format!("\"{text}\""))
}

/// Formats the body of a valid answer with this `content`.
pub(crate) fn answer_body(content: &str) -> String {
    format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":{content}}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{{"cached_tokens":5}}}}}}"#
    )
}

/// The server. Dropping it ends its thread.
pub(crate) struct Peer {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// Serves the replies in order, one per connection. It closes further connections at once.
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        let thread = thread::spawn({
            let (requests, over) = (Arc::clone(&requests), Arc::clone(&over));
            move || {
                for stream in listener.incoming() {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    // We ignore errors here: in several tests, clients leave early.
                    let _ = stream.and_then(|stream| serve(stream, replies.next(), &requests));
                }
            }
        });
        Self { address, requests, over, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the address without a path.
    pub(crate) fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns everything that it has received, head and body, with one text per connection.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Does the same as `requests`, but first waits until all connections are closed. A client may get its
    /// answer before the server has read its request.
    #[allow(dead_code, reason = "for the tests of the client")]
    pub(crate) fn into_requests(mut self) -> Vec<String> {
        self.end();
        self.requests()
    }

    fn end(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.end();
        }
    }
}

fn serve(mut stream: TcpStream, reply: Option<Reply>, requests: &Mutex<Vec<String>>) -> std::io::Result<()> {
    // A test that hangs should fail instead of blocking all others.
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    if matches!(reply, Some(Reply::Deaf)) {
        thread::sleep(Duration::from_millis(1000));
        return Ok(());
    }
    if let Some(Reply::Blurt(bytes)) = reply {
        stream.write_all(bytes)?;
        let mut received = vec![0; 65536];
        let count = stream.read(&mut received)?;
        requests.lock().unwrap().push(String::from_utf8_lossy(&received[..count]).into_owned());
        return Ok(());
    }
    let text = read_request(&mut stream)?;
    requests.lock().unwrap().push(text);
    match reply {
        Some(Reply::Raw(bytes)) => {
            stream.write_all(&bytes)?;
            stream.shutdown(Shutdown::Write)?;
            until_closed(&mut stream)
        }
        Some(Reply::Drip(bytes, size, pause)) => {
            for piece in bytes.chunks(size) {
                stream.write_all(piece)?;
                thread::sleep(pause);
            }
            Ok(())
        }
        Some(Reply::Held(bytes, is_time)) => {
            let started = std::time::Instant::now();
            while !is_time() && started.elapsed() < Duration::from_secs(30) {
                thread::sleep(Duration::from_millis(10));
            }
            stream.write_all(&bytes)?;
            stream.shutdown(Shutdown::Write)?;
            until_closed(&mut stream)
        }
        Some(Reply::Hang(bytes)) => {
            stream.write_all(&bytes)?;
            until_closed(&mut stream)
        }
        Some(Reply::Blurt(_) | Reply::Deaf) | None => Ok(()),
    }
}

fn until_closed(stream: &mut TcpStream) -> std::io::Result<()> {
    while stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 65536];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(text.into_owned());
            }
        }
        match stream.read(&mut piece)? {
            0 => return Ok(text.into_owned()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}
