//! Object ids.

use std::fmt;

use crate::limits;

/// Length in bytes of SHA-1 and SHA-256 ids.
const LENGTHS: [usize; 2] = [20, 32];

/// An object id: the SHA-1 or SHA-256 hash of the object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    length: u8,
    bytes: [u8; 32],
}

impl ObjectId {
    /// Creates an id from 20 or 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut id = Self { length: bytes.len() as u8, bytes: [0; 32] };
        LENGTHS.contains(&bytes.len()).then(|| id.bytes[..bytes.len()].copy_from_slice(bytes))?;
        Some(id)
    }

    /// Parses an id of 40 or 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let digit = |byte: u8| (byte as char).to_digit(16);
        let mut bytes = [0; 32];
        let length = digits.len() / 2;
        if !LENGTHS.contains(&length) || !digits.len().is_multiple_of(2) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Some(Self { length: length as u8, bytes })
    }

    /// The 20 or 32 bytes of the id.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The first hexadecimal digits of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdPrefix(String);

impl IdPrefix {
    /// Parses at least [`limits::PREFIX_DIGITS`] digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_prefix = (limits::PREFIX_DIGITS..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_prefix.then(|| Self(text.to_ascii_lowercase()))
    }

    pub(crate) fn first_byte(&self) -> u8 {
        u8::from_str_radix(&self.0[..2], 16).unwrap_or(0)
    }

    /// The name of the directory of loose objects with this prefix, and the start of their names there.
    pub(crate) fn loose(&self) -> (&str, &str) {
        self.0.split_at(2)
    }

    pub(crate) fn fits(&self, id: &ObjectId) -> bool {
        id.to_string().starts_with(&self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_bytes_are_the_same_name() {
        for digits in ["00ff5a0b".repeat(5), "9e107d9d".repeat(8)] {
            let id = ObjectId::from_hex(digits.as_bytes()).unwrap();
            assert_eq!(id.to_string(), digits);
            assert_eq!(ObjectId::from_bytes(id.as_bytes()), Some(id));
        }
        for wrong in ["", "00ff", &"0".repeat(41), &"0".repeat(39), &"g".repeat(40)] {
            assert_eq!(ObjectId::from_hex(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
