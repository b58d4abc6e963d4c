//! The repository of a root.

use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::rc::Rc;
use std::sync::Arc;

use forage_base::{Hash64, Stop};
use forage_fs::{Contents, OpenError, ReadBuffer, RelPath, Root};
use hashbrown::HashMap;

use crate::commit::CommitObject;
use crate::delta;
use crate::error::{HistoryError, ObjectError, ObjectFault};
use crate::id::{IdPrefix, ObjectId};
use crate::inflate::{Inflater, inflate};
use crate::limits;
use crate::pack::{ObjectKind, Pack, PackedKind};
use crate::refs;
use crate::substitutes::Substitutes;
use crate::tree::{TreeEntries, TreeEntryKind, below, differences};

/// An object with its type.
pub(crate) type Object = (ObjectKind, Rc<[u8]>);

/// The location of an object: the number of its pack, and the offset in it.
type PackPlace = (usize, u64);

/// The state that determines the history of a root. As long as it is the same, so are the commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryState {
    /// The commit that is checked out.
    pub head: ObjectId,
    /// A hash of the commits at which a shallow clone ends, and of replaced objects.
    pub ends: u64,
}

/// The repository whose working tree is a root. Objects are read on demand. We cache those of packs, since
/// they may be bases of others.
pub struct Repository {
    root: Arc<Root>,
    git: RelPath,
    head: ObjectId,
    stop: Stop,
    packs: Vec<Pack>,
    /// False if there are other packs, which were not opened.
    has_all_packs: bool,
    /// A hash of the names of the packs.
    names: u64,
    /// The pack in which the last object was found.
    last: usize,
    /// The commits of a shallow clone whose parents are missing.
    shallow: BTreeSet<ObjectId>,
    substitutes: Substitutes,
    /// True if some objects may be in another repository.
    is_shared: bool,
    inflater: Inflater,
    kept: HashMap<PackPlace, Object>,
    /// The trees of the commits that were read.
    trees: HashMap<ObjectId, ObjectId>,
    kept_bytes: usize,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Repository").field("head", &self.head).finish_non_exhaustive()
    }
}

/// Reads a small file completely. This fails if it has more than `max` bytes.
pub(crate) fn read_small(root: &Root, path: &RelPath, max: usize) -> Result<Vec<u8>, OpenError> {
    let mut buffer = ReadBuffer::default();
    let unreadable = |source| OpenError::Io { path: path.display().into_owned(), source };
    match root.open_file(path)?.read_into(&mut buffer, max).map_err(unreadable)? {
        Contents::Whole => Ok(buffer.to_vec()),
        Contents::TooLarge => Err(unreadable(std::io::Error::other("it is too large"))),
    }
}

impl Repository {
    /// Reads the state that determines the history of a root. This opens a few small files.
    ///
    /// # Errors
    ///
    /// Fails if there is no history or it can't be read.
    pub fn state_of(root: &Root) -> Result<HistoryState, HistoryError> {
        let git = directory(root)?;
        let head = refs::head(root, &git)?;
        Ok(HistoryState { head, ends: ends(&shallow(root, &git)?, &Substitutes::read(root, &git)) })
    }

    /// Computes a hash of the names of the packs. As long as it is unchanged, an object that was in no pack
    /// is still in none.
    ///
    /// # Errors
    ///
    /// Fails if the packs can't be listed.
    pub fn packs_of(root: &Root) -> Result<u64, HistoryError> {
        let names = pack_names(root, &directory(root)?.join(b"objects").join(b"pack"))?;
        Ok(hash_of(names.iter().map(Vec::as_slice)))
    }

    /// Opens the repository of a root. `stop` will also end later calls.
    ///
    /// # Errors
    ///
    /// Fails if the root contains no repository, or if the repository has no commit or can't be read.
    pub fn open(root: &Arc<Root>, stop: &Stop) -> Result<Self, HistoryError> {
        let git = directory(root)?;
        let head = refs::head(root, &git)?;
        let objects = git.join(b"objects");
        let directory = objects.join(b"pack");
        let names = pack_names(root, &directory)?;
        let (packs, has_all_packs) = packs(root, &directory, &names, head.as_bytes().len());
        let shallow = shallow(root, &git)?;
        let substitutes = Substitutes::read(root, &git);
        let is_shared = root.locate(&objects.join(b"info").join(b"alternates")).is_ok();
        Ok(Self {
            root: Arc::clone(root),
            git,
            head,
            stop: stop.clone(),
            packs,
            has_all_packs,
            names: hash_of(names.iter().map(Vec::as_slice)),
            last: 0,
            shallow,
            substitutes,
            is_shared,
            inflater: Inflater::default(),
            kept: HashMap::new(),
            trees: HashMap::new(),
            kept_bytes: 0,
        })
    }

    /// The commit that was checked out when the repository was opened.
    #[must_use]
    pub fn head(&self) -> ObjectId {
        self.head
    }

    /// The state of the history when the repository was opened.
    #[must_use]
    pub fn state(&self) -> HistoryState {
        HistoryState { head: self.head, ends: ends(&self.shallow, &self.substitutes) }
    }

    /// The value of [`Repository::packs_of`] when the repository was opened.
    #[must_use]
    pub fn packs(&self) -> u64 {
        self.names
    }

    /// Reads a commit.
    ///
    /// # Errors
    ///
    /// Fails if the object is missing or is not a commit, or if the call had to end.
    pub fn commit(&mut self, id: &ObjectId) -> Result<CommitObject, ObjectError> {
        let bytes = self.object(id, ObjectKind::Commit)?;
        let mut commit = CommitObject::parse(&bytes).ok_or(ObjectError::Damaged(*id))?;
        if let Some(parents) = self.substitutes.parents(id) {
            commit.parents = parents.to_vec();
        }
        let is_named_alike = |other: &ObjectId| other.as_bytes().len() == id.as_bytes().len();
        if !commit.parents.iter().all(is_named_alike) {
            return Err(ObjectError::Damaged(*id));
        }
        self.trees.insert(*id, commit.tree);
        if self.shallow.contains(id) {
            commit.is_cut_off = !commit.parents.is_empty();
            commit.parents.clear();
        }
        Ok(commit)
    }

    /// Returns the tree of a commit. A caller that walks the history has usually read the commit before.
    pub(crate) fn tree_of(&mut self, id: &ObjectId) -> Result<ObjectId, ObjectError> {
        match self.trees.get(id) {
            Some(tree) => Ok(*tree),
            None => Ok(self.commit(id)?.tree),
        }
    }

    /// Lists the files and links in which a commit differs from its first parent, in arbitrary order. For a
    /// commit without parents these are all of its files. Returns `None` if there are more than `max`, or if
    /// the changes are unknown.
    ///
    /// # Errors
    ///
    /// Fails if a tree can't be read, or if the call had to end.
    pub fn changed_files(
        &mut self,
        commit: &CommitObject,
        max: usize,
    ) -> Result<Option<Vec<Vec<u8>>>, ObjectError> {
        if commit.is_cut_off {
            return Ok(None);
        }
        let before = match commit.parents.first() {
            Some(parent) => Some(self.tree_of(parent)?),
            None => None,
        };
        let mut found = Vec::new();
        // The directories that differ: their paths, depths and trees.
        let mut open = vec![(Vec::new(), 0, before, Some(commit.tree))];
        let mut trees = 0;
        while let Some((path, depth, before, after)) = open.pop() {
            trees += 1;
            if trees > limits::TREES || depth > limits::TREE_DEPTH {
                return Ok(None);
            }
            let [one, other] = [before, after].map(|tree| match tree {
                Some(id) => self.object(&id, ObjectKind::Tree),
                None => Ok(Rc::from([])),
            });
            let (one, other) = (one?, other?);
            let id_bytes = self.head.as_bytes().len();
            let damaged = after.or(before).unwrap_or(self.head);
            let differences = differences(&one, &other, id_bytes).ok_or(ObjectError::Damaged(damaged))?;
            for difference in differences {
                let either = difference.after.or(difference.before);
                let Some(path) = either.and_then(|entry| below(&path, entry.name)) else {
                    return Ok(None);
                };
                let tree = |entry: Option<crate::tree::TreeEntry<'_>>| {
                    entry.filter(|entry| entry.kind == TreeEntryKind::Directory).map(|entry| entry.id)
                };
                let (before, after) = (tree(difference.before), tree(difference.after));
                if before.is_some() || after.is_some() {
                    // Each open directory must be read, so we would exceed the limit.
                    if trees + open.len() > limits::TREES {
                        return Ok(None);
                    }
                    open.push((path, depth + 1, before, after));
                } else if either.is_some_and(|entry| entry.kind.is_file()) {
                    found.push(path);
                    if found.len() > max {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(found))
    }

    /// Counts the files and links of a commit. The result is `max` if there are more, or too many
    /// directories.
    ///
    /// # Errors
    ///
    /// Fails if a tree can't be read, or if the call had to end.
    pub fn count_files(&mut self, commit: &CommitObject, max: usize) -> Result<usize, ObjectError> {
        let mut open = vec![commit.tree];
        let (mut count, mut trees) = (0, 0);
        while let Some(tree) = open.pop() {
            trees += 1;
            let bytes = self.object(&tree, ObjectKind::Tree)?;
            for entry in TreeEntries::new(&bytes, self.head.as_bytes().len()) {
                let entry = entry.ok_or(ObjectError::Damaged(tree))?;
                match entry.kind {
                    TreeEntryKind::Directory => open.push(entry.id),
                    kind => count += usize::from(kind.is_file()),
                }
            }
            if count >= max || trees + open.len() > limits::COUNTED_TREES {
                return Ok(max);
            }
        }
        Ok(count)
    }

    /// Returns true if a commit has a directory at this path. Note that a submodule is not a directory.
    ///
    /// # Errors
    ///
    /// Fails if a tree can't be read, or if the call had to end.
    pub fn has_directory(&mut self, commit: &CommitObject, path: &RelPath) -> Result<bool, ObjectError> {
        let mut tree = commit.tree;
        for name in path.names() {
            let bytes = self.object(&tree, ObjectKind::Tree)?;
            let mut next = None;
            for entry in TreeEntries::new(&bytes, self.head.as_bytes().len()) {
                let entry = entry.ok_or(ObjectError::Damaged(tree))?;
                if entry.kind == TreeEntryKind::Directory && entry.name == name {
                    next = Some(entry.id);
                    break;
                }
            }
            let Some(id) = next else { return Ok(false) };
            tree = id;
        }
        Ok(true)
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    ///
    /// Fails if the object is missing, too large or not a file, or if the call had to end.
    pub fn blob(&mut self, id: &ObjectId) -> Result<Rc<[u8]>, ObjectError> {
        self.object(id, ObjectKind::Blob)
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// The directory of the repository.
    pub(crate) fn git(&self) -> &RelPath {
        &self.git
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn id_bytes(&self) -> usize {
        self.head.as_bytes().len()
    }

    /// Reads an object, which must have the given type.
    pub(crate) fn object(&mut self, id: &ObjectId, kind: ObjectKind) -> Result<Rc<[u8]>, ObjectError> {
        match self.any_object(id)? {
            (found, bytes) if found == kind => Ok(bytes),
            _ => Err(ObjectError::Damaged(*id)),
        }
    }

    /// Reads an object of any type. If it is replaced, this reads the replacement.
    pub(crate) fn any_object(&mut self, id: &ObjectId) -> Result<Object, ObjectError> {
        if self.stop.check().is_some() {
            return Err(ObjectError::Stopped);
        }
        let id = &self.substitutes.object(id);
        let object = self.packed(id).and_then(|found| match found {
            Some(object) => Ok(Some(object)),
            None => self.loose(id),
        });
        let missing = match (self.is_shared, self.has_all_packs) {
            (true, _) => ObjectError::Shared(*id),
            (false, false) => ObjectError::Unopened(*id),
            (false, true) => ObjectError::Missing(*id),
        };
        object.map_err(|fault| fault.with_id(*id))?.ok_or(missing)
    }

    /// Finds ids that begin with these digits, at most [`limits::PREFIX_OBJECTS`].
    pub(crate) fn with_prefix(&mut self, prefix: &IdPrefix) -> Result<Vec<ObjectId>, ObjectError> {
        let mut found = Vec::new();
        for pack in &mut self.packs {
            // We ignore errors here: a pack that can't be read has no objects.
            let _ = pack.with_prefix(prefix, limits::PREFIX_OBJECTS, &mut found);
        }
        let (directory, start) = prefix.loose();
        let names = self.git.join(b"objects").join(directory.as_bytes());
        for name in self.root.names(&names, limits::LOOSE_NAMES).unwrap_or_default() {
            let id = [directory.as_bytes(), &name].concat();
            if name.starts_with(start.as_bytes()) && found.len() < limits::PREFIX_OBJECTS {
                found.extend(ObjectId::from_hex(&id));
            }
        }
        if self.stop.check().is_some() { Err(ObjectError::Stopped) } else { Ok(found) }
    }

    fn loose(&mut self, id: &ObjectId) -> Result<Option<Object>, ObjectFault> {
        let digits = id.to_string();
        let (directory, name) = digits.split_at(2);
        let path = self.git.join(b"objects").join(directory.as_bytes()).join(name.as_bytes());
        let stream = match read_small(&self.root, &path, limits::LOOSE_BYTES) {
            Ok(stream) => stream,
            Err(OpenError::NotFound { .. }) => return Ok(None),
            Err(_) => return Err(ObjectFault::Damaged),
        };
        let bytes = inflate(&stream)?;
        let (kind, start) = loose_head(&bytes).ok_or(ObjectFault::Damaged)?;
        Ok(Some((kind, Rc::from(&bytes[start..]))))
    }

    fn packed(&mut self, id: &ObjectId) -> Result<Option<Object>, ObjectFault> {
        match self.place(id)? {
            Some(place) => self.at(place).map(Some),
            None => Ok(None),
        }
    }

    fn place(&mut self, id: &ObjectId) -> Result<Option<PackPlace>, ObjectFault> {
        let count = self.packs.len();
        // The next object is usually in the same pack as the last one.
        for index in (0..count).map(|index| (self.last + index) % count) {
            if let Some(offset) = self.packs[index].find(id)? {
                self.last = index;
                return Ok(Some((index, offset)));
            }
        }
        Ok(None)
    }

    /// Reconstructs the object at a location: collects the deltas down to a complete object, and then applies
    /// them in reverse order.
    fn at(&mut self, mut place: PackPlace) -> Result<Object, ObjectFault> {
        let mut deltas: Vec<(PackPlace, Vec<u8>)> = Vec::new();
        let mut bytes = 0;
        let (kind, mut object) = loop {
            if let Some((kind, object)) = self.kept.get(&place) {
                break (*kind, Rc::clone(object));
            }
            let pack = &mut self.packs[place.0];
            let entry = pack.entry(place.1)?;
            let content = self.inflater.read(&mut pack.objects, entry.at, entry.size)?;
            bytes += content.len();
            match entry.kind {
                PackedKind::Whole(kind) => {
                    let object = Rc::from(content);
                    self.keep(place, (kind, Rc::clone(&object)));
                    break (kind, object);
                }
                _ if deltas.len() == limits::DELTAS || bytes > limits::DELTA_BYTES => {
                    return Err(ObjectFault::TooLarge);
                }
                PackedKind::FromPlace(base) => {
                    deltas.push((place, content));
                    place.1 = base;
                }
                PackedKind::FromObject(base) => {
                    deltas.push((place, content));
                    place = self.place(&base)?.ok_or(ObjectFault::Missing)?;
                }
            }
        };
        let mut made = 0;
        for (place, delta) in deltas.into_iter().rev() {
            object = Rc::from(delta::apply(&object, &delta)?);
            made += object.len();
            if made > limits::MADE_BYTES {
                return Err(ObjectFault::TooLarge);
            }
            self.keep(place, (kind, Rc::clone(&object)));
        }
        Ok((kind, object))
    }

    fn keep(&mut self, place: PackPlace, object: Object) {
        let size = object.1.len();
        if self.kept_bytes + size > limits::KEPT_BYTES {
            self.kept.clear();
            self.kept_bytes = 0;
        }
        self.kept_bytes += size;
        self.kept.insert(place, object);
    }
}

/// Finds the directory of the repository, which must be inside the root.
fn directory(root: &Root) -> Result<RelPath, HistoryError> {
    let git = RelPath::root().join(b".git");
    match root.locate(&git) {
        Ok((path, true)) => Ok(path),
        Ok((_, false)) | Err(OpenError::OutsideRoot { .. }) => Err(HistoryError::Elsewhere),
        Err(OpenError::NotFound { .. }) => Err(HistoryError::NoRepository),
        Err(error) => Err(HistoryError::Unreadable(error.to_string())),
    }
}

/// Reads the list of commits at which a shallow clone ends.
fn shallow(root: &Root, git: &RelPath) -> Result<BTreeSet<ObjectId>, HistoryError> {
    match read_small(root, &git.join(b"shallow"), limits::SHALLOW_BYTES) {
        Ok(list) => Ok(list.split(|&byte| byte == b'\n').filter_map(ObjectId::from_hex).collect()),
        Err(OpenError::NotFound { .. }) => Ok(BTreeSet::new()),
        Err(error) => Err(HistoryError::Unreadable(error.to_string())),
    }
}

/// Computes a hash of everything but the newest commit that determines a history.
fn ends(shallow: &BTreeSet<ObjectId>, substitutes: &Substitutes) -> u64 {
    hash_of(shallow.iter().chain(substitutes.ids()).map(ObjectId::as_bytes))
}

/// Computes a hash of the names of objects or files, each with a terminator.
fn hash_of<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = Hash64::default();
    for name in names {
        hasher.write(name);
        hasher.write_u8(0);
    }
    hasher.finish()
}

/// Lists the names of the pack files, sorted.
fn pack_names(root: &Root, directory: &RelPath) -> Result<Vec<Vec<u8>>, HistoryError> {
    let mut names = match root.names(directory, limits::PACK_NAMES) {
        Ok(names) => names,
        Err(OpenError::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(HistoryError::Unreadable(error.to_string())),
    };
    names.sort();
    Ok(names)
}

/// Opens the packs with these names. The second value is false if there are too many, or if one was removed,
/// is incomplete or can't be opened, so that its objects are missing.
fn packs(root: &Root, directory: &RelPath, names: &[Vec<u8>], id_bytes: usize) -> (Vec<Pack>, bool) {
    let stems: Vec<&[u8]> = names.iter().filter_map(|name| name.strip_suffix(b".idx")).collect();
    // The limit applies to all indexes together.
    let kept = limits::KEPT_INDEX_BYTES / stems.len().clamp(1, limits::PACKS) as u64;
    let open = |stem: &[u8], end: &[u8]| root.open_file(&directory.join(&[stem, end].concat())).ok();
    let files =
        stems.iter().take(limits::PACKS).filter_map(|&stem| open(stem, b".idx").zip(open(stem, b".pack")));
    let packs: Vec<Pack> =
        files.filter_map(|(index, objects)| Pack::new(index, objects, id_bytes, kept)).collect();
    let is_whole = packs.len() == stems.len();
    (packs, is_whole)
}

/// Parses the header `KIND SIZE\0` of a loose object. Returns its type and the offset of its content.
fn loose_head(bytes: &[u8]) -> Option<(ObjectKind, usize)> {
    let end = bytes.iter().take(32).position(|&byte| byte == 0)?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let (kind, size) = head.split_once(' ')?;
    let kind = match kind {
        "commit" => ObjectKind::Commit,
        "tree" => ObjectKind::Tree,
        "blob" => ObjectKind::Blob,
        "tag" => ObjectKind::Tag,
        _ => return None,
    };
    (size.parse() == Ok(bytes.len() - end - 1)).then_some((kind, end + 1))
}
