//! Files that differ from the index only as git or Git LFS converts them on a checkout.

use std::fmt::Write as _;

use forage_fs::{AttributeRules, Contents, ReadBuffer, RelPath, Root};
use hashbrown::HashMap;

use super::FileVersion;
use super::working_tree::blob_id;
use crate::config::GitConfig;
use crate::id::ObjectId;
use crate::index_file::GitIndex;
use crate::limits;
use crate::renames::is_binary;
use crate::repository::{Repository, read_small};
use crate::tree::FileMode;

/// How git converts the line ends of a file that is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    Kept,
    /// Each line ends with a line feed alone.
    Converted,
    /// The same, unless the content looks binary.
    ConvertedIfText,
}

/// The attributes that decide how files are converted.
const ATTRIBUTES: [&str; 3] = ["text", "eol", "filter"];

/// The rules of a file for each of [`ATTRIBUTES`].
type ConversionRules = [Option<AttributeRules>; ATTRIBUTES.len()];

/// Finds out how files are converted, from the attributes in the working tree and the configuration.
struct Conversions<'a> {
    root: &'a Root,
    git: &'a RelPath,
    /// True if files without attributes are converted (`core.autocrlf`).
    is_default: bool,
    /// The rules of files with attributes, by their paths.
    files: HashMap<RelPath, ConversionRules>,
}

impl Conversions<'_> {
    fn line_ends(&mut self, path: &RelPath) -> LineEnds {
        let [text, eol] = ["text", "eol"].map(|attribute| self.setting(path, attribute));
        match (text.as_deref(), eol.as_deref()) {
            (Some("-text"), _) => LineEnds::Kept,
            (Some("text=auto"), _) => LineEnds::ConvertedIfText,
            (Some("text"), _) | (_, Some("eol=lf" | "eol=crlf")) => LineEnds::Converted,
            _ if self.is_default => LineEnds::ConvertedIfText,
            _ => LineEnds::Kept,
        }
    }

    /// Finds the setting of an attribute for a file. The file in `.git` takes precedence, and then the
    /// deepest directory.
    fn setting(&mut self, path: &RelPath, attribute: &str) -> Option<String> {
        let number = ATTRIBUTES.iter().position(|name| *name == attribute)?;
        let info = (self.git.join(b"info").join(b"attributes"), RelPath::root());
        let above = std::iter::successors(path.parent(), RelPath::parent);
        let above = above.map(|directory| (directory.join(b".gitattributes"), directory));
        for (file, directory) in std::iter::once(info).chain(above) {
            let root = self.root;
            let rules = self.files.entry(file).or_insert_with_key(|file| {
                let text = read_small(root, file, limits::CONFIG_BYTES).unwrap_or_default();
                ATTRIBUTES.map(|attribute| AttributeRules::parse(&text, attribute))
            });
            let found = rules[number].as_ref().and_then(|rules| rules.setting(path.below(&directory)));
            if let Some(found) = found {
                return Some(found.to_owned());
            }
        }
        None
    }
}

impl Repository {
    /// Replaces the versions of files that git would convert to those of the index. `now` has a version for
    /// each entry of the index.
    pub(super) fn undo_conversions(
        &mut self,
        index: &GitIndex,
        now: &mut [Option<FileVersion>],
        config: &GitConfig,
    ) {
        let (root, git) = (std::sync::Arc::clone(self.root()), self.git().clone());
        let is_default = config.converts_line_ends();
        let mut conversions = Conversions { root: &root, git: &git, is_default, files: HashMap::new() };
        for (entry, now) in index.entries.iter().zip(now) {
            let is_regular = entry.stage == 0 && entry.mode().is_some_and(FileMode::is_regular);
            let Some(version) = now.as_mut().filter(|version| is_regular && version.mode.is_regular()) else {
                continue;
            };
            let is_other = version.id.is_some_and(|id| id != entry.id);
            if !is_other || self.stop().check().is_some() {
                continue;
            }
            let Ok(path) = RelPath::from_bytes(&entry.path, &RelPath::root()) else { continue };
            if self.is_converted(&path, entry.id, &mut conversions) {
                version.id = Some(entry.id);
            }
        }
    }

    /// Returns true if git or Git LFS stores a file of the working tree as this object.
    fn is_converted(&mut self, path: &RelPath, id: ObjectId, conversions: &mut Conversions<'_>) -> bool {
        let line_ends = conversions.line_ends(path);
        let is_in_lfs = conversions.setting(path, "filter").as_deref() == Some("filter=lfs");
        // Most files are stored as they are, so we need not read them.
        if line_ends == LineEnds::Kept && !is_in_lfs {
            return false;
        }
        let Some(bytes) = content(conversions.root, path) else { return false };
        if is_in_lfs {
            return self.blob(&id).is_ok_and(|stored| *stored == *lfs_pointer(&bytes));
        }
        let is_text =
            line_ends == LineEnds::Converted || !is_binary(&bytes) && !has_lone_carriage_return(&bytes);
        is_text && blob_id(&with_line_feeds(&bytes), id.as_bytes().len()) == Some(id)
    }
}

/// Reads a file of the working tree, unless it is secret or too large.
fn content(root: &Root, path: &RelPath) -> Option<Vec<u8>> {
    let mut buffer = ReadBuffer::default();
    let directory = root.look_into(&path.parent()?).ok()?;
    let mut file = directory.open(path.file_name()).ok()?;
    let is_whole = file.read_into(&mut buffer, limits::HASHED_BYTES).ok()? == Contents::Whole;
    is_whole.then(|| buffer.to_vec())
}

fn has_lone_carriage_return(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}

/// Removes the carriage return at the end of each line.
fn with_line_feeds(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(bytes, b"\r\n") {
        text.extend_from_slice(&bytes[from..at]);
        from = at + 1;
    }
    text.extend_from_slice(&bytes[from..]);
    text
}

/// The object that Git LFS stores in place of this content.
fn lfs_pointer(bytes: &[u8]) -> Vec<u8> {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut text = "version https://git-lfs.github.com/spec/v1\noid sha256:".to_owned();
    for byte in digest.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    let _ = writeln!(text, "\nsize {}", bytes.len());
    text.into_bytes()
}
