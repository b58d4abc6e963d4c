//! Commits.

use crate::id::ObjectId;
use crate::limits;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitObject {
    /// Its tree of files.
    pub tree: ObjectId,
    /// The commits that it came after; none of the first one, and of those behind which a shallow clone has nothing.
    pub parents: Vec<ObjectId>,
    /// Whether it has parents that a shallow clone lacks: what it changed is not known.
    pub is_cut_off: bool,
    /// When it was made, in seconds since 1970.
    pub time: i64,
    /// Its message. What is no UTF-8 is replaced.
    pub message: String,
}

impl CommitObject {
    /// Reads the bytes of an object. What is not needed, signatures for one, is not looked at.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (mut tree, mut parents, mut time) = (None, Vec::new(), 0);
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
                // As git takes what is none.
                b"committer" => time = seconds(value).unwrap_or(0),
                _ => {}
            }
        }
        let message = String::from_utf8_lossy(rest).into_owned();
        Some(Self { tree: tree?, parents, is_cut_off: false, time, message })
    }
}

/// The time of `NAME <ADDRESS> SECONDS ZONE`.
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
        // An empty line within a signature has a space in front.
        assert_eq!(commit.unwrap().message, " -----END\n\nSubject\n\nBody\n");
        let sound = SIGNED.replace("\n\n -", "\n \n -");
        let commit = CommitObject::parse(format!("{sound}Subject\n\nBody\n").as_bytes()).unwrap();
        assert_eq!((commit.message.as_str(), commit.time), ("Subject\n\nBody\n", 1_700_000_000));
        assert_eq!(commit.parents.len(), 2);
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
