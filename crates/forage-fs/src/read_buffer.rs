//! The buffer that files are read into.

use std::io::{self, Read};
use std::ops::Deref;

/// The bytes of a file, aligned to a page.
///
/// On some processors (AMD family 25, with `rep movsb`) the kernel takes twice as long to copy data to an
/// address 1 to 31 bytes after the start of a page. Large allocations would begin there, because glibc puts
/// them 16 bytes after the start. See bench/results.md for the effect.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    /// Bytes before `start` are padding for alignment.
    bytes: Vec<u8>,
    start: usize,
}

/// The smallest page size of all processors, in bytes.
const PAGE: usize = 4096;

/// Minimum capacity in bytes: most source files are smaller.
const BYTES_MIN: usize = 64 << 10;

/// Capacity in bytes up to which the buffer grows to the next power of two.
const DOUBLING: usize = 4 << 20;

impl ReadBuffer {
    /// Removes all bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps only the first `max` bytes.
    pub fn truncate(&mut self, max: usize) {
        self.bytes.truncate(self.start.saturating_add(max));
    }

    /// Removes the first `count` bytes and moves the others to the front.
    pub fn remove_first(&mut self, count: usize) {
        self.bytes.drain(self.start..self.start + count);
    }

    /// Makes room for `more` additional bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.room() >= more {
            return;
        }
        // Growing means new pages each time, so we should do this rarely, except for large files.
        let least = self.len().saturating_add(more);
        let wanted = match least {
            ..=DOUBLING => least.next_power_of_two().max(BYTES_MIN),
            _ => least.saturating_add(least / 8),
        };
        // We free unused memory before we allocate more.
        if self.is_empty() {
            *self = Self::default();
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(wanted.saturating_add(PAGE - 1));
        let start = bytes.as_ptr().align_offset(PAGE);
        bytes.resize(start, 0);
        bytes.extend_from_slice(self);
        *self = Self { bytes, start };
    }

    /// Returns the number of bytes that can be appended without allocating.
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Gives access to the underlying vector, for appending up to [`ReadBuffer::room`] bytes.
    pub(crate) fn spare(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends `count` zeros and returns them, to be overwritten.
    pub(crate) fn add_zeros(&mut self, count: usize) -> &mut [u8] {
        self.reserve(count);
        let from = self.bytes.len();
        self.bytes.resize(from + count, 0);
        &mut self.bytes[from..]
    }

    /// Appends up to `max` bytes and returns their number, which is smaller than `max` only at the end.
    pub fn read_more(&mut self, from: &mut impl Read, max: usize) -> io::Result<usize> {
        self.reserve(max);
        from.take(max as u64).read_to_end(&mut self.bytes)
    }
}

impl Deref for ReadBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_aligned(buffer: &ReadBuffer) -> bool {
        buffer.as_ptr().addr().is_multiple_of(PAGE)
    }

    #[test]
    fn buffer_stays_page_aligned() {
        let mut buffer = ReadBuffer::default();
        let mut all = Vec::new();
        for count in [1, 100, 4_095, 4_096, 70_000, 3, 1 << 20] {
            let bytes: Vec<u8> = (0..count).map(|at| at as u8).collect();
            assert_eq!(buffer.read_more(&mut &bytes[..], count).unwrap(), count);
            all.extend(bytes);
            assert!(is_aligned(&buffer) && *buffer == *all, "{count}");
        }
        let memory = buffer.as_ptr();
        buffer.remove_first(1 << 20);
        all.drain(..1 << 20);
        assert_eq!(*buffer, *all);
        buffer.truncate(5);
        assert_eq!(*buffer, all[..5]);
        buffer.add_zeros(2).copy_from_slice(b"ab");
        assert_eq!(buffer[5..], *b"ab");
        buffer.clear();
        assert!(buffer.is_empty());
        buffer.reserve(1 << 20);
        assert!(buffer.as_ptr() == memory && is_aligned(&buffer));
        // It must not read more than requested.
        assert_eq!(buffer.read_more(&mut &[7; 100][..], 10).unwrap(), 10);
    }
}
