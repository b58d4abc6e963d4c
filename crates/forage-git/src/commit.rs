//! Commits.

use crate::id::ObjectId;
use crate::limits;

/// A commit object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitObject {
    /// The tree of its files.
    pub tree: ObjectId,
    /// The parent commits. This is empty for a root commit, and for a commit at which a shallow clone ends.
    pub parents: Vec<ObjectId>,
    /// True if a shallow clone lacks its parents, so that we don't know which files it changed.
    pub is_cut_off: bool,
    /// The commit time, in seconds since 1970.
    pub time: i64,
    /// The message in UTF-8. Invalid bytes are replaced.
    pub message: String,
}

/// Decodes a message. Without a known encoding, it is UTF-8.
fn decoded(message: &[u8], encoding: Option<&[u8]>) -> String {
    match encoding.and_then(encoding_rs::Encoding::for_label) {
        Some(encoding) => encoding.decode_without_bom_handling(message).0.into_owned(),
        None => String::from_utf8_lossy(message).into_owned(),
    }
}

impl CommitObject {
    /// Parses the bytes of a commit object. We ignore headers that we do not need, for example signatures.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (mut tree, mut parents, mut time, mut encoding) = (None, Vec::new(), 0, None);
        let mut rest = bytes;
        // The header ends with an empty line.
        loop {
            let end = rest.iter().position(|&byte| byte == b'\n')?;
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if line.is_empty() {
                break;
            }
            let Some(at) = line.iter().position(|&byte| byte == b' ') else { continue };
            let (name, value) = (&line[..at], &line[at + 1..]);
            match name {
                b"tree" if tree.is_none() => tree = Some(ObjectId::from_hex(value)?),
                b"parent" if parents.len() < limits::PARENTS => parents.push(ObjectId::from_hex(value)?),
                // Git also treats this as 0 if it is invalid.
                b"committer" => time = seconds(value).unwrap_or(0),
                b"encoding" => encoding = Some(value),
                _ => {}
            }
        }
        Some(Self { tree: tree?, parents, is_cut_off: false, time, message: decoded(rest, encoding) })
    }
}

/// Parses the time in `NAME <ADDRESS> SECONDS ZONE`.
fn seconds(person: &[u8]) -> Option<i64> {
    let mut words = person.rsplit(|&byte| byte == b' ');
    words.next()?;
    std::str::from_utf8(words.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str = "tree 1111111111111111111111111111111111111111\n\
        parent 2222222222222222222222222222222222222222\n\
        parent 3333333333333333333333333333333333333333\n\
        author A <a@b> 1 +0000\n\
        committer B C <b@c> 1700000000 -0700\n\
        gpgsig -----BEGIN\n parent of nothing\n\n -----END\n\
        \n";

    #[test]
    fn the_header_is_read_and_the_message_is_the_rest() {
        let commit = CommitObject::parse(format!("{SIGNED}Subject\n\nBody\n").as_bytes());
        // An empty line within a signature begins with a space, so this one ends the header.
        assert_eq!(commit.unwrap().message, " -----END\n\nSubject\n\nBody\n");
        let sound = SIGNED.replace("\n\n -", "\n \n -");
        let commit = CommitObject::parse(format!("{sound}Subject\n\nBody\n").as_bytes()).unwrap();
        assert_eq!((commit.message.as_str(), commit.time), ("Subject\n\nBody\n", 1_700_000_000));
        assert_eq!(commit.parents.len(), 2);
    }

    /// `i18n.commitEncoding` adds a header.
    #[test]
    fn messages_are_decoded_by_their_header() {
        let message = |header: &str, text: &[u8]| {
            let head = SIGNED.replace("\n\n -", "\n \n -").replace("gpgsig", &format!("{header}gpgsig"));
            CommitObject::parse(&[head.as_bytes(), text].concat()).unwrap().message
        };
        assert_eq!(message("encoding ISO-8859-1\n", b"Caf\xe9"), "Caf\u{e9}");
        assert_eq!(message("encoding windows-1251\n", b"\xcf\xf0\xe8"), "\u{41f}\u{440}\u{438}");
        assert_eq!(message("encoding unknown\n", "Caf\u{e9}".as_bytes()), "Caf\u{e9}");
        assert_eq!(message("", b"Caf\xe9"), "Caf\u{fffd}");
    }

    #[test]
    fn fuzz_any_bytes_are_a_commit_or_none() {
        forage_fuzz::target!(&forage_fuzz::seeds([SIGNED]), |bytes| {
            if let Some(commit) = CommitObject::parse(bytes) {
                assert!(commit.parents.len() <= limits::PARENTS);
            }
        });
    }
}
