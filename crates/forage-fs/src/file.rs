//! An open regular file and its contents.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

use crate::read_buffer::ReadBuffer;
use crate::state::{FileState, nanoseconds_now};
use crate::sys::{self, NodeKind};

/// The extent to which the state of a file tells of changes that come after it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTelling {
    /// Every change of the content changes the state.
    All,
    /// Not all of them yet: the file was changed a moment ago, or could not be written back.
    NotYet,
    /// Nothing for certain: its file system does not write back what is changed through a mapping.
    Never,
}

/// Returns whether an open file can be mapped into memory without others being able to change or take away what is read
/// there: it is on a disk of this machine, and only this user may write it. False where the system does not tell.
pub fn is_safe_to_map(file: &File) -> bool {
    sys::is_local(file) && sys::is_ours_alone(file)
}

/// A regular file, checked on the open handle.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    size: u64,
    device: u64,
    state: Option<FileState>,
}

/// The outcome of reading a file into a buffer with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// All of it is in the buffer.
    Whole,
    /// It has more bytes than the limit. The buffer holds its beginning, all that was read of it, and
    /// [`OpenedFile::reader`] goes on right behind that.
    TooLarge,
}

impl OpenedFile {
    /// `None` when the handle is not a regular file.
    pub(crate) fn new(file: File) -> io::Result<Option<Self>> {
        let status = sys::status(&file)?;
        let sys::FileStatus { kind, size, device, state } = status;
        Ok((kind == NodeKind::File).then_some(Self { file, size, device, state }))
    }

    /// The name of the kernel's file system that it lies on, if that is another device than this one.
    pub(crate) fn kernel_file_system(&self, device: Option<u64>) -> Option<&'static str> {
        // The device comes with the size; only what lies on another one has to be asked for.
        if device == Some(self.device) { None } else { sys::kernel_file_system(&self.file) }
    }

    /// Its state when it was opened; `None` where the system does not tell enough of it.
    pub fn state(&self) -> Option<FileState> {
        self.state
    }

    /// Returns the state of the file, and what it tells of changes that come after this call; `None` where the system
    /// does not tell enough of it. Whoever keeps the state with something about the text calls this before reading the
    /// text, and compares the state afterwards.
    ///
    /// A file whose last change is some time ago is written back first, so that none of its pages can be changed through
    /// a mapping without the times of the file: see [`limits::SETTLING`](crate::limits::SETTLING) for how long ago.
    pub fn settle(&self) -> Option<(FileState, ChangeTelling)> {
        let now = nanoseconds_now();
        // It would have to be done again, and whoever writes it is not to be held up.
        let state = self.state_now()?;
        if state.may_hide_a_change(now) {
            return Some((state, ChangeTelling::NotYet));
        }
        match sys::write_back(&self.file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return Some((state, ChangeTelling::Never));
            }
            Err(_) => return Some((state, ChangeTelling::NotYet)),
        }
        // A page that was changed while the others were written may not be protected, but the times are of now then.
        let state = self.state_now()?;
        Some((state, if state.may_hide_a_change(now) { ChangeTelling::NotYet } else { ChangeTelling::All }))
    }

    /// Its state now.
    pub fn state_now(&self) -> Option<FileState> {
        sys::status(&self.file).ok()?.state
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads the file into `buffer`, which is cleared first and keeps its memory, up to `limit` bytes, one more, and what there
    /// happens to be room for behind them.
    /// The size is only a hint: a file that grows or shrinks meanwhile is read as it is.
    pub fn read_into(&mut self, buffer: &mut ReadBuffer, limit: usize) -> io::Result<Contents> {
        buffer.clear();
        let wanted = usize::try_from(self.size).unwrap_or(usize::MAX).min(limit);
        loop {
            // One byte more than expected lets a short read, not an empty one, tell the end.
            buffer.reserve((wanted + 1).saturating_sub(buffer.len()).max(1));
            let room = buffer.room();
            let read = sys::read_some(&mut self.file, buffer.spare())?;
            if buffer.len() > limit {
                return Ok(Contents::TooLarge);
            }
            // At the end a read is cut short; some network file systems cut others short too.
            if read == 0 || (read < room && buffer.len() as u64 >= self.size) {
                return Ok(Contents::Whole);
            }
        }
    }

    /// Reads these bytes of the file behind what is in `buffer`; where it is read from next does not change.
    ///
    /// # Errors
    /// They can't be read, or there are not so many.
    pub fn read_range(&mut self, buffer: &mut ReadBuffer, range: Range<u64>) -> io::Result<()> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        sys::read_exact_at(&mut self.file, buffer.add_zeros(wanted), range.start)
    }

    /// The handle, to be read in pieces.
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

    fn settled_in(directory: &Path) -> ChangeTelling {
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        std::fs::write(file.path(), "text").unwrap();
        let young = OpenedFile::new(File::open(file.path()).unwrap()).unwrap().unwrap();
        assert_eq!(young.settle().unwrap().1, ChangeTelling::NotYet);
        std::thread::sleep(crate::limits::SETTLING + std::time::Duration::from_millis(100));
        young.settle().unwrap().1
    }

    #[test]
    fn a_state_is_trusted_where_pages_are_written_back_and_nowhere_else() {
        assert_eq!(settled_in(Path::new(env!("CARGO_MANIFEST_DIR"))), ChangeTelling::All);
        let memory = Path::new("/dev/shm");
        if sys::open_root(memory).is_ok_and(|memory| sys::device_with_states(&memory).is_err()) {
            assert_eq!(settled_in(memory), ChangeTelling::Never);
        }
    }
}
