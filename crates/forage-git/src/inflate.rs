//! Objects inflated (RFC 1950), into as much memory as they are said to take.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::error::ObjectFault;
use crate::limits;
use crate::paged::PagedFile;

/// What inflates, with its tables, which are large enough to be used again.
#[derive(Default)]
pub(crate) struct Inflater {
    state: Box<DecompressorOxide>,
}

impl Inflater {
    /// The `size` bytes that the stream at a place of a file is of.
    pub(crate) fn read(
        &mut self,
        file: &mut PagedFile,
        mut at: u64,
        size: usize,
    ) -> Result<Vec<u8>, ObjectFault> {
        if size > limits::OBJECT_BYTES {
            return Err(ObjectFault::TooLarge);
        }
        let mut bytes = vec![0; size];
        let mut filled = 0;
        self.state.init();
        loop {
            let (block, start) = file.block(at)?;
            let stream = &block[start..];
            let is_last = at + stream.len() as u64 >= file.size();
            let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
                | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
                | if is_last { 0 } else { inflate_flags::TINFL_FLAG_HAS_MORE_INPUT };
            let (status, read, written) = decompress(&mut self.state, stream, &mut bytes, filled, flags);
            filled += written;
            at += read as u64;
            match status {
                TINFLStatus::Done if filled == size => return Ok(bytes),
                TINFLStatus::NeedsMoreInput if read > 0 => {}
                _ => return Err(ObjectFault::Damaged),
            }
        }
    }
}

/// A whole stream, of which only that it is short is known.
pub(crate) fn inflate(stream: &[u8]) -> Result<Vec<u8>, ObjectFault> {
    decompress_to_vec_zlib_with_limit(stream, limits::OBJECT_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => ObjectFault::TooLarge,
        _ => ObjectFault::Damaged,
    })
}
