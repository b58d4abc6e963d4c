//! Facts about a client: its profile, its token and its roots.
#![expect(deprecated, reason = "roots are deprecated since 2026-07-28, but most clients still use them")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forage_tools::tools::UsesCache;
use forage_tools::{ShownEarlier, clip, sanitize_line};
use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{InputRequest, InputRequests, InputResponses, ListRootsRequest};
use rmcp::service::RequestContext;

use super::caller::{Caller, CallerLimit, CallerTurn, TurnSlot};
use super::limits;
use super::profiles::Profile;

/// The key of the roots among a client's answers.
const ROOTS: &str = "roots";

/// Looks up the profile of the client that sent a request.
pub(super) fn profile(request: &RequestContext<RoleServer>) -> Profile {
    request.client_info().map_or_else(Profile::unknown, |client| Profile::for_client(&client.name))
}

/// Takes the turn of a call that came with a rate-limited token, or the limit that refused it. Each turn can
/// be taken once.
pub(super) fn turn(request: &RequestContext<RoleServer>) -> Option<Result<CallerTurn, CallerLimit>> {
    request.extensions.get::<Parts>()?.extensions.get::<TurnSlot>()?.take()
}

/// The holder of the token that a request came with.
pub(super) fn caller(request: &RequestContext<RoleServer>) -> Option<Arc<Caller>> {
    request.extensions.get::<Parts>()?.extensions.get::<Arc<Caller>>().cloned()
}

/// Returns true if we may ask the client's model and the question has a deadline. This needs a handshake:
/// otherwise the client alone decides how long the question takes.
pub(super) fn answers_for_its_model(request: &RequestContext<RoleServer>) -> bool {
    !is_stateless(request)
        && !profile(request).sampling_hangs()
        && request.client_capabilities().is_some_and(|client| client.sampling.is_some())
}

/// Returns true if the request uses a revision without a handshake, in which a server asks the client through
/// its answers.
pub(super) fn is_stateless(request: &RequestContext<RoleServer>) -> bool {
    request.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// The client's roots.
pub(super) enum ClientRoots {
    /// The client offers none, or named none.
    None,
    /// The client offers roots but did not name them. The message is shown once, in the answer.
    Silent(String),
    /// The directories that the roots name.
    Directories(NamedRoots),
    /// We must ask the client by answering the call with these questions.
    Ask(InputRequests),
}

/// State that is kept for a connection.
#[derive(Debug, Default)]
pub(super) struct ConnectionMemory {
    /// True if the client offers roots but did not name them when asked. We do not ask it again until it
    /// reports that its roots have changed.
    is_silent: AtomicBool,
    /// The roots that the most recent answer named.
    named: Mutex<Vec<PathBuf>>,
    /// The code that earlier answers have shown.
    pub(super) shown: Arc<ShownEarlier>,
    /// The files with names whose uses the client has asked for.
    pub(super) gathered: Arc<UsesCache>,
}

impl ConnectionMemory {
    /// Handles a notification that the client's roots have changed. A client that sends this can also name
    /// its roots.
    pub(super) fn has_changed(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
    }

    /// Returns true if the most recent answer named these roots.
    pub(super) fn has_named(&self, roots: &[PathBuf]) -> bool {
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) == roots
    }

    /// Records that an answer has named these roots.
    pub(super) fn record_named(&self, roots: Vec<PathBuf>) {
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }
}

/// Asks a client that offers roots for them. If the client does not answer, we will not ask it again, and
/// treat it as if it had no roots.
///
/// # Errors
///
/// Fails with a message for the caller if the client named roots and none of them can be used.
pub(super) async fn roots(
    request: &RequestContext<RoleServer>,
    answers: &InputResponses,
    known: &ConnectionMemory,
) -> Result<ClientRoots, String> {
    if request.client_capabilities().is_none_or(|capabilities| capabilities.roots.is_none()) {
        return Ok(ClientRoots::None);
    }
    if is_stateless(request) {
        let Some(answer) = answers.get(ROOTS) else {
            let ask = InputRequest::ListRoots(ListRootsRequest::default());
            return Ok(ClientRoots::Ask(InputRequests::from([(ROOTS.to_owned(), ask)])));
        };
        let roots = answer["roots"].as_array().map(Vec::as_slice).unwrap_or_default();
        return directories(roots.iter().filter_map(|root| root["uri"].as_str()));
    }
    if known.is_silent.load(Ordering::Relaxed) {
        return Ok(ClientRoots::None);
    }
    let problem = match tokio::time::timeout(limits::ROOTS_TIMEOUT, request.peer.list_roots()).await {
        Ok(Ok(listed)) => return directories(listed.roots.iter().map(|root| root.uri.as_str())),
        Ok(Err(error)) => {
            clip(&sanitize_line(&format!("failed to list them ({error})")), limits::SHOWN_BYTES)
        }
        Err(_) => "did not list them in time".to_owned(),
    };
    known.is_silent.store(true, Ordering::Relaxed);
    let remark =
        format!("the client offers roots but {problem}, so the server's own roots are searched; {ADVICE}");
    Ok(ClientRoots::Silent(remark))
}

const ADVICE: &str = "to choose others, start the server with --root DIR";

/// The client's roots that are directories on this machine, and a remark about the others.
#[derive(Default)]
pub(super) struct NamedRoots {
    pub(super) found: Vec<PathBuf>,
    pub(super) left_out: Option<String>,
}

fn directories<'a>(uris: impl Iterator<Item = &'a str>) -> Result<ClientRoots, String> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for uri in uris {
        match directory(uri) {
            Some(directory) if found.len() < limits::CLIENT_ROOTS => found.push(directory),
            _ => others.push(clip(&sanitize_line(uri), limits::SHOWN_BYTES)),
        }
    }
    let left_out = (!others.is_empty()).then(|| {
        others.truncate(limits::CLIENT_ROOTS);
        format!("roots of the client that are not searched: {}", others.join(", "))
    });
    match (found.is_empty(), left_out) {
        (false, left_out) => Ok(ClientRoots::Directories(NamedRoots { found, left_out })),
        (true, None) => Ok(ClientRoots::None),
        (true, Some(others)) => Err(format!("{others}; {ADVICE}")),
    }
}

/// Parses the directory that a `file:` URI names on this machine. Returns `None` for any other URI.
fn directory(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let decoded = percent_encoding::percent_decode_str(path.split(['?', '#']).next()?).decode_utf8().ok()?;
    // `file:///C:/x` names `C:/x`.
    let drive = cfg!(windows) && decoded.as_bytes().get(2) == Some(&b':');
    let path = PathBuf::from(decoded.get(usize::from(drive)..)?);
    (path.is_absolute() && !decoded.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_uri_names_a_directory_and_nothing_else_does() {
        #[cfg(not(windows))]
        let directories = [
            ("file:///home/me/my%20project", Some("/home/me/my project")),
            ("file://localhost/srv", Some("/srv")),
            ("file:///a%2Fb", Some("/a/b")),
            ("file:///not%zz", Some("/not%zz")),
        ];
        #[cfg(windows)]
        let directories = [
            ("file:///C:/Users/me/my%20project", Some("C:/Users/me/my project")),
            ("file:///c%3A/srv", Some("c:/srv")),
            ("file://localhost/C:/not%zz", Some("C:/not%zz")),
            ("file:///home/me", None),
        ];
        let others = [
            ("file://host/share", None),
            ("file:///not-utf8%ff", None),
            ("file:///nul%00", None),
            ("file:relative", None),
            ("https://example.org/", None),
            ("/plain/path", None),
        ];
        for (uri, expected) in directories.into_iter().chain(others) {
            assert_eq!(directory(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}
