//! A safetensors file: eight bytes that say how long the header is, a header in JSON that says where each tensor is,
//! and the numbers.
//!
//! Such files go from hand to hand. Nothing in one is believed before it is compared with how long the file is, and
//! memory is taken for nothing but tensors that the model needs, in the shape that it needs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::files::{open, unavailable, unreadable};
use crate::encoder::EncodingError;
use crate::limits;

const ADVICE: &str = "use all-MiniLM-L6-v2's, whole";

/// Bytes of a number.
const NUMBER: u64 = 4;

/// Bytes that are turned into numbers at once.
const BLOCK: usize = 64 << 10;

/// The tensors of a file.
pub(super) struct ModelWeights {
    path: PathBuf,
    file: File,
    tensors: Map<String, Value>,
    /// Where the numbers begin.
    start: u64,
    /// How many bytes of numbers there are.
    length: u64,
    /// How many have not been read. Tensors don't share bytes, so that no file is read more than once.
    unread: u64,
}

impl ModelWeights {
    /// `None` if there is no such file.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, EncodingError> {
        let Some((mut file, length)) = open(path, limits::WEIGHTS_BYTES)? else { return Ok(None) };
        let mut head = [0; 8];
        file.read_exact(&mut head).map_err(|error| unreadable(path, &error))?;
        let header = u64::from_le_bytes(head);
        let rest = length.saturating_sub(8);
        if header > limits::WEIGHTS_HEADER_BYTES || header > rest {
            let what = format!("is no safetensors file: {header} bytes of header in {length}; {ADVICE}");
            return Err(unavailable(path, &what));
        }
        let mut text = Vec::new();
        (&mut file).take(header).read_to_end(&mut text).map_err(|error| unreadable(path, &error))?;
        let tensors: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| unavailable(path, &format!("has a damaged header: {error}; {ADVICE}")))?;
        let length = rest - header;
        let weights =
            Self { path: path.to_owned(), file, tensors, start: 8 + header, length, unread: length };
        weights.check_end()?;
        Ok(Some(weights))
    }

    /// A file that was cut off may still have all that is needed. It is not the file that it should be.
    fn check_end(&self) -> Result<(), EncodingError> {
        let end = |tensor: &Value| tensor.get("data_offsets")?.get(1)?.as_u64();
        match self.tensors.iter().find(|(_, tensor)| end(tensor) > Some(self.length)) {
            Some((name, _)) => Err(self.damaged(name, "is beyond the end of the file")),
            None => Ok(()),
        }
    }

    /// How many rows a tensor of two dimensions has, as the header says.
    pub(super) fn rows(&self, name: &str) -> Result<usize, EncodingError> {
        let shape = self.tensor(name)?.get("shape").and_then(Value::as_array);
        let rows = shape.filter(|shape| shape.len() == 2).and_then(|shape| shape[0].as_u64());
        rows.and_then(|rows| usize::try_from(rows).ok())
            .ok_or_else(|| self.damaged(name, "should have two dimensions"))
    }

    /// The numbers of a tensor that must have this shape.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncodingError> {
        let tensor = self.tensor(name)?;
        let part = |name| tensor.get(name).unwrap_or(&Value::Null);
        let (kind, found, place) = (part("dtype"), part("shape"), part("data_offsets"));
        if *kind != "F32" {
            return Err(self.damaged(name, &format!("is {}, not \"F32\"", short(kind))));
        }
        if *found != Value::from(shape) {
            return Err(self.damaged(name, &format!("has the shape {}, not {shape:?}", short(found))));
        }
        let offset = |at: usize| place.get(at).and_then(Value::as_u64);
        let bytes = shape.iter().try_fold(NUMBER, |bytes, &size| bytes.checked_mul(size as u64));
        let extent = match (offset(0), offset(1), bytes) {
            (Some(start), Some(end), Some(bytes)) => {
                let is_there =
                    end <= self.length && end.checked_sub(start) == Some(bytes) && bytes <= self.unread;
                is_there.then_some((start, bytes))
            }
            _ => None,
        };
        let Some((start, bytes)) = extent else {
            return Err(self.damaged(name, &format!("can't be at {} in {} bytes", short(place), self.length)));
        };
        self.unread -= bytes;
        self.numbers(start, bytes).map_err(|error| unreadable(&self.path, &error))
    }

    fn numbers(&mut self, start: u64, bytes: u64) -> std::io::Result<Vec<f32>> {
        self.file.seek(SeekFrom::Start(self.start + start))?;
        let mut numbers = Vec::with_capacity((bytes / NUMBER) as usize);
        let mut block = vec![0; BLOCK];
        let mut left = bytes as usize;
        while left > 0 {
            let block = &mut block[..left.min(BLOCK)];
            self.file.read_exact(block)?;
            numbers.extend(block.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
            left -= block.len();
        }
        Ok(numbers)
    }

    fn tensor(&self, name: &str) -> Result<&Map<String, Value>, EncodingError> {
        let tensor = self.tensors.get(name).and_then(Value::as_object);
        tensor.ok_or_else(|| self.damaged(name, "is not there"))
    }

    /// What is wrong with a tensor.
    pub(super) fn damaged(&self, name: &str, what: &str) -> EncodingError {
        unavailable(&self.path, &format!("doesn't fit the model: {name} {what}; {ADVICE}"))
    }
}

/// A value of the header for a message.
fn short(value: &Value) -> String {
    let mut text = value.to_string();
    text.truncate(text.floor_char_boundary(80));
    text
}
