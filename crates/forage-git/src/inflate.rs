//! Inflates objects (RFC 1950) into a buffer of their declared size.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::error::ObjectFault;
use crate::limits;
use crate::paged::PagedFile;

/// An inflater. Its tables are large, so it should be reused.
#[derive(Default)]
pub(crate) struct Inflater {
    state: Box<DecompressorOxide>,
}

impl Inflater {
    /// Inflates the stream at an offset of a file, which must have exactly `size` bytes.
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
            let length = stream.len();
            let is_last = at + stream.len() as u64 >= file.size();
            let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
                | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
                | if is_last { 0 } else { inflate_flags::TINFL_FLAG_HAS_MORE_INPUT };
            let (status, read, written) = decompress(&mut self.state, stream, &mut bytes, filled, flags);
            filled += written;
            at += read as u64;
            match status {
                TINFLStatus::Done if filled == size => return Ok(bytes),
                // If only the end of the stream is in the next block, the inflater reports more output. A
                // stream with more data ends in that block, and we reject it there.
                TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput if read == length && !is_last => {}
                _ => return Err(ObjectFault::Damaged),
            }
        }
    }
}

/// Inflates a complete stream of unknown but limited size.
pub(crate) fn inflate(stream: &[u8]) -> Result<Vec<u8>, ObjectFault> {
    decompress_to_vec_zlib_with_limit(stream, limits::OBJECT_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => ObjectFault::TooLarge,
        _ => ObjectFault::Damaged,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its own file")]
mod tests {
    use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy};
    use miniz_oxide::deflate::compress_to_vec_zlib;

    use super::*;

    fn paged(bytes: &[u8]) -> PagedFile {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("pack"), bytes).unwrap();
        let root = Root::open(directory.path(), &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
        PagedFile::new(root.open_file(&RelPath::root().join(b"pack")).unwrap())
    }

    #[test]
    fn a_stream_is_whole_wherever_a_block_ends_in_it() {
        for text in ["", "x", "one two three, one two three", &"tree and parent ".repeat(40)] {
            for level in [0, 1, 9] {
                let stream = compress_to_vec_zlib(text.as_bytes(), level);
                for before in 0..=stream.len() {
                    let padding = vec![7; limits::BLOCK_BYTES as usize - before];
                    let at = padding.len() as u64;
                    let mut inflater = Inflater::default();
                    let mut read = |bytes: &[u8], size| inflater.read(&mut paged(bytes), at, size);
                    let file = [&padding[..], &stream, b"more of the pack"].concat();
                    assert_eq!(read(&file, text.len()).as_deref(), Ok(text.as_bytes()), "{before}");
                    assert_eq!(read(&file, text.len() + 1), Err(ObjectFault::Damaged), "{before}");
                    let cut = [&padding[..], &stream[..stream.len() - 1]].concat();
                    assert_eq!(read(&cut, text.len()), Err(ObjectFault::Damaged), "{before}");
                    if let Some(less) = text.len().checked_sub(1) {
                        assert_eq!(read(&file, less), Err(ObjectFault::Damaged), "{before}");
                    }
                }
            }
        }
    }
}
