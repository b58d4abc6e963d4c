//! The hash by which what is kept is named and compared.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// SipHash-1-3 of what is fed to it, 64 bits, with a key of zeros: the same in every build, on every machine and in every
/// release, which the hasher of the standard library does not promise to be.
///
/// A value that is fed by its own `Hash` is the bytes that the standard library makes of it, and those are promised by
/// nobody. What names files on the disk is fed as bytes, by [`Hash64::of`] or by the `write…` methods.
///
/// It is no signature: its key is known, and two texts of one hash can be looked for. What would be harmed by that
/// compares the texts too.
#[derive(Clone, Debug, Default)]
pub struct Hash64(SipHasher13);

impl Hash64 {
    /// Returns the hash of some parts. Where one ends and the next begins counts.
    pub fn of(parts: &[&[u8]]) -> u64 {
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

    // The same on machines of either order of bytes.
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
    fn names_on_the_disk_are_the_same_in_every_build() {
        // SipHash-1-3 with a key of zeros, computed elsewhere. Whoever changes these makes every name and every stamp on the disk another.
        assert_eq!(Hash64::of(&[]), 0xd1fb_a762_150c_532c);
        assert_eq!(Hash64::of(&[b"/home/a/project"]), 0x3e26_38c5_201f_cdf7);
        assert_eq!(Hash64::of(&[b"a", b"bc"]), 0xfbbe_124a_3e77_74bd);
        assert_ne!(Hash64::of(&[b"ab", b"c"]), Hash64::of(&[b"a", b"bc"]));
    }
}
