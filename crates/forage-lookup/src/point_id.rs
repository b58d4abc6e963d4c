//! Ids of points.

use std::fmt;

/// The id of a point. Numbers are sorted numerically and before UUIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PointId {
    /// An unsigned number.
    Number(u64),
    /// A UUID, sorted like its text.
    Uuid(u128),
}

impl PointId {
    /// Parses a decimal number, or a UUID with or without dashes.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Self::Number(number));
        }
        let digits: String = text.chars().filter(|character| *character != '-').collect();
        let is_uuid = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_uuid.then(|| u128::from_str_radix(&digits, 16).ok()).flatten().map(Self::Uuid)
    }
}

impl fmt::Display for PointId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Uuid(uuid) => {
                let digits = format!("{uuid:032x}");
                let (a, b, c, d, e) =
                    (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
                write!(formatter, "{a}-{b}-{c}-{d}-{e}")
            }
        }
    }
}
