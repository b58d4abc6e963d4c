//! What was written since the engine last wrote through to the disk, so that a killed process loses nothing of what it
//! had acknowledged. A file of records; of one that isn't whole, nothing was acknowledged.
//!
//! A record is its length and the CRC-32 of its body, four bytes each, and the body. Numbers are little-endian.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use forage_lookup::{Point, PointId, SparseVector, StoreError};
use serde_json::{Map, Value};

use crate::{directory, limits};

const HEAD: usize = 8;

/// Something that was to be done.
#[derive(Debug, PartialEq)]
pub(crate) enum JournalEntry {
    Upsert {
        using: String,
        points: Vec<Point>,
    },
    Remove(Vec<PointId>),
    /// The engine puts its segments in order, while some points are there twice.
    Arrange,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    length: u64,
}

impl Journal {
    /// With what it holds. What is not whole is cut off.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Vec<JournalEntry>)> {
        let mut file = directory::open(path, limits::JOURNAL_MOST_BYTES)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (changes, length) = decode(&bytes);
        let mut journal = Self { file, length: bytes.len() as u64 };
        if length != bytes.len() {
            journal.cut(length as u64)?;
        }
        Ok((journal, changes))
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Where it was before, for [`Journal::cut`].
    pub(crate) fn append(&mut self, body: &[u8]) -> io::Result<u64> {
        let before = self.length;
        let length = u32::try_from(body.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more than 4 GiB at once"))?;
        let mut record = Vec::with_capacity(HEAD + body.len());
        record.extend(length.to_le_bytes());
        record.extend(crc32fast::hash(body).to_le_bytes());
        record.extend(body);
        if let Err(error) = self.file.write_all(&record) {
            self.cut(before)?;
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(before)
    }

    pub(crate) fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length))?;
        self.length = length;
        Ok(())
    }
}

const UPSERT: u8 = 1;
const REMOVE: u8 = 2;
const ARRANGE: u8 = 3;

pub(crate) fn upsert(using: &str, points: &[Point]) -> Result<Vec<u8>, StoreError> {
    let mut body = vec![UPSERT];
    put_bytes(&mut body, using.as_bytes());
    for point in points {
        put_id(&mut body, point.id);
        put_length(&mut body, point.vector.ids().len());
        body.extend(point.vector.ids().iter().flat_map(|id| id.to_le_bytes()));
        body.extend(point.vector.weights().iter().flat_map(|weight| weight.to_le_bytes()));
        let payload = serde_json::to_vec(&point.payload);
        put_bytes(&mut body, &payload.map_err(|error| StoreError::Invalid(error.to_string()))?);
    }
    Ok(body)
}

pub(crate) fn remove(ids: &[PointId]) -> Vec<u8> {
    let mut body = vec![REMOVE];
    ids.iter().for_each(|&id| put_id(&mut body, id));
    body
}

pub(crate) fn arrange() -> Vec<u8> {
    vec![ARRANGE]
}

fn put_id(body: &mut Vec<u8>, id: PointId) {
    let (kind, number) = match id {
        PointId::Number(number) => (0, u128::from(number)),
        PointId::Uuid(uuid) => (1, uuid),
    };
    body.push(kind);
    body.extend(number.to_le_bytes());
}

/// What is longer than four bytes can say is longer than a record may be, which [`Journal::append`] refuses.
fn put_length(body: &mut Vec<u8>, length: usize) {
    body.extend((length as u32).to_le_bytes());
}

fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    put_length(body, bytes.len());
    body.extend(bytes);
}

/// The whole records, and where they end.
fn decode(bytes: &[u8]) -> (Vec<JournalEntry>, usize) {
    let mut changes = Vec::new();
    let mut rest = JournalReader(bytes);
    let mut end = 0;
    while let Some(change) = rest.record() {
        changes.push(change);
        end = bytes.len() - rest.0.len();
    }
    (changes, end)
}

struct JournalReader<'a>(&'a [u8]);

impl<'a> JournalReader<'a> {
    fn record(&mut self) -> Option<JournalEntry> {
        let length = self.length()?;
        let sum = self.array().map(u32::from_le_bytes)?;
        let body = self.bytes(length)?;
        (crc32fast::hash(body) == sum).then(|| JournalReader(body).change()).flatten()
    }

    fn change(&mut self) -> Option<JournalEntry> {
        let [kind] = self.array()?;
        match kind {
            UPSERT => {
                let length = self.length()?;
                let using = String::from_utf8(self.bytes(length)?.to_vec()).ok()?;
                let mut points = Vec::new();
                while !self.0.is_empty() {
                    points.push(self.point()?);
                }
                Some(JournalEntry::Upsert { using, points })
            }
            REMOVE => {
                let mut ids = Vec::new();
                while !self.0.is_empty() {
                    ids.push(self.id()?);
                }
                Some(JournalEntry::Remove(ids))
            }
            ARRANGE => Some(JournalEntry::Arrange),
            _ => None,
        }
    }

    fn point(&mut self) -> Option<Point> {
        let id = self.id()?;
        let dimensions = self.length()?;
        let ids = self.bytes(dimensions.checked_mul(4)?)?.chunks_exact(4);
        let weights = self.bytes(dimensions * 4)?.chunks_exact(4);
        let vector = ids.zip(weights).map(|(id, weight)| {
            let [id, weight] = [id, weight].map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
            (u32::from_le_bytes(id), f64::from(f32::from_le_bytes(weight)))
        });
        let vector = SparseVector::new(vector);
        let length = self.length()?;
        let payload: Map<String, Value> = serde_json::from_slice(self.bytes(length)?).ok()?;
        Some(Point { id, vector, payload })
    }

    fn id(&mut self) -> Option<PointId> {
        let [kind] = self.array()?;
        let number = self.array().map(u128::from_le_bytes)?;
        match kind {
            0 => u64::try_from(number).ok().map(PointId::Number),
            1 => Some(PointId::Uuid(number)),
            _ => None,
        }
    }

    fn length(&mut self) -> Option<usize> {
        self.array().map(u32::from_le_bytes).and_then(|length| usize::try_from(length).ok())
    }

    fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        self.bytes(LENGTH)?.try_into().ok()
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..], &crc32fast::hash(body).to_le_bytes(), body].concat()
    }

    #[test]
    fn what_was_written_is_read_and_a_record_that_is_not_whole_is_cut() {
        let home = tempfile::tempdir().unwrap();
        let collection = home.path().join("code");
        directory::create_shard(&collection).unwrap();
        let path = directory::journal(&collection);
        let payload = serde_json::from_str(r#"{"text":"ß\n","n":[1,2.5,null]}"#).unwrap();
        let vector = SparseVector::new([(1, 0.1), (u32::MAX, f64::from(f32::MIN_POSITIVE))]);
        let points = vec![
            Point { id: PointId::Number(u64::MAX), vector, payload },
            Point { id: PointId::Uuid(u128::MAX), vector: SparseVector::default(), payload: Map::new() },
        ];
        let ids = vec![PointId::Number(0), PointId::Uuid(7)];
        let (mut journal, changes) = Journal::open(&path).unwrap();
        assert_eq!(changes, []);
        journal.append(&upsert("text", &points).unwrap()).unwrap();
        let before = journal.append(&remove(&ids)).unwrap();
        journal.append(&arrange()).unwrap();
        let expected = [
            JournalEntry::Upsert { using: "text".to_owned(), points },
            JournalEntry::Remove(ids),
            JournalEntry::Arrange,
        ];
        let whole = {
            let (journal, changes) = Journal::open(&path).unwrap();
            assert_eq!(changes, expected);
            journal.length()
        };
        // Every length at which a kill may have left it.
        for length in 0..whole {
            let (mut journal, _) = Journal::open(&path).unwrap();
            journal.cut(0).unwrap();
            let JournalEntry::Upsert { using, points } = &expected[0] else { unreachable!() };
            journal.append(&upsert(using, points).unwrap()).unwrap();
            journal.append(&remove(&[PointId::Number(0), PointId::Uuid(7)])).unwrap();
            journal.append(&arrange()).unwrap();
            journal.cut(length).unwrap();
            let (journal, changes) = Journal::open(&path).unwrap();
            let count = usize::from(length >= before)
                + usize::from(length >= whole - record(&arrange()).len() as u64);
            assert_eq!(changes, expected[..count], "{length}");
            assert!(journal.length() <= length);
        }
    }

    #[test]
    fn a_record_with_another_byte_is_none() {
        let good = record(&remove(&[PointId::Number(1)]));
        assert_eq!(decode(&good).1, good.len());
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x41;
            assert_eq!(decode(&bad), (Vec::new(), 0), "{place}");
        }
    }

    fn bodies() -> [Vec<u8>; 3] {
        let payload = serde_json::from_str(r#"{"path":"src/a.rs","n":[1,null]}"#).unwrap();
        let vector = SparseVector::new([(1, 0.5), (u32::MAX, 2.0)]);
        let point = Point { id: PointId::Number(7), vector, payload };
        [
            upsert("text", &[point]).unwrap(),
            remove(&[PointId::Number(1), PointId::Uuid(u128::MAX)]),
            arrange(),
        ]
    }

    #[test]
    fn fuzz_of_any_bytes_the_whole_records_are_read() {
        let seeds = forage_fuzz::seeds([bodies().map(|body| record(&body)).concat(), record(&arrange())]);
        forage_fuzz::target!(&seeds, |input| {
            let (changes, end) = decode(input);
            assert_eq!(decode(&input[..end]), (changes, end));
        });
    }

    #[test]
    fn fuzz_any_body_with_a_right_checksum_is_a_change_or_none() {
        forage_fuzz::target!(&forage_fuzz::seeds(bodies()), |input| {
            let whole = record(input);
            match &decode(&whole) {
                (changes, 0) => assert!(changes.is_empty()),
                (changes, end) => assert_eq!((changes.len(), *end), (1, whole.len())),
            }
        });
    }
}
