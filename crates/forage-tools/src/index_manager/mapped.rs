//! Index file whose large parts are mapped into memory.

use std::fs::File;
use std::io;

use forage_search::index::ReadAt;

/// A file that only [`forage_fs::PrivateDirectory::replace`] changes. We map large parts into memory instead
/// of reading them, which takes a sixth of the time. If a page can't be read later, or if the file is
/// truncated, the kernel kills a process that then accesses the mapping (SIGBUS). We therefore use this only
/// in short-lived processes.
pub(super) struct Mapped(pub(super) File);

impl ReadAt for Mapped {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.0.byte_len()
    }

    // On other systems we can't check that all of it is readable, or we can't replace a mapped file.
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "nobody but this program may write the file, and it never does in place")]
    fn bytes(&self, range: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
        let map = || {
            let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
            let mut options = memmap2::MmapOptions::new();
            // SAFETY: The mapped bytes may change or disappear only if someone writes the file in place or
            // truncates it. No one else may write it: it was opened through a `PrivateDirectory`, so it
            // belongs to this user, has only one name and is not writable for others. `is_safe_to_map` checks
            // this again on the open handle, and also that the file is on a local disk. This program replaces
            // the file by another one and never modifies the mapped one. Anyone with this user's rights can
            // also write the memory of this process. We do not trust the bytes: we check every number read
            // from them against the length of the mapping.
            let mapped = unsafe { options.offset(range.start).len(length).map(&self.0)? };
            // This reads all of it, or returns an error.
            mapped.advise(memmap2::Advice::PopulateRead)?;
            Ok::<_, io::Error>(bytes::Bytes::from_owner(mapped))
        };
        match forage_fs::is_safe_to_map(&self.0) {
            true => map().or_else(|_| self.0.bytes(range.clone())),
            false => self.0.bytes(range.clone()),
        }
    }
}
