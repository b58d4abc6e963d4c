//! The audit log of a team's server. It has one line per call, with the token's name, the tool and the
//! outcome. It must never contain the query or the answer.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use anyhow::Context as _;
use forage_fs::NamedFile;
use forage_tools::{CallSink, EndedCall, sanitize};
use schemars::JsonSchema;
use serde::Serialize;

use crate::limits::AUDIT_COMPLAINT;
use crate::telemetry::timestamp;

/// A line of the file that `--audit` names.
#[derive(JsonSchema, Serialize)]
pub(crate) struct AuditLine<'a> {
    /// When the call ended, in UTC.
    time: String,
    /// The name of its token; null if tokens have none.
    token: Option<&'a str>,
    /// The tool by its built-in name; `unknown` for a tool that does not exist.
    tool: &'a str,
    /// The client's name as it reports it, if known; else `unknown`.
    client: &'a str,
    /// `answered`, the `code` of an error, `asked` if the client must answer first, `refused` for a call that
    /// is not part of the protocol, or `cancelled`.
    outcome: &'a str,
    /// Milliseconds from the call to its answer.
    milliseconds: u64,
    /// Bytes of the text of the answer.
    bytes: usize,
}

/// The audit file. It is opened only once, because the sandbox may prevent us from opening it again.
pub(super) struct AuditFile {
    file: Mutex<File>,
    path: String,
    complained: Mutex<Option<Instant>>,
    is_cut: AtomicBool,
}

impl AuditFile {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        let opened = NamedFile::at(path).and_then(|named| named.append());
        let file = opened.with_context(|| format!("the audit log can't be written to {shown}"))?;
        Ok(Self {
            file: Mutex::new(file),
            path: shown,
            complained: Mutex::default(),
            is_cut: AtomicBool::new(false),
        })
    }

    /// Complains that calls are not being audited, at most once per [`AUDIT_COMPLAINT`].
    fn complain(&self, error: &io::Error) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.is_none_or(|last| last.elapsed() >= AUDIT_COMPLAINT) {
            *complained = Some(Instant::now());
            let problem = format!("forage: calls are not being audited: {}: {error}", self.path);
            let _ = writeln!(io::stderr(), "{}", sanitize(&problem));
        }
    }
}

impl CallSink<EndedCall<'_>> for AuditFile {
    fn ended(&self, call: EndedCall<'_>) {
        let EndedCall { tool, token, client, outcome, bytes, elapsed } = call;
        let time = timestamp(SystemTime::now());
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let line = AuditLine { time, token, tool, client, outcome, milliseconds, bytes };
        let written = serde_json::to_string(&line).map_err(io::Error::other).and_then(|line| {
            // This must be a single write in append mode, so that lines of several processes do not
            // interleave.
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            // The previous write may have left a partial line.
            let begin = if self.is_cut.swap(false, Ordering::Relaxed) { "\n" } else { "" };
            file.write_all(format!("{begin}{line}\n").as_bytes())
        });
        if let Err(error) = written {
            self.is_cut.store(true, Ordering::Relaxed);
            self.complain(&error);
        }
    }
}
