//! `seal`: the lengths and hashes of all files of a collection, while nobody writes to it.
//!
//! It is written when a collection is closed that was written to, and removed before the next change. It is one of files
//! that the engine leaves as they are when it loads them, so that a seal outlasts the sessions of readers, those that are
//! killed included. A collection without one was left by a process that was killed while it wrote, or by a version without
//! seals: it is recovered from its journal, and sealed when it is next closed.
//!
//! The first line has the format and XXH3 of the rest, which is an object of paths, each with its bytes and XXH3.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::failure::{EdgeFailure, of_file};
use crate::{directory, limits};

const FORMAT: &str = "forage_seal_1";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    files: BTreeMap<String, (u64, u64)>,
}

/// What a seal says of the files that are there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SealVerdict {
    /// There is none.
    Unsealed,
    /// They are those that were sealed.
    Whole,
    /// What is not as it was: a path in the collection.
    Damaged(String),
    /// There is one more, of which the seal says nothing.
    Foreign(String),
}

impl Seal {
    /// Of the files of a collection that no engine has open.
    fn of(collection: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for (name, path) in directory::sealed_files(collection)? {
            files.insert(name, facts(&path)?);
        }
        Ok(Self { files })
    }

    fn to_text(&self) -> io::Result<String> {
        let files = serde_json::to_string(&self.files)?;
        Ok(format!("{FORMAT} {:016x}\n{files}\n", xxh3_64(files.as_bytes())))
    }

    /// `None` if it is damaged itself.
    fn from_text(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (head, files) = text.strip_suffix('\n')?.split_once('\n')?;
        let is_whole = head == format!("{FORMAT} {:016x}", xxh3_64(files.as_bytes()));
        is_whole.then(|| serde_json::from_str(files).ok()).flatten().map(|files| Self { files })
    }
}

/// Length and hash of a file.
#[expect(clippy::disallowed_methods, reason = "the user's own collection, of which every file was looked at")]
fn facts(path: &Path) -> io::Result<(u64, u64)> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Xxh3::new();
    let mut piece = vec![0; limits::PIECE_BYTES];
    let mut length = 0;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok((length, hash.digest()));
        }
        hash.update(&piece[..read]);
        length += read as u64;
    }
}

/// Compares the files of a collection with its seal, all of them whole. Only for who holds the lock of the collection, after
/// its files were looked at.
pub(crate) fn verify(collection: &Path) -> io::Result<SealVerdict> {
    let Some(text) = directory::read_seal(collection)? else { return Ok(SealVerdict::Unsealed) };
    let Some(seal) = Seal::from_text(&text) else {
        return Ok(SealVerdict::Damaged(directory::SEAL.to_owned()));
    };
    let found = directory::sealed_files(collection)?;
    for (name, sealed) in &seal.files {
        let is_whole = match found.get(name) {
            Some(path) => facts(path)? == *sealed,
            None => false,
        };
        if !is_whole {
            return Ok(SealVerdict::Damaged(name.clone()));
        }
    }
    let foreign = found.into_keys().find(|name| !seal.files.contains_key(name));
    Ok(foreign.map_or(SealVerdict::Whole, SealVerdict::Foreign))
}

/// Seals a collection that no engine has open and whose journal is empty, if `load` leaves its files as they are. The
/// engine mends what a killed process left when it loads, at times in more than one step; a collection in which that does
/// not come to an end stays without a seal.
pub(crate) fn close(
    collection: &Path,
    mut load: impl FnMut() -> Result<(), EdgeFailure>,
) -> Result<(), EdgeFailure> {
    let of_collection = || Seal::of(collection).map_err(of_file(collection));
    let mut seal = of_collection()?;
    for _ in 0..limits::MENDING_LOADS {
        load()?;
        let after = of_collection()?;
        if after == seal {
            let text = seal.to_text().map_err(of_file(collection))?;
            let path = collection.join(directory::SEAL);
            return Ok(directory::replace(&path, text.as_bytes()).map_err(of_file(collection))?);
        }
        seal = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_comes_back_as_it_was_and_with_any_bit_changed_not_at_all() {
        let files = [("shard/a b\"c".to_owned(), (0, u64::MAX)), ("collection.json".to_owned(), (7, 1))];
        let seal = Seal { files: files.into() };
        let text = seal.to_text().unwrap();
        assert_eq!(Seal::from_text(text.as_bytes()), Some(seal));
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Seal::from_text(&bytes), None, "{bit}");
        }
        for end in 0..text.len() {
            assert_eq!(Seal::from_text(&text.as_bytes()[..end]), None, "{end}");
        }
    }

    #[test]
    fn fuzz_only_what_was_written_is_a_seal() {
        let seal =
            Seal { files: [("shard/a".to_owned(), (1, 2)), ("collection.json".to_owned(), (3, 4))].into() };
        forage_fuzz::target!(&forage_fuzz::seeds([seal.to_text().unwrap()]), |input| {
            if let Some(seal) = Seal::from_text(input) {
                assert_eq!(seal.to_text().unwrap().as_bytes(), input);
            }
        });
    }
}
