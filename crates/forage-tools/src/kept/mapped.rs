//! A file of an index, of which large parts are mapped into memory.

use std::fs::File;
use std::io;

use forage_search::index::ReadAt;

/// A file that only [`forage_fs::PrivateDirectory::replace`] changes, of which large parts are not read but mapped into memory: that takes a sixth
/// of the time. A page that can't be read later on, or is cut off the file, ends the processes that have it mapped, so
/// that it is for those that end soon.
pub(super) struct Mapped(pub(super) File);

impl ReadAt for Mapped {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.0.byte_len()
    }

    // Elsewhere it is not told whether all of it can be read, or a file that is mapped can't be replaced.
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "nobody but this program may write the file, and it never does in place")]
    fn bytes(&self, range: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
        let map = || {
            let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
            let mut options = memmap2::MmapOptions::new();
            // SAFETY: What is mapped may change or go away only if somebody writes the file in place or cuts it. Nobody
            // else may write it: it was opened through a `PrivateDirectory`, so that it is this user's, of one name and
            // writable for nobody else, and `is_safe_to_map` asks the open handle that once more, and for a disk of this
            // machine. This program replaces it by another file, and leaves the mapped one as it is. Whoever has the
            // rights of this user can write the memory of this process, too. The bytes are taken for what they may be:
            // every number read from them is checked against the length of the mapping.
            let mapped = unsafe { options.offset(range.start).len(length).map(&self.0)? };
            // Reads all of it, or says that it can't.
            mapped.advise(memmap2::Advice::PopulateRead)?;
            Ok::<_, io::Error>(bytes::Bytes::from_owner(mapped))
        };
        match forage_fs::is_safe_to_map(&self.0) {
            true => map().or_else(|_| self.0.bytes(range.clone())),
            false => self.0.bytes(range.clone()),
        }
    }
}
