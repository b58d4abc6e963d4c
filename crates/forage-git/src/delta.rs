//! Applies deltas (`gitformat-pack`, section "Deltified representation").

use crate::error::ObjectFault;
use crate::limits;

/// Reads a number in groups of seven bits, lowest first.
fn size(delta: &mut &[u8]) -> Option<usize> {
    let (mut value, mut shift) = (0_usize, 0);
    loop {
        let (&byte, rest) = delta.split_first()?;
        *delta = rest;
        value |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
        if shift > 28 {
            return None;
        }
    }
}

/// Reads a number, lowest byte first. The mask has a bit for each byte that is present.
fn sparse(delta: &mut &[u8], mask: u8, bytes: u32) -> Option<usize> {
    let mut value = 0;
    for index in (0..bytes).filter(|index| mask & (1 << index) != 0) {
        let (&byte, rest) = delta.split_first()?;
        *delta = rest;
        value |= usize::from(byte) << (8 * index);
    }
    Some(value)
}

/// Applies a delta to its base object.
pub(crate) fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, ObjectFault> {
    let mut rest = delta;
    let sizes = size(&mut rest).zip(size(&mut rest));
    let (of_base, wanted) = sizes.ok_or(ObjectFault::Damaged)?;
    if of_base != base.len() {
        return Err(ObjectFault::Damaged);
    }
    if wanted > limits::OBJECT_BYTES {
        return Err(ObjectFault::TooLarge);
    }
    let mut made = Vec::with_capacity(wanted);
    while let Some((&command, after)) = rest.split_first() {
        rest = after;
        let piece = match command {
            // The format reserves this command.
            0 => None,
            1..=0x7f => rest.split_at_checked(usize::from(command)).map(|(new, after)| {
                rest = after;
                new
            }),
            _ => {
                let from = sparse(&mut rest, command & 0x0f, 4);
                let length = sparse(&mut rest, command >> 4 & 0x07, 3);
                from.zip(length).and_then(|(from, length)| {
                    // The format defines a length of zero as 64 KiB.
                    let length = if length == 0 { 0x1_0000 } else { length };
                    base.get(from..from.checked_add(length)?)
                })
            }
        };
        let piece = piece.filter(|piece| made.len() + piece.len() <= wanted).ok_or(ObjectFault::Damaged)?;
        made.extend_from_slice(piece);
    }
    if made.len() == wanted { Ok(made) } else { Err(ObjectFault::Damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_the_base_and_new_ones_make_the_object() {
        let base = b"the quick brown fox";
        // The base has 19 bytes and the result 14: 10 from offset 0, and four new ones.
        let delta = [19, 14, 0x90, 10, 4, b'g', b'r', b'e', b'y'];
        assert_eq!(apply(base, &delta).unwrap(), b"the quick grey");
    }

    #[test]
    fn fuzz_any_difference_makes_what_it_says_or_nothing() {
        let base = b"the quick brown fox".repeat(20);
        let seeds = [
            vec![0xfc, 2, 14, 0x90, 10, 4, b'g', b'r', b'e', b'y'],
            vec![0xfc, 2, 0x80, 0x80, 4, 0x80, 0xb1, 1, 0, 1, 0],
        ];
        forage_fuzz::target!(&forage_fuzz::seeds(seeds), |delta| {
            let mut rest = delta;
            let wanted = size(&mut rest).and_then(|_| size(&mut rest));
            if let Ok(made) = apply(&base, delta) {
                assert_eq!(Some(made.len()), wanted);
            }
        });
    }
}
