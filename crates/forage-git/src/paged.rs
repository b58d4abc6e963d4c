//! A file read in blocks that are kept.

use std::ops::Range;
use std::rc::Rc;

use forage_fs::{OpenedFile, ReadBuffer};
use hashbrown::HashMap;

use crate::error::ObjectFault;
use crate::limits;

/// A file of which small pieces are read, many near each other.
pub(crate) struct PagedFile {
    file: OpenedFile,
    /// Bytes that are read at a time.
    block_bytes: u64,
    /// Blocks that are kept.
    most: usize,
    blocks: HashMap<u64, Rc<[u8]>>,
    buffer: ReadBuffer,
}

impl PagedFile {
    pub(crate) fn new(file: OpenedFile) -> Self {
        Self::of_blocks(file, limits::BLOCK_BYTES, limits::BLOCKS)
    }

    /// An index of a pack, all of which may be kept if it has no more than so many bytes.
    pub(crate) fn index(file: OpenedFile, most: u64) -> Self {
        match file.size() <= most {
            true => Self::of_blocks(file, limits::INDEX_BLOCK_BYTES, usize::MAX),
            false => Self::new(file),
        }
    }

    fn of_blocks(file: OpenedFile, block_bytes: u64, most: usize) -> Self {
        Self { file, block_bytes, most, blocks: HashMap::new(), buffer: ReadBuffer::default() }
    }

    pub(crate) fn size(&self) -> u64 {
        self.file.size()
    }

    /// The block with the byte at a place, and where in it that is.
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
        if self.blocks.len() == self.most {
            self.blocks.clear();
        }
        let block: Rc<[u8]> = Rc::from(&self.buffer[..]);
        self.blocks.insert(number, Rc::clone(&block));
        Ok((block, within))
    }

    /// A copy of some bytes, or of those of them that the file has.
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
