//! Records of processes and their calls: the lines of sockets and journals, and the data of the page.

use std::sync::LazyLock;
use std::time::SystemTime;

use forage_tools::CallHead;
use forage_tools::journal::since_1970;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// A process that records calls.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Always `process`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A unique name on this machine.
    pub process: String,
    /// `mcp`, `ask`, or the name of another program.
    pub surface: String,
    /// Its process id.
    pub pid: Option<u32>,
    /// The version of Forage.
    pub version: String,
    /// Its start, as `2026-01-11T08:30:00.123Z`.
    pub began: String,
}

impl ProcessRecord {
    pub(crate) const KIND: &str = "process";

    /// Creates the record of this process. Its name must stay the same for as long as the process runs.
    pub fn own(surface: &str, version: &str) -> Self {
        static BEGAN: LazyLock<u64> = LazyLock::new(|| since_1970(SystemTime::now()));
        let (pid, us) = (std::process::id(), *BEGAN);
        let process = format!("{pid:x}{:08x}", (us / 1000) & 0xffff_ffff);
        Self { pid: Some(pid), version: version.to_owned(), ..Self::new(&process, surface, timestamp(us)) }
    }

    /// Creates the record of a process if we know only its calls.
    pub(crate) fn new(process: &str, surface: &str, began: String) -> Self {
        Self {
            kind: Self::KIND.to_owned(),
            process: process.to_owned(),
            surface: surface.to_owned(),
            pid: None,
            version: String::new(),
            began,
        }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct CallRecord {
    /// Always `call`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A unique name.
    pub id: String,
    /// The process of the call.
    pub process: String,
    /// Its number among the ended calls of the process.
    pub sequence: u64,
    /// Its start, as `2026-01-11T08:30:00.123Z`.
    pub began: String,
    /// The request and a summary of the answer.
    #[serde(flatten)]
    pub head: CallHead,
}

impl CallRecord {
    pub(crate) const KIND: &str = "call";

    /// Creates the record of a process's call number `sequence`.
    pub(crate) fn new(process: &str, sequence: u64, head: CallHead) -> Self {
        Self {
            kind: Self::KIND.to_owned(),
            id: format!("{process}-{sequence}"),
            process: process.to_owned(),
            sequence,
            began: timestamp(head.began_us),
            head,
        }
    }
}

/// Formats a time in microseconds since 1970 as `2026-01-11T08:30:00.123Z`.
pub fn timestamp(us: u64) -> String {
    let seconds = i64::try_from(us / 1_000_000).unwrap_or(i64::MAX);
    // A clock after the year 9999 is as wrong as one before 1970.
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    // We format the time ourselves because `time` writes a fraction of variable length, or rounds it.
    let (month, milliseconds) = (u8::from(month), us / 1000 % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_772_323_199, "2026-02-28T23:59:59.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(timestamp(seconds * 1_000_000), expected);
        }
    }
}
