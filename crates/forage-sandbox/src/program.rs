//! Finds the files that are needed to run a program.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Maximum bytes at the start of a program in which we search for its headers and the path of its loader.
/// Linkers put them first.
const HEAD_BYTES: u64 = 8 << 10;

/// The loader of a program's shared libraries.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Loader {
    /// The program needs no loader.
    None,
    At(PathBuf),
    /// The file can't be read, or is no 64-bit little-endian ELF file. We take it for a script, which may run
    /// any other program.
    OfScript,
}

/// Determines the loader that must be run with a program.
#[expect(clippy::disallowed_methods, reason = "a program of the user's, outside of every root")]
pub(super) fn loader(program: &Path) -> Loader {
    let mut head = Vec::new();
    let read = File::open(program).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.ok().and_then(|_| loader_in(&head)).unwrap_or(Loader::OfScript)
}

/// Reads the `PT_INTERP` segment of a 64-bit little-endian ELF file. Returns `None` for any other file.
fn loader_in(head: &[u8]) -> Option<Loader> {
    const PT_INTERP: u64 = 3;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    for index in 0..count {
        let entry = usize::try_from(table.checked_add(index * size)?).ok()?;
        if number(entry, 4)? == PT_INTERP {
            let (at, length) = (number(entry + 0x08, 8)?, number(entry + 0x20, 8)?);
            let (at, length) = (usize::try_from(at).ok()?, usize::try_from(length).ok()?);
            let path = head.get(at..at.checked_add(length)?)?.split(|&byte| byte == 0).next()?;
            return Some(Loader::At(PathBuf::from(std::str::from_utf8(path).ok()?)));
        }
    }
    Some(Loader::None)
}

/// Lists the library directories of a program with its own directory tree: `../lib`, relative both to its
/// path and to its real location.
#[expect(clippy::disallowed_methods, reason = "a program of the user's, outside of every root")]
pub(super) fn libraries_beside(program: &Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(program).ok();
    let places = [Some(program), real.as_deref()].into_iter().flatten();
    let prefix = |place: &Path| {
        let directory = place.parent()?;
        (directory.file_name()? == "bin").then(|| directory.parent().map(|prefix| prefix.join("lib")))?
    };
    places.filter_map(prefix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(
        target_os = "linux",
        target_env = "gnu",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    fn the_loader_of_this_very_program_is_found() {
        let Loader::At(path) = loader(&std::env::current_exe().unwrap()) else { panic!("there is one") };
        assert!(path.exists() && path.to_str().unwrap().contains("ld"), "{path:?}");
    }

    #[test]
    fn truncated_elf_is_treated_as_a_script() {
        let mut program = b"\x7fELF\x02\x01".to_vec();
        program.resize(64, 0);
        assert_eq!(loader_in(&program), Some(Loader::None), "no segments");
        assert_eq!(loader_in(b"#!/bin/sh\n"), None);
        // A table after the end of the file, and one whose offset overflows.
        for table in [1 << 20, u64::MAX] {
            program[0x20..0x28].copy_from_slice(&u64::to_le_bytes(table));
            program[0x36..0x3A].copy_from_slice(&[56, 0, 2, 0]);
            assert_eq!(loader_in(&program), None);
        }
    }
}
