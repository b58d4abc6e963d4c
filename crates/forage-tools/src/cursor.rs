//! Where an answer that was cut goes on: a token that holds the place and fits only the request that it came from.

use std::hash::{DefaultHasher, Hash, Hasher};

use forage_fs::RelPath;

use crate::error::ToolError;

/// A place in the order of results: everything up to this line of this path was delivered. Results that come best
/// first are ordered by their distance before that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) distance: u8,
    pub(crate) path: RelPath,
    pub(crate) line: u64,
}

/// What a cursor is bound to: changing the request in between would leave results out.
pub(crate) fn fingerprint(request: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    hasher.finish()
}

impl Cursor {
    pub(crate) fn encode(&self, fingerprint: u64) -> String {
        let path: String = self.path.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("1.{fingerprint:016x}.{}.{}.{path}", self.distance, self.line)
    }

    pub(crate) fn decode(text: &str, fingerprint: u64) -> Result<Self, ToolError> {
        let malformed = || {
            ToolError::argument(
                "cursor",
                "it is malformed; pass `next_cursor` of the previous answer back as it is, or leave it out",
            )
        };
        let mut parts = text.split('.');
        let (Some("1"), Some(bound), Some(distance), Some(line), Some(path), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        let (Ok(distance), Ok(line)) = (distance.parse(), line.parse()) else { return Err(malformed()) };
        if u64::from_str_radix(bound, 16) != Ok(fingerprint) {
            return Err(ToolError::argument(
                "cursor",
                "it belongs to another request; repeat the other arguments unchanged, or leave the cursor out",
            ));
        }
        let digits = path.as_bytes();
        let byte = |pair: &[u8]| {
            Some(u8::try_from(hex(pair.first()?)? * 16 + hex(pair.get(1)?)?).unwrap_or_default())
        };
        let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>().ok_or_else(malformed)?;
        let path = RelPath::from_bytes(&bytes, &RelPath::root()).map_err(|_| malformed())?;
        Ok(Self { distance, path, line })
    }
}

fn hex(digit: &u8) -> Option<u32> {
    char::from(*digit).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_and_fits_one_request_only() {
        let path = RelPath::parse("a/b ö.rs", &RelPath::root()).unwrap();
        let cursor = Cursor { distance: 2, path, line: 12 };
        let text = cursor.encode(7);
        assert_eq!(Cursor::decode(&text, 7).unwrap(), cursor);
        assert!(Cursor::decode(&text, 8).unwrap_err().to_string().contains("another request"));
        for bad in [
            "",
            "1",
            "1.0.0",
            "2.0000000000000007.0.1.61",
            "1.0000000000000007.0.x.61",
            "1.0000000000000007.x.1.61",
            "1.0000000000000007.0.1.6",
            "1.0000000000000007.0.1.2e2e",
        ] {
            assert!(Cursor::decode(bad, 7).is_err(), "{bad}");
        }
    }
}
