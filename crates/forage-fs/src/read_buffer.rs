//! The buffer that files are read into.

use std::io::{self, Read};
use std::ops::Deref;

/// Bytes of a file. They begin where a page of memory does: to copy what the kernel has to a place 1 to 31 bytes behind the
/// start of a page takes twice as long on some processors (AMD family 25, where `rep movsb` does it), and that is where a
/// large allocation begins (glibc puts it 16 bytes behind). See bench/README.md for what it gives.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    /// What is in front of `start` is for alignment.
    bytes: Vec<u8>,
    start: usize,
}

/// Bytes of a page, of the smallest that processors have.
const PAGE: usize = 4096;

/// Bytes that there is room for at least: most files of source code have fewer.
const LEAST: usize = 64 << 10;

/// Bytes up to which it grows to the next power of two.
const DOUBLING: usize = 4 << 20;

impl ReadBuffer {
    /// Forgets the bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Forgets all but the first bytes.
    pub fn truncate(&mut self, most: usize) {
        self.bytes.truncate(self.start.saturating_add(most));
    }

    /// Forgets the first bytes; the others come forward.
    pub fn remove_first(&mut self, count: usize) {
        self.bytes.drain(self.start..self.start + count);
    }

    /// Makes room for so many more bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.room() >= more {
            return;
        }
        // Each time that it grows its pages are new ones: seldom, then, but for what is large.
        let least = self.len().saturating_add(more);
        let wanted = match least {
            ..=DOUBLING => least.next_power_of_two().max(LEAST),
            _ => least.saturating_add(least / 8),
        };
        // Memory that holds nothing is given back first.
        if self.is_empty() {
            *self = Self::default();
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(wanted.saturating_add(PAGE - 1));
        let start = bytes.as_ptr().align_offset(PAGE);
        bytes.resize(start, 0);
        bytes.extend_from_slice(self);
        *self = Self { bytes, start };
    }

    /// Bytes that can come behind those that are there without new memory.
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// The vector behind it, to be filled behind what is in it as far as there is [`ReadBuffer::room`].
    pub(crate) fn spare(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Adds so many zeros, and returns where they are, to be filled.
    pub(crate) fn add_zeros(&mut self, count: usize) -> &mut [u8] {
        self.reserve(count);
        let from = self.bytes.len();
        self.bytes.resize(from + count, 0);
        &mut self.bytes[from..]
    }

    /// Reads up to `most` bytes behind those that are there, and returns how many came: fewer only at the end.
    pub fn read_more(&mut self, from: &mut impl Read, most: usize) -> io::Result<usize> {
        self.reserve(most);
        from.take(most as u64).read_to_end(&mut self.bytes)
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
    fn it_begins_with_a_page_however_it_grows() {
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
        // It reads no more than it is asked for.
        assert_eq!(buffer.read_more(&mut &[7; 100][..], 10).unwrap(), 10);
    }
}
