//! A snapshot of a tree's directories. A later walk need not list unchanged directories, nor compile the
//! ignore rules that decide about their names.
//!
//! ```text
//! header      magic, version, checksum of the program's version and of the following bytes, 1 if the root is
//!             in a work tree, number of records
//! places      the offset of each record, 4 bytes each, in path order of the records
//! records     path, state of the directory, sources and cost of its rules, names with verdicts
//! ```
//!
//! All numbers are little-endian. A record is valid for one state of its directory. Its verdicts are valid if
//! the rules of the directory and of all directories above it are in the states that their records contain. A
//! reader must check these states first, so an outdated snapshot is merely less useful.

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::worktree::git_info;
use crate::file::{OpenedFile, StateReliability};
use crate::ignore_rules::{DECIDING, IgnoreRules, IgnoreVerdict, RuleCost};
use crate::limits;
use crate::rel_path::{RelPath, compare_paths};
use crate::state::{FileState, nanoseconds_now};
use crate::sys::{self, Directory, FileNode, NodeKind};

const MAGIC: [u8; 8] = *b"FORAGEDS";
/// The format version. This must be increased when the format or the meaning of its content changes.
const VERSION: u32 = 3;
/// Bytes of the magic, the version, the checksum, the flag of the work tree and the number of records.
const HEADER_BYTES: usize = 8 + 4 + 4 + 1 + 4;
const KINDS: [NodeKind; 4] = [NodeKind::File, NodeKind::Directory, NodeKind::Symlink, NodeKind::Special];
const VERDICTS: [IgnoreVerdict; 3] = [IgnoreVerdict::Nothing, IgnoreVerdict::Ignored, IgnoreVerdict::Kept];

/// A snapshot, which may still be loading.
#[derive(Debug, Default)]
pub struct Snapshot(OnceLock<Loaded>);

pub(super) struct Loaded {
    bytes: Bytes,
    count: usize,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} directories", self.count)
    }
}

impl Snapshot {
    /// Loads the bytes of [`Snapshot::take`]. Returns false if they are not a valid snapshot.
    pub fn fill(&self, bytes: impl Into<Bytes>) -> bool {
        Loaded::new(bytes.into()).is_some_and(|loaded| self.0.set(loaded).is_ok())
    }

    pub(super) fn loaded(&self) -> Option<&Loaded> {
        self.0.get()
    }
}

/// An entry that affects the rules of a directory: its type if it exists, and the state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RulesState {
    kind: Option<NodeKind>,
    state: Option<FileState>,
}

impl RulesState {
    /// Reads the state of an entry, or returns `None` if it can't be determined. `state` queries the state of
    /// a file.
    fn read(
        directory: &Directory,
        name: &[u8],
        state: impl Fn(&Directory, &[u8]) -> Option<FileState>,
    ) -> Option<Self> {
        let kind = match sys::node_kind(directory, name) {
            Ok(kind) => Some(kind),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        let state = match kind {
            Some(NodeKind::File) => Some(state(directory, name)?),
            _ => None,
        };
        Some(Self { kind, state })
    }

    /// Like [`RulesState::read`], for rules that git stores elsewhere for this directory.
    fn read_git(
        directory: &Directory,
        state: impl Fn(&Directory, &[u8]) -> Option<FileState>,
    ) -> Option<Self> {
        match git_info(directory) {
            Ok(info) => Self::read(&info, b"exclude", state),
            Err(error) if sys::is_missing(&error) => Some(Self { kind: None, state: None }),
            Err(_) => None,
        }
    }
}

/// Number of names that affect the rules, including the ones that git stores elsewhere.
const RULES: usize = DECIDING.len() + 1;

/// Reads the sources of a directory's rules. A source is `None` if it can't be determined.
fn rules_of(
    directory: &Directory,
    state: impl Fn(&Directory, &[u8]) -> Option<FileState>,
) -> [Option<RulesState>; RULES] {
    let mut rules = [None; RULES];
    for (rules, name) in rules.iter_mut().zip(DECIDING) {
        *rules = RulesState::read(directory, name, &state);
    }
    rules[DECIDING.len()] = RulesState::read_git(directory, &state);
    rules
}

/// Queries the state of a rule file. Returns `None` unless the state reflects every later change.
fn settled(directory: &Directory, name: &[u8], device: u64) -> Option<FileState> {
    let by_name = sys::state(directory, name, device)?;
    let file = sys::open_leaf(directory, name).and_then(OpenedFile::new).ok()??;
    // Later comparisons only query the state by name, so both must agree.
    match file.stable_state()? {
        (state, StateReliability::All) if state == by_name => Some(state),
        _ => None,
    }
}

/// Collects the records of a walk.
#[derive(Debug)]
pub(super) struct Recorder {
    device: u64,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    records: Vec<(RelPath, Vec<u8>)>,
    bytes: usize,
}

/// The state of a directory before or after it is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryState {
    state: Option<FileState>,
    rules: [Option<RulesState>; RULES],
}

impl Recorder {
    /// Creates a recorder for a root on this device.
    pub(super) fn new(device: u64) -> Self {
        Self { device, recorded: Mutex::default() }
    }

    /// Reads the state of a directory. This must be called before the directory is listed and its rules are
    /// read.
    pub(super) fn before(&self, directory: &Directory) -> DirectoryState {
        // We read the clock first, so that changes during this call count as recent.
        let now = nanoseconds_now();
        let state = sys::directory_state(directory, self.device);
        let rules = rules_of(directory, |directory, name| settled(directory, name, self.device));
        DirectoryState { state: state.filter(|state| !state.may_hide_a_change(now)), rules }
    }

    /// Records a directory with its sorted names and their verdicts. `cost` is the cost of the directory's
    /// own rules.
    pub(super) fn add(
        &self,
        path: &RelPath,
        directory: &Directory,
        mut before: DirectoryState,
        nodes: &[FileNode],
        rules: &IgnoreRules,
        cost: RuleCost,
    ) {
        // A rule file that existed only while the rules were read, but neither before nor after, may appear
        // again later.
        let is_there = |name: &[u8]| nodes.binary_search_by(|node| (*node.name).cmp(name)).is_ok();
        let named = before.rules.iter().zip(DECIDING);
        if self.before(directory) != before
            || named
                .into_iter()
                .any(|(rules, name)| rules.is_none_or(|rules| rules.kind.is_some() != is_there(name)))
        {
            before = DirectoryState { state: None, rules: [None; RULES] };
        }
        let mut record = Vec::new();
        write_bytes(&mut record, path.as_bytes());
        write_state(&mut record, before.state);
        for rules in &before.rules {
            // 0 means that the source can't be determined, and 1 that it doesn't exist.
            let kind = rules
                .map(|rules| rules.kind.and_then(|kind| index_of(&KINDS, &kind)).map_or(1, |kind| kind + 2));
            record.push(kind.unwrap_or(0));
            write_state(&mut record, rules.and_then(|rules| rules.state));
        }
        for number in [cost.rules, cost.bytes, cost.wildcards, nodes.len()] {
            record.extend((number as u32).to_le_bytes());
        }
        for node in nodes {
            let verdict = rules.verdict(&path.join(&node.name), node.kind == NodeKind::Directory);
            let kind = index_of(&KINDS, &node.kind).unwrap_or(0);
            record.push(kind | index_of(&VERDICTS, &verdict).unwrap_or(0) << 4);
            write_bytes(&mut record, &node.name);
        }
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        // Four bytes for the offset of the record.
        recorded.bytes += record.len() + 4;
        if recorded.bytes <= limits::SNAPSHOT_BYTES {
            recorded.records.push((path.clone(), record));
        }
    }

    /// Assembles the snapshot. Returns `None` if it exceeds the maximum size.
    pub(super) fn finish(self, inside_git: bool) -> Option<Vec<u8>> {
        let Recorded { mut records, bytes } =
            self.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
        if bytes > limits::SNAPSHOT_BYTES {
            return None;
        }
        records.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut said = vec![u8::from(inside_git)];
        said.extend(u32::try_from(records.len()).ok()?.to_le_bytes());
        let mut place = HEADER_BYTES + 4 * records.len();
        for (_, record) in &records {
            said.extend(u32::try_from(place).ok()?.to_le_bytes());
            place += record.len();
        }
        records.iter().for_each(|(_, record)| said.extend(record));
        let checksum = checksum(&said);
        Some([&MAGIC[..], &VERSION.to_le_bytes(), &checksum.to_le_bytes(), &said].concat())
    }
}

/// Computes the checksum. This includes the program's version, because another version may have different
/// verdicts.
fn checksum(said: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(said);
    hasher.finalize()
}

fn index_of<T: PartialEq>(all: &[T], one: &T) -> Option<u8> {
    all.iter().position(|other| other == one).map(|index| index as u8)
}

fn write_bytes(record: &mut Vec<u8>, bytes: &[u8]) {
    record.extend((bytes.len() as u32).to_le_bytes());
    record.extend_from_slice(bytes);
}

fn write_state(record: &mut Vec<u8>, state: Option<FileState>) {
    record.push(u8::from(state.is_some()));
    if let Some(FileState { size, modified, changed, inode }) = state {
        for number in [size, modified.cast_unsigned(), changed.cast_unsigned(), inode] {
            record.extend(number.to_le_bytes());
        }
    }
}

/// The remaining bytes of a snapshot.
#[derive(Clone, Copy)]
struct SnapshotReader<'a>(&'a [u8]);

impl<'a> SnapshotReader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn number(&mut self) -> Option<usize> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.bytes(count)
    }

    fn state(&mut self) -> Option<Option<FileState>> {
        if self.byte()? == 0 {
            return Some(None);
        }
        let mut number = || self.array().map(u64::from_le_bytes);
        let (size, modified) = (number()?, number()?.cast_signed());
        Some(Some(FileState { size, modified, changed: number()?.cast_signed(), inode: number()? }))
    }

    fn rules(&mut self) -> Option<[Option<RulesState>; RULES]> {
        let mut rules = [None; RULES];
        for rules in &mut rules {
            let (kind, state) = (self.byte()?, self.state()?);
            *rules = match kind.checked_sub(1) {
                None => None,
                Some(0) => Some(RulesState { kind: None, state }),
                Some(kind) => Some(RulesState { kind: Some(*KINDS.get(usize::from(kind) - 1)?), state }),
            };
        }
        Some(rules)
    }
}

/// A name in a directory, and its verdict.
pub(super) struct SnapshotName<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: NodeKind,
    pub(super) verdict: IgnoreVerdict,
}

/// The snapshot's record of a directory.
pub(super) struct SnapshotRecord<'a> {
    state: Option<FileState>,
    rules: [Option<RulesState>; RULES],
    cost: RuleCost,
    names: SnapshotReader<'a>,
}

impl Loaded {
    fn new(bytes: Bytes) -> Option<Self> {
        let mut reader = SnapshotReader(&bytes);
        let is_one = reader.array()? == MAGIC && reader.number()? == VERSION as usize;
        let expected = reader.array().map(u32::from_le_bytes)?;
        if !is_one || checksum(reader.0) != expected {
            return None;
        }
        reader.byte()?;
        let count = reader.number()?;
        reader.bytes(count.checked_mul(4)?)?;
        Some(Self { bytes, count })
    }

    pub(super) fn inside_git(&self) -> bool {
        self.bytes[HEADER_BYTES - 5] != 0
    }

    /// Creates a reader at the start of a record.
    fn reader(&self, record: usize) -> Option<SnapshotReader<'_>> {
        let place = SnapshotReader(self.bytes.get(HEADER_BYTES + 4 * record..)?).number()?;
        self.bytes.get(place..).map(SnapshotReader)
    }

    pub(super) fn record(&self, path: &RelPath) -> Option<SnapshotRecord<'_>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            let mut reader = self.reader(middle)?;
            match compare_paths(reader.text()?, path.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    let (state, rules) = (reader.state()?, reader.rules()?);
                    let (rules_read, bytes, wildcards) =
                        (reader.number()?, reader.number()?, reader.number()?);
                    let cost = RuleCost { rules: rules_read, bytes, wildcards };
                    return Some(SnapshotRecord { state, rules, cost, names: reader });
                }
            }
        }
        None
    }
}

impl<'a> SnapshotRecord<'a> {
    /// Returns true if the directory still has exactly these names.
    pub(super) fn names_are_same(&self, directory: &Directory, device: u64) -> bool {
        self.state.is_some() && sys::directory_state(directory, device) == self.state
    }

    /// Parses the names with their verdicts, in order.
    pub(super) fn names(&self) -> Option<Vec<SnapshotName<'a>>> {
        let mut reader = self.names;
        let mut names: Vec<SnapshotName<'a>> = Vec::new();
        for _ in 0..reader.number()? {
            let (tag, name) = (reader.byte()?, reader.text()?);
            // We accept only valid, unique names as the system lists them; anything else must not be opened.
            let is_name = !matches!(name, b"" | b"." | b"..") && memchr::memchr2(b'/', 0, name).is_none();
            if !is_name || names.last().is_some_and(|last| last.name >= name) {
                return None;
            }
            let kind = *KINDS.get(usize::from(tag & 15))?;
            names.push(SnapshotName { name, kind, verdict: VERDICTS.get(usize::from(tag >> 4))?.clone() });
        }
        Some(names)
    }

    /// Returns the cost of compiling the directory's own rules.
    pub(super) fn cost(&self) -> RuleCost {
        self.cost
    }

    /// Returns true if the directory had, or may have had, rules of its own.
    pub(super) fn has_rules(&self) -> bool {
        self.rules.iter().any(|rules| rules.is_none_or(|rules| rules.kind.is_some()))
    }

    /// Returns true if the directory's own rules are those of the snapshot.
    pub(super) fn rules_are_same(&self, directory: &Directory, device: u64) -> bool {
        // Two sources that can't be determined must not count as the same.
        self.rules.iter().all(Option::is_some)
            && self.rules == rules_of(directory, |directory, name| sys::state(directory, name, device))
    }
}

#[cfg(all(test, target_os = "linux", not(portable_disk)))]
mod fuzz;

#[cfg(test)]
#[cfg(all(target_os = "linux", not(portable_disk)))]
#[expect(clippy::disallowed_methods, reason = "tests make their own trees")]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::Arc;

    use forage_base::Stop;

    use proptest::prelude::*;

    use super::*;
    use crate::root::{Root, RootPolicy};
    use crate::secrets::SecretPolicy;
    use crate::skipped::Skipped;
    use crate::walk::{Entry, WalkOptions, WalkStep, walk};

    pub(super) fn tree() -> (tempfile::TempDir, Arc<Root>) {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.rs", "src/b.rs", "src/c.txt", "src/deep/d.rs", "src/deep/e.txt"] {
            fs::create_dir_all(directory.path().join(name).parent().unwrap()).unwrap();
            fs::write(directory.path().join(name), "text\n").unwrap();
        }
        fs::create_dir_all(directory.path().join(".git/info")).unwrap();
        fs::write(directory.path().join("src/.gitignore"), "c.txt\n").unwrap();
        std::thread::sleep(crate::limits::SETTLING + std::time::Duration::from_millis(50));
        let root = open(directory.path());
        (directory, root)
    }

    fn open(path: &Path) -> Arc<Root> {
        Root::open(path, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
    }

    pub(super) fn take(root: &Arc<Root>) -> Vec<u8> {
        Snapshot::take(root, &WalkOptions::default(), &Stop::never()).unwrap().unwrap()
    }

    pub(super) fn paths(root: &Arc<Root>, snapshot: &[u8]) -> Vec<String> {
        let options = WalkOptions::default();
        let (kept, snapshot_options) = (Arc::new(Snapshot::default()), options.clone());
        assert!(kept.fill(snapshot.to_vec()));
        let options = WalkOptions { snapshot: Some(kept), ..snapshot_options };
        let mut paths = Vec::new();
        let visit = |(): &mut (), entry: &Entry<'_>, _: &mut Skipped| {
            WalkStep::Item(entry.path.display().into_owned(), 0)
        };
        let receive = |path| {
            paths.push(path);
            ControlFlow::Continue(())
        };
        walk(root, &RelPath::root(), &options, &Stop::never(), || (), visit, receive).unwrap();
        paths
    }

    /// Replaces one name in the snapshot, which shows up only in a walk that uses the snapshot.
    fn forged(snapshot: &[u8], name: &[u8], other: &[u8]) -> Vec<u8> {
        let place = snapshot.windows(name.len()).position(|bytes| bytes == name).unwrap();
        let mut forged = snapshot.to_vec();
        forged[place..place + name.len()].copy_from_slice(other);
        let checksum = checksum(&forged[16..]);
        forged[12..16].copy_from_slice(&checksum.to_le_bytes());
        forged
    }

    #[test]
    fn unchanged_directories_are_not_listed_again() {
        let (directory, root) = tree();
        let snapshot = take(&root);
        let all = ["a.rs", "src/b.rs", "src/deep/d.rs", "src/deep/e.txt"];
        assert_eq!(paths(&root, &snapshot), all);
        let forged = forged(&snapshot, b"d.rs", b"D.rs");
        assert_eq!(paths(&root, &forged)[2], "src/deep/D.rs");
        // After adding a file the directory is listed again.
        fs::write(directory.path().join("src/deep/f"), "").unwrap();
        assert_eq!(paths(&root, &forged)[2..], ["src/deep/d.rs", "src/deep/e.txt", "src/deep/f"]);
    }

    /// Each change affects a directory below that is itself unchanged.
    #[test]
    fn changed_rules_are_applied() {
        let changes: [(&str, &[&str]); 4] = [
            ("src/.gitignore", &["a.rs", "src/b.rs", "src/c.txt", "src/deep/d.rs"]),
            (".ignore", &["a.rs", "src/b.rs", "src/deep/d.rs"]),
            (".git/info/exclude", &["a.rs", "src/b.rs", "src/deep/d.rs"]),
            ("src/deep/.rgignore", &["a.rs", "src/b.rs", "src/deep/d.rs"]),
        ];
        for (name, left) in changes {
            let (directory, root) = tree();
            let snapshot = take(&root);
            fs::write(directory.path().join(name), "e.txt\n").unwrap();
            assert_eq!(paths(&root, &snapshot), left, "{name}");
        }
        // Git's rules apply only in a work tree.
        let (directory, root) = tree();
        let snapshot = take(&root);
        fs::remove_dir_all(directory.path().join(".git")).unwrap();
        assert_eq!(paths(&root, &snapshot).len(), 5);
    }

    #[test]
    fn recent_changes_are_not_trusted() {
        let (directory, root) = tree();
        fs::write(directory.path().join("src/deep/new"), "").unwrap();
        let forged = forged(&take(&root), b"e.txt", b"E.txt");
        assert_eq!(paths(&root, &forged)[3], "src/deep/e.txt");
    }

    #[test]
    fn a_damaged_one_is_refused() {
        let (_directory, root) = tree();
        let snapshot = take(&root);
        for at in 0..snapshot.len() {
            let mut damaged = snapshot.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(!Snapshot::default().fill(damaged), "{at}");
            assert!(!Snapshot::default().fill(snapshot[..at].to_vec()), "{at}");
        }
    }

    proptest! {
        /// Invalid data with a correct checksum causes no failure.
        #[test]
        fn nonsense_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..5_u8) {
            let said = [&[0, count, 0, 0, 0][..], &bytes].concat();
            let checksum = checksum(&said);
            let whole = [&MAGIC[..], &VERSION.to_le_bytes(), &checksum.to_le_bytes(), &said].concat();
            if let Some(loaded) = Loaded::new(whole.into()) {
                for path in [&b""[..], b"a", b"a/b"] {
                    let path = RelPath::from_bytes(path, &RelPath::root()).unwrap();
                    let _ = loaded.record(&path).map(|record| (record.has_rules(), record.names().is_some()));
                }
            }
        }
    }
}
