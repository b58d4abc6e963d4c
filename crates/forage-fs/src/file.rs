//! An open regular file and its contents.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

use crate::read_buffer::ReadBuffer;
use crate::state::{FileState, nanoseconds_now};
use crate::sys::{self, NodeKind};

/// How reliably the state of a file reflects changes made after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateReliability {
    /// Every change of the content changes the state.
    All,
    /// Some changes may be missed for now, because the file was changed a moment ago or could not be written
    /// back.
    NotYet,
    /// Changes may be missed at any time, because the file system does not write back changes through a
    /// memory mapping.
    Never,
}

/// Returns true if an open file can be mapped into memory safely. This must be on a local disk, and only this
/// user may write to it, so that no other user can change or truncate the mapping. An unknown answer counts
/// as false.
pub fn is_safe_to_map(file: &File) -> bool {
    sys::is_local(file) && sys::is_ours_alone(file)
}

/// An open regular file. The type was checked on the open handle.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    size: u64,
    device: u64,
    state: Option<FileState>,
}

/// The result of reading a file into a buffer with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The whole file is in the buffer.
    Whole,
    /// The file is larger than the limit. The buffer contains its beginning, and [`OpenedFile::reader`]
    /// continues directly after that.
    TooLarge,
}

impl OpenedFile {
    /// Wraps an open handle. Returns `None` if it is not a regular file.
    pub(crate) fn new(file: File) -> io::Result<Option<Self>> {
        let status = sys::status(&file)?;
        let sys::FileStatus { kind, size, device, state } = status;
        Ok((kind == NodeKind::File).then_some(Self { file, size, device, state }))
    }

    /// Returns the name of the kernel file system that contains the file, if it is on another device than
    /// `device`.
    pub(crate) fn kernel_file_system(&self, device: Option<u64>) -> Option<&'static str> {
        // We already know the device, so we need to query the file system only if it differs.
        if device == Some(self.device) { None } else { sys::kernel_file_system(&self.file) }
    }

    /// Returns the state of the file when it was opened, or `None` if the system does not provide enough
    /// information.
    pub fn state(&self) -> Option<FileState> {
        self.state
    }

    /// Returns the state of the file and how reliably it reflects later changes, or `None` if the system does
    /// not provide enough information. A caller that stores data about the text with the state must call this
    /// before reading the text, and must compare the state afterwards.
    ///
    /// If the last change is some time ago (see [`limits::SETTLING`](crate::limits::SETTLING)), the file is
    /// first written back. From then on none of its pages can be changed through a memory mapping without
    /// updating its times.
    pub fn stable_state(&self) -> Option<(FileState, StateReliability)> {
        let now = nanoseconds_now();
        // If we wrote the file back now, we would have to repeat this later, and would slow down the process
        // that is writing to it.
        let state = self.state_now()?;
        if state.may_hide_a_change(now) {
            return Some((state, StateReliability::NotYet));
        }
        match sys::write_back(&self.file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return Some((state, StateReliability::Never));
            }
            Err(_) => return Some((state, StateReliability::NotYet)),
        }
        // A page that was changed while we wrote others back may still be unprotected, but then the times are
        // recent.
        let state = self.state_now()?;
        Some((
            state,
            if state.may_hide_a_change(now) { StateReliability::NotYet } else { StateReliability::All },
        ))
    }

    /// Queries the current state of the file.
    pub fn state_now(&self) -> Option<FileState> {
        sys::status(&self.file).ok()?.state
    }

    /// Returns the size in bytes when the file was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads the file into `buffer`, which is cleared first and keeps its memory. This reads up to `limit`
    /// bytes, and a little more so that a larger file is detected. The size is only a hint: a file may grow
    /// or shrink while we read it.
    pub fn read_into(&mut self, buffer: &mut ReadBuffer, limit: usize) -> io::Result<Contents> {
        buffer.clear();
        let wanted = usize::try_from(self.size).unwrap_or(usize::MAX).min(limit);
        loop {
            // With room for one extra byte, the end of the file shows as a short read. This saves a read of
            // zero bytes.
            buffer.reserve((wanted + 1).saturating_sub(buffer.len()).max(1));
            let room = buffer.room();
            let read = sys::read_some(&mut self.file, buffer.spare())?;
            if buffer.len() > limit {
                return Ok(Contents::TooLarge);
            }
            // The last read is short, but some network file systems return short reads elsewhere too.
            if read == 0 || (read < room && buffer.len() as u64 >= self.size) {
                return Ok(Contents::Whole);
            }
        }
    }

    /// Appends a range of the file to `buffer`, without changing the position of the next read.
    ///
    /// # Errors
    ///
    /// Fails if the bytes can't be read or the file is shorter than the range.
    pub fn read_range(&mut self, buffer: &mut ReadBuffer, range: Range<u64>) -> io::Result<()> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        sys::read_exact_at(&mut self.file, buffer.add_zeros(wanted), range.start)
    }

    /// Gives access to the handle for reading the file in pieces.
    pub fn reader(&mut self) -> &mut (impl Read + use<>) {
        &mut self.file
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(portable_disk)))]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::path::Path;

    use super::*;

    fn settled_in(directory: &Path) -> StateReliability {
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        std::fs::write(file.path(), "text").unwrap();
        let young = OpenedFile::new(File::open(file.path()).unwrap()).unwrap().unwrap();
        assert_eq!(young.stable_state().unwrap().1, StateReliability::NotYet);
        std::thread::sleep(crate::limits::SETTLING + std::time::Duration::from_millis(100));
        young.stable_state().unwrap().1
    }

    #[test]
    fn states_are_trusted_only_with_write_back() {
        assert_eq!(settled_in(Path::new(env!("CARGO_MANIFEST_DIR"))), StateReliability::All);
        let memory = Path::new("/dev/shm");
        if sys::open_root(memory).is_ok_and(|memory| sys::device_with_states(&memory).is_err()) {
            assert_eq!(settled_in(memory), StateReliability::Never);
        }
    }
}
