//! A stable hash, for names and comparisons of stored data.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// A 64-bit SipHash-1-3 with a key of zeros. It is the same in every build, on every machine and in every
/// release, which the hasher of the standard library does not promise.
///
/// Note that a value hashed through its own `Hash` implementation becomes the bytes that the standard library
/// chooses, and these may change. You must therefore feed data for names of files on disk as bytes, with
/// [`Hash64::hash_parts`] or the `write…` methods.
///
/// This is not a cryptographic hash: the key is public, and an attacker can find collisions. If a collision
/// would be harmful, you must also compare the data.
#[derive(Clone, Debug, Default)]
pub struct Hash64(SipHasher13);

impl Hash64 {
    /// Hashes several parts. The boundaries between parts are significant.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_base::Hash64;
    ///
    /// assert_eq!(Hash64::hash_parts(&[b"/home/a/project"]), 0x3e26_38c5_201f_cdf7);
    /// assert_ne!(Hash64::hash_parts(&[b"ab", b"c"]), Hash64::hash_parts(&[b"a", b"bc"]));
    /// ```
    pub fn hash_parts(parts: &[&[u8]]) -> u64 {
        let mut hash = Self::default();
        for part in parts {
            hash.write_u64(part.len() as u64);
            hash.write(part);
        }
        hash.finish()
    }
}

impl Hasher for Hash64 {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    // We use little-endian numbers on all machines, so that the hash does not depend on the machine.
    fn write_u8(&mut self, number: u8) {
        self.write(&[number]);
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_i64(&mut self, number: i64) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_stable_across_builds() {
        // SipHash-1-3 with a key of zeros, computed by another implementation. You must not change these
        // values: this would invalidate every name and every stamp on disk.
        assert_eq!(Hash64::hash_parts(&[]), 0xd1fb_a762_150c_532c);
        assert_eq!(Hash64::hash_parts(&[b"/home/a/project"]), 0x3e26_38c5_201f_cdf7);
        assert_eq!(Hash64::hash_parts(&[b"a", b"bc"]), 0xfbbe_124a_3e77_74bd);
        assert_ne!(Hash64::hash_parts(&[b"ab", b"c"]), Hash64::hash_parts(&[b"a", b"bc"]));
    }
}
