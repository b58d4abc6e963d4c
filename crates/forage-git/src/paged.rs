//! A file with a block cache.

use std::ops::Range;
use std::rc::Rc;

use forage_fs::{OpenedFile, ReadBuffer};
use hashbrown::HashMap;

use crate::error::ObjectFault;
use crate::limits;

/// A file whose blocks are cached, for random reads that are close to each other.
pub(crate) struct PagedFile {
    file: OpenedFile,
    /// Number of bytes read at once.
    block_bytes: u64,
    /// Maximum number of cached blocks.
    max: usize,
    blocks: HashMap<u64, Rc<[u8]>>,
    buffer: ReadBuffer,
}

impl PagedFile {
    pub(crate) fn new(file: OpenedFile) -> Self {
        Self::with_blocks(file, limits::BLOCK_BYTES, limits::BLOCKS)
    }

    /// Opens the index of a pack. This will be cached completely if it has at most `max` bytes.
    pub(crate) fn index(file: OpenedFile, max: u64) -> Self {
        match file.size() <= max {
            true => Self::with_blocks(file, limits::INDEX_BLOCK_BYTES, usize::MAX),
            false => Self::new(file),
        }
    }

    fn with_blocks(file: OpenedFile, block_bytes: u64, max: usize) -> Self {
        Self { file, block_bytes, max, blocks: HashMap::new(), buffer: ReadBuffer::default() }
    }

    pub(crate) fn size(&self) -> u64 {
        self.file.size()
    }

    /// Reads the block that contains the byte at an offset. Also returns the position of the byte in the
    /// block.
    pub(crate) fn block(&mut self, at: u64) -> Result<(Rc<[u8]>, usize), ObjectFault> {
        let size = self.block_bytes;
        let (number, within) = (at / size, (at % size) as usize);
        if let Some(block) = self.blocks.get(&number) {
            return Ok((Rc::clone(block), within));
        }
        let end = (number * size).saturating_add(size).min(self.file.size());
        if at >= end {
            return Err(ObjectFault::Damaged);
        }
        self.buffer.clear();
        self.file.read_range(&mut self.buffer, number * size..end).map_err(|_| ObjectFault::Damaged)?;
        if self.blocks.len() == self.max {
            self.blocks.clear();
        }
        let block: Rc<[u8]> = Rc::from(&self.buffer[..]);
        self.blocks.insert(number, Rc::clone(&block));
        Ok((block, within))
    }

    /// Copies a range of bytes, up to the end of the file at most.
    pub(crate) fn copy(&mut self, range: Range<u64>) -> Result<Vec<u8>, ObjectFault> {
        let end = range.end.min(self.file.size());
        let mut bytes = Vec::with_capacity(end.saturating_sub(range.start) as usize);
        let mut at = range.start;
        while at < end {
            let (block, start) = self.block(at)?;
            let piece = &block[start..];
            let piece = &piece[..piece.len().min((end - at) as usize)];
            bytes.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        Ok(bytes)
    }
}
